"""Hostile names and words through a real engine: what of them the log of GitHub takes for a command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import environment
from tests.unit.test_ci_github import Command, commands

pytestmark = pytest.mark.real_engine

EVIL = (
    "a::set-output name=x::y",
    "##[set-env name=Z]q",
    "::error::shown",
    "  ::debug::behind blanks",
    "\ufeff::debug::behind a mark",
    "\u2028::error::on a line of its own",
    "first\n::set-env name=A::b\n##[add-path]/x\r::warning::behind a CR",
    "\x1b[31mred\x1b]0;title\x07",
    "<script>alert(1)</script> ]]> | `x` $(touch pwned)",
)
WAYS = ((), ("-v",), ("-q",), ("--json",), ("--json", "--engine-messages"), ("--color", "always"))
OURS = {"group", "endgroup", "error", "warning"}


def write_package(directory: Path) -> Path:
    """Keys, values, outputs, a message of a check, and what a provisioner prints: all of them hostile."""
    directory.mkdir()
    resources: dict[str, Any] = {
        "kept": {"for_each": {text: text for text in EVIL}, "input": "${each.value}"},
        "failing": {
            "depends_on": ["terraform_data.kept"],
            "provisioner": [{"local-exec": {"command": "cat spoken.txt; exit 3"}}],
        },
    }
    package = {
        "resource": {"terraform_data": resources},
        "output": {f"value{place}": {"value": text} for place, text in enumerate(EVIL)},
        "check": {"words": {"assert": {"condition": "${1 == 2}", "error_message": EVIL[6]}}},
    }
    (directory / "main.tf.json").write_text(json.dumps(package), encoding="utf-8")
    lines = "\n".join(EVIL).encode() + b"\n\0\xff\n" + b"Z" * 100_000 + b"\n::error::behind it\n"
    (directory / "spoken.txt").write_bytes(lines)
    return directory


def logged(*arguments: str, cwd: Path) -> tuple[int, str]:
    """The exit code, and all that goes to the log of a job."""
    process = subprocess.run(
        [sys.executable, "-m", "hereya_tf", *arguments],
        cwd=cwd,
        env=environment({"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(cwd / "summary.md")}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return process.returncode, process.stdout.decode()


def names(found: list[Command]) -> set[str]:
    return {command.name for command in found}


def test_nothing_hostile_is_a_command_in_any_way_of_telling(tmp_path: Path, real_engine: str) -> None:
    package = write_package(tmp_path / "package")
    for way in WAYS:
        exit_code, log = logged(
            "provision", str(package), "--yes", "--engine", real_engine, *way, cwd=tmp_path
        )
        assert (exit_code, names(commands(log)) - OURS) == (1, set()), way
        groups = [command.name for command in commands(log) if command.name.endswith("group")]
        assert groups == ["group", "endgroup"] * (len(groups) // 2), way

    forms = (("report", "last", "--format", form) for form in ("text", "markdown", "json", "junit", "html"))
    for words in (
        *forms,
        ("list",),
        ("list", "--json"),
        ("show", "last"),
        ("show", "last", "--json"),
        ("log", "last", "-v"),
        ("log", "last", "--json"),
        ("timeline", "last"),
        ("prune", "--dry-run", "--history-count", "1"),
    ):
        exit_code, log = logged("runs", *words, cwd=tmp_path)
        assert (exit_code, commands(log)) == (0, []), words
    assert not any("pwned" in name for _, _, files in os.walk(tmp_path) for name in files)
