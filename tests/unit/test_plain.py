"""What a person reads of a run: every event in words, aligned, and nothing that steers a terminal."""

import unicodedata
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.ui.plain import Detail, PlainLines
from hereya_tf.words import counts_text, format_seconds, visible
from tests.event_samples import RESULT

BEGAN = 1_800_000_000.0

RUN_STARTED = events.RunStarted("provision", "/p", "default", "/p#default", 7, "1.0")
HOLDER = events.HolderInfo("20260101T000000Z-aa", 12, "host", "destroy", "2026-01-01T00:00:00.000Z")
TIMINGS = events.Timings(0.1, 0.2, None, None, 3.0, None, 65.0)
STATE = events.StateInfo(True, None, None)


def result(**changed: Any) -> events.Result:
    made = RESULT._replace(package="/p", changes=events.ChangeCounts(2, 0, 1, 1, 3, 4), timings=TIMINGS)
    return made._replace(**changed)


FAILURE = events.FailureInfo(FailureClass.ENGINE_ERROR, None, (), "", "", STATE)


def record(event: events.Event, after: float = 0.0) -> dict[str, Any]:
    """The event as a front end gets it, `after` seconds into the run."""
    return events.record_of(event, sequence=1, seconds=BEGAN + after, run="20260101T000000Z-bb")


def shown(*told: events.Event, plain: PlainLines | None = None, **options: Any) -> list[str]:
    """The lines for these events, one second apart."""
    renderer = plain or PlainLines(**options)
    return [line for second, event in enumerate(told) for line in renderer.lines(record(event, second))]


def words(event: events.Event, **options: Any) -> list[str]:
    """The lines for one event without what stands before them."""
    return [line[18:] for line in shown(event, **options)]


def diagnostic(**changed: Any) -> events.DiagnosticEvent:
    made = events.DiagnosticEvent("error", FailureClass.ENGINE_ERROR, "Summary", "", None, None, None)
    return made._replace(**changed)


