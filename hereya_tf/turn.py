"""A run's turn: the package's lock and the workspace's, waited for in line, and the generated backend (I/O)."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hereya_tf import events, locks
from hereya_tf.errors import Busy, NoRoom
from hereya_tf.events import Operation
from hereya_tf.locks.directory import find_lock_directory
from hereya_tf.runs import history
from hereya_tf.supervision.process_table import identify_ourselves
from hereya_tf.workspace import GeneratedBackend, override_owner, remove_override, write_override


class Applicant(NamedTuple):
    """The run that wants its turn, and what it does while it waits; `wait` is in seconds."""

    run: str
    operation: Operation
    package: Path
    workspace_key: str
    wait: float | None
    emit: Callable[[events.Event], None]
    warn: Callable[[str], None]
    pause: Callable[[float], None]


@contextlib.contextmanager
def locked(applicant: Applicant, lock_directory: Path) -> Iterator[tuple[locks.Lock, ...]]:
    """The package directory's lock, then the workspace's: always in this order. Raises Busy, NoRoom."""
    keys = (
        locks.LockKey(locks.LockKind.PACKAGE, str(applicant.package)),
        locks.LockKey(locks.LockKind.WORKSPACE, applicant.workspace_key),
    )
    deadline = None if applicant.wait is None else time.monotonic() + applicant.wait
    with contextlib.ExitStack() as stack:
        held = []
        directory = find_lock_directory(lock_directory, applicant.warn)
        for key in keys:
            lock = _acquire(applicant, directory, key, deadline)
            stack.callback(lock.release)
            held.append(lock)
        yield tuple(held)


@contextlib.contextmanager
def backend_in_place(package: Path, backend: GeneratedBackend | None, applicant: Applicant) -> Iterator[None]:
    """The generated backend lives until the last engine command is over, however that ends. Raises Busy."""
    if owner := history.living_owner(override_owner(package)):
        raise Busy(
            f"run `{owner}` is at work in `{package}`, and keeps its locks in another place",
            "use one `HEREYA_TF_STATE_DIR` for all runs of a package, or wait until that run has ended",
        )
    if remove_override(package):
        applicant.warn("a generated backend that a killed run had left in the package was removed")
    if backend is None:
        yield
        return
    write_override(package, backend, owner=history.owner_line(applicant.run, identify_ourselves()))
    try:
        yield
    finally:
        remove_override(package)


def _acquire(applicant: Applicant, directory: Path, key: locks.LockKey, deadline: float | None) -> locks.Lock:
    try:
        return locks.acquire(
            directory,
            key,
            _holder(applicant, key),
            deadline=deadline,
            pause=applicant.pause,
            on_waiting=functools.partial(_waiting, applicant, key.kind),
        )
    except OSError as error:
        raise NoRoom(
            f"the lock of `{key.name}` cannot be kept in `{directory}`: {error.strerror}",
            "see that nobody removes that directory, and that it can be written to",
        ) from error


def _holder(applicant: Applicant, key: locks.LockKey) -> locks.Holder:
    return locks.Holder(
        run=applicant.run,
        process=identify_ourselves(),
        host=history.host_name(),
        operation=applicant.operation,
        since=events.timestamp(time.time()),
        key=key.name,
    )


def _waiting(applicant: Applicant, kind: locks.LockKind, waiting: locks.Waiting) -> None:
    holder = waiting.holder
    info = holder and events.HolderInfo(
        holder.run, holder.process.pid, holder.host, holder.operation, holder.since
    )
    applicant.emit(events.LockWaiting(kind, waiting.position, info))
