"""Bad input: exit code 3, one sentence and a hint, before an engine or a lock is touched."""

import json
import os
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine

FILES = {
    "empty/README.md": "",
    "hello/main.tf": 'variable "name" {}\nvariable "zones" { type = list(string) }\n',
    "files/list.json": "[1]",
    "files/broken.json": "{",
    "files/broken.yaml": "a: [",
    "files/latin.env": "",
    "files/broken.env": "a b c\n",
    "files/text.txt": "a=1",
    "files/deep.json": "[" * 100_000,
    "jobs/list.json": "[]",
    "jobs/broken.json": '{"id": ',
    "jobs/wrong.json": '{"pkgPath": 7}',
    "jobs/bucket.json": '{"infraConfig": {"terraformStateBucketName": "b"}}',
}
BAD_INPUT = {
    "no package": "nowhere",
    "a file for a package": "hello/main.tf",
    "no configuration": "empty",
    "unknown parameter": "hello -p nmae=x",
    "parameter without =": "hello -p name",
    "parameter's name": "hello -p 1a=x",
    "parameter that is not JSON": "hello -p name:={",
    "a text for a list": "hello -p zones=a",
    "no parameter file": "hello --param-file nowhere.json",
    "parameter file of another kind": "hello --param-file files/text.txt",
    "parameter file that is a list": "hello --param-file files/list.json",
    "broken JSON": "hello --param-file files/broken.json",
    "deep JSON": "hello --param-file files/deep.json",
    "broken YAML": "hello --param-file files/broken.yaml",
    "no variable file": "hello --var-file nowhere.tfvars",
    "entry without =": "hello -e A",
    "entry's name": "hello -e =x",
    "no environment file": "hello --env-file nowhere.env",
    "environment file of other bytes": "hello --env-file files/latin.env",
    "broken environment file": "hello --env-file files/broken.env",
    "no request": "hello --request nowhere.json",
    "request that is a list": "hello --request jobs/list.json",
    "broken request": "hello --request jobs/broken.json",
    "request with a wrong value": "hello --request jobs/wrong.json",
    "request with half a bucket": "hello --request jobs/bucket.json",
    "workspace's name": "hello -w a/b",
    "workspace and backend": "hello -w a --state x.tfstate",
    "state that is a directory": "hello --state files",
    "bucket without region": "hello --state-bucket b --id a",
    "bucket without id": "hello --state-bucket b --state-region r",
    "region without bucket": "hello --state-region r",
    "id without backend": "hello --id a",
    "id": "hello --state x.tfstate --id ../a",
    "no backend file": "hello --backend-config nowhere",
    "backend setting": "hello --backend-config 1a=b",
    "no file of secrets": "hello --redact @nowhere",
    "log that cannot be written": "hello --engine-log nowhere/trace.log",
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory to call from, with good and bad files."""
    for name, text in FILES.items():
        file = tmp_path / "place" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "place/files/latin.env").write_bytes(b"A=caf\xe9\n")
    return tmp_path / "place"


@pytest.mark.parametrize("arguments", [pytest.param(text, id=what) for what, text in BAD_INPUT.items()])
def test_bad_input_is_refused_as_a_result(
    cli: CommandLine, fake_engine: FakeEngine, place: Path, tmp_path: Path, arguments: str
) -> None:
    before = sorted(place.rglob("*"))

    ran = cli(*("provision", *arguments.split()), "--yes", "--json", "--engine", fake_engine.path, cwd=place)

    assert (ran.exit_code, ran.stderr) == (3, "")
    assert [event["type"] for event in ran.events] == ["run_started", "result"]
    result = ran.result
    assert (result["status"], result["exit_code"], result["success"]) == ("refused", 3, False)
    assert result["failure"]["class"] in ("bad-input", "bad-package")
    assert result["failure"]["hint"]
    assert result["failure"]["state"] == {"saved": True, "errored_state": None, "lock": None}
    assert result["engine"] is None
    reason = result["reason"]
    assert "\n" not in reason
    assert not reason.endswith(".")
    assert "Error" not in reason
    assert fake_engine.records() == []
    assert not (tmp_path / "state/locks").exists()
    assert not (tmp_path / "cache").exists()
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("arguments", ["nowhere", "hello -p nmae=x", "hello --request jobs/broken.json"])
def test_without_json_it_is_said_on_stderr(
    cli: CommandLine, fake_engine: FakeEngine, place: Path, arguments: str
) -> None:
    ran = cli(*("destroy", *arguments.split()), "--yes", "-q", "--engine", fake_engine.path, cwd=place)

    labels = [line.split(": ")[0] for line in ran.stderr.splitlines()]
    assert (ran.exit_code, ran.stdout) == (3, "")
    assert labels == ["error", "class", "state", "hint", "reproduce", "report"]
    assert "\nclass: bad-" in ran.stderr
    assert "\nstate: as it was before: no resource was touched\n" in ran.stderr


def test_a_request_on_stdin_is_refused_too(cli: CommandLine, fake_engine: FakeEngine, place: Path) -> None:
    ran = cli("provision", "--request", "-", "--yes", "--json", input="not JSON", cwd=place)

    assert (ran.exit_code, ran.result["reason"]) == (
        3,
        "the request `stdin` is not JSON (line 1, column 1: Expecting value)",
    )


def test_a_refused_run_is_in_the_history(cli: CommandLine, place: Path) -> None:
    refused = cli("provision", "nowhere", "--yes", "--json", cwd=place)

    shown = json.loads(cli("runs", "show", "last", "--json").stdout)

    assert shown["run"] == refused.result["run"]
    assert (shown["state"], shown["exit_code"], shown["reason"]) == ("refused", 3, refused.result["reason"])
    assert shown["result"] == refused.result


@pytest.mark.behaviour("F7")
def test_a_refusal_never_repeats_a_value(cli: CommandLine, place: Path) -> None:
    for arguments in (
        ("-p", "hunter22"),
        ("-p", "name:={hunter22"),
        ("-p", "zones=hunter22"),
        ("-e", "hunter22"),
        ("-e", "A=hunter22", "-p", "nmae=x"),
        ("--backend-config", "password=hunter22", "-p", "nmae=x"),
        ("--engine-arg", "apply=hunter22", "-p", "nmae=x"),
    ):
        ran = cli("provision", "hello", *arguments, "--yes", "--report-file", "report.json", cwd=place)

        assert ran.exit_code == 3
        assert "hunter22" not in ran.stderr + (place / "report.json").read_text()


@pytest.mark.parametrize(
    ("way", "name", "step"),
    [
        ("environment", "TF_CLI_ARGS_apply", "apply"),
        ("environment", "TF_CLI_ARGS", "apply"),
        ("environment", "TF_CLI_ARGS_init", "init"),
        ("--env", "TF_CLI_ARGS_destroy", "destroy"),
    ],
)
def test_arguments_slipped_in_are_refused(
    cli: CommandLine, fake_engine: FakeEngine, place: Path, way: str, name: str, step: str
) -> None:
    more = ("-e", f"{name}=-destroy") if way == "--env" else ()
    env: dict[str, str | None] = {} if more else {name: "-destroy"}

    ran = cli(
        "provision", "hello", "--yes", "--json", *more, "--engine", fake_engine.path, cwd=place, env=env
    )

    assert (ran.exit_code, ran.result["status"], ran.result["failure"]["class"]) == (3, "refused", "cli-args")
    assert f"`{name}`" in ran.result["reason"]
    assert f"`--engine-arg {step}=ARG`" in ran.result["failure"]["hint"]
    assert "`--ignore-cli-args`" in ran.result["failure"]["hint"]
    assert fake_engine.records() == []


def test_they_are_left_out_when_they_are_to_be_ignored(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    summary = {"add": 0, "change": 0, "remove": 0, "operation": "apply"}
    fake_engine.plays({"apply": [{"message": {"type": "change_summary", "changes": summary}}]})

    ran = cli(
        *("provision", make_package({"main.tf": ""}), "--yes", "--ignore-cli-args"),
        *("-e", "TF_CLI_ARGS=-x", "--engine", fake_engine.path),
        env={"TF_CLI_ARGS_apply": "-destroy"},
    )

    assert ran.exit_code == 0
    starts = fake_engine.records("start")
    assert {name for start in starts for name in start["env"] if name.startswith("TF_CLI_ARGS")} == set()
    assert not any("-destroy" in start["argv"] for start in starts)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_package_that_cannot_be_read_is_refused(cli: CommandLine, make_package: MakePackage) -> None:
    package = make_package({"main.tf": ""})
    (package / "main.tf").chmod(0)

    ran = cli("provision", package, "--yes", "--json")

    assert (ran.exit_code, ran.result["failure"]["class"]) == (3, "bad-package")