RANGE = events.RangeInfo("main.tf", 3, 1, 3, 9)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        pytest.param(
            RUN_STARTED,
            ["provision /p, workspace default, run 20260101T000000Z-bb"],
            id="run-started",
        ),
        pytest.param(
            events.LockWaiting("package", 1, HOLDER),
            [
                "waiting for the package lock: destroy of run 20260101T000000Z-aa"
                " (pid 12 on host, since 2026-01-01T00:00:00.000Z) has it; next in line"
            ],
            id="next-in-line",
        ),
        pytest.param(
            events.LockWaiting("workspace", 3, None),
            ["waiting for the workspace lock: somebody has it; 2 more ahead of this run"],
            id="waiting-for-somebody",
        ),
        pytest.param(events.LockAcquired(0.4), [], id="locks-at-once"),
        pytest.param(events.LockAcquired(75.2), ["locks taken after 1m15s"], id="locks-after-a-while"),
        pytest.param(
            events.EngineDownload("tofu", "1.11.0", 12_345_678, 90_000_000),
            ["downloading tofu 1.11.0: 12.3 of 90.0 MB"],
            id="download",
        ),
        pytest.param(
            events.EngineDownload("tofu", "1.11.0", 12_345_678, None),
            ["downloading tofu 1.11.0: 12.3 MB"],
            id="download-of-unknown-size",
        ),
        pytest.param(
            events.EngineReady("terraform", "1.11.4", "/usr/bin/terraform", "found on PATH"),
            ["terraform 1.11.4 at /usr/bin/terraform (found on PATH)"],
            id="engine",
        ),
        pytest.param(events.StepStarted("init", 1, ("terraform", "init")), ["started"], id="step"),
        pytest.param(
            events.StepStarted("state", 2, ("terraform", "state", "pull")),
            ["started"],
            id="step-once-more",
        ),
        pytest.param(
            events.StepFinished("lock", False, 1, 0.3, False), ["not free, after 0.3s"], id="lock-of-somebody"
        ),
        pytest.param(events.StepFinished("init", True, 0, 12.34, False), ["done after 12s"], id="step-done"),
        pytest.param(
            events.StepFinished("apply", False, 1, 0.25, False),
            ["failed after 0.2s (exit code 1)"],
            id="step-failed",
        ),
        pytest.param(
            events.StepFinished("apply", False, None, 5, False),
            ["failed after 5.0s (ended by a signal)"],
            id="step-killed",
        ),
        pytest.param(
            events.StepFinished("init", True, None, 0.0, True),
            ["not needed, nothing has changed since the last one"],
            id="step-skipped",
        ),
        pytest.param(
            events.ResourceEvent("a.b", "create", "started", None, None), ["a.b: creating"], id="creating"
        ),
        pytest.param(
            events.ResourceEvent("a.b", "create", "completed", 12, "i-1"),
            ["a.b: created after 12s [id=i-1]"],
            id="created",
        ),
        pytest.param(
            events.ResourceEvent("a.b", "delete", "completed", 0, None), ["a.b: destroyed"], id="destroyed"
        ),
        pytest.param(
            events.ResourceEvent("a.b", "update", "failed", 3, None),
            ["a.b: update failed after 3.0s"],
            id="update-failed",
        ),
        pytest.param(
            events.ResourceEvent("a.b", "open", "completed", 0, None), ["a.b: open done"], id="new-action"
        ),
        pytest.param(
            events.ResourceEvent("a.b", "create", "progress", 10, None), [], id="progress-is-the-heartbeats"
        ),
        pytest.param(
            events.ResourceEvent("a.b", "refresh", "completed", None, "i-1"), [], id="refresh-is-noise"
        ),
        pytest.param(
            events.ChangeEvent("a.b", "replace", "cannot_update"),
            ["a.b: to replace (cannot be updated in place)"],
            id="change-with-reason",
        ),
        pytest.param(events.ChangeEvent("a.b", "delete", None), ["a.b: to destroy"], id="change"),
        pytest.param(
            events.ChangeEvent("a.b", "update", "drift"), ["a.b: changed outside of the engine"], id="drift"
        ),
        pytest.param(
            diagnostic(detail="First.\n\n  Second.", range=RANGE),
            ["error: Summary, on main.tf line 3"],
            id="error-with-a-place",
        ),
        pytest.param(
            diagnostic(detail="Why.", address="a.b"), ["error: Summary, with a.b"], id="error-with-an-address"
        ),
        pytest.param(diagnostic(summary="A\n\n  summary", detail="Why."), ["error: A summary"], id="error"),
        pytest.param(
            diagnostic(severity="warning", class_=None, address="a.b", detail="Why."),
            ["warning: Summary", "  with a.b", "  Why."],
            id="warning-with-an-address",
        ),
        pytest.param(events.LogEvent("stdout", "Plan: 1 to add"), [], id="engine-talk-is-noise"),
        pytest.param(events.LogEvent("stderr", "panic: oh"), ["panic: oh"], id="stderr"),
        pytest.param(
            events.LogEvent("provisioner", "a.b (local-exec): hi"), ["a.b (local-exec): hi"], id="provisioner"
        ),
        pytest.param(events.EngineMessage("apply", {"type": "version"}), [], id="engine-message"),
        pytest.param(
            events.Heartbeat("apply", 20.0, ("a", "b", "c", "d", "e")),
            ["still running after 20s: a, b, c and 2 more"],
            id="heartbeat",
        ),
        pytest.param(
            events.Heartbeat("wait", 70.0, ()), ["still waiting after 1m10s"], id="heartbeat-of-a-wait"
        ),
        pytest.param(
            events.Heartbeat("engine", 10.0, ()),
            ["still waiting for the engine after 10s"],
            id="heartbeat-of-a-download",
        ),
        pytest.param(events.Heartbeat("init", 10.0, ()), ["still running after 10s"], id="heartbeat-of-init"),
        pytest.param(events.Heartbeat("question", 10.0, ()), [], id="heartbeat-of-a-question"),
        pytest.param(
            events.Retry("apply", "provider-error", 2, 5.0),
            ["again in 5.0s: a provider has failed"],
            id="retry",
        ),
        pytest.param(
            events.Cancelling("signal", "SIGINT", 60.0),
            ["interrupted: the engine gets up to 1m00s for what is in flight; a second Ctrl-C gives it up"],
            id="interrupted",
        ),
        pytest.param(
            events.Cancelling("timeout", "SIGKILL", 60.0),
            ["the engine did not end and is killed; what was in flight may be lost"],
            id="killed",
        ),
        pytest.param(
            result(),
            ["succeeded after 1m05s: 2 added, 0 changed, 1 destroyed, 3 imported, 4 forgotten (1 replaced)"],
            id="succeeded",
        ),
        pytest.param(
            result(changes=events.ChangeCounts()), ["succeeded after 1m05s: no changes"], id="nothing-to-do"
        ),
        pytest.param(
            result(success=False, status="timed_out", exit_code=124, failure=FAILURE),
            ["timed out after 1m05s: 2 added, 0 changed, 1 destroyed, 3 imported, 4 forgotten (1 replaced)"],
            id="timed-out",
        ),
    ],
)
def test_every_event_in_words(event: events.Event, expected: list[str]) -> None:
    assert words(event) == expected


