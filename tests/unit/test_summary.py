"""What a step did, from the messages of real and of made-up streams."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.events import ChangeCounts
from hereya_tf.stream.message_types import (
    ChangeSummary,
    Diagnostic,
    Drift,
    EmergencyState,
    Log,
    Message,
    Outputs,
    Phase,
    PlannedChange,
    Range,
    ResourceHook,
)
from hereya_tf.stream.outputs import MISSING, Output
from hereya_tf.stream.summary import DIAGNOSTICS_KEPT, InFlight, Summary, succeeded
from tests.streams import ENGINES, FAILURES, SUCCESSES, Recording, exit_code, recordings

ALL = tuple(recordings())
each_recording = pytest.mark.parametrize("recording", ALL, ids=lambda recording: recording.id)
each_engine = pytest.mark.parametrize("engine", ENGINES)


def summary_of(*messages: Message) -> Summary:
    summary = Summary()
    for message in messages:
        summary.add(message)
    return summary


def started(address: str, action: str = "create") -> ResourceHook:
    return ResourceHook(Phase.STARTED, address, action)


def completed(address: str, action: str = "create") -> ResourceHook:
    return ResourceHook(Phase.COMPLETED, address, action)


def failed(address: str, action: str = "create") -> ResourceHook:
    return ResourceHook(Phase.FAILED, address, action)


class Facts(NamedTuple):
    """What a summary is expected to say."""

    planned: ChangeCounts = ChangeCounts()
    done: ChangeCounts = ChangeCounts()
    mutating: bool = False
    failed: tuple[str, ...] = ()
    drift: int = 0
    interrupted: bool = False
    outputs: int | None = None


CASES = {
    "plan-create": Facts(planned=ChangeCounts(add=2)),
    "plan-changes": Facts(planned=ChangeCounts(add=2, change=1, destroy=1, replace=1)),
    "apply-outputs": Facts(ChangeCounts(add=2), ChangeCounts(add=2), mutating=True, outputs=10),
    "apply-no-changes": Facts(outputs=10),
    "apply-replace-saved-plan": Facts(
        ChangeCounts(add=2, change=1, destroy=1, replace=1),
        ChangeCounts(add=2, change=1, destroy=1, replace=1),
        mutating=True,
        outputs=10,
    ),
    "apply-replace-create-first": Facts(
        ChangeCounts(add=1, destroy=1, replace=1),
        ChangeCounts(add=1, destroy=1, replace=1),
        mutating=True,
        outputs=0,
    ),
    "destroy": Facts(ChangeCounts(destroy=3), ChangeCounts(destroy=3), mutating=True),
    "lab-create-failed": Facts(
        ChangeCounts(add=2, change=1, destroy=1),
        ChangeCounts(add=1, change=1, destroy=1),
        mutating=True,
        failed=("lab_thing.c",),
    ),
    "lab-delete-failed": Facts(
        ChangeCounts(destroy=2), ChangeCounts(destroy=1), mutating=True, failed=("lab_thing.a",)
    ),
    "lab-drift": Facts(drift=2),
    "lab-gone": Facts(drift=2),
    "lab-read-failed": Facts(),
    "apply-interrupted": Facts(
        ChangeCounts(add=2),
        ChangeCounts(add=1),
        mutating=True,
        failed=("terraform_data.slow",),
        interrupted=True,
    ),
    "apply-interrupted-twice": Facts(
        ChangeCounts(add=1), mutating=True, failed=("lab_thing.x",), interrupted=True
    ),
    "http-unlock-failed": Facts(ChangeCounts(add=1), ChangeCounts(add=1), mutating=True),
}


@each_engine
@pytest.mark.parametrize("case", CASES)
def test_a_stream_is_summed_up(engine: str, case: str) -> None:
    summary = summary_of(*Recording(engine, case).messages)

    assert CASES[case] == Facts(
        summary.planned,
        summary.done,
        summary.mutating,
        tuple(summary.failed),
        summary.drift,
        summary.interrupted,
        None if summary.outputs is None else len(summary.outputs),
    )


@each_recording
def test_our_count_is_the_engine_s_own_where_it_has_one(recording: Recording) -> None:
    summary = summary_of(*recording.messages)

    if summary.final is not None:
        final = summary.final
        assert (final.add, final.change, final.destroy) == summary.done[:3]


@each_recording
def test_nothing_stays_in_flight_when_a_step_has_ended(recording: Recording) -> None:
    left = summary_of(*recording.messages).in_flight

    # A refresh or a read that failed does not say so.
    assert {flight.action for flight in left.values()} <= {"refresh", "read"}
    assert not left or recording.case in ("lab-read-failed", "lab-data-failed")


@each_recording
def test_success_is_exit_code_and_stream_agreeing(recording: Recording) -> None:
    summary = summary_of(*recording.messages)

    assert succeeded(exit_code(recording), summary) == (recording.case in SUCCESSES)


def test_every_recording_has_its_expected_end() -> None:
    assert {recording.case for recording in ALL} == SUCCESSES | set(FAILURES)


def test_an_error_with_exit_code_0_is_no_success() -> None:
    summary = summary_of(*Recording("terraform-1.15.5", "plan-var-file-missing").messages)

    assert summary.plan is not None
    assert not succeeded(0, summary)


PLAN = ChangeSummary("plan", 1, 0, 0)
APPLY = ChangeSummary("apply", 1, 0, 0)


@pytest.mark.parametrize(
    ("exit_code", "messages", "detailed", "expected"),
    [
        pytest.param(0, (PLAN,), False, True, id="plan"),
        pytest.param(0, (), False, True, id="init"),
        pytest.param(1, (PLAN,), False, False, id="failed"),
        pytest.param(None, (PLAN,), False, False, id="ended by a signal"),
        pytest.param(2, (PLAN,), True, True, id="changes"),
        pytest.param(2, (PLAN,), False, False, id="a crash, nobody asked for 2"),
        pytest.param(2, (), True, False, id="a crash before the plan was told"),
        pytest.param(0, (started("a"), completed("a")), False, False, id="changes without a last word"),
        pytest.param(0, (started("a"), completed("a"), APPLY), False, True, id="apply"),
        pytest.param(0, (Diagnostic("warning", "Odd"), APPLY), False, True, id="a warning"),
    ],
)
def test_neither_exit_code_nor_stream_is_believed_alone(
    exit_code: int | None, messages: tuple[Message, ...], detailed: bool, expected: bool
) -> None:
    assert succeeded(exit_code, summary_of(*messages), detailed_exitcode=detailed) is expected


@each_engine
@pytest.mark.parametrize(
    ("case", "complete"), [("apply-outputs", True), ("apply-sensitive-output", False), ("destroy", False)]
)
def test_outputs_are_complete_when_every_value_is_there(engine: str, case: str, complete: bool) -> None:
    assert summary_of(*Recording(engine, case).messages).outputs_complete is complete


def test_only_outputs_after_the_apply_count() -> None:
    planned = Outputs({"o": Output(False, None, MISSING, "create")})
    applied = Outputs({"o": Output(False, "string", "x")})

    assert summary_of(PLAN, planned).outputs is None
    assert summary_of(ChangeSummary("destroy", 0, 0, 1), applied).outputs is None
    assert summary_of(PLAN, planned, APPLY, applied).outputs == applied.values


@each_engine
def test_nothing_can_be_lost_before_the_first_change(engine: str) -> None:
    summary = Summary()
    for message in Recording(engine, "lab-apply").messages:
        changes = isinstance(message, ResourceHook) and message.action not in ("read", "refresh")
        assert not summary.mutating or changes or summary.in_flight or summary.done.add
        summary.add(message)
        assert summary.mutating or not changes

    assert summary.mutating


@pytest.mark.parametrize("action", ["read", "refresh", "open", "renew", "close"])
def test_looking_is_no_change(action: str) -> None:
    summary = summary_of(started("a", action), completed("a", action))

    assert (summary.mutating, summary.done) == (False, ChangeCounts())


@pytest.mark.parametrize("action", ["create", "update", "delete", "invoke", "something new"])
def test_anything_else_is_a_change(action: str) -> None:
    assert summary_of(started("a", action)).mutating


def test_what_is_in_flight_is_known_with_its_beginning() -> None:
    summary = Summary()
    summary.add(started("a"), 1.0)
    summary.add(started("b", "read"), 2.0)
    summary.add(ResourceHook(Phase.PROGRESS, "a", "create"), 11.0)
    summary.add(completed("b", "read"), 12.0)

    assert summary.in_flight == {"a": InFlight("create", 1.0)}

    summary.add(failed("a"), 13.0)

    assert (summary.in_flight, summary.failed) == ({}, ["a"])


def test_a_refresh_without_an_end_is_over_with_the_plan() -> None:
    summary = summary_of(started("a", "refresh"), started("d", "read"))

    assert set(summary.in_flight) == {"a", "d"}

    summary.add(PLAN)

    assert summary.in_flight == {}


def test_a_plan_is_counted_before_its_summary() -> None:
    summary = summary_of(
        PlannedChange("a", "create"),
        PlannedChange("b", "update", importing=True),
        PlannedChange("c", "delete"),
        PlannedChange("d", "replace"),
        PlannedChange("e", "remove"),
        PlannedChange("f", "noop"),
        PlannedChange("g", "import", importing=True),
    )

    assert summary.planned == ChangeCounts(add=2, change=1, destroy=2, replace=1, import_=2, forget=1)

    summary.add(ChangeSummary("plan", 2, 1, 2, import_=2))

    assert summary.planned == ChangeCounts(add=2, change=1, destroy=2, replace=1, import_=2, forget=1)


def test_a_replacement_counts_when_both_halves_are_done() -> None:
    planned = PlannedChange("a", "replace")
    halves = (planned, completed("a", "delete"), completed("b"), completed("a", "create"))

    assert summary_of(*halves[:2]).done == ChangeCounts(destroy=1)
    assert summary_of(*halves).done == ChangeCounts(add=2, destroy=1, replace=1)
    # A deposed object of the same address may go first, or an object be destroyed again.
    assert summary_of(planned, completed("a", "delete"), completed("a", "delete")).done == ChangeCounts(
        destroy=2
    )
    assert summary_of(planned, completed("a"), completed("a", "update")).done == ChangeCounts(add=1, change=1)


def test_imports_and_forgotten_resources_are_the_engine_s_last_word() -> None:
    summary = summary_of(PlannedChange("a", "import", importing=True), PLAN)

    assert summary.done == ChangeCounts()

    summary.add(ChangeSummary("apply", 0, 0, 0, import_=1, forget=2))

    assert summary.done == ChangeCounts(import_=1, forget=2)


def test_a_diagnostic_is_told_once() -> None:
    summary = Summary()
    error = Diagnostic("error", "Bad", "very", "a.b", Range("main.tf", 1, 1, 1, 2))

    assert [
        summary.add(error),
        summary.add(error._replace()),
        summary.add(error._replace(address="a.c")),
    ] == [
        True,
        False,
        True,
    ]
    assert (summary.error_count, len(summary.errors), summary.warnings) == (2, 2, [])


@each_engine
def test_init_s_repeated_errors_are_told_once(engine: str) -> None:
    summary = summary_of(*Recording(engine, "duplicate").messages)

    assert sorted(error.summary.partition(",")[0] for error in summary.errors) == [
        'Duplicate resource "terraform_data" configuration',
        "Terraform encountered problems during initialisation",
    ]


def test_an_error_is_kept_however_many_warnings_came_before() -> None:
    summary = Summary()
    for number in range(2 * DIAGNOSTICS_KEPT):
        summary.add(Diagnostic("warning", f"warning {number}"))
    summary.add(Diagnostic("error", "Bad"))

    assert [error.summary for error in summary.errors] == ["Bad"]
    assert (summary.warning_count, len(summary.warnings)) == (2 * DIAGNOSTICS_KEPT, DIAGNOSTICS_KEPT)


def test_memory_is_bounded_and_the_count_goes_on() -> None:
    summary = Summary()
    for number in range(20):
        summary.add(Diagnostic("error", f"error {number}", "x" * (2 << 20)))
    for number in range(20_000):
        summary.add(started(f"a.b[{number}]"))
        summary.add(failed(f"a.c[{number}]"))

    assert summary.error_count == 20
    assert sum(len(error.detail) for error in summary.errors) <= 20 << 20
    assert len(summary.in_flight) == len(summary.failed) == 10_000


def test_drift_interrupts_and_dumps_are_noticed() -> None:
    summary = summary_of(
        Drift("a", "update"),
        Drift("b", "delete"),
        Log("info", "Stopping operation..."),
        EmergencyState('{"version":4}'),
    )

    assert (summary.drift, summary.interrupted, summary.emergency_state) == (2, False, '{"version":4}')

    summary.add(
        Log("info", "\nInterrupt received.\nPlease wait for OpenTofu to exit or data loss may occur.\n")
    )

    assert summary.interrupted


ADDRESSES = st.sampled_from("abc")
ACTIONS = st.sampled_from(["create", "update", "delete", "read"])
HOOKS = st.builds(ResourceHook, st.sampled_from(Phase), ADDRESSES, ACTIONS)
PLANS = st.builds(PlannedChange, ADDRESSES, st.sampled_from(["replace", "create", "noop"]))


@given(st.lists(HOOKS | PLANS))
def test_counts_are_those_of_completed_operations(messages: list[ResourceHook | PlannedChange]) -> None:
    summary = summary_of(*messages)

    completions = [m.action for m in messages if isinstance(m, ResourceHook) and m.phase is Phase.COMPLETED]
    assert summary.done[:3] == tuple(completions.count(action) for action in ("create", "update", "delete"))
    assert summary.done.replace <= min(summary.done.add, summary.done.destroy)
    assert set(summary.in_flight) <= set("abc")
