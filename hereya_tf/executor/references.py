"""What the texts of a `resolve-env` job refer to: `env:NAME`, `file:PATH`, or an operator's command (pure)."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hereya_tf.errors import BadConfig
from hereya_tf.executor.payloads import Refusal
from hereya_tf.guards.command import split_command
from hereya_tf.words import listed

_PREFIX = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_COMMAND_PREFIX = re.compile(r"[a-z][a-z0-9+.-]*")
OWN_PREFIXES = ("env", "file", "text")
_WHOLE = "{}"


class Literal(NamedTuple):
    """A text that is its own value."""

    text: str


class FromVariable(NamedTuple):
    """The value of a variable in the environment of the executor's jobs."""

    name: str


class FromFile(NamedTuple):
    """The text of a file, without the line end behind it; the path is absolute."""

    path: str


class FromCommand(NamedTuple):
    """What a command prints, without the line end behind it."""

    prefix: str
    argv: tuple[str, ...]


Reference = Literal | FromVariable | FromFile | FromCommand


def read_reference(name: str, text: str, commands: Mapping[str, tuple[str, ...]]) -> Reference | Refusal:
    """What the text of the variable `name` refers to; without a prefix it is a value, `text:` stands before others.

    `commands` are the operator's by their prefixes: `{}` in a word of theirs is what follows the prefix, else it is
    one more word. No sentence repeats that: it may be a value that nobody has marked as one.
    """
    match = _PREFIX.match(text)
    if match is None:
        return Literal(text)
    prefix, rest = match[1], text[match.end() :]
    match prefix:
        case "text":
            return Literal(rest)
        case "env":
            return FromVariable(rest) if rest else Refusal(f"`{name}` has `env:` and no variable behind it")
        case "file":
            if rest.startswith("/"):
                return FromFile(rest)
            return Refusal(f"`{name}` has `file:` and no absolute path behind it")
        case _ if prefix in commands:
            return _command(name, prefix, commands[prefix], rest)
        case _:
            known = listed([f"`{each}:`" for each in (*OWN_PREFIXES, *sorted(commands))])
            return Refusal(
                f"`{name}` has a prefix that this executor does not know, `{prefix}:` (it knows {known};"
                " a value that only looks like it is written behind `text:`)"
            )


def read_commands(table: object, where: str) -> Mapping[str, tuple[str, ...]]:
    """The operator's commands: a table of PREFIX = "COMMAND" or ["WORD", …]. Raises BadConfig, naming `where`."""
    if not isinstance(table, dict):
        raise BadConfig(
            f"{where} is no table of commands", 'write it like `vault = "vault read -field=v {}"`'
        )
    return {prefix: _words(prefix, command, where) for prefix, command in table.items()}


def _words(prefix: str, command: Any, where: str) -> tuple[str, ...]:
    if _COMMAND_PREFIX.fullmatch(prefix) is None:
        raise BadConfig(
            f"{where}: `{prefix}` cannot be a prefix", "begin with a-z, go on with a-z, 0-9, `+.-`"
        )
    if prefix in OWN_PREFIXES:
        raise BadConfig(f"{where}: `{prefix}:` is one of our own", "give the command another prefix")
    try:
        if isinstance(command, str):
            return split_command(command)
        if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
            raise ValueError("it is neither a text nor a list of texts")
        if not command or not command[0] or any("\0" in word for word in command):
            raise ValueError("it names no command")
    except ValueError as error:
        raise BadConfig(
            f"{where}: the command of `{prefix}` cannot be used: {error}",
            "write it like `vault read -field=value`",
        ) from None
    return tuple(command)


def _command(name: str, prefix: str, words: tuple[str, ...], rest: str) -> Reference | Refusal:
    if rest.startswith("-"):
        return Refusal(f"`{name}` has `-` behind `{prefix}:`, which a command would take for an option")
    if not rest or "\0" in rest or any("\ud800" <= letter <= "\udfff" for letter in rest):
        return Refusal(f"`{name}` has nothing behind `{prefix}:` that a command could be given")
    # The first word is the command itself: no job gets to choose that.
    argv = (words[0], *(word.replace(_WHOLE, rest) for word in words[1:]))
    return FromCommand(prefix, argv if any(_WHOLE in word for word in words[1:]) else (*argv, rest))
