"""Runs one git command to its end, within its time (I/O)."""

import os
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hereya_tf.checkouts.errors import CheckoutFailed, CheckoutTimedOut, GitUnusable, RefusedPackage, as_part
from hereya_tf.checkouts.git_words import Report, read_report
from hereya_tf.durations import format_duration
from hereya_tf.private import nameless_file, open_private
from hereya_tf.supervision.process_table import end_group

OLDEST = (2, 31)
"""The version that first takes settings from GIT_CONFIG_COUNT; older ones would run without them."""

_POLL = 0.05  # seconds
_GRACE = 3.0  # seconds
_MOST_OUTPUT = 64 * 1024 * 1024  # bytes
_MOST_TRACE = 4 * 1024 * 1024  # bytes
_GET_GIT = f"install git {'.'.join(map(str, OLDEST))} or newer"


class Answer(NamedTuple):
    """How a git command ended, what it wrote on stdout, and what it reported."""

    code: int
    output: bytes
    report: Report


class Git:
    """Runs git in one environment; `pause(seconds)` waits, is called all the time, and may raise to end it."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        seconds: float,
        pause: Callable[[float], None],
        hide: Callable[[str], str],
        clock: Callable[[], float] = time.monotonic,
        program: str = "git",
    ) -> None:
        self.hide = hide
        self._environment = environment
        self._seconds = seconds
        self._pause = pause
        self._clock = clock
        self._program = program
        self._is_checked = False

    def run(
        self,
        arguments: tuple[str, ...],
        *,
        directory: Path,
        trace: Path,
        git_directory: Path | None = None,
        work_tree: Path | None = None,
        keep: tuple[int, ...] = (),
        watch: Callable[[], None] = lambda: None,
    ) -> Answer:
        """Run `git ARGUMENTS` in `directory`, which inherits the descriptors `keep`.

        `trace` is a file for its reports. `watch()` is called several times a second, and may raise to end it.
        Raises CheckoutTimedOut, GitUnusable, RefusedPackage when there is no end to what it says, OSError, and
        what `pause` and `watch` raise; nothing that git started runs on then.
        """
        self._check()
        environment = {**self._environment, "GIT_TRACE2_EVENT": str(trace)}
        if git_directory is not None:
            environment["GIT_DIR"] = str(git_directory)
        if work_tree is not None:
            environment["GIT_WORK_TREE"] = str(work_tree)
        with open_private(trace, truncate=True) as reports, nameless_file() as out, nameless_file() as err:
            process = self._start(arguments, directory, environment, keep, out, err)
            self._await(process, f"git {arguments[0]}", (out, err, reports), watch)
            report = read_report(_content(reports, _MOST_TRACE), _content(err, _MOST_TRACE))
            return Answer(process.returncode, _content(out, _MOST_OUTPUT), report)

    def failure(self, answer: Answer, what: str) -> CheckoutFailed:
        """The error for a command whose failure has no name of its own."""
        said = as_part(self.hide(answer.report.last_words))
        return CheckoutFailed(f"{what}: git says: {said}")

    def _start(
        self,
        arguments: tuple[str, ...],
        directory: Path,
        environment: Mapping[str, str],
        keep: tuple[int, ...],
        out: BinaryIO,
        err: BinaryIO,
    ) -> "subprocess.Popen[bytes]":
        try:
            # Own session: Ctrl-C is ours to act on, and a group is ended as a whole.
            return subprocess.Popen(
                (self._program, *arguments),
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
                pass_fds=keep,
            )
        except FileNotFoundError as error:
            if str(error.filename) == str(directory):
                raise
            raise GitUnusable("there is no `git` on this machine", _GET_GIT) from error
        except PermissionError as error:
            raise GitUnusable(f"`git` cannot be started: {error.strerror}", _GET_GIT) from error

    def _await(
        self,
        process: "subprocess.Popen[bytes]",
        shown: str,
        files: tuple[BinaryIO, ...],
        watch: Callable[[], None],
    ) -> None:
        began = self._clock()
        try:
            while True:
                try:
                    process.wait(_POLL)
                except subprocess.TimeoutExpired:
                    pass
                else:
                    break
                if self._clock() - began >= self._seconds:
                    raise CheckoutTimedOut(
                        f"`{shown}` did not end within {format_duration(self._seconds)}",
                        "try again, or allow it more time",
                    )
                if any(os.fstat(file.fileno()).st_size > _MOST_OUTPUT for file in files):
                    raise RefusedPackage(f"`{shown}` has more to say than any package would need")
                watch()
                self._pause(0.0)
        except BaseException:
            end_group(process.pid, grace=_GRACE, pause=time.sleep)
            process.wait()
            raise

    def _check(self) -> None:
        if self._is_checked:
            return
        with nameless_file() as out, nameless_file() as err:
            process = self._start(("version",), Path(os.sep), self._environment, (), out, err)
            self._await(process, "git version", (out, err), lambda: None)
            said = _content(out, 1000).decode("utf-8", "replace")
        version = _version(said)
        if version is None or version < OLDEST:
            raise GitUnusable(f"`{as_part(said)}` is too old", _GET_GIT)
        self._is_checked = True


def _version(said: str) -> tuple[int, ...] | None:
    """The numbers of `git version 2.39.5 (Apple Git-154)`; None when it does not say that."""
    words = said.split()
    numbers = words[2].split(".")[:2] if words[:2] == ["git", "version"] and len(words) > 2 else []
    return tuple(map(int, numbers)) if len(numbers) == 2 and all(map(str.isdecimal, numbers)) else None


def _content(file: BinaryIO, most: int) -> bytes:
    pieces, at = [], 0
    while at < most and (piece := os.pread(file.fileno(), min(1 << 20, most - at), at)):
        pieces.append(piece)
        at += len(piece)
    return b"".join(pieces)
