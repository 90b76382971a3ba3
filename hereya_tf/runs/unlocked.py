"""Runs without locks leave a mark as long as they last: of a killed one no lock would tell the next run (I/O).

A mark is an empty file with the run's id in `runs/.unlocked`.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from hereya_tf.private import make_private_directory, open_private
from hereya_tf.runs import history
from hereya_tf.runs.adoption import adopt

_MARKS = ".unlocked"


@contextlib.contextmanager
def marked(runs: Path, run: str) -> Iterator[None]:
    """The mark of `run`; a directory that cannot be written has nothing to be adopted either."""
    mark = runs / _MARKS / run
    with contextlib.suppress(OSError):
        make_private_directory(mark.parent)
        open_private(mark).close()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            mark.unlink()


def adopt_unlocked(runs: Path) -> None:
    """Adopt the killed runs that had no locks: their values and raw output would lie there for ever."""
    try:
        names = os.listdir(runs / _MARKS)  # noqa: PTH208 - nearly always there is none
    except OSError:
        return
    for name in names:
        adopt(runs, name, lambda _story: None)
        record = history.read_record(runs / name)
        if record is None or record.status is not None:
            with contextlib.suppress(OSError):
                (runs / _MARKS / name).unlink()
