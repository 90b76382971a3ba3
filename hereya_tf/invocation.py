"""The command line of a run, as it may be shown and used again (pure)."""

import shlex
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from hereya_tf.redaction import Redactor
from hereya_tf.redaction.credential_shapes import looks_like_credential_name

_NAMELESS = "VALUE"


class Word(NamedTuple):
    """One word of a command line.

    `holds_value` says that it is NAME=VALUE, and that the value may be a secret, `is_private` that nobody but the
    caller has to know it; `before` stands in front of it, in the same word. A word that is private as a whole is
    asked for by its `name`.
    """

    text: str
    holds_value: bool = False
    before: str = ""
    is_private: bool = False
    name: str = ""


class Invocation(NamedTuple):
    """The directory that a command was given in, and its words."""

    directory: str
    words: tuple[Word, ...]


def reproduce(invocation: Invocation, redactor: Redactor | None, sensitive: Collection[str]) -> str:
    """The command for a shell, on one line.

    In place of a value that is private, of a variable in `sensitive`, or a secret stands a variable of the shell,
    without which it refuses the command: `token="${token:?}"`. Without a redactor nothing is known of the values,
    and none is shown.
    """
    words = (word.before + _shown(word, redactor, sensitive) for word in invocation.words)
    directory = _shown(Word(invocation.directory), redactor, ())
    return f"cd {directory} && {' '.join(words)}"


def _shown(word: Word, redactor: Redactor | None, sensitive: Collection[str]) -> str:
    name, equals, _ = word.text.partition("=")
    if not word.text.isprintable():  # a command of one line, whatever the lines in its values say
        is_named = word.holds_value and name.isprintable()
        return f"{_quoted(name)}={_asked_for(name)}" if is_named else _asked_for("")
    if word.name:
        return _asked_for(word.name)
    if not word.holds_value:
        shown = (redactor or Redactor()).text(word.text)
        return _quoted(shown) if shown == word.text else _asked_for("")
    if not equals:
        return _asked_for("") if redactor is None else _quoted(redactor.text(word.text))
    is_secret = (
        redactor is None
        or word.is_private
        or name.removesuffix(":") in sensitive
        or looks_like_credential_name(name.removesuffix(":"))
        or redactor.text(word.text) != word.text
    )
    return f"{_quoted(name)}={_asked_for(name)}" if is_secret else _quoted(word.text)


def _quoted(text: str) -> str:
    """The word as every shell takes it: to zsh `=name` is the path of a program."""
    quoted = shlex.quote(text)
    return f"'{quoted}'" if quoted.startswith("=") else quoted


def _asked_for(name: str) -> str:
    """A variable that the shell asks for."""
    plain = "".join(each if each.isascii() and each.isalnum() else "_" for each in name.removesuffix(":"))
    variable = f"_{plain}" if plain[:1].isdecimal() else plain or _NAMELESS
    return f'"${{{variable}:?}}"'


def words_of(
    option: str, values: Iterable[str], *, hold_values: bool = False, are_private: bool = False
) -> Iterator[Word]:
    """An option with each of its values."""
    for value in values:
        yield Word(option)
        yield Word(value, hold_values, is_private=are_private)
