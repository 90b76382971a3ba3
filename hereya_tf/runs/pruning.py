"""Removes what is too old or too much from the history of runs (I/O).

A run's directory is moved to `runs/.removed` first: nobody ever sees half a run, whenever this is killed. What
is left there the next one removes.
"""

import contextlib
import functools
import itertools
import math
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from hereya_tf.locks import tickets
from hereya_tf.private import make_private_directory
from hereya_tf.runs import history
from hereya_tf.runs.directory import STATE_BEFORE
from hereya_tf.runs.retention import Kept, Limits, choose
from hereya_tf.supervision.process_table import is_alive

_REMOVED = ".removed"
_ID = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{8}", re.ASCII)
_RAW = (".stdout", ".stderr")
_SCRATCH = "scratch-"
_STATE = ".tfstate"
# So much of what an engine has said is read in no time.
_QUICK_BYTES = 1 << 18
# A run writes its record at once, and into its log every ten seconds.
_SETTLED_SECONDS = 3600.0

AT_WORK = "it is at work"
ENDING = "it is about to end"
ORPHANED = "its engine is at work"
KILLED = "it was killed, and its log is not complete"
HOLDS_STATE = "it holds a copy of a state"
LAST_COPY = "it holds the newest copy of its workspace's state"
BEGINNING = "it has no record yet"
UNREADABLE = "its record cannot be read, and it holds what its engine said"
BUSY = "its log is being completed"


class Spared(NamedTuple):
    """A run that would have been removed, and why it stays."""

    run: str
    because: str


class Pruned(NamedTuple):
    """What was removed, oldest first, and the bytes that this freed; whether all was done that had to be."""

    removed: tuple[str, ...]
    spared: tuple[Spared, ...]
    bytes: int
    is_complete: bool


def prune(
    runs: Path,
    limits: Limits,
    now: float,
    *,
    warn: Callable[[str], None],
    dry_run: bool = False,
    patience: float = math.inf,
    give_up: Callable[[], bool] = lambda: False,
) -> Pruned:
    """Remove the oldest runs until the rest is within the limits, or for `patience` seconds.

    Never the newest run, one that is at work, one that may hold the only copy of a state, nor the newest copy of
    a workspace's state from before a run; of a run that was killed the log is completed first. `warn` hears what
    comes of that. Never raises for what it finds on the disk.
    `now` is in seconds since 1970.
    """
    copies = functools.cache(lambda: _newest_copies(runs))
    remover = _Remover(runs, now, warn, copies, is_dry=dry_run, is_hurried=patience < math.inf)
    began = time.monotonic()
    if not dry_run:
        _remove_leftovers(runs, warn)
    kept = {run.run: run for run in _survey(runs, until=began + patience / 2)}
    removed: list[str] = []
    spared: list[Spared] = []
    freed = 0
    while chosen := choose(kept.values(), limits, now):
        # Each of them goes or has to stay from now on; what has to stay is not counted: fewer may have to go.
        for run in chosen:
            if give_up() or time.monotonic() > began + patience:
                return Pruned(tuple(removed), tuple(spared), freed, is_complete=False)
            size = _size(runs / run)
            try:
                because = remover.remove(run, size)
            except FileNotFoundError:  # somebody else was faster
                del kept[run]
                continue
            if because is not None:
                kept[run] = kept[run]._replace(must_stay=True)
                spared.append(Spared(run, because))
                continue
            del kept[run]
            removed.append(run)
            freed += size
    # What others were busy with may have been its removal.
    stay = (each for each in spared if each.because != BUSY or os.path.lexists(runs / each.run))
    return Pruned(tuple(removed), tuple(stay), freed, is_complete=True)


class _Remover(NamedTuple):
    """Removes one run after the other, as long as nothing speaks against it."""

    runs: Path
    now: float
    warn: Callable[[str], None]
    newest_copies: Callable[[], frozenset[str]]
    is_dry: bool
    is_hurried: bool

    def remove(self, run: str, size: int) -> str | None:
        """Remove a run, or say why it has to stay. Raises FileNotFoundError."""
        directory = self.runs / run
        if self.is_dry:
            return self._why_not(directory, killed=None)
        record = history.read_record(directory)
        is_long = self.is_hurried and size > _QUICK_BYTES
        if record is not None and record.state == "died" and not is_long:
            from hereya_tf.runs.adoption import adopt

            adopt(self.runs, run, self.warn)
        return self._move_away(directory)

    def _why_not(self, directory: Path, *, killed: str | None) -> str | None:
        because = _why_not(directory, self.now, killed=killed)
        if because is None and (directory / STATE_BEFORE).exists() and directory.name in self.newest_copies():
            return LAST_COPY
        return because

    def _move_away(self, directory: Path) -> str | None:
        removed = self.runs / _REMOVED / directory.name
        try:
            descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                # Whoever completes its log has this lock.
                if not tickets.lock_alone(descriptor):
                    return BUSY
                because = self._why_not(directory, killed=KILLED)
                if because is not None:
                    return because
                make_private_directory(removed.parent)
                directory.rename(removed)
            finally:
                os.close(descriptor)
        except FileNotFoundError:
            raise
        except OSError as error:
            return f"it cannot be removed: {error.strerror}"
        _erase(removed, self.warn)
        return None


