"""Each failure has its class and exit code of the contract, a sentence, and a hint where one can help."""

import ast
import errno
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import errors
from hereya_tf.errors import (
    Cancelled,
    EngineExit,
    FailureClass,
    HereyaError,
    NoRoom,
    ShellCommandError,
    no_room,
    own_fault,
)

# The contract's table.
EXIT_CODES = {
    3: "bad-input bad-package bad-config cli-args engine-mismatch plan-stale plan-mismatch errored-state"
    " state-corrupt",
    4: "busy state-locked",
    5: "engine-unavailable engine-unverified engine-unsupported",
    6: "control-plane",
    8: "too-many-destroys protected unexpected-changes policy-denied",
    64: "usage",
    70: "internal",
    124: "timed-out idle",
    130: "cancelled",
    1: "missing-variable invalid-variable invalid-configuration unsupported-version provider-unavailable"
    " provider-checksum module-unavailable backend-not-initialised backend-changed backend-unreachable"
    " credentials state-not-saved lock-not-released workspace-unknown precondition-failed prevented-destroy"
    " provisioner-failed provider-error provider-crashed engine-crashed disk-full out-of-memory prompt"
    " engine-error",
}
CODE_OF = {name: code for code, names in EXIT_CODES.items() for name in names.split()}


@pytest.mark.parametrize("name", CODE_OF)
def test_a_class_of_the_contract_has_the_exit_code_of_the_contract(name: str) -> None:
    assert FailureClass(name).exit_code == CODE_OF[name]


def test_there_is_no_class_that_the_contract_does_not_know() -> None:
    assert set(FailureClass) == set(CODE_OF)


def error_classes() -> list[type[HereyaError]]:
    return [
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, HereyaError)
    ]


@pytest.mark.parametrize("kind", error_classes(), ids=lambda kind: kind.__name__)
def test_an_error_owns_its_sentence_its_class_and_its_hints(kind: type[HereyaError]) -> None:
    more: dict[type[HereyaError], dict[str, Any]] = {
        ShellCommandError: {"command": "terraform", "exit_code": 1},
        EngineExit: {"exit_code": 9},
    }

    error = kind("it `failed`", "one", "two", **more.get(kind, {}))

    assert (str(error), error.hints, error.failure_class) == (
        "it `failed`",
        ("one", "two"),
        FailureClass.ENGINE_ERROR if kind is ShellCommandError else kind.failure_class,
    )
    assert kind.__doc__


def test_only_what_nobody_foresaw_is_our_own_fault() -> None:
    internal = [kind for kind in error_classes() if kind.failure_class is FailureClass.INTERNAL]

    # ShellCommandError gets its class from a diagnosis.
    assert internal == [HereyaError, ShellCommandError]


def test_a_cancelled_run_has_the_exit_code_of_its_signal() -> None:
    assert [Cancelled("x").exit_code, Cancelled("x", exit_code=143).exit_code] == [130, 143]


@pytest.mark.behaviour("F2")
def test_a_command_error_is_an_engine_error_unless_it_is_known_better() -> None:
    plain = ShellCommandError("x", command="c", exit_code=2)
    known = ShellCommandError("x", command="c", exit_code=2, failure_class=FailureClass.DISK_FULL)

    assert (plain.failure_class, plain.stdout, plain.stderr) == (FailureClass.ENGINE_ERROR, "", "")
    assert known.failure_class is FailureClass.DISK_FULL


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_no_fault_of_ours(number: int) -> None:
    cause = OSError(number, "No space left on device", "/here/file")

    full = own_fault(cause, place="x.py:3")
    assert full.failure_class is FailureClass.DISK_FULL
    assert "`df -h`" in full.hints[0]
    assert "/here/file" in str(full)
    assert type(no_room(cause, "x")) is NoRoom


@pytest.mark.parametrize("cause", [OSError(errno.EACCES, "Permission denied"), ValueError("x"), OSError()])
def test_nothing_else_is_a_full_disk(cause: Exception) -> None:
    assert no_room(cause, "x") is None
    assert own_fault(cause).failure_class is FailureClass.INTERNAL


def raised(repository: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every place in the package where one of these errors is made."""
    names = {kind.__name__ for kind in error_classes()} - {"HereyaError"} | {"NoRoom"}
    for file in sorted((repository / "hereya_tf").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield f"{file.name}:{node.lineno}", node


def literal(node: ast.expr) -> str | None:
    """The text of a literal, with a letter for each value in it."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(
                "x" if isinstance(part, ast.FormattedValue) else literal(part) or "" for part in parts
            )
    return None


def test_every_refusal_says_what_to_do(repository: Path) -> None:
    places = [
        (place, call)
        for place, call in raised(repository)
        # Who cancels a run knows what to do.
        if not (isinstance(call.func, ast.Name) and call.func.id == "Cancelled")
    ]

    assert len(places) > 40
    assert [place for place, call in places if len(call.args) < 2] == []


def test_every_sentence_is_one_sentence_without_a_full_stop(repository: Path) -> None:
    texts = [
        (place, text) for place, call in raised(repository) for arg in call.args if (text := literal(arg))
    ]

    assert len(texts) > 80
    odd = [(place, text) for place, text in texts if text.endswith(".") and not text.endswith("`.`")]
    assert odd == []
    assert [(place, text) for place, text in texts if "\n" in text] == []


def test_options_and_variables_stand_in_backticks(repository: Path) -> None:
    bare = [
        (place, text)
        for place, call in raised(repository)
        for arg in call.args
        if (text := literal(arg)) and re.search(r"--[a-z]|HEREYA_|TMPDIR", re.sub(r"`[^`]*`", "", text))
    ]

    assert bare == []
