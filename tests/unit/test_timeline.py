"""The bars of a timeline: when parts began and ended, and which of them decided how long a run took."""

import itertools
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.story import Story
from hereya_tf.report.timeline import Kind, State, Timeline, fine, make_timeline, notes, totals
from tests.reports import Log

HOLDER = events.HolderInfo("run-2", 2, "host", "destroy", "2026-11-30T01:00:00.000Z")
Bar = tuple[str, str, float, float]


def timeline_of(log: Log, *, is_alive: bool = False) -> Timeline:
    return make_timeline(Story.of(log.records, keep_reads=True), is_alive=is_alive)


def bars(timeline: Timeline) -> list[Bar]:
    return [(row.name, str(row.state), round(row.begin, 3), round(row.end, 3)) for row in timeline.rows]


def path(timeline: Timeline) -> list[str]:
    return [row.name for row in timeline.rows if row.is_critical]


def resource(log: Log, at: float, address: str, status: str, action: str = "create") -> None:
    """One event so many seconds after the run began."""
    log.add(events.ResourceEvent(address, action, status, None, None), after=at - log.total)


def drawn(log: Log, **parts: tuple[float, float]) -> Timeline:
    """The timeline of one apply, which begins at 1 s, with resources that begin and end at these seconds."""
    log.begin("apply")
    turns = [(begin, 1, name, "started") for name, (begin, _) in parts.items()]
    turns += [(end, 0 if end > parts[name][0] else 2, name, "completed") for name, (_, end) in parts.items()]
    for at, _, name, status in sorted(turns):
        resource(log, at, name, status)
    return timeline_of(log.end("apply").finish())


def set_back(log: Log, seconds: float) -> Log:
    log._seconds -= seconds
    return log


def test_a_run_is_its_steps_each_with_what_was_done_in_it() -> None:
    log = Log().engine().begin("init").end("init").begin("apply")
    log.act("net.a", "create", "started", "completed", seconds=2.0)
    log.act("net.b", "delete", "started", "failed", seconds=0.5).end("apply", exit_code=1)

    timeline = timeline_of(log.fail(FailureClass.PROVIDER_ERROR, "no"))

    assert bars(timeline) == [
        ("engine", "ok", 0.0, 0.5),
        ("init", "ok", 3.0, 4.0),
        ("apply", "failed", 5.0, 8.5),
        ("net.a", "ok", 5.0, 7.0),
        ("net.b", "failed", 7.0, 7.5),
    ]
    assert [(row.action, row.note, row.id) for row in timeline.rows] == [
        ("prepare", "terraform 1.11.4", None),
        ("", "", None),
        ("", "exit code 1", None),
        ("create", "", "id-net.a"),
        ("delete", "", None),
    ]
    assert (timeline.status, timeline.seconds, timeline.most_at_once) == ("failed", 9.5, 1)


def test_totals_say_what_the_time_went_to() -> None:
    log = Log().add(events.LockWaiting("package", 1, HOLDER)).add(events.LockAcquired(3.0), after=3.0)
    log.begin("init").end("init", exit_code=1)
    log.add(events.Retry("init", FailureClass.PROVIDER_UNAVAILABLE, 2, 2.0)).begin("init", attempt=2)
    log.end("init").begin("apply").act("a", "create", "started", "completed").end("apply").finish()

    assert {label: round(seconds, 3) for label, seconds in totals(timeline_of(log))} == {
        "in all": 14.0,
        "engine": 0.5,
        "waiting": 5.0,
        "init": 2.0,
        "apply": 3.0,
        "on the critical path": 2.0,
    }


def test_a_wait_for_a_lock_is_a_bar_of_its_own() -> None:
    log = Log().add(events.LockWaiting("package", 1, HOLDER)).add(events.LockWaiting("workspace", 2, None))
    log.add(events.LockAcquired(2.0), after=4.0).begin("apply").end("apply")

    timeline = timeline_of(log)

    assert bars(timeline) == [
        ("package lock", "ok", 1.0, 2.0),
        ("workspace lock", "ok", 2.0, 6.0),
        ("apply", "ok", 7.0, 8.0),
    ]
    assert [row.note for row in timeline.rows] == ["held by run run-2 (destroy)", "", ""]
    assert timeline.rows[0].kind is Kind.WAIT


