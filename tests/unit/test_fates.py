"""What became of each resource that a run was to change."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.report.fates import Fate, ResourceFate, fates_of
from hereya_tf.report.story import Story
from tests.run_log import Log

DONE, FAILED, UNFINISHED, NOT_STARTED = Fate
GONE = "it was destroyed, and its replacement is not complete"
BESIDE = "its replacement is made, and the one before it may still exist"


def fates(log: Log, *, success: bool = False) -> tuple[ResourceFate, ...]:
    return fates_of(Story.of(log.records), success=success)


def test_each_resource_is_told_as_far_as_it_has_come() -> None:
    log = Log().begin("apply")
    log.plan(("a.ten[10]", "create"), ("a.ten[9]", "delete"), ("a.done", "create"), ("a.bad", "update"))
    log.act("a.bad", "update", "started", "failed", seconds=1.5)
    log.act("a.done", "create", "started", "completed").act("a.flies", "create", "started")

    assert fates(log) == (
        ResourceFate("a.bad", "update", FAILED, 1.5),
        ResourceFate("a.done", "create", DONE, 2.0, "id-a.done"),
        ResourceFate("a.flies", "create", UNFINISHED, 0),
        ResourceFate("a.ten[9]", "delete", NOT_STARTED),
        ResourceFate("a.ten[10]", "create", NOT_STARTED),
    )


def test_after_a_success_nothing_is_left_to_be_begun() -> None:
    log = Log().begin("apply").plan(("a.b", "create"), ("a.moved", "update"))
    log.act("a.b", "create", "started", "completed")

    assert [each.address for each in fates(log, success=True)] == ["a.b"]
    assert [each.address for each in fates(log)] == ["a.b", "a.moved"]


REPLACED: Mapping[str, tuple[list[tuple[str, str]], Fate, str]] = {
    "both": ([("delete", "completed"), ("create", "completed")], DONE, ""),
    "the new one first": ([("create", "completed"), ("delete", "completed")], DONE, ""),
    "destroyed alone": ([("delete", "completed")], UNFINISHED, GONE),
    "destroyed, and being created": ([("delete", "completed"), ("create", "started")], UNFINISHED, GONE),
    "destroyed, and not created": ([("delete", "completed"), ("create", "failed")], FAILED, GONE),
    "not destroyed": ([("delete", "failed")], FAILED, ""),
    "the new one alone": ([("create", "completed")], UNFINISHED, BESIDE),
}


@pytest.mark.parametrize(("acts", "fate", "note"), REPLACED.values(), ids=REPLACED)
def test_a_replacement_is_done_when_both_its_halves_are(
    acts: list[tuple[str, str]], fate: Fate, note: str
) -> None:
    log = Log().begin("apply").plan(("a.b", "replace"))
    for action, end in acts:
        log.act("a.b", action, "started", *([end] if end != "started" else []))

    (found,) = fates(log)
    assert (found.action, found.fate, found.note) == ("replace", fate, note)


def test_only_the_last_attempt_counts() -> None:
    log = Log().begin("apply").plan(("a.b", "create"), ("a.c", "create"))
    log.act("a.c", "create", "started", "completed").act("a.b", "create", "started", "failed")
    log.end("apply", exit_code=1).begin("apply", attempt=2).plan(("a.b", "create"))
    log.act("a.b", "create", "started", "completed", seconds=1.0)

    assert [(each.address, each.fate, each.seconds) for each in fates(log)] == [
        ("a.c", DONE, 2.0),
        ("a.b", DONE, 1.0),
    ]


def test_what_is_planned_and_has_no_operation_of_its_own_is_not_missed() -> None:
    log = Log().begin("apply").plan(("a.moved", "move"), ("a.seen", "import"), ("a.let_go", "forget"))

    assert fates(log) == ()


@pytest.mark.parametrize("operation", ["plan", "drift", "init", "validate", "output", "tf"])
def test_what_changes_nothing_has_no_fates(operation: str) -> None:
    log = Log(operation).begin("plan").plan(("a.b", "create")).act("a.b", "create", "started")

    assert fates(log) == ()


def test_what_a_plan_does_is_nobodys_fate() -> None:
    log = Log().begin("plan").act("a.b", "create", "started").plan(("a.b", "create")).end("plan")

    assert fates(log) == (ResourceFate("a.b", "create", NOT_STARTED),)


def test_of_very_many_resources_none_that_was_planned_is_told_wrongly() -> None:
    """Planned in one order, begun in another, more than are kept: what is done is not called `not started`."""
    story = Story()
    for record in Log().begin("apply").records:
        story.add(record)
    many = range(12_000)
    for number in many:
        story.add(record_of(events.ChangeEvent(f"a.b[{number}]", "create", None)))
    for number in reversed(many):
        for status in ("started", "completed"):
            story.add(record_of(events.ResourceEvent(f"a.b[{number}]", "create", status, None, None)))

    found = fates_of(story, success=False)

    assert {each.fate for each in found} == {DONE}
    assert {f"a.b[{number}]" for number in range(10_000)} <= {each.address for each in found}
    assert len(found) + story.left_out == 12_000


def record_of(event: events.Event) -> dict[str, Any]:
    return events.record_of(event, sequence=1, seconds=1_700_000_000.0, run="run-1")


ADDRESSES = st.sampled_from(["a.b", "a.b[1]", 'a.b["x"]', "module.m.a.b", "z.y"])
ACTIONS = st.sampled_from(["create", "update", "delete", "replace"])
EVENTS = st.one_of(
    st.builds(
        events.StepStarted, st.sampled_from(["init", "plan", "apply", "destroy"]), st.just(1), st.just(())
    ),
    st.builds(
        events.StepFinished,
        st.sampled_from(["init", "plan", "apply"]),
        st.booleans(),
        st.just(1),
        st.just(0.0),
        st.booleans(),
    ),
    st.builds(
        events.ResourceEvent,
        ADDRESSES,
        st.sampled_from(["create", "update", "delete", "refresh", "read"]),
        st.sampled_from(["started", "progress", "completed", "failed"]),
        st.none() | st.just(1.0),
        st.none() | st.just("i-1"),
    ),
    st.builds(events.ChangeEvent, ADDRESSES, ACTIONS, st.none() | st.just("drift")),
    st.builds(events.Cancelling, st.just("signal"), st.just("SIGINT"), st.just(1.0)),
)


@given(st.lists(EVENTS, max_size=40))
def test_every_planned_resource_has_exactly_one_fate_whatever_came_in_whichever_order(
    told: list[events.Event],
) -> None:
    story = Story.of([*Log().records, *map(record_of, told)])
    found = fates_of(story, success=False)
    touched = {
        part.address
        for part in story.actions
        if part.step >= 0 and story.steps[part.step].step in ("apply", "destroy")
    }

    counted = Counter(each.address for each in found)
    assert counted == Counter({*story.planned, *touched})
    assert {each.address for each in found if each.fate is NOT_STARTED} == set(story.planned) - touched
    ends = _last_ends(told)
    for each in found:
        if each.fate is DONE:
            assert "completed" in ends[each.address]
        if each.fate is FAILED:
            assert "failed" in ends[each.address]
        assert (each.seconds is None) == (each.fate is NOT_STARTED)


def _last_ends(told: list[events.Event]) -> Mapping[str, set[str]]:
    ends: dict[str, set[str]] = {}
    for event in told:
        if isinstance(event, events.ResourceEvent):
            ends.setdefault(event.address, set()).add(event.status)
    return ends
