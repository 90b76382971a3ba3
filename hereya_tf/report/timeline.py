"""When the parts of a run began and ended, and which of them decided how long it took (pure)."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from hereya_tf.report.clock import LogClock
from hereya_tf.report.story import ActionPart, StepPart, Story
from hereya_tf.words import failed_text, format_seconds

_ENGINE_SECONDS = 0.1

PATH_SENTENCE = (
    "The critical path is inferred from the times, for no engine tells what waits for what: in each step it "
    "goes back from what ended last, each time to what had ended last when that began"
)
"""What is said of the critical path wherever it is shown."""


class Kind(StrEnum):
    """What a row stands for."""

    ENGINE = "engine"
    WAIT = "wait"
    STEP = "step"
    ACTION = "action"


class State(StrEnum):
    """How it ended; what had not ended when the run did, or goes on, is unfinished."""

    OK = "ok"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    SKIPPED = "skipped"


class Row(NamedTuple):
    """One bar; `begin` and `end` are seconds since the run began. An action's row follows that of its step."""

    kind: Kind
    name: str
    action: str
    state: State
    begin: float
    end: float
    id: str | None = None
    note: str = ""
    is_critical: bool = False

    @property
    def seconds(self) -> float:
        """How long it took, or has taken so far."""
        return self.end - self.begin


class Timeline(NamedTuple):
    """A run as a waterfall.

    `status` is the result's, `running`, or `died`; `left_out` counts actions that only the log has. At most
    `most_at_once` actions went on together; those on the critical path took `path_seconds` in all.
    """

    run: str
    operation: str
    package: str
    workspace: str
    version: str
    began: str
    status: str
    seconds: float
    rows: tuple[Row, ...]
    left_out: int
    clock_went_back: bool
    path_seconds: float
    most_at_once: int

    @property
    def actions(self) -> tuple[Row, ...]:
        """The rows of resources."""
        return tuple(row for row in self.rows if row.kind is Kind.ACTION)


def make_timeline(story: Story, *, is_alive: bool = False) -> Timeline:
    """The timeline of a story that has kept its reads; `is_alive` tells a run that goes on from a dead one."""
    clock = LogClock(story.began)
    steps = [_step_rows(step, actions, clock) for step, actions in _by_step(story)]
    last = max((row.end for rows in steps for row in rows), default=0.0)
    said_last = story.result["ts"] if story.result is not None else story.last
    last = max(last, clock.end_of(said_last, last)) if said_last else last
    steps = [_closed(rows, last) for rows in steps]
    before = sorted((*_waits(story, clock, last), *_pauses(story, clock, last)), key=lambda row: row.begin)
    engine = tuple(_engine(story, [*before, *(rows[0] for rows in steps if rows)]))
    rows = (*engine, *_merged(before, [_with_path(rows) for rows in steps]))
    actions = [row for row in rows if row.kind is Kind.ACTION]
    result = story.result
    return Timeline(
        run=story.run,
        operation=story.operation,
        package=story.package,
        workspace=story.workspace,
        version=story.version,
        began=story.began,
        status=result["status"] if result is not None else "running" if is_alive else "died",
        seconds=max(last, *(row.end for row in rows)) if rows else last,
        rows=rows,
        left_out=story.left_out,
        clock_went_back=clock.went_back,
        path_seconds=sum((row.seconds for row in actions if row.is_critical), 0.0),
        most_at_once=_most_at_once(actions),
    )


def totals(timeline: Timeline) -> Iterator[tuple[str, float]]:
    """What the time went to, in seconds: all of it, waits, each step, and the critical path in them."""
    spent: dict[str, float] = {}
    for row in timeline.rows:
        if row.kind is not Kind.ACTION and row.state is not State.SKIPPED:
            label = "waiting" if row.kind is Kind.WAIT else row.name
            spent[label] = spent.get(label, 0.0) + row.seconds
    yield "in all", timeline.seconds
    yield from spent.items()
    if timeline.path_seconds:
        yield "on the critical path", timeline.path_seconds


def notes(timeline: Timeline) -> Iterator[str]:
    """What a reader has to know before believing the bars."""
    if timeline.status == "running":
        yield "The run goes on: this is how far it had come"
    if timeline.status == "died":
        yield "The run was killed: nobody knows when what is unfinished ended"
    if timeline.clock_went_back:
        yield "The clock was set back during this run: times after that are a guess"


def fine(seconds: float) -> str:
    """Like `format_seconds`, but with milliseconds where tenths of a second say nothing."""
    return f"{seconds * 1000:.0f}ms" if seconds < 0.0995 else format_seconds(seconds)


def _by_step(story: Story) -> Iterator[tuple[StepPart | None, Sequence[ActionPart]]]:
    """Each step with what was done in it; first what came before any step."""
    inside: list[list[ActionPart]] = [[] for _ in range(len(story.steps) + 1)]
    for part in story.actions:
        inside[min(max(part.step, -1), len(story.steps) - 1) + 1].append(part)
    yield from zip((None, *story.steps), inside, strict=True)


