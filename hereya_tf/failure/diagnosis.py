"""Why a step failed: from diagnostics, stderr and the process's end to one class, sentence and hints (pure)."""

import signal as signals
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from hereya_tf.errors import FailureClass
from hereya_tf.failure import rules
from hereya_tf.failure.hints import FETCHABLE, HINTS, STATE_LEFT_BEHIND, WRITABLE
from hereya_tf.failure.human_errors import read_human_errors, without_colour
from hereya_tf.failure.rule import Rule
from hereya_tf.stream.message_types import Diagnostic

_ENGINE_NAMES = {"terraform": "Terraform", "tofu": "OpenTofu"}
_LONGEST_PART = 400
_LOCK_FIELDS = ("ID", "Path", "Operation", "Who", "Version", "Created", "Info")
# Worth another try when the network, or a limit of requests, was at fault.
_TRANSIENT = frozenset(
    (
        FailureClass.PROVIDER_UNAVAILABLE,
        FailureClass.MODULE_UNAVAILABLE,
        FailureClass.BACKEND_UNREACHABLE,
        FailureClass.PROVIDER_ERROR,
    )
)


class Diagnosis(NamedTuple):
    """What a failure is and what to do about it.

    `needs_init`: the engine wants an init first. `transient`: the same may well succeed when tried again.
    """

    failure_class: FailureClass
    sentence: str
    hints: tuple[str, ...] = ()
    needs_init: bool = False
    transient: bool = False


class _Finding(NamedTuple):
    failure_class: FailureClass
    sentence: str
    diagnostic: Diagnostic | None = None
    needs_init: bool = False
    hints: tuple[str, ...] = ()


def diagnose(
    errors: Sequence[Diagnostic],
    *,
    exit_code: int | None,
    signal: int | None,
    stderr: str,
    engine_name: str = "terraform",
    out_of_memory: bool = False,
    failed: Collection[str] = (),
) -> Diagnosis:
    """The diagnosis of a failed step.

    `errors` are the stream's, without doubles. `signal` is the number of the signal that ended the engine,
    `out_of_memory` says that the system killed it for its memory, `failed` are the addresses whose operation
    failed (the error of a failed destroy has no address of its own).
    """
    engine = _ENGINE_NAMES.get(engine_name, engine_name)
    causes = _causes(errors, stderr)
    # The process first: of two findings of one class, a stack trace says more than `Plugin did not respond`.
    findings = list(_process_findings(exit_code, signal, stderr, engine, out_of_memory))
    findings += [_judge(cause, bool(failed)) for cause in causes]
    if not findings:
        return _silent(exit_code, engine)
    chosen = min(findings, key=lambda finding: rules.PRIORITY.index(finding.failure_class))
    others = len(causes) - 1
    more = f" (and {others} more)" if others > 0 and chosen.diagnostic is not None else ""
    text = "" if chosen.diagnostic is None else _text(chosen.diagnostic).lower()
    return Diagnosis(
        chosen.failure_class,
        chosen.sentence + more,
        tuple(
            hint.replace("ENGINE", engine_name)
            for hint in chosen.hints or _hints(chosen.failure_class, causes, text)
        ),
        any(finding.needs_init for finding in findings),
        _is_transient(chosen.failure_class, text),
    )


def lock_holder(errors: Sequence[Diagnostic]) -> Mapping[str, str]:
    """Who holds the state lock: ID, Path, Operation, Who, Version, Created, Info, as far as they are known.

    Empty when no error says that the lock is held. Terraform before 1.15 prints its own ID and data for a
    lock held on an `http` backend (measured on 1.11.4): there only the ID in the error message is true.
    """
    for error in errors:
        if _judge(error, failed=False).failure_class is not FailureClass.STATE_LOCKED:
            continue
        message, _, block = error.detail.partition("Lock Info:")
        holder = dict(_lock_fields(block))
        _, found, named = message.partition("already locked: ID=")
        identity = named.split()[0] if found and named.split() else None
        if identity is not None and holder.get("ID") != identity:
            return {"ID": identity}
        return holder
    return {}


def _lock_fields(block: str) -> Iterator[tuple[str, str]]:
    for line in block.splitlines()[1:]:
        name, colon, value = line.strip().partition(":")
        if not colon or name not in _LOCK_FIELDS:
            return
        if value.strip():
            yield name, value.strip()


def _causes(errors: Sequence[Diagnostic], stderr: str) -> Sequence[Diagnostic]:
    """The errors that say something: init's umbrella only when there is nothing under it."""
    for candidates in (errors, read_human_errors(stderr)):
        causes = [error for error in candidates if not _words(error.summary).startswith(rules.UMBRELLA)]
        if causes:
            return causes
    return errors


def _words(text: str) -> str:
    """The text on one line, as Terraform says it."""
    return " ".join(text.split()).replace("OpenTofu", "Terraform")


