"""Events are the JSON of the contract, field by field."""

import json
import time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from tests.event_samples import CONTRACT_FIELDS, SAMPLES


def record_of(event: events.Event) -> dict[str, Any]:
    return events.record_of(event, sequence=7, seconds=1_700_000_000.25, run="run-1")


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_has_the_envelope_and_exactly_the_fields_of_the_contract(event: events.Event) -> None:
    record = record_of(event)
    envelope = {name: record.pop(name) for name in ("v", "seq", "ts", "run", "type")}

    assert envelope == {
        "v": 1,
        "seq": 7,
        "ts": "2023-11-14T22:13:20.250Z",
        "run": "run-1",
        "type": envelope["type"],
    }
    assert tuple(record) == CONTRACT_FIELDS[envelope["type"]]


def test_every_type_of_the_contract_has_a_sample() -> None:
    assert {events.EVENT_TYPES[type(event)] for event in SAMPLES} == set(CONTRACT_FIELDS)
    assert set(events.EVENT_TYPES.values()) == set(CONTRACT_FIELDS)


def test_a_result_is_json_all_the_way_down() -> None:
    failure = events.FailureInfo(
        class_="provider-error",
        hint=None,
        diagnostics=(
            events.DiagnosticEvent(
                "error",
                "provider-error",
                "no",
                "",
                "a.b",
                events.RangeInfo("main.tf", 1, 2, 3, 4),
                events.SnippetInfo(None, "a", 1, (("var.a", "is 1"),), 0, 1),
            ),
        ),
        stderr="",
        stdout="",
        state=events.StateInfo(True, None, {"ID": "1"}),
    )
    result = next(event for event in SAMPLES if isinstance(event, events.Result))

    record = record_of(result._replace(failure=failure, changes=events.ChangeCounts(1, 2, 3, 4, 5, 6)))

    assert record["changes"] == {"add": 1, "change": 2, "destroy": 3, "replace": 4, "import": 5, "forget": 6}
    assert record["failure"] == {
        "class": "provider-error",
        "hint": None,
        "diagnostics": [
            {
                "severity": "error",
                "class": "provider-error",
                "summary": "no",
                "detail": "",
                "address": "a.b",
                "range": {
                    "filename": "main.tf",
                    "start_line": 1,
                    "start_column": 2,
                    "end_line": 3,
                    "end_column": 4,
                },
                "snippet": {
                    "context": None,
                    "code": "a",
                    "start_line": 1,
                    "values": [["var.a", "is 1"]],
                    "highlight_start": 0,
                    "highlight_end": 1,
                },
            }
        ],
        "stderr": "",
        "stdout": "",
        "state": {"saved": True, "errored_state": None, "lock": {"ID": "1"}},
    }


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_survives_its_line(event: events.Event) -> None:
    line = events.encode(record_of(event))

    assert "\n" not in line
    assert json.loads(line) == record_of(event)


def test_a_number_keeps_its_digits_on_its_line() -> None:
    message = events.EngineMessage("apply", {"value": Decimal("1.10"), "text": "ü"})

    assert events.encode(record_of(message)).endswith('"message":{"value":1.10,"text":"ü"}}')


@given(st.floats(min_value=0, max_value=4e9))
def test_a_time_stamp_is_utc_with_milliseconds(seconds: float) -> None:
    stamp = events.timestamp(seconds)
    whole, milliseconds = stamp[:-1].split(".")

    assert stamp.endswith("Z")
    assert time.strptime(whole, "%Y-%m-%dT%H:%M:%S")[:6] == time.gmtime(seconds)[:6]
    assert len(milliseconds) == 3
    assert abs(int(milliseconds) / 1000 - seconds % 1) < 0.001_001
