"""Removes checkouts that nobody has used for long, or that are too many, and what only they needed (I/O)."""

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hereya_tf.checkouts import downloads, slots
from hereya_tf.checkouts.layout import REFS, Layout, bare, work_tree_directory
from hereya_tf.checkouts.listing import is_state

IN_USE = "it is in use"
HOLDS_STATE = "it holds a state"

_MANY_COMMITS = 500
_ENGINE_DATA = ".terraform"


class Spared(NamedTuple):
    """A tree that would have been removed, and why it stays."""

    tree: Path
    because: str


class Pruned(NamedTuple):
    """What was removed: slots of trees, archives and repositories; and what would have been, and stays."""

    removed: tuple[Path, ...]
    spared: tuple[Spared, ...]


def prune(cache: Path, *, max_age: float, max_count: int, now: float | None = None) -> Pruned:
    """Remove trees that were not used for `max_age` seconds, and the oldest beyond `max_count`.

    Then archives as old, and repositories as old that no tree needs. Never what is in use, nor a tree that holds a
    state. Never raises for what it finds on the disk; what cannot be removed stays. `now` is in seconds since 1970.
    """
    layout = Layout(cache)
    slots.empty_graveyard(layout.graveyard)
    pruning = _Pruning(layout, (time.time() if now is None else now) - max_age)
    pruning.trees(max_count)
    pruning.archives()
    pruning.repositories()
    return Pruned(tuple(pruning.removed), tuple(pruning.spared))


class _Pruning:
    """One call of `prune`; what was last used before `oldest` goes."""

    def __init__(self, layout: Layout, oldest: float) -> None:
        self.removed: list[Path] = []
        self.spared: list[Spared] = []
        self._layout = layout
        self._oldest = oldest

    def trees(self, max_count: int) -> None:
        used = {slot: _mtime(self._layout.stamp(slot)) for slot in _slots(self._layout.trees)}
        by_use = sorted(used, key=lambda slot: (used[slot], slot.name), reverse=True)
        for rank, slot in enumerate(by_use):
            if rank < max_count and used[slot] >= self._oldest:
                continue
            with slots.hold_if_free(slot) as is_ours:
                if not is_ours:
                    self.spared.append(Spared(slot, IN_USE))
                elif _mtime(self._layout.stamp(slot)) != used[slot]:
                    self.spared.append(Spared(slot, IN_USE))  # a moment ago
                elif used[slot] and holds_state(slot / "tree"):
                    self.spared.append(Spared(slot, HOLDS_STATE))
                else:
                    self._remove(slot)

    def archives(self) -> None:
        for slot in _slots(self._layout.archives):
            with slots.hold_if_free(slot) as is_ours:
                if is_ours and _mtime(slot / downloads.FILE) < self._oldest:
                    self._remove(slot)

    def repositories(self) -> None:
        for slot in _slots(self._layout.repositories):
            with slots.hold_if_free(slot) as is_ours:
                if not is_ours:
                    continue
                is_needed = self._forget_dead_trees(slot)
                # One that has grown for long comes back without what nobody needs any more.
                is_large = len(_names(bare(slot) / REFS)) > _MANY_COMMITS
                if is_large or (not is_needed and _mtime(slot / "trace") < self._oldest):
                    self._remove(slot)

    def _forget_dead_trees(self, slot: Path) -> bool:
        """Whether a tree needs the repository; what it knows of others is removed."""
        is_needed = False
        for name in _names(work_tree_directory(slot, "")):
            if (self._layout.trees / name / "tree").is_dir():
                is_needed = True
            else:
                slots.bury(work_tree_directory(slot, name))
        return is_needed

    def _remove(self, slot: Path) -> None:
        with contextlib.suppress(OSError):
            slots.remove(slot, self._layout.graveyard)
            self.removed.append(slot)


def holds_state(tree: Path) -> bool:
    """Whether a run may have left a state there, which is nowhere else then."""
    for directory, below, files in os.walk(tree):
        below[:] = [name for name in below if name not in (_ENGINE_DATA, ".git")]
        if any(is_state(name) and _size(Path(directory, name)) for name in files):
            return True
    return False


def _slots(directory: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from sorted(entry for entry in directory.iterdir() if entry.is_dir())


def _names(directory: Path) -> tuple[str, ...]:
    with contextlib.suppress(OSError):
        return tuple(entry.name for entry in directory.iterdir())
    return ()


def _mtime(path: Path) -> float:
    """When a file was last written to, 0 when it is not there."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
