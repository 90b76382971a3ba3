"""Runs one engine command to its end (I/O).

The engine writes to files that we tail: with pipes a runner that is killed takes Terraform with it by
SIGPIPE in the middle of an apply, and a reader that stalls blocks it. It has a session of its own, so that
a terminal's Ctrl-C reaches it once, from us; its stdin is /dev/null, so that nothing can wait for an answer.
"""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hereya_tf.supervision.flow import Flow
from hereya_tf.supervision.interrupt import Interrupt, Reason
from hereya_tf.supervision.patience import Asked, Move, next_move
from hereya_tf.supervision.process_table import (
    ProcessIdentity,
    end_group,
    group_lives,
    identify,
    is_our_child,
)

POLL_SECONDS = 0.02
HEARTBEAT_SECONDS = 10.0
SURVIVOR_GRACE_SECONDS = 2.0
# After SIGKILL the kernel needs no patience; a process in uninterruptible sleep would need for ever.
REAP_SECONDS = 10.0
# Small enough to look up between two pieces: half a mebibyte of two-letter lines would keep us for seconds.
CHUNK_BYTES = 1 << 16
# A flood may be hours ahead of us when the engine is made to end; who asked for the end waits no longer.
HEAR_OUT_SECONDS = 10.0
LAST_WORDS_BYTES = 1 << 20


class Command(NamedTuple):
    """What to start, where, and with which environment."""

    argv: tuple[str, ...]
    directory: Path
    environment: Mapping[str, str]


class Exit(NamedTuple):
    """How a command ended: a code, or the signal that ended it; `insisted` when it was interrupted twice.

    `left_behind`: processes that it had started outlived it, and were ended.
    """

    code: int | None
    signal: int | None
    seconds: float
    insisted: bool
    left_behind: bool = False


class Watcher(NamedTuple):
    """What the caller wants to know while a command runs, and what it knows about it."""

    started: Callable[[ProcessIdentity], None]
    stdout: Callable[[bytes], None]
    stderr: Callable[[bytes], None]
    heartbeat: Callable[[float], None]
    cancelling: Callable[[Move], None]
    mutating: Callable[[], bool]
    idle: Callable[[], None]


class Tail:
    """Reads what has been appended to a file that somebody else writes."""

    def __init__(self, file: BinaryIO) -> None:
        self._descriptor = file.fileno()
        self.offset = 0

    def read(self) -> bytes:
        """What is new since the last call, at most a piece of it."""
        chunk = os.pread(self._descriptor, CHUNK_BYTES, self.offset)
        self.offset += len(chunk)
        return chunk

    def rest_of_line(self) -> bytes:
        """What is new as far as the next line break; nothing when there is none in a piece."""
        head, line_break, _ = os.pread(self._descriptor, CHUNK_BYTES, self.offset).partition(b"\n")
        if not line_break:
            return b""
        self.offset += len(head) + 1
        return head + line_break

    def skip(self, offset: int) -> int:
        """Leave out what is there up to the first line that begins at `offset` or later; returns its bytes."""
        began = self.offset
        if began < offset:
            self.offset = offset - 1  # a line break just before `offset` will do
            while not self.rest_of_line() and self.read():
                pass
        return self.offset - began

    def size(self) -> int:
        """Bytes that the file has now."""
        return os.fstat(self._descriptor).st_size


def run_command(
    command: Command,
    *,
    stdout: BinaryIO | Flow,
    stderr: BinaryIO | Flow,
    pass_fds: tuple[int, ...],
    interrupt: Interrupt,
    grace: float,
    watcher: Watcher,
    clock: Callable[[], float] = time.monotonic,
    stdin: BinaryIO | int = subprocess.DEVNULL,
) -> Exit:
    """Run `command` to its end and tell `watcher` what it says, within 50 ms of its saying so.

    `stdout` and `stderr` are files open for appending and reading, or pipes; `grace` is in seconds, of `clock`.
    Raises OSError when the command cannot be started, and what `watcher` raises, once the engine has ended.
    Whatever else stands in the engine's process group is ended.
    """
    began = clock()
    process = subprocess.Popen(
        command.argv,
        cwd=command.directory,
        env=command.environment,
        stdin=stdin,
        stdout=stdout.fileno() if isinstance(stdout, Flow) else stdout,
        stderr=stderr.fileno() if isinstance(stderr, Flow) else stderr,
        start_new_session=True,
        pass_fds=pass_fds,
    )
    tails = (_reader(stdout), _reader(stderr))
    supervised = _Supervised(process, interrupt, grace, watcher, tails, clock, began)
    try:
        supervised.follow()
    except BaseException:
        supervised.abandon()
        raise
    finally:
        supervised.close()
    code = process.returncode
    seconds = clock() - began
    signal_number = -code if code < 0 else None
    return Exit(
        None if code < 0 else code, signal_number, seconds, supervised.insisted, supervised.left_behind
    )


