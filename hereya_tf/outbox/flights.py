"""Deliveries that are under way in this process: their claims are renewed until the last handler ends (I/O)."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, assert_never

from hereya_tf.outbox.clock import Clock
from hereya_tf.outbox.deliveries import Delivery, Renewal
from hereya_tf.outbox.errors import OutboxError

if TYPE_CHECKING:
    from hereya_tf.outbox.store import OutboxStore

# A claim is renewed so often within its lease: one renewal may be late, or fail.
_RENEWALS = 3
# Between two looks whether somebody has asked for the end of a delivery, in seconds.
_LOOK = 0.25


class Flight:
    """One delivery that is under way, and how its handler can be told to end."""

    def __init__(self, delivery: Delivery, token: str) -> None:
        self.delivery = delivery
        self.token = token
        self.lease_end = delivery.ready_at
        self.has_begun = False
        self.is_given_back = False
        self._lock = threading.Lock()
        self._cancel: Callable[[], object] | None = None
        self._is_cancelled = False

    @property
    def claim(self) -> tuple[str, str]:
        """The claim as the store wants it."""
        return self.delivery.id, self.token

    def cancel_by(self, cancel: Callable[[], object]) -> None:
        """How to tell its handler, as soon as that is known."""
        with self._lock:
            self._cancel = cancel
            is_cancelled = self._is_cancelled
        if is_cancelled:
            cancel()

    def cancel(self) -> None:
        """Tell its handler to end; once."""
        with self._lock:
            tell = None if self._is_cancelled else self._cancel
            self._is_cancelled = True
        if tell is not None:
            tell()


class Flights:
    """All that is under way, and the thread that keeps it so."""

    def __init__(
        self, store: "OutboxStore", clock: Clock, claim_ttl: int, on_trouble: Callable[[str], object]
    ) -> None:
        self._store = store
        self._clock = clock
        self._claim_ttl = claim_ttl
        self._on_trouble = on_trouble
        self._changed = threading.Condition()
        self._flying: dict[str, Flight] = {}
        self._thread: threading.Thread | None = None
        self._next_renewal = 0

    def __len__(self) -> int:
        return len(self._flying)

    @property
    def ids(self) -> tuple[str, ...]:
        """The deliveries that are under way."""
        with self._changed:
            return tuple(flight.delivery.id for flight in self._flying.values())

    def begin(self, delivery: Delivery, token: str) -> Flight:
        """Something is under way from now on."""
        flight = Flight(delivery, token)
        with self._changed:
            self._flying[token] = flight
            if len(self._flying) == 1:
                self._next_renewal = self._clock() + self._claim_ttl // _RENEWALS
            if self._thread is None:
                self._thread = threading.Thread(target=self._watch, name="hereya-outbox-leases", daemon=True)
                self._thread.start()
        return flight

    def end(self, flight: Flight) -> None:
        """It is over, and settled if that was possible."""
        with self._changed:
            self._flying.pop(flight.token, None)
            self._changed.notify_all()

    def cancel_all(self) -> None:
        """Tell every handler to end."""
        for flight in self._now():
            flight.cancel()

    def wait_for_none(self, seconds: float) -> bool:
        """Whether nothing is under way any more, after so many seconds at most."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._flying, min(max(0.0, seconds), threading.TIMEOUT_MAX)
            )

    def look_after(self, now: int) -> None:
        """Renew what is due, and tell handlers what has become of their claims."""
        flying = self._now()
        if not flying:
            return
        try:
            self._look(flying, now)
        except OutboxError as error:
            # Nobody can say whether the claim is still ours once the lease has run out.
            for flight in flying:
                if now >= flight.lease_end:
                    flight.cancel()
            self._on_trouble(f"claims cannot be renewed: {error}")

    def _look(self, flying: list[Flight], now: int) -> None:
        claimed = [flight.claim for flight in flying]
        is_due = now >= self._next_renewal
        if is_due:
            found = self._store.renew(claimed, now, self._claim_ttl)
            self._next_renewal = now + self._claim_ttl // _RENEWALS
        else:
            found = self._store.look(claimed)
        for flight in flying:
            match found[flight.token]:
                case Renewal.LOST | Renewal.CANCEL_REQUESTED:
                    # Or it was settled a moment ago; then there is nobody to be told.
                    flight.cancel()
                case Renewal.HELD:
                    pass
                case unknown:
                    assert_never(unknown)
            if is_due:
                flight.lease_end = now + self._claim_ttl

    def _now(self) -> list[Flight]:
        with self._changed:
            return list(self._flying.values())

    def _watch(self) -> None:
        pause = min(_LOOK, self._claim_ttl / _RENEWALS / 1000)
        idle = threading.Event()
        while self._is_needed():
            try:
                self.look_after(self._clock())
            except BaseException as error:  # noqa: BLE001 - without this thread every claim would be lost
                self._on_trouble(f"claims cannot be renewed: {error}")
            idle.wait(pause)

    def _is_needed(self) -> bool:
        """Whether the thread has anything to do; if not, the next flight starts another one."""
        with self._changed:
            if not self._flying:
                self._thread = None
            return bool(self._flying)
