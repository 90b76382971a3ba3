"""Directories of the cache that one at a time may use, and which go away as a whole (I/O).

The lock is a file inside. Whoever gets it looks whether that file still is the one in the directory: it may
have been removed meanwhile, by one who held the lock. A descriptor that a child inherits holds it too, so that
a killed executor's git, or its job, is still waited for.
"""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from hereya_tf.durations import format_duration
from hereya_tf.errors import Busy
from hereya_tf.locks.tickets import lock_alone, unlock
from hereya_tf.private import make_private_directory

LOCK = "lock"

_LOOK_SECONDS = 0.05
_TOLD_AFTER = 2.0  # seconds
_NEW = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


@contextlib.contextmanager
def hold(
    directory: Path,
    *,
    what: str,
    patience: float,
    pause: Callable[[float], None],
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[int]:
    """Hold `directory`, which is made when it is not there; gives the descriptor of its lock.

    `what` is it, for people; `tell` hears when it has to be waited for, `pause(seconds)` waits and may raise.
    Raises Busy after `patience` seconds, and OSError.
    """
    began, is_told = clock(), False
    while (descriptor := _try(directory)) is None:
        waited = clock() - began
        if waited >= patience:
            raise Busy(
                f"{what} is in use by another checkout or job, for longer than {format_duration(patience)}",
                "see what it waits for, or end it, and try again",
            )
        if waited >= _TOLD_AFTER and not is_told:
            is_told = True
            tell(f"{what} is in use by another checkout or job: waiting for it")
        pause(_LOOK_SECONDS)
    try:
        yield descriptor
    finally:
        # For all who inherited it: a daemon that a credential helper started must not keep it.
        with contextlib.suppress(OSError):
            unlock(descriptor)
        os.close(descriptor)


@contextlib.contextmanager
def hold_if_free(directory: Path) -> Iterator[bool]:
    """The same without waiting, and only a directory that is there; false when it is in use or gone."""
    if not directory.is_dir():
        yield False
        return
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(
                hold(directory, what="", patience=0.0, pause=lambda _: None, tell=lambda _: None)
            )
        except Busy:
            is_ours = False
        else:
            is_ours = True
        yield is_ours


def remove(path: Path, graveyard: Path) -> None:
    """Remove a file or a tree, by way of `graveyard`, so that nobody ever sees a part. Raises OSError."""
    if not os.path.lexists(path):
        return
    make_private_directory(graveyard)
    grave = graveyard / f"{path.name}-{os.getpid()}-{time.monotonic_ns()}"
    path.rename(grave)
    bury(grave)


def empty_graveyard(graveyard: Path) -> None:
    """Remove what killed removals have left."""
    with contextlib.suppress(OSError):
        for grave in tuple(graveyard.iterdir()):
            bury(grave)


def bury(path: Path) -> None:
    """Remove a file or a tree, whatever its permissions are; what cannot be removed stays."""
    import shutil

    if not path.is_dir() or path.is_symlink():
        with contextlib.suppress(OSError):
            path.unlink()
        return
    shutil.rmtree(path, ignore_errors=True)
    if path.exists():  # directories that nobody may write to, as the caches of some tools have them
        _open_up(path)
        for directory, names, _ in os.walk(path):
            for name in names:
                _open_up(Path(directory, name))
        shutil.rmtree(path, ignore_errors=True)


def _open_up(directory: Path) -> None:
    with contextlib.suppress(OSError):
        if not directory.is_symlink():
            directory.chmod(stat.S_IRWXU)


def _try(directory: Path) -> int | None:
    """The descriptor of the lock, once it is ours; None when somebody else has it."""
    make_private_directory(directory.parent)
    path = directory / LOCK
    try:
        with contextlib.suppress(FileExistsError):
            directory.mkdir(mode=0o700)
        descriptor = os.open(path, _NEW, 0o600)
    except FileNotFoundError:  # removed between the two
        return None
    try:
        if lock_alone(descriptor) and _is_still_there(path, descriptor):
            return descriptor
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None


def _is_still_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