class _Supervised:
    """One running engine: tails, heartbeats, limits and signals in a single loop."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        interrupt: Interrupt,
        grace: float,
        watcher: Watcher,
        tails: tuple[Tail | Flow, Tail | Flow],
        clock: Callable[[], float],
        began: float,
    ) -> None:
        self._process = process
        self._interrupt = interrupt
        self._grace = grace
        self._watcher = watcher
        self._streams = ((tails[0], watcher.stdout), (tails[1], watcher.stderr))
        self._clock = clock
        self._began = began
        self._asked = Asked()
        self._is_clean = False
        self.left_behind = False
        self._heard_at = began
        # False for anything that is not a child of ours: signals to a group are for real children only.
        self._real = is_our_child(process.pid)
        self._exit_descriptor = exit_descriptor(process.pid) if self._real else None

    @property
    def insisted(self) -> bool:
        """Whether the engine has been interrupted a second time, or killed."""
        return self._asked.insisted_at is not None

    def follow(self) -> None:
        """Until the engine has ended and everything it said has been passed on."""
        if identity := (identify(self._process.pid) if self._real else None):
            self._watcher.started(identity)
        beat_at = self._began + HEARTBEAT_SECONDS
        descriptors = [tail.descriptor for tail, _ in self._streams if isinstance(tail, Flow)]
        descriptors += () if self._exit_descriptor is None else (self._exit_descriptor,)
        while not self._ended():
            # An engine that says more than we can take must not keep us from minding the limits.
            if not self._listen():
                self._interrupt.wait(POLL_SECONDS, *descriptors)
            self._watcher.idle()
            now = self._clock()
            self._mind_limits(now)
            if now >= beat_at:
                self._watcher.heartbeat(now - self._began)
                beat_at = now + HEARTBEAT_SECONDS
        self._listen()
        # Only what may have been meant to stay is worth a look at every process there is.
        self.left_behind = self._real and self._watcher.mutating() and group_lives(self._process.pid)
        self._clean_up(self._linger)
        self._hear_out()

    def abandon(self) -> None:
        """Something in the runner itself failed: ask the engine to end as for any interrupt, and wait for it."""
        self._interrupt.ask(Reason.REQUEST)
        # Whoever failed is not asked again; and as nobody listens any more, resources may change any time.
        self._watcher = self._watcher._replace(cancelling=lambda _move: None, mutating=lambda: True)
        while not self._ended():
            self._interrupt.wait(POLL_SECONDS)
            self._mind_limits(self._clock())
        self._clean_up(time.sleep)

    def close(self) -> None:
        if self._exit_descriptor is not None:
            os.close(self._exit_descriptor)

    def _listen(self) -> bool:
        """Pass on what is new, at most a piece of each stream; returns whether there was anything."""
        heard = False
        for tail, tell in self._streams:
            if chunk := tail.read():
                heard = True
                self._heard_at = self._clock()
                tell(chunk)
        return heard

    def _hear_out(self) -> None:
        """Pass on what is left; of a flood whose end somebody waits for only the last words."""
        late_at = self._clock() + HEAR_OUT_SECONDS
        for tail, tell in self._streams:
            # Not to the end of the file: a daemon that has got away from the group may write on for ever.
            end = tail.size()
            while tail.offset < end and (chunk := tail.read()):
                tell(chunk)
                late = self._clock() >= late_at and self._interrupt.asked() is not None
                if late and isinstance(tail, Tail):
                    _skip_to_last_words(tail, tell, end)

    def _mind_limits(self, now: float) -> None:
        idle = self._interrupt.idle_timeout
        if idle is not None and now - self._heard_at >= idle:
            self._interrupt.ask(Reason.IDLE)
        move = next_move(
            self._asked,
            now=now,
            wanted=self._interrupt.asked() is not None,
            user_insists=self._interrupt.insisted,
            mutating=self._watcher.mutating(),
            grace=self._grace,
        )
        match move:
            case Move.ASK:
                self._asked = self._asked._replace(asked_at=now)
            case Move.INSIST:
                self._asked = self._asked._replace(insisted_at=now)
            case Move.KILL:
                self._asked = self._asked._replace(killed_at=now)
            case Move.NOTHING:
                return
        self._send(move)
        # After the signal: what is told takes time, and whoever asked may have given us little.
        self._watcher.cancelling(move)

    def _send(self, move: Move) -> None:
        number = signal.SIGKILL if move is Move.KILL else signal.SIGINT
        if not self._real:
            self._process.send_signal(number)
            return
        # macOS refuses to signal a zombie, and the engine may have ended a moment ago.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if move is Move.KILL:
                os.killpg(self._process.pid, number)
            else:
                # To the pid alone: a SIGINT to the group as well would be two interrupts to the engine.
                # Not Popen.send_signal: it reaps the child, and the group's number is free from then on.
                os.kill(self._process.pid, number)

    def _ended(self) -> bool:
        # waitid came to Python on macOS with 3.13, and knows nothing of a child that was waited for.
        if not self._real or self._is_clean or not hasattr(os, "waitid"):
            return self._process.poll() is not None
        # WNOWAIT keeps the zombie, and with it the group's number, until the group has been cleaned.
        return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _linger(self, seconds: float) -> None:
        """A pause at the end: what the engine has said is heard, and time passes on the screen."""
        time.sleep(seconds)
        self._listen()
        self._watcher.idle()

    def _clean_up(self, pause: Callable[[float], None]) -> None:
        """Wait for the engine that has ended, and end what it has left in its group."""
        if self._is_clean:
            return
        if self._real:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(REAP_SECONDS)
        if self._real:
            end_group(self._process.pid, grace=SURVIVOR_GRACE_SECONDS, pause=pause)
        self._is_clean = True


def _reader(stream: BinaryIO | Flow) -> Tail | Flow:
    return stream if isinstance(stream, Flow) else Tail(stream)


def _skip_to_last_words(tail: Tail, tell: Callable[[bytes], None], end: int) -> None:
    # Whole lines only: of a secret that is cut in two neither part would be recognised.
    if tail.offset < end - LAST_WORDS_BYTES and (line_end := tail.rest_of_line()):
        tell(line_end)
        tell(b"[%d bytes are left out here]\n" % tail.skip(end - LAST_WORDS_BYTES))


def exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where the system has one (Linux)."""
    if not hasattr(os, "pidfd_open"):
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
