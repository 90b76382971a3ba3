"""Reads a file, a pipe or stdin that the user named: to its end, within a bounded time and size (I/O)."""

import errno
import os
import select
import stat
import time
from pathlib import Path
from typing import BinaryIO

from hereya_tf.errors import BadInput, HereyaError

LARGEST_INPUT = 64 * 1024 * 1024  # bytes
PATIENCE = 60.0  # seconds
_CHUNK = 1024 * 1024
_LARGEST_SETTINGS = 1 << 20  # bytes


def read_regular_file(path: Path, *, at_most: int = -1) -> bytes:
    """The bytes of a regular file, only `at_most` of them if given; raises OSError for anything else."""
    with open_regular_file(path) as file:
        return file.read(at_most)


def open_regular_file(path: Path) -> BinaryIO:
    """A regular file, open for reading; raises OSError for anything else.

    A pipe or a device where a file belongs would block for ever, so it is never opened for good.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
    except OSError:
        os.close(descriptor)
        raise
    return open(descriptor, "rb")  # noqa: PTH123 - the caller closes it


def read_input_file(path: Path, *, limit_seconds: float = PATIENCE) -> bytes:
    """The bytes of a file or pipe (`<(command)` of a shell); raises OSError when it has no end in time.

    The end must come within `limit_seconds` and 64 MiB.
    """
    # Without O_NONBLOCK, opening a named pipe that nobody writes to never returns.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        return read_descriptor(descriptor, limit_seconds=limit_seconds)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int, *, limit_seconds: float = PATIENCE) -> bytes:
    """Everything up to the end; raises OSError when that does not come in `limit_seconds` and 64 MiB."""
    deadline = time.monotonic() + limit_seconds
    chunks: list[bytes] = []
    size = 0
    # A file is always ready, and select() cannot take descriptors over 1,023.
    waits = not stat.S_ISREG(os.fstat(descriptor).st_mode)
    while True:
        if waits and not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise TimeoutError(errno.ETIMEDOUT, f"it did not end within {limit_seconds:g} seconds")
        chunk = os.read(descriptor, _CHUNK)
        if not chunk:
            return b"".join(chunks)
        chunks.append(chunk)
        size += len(chunk)
        if size > LARGEST_INPUT:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST_INPUT // 1024**2} MiB")


def read_settings_file(path: Path, shown: str, refusal: type[HereyaError]) -> str:
    """The text of a small file that is there to be read; raises `refusal` naming it as `shown`."""
    try:
        data = read_regular_file(path, at_most=_LARGEST_SETTINGS + 1)
    except OSError as error:
        raise refusal(
            f"`{shown}` cannot be read: {reason(error)}", "make it readable, or take it away"
        ) from error
    if len(data) > _LARGEST_SETTINGS:
        raise refusal(f"`{shown}` is larger than {_LARGEST_SETTINGS >> 20} MiB", "is it the right file?")
    return decode_text(data, shown, refusal)


def decode_text(data: bytes, where: str, refusal: type[HereyaError] = BadInput) -> str:
    """UTF-8 text, without its byte order mark; raises `refusal` naming the line that is none."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise refusal(
            f"`{where}` is not UTF-8 text: line {line} holds other bytes", "save it as UTF-8"
        ) from error


def read_text(path: Path) -> str:
    """The text of a file or pipe; raises BadInput naming the file and why it cannot be read."""
    try:
        data = read_input_file(path)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"`{path}` cannot be read: {reason(error)}", "check the path and its permissions"
        ) from error
    return decode_text(data, str(path))


def reason(error: OSError | ValueError) -> str:
    """What the system said, without the number and the path."""
    return str(getattr(error, "strerror", None) or error)
