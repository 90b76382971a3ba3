"""The values in a plan's JSON that the engine itself calls sensitive (pure)."""

from collections.abc import Iterator
from typing import Any

# What is sensitive in the one is marked in the other, by the same keys: `true` is for all that is below.
_MARKED = (("before", "before_sensitive"), ("after", "after_sensitive"), ("values", "sensitive_values"))


def sensitive_values(plan: Any) -> Iterator[object]:
    """Of resources, outputs and variables, before and after; some more than once."""
    yield from _variables(plan)
    pending = [plan]
    while pending:  # no recursion: the depth is the package's choice
        match pending.pop():
            case dict() as members:
                for name, marks in _MARKED:
                    yield from _marked(members.get(name), members.get(marks))
                if members.get("sensitive") is True:
                    yield members.get("value")
                pending += members.values()
            case list() as items:
                pending += items
            case _:
                pass


def _variables(plan: Any) -> Iterator[object]:
    """The values stand in one place, and what is sensitive in another."""
    configuration = plan.get("configuration", {}).get("root_module", {})
    for name, declared in configuration.get("variables", {}).items():
        if declared.get("sensitive"):
            yield plan.get("variables", {}).get(name, {}).get("value")


def _marked(value: Any, marks: Any) -> Iterator[object]:
    pending = [(value, marks)]
    while pending:
        match pending.pop():
            case found, True:
                yield found
            case dict() as members, dict() as marked:
                pending += [(member, marked.get(name)) for name, member in members.items()]
            case list() as items, list() as marked:
                pending += zip(items, marked, strict=False)
            case _:
                pass
