"""What a plan would do, from the plan's own JSON (pure).

The format is that of `show -json PLAN`: https://developer.hashicorp.com/terraform/internals/json-format
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

_NOTHING = frozenset(("no-op", "read"))
# Whatever else a newer engine may do to a resource, it may be lost by it.
_HARMLESS = _NOTHING | {"create", "update"}
# Versions of the format whose words are the same; a list that is called otherwise would look like no changes.
_FORMATS = ("0.", "1.")
# Neither a resource nor an output: actions that applying invokes, and what is put off to a later plan.
_OTHERS = ("action_invocations", "deferred_changes")


class ResourceChange(NamedTuple):
    """What would happen to one object of a resource; `deposed` is the key of one that was already replaced."""

    address: str
    actions: frozenset[str]
    previous_address: str | None = None
    deposed: str | None = None
    is_import: bool = False

    @property
    def is_destroyed(self) -> bool:
        """Whether the object is destroyed; a replaced one is."""
        return "delete" in self.actions

    @property
    def is_lost(self) -> bool:
        """Whether it is destroyed, or forgotten."""
        return not self.actions <= _HARMLESS

    @property
    def is_change(self) -> bool:
        """Whether anything happens at all: to be moved, or taken in, is something."""
        moved = self.previous_address not in (None, self.address)
        return moved or self.is_import or not self.actions <= _NOTHING


class Changes(NamedTuple):
    """All that a plan would do: to resources, to outputs by their names, and (`has_more`) besides."""

    resources: tuple[ResourceChange, ...] = ()
    outputs: tuple[str, ...] = ()
    has_more: bool = False

    @property
    def are_none(self) -> bool:
        """Whether applying the plan changes nothing."""
        return not (self.outputs or self.has_more or any(each.is_change for each in self.resources))


def read_changes(plan: Any) -> Changes:
    """The changes of a plan as `show -json` prints it.

    Raises ValueError for what is not of that form: it must not pass for a plan that does little.
    """
    if not isinstance(plan, dict) or not str(plan.get("format_version", "")).startswith(_FORMATS):
        raise ValueError("it is not a plan in a format that is known")
    try:
        found = Changes(
            resources=tuple(_resources(plan.get("resource_changes") or ())),
            outputs=tuple(
                name
                for name, change in (plan.get("output_changes") or {}).items()
                if not frozenset(change["actions"]) <= _NOTHING
            ),
            has_more=any(plan.get(name) for name in _OTHERS),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("it does not say what it would do to each resource") from error
    # Since Terraform 1.8 the engine says so itself.
    return found._replace(has_more=found.has_more or (found.are_none and plan.get("applyable") is True))


def _resources(entries: Iterable[Mapping[str, Any]]) -> Iterator[ResourceChange]:
    for entry in entries:
        # To read is not to change, and what was read is not lost.
        if entry["mode"] == "data":
            continue
        change = entry["change"]
        if not isinstance(entry["address"], str) or not isinstance(change["actions"], list):
            raise TypeError("an address is a text, and actions are a list")
        yield ResourceChange(
            address=entry["address"],
            actions=frozenset(change["actions"]),
            previous_address=entry.get("previous_address"),
            deposed=entry.get("deposed"),
            is_import=bool(change.get("importing")),
        )
