"""Outputs for a person at a terminal: names and values side by side, or one below the other (pure)."""

from collections.abc import Iterator, Sequence

from hereya_tf.ui.cells import cell_width
from hereya_tf.words import visible

_GAP = "  "
_INDENT = "    "
# Names so much wider than the terminal's third do not push the values of all others to the right.
_SHARE = 3
_MOST_LINES = 50
_MOST_CHARACTERS = 4000


def outputs_table(rows: Sequence[tuple[str, str | None, str]], *, width: int | None) -> str:
    """The lines for outputs: (name, value in one piece or None when withheld, value laid out over lines).

    `width` is the terminal's, in cells; None is for anything else, and cuts nothing.
    """
    names = [_in_one_line(name) for name, _, _ in rows]
    widths = [cell_width(name) for name in names]
    most = max(widths, default=0) if width is None else width // _SHARE
    column = max((taken for taken in widths if taken <= most), default=0)
    lines = []
    for name, taken, (_, text, layout) in zip(names, widths, rows, strict=True):
        beginning = name + " " * (column - taken) + _GAP
        value = "(sensitive)" if text is None else visible(text) or '""'
        if "\n" not in value and (width is None or _width(beginning + value) <= width):
            lines.append(beginning + value)
        else:
            lines += [name, *_below(name, layout, is_cut=width is not None)]
    return "".join(f"{line}\n" for line in lines)


def _below(name: str, layout: str, *, is_cut: bool) -> Iterator[str]:
    """The value's own lines. The terminal breaks long ones, so that they can be copied in one piece."""
    shown = layout[:_MOST_CHARACTERS] if is_cut else layout
    pieces = shown.removesuffix("\n").split("\n")
    if is_cut and len(pieces) > _MOST_LINES:
        pieces = pieces[:_MOST_LINES]
        shown = "\n".join(pieces)
    yield from (f"{_INDENT}{visible(piece)}".rstrip(" ") for piece in pieces)
    if left := len(layout) - len(shown):
        yield f"{_INDENT}… {left:,} more characters: `hereya-tf output PACKAGE {name} --format json` has them"


def _in_one_line(text: str) -> str:
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def _width(line: str) -> int:
    return cell_width(line.expandtabs())
