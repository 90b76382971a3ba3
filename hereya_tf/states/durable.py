"""Private copies that are on the disk for good when the call returns, also after a power failure (I/O)."""

import contextlib
import os
from pathlib import Path
from typing import BinaryIO

from hereya_tf.private import sync_directory, write_all

_CHUNK = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


def copy_durably(source: BinaryIO, target: Path) -> None:
    """Copy the rest of an open file into `target`, which must not be there yet; 0600. Raises OSError.

    Takes a megabyte of memory, however large the file is. What a failure has left of the copy is removed.
    """
    descriptor = os.open(target, _NEW, 0o600)
    try:
        try:
            os.fchmod(descriptor, 0o600)
            while chunk := source.read(_CHUNK):
                write_all(descriptor, chunk)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except BaseException:
        with contextlib.suppress(OSError):
            target.unlink()
        raise
    sync_directory(target.parent)


def is_copy(one: BinaryIO, other: BinaryIO) -> bool:
    """Whether the rest of two open files is the same, byte for byte. Raises OSError."""
    while chunk := one.read(_CHUNK):
        if other.read(len(chunk)) != chunk:
            return False
    return not other.read(1)
