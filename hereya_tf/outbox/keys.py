"""Deliveries that are not to be delivered, keys that rest, and what there is to see (I/O).

All within the caller's transaction.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hereya_tf.outbox import claims, lanes
from hereya_tf.outbox.deliveries import Dead, State

if TYPE_CHECKING:
    import sqlite3


class Blocked(NamedTuple):
    """A key for which deliveries wait: by which one, until when (as its `ready_at`), how many behind it."""

    key: str
    id: str
    state: State
    ready_at: int
    waiting: int


class Snapshot(NamedTuple):
    """What is in the outbox."""

    counts: Mapping[State, int]
    paused_keys: tuple[str, ...]
    stopped_keys: tuple[str, ...]
    blocked: tuple[Blocked, ...]


def cancel(connection: "sqlite3.Connection", delivery_id: str, wall: int) -> bool:
    """End a delivery that waits."""
    row = connection.execute(
        "select number, lane from delivery where id = ? and state = 'pending'", (delivery_id,)
    ).fetchone()
    if row is not None:
        claims.bury(connection, row[0], row[1], claims.cancelled(), wall)
    return row is not None


def request_cancel(connection: "sqlite3.Connection", delivery_id: str, wall: int) -> bool:
    """End a delivery that waits, or leave word for who is at it."""
    if cancel(connection, delivery_id, wall):
        return True
    asked = connection.execute(
        "update delivery set cancel_requested = 1 where id = ? and state = 'delivering'", (delivery_id,)
    )
    return asked.rowcount > 0


def set_paused(connection: "sqlite3.Connection", key: str, *, paused: bool) -> None:
    """Hold the key, or let it go."""
    lanes.set_rule(connection, key, lanes.rule_of(connection, key)._replace(paused=paused))


def stop(connection: "sqlite3.Connection", key: str, wall: int) -> int:
    """Reject what waits, and what is to come."""
    lanes.set_rule(connection, key, lanes.rule_of(connection, key)._replace(stopped=True))
    lane = lanes.lane_of(key, "")
    ending: Dead = claims.key_stopped(key)
    waiting = connection.execute(
        "select number from delivery where lane = ? and state = 'pending'", (lane,)
    ).fetchall()
    # The youngest first: the head of the lane moves once, not with each of them.
    for (number,) in sorted(waiting, reverse=True):
        claims.bury(connection, number, lane, ending, wall)
    return len(waiting)


def start(connection: "sqlite3.Connection", key: str) -> bool:
    """Whether the key was stopped; it is no more."""
    rule = lanes.rule_of(connection, key)
    lanes.set_rule(connection, key, rule._replace(stopped=False))
    return rule.stopped


def is_busy(connection: "sqlite3.Connection", key: str) -> bool:
    """Whether the key has a live delivery."""
    lane = lanes.lane_of(key, "")
    return connection.execute("select 1 from head where lane = ?", (lane,)).fetchone() is not None


def snapshot(connection: "sqlite3.Connection") -> Snapshot:
    """Counts, rules, and keys with more than one live delivery."""
    counts = {State(state): number for state, number in connection.execute(_COUNTS)}
    rules = connection.execute("select key, paused, stopped from key_rule order by key").fetchall()
    return Snapshot(
        counts={state: counts.get(state, 0) for state in State},
        paused_keys=tuple(key for key, paused, _ in rules if paused),
        stopped_keys=tuple(key for key, _, stopped in rules if stopped),
        blocked=tuple(
            Blocked(key, delivery_id, State(state), ready_at, waiting)
            for key, delivery_id, state, ready_at, waiting in connection.execute(_BLOCKED)
        ),
    )


_COUNTS = "select state, count(*) from delivery group by state"
_BLOCKED = """
with lane_length as (
  select lane, count(*) - 1 as waiting from delivery
  where state in ('pending', 'delivering') group by lane having count(*) > 1
)
select delivery.key, delivery.id, delivery.state, delivery.ready_at, lane_length.waiting
from lane_length join head using (lane) join delivery on delivery.number = head.number
order by delivery.number
"""
