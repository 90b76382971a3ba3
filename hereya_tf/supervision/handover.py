"""Gives one engine command our terminal and our three streams, and waits for its end (I/O).

The engine stands in our own process group, so that the terminal's Ctrl-C and Ctrl-Z, `fg` and `bg` reach it
as they would without us. A signal that was sent to us alone is passed on as one SIGINT. Which of the two it
was, the signal does not say; but what reaches the engine through the group reaches a witness there as well.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from hereya_tf.supervision.interrupt import SAME_KEYPRESS_SECONDS, Interrupt, Reason
from hereya_tf.supervision.patience import Asked, Move, next_move
from hereya_tf.supervision.process import POLL_SECONDS, Command, Exit, exit_descriptor
from hereya_tf.supervision.process_table import ProcessIdentity, identify

TICK_SECONDS = 1.0
# Reads its stdin, which ends with us however we end, and dies of what asks it to end.
_WITNESS_SCRIPT = "trap '' QUIT; read nothing"


def hand_over(
    command: Command,
    *,
    pass_fds: tuple[int, ...],
    interrupt: Interrupt,
    grace: float,
    started: Callable[[ProcessIdentity], None],
    tick: Callable[[], None],
    clock: Callable[[], float] = time.monotonic,
    shell: str = "/bin/sh",
) -> Exit:
    """Run `command` on our descriptors 0, 1 and 2, in our process group, to its end.

    `grace` is in seconds, of `clock`; `tick` is called at least once a second. Belongs to the main thread: it
    takes over SIGINT, SIGTERM, SIGHUP and SIGQUIT meanwhile. A signal that the whole group got is no request
    to us, and asks `interrupt` only once the engine has ended. What the engine leaves behind is left alone,
    for its group is ours. Raises OSError when the command cannot be started, the interrupt's error when the
    run is to end already, and what `started` and `tick` raise, once the engine has ended.
    """
    began = clock()
    with _arriving_signals() as arrivals, _Witness(shell) as witness:
        for number in arrivals.take():
            interrupt.ask(Reason.SIGNAL, number)
        interrupt.check()
        process = subprocess.Popen(
            command.argv, cwd=command.directory, env=command.environment, pass_fds=pass_fds
        )
        handed = _HandedOver(process, interrupt, grace, tick, arrivals, witness, clock)
        try:
            if identity := identify(process.pid):
                started(identity)
            handed.follow()
        except BaseException:
            handed.abandon()
            raise
        finally:
            handed.close()
    code = process.returncode
    seconds = clock() - began
    return Exit(None if code < 0 else code, -code if code < 0 else None, seconds, handed.insisted)


class _Signal(NamedTuple):
    number: int
    at: float


class _Arrivals:
    """The signals that have come and were not judged yet; `descriptor` is readable when there are any."""

    def __init__(self) -> None:
        self.signals: list[_Signal] = []
        self.descriptor, self._writer = os.pipe()
        for end in (self.descriptor, self._writer):
            os.set_blocking(end, False)

    def note(self, number: int) -> None:
        self.signals.append(_Signal(number, time.monotonic()))
        with contextlib.suppress(BlockingIOError):
            os.write(self._writer, b"!")

    def hush(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self.descriptor, 64)

    def take(self) -> tuple[int, ...]:
        """The numbers of those that have come, once; SIGQUIT asks nothing of us."""
        taken, self.signals = self.signals, []
        return tuple(came.number for came in taken if came.number != signal.SIGQUIT)

    def close(self) -> None:
        os.close(self.descriptor)
        os.close(self._writer)


@contextlib.contextmanager
def _arriving_signals() -> Iterator[_Arrivals]:
    """Collects the signals by which others ask for an end, and SIGQUIT, while the block runs.

    SIGHUP and SIGQUIT stay ignored where they were; SIGINT does not, as in `signals_ask`. SIGQUIT is the
    engine's to answer, by a dump of its threads: we have records to finish.
    """
    arrivals = _Arrivals()
    previous = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        may_be_ignored = number in (signal.SIGHUP, signal.SIGQUIT)
        if not may_be_ignored or signal.getsignal(number) is not signal.SIG_IGN:
            previous[number] = signal.signal(number, lambda received, _frame: arrivals.note(received))
    try:
        yield arrivals
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
        arrivals.close()


class _Witness:
    """A process of our group that any of those signals ends: it tells whether the engine got one as well.

    A terminal's Ctrl-C, `kill %1` and timeout(1) signal the group, `kill PID` and `runs cancel` us alone.
    """

    def __init__(self, shell: str) -> None:
        self._shell = shell
        self._process = self._call()

    def __enter__(self) -> "_Witness":
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss(self._process)

    @property
    def is_gone(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def heard(self, signals: Sequence[_Signal]) -> bool:
        """Whether the group, and not we alone, has got one of these signals since the last time."""
        # The new one first: what comes between the two belongs to the next question, and is not missed there.
        process, self._process = self._process, self._call()
        if process is None:
            return all(came.number == signal.SIGINT for came in signals) and _is_in_foreground()
        heard = process.poll() is not None
        self._dismiss(process)
        return heard

    def _call(self) -> "subprocess.Popen[bytes] | None":
        try:
            return subprocess.Popen(
                (self._shell, "-c", _WITNESS_SCRIPT),
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError:  # a container without a shell
            return None

    @staticmethod
    def _dismiss(process: "subprocess.Popen[bytes] | None") -> None:
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()


def _is_in_foreground() -> bool:
    """Whether our group is the one that the terminal's keys reach."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


