"""A run's events, folded into what is told of it."""

import tracemalloc
from collections.abc import Sequence

import pytest

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.story import ActionPart, EngineFacts, StepPart, Story, Wait, seconds_between
from tests.event_samples import SAMPLES
from tests.run_log import PACKAGE, RUN, TERRAFORM, Log, error, warning


def told(log: Log) -> Story:
    return Story.of(log.records)


def states(story: Story) -> list[tuple[str, str, str]]:
    return [(part.address, part.action, part.status) for part in story.actions]


def moment(log: Log, at: int) -> str:
    return str(log.records[at]["ts"])


def test_who_what_where_and_with_which_engine() -> None:
    story = told(Log("destroy").engine())

    assert (story.run, story.operation, story.package, story.workspace, story.version) == (
        *(RUN, "destroy", PACKAGE, "default"),
        "0.4.0",
    )
    assert (story.began, story.last) == ("2026-11-30T02:00:00.000Z", "2026-11-30T02:00:02.000Z")
    assert story.engine == EngineFacts("terraform", "1.11.4", TERRAFORM, "on PATH")
    assert (Story().engine, Story().began) == (None, "")


def test_steps_begin_end_and_are_left_out() -> None:
    log = Log().begin("init").end("init", exit_code=1).begin("init", attempt=2).end("init")
    log.add(events.StepFinished("output", ok=True, exit_code=None, seconds=0.0, skipped=True)).begin("apply")

    first, second, output, apply = told(log).steps

    assert first == StepPart(
        *("init", 1, (TERRAFORM, "init", "-json", "-x="), moment(log, 1), moment(log, 2)),
        ok=False,
        exit_code=1,
        seconds=1.0,
    )
    assert (second.attempt, second.ok, second.exit_code) == (2, True, 0)
    assert output == StepPart(
        "output", 1, (), moment(log, 5), moment(log, 5), ok=True, seconds=0.0, skipped=True
    )
    assert (apply.step, apply.began, apply.ended, apply.ok) == ("apply", moment(log, 6), None, None)


def test_an_action_belongs_to_its_step_and_has_the_id_that_came_last() -> None:
    log = Log().begin("plan").end("plan").begin("apply")
    log.add(events.ResourceEvent("a.b", "update", "started", None, "i-1"))
    log.add(events.ResourceEvent("a.b", "update", "progress", 10.0, "i-1"))
    log.add(events.ResourceEvent("a.b", "update", "completed", 11.0, None))
    log.add(events.ResourceEvent("a.c", "create", "started", None, None))

    assert told(log).actions == (
        ActionPart("a.b", "update", "completed", 1, moment(log, 4), moment(log, 6), "i-1"),
        ActionPart("a.c", "create", "started", 1, moment(log, 7)),
    )


def test_reads_and_refreshes_are_for_who_wants_them() -> None:
    log = Log().begin("apply")
    for action in ("refresh", "read", "open", "renew", "close", "create"):
        log.act("a.b", action, "started", "completed")

    assert states(told(log)) == [("a.b", "create", "completed")]
    assert len(Story.of(log.records, keep_reads=True).actions) == 6


def test_two_objects_at_one_address_both_come_to_an_end() -> None:
    # One is deposed: left of a replacement that did not get ready.
    log = Log("destroy").begin("destroy").act("a.b", "delete", "started").act("a.b", "delete", "started")
    halfway = log.act("a.b", "delete", "completed").report()
    log.act("a.b", "delete", "failed")

    assert [fate.fate for fate in halfway.fates] == ["unfinished"]
    assert sorted(states(told(log))) == [("a.b", "delete", "completed"), ("a.b", "delete", "failed")]


def test_an_end_without_a_beginning_is_an_action_too() -> None:
    log = Log().begin("apply").act("a.b", "create", "completed")

    assert told(log).actions == (
        ActionPart("a.b", "create", "completed", 0, moment(log, 2), moment(log, 2), "id-a.b"),
    )


def test_what_a_step_left_open_is_not_ended_by_the_next_one() -> None:
    log = Log().begin("apply").act("a.b", "create", "started").end("apply", exit_code=None)
    log.begin("apply", attempt=2).act("a.b", "create", "completed")

    assert [(part.step, part.status) for part in told(log).actions] == [(0, "started"), (1, "completed")]


def test_a_new_plan_takes_the_place_of_the_last_one_and_drift_stands_by_itself() -> None:
    log = Log().begin("plan").plan(("a.old", "create")).add(events.ChangeEvent("a.b", "update", "drift"))
    log.end("plan").begin("plan", attempt=2).plan(("a.new", "delete")).end("plan").begin("apply")
    story = told(log)

    assert list(story.planned) == ["a.new"]
    assert list(story.drifted) == ["a.b"]


def test_waits_for_locks() -> None:
    holder = events.HolderInfo("run-2", 2, "host", "destroy", "2026-11-30T01:00:00.000Z")
    log = Log().add(events.LockWaiting("package", 2, None)).add(events.LockWaiting("package", 1, holder))
    log.add(events.LockWaiting("workspace", 1, None))
    waiting = told(log)
    log.add(events.LockAcquired(3.0)).add(events.LockAcquired(3.0))

    assert waiting.waits == [
        Wait("package", holder._asdict(), moment(log, 1), moment(log, 3)),
        Wait("workspace", None, moment(log, 3)),
    ]
    assert told(log).waits[1].ended == moment(log, 4)


