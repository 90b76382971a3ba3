"""A terminal's screen, emulated: what a person would see of the bytes a program has written."""

import pyte


class Screen:
    """Takes bytes; has rows, what has scrolled off above them, and a cursor."""

    def __init__(self, width: int, height: int) -> None:
        self._screen = pyte.HistoryScreen(width, height, history=100_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)

    def feed(self, data: bytes) -> None:
        """Show what was written, to a terminal in its usual mode."""
        self._stream.feed(data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    def resize(self, width: int, height: int) -> None:
        """What is beyond the new edge is gone, as on an xterm."""
        self._screen.resize(lines=height, columns=width)

    @property
    def rows(self) -> list[str]:
        """The rows without what is blank below them."""
        rows = [str(row).rstrip() for row in self._screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def everything(self) -> list[str]:
        """The rows, and those above that have scrolled off."""
        width = self._screen.columns
        above = [
            "".join(line[column].data for column in range(width)).rstrip()
            for line in self._screen.history.top
        ]
        return [*above, *self.rows]

    @property
    def cursor(self) -> tuple[int, int]:
        """Row and column, from 0."""
        return self._screen.cursor.y, self._screen.cursor.x

    @property
    def is_cursor_hidden(self) -> bool:
        return bool(self._screen.cursor.hidden)
