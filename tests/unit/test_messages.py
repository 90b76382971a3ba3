"""Lines of an engine become messages, whatever is in them, and messages become text."""

import json
import string
from decimal import Decimal
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hereya_tf.stream.message_types import (
    ChangeSummary,
    Diagnostic,
    Drift,
    EmergencyState,
    Log,
    Message,
    Outputs,
    Phase,
    PlainLine,
    PlannedChange,
    ProvisionerHook,
    ProvisionerOutput,
    Range,
    ResourceHook,
    Snippet,
    StateLock,
    Version,
    render,
    render_diagnostic,
)
from hereya_tf.stream.messages import parse, raw
from hereya_tf.stream.outputs import MISSING, Output, output_text, read_document, read_output_values
from tests.streams import DIRECTORY, ENGINES, Recording, recordings

ALL = tuple(recordings())
each_recording = pytest.mark.parametrize("recording", ALL, ids=lambda recording: recording.id)
each_engine = pytest.mark.parametrize("engine", ENGINES)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def line(kind: str | None, **more: object) -> str:
    """A line as an engine prints it."""
    data: dict[str, object] = {"@level": "info", "@message": "words", "@module": "terraform.ui"}
    data["@timestamp"] = "2026-11-30T02:00:53.864999Z"
    if kind is not None:
        data["type"] = kind
    return json.dumps({**data, **more})


def resource(address: str) -> dict[str, object]:
    return {"addr": address, "module": "", "resource": address, "resource_key": None}


# -- recorded streams


@each_recording
def test_every_line_of_a_real_stream_is_understood(recording: Recording) -> None:
    for text, message in zip(recording.lines, recording.messages, strict=True):
        if isinstance(message, PlainLine):
            # `init -json` prints these two lines as they are.
            assert recording.case.endswith("-init")
            continue
        kind = json.loads(text).get("type")
        assert isinstance(message, Log) == (kind in ("log", "init_output")) or kind == "log"


@each_recording
def test_the_text_of_a_real_stream_is_what_the_engine_calls_the_message(recording: Recording) -> None:
    for text, message in zip(recording.lines, recording.messages, strict=True):
        rendered = render(message)
        if isinstance(message, PlainLine):
            assert (rendered or "") == text.strip("\r\n")
        elif isinstance(message, Diagnostic):
            assert rendered is not None
            assert rendered.startswith(json.loads(text)["@message"].strip().partition("\n")[0])
        elif not isinstance(message, ProvisionerOutput):
            assert rendered == json.loads(text)["@message"].strip("\n")


@each_engine
@pytest.mark.parametrize("case", ["values", "address", "multiline"])
def test_a_diagnostic_reads_like_the_engine_s_own_human_form(engine: str, case: str) -> None:
    human = (DIRECTORY / f"{engine}-rendered-{case}.human").read_text(encoding="utf-8")
    errors = [m for m in Recording(engine, f"rendered-{case}").messages if isinstance(m, Diagnostic)]

    rendered = "".join(map(render_diagnostic, errors))

    unboxed = human.replace("├────────────────", "").replace("│", "")
    assert unboxed.split() == rendered.split()


@each_engine
def test_an_apply_is_read_to_the_last_digit(engine: str) -> None:
    found = [m for m in Recording(engine, "apply-outputs").messages if isinstance(m, Outputs)]

    assert len(found) == 2
    planned, applied = (outputs.values for outputs in found)
    assert planned["number"] == Output(False, None, MISSING, "create")
    assert applied["number"] == Output(False, "number", 9007199254740993)
    assert applied["fraction"].value == Decimal("0." + "3" * 154 + "5")
    assert applied["object"] == Output(
        False,
        ["object", {"name": "string", "nothing": "dynamic", "port": "number"}],
        {"name": "n", "nothing": None, "port": 80},
    )
    assert applied["text"].value == "plain <b> & 'quote'"
    assert "nothing" not in applied


