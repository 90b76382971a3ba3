"""The outbox: deliveries in one file that survive a crash at any point, in order within each key (I/O)."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

from hereya_tf.outbox import claims, keys, lanes, rows, upkeep
from hereya_tf.outbox.appending import ATTEMPTS, Draft, append, check
from hereya_tf.outbox.clock import Clock, process_name, wall_clock
from hereya_tf.outbox.deliveries import Appended, Delivery, Patch, Renewal, State, checked
from hereya_tf.outbox.file import OutboxFile
from hereya_tf.outbox.keys import Snapshot

Entropy = Callable[[int], bytes]


class OutboxStore:
    """A durable queue for all processes of a machine; with an aggregate as the key, an outbox.

    Deliveries of one key are claimed one at a time, in the order in which they were appended; one that waits
    to be tried again holds its key. Every method raises OutboxError when the file cannot be used. All times
    are milliseconds; those of `claim`, `renew` and `settle` are of `clock`, unless the caller has another.
    """

    def __init__(
        self,
        path: Path,
        *,
        wall: Clock = wall_clock,
        entropy: Entropy = os.urandom,
        file: OutboxFile | None = None,
    ) -> None:
        self._file = OutboxFile(path) if file is None else file
        self._wall = wall
        self._entropy = entropy
        self._listeners: list[Callable[[], object]] = []

    @property
    def path(self) -> Path:
        """The file."""
        return self._file.path

    @property
    def clock(self) -> Clock:
        """Milliseconds that all processes with this outbox agree on, and that no set clock changes."""
        return self._file.clock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def append(
        self,
        payload: Any,
        *,
        key: str | None = None,
        type: str = "",  # noqa: A002 - the field's word
        idempotency_key: str | None = None,
        delay: int = 0,
        attempts: int = ATTEMPTS,
    ) -> Appended:
        """Put a JSON value into the outbox, as `Draft` says; it is on the disk when this returns.

        Raises QueueKeyStoppedError for a key that was stopped.
        """
        return self.append_all((Draft(payload, key, type, idempotency_key, delay, attempts),))[0]

    def append_all(self, drafts: Iterable[Draft]) -> tuple[Appended, ...]:
        """Put several into the outbox, all of them or none. Raises as `append` does."""
        checked_drafts = [check(draft) for draft in drafts]
        with self._file.writing() as connection:
            now, wall = self.clock(), self._wall()
            appended = tuple(append(connection, draft, now, wall, self._entropy) for draft in checked_drafts)
        self._tell()
        return appended

    def claim(self, now: int, claim_ttl: int, *, claimer: str | None = None) -> Delivery | None:
        """The next delivery that is ready, with its `claim_token`, for `claim_ttl` milliseconds.

        A live claim is nobody else's; one that has run out is. None when nothing is ready.
        """
        with self._file.reading() as connection:
            # Idle drainers ask all the time: they need not wait for those who write.
            if lanes.first_ready(connection, now) is None:
                return None
        name = process_name() if claimer is None else claimer
        ours = claims.Claimer(checked(name, "claimer"), self._entropy(16).hex())
        with self._file.writing() as connection:
            row = claims.claim_next(connection, now, claim_ttl, ours, self._wall())
        return None if row is None else rows.delivery(row)

    def renew(self, claimed: Iterable[tuple[str, str]], now: int, claim_ttl: int) -> Mapping[str, Renewal]:
        """Hold claims, given as (id, claim token), for `claim_ttl` more; by token, what they are."""
        with self._file.writing() as connection:
            return {
                token: claims.renew(connection, delivery_id, token, now, claim_ttl)
                for delivery_id, token in claimed
            }

    def look(self, claimed: Iterable[tuple[str, str]]) -> Mapping[str, Renewal]:
        """What claims are, by token, without renewing them."""
        with self._file.reading() as connection:
            return {token: claims.look(connection, delivery_id, token) for delivery_id, token in claimed}

    def settle(self, id: str, patch: Patch, claim_token: str) -> State | None:  # noqa: A002
        """Say how the delivery went; the state that it has come to.

        None (and nothing is changed) when the claim is not held any more: the lease had run out, and the
        delivery belongs to somebody else.
        """
        with self._file.writing() as connection:
            state = claims.settle(connection, id, patch, claim_token, self._wall())
        self._tell()
        return state

    def get(self, id: str) -> Delivery | None:  # noqa: A002 - the store's fixed words
        """The delivery with this id."""
        with self._file.reading() as connection:
            row = rows.fetch_one(connection, "id = ?", id)
        return None if row is None else rows.delivery(row)

    def by_state(self, state: State, limit: int) -> tuple[Delivery, ...]:
        """The oldest deliveries in this state, in order."""
        with self._file.reading() as connection:
            found = rows.fetch(connection, "state = ? order by number limit ?", State(state), limit)
        return tuple(map(rows.delivery, found))

    def cancel(self, id: str) -> bool:  # noqa: A002
        """End a delivery that waits, in back-off too: dead, cancelled. False for any other."""
        with self._file.writing() as connection:
            return keys.cancel(connection, id, self._wall())

    def request_cancel(self, id: str) -> bool:  # noqa: A002
        """Ask for the end of a delivery: one that waits is cancelled, a handler that is at it is told.

        False when it has ended, or is unknown.
        """
        with self._file.writing() as connection:
            return keys.request_cancel(connection, id, self._wall())

    def pause_key(self, key: str) -> None:
        """What is being delivered ends, nothing else of the key begins."""
        with self._file.writing() as connection:
            keys.set_paused(connection, checked(key, "key"), paused=True)

    def resume_key(self, key: str) -> None:
        """A paused key goes on, in order; one that was stopped stays so."""
        with self._file.writing() as connection:
            keys.set_paused(connection, checked(key, "key"), paused=False)
        self._tell()

    def stop_key(self, key: str) -> int:
        """Reject what waits, and refuse what is appended, until `start_key`; how many were rejected.

        What is being delivered ends, and is not tried again.
        """
        with self._file.writing() as connection:
            return keys.stop(connection, checked(key, "key"), self._wall())

    def start_key(self, key: str) -> bool:
        """Take deliveries for the key again; whether it was stopped. One that is paused stays so."""
        with self._file.writing() as connection:
            return keys.start(connection, checked(key, "key"))

    def is_busy(self, key: str | None) -> bool:
        """Whether something of the key waits or is being delivered; None is never busy."""
        with self._file.reading() as connection:
            return key is not None and keys.is_busy(connection, key)

    def snapshot(self) -> Snapshot:
        """How many there are in each state, and which keys wait for what."""
        with self._file.reading() as connection:
            return keys.snapshot(connection)

    def revive(self, id: str) -> bool:  # noqa: A002
        """Let a dead delivery begin anew, in its old place; one in back-off is tried at once.

        False for any other. Raises QueueKeyStoppedError for a key that was stopped.
        """
        with self._file.writing() as connection:
            revived = upkeep.revive(connection, id)
        self._tell()
        return revived

    def take_dead_letters(self) -> tuple[Delivery, ...]:
        """Deliveries that have died and that nobody was told of; each is given out once, to one process."""
        with self._file.reading() as connection:
            if not upkeep.has_dead_letters(connection):
                return ()
        with self._file.writing() as connection:
            found = upkeep.take_dead_letters(connection)
        return tuple(map(rows.delivery, found))

    def purge(self, states: Iterable[State], *, ended_before: int) -> int:
        """Remove deliveries that ended before (milliseconds of the wall clock); how many there were.

        Their idempotency keys are forgotten with them. Raises OutboxError for a state that is no end.
        """
        removed = 0
        for state in upkeep.ended_states(states):
            count = upkeep.AT_ONCE
            while count == upkeep.AT_ONCE:
                with self._file.writing() as connection:
                    count = upkeep.purge_some(connection, state, ended_before)
                removed += count
        with self._file.reading() as connection:
            upkeep.give_room_back(connection)
        return removed

    def listen(self, listener: Callable[[], object]) -> None:
        """Call this when something in this process may have made a delivery ready."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], object]) -> None:
        """Call it no more."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def _tell(self) -> None:
        for listener in tuple(self._listeners):
            listener()
