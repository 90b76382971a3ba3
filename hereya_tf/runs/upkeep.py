"""Keeps the history of runs within its limits, now and then (I/O)."""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hereya_tf.private import write_private

if TYPE_CHECKING:
    from hereya_tf.runs.retention import Limits

# When it was done last, and how many runs there were after it.
_STAMP = ".pruned"
_DAY = 24 * 3600.0
_SURPLUS = 1.1
# Somebody waits for the run that does it.
_PATIENCE_SECONDS = 0.3


def prune_now_and_then(
    runs: Path, limits: "Limits", now: float, *, give_up: Callable[[], bool] = lambda: False
) -> None:
    """Prune once a day, and when there are clearly more runs than wanted, for a third of a second at most.

    `now` is in seconds since 1970. Never raises: what is kept of other runs is not this one's matter.
    """
    with contextlib.suppress(Exception):
        if _is_due(runs, limits.runs, now):
            _prune(runs, limits, now, give_up)


def _is_due(runs: Path, most: float, now: float) -> bool:
    try:
        with open(runs / _STAMP, "rb", buffering=0) as file:  # noqa: PTH123 - asked at the end of every run
            done = os.fstat(file.fileno()).st_mtime
            left = int(file.read(20) or 0)
    except (OSError, ValueError):
        return True
    if not 0 <= now - done < _DAY:  # before: a clock was put right
        return True
    # Those that have to stay are no reason to try again.
    return _count(runs) > _SURPLUS * max(most, left)


def _count(runs: Path) -> int:
    """About how many runs there are: each is a link to its parent, where a file system counts these."""
    links = os.stat(runs).st_nlink  # noqa: PTH116 - 5 µs where listing 1,000 names takes 300
    return links - 2 if links > 2 else len(os.listdir(runs))  # noqa: PTH208 - names are to be counted


def _prune(runs: Path, limits: "Limits", now: float, give_up: Callable[[], bool]) -> None:
    """The stamp comes first: of many runs that end together one does it, and no run where it cannot be done."""
    try:
        _stamp(runs, now)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            return
    from hereya_tf.runs.pruning import prune

    pruned = prune(
        runs, limits, now, warn=lambda _sentence: None, patience=_PATIENCE_SECONDS, give_up=give_up
    )
    if pruned.is_complete or not pruned.removed:
        _stamp(runs, now)
    else:
        (runs / _STAMP).unlink()  # the next run goes on


def _stamp(runs: Path, now: float) -> None:
    """Raises OSError."""
    stamp = write_private(runs / _STAMP, str(_count(runs)))
    os.utime(stamp, (now, now))
