"""What stays on a person's screen: what has happened, in columns, whole and nothing that steers it."""

from typing import Any

import pytest

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.ui.narrative import Moment, Narrative
from hereya_tf.ui.progress import Progress
from hereya_tf.ui.styled import Style, encoded
from tests.event_samples import RESULT

STARTED = events.RunStarted("provision", "shop", "default", "/shop#default", 7, "1.0")
RANGE = events.RangeInfo("main.tf", 3, 1, 3, 9)
ADDRESS = 'module.database.module.replica_in_another_region[0].terraform_data.replica["first"]'


def lines(*story: Any, width: int = 80) -> list[str]:
    """The lines for these events; a number is seconds that pass."""
    narrative, progress, now = Narrative(), Progress(), 0.0
    shown = []
    for part in story:
        if isinstance(part, float):
            now += part
            continue
        record = events.record_of(part, sequence=1, seconds=now, run="20270115T080000Z-bb")
        shown += [
            encoded(line, color=False) for line in narrative.lines(record, progress, Moment(now, width))
        ]
        progress.tell(record, now)
    return shown


def diagnostic(severity: str, **changed: Any) -> events.DiagnosticEvent:
    made = events.DiagnosticEvent(severity, None, "Summary", "", None, None, None)
    return made._replace(**changed)


def acts(address: str, status: str = "started", action: str = "create", **changed: Any) -> events.Event:
    return events.ResourceEvent(address, action, status, None, None)._replace(**changed)


def result(**changed: Any) -> events.Result:
    made = RESULT._replace(
        package="/p/shop",
        changes=events.ChangeCounts(add=2, destroy=1, replace=1),
        timings=RESULT.timings._replace(total=65.0),
    )
    return made._replace(**changed)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(
            STARTED,
            ["provision shop · workspace default · run 20270115T080000Z-bb"],
            id="run-started",
        ),
        pytest.param(
            events.EngineReady("terraform", "1.11.4", "/bin/terraform", "found on PATH"),
            ["terraform 1.11.4 · /bin/terraform (found on PATH)"],
            id="engine-ready",
        ),
        pytest.param(events.LockWaiting("package", 1, None), [], id="lock-waiting"),
        pytest.param(events.LockAcquired(0.2), [], id="lock-at-once"),
        pytest.param(events.LockAcquired(130.0), ["  2m10s  ✓ locks      taken"], id="lock-acquired"),
        pytest.param(events.StepStarted("apply", 1, ()), [], id="step-started"),
        pytest.param(
            events.StepFinished("init", True, 0, 2.04, False), ["   2.0s  ✓ init"], id="step-finished"
        ),
        pytest.param(
            events.StepFinished("init", True, None, 0.0, True),
            ["         · init       not needed, nothing has changed"],
            id="step-skipped",
        ),
        pytest.param(
            events.StepFinished("show", False, 1, 12.0, False),
            ["    12s  ✗ show       failed (exit code 1)"],
            id="step-failed",
        ),
        pytest.param(
            events.StepFinished("apply", False, None, 12.0, False),
            ["    12s  ✗ apply      failed (ended by a signal)"],
            id="step-killed",
        ),
        pytest.param(events.StepFinished("show", True, 0, 1.0, False), [], id="nobody-asked-for-show"),
        pytest.param(acts("a.b"), [], id="resource-started"),
        pytest.param(acts("a.b", "progress"), [], id="resource-progress"),
        pytest.param(
            acts("a.b", "completed", seconds=7.0, id="i-1"),
            ["   7.0s  ✓ created    a.b  [id=i-1]"],
            id="resource-completed",
        ),
        pytest.param(acts("a.b", "completed", "explode"), ["         ✓ explode    a.b"], id="unknown-action"),
        pytest.param(acts("a.b", "completed", "refresh"), [], id="refreshed"),
        pytest.param(acts("a.b", "completed", "open"), [], id="ephemeral"),
        pytest.param(acts("a.b", "completed", "read"), ["         ✓ read       a.b"], id="read"),
        pytest.param(
            acts("a.b", "failed", "update", seconds=1.0),
            ["   1.0s  ✗ failed     a.b  (update)"],
            id="resource-failed",
        ),
        pytest.param(events.ChangeEvent("a.b", "create", None), [], id="change"),
        pytest.param(
            diagnostic("error", detail="Long", address="a.b"),
            ["         ✗ error: Summary, with a.b"],
            id="error-in-one-line",
        ),
        pytest.param(
            diagnostic("warning", detail="More\n\n  inside", range=RANGE),
            [
                "         ! warning: Summary",
                "             on main.tf line 3",
                "             More",
                "",
                "               inside",
            ],
            id="warning-whole",
        ),
        pytest.param(events.LogEvent("stdout", "Initializing"), [], id="stdout"),
        pytest.param(events.LogEvent("stderr", "boo"), ["         boo"], id="stderr"),
        pytest.param(
            events.LogEvent("provisioner", "a.b (x): hi"), ["         a.b (x): hi"], id="provisioner"
        ),
        pytest.param(
            events.Retry("apply", "provider-error", 2, 4.0),
            ["         ! apply again in 4.0s: a provider has failed"],
            id="retry",
        ),
        pytest.param(events.Heartbeat("apply", 10.0, ("a.b",)), [], id="heartbeat"),
        pytest.param(events.EngineMessage("apply", {}), [], id="engine-message"),
    ],
)
def test_every_event_in_its_columns(event: events.Event, expected: list[str]) -> None:
    assert lines(event) == expected


