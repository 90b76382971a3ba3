"""Answers a `resolve-env` job: asks the environment, files and the operator's commands (I/O)."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, assert_never

from hereya_tf.control_plane.results import Failed, Result, Succeeded
from hereya_tf.errors import BadInput
from hereya_tf.executor.environment import job_environment
from hereya_tf.executor.payloads import Refusal, ResolveEnvJob
from hereya_tf.executor.references import (
    FromCommand,
    FromFile,
    FromVariable,
    Literal,
    Reference,
    read_reference,
)
from hereya_tf.reading import decode_text, read_regular_file, reason

LARGEST_VALUE = 1 << 20  # bytes
# Files of the system's that tell of processes: the executor's own environment, with its token, is one of them.
_NOT_FILES = ("/proc", "/sys", "/dev")
_POLL_SECONDS = 0.05


class Resolver(NamedTuple):
    """What the operator has set up: commands by their prefixes, and where files may be (None: anywhere).

    `environment` is the executor's own, `limit_seconds` are for a whole job.
    """

    environment: Mapping[str, str]
    commands: Mapping[str, tuple[str, ...]] = {}
    directories: tuple[Path, ...] | None = None
    limit_seconds: float = 30.0


class _UnresolvedError(Exception):
    """A text whose value was not to be had; its text is why."""


def resolve_env(
    job: ResolveEnvJob, resolver: Resolver, *, is_cancelled: Callable[[], bool] = lambda: False
) -> Result:
    """The job's result: every value, or the reasons for those that are missing. Never raises for what a job says.

    Nothing is asked for as long as anything in the job is not understood.
    """
    references = {name: read_reference(name, text, resolver.commands) for name, text in job.env.items()}
    if faults := [each.reason for each in references.values() if isinstance(each, Refusal)]:
        return Failed("; ".join(faults))
    asking = _Asking(resolver, is_cancelled)
    env: dict[str, str] = {}
    for name, reference in references.items():
        assert not isinstance(reference, Refusal)
        try:
            env[name] = asking.value(reference)
        except _UnresolvedError as error:
            faults.append(f"`{name}` has no value: {error}")
    return Failed("; ".join(faults)) if faults else Succeeded(env)


class _Asking:
    """Asks for one value after the other, as long as there is time."""

    def __init__(self, resolver: Resolver, is_cancelled: Callable[[], bool]) -> None:
        self._resolver = resolver
        self._environment = job_environment(resolver.environment)
        self._is_cancelled = is_cancelled
        self._deadline = time.monotonic() + resolver.limit_seconds

    def value(self, reference: Reference) -> str:
        """Raises _UnresolvedError."""
        match reference:
            case Literal(text=text):
                return text
            case FromVariable(name=name):
                return self._variable(name)
            case FromFile(path=path):
                return self._file(path)
            case FromCommand(prefix=prefix, argv=argv):
                return self._output(argv, f"the command of `{prefix}:`")
            case _:
                assert_never(reference)

    def _variable(self, name: str) -> str:
        value = self._environment.get(name)
        if value is None:
            raise _UnresolvedError(f"the executor's jobs have no variable `{name}`")
        return _text(os.fsencode(value), f"the variable `{name}`")

    def _file(self, path: str) -> str:
        try:
            real = Path(os.path.realpath(path, strict=True))
            data = read_regular_file(real, at_most=LARGEST_VALUE + 1) if self._may_read(real) else None
        except (OSError, ValueError) as error:
            raise _UnresolvedError(f"its file cannot be read: {reason(error)}") from error
        if data is None:
            raise _UnresolvedError("its file lies where the operator does not let jobs read")
        return _without_line_end(_text(data, "its file"))

    def _may_read(self, path: Path) -> bool:
        if any(path.is_relative_to(directory) for directory in _NOT_FILES):
            return False
        allowed = self._resolver.directories
        return allowed is None or any(path.is_relative_to(os.path.realpath(each)) for each in allowed)

    def _output(self, argv: tuple[str, ...], shown: str) -> str:
        self._check(shown)
        try:
            process = subprocess.Popen(
                argv,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,  # it may hold what nobody knows to be a secret
                start_new_session=True,  # so that it ends with all that it has started
            )
        except (OSError, ValueError) as error:
            raise _UnresolvedError(f"{shown} cannot be started: {reason(error)}") from error
        try:
            data = self._read(process, shown)
        finally:
            _end(process)
        text = _text(data, shown)
        if process.returncode != 0:
            raise _UnresolvedError(f"{shown} {_how(process.returncode)}")
        return _without_line_end(text)

    def _read(self, process: "subprocess.Popen[bytes]", shown: str) -> bytes:
        """All that it prints, up to its end: that of the process, for what it leaves behind may hold the pipe."""
        assert process.stdout is not None
        data = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while len(data) <= LARGEST_VALUE:
                has_ended = _has_ended(process)  # asked first: what was printed before counts
                if selector.select(0 if has_ended else _POLL_SECONDS):
                    chunk = os.read(process.stdout.fileno(), 1 << 16)
                    if not chunk:
                        return self._wait(process, data, shown)
                    data += chunk
                elif has_ended:
                    return data
                self._check(shown)
        return data

    def _wait(self, process: "subprocess.Popen[bytes]", data: bytes, shown: str) -> bytes:
        while not _has_ended(process):
            time.sleep(_POLL_SECONDS)
            self._check(shown)
        return data

    def _check(self, shown: str) -> None:
        if self._is_cancelled():
            raise _UnresolvedError(f"the job was cancelled before {shown} has answered")
        if time.monotonic() > self._deadline:
            limit = self._resolver.limit_seconds
            raise _UnresolvedError(f"{shown} did not answer within the {limit:g} seconds that a job has")


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a command has ended; it stays a zombie, so that the number of its group is not given to others."""
    if not hasattr(os, "waitid"):  # which came to Python on macOS with 3.13
        return process.poll() is not None
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a command with its whole group; nothing waits for what it has left running."""
    if process.stdout is not None:
        process.stdout.close()
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _how(code: int) -> str:
    return f"failed with exit code {code}" if code > 0 else f"was ended by signal {-code}"


def _text(data: bytes, shown: str) -> str:
    if len(data) > LARGEST_VALUE:
        raise _UnresolvedError(f"{shown} has more than {LARGEST_VALUE >> 20} MiB")
    try:
        return decode_text(data, shown)
    except BadInput:
        raise _UnresolvedError(f"{shown} is not UTF-8 text") from None


def _without_line_end(text: str) -> str:
    return text.removesuffix("\r\n") if text.endswith("\r\n") else text.removesuffix("\n")
