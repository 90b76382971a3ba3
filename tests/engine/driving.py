"""A real engine, through the command line and by hand."""

import json
import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.command_line import CommandLine, Result, Running, environment

# Above the size of a launcher, whose version is asked at every run.
_SIZE_OF_AN_ENGINE = 20_000_000


class Driver:
    """Runs operations with `--yes --json` on the engine under test, and that engine by hand as `plain`."""

    def __init__(self, cli: CommandLine, wish: str, argv: tuple[str, ...]) -> None:
        self.cli = cli
        self.wish = wish
        self.argv = argv

    def provision(self, package: Path, *arguments: str | Path, **how: Any) -> Result:
        return self.cli("provision", package, *self._always(), *arguments, **how)

    def destroy(self, package: Path, *arguments: str | Path, **how: Any) -> Result:
        return self.cli("destroy", package, *self._always(), *arguments, **how)

    def start(self, operation: str, package: Path, *arguments: str | Path, **how: Any) -> Running:
        return self.cli.start(operation, package, *self._always(), *arguments, **how)

    def plain(
        self, package: Path, *arguments: str, env: Mapping[str, str | None] | None = None, check: bool = True
    ) -> str:
        """The engine by hand; its stdout. Fails when it fails, unless told otherwise."""
        done = subprocess.run(
            [*self.argv, *arguments],
            cwd=package,
            env=environment(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start_plain(self, package: Path, *arguments: str) -> "subprocess.Popen[bytes]":
        """The engine by hand, to go on meanwhile; in a group of its own."""
        return subprocess.Popen(
            [*self.argv, *arguments],
            cwd=package,
            env=environment({}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def outputs(self, package: Path) -> dict[str, Any]:
        """The outputs that the engine by hand sees in the package."""
        return {
            name: entry["value"] for name, entry in json.loads(self.plain(package, "output", "-json")).items()
        }

    def counted(self, directory: Path) -> "CountedEngine":
        """The engine behind a wrapper that writes down each call, to be given to `--engine`."""
        return CountedEngine(directory, self.argv)

    def _always(self) -> tuple[str, ...]:
        return ("--yes", "--json", "--engine", self.wish)


class CountedEngine:
    """A wrapper that notes the words it is called with, then becomes the real engine."""

    def __init__(self, directory: Path, argv: tuple[str, ...]) -> None:
        self.path = directory / "terraform-counted"
        self._log = directory / "calls"
        self._log.touch()
        quoted = shlex.quote(str(self._log))
        self.path.write_text(f'#!/bin/sh\nprintf \'%s\\n\' "$*" >> {quoted}\nexec {shlex.join(argv)} "$@"\n')
        os.truncate(self.path, _SIZE_OF_AN_ENGINE + 1)
        self.path.chmod(0o755)

    def calls(self) -> list[str]:
        """The commands since the last time, by their first word."""
        lines = self._log.read_text().splitlines()
        self._log.write_text("")
        return [line.split()[0] for line in lines]


def steps(result: Result) -> list[str]:
    """The engine commands that were started, in order."""
    return [event["step"] for event in result.events if event["type"] == "step_started"]


def skipped(result: Result) -> list[str]:
    """The steps that were found not to be needed."""
    return [event["step"] for event in result.events if event["type"] == "step_finished" and event["skipped"]]


def warnings(result: Result) -> list[str]:
    """The summaries of all warnings."""
    return [
        event["summary"]
        for event in result.events
        if event["type"] == "diagnostic" and event["severity"] == "warning"
    ]


def failure(result: Result) -> tuple[int, str, str]:
    """Exit code, class and sentence of a run that did not succeed."""
    ended = result.result
    assert ended["success"] is False, ended
    return result.exit_code, ended["failure"]["class"], ended["reason"]


def succeeded(result: Result) -> dict[str, Any]:
    """The result of a run that must have succeeded."""
    ended = result.result
    assert (result.exit_code, ended["status"]) == (0, "succeeded"), ended
    return ended


def names(directory: Path) -> list[str]:
    """What lies in a directory."""
    return sorted(entry.name for entry in directory.iterdir())


def read_state(file: Path) -> dict[str, Any]:
    """The outputs in a state file."""
    state = json.loads(file.read_text())
    return {name: entry["value"] for name, entry in state["outputs"].items()}
