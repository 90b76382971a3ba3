"""The command that a report shows does the same run again, and holds no secret."""

import json
import os
import shlex
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest

from hereya_tf.cli import group
from hereya_tf.cli.operations import package_and_bundle, package_and_name
from hereya_tf.cli.option_types import GroupedOption
from hereya_tf.cli.reproduction import invocation_of
from hereya_tf.events import Operation
from tests.command_line import CommandLine, environment
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine
from tests.option_samples import ARGUMENTS, MATRIX, SAMPLES

# Where results go, and how much is said; and the question, which a person is to be asked again.
LEFT_OUT = {
    *("yes", "plan_json", "plan_text", "json_output", "engine_messages", "show_sensitive", "events_file"),
    *("result_file", "report_file", "quiet", "verbose", "color", "ci", "no_progress"),
    *("history_age", "history_count", "history_bytes"),
}
SECRET_VARIABLES = """
variable "size" {}
variable "flavour" { sensitive = true }
variable "api_token" { default = "" }
variable "colour" { default = "" }
"""


def context_of(operation: Operation, arguments: Sequence[str]) -> click.Context:
    command = group.get_command(click.Context(group), operation)
    assert command is not None
    return command.make_context(operation, list(arguments))


def words_of(operation: Operation, arguments: Sequence[str]) -> list[str]:
    context = context_of(operation, arguments)
    invocation = invocation_of(context, operation, context.params | named(context, operation))
    assert invocation is not None
    assert invocation.directory == os.getcwd()  # noqa: PTH109 - as the product has it
    texts = [word.before + word.text for word in invocation.words]
    assert texts[:2] == ["hereya-tf", operation]
    return texts[2:]


def named(context: click.Context, operation: Operation) -> dict[str, Any]:
    """What the commands themselves make of their arguments."""
    match operation:
        case Operation.APPLY:
            return dict(zip(("package", "bundle"), package_and_bundle(context.params["words"]), strict=True))
        case Operation.OUTPUT:
            found = package_and_name(context.params["words"])
            return dict(zip(("package", "output_name"), found, strict=True))
        case _:
            return {}


def kept(operation: Operation, arguments: Sequence[str]) -> dict[str, Any]:
    params = context_of(operation, arguments).params
    return {name: value for name, value in params.items() if name not in LEFT_OUT}


@pytest.mark.parametrize(("name", "operation"), [each for each, honoured in MATRIX.items() if honoured])
def test_every_option_comes_out_as_it_was_given(name: str, operation: Operation) -> None:
    given = SAMPLES[name].given
    options = [word for text in given for word in (f"--{name}", text)] or [f"--{name}"]
    arguments = [*options, *ARGUMENTS.get(operation, ())]

    again = words_of(operation, arguments)

    assert kept(operation, again) == kept(operation, arguments)
    assert (f"--{name}" in again) == (SAMPLES[name].key not in LEFT_OUT)


def test_an_option_that_nobody_has_given_is_not_there() -> None:
    assert words_of(Operation.PROVISION, []) == []
    assert words_of(Operation.PROVISION, ["network"]) == ["network"]
    assert words_of(Operation.APPLY, ["network", "a.plan"]) == ["network", "a.plan"]
    assert words_of(Operation.OUTPUT, ["network", "name"]) == ["network", "name"]
    assert words_of(Operation.OUTPUT, ["name"]) == ["name"]
    assert words_of(Operation.TF, ["network", "--", "state", "list"]) == ["network", "--", "state", "list"]


def test_inputs_keep_their_order() -> None:
    given = ["-p", "a=1", "--param-file", "x.json", "-pb=2", "--var-file=y.tfvars", "--param", "c:=3"]

    assert words_of(Operation.PROVISION, given) == [
        *("--param", "a=1", "--param-file", "x.json", "--param", "b=2", "--var-file", "y.tfvars"),
        *("--param", "c:=3"),
    ]


def test_what_the_environment_says_comes_out_as_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (
        ("PACKAGE", "net work"),
        ("PARAM", "a=1\nb=2"),
        ("TARGET", "a.b"),
        ("TIMEOUT", "90s"),
        ("REFRESH", "no"),
        ("REINIT", "yes"),
        ("VERBOSE", "1"),
        ("HISTORY_AGE", "1d"),
        ("YES", "1"),
    ):
        monkeypatch.setenv(f"HEREYA_TF_{name}", text)

    again = words_of(Operation.PROVISION, ["--var-file", "x.tfvars"])

    assert again == [
        *("net work", "--timeout", "1m30s", "--target", "a.b", "--no-refresh", "--reinit"),
        *("--param", "a=1", "--param", "b=2", "--var-file", "x.tfvars"),
    ]