def _survey(runs: Path, *, until: float) -> Iterator[Kept]:
    """All runs, with what will be left of each: the output of an engine that is at work is not.

    The oldest are weighed first; after `until`, of the monotonic clock, the others weigh nothing.
    """
    try:
        with os.scandir(runs) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    # Ids tell the second only.
    for began, group in itertools.groupby(filter(_began, names), key=_began):
        together = list(group)
        if len(together) > 1:
            together.sort(key=lambda name: (_started(runs / name), name))
        for place, name in enumerate(together):
            size = _lasting_size(runs / name) if time.monotonic() < until else 0
            yield Kept(name, (began or 0.0) + place / 1e6, size)


def _started(directory: Path) -> str:
    record = history.read_record(directory)
    return record.started if record is not None else ""


def _lasting_size(directory: Path) -> int:
    size = 0
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if not entry.name.endswith(_RAW) and entry.is_file(follow_symlinks=False):
                size += entry.stat(follow_symlinks=False).st_size
    return size


def _began(name: str) -> float | None:
    """When a run began, from its id; None for what is none."""
    match = _ID.fullmatch(name)
    if match is None:
        return None
    import datetime

    try:
        year, month, day, hour, minute, second = map(int, match.groups())
        moment = datetime.datetime(year, month, day, hour, minute, second, tzinfo=datetime.UTC)
    except ValueError:
        return None
    return moment.timestamp()


def _why_not(directory: Path, now: float, *, killed: str | None) -> str | None:
    """Why a run has to stay; `killed` is what to say of one whose log is still to be completed."""
    record = history.read_record(directory)
    if record is None:
        return _why_not_without_record(directory, now)
    is_ours = record.host == history.host_name()
    match record.state:
        case "running":
            return AT_WORK if is_ours else f"it may be at work on the host `{record.host}`"
        case "orphaned":
            return ORPHANED
        case "died" if killed is not None:
            return killed
    if is_ours and is_alive(record.process):
        return ENDING
    return HOLDS_STATE if _holds_state(_files(directory)) else None


def _why_not_without_record(directory: Path, now: float) -> str | None:
    files = list(_files(directory))
    if _holds_state(files):
        return HOLDS_STATE
    if any(file.name.endswith(_RAW) for file in files):
        return UNREADABLE
    touched = [now]
    with contextlib.suppress(OSError):
        touched = [path.stat().st_mtime for path in (directory, *files)]
    return BEGINNING if now - max(touched) < _SETTLED_SECONDS else None


def _holds_state(files: Iterable[Path]) -> bool:
    """Whether one of them may be the only copy of a state; what it was before is where it was."""
    return any(_STATE in file.name and file.name != STATE_BEFORE for file in files)


def _newest_copies(runs: Path) -> frozenset[str]:
    """The runs that hold the newest whole copy of their workspace's state, as long as its package is there.

    Runs that are refused make none, and many of them must not push the last good state out of the history.
    """
    from hereya_tf.states.local import inspect_state

    with contextlib.suppress(OSError), os.scandir(runs) as entries:
        holders = [Path(entry.path) for entry in entries if os.path.lexists(f"{entry.path}/{STATE_BEFORE}")]
        records = [record for holder in holders if (record := history.read_record(holder)) is not None]
        # A key that was chosen by the user says nothing about the state.
        newest: dict[tuple[str, str, str], str] = {}
        for record in sorted(records, key=lambda record: (record.started, record.id), reverse=True):
            state = (record.key, record.package, record.workspace)
            is_wanted = state not in newest and Path(record.package).is_dir()
            if is_wanted and inspect_state(runs / record.id / STATE_BEFORE).is_whole:
                newest[state] = record.id
        return frozenset(newest.values())
    return frozenset()


def _files(directory: Path) -> Iterator[Path]:
    """The files of a run, not what an engine was given for a while; links are none."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith(_SCRATCH):
                    yield from _files(Path(entry.path))
            elif not entry.is_symlink():
                yield Path(entry.path)


def _size(directory: Path) -> int:
    size = 0
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                size += _size(Path(entry.path))
            else:
                with contextlib.suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_size
    return size


def _remove_leftovers(runs: Path, warn: Callable[[str], None]) -> None:
    """What others, killed meanwhile, were about to remove."""
    removed = runs / _REMOVED
    if removed.is_symlink():
        return
    try:
        names = os.listdir(removed)  # noqa: PTH208 - nearly always there is none
    except OSError:
        return
    for name in names:
        if _began(name) is not None:
            _erase(removed / name, warn)


def _erase(directory: Path, warn: Callable[[str], None]) -> None:
    """Remove a directory; `warn` hears when it cannot be. Others may be doing the same."""
    import shutil

    shutil.rmtree(directory, ignore_errors=True)
    if not os.path.lexists(directory):
        return
    # There are directories that their owner may not write to: modules come with the modes they have elsewhere.
    with contextlib.suppress(OSError):
        for path, names, _ in os.walk(directory):
            for inner in (Path(path, name) for name in names):
                if not inner.is_symlink():
                    inner.chmod(0o700)
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        pass
    except OSError as error:
        warn(f"`{directory}` cannot be removed: {error.strerror}")
