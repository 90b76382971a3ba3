"""An archive's bytes for those who would believe whatever stands in it (I/O)."""

from collections.abc import Callable
from typing import Protocol

from hereya_tf.checkouts.errors import RefusedPackage

_PIECE = 1024 * 1024  # bytes
_PAUSE_READS = 64


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...
    def tell(self) -> int: ...


class CarefulReader:
    """Reads on behalf of zipfile and tarfile; raises RefusedPackage for what would take memory or time for ever.

    At most `largest` bytes at once, which they take for headers and directories; at most `total` bytes in all.
    `pause(0)` is called often, and may raise. `last` is what was read last.
    """

    def __init__(
        self, source: _Readable, *, largest: int, total: int, pause: Callable[[float], None]
    ) -> None:
        self._source = source
        self._largest = largest
        self._left = total
        self._pause = pause
        self._reads = 0
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        """As a file's."""
        self._reads += 1
        if self._reads % _PAUSE_READS == 0:
            self._pause(0.0)
        # To its end means one more than they may have.
        data = self._source.read(min(size, self._largest + 1) if size >= 0 else self._largest + 1)
        if len(data) > self._largest:
            raise RefusedPackage(
                "the archive has headers that are too large", "whoever made it has to mend it"
            )
        self._take(len(data))
        self.last = data
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """As a file's; what lies between is read, and counts, when it is compressed."""
        if whence == 0 and offset < 0:
            raise ValueError("it begins before its beginning")
        if whence == 0 and (here := self._source.tell()) < offset:
            self._take(offset - here)
            while (here := self._source.tell()) + _PIECE < offset:
                self._pause(0.0)
                if self._source.seek(here + _PIECE) <= here:
                    break
        return self._source.seek(offset, whence)

    def tell(self) -> int:
        """As a file's."""
        return self._source.tell()

    def seekable(self) -> bool:
        """As a file's."""
        return True

    def _take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise RefusedPackage("the archive holds more than a package may", "keep large files out of it")
