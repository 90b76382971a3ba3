"""A delivery, its states, and what a claim can come to (pure).

Times are whole milliseconds. `created` and `ended` are of the wall clock, since the epoch; `ready_at` is of
the clock that the store's callers give to `claim` and `settle`.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple

from hereya_tf import exact
from hereya_tf.outbox.errors import OutboxError

# Whoever reads it may have used up most of what Python lets functions nest: 1,000.
_DEEPEST = 400
_SURROGATE = re.compile("[\ud800-\udfff]")


class State(StrEnum):
    """Where a delivery is in its life."""

    PENDING = "pending"
    DELIVERING = "delivering"
    DELIVERED = "delivered"
    DEAD = "dead"


class Cause(StrEnum):
    """Why a delivery is dead."""

    FAILED = "failed"
    CRASHED = "crashed"
    CANCELLED = "cancelled"
    KEY_STOPPED = "key-stopped"


class Delivery(NamedTuple):
    """One row of the outbox.

    `ready_at` is when it may be claimed: 0 for at once, the end of its back-off, or of the lease while it is
    being delivered. `attempts` counts the one that is on.
    """

    number: int
    id: str
    key: str | None
    type: str
    payload: Any
    state: State
    attempts: int
    attempts_allowed: int
    ready_at: int
    claim_token: str | None
    claimed_by: str | None
    cancel_requested: bool
    result: Any
    last_error: str | None
    cause: Cause | None
    idempotency_key: str | None
    created: int
    ended: int | None


class Appended(NamedTuple):
    """The delivery that stands in the outbox now; not a new one when its idempotency key was known."""

    id: str
    is_new: bool


class Delivered(NamedTuple):
    """Settles a claim: it has arrived; `result` is a JSON value."""

    result: Any = None


class Retry(NamedTuple):
    """Settles a claim: it failed at `now` and is to be tried again `delay` milliseconds later."""

    error: str
    now: int
    delay: int


class Dead(NamedTuple):
    """Settles a claim: it failed for good."""

    error: str
    cause: Cause = Cause.FAILED


class Released(NamedTuple):
    """Settles a claim: it was given back through no fault of its own, and may be claimed at once.

    The attempt does not count.
    """


Patch = Delivered | Retry | Dead | Released


class Renewal(StrEnum):
    """What has become of a claim."""

    HELD = "held"
    CANCEL_REQUESTED = "cancel-requested"
    LOST = "lost"


def encode(value: Any, what: str) -> str:
    """A JSON value as text that can be stored and read back; raises OutboxError, which says `what` it was."""
    if _is_too_deep(value):
        raise OutboxError(
            f"the {what} is no JSON value: it is more than {_DEEPEST} levels deep, or holds itself"
        )
    try:
        text = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", exact.dumps(value))
        exact.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise OutboxError(f"the {what} is no JSON value: {error}") from error
    return text


def _is_too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(_DEEPEST):
        inner = [each for outer in level for each in _members(outer) if isinstance(each, dict | list | tuple)]
        if not inner:
            return False
        # What is there twice is looked at once: one that holds itself twice would be there ever more often.
        level = list({id(each): each for each in inner}.values())
    return True


def _members(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def decode(text: str | None) -> Any:
    """A stored JSON value; numbers keep every digit, so that those with a fraction are Decimal."""
    if text is None:
        return None
    try:
        return exact.loads(text)
    except (ValueError, RecursionError) as error:
        raise OutboxError(f"the outbox holds what is no JSON value: {error}") from error


def storable(text: str) -> str:
    """Any text as one that UTF-8 can hold."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def checked(text: str, what: str) -> str:
    """A name as it is; raises OutboxError where UTF-8 cannot hold it: changed, it would be another one."""
    if storable(text) != text:
        raise OutboxError(f"the {what} `{storable(text)}` is no valid Unicode")
    return text
