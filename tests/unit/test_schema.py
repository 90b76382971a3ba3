"""What `schema events` and `schema result` print describes exactly what `--json` prints."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.schema import events_schema, report_schema, result_schema
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.event_samples import RESULT, SAMPLES
from tests.fake_engine import FakeEngine

EVENTS = jsonschema.Draft202012Validator(
    events_schema(), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)
RESULTS = jsonschema.Draft202012Validator(result_schema())


def record_of(event: events.Event) -> dict[str, Any]:
    record = events.record_of(event, sequence=1, seconds=0.0, run="run-1")
    return dict(json.loads(events.encode(record)))


def test_the_schemas_are_schemas() -> None:
    for schema in (events_schema(), result_schema(), report_schema()):
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_every_event_is_valid(event: events.Event) -> None:
    EVENTS.validate(record_of(event))


@pytest.mark.parametrize("failure_class", FailureClass)
def test_every_failure_class_is_known(failure_class: FailureClass) -> None:
    EVENTS.validate(record_of(events.DiagnosticEvent("error", failure_class, "", "", None, None, None)))


@pytest.mark.parametrize(
    ("event", "change"),
    [
        pytest.param(SAMPLES[0], {"v": 2}, id="version"),
        pytest.param(SAMPLES[0], {"seq": 0}, id="sequence"),
        pytest.param(SAMPLES[0], {"type": "log"}, id="type of another event"),
        pytest.param(SAMPLES[0], {"type": "unknown"}, id="unknown type"),
        pytest.param(SAMPLES[0], {"pid": "1"}, id="text for a number"),
        pytest.param(SAMPLES[0], {"more": 1}, id="a field too much"),
        pytest.param(SAMPLES[0], {"workspace": None}, id="null for a text"),
        pytest.param(SAMPLES[1], {"lock": "state"}, id="kind of lock"),
        pytest.param(SAMPLES[1], {"holder": {"run": "1"}}, id="half a holder"),
        pytest.param(events.ResourceEvent("a", "b", "done", None, None), {}, id="resource's status"),
        pytest.param(events.Cancelling("whim", None, 1.0), {}, id="reason of cancelling"),
        pytest.param(events.DiagnosticEvent("note", None, "", "", None, None, None), {}, id="severity"),
        pytest.param(RESULT, {"status": "ok"}, id="status"),
        pytest.param(RESULT, {"env": {"a": 1}}, id="a number in env"),
        pytest.param(RESULT, {"outputs": {"a": {"type": "string"}}}, id="an output without sensitive"),
        pytest.param(RESULT, {"changes": {"add": 1}}, id="half the changes"),
        pytest.param(RESULT, {"failure": {"class": "no-such-class"}}, id="failure class"),
    ],
)
def test_what_is_wrong_is_not_valid(event: events.Event, change: dict[str, Any]) -> None:
    assert not EVENTS.is_valid({**record_of(event), **change})


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_no_field_can_be_left_out(event: events.Event) -> None:
    record = record_of(event)

    for name in record:
        assert not EVENTS.is_valid({key: value for key, value in record.items() if key != name}), name


def test_a_result_without_its_envelope_has_a_schema_of_its_own() -> None:
    record = record_of(RESULT)
    assert not RESULTS.is_valid(record)

    for name in ("v", "seq", "ts", "run", "type"):
        del record[name]

    RESULTS.validate(record)
    assert not RESULTS.is_valid({**record, "success": "yes"})


@pytest.mark.parametrize("name", ["events", "result", "report"])
def test_the_command_prints_the_schema(cli: CommandLine, name: str) -> None:
    printed = cli("schema", name)

    expected = {"events": events_schema, "result": result_schema, "report": report_schema}[name]()
    assert (printed.exit_code, json.loads(printed.stdout), printed.stderr) == (0, expected, "")


DIAGNOSTIC = {
    "@level": "error",
    "@message": "Error: no",
    "type": "diagnostic",
    "diagnostic": {
        "severity": "error",
        "summary": "no",
        "detail": "",
        "address": "a.b",
        "range": {
            "filename": "main.tf",
            "start": {"line": 1, "column": 1, "byte": 0},
            "end": {"line": 1, "column": 2, "byte": 1},
        },
        "snippet": {
            "context": 'resource "a" "b"',
            "code": "a = var.a",
            "start_line": 1,
            "highlight_start_offset": 0,
            "highlight_end_offset": 1,
            "values": [{"traversal": "var.a", "statement": "is 1"}],
        },
    },
}


@pytest.mark.parametrize(
    ("scenario", "exit_code"),
    [
        pytest.param({}, 1, id="no summary"),
        pytest.param({"apply": [{"message": DIAGNOSTIC}, {"exit": 1}]}, 1, id="diagnostic"),
        pytest.param(
            {
                "apply": [
                    {
                        "message": {
                            "type": "change_summary",
                            "changes": {"add": 0, "change": 0, "remove": 0, "operation": "apply"},
                        }
                    },
                    {
                        "message": {
                            "type": "outputs",
                            "outputs": {"a": {"sensitive": False, "type": "number", "value": 1.10}},
                        }
                    },
                ]
            },
            0,
            id="success",
        ),
    ],
)
def test_what_a_run_prints_and_writes_is_valid(
    cli: CommandLine,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    tmp_path: Path,
    scenario: dict[str, Any],
    exit_code: int,
) -> None:
    fake_engine.plays(scenario)
    package = make_package({"main.tf": ""})
    file = tmp_path / "result.json"

    ran = cli(
        *("provision", package, "--yes", "--json", "--engine-messages", "--engine", fake_engine.path),
        *("--result-file", file),
    )

    assert ran.exit_code == exit_code
    for event in ran.events:
        EVENTS.validate(event)
    RESULTS.validate(json.loads(file.read_text()))
