"""Completion of the command line, in a real shell and by what the shell is told."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.command_line import REPOSITORY, environment
from tests.option_samples import MATRIX
from tests.unit.test_startup import loaded

VARIABLE = "_HEREYA_TF_COMPLETE"
BASH = shutil.which("bash")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A directory with `hereya-tf` in it, as an installation has it."""
    directory = tmp_path / "bin"
    directory.mkdir()
    script = directory / "hereya-tf"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hereya_tf "$@"\n')
    script.chmod(0o755)
    return directory


def completed(*words: str) -> list[str]:
    """What a shell is told for the last of these words: a kind and a text each."""
    line = " ".join(("hereya-tf", *words))
    ran = subprocess.run(
        [sys.executable, "-m", "hereya_tf"],
        env=environment({VARIABLE: "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words))}),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


def test_commands() -> None:
    assert completed("pro") == ["plain,provision"]
    assert completed("lock", "") == ["plain,list", "plain,status", "plain,release"]


@pytest.mark.parametrize("operation", ["provision", "apply", "output", "validate", "tf"])
def test_options_that_the_operation_honours_and_no_others(operation: str) -> None:
    offered = {line.removeprefix("plain,--") for line in completed(operation, "--")}

    honoured = {name for (name, each), mark in MATRIX.items() if each == operation and mark}
    assert offered == honoured | {"help"} | ({"refresh"} if "no-refresh" in honoured else set())


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        pytest.param(("provision", "ne"), "dir", id="a package"),
        pytest.param(("output", "ne"), "dir", id="a package or an output"),
        pytest.param(("tf", "ne"), "dir", id="a package for the engine"),
        pytest.param(("lock", "status", "ne"), "dir", id="a package whose lock it is"),
        pytest.param(("apply", "ne"), "file", id="a bundle or a package"),
        pytest.param(("provision", "--var-file", "ne"), "file", id="a variable file"),
        pytest.param(("provision", "--engine", "ne"), "file", id="an engine"),
        pytest.param(("plan", "--out", "ne"), "file", id="a bundle to be written"),
    ],
)
def test_paths_are_left_to_the_shell(words: tuple[str, ...], kind: str) -> None:
    assert completed(*words) == [f"{kind},ne"]


def test_choices() -> None:
    assert completed("provision", "--color", "") == ["plain,auto", "plain,always", "plain,never"]
    assert completed("output", "--format", "d") == ["plain,dotenv"]


def test_nothing_is_said_of_what_is_wrong(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("= nonsense")
    monkeypatch.setenv("HEREYA_TF_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("HEREYA_TF_GRACE", "soon")

    assert completed("apply", "--target", "a.b", "--quie") == ["plain,--quiet"]


def test_commands_are_completed_without_loading_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ((VARIABLE, "bash_complete"), ("COMP_WORDS", "hereya-tf p"), ("COMP_CWORD", "1")):
        monkeypatch.setenv(name, value)

    names = loaded("from hereya_tf.cli import main; main([])", tmp_path)

    assert {name for name in names if name.startswith("hereya_tf")} == {
        "hereya_tf",
        "hereya_tf.cli",
        "hereya_tf.cli.groups",
    }


@pytest.mark.skipif(BASH is None, reason="there is no bash")
def test_in_a_bash(program: Path, tmp_path: Path) -> None:
    (tmp_path / "work/network").mkdir(parents=True)
    (tmp_path / "work/net.tfvars").touch()
    shell = pexpect.spawn(
        str(BASH),
        ["--norc", "--noprofile", "-i"],
        cwd=str(tmp_path / "work"),
        env={**environment({"PS1": "READY>", "TERM": "dumb", "INPUTRC": os.devnull})}
        | {"PATH": f"{program}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)},
        encoding="utf-8",
        timeout=60,
        dimensions=(24, 200),
    )
    try:
        shell.expect_exact("READY>")
        shell.sendline(f'eval "$({VARIABLE}=bash_source hereya-tf)"')
        shell.expect_exact("READY>")
        shell.send("hereya-tf provi\t")
        shell.expect_exact("hereya-tf provision ")
        shell.send("net\t")
        shell.expect_exact("network/")
        shell.send("\x15hereya-tf apply --show\t")
        shell.expect_exact("hereya-tf apply --show-sensitive ")
        shell.send("\x15hereya-tf provision --var-file net.\t")
        shell.expect_exact("net.tfvars")
    finally:
        shell.close(force=True)
