"""What an engine says becomes events, a summary and a failure's text, in pieces of any size and redacted."""

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine.commands import Step
from hereya_tf.redaction import MASK, Redactor
from hereya_tf.runs.journal import Journal, Sink
from hereya_tf.runs.transcript import Transcript, read_text, render_messages

TOKEN = "ghp_" + "a" * 36
KEY_LINES = (
    "-----BEGIN RSA PRIVATE KEY-----",
    "MIIEpAIBAAKCAQEAy8Dbv8prpJ/0kKhlGeJYozo2t60EG8L0561g13R29LvMR5hy",
    "vGZlGJpmn65+A4xHXInJYiPuKzrKUnApeLZ+vw1HocOAZtWK0z3r26uA8kQYOKX9",
    "-----END RSA PRIVATE KEY-----",
)
STREAMS = Path(__file__).parent.parent.parent / "fixtures/streams"


class Listener:
    """A transcript of one step, with the events that it told."""

    def __init__(
        self, *, streams: bool = True, engine_messages: bool = False, secrets: Sequence[str] = ()
    ) -> None:
        self.events: list[Mapping[str, Any]] = []
        self.flushes = 0
        self.redactor = Redactor(secrets)
        journal = Journal("run", self.redactor, [Sink(self._write, self._flush)], clock=lambda: 0.0)
        self.transcript = Transcript(
            journal, Step.APPLY, "terraform", streams=streams, engine_messages=engine_messages
        )

    def _write(self, record: Mapping[str, Any], _line: str) -> None:
        self.events.append(record)

    def _flush(self) -> None:
        self.flushes += 1

    def hears(self, stdout: bytes = b"", stderr: bytes = b"") -> "Listener":
        self.transcript.stdout(stdout)
        self.transcript.stderr(stderr)
        self.transcript.finish()
        return self

    @property
    def told(self) -> list[tuple[Any, ...]]:
        """The events without their envelopes."""
        return [tuple(event.values())[4:] for event in self.events]

    @property
    def logs(self) -> list[tuple[str, str]]:
        return [(event["stream"], event["text"]) for event in self.events if event["type"] == "log"]