def test_a_resource_took_as_long_as_we_saw_it() -> None:
    story = (acts("a.b"), 3.2, acts("a.b", "completed", seconds=3.0))

    assert lines(*story) == ["   3.2s  ✓ created    a.b"]


def test_a_plan_says_what_it_would_do() -> None:
    changes = [events.ChangeEvent(f"a.{action}", action, None) for action in ("create", "replace", "delete")]
    finished = events.StepFinished("plan", True, 0, 1.0, False)

    assert lines(*changes, finished) == [
        "   1.0s  ✓ plan       2 to add, 0 to change, 2 to destroy (1 replaced)"
    ]
    assert lines(finished) == ["   1.0s  ✓ plan       no changes"]


def test_an_address_is_never_cut_off() -> None:
    completed = acts(ADDRESS, "completed", id="0123456789")

    assert lines(completed, width=200) == [f"         ✓ created    {ADDRESS}  [id=0123456789]"]
    assert lines(completed, width=106) == [f"         ✓ created    {ADDRESS}"]
    assert lines(completed, width=80) == [
        "         ✓ created    module.database.module.replica_in_another_region[0]",
        '                      .terraform_data.replica["first"]',
    ]
    assert lines(completed, width=40) == [
        "         ✓ created",
        "         module.database.module",
        "         .replica_in_another_region[0]",
        "         .terraform_data.replica",
        '         ["first"]',
    ]


def test_on_a_narrow_screen_lines_are_folded() -> None:
    ready = events.EngineReady("terraform", "1.11.4", "/usr/local/bin/terraform", "found on PATH")
    skipped = events.StepFinished("init", True, None, 0.0, True)

    assert lines(STARTED, ready, skipped, width=40) == [
        "provision shop",
        "workspace default · run",
        "20270115T080000Z-bb",
        "terraform 1.11.4 ·",
        "/usr/local/bin/terraform (found on PATH)",
        "         · init       not needed,",
        "                      nothing has",
        "                      changed",
    ]


def test_what_several_steps_say_alike_is_said_once() -> None:
    warning = diagnostic("warning")
    box = [events.LogEvent("stderr", text) for text in ("╷", "│ Warning: old", "╵")]
    init, plan = events.StepStarted("init", 1, ()), events.StepStarted("plan", 1, ())

    assert lines(init, warning, *box, plan, warning, *box) == [
        "         ! warning: Summary",
        "         ╷",
        "         │ Warning: old",
        "         ╵",
    ]


