"""Whether a plan may be applied: what guards have against it, in the words of a failure (pure)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hereya_tf.errors import HereyaError, Protected, TooManyDestroys, UnexpectedChanges
from hereya_tf.events import Operation
from hereya_tf.guards import Guards, Limit, Pattern
from hereya_tf.guards.addresses import protects
from hereya_tf.guards.changes import Changes, ResourceChange
from hereya_tf.words import flat, listed, natural

_MOST_NAMED = 3
_MOVED = "where it has only got another address, say so in a `moved` block"
# `plan` has just shown it, and another plan than a bundle's would be another.
_TO_LOOK = {
    Operation.PROVISION: ("see what it would do, and why: `hereya-tf plan`",),
    Operation.DESTROY: ("see what it would do: `hereya-tf plan --destroy`",),
}


class Objection(NamedTuple):
    """What one guard has against a plan: the error that it is, what the plan does, and the ways out."""

    error: type[HereyaError]
    # Follows "the plan": "destroys …, and … allows none".
    clause: str
    hints: tuple[str, ...]


def objections(guards: Guards, changes: Changes, operation: Operation) -> tuple[Objection, ...]:
    """Everything that the guards but the policy have against a plan of an operation, the gravest first."""
    return tuple(_objections(guards, changes, operation))


def refusal(found: Sequence[Objection]) -> HereyaError | None:
    """The error for all objections, of the first one's class; None when there are none."""
    if not found:
        return None
    hints = dict.fromkeys(hint for objection in found for hint in objection.hints)
    return found[0].error("the plan " + "; it ".join(objection.clause for objection in found), *hints)


def told(option: str, value: object, place: str) -> str:
    """A guard as it was given, and by whom: `--protect x`, `HEREYA_TF_PROTECT=x`, `protect = x` in `FILE:LINE`."""
    shown = flat(str(value))
    if place.startswith("--"):
        return f"`{place} {shown}`"
    return f"`{place}={shown}`" if _is_variable(place) else f"`{option} = {shown}` in `{place}`"


def without(option: str, value: object, place: str) -> str:
    """What to do so that a guard does not hold: the end of a sentence that says when."""
    if place.startswith("--"):
        return f"leave out {told(option, value, place)}"
    shown = flat(str(value))
    return f"take `{shown}` out of `{place}`" if _is_variable(place) else f"change `{option}` in `{place}`"


def _is_variable(place: str) -> bool:
    return place.startswith("HEREYA_TF_")


def _objections(guards: Guards, changes: Changes, operation: Operation) -> Iterator[Objection]:
    lost = [(each, tuple(_against(guards.protect, each))) for each in changes.resources if each.is_lost]
    if touched := [(each, patterns) for each, patterns in lost if patterns]:
        yield _protected(touched, operation)
    destroyed = [each for each in changes.resources if each.is_destroyed]
    if guards.max_destroy is not None and len(destroyed) > guards.max_destroy.most:
        yield _too_many(destroyed, guards.max_destroy)
    if guards.expect_no_changes is not None and not changes.are_none:
        yield _unexpected(changes, guards.expect_no_changes, operation)


def _against(patterns: Sequence[Pattern], change: ResourceChange) -> Iterator[Pattern]:
    """The patterns that a change goes against: under its old address a resource is still what it was."""
    addresses = {change.address, change.previous_address or change.address}
    for pattern in patterns:
        if any(protects(pattern.text, address) for address in addresses):
            yield pattern


def _protected(
    touched: Sequence[tuple[ResourceChange, tuple[Pattern, ...]]], operation: Operation
) -> Objection:
    patterns = tuple(dict.fromkeys(pattern for _, against in touched for pattern in against))
    verbs = sorted({_verb(change) for change, _ in touched})
    guards = _few([told("protect", pattern.text, pattern.place) for pattern in patterns])
    verb = "protects" if len(patterns) == 1 else "protect"
    return Objection(
        Protected,
        f"{listed(verbs, 'or')} {_few(_names(change for change, _ in touched))}, which {guards} {verb}",
        (
            *(() if operation is Operation.DESTROY else (_MOVED,)),
            *(
                f"if it is really to go, {without('protect', pattern.text, pattern.place)}"
                for pattern in patterns[:_MOST_NAMED]
            ),
        ),
    )


def _verb(change: ResourceChange) -> str:
    if not change.is_destroyed:
        return "forgets"
    return "replaces" if "create" in change.actions else "destroys"


def _too_many(destroyed: Sequence[ResourceChange], limit: Limit) -> Objection:
    count = f"{len(destroyed)} resource{'s' if len(destroyed) > 1 else ''}"
    allowed = str(limit.most) if limit.most else "none"
    guard = told("max-destroy", limit.most, limit.place)
    is_files = not limit.place.startswith("--") and not _is_variable(limit.place)
    more = (
        f"set `max-destroy = {len(destroyed)}` in `{limit.place}`"
        if is_files
        else (f"allow them with `--max-destroy {len(destroyed)}`")
    )
    return Objection(
        TooManyDestroys,
        f"destroys {count}, {_few(_names(destroyed))}, and {guard} allows {allowed}",
        (f"if so many are really to go, {more}",),
    )


def _unexpected(changes: Changes, place: str, operation: Operation) -> Objection:
    named = _names(each for each in changes.resources if each.is_change)
    named += [f"output `{flat(name)}`" for name in sorted(changes.outputs)]
    what = _few(named) if named else "something that is neither a resource nor an output"
    return Objection(
        UnexpectedChanges,
        f"changes {what}, and `{place}` allows no change",
        (*_TO_LOOK.get(operation, ()), "if it is to be done, run it without that guard"),
    )


def _names(changes: Iterable[ResourceChange]) -> list[str]:
    """The addresses as a sentence has them, in the order that people count in."""
    ordered = sorted(changes, key=lambda change: (natural(change.address), change.deposed or ""))
    return [
        f"`{flat(change.address)}`" + (f" (deposed `{flat(change.deposed)}`)" if change.deposed else "")
        for change in ordered
    ]


def _few(names: Sequence[str]) -> str:
    """`a`, `b` and `c`; of many the first few, and how many more."""
    if len(names) > _MOST_NAMED + 1:
        names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
    return listed(names)
