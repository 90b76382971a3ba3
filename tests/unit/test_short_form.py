"""A failure in its short form: the reason, and what the command said."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import BadInput, ShellCommandError
from hereya_tf.report.short_form import captured_text, full_text, reason_of

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