_OPEN = -1.0
_STATES = {"completed": State.OK, "failed": State.FAILED}


def _step_rows(step: StepPart | None, parts: Sequence[ActionPart], clock: LogClock) -> list[Row]:
    """A step and its actions; what has not ended has `_OPEN` for its end."""
    begin = clock.begin_of(step.began) if step is not None else 0.0
    begun = [(part, clock.begin_of(part.began), clock.age) for part in parts]
    end = _OPEN
    if step is not None and step.ended is not None:
        end = clock.end_of_step(step.ended, begin, float(step.seconds or 0.0))
    rows = [_step_row(step, begin, end)] if step is not None else []
    for part, at, age in begun:
        ended = _OPEN if part.ended is None else clock.end_of(part.ended, at, age)
        if end != _OPEN:
            ended = max(at, min(ended, end)) if ended != _OPEN else max(at, end)
        state = _STATES.get(part.status, State.UNFINISHED)
        rows.append(Row(Kind.ACTION, part.address, part.action, state, at, ended, part.id))
    return rows


def _step_row(step: StepPart, begin: float, end: float) -> Row:
    state, note = State.OK, ""
    if step.skipped:
        state, note = State.SKIPPED, "not needed"
    elif step.ended is None:
        state = State.UNFINISHED
    elif not step.ok:
        state, note = State.FAILED, failed_text(step.exit_code)
    action = f"attempt {step.attempt}" if step.attempt > 1 else ""
    return Row(Kind.STEP, step.step, action, state, begin, end, None, note)


def _closed(rows: list[Row], last: float) -> list[Row]:
    """What has not ended reaches to the end of the run."""
    return [row if row.end != _OPEN else row._replace(end=max(row.begin, last)) for row in rows]


def _waits(story: Story, clock: LogClock, last: float) -> Iterator[Row]:
    for wait in story.waits:
        begin = min(clock.end_of(wait.began, 0.0), last)
        end = last if wait.ended is None else max(begin, min(last, clock.end_of(wait.ended, begin)))
        held = f"held by run {wait.holder['run']} ({wait.holder['operation']})" if wait.holder else ""
        state = State.UNFINISHED if wait.ended is None else State.OK
        yield Row(Kind.WAIT, f"{wait.lock} lock", "wait", state, begin, end, None, held)


def _pauses(story: Story, clock: LogClock, last: float) -> Iterator[Row]:
    """Before a step is tried again."""
    for retry in story.retries:
        begin = min(clock.end_of(retry["ts"], 0.0), last)
        name = f"before attempt {retry['attempt']}"
        end = min(last, begin + float(retry["after_seconds"]))
        yield Row(Kind.WAIT, name, "wait", State.OK, begin, end, None, str(retry["class"]))


def _engine(story: Story, others: Iterable[Row]) -> Iterator[Row]:
    """Finding an engine, and fetching it, comes first of all."""
    seconds = float(story.result["timings"]["engine"] or 0.0) if story.result is not None else 0.0
    end = min(seconds, min((row.begin for row in others), default=seconds))
    if end >= _ENGINE_SECONDS:
        note = f"{story.engine.name} {story.engine.version}" if story.engine is not None else ""
        yield Row(Kind.ENGINE, "engine", "prepare", State.OK, 0.0, end, None, note)


def _merged(before: Sequence[Row], steps: Iterable[Sequence[Row]]) -> Iterator[Row]:
    """Waits and steps by their beginning, each step with its actions."""
    at = 0
    for rows in steps:
        while at < len(before) and rows and before[at].begin <= rows[0].begin:
            yield before[at]
            at += 1
        yield from rows
    yield from before[at:]


def _with_path(rows: Sequence[Row]) -> list[Row]:
    """The rows of a step, those on its critical path marked.

    What took no time decides nothing; for the rest each link ends before the one it leads to, so it ends.
    """
    order = sorted(
        (at for at, row in enumerate(rows) if row.kind is Kind.ACTION and row.end > row.begin),
        key=lambda at: (rows[at].end, rows[at].seconds),
    )
    ends = [rows[at].end for at in order]
    path = set()
    place = len(order) - 1
    while place >= 0:
        path.add(order[place])
        place = bisect_right(ends, rows[order[place]].begin, hi=place) - 1
    return [row._replace(is_critical=True) if at in path else row for at, row in enumerate(rows)]


def _most_at_once(actions: Iterable[Row]) -> int:
    """The most actions at any moment; one that begins when another ends is not together with it."""
    turns = sorted(turn for row in actions if row.end > row.begin for turn in ((row.begin, 1), (row.end, -1)))
    most = now = 0
    for _, change in turns:
        now += change
        most = max(most, now)
    return most