def test_a_wait_that_never_ended_reaches_to_the_end() -> None:
    log = Log().add(events.LockWaiting("package", 1, None))
    log.fail(FailureClass.BUSY, "busy", engine=None)

    assert bars(timeline_of(log))[-1] == ("package lock", "unfinished", 1.0, 2.0)


def test_a_step_that_was_not_needed_takes_no_time() -> None:
    log = Log().add(events.StepFinished("init", ok=True, exit_code=None, seconds=0.0, skipped=True))

    timeline = timeline_of(log.begin("apply").end("apply"))

    assert bars(timeline) == [("init", "skipped", 1.0, 1.0), ("apply", "ok", 2.0, 3.0)]
    assert dict(totals(timeline)) == {"in all": 3.0, "apply": 1.0}


def test_a_run_that_was_killed_leaves_bars_that_reach_to_its_last_word() -> None:
    log = Log().begin("apply").act("a", "create", "started").act("b", "create", "started", "completed")
    timeline = timeline_of(log.add(events.Heartbeat("apply", 10.0, ("a",)), after=10.0))

    assert bars(timeline) == [
        ("apply", "unfinished", 1.0, 13.0),
        ("a", "unfinished", 1.0, 13.0),
        ("b", "ok", 1.0, 3.0),
    ]
    assert timeline.status == "died"
    assert list(notes(timeline)) == ["The run was killed: nobody knows when what is unfinished ended"]


def test_a_run_that_goes_on_is_told_from_a_dead_one() -> None:
    timeline = timeline_of(Log().begin("apply"), is_alive=True)

    assert timeline.status == "running"
    assert list(notes(timeline)) == ["The run goes on: this is how far it had come"]


def test_what_had_not_ended_with_its_step_ends_with_it() -> None:
    log = Log().begin("apply").act("a", "create", "started").end("apply", exit_code=None)
    log.begin("output").end("output").fail(FailureClass.OUT_OF_MEMORY, "killed")

    assert bars(timeline_of(log))[1:3] == [("apply", "failed", 1.0, 2.0), ("a", "unfinished", 1.0, 2.0)]


def test_a_replaced_resource_has_a_bar_for_each_half() -> None:
    log = Log().begin("apply").act("a", "delete", "started", "completed")
    log.act("a", "create", "started", "completed", seconds=3.0).end("apply")

    timeline = timeline_of(log)

    assert [(row.action, row.begin, row.end) for row in timeline.actions] == [
        ("delete", 1.0, 3.0),
        ("create", 3.0, 6.0),
    ]
    assert path(timeline) == ["a", "a"]


def test_the_critical_path_leads_back_from_what_ended_last() -> None:
    timeline = drawn(
        Log(), network=(1, 3), quick=(3, 4), db=(3, 7), other=(3, 6.5), app=(7, 9), late=(8, 8.5)
    )

    assert path(timeline) == ["network", "db", "app"]
    assert timeline.path_seconds == 8.0
    assert timeline.most_at_once == 3


def test_of_two_that_ended_together_the_longer_one_decided() -> None:
    assert path(drawn(Log(), long=(1, 5), short=(4, 5), last=(5, 6))) == ["long", "last"]


def test_what_took_no_time_decides_nothing() -> None:
    timeline = drawn(Log(), a=(1, 1), b=(1, 1), c=(1, 2), d=(2, 2), e=(2, 2))

    assert path(timeline) == ["c"]
    assert timeline.most_at_once == 1


def test_each_step_has_a_path_of_its_own() -> None:
    log = Log().begin("plan").act("a", "refresh", "started", "completed").end("plan")
    log.begin("apply").act("b", "create", "started", "completed").end("apply")

    assert path(timeline_of(log)) == ["a", "b"]


def test_a_clock_that_is_set_back_between_steps_only_costs_the_gap() -> None:
    log = Log().begin("init").end("init")
    set_back(log, 3600).begin("apply").act("a", "create", "started", "completed").end("apply")

    timeline = timeline_of(log)

    assert bars(timeline) == [("init", "ok", 1.0, 2.0), ("apply", "ok", 2.0, 5.0), ("a", "ok", 2.0, 4.0)]
    assert timeline.clock_went_back
    assert list(notes(timeline))[-1] == "The clock was set back during this run: times after that are a guess"