def test_a_step_that_failed_is_started_again() -> None:
    lines = shown(
        events.StepStarted("apply", 1, ("terraform", "apply")),
        events.StepFinished("apply", False, 1, 1.0, False),
        events.StepStarted("apply", 2, ("terraform", "apply")),
    )

    assert lines[-1].endswith("apply    started again (attempt 2)")


def test_every_event_type_has_words_or_is_left_to_others() -> None:
    left_out = {"engine_message"}

    unknown = [
        name
        for name in events.EVENT_TYPES.values()
        if not hasattr(PlainLines, f"_{name}") and name not in left_out
    ]
    assert unknown == []


def test_what_a_newer_version_has_to_say_is_passed_over() -> None:
    assert PlainLines().lines({**record(RUN_STARTED), "type": "telepathy"}) == []


# The look of a whole run


A_RUN: Sequence[events.Event] = (
    RUN_STARTED,
    events.EngineReady("terraform", "1.11.4", "/usr/bin/terraform", "found on PATH"),
    events.LockAcquired(0.0),
    events.StepStarted("init", 1, ("terraform", "init")),
    events.LogEvent("stdout", "Initializing the backend..."),
    events.LogEvent("stderr", "There are some problems with the CLI configuration:"),
    events.LogEvent("stderr", "╷"),
    events.LogEvent("stderr", "│ Warning: Unable to open CLI configuration file"),
    events.LogEvent("stderr", "╵"),
    events.StepFinished("init", True, 0, 1.0, False),
    events.StepStarted("apply", 1, ("terraform", "apply")),
    events.ChangeEvent("a.b", "create", None),
    events.ResourceEvent("a.b", "create", "started", None, None),
    events.LogEvent("stderr", "There are some problems with the CLI configuration:"),
    events.LogEvent("stderr", "╷"),
    events.LogEvent("stderr", "│ Warning: Unable to open CLI configuration file"),
    events.LogEvent("stderr", "╵"),
    diagnostic(summary="It failed", detail="Because."),
    events.StepFinished("apply", False, 1, 1.0, False),
    result(success=False, status="failed", exit_code=1, failure=FAILURE),
)

LOOK = """\
   0.0s  start    provision /p, workspace default, run 20260101T000000Z-bb
   1.0s  start    terraform 1.11.4 at /usr/bin/terraform (found on PATH)
   3.0s  init     started
   5.0s  init     There are some problems with the CLI configuration:
   8.0s  init     ╷
                  │ Warning: Unable to open CLI configuration file
                  ╵
   9.0s  init     done after 1.0s
    10s  apply    started
    11s  apply    a.b: to create
    12s  apply    a.b: creating
    17s  apply    error: It failed
    18s  apply    failed after 1.0s (exit code 1)
    19s  end      failed after 1m05s: 2 added, 0 changed, 1 destroyed, 3 imported, 4 forgotten (1 replaced)"""


def test_the_look_of_a_run() -> None:
    assert "\n".join(shown(*A_RUN)) == LOOK


