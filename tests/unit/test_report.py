"""A failure in words: the short form that every caller knows, and the report of a run."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.errors import BadInput, FailureClass, ShellCommandError
from hereya_tf.report import captured_text, failure_lines, full_text, reason_of, report_text

ANYTHING = st.one_of(
    st.none(),
    st.text(),
    st.integers(),
    st.floats(),
    st.binary(),
    st.booleans(),
    st.lists(st.text()),
    st.dictionaries(st.text(), st.integers()),
    st.from_type(Exception),
    st.from_type(type),
)
BLANK = st.text(alphabet=" \t\r\n")


class Captured(Exception):
    """An error of somebody else's that has what a command said."""

    def __init__(self, reason: str, stderr: object, stdout: object) -> None:
        super().__init__(reason)
        self.stderr = stderr
        self.stdout = stdout


def command_error(**fields: Any) -> ShellCommandError:
    return ShellCommandError("it failed", command="terraform apply", exit_code=1, **fields)


def result(**fields: Any) -> events.Result:
    made = events.Result(
        success=False,
        status="failed",
        reason="it failed",
        exit_code=1,
        operation="provision",
        package="/package",
        workspace="default",
        engine=events.EngineInfo("terraform", "1.11.4"),
        env={},
        outputs={},
        changes=events.ChangeCounts(),
        drift=None,
        failure=events.FailureInfo(
            FailureClass.PROVIDER_ERROR,
            "try it again\nlook at it",
            (),
            "Error: no\n",
            "creating\n",
            events.StateInfo(True, None, None),
        ),
        timings=events.Timings(None, None, None, None, None, None, 1.5),
        report=None,
    )
    return made._replace(**fields)


@pytest.mark.behaviour("F2")
def test_a_command_error_carries_all_that_there_is() -> None:
    error = command_error(stdout="out", stderr="err")

    assert (error.command, error.exit_code, error.stdout, error.stderr, reason_of(error)) == (
        "terraform apply",
        1,
        "out",
        "err",
        "it failed",
    )


@pytest.mark.behaviour("F2")
@pytest.mark.parametrize("error", [BadInput("a sentence", "a hint"), ValueError("a sentence"), "a sentence"])
def test_the_reason_of_anything_else_is_its_text(error: object) -> None:
    assert reason_of(error) == "a sentence"


@pytest.mark.behaviour("F3")
def test_stderr_that_is_not_blank_is_shown_whole() -> None:
    error = command_error(stderr="\n  Error: a\n\n", stdout="out")

    assert full_text(error) == "it failed\n--- stderr ---\n\n  Error: a\n\n"


@pytest.mark.behaviour("F4")
@pytest.mark.parametrize("stderr", ["", " \n\t", None, 7])
def test_else_stdout_is_shown_whole(stderr: object) -> None:
    assert full_text(Captured("it failed", stderr, " out \n")) == "it failed\n--- stdout ---\n out \n"


@pytest.mark.behaviour("F5")
@pytest.mark.parametrize(("stderr", "stdout"), [("", ""), (" ", "\n"), (None, None)])
def test_else_it_is_the_reason_alone(stderr: object, stdout: object) -> None:
    assert full_text(Captured("it failed", stderr, stdout)) == "it failed"


@pytest.mark.behaviour("F6")
@given(ANYTHING)
def test_anything_has_a_text(error: object) -> None:
    assert full_text(error) == str(error)


@pytest.mark.behaviour("F3", "F4", "F5", "F6")
@given(reason=st.text(), stderr=ANYTHING | BLANK, stdout=ANYTHING | BLANK)
def test_never_both_and_never_trimmed(reason: str, stderr: object, stdout: object) -> None:
    shown = full_text(Captured(reason, stderr, stdout))

    if isinstance(stderr, str) and stderr.strip():
        assert shown == f"{reason}\n--- stderr ---\n{stderr}"
    elif isinstance(stdout, str) and stdout.strip():
        assert shown == f"{reason}\n--- stdout ---\n{stdout}"
    else:
        assert shown == reason
    assert shown == reason + captured_text(stderr, stdout)


def test_a_failure_for_a_person() -> None:
    state = events.StateInfo(False, "/package/errored.tfstate", {"ID": "12", "Who": "me"})
    failure = result().failure
    assert failure is not None
    record = events.record_of(result(failure=failure._replace(state=state)), sequence=1, seconds=0, run="run")

    assert failure_lines(record) == [
        "error: it failed",
        "class: provider-error (exit code 1)",
        "hint: try it again",
        "hint: look at it",
        "state: could not be saved; the only complete copy is `/package/errored.tfstate`",
        "lock: ID 12",
        "lock: Who me",
    ]


def test_a_report() -> None:
    assert report_text(result()) == (
        "provision of /package, workspace default\n"
        "engine: terraform 1.11.4\n"
        "after 1.5 s: failed\n"
        "\n"
        "error: it failed\n"
        "class: provider-error (exit code 1)\n"
        "hint: try it again\n"
        "hint: look at it\n"
        "--- stderr ---\n"
        "Error: no\n"
    )


def test_a_report_of_a_run_that_had_no_engine_and_no_hint() -> None:
    failure = events.FailureInfo(FailureClass.TIMED_OUT, None, (), "", "", events.StateInfo(None, None, None))

    assert report_text(result(status="timed_out", exit_code=124, engine=None, failure=failure)) == (
        "provision of /package, workspace default\n"
        "after 1.5 s: timed out\n"
        "\n"
        "error: it failed\n"
        "class: timed-out (exit code 124)\n"
        "state: it is not known whether it was saved; what was in flight may exist and not be in it\n"
    )


def test_a_report_of_a_success() -> None:
    text = report_text(result(success=True, status="succeeded", reason=None, exit_code=0, failure=None))

    assert text == (
        "provision of /package, workspace default\nengine: terraform 1.11.4\nafter 1.5 s: succeeded\n\n"
    )