def test_what_the_users_file_says_comes_out_as_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "hereya-tf/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('lock-timeout = "2m"\nyes = true\nquiet = true\nno-refresh = true\n')

    assert words_of(Operation.PLAN, []) == ["--lock-timeout", "2m", "--no-refresh"]


def test_what_the_package_may_overrule_comes_out_as_no_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    file = Path(os.environ["XDG_CONFIG_HOME"]) / "hereya-tf/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('engine = "terraform"\nengine-version = "~> 1.9"\n')

    assert words_of(Operation.PLAN, []) == []
    monkeypatch.setenv("HEREYA_TF_ENGINE", "tofu")
    assert words_of(Operation.PLAN, []) == ["--engine", "tofu"]


def test_every_option_is_either_kept_or_left_out() -> None:
    """An option that is new must be thought of here as well."""
    options = [
        parameter
        for operation in Operation
        for parameter in context_of(operation, ARGUMENTS.get(operation, ())).command.params
        if isinstance(parameter, GroupedOption)
    ]
    named = {sample.key for sample in SAMPLES.values()} | LEFT_OUT

    assert {option.name for option in options} == named


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": SECRET_VARIABLES})


def reproduced(cli: CommandLine) -> str | None:
    command = json.loads(cli("runs", "report", "last", "--format", "json").stdout)["reproduce"]
    assert command is None or isinstance(command, str)
    return command


def told_in(report: Path) -> str:
    (line,) = [line for line in report.read_text().splitlines() if line.startswith("reproduce: ")]
    return line.removeprefix("reproduce: ")


def test_a_command_in_an_option_does_not_show_its_secrets_nor_runs_without_them(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path
) -> None:
    fake_engine.plays({"plan": [{"stderr": "no\n"}, {"exit": 1}]})
    report = tmp_path / "report.txt"
    token = f"ghp_{'a' * 36}"

    cli(
        *("provision", package, "--yes", "--engine", fake_engine.path, "-q", "--report-file", report),
        *("--policy", f"judge --token {token}"),
    )

    assert told_in(report).endswith('--policy "${VALUE:?}"')
    assert token not in report.read_text()


