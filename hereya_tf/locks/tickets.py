"""A queue of ticket files: first come, first served, and the dead leave no gap (I/O).

Each waiter holds flock(2) on a file of its own, named by its number, until it is done. The kernel drops the
lock with the process, so that whoever comes next in line can tell the living from the dead.
"""

import contextlib
import errno
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_DOOR = ".next"
_UNNUMBERED = ".new"
# Some file systems say EACCES for a lock that somebody else has.
_TAKEN = (errno.EAGAIN, errno.EACCES)


def lock_alone(descriptor: int) -> bool:
    """Take the exclusive lock without waiting; false when somebody else has it. Raises OSError otherwise."""
    return _lock(descriptor, fcntl.LOCK_EX)


def lock_shared(descriptor: int) -> bool:
    """Take a shared lock without waiting; false when somebody has it alone. Raises OSError otherwise."""
    return _lock(descriptor, fcntl.LOCK_SH)


def unlock(descriptor: int) -> None:
    """Give the lock up for every process that inherited the descriptor."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


class Ticket:
    """A place in line, kept until it is withdrawn or the process ends."""

    def __init__(self, number: int, path: Path, descriptor: int) -> None:
        self.number = number
        self._path = path
        self._descriptor = descriptor

    def withdraw(self) -> None:
        """Leave the line; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(descriptor)


class Line:
    """What is ahead of a ticket."""

    def __init__(self, queue: Path, number: int) -> None:
        self._queue = queue
        self._number = number
        self._watched = 0
        self._descriptor = -1

    def ahead(self) -> tuple[int, ...]:
        """Numbers of the tickets ahead, oldest first: the last one lives, dead ones behind it are removed."""
        while True:
            ahead = tuple(number for number in numbers(self._queue) if number < self._number)
            if not ahead or self._lives(ahead[-1]):
                return ahead

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._watched, self._descriptor = 0, -1

    def _lives(self, number: int) -> bool:
        path = _path(self._queue, number)
        if number != self._watched:
            self.close()
            try:
                self._descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            except FileNotFoundError:
                return False
            self._watched = number
        if not lock_shared(self._descriptor):
            return True
        self.close()
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        return False


def take(queue: Path, content: bytes, *, wait: Callable[[], None]) -> Ticket:
    """Join the end of the line; `wait` is called while others are joining. Raises OSError."""
    door = _open_door(queue)
    try:
        # Not a blocking flock: a process stopped right here would hold all others past their deadlines.
        while not lock_alone(door):
            wait()
        ticket = _issue(queue, content)
        unlock(door)
    finally:
        os.close(door)
    return ticket


def numbers(queue: Path) -> tuple[int, ...]:
    """Numbers of all ticket files, oldest first; dead ones may be among them."""
    try:
        with os.scandir(queue) as entries:
            return tuple(sorted(int(entry.name) for entry in entries if entry.name.isdecimal()))
    except FileNotFoundError:
        return ()


def read_living(queue: Path, number: int) -> bytes | None:
    """What a ticket says, None when nobody holds it (any more). Never disturbs its holder."""
    try:
        descriptor = os.open(_path(queue, number), os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        return None if lock_shared(descriptor) else os.read(descriptor, 65536)
    finally:
        os.close(descriptor)


def _issue(queue: Path, content: bytes) -> Ticket:
    # Microseconds, so that a number does not come again when the line was empty in between.
    number = max((time.time_ns() // 1000, *(taken + 1 for taken in numbers(queue))))
    path = _path(queue, number)
    unnumbered = queue / _UNNUMBERED
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    try:
        descriptor = os.open(unnumbered, flags, 0o600)
    except FileExistsError:
        # Its maker was killed between these lines; nobody else is here while the door is locked.
        unnumbered.unlink()
        descriptor = os.open(unnumbered, flags, 0o600)
    issued = False
    try:
        lock_alone(descriptor)
        # A full disk makes a ticket nameless, not useless.
        with contextlib.suppress(OSError):
            os.write(descriptor, content)
        # Seen by others only now, when it is locked: a ticket without a lock is a dead one.
        unnumbered.rename(path)
        issued = True
    finally:
        if not issued:
            os.close(descriptor)
    return Ticket(number, path, descriptor)


def _open_door(queue: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
    try:
        return os.open(queue / _DOOR, flags, 0o600)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            queue.mkdir(0o700)
        return os.open(queue / _DOOR, flags, 0o600)


def _path(queue: Path, number: int) -> Path:
    return queue / str(number)


def _lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _TAKEN:
            return False
        raise
    return True
