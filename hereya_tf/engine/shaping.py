"""The user's own arguments that decide what a plan does: they are for whichever command makes it (pure).

Beside a saved plan the engine takes them without a word, and does nothing with them: with `-target` all of it
is applied. Variables it compares, and needs ephemeral ones again.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ALONE = frozenset(("destroy", "refresh", "refresh-only"))
_WITH_VALUE = frozenset(("target", "target-file", "exclude", "exclude-file", "replace", "invoke"))
_VARIABLES = frozenset(("var", "var-file"))


class Parted(NamedTuple):
    """Arguments in their order: those that shape a plan, and those that a saved one may be applied with."""

    shaping: tuple[str, ...]
    lasting: tuple[str, ...]


def part(arguments: Sequence[str]) -> Parted:
    """Tell apart what shapes a plan; a value of its own word, as in `-target a.b`, stays behind its name."""
    shaping: list[str] = []
    lasting: list[str] = []
    for name, words in _named(arguments):
        if name in _ALONE | _WITH_VALUE | _VARIABLES:
            shaping += words
        if name not in _ALONE | _WITH_VALUE:
            lasting += words
    return Parted(tuple(shaping), tuple(lasting))


def _named(arguments: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each argument by the name of its option, with the value that follows it."""
    remaining = iter(arguments)
    for argument in remaining:
        name, equals, _ = argument.removeprefix("-").removeprefix("-").partition("=")
        takes_next = argument.startswith("-") and name in _WITH_VALUE | _VARIABLES and not equals
        value = next(remaining, None) if takes_next else None
        yield name if argument.startswith("-") else "", (argument,) if value is None else (argument, value)
