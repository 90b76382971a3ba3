"""What became of each resource that a run was to change (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from hereya_tf.events import Operation
from hereya_tf.report.story import ActionPart, Story, seconds_between
from hereya_tf.words import Record, natural

ACTING_STEPS = frozenset(("apply", "destroy"))
ACTING_OPERATIONS = frozenset((Operation.PROVISION, Operation.DESTROY, Operation.APPLY))
# What has an operation of its own; an import, a move or a forgotten resource has none.
_TOLD = frozenset(("create", "update", "delete", "replace"))

GONE = "it was destroyed, and its replacement is not complete"
"""The note on a replaced resource of which nothing is left, or a part of what was to take its place."""
# By what is done of it. Of an object that could not be destroyed beside its replacement no engine says that it
# has failed.
_HALVES = {
    frozenset(("delete",)): GONE,
    frozenset(("create",)): "its replacement is made, and the one before it may still exist",
}


class Fate(StrEnum):
    """How far a resource has come."""

    DONE = "done"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    NOT_STARTED = "not started"


WRONG = (Fate.FAILED, Fate.UNFINISHED)
"""What a reader looks for."""
WORST_FIRST = (*WRONG, Fate.NOT_STARTED, Fate.DONE)
"""The order of groups that may be folded."""


class ResourceFate(NamedTuple):
    """One resource: what was to be done to it, and what was; `seconds` is None for what never began."""

    address: str
    action: str
    fate: Fate
    seconds: float | None = None
    id: str | None = None
    note: str = ""


def fates_of(story: Story, *, success: bool) -> tuple[ResourceFate, ...]:
    """All resources that were touched, in the order they were begun, then those that were to be.

    After a success nothing is left to be begun.
    """
    if story.operation not in ACTING_OPERATIONS:
        return ()
    touched: dict[str, list[ActionPart]] = {}
    for part in story.actions:
        if 0 <= part.step < len(story.steps) and story.steps[part.step].step in ACTING_STEPS:
            parts = touched.setdefault(part.address, [])
            if parts and parts[0].step != part.step:  # what an earlier attempt came to counts no more
                parts.clear()
            parts.append(part)
    return (
        *(_touched(address, parts, story.planned.get(address)) for address, parts in touched.items()),
        *(() if success else _not_started(story.planned, touched)),
    )


def _touched(address: str, parts: Sequence[ActionPart], planned: Record | None) -> ResourceFate:
    action = planned["action"] if planned is not None else parts[-1].action
    done = {part.action for part in parts if part.status == "completed"}
    note = _HALVES.get(frozenset(done), "") if action == "replace" else ""
    if any(part.status == "failed" for part in parts):
        fate = Fate.FAILED
    elif any(part.status == "started" for part in parts) or (action == "replace" and len(done) < 2):
        fate = Fate.UNFINISHED
    else:
        fate = Fate.DONE
    return ResourceFate(
        address,
        action,
        fate,
        sum(seconds_between(part.began, part.ended) for part in parts if part.ended is not None),
        next((part.id for part in reversed(parts) if part.id), None),
        note if fate is not Fate.DONE else "",
    )


def _not_started(planned: Mapping[str, Record], touched: Mapping[str, object]) -> Iterator[ResourceFate]:
    # An engine plans in another order each time.
    for address in sorted(planned, key=natural):
        action = planned[address]["action"]
        if address not in touched and action in _TOLD:
            yield ResourceFate(address, action, Fate.NOT_STARTED)
