"""What one known form of a credential is (pure)."""

from typing import NamedTuple

# Characters; so much text decides about everything that starts before it. No match of a shape is longer.
REACH = 32 * 1024


class Shape(NamedTuple):
    """A credential known by its form; where no hint is, there is none.

    Of the groups of `pattern` one matches, and what it matches is secret. A pattern that begins with a letter, or
    with a class of few, is looked for five times as fast as one that begins with a choice.
    """

    hints: tuple[str, ...]
    pattern: str
    # Whether what follows decides: the end of a text does then, but not a mask, which may stand for anything.
    is_closed: bool = False
