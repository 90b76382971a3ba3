"""Runs `hereya-tf` as its callers do: a process of its own, judged by exit code, stdout and stderr."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).parent.parent


class Result(NamedTuple):
    """What a finished command left behind."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def events(self) -> list[dict[str, Any]]:
        """stdout as NDJSON; fails when a line of it is not a JSON object."""
        events = [json.loads(line) for line in self.stdout.split("\n") if line]
        assert all(isinstance(event, dict) for event in events), self.stdout
        return events

    @property
    def result(self) -> dict[str, Any]:
        """The last event, which must be the result."""
        assert self.stdout, f"no events; exit code {self.exit_code}, stderr: {self.stderr}"
        last = self.events[-1]
        assert last["type"] == "result", last
        return last


class Running:
    """A command that is still at work, with stdout and stderr in files."""

    def __init__(self, process: "subprocess.Popen[bytes]", stdout: Path, stderr: Path) -> None:
        self.process = process
        self.stdout_file = stdout
        self.stderr_file = stderr

    @property
    def pid(self) -> int:
        return self.process.pid

    def events(self) -> list[dict[str, Any]]:
        """The events so far; an unfinished last line is left for later."""
        *complete, _ = self.stdout_file.read_bytes().split(b"\n")
        return [json.loads(line) for line in complete if line]

    def wait_for_event(self, event_type: str, *, timeout: float = 60, **fields: Any) -> dict[str, Any]:
        """The first event of this type whose `fields` are equal; fails when the command ends without it."""
        deadline = time.monotonic() + timeout
        while True:
            ended = self.process.poll() is not None  # asked first: what was written before counts
            for event in self.events():
                if event["type"] == event_type and all(event.get(key) == fields[key] for key in fields):
                    return event
            if ended or time.monotonic() > deadline:
                raise AssertionError(f"no event {event_type} {fields}: {self._so_far()}")
            time.sleep(0.01)

    def send_signal(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def finish(self, timeout: float = 60) -> Result:
        """Wait for the end; fails (and kills) after `timeout` seconds."""
        try:
            exit_code = self.process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            self.kill()
            raise AssertionError(f"still running after {timeout} s: {self._so_far()}") from error
        return Result(exit_code, _text(self.stdout_file), _text(self.stderr_file))

    def kill(self) -> None:
        """End the command the hard way, if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def _so_far(self) -> str:
        code = self.process.returncode
        return f"exit code {code}, stdout: {_text(self.stdout_file)}, stderr: {_text(self.stderr_file)}"


class CommandLine:
    """Starts `python -m hereya_tf ARGUMENT…`; `env` is added to the environment, None takes a name out."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files = _numbered(directory)
        self._running: list[Running] = []

    def __call__(
        self,
        *arguments: str | Path,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        input: str | None = None,  # noqa: A002 - as subprocess.run has it
        timeout: float = 120,
    ) -> Result:
        """Run to the end; stdin is `input`, else empty."""
        return self.start(*arguments, env=env, cwd=cwd, input=input).finish(timeout)

    def start(
        self,
        *arguments: str | Path,
        env: Mapping[str, str | None] | None = None,
        cwd: Path | None = None,
        input: str | None = None,  # noqa: A002 - as subprocess.run has it
        **popen: Any,
    ) -> Running:
        """Start and return at once; `popen` goes to subprocess.Popen (pass_fds, start_new_session, …)."""
        base = next(self._files)
        stdout, stderr, stdin = (base.with_suffix(f".{name}") for name in ("stdout", "stderr", "stdin"))
        stdin.write_text(input or "", encoding="utf-8", newline="")
        with stdin.open("rb") as reader, stdout.open("wb") as out, stderr.open("wb") as err:
            streams = {"stdin": reader, "stdout": out, "stderr": err}
            process = subprocess.Popen(
                [sys.executable, "-m", "hereya_tf", *map(str, arguments)],
                cwd=cwd or self._directory,
                env=environment(env or {}),
                **{**streams, **popen},
            )
        running = Running(process, stdout, stderr)
        self._running.append(running)
        return running

    def close(self) -> None:
        """End what a failed test has left running, gracefully first, so that no engine is orphaned."""
        for running in self._running:
            if running.process.poll() is None:
                running.process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    running.process.wait(10)
            running.kill()


def environment(additions: Mapping[str, str | None]) -> dict[str, str]:
    """This process's environment with `additions` (None takes out), and the repository importable.

    COVERAGE_* stays, so that what runs in the child is measured too.
    """
    path = os.pathsep.join(filter(None, (str(REPOSITORY), os.environ.get("PYTHONPATH"))))
    merged = {**os.environ, "PYTHONPATH": path, **additions}
    return {name: value for name, value in merged.items() if value is not None}


def _numbered(directory: Path) -> Iterator[Path]:
    number = 0
    while True:
        number += 1
        yield directory / f"command-{number}"


def _text(file: Path) -> str:
    return file.read_bytes().decode("utf-8", "surrogateescape")