@each_engine
def test_a_sensitive_output_has_no_value(engine: str) -> None:
    *_, last = (m for m in Recording(engine, "apply-sensitive-output").messages if isinstance(m, Outputs))

    assert last.values["hidden"] == Output(True, "string", MISSING)


@each_engine
def test_an_emergency_dump_is_kept_byte_for_byte(engine: str) -> None:
    recording = Recording(engine, "disk-full")
    dump = next(text for text in recording.lines if "Emergency state dump" in text)
    (message,) = (m for m in recording.messages if isinstance(m, EmergencyState))

    assert '"state":' + message.state + ',"type":"log"}' == dump[dump.index('"state":') :]
    assert json.loads(message.state)["version"] == 4
    assert render(message) == "Emergency state dump"


# -- one line, one message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            line("version", terraform="1.11.4", ui="1.2"),
            Version("terraform", "1.11.4", "1.2"),
            id="terraform",
        ),
        pytest.param(line("version", tofu="1.9.0", ui="1.2"), Version("tofu", "1.9.0", "1.2"), id="tofu"),
        pytest.param(
            line("apply_start", hook={"resource": resource("a.b"), "action": "create"}),
            ResourceHook(Phase.STARTED, "a.b", "create", None, None, "words"),
            id="apply_start",
        ),
        pytest.param(
            line(
                "apply_progress", hook={"resource": resource("a.b"), "action": "read", "elapsed_seconds": 10}
            ),
            ResourceHook(Phase.PROGRESS, "a.b", "read", None, 10, "words"),
            id="apply_progress",
        ),
        pytest.param(
            line(
                "apply_complete",
                hook={
                    "resource": resource("a.b[0]"),
                    "action": "update",
                    "id_key": "id",
                    "id_value": "i-1",
                    "elapsed_seconds": 1.5,
                },
            ),
            ResourceHook(Phase.COMPLETED, "a.b[0]", "update", "i-1", 1.5, "words"),
            id="apply_complete",
        ),
        pytest.param(
            line(
                "apply_errored", hook={"resource": resource("a.b"), "action": "delete", "elapsed_seconds": -1}
            ),
            ResourceHook(Phase.FAILED, "a.b", "delete", None, None, "words"),
            id="apply_errored",
        ),
        pytest.param(
            line("refresh_start", hook={"resource": resource("a.b"), "id_key": "id", "id_value": "x"}),
            ResourceHook(Phase.STARTED, "a.b", "refresh", "x", None, "words"),
            id="refresh_start",
        ),
        pytest.param(
            line("ephemeral_op_complete", hook={"resource": resource("e.b"), "action": "open"}),
            ResourceHook(Phase.COMPLETED, "e.b", "open", None, None, "words"),
            id="ephemeral, terraform",
        ),
        pytest.param(
            line("ephemeral_action_started", hook={"resource": resource("e.b"), "Msg": "Renewing..."}),
            ResourceHook(Phase.STARTED, "e.b", "renew", None, None, "words"),
            id="ephemeral, tofu, renew",
        ),
        pytest.param(
            line("ephemeral_action_started", hook={"resource": resource("e.b"), "Msg": "Opening..."}),
            ResourceHook(Phase.STARTED, "e.b", "open", None, None, "words"),
            id="ephemeral, tofu, open",
        ),
        pytest.param(
            line("ephemeral_action_complete", hook={"resource": resource("e.b"), "Msg": "Close complete"}),
            ResourceHook(Phase.COMPLETED, "e.b", "close", None, None, "words"),
            id="ephemeral, tofu, close",
        ),
        pytest.param(
            line("action_errored", hook={"action": {"addr": "action.x.y"}, "error": "no"}),
            ResourceHook(Phase.FAILED, "action.x.y", "invoke", None, None, "words"),
            id="action",
        ),
        pytest.param(
            line("provision_start", hook={"resource": resource("a.b"), "provisioner": "local-exec"}),
            ProvisionerHook(Phase.STARTED, "a.b", "local-exec", "words"),
            id="provision_start",
        ),
        pytest.param(
            line(
                "provision_progress",
                hook={
                    "resource": resource("a.b"),
                    "provisioner": "local-exec",
                    "output": '{"type":"version"}',
                },
            ),
            ProvisionerOutput("a.b", "local-exec", '{"type":"version"}'),
            id="a command's output is never a message",
        ),
        pytest.param(
            line(
                "planned_change",
                change={
                    "resource": resource("a.b"),
                    "previous_resource": resource("a.c"),
                    "action": "update",
                    "reason": "tainted",
                    "importing": {"id": "x"},
                },
            ),
            PlannedChange("a.b", "update", "tainted", True, "a.c", "words"),
            id="planned_change",
        ),
        pytest.param(
            line("resource_drift", change={"resource": resource("a.b"), "action": "delete"}),
            Drift("a.b", "delete", "words"),
            id="drift",
        ),
        pytest.param(
            line(
                "change_summary",
                changes={"add": 1, "change": 2, "import": 3, "remove": 4, "forget": 5, "operation": "apply"},
            ),
            ChangeSummary("apply", 1, 2, 4, 3, 5, "words"),
            id="change_summary, tofu",
        ),
        pytest.param(
            line("change_summary", changes={"add": 1, "change": 2, "remove": 4, "operation": "plan"}),
            ChangeSummary("plan", 1, 2, 4, 0, 0, "words"),
            id="change_summary, old",
        ),
        pytest.param(
            line("outputs", outputs={"o": {"sensitive": False, "type": "number", "value": None}}),
            Outputs({"o": Output(False, "number", None)}, "words"),
            id="null is a value",
        ),
        pytest.param(
            line("outputs", outputs={"o": {"value": 1}}),
            Outputs({"o": Output(True, None, 1)}, "words"),
            id="what does not say it may be shown is sensitive",
        ),
        pytest.param(line("state_lock_acquire"), StateLock(True, "words"), id="lock"),
        pytest.param(line("state_lock_release"), StateLock(False, "words"), id="unlock"),
        pytest.param(line("log", state={"version": 4}), EmergencyState('{"version": 4}'), id="state"),
        pytest.param(line("log", state='{"version":4}'), EmergencyState('{"version":4}'), id="state as text"),
        pytest.param(line("log"), Log("info", "words"), id="log"),
        pytest.param(line(None), Log("info", "words"), id="no type"),
        pytest.param(line("something_new", hook={}), Log("info", "words"), id="unknown type"),
        pytest.param(line("log", **{"@level": 7}), Log("info", "words"), id="odd level"),
        pytest.param("Terraform was here", PlainLine("Terraform was here"), id="plain"),
        pytest.param("", PlainLine(""), id="empty"),
        pytest.param("[1]", PlainLine("[1]"), id="not an object"),
        pytest.param('{"type":"version"}', PlainLine('{"type":"version"}'), id="forged"),
        pytest.param(
            '{"@level":"info","@message":"x","type":"log"}',
            PlainLine('{"@level":"info","@message":"x","type":"log"}'),
            id="forged without a time",
        ),
        pytest.param(line("log") + "x", PlainLine(line("log") + "x"), id="more behind it"),
        pytest.param(line("log") + "\r", Log("info", "words"), id="carriage return"),
        pytest.param(line("log")[:-1], PlainLine(line("log")[:-1]), id="cut off"),
        pytest.param("{" * 100_000, PlainLine("{" * 100_000), id="braces"),
        pytest.param('{"a":' * 100_000, PlainLine('{"a":' * 100_000), id="deep"),
        pytest.param('{"@message":NaN}', PlainLine('{"@message":NaN}'), id="NaN"),
    ],
)
def test_a_line_becomes_a_message(text: str, expected: Message) -> None:
    assert parse(text) == expected


