"""Whatever is done to an outbox in whatever order, it behaves like a few lists in memory."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from hereya_tf.outbox import Cause, Dead, Delivered, Patch, Released, Retry, State
from hereya_tf.queue import QueueKeyStoppedError
from tests.outboxes import Outbox

KEYS = (None, "a", "b")
LEASE = 100
ATTEMPTS = 3


class Expected:
    """What is known of one delivery."""

    def __init__(self, number: int, key: str | None) -> None:
        self.number = number
        self.key = key
        self.state = State.PENDING
        self.attempts = 0
        self.ready_at = 0
        self.cause: Cause | None = None
        self.token: str | None = None
        self.asked = False

    @property
    def is_live(self) -> bool:
        return self.state in (State.PENDING, State.DELIVERING)

    @property
    def has_begun(self) -> bool:
        return self.state is State.DELIVERING or (self.state is State.PENDING and self.attempts > 0)

    def die(self, cause: Cause) -> None:
        self.state, self.cause, self.token = State.DEAD, cause, None


class OutboxMachine(RuleBasedStateMachine):
    """Operations on a real file, and on the lists."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.known: dict[str, Expected] = {}
        self.paused: set[str] = set()
        self.stopped: set[str] = set()
        self.tokens: list[tuple[str, str]] = []

    @initialize()
    def open(self) -> None:
        self.store = Outbox(self.directory)
        self.hands = self.store.hands
        # It is no durability that is looked at here.
        with self.store._file.reading() as connection:
            connection.execute("pragma synchronous = off")

    def teardown(self) -> None:
        with contextlib.suppress(AttributeError):
            self.store.close()
        shutil.rmtree(self.directory)

    def head(self, key: str | None, number: int) -> Expected:
        lane = [each for each in self.known.values() if each.is_live and each.key == key]
        if key is None:
            return next(each for each in lane if each.number == number)
        return min(lane, key=lambda each: (not each.has_begun, each.number))

    def ready(self) -> list[Expected]:
        """Everything that a claim may give out, in no order."""
        return [
            each
            for each in self.known.values()
            if each.is_live
            and each.ready_at <= self.hands.now
            and self.head(each.key, each.number) is each
            and each.key not in self.paused
        ]

    def ending(self, each: Expected) -> Cause | None:
        if each.state is State.DELIVERING:
            if each.asked:
                return Cause.CANCELLED
            if each.key in self.stopped:
                return Cause.KEY_STOPPED
            if each.attempts >= ATTEMPTS:
                return Cause.CRASHED
        return None

    def settled(self, delivery_id: str, token: str) -> Expected | None:
        each = self.known[delivery_id]
        return each if each.token == token and each.state is State.DELIVERING else None

    @rule(key=st.sampled_from(KEYS), delay=st.sampled_from((0, 0, 0, 40)))
    def append(self, key: str | None, delay: int) -> None:
        number = len(self.known)
        try:
            appended = self.store.append(number, key=key, delay=delay, attempts=ATTEMPTS)
        except QueueKeyStoppedError:
            assert key in self.stopped
            return
        assert key not in self.stopped
        self.known[appended.id] = Expected(number, key)
        self.known[appended.id].ready_at = self.hands.now + delay if delay else 0

    @rule()
    def claim(self) -> None:
        ready = self.ready()
        claimed = self.store.claim(self.hands.now, LEASE)
        # What is given up on the way was ready, and what stood behind it may be given out.
        if claimed is None:
            while ready:
                for each in ready:
                    cause = self.ending(each)
                    assert cause is not None, "it was there to be claimed"
                    each.die(cause)
                ready = self.ready()
            return
        each = self.known[claimed.id]
        for other in list(self.known.values()):
            found = self.store.get(next(name for name, this in self.known.items() if this is other))
            assert found is not None
            if other.state is State.DELIVERING and found.state is State.DEAD:
                assert other in self.ready()
                cause = self.ending(other)
                assert cause is not None
                other.die(cause)
        assert each in self.ready()
        assert self.ending(each) is None
        assert (claimed.payload, claimed.attempts) == (each.number, each.attempts + 1)
        each.state, each.attempts, each.ready_at = State.DELIVERING, each.attempts + 1, self.hands.now + LEASE
        each.token = claimed.claim_token
        assert claimed.claim_token is not None
        self.tokens.append((claimed.id, claimed.claim_token))

    @precondition(lambda self: self.tokens)
    @rule(data=st.data(), how=st.sampled_from(("delivered", "retry", "dead", "released")))
    def settle(self, data: st.DataObject, how: str) -> None:
        delivery_id, token = data.draw(st.sampled_from(self.tokens))
        each = self.settled(delivery_id, token)
        patches: dict[str, Patch] = {
            "delivered": Delivered(),
            "retry": Retry("no", self.hands.now, 30),
            "dead": Dead("no"),
            "released": Released(),
        }
        state = self.store.settle(delivery_id, patches[how], token)
        if each is None:
            assert state is None
            return
        if how in ("retry", "released") and (each.asked or each.key in self.stopped):
            each.die(Cause.CANCELLED if each.asked else Cause.KEY_STOPPED)
        elif how == "delivered":
            each.state, each.token = State.DELIVERED, None
        elif how == "dead":
            each.die(Cause.FAILED)
        else:
            each.state, each.token = State.PENDING, None
            each.attempts -= how == "released"
            each.ready_at = self.hands.now + 30 if how == "retry" else 0
        assert state is each.state

    @precondition(lambda self: self.tokens)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        delivery_id, token = data.draw(st.sampled_from(self.tokens))
        each = self.settled(delivery_id, token)
        renewal = self.store.renew([(delivery_id, token)], self.hands.now, LEASE)[token]
        if each is not None:
            each.ready_at = self.hands.now + LEASE
        assert renewal == ("lost" if each is None else "cancel-requested" if each.asked else "held")

    @rule(milliseconds=st.sampled_from((1, 30, LEASE)))
    def wait(self, milliseconds: int) -> None:
        self.hands.turn(milliseconds)

    @precondition(lambda self: self.known)
    @rule(data=st.data(), ask=st.booleans())
    def cancel(self, data: st.DataObject, ask: bool) -> None:
        delivery_id = data.draw(st.sampled_from(sorted(self.known)))
        each = self.known[delivery_id]
        waits, runs = each.state is State.PENDING, each.state is State.DELIVERING
        assert (self.store.request_cancel if ask else self.store.cancel)(delivery_id) == (
            waits or (ask and runs)
        )
        if waits:
            each.die(Cause.CANCELLED)
        each.asked |= ask and runs

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def revive(self, data: st.DataObject) -> None:
        delivery_id = data.draw(st.sampled_from(sorted(self.known)))
        each = self.known[delivery_id]
        can = each.state in (State.DEAD, State.PENDING)
        try:
            assert self.store.revive(delivery_id) == can
        except QueueKeyStoppedError:
            assert can
            assert each.key in self.stopped
            return
        if can:
            each.ready_at = 0
        if each.state is State.DEAD:
            each.state, each.attempts, each.cause, each.asked = State.PENDING, 0, None, False

    @rule(key=st.sampled_from(("a", "b")), word=st.sampled_from(("pause", "resume", "stop", "start")))
    def say(self, key: str, word: str) -> None:
        match word:
            case "pause":
                self.store.pause_key(key)
                self.paused.add(key)
            case "resume":
                self.store.resume_key(key)
                self.paused.discard(key)
            case "start":
                assert self.store.start_key(key) == (key in self.stopped)
                self.stopped.discard(key)
            case _:
                waiting = [
                    each for each in self.known.values() if each.key == key and each.state is State.PENDING
                ]
                assert self.store.stop_key(key) == len(waiting)
                self.stopped.add(key)
                for each in waiting:
                    each.die(Cause.KEY_STOPPED)

    @invariant()
    def is_as_expected(self) -> None:
        found = {
            delivery.id: (delivery.state, delivery.attempts, delivery.cause, delivery.key)
            for state in State
            for delivery in self.store.by_state(state, 1000)
        }
        assert found == {
            delivery_id: (each.state, each.attempts, each.cause, each.key)
            for delivery_id, each in self.known.items()
        }
        for key in ("a", "b"):
            live = [each for each in self.known.values() if each.key == key and each.is_live]
            assert sum(each.state is State.DELIVERING for each in live) <= 1
            assert self.store.is_busy(key) == bool(live)


OutboxMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestOutboxMachine = OutboxMachine.TestCase