def test_a_box_that_was_cut_short_is_shown() -> None:
    story = (events.LogEvent("stderr", "╷"), events.StepFinished("init", False, 1, 1.0, False))

    assert lines(*story) == ["         ╷", "   1.0s  ✗ init       failed (exit code 1)"]


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("signal", "interrupted"),
        ("timeout", "the time limit has passed"),
        ("idle", "the engine has been silent for too long"),
        ("request", "cancelled on request"),
        ("tomorrow", "tomorrow"),
    ],
)
def test_a_cancelling_says_why_and_how_hard(reason: str, why: str) -> None:
    asked = events.Cancelling(reason, "SIGINT", 60.0)

    assert lines(asked, asked, asked._replace(signal="SIGKILL"), width=120) == [
        f"         ! {why}: the engine is asked to stop",
        "         ! the engine is told to end at once: what is in flight may not be in the state",
        "         ! the engine did not end and is killed: what was in flight may be lost",
    ]


@pytest.mark.parametrize(
    ("reason", "why"), [("signal", "interrupted"), ("idle", "the policy has been silent for too long")]
)
def test_a_policy_is_no_engine(reason: str, why: str) -> None:
    began = events.StepStarted("policy", 1, ("opa",))

    assert lines(began, events.Cancelling(reason, "SIGINT", 60.0)) == [
        f"         ! {why}: the policy is asked to stop"
    ]


FAILURE = events.FailureInfo(FailureClass.ENGINE_ERROR, None, (), "", "", events.StateInfo(True, None, None))


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, "✓ provision of shop succeeded: 2 added, 0 changed, 1 destroyed (1 replaced)"),
        ({"changes": events.ChangeCounts()}, "✓ provision of shop succeeded: no changes"),
        (
            {"operation": "plan", "changes": events.ChangeCounts(add=1, import_=2)},
            "✓ plan of shop succeeded: 1 to add, 0 to change, 0 to destroy, 2 to import",
        ),
        ({"operation": "drift", "drift": True}, "✓ drift of shop succeeded: there is drift"),
        ({"operation": "drift", "drift": False}, "✓ drift of shop succeeded: no drift"),
        ({"operation": "validate"}, "✓ validate of shop succeeded"),
        (
            {"success": False, "status": "failed"},
            "✗ provision of shop failed, after 2 added, 0 changed, 1 destroyed (1 replaced)",
        ),
        (
            {"success": False, "status": "cancelled", "changes": events.ChangeCounts()},
            "✗ provision of shop was cancelled",
        ),
        (
            {"success": False, "status": "busy", "changes": events.ChangeCounts()},
            "✗ provision of shop did not begin: somebody else is at it",
        ),
    ],
)
def test_the_end_in_one_line(changed: dict[str, Any], expected: str) -> None:
    assert lines(STARTED, result(**changed), width=120)[1:] == [f"  1m05s  {expected}", ""]


def test_the_end_is_green_or_red() -> None:
    def style(**changed: Any) -> Style:
        record = events.record_of(result(**changed), sequence=1, seconds=0.0, run="r")
        return Narrative().lines(record, Progress(), Moment(0.0, 80))[0][-1].style

    assert (style(), style(success=False, status="failed")) == (Style.BOLD_GREEN, Style.BOLD_RED)


def test_hostile_text_steers_nothing() -> None:
    story = (
        STARTED._replace(package="\x1b[2J", workspace="\x9b"),
        acts("a\x1b[1m\n.b", "completed", "\x07", id="\r"),
        diagnostic("error", summary="\x1b]0;x\x07"),
        diagnostic("warning", summary="\x1b]0;x\x07"),
        events.LogEvent("stderr", "\x1b[H"),
        events.LogEvent("provisioner", "\x1b[H"),
    )

    text = "".join(lines(*story))
    assert not any(character < " " or "\x7f" <= character < "\xa0" for character in text)