def test_diagnostics_retries_and_the_result() -> None:
    log = Log().engine().say(warning(), error("x")).add(events.Retry("init", "provider-unavailable", 2, 1.0))
    story = told(log.fail(FailureClass.ENGINE_ERROR, "no"))

    assert [record["summary"] for record in story.warnings] == ["Argument is deprecated"]
    assert [record["summary"] for record in story.errors] == ["cannot create the bucketx"]
    assert [record["after_seconds"] for record in story.retries] == [1.0]
    assert story.result is not None
    assert story.result["reason"] == "no"
    assert story.last == moment(log, -2), "a report is made before the result is sent"


def test_who_waits_for_the_engine_to_be_asked_hears_of_it_when_it_is_in_the_story() -> None:
    heard: list[Sequence[object]] = []
    story = Story(asked=lambda: heard.append((story.cancelling, story.last_cancelling)))
    log = Log().begin("apply").add(events.Cancelling("timeout", "SIGINT", 60.0))
    log.add(events.Cancelling("timeout", "SIGKILL", 60.0))
    for record in log.records:
        story.add(record)

    first, last = log.records[-2:]
    assert heard == [(first, first), (first, last)]


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_every_event_has_its_place(event: events.Event) -> None:
    record = events.record_of(event, sequence=1, seconds=1.0, run="run-1")

    assert Story.of([record]).last == ("" if isinstance(event, events.Result) else record["ts"])


def test_what_a_newer_version_tells_is_passed_over() -> None:
    story = Story.of([{"v": 1, "seq": 1, "ts": "2030-01-01T00:00:00.000Z", "run": RUN, "type": "weather"}])

    assert (story.last, story.actions) == ("2030-01-01T00:00:00.000Z", ())


def test_a_very_large_run_takes_no_more_room_than_a_large_one() -> None:
    def room(resources: int) -> int:
        story = Story()
        tracemalloc.start()
        story.add(Log().records[0])
        story.add(record(events.StepStarted("apply", 1, ("terraform",))))
        for number in range(resources):
            story.add(record(events.ChangeEvent(f"a.b[{number}]", "create", None)))
        for status in ("started", "completed"):
            for number in range(resources):
                story.add(record(events.ResourceEvent(f"a.b[{number}]", "create", status, None, None)))
        for number in range(resources):
            story.add(record(events.DiagnosticEvent("warning", None, f"{number}", "", None, None, None)))
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert (len(story.actions), story.left_out) == (10_000, resources - 10_000)
        return size

    assert room(30_000) < 1.05 * room(12_000)


def test_a_hundred_thousand_resources_are_told_by_the_first_of_them_and_a_number() -> None:
    story = Story()
    story.add(record(events.StepStarted("apply", 1, ())))
    for number in range(100_000):
        story.add(record(events.ChangeEvent(f"a.b[{number}]", "create", None)))
    for status in ("started", "completed"):
        for number in range(100_000):
            story.add(record(events.ResourceEvent(f"a.b[{number}]", "create", status, None, None)))

    assert (len(story.planned), len(story.actions), story.left_out) == (10_000, 10_000, 90_000)
    assert {part.status for part in story.actions} == {"completed"}


def record(event: events.Event) -> dict[str, object]:
    return events.record_of(event, sequence=1, seconds=1_700_000_000.0, run=RUN)


def test_of_very_many_actions_those_that_were_planned_are_kept() -> None:
    story = Story()
    told: Sequence[events.Event] = (
        events.StepStarted("apply", 1, ()),
        events.ChangeEvent("a.planned", "create", None),
        *(
            events.ResourceEvent(f"a.b[{number}]", "create", "started", None, None)
            for number in range(10_005)
        ),
        events.ResourceEvent("a.planned", "create", "started", None, None),
        events.ResourceEvent("a.b[10004]", "create", "completed", 1.0, None),
        events.ResourceEvent("a.planned", "create", "completed", 1.0, None),
    )
    for event in told:
        story.add(record(event))

    assert (len(story.actions), story.left_out) == (10_001, 5)
    assert states(story)[-1] == ("a.planned", "create", "completed")


@pytest.mark.parametrize(
    ("began", "ended", "seconds"),
    [
        ("2026-11-30T02:00:00.000Z", "2026-11-30T02:00:01.500Z", 1.5),
        ("2026-11-30T02:00:00.000Z", "2026-11-30T01:00:00.000Z", 0.0),
        ("2026-11-30T02:00:00.000Z", "2026-11-30T04:00:01+02:00", 1.0),
        ("2026-11-30T02:00:00.000Z", "2026-11-30T02:00:01", 0.0),
        ("", "2026-11-30T02:00:00.000Z", 0.0),
        ("yesterday", "today", 0.0),
    ],
)
def test_seconds_from_one_moment_to_another(began: str, ended: str, seconds: float) -> None:
    assert seconds_between(began, ended) == seconds
