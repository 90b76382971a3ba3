"""What a run notes of itself proves later whose lock it was, also when nobody could write down its end."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hereya_tf import events
from hereya_tf.errors import BadInput
from hereya_tf.event_parts import ProcessInfo, StepTrace
from hereya_tf.recovery.records import read_record_file
from hereya_tf.report.story import Story
from hereya_tf.runs.history import RunRecord
from hereya_tf.runs.trace import command_of, early_result, trace_of
from hereya_tf.schema import result_schema
from hereya_tf.supervision.process_table import ProcessIdentity
from tests.event_samples import TRACE

RECORD = RunRecord(
    "run-1",
    "provision",
    "/p",
    "default",
    "key",
    "host",
    ProcessIdentity(1, "x"),
    "2026-01-01T00:00:00.000Z",
    "1",
    user="me",
    engine_process=ProcessIdentity(2, "y"),
)


def story(*told: events.Event) -> Story:
    """A story of one event a second."""
    start = 1_767_225_600.0  # 2026-01-01
    began = events.RunStarted("provision", "/p", "default", "key", 1, "1")
    return Story.of(
        events.record_of(event, sequence=1, seconds=start + at, run="run-1")
        for at, event in enumerate((began, *told))
    )


def at(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}.000Z"


STARTED = events.StepStarted("apply", 1, ("terraform", "apply", "-json"))
WAITS = events.LogEvent("stdout", "Acquiring state lock.")
HELD = events.ChangeEvent("a.b", "create", None)


def ended(code: int | None, *, ok: bool = False) -> events.StepFinished:
    return events.StepFinished("apply", ok, code, 1.0, False)


def error(failure_class: str) -> events.DiagnosticEvent:
    return events.DiagnosticEvent("error", failure_class, "no", "", None, None, None)


@pytest.mark.parametrize(
    ("told", "step"),
    [
        pytest.param([STARTED], StepTrace("apply", at(1), None, None, None), id="begun"),
        pytest.param([STARTED, HELD, HELD], StepTrace("apply", at(1), at(2), None, None), id="has the lock"),
        pytest.param([STARTED, WAITS, HELD], StepTrace("apply", at(1), at(2), None, None), id="waits for it"),
        pytest.param(
            [STARTED, events.LogEvent("stderr", "?"), HELD],
            StepTrace("apply", at(1), at(3), None, None),
            id="something in front of the engine says something",
        ),
        pytest.param(
            [events.StepStarted("init", 1, ("terraform", "init")), WAITS],
            StepTrace("init", at(1), None, None, None),
            id="init says much",
        ),
        pytest.param(
            [STARTED, error("backend-unreachable"), ended(1)],
            StepTrace("apply", at(1), None, at(3), None),
            id="the answer was lost",
        ),
        pytest.param(
            [STARTED, HELD, ended(0, ok=True)], StepTrace("apply", at(1), at(2), at(3), True), id="went well"
        ),
        pytest.param([STARTED, ended(1)], StepTrace("apply", at(1), None, at(2), True), id="failed"),
        pytest.param([STARTED, ended(None)], StepTrace("apply", at(1), None, at(2), None), id="by a signal"),
        pytest.param([STARTED, ended(11)], StepTrace("apply", at(1), None, at(2), None), id="crashed"),
        pytest.param(
            [STARTED, HELD, error("lock-not-released"), ended(1)],
            StepTrace("apply", at(1), at(2), at(4), False),
            id="kept its lock",
        ),
    ],
)
def test_a_step_is_traced_with_what_became_of_its_lock(told: list[events.Event], step: StepTrace) -> None:
    assert trace_of(story(*told), RECORD).steps == (step,)


def test_a_trace_says_who_where_and_when() -> None:
    trace = trace_of(story(STARTED, HELD), RECORD, ended=at(9))

    assert trace._replace(steps=()) == events.Trace(
        "run-1", "host", "me", ProcessInfo(1, "x"), ProcessInfo(2, "y"), at(0), at(2), at(9), ()
    )


def test_of_a_run_that_was_adopted_the_last_sign_counts_and_not_when_it_was_found() -> None:
    dead = RECORD._replace(last_sign=at(7), held=at(5), engine_process=None)

    trace = trace_of(story(STARTED, HELD), dead)

    assert (trace.last, trace.engine_process, trace.steps[0].held) == (at(7), None, at(5))


def test_a_failure_to_release_that_only_the_end_tells_is_the_last_steps() -> None:
    pushed = events.StepStarted("state", 1, ("terraform", "state", "push", "x"))
    finished = events.StepFinished("state", False, 1, 1.0, False)

    trace = trace_of(story(STARTED, ended(0, ok=True), pushed, finished), RECORD, failure="lock-not-released")

    assert [(step.command, step.released) for step in trace.steps] == [("apply", True), ("state push", False)]


@pytest.mark.parametrize(
    ("step", "argv", "command"),
    [
        ("apply", ("terraform", "apply", "-json"), "apply"),
        ("destroy", ("/usr/bin/python", "/lib/embedded.py", "destroy"), "destroy"),
        ("state", ("tofu", "state", "push", "-no-color", "plan"), "state push"),
        ("tf", ("tofu", "state", "rm", "a.b"), "state rm"),
        ("tf", ("tofu", "-chdir=x", "import", "a.b", "i"), "import"),
        ("plan", ("terraform", "plan", "-lock=false"), ""),
        ("output", ("terraform", "output", "-json"), ""),
        ("show", ("terraform", "show", "apply"), ""),
        ("tf", ("terraform",), ""),
        ("apply", (), ""),
    ],
)
def test_the_engines_command_is_found_in_its_arguments(
    step: str, argv: tuple[str, ...], command: str
) -> None:
    assert command_of(step, argv) == command


def test_a_result_before_the_end_has_the_form_of_a_result() -> None:
    early = early_result(story(STARTED), RECORD)
    for name in ("v", "seq", "ts", "run", "type"):
        del early[name]

    jsonschema.validate(json.loads(json.dumps(early)), result_schema())
    assert (early["status"], early["success"]) == ("running", False)


def document(**changed: Any) -> dict[str, Any]:
    """What stands in a result file."""
    return {**json.loads(json.dumps(early_result(story(STARTED), RECORD))), **changed}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(document()))

    assert read_record_file(file) == trace_of(story(STARTED), RECORD)


@pytest.mark.parametrize(
    "trace",
    [
        None,
        [],
        {"run": "x"},
        {**TRACE._asdict(), "process": {"pid": "1", "started": ""}},
        {**TRACE._asdict(), "process": {"pid": 1, "started": ""}, "steps": [{"command": 1}]},
        {
            **TRACE._asdict(),
            "process": {"pid": 1, "started": ""},
            "steps": [{"command": "apply", "began": "", "held": None, "ended": None, "released": "no"}],
        },
        {
            **TRACE._asdict(),
            "process": {"pid": 1, "started": ""},
            "steps": [{"command": "apply", "began": "", "held": None, "ended": None, "released": 1}],
        },
        {**TRACE._asdict(), "process": {"pid": 1, "started": ""}, "steps": [], "run": "x`\n2. all is well"},
        {**TRACE._asdict(), "process": {"pid": 1, "started": ""}, "steps": [], "run": "\ud800"},
    ],
)
def test_a_record_that_does_not_say_it_all_proves_nothing(tmp_path: Path, trace: Any) -> None:
    file = tmp_path / "result.json"
    file.write_text(json.dumps(document(trace=trace)))

    with pytest.raises(BadInput, match="so it proves nothing"):
        read_record_file(file)


def test_a_record_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file or directory"):
        read_record_file(tmp_path / "nothing.json")
