"""The files a caller asks for: private, and never waited for while a run is on (I/O)."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

from hereya_tf.private import open_private, write_private
from hereya_tf.reading import reason
from hereya_tf.ui.outlet import Outlet


def put_whole(path: str, text: str) -> bool:
    """Put `text` into a file in one step: whoever kills us leaves the old one or the new, never half of it.

    Returns whether that was possible: not with a pipe or a device, nor with a file that others have as well.
    """
    try:
        target = Path(os.path.realpath(path))
        if os.path.lexists(target) and not _is_ours_alone(target.lstat()):
            return False
        write_private(target, text.encode("utf-8", "backslashreplace").decode())
    except (OSError, ValueError):
        return False
    return True


def _is_ours_alone(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode) and status.st_nlink == 1 and status.st_uid == os.geteuid()


class CallersFile:
    """A file named by an option; a pipe is one too, and may have a slow reader or none.

    What goes wrong with it is said once, to `warn`, and costs the run nothing.
    """

    def __init__(self, path: str, warn: Callable[[str], None]) -> None:
        self._path = path
        self._warn = warn
        self._outlet: Outlet | None = None
        self.is_open = False
        try:
            self._file = open_private(Path(path), truncate=True)
        except (OSError, ValueError) as error:
            warn(f"`{path}` cannot be written: {reason(error)}")
        else:
            self._outlet = Outlet(self._file.fileno())
            self.is_open = True

    def write(self, text: str) -> None:
        """Take `text`; it is on its way after the next `flush`."""
        if self._outlet is not None:
            self._outlet.write(text)

    def flush(self) -> None:
        """Write as much as can be written without waiting."""
        if self._outlet is not None:
            self._outlet.flush()
            self._check()

    def finish(self, *, patience: float, give_up: Callable[[], bool]) -> None:
        """Write the rest, waiting for a reader for at most `patience` seconds at a time, and close."""
        if self._outlet is None:
            return
        self._outlet.drain(patience=patience, give_up=give_up)
        self._check()
        if self._outlet is not None:
            self._outlet.close()
            self._file.close()

    def _check(self) -> None:
        if self._outlet is not None and self._outlet.broken:
            self._outlet = None
            self.is_open = False
            self._file.close()
            self._warn(f"`{self._path}` is not complete: it cannot be written any further")
