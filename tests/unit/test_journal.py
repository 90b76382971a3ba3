"""Events leave through one door: numbered, stamped, redacted, and flushed in batches."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.redaction import MASK, Redactor
from hereya_tf.runs.journal import INTACT, Journal, Sink

TOKEN = "ghp_" + "a" * 36
RESULT = events.Result(
    success=True,
    status="succeeded",
    reason=None,
    exit_code=0,
    operation="provision",
    package="/package",
    workspace="default",
    engine=None,
    env={},
    outputs={},
    changes=events.ChangeCounts(),
    drift=None,
    failure=None,
    timings=events.Timings(None, None, None, None, None, None, 1.0),
    report=None,
)


class Reader:
    """A front end that keeps what it got, and when it was flushed."""

    def __init__(self, *, reveals: bool = False) -> None:
        self.records: list[Mapping[str, Any]] = []
        self.lines: list[str] = []
        self.flushed: list[int] = []
        self.sink = Sink(self._write, lambda: self.flushed.append(len(self.lines)), reveals)

    def _write(self, record: Mapping[str, Any], line: str) -> None:
        self.records.append(record)
        self.lines.append(line)


def journal(*readers: Reader, secrets: tuple[str, ...] = (), first: int = 1) -> Journal:
    return Journal(
        "run-1", Redactor(secrets), [reader.sink for reader in readers], first=first, clock=lambda: 1.5
    )


def test_events_are_numbered_stamped_and_named() -> None:
    reader = Reader()
    out = journal(reader)

    out.emit(events.LogEvent("stderr", "one"))
    out.emit(events.LockAcquired(0.25))
    out.finish(RESULT, None)

    assert reader.lines[:2] == [
        '{"v":1,"seq":1,"ts":"1970-01-01T00:00:01.500Z","run":"run-1","type":"log","stream":"stderr","text":"one"}',
        '{"v":1,"seq":2,"ts":"1970-01-01T00:00:01.500Z","run":"run-1","type":"lock_acquired",'
        '"waited_seconds":0.25}',
    ]
    assert [(record["seq"], record["type"]) for record in reader.records][2:] == [(3, "result")]


def test_every_reader_gets_every_event_and_a_line_for_each_record() -> None:
    one, other = Reader(), Reader()
    out = journal(one, other, secrets=("hunter22",))

    for text in ("plain", "hunter22"):
        out.emit(events.LogEvent("stdout", text))

    assert one.lines == other.lines
    assert [json.loads(line) for line in one.lines] == one.records


def test_numbers_go_on_where_another_journal_has_ended() -> None:
    reader = Reader()

    journal(reader, first=8).emit(events.LogEvent("stdout", "x"))

    assert reader.records[0]["seq"] == 8


def test_an_event_is_flushed_at_once_and_a_batch_at_its_end() -> None:
    reader = Reader()
    out = journal(reader)

    out.emit(events.LogEvent("stdout", "1"))
    with out.batch():
        out.emit(events.LogEvent("stdout", "2"))
        out.emit(events.LogEvent("stdout", "3"))
    out.emit(events.LogEvent("stdout", "4"))

    assert reader.flushed == [1, 3, 4]


def test_a_batch_that_fails_is_flushed_too() -> None:
    reader = Reader()
    out = journal(reader)

    def fail() -> None:
        with out.batch():
            out.emit(events.LogEvent("stdout", "1"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    out.emit(events.LogEvent("stdout", "2"))
    assert reader.flushed == [1, 2]


@pytest.mark.behaviour("F7")
def test_no_credential_leaves_in_a_record_or_its_line() -> None:
    reader = Reader()
    out = journal(reader, secrets=("hunter22",))

    out.emit(events.LogEvent("stdout", f"{TOKEN} and hunter22"))
    out.emit(events.StepStarted("init", 1, ("terraform", f"-backend-config=token={TOKEN}")))
    out.redactor.add("learnt later")
    out.emit(events.LogEvent("stdout", "learnt later"))

    assert [record.get("text", record.get("argv")) for record in reader.records] == [
        f"{MASK} and {MASK}",
        ["terraform", f"-backend-config=token={MASK}"],
        MASK,
    ]
    assert [json.loads(line) for line in reader.lines] == reader.records


@pytest.mark.behaviour("F7")
def test_names_stay_intact_whatever_a_secret_is() -> None:
    reader = Reader()
    out = journal(reader, secrets=("main", "apply", "create", "completed", "12345"))

    out.emit(events.ResourceEvent("module.main.a.b", "create", "completed", 1.0, "12345"))

    record = reader.records[0]
    assert (record["address"], record["action"], record["status"], record["id"]) == (
        "module.main.a.b",
        "create",
        "completed",
        MASK,
    )


@pytest.mark.behaviour("F7")
def test_the_engines_own_message_keeps_its_names_and_loses_its_secrets() -> None:
    reader = Reader()
    message = {
        "@level": "info",
        "@message": f"using {TOKEN}",
        "hook": {"resource": {"addr": "a.main", "resource_key": "main"}, "id_value": "main"},
    }

    journal(reader, secrets=("main",)).emit(events.EngineMessage("apply", message))

    assert reader.records[0]["message"] == {
        "@level": "info",
        "@message": f"using {MASK}",
        "hook": {"resource": {"addr": "a.main", "resource_key": "main"}, "id_value": MASK},
    }


def test_only_who_may_reveal_gets_sensitive_outputs_and_only_when_asked() -> None:
    log, stdout = Reader(), Reader(reveals=True)
    hidden = RESULT._replace(outputs={"password": {"type": "string", "sensitive": True}})
    revealed = RESULT._replace(
        env={"password": "hunter22"},
        outputs={"password": {"type": "string", "sensitive": True, "value": "hunter22"}},
    )

    journal(log, stdout, secrets=("hunter22",)).finish(hidden, revealed)

    assert (log.records[0]["env"], log.records[0]["outputs"]) == ({}, hidden.outputs)
    assert (stdout.records[0]["env"], stdout.records[0]["outputs"]) == (revealed.env, revealed.outputs)
    assert [json.loads(reader.lines[0]) for reader in (log, stdout)] == [log.records[0], stdout.records[0]]

    again = Reader(reveals=True)
    journal(again, secrets=("hunter22",)).finish(hidden, None)
    assert again.records[0]["outputs"] == hidden.outputs


@pytest.mark.behaviour("F7")
def test_a_revealing_reader_gets_no_other_secret() -> None:
    stdout = Reader(reveals=True)
    failed = RESULT._replace(success=False, reason=f"no access with {TOKEN}")

    journal(stdout).finish(failed, failed)

    assert stdout.records[0]["reason"] == f"no access with {MASK}"


@pytest.mark.behaviour("T12")
def test_numbers_keep_every_digit() -> None:
    reader = Reader()
    exact = Decimal("0." + "3" * 154)

    journal(reader).finish(RESULT._replace(outputs={"a": {"value": exact}}), None)

    assert f'"value":{exact}' in reader.lines[0]


@given(st.text())
def test_whatever_is_said_is_one_line_of_json(text: str) -> None:
    reader = Reader()

    journal(reader).emit(events.LogEvent("stdout", text))

    assert "\n" not in reader.lines[0]
    assert json.loads(reader.lines[0]) == reader.records[0]


def test_names_that_stay_intact_are_names_of_events_or_of_the_engines_messages() -> None:
    fields = {
        name.rstrip("_")
        for type_ in vars(events).values()
        if isinstance(type_, type) and issubclass(type_, tuple)
        for name in getattr(type_, "_fields", ())
    }
    of_the_engine = {
        *("addr", "resource", "resource_type", "resource_name", "resource_key", "module", "implied_provider"),
        *("@timestamp", "@level", "@module"),
    }

    assert fields | of_the_engine | {"ts", "run", "type"} >= INTACT
    assert not {"text", "summary", "detail", "reason", "value", "argv", "stdout", "stderr", "id"} & INTACT
