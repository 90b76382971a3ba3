"""Patterns of paths: `modules/network`, `*.tf`, `**/*.tf` (pure)."""

import functools
import re
from collections.abc import Sequence
from fnmatch import translate

_ANY_DIRECTORIES = "**"
_WILD = ("*", "?", "[")


def why_no_pattern(pattern: str) -> str | None:
    """What is wrong with a pattern, None when nothing is."""
    parts = _parts(pattern)
    if not parts:
        return "it is empty"
    if ".." in parts or "." in parts:
        return "paths begin at the top of the repository, and have no `.` and `..`"
    if any(_ANY_DIRECTORIES in part and part != _ANY_DIRECTORIES for part in parts):
        return "`**` stands for whole directories: write `**/*.tf`, not `**.tf`"
    return None


def matches(path: str, pattern: str) -> bool:
    """Whether a file is meant by a pattern.

    `*`, `?`, `[abc]` stand for what is within one name, `**` for any number of directories. A pattern that ends in
    a plain name, or in `/`, means all that is below as well.
    """
    parts = _parts(pattern)
    if parts and (pattern.endswith("/") or not any(sign in parts[-1] for sign in _WILD)):
        return _fits(path.split("/"), parts) or _fits(path.split("/"), [*parts, _ANY_DIRECTORIES, "*"])
    return _fits(path.split("/"), parts)


def _parts(pattern: str) -> list[str]:
    return [part for part in pattern.removeprefix("./").split("/") if part]


def _fits(names: Sequence[str], parts: Sequence[str]) -> bool:
    """Names against parts, each `**` taking as few as it can; what it must take is found by going back to it."""
    name = part = 0
    last, taken = -1, 0
    while name < len(names):
        if part < len(parts) and parts[part] == _ANY_DIRECTORIES:
            last, taken = part, name
            part += 1
        elif part < len(parts) and _expression(parts[part]).match(names[name]):
            name, part = name + 1, part + 1
        elif last >= 0:
            taken += 1
            name, part = taken, last + 1
        else:
            return False
    return all(rest == _ANY_DIRECTORIES for rest in parts[part:])


@functools.lru_cache(256)
def _expression(part: str) -> re.Pattern[str]:
    # `translate` makes groups that give nothing back, so no name takes long.
    return re.compile(translate(part))
