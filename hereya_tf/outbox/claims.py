"""Claims on deliveries: taken, renewed and settled within the caller's transaction (I/O).

A claim is a token and a lease. Whoever settles shows the token: a claimer whose lease has run out, and whose
delivery somebody else has claimed meanwhile, is refused.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, assert_never

from hereya_tf.outbox import lanes
from hereya_tf.outbox.deliveries import (
    Cause,
    Dead,
    Delivered,
    Patch,
    Released,
    Renewal,
    Retry,
    State,
    encode,
    storable,
)
from hereya_tf.outbox.rows import fetch_one

if TYPE_CHECKING:
    import sqlite3

# Somebody has asked for these; to be told of them once more would be noise.
_ASKED_FOR = (Cause.CANCELLED, Cause.KEY_STOPPED)


class Claimer(NamedTuple):
    """Who claims, with the token of this claim."""

    name: str
    token: str


class _Live(NamedTuple):
    """What decides about a delivery that is to be claimed or settled."""

    number: int
    lane: str
    key: str | None
    state: str
    attempts: int
    attempts_allowed: int
    cancel_requested: int
    claimed_by: str | None


_SELECT = (
    "select number, lane, key, state, attempts, attempts_allowed, cancel_requested, claimed_by from delivery"
)


def claim_next(
    connection: "sqlite3.Connection", now: int, lease: int, claimer: Claimer, wall: int
) -> tuple[Any, ...] | None:
    """The row of the next delivery that is ready, claimed for `lease` milliseconds; None when none is.

    A lease that has run out is that of a claimer who has died: his attempt counts, and a delivery that has
    none left is dead.
    """
    while (number := lanes.first_ready(connection, now)) is not None:
        live = _Live(*connection.execute(f"{_SELECT} where number = ?", (number,)).fetchone())
        ending = _ending_of_abandoned(connection, live) if live.state == State.DELIVERING else None
        if ending is None:
            _take(connection, live, now, lease, claimer)
            return fetch_one(connection, "number = ?", number)
        bury(connection, live.number, live.lane, ending, wall)
    return None


def renew(
    connection: "sqlite3.Connection", delivery_id: str, claim_token: str, now: int, lease: int
) -> Renewal:
    """Hold the claim for another `lease` milliseconds, or hear what has become of it."""
    row = connection.execute(
        "select lane, cancel_requested from delivery where id = ? and claim_token = ? and state = 'delivering'",
        (delivery_id, claim_token),
    ).fetchone()
    if row is None:
        return Renewal.LOST
    connection.execute(
        "update delivery set ready_at = ?, span = ? where id = ?", (now + lease, lease, delivery_id)
    )
    lanes.set_ready(connection, row[0], now + lease)
    return Renewal.CANCEL_REQUESTED if row[1] else Renewal.HELD


def look(connection: "sqlite3.Connection", delivery_id: str, claim_token: str) -> Renewal:
    """What has become of the claim."""
    row = connection.execute(
        "select cancel_requested from delivery where id = ? and claim_token = ? and state = 'delivering'",
        (delivery_id, claim_token),
    ).fetchone()
    if row is None:
        return Renewal.LOST
    return Renewal.CANCEL_REQUESTED if row[0] else Renewal.HELD


def settle(
    connection: "sqlite3.Connection", delivery_id: str, patch: Patch, claim_token: str, wall: int
) -> State | None:
    """What the delivery has come to; None when the claim is not held any more, and nothing was changed."""
    row = connection.execute(
        f"{_SELECT} where id = ? and claim_token = ? and state = 'delivering'", (delivery_id, claim_token)
    ).fetchone()
    if row is None:
        return None
    live = _Live(*row)
    patch = _heeding_orders(connection, live, patch)
    match patch:
        case Delivered(result):
            connection.execute(
                "update delivery set state = 'delivered', result = ?, claim_token = null, ended = ?"
                " where number = ?",
                (encode(result, "result"), wall, live.number),
            )
            lanes.advance(connection, live.lane)
            return State.DELIVERED
        case Retry(error, now, delay):
            _put_back(connection, live, now + delay, delay, attempts=live.attempts, error=storable(error))
            return State.PENDING
        case Released():
            _put_back(connection, live, 0, 0, attempts=live.attempts - 1, error=None)
            return State.PENDING
        case Dead():
            bury(connection, live.number, live.lane, patch, wall)
            return State.DEAD
        case _:
            assert_never(patch)


def bury(connection: "sqlite3.Connection", number: int, lane: str, patch: Dead, wall: int) -> None:
    """The delivery is dead, and its lane goes on; what nobody has asked for will be announced."""
    connection.execute(
        "update delivery set state = 'dead', last_error = ?, cause = ?, claim_token = null, ended = ?,"
        " announced = ? where number = ?",
        (storable(patch.error), patch.cause, wall, patch.cause in _ASKED_FOR, number),
    )
    lanes.reconsider(connection, lane, held=False)


def cancelled() -> Dead:
    """The end of a delivery that somebody has cancelled."""
    return Dead("cancelled", Cause.CANCELLED)


def key_stopped(key: str | None) -> Dead:
    """The end of a delivery whose key was stopped."""
    return Dead(f"the key `{key}` was stopped", Cause.KEY_STOPPED)


def _ending_of_abandoned(connection: "sqlite3.Connection", live: _Live) -> Dead | None:
    if live.cancel_requested:
        return cancelled()
    if lanes.rule_of(connection, live.key).stopped:
        return key_stopped(live.key)
    if live.attempts >= live.attempts_allowed:
        attempts = f"attempt {live.attempts} of {live.attempts_allowed}"
        return Dead(f"`{live.claimed_by}` has ended without a word during {attempts}", Cause.CRASHED)
    return None


def _take(connection: "sqlite3.Connection", live: _Live, now: int, lease: int, claimer: Claimer) -> None:
    connection.execute(
        "update delivery set state = 'delivering', attempts = attempts + 1, ready_at = ?, span = ?,"
        " claim_token = ?, claimed_by = ? where number = ?",
        (now + lease, lease, claimer.token, claimer.name, live.number),
    )
    if live.state == State.DELIVERING:
        connection.execute(
            "update delivery set last_error = ? where number = ?",
            (f"`{live.claimed_by}` has ended without a word during attempt {live.attempts}", live.number),
        )
    lanes.set_ready(connection, live.lane, now + lease)


def _heeding_orders(connection: "sqlite3.Connection", live: _Live, patch: Patch) -> Patch:
    """What has not arrived is not tried again when somebody has said so meanwhile."""
    match patch:
        case Retry() | Released():
            if live.cancel_requested:
                return cancelled()
            return key_stopped(live.key) if lanes.rule_of(connection, live.key).stopped else patch
        case Delivered() | Dead():
            return patch
        case _:
            assert_never(patch)


def _put_back(
    connection: "sqlite3.Connection",
    live: _Live,
    ready_at: int,
    span: int,
    *,
    attempts: int,
    error: str | None,
) -> None:
    connection.execute(
        "update delivery set state = 'pending', attempts = ?, ready_at = ?, span = ?, claim_token = null,"
        " last_error = coalesce(?, last_error) where number = ?",
        (attempts, ready_at, span, error, live.number),
    )
    lanes.set_ready(connection, live.lane, ready_at)
