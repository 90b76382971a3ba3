"""The command line of a run, as it may be shown and used again (pure)."""

import shlex
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from hereya_tf.redaction import Redactor
from hereya_tf.redaction.credential_shapes import looks_like_credential_name

_HIDDEN = "…"


class Word(NamedTuple):
    """One word of a command line.

    `holds_value` says that it is NAME=VALUE, and that the value may be a secret; `before` stands in front of it,
    in the same word.
    """

    text: str
    holds_value: bool = False
    before: str = ""


class Invocation(NamedTuple):
    """The directory that a command was given in, and its words."""

    directory: str
    words: tuple[Word, ...]


def reproduce(invocation: Invocation, redactor: Redactor | None, sensitive: Collection[str]) -> str:
    """The command for a shell, on one line; values of the variables in `sensitive`, and secrets, are left out.

    Without a redactor nothing is known of the values, and none is shown.
    """
    words = (word.before + _shown(word, redactor, sensitive) for word in invocation.words)
    directory = _shown(Word(invocation.directory), redactor, ())
    return f"cd {directory} && {' '.join(words)}"


def _shown(word: Word, redactor: Redactor | None, sensitive: Collection[str]) -> str:
    name, equals, _ = word.text.partition("=")
    if not word.text.isprintable():  # a command of one line, whatever the lines in its values say
        return f"{shlex.quote(name)}={_HIDDEN}" if word.holds_value and name.isprintable() else _HIDDEN
    if not word.holds_value:
        return shlex.quote((redactor or Redactor()).text(word.text))
    if redactor is None and not equals:
        return _HIDDEN
    is_secret = (
        redactor is None
        or name.removesuffix(":") in sensitive
        or looks_like_credential_name(name.removesuffix(":"))
        or redactor.text(word.text) != word.text
    )
    return f"{shlex.quote(name)}{equals}{_HIDDEN}" if is_secret else shlex.quote(word.text)


def words_of(option: str, values: Iterable[str], *, hold_values: bool = False) -> Iterator[Word]:
    """An option with each of its values."""
    for value in values:
        yield Word(option)
        yield Word(value, hold_values)