def test_a_clock_that_is_set_back_within_a_step_leaves_its_seconds_right() -> None:
    log = Log().begin("apply").act("a", "create", "started", "completed", seconds=5.0)
    log.act("b", "create", "started")
    set_back(log, 100).act("b", "create", "completed", seconds=2.0).act("c", "create", "started", "completed")
    finished = events.StepFinished("apply", ok=True, exit_code=0, seconds=10.0, skipped=False)
    timeline = timeline_of(log.add(finished).begin("output").end("output"))

    shown = bars(timeline)

    assert shown[0] == ("apply", "ok", 1.0, 11.0)
    assert shown[-1] == ("output", "ok", 12.0, 13.0)
    assert all(1.0 <= begin <= end <= 11.0 for _, _, begin, end in shown[1:-1])


def test_a_clock_that_is_kept_right_is_no_matter() -> None:
    log = Log().begin("init").end("init")

    assert not timeline_of(set_back(log, 1.5).begin("apply").end("apply")).clock_went_back


@pytest.mark.parametrize("moment", ["", "yesterday", "2026-11-30T02:00:00", "9999-12-31T23:59:59.999Z"])
def test_moments_that_make_no_sense_do_no_harm(moment: str) -> None:
    log = Log().begin("apply").act("a", "create", "started", "completed").end("apply").finish()
    records: list[Mapping[str, Any]] = list(log.records)
    for at in range(0, len(records), 2):
        records[at] = {**records[at], "ts": moment}

    rows = make_timeline(Story.of(records, keep_reads=True)).rows

    assert all(0.0 <= row.begin <= row.end for row in rows)


def test_an_empty_log_is_an_empty_timeline() -> None:
    timeline = make_timeline(Story())

    assert (timeline.rows, timeline.seconds, timeline.status) == ((), 0.0, "died")


def test_what_came_before_any_step_stands_before_them() -> None:
    log = Log().act("a", "create", "started", "completed").begin("apply").end("apply")

    assert [row.name for row in timeline_of(log).rows] == ["a", "apply"]


def test_more_actions_than_are_kept_are_counted() -> None:
    story = Story.of(Log().begin("apply").end("apply").records)
    story.left_out = 12

    assert make_timeline(story).left_out == 12


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0, "0ms"), (0.0421, "42ms"), (0.0994, "99ms"), (0.12, "0.1s"), (75.0, "1m15s")]
)
def test_short_times_are_told_in_milliseconds(seconds: float, text: str) -> None:
    assert fine(seconds) == text


STEPS = st.lists(
    st.tuples(
        st.sampled_from(("started", "completed", "failed")),
        st.sampled_from(("a", "b", "c", "d")),
        st.floats(-5, 20, allow_nan=False),
        st.booleans(),
    ),
    max_size=40,
)


@given(STEPS)
def test_whatever_the_order_bars_are_sound_and_the_path_is_a_chain(
    turns: list[tuple[str, str, float, bool]],
) -> None:
    log = Log().begin("apply")
    for status, address, after, is_new_step in turns:
        if is_new_step:
            log.end("apply").begin("apply")
        log.add(events.ResourceEvent(address, "create", status, None, None), after=after)

    timeline = timeline_of(log)

    assert all(0.0 <= row.begin <= row.end <= timeline.seconds for row in timeline.rows)
    step: list[tuple[float, float]] = []
    for row in timeline.rows:
        if row.kind is Kind.STEP:
            step = []
        elif row.is_critical:
            assert row.end > row.begin
            step.append((row.begin, row.end))
            chain = sorted(step)
            assert all(end <= begin for (_, end), (begin, _) in itertools.pairwise(chain))


def test_ten_thousand_resources_are_no_more_work_than_they_are_many() -> None:
    log = Log().begin("apply")
    for index in range(5_000):
        log.act(f"a[{index}]", "create", "started", "completed", seconds=0.01)
    timeline = timeline_of(log.end("apply"))

    assert len(timeline.rows) == 5_001
    assert len(path(timeline)) == 5_000
    assert {row.state for row in timeline.rows} == {State.OK}