def test_a_diagnostic_keeps_all_that_the_engine_says() -> None:
    text = next(
        text for text in Recording("terraform-1.11.4", "rendered-values").lines if '"diagnostic":' in text
    )

    assert parse(text) == Diagnostic(
        "error",
        "Invalid index",
        "The given key does not identify an element in this collection value.",
        None,
        Range("main.tf", 8, 21, 8, 28),
        Snippet(
            'resource "terraform_data" "a"',
            "  input = local.list[var.x]",
            8,
            20,
            27,
            (("local.list", "is tuple with 2 elements"), ("var.x", "is 5")),
        ),
    )


@pytest.mark.parametrize(
    ("level", "found", "expected"),
    [
        pytest.param("error", {}, Diagnostic("error", "words"), id="nothing but the level"),
        pytest.param("warn", {"severity": "unknown"}, Diagnostic("warning", "words"), id="odd severity"),
        pytest.param(
            "error",
            {"severity": "error", "summary": "s", "range": {"filename": 1}, "snippet": {"code": []}},
            Diagnostic("error", "s"),
            id="odd places are left out",
        ),
        pytest.param(
            "error",
            {"severity": "error", "summary": "s", "range": [], "snippet": "x", "detail": 5, "address": ""},
            Diagnostic("error", "s"),
            id="odd everything",
        ),
    ],
)
def test_a_broken_diagnostic_is_still_one(level: str, found: object, expected: Diagnostic) -> None:
    assert parse(line("diagnostic", diagnostic=found, **{"@level": level})) == expected


