"""Locks that are handed on first come, first served, and that last as long as the engine they protect (I/O).

A run joins a line of ticket files; the first in line takes the lock proper: flock(2) on a file whose
descriptor the engine inherits, so that the lock outlives a runner that is killed. Lock files are never
unlinked: whoever opened the old one would hold a lock that nobody else sees.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hereya_tf.errors import Busy
from hereya_tf.locks import tickets
from hereya_tf.locks.leftovers import Leftovers
from hereya_tf.locks.records import (
    EngineProcess,
    Holder,
    LockKey,
    LockKind,
    Record,
    Waiting,
    busy,
    decode,
    encode,
    read,
    remove,
    write,
)
from hereya_tf.supervision.process_table import is_alive

__all__ = [
    "EngineProcess",
    "Holder",
    "Lock",
    "LockKey",
    "LockKind",
    "LockState",
    "Waiting",
    "acquire",
    "inspect",
]

# Seconds, but for the number of tries.
_POLL_WHEN_NEXT = 0.02
_POLL = 0.04
_SETTLE_TRIES = 1000
_SETTLE = 0.002
_DOOR_PATIENCE = 2.0
# Between two runs there is a moment without a record; only a lasting one is worth a word.
_UNRECORDED = 0.3


class LockState(NamedTuple):
    """One lock as it is found; a holder of a lock that is not held is a run that died with it."""

    stem: str
    holder: Holder | None
    held: bool
    waiting: tuple[Holder | None, ...]


class _Files(NamedTuple):
    lock: Path
    record: Path
    queue: Path


class Lock:
    """A lock that is held; `fd` may be handed to a child process, which then holds it too.

    `predecessor` is who held it last and never released it: a run that died.
    """

    def __init__(
        self,
        fd: int,
        ticket: tickets.Ticket,
        record: Record,
        path: Path,
        predecessor: Holder | None = None,
    ) -> None:
        self.fd = fd
        self.predecessor = predecessor
        self._ticket = ticket
        self._record = record
        self._path = path

    def record_engine(self, engine: EngineProcess | None) -> None:
        """Write down the engine that has inherited `fd`, or None before the next one is started.

        None comes first: with the last engine still on record, a runner that dies just then leaves a new
        engine that looks like a daemon of the old one, and would be ended.
        """
        if self.fd >= 0:
            self._record = self._record._replace(holder=self._record.holder._replace(engine=engine))
            write(self._path, self._record)

    def release(self) -> None:
        """Let the next one in; a second call does nothing."""
        fd, self.fd = self.fd, -1
        if fd < 0:
            return
        # Explicitly: to close it would leave the lock with a daemon that has inherited the descriptor.
        with contextlib.suppress(OSError):
            tickets.unlock(fd)
        os.close(fd)
        remove(self._path)
        # Last: while the ticket stands, nobody who queues can have a record that this removes.
        self._ticket.withdraw()


def acquire(
    directory: Path,
    key: LockKey,
    holder: Holder,
    *,
    deadline: float | None,
    pause: Callable[[float], None],
    on_waiting: Callable[[Waiting], None],
    clock: Callable[[], float] = time.monotonic,
) -> Lock:
    """Wait in line for a lock and take it.

    `deadline` is a time of `clock` in seconds; None waits for ever, one that has passed tries once. `pause`
    gets seconds; what it or `on_waiting` raises passes through and leaves nothing behind. `on_waiting` is
    called when the wait begins and with every change of place or holder. Raises Busy at the deadline, OSError
    when the directory cannot be used.
    """
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    attempt = _Attempt(_files(directory, key.stem), key, holder, deadline, pause, on_waiting, clock)
    ticket = tickets.take(attempt.files.queue, encode(Record(holder)), wait=attempt.wait_at_door)
    try:
        attempt.wait_in_line(ticket.number)
        fd = attempt.take_lock_proper()
    except BaseException:
        ticket.withdraw()
        raise
    left = read(attempt.files.record)
    record = Record(holder, ticket.number)
    write(attempt.files.record, record)
    return Lock(fd, ticket, record, attempt.files.record, left and left.holder)


def inspect(directory: Path) -> tuple[LockState, ...]:
    """Every lock that was ever taken here, by name; waits for nobody and takes nothing away.

    Raises OSError when the directory cannot be read.
    """
    with contextlib.suppress(FileNotFoundError):
        return tuple(
            _state(directory, path.stem) for path in sorted(directory.iterdir()) if path.suffix == ".lock"
        )
    return ()


class _Attempt:
    """One call of `acquire`: what it was asked for, and what it has told about its wait."""

    def __init__(
        self,
        files: _Files,
        key: LockKey,
        holder: Holder,
        deadline: float | None,
        pause: Callable[[float], None],
        on_waiting: Callable[[Waiting], None],
        clock: Callable[[], float],
    ) -> None:
        self.files = files
        self._key = key
        self._host = holder.host
        self._deadline = deadline
        self._pause = pause
        self._on_waiting = on_waiting
        self._clock = clock
        self._began = clock()
        self._told: Waiting | None = None
        self._recorded = self._began
        self._leftovers = Leftovers(files.lock, host=holder.host, now=self._began)

    def wait_at_door(self) -> None:
        """Others are joining the line, for microseconds: even who will not wait in it waits for that."""
        patience = self._began + _DOOR_PATIENCE
        deadline = None if self._deadline is None else max(self._deadline, patience)
        if deadline is not None and self._clock() >= deadline:
            raise self._busy(Waiting(len(tickets.numbers(self.files.queue)) + 1, self._holder()))
        self._pause(_SETTLE)

    def wait_in_line(self, number: int) -> None:
        """Return when no living ticket is ahead."""
        line = tickets.Line(self.files.queue, number)
        try:
            while ahead := line.ahead():
                self._wait(ahead)
        finally:
            line.close()

    def take_lock_proper(self) -> int:
        """The first in line takes the lock itself; it may still be with an engine whose runner has died."""
        for _ in range(_SETTLE_TRIES):
            descriptor = _try_lock(self.files.lock)
            if descriptor is not None:
                return descriptor
            if _is_locked(self.files.lock):
                break
            # Only `inspect` looks in with a shared lock: for microseconds, or longer on a busy machine.
            self._pause(_SETTLE)
        self._wait(())
        while True:
            self._wait_with_filelock()
            # Filelock's descriptor is not for keeping: it unlocks explicitly when the interpreter ends, also
            # after an unhandled exception, with the engine still at work (measured with 4.3.1).
            descriptor = _try_lock(self.files.lock)
            if descriptor is not None:
                return descriptor

    def _wait_with_filelock(self) -> None:
        # 27 ms to import, for the rare lock that is held by nobody in line.
        import filelock

        def look() -> bool:
            self._wait(())
            return False

        lock = filelock.FileLock(
            self.files.lock, mode=0o600, thread_local=False, fallback_to_soft=False, preserve_lock_file=True
        )
        # `look` does the waiting, in small pauses that can be cancelled.
        lock.acquire(timeout=-1, poll_interval=0.001, cancel_check=look)
        lock.release()

    def _wait(self, ahead: tuple[int, ...]) -> None:
        record = read(self.files.record)
        waiting = Waiting(_position(ahead, record), record and record.holder)
        now = self._clock()
        if self._deadline is not None and now >= self._deadline:
            raise self._busy(waiting)
        self._tell(waiting, now)
        if not ahead:
            self._leftovers.look(record, now, self._pause)
        poll = _POLL_WHEN_NEXT if waiting.position == 1 else _POLL
        self._pause(poll if self._deadline is None else min(poll, self._deadline - now))

    def _tell(self, waiting: Waiting, now: float) -> None:
        if waiting.holder is not None:
            self._recorded = now
        passing = self._told is not None and waiting.holder is None and now - self._recorded < _UNRECORDED
        if waiting != self._told and not passing:
            self._told = waiting
            self._on_waiting(waiting)

    def _holder(self) -> Holder | None:
        record = read(self.files.record)
        return record and record.holder

    def _busy(self, waiting: Waiting) -> Busy:
        holder = waiting.holder
        died = holder is not None and holder.host == self._host and not is_alive(holder.process)
        return busy(self._key, waiting, runner_died=died, now=time.time())


def _position(ahead: tuple[int, ...], record: Record | None) -> int:
    """The place in line behind these tickets; the holder's own ticket, when it stands, is not a place."""
    if record is None:
        return max(1, len(ahead))
    return 1 + sum(number != record.ticket for number in ahead)


def _try_lock(path: Path) -> int | None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    taken = False
    try:
        taken = tickets.lock_alone(descriptor)
    finally:
        if not taken:
            os.close(descriptor)
    return descriptor if taken else None


def _state(directory: Path, stem: str) -> LockState:
    files = _files(directory, stem)
    record = read(files.record)
    living = {
        number: content
        for number in tickets.numbers(files.queue)
        if (content := tickets.read_living(files.queue, number)) is not None
    }
    held = (record is not None and record.ticket in living) or _is_locked(files.lock)
    if record is not None:
        living.pop(record.ticket, None)
    elif held and living:
        # A full disk has swallowed the record: the first in line is most likely the holder.
        record = decode(living.pop(min(living)))
    waiting = tuple(waiter and waiter.holder for waiter in map(decode, living.values()))
    return LockState(stem, record and record.holder, held, waiting)


def _is_locked(path: Path) -> bool:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        return not tickets.lock_shared(descriptor)
    finally:
        os.close(descriptor)


def _files(directory: Path, stem: str) -> _Files:
    return _Files(
        lock=directory / f"{stem}.lock", record=directory / f"{stem}.json", queue=directory / f"{stem}.queue"
    )
