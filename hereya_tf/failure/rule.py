"""One line of the tables that turn an engine's words into a class of failure (pure)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hereya_tf.errors import FailureClass
from hereya_tf.stream.message_types import Diagnostic

ANY = ("",)
"""The summary is not fixed: the words are looked for in all of the engine's own text."""


class Scene(NamedTuple):
    """What is known around a diagnostic when it is put into words.

    `private` is the directory of files that only we know of, `state` is where the state lies, `said` are all
    errors.
    """

    engine: str = "Terraform"
    private: str = ""
    state: str | None = None
    said: Sequence[Diagnostic] = ()


class Rule(NamedTuple):
    """Fits when the summary begins with one of `summaries` and summary or detail hold one of `holds`.

    `hints` stand in the place of the class's own. `tell` words the sentence, where the engine's own words leave
    out what people need; it answers None to leave them as they are.
    """

    failure_class: FailureClass
    summaries: tuple[str, ...]
    holds: tuple[str, ...] = ()
    needs_init: bool = False
    hints: tuple[str, ...] = ()
    tell: Callable[[Diagnostic, Scene], str | None] | None = None


def holds_one_of(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words is in the text."""
    return any(word in text for word in words)


def words(text: str) -> str:
    """The text on one line, as Terraform says it."""
    return " ".join(text.split()).replace("OpenTofu", "Terraform")


def spoken(text: str) -> str:
    """In lower case and without addresses on the network: what is in them, somebody has chosen."""
    return " ".join(word for word in text.lower().split() if "://" not in word)