def message(type_: str | None = None, text: str = "", **fields: Any) -> bytes:
    stamp = "2026-11-30T02:01:57.478597Z"
    record = {"@level": "info", "@message": text, "@module": "terraform.ui", "@timestamp": stamp, **fields}
    typed = record if type_ is None else {**record, "type": type_}
    return json.dumps(typed, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def diagnostic(summary: str, detail: str = "", severity: str = "error") -> bytes:
    return message(
        "diagnostic",
        f"{severity.capitalize()}: {summary}",
        diagnostic={"severity": severity, "summary": summary, "detail": detail},
    )


def hook(type_: str, text: str, **fields: Any) -> bytes:
    resource = {"addr": "a.b", "resource": "a.b", "resource_type": "a", "resource_name": "b"}
    return message(type_, text, hook={"resource": resource, **fields})


def provisioner(text: str) -> bytes:
    return hook("provision_progress", f"a.b: (local-exec): {text}", provisioner="local-exec", output=text)


@pytest.mark.behaviour("F3a")
def test_a_stream_of_messages_is_shown_as_text() -> None:
    stream = (
        message("version", "Terraform 1.11.4", terraform="1.11.4", ui="1.2")
        + hook("apply_start", "a.b: Creating...", action="create")
        + provisioner("one \x85 line")
        + b"\nplain\n"
        + diagnostic("no quota", "ask for more\n")
        + diagnostic("old syntax", severity="warning")
    )

    assert render_messages(stream.decode()) == (
        "Terraform 1.11.4\n"
        "a.b: Creating...\n"
        "a.b (local-exec): one \x85 line\n"
        "plain\n"
        "Error: no quota\n\nask for more\n\n"
        "Warning: old syntax\n\n"
    )


def test_messages_become_events() -> None:
    listener = Listener()

    listener.hears(
        hook("apply_start", "a.b: Creating...", action="create")
        + hook("apply_complete", "done", action="create", id_key="id", id_value="i-1", elapsed_seconds=2)
        + diagnostic("no quota")
        + message(None, "Initializing...")
        + b"a plain line\n",
        b"to stderr\n",
    )

    assert [event["type"] for event in listener.events] == [
        "resource",
        "resource",
        "diagnostic",
        "log",
        "log",
        "log",
    ]
    assert listener.told[:2] == [
        ("resource", "a.b", "create", "started", None, None),
        ("resource", "a.b", "create", "completed", 2.0, "i-1"),
    ]
    assert listener.logs == [
        ("stdout", "Initializing..."),
        ("stdout", "a plain line"),
        ("stderr", "to stderr"),
    ]


def test_a_diagnostic_that_is_said_twice_is_told_once() -> None:
    listener = Listener()

    listener.hears(diagnostic("no quota") * 2)

    assert [event["type"] for event in listener.events] == ["diagnostic"]


def test_the_engines_own_messages_are_told_only_when_asked_for() -> None:
    line = hook("apply_start", "a.b: Creating...", action="create")
    listener = Listener(engine_messages=True)

    listener.hears(line + b"plain\n" + provisioner("output"))

    messages = [event["message"] for event in listener.events if event["type"] == "engine_message"]
    assert messages == [json.loads(line)]


def test_a_document_is_nobodys_to_see() -> None:
    listener = Listener(streams=False, secrets=("hunter22",))
    document = '{"password": {"sensitive": true, "value": "hunter22"}}\n'

    listener.hears(document.encode(), b"warning\n")

    assert listener.transcript.document == document
    assert listener.logs == [("stderr", "warning")]


@pytest.mark.parametrize(
    "name", ["terraform-1.11.4-apply-outputs", "terraform-1.11.4-plugins-missing", "terraform-1.15.5-destroy"]
)
@pytest.mark.parametrize("size", [1, 7, 4096])
def test_a_stream_means_the_same_in_pieces_of_any_size(name: str, size: int) -> None:
    data = (STREAMS / f"{name}.ndjson").read_bytes()
    whole, pieces = Listener(), Listener()

    whole.hears(data, data)
    for start in range(0, len(data), size):
        pieces.transcript.stdout(data[start : start + size])
        pieces.transcript.stderr(data[start : start + size])

    pieces.transcript.finish()

    assert vars(pieces.transcript.summary) == vars(whole.transcript.summary)
    assert sorted(map(str, pieces.told)) == sorted(map(str, whole.told))


@given(st.lists(st.binary() | st.sampled_from([b"\n", b'{"@level"', message(None, "x")])))
def test_no_bytes_break_it(pieces: list[bytes]) -> None:
    listener = Listener(engine_messages=True)
    for piece in pieces:
        listener.transcript.stdout(piece)
        listener.transcript.stderr(piece)

    listener.transcript.finish()

    for event in listener.events:
        assert json.loads(json.dumps(event)) == event


def test_broken_utf8_is_shown_as_such_and_harms_nothing_else() -> None:
    listener = Listener()

    listener.hears(b"caf\xe9 \xff\n" + message(None, "fine"))

    assert listener.logs == [("stdout", "caf\ufffd \ufffd"), ("stdout", "fine")]


def test_a_character_that_arrives_in_two_pieces_is_one() -> None:
    listener = Listener()
    first, second = "né\n".encode()[:2], "né\n".encode()[2:]

    listener.transcript.stderr(first)
    listener.transcript.stderr(second)
    listener.transcript.finish()

    assert listener.logs == [("stderr", "né")]


def test_a_last_line_without_an_end_counts() -> None:
    listener = Listener()

    listener.hears(diagnostic("no quota").rstrip(b"\n"), b"last")

    assert [event["type"] for event in listener.events] == ["diagnostic", "log"]


def test_blank_lines_are_no_events() -> None:
    assert Listener().hears(b"\n", b"a\n\n\nb\n").logs == [("stderr", "a"), ("stderr", "b")]


@pytest.mark.parametrize("kind", ["plain", "message", "provisioner"])
def test_a_line_of_ten_megabytes_is_one_line(kind: str) -> None:
    text = "0123456789" * (1 << 20)
    line = {
        "plain": text.encode() + b"\n",
        "message": message(None, text),
        "provisioner": provisioner(text),
    }[kind]
    listener = Listener(secrets=("hunter22",))
    began = time.monotonic()

    for start in range(0, len(line), 1 << 16):
        listener.transcript.stdout(line[start : start + (1 << 16)])
    listener.transcript.finish()

    assert time.monotonic() - began < 20
    label = "a.b (local-exec): " if kind == "provisioner" else ""
    assert "".join(text for _, text in listener.logs).replace(label, "") == text
    assert render_messages(line.decode()) == f"{label}{text}\n"


@pytest.mark.behaviour("F7")
def test_a_private_key_over_several_lines_of_a_provisioner_is_one_secret() -> None:
    listener = Listener()

    stream = b"".join(provisioner(line) for line in ("before", *KEY_LINES, "after"))

    listener.hears(stream)

    told = json.dumps(listener.events)
    assert [line for line in KEY_LINES if line in told] == []
    assert Redactor().text(render_messages(stream.decode())) == (
        f"a.b (local-exec): before\na.b (local-exec): {MASK}\na.b (local-exec): after\n"
    )
    assert listener.logs[0] == ("provisioner", "a.b (local-exec): before")
    assert listener.logs[-1] == ("provisioner", "a.b (local-exec): after")
    assert any(MASK in text for _, text in listener.logs)


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize("source", ["stdout", "stderr"])
def test_a_private_key_over_several_plain_lines_is_one_secret(source: str) -> None:
    listener = Listener()
    text = "\n".join(("before", *KEY_LINES, "after", "")).encode()

    # One byte at a time, so that no line is whole when it arrives.
    for position in range(len(text)):
        getattr(listener.transcript, source)(text[position : position + 1])
    listener.transcript.finish()

    assert listener.logs == [(source, "before"), (source, MASK), (source, "after")]


@pytest.mark.behaviour("F7")
def test_a_private_key_without_an_end_is_kept_to_ourselves() -> None:
    listener = Listener()

    listener.hears(b"".join(provisioner(line) for line in KEY_LINES[:-1]))

    assert [line for line in KEY_LINES if line in json.dumps(listener.events)] == []


@pytest.mark.behaviour("F7")
def test_two_provisioners_at_a_time_keep_their_keys_apart() -> None:
    other = hook("provision_progress", "", provisioner="remote-exec", output="meanwhile")
    listener = Listener()

    listener.hears(b"".join(provisioner(line) + other for line in KEY_LINES))

    assert [line for line in KEY_LINES if line in json.dumps(listener.events)] == []
    assert listener.logs.count(("provisioner", "a.b (remote-exec): meanwhile")) == len(KEY_LINES)


@pytest.mark.behaviour("F7")
def test_no_event_holds_a_credential() -> None:
    listener = Listener(secrets=("hunter22",))

    listener.hears(
        diagnostic("no access", f"token {TOKEN} was refused") + message(None, "hunter22") + b"hunter22\n",
        f"fatal: https://me:{TOKEN}@host hunter22\n".encode(),
    )

    shown = json.dumps(listener.events)
    assert (TOKEN in shown, "hunter22" in shown) == (False, False)
    assert f"token {MASK} was refused" in shown


def test_a_failure_shows_all_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "stderr"
    path.write_bytes(b"caf\xe9\n\n last")

    with path.open("rb") as file:
        assert read_text(file) == "caf\ufffd\n\n last"


def test_of_very_much_it_shows_the_end(tmp_path: Path) -> None:
    path = tmp_path / "stdout"
    path.write_bytes(b"".join(b"line %d\n" % number for number in range(10)))

    with path.open("rb") as file:
        assert read_text(file, kept_bytes=30) == "[the beginning is in the run's log only]\n" + "".join(
            f"line {number}\n" for number in range(6, 10)
        )


def test_what_arrives_together_is_flushed_together() -> None:
    listener = Listener()

    listener.transcript.stdout(message(None, "x") * 100)

    assert (len(listener.events), listener.flushes) == (100, 1)


@pytest.mark.parametrize("engine", ["terraform-1.11.4", "terraform-1.15.5"])
def test_the_error_of_a_failed_delete_is_told_as_the_provider_s(engine: str) -> None:
    listener = Listener().hears((STREAMS / f"{engine}-lab-delete-failed.ndjson").read_bytes())

    (error,) = [event for event in listener.events if event["type"] == "diagnostic"]
    assert (error["class"], error["address"]) == ("provider-error", None)


@pytest.mark.behaviour("F7")
def test_the_state_of_an_emergency_is_in_no_message() -> None:
    state = {"resources": [{"attributes": {"result": "nobody-knows-this-secret"}}]}
    listener = Listener(engine_messages=True).hears(message("log", "Emergency state dump", state=state))

    assert [event["message"]["state"] for event in listener.events if event["type"] == "engine_message"] == [
        MASK
    ]
    assert "nobody-knows" not in json.dumps(listener.events)


@pytest.mark.behaviour("F7")
def test_a_sensitive_value_that_an_old_engine_tells_is_masked_from_then_on() -> None:
    listener = Listener(engine_messages=True)
    secret = {"sensitive": True, "type": "string", "value": "of-an-output-7"}
    listener.hears(message("outputs", "Outputs: 1", outputs={"password": secret}) + b"of-an-output-7\n")

    (told,) = [event["message"] for event in listener.events if event["type"] == "engine_message"]
    assert told["outputs"]["password"] == {**secret, "value": MASK}
    assert "of-an-output-7" not in json.dumps(listener.events)


@pytest.mark.behaviour("F7")
def test_an_output_that_is_to_be_masked_is_masked_in_the_message_that_tells_its_value() -> None:
    listener = Listener(engine_messages=True)
    listener.redactor.secret_outputs = frozenset(("endpoint", "unknown"))
    value = {"sensitive": False, "type": "string", "value": "host-7.internal"}
    listener.hears(
        message("outputs", "Outputs: 2", outputs={"endpoint": value, "unknown": {"sensitive": False}})
    )

    assert listener.events[-1]["message"]["outputs"]["endpoint"]["value"] == MASK
