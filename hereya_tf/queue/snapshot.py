"""What a queue says about itself (pure)."""

from collections.abc import Mapping
from typing import NamedTuple


class KeyState(NamedTuple):
    """Why a key's tasks wait: `holder` runs, or waits until `until` to be tried again.

    Without a holder the first task waits for a slot or for the end of a pause. `until` is in seconds since the
    epoch, None when the holder runs; `queued` counts the tasks behind the holder.
    """

    holder: int | None
    until: float | None
    queued: int


class Snapshot(NamedTuple):
    """A queue at one moment; `running` and `queued` together are all tasks that have no outcome yet.

    A task that waits to be tried again is queued. `keys` has every key with work. `failed` counts every
    accepted task whose result has failed, cancelled and rejected ones too, but for those that `stop` gave up.
    """

    running: int
    queued: int
    keys: Mapping[str, KeyState]
    paused: bool
    paused_keys: tuple[str, ...]
    stopped_keys: tuple[str, ...]
    completed: int
    failed: int


class DrainReport(NamedTuple):
    """What became of the tasks that had no outcome when `stop` was called.

    `timed_out`: at the deadline there was work left, `abandoned` says how much.
    """

    completed: int
    failed: int
    abandoned: int
    timed_out: bool
