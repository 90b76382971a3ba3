"""Where locks are kept: in the state directory, or where all runs of a user look when that is unusable (I/O)."""

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path

from hereya_tf.errors import NoRoom
from hereya_tf.private import make_private_directory


def find_lock_directory(wanted: Path, warn: Callable[[str], None]) -> Path:
    """`wanted`, or a private directory that all runs of this user find when it cannot be written.

    Raises NoRoom when there is neither; `warn` hears a sentence about the second.
    """
    try:
        make_private_directory(wanted)
        if os.access(wanted, os.W_OK):
            return wanted
    except OSError:
        pass
    return _shared_directory(wanted, warn)


def _shared_directory(wanted: Path, warn: Callable[[str], None]) -> Path:
    import tempfile

    try:
        place = Path(tempfile.gettempdir()) / f"hereya-tf-locks-{os.getuid()}"
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
        status = place.lstat()
    except OSError as error:  # full, read-only, or no directory for temporary files at all
        raise NoRoom(
            f"locks cannot be kept in `{wanted}`, and there is no other place: {error.strerror or error}",
            "point `HEREYA_TF_STATE_DIR` to a directory that you can write to",
        ) from error
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o077:
        raise NoRoom(
            f"locks can be kept neither in `{wanted}` nor in `{place}`",
            "point `HEREYA_TF_STATE_DIR` to a directory that you can write to",
        )
    warn(f"`{wanted}` cannot be written, so locks are kept in `{place}`")
    return place
