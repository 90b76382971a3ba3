"""Lines made of coloured pieces, and what a terminal is sent for them (pure).

The eight basic colours and no others, for people have chosen how those look on their background.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from hereya_tf.ui.cells import cell_width, cut_end, cut_middle


class Style(Enum):
    """How a piece looks; the value is what SGR calls it."""

    PLAIN = ""
    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    CYAN = "36"
    BOLD_RED = "1;31"
    BOLD_GREEN = "1;32"
    BOLD_YELLOW = "1;33"


class Piece(NamedTuple):
    """Text of one style, without control characters."""

    text: str
    style: Style = Style.PLAIN


Line = tuple[Piece, ...]
# Of an address so much is shown before anything is said behind it.
_ADDRESS_CELLS = 40


def line_of(*parts: str | Piece) -> Line:
    """A line of pieces and of plain text."""
    return tuple(Piece(part) if isinstance(part, str) else part for part in parts)


def width_of(line: Line) -> int:
    """Cells that the line takes."""
    return sum(cell_width(piece.text) for piece in line)


def fitted(line: Line, width: int) -> Line:
    """The line, its end cut off where it is wider than `width` cells."""
    if width_of(line) <= width:
        return line
    kept: list[Piece] = []
    for piece in line:
        taken = cell_width(piece.text)
        if taken > width:
            kept.append(piece._replace(text=cut_end(piece.text, width)))
            break
        kept.append(piece)
        width -= taken
    return tuple(piece for piece in kept if piece.text)


def with_address(before: Line, address: str, after: Line, width: int | None) -> Line:
    """A line around an address that gives way first: its middle is left out, then the end of the line."""
    if width is None:
        return (*before, Piece(address), *after)
    room = width - width_of(before) - width_of(after)
    if room < min(_ADDRESS_CELLS, cell_width(address)):
        after, room = (), width - width_of(before)
    return fitted((*before, Piece(cut_middle(address, room)), *after), width)


def encoded(line: Line, *, color: bool) -> str:
    """The text for a terminal, or for anything else; every piece ends the style it has begun."""
    if not color:
        return "".join(piece.text for piece in line).rstrip()
    return "".join(
        f"\x1b[{piece.style.value}m{piece.text}\x1b[0m" if piece.style.value and piece.text else piece.text
        for piece in line
    ).rstrip()


def encoded_all(lines: Iterable[Line], *, color: bool) -> list[str]:
    """Every line as text."""
    return [encoded(line, color=color) for line in lines]