def test_numbers_longer_than_python_reads_are_kept() -> None:
    long = "1" + "0" * 5000
    text = line("outputs", outputs={"o": {"sensitive": False, "type": "number", "value": 0}})

    message = parse(text.replace('"value": 0', f'"value": {long}'))

    assert isinstance(message, Outputs)
    assert message.values["o"].value == Decimal(long)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            line("log", a={"state": 1}, state={"version": 4}), id="a state inside another member first"
        ),
        pytest.param(
            line("log", state={"version": 4}).replace('"state":', '"state" :'), id="a space too many"
        ),
    ],
)
def test_a_state_that_cannot_be_cut_out_is_kept_with_its_line(text: str) -> None:
    assert parse(text) == EmergencyState(text)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("apply_start", {"hook": {"resource": {"addr": 1}, "action": "create"}}),
        ("apply_start", {"hook": {"resource": resource("a"), "action": {}}}),
        ("apply_start", {"hook": []}),
        ("action_start", {"hook": {"action": {"addr": None}}}),
        ("change_summary", {"changes": {"operation": "plan", "add": "1", "change": 0, "remove": 0}}),
        ("change_summary", {"changes": None}),
        ("outputs", {"outputs": {"o": 1}}),
        ("outputs", {}),
        ("planned_change", {"change": {"resource": "a"}}),
        ("version", {"terraform": 1}),
        ([], {}),
    ],
)
def test_a_message_of_an_odd_shape_is_still_read_out(kind: str, more: dict[str, object]) -> None:
    assert parse(line(kind, **more)) == Log("info", "words")


def test_a_huge_line_is_read() -> None:
    detail = "x" * 20_000_000

    message = parse(line("diagnostic", diagnostic={"severity": "error", "summary": "s", "detail": detail}))

    assert message == Diagnostic("error", "s", detail)


def test_lone_surrogates_do_not_get_through() -> None:
    text = line("log").replace("words", "\\ud800 and \\ud83d\\ude00")
    hidden = line("outputs", outputs={"o": {"sensitive": False, "value": ["\ud800", {"\udc00": 1}]}})

    assert parse(text) == Log("info", "\ufffd and \U0001f600")
    assert parse(hidden) == Outputs({"o": Output(False, None, ["\ufffd", {"\ufffd": 1}])}, "words")
    assert raw(text)["@message"] == "\ufffd and \U0001f600"


