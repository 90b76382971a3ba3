"""What a run has left behind, whatever has become of it."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.executor.results import OutputValue, RunEnd, read_run_end
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine

FAILED: dict[str, Any] = {
    "success": False,
    "reason": "the apply step failed",
    "failure": {"class": "provider-error", "stderr": "no such zone\n", "stdout": "other"},
}


def test_a_success_has_its_outputs_to_the_digit() -> None:
    text = (
        '{"success":true,"env":{"ratio":"0.10","n":3},"outputs":{'
        '"ratio":{"type":"number","sensitive":false,"value":0.10},'
        '"key":{"type":"string","sensitive":true,"value":"x"},'
        '"who":{"type":"string","value":null},'
        '"gone":{"type":"string","sensitive":false},"odd":7}}\n'
    )

    end = read_run_end(text, 0)

    assert end == RunEnd(
        True,
        env={"ratio": "0.10"},
        outputs={
            "ratio": OutputValue(Decimal("0.10"), False),
            "key": OutputValue("x", True),
            "who": OutputValue(None, True),
        },
    )
    assert str(end.outputs["ratio"].value) == "0.10"


@pytest.mark.behaviour("D11")
def test_a_failure_has_what_the_engine_said() -> None:
    end = read_run_end(json.dumps(FAILED), 1)

    assert end == RunEnd(
        False, "the apply step failed", failure_class="provider-error", said="no such zone\n"
    )


@pytest.mark.behaviour("D11")
@pytest.mark.parametrize("stderr", ["", " \n", None], ids=["empty", "blank", "missing"])
def test_without_stderr_it_has_stdout(stderr: str | None) -> None:
    result = {**FAILED, "failure": {"stderr": stderr, "stdout": "on stdout"}}

    assert read_run_end(json.dumps(result), 1).said == "on stdout"


@pytest.mark.parametrize(
    ("text", "exit_code", "reason"),
    [
        (None, 70, "the run ended with exit code 70 and left no result"),
        (None, None, "the run was killed and left no result"),
        ("", 0, "the run ended with exit code 0 and left no result"),
        ('{"success":true,', 0, "the run ended with exit code 0 and left no result"),
        ("[1]", 0, "the run ended with exit code 0 and left no result"),
        ("[" * 100_000, 0, "the run ended with exit code 0 and left no result"),
        ('{"success":true}', 1, "the run ended with exit code 1"),
        ('{"success":true}', None, "the run was killed"),
        ('{"success":"true"}', 0, "the run ended with exit code 0"),
        ('{"success":false,"reason":7,"failure":3}', 1, "the run ended with exit code 1"),
    ],
)
def test_half_a_success_is_none(text: str | None, exit_code: int | None, reason: str) -> None:
    assert read_run_end(text, exit_code) == RunEnd(False, reason)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(["success", "reason", "env", "outputs", "failure", "value", "stderr"]), inner
        )
    ),
)


@given(st.text() | json_values.map(json.dumps), st.none() | st.integers(0, 255))
def test_nothing_that_a_run_leaves_raises(text: str, exit_code: int | None) -> None:
    end = read_run_end(text, exit_code)

    assert end.success or end.reason


def test_a_real_run_is_understood(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": 'output "a" { value = 1 }'})
    outputs = {"a": {"sensitive": True, "type": "number", "value": 1.5}}
    fake_engine.plays(
        {
            "apply": [*scenes.applied(0, {"a": {"sensitive": True, "type": "number"}}), {"exit": 0}],
            "output": [{"stdout": json.dumps(outputs)}],
        }
    )
    file = package.parent / "result.json"

    ran = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path, "--result-file", file)

    assert read_run_end(file.read_text(), ran.exit_code) == RunEnd(
        True, env={"a": "1.5"}, outputs={"a": OutputValue(Decimal("1.5"), True)}
    )
