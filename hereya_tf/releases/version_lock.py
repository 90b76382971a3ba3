"""One at a time installs or removes a version of an engine; others wait, and are told for whom (I/O)."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hereya_tf.durations import format_duration
from hereya_tf.errors import Busy
from hereya_tf.private import write_private
from hereya_tf.reading import read_regular_file

PATIENCE = 900.0
"""Seconds to wait for another process; a slow line needs minutes for an archive."""

HEARTBEAT = 10.0
"""Seconds between two sentences on the wait."""

_LOOK_SECONDS = 0.1
_LONGEST_RECORD = 400


@contextlib.contextmanager
def hold_version(
    directory: Path,
    version: str,
    *,
    title: str,
    pause: Callable[[float], None],
    tell: Callable[[str], None],
    patience: float = PATIENCE,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[None]:
    """Hold the lock of a version in the directory of its engine; it is free as soon as its holder ends or dies.

    `title` is what is installed, for people; `pause(seconds)` waits and may raise. Raises Busy after `patience`
    seconds, OSError when the directory cannot be written or its file system has no locks.
    """
    # 27 ms to import.
    import filelock

    lock = filelock.FileLock(
        directory / f".{version}.lock",
        mode=0o600,
        thread_local=False,
        fallback_to_soft=False,
        preserve_lock_file=True,
    )
    record = directory / f".{version}.holder"
    began, told = clock(), None
    while True:
        with contextlib.suppress(filelock.Timeout):
            lock.acquire(blocking=False)
            break
        now = clock()
        if now - began >= patience:
            raise Busy(
                f"{title} is being installed by {_holder(record)}, for longer than"
                f" {format_duration(patience)}",
                "see what it waits for, or end it, and try again",
            )
        if told is None or now - told >= HEARTBEAT:
            told = now
            waited = f", for {format_duration(float(int(now - began)))} now" if now - began >= 1 else ""
            tell(f"{title} is being installed by {_holder(record)}: waiting for it{waited}")
        pause(_LOOK_SECONDS)
    try:
        with contextlib.suppress(OSError):  # a full disk; what it says is for people alone
            write_private(record, f"process {os.getpid()} on `{os.uname().nodename}`")
        yield
    finally:
        with contextlib.suppress(OSError):
            record.unlink()
        lock.release()


def _holder(record: Path) -> str:
    with contextlib.suppress(OSError):
        text = read_regular_file(record, at_most=_LONGEST_RECORD).decode("utf-8", "replace")
        if text and text.isprintable():
            return text
    return "another process"
