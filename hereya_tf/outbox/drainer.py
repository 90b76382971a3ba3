"""Draining: deliveries are claimed, handed to their handler through the keyed queue, and settled (I/O)."""

import functools
import os
import random as chance
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, NamedTuple

from hereya_tf.outbox.backoff import Backoff
from hereya_tf.outbox.clock import Clock, process_name
from hereya_tf.outbox.deliveries import Dead, Delivered, Delivery, Patch, Released, Retry, State, encode
from hereya_tf.outbox.errors import OutboxError
from hereya_tf.outbox.flights import Flight, Flights
from hereya_tf.outbox.store import OutboxStore
from hereya_tf.queue import CancelToken, KeyedQueue

Handler = Callable[[CancelToken, Delivery], Any]

# Seconds.
_POLL = 0.2
_LONGEST_PAUSE = 5.0
CLAIM_TTL = 30_000


class Drained(NamedTuple):
    """What was settled: arrived, to be tried again, dead, given back. What was refused is not among them."""

    delivered: int = 0
    retried: int = 0
    dead: int = 0
    released: int = 0


class Stopped(NamedTuple):
    """What a drainer has settled since `stop` was called, and the ids of what its handlers still are at."""

    drained: Drained
    still_running: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left under way."""
        return not self.still_running


class Drainer:
    """Delivers what is in an outbox: `handler(cancel, delivery)`, whose JSON value is the result.

    At most `width` at once; those of one key one at a time, in order. A handler that raises is tried again
    after `backoff`, until its attempts are used up; then the delivery is dead and `on_dead` hears of it, once.
    Claims are held for `claim_ttl` milliseconds and renewed while the handler runs; when one is lost, or when
    somebody asks for the end of the delivery, `cancel` is set. A delivery may be handled again after a crash.
    `on_trouble` hears sentences about what goes wrong with the outbox itself, and about hooks that raise.
    `clock` is in milliseconds, the store's own unless given; `random` gives numbers from 0 to 1. Raises ValueError
    for a width or a claim_ttl below 1.
    """

    def __init__(
        self,
        store: OutboxStore,
        handler: Handler,
        *,
        width: int = 8,
        claim_ttl: int = CLAIM_TTL,
        backoff: Backoff = Backoff(),  # noqa: B008 - it is frozen
        on_dead: Callable[[Delivery], object] | None = None,
        on_trouble: Callable[[str], object] = lambda _sentence: None,
        clock: Clock | None = None,
        random: Callable[[], float] = chance.random,
        drainer_id: str | None = None,
        poll: float = _POLL,
    ) -> None:
        if claim_ttl < 1:
            raise ValueError(f"claim_ttl is {claim_ttl}, a claim has to be held for at least 1 millisecond")
        self._store = store
        self._handler = handler
        self._width = width
        self._claim_ttl = claim_ttl
        self._backoff = backoff
        self._on_dead = on_dead
        self._hears_of_trouble = on_trouble
        self._clock = store.clock if clock is None else clock
        self._random = random
        self.id = f"{process_name()}:{os.urandom(4).hex()}" if drainer_id is None else drainer_id
        self._poll = poll
        self._queue = KeyedQueue(width=width)
        self._flights = Flights(store, self._clock, claim_ttl, self._on_trouble)
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._ending = threading.Event()
        self._counting = threading.Lock()
        self._drained = Drained()
        self._thread: threading.Thread | None = None

    def drain(self) -> Drained:
        """Deliver what is ready now, and what becomes ready through it; not what waits for another try.

        Raises OutboxError when the outbox cannot be used; what is under way is waited for first.
        """
        before = self._drained
        self._store.listen(self._wake.set)
        try:
            while not self._stopping.is_set():
                self._wake.clear()
                # Asked first: what ends while we look may have made another one ready.
                was_idle = not len(self._flights)
                if not self._fill() and was_idle:
                    break
                self._wake.wait(self._poll)
        finally:
            self._store.unlisten(self._wake.set)
            while not self._flights.wait_for_none(self._poll):
                pass
        return _difference(self._drained, before)

    def start(self) -> None:
        """Deliver in the background until `stop`."""
        if self._thread is None:
            self._store.listen(self._wake.set)
            self._thread = threading.Thread(target=self._go_on, name="hereya-outbox", daemon=True)
            self._thread.start()

    def stop(self, deadline: float, *, grace: float = 5.0) -> Stopped:
        """Claim nothing more and wait `deadline` seconds for what is under way.

        Handlers that are not done then are told to end and have `grace` seconds for it; what they have not
        delivered is given back, and the attempt does not count. The claims of what is still under way after
        that are renewed as long as this process lives. Not for handlers to call: they would wait for themselves.
        """
        before = self._drained
        self._stopping.set()
        self._wake.set()
        self._store.unlisten(self._wake.set)
        if not self._has_ended(deadline):
            self._ending.set()
            self._flights.cancel_all()
            self._has_ended(grace)
        left = self._flights.ids
        self._ending.set()
        self._queue.stop(0 if left else None)
        return Stopped(_difference(self._drained, before), left)

    def _has_ended(self, seconds: float) -> bool:
        """Whether nothing is claimed, and nothing is under way, any more, after so many seconds at most."""
        began = time.monotonic()
        if self._thread is not None:
            # It may be with a hook of the caller's, or wait for the file.
            self._thread.join(min(max(0.0, seconds), threading.TIMEOUT_MAX))
            if self._thread.is_alive():
                return False
        return self._flights.wait_for_none(seconds - (time.monotonic() - began))

    def _go_on(self) -> None:
        pause = self._poll
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                self._fill()
            except BaseException as error:  # noqa: BLE001 - whatever it is, draining goes on
                self._on_trouble(f"nothing can be claimed: {_told(error)}")
                pause = min(2 * pause, _LONGEST_PAUSE)
                self._stopping.wait(pause)
            else:
                pause = self._poll
                self._wake.wait(pause)

    def _fill(self) -> bool:
        """Claim as much as there is room and work for; whether anything was begun."""
        has_begun = False
        while len(self._flights) < self._width and not self._stopping.is_set():
            claimed = self._store.claim(self._clock(), self._claim_ttl, claimer=self.id)
            if claimed is None or claimed.claim_token is None:
                break
            if self._ending.is_set():  # `stop` has not waited for this claim
                self._store.settle(claimed.id, Released(), claimed.claim_token)
                break
            flight = self._flights.begin(claimed, claimed.claim_token)
            task = self._queue.run(claimed.key, self._deliver, flight)
            flight.cancel_by(functools.partial(self._queue.request_cancel, task.id))
            task.result.add_done_callback(functools.partial(self._give_back, flight))
            if flight.is_given_back:  # it would be claimed again at once
                break
            has_begun = True
        self._announce()
        return has_begun

    def _deliver(self, cancel: CancelToken, flight: Flight) -> None:
        """One delivery from its handler to its settlement; raises nothing: the queue is not to try again."""
        flight.has_begun = True
        try:
            patch = self._hand_over(cancel, flight.delivery)
            state = self._settle(flight, patch)
            if state is None:
                self._on_trouble(f"`{flight.delivery.id}` belongs to another claimer: the lease had run out")
            else:
                self._count(patch, state)
            if state is State.DEAD:
                self._announce()
        except Exception as error:  # noqa: BLE001 - its lease runs out, and somebody tries again
            self._on_trouble(f"`{flight.delivery.id}` could not be settled: {_told(error)}")
        finally:
            self._flights.end(flight)
            self._wake.set()

    def _give_back(self, flight: Flight, result: Future[None]) -> None:
        """What the queue did not take, or gave up before it began, is for others."""
        if flight.has_begun:
            return
        flight.is_given_back = True
        self._on_trouble(f"`{flight.delivery.id}` was not begun: {result.exception()}")
        try:
            self._store.settle(flight.delivery.id, Released(), flight.token)
        except OutboxError as error:
            self._on_trouble(f"`{flight.delivery.id}` could not be given back: {error}")
        finally:
            self._flights.end(flight)
            self._wake.set()

    def _hand_over(self, cancel: CancelToken, delivery: Delivery) -> Patch:
        try:
            result = self._handler(cancel, delivery)
        except BaseException as error:  # noqa: BLE001 - whatever a handler raises is a failed delivery
            return self._after_failure(delivery, _told(error))
        try:
            encode(result, "result")
        except OutboxError as error:
            # It has arrived; to deliver it again would not make the value a better one.
            self._on_trouble(f"`{delivery.id}` was delivered without its result: {error}")
            result = None
        return Delivered(result)

    def _after_failure(self, delivery: Delivery, error: str) -> Patch:
        if self._ending.is_set():
            return Released()
        if delivery.attempts >= delivery.attempts_allowed:
            return Dead(error)
        return Retry(error, self._clock(), self._backoff.delay(delivery.attempts, self._random()))

    def _settle(self, flight: Flight, patch: Patch) -> State | None:
        """Settle, however long the outbox cannot be written for a reason that may pass: the work is done."""
        pause = self._poll
        while True:
            try:
                return self._store.settle(flight.delivery.id, patch, flight.token)
            except OutboxError as error:
                if not error.may_pass or self._ending.is_set():
                    raise
                self._on_trouble(f"`{flight.delivery.id}` cannot be settled yet: {error}")
            pause = min(2 * pause, _LONGEST_PAUSE)
            self._ending.wait(pause)

    def _announce(self) -> None:
        """Tell of the dead that nobody was told of: ours, and those whose claimer has crashed."""
        if self._on_dead is None:
            return
        for letter in self._store.take_dead_letters():
            try:
                self._on_dead(letter)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - the hook is the caller's
                self._on_trouble(f"the dead-letter hook has failed for `{letter.id}`: {_told(error)}")

    def _on_trouble(self, sentence: str) -> None:
        try:
            self._hears_of_trouble(sentence)
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001, S110 - whoever hears of it has no say in whether draining goes on
            pass

    def _count(self, patch: Patch, state: State) -> None:
        with self._counting:
            counts = self._drained
            match state:
                case State.DELIVERED:
                    self._drained = counts._replace(delivered=counts.delivered + 1)
                case State.DEAD:
                    self._drained = counts._replace(dead=counts.dead + 1)
                case _ if isinstance(patch, Released):
                    self._drained = counts._replace(released=counts.released + 1)
                case _:
                    self._drained = counts._replace(retried=counts.retried + 1)


def _told(error: BaseException) -> str:
    """What an error says; its class where it says nothing, or cannot."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - the error is a handler's
        return type(error).__name__


def _difference(now: Drained, before: Drained) -> Drained:
    return Drained(*(new - old for new, old in zip(now, before, strict=True)))
