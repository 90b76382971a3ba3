"""Files that nobody but the user may read (I/O)."""

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO


def make_private_directory(path: Path) -> None:
    """Make `path` and what is missing above it, for the user alone. Raises OSError."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for directory in reversed(missing):
        try:
            directory.mkdir(mode=0o700)
        except FileExistsError as error:
            if not directory.is_dir():  # else somebody else made it meanwhile
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory) from error


def open_private(path: Path, *, truncate: bool = False) -> BinaryIO:
    """Open for appending and reading, unbuffered; a new file is 0600 whatever the umask. Raises OSError."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | (os.O_TRUNC if truncate else 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        # A pipe or a device is not ours to close to others: to root it would happen, to /dev/null as well.
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.fchmod(descriptor, 0o600)
    except OSError:
        os.close(descriptor)
        raise
    return open(descriptor, "a+b", buffering=0)  # noqa: PTH123 - the caller closes it


def write_private(path: Path, text: str, *, durable: bool = False) -> Path:
    """Put `text` into `path` in one step: readers see the old or the new whole, never a part. Raises OSError.

    `durable`: it is on the disk for good then, also after a power failure.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open_private(temporary, truncate=True) as file:
            write_all(file.fileno(), text.encode("utf-8", "surrogatepass"))
            if durable:
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    if durable:
        sync_directory(path.parent)
    return path


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, however many calls it takes. Raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def sync_directory(directory: Path) -> None:
    """Bring the names in a directory to the disk, where the file system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def nameless_file() -> BinaryIO:
    """A file without a name, open for appending and reading: memory where the system has that (Linux)."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("hereya-tf")
        return open(descriptor, "w+b", buffering=0)  # noqa: PTH123 - the caller closes it
    import tempfile

    return tempfile.TemporaryFile(buffering=0)


def free_bytes(path: Path) -> int:
    """Bytes that can still be written below `path`; 0 when that cannot be told."""
    try:
        statistics = os.statvfs(path)
    except OSError:
        return 0
    return statistics.f_bavail * statistics.f_frsize
