"""What stays on the screen of a person: what has happened, and how long it took (pure).

Three columns: the seconds it took, a symbol and a word, then what it was about.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from hereya_tf.ui.cells import cell_width, folded
from hereya_tf.ui.progress import Progress
from hereya_tf.ui.repeats import Said
from hereya_tf.ui.styled import Line, Piece, Style, line_of, width_of
from hereya_tf.words import (
    DONE,
    Record,
    achieved_text,
    again_text,
    asked_because,
    counts_text,
    diagnostic_text,
    failed_text,
    flat,
    format_seconds,
    planned_text,
    short_error,
    visible,
    who_works,
)

TIME_CELLS = 7
INDENT = " " * (TIME_CELLS + 2)
# Below so many, words and columns give way to addresses.
NARROW_CELLS = 60
# Beside its symbol.
WORD_CELLS = 10
# Steps that a person has not asked for: told of when they fail.
_BACKSTAGE = frozenset(("show", "output", "workspace", "state"))
# Reads of ephemeral values come and go.
_UNTOLD = frozenset(("refresh", "open", "renew", "close"))
_STYLES = {"create": Style.GREEN, "update": Style.YELLOW, "delete": Style.RED}


class Moment(NamedTuple):
    """When an event is told, by the clock of the progress (seconds), and for a screen how wide (cells)."""

    now: float
    width: int


class Narrative:
    """Tells events one by one, with what is known of the run before each; remembers what was said."""

    def __init__(self) -> None:
        self._said = Said()
        self._steps = 0

    def lines(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        """The lines for one event, often none."""
        self._steps += record["type"] == "step_started"
        teller = _TELLERS.get(record["type"])
        told = [] if teller is None else teller(self, record, progress, moment)
        if record["type"] == "log" and record["stream"] == "stderr":
            return told
        unfinished = [line for text in self._said.unfinished() for line in _said_lines(text)]
        return [*unfinished, *told]

    def _run_started(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        head = Piece(f"{record['operation']} {flat(record['package'])}", Style.BOLD)
        rest = f" · workspace {flat(record['workspace'])} · run {record['run']}"
        if cell_width(head.text) + cell_width(rest) <= moment.width:
            return [line_of(head, Piece(rest, Style.DIM))]
        return [line_of(head), *_dim(rest.removeprefix(" · "), moment.width)]

    def _engine_ready(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        text = f"{record['engine']} {record['version']} · {record['path']} ({record['chosen_by']})"
        return _dim(flat(text), moment.width)

    def _lock_acquired(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        waited = record["waited_seconds"]
        return [] if waited < 1 else _told(waited, Piece("✓", Style.GREEN), "locks", "taken", moment.width)

    def _step_finished(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        step = record["step"]
        if record["skipped"]:
            text = "not needed, nothing has changed"
            return _told(None, Piece("·", Style.DIM), step, text, moment.width, Style.DIM)
        if not record["ok"] and step == "lock":
            return _told(record["seconds"], Piece("·", Style.DIM), step, "not free", moment.width, Style.DIM)
        if not record["ok"]:
            text = f"failed ({failed_text(record['exit_code'])})"
            symbol = Piece("✗", Style.BOLD_RED)
            return _told(record["seconds"], symbol, step, text, moment.width, Style.RED)
        if step in _BACKSTAGE:
            return []
        text = planned_text(progress.planned_changes) if step == "plan" else ""
        return _told(record["seconds"], Piece("✓", Style.GREEN), step, text, moment.width)

    def _resource(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        action, address = str(record["action"]), flat(record["address"])
        flight = progress.in_flight.get(record["address"])
        # The engine counts whole seconds.
        seconds = record["seconds"] if flight is None else moment.now - flight.since
        match record["status"]:
            case "completed" if action not in _UNTOLD:
                word = flat(DONE.get(action, action))
                shown = Piece(f"  [id={flat(record['id'])}]" if record["id"] else "", Style.DIM)
                head = _head(seconds, Piece("✓", Style.GREEN), word, _STYLES.get(action, Style.PLAIN))
                return _about(head, address, shown, moment.width)
            case "failed":
                head = _head(seconds, Piece("✗", Style.BOLD_RED), "failed", Style.RED)
                return _about(head, address, Piece(f"  ({flat(action)})", Style.RED), moment.width)
        return []

    def _diagnostic(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        if record["severity"] == "error":
            return marked(Piece("✗", Style.BOLD_RED), short_error(record), Style.RED, moment.width)
        text = diagnostic_text(record)
        return _warning(text, moment.width) if self._said.is_new((text,), self._steps) else []

    def _log(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        match record["stream"]:
            case "stderr":
                shown = self._said.shown(record["text"], self._steps)
                return [line for text in shown for line in _said_lines(text)]
            case "stdout":
                return []
        return _spoken(record["text"], moment.width)

    def _retry(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        return _warning(f"{record['step']} {again_text(record)}", moment.width)

    def _cancelling(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        if record["signal"] == "SIGKILL":
            return _warning(
                "the engine did not end and is killed: what was in flight may be lost", moment.width
            )
        if progress.stop is not None:
            return _warning(
                "the engine is told to end at once: what is in flight may not be in the state", moment.width
            )
        why, who = asked_because(record["reason"], progress.step), who_works(progress.step)
        return _warning(f"{why}: {who} is asked to stop", moment.width)

    def _result(self, record: Record, progress: Progress, moment: Moment) -> list[Line]:
        what = f"{record['operation']} of {flat(progress.package or record['package'])}"
        if record["success"]:
            done = achieved_text(record)
            text = f"{what} succeeded{': ' if done else ''}{done}"
            symbol, style = "✓", Style.BOLD_GREEN
        else:
            text = f"{what} {_ENDS.get(record['status'], record['status'])}"
            if any(record["changes"].values()):
                text += f", after {counts_text(record['changes'])}"
            symbol, style = "✗", Style.BOLD_RED
        time = _time(record["timings"]["total"])
        return [*marked(Piece(symbol, style), text, style, moment.width, before=time), ()]


_ENDS = {
    "failed": "failed",
    "refused": "was refused",
    "cancelled": "was cancelled",
    "timed_out": "has run out of time",
    "busy": "did not begin: somebody else is at it",
}
_TELLERS: Mapping[str, Callable[[Narrative, Record, Progress, Moment], list[Line]]] = {
    "run_started": Narrative._run_started,
    "engine_ready": Narrative._engine_ready,
    "lock_acquired": Narrative._lock_acquired,
    "step_finished": Narrative._step_finished,
    "resource": Narrative._resource,
    "diagnostic": Narrative._diagnostic,
    "log": Narrative._log,
    "retry": Narrative._retry,
    "cancelling": Narrative._cancelling,
    "result": Narrative._result,
}


def marked(symbol: Piece, text: str, style: Style, width: int, *, before: str | Piece = INDENT) -> list[Line]:
    """A text whose first line is marked, folded to the width; the lines that it has itself stay lines."""
    start = line_of(before, symbol, " ")
    indent = " " * width_of(start)
    head, *others = visible(text).split("\n")
    first, *rest = folded(head, width - len(indent))
    lines = [(*start, Piece(first, style))]
    lines += [line_of(indent, Piece(part, style)) for part in rest]
    for other in others:
        inner = " " * (len(other) - len(other.lstrip(" ")))
        parts = folded(other.lstrip(" "), width - len(indent) - len(inner))
        lines += [line_of(f"{indent}{inner}{part}") for part in parts]
    return lines


def _time(seconds: float | None) -> Piece:
    text = "" if seconds is None else format_seconds(seconds)
    return Piece(f"{text:>{TIME_CELLS}}  ", Style.DIM)


def _told(
    seconds: float | None,
    symbol: Piece,
    word: str,
    text: str,
    width: int,
    style: Style = Style.PLAIN,
) -> list[Line]:
    """A step and what there is to say of it, in columns."""
    head = _head(seconds, symbol, word, Style.BOLD)
    first, *rest = folded(text, width - width_of(head))
    indent = " " * width_of(head)
    return [(*head, Piece(first, style)), *(line_of(indent, Piece(part, style)) for part in rest)]


def _head(seconds: float | None, symbol: Piece, word: str, word_style: Style) -> Line:
    return line_of(_time(seconds), symbol, Piece(f" {word:<{WORD_CELLS}} ", word_style))


def _about(head: Line, address: str, after: Piece, width: int) -> list[Line]:
    """A line about a resource: an address is never cut off here; what follows it gives way."""
    room = width - width_of(head)
    if cell_width(address) + cell_width(after.text) <= room:
        return [(*head, Piece(address), after)]
    if width < NARROW_CELLS and cell_width(address) > room:
        return [head, *(line_of(INDENT, part) for part in folded(address, width - len(INDENT), before=".["))]
    first, *rest = folded(address, room, before=".[")
    indent = " " * width_of(head)
    return [(*head, Piece(first)), *(line_of(f"{indent}{part}") for part in rest)]


def _warning(text: str, width: int) -> list[Line]:
    return marked(Piece("!", Style.BOLD_YELLOW), text, Style.YELLOW, width)


def _spoken(text: str, width: int) -> list[Line]:
    """What a program says that the engine runs."""
    return [line for part in visible(text).split("\n") for line in _dim(part, width, before=INDENT)]


def _dim(text: str, width: int, *, before: str = "") -> list[Line]:
    return [line_of(before, Piece(part, Style.DIM)) for part in folded(text, width - len(before))]


def _said_lines(text: str) -> list[Line]:
    """What the engine says without a type of its own, as it is: it may be a drawing."""
    return [line_of(INDENT, line) for line in visible(text).split("\n")]
