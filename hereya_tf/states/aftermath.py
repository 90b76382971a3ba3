"""Takes a state that an engine could not save to where nothing writes over it, and notes where that is (I/O)."""

import contextlib
import itertools
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from hereya_tf.events import timestamp
from hereya_tf.private import sync_directory
from hereya_tf.reading import open_regular_file
from hereya_tf.runs.directory import EMERGENCY_STATE, ERRORED_PREFIX
from hereya_tf.states.durable import copy_durably, is_copy
from hereya_tf.states.local import inspect_state
from hereya_tf.states.unsaved import Unsaved, note_unsaved

ERRORED_STATE = "errored.tfstate"
"""Where an engine puts a state that it could not save: in the package, beside the configuration."""

_PARTIAL = "partial-"
# A file's time is that of the last tick of the clock.
_TICK = 0.1


class Stamp(NamedTuple):
    """What tells one writing of a file from the next; `modified` in seconds since 1970."""

    device: int
    inode: int
    nanoseconds: int
    size: int

    @property
    def modified(self) -> float:
        """When it was written."""
        return self.nanoseconds / 1e9


class Owner(NamedTuple):
    """The run and the workspace that a state is of."""

    run: str
    package: str
    workspace: str
    key: str


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of the file that a path leads to; None when there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return Stamp(status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size)


def note(runs: Path, owner: Owner, file: Path) -> None:
    """Note that `file` holds the state of `owner`'s workspace. Raises OSError."""
    found = inspect_state(file)
    since = timestamp(found.modified)
    unsaved = Unsaved(*owner, file=str(file), serial=found.serial, lineage=found.lineage, since=since)
    note_unsaved(runs.parent, unsaved)


def take_over(directory: Path, owner: Owner, began: float | None) -> Path | None:
    """Take over what a killed run could not save: the file that holds the truth now, or None.

    `began` is when its first step began that may have left an errored state, in seconds since 1970; None without
    one. Can be done again and again. Raises OSError.
    """
    emergency = directory / EMERGENCY_STATE
    has_emergency = emergency.exists()
    errored = Path(owner.package) / ERRORED_STATE
    stamp = stamp_of(errored)
    is_left = began is not None and stamp is not None and stamp.modified >= began - _TICK
    if is_left and stamp is not None and has_emergency and not stamp.size:
        # All that the engine could make of it: the state is what it has printed.
        errored.unlink(missing_ok=True)
        is_left = False
    files = [emergency] if has_emergency else []
    files += kept_states(directory)
    if is_left:
        try:
            files.append(set_aside(errored, directory, lambda kept: note(directory.parent, owner, kept)))
        except OSError:
            files.append(errored)
    for file in files:
        note(directory.parent, owner, file)
    return emergency if has_emergency else files[-1] if files else None


def set_aside(source: Path, directory: Path, announce: Callable[[Path], None]) -> Path:
    """Move an errored state into a run's directory, as a 0600 file with a name that nothing had.

    `announce` hears that name when the whole state is there, before the old name goes. Raises OSError: then the
    state is where it was. It is in both places when only the old name could not be taken away.
    """
    before = stamp_of(source)
    kept = _twin(source, directory) or _second_place(source, directory)
    try:
        if stamp_of(source) != before:
            raise OSError("it was changed meanwhile")
        announce(kept)
    except BaseException:
        with contextlib.suppress(OSError):
            kept.unlink()
        raise
    with contextlib.suppress(OSError):
        source.unlink()
        sync_directory(source.parent)
    return kept


def copy_aside(source: Path, directory: Path) -> Path:
    """A second, whole copy of an errored state in a run's directory. Raises OSError."""
    names = _new_names(directory)
    while True:
        target = next(names)
        with contextlib.suppress(FileExistsError):
            _copy(source, target)
            return target


def kept_states(directory: Path) -> Iterator[Path]:
    """The errored states that are in a run's directory already."""
    try:
        names = sorted(entry.name for entry in directory.iterdir())
    except OSError:
        return
    yield from (directory / name for name in names if name.startswith(ERRORED_PREFIX))


def _second_place(source: Path, directory: Path) -> Path:
    names = _new_names(directory)
    while True:
        target = next(names)
        try:
            _link(source, target)
        except FileExistsError:
            continue
        except OSError:
            # Another file system, or one without such links: nothing but a copy will do.
            return copy_aside(source, directory)
        return target


def _new_names(directory: Path) -> Iterator[Path]:
    return (directory / f"{ERRORED_PREFIX}{number}.tfstate" for number in itertools.count(1))


def _link(source: Path, target: Path) -> None:
    """A second name for a regular file, on the disk for good. Raises OSError."""
    if not stat.S_ISREG(source.lstat().st_mode):
        raise OSError("only a file has a second name")
    os.link(source, target)
    try:
        with open_regular_file(target) as file:
            os.fchmod(file.fileno(), 0o600)
            os.fsync(file.fileno())
    except OSError:
        target.unlink()
        raise
    sync_directory(target.parent)


def _copy(source: Path, target: Path) -> None:
    """Raises OSError. Whoever is killed on the way leaves no half of a copy under its name."""
    if os.path.lexists(target):
        raise FileExistsError
    partial = target.with_name(f"{_PARTIAL}{target.name}")
    partial.unlink(missing_ok=True)
    with open_regular_file(source) as original:
        copy_durably(original, partial)
        original.seek(0)
        with open_regular_file(partial) as copy:
            is_whole = is_copy(original, copy)
    if not is_whole:
        partial.unlink()
        raise OSError("the copy is not what was copied")
    partial.rename(target)
    sync_directory(target.parent)


def _twin(source: Path, directory: Path) -> Path | None:
    """Where a run that was killed on its way here had put it already."""
    for kept in kept_states(directory):
        with contextlib.suppress(OSError), open_regular_file(source) as one, open_regular_file(kept) as other:
            if is_copy(one, other):
                return kept
    return None
