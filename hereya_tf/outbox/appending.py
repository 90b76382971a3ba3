"""What is put into the outbox, within the caller's transaction (I/O)."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from hereya_tf.outbox import lanes
from hereya_tf.outbox.backoff import LONGEST
from hereya_tf.outbox.deliveries import Appended, checked, encode
from hereya_tf.outbox.errors import OutboxError
from hereya_tf.outbox.ids import new_id
from hereya_tf.queue.errors import QueueKeyStoppedError

if TYPE_CHECKING:
    import sqlite3

ATTEMPTS = 8
_TRIES = 5
_MOST_ATTEMPTS = 1_000_000_000


class Draft(NamedTuple):
    """A delivery that is to be: a JSON value, and how it is to be delivered.

    What is first of its key and has a `delay` (milliseconds) holds the key. A crash counts as one of the
    `attempts`. With an `idempotency_key` that is known (until it is purged) nothing is added.
    """

    payload: Any
    key: str | None = None
    type: str = ""
    idempotency_key: str | None = None
    delay: int = 0
    attempts: int = ATTEMPTS


class Ready(NamedTuple):
    """A draft that was checked, its payload as text."""

    draft: Draft
    text: str


def check(draft: Draft) -> Ready:
    """The draft, ready to be stored. Raises OutboxError."""
    if not (1 <= draft.attempts <= _MOST_ATTEMPTS and 0 <= draft.delay <= LONGEST):
        raise OutboxError(
            "a delivery needs at least one attempt, and no delay that is negative or over a hundred years,"
            f" not `{draft.attempts}` and `{draft.delay}`"
        )
    for name, what in ((draft.key, "key"), (draft.idempotency_key, "idempotency key"), (draft.type, "type")):
        if name is not None:
            checked(name, what)
    return Ready(draft, encode(draft.payload, "payload"))


def append(
    connection: "sqlite3.Connection", ready: Ready, now: int, wall: int, entropy: Callable[[int], bytes]
) -> Appended:
    """Put it into the outbox, last of its key. Raises QueueKeyStoppedError for a key that was stopped."""
    draft = ready.draft
    if draft.idempotency_key is not None:
        row = connection.execute(
            "select id from delivery where idempotency_key = ?", (draft.idempotency_key,)
        ).fetchone()
        if row is not None:
            return Appended(row[0], is_new=False)
    rule = lanes.rule_of(connection, draft.key)
    if draft.key is not None and rule.stopped:
        raise QueueKeyStoppedError(draft.key)
    delivery_id = _fresh_id(connection, wall, entropy)
    lane = lanes.lane_of(draft.key, delivery_id)
    ready_at = now + draft.delay if draft.delay else 0
    number = connection.execute(
        "insert into delivery (id, lane, key, type, payload, state, attempts, attempts_allowed,"
        " ready_at, span, idempotency_key, created) values (?, ?, ?, ?, ?, 'pending', 0, ?, ?, ?, ?, ?)",
        (
            *(delivery_id, lane, draft.key, draft.type, ready.text),
            *(draft.attempts, ready_at, draft.delay, draft.idempotency_key, wall),
        ),
    ).lastrowid
    assert number is not None
    lanes.enter(connection, lane, number, ready_at, held=rule.paused)
    return Appended(delivery_id, is_new=True)


def _fresh_id(connection: "sqlite3.Connection", wall: int, entropy: Callable[[int], bytes]) -> str:
    """An id that is not there: two processes may have the same count, and once in a while the same chance."""
    for _ in range(_TRIES):
        delivery_id = new_id(wall, entropy)
        if connection.execute("select 1 from delivery where id = ?", (delivery_id,)).fetchone() is None:
            return delivery_id
    raise OutboxError("there is no id that is not taken")
