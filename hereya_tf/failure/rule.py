"""One line of the tables that turn an engine's words into a class of failure (pure)."""

from typing import NamedTuple

from hereya_tf.errors import FailureClass

ANY = ("",)
"""The summary is not fixed: the words are looked for in all of the engine's own text."""


class Rule(NamedTuple):
    """Fits when the summary begins with one of `summaries` and summary or detail hold one of `holds`.

    `hints` stand in the place of the class's own.
    """

    failure_class: FailureClass
    summaries: tuple[str, ...]
    holds: tuple[str, ...] = ()
    needs_init: bool = False
    hints: tuple[str, ...] = ()


def holds_one_of(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of the words is in the text."""
    return any(word in text for word in words)
