"""What is looked at before an engine acts: that no state is missing or broken, and that there is room (I/O)."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hereya_tf.private import free_bytes, sync_directory
from hereya_tf.reading import open_regular_file, read_regular_file
from hereya_tf.runs.directory import LEAST_FREE_BYTES, STATE_BEFORE
from hereya_tf.states.durable import copy_durably
from hereya_tf.states.local import LocalState, has_same_content, inspect_state, is_in_use
from hereya_tf.states.unsaved import Unsaved

_ROOM = 64 << 20  # bytes
# The state itself, its copy, and what the engine writes beside it.
_STATES = 3
_LARGEST_BACKUP = 16 << 20  # bytes
_PARTIAL = ".partial"


class Shortage(NamedTuple):
    """A disk with little room: `needed` and `free` in bytes, and what is on it."""

    place: Path
    free: int
    needed: int


def find_ruined(path: Path) -> LocalState | None:
    """The state in this file, when it is empty or broken and no engine is at work on it."""
    found = inspect_state(path)
    return found if found.is_ruined and not is_in_use(path) else None


def find_orphan(state: Path) -> Path | None:
    """The engine's backup of a local state that is gone, when something stands in the first 16 MiB of it."""
    if os.path.lexists(state):
        return None
    backup = state.with_name(f"{state.name}.backup")
    try:
        return backup if b'"instances"' in read_regular_file(backup, at_most=_LARGEST_BACKUP) else None
    except OSError:
        return None


def is_stored(unsaved: Unsaved, local: Path) -> bool:
    """Whether a state that could not be saved is the local state meanwhile."""
    found = inspect_state(local)
    if not found.is_whole or not unsaved.lineage or found.lineage != unsaved.lineage:
        return False
    if unsaved.serial is None or found.serial is None or found.serial < unsaved.serial:
        return False
    # Who went on from the state before, without this one, has come to the same serial.
    return found.serial > unsaved.serial or has_same_content(local, Path(unsaved.file))


def copy_state(state: Path, directory: Path) -> bool:
    """Copy the local state into a run's directory, before it is written; whether there was one to copy.

    Raises OSError, also where the copy would leave too little room for what the engine has to say.
    """
    try:
        source = open_regular_file(state)
    except FileNotFoundError:
        return False
    with source:
        size = os.fstat(source.fileno()).st_size
        if not size:
            return False
        free = free_bytes(directory)
        if free < size + LEAST_FREE_BYTES:
            raise OSError(f"there is no room for {size} bytes in `{directory}`")
        # A whole copy or none, also when we are killed.
        partial = directory / f"{STATE_BEFORE}{_PARTIAL}"
        partial.unlink(missing_ok=True)
        copy_durably(source, partial)
    partial.replace(directory / STATE_BEFORE)
    sync_directory(directory)
    return True


def find_shortages(places: Iterable[Path], state: Path | None) -> tuple[Shortage, ...]:
    """The disks of these places, and of the state, that have less room than a run may need; each once."""
    size = _size(state) if state is not None else 0
    needed = max(_ROOM, _STATES * size)
    found: dict[int, Shortage] = {}
    for place in (*places, *((state.parent,) if state is not None else ())):
        disk = _disk(place)
        if disk is not None and disk[1] < needed:
            found.setdefault(disk[0], Shortage(place, disk[1], needed))
    return tuple(found.values())


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _disk(place: Path) -> tuple[int, int] | None:
    """Which disk a place is on, and the bytes that it has left; None where that means nothing."""
    while not place.is_dir() and place != place.parent:
        place = place.parent
    try:
        statistics = os.statvfs(place)
        if statistics.f_flag & os.ST_RDONLY or not statistics.f_blocks:
            return None
        return place.stat().st_dev, statistics.f_bavail * statistics.f_frsize
    except OSError:
        return None
