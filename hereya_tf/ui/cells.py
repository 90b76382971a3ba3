"""How wide text is on a terminal, and how to make it fit (pure).

Widths are counted in cells: a Chinese character or an emoji takes two, a combining mark none.
"""

ELLIPSIS = "…"
# What we draw with ourselves: known to be one cell wide, so that most runs never need rich's tables.
_NARROW = str.maketrans("", "", "…·✓✗━─→↻⊘")
# Characters per cell that are looked at: text made of marks without a width has no end.
_MARKS = 8


def cell_width(text: str) -> int:
    """Cells that `text` takes; it holds no control characters."""
    if text.translate(_NARROW).isascii():
        return len(text)
    # 10 ms, for who has such text only.
    from rich.cells import cell_len

    return cell_len(text)


def cut_end(text: str, width: int, *, ellipsis: str = ELLIPSIS) -> str:
    """`text`, or its beginning and an ellipsis when it is wider than `width` cells."""
    if cell_width(text) <= width:
        return text
    return _beginning(text, width - cell_width(ellipsis)) + ellipsis if width > 0 else ""


def cut_middle(text: str, width: int, *, ellipsis: str = ELLIPSIS) -> str:
    """`text`, or both its ends around an ellipsis when it is wider than `width` cells.

    The end is the longer part: of an address it has the name and the key.
    """
    if cell_width(text) <= width:
        return text
    room = width - cell_width(ellipsis)
    if room < 2:
        return cut_end(text, width, ellipsis=ellipsis)
    end = _ending(text, room - room * 2 // 5)
    return _beginning(text, room - cell_width(end)) + ellipsis + end


def folded(text: str, width: int, *, before: str = " ") -> list[str]:
    """`text` in lines of at most `width` cells, cut before one of the characters `before` where that leaves a
    third of a line.

    A blank that a line would begin with is left out. A width below 8 cells is taken for 8.
    """
    width = max(8, width)
    lines: list[str] = []
    position = 0
    while True:
        # No more than a line can hold: a text of a megabyte has thousands of them.
        part = text[position : position + width * _MARKS + 1]
        if len(part) <= width * _MARKS and cell_width(part) <= width:
            return [*lines, part]
        line = _beginning(part, width)
        # It may stand right behind what fits.
        cut = max(part.rfind(character, len(line) // 3, len(line) + 1) for character in before)
        cut = cut if cut > 0 else max(1, len(line))
        lines.append(part[:cut].rstrip(" "))
        position += cut
        while text.startswith(" ", position):
            position += 1


def _beginning(text: str, width: int) -> str:
    """As much of the beginning as fits; halving finds it, for the width of a part never exceeds the whole's."""
    if text.isascii():
        return text[: max(0, width)]
    low, high = 0, min(len(text), max(0, width) * _MARKS)
    while low < high:
        middle = (low + high + 1) // 2
        if cell_width(text[:middle]) <= width:
            low = middle
        else:
            high = middle - 1
    return text[:low]


def _ending(text: str, width: int) -> str:
    """As much of the end as fits, never beginning with a mark that belongs to what was cut off."""
    if text.isascii():
        return text[len(text) - width :] if width > 0 else ""
    low, high = len(text) - min(len(text), max(0, width) * _MARKS), len(text)
    while low < high:
        middle = (low + high) // 2
        if cell_width(text[middle:]) <= width:
            high = middle
        else:
            low = middle + 1
    while low < len(text) and cell_width(text[low]) == 0:
        low += 1
    return text[low:]