def test_a_raw_line_keeps_its_numbers() -> None:
    assert raw('{"a":0.10000000000000000000001}') == {"a": Decimal("0.10000000000000000000001")}
    assert raw("not JSON") == "not JSON"


@given(st.text())
@example('{"@level":"info","@message":"x","@timestamp":"","type":[]}')
def test_no_text_whatever_raises(text: str) -> None:
    assert isinstance(parse(text), get_args(Message))
    assert isinstance(parse("{" + text), get_args(Message))


_LINES = sorted({text for recording in ALL for text in recording.lines if text.startswith("{")})


@given(st.data())
def test_wrong_values_anywhere_in_a_real_line_do_not_raise(data: st.DataObject) -> None:
    document = json.loads(data.draw(st.sampled_from(_LINES)))
    place: Any = document
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(JSON)

    message = parse(json.dumps(document))

    rendered = render(message)
    assert isinstance(message, get_args(Message))
    assert rendered is None or rendered.encode()


# -- rendering


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Version("tofu", "1.9.0", "1.2"), "OpenTofu 1.9.0"),
        (ProvisionerOutput("a.b", "local-exec", "hello"), "a.b (local-exec): hello"),
        (Log("info", "\nInterrupt received.\nStopping...\n"), "Interrupt received.\nStopping..."),
        (Log("info", "\n"), None),
        (EmergencyState('{"secret":1}'), "Emergency state dump"),
        (PlainLine("x"), "x"),
    ],
)
def test_messages_read_as_text(message: Message, expected: str | None) -> None:
    assert render(message) == expected


@pytest.mark.behaviour("F3a")
def test_a_diagnostic_reads_as_text() -> None:
    place = Range("main.tf", 3, 1, 4, 2)
    snippet = Snippet('resource "x" "y"', "  a = [\n    var.x\n  ]", 3, 0, 1, (("var.x", "is 5"),))
    diagnostic = Diagnostic("error", "Invalid index", "No such key.\n", "x.y", place, snippet)

    assert render_diagnostic(diagnostic) == (
        "Error: Invalid index\n"
        "\n"
        "  with x.y,\n"
        '  on main.tf line 3, in resource "x" "y":\n'
        "   3:   a = [\n"
        "   4:     var.x\n"
        "   5:   ]\n"
        "      var.x is 5\n"
        "\n"
        "No such key.\n"
    )
    assert render(diagnostic) == render_diagnostic(diagnostic)


def test_a_diagnostic_without_source_says_so() -> None:
    place = Range("<value for var.n>", 1, 1, 1, 2)

    assert render_diagnostic(Diagnostic("warning", "Odd", "", None, place)) == (
        "Warning: Odd\n\n  on <value for var.n> line 1:\n  (source code not available)\n"
    )
    assert render_diagnostic(Diagnostic("error", "execution halted")) == "Error: execution halted\n"


# -- documents

DOCUMENT = (DIRECTORY / "terraform-1.11.4-output-json.json").read_text(encoding="utf-8")
WARNING = """
╷
│ Warning: Deprecated {value} used in {"a": 1}
│
│   on main.tf line 3: x = { a = 1 }
╵
"""


@pytest.mark.behaviour("T7")
@pytest.mark.parametrize(
    ("before", "behind"),
    [
        pytest.param("", "", id="alone"),
        pytest.param(WARNING, WARNING, id="warnings"),
        pytest.param("2026-11-30T02:00:00Z [WARN]  map[a:{b c}] {}\n", "\n{}\n{not JSON}\n", id="braces"),
        pytest.param("{\n", "\n}", id="lone braces"),
        pytest.param('{"unfinished":\n', "", id="an unfinished document"),
        pytest.param('{"@level":"info","@message":"' + "x" * 4000 + '"}\n', "", id="a longer log line"),
        pytest.param("Enter a value: ", "bye", id="on the same line"),
        pytest.param("{a} {", "}}{", id="braces on the same line"),
        pytest.param('{"a":NaN}\n', "", id="what only Python reads"),
    ],
)
def test_a_document_is_found_in_noise(before: str, behind: str) -> None:
    assert read_document(before + DOCUMENT.strip() + behind) == read_document(DOCUMENT)