@pytest.mark.behaviour("F7")
def test_a_command_has_no_secret_and_all_else(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path
) -> None:
    fake_engine.plays({"apply": [{"stderr": "no\n"}, {"exit": 1}]})
    secrets = [f"geheim-{number}" for number in range(5)]
    report = tmp_path / "report.txt"

    ran = cli(
        *("provision", package, "--yes", "--engine", fake_engine.path, "-q", "--report-file", report),
        *("-p", "size=3", "-p", f"flavour={secrets[0]}", "-p", f"api_token={secrets[1]}"),
        *("-e", f"DB_PASSWORD={secrets[2]}", "-e", f"colour={secrets[3]}", "--redact", "colour"),
        *("-e", "PLAIN=yes", "--backend-config", f"access_key={secrets[4]}"),
        *("--engine-arg", f"apply=-var=x={secrets[3]}"),
    )

    assert ran.exit_code == 1, ran.stderr
    assert shlex.split(told_in(report)) == [
        *("cd", str(tmp_path / "caller"), "&&", "hereya-tf", "provision", str(package)),
        *(
            "--env",
            "DB_PASSWORD=${DB_PASSWORD:?}",
            "--env",
            "colour=${colour:?}",
            "--env",
            "PLAIN=${PLAIN:?}",
        ),
        *("--backend-config", "access_key=${access_key:?}"),
        *("--engine", str(fake_engine.path), "--engine-arg", "apply=${apply:?}", "--redact", "colour"),
        *("--param", "size=3", "--param", "flavour=${flavour:?}", "--param", "api_token=${api_token:?}"),
    ]
    assert reproduced(cli) == told_in(report)
    state = Path(os.environ["HEREYA_TF_STATE_DIR"])
    kept = "".join(file.read_text() for file in state.rglob("*") if file.is_file())
    assert [secret for secret in secrets if secret in kept + report.read_text() + ran.stderr] == []


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize(
    "arguments",
    [
        ("-p", "size=hunter22", "-p", "nowhere=1"),
        ("-p", "hunter22"),
        ("-e", "hunter22"),
        ("--backend-config", "region=hunter22", "-w", "a/b"),
        ("--engine-arg", "hunter22", "-w", "a/b"),
        ("--engine-arg", "apply=hunter22", "-w", "a/b"),
        ("--from", "user:hunter22@host/x", "--engine", "tofu", "--engine-version", "99.0.0"),
    ],
    ids=" ".join,
)
def test_a_refused_request_shows_no_value_at_all(
    cli: CommandLine, package: Path, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    report = tmp_path / "report.json"

    ran = cli("provision", package, "--yes", *arguments, "--report-file", report)

    if ran.exit_code == 64:  # misuse leaves nothing behind
        assert not report.exists()
        return
    assert ran.exit_code == 3, ran.stderr
    shown = ran.stderr + report.read_text() + cli("runs", "report", "last").stdout
    option = {"-p": "--param", "-e": "--env"}.get(arguments[0], arguments[0])
    assert ("hunter22" in shown, f" {option} " in shown) == (False, True)


@pytest.mark.behaviour("F7")
def test_what_an_engine_is_given_by_hand_has_no_secret(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path
) -> None:
    secrets = ("geheim-1", "geheim-2", "geheim-3")
    report = tmp_path / "report.txt"

    fake_engine.plays({"apply": [{"exit": 1}]})
    cli(
        *("tf", "--report-file", report, package, "--engine", fake_engine.path, "--", "apply"),
        *("-var", f"flavour={secrets[0]}", f"-var=flavour={secrets[1]}", "-var", "size=3", "-lock=false"),
        *("-backend-config", f"secret_key={secrets[2]}"),
    )

    words = shlex.split(told_in(report))
    assert words[words.index("--") :] == [
        *("--", "apply", "-var", "flavour=${flavour:?}", "-var=flavour=${flavour:?}"),
        *("-var", "size=${size:?}", "-lock=false", "-backend-config", "secret_key=${secret_key:?}"),
    ]


def test_it_runs_again_in_a_shell(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"it's a $HOME/main.tf": 'variable "size" {}\n'}) / "it's a $HOME"
    fake_engine.plays({"apply": [[{"stderr": "no\n"}, {"exit": 1}], scenes.applied()]})
    failed = cli(
        *(
            "provision",
            package.name,
            "--yes",
            "--json",
            "-p",
            'size:=["a b", "\'"]',
            "--target",
            'a.b["x y"]',
        ),
        *("-e", "COLOUR=$(id) `id` \\ ü"),
        cwd=package.parent,
        env={"HEREYA_TF_ENGINE": str(fake_engine.path)},
    )
    command = reproduced(cli)
    assert failed.exit_code == 1
    path = f"{installed(tmp_path)}{os.pathsep}{os.environ['PATH']}"

    refused = subprocess.run(
        ["/bin/sh", "-c", f"{command} --yes"],
        cwd="/",
        env=environment({"PATH": path}),
        capture_output=True,
        check=False,
        timeout=120,
    )

    assert refused.returncode != 0, "the shell asks for what is private"
    assert b"COLOUR" in refused.stderr
    assert len(fake_engine.records("start", command="apply")) == 1

    again = subprocess.run(
        ["/bin/sh", "-c", f"{command} --yes"],
        cwd="/",
        env=environment({"PATH": path, "COLOUR": "$(id) `id` \\ ü"}),
        capture_output=True,
        check=False,
        timeout=120,
    )

    assert again.returncode == 0, again.stderr
    first, second = fake_engine.records("start", command="apply")
    assert _given(second) == _given(first)
    assert second["env"]["COLOUR"] == "$(id) `id` \\ ü"


def test_of_a_success_no_value_is_kept(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path
) -> None:
    fake_engine.plays({"apply": scenes.applied()})
    report = tmp_path / "report.txt"

    ran = cli(
        *("provision", package, "--yes", "--engine", fake_engine.path, "--report-file", report),
        *("-p", "size=3141592", "-p", "flavour=sweet"),
    )

    assert ran.exit_code == 0, ran.stderr
    state = Path(os.environ["HEREYA_TF_STATE_DIR"])
    kept = [report, *(file for file in state.rglob("*") if file.is_file())]
    assert [file for file in kept if "3141592" in file.read_text()] == []
    assert reproduced(cli) is None


def _given(start: dict[str, Any]) -> tuple[str, list[str], str]:
    argv = [word for word in start["argv"] if not word.startswith("-var-file=")]
    return start["cwd"], argv, start["env"]["COLOUR"]


def installed(tmp_path: Path) -> Path:
    """A directory for PATH, with `hereya-tf` in it."""
    script = tmp_path / "bin/hereya-tf"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m hereya_tf "$@"\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script.parent


def test_in_a_directory_that_is_gone_there_is_no_command(cli: CommandLine, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    report = tmp_path / "report.json"
    script = f"rmdir {shlex.quote(str(gone))} && exec {shlex.quote(sys.executable)} -m hereya_tf"
    script += f" provision {tmp_path} --yes --report-file {report}"

    subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=gone,
        env=environment({}),
        capture_output=True,
        check=False,
        timeout=120,
    )

    assert json.loads(report.read_text())["reproduce"] is None
