"""What the way a process ended says about a failure: signals, crashes, and what Go prints about them (pure)."""

import signal as signals
from collections.abc import Iterator
from typing import NamedTuple

from hereya_tf.errors import FailureClass
from hereya_tf.failure.human_errors import without_colour
from hereya_tf.failure.rule import holds_one_of
from hereya_tf.failure.sentence import clipped, shortened
from hereya_tf.failure.vocabulary import MEMORY, NO_SPACE

# A shell that runs the engine answers with 128 and the signal's number; an engine has no codes there.
_SHELL_SIGNALS = range(129, 193)
_PANIC_EXIT_CODE = 11
_GO_FATAL_EXIT_CODE = 2
_SIGKILL = 9


class ProcessEnd(NamedTuple):
    """How an engine ended: its code, or the signal that ended it, and what it wrote to stderr.

    `out_of_memory`: the system has ended a process here for its memory meanwhile.
    """

    exit_code: int | None
    signal: int | None
    stderr: str
    out_of_memory: bool

    @property
    def ended_by(self) -> int | None:
        """The number of the signal that ended the engine, or the shell script that ran it."""
        if self.signal is None and self.exit_code is not None and self.exit_code in _SHELL_SIGNALS:
            return self.exit_code - 128
        return self.signal

    @property
    def was_killed(self) -> bool:
        """Whether it was SIGKILL, which is how a system ends what takes its last memory."""
        return self.ended_by == _SIGKILL


class Cause(NamedTuple):
    """A class of failure and its sentence."""

    failure_class: FailureClass
    sentence: str


def causes_of(end: ProcessEnd, engine: str) -> Iterator[Cause]:
    """What the end itself tells, if it tells anything; `engine` is the engine's name for people."""
    lines = [line.strip() for line in without_colour(clipped(end.stderr)).splitlines()]
    fatal = _first(lines, ("fatal error:", "runtime:", "SIGQUIT:"))
    panic = _first(lines, ("panic:",))
    crashed = _first(lines, ("Error: The ",), "plugin crashed!")
    plugin = crashed and crashed.removeprefix("Error: The ").removesuffix(" plugin crashed!")
    if (end.out_of_memory and end.was_killed) or _is_memory(lines):
        who = f"`{plugin}`" if plugin else engine
        yield Cause(FailureClass.OUT_OF_MEMORY, f"{who} ran out of memory")
    elif full := _no_space(lines):
        yield Cause(FailureClass.DISK_FULL, full)
    elif plugin:
        yield Cause(FailureClass.PROVIDER_CRASHED, f"`{plugin}` crashed" + (f": {panic}" if panic else ""))
    elif (
        end.exit_code == _PANIC_EXIT_CODE or "TERRAFORM CRASH" in end.stderr or "OPENTOFU CRASH" in end.stderr
    ):
        yield Cause(FailureClass.ENGINE_CRASHED, f"{engine} crashed" + (f": {panic}" if panic else ""))
    elif end.exit_code == _GO_FATAL_EXIT_CODE and fatal is not None:
        yield Cause(FailureClass.ENGINE_CRASHED, f"{engine} crashed: {fatal}")
    elif end.ended_by is not None:
        yield Cause(FailureClass.ENGINE_CRASHED, f"{engine} was ended by {_signal_name(end.ended_by)}")


def _is_memory(lines: list[str]) -> bool:
    return any(line.startswith(("fatal error:", "runtime:")) and holds_one_of(line, MEMORY) for line in lines)


def _no_space(lines: list[str]) -> str | None:
    """A line on a full disk, of the engine or of Go; not of an error in human form, which may quote others."""
    for line in lines:
        if line.removeprefix("│ ").startswith("Error: "):
            return None
        if line.lower().rstrip(".").endswith(NO_SPACE):
            return shortened(line)
    return None


def _first(lines: list[str], starts: tuple[str, ...], end: str = "") -> str | None:
    found = (line for line in lines if line.startswith(starts) and line.endswith(end))
    return next((shortened(line) for line in found), None)


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"
