"""One run at a time fetches into a cache of providers; others wait, and are told for whom (I/O)."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from hereya_tf.locks import tickets
from hereya_tf.private import write_private
from hereya_tf.reading import read_regular_file

_LOOK_SECONDS = 0.04
# A shorter wait is not worth a word.
_UNTOLD_SECONDS = 1.0
_LONGEST_RECORD = 400  # bytes


class Turn:
    """The lock of a cache; an engine that inherits its descriptor holds it too, until it ends."""

    def __init__(self, descriptor: int, record: Path) -> None:
        self.descriptor = descriptor
        self._record = record

    def release(self) -> None:
        """Let the next one in."""
        with contextlib.suppress(OSError):
            self._record.unlink()
        # Explicitly: to close it would leave the lock with a daemon that has inherited the descriptor.
        with contextlib.suppress(OSError):
            tickets.unlock(self.descriptor)
        os.close(self.descriptor)


def take_turn(
    lock_file: Path,
    holder: str,
    *,
    patience: float | None,
    pause: Callable[[float], None],
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Turn | None:
    """Wait for the lock at most `patience` seconds, without end for None; None when it was not to be had.

    `holder` is who we are, for people; `pause` gets seconds and may raise; `tell` hears once who has it. Raises
    OSError where there can be no lock.
    """
    # Whoever may write into the cache may take its lock, as the umask has it.
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    has_lock = False
    try:
        has_lock = _wait(descriptor, lock_file, patience, pause, tell, clock)
    finally:
        if not has_lock:
            os.close(descriptor)
    if not has_lock:
        return None
    with contextlib.suppress(OSError):  # what it says is for people alone
        write_private(_record(lock_file), holder)
    return Turn(descriptor, _record(lock_file))


def read_holder(lock_file: Path) -> str:
    """Who has the lock, as far as that is known."""
    with contextlib.suppress(OSError):
        text = read_regular_file(_record(lock_file), at_most=_LONGEST_RECORD).decode("utf-8", "replace")
        if text and text.isprintable():
            return text
    return "another process"


def _record(lock_file: Path) -> Path:
    return lock_file.with_name(f"{lock_file.name}.holder")


def _wait(
    descriptor: int,
    lock_file: Path,
    patience: float | None,
    pause: Callable[[float], None],
    tell: Callable[[str], None],
    clock: Callable[[], float],
) -> bool:
    began, is_told = clock(), False
    while not tickets.lock_alone(descriptor):
        waited = clock() - began
        if patience is not None and waited >= patience:
            return False
        if waited >= _UNTOLD_SECONDS and not is_told:
            is_told = True
            tell(read_holder(lock_file))
        pause(_LOOK_SECONDS if patience is None else min(_LOOK_SECONDS, patience - waited))
    return True