def test_quiet_shows_errors_only() -> None:
    assert shown(*A_RUN, diagnostic(severity="warning"), detail=Detail.QUIET) == [
        "    17s  apply    error: It failed"
    ]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        pytest.param(
            diagnostic(detail="First.\n\n  Second.", range=RANGE),
            ["error: Summary", "  on main.tf line 3", "  First.", "", "    Second."],
            id="place",
        ),
        pytest.param(
            diagnostic(range=RANGE, snippet=events.SnippetInfo('resource "a" "b"', "x", 3, ())),
            ["error: Summary", '  on main.tf line 3, in resource "a" "b"'],
            id="snippet",
        ),
        pytest.param(
            diagnostic(range=RANGE, snippet=events.SnippetInfo(None, "x", 3, ())),
            ["error: Summary", "  on main.tf line 3"],
            id="bare-snippet",
        ),
    ],
)
def test_verbose_shows_an_error_in_full(error: events.DiagnosticEvent, expected: list[str]) -> None:
    assert words(error, detail=Detail.VERBOSE) == expected


def test_verbose_shows_all_that_was_said_and_the_commands() -> None:
    lines = [line[18:] for line in shown(*A_RUN, detail=Detail.VERBOSE)]

    assert lines.count("│ Warning: Unable to open CLI configuration file") == 2
    assert "started: terraform apply" in lines
    assert "locks taken after 0.0s" in lines
    assert "Initializing the backend..." in lines
    refreshed = events.ResourceEvent("a.b", "refresh", "completed", None, "i-1")
    assert words(refreshed, detail=Detail.VERBOSE) == ["a.b: refreshed [id=i-1]"]


def test_without_progress_only_what_happens_is_told() -> None:
    told = (events.Heartbeat("apply", 20.0, ()), events.EngineDownload("tofu", "1.11.0", 1, 2))

    assert shown(*told, progress=False) == []


def arriving(total: int | None, *arrived: int, version: str = "1.11.0") -> list[events.Event]:
    return [events.EngineDownload("tofu", version, at, total) for at in arrived]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param(
            arriving(90_000_000, *range(65_536, 90_000_000, 65_536), 90_000_000),
            ["0.1 of 90.0 MB", "22.5 of 90.0 MB", "45.0 of 90.0 MB", "67.5 of 90.0 MB", "90.0 of 90.0 MB"],
            id="each-quarter",
        ),
        pytest.param(
            arriving(90_000_000, 60_000_000, 61_000_000, 89_999_999, 90_000_000),
            ["60.0 of 90.0 MB", "90.0 of 90.0 MB", "90.0 of 90.0 MB"],
            id="a-fast-one",
        ),
        pytest.param(arriving(0, 0), ["0.0 of 0.0 MB"], id="nothing"),
        pytest.param(
            arriving(None, *range(65_536, 25_000_000, 65_536)),
            ["0.1 MB", "10.0 MB", "20.1 MB"],
            id="of-unknown-size",
        ),
    ],
)
def test_a_download_takes_few_lines(told: list[events.Event], expected: list[str]) -> None:
    lines = [line[18:] for line in shown(*told)]

    assert lines == [f"downloading tofu 1.11.0: {text}" for text in expected]


def test_every_download_is_told() -> None:
    told = [*arriving(20, 20), *arriving(20, 20, version="1.12.0"), *arriving(20, 20, version="1.12.0")]

    assert [line[18:] for line in shown(*told)] == [
        "downloading tofu 1.11.0: 0.0 of 0.0 MB",
        "downloading tofu 1.12.0: 0.0 of 0.0 MB",
    ]


def test_colour_says_nothing_that_words_do_not() -> None:
    told = (
        RUN_STARTED,
        diagnostic(detail="Why."),
        diagnostic(severity="warning"),
        result(),
        result(success=False, status="failed", failure=FAILURE),
    )
    colored = shown(*told, color=True)

    assert [line.partition("m")[0] for line in colored if line.startswith("\x1b")] == [
        "\x1b[31",
        "\x1b[33",
        "\x1b[32",
        "\x1b[31",
    ]
    bare = [line.replace("\x1b[0m", "") for line in colored]
    for code in (31, 32, 33):
        bare = [line.replace(f"\x1b[{code}m", "") for line in bare]
    assert bare == shown(*told)


def test_time_that_runs_backwards_is_no_time() -> None:
    plain = PlainLines()
    plain.lines(record(RUN_STARTED, 10))

    assert plain.lines(record(events.LockAcquired(9.0), 0)) == ["   0.0s  start    locks taken after 9.0s"]