class _HandedOver:
    """One running engine that has our streams; only what others ask of us is our business."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        interrupt: Interrupt,
        grace: float,
        tick: Callable[[], None],
        arrivals: _Arrivals,
        witness: _Witness,
        clock: Callable[[], float],
    ) -> None:
        self._process = process
        self._interrupt = interrupt
        self._grace = grace
        self._tick = tick
        self._arrivals = arrivals
        self._witness = witness
        self._clock = clock
        self._asked = Asked()
        # The signal that the engine has got by itself, through the group.
        self._got: int | None = None
        self._exit_descriptor = exit_descriptor(process.pid)

    @property
    def insisted(self) -> bool:
        """Whether the engine was interrupted a second time, or killed."""
        return self._asked.insisted_at is not None

    def follow(self) -> None:
        """Until the engine has ended."""
        while self._process.poll() is None:
            self._wait()
            self._tick()
            self._mind_signals()
            self._mind_requests()
        self._settle()

    def abandon(self) -> None:
        """Something in the runner itself failed: ask the engine to end as for any request, and wait for it."""
        self._interrupt.ask(Reason.REQUEST)
        self._tick = lambda: None
        self.follow()

    def close(self) -> None:
        if self._exit_descriptor is not None:
            os.close(self._exit_descriptor)

    def _wait(self) -> None:
        seconds, descriptors = TICK_SECONDS, [self._arrivals.descriptor]
        if self._exit_descriptor is None:
            seconds = POLL_SECONDS
        else:
            descriptors.append(self._exit_descriptor)
        if signals := self._arrivals.signals:
            seconds = min(seconds, signals[0].at + SAME_KEYPRESS_SECONDS - time.monotonic())
        self._interrupt.wait(seconds, *descriptors)
        self._arrivals.hush()

    def _mind_signals(self) -> None:
        """Judge what has come, after the time in which a wrapper may pass on the same Ctrl-C once more."""
        # Asked first: whatever ended the whole group has come to us by then as well.
        witness_is_gone = self._witness.is_gone
        signals = self._arrivals.signals
        if not signals:
            if witness_is_gone:  # somebody has ended it alone
                self._witness.heard(signals)
            return
        if time.monotonic() - signals[0].at < SAME_KEYPRESS_SECONDS:
            return
        heard = self._witness.heard(signals)
        numbers = self._arrivals.take()
        if not numbers:
            return
        if not heard:
            self._interrupt.ask(Reason.SIGNAL, numbers[0])
        elif self._asked.asked_at is not None and self._asked.insisted_at is None:
            self._asked = self._asked._replace(insisted_at=self._clock())
        else:
            self._got = numbers[0]

    def _mind_requests(self) -> None:
        """One SIGINT for whoever asks, the second and the end in their time."""
        now = self._clock()
        move = next_move(
            self._asked,
            now=now,
            wanted=self._interrupt.asked() is not None,
            user_insists=self._interrupt.insisted,
            mutating=True,  # nobody here knows what the engine is at
            grace=self._grace,
        )
        match move:
            case Move.ASK:
                self._asked = self._asked._replace(asked_at=now)
                # One that the engine has got from the terminal was the first: another would be the second.
                if self._got is None:
                    self._send(signal.SIGINT)
            case Move.INSIST:
                self._asked = self._asked._replace(insisted_at=now)
                self._send(signal.SIGINT)
            case Move.KILL:
                self._asked = self._asked._replace(killed_at=now)
                self._send(signal.SIGKILL)
            case Move.NOTHING:
                pass

    def _send(self, number: int) -> None:
        with contextlib.suppress(PermissionError):  # an engine that somebody has wrapped into sudo
            self._process.send_signal(number)

    def _settle(self) -> None:
        """A signal that the engine got by itself is why it has ended, for our own record."""
        for number in (self._got, *self._arrivals.take()):
            if number is not None and self._interrupt.request is None:
                self._interrupt.ask(Reason.SIGNAL, number)
