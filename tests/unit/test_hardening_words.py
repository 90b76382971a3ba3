"""Words that are not there, secrets in odd places, files that never end: what the command line makes of them."""

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import events, exact
from hereya_tf.cli.places import find_places
from hereya_tf.errors import BadInput
from tests.command_line import CommandLine, Result, environment
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine

SUMMARY = {"type": "change_summary", "changes": {"add": 0, "change": 0, "remove": 0, "operation": "apply"}}
APPLIES: list[Any] = [{"message": SUMMARY}]


@pytest.mark.parametrize(
    "option", ["--state", "--id", "--workspace", "--request", "--engine", "--lock-key", "--state-bucket"]
)
def test_an_empty_word_is_not_the_wish_for_another_state(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, option: str
) -> None:
    # `--state "$STATE"` without a STATE applied to the package's own state.
    package = make_package({"main.tf": ""})

    ran = cli("provision", package, "--yes", "--engine", fake_engine.path, option, "")

    assert ran == Result(
        64,
        "",
        f"error: `{option}` is empty\nhint: leave it out, or check the variable that it was to come from\n",
    )
    assert fake_engine.commands() == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("provision", "", "--yes"), id="provision"),
        pytest.param(("destroy", "", "--yes"), id="destroy"),
        pytest.param(("lock", "release", "", "--force"), id="lock release"),
        pytest.param(("runs", "cancel", ""), id="runs cancel"),
    ],
)
def test_an_empty_word_is_no_package_and_no_run(
    cli: CommandLine, make_package: MakePackage, arguments: tuple[str, ...]
) -> None:
    # `destroy "$PACKAGE"` without a PACKAGE destroyed what the working directory described.
    ran = cli(*arguments, cwd=make_package({"main.tf": ""}))

    name = "RUN" if arguments[0] == "runs" else "PACKAGE"
    assert (ran.exit_code, ran.stderr.splitlines()[0]) == (64, f"error: `{name}` is empty")


def test_an_engine_argument_without_a_step_is_not_repeated(cli: CommandLine) -> None:
    ran = cli("provision", "--yes", "--engine-arg", "-var=password=hunter22")

    assert (ran.exit_code, "hunter22" in ran.stderr) == (64, False)


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize(
    "text", ['{"password":"hunter22pw"}', '{ password = "hunter22pw" }', '{\n password: "hunter22pw"\n}\n']
)
def test_the_parts_of_a_sensitive_object_from_the_environment_are_secrets(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, text: str
) -> None:
    package = make_package(
        {"main.tf": 'variable "login" {\n  type = object({ password = string })\n  sensitive = true\n}\n'}
    )
    fake_engine.plays({"apply": [{"stderr": "the password is hunter22pw\n"}, *APPLIES]})

    ran = cli(
        *("provision", package, "--yes", "--verbose", "--engine", fake_engine.path),
        env={"TF_VAR_login": text},
    )

    assert ran.exit_code == 0
    assert ("hunter22pw" in ran.stderr, "the password is [redacted]" in ran.stderr) == (False, True)


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize("file", ["terraform.tfvars", "x.auto.tfvars", "given.tfvars"])
def test_a_variable_that_the_user_names_is_a_secret_wherever_its_value_stands(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, file: str
) -> None:
    package = make_package({"main.tf": 'variable "pin" {}\n', file: 'pin = "hunter22pw"\n'})
    fake_engine.plays({"apply": [{"stderr": "the pin is hunter22pw\n"}, *APPLIES]})
    given = ("--var-file", package / file) if file == "given.tfvars" else ()

    ran = cli(
        *("provision", package, "--yes", "--verbose", "--engine", fake_engine.path, "--redact", "pin"), *given
    )

    assert ran.exit_code == 0
    assert ("hunter22pw" in ran.stderr, "the pin is [redacted]" in ran.stderr) == (False, True)


def test_a_value_is_written_however_deep_it_is_nested() -> None:
    value: Any = Decimal("1.50")
    for _ in range(5000):
        value = [value, {"a": 1}]

    assert exact.dumps(value) == "[" * 5000 + "1.50" + ',{"a":1}]' * 5000
    assert events.encode({"a": value}) == '{"a":' + exact.dumps(value) + "}"


def test_a_result_file_that_cannot_be_written_is_refused_before_anything_is_changed(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    file = tmp_path / "nowhere/result.json"

    ran = cli(
        *("provision", make_package({"main.tf": ""}), "--yes", "--json", "--engine", fake_engine.path),
        *("--result-file", file),
    )

    assert (ran.exit_code, ran.result["failure"]["class"], ran.result["reason"]) == (
        3,
        "bad-input",
        f"`--result-file {file}` cannot be written",
    )
    assert fake_engine.commands() == []


def test_the_result_of_the_last_run_is_not_there_while_a_run_is_at_work(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    file, go = tmp_path / "result.json", tmp_path / "go"
    file.write_text('{"success":true}\n')
    fake_engine.plays({"apply": [{"wait_for_file": str(go)}, *APPLIES]})

    running = cli.start(
        *("provision", make_package({"main.tf": ""}), "--yes", "--engine", fake_engine.path),
        *("--result-file", file),
    )
    fake_engine.wait_for_record("start", command="apply")
    meanwhile = file.read_text()
    go.touch()

    assert (running.finish().exit_code, json.loads(meanwhile)["status"]) == (0, "running")
    assert json.loads(file.read_text())["status"] == "succeeded"


@pytest.mark.parametrize("name", ["terraform.tfvars", "x.auto.tfvars", ".terraform.lock.hcl"])
def test_a_pipe_in_a_package_holds_nobody(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, name: str
) -> None:
    # To open one is to wait for ever, deaf to every signal but SIGKILL.
    package = make_package({"main.tf": 'variable "a" {\n  sensitive = true\n  default = ""\n}\n'})
    os.mkfifo(package / name)
    fake_engine.plays({"apply": APPLIES})

    assert cli("provision", package, "--yes", "--engine", fake_engine.path, timeout=30).exit_code == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere platformdirs decides")
def test_a_home_that_is_no_place_is_not_taken_for_one(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    # A state directory below each working directory: locks of its own, and paths that the engine cannot find.
    code = "import os; from hereya_tf.cli.places import find_places; print(find_places({}).state)"
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env=environment({"HOME": "relative", "XDG_STATE_HOME": None}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert Path(shown.strip()).is_absolute()


def test_a_relative_place_below_a_directory_that_is_gone_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(BadInput) as caught:
        find_places({"HEREYA_TF_STATE_DIR": "state"})

    assert str(caught.value) == "`state` is relative to a working directory that does not exist any more"