def test_a_second_interrupt_is_told_apart_from_the_first() -> None:
    again = events.Cancelling("signal", "SIGINT", 60.0)

    assert [line[18:] for line in shown(again, again)] == [
        "interrupted: the engine gets up to 1m00s for what is in flight; a second Ctrl-C gives it up",
        "the engine was told to end at once; what was in flight may be lost",
    ]


def test_a_policy_has_nothing_in_flight() -> None:
    told = shown(events.StepStarted("policy", 1, ()), events.Cancelling("idle", "SIGINT", 60.0))

    assert told[-1][18:] == "the policy has been silent for too long: the policy is asked to stop"


@pytest.mark.parametrize(
    ("reason", "why"),
    [
        ("timeout", "the time limit has passed"),
        ("idle", "the engine has been silent for too long"),
        ("request", "cancelled on request"),
    ],
)
def test_why_a_run_is_to_end(reason: str, why: str) -> None:
    assert words(events.Cancelling(reason, "SIGINT", 5.0)) == [
        f"{why}: the engine gets up to 5.0s for what is in flight"
    ]


# What several steps say alike


def step(name: str, *lines: str, attempt: int = 1) -> list[events.Event]:
    said = [events.LogEvent("stderr", line) for line in lines]
    return [
        events.StepStarted(name, attempt, ()),
        *said,
        events.StepFinished(name, True, 0, 1.0, False),
    ]


def stderr_lines(*told: list[events.Event]) -> list[str]:
    lines = [line[18:] for line in shown(*(event for events_ in told for event in events_))]
    return [line for line in lines if not line.startswith(("started", "done"))]


BOX = ("╷", "│ Warning: one", "╵")
OTHER_BOX = ("╷", "│ Warning: two", "╵")


def test_a_box_is_shown_once_a_run() -> None:
    assert stderr_lines(step("init", *BOX), step("plan", *BOX), step("apply", *BOX)) == [*BOX]


def test_another_box_is_shown_whole() -> None:
    told = (step("init", *BOX), step("apply", *OTHER_BOX, *BOX))

    assert stderr_lines(*told) == [*BOX, *OTHER_BOX]


def test_within_a_step_nothing_is_left_out() -> None:
    told = step("apply", "goroutine 1", "  frame", "goroutine 2", "  frame", *BOX, *BOX)

    assert stderr_lines(told) == ["goroutine 1", "  frame", "goroutine 2", "  frame", *BOX, *BOX]


def test_a_second_attempt_does_not_repeat_the_first() -> None:
    assert stderr_lines(step("init", "oh"), step("init", "oh", "no", attempt=2)) == ["oh", "no"]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(("╷", "│ cut"), id="cut-off"),
        pytest.param(("╷", "│ one", "a line"), id="left-by-a-line"),
        pytest.param(("╷", "╷", "│ one", "╵"), id="begun-twice"),
        pytest.param(("╷", *("│ long",) * 300, "╵"), id="long"),
        pytest.param(("╵", "│ no beginning"), id="no-beginning"),
    ],
)
def test_a_box_that_is_not_one_is_shown_all_the_same(lines: tuple[str, ...]) -> None:
    assert stderr_lines(step("apply", *lines)) == [*lines]


def test_the_end_of_the_run_shows_what_was_held_back() -> None:
    lines = shown(RUN_STARTED, events.LogEvent("stderr", "╷"), result())

    assert [line[9:] for line in lines[1:]] == [
        "end      ╷",
        "end      succeeded after 1m05s: 2 added, 0 changed, 1 destroyed, 3 imported, 4 forgotten (1 replaced)",
    ]


def test_a_warning_of_the_plan_is_not_repeated_by_the_apply_and_an_error_is() -> None:
    warning, error = diagnostic(severity="warning", summary="Old"), diagnostic(summary="Bad")
    told: list[events.Event] = [
        events.StepStarted("plan", 1, ()),
        warning,
        error,
        events.StepStarted("apply", 1, ()),
        warning,
        error,
    ]

    assert [line[18:] for line in shown(*told)] == [
        "started",
        "warning: Old",
        "error: Bad",
        "started",
        "error: Bad",
    ]


