"""A terminal that scrolls what has happened and shows below it what is going on (I/O).

Between two frames the cursor stands in the first row of the region, where nothing is written: whatever a
resized terminal does to the rows below it, all of them are still below it, and are erased from there.
Nothing outlasts a frame: the cursor is never hidden, and lines wrap again before the frame ends.
"""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hereya_tf.ui.frame import frame
from hereya_tf.ui.narrative import Moment, Narrative
from hereya_tf.ui.outlet import Outlet
from hereya_tf.ui.progress import Progress
from hereya_tf.ui.question import name_of
from hereya_tf.ui.styled import Line, encoded
from hereya_tf.words import visible

FRAME_SECONDS = 0.1
TICK_SECONDS = 1.0
# An engine that has just been started is left to start; who is done by then needs no region.
FIRST_FRAME_SECONDS = 0.15
_WORTH_A_REGION = frozenset(("step_started", "lock_waiting", "engine_download"))
# So many lines wait for a terminal that takes nothing; more are handed over without a region.
_MOST_LINES = 1000

_BEGIN, _END = "\x1b[?2026h", "\x1b[?2026l"
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"
_ERASE_LINE, _ERASE_BELOW = "\x1b[K", "\x1b[J"
# For a terminal that is not known to have more than these.
_ASCII = str.maketrans("✓✗·━─…", "*x-#.~")


class LiveView:
    """Shows a run on a terminal; `write` and `flush` are a sink's, called again and again while it lasts."""

    def __init__(
        self,
        outlet: Outlet,
        *,
        color: bool,
        unicode: bool,
        size: Callable[[], tuple[int, int]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._outlet = outlet
        self._color = color
        self._unicode = unicode
        self._size = size
        self._clock = clock
        self._progress = Progress()
        self._narrative = Narrative()
        self._lines: list[str] = []
        self._is_dirty = False
        self._is_paused = False
        # What the last frame was made for; no rows means that there is no region.
        self._rows = 0
        self._shown_size = (0, 0)
        self._painted_at = 0.0
        self._may_paint_at: float | None = None

    def write(self, record: Mapping[str, Any], _line: str) -> None:
        """Take one event in."""
        now = self._clock()
        if record["type"] == "run_started":
            record = {**record, "package": name_of(Path(record["package"]))}
        for line in self._narrative.lines(record, self._progress, Moment(now, self._size()[0])):
            self._lines.append(self._encoded(line))
        self._progress.tell(record, now)
        self._is_dirty = self._is_dirty or record["type"] != "heartbeat"
        if self._may_paint_at is None and record["type"] in _WORTH_A_REGION:
            self._may_paint_at = now + FIRST_FRAME_SECONDS
        if len(self._lines) > _MOST_LINES:
            self._clear()

    def flush(self) -> None:
        """Paint what is due, and pass on what the terminal takes."""
        now = self._clock()
        if not self._may_paint(now):
            self._clear()
        elif self._is_due(now):
            self._paint(now)
        self._outlet.flush()

    def say(self, text: str) -> None:
        """A line of somebody else's, that stays."""
        self._lines += visible(text).split("\n")
        self.flush()

    def pause(self) -> None:
        """Leave the terminal to a question."""
        self._is_paused = True
        self.flush()

    def resume(self) -> None:
        """Take the terminal back."""
        self._is_paused = False
        self._lines.append("")

    def _may_paint(self, now: float) -> bool:
        if self._progress.is_over or self._is_paused:
            return False
        return self._may_paint_at is not None and now >= self._may_paint_at

    def _is_due(self, now: float) -> bool:
        since = now - self._painted_at
        if since < FRAME_SECONDS or self._outlet.is_waiting:
            return False
        return (
            self._is_dirty or bool(self._lines) or since >= TICK_SECONDS or self._size() != self._shown_size
        )

    def _paint(self, now: float) -> None:
        """One frame: erase, what is new above, the region, and back to its first row."""
        width, height = size = self._size()
        region = [self._encoded(line) for line in frame(self._progress, width=width, height=height, now=now)]
        # Row by row where nothing else has changed: a terminal without synchronised output does not flicker.
        erase = "" if size == self._shown_size and not self._lines else _ERASE_BELOW
        above = "".join(f"{line}\n" for line in self._lines)
        rows = "\n".join(f"\r{_ERASE_LINE}{line}" for line in region)
        back = f"\r\x1b[{len(region) - 1}A" if len(region) > 1 else "\r"
        self._outlet.write(f"{_BEGIN}\r{erase}{above}{_NO_WRAP}{rows}{_ERASE_BELOW}{back}{_WRAP}{_END}")
        self._lines.clear()
        self._rows, self._shown_size, self._painted_at = len(region), size, now
        self._is_dirty = False

    def _clear(self) -> None:
        """What has happened, and no region."""
        erase = f"\r{_ERASE_BELOW}" if self._rows else ""
        if text := erase + "".join(f"{line}\n" for line in self._lines):
            self._outlet.write(text)
        self._lines.clear()
        self._rows = 0

    def _encoded(self, line: Line) -> str:
        text = encoded(line, color=self._color)
        return text if self._unicode else text.translate(_ASCII)


def size_of(descriptor: int) -> tuple[int, int]:
    """Columns and rows of the terminal at a descriptor now; 80 by 24 when it does not know."""
    try:
        columns, rows = os.get_terminal_size(descriptor)
    except OSError:
        return 80, 24
    return columns or 80, rows or 24
