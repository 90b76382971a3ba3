"""Which runs of the history are too old or too many to be kept (pure)."""

from collections.abc import Iterable
from typing import NamedTuple


class Limits(NamedTuple):
    """How much history is kept: seconds since a run began, runs, bytes; `math.inf` is no limit."""

    age: float
    runs: float
    bytes: float


class Kept(NamedTuple):
    """A run of the history: when it began (seconds since 1970), what it takes, and whether it has to stay."""

    run: str
    began: float
    bytes: int
    must_stay: bool = False


def choose(runs: Iterable[Kept], limits: Limits, now: float) -> tuple[str, ...]:
    """The runs to remove for the rest to be within the limits, oldest first.

    Never the newest one. What has to stay is not counted: it must not drive out all the others.
    """
    ordered = sorted(runs, key=lambda run: (run.began, run.run))
    counted = [run for run in ordered if not run.must_stay]
    count, size = len(counted), sum(run.bytes for run in counted)
    chosen = []
    for run in counted:
        within = now - run.began <= limits.age and count <= limits.runs and size <= limits.bytes
        if within or run is ordered[-1]:
            break
        chosen.append(run.run)
        count -= 1
        size -= run.bytes
    return tuple(chosen)
