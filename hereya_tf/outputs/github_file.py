"""The files in which a step of a GitHub workflow leaves outputs and more (I/O)."""

import contextlib
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from hereya_tf.errors import BadInput
from hereya_tf.reading import reason

VARIABLE = "GITHUB_OUTPUT"


def github_output_file(environment: Mapping[str, str]) -> Path:
    """The file that the runner reads when the step is over; raises BadInput when there is none."""
    path = environment.get(VARIABLE)
    if not path:
        raise BadInput(
            f"`{VARIABLE}` is not set, so `--format github` has no file to write to",
            "it is set in a step of a GitHub workflow; elsewhere, choose another format",
        )
    return Path(path)


def append_github_output(path: Path, block: str) -> None:
    """Append `block` to the file that `$GITHUB_OUTPUT` names, whole or not at all. Raises BadInput."""
    try:
        append_whole(path, block)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"`{path}`, which `{VARIABLE}` names, cannot be written: {reason(error)}",
            "check the path and the disk",
        ) from error


def append_whole(path: str | Path, block: str) -> None:
    """Append `block`, on a line of its own, in one write; take back what was written when not all can be.

    The file keeps its mode; a new one is the user's alone. Raises OSError, or ValueError for what is no path.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    # A pipe that nobody reads must not hold us.
    flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        _append(descriptor, Path(path), block)
    finally:
        os.close(descriptor)


def _append(descriptor: int, path: Path, block: str) -> None:
    status = os.fstat(descriptor)
    is_file = stat.S_ISREG(status.st_mode)
    before = "\n" if is_file and status.st_size and not _ends_a_line(path) else ""
    data = memoryview((before + block).encode("utf-8", "backslashreplace"))
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError:
        # The runner fails a step whose file has a block without an end. What others wrote since is theirs.
        with contextlib.suppress(OSError):
            if is_file and os.fstat(descriptor).st_size == status.st_size + written:
                os.ftruncate(descriptor, status.st_size)
        raise


def _ends_a_line(path: Path) -> bool:
    """Whether the next thing written stands on a line of its own: `printf a=b >> FILE` leaves one open."""
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"