def _text(diagnostic: Diagnostic) -> str:
    return f"{_words(diagnostic.summary)} {_words(diagnostic.detail)}"


def _judge(diagnostic: Diagnostic, failed: bool) -> _Finding:
    summary, text = _words(diagnostic.summary), _text(diagnostic)
    for table in (rules.QUOTING_RULES, rules.STATE_RULES):
        if rule := _match(table, summary, text):
            return _Finding(rule.failure_class, _sentence(diagnostic), diagnostic)
    if summary.startswith(rules.LOCK_SUMMARIES):
        return _Finding(_lock_class(diagnostic), _lock_sentence(diagnostic), diagnostic)
    if rule := _match(rules.RULES, summary, text):
        # The engine's own words: their first sentence says it, the rest is advice.
        sentence = _sentence(diagnostic, whole=False)
        return _Finding(rule.failure_class, sentence, diagnostic, rule.needs_init, rule.hints)
    failure_class = _unknown_class(diagnostic, summary, text, failed)
    whole = failure_class is not FailureClass.INVALID_CONFIGURATION
    return _Finding(failure_class, _sentence(diagnostic, whole=whole), diagnostic)


def _match(table: tuple[Rule, ...], summary: str, text: str) -> Rule | None:
    for rule in table:
        if summary.startswith(rule.summaries) and (not rule.holds or _holds(text, rule.holds)):
            return rule
    return None


def _holds(text: str, words: tuple[str, ...]) -> bool:
    return any(word in text for word in words)


def _lock_class(diagnostic: Diagnostic) -> FailureClass:
    """The same summary has many causes: the `Error message:` tells them apart."""
    message = _text(diagnostic).partition("Lock Info:")[0]
    lower = message.lower()
    if _holds(lower, rules.LOCK_HELD):
        return FailureClass.STATE_LOCKED
    if rule := _match(rules.RULES, _words(diagnostic.summary), message):
        return rule.failure_class
    if _holds(lower, rules.CREDENTIALS + rules.BACKEND_REFUSALS):
        return FailureClass.CREDENTIALS
    if _holds(lower, (*rules.NETWORK, "failed to lock")):
        return FailureClass.BACKEND_UNREACHABLE
    return FailureClass.STATE_LOCKED if "Lock Info:" in diagnostic.detail else FailureClass.ENGINE_ERROR


def _unknown_class(diagnostic: Diagnostic, summary: str, text: str, failed: bool) -> FailureClass:
    lower = text.lower()
    backend = summary.lower().startswith(rules.BACKEND_SUMMARIES)
    place = diagnostic.range
    if backend and _holds(lower, rules.BACKEND_REFUSALS):
        return FailureClass.CREDENTIALS
    if _holds(lower, rules.CREDENTIALS):
        return FailureClass.CREDENTIALS
    if backend:
        return FailureClass.BACKEND_UNREACHABLE
    if place is not None and (place.filename.startswith("<value for var.") or ".tfvars" in place.filename):
        return FailureClass.INVALID_VARIABLE
    if diagnostic.address is not None:
        return FailureClass.PROVIDER_ERROR
    if place is not None:
        # Errors of a provider have an address; what only has a place is the configuration's.
        return FailureClass.INVALID_CONFIGURATION
    if failed and summary not in ("execution halted", "operation canceled"):
        return FailureClass.PROVIDER_ERROR
    return FailureClass.BACKEND_UNREACHABLE if _holds(lower, rules.NETWORK) else FailureClass.ENGINE_ERROR


def _process_findings(
    exit_code: int | None, signal: int | None, stderr: str, engine: str, out_of_memory: bool
) -> Iterator[_Finding]:
    lines = [line.strip() for line in without_colour(stderr).splitlines()]
    fatal = _first(lines, ("fatal error:", "runtime:", "SIGQUIT:"))
    panic = _first(lines, ("panic:",))
    crashed = _first(lines, ("Error: The ",), "plugin crashed!")
    if out_of_memory or (fatal is not None and _holds(stderr, rules.MEMORY)):
        yield _Finding(FailureClass.OUT_OF_MEMORY, f"{engine} ran out of memory")
    elif crashed is not None:
        plugin = crashed.removeprefix("Error: The ").removesuffix(" plugin crashed!")
        yield _Finding(FailureClass.PROVIDER_CRASHED, f"`{plugin}` crashed" + (f": {panic}" if panic else ""))
    elif exit_code == 11 or "TERRAFORM CRASH" in stderr or "OPENTOFU CRASH" in stderr:
        yield _Finding(FailureClass.ENGINE_CRASHED, f"{engine} crashed" + (f": {panic}" if panic else ""))
    elif exit_code == 2 and fatal is not None:
        yield _Finding(FailureClass.ENGINE_CRASHED, f"{engine} crashed: {fatal}")
    elif signal is not None:
        yield _Finding(FailureClass.ENGINE_CRASHED, f"{engine} was ended by {_signal_name(signal)}")


