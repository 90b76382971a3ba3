"""What a command says through a pipe, for whoever supervises it (I/O).

Engines write to files, which outlive us; a pipe is for a command that nothing is lost with. It keeps nothing on
the disk, and `echo x > /dev/stderr` does not empty what was said before, as it would a file.
"""

import contextlib
import os

_CHUNK_BYTES = 1 << 16
# Linux gives a pipe 64 KiB, which a fast writer fills long before we look again.
_PIPE_BYTES = 1 << 20


class Flow:
    """A pipe: `fileno` is the end that a command writes to; reads like a `Tail`, without ever waiting."""

    def __init__(self) -> None:
        self.descriptor, self._writer = os.pipe()
        os.set_blocking(self.descriptor, False)
        self.offset = 0
        self._widen()

    def fileno(self) -> int:
        """The end to write to. It stays open here: without a writer a pipe is readable for ever."""
        return self._writer

    def read(self) -> bytes:
        """What is new since the last call, at most a piece of it."""
        try:
            chunk = os.read(self.descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return b""
        self.offset += len(chunk)
        return chunk

    def size(self) -> int:
        """Bytes that were written to it up to now."""
        import fcntl
        import sys
        import termios

        waiting = fcntl.ioctl(self.descriptor, termios.FIONREAD, bytes(4))
        return self.offset + int.from_bytes(waiting, sys.byteorder)

    def close(self) -> None:
        """Close both ends."""
        os.close(self.descriptor)
        os.close(self._writer)

    def _widen(self) -> None:
        import fcntl

        # Linux alone; and there a user may have only so much in pipes.
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            with contextlib.suppress(OSError):
                fcntl.fcntl(self.descriptor, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
