"""Whether a lock on a state is one that a dead run of ours has left: proven, or not (pure).

Nothing is taken for granted: user and host, the engine's command, and the moment that the lock was made all have
to be those of one command of that run, which did not let go of it, and whose processes are gone.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from hereya_tf.event_parts import StepTrace, Trace
from hereya_tf.failure.lock_info import moment_of
from hereya_tf.words import listed

# What a command writes into the lock as its operation, by the sources of Terraform 1.11 and OpenTofu 1.9. `init`
# is of whichever command finds that its workspace has no state yet.
_OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "apply": ("OperationTypeApply",),
    "destroy": ("OperationTypeApply",),
    "plan": ("OperationTypePlan",),
    "refresh": ("OperationTypeRefresh", "OperationTypeApply"),
    "init": ("migration source state", "migration destination state", "backend-config"),
}
_ANY_COMMANDS = ("init",)
# A runner tells every ten seconds that it lives; an engine that it has just started may have come as far.
_UNHEARD = timedelta(seconds=10)


class Suspect(NamedTuple):
    """A run whose lock it may be; `is_gone`: neither its runner nor its engine can still be at work."""

    trace: Trace
    is_gone: bool


class Verdict(NamedTuple):
    """The run whose lock it is proven to be; else None, and why nothing is proven."""

    run: str | None
    doubt: str


def judge(lock: Mapping[str, str], suspects: Iterable[Suspect]) -> Verdict:
    """Whose lock it is. `lock` has ID, Who, Operation and Created, as far as the engine tells them."""
    unsaid = [name for name in ("ID", "Who", "Operation", "Created") if not lock.get(name)]
    if unsaid:
        return Verdict(
            None, "the engine does not say who holds it" if "Who" in unsaid else _incomplete(unsaid)
        )
    created = moment_of(lock["Created"])
    if created is None:
        return Verdict(None, f"`{lock['Created']}` is no moment that could be compared")
    doubts = [_Doubt(0, "there is no run of this state in the history here")]
    for suspect in suspects:
        doubt = _doubt(lock, created, suspect)
        if doubt is None:
            return Verdict(suspect.trace.run, "")
        doubts.append(doubt)
    return Verdict(None, max(doubts, key=lambda each: each.weight).sentence)


class _Doubt(NamedTuple):
    """Why it is not a run's; of several the one that came closest is told."""

    weight: int
    sentence: str


def _incomplete(names: list[str]) -> str:
    missing = listed(f"`{name}`" for name in names)
    return f"the engine does not say all of it: {missing} {'is' if len(names) == 1 else 'are'} missing"


def _doubt(lock: Mapping[str, str], created: datetime, suspect: Suspect) -> _Doubt | None:
    """Why the lock is not proven to be the suspect's; None when it is."""
    trace, who = suspect.trace, lock["Who"]
    if trace.user is None:
        return _Doubt(1, f"run `{trace.run}` has not noted as whom it ran")
    if who != f"{trace.user}@{trace.host}":
        return _Doubt(
            1, f"it was taken by `{who}`, and the runs that are known here ran as others or elsewhere"
        )
    within = [step for step in trace.steps if _is_within(step, trace, created)]
    if not within:
        return _Doubt(2, f"it was taken at another time than when run `{trace.run}` was at it")
    if not any(lock["Operation"] in operations_of(step.command) for step in within):
        return _Doubt(3, f"it is for `{lock['Operation']}`, which run `{trace.run}` was not about then")
    kept = [step for step in within if step.released is not True]
    if not any(lock["Operation"] in operations_of(step.command) for step in kept):
        return _Doubt(4, f"run `{trace.run}` has let go of its lock, as far as it knows")
    if not suspect.is_gone:
        return _Doubt(5, f"run `{trace.run}` or its engine is still at work, or may be")
    return None


def _is_within(step: StepTrace, trace: Trace, created: datetime) -> bool:
    """Whether the lock was asked for between the start of the command and the first sign of that."""
    began = moment_of(step.began)
    until = moment_of(step.held or step.ended or trace.ended or trace.last)
    if began is None or until is None:
        return False
    unheard = step.held is None and step.ended is None
    return began <= created and created - until <= (_UNHEARD if unheard else timedelta())


def operations_of(command: str) -> tuple[str, ...]:
    """What the engine's command may write into the lock as its operation."""
    return (*_OPERATIONS.get(command, (command.replace(" ", "-"),)), *_ANY_COMMANDS)
