"""The region that is painted over and over below what has happened: where the run stands now (pure)."""

import heapq

from hereya_tf.ui.cells import cell_width, cut_end
from hereya_tf.ui.narrative import INDENT, NARROW_CELLS, TIME_CELLS, WORD_CELLS, marked
from hereya_tf.ui.progress import HARMLESS, Flight, LockWait, Progress, Stop
from hereya_tf.ui.styled import Line, Piece, Style, fitted, line_of, width_of, with_address
from hereya_tf.words import DOING, arrived_text, flat, format_seconds, passing_text, queue_text

_MOST_ROWS = 16
# On a small screen more than half of it, for what a second Ctrl-C would cost must have room.
_FEWEST_ROWS = 10
_BAR_CELLS = 30
_SHORTEST_BAR_CELLS = 10
_SYMBOLS = {
    "create": ("+", Style.GREEN),
    "update": ("~", Style.YELLOW),
    "delete": ("-", Style.RED),
}
_STEPS = {
    "init": "initialising",
    "plan": "planning",
    "apply": "applying",
    "destroy": "destroying",
    "output": "reading the outputs",
    "workspace": "looking for the workspace",
    "state": "looking at the state",
    "show": "reading the plan",
    "policy": "asking the policy",
    "validate": "validating",
}


def frame(progress: Progress, *, width: int, height: int, now: float) -> list[Line]:
    """The lines of the region for a screen of `width` cells and `height` rows; none when the run is over.

    Never all of its rows, and never a line that fills one: a full row may wrap.
    """
    rows = min(_MOST_ROWS, max(height // 2, min(height - 1, _FEWEST_ROWS)))
    if progress.is_over or rows < 1 or width < 2:
        return []
    lines = [_header(progress, width - 1, now), *_details(progress, width - 1, now)]
    if rows >= 3:
        # The cursor waits in this one: what a key echoes is written here, and painted over.
        lines.insert(0, ())
    room = rows - len(lines)
    if progress.in_flight and room > 0:
        lines += _flights(progress, width - 1, room, now)
    elif progress.note:
        lines.append(line_of(INDENT, Piece(flat(progress.note), Style.DIM)))
    return [fitted(line, width - 1) for line in lines[:rows]]


def _header(progress: Progress, width: int, now: float) -> Line:
    """`1m05s  provision web-shop · workspace default · applying`."""
    doing = _STEPS.get(progress.step, flat(progress.step))
    if progress.lock_wait is not None:
        doing = f"waiting for the {progress.lock_wait.lock} lock"
    elif progress.download is not None:
        doing = f"downloading {flat(progress.download.engine)}"
    elif progress.pause is not None:
        doing = f"{progress.pause.step} again in {_whole(progress.pause.until - now)}"
    if progress.stop is not None:
        doing = "stopping"
    head = line_of(
        Piece(_time(now - progress.began), Style.DIM),
        Piece(f"{progress.operation} {flat(progress.package)}", Style.BOLD),
    )
    where = Piece(f" · workspace {flat(progress.workspace)}", Style.DIM)
    style = Style.CYAN if progress.stop is None else Style.BOLD_YELLOW
    what = line_of(Piece(" · ", Style.DIM), Piece(doing or "starting", style))
    whole = (*head, where, *what)
    return whole if width_of(whole) <= width else (*fitted(head, width - width_of(what)), *what)


def _details(progress: Progress, width: int, now: float) -> list[Line]:
    lines: list[Line] = []
    if progress.stop is not None:
        lines += _stopping(progress, progress.stop, width, now)
    if progress.lock_wait is not None:
        lines += _holder(progress.lock_wait, width, now)
    if progress.download is not None:
        arrived, total = progress.download.arrived, progress.download.total
        text = arrived_text(arrived, total)
        lines.append(line_of(INDENT, *_bar(arrived, total or 0, width - len(INDENT) - len(text)), text))
    if progress.pause is not None:
        why = passing_text(progress.pause.failure_class)
        lines.append(line_of(_indent(width), Piece(f"it has failed, but may pass: {flat(why)}", Style.DIM)))
    if counts := _counts(progress, width):
        lines.append(counts)
    return lines


def _stopping(progress: Progress, stop: Stop, width: int, now: float) -> list[Line]:
    """What is going on, and what a second Ctrl-C would cost: never cut off."""
    before = _indent(width)
    return [
        line
        for text in _warnings(progress, stop, now)
        for line in marked(Piece("!", Style.BOLD_YELLOW), text, Style.YELLOW, width, before=before)
    ]


def _warnings(progress: Progress, stop: Stop, now: float) -> list[str]:
    at_stake = sum(flight.action not in HARMLESS for flight in progress.in_flight.values())
    resources = "the resource" if at_stake == 1 else f"the {at_stake:,} resources"
    if stop.killed:
        return ["the engine did not end and is killed"]
    if stop.insisted_at is not None:
        lost = f": {resources} in flight may exist and not be in the state" if at_stake else ""
        return [f"told to end at once{lost}"]
    if not progress.mutating:
        return ["nothing is being changed, so nothing can be lost"]
    left = _whole(stop.grace - (now - stop.asked_at))
    texts = [f"the engine gets up to {left} more for what is in flight"]
    if at_stake and stop.reason == "signal":
        texts.append(f"a second Ctrl-C ends it at once: {resources} in flight would not be in the state")
    return texts


def _holder(wait: LockWait, width: int, now: float) -> list[Line]:
    """Who has the lock, since when, and how many come first."""
    holder, before, queue = wait.holder, _indent(width), queue_text(wait.ahead)
    if holder is None:
        return [line_of(before, f"held by somebody; {queue}")]
    held = "" if wait.held_seconds is None else f" for {_whole(wait.held_seconds + now - wait.told_at)}"
    who = f"held{held} by {holder['operation']} of run {holder['run']}"
    return [
        line_of(before, flat(who)),
        line_of(before, Piece(f"pid {holder['pid']} on {flat(holder['host'])}; {queue}", Style.DIM)),
    ]


def _counts(progress: Progress, width: int) -> Line:
    """`━━━━────  12 of 40 done · 3 in flight · 25 waiting`."""
    flying = len(progress.in_flight)
    parts: list[Piece] = []
    bar: tuple[int, int] | None = None
    if progress.step in ("apply", "destroy") and (progress.done or progress.waiting or progress.mutating):
        total = progress.done + progress.failed + progress.waiting + flying
        parts.append(Piece(f"{progress.done:,} of {total:,} done"))
        bar = progress.done, total
    elif progress.refreshed:
        parts.append(Piece(f"{progress.refreshed:,} refreshed"))
    if progress.failed:
        parts.append(Piece(f"{progress.failed:,} failed", Style.BOLD_RED))
    if flying and parts:
        parts.append(Piece(f"{flying:,} in flight"))
    if bar and progress.waiting:
        parts.append(Piece(f"{progress.waiting:,} waiting"))
    between = Piece(" · ", Style.DIM)
    joined = tuple(piece for part in parts for piece in (between, part))[1:]
    if not joined:
        return ()
    before = _indent(width)
    return line_of(before, *(_bar(*bar, width - len(before) - width_of(joined)) if bar else ()), *joined)


def _indent(width: int) -> str:
    return INDENT if width >= NARROW_CELLS else "  "


def _bar(done: int, total: int, room: int) -> Line:
    """How much is done, where there is room to draw it."""
    cells = min(_BAR_CELLS, room - 2)
    if cells < _SHORTEST_BAR_CELLS or not total:
        return ()
    full = min(cells, cells * done // total)
    return line_of(Piece("━" * full, Style.GREEN), Piece("─" * (cells - full), Style.DIM), "  ")


def _flights(progress: Progress, width: int, room: int, now: float) -> list[Line]:
    """What is in flight, the longest first, in at most `room` lines."""
    flights = progress.in_flight
    shown = len(flights) if len(flights) <= room else max(0, room - 1)
    longest = heapq.nsmallest(shown, flights.items(), key=lambda item: item[1].since)
    lines = [_flight(address, flight, width, now) for address, flight in longest]
    if shown < len(flights) and len(lines) < room:
        lines.append(line_of(INDENT, Piece(f"and {len(flights) - shown:,} more", Style.DIM)))
    return lines


def _flight(address: str, flight: Flight, width: int, now: float) -> Line:
    symbol, style = _SYMBOLS.get(flight.action, ("·", Style.DIM))
    word = cut_end(flat(DOING.get(flight.action, flight.action)), WORD_CELLS)
    shown = f" {word}{' ' * (WORD_CELLS - cell_width(word))} " if width >= NARROW_CELLS else " "
    before = line_of(Piece(_time(now - flight.since), Style.DIM), Piece(f"{symbol}{shown}", style))
    return with_address(before, flat(address), (), width)


def _time(seconds: float) -> str:
    return f"{_whole(seconds):>{TIME_CELLS}}  "


def _whole(seconds: float) -> str:
    """Whole seconds: a tenth that changes with every frame is only noise."""
    whole = max(0, int(seconds))
    return f"{whole}s" if whole < 60 else format_seconds(whole)
