"""Ends what a finished engine of a dead runner has left behind with the lock (I/O).

A provisioner's daemon inherits the lock's descriptor and would keep the lock for as long as it lives.
"""

import os
from collections.abc import Callable
from pathlib import Path

from hereya_tf.locks.records import Holder, Record
from hereya_tf.supervision.process_table import (
    PROC,
    end_group,
    end_processes,
    flock_holders,
    group_and_session,
    identify,
    is_alive,
)

# A record is believed when two looks, this many seconds apart, find the same.
_SECOND_LOOK = 0.3
_GRACE = 2.0  # seconds


class Leftovers:
    """Watches the holder of one lock on behalf of the first in line."""

    def __init__(self, lock: Path, *, host: str, now: float, proc: Path = PROC) -> None:
        self._lock = lock
        self._host = host
        self._proc = proc
        self._suspect: Record | None = None
        self._looked = now

    def look(self, record: Record | None, now: float, pause: Callable[[float], None]) -> None:
        """Given the record of a lock that is held, end the holders once they are certain to be left over.

        `now` is in seconds, of any clock; what `pause` raises passes through.
        """
        if now - self._looked < _SECOND_LOOK:
            return
        suspect = record if record and self._is_left_over(record.holder) else None
        certain = suspect is not None and suspect == self._suspect
        self._suspect, self._looked = suspect, now
        if certain and suspect and suspect.holder.engine:
            engine, runner = suspect.holder.engine, suspect.holder.process
            if self._proc.exists():
                _end_heirs(self._lock, runner.pid, engine.group, pause)
            elif identify(engine.group) is None:
                # Heirs cannot be seen. But the id of a group is not given out again while it has members: one
                # whose leader is gone is the recorded one.
                end_group(engine.group, grace=_GRACE, pause=pause)

    def _is_left_over(self, holder: Holder) -> bool:
        # Process ids mean nothing on another host, and an engine that is not on record may be alive.
        if holder.host != self._host or holder.engine is None:
            return False
        return not is_alive(holder.process) and not is_alive(holder.engine.process)


def _end_heirs(lock: Path, runner: int, group: int, pause: Callable[[float], None]) -> None:
    """End those who hold the lock through a descriptor inherited from this runner."""
    heirs = tuple(filter(None, map(identify, flock_holders(lock, taken_by=runner))))
    groups = {heir: group_and_session(heir.pid) for heir in heirs}
    if any(found == group for found, _ in groups.values()):
        end_group(group, grace=_GRACE, pause=pause)
    # Our own session is never ended: what runs this may have inherited the lock as well.
    strays = tuple(
        heir
        for heir, (found, session) in groups.items()
        if found != group and session not in (0, os.getsid(0))
    )
    end_processes(strays, grace=_GRACE, pause=pause)
