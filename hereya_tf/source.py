"""Lines of source code with what a diagnostic points at (pure)."""

from typing import NamedTuple


class SourceLine(NamedTuple):
    """A numbered line; `begin` and `end` say which of its characters are meant, both 0 when none are."""

    number: int
    code: str
    begin: int = 0
    end: int = 0

    @property
    def marks(self) -> str:
        """What stands below the line: `^` for what is meant, without its indentation; tabs keep the place."""
        meant = self.code[self.begin : self.end].lstrip()
        if not meant:
            return ""
        before = self.code[: self.end - len(meant)]
        return _for_each(" ", before) + _for_each("^", meant)


def _for_each(mark: str, text: str) -> str:
    return "".join("\t" if character == "\t" else mark for character in text)


def source_lines(code: str, first: int, begin: int, end: int) -> tuple[SourceLine, ...]:
    """`code` split into lines that count from `first`; `begin` and `end` are characters of the whole of it."""
    lines = []
    at = 0
    for number, text in enumerate(code.split("\n"), first):
        inside = max(begin - at, 0), min(end - at, len(text))
        lines.append(SourceLine(number, text, *(inside if inside[0] < inside[1] else (0, 0))))
        at += len(text) + 1
    return tuple(lines)


def characters_of(code: str, begin: int, end: int) -> tuple[int, int]:
    """Engines count bytes of UTF-8: the same as characters."""
    data = code.encode("utf-8", "surrogatepass")

    def characters(at: int) -> int:
        return len(data[: max(0, at)].decode("utf-8", "replace"))

    return characters(begin), characters(end)
