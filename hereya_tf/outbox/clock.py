"""A clock that all processes of a machine share, and that nobody can set (I/O).

Leases and back-offs are moments that several processes have to agree on. The wall clock jumps when somebody
sets it: forwards, and every lease has run out at once; backwards, and what a dead process held is held for
hours. The monotonic clock of Linux is one for all processes since the boot, so that the wall clock is asked
once a boot, and what it said is kept in the outbox.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

Clock = Callable[[], int]
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_TIME_NAMESPACE = Path("/proc/self/ns/time")
_NANOSECONDS = 1_000_000


def wall_clock() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // _NANOSECONDS


def boot_name(boot: Path = _BOOT, namespace: Path = _TIME_NAMESPACE) -> str | None:
    """What all processes with the same monotonic clock have in common; None where the system does not tell."""
    try:
        name = boot.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None
    try:
        # A container may have a monotonic clock of its own; older kernels know no such thing.
        return f"{name} {namespace.readlink()}"
    except OSError:
        return name


def find_clock(
    connection: "sqlite3.Connection",
    boot: str | None,
    wall: Clock = wall_clock,
    monotonic_ns: Callable[[], int] = time.monotonic_ns,
) -> Clock:
    """The clock that the outbox is kept by, within a transaction that may write; the wall clock without `boot`.

    The first to look after a boot brings moments of the last one within reach: whatever the clock said then,
    nobody waits longer than he was to wait.
    """
    if boot is None:
        return wall
    row = connection.execute("select ahead from clock where boot = ?", (boot,)).fetchone()
    if row is None:
        row = (wall() - monotonic_ns() // _NANOSECONDS,)
        connection.execute("delete from clock")
        connection.execute("insert into clock (boot, ahead) values (?, ?)", (boot, *row))
        _bring_within_reach(connection, wall())
    ahead: int = row[0]
    return lambda: monotonic_ns() // _NANOSECONDS + ahead


def _bring_within_reach(connection: "sqlite3.Connection", now: int) -> None:
    connection.execute(
        "update delivery set ready_at = ? + span"
        " where state in ('pending', 'delivering') and ready_at > ? + span",
        (now, now),
    )
    connection.execute(
        "update head set ready_at = (select ready_at from delivery where delivery.number = head.number)"
    )


def process_name() -> str:
    """A name for this process among those that share an outbox: `HOST:PID`."""
    return f"{os.uname().nodename if hasattr(os, 'uname') else ''}:{os.getpid()}"
