"""The hints for one failure: those of its class, made ready to be used by what else is known of it (pure)."""

from typing import NamedTuple

from hereya_tf.errors import FailureClass as Class
from hereya_tf.failure.hints import HINTS, LEFT
from hereya_tf.failure.rule import holds_one_of
from hereya_tf.failure.vocabulary import (
    GIT_REFUSALS,
    GIT_UNREACHABLE,
    NETWORK,
    NOT_WRITABLE,
    THROTTLING,
)

_STATE_LEFT_BEHIND = (
    "`terraform.tfstate` in the package's directory holds a state, and the engine would copy it to the new place",
    "to take it along: `hereya-tf init --migrate-state --yes`, or move the file there yourself",
    "to begin without it: move the file out of the package's directory",
)
_WRITABLE = "make the package's directory, or the place of its state, writable"
_FETCHABLE = (
    "give git its credentials without a question: a credential helper, a deploy key, a known host key"
)
_FEWER = "it was too much at once: run it again, with `--parallelism 2`"
AGAIN = "it looks like the network: run it again before anything else, or let `--retries 3` do that"
"""For what may pass; of no use to whoever has tried again."""
_IN_REACH = "check that this machine reaches `HOST`, and the proxy (`HTTPS_PROXY`), then run it again"
_OWN_DATA = "what Terraform before 1.15 prints under `Lock Info` here is its own data, not the holder's"
_ROOM = "make room first, or it cannot be stored: `df -h .`"
_KILLED = (
    "who ended it is not known; when nobody did, the system had no memory left: see `dmesg`, give the run more"
    " memory, or fewer things at once with `--parallelism 2`"
)
_COMMAND_KILLED = "the system ended a process for its memory meanwhile: give the run more of it"
_FLAGS_SHOWN = 5


class Circumstances(NamedTuple):
    """What is known beside the class: `text` is what the error says, in lower case.

    `out_of_memory` and `disk_full` say what happened beside it; `targets` are ready for a shell. `of_a_module`:
    the value of the variable is the package's own. `host` is where a module could not be fetched from.
    `shows_own_lock`: the engine has shown its own data in the place of the lock's holder's.
    """

    text: str = ""
    was_killed: bool = False
    out_of_memory: bool = False
    disk_full: bool = False
    lock_id: str | None = None
    shows_own_lock: bool = False
    of_a_module: bool = False
    host: str | None = None
    variables: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    transient: bool = False


def advise(failure_class: Class, own: tuple[str, ...], at: Circumstances) -> tuple[str, ...]:
    """The hints for one failure: `own` are those of the rule that told its class, if it has any."""
    if own:
        targets = " ".join(f"--target {target}" for target in at.targets)
        own = tuple(hint.replace("TARGETS", f"`{targets}`" if targets else "see the error") for hint in own)
    hints = own or HINTS.get(failure_class, ())
    if failure_class in (Class.MISSING_VARIABLE, Class.INVALID_VARIABLE):
        return HINTS[Class.INVALID_CONFIGURATION] if at.of_a_module else _with_names(hints, at.variables)
    if own:
        return own
    match failure_class:
        case Class.ENGINE_ERROR if holds_one_of(at.text, NOT_WRITABLE):
            return (_WRITABLE, *hints)
        case Class.STATE_NOT_SAVED if at.disk_full:
            return (_ROOM, *hints)
        case Class.STATE_NOT_SAVED if holds_one_of(at.text, NOT_WRITABLE):
            return (_WRITABLE, *hints)
        case Class.BACKEND_UNREACHABLE if holds_one_of(at.text, (*NOT_WRITABLE, "not a directory")):
            # The place of a local state, not a network, is in the way.
            return (_WRITABLE,)
        case Class.BACKEND_CHANGED if "approval for state migration" in at.text:
            # `-reconfigure` does not help here: it asks as well.
            return _STATE_LEFT_BEHIND
        case Class.MODULE_UNAVAILABLE if holds_one_of(at.text, GIT_REFUSALS):
            return (_FETCHABLE, *hints)
        case Class.MODULE_UNAVAILABLE if at.host and holds_one_of(at.text, (*NETWORK, *GIT_UNREACHABLE)):
            return (_IN_REACH.replace("HOST", at.host), *hints)
        case Class.STATE_LOCKED if "resource temporarily unavailable" in at.text:
            # The lock of a local state is its holder's open file: nobody can release it from outside.
            return hints[:1]
        case Class.STATE_LOCKED if at.lock_id is not None:
            told = tuple(hint.replace("ID", at.lock_id) for hint in hints)
            return (*told, _OWN_DATA) if at.shows_own_lock else told
        case Class.ENGINE_CRASHED if at.was_killed:
            return (_KILLED, LEFT)
        case Class.PROVISIONER_FAILED if at.out_of_memory:
            return (_COMMAND_KILLED, *hints)
        case Class.PROVIDER_ERROR if at.transient and holds_one_of(at.text, THROTTLING):
            return (_FEWER, *hints)
        case _:
            return (AGAIN, *hints) if at.transient else hints


def _with_names(hints: tuple[str, ...], variables: tuple[str, ...]) -> tuple[str, ...]:
    if not variables:
        return hints
    flags = " ".join(f"-p {name}=VALUE" for name in variables[:_FLAGS_SHOWN])
    return tuple(
        hint.replace("-p NAME=VALUE", flags).replace("-p NAME:", f"-p {variables[0]}:") for hint in hints
    )
