"""From errors and outputs to the result that callers get."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import exact
from hereya_tf.errors import (
    BadInput,
    Busy,
    Cancelled,
    EngineUnavailable,
    FailureClass,
    HereyaError,
    Idle,
    ShellCommandError,
    TimedOut,
)
from hereya_tf.events import StateInfo
from hereya_tf.redaction import Redactor
from hereya_tf.runs.outcome import (
    EngineEnd,
    Outputs,
    Status,
    exit_code_of,
    present_outputs,
    state_info,
    status_of,
)
from hereya_tf.stream.message_types import Diagnostic
from hereya_tf.stream.outputs import MISSING, Output, output_text

TOKEN = "ghp_" + "a" * 36
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def failed(failure_class: FailureClass) -> ShellCommandError:
    return ShellCommandError("it failed", command="terraform", exit_code=1, failure_class=failure_class)


@pytest.mark.parametrize(
    ("error", "status", "exit_code"),
    [
        pytest.param(BadInput("x"), Status.REFUSED, 3, id="bad input"),
        pytest.param(Busy("x"), Status.BUSY, 4, id="busy"),
        pytest.param(EngineUnavailable("x"), Status.FAILED, 5, id="no engine"),
        pytest.param(TimedOut("x"), Status.TIMED_OUT, 124, id="time limit"),
        pytest.param(Idle("x"), Status.TIMED_OUT, 124, id="idle limit"),
        pytest.param(Cancelled("x"), Status.CANCELLED, 130, id="cancelled"),
        pytest.param(Cancelled("x", exit_code=143), Status.CANCELLED, 143, id="SIGTERM"),
        pytest.param(Cancelled("x", exit_code=129), Status.CANCELLED, 129, id="SIGHUP"),
        pytest.param(HereyaError("x"), Status.FAILED, 70, id="our own fault"),
        pytest.param(failed(FailureClass.PROVIDER_ERROR), Status.FAILED, 1, id="engine"),
        pytest.param(failed(FailureClass.STATE_LOCKED), Status.BUSY, 4, id="state lock"),
        pytest.param(failed(FailureClass.STATE_CORRUPT), Status.REFUSED, 3, id="corrupt state"),
        pytest.param(failed(FailureClass.PROTECTED), Status.REFUSED, 8, id="guard"),
    ],
)
def test_status_and_exit_code(error: HereyaError, status: Status, exit_code: int) -> None:
    assert (status_of(error), exit_code_of(error)) == (status, exit_code)


@pytest.mark.behaviour("T12")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", ""),
        (" a\n", " a\n"),
        ('"quoted"', '"quoted"'),
        ("true", "true"),
        (True, "true"),
        (None, "null"),
        (9007199254740993, "9007199254740993"),
        (Decimal("0." + "3" * 154), "0." + "3" * 154),
        (["a", 1], '["a",1]'),
        ({"ü": {"b": [None]}}, '{"ü":{"b":[null]}}'),
    ],
)
def test_an_output_as_text(value: object, text: str) -> None:
    assert output_text(value) == text


@pytest.mark.behaviour("T12")
@given(VALUES.filter(lambda value: not isinstance(value, str)))
def test_anything_but_text_can_be_read_back(value: Any) -> None:
    assert exact.loads(output_text(value)) == value


@pytest.mark.behaviour("T12")
def test_outputs_keep_their_types() -> None:
    values = {
        "name": Output(False, "string", "db"),
        "zones": Output(False, ["list", "string"], ["a", "b"]),
        "size": Output(False, "number", Decimal("1.50")),
    }

    assert present_outputs(values, Redactor(), reveal=False) == Outputs(
        env={"name": "db", "zones": '["a","b"]', "size": "1.50"},
        outputs={
            "name": {"type": "string", "sensitive": False, "value": "db"},
            "zones": {"type": ["list", "string"], "sensitive": False, "value": ["a", "b"]},
            "size": {"type": "number", "sensitive": False, "value": Decimal("1.50")},
        },
        withheld=(),
    )


def test_a_sensitive_output_has_no_value_until_it_is_asked_for() -> None:
    values = {"password": Output(True, "string", "hunter22"), "name": Output(False, "string", "db")}

    assert present_outputs(values, Redactor(), reveal=False) == Outputs(
        env={"name": "db"},
        outputs={
            "password": {"type": "string", "sensitive": True},
            "name": {"type": "string", "sensitive": False, "value": "db"},
        },
        withheld=("password",),
    )
    assert present_outputs(values, Redactor(), reveal=True).env == {"password": "hunter22", "name": "db"}


@pytest.mark.behaviour("F7")
def test_an_output_that_holds_a_credential_is_withheld_and_never_masked() -> None:
    values = {"url": Output(False, "string", f"https://{TOKEN}@host"), "list": Output(False, None, [TOKEN])}

    shown = present_outputs(values, Redactor(), reveal=False)

    assert (shown.env, shown.withheld) == ({}, ("url", "list"))
    assert present_outputs(values, Redactor(), reveal=True).env["url"] == f"https://{TOKEN}@host"


def test_a_value_that_the_engine_kept_to_itself_is_not_invented() -> None:
    values = {"later": Output(False, "string", MISSING), "secret": Output(True, "string", MISSING)}
    outputs = {
        "later": {"type": "string", "sensitive": False},
        "secret": {"type": "string", "sensitive": True},
    }

    for reveal in (False, True):
        assert present_outputs(values, Redactor(), reveal=reveal) == Outputs({}, outputs, ())


@given(st.dictionaries(st.text(), st.builds(Output, st.booleans(), st.none(), VALUES)))
def test_nothing_sensitive_is_shown_and_everything_is_when_asked(values: dict[str, Output]) -> None:
    hidden, shown = (present_outputs(values, Redactor(), reveal=reveal) for reveal in (False, True))

    assert set(hidden.env) | set(hidden.withheld) == set(shown.env) == set(values)
    assert not {name for name in hidden.env if values[name].sensitive}
    assert all(isinstance(text, str) for text in shown.env.values())
    assert {name: entry["value"] for name, entry in shown.outputs.items()} == {
        name: output.value for name, output in values.items()
    }


LOCKED = Diagnostic(
    "error",
    "Error acquiring the state lock",
    "Error message: resource temporarily unavailable\nLock Info:\n  ID:        1234\n  Who:       me@host\n\n",
)


@pytest.mark.parametrize(
    ("failure_class", "errors", "end", "expected"),
    [
        pytest.param(
            FailureClass.BAD_INPUT,
            (),
            EngineEnd(False, False, None),
            StateInfo(True, None, None),
            id="untouched",
        ),
        pytest.param(
            FailureClass.PROVIDER_ERROR,
            (),
            EngineEnd(True, True, None),
            StateInfo(True, None, None),
            id="ended by itself",
        ),
        pytest.param(
            FailureClass.ENGINE_CRASHED,
            (),
            EngineEnd(True, False, None),
            StateInfo(None, None, None),
            id="killed in the middle",
        ),
        pytest.param(
            FailureClass.STATE_NOT_SAVED,
            (),
            EngineEnd(True, True, "/package/errored.tfstate"),
            StateInfo(False, "/package/errored.tfstate", None),
            id="not saved",
        ),
        pytest.param(
            FailureClass.PROVIDER_ERROR,
            (),
            EngineEnd(True, True, "/runs/1/emergency.tfstate"),
            StateInfo(False, "/runs/1/emergency.tfstate", None),
            id="dumped",
        ),
        pytest.param(
            FailureClass.STATE_NOT_SAVED,
            (),
            EngineEnd(True, True, None),
            StateInfo(False, None, None),
            id="not saved, nowhere",
        ),
        pytest.param(
            FailureClass.STATE_LOCKED,
            (LOCKED,),
            EngineEnd(False, True, None),
            StateInfo(True, None, {"ID": "1234", "Who": "me@host"}),
            id="locked",
        ),
    ],
)
def test_what_is_known_of_the_state(
    failure_class: FailureClass, errors: tuple[Diagnostic, ...], end: EngineEnd, expected: StateInfo
) -> None:
    assert state_info(failure_class, errors, end) == expected


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("secret_access_key", "a1B2" * 10, id="by the output's name"),
        pytest.param("pair", {"secret_key": "a1B2" * 10}, id="by a name in it"),
        pytest.param("settings", {"text": "password:\thunter22"}, id="in a leaf alone"),
        pytest.param("url", "https://user:pass@host", id="by its form"),
    ],
)
def test_an_output_that_would_be_masked_has_no_value_at_all(name: str, value: Any) -> None:
    shown = present_outputs({name: Output(False, "string", value)}, Redactor(), reveal=False)

    assert shown == Outputs({}, {name: {"type": "string", "sensitive": False}}, (name,))
