"""A timeline in a terminal: a bar for each step and for the resources that decided most (pure)."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hereya_tf.report.timeline import PATH_SENTENCE, Kind, Row, State, Timeline, fine, notes, totals
from hereya_tf.ui.cells import cell_width, cut_middle, folded
from hereya_tf.ui.styled import Line, Piece, Style, encoded_all, fitted, line_of
from hereya_tf.words import flat

_INDENT = "  "
_TOOK_CELLS = 7
# With fewer cells than this a bar says nothing.
_BAR_CELLS = 12
_NAME_CELLS = 12
# Of the width so much is for names.
_NAME_SHARE = 0.42
_WIDTH = 100


class _Look(NamedTuple):
    """The characters that bars are made of."""

    path: str
    other: str
    step: str
    wait: str
    failed: str
    unfinished: str
    marked: str
    ellipsis: str


_FINE = _Look("━", "─", "━", "·", "✗", "…", "→", "…")
_ASCII = _Look("=", "-", "=", ".", "x", "~", ">", "...")


def timeline_lines(
    timeline: Timeline, width: int | None, *, color: bool, ascii_only: bool = False, most: int = 12
) -> list[str]:
    """A waterfall in `width` cells (None: 100); of many resources those that failed or had not ended, and the
    `most` that took longest, on the critical path and beside it.
    """
    width = _WIDTH if width is None else max(20, width)
    look = _ASCII if ascii_only else _FINE
    chosen = _chosen(timeline.rows, most)
    names = [cell_width(_label(row)) + len(_indent(row)) for row in chosen if row is not None]
    name_cells = max(_NAME_CELLS, min(max(names, default=0), int(width * _NAME_SHARE)))
    bar_cells = width - 2 - name_cells - 2 - _TOOK_CELLS - 2
    if bar_cells < _BAR_CELLS:
        name_cells, bar_cells = max(_NAME_CELLS, width - 2 - 2 - _TOOK_CELLS), 0
    room = _Room(look, name_cells, bar_cells, timeline.seconds)
    lines: list[Line] = [*_head(timeline, width), (), *_axis(room)]
    lines += _rows(timeline.rows, chosen, room)
    lines += [(), *_tail(timeline, room, width)]
    return encoded_all((fitted(line, width) for line in lines), color=color)


class _Room(NamedTuple):
    """How much room there is for names and bars, in cells, and for how many seconds."""

    look: _Look
    name_cells: int
    bar_cells: int
    seconds: float


def _chosen(rows: Sequence[Row], most: int) -> list[Row | None]:
    """The rows that are shown; None stands for each that is not."""
    actions = [at for at, row in enumerate(rows) if row.kind is Kind.ACTION]
    shown: set[int] = set()
    for group in (
        [at for at in actions if rows[at].state is State.FAILED],
        [at for at in actions if rows[at].state is State.UNFINISHED],
        [at for at in actions if rows[at].is_critical],
        actions,
    ):
        # The first of those that took as long stays: sorting is stable.
        shown.update(sorted(group, key=lambda at: -rows[at].seconds)[:most])
    return [row if row.kind is not Kind.ACTION or at in shown else None for at, row in enumerate(rows)]


def _head(timeline: Timeline, width: int) -> Iterator[Line]:
    what = f"{timeline.operation} of {timeline.package}, workspace {timeline.workspace or 'default'}"
    status = timeline.status.replace("_", " ")
    end = line_of(": ", Piece(flat(status), _STATUS_STYLES.get(timeline.status, Style.BOLD_RED)))
    room = max(1, width - cell_width(status) - 2)
    yield (Piece(cut_middle(flat(what), room), Style.BOLD), *end)
    told = ", ".join(f"{flat(name)} {fine(seconds)}" for name, seconds in totals(timeline))
    yield from (line_of(part) for part in folded(told, width))


_STATUS_STYLES = {"succeeded": Style.BOLD_GREEN, "running": Style.BOLD, "cancelled": Style.BOLD_YELLOW}


def _axis(room: _Room) -> Iterator[Line]:
    if room.bar_cells:
        end = fine(room.seconds)
        before = " " * (2 + room.name_cells + 2 + _TOOK_CELLS + 2)
        yield line_of(Piece(f"{before}0s{end:>{room.bar_cells - 2}}", Style.DIM))


def _rows(rows: Sequence[Row], chosen: Sequence[Row | None], room: _Room) -> Iterator[Line]:
    """Every row that was chosen, and at the end of each step how many were not."""
    hidden: list[Row] = []
    for row, shown in zip(rows, chosen, strict=True):
        if row.kind is not Kind.ACTION:
            yield from _left_out(hidden)
            hidden = []
        if shown is None:
            hidden.append(row)
        else:
            yield _row(shown, room)
    yield from _left_out(hidden)


def _left_out(hidden: Sequence[Row]) -> Iterator[Line]:
    if hidden:
        longest = fine(max(row.seconds for row in hidden))
        yield line_of(Piece(f"    and {len(hidden):,} more, none longer than {longest}", Style.DIM))


def _row(row: Row, room: _Room) -> Line:
    style = _style(row)
    indent = _indent(row)
    name = cut_middle(_label(row), room.name_cells - len(indent), ellipsis=room.look.ellipsis)
    filling = " " * (room.name_cells - len(indent) - cell_width(name))
    took = "" if row.state is State.SKIPPED else fine(row.seconds)
    line = line_of(
        Piece(_mark(row, room.look), style),
        " " + indent,
        Piece(name, style if row.state is not State.OK else Style.PLAIN),
        f"{filling}  {took:>{_TOOK_CELLS}}",
    )
    return (*line, Piece("  "), *_bar(row, room, style)) if room.bar_cells else line


def _indent(row: Row) -> str:
    return _INDENT if row.kind is Kind.ACTION else ""


def _label(row: Row) -> str:
    """`apply (exit code 1)`, `aws_instance.web create`."""
    action = f" {flat(row.action)}" if row.action and row.kind in (Kind.ACTION, Kind.STEP) else ""
    note = f" ({flat(row.note)})" if row.note else ""
    return flat(row.name) + action + note


def _mark(row: Row, look: _Look) -> str:
    """What stands before a row, for those who see no colours."""
    if row.state is State.FAILED:
        return look.failed
    if row.state is State.UNFINISHED:
        return look.unfinished[:1]
    return look.marked if row.is_critical else " "


def _style(row: Row) -> Style:
    if row.state is State.FAILED:
        return Style.RED
    if row.state is State.UNFINISHED:
        return Style.YELLOW
    if row.is_critical:
        return Style.CYAN
    return Style.DIM if row.kind in (Kind.WAIT, Kind.ENGINE) or row.state is State.SKIPPED else Style.PLAIN


def _bar(row: Row, room: _Room, style: Style) -> Line:
    """At least one cell, so that what took no time is seen."""
    if row.state is State.SKIPPED:
        return ()
    scale = room.bar_cells / room.seconds if room.seconds > 0 else 0.0
    begin = min(int(row.begin * scale), room.bar_cells - 1)
    end = min(max(begin + 1, round(row.end * scale)), room.bar_cells)
    look = room.look
    character = look.path if row.is_critical else look.other
    if row.kind is not Kind.ACTION:
        character = look.step if row.kind is Kind.STEP else look.wait
    last = {State.FAILED: look.failed, State.UNFINISHED: look.unfinished[:1]}.get(row.state, character)
    return line_of(" " * begin, Piece(character * (end - begin - 1) + last, style))


def _tail(timeline: Timeline, room: _Room, width: int) -> Iterator[Line]:
    """What the marks mean, and how far they can be believed."""
    look = room.look
    shown = [f"{look.marked} critical path"] if timeline.path_seconds else []
    shown += [f"{look.failed} failed"] if any(row.state is State.FAILED for row in timeline.rows) else []
    if any(row.state is State.UNFINISHED for row in timeline.rows):
        shown.append(f"{look.unfinished[:1]} unfinished")
    if shown:
        yield line_of(Piece("   ".join(shown), Style.DIM))
    told = [*notes(timeline), *([PATH_SENTENCE] if timeline.path_seconds else [])]
    if timeline.left_out:
        told.append(f"{timeline.left_out:,} actions more are in the log only")
    for sentence in told:
        yield from (line_of(Piece(part, Style.DIM)) for part in folded(sentence, width))
