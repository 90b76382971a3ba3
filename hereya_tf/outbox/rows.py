"""Rows of the outbox as deliveries (I/O)."""

from typing import TYPE_CHECKING, Any

from hereya_tf.outbox.deliveries import Cause, Delivery, State, decode
from hereya_tf.outbox.errors import OutboxError

if TYPE_CHECKING:
    import sqlite3

_SELECT = (
    "select number, id, key, type, payload, state, attempts, attempts_allowed, ready_at, claim_token, claimed_by,"
    " cancel_requested, result, last_error, cause, idempotency_key, created, ended from delivery"
)


def fetch(connection: "sqlite3.Connection", where: str, *values: object) -> tuple[tuple[Any, ...], ...]:
    """Rows that `where` chooses; what SQLite has for them, until there is time to decode it."""
    return tuple(connection.execute(f"{_SELECT} where {where}", values))


def fetch_one(connection: "sqlite3.Connection", where: str, *values: object) -> tuple[Any, ...] | None:
    """The row that `where` chooses, None when there is none."""
    return next(iter(fetch(connection, where, *values)), None)


def delivery(row: tuple[Any, ...]) -> Delivery:
    """One row, decoded. Raises OutboxError when it holds what is no JSON, or a word that is not known."""
    plain = Delivery(*row)
    try:
        state, cause = State(plain.state), None if plain.cause is None else Cause(plain.cause)
    except ValueError as error:
        raise OutboxError(
            f"the outbox holds a delivery with a word that is not known: {error}", "upgrade hereya-tf"
        ) from error
    return plain._replace(
        payload=decode(row[4]),
        state=state,
        cancel_requested=bool(plain.cancel_requested),
        result=decode(row[12]),
        cause=cause,
    )
