"""Writes to stdout or stderr without ever waiting for whoever reads it (I/O).

A pipe nobody reads, a closed one, a full disk behind it: the run goes on. What cannot be written now is
kept, in memory and then in a file, and tried again at every flush; `drain` gives the reader its last chance.
"""

import errno
import os
import select
import time
from collections import deque
from collections.abc import Callable
from typing import BinaryIO

# A pipe that select calls writable takes this much without blocking (PIPE_BUF on Linux; POSIX's is 512).
PIECE_BYTES = 4096 if os.name == "posix" and os.uname().sysname == "Linux" else 512
MEMORY_BYTES = 4 << 20
_LOOK_SECONDS = 0.1


class Outlet:
    """One descriptor that takes what it can when it can."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._own_descriptor = _reopened_terminal(descriptor)
        self._target = descriptor if self._own_descriptor is None else self._own_descriptor
        # Views, so that what is left of a long line is not copied with every piece of it.
        self._pending: deque[memoryview] = deque()
        self._pending_bytes = 0
        self._overflow = _Overflow()
        self.broken = False
        # Why, unless whoever reads it has gone: that is no fault.
        self.failure: str | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether something is still to be written: whoever reads is slower than we are."""
        return not self.broken and bool(self._pending or self._overflow)

    def write(self, text: str) -> None:
        """Take `text`; it is on its way after the next `flush`."""
        if self.broken or not text:
            return
        data = text.encode("utf-8", "backslashreplace")
        if self._overflow or self._pending_bytes + len(data) > MEMORY_BYTES:
            self.broken = not self._overflow.append(data)
            return
        self._pending.append(memoryview(data))
        self._pending_bytes += len(data)

    def flush(self) -> None:
        """Write as much as the reader takes without waiting."""
        while not self.broken and self._next_piece() and self._writable(0.0) and self._write_piece():
            pass

    def drain(self, *, patience: float, give_up: Callable[[], bool]) -> bool:
        """Write all that is left, as long as the reader takes something every `patience` seconds.

        Returns whether everything was written. `give_up` is asked again and again.
        """
        moved_at = time.monotonic()
        while not self.broken and self._next_piece():
            if self._writable(_LOOK_SECONDS):
                if self._write_piece():
                    moved_at = time.monotonic()
                    continue
                # A terminal with room for one byte calls itself writable, and has no room for a line break.
                time.sleep(_LOOK_SECONDS)
            if give_up() or time.monotonic() - moved_at > patience:
                return False
        return not self.broken

    def close(self) -> None:
        """Let go of what was opened here; the descriptor itself stays open."""
        if self._own_descriptor is not None:
            os.close(self._own_descriptor)
            self._own_descriptor = None
        self._overflow.close()
        self.broken = True

    def _next_piece(self) -> bool:
        """Whether there is anything to write; gets it from the file when memory has no more."""
        if not self._pending and self._overflow:
            data = self._overflow.take()
            self._pending.append(memoryview(data))
            self._pending_bytes = len(data)
        return bool(self._pending)

    def _writable(self, seconds: float) -> bool:
        try:
            return bool(select.select([], [self._target], [], seconds)[1])
        except (OSError, ValueError):
            self.broken = True
            return False

    def _write_piece(self) -> bool:
        """Write what surely fits; returns whether any of it was taken."""
        data = self._gathered()
        try:
            written = os.write(self._target, data[:PIECE_BYTES])
        except BlockingIOError:
            return False
        except OSError as error:  # closed, or a full disk: nobody can be told anything here any more
            self.broken = True
            self.failure = None if error.errno in (errno.EPIPE, errno.EBADF) else error.strerror
            return False
        self._pending_bytes -= written
        self._pending[0] = data[written:]
        if written == len(data):
            self._pending.popleft()
        return written > 0

    def _gathered(self) -> memoryview:
        """The first piece; short lines are joined, for each call of the system costs as much as writing it."""
        parts: list[memoryview] = []
        size = 0
        while self._pending and size < PIECE_BYTES:
            parts.append(self._pending.popleft())
            size += len(parts[-1])
        self._pending.appendleft(parts[0] if len(parts) == 1 else memoryview(b"".join(parts)))
        return self._pending[0]


class _Overflow:
    """What does not fit into memory, first in first out."""

    def __init__(self) -> None:
        self._file: BinaryIO | None = None
        self._read = 0
        self._written = 0

    def __bool__(self) -> bool:
        return self._read < self._written

    def append(self, data: bytes) -> bool:
        try:
            if self._file is None:
                import tempfile

                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
            view = memoryview(data)
            while view:
                count = os.pwrite(self._file.fileno(), view, self._written)
                self._written += count
                view = view[count:]
        except OSError:
            return False
        return True

    def take(self) -> bytes:
        assert self._file is not None
        data = os.pread(self._file.fileno(), MEMORY_BYTES // 4, self._read)
        self._read += len(data)
        if not self:
            self._file.truncate(0)
            self._read = self._written = 0
        return data

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._read = self._written = 0


def _reopened_terminal(descriptor: int) -> int | None:
    """A terminal opened anew, not blocking: the mode of the shared one is the shell's as well."""
    try:
        if os.isatty(descriptor):
            return os.open(os.ttyname(descriptor), os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return None
    return None
