"""Programs on a terminal of their own."""

import contextlib
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pexpect

from tests.command_line import environment

Start = Callable[[str, Sequence[str]], "pexpect.spawn[str]"]


@contextlib.contextmanager
def terminals(directory: Path, **variables: str) -> Iterator[Start]:
    """Starts programs in `directory`, each on a terminal of 40 by 200; they are ended with the block."""
    started: list[pexpect.spawn[str]] = []

    def start(program: str, words: Sequence[str]) -> "pexpect.spawn[str]":
        with warnings.catch_warnings():
            # forkpty() in a process with threads: the child calls exec() at once.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = pexpect.spawn(
                program,
                list(words),
                env=environment({"TERM": "xterm", **variables}),
                cwd=str(directory),
                timeout=60,
                encoding="utf-8",
                codec_errors="replace",
                dimensions=(40, 200),
            )
        started.append(child)
        return child

    yield start
    for child in started:
        child.close(force=True)


def ended(child: "pexpect.spawn[str]") -> tuple[int | None, str]:
    """The exit code, and what the terminal has shown since the last `expect`, without colours."""
    child.expect(pexpect.EOF)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", str(child.before)).replace("\r\n", "\n")
    child.close()
    return child.exitstatus, shown