def test_a_flood_is_not_remembered_for_ever() -> None:
    plain = PlainLines()
    flood = [events.LogEvent("stderr", f"line {number}") for number in range(5000)]

    first = shown(events.StepStarted("init", 1, ()), *flood, plain=plain)
    second = shown(events.StepStarted("apply", 1, ()), *flood, plain=plain)

    assert len(first) == 5001
    assert 4001 <= len(second) < 5001


# Nothing steers a terminal


TURNING = frozenset(("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"))


def is_harmless(line: str) -> bool:
    """No control character but the tab, and no mark that turns the direction of text."""
    return all(
        character == "\t"
        or (unicodedata.category(character) != "Cc" and unicodedata.bidirectional(character) not in TURNING)
        for character in line
    )


hostile = st.text(
    st.one_of(
        st.characters(max_codepoint=0xA0),
        st.characters(min_codepoint=0x2000, max_codepoint=0x2070),
        st.sampled_from("\x1b\x9b\r\n\x07\x08\u202e\u2066"),
    ),
    max_size=12,
)
HOSTILE_EVENTS = st.one_of(
    st.builds(events.RunStarted, hostile, hostile, hostile, hostile, st.just(1), hostile),
    st.builds(
        events.LockWaiting,
        hostile,
        st.integers(1, 3),
        st.builds(events.HolderInfo, hostile, st.just(1), hostile, hostile, hostile),
    ),
    st.builds(events.EngineReady, hostile, hostile, hostile, hostile),
    st.builds(events.StepStarted, hostile, st.integers(1, 2), st.tuples(hostile, hostile)),
    st.builds(events.ResourceEvent, hostile, hostile, st.just("completed"), st.just(1.0), hostile),
    st.builds(events.ChangeEvent, hostile, hostile, hostile),
    st.builds(
        events.DiagnosticEvent,
        st.sampled_from(["error", "warning"]),
        hostile,
        hostile,
        hostile,
        hostile,
        st.none() | st.builds(events.RangeInfo, hostile, *[st.just(1)] * 4),
        st.none() | st.builds(events.SnippetInfo, hostile, hostile, st.just(1), st.just(())),
    ),
    st.builds(events.LogEvent, st.sampled_from(["stdout", "stderr", "provisioner"]), hostile),
    st.builds(events.Heartbeat, hostile, st.just(1.0), st.tuples(hostile)),
    st.builds(events.Retry, hostile, hostile, st.just(1), st.just(1.0)),
)


@given(told=st.lists(HOSTILE_EVENTS, max_size=6))
def test_no_control_character_reaches_a_terminal(told: list[events.Event]) -> None:
    lines = shown(RUN_STARTED, *told, detail=Detail.VERBOSE)

    assert all(map(is_harmless, lines))
    assert not any("\n" in line for line in lines)


@given(text=st.text())
def test_visible_text_is_the_text_where_that_is_harmless(text: str) -> None:
    assert is_harmless(visible(text).replace("\n", ""))
    if is_harmless(text):
        assert visible(text) == text


def test_escapes_are_shown_as_such() -> None:
    assert visible("a\x1b[31mb\x9bc\u202ed\te\r\nf") == "a\\x1b[31mb\\x9bc\\u202ed\te\\x0d\nf"


# Durations and counts


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0s"),
        (0.04, "0.0s"),
        (9.94, "9.9s"),
        (9.95, "10s"),
        (59.4, "59s"),
        (59.6, "1m00s"),
        (61, "1m01s"),
        (3599.4, "59m59s"),
        (3599.6, "1h00m"),
        (3725, "1h02m"),
        (360_000, "100h00m"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize("unknown", ["a_newer_one", "step", "texts", "colored", "__init__"])
def test_an_event_of_an_unknown_type_has_no_line(unknown: str) -> None:
    record = {"ts": "2026-11-30T01:57:28.000Z", "type": unknown}

    assert PlainLines(Detail.VERBOSE).lines(record) == []


def test_counts() -> None:
    zero = dict.fromkeys(("add", "change", "destroy", "replace", "import", "forget"), 0)

    assert counts_text(zero) == "no changes"
    assert counts_text({**zero, "forget": 1}) == "0 added, 0 changed, 0 destroyed, 1 forgotten"
    assert counts_text({**zero, "add": 1, "destroy": 1, "replace": 1}) == (
        "1 added, 0 changed, 1 destroyed (1 replaced)"
    )