def _first(lines: list[str], starts: tuple[str, ...], end: str = "") -> str | None:
    found = (line for line in lines if line.startswith(starts) and line.endswith(end))
    return next((_short(line) for line in found), None)


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _silent(exit_code: int | None, engine: str) -> Diagnosis:
    if exit_code == 0:
        sentence = f"{engine} ended with exit code 0, but did not report the end of its work"
    else:
        sentence = f"{engine} ended with exit code {exit_code} and gave no reason"
    return Diagnosis(FailureClass.ENGINE_ERROR, sentence, HINTS[FailureClass.ENGINE_ERROR])


def _sentence(diagnostic: Diagnostic, *, whole: bool = True) -> str:
    """Summary, the beginning of the detail, and where."""
    summary = _beginning(diagnostic.summary) or "Error without words"
    detail = _beginning(diagnostic.detail)
    if not whole:
        detail = _first_sentence(detail)
    place = diagnostic.range
    where = diagnostic.address or (f"{place.filename}:{place.start_line}" if place is not None else "")
    return summary + (f": {detail}" if detail else "") + (f" (`{' '.join(where.split())}`)" if where else "")


def _first_sentence(text: str) -> str:
    end = text.find(". ")
    while end >= 0 and not text[end + 2 : end + 3].isupper():
        end = text.find(". ", end + 1)
    return text if end < 0 else text[:end]


def _lock_sentence(diagnostic: Diagnostic) -> str:
    message, held, block = diagnostic.detail.partition("Lock Info:")
    cause = _beginning(message).removeprefix("Error message: ")
    holder = dict(_lock_fields(block)) if held else {}
    known = "already locked: ID=" not in cause or f"ID={holder.get('ID')}" in cause
    by = f", held by `{holder['Who']}`" if known and "Who" in holder else ""
    since = f" since {holder['Created']}" if by and "Created" in holder else ""
    return f"{_beginning(diagnostic.summary)}: {cause}{by}{since}"


def _beginning(text: str) -> str:
    """The first paragraph on one line; of an announced list its first item, too."""
    first, *others = text.strip().split("\n\n", 2)
    if first.endswith(":"):
        announced = others[0].removeprefix("- ").partition("\n")[0] if others else ""
        # Of what is announced and does not follow (`Output:` of a silent command) nothing is said.
        first = f"{first} {announced}" if announced else first.rpartition(". ")[0] or first
    return _short(" ".join(first.split()).rstrip(".:"))


def _short(text: str) -> str:
    """At most 400 characters, and no half words: half a secret would not be recognised as one."""
    return text if len(text) <= _LONGEST_PART else text[:_LONGEST_PART].rpartition(" ")[0] + " …"


def _hints(failure_class: FailureClass, causes: Sequence[Diagnostic], text: str) -> tuple[str, ...]:
    hints = HINTS.get(failure_class, ())
    if _holds(text, ("read-only file system", "permission denied")) and failure_class in (
        FailureClass.ENGINE_ERROR,
        FailureClass.STATE_NOT_SAVED,
    ):
        hints = (WRITABLE, *hints)
    if failure_class is FailureClass.BACKEND_CHANGED and "approval for state migration" in text:
        # `-reconfigure` does not help here: it asks as well.
        hints = STATE_LEFT_BEHIND
    if failure_class is FailureClass.MODULE_UNAVAILABLE and _holds(text, _GIT_REFUSALS):
        hints = (FETCHABLE, *hints)
    if failure_class is FailureClass.MISSING_VARIABLE and (names := _missing_variables(causes)):
        flags = " ".join(f"-p {name}=VALUE" for name in names[:_FLAGS_SHOWN])
        hints = tuple(hint.replace("-p NAME=VALUE", flags).replace("NAME", names[0]) for hint in hints)
    if failure_class is FailureClass.STATE_LOCKED:
        if "resource temporarily unavailable" in text:
            # The lock of a local state is its holder's open file: nobody can release it from outside.
            return hints[:1]
        identity = lock_holder(causes).get("ID", "ID")
        return tuple(hint.replace("ID", identity) for hint in hints)
    return hints


_FLAGS_SHOWN = 5
_GIT_REFUSALS = (
    "could not read username",
    "host key verification failed",
    "permission denied",
    "authentication failed",
)


def _missing_variables(causes: Sequence[Diagnostic]) -> list[str]:
    """The names in quotes: `The root module input variable "need" is not set, …`."""
    return [
        cause.detail.split('"')[1]
        for cause in causes
        if cause.detail.count('"') > 1
        and _judge(cause, failed=False).failure_class is FailureClass.MISSING_VARIABLE
    ]


def _is_transient(failure_class: FailureClass, text: str) -> bool:
    return failure_class in _TRANSIENT and _holds(text, rules.NETWORK + rules.THROTTLING)
