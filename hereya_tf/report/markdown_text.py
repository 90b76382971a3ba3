"""Text of others in Markdown: it is read as it is, and makes no markup, link, mention or reference (pure).

Prose goes into the text, all else into code: what GitHub and GitLab make links of (`@name`, `#1`, `!1`, `org/repo`,
commits, addresses) they pass over in code.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hereya_tf.words import flat, visible

_TICKS = re.compile(r"`+")
# Punctuation of a sentence, and what stands between.
_WORD = re.compile(r"(\(*)(.*?)([),.;:?]*)")
# A word, a number or a time, in quotes or not; and what stands between words.
_PROSE = re.compile(r"([\"']?)(?:[^\W\d_]+(?:['-][^\W\d_]+)*|\d+(?:\.\d+)?s?|\d+m\d\ds|\d+h\d\dm)\1|—|…")
# Hexadecimal words may be commits.
_COMMIT = re.compile(r"\W?[0-9a-fA-F]{7,64}\W?")
# Here a list would begin.
_LIST = re.compile(r"\d+[.)]")


def code(text: str) -> str:
    """A code span of one line, whatever is in it; of nothing, nothing."""
    shown = flat(text)
    ticks = "`" * (1 + max((len(found) for found in _TICKS.findall(shown)), default=0))
    is_padded = shown.strip(" ") and (shown[0] in "` " or shown[-1] in "` ")
    pad = " " if is_padded else ""
    return shown and f"{ticks}{pad}{shown}{pad}{ticks}"


def cell(text: str) -> str:
    """Code for a cell of a table; parsers do not agree on a backslash before a bar, so no bar stands there."""
    return "&#124;".join(code(part) for part in text.split("|"))


def prose(text: str) -> str:
    """A sentence: words stay words; what stands in backticks, or looks like a name, is code."""
    pieces: list[_Piece] = []
    for piece in _pieces(flat(text)):
        is_name = [each.is_name for each in pieces[-2:]] == [True, False] and pieces[-1].text == " "
        if piece.is_name and is_name:  # names beside each other are one
            pieces[-2:] = [piece._replace(text=f"{pieces[-2].text} {piece.text}")]
        elif piece.text:
            pieces.append(piece)
    shown = ""
    for piece in pieces:
        # Two spans side by side would be one.
        gap = " " if piece.is_code and shown.endswith("`") else ""
        shown += gap + (code(piece.text) if piece.is_code else piece.text)
    return shown.strip()


def prose_cell(text: str) -> str:
    """A sentence for a cell of a table."""
    return "&#124;".join(prose(part) for part in text.split("|"))


def fence(text: str, kind: str = "") -> list[str]:
    """The lines of a block of code that holds `text`, which cannot end it."""
    shown = visible(text).removesuffix("\n")
    ticks = "`" * max(3, 1 + max((len(found) for found in _TICKS.findall(shown)), default=0))
    return [f"{ticks}{kind}", *shown.split("\n"), ticks]


class _Piece(NamedTuple):
    text: str
    is_code: bool = False
    # Code, though it did not stand in backticks.
    is_name: bool = False


def _pieces(text: str) -> Iterator[_Piece]:
    is_first = True
    for number, part in enumerate(text.split("`")):
        if number % 2:  # it stood in backticks
            yield _Piece(part, is_code=True)
            is_first = False
            continue
        for word in re.findall(" +|[^ ]+", part):
            yield from _parts(word, is_first=is_first)
            is_first = is_first and word.isspace()


def _parts(word: str, *, is_first: bool) -> Iterator[_Piece]:
    """A word, apart from the punctuation of its sentence."""
    if word.isspace():
        yield _Piece(" ")
        return
    if is_first and (_LIST.fullmatch(word) or not word[0].isalnum()):
        yield _Piece(word, is_code=True, is_name=True)
        return
    found = _WORD.fullmatch(word)
    assert found is not None
    opening, middle, closing = found.groups()
    while closing.startswith(")") and middle.count("(") > middle.count(")"):
        middle, closing = f"{middle})", closing[1:]
    is_prose = not middle or bool(_PROSE.fullmatch(middle) and not _COMMIT.fullmatch(middle))
    yield _Piece(opening)
    yield _Piece(middle, is_code=not is_prose, is_name=not is_prose)
    yield _Piece(closing)
