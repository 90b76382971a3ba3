"""One request to end a run, whoever makes it: a signal, a limit, another command, the caller.

Waiting and being interrupted are one thing here: every wait of a run goes through `Interrupt.wait`,
so none outlives the request or the run's time limit.
"""

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from hereya_tf.durations import format_duration
from hereya_tf.errors import Cancelled, HereyaError, Idle, TimedOut

# A shell, a terminal and a wrapper may each pass on the same Ctrl-C; a person's second one comes later.
SAME_KEYPRESS_SECONDS = 0.5


class Reason(StrEnum):
    """Why a run is to end early."""

    SIGNAL = "signal"
    TIMEOUT = "timeout"
    IDLE = "idle"
    REQUEST = "request"


class Request(NamedTuple):
    """The first request to end; later ones do not change it."""

    reason: Reason
    signal: int | None
    at: float


class Interrupt:
    """A run's token of cancellation, with its time limit; any thread may ask, the run waits on it."""

    def __init__(self, *, timeout: float | None = None, idle_timeout: float | None = None) -> None:
        self.deadline = None if timeout is None else time.monotonic() + timeout
        self.timeout = timeout
        self.idle_timeout = idle_timeout
        self.request: Request | None = None
        self.insisted = False
        self._first_keypress: float | None = None
        # `runs cancel` leaves a note and then sends a signal: whether such a note is there.
        self.cancel_requested: Callable[[], bool] = lambda: False
        self._wake_reader, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        os.set_blocking(self._wake_reader, False)

    def ask(self, reason: Reason, signal_number: int | None = None) -> None:
        """Ask the run to end; a second Ctrl-C of the user's is the wish not to wait any longer."""
        now = time.monotonic()
        if reason is Reason.SIGNAL and self.request is None and self.cancel_requested():
            reason, signal_number = Reason.REQUEST, None
        # No lock here: this runs inside a signal handler, on top of whatever the main thread holds.
        if self.request is None:
            self.request = Request(reason, signal_number, now)
        if signal_number == signal.SIGINT:
            if self._first_keypress is None:
                self._first_keypress = now
            elif now - self._first_keypress > SAME_KEYPRESS_SECONDS:
                self.insisted = True
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake_writer, b"!")

    def asked(self) -> Request | None:
        """The request to end, if there is one; notices by itself that the time limit has passed."""
        if self.request is None and self.deadline is not None and time.monotonic() >= self.deadline:
            self.ask(Reason.TIMEOUT)
        return self.request

    def wait(self, seconds: float, *descriptors: int) -> None:
        """Wait for at most `seconds`, less when somebody asks, the limit passes or a descriptor is readable."""
        if self.deadline is not None and self.request is None:
            seconds = min(seconds, self.deadline - time.monotonic())
        poll = select.poll()  # not select(): it refuses descriptors over 1,023
        for descriptor in (self._wake_reader, *descriptors):
            poll.register(descriptor, select.POLLIN)
        readable = dict(poll.poll(max(0.0, seconds) * 1000))
        if self._wake_reader in readable:
            with contextlib.suppress(BlockingIOError):
                os.read(self._wake_reader, 64)

    def check(self) -> None:
        """Raise the error that fits, if the run has been asked to end."""
        if self.asked() is not None:
            raise self.error()

    def error(self) -> HereyaError:
        """What the request means for the run's outcome."""
        request = self.request
        assert request is not None
        if request.reason is Reason.TIMEOUT:
            return TimedOut(
                f"the run did not end within `--timeout {format_duration(self.timeout or 0)}`",
                "raise `--timeout`, or look at `hereya-tf runs log last` for what took the time",
            )
        if request.reason is Reason.IDLE:
            return Idle(
                f"the engine said nothing for `--idle-timeout {format_duration(self.idle_timeout or 0)}`",
                "raise `--idle-timeout` if a resource of this package is silent for that long",
            )
        if request.reason is Reason.REQUEST:
            return Cancelled("the run was cancelled on request")
        number = request.signal or signal.SIGINT
        return Cancelled(f"the run was cancelled by {signal.Signals(number).name}", exit_code=128 + number)


@contextlib.contextmanager
def signals_ask(interrupt: Interrupt) -> Iterator[None]:
    """Turn SIGINT, SIGTERM and SIGHUP into requests while the block runs.

    A SIGHUP that was ignored when we started stays ignored (`nohup`). SIGINT does not: a shell without job
    control ignores it for its background jobs, and `kill -INT` must still cancel, as it does Terraform.
    """
    previous = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            previous[number] = signal.signal(
                number, lambda received, _frame: interrupt.ask(Reason.SIGNAL, received)
            )
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
