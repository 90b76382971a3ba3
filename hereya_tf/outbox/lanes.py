"""Whose turn it is: the first live delivery of each lane, kept within the caller's transaction (I/O)."""

from typing import TYPE_CHECKING, NamedTuple

from hereya_tf.outbox.deliveries import State

if TYPE_CHECKING:
    import sqlite3

# Two questions for one answer: what may start at once goes by age, what has waited by when it became ready.
# In one order, a stream of the former would let the latter wait for ever.
_FIRST_AT_ONCE = "select number from head where held = 0 and ready_at = 0 order by number limit 1"
_FIRST_READY = (
    "select number from head where held = 0 and ready_at > 0 and ready_at <= ?"
    " order by ready_at, number limit 1"
)


class Rule(NamedTuple):
    """What somebody has said about a key."""

    paused: bool = False
    stopped: bool = False


def lane_of(key: str | None, delivery_id: str) -> str:
    """Deliveries of one lane wait for one another; one without a key has a lane for itself."""
    return f"i{delivery_id}" if key is None else f"k{key}"


def first_ready(connection: "sqlite3.Connection", now: int) -> int | None:
    """The number of the delivery to claim next, None when none is ready."""
    found = [
        row[0]
        for query, values in ((_FIRST_AT_ONCE, ()), (_FIRST_READY, (now,)))
        if (row := connection.execute(query, values).fetchone()) is not None
    ]
    return min(found, default=None)


def enter(connection: "sqlite3.Connection", lane: str, number: int, ready_at: int, *, held: bool) -> None:
    """Make the delivery the first of its lane, unless the lane has one."""
    connection.execute(
        "insert into head (lane, number, ready_at, held) values (?, ?, ?, ?) on conflict (lane) do nothing",
        (lane, number, ready_at, held),
    )


def set_ready(connection: "sqlite3.Connection", lane: str, ready_at: int) -> None:
    """The first of the lane may be claimed then."""
    connection.execute("update head set ready_at = ? where lane = ?", (ready_at, lane))


def advance(connection: "sqlite3.Connection", lane: str) -> None:
    """The lane's first delivery has ended: it is the next one's turn."""
    row = connection.execute(
        "select number, ready_at from delivery"
        " where lane = ? and state in ('pending', 'delivering') order by number limit 1",
        (lane,),
    ).fetchone()
    if row is None:
        connection.execute("delete from head where lane = ?", (lane,))
    else:
        connection.execute("update head set number = ?, ready_at = ? where lane = ?", (*row, lane))


def reconsider(connection: "sqlite3.Connection", lane: str, *, held: bool) -> None:
    """A delivery has come to life, or to its end, somewhere in the lane.

    Whose turn it is stays so once it has begun: what waits to be tried again holds its key, also against an
    older one that was revived.
    """
    row = connection.execute(
        "select delivery.state, delivery.attempts from head join delivery using (number) where head.lane = ?",
        (lane,),
    ).fetchone()
    if row is None:
        enter(connection, lane, 0, 0, held=held)
    elif row[0] == State.DELIVERING or (row[0] == State.PENDING and row[1] > 0):
        return
    advance(connection, lane)


def rule_of(connection: "sqlite3.Connection", key: str | None) -> Rule:
    """What holds for a key."""
    if key is None:
        return Rule()
    row = connection.execute("select paused, stopped from key_rule where key = ?", (key,)).fetchone()
    return Rule(*map(bool, row)) if row is not None else Rule()


def set_rule(connection: "sqlite3.Connection", key: str, rule: Rule) -> None:
    """Keep what was said, and heed it: a paused lane has a first delivery that is not claimed."""
    if rule == Rule():
        connection.execute("delete from key_rule where key = ?", (key,))
    else:
        connection.execute(
            "insert into key_rule (key, paused, stopped) values (?, ?, ?)"
            " on conflict (key) do update set paused = excluded.paused, stopped = excluded.stopped",
            (key, *rule),
        )
    connection.execute("update head set held = ? where lane = ?", (rule.paused, lane_of(key, "")))
