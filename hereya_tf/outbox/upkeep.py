"""The dead and the old: revived, announced, removed; within the caller's transaction (I/O)."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hereya_tf.outbox import lanes
from hereya_tf.outbox.deliveries import State
from hereya_tf.outbox.errors import OutboxError
from hereya_tf.outbox.rows import fetch
from hereya_tf.queue.errors import QueueKeyStoppedError

if TYPE_CHECKING:
    import sqlite3

# Rows that one transaction removes: others want their turn.
AT_ONCE = 500
_PAGES_AT_ONCE = 4096


def revive(connection: "sqlite3.Connection", delivery_id: str) -> bool:
    """Make a dead delivery, or one in back-off, ready at once."""
    row = connection.execute(
        "select number, lane, key, state from delivery where id = ? and state in ('dead', 'pending')",
        (delivery_id,),
    ).fetchone()
    if row is None:
        return False
    number, lane, key, state = row
    rule = lanes.rule_of(connection, key)
    if key is not None and rule.stopped:
        raise QueueKeyStoppedError(key)
    connection.execute("update delivery set ready_at = 0, span = 0 where number = ?", (number,))
    if state == State.PENDING:
        connection.execute("update head set ready_at = 0 where number = ?", (number,))
        return True
    connection.execute(
        "update delivery set state = 'pending', attempts = 0, cause = null, cancel_requested = 0, ended = null,"
        " announced = 1 where number = ?",
        (number,),
    )
    lanes.reconsider(connection, lane, held=rule.paused)
    return True


def has_dead_letters(connection: "sqlite3.Connection") -> bool:
    """Whether there are any that nobody was told of."""
    return connection.execute("select 1 from delivery where announced = 0 limit 1").fetchone() is not None


def take_dead_letters(connection: "sqlite3.Connection") -> tuple[tuple[Any, ...], ...]:
    """Rows of the dead that nobody was told of, until now."""
    found = fetch(connection, "announced = 0 order by number limit ?", AT_ONCE)
    connection.executemany("update delivery set announced = 1 where number = ?", [row[:1] for row in found])
    return found


def ended_states(states: Iterable[State]) -> tuple[State, ...]:
    """The states, each of which has to be an end: nothing that is to arrive is removed."""
    chosen = tuple(State(state) for state in states)
    for state in chosen:
        if state not in (State.DELIVERED, State.DEAD):
            raise OutboxError(f"a delivery that is {state} cannot be removed")
    return chosen


def purge_some(connection: "sqlite3.Connection", state: State, ended_before: int) -> int:
    """Remove up to AT_ONCE deliveries; how many there were."""
    removed = connection.execute(
        "delete from delivery where number in (select number from delivery"
        " where state = ? and ended < ? limit ?)",
        (state, ended_before, AT_ONCE),
    )
    return removed.rowcount


def give_room_back(connection: "sqlite3.Connection") -> None:
    """Pages that are empty go back to the file system."""
    # `execute` would stop after the first page.
    connection.executescript(f"pragma incremental_vacuum({_PAGES_AT_ONCE})")
