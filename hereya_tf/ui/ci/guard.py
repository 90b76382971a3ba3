"""Text of others in a log that takes some lines for commands (pure)."""

from collections.abc import Callable
from typing import NamedTuple


def _same(text: str) -> str:
    return text


class Guard(NamedTuple):
    """How text is written so that it commands nothing.

    `talk` is for people: it may change what is seen, but not hide that something is there. `shell`, `json` and
    `markup` keep what a shell, or a reader of JSON, of HTML or XML, gets. `commands` says of text that has to stay
    as it is whether a line of it would be a command.
    """

    talk: Callable[[str], str] = _same
    shell: Callable[[str], str] = _same
    json: Callable[[str], str] = _same
    markup: Callable[[str], str] = _same
    commands: Callable[[str], bool] = lambda _text: False


UNGUARDED = Guard()