@pytest.mark.behaviour("T7")
def test_no_outputs_are_a_document_too() -> None:
    assert read_document('warning about {"a": "much longer than nothing"}\n{}\n') == {}


NOISE = st.text('{}[]":,a1 \\│\n').filter(
    lambda noise: not any(part.startswith("{") for part in noise.split("\n"))
)


@pytest.mark.behaviour("T7")
@given(NOISE, st.dictionaries(st.text(), JSON), NOISE, st.sampled_from([None, 2]))
def test_any_document_is_found_in_any_noise(
    before: str, document: dict[str, object], behind: str, indent: int | None
) -> None:
    text = json.dumps(document, indent=indent).replace("NaN", "1").replace("Infinity", "2")

    found = read_document(f"{before}\n{text}\n{behind}")

    assert json.loads(json.dumps(found, default=str)) == json.loads(
        text, parse_float=lambda t: str(Decimal(t))
    )


@pytest.mark.behaviour("T7")
@pytest.mark.parametrize("document", [DOCUMENT.strip(), " ".join(DOCUMENT.split())], ids=["lines", "line"])
@given(st.data())
def test_the_inside_of_a_document_that_was_cut_off_is_no_document(document: str, data: st.DataObject) -> None:
    length = data.draw(st.integers(0, len(document) - 1))

    with pytest.raises(ValueError, match="no JSON document"):
        read_document(document[:length])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no JSON document"),
        ("Warning: No outputs found", "no JSON document"),
        ('{"a":' * 200_000, "too deeply"),
        ('{"a":' + "[" * 200_000 + "]" * 200_000 + "}", "too deeply"),
        ("{" * 300_000, "no JSON document"),
        ("{\n" * 100_000, "no JSON document"),
        ('{"' * 150_000, "no JSON document"),
        ('{"a":"' + "{" * 300_000, "no JSON document"),
        ('{"a":"cut off in a text with {} in it', "no JSON document"),
    ],
)
def test_what_holds_no_document_is_refused(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        read_document(text)


@pytest.mark.behaviour("T7", "T12")
def test_large_values_and_long_numbers_are_read() -> None:
    values = {"s": "x" * 300_000, "n": Decimal("1e400"), "d": Decimal("0." + "3" * 155)}
    members = (
        f'"{name}": {{"value": {output_text(v) if name != "s" else json.dumps(v)}}}'
        for name, v in values.items()
    )

    found = read_output_values(read_document("{" + ",".join(members) + "}"))

    assert {name: output.value for name, output in found.items()} == values


def test_outputs_are_read_from_a_document() -> None:
    found = read_output_values(read_document(DOCUMENT))

    assert found["number"] == Output(False, "number", 9007199254740993)
    assert found["set"] == Output(False, ["set", "string"], ["a", "b"])
    # A document has what a stream keeps to itself.
    assert found["hidden"] == Output(True, "string", "hunter2-secret")


@pytest.mark.parametrize("document", [None, [], "x", {"a": 1}, {"a": {"value": 1}, "b": None}])
def test_what_is_not_an_outputs_document_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        read_output_values(document)


@pytest.mark.behaviour("T12")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ('plain "text"\n', 'plain "text"\n'),
        (True, "true"),
        (None, "null"),
        (9007199254740993, "9007199254740993"),
        (Decimal("0." + "3" * 155), "0." + "3" * 155),
        (["a", {"b": Decimal("1.50")}], '["a",{"b":1.50}]'),
        ({"é": "<>&"}, '{"é":"<>&"}'),
    ],
)
def test_an_output_as_text_keeps_every_digit(value: object, expected: str) -> None:
    assert output_text(value) == expected


@given(st.text(string.printable))
def test_a_string_output_is_its_text(text: str) -> None:
    assert output_text(text) == text
