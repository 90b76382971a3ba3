"""Draining: in order, side by side, again after a failure, and never for somebody else."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hereya_tf.errors import FailureClass
from hereya_tf.outbox import (
    Backoff,
    Cause,
    Dead,
    Delivered,
    Delivery,
    Drained,
    Drainer,
    OutboxError,
    OutboxStore,
    Patch,
    State,
    Stopped,
)
from hereya_tf.outbox.backoff import LONGEST
from hereya_tf.outbox.flights import Flight
from hereya_tf.queue import CancelToken
from tests.outboxes import Outbox, token

PATIENCE = 30.0
AT_ONCE = Backoff(base=0, maximum=0, jitter=0)
Make = Callable[..., Drainer]


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox(tmp_path) as made:
        yield made


@pytest.fixture
def drainer(box: Outbox) -> Iterator[Make]:
    """Makes drainers of the outbox, and stops them."""
    made: list[Drainer] = []

    def make(
        handler: Callable[[CancelToken, Delivery], Any], store: OutboxStore = box, **options: Any
    ) -> Drainer:
        made.append(Drainer(store, handler, **{"poll": 0.01, "random": lambda: 0.5, **options}))
        return made[-1]

    yield make
    for each in made:
        assert each.stop(PATIENCE).is_complete


class Gate:
    """A handler that tells when it is at work, and waits to be let through."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.leave = threading.Event()

    def __call__(self, cancel: CancelToken, delivery: Delivery) -> str:
        self.entered.set()
        assert self.leave.wait(PATIENCE)
        return "through"


def wait_for(condition: Callable[[], object]) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if condition():
            return
        pause.wait(0.005)
    raise AssertionError("it never became true")


@pytest.mark.behaviour("O2", "Q4")
def test_everything_is_delivered_in_order_within_its_key_and_results_are_kept(
    box: Outbox, drainer: Make
) -> None:
    ids = box.fill("a", "b", "a", None, "a", "b")
    seen: list[tuple[str | None, int]] = []

    def handle(cancel: CancelToken, delivery: Delivery) -> dict[str, int]:
        assert not cancel.is_set()
        seen.append((delivery.key, delivery.payload["place"]))
        return {"twice": 2 * delivery.payload["place"]}

    assert drainer(handle).drain() == Drained(delivered=6)
    assert [place for key, place in seen if key == "a"] == [0, 2, 4]
    assert [place for key, place in seen if key == "b"] == [1, 5]
    assert [box.read(each).result for each in ids] == [{"twice": 2 * place} for place in range(6)]


@pytest.mark.behaviour("O2", "Q3", "S4")
def test_different_keys_are_delivered_side_by_side_up_to_the_width(box: Outbox, drainer: Make) -> None:
    box.fill("a", "b", "c", "a", None)
    at_work: list[str | None] = []
    most: list[int] = []
    meeting = threading.Barrier(3)

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        at_work.append(delivery.key)
        most.append(len(at_work))
        if delivery.payload["place"] < 3:
            meeting.wait(PATIENCE)
        at_work.remove(delivery.key)

    assert drainer(handle, width=3).drain() == Drained(delivered=5)
    assert max(most) == 3


@pytest.mark.behaviour("Q3")
def test_no_more_is_claimed_than_there_is_room_for(box: Outbox, drainer: Make) -> None:
    box.fill("a", "b", "c")
    gate = Gate()
    running = drainer(gate, width=2)
    running.start()
    running.start()
    assert gate.entered.wait(PATIENCE)
    wait_for(lambda: len(box.by_state(State.DELIVERING, 9)) == 2)

    assert len(box.by_state(State.PENDING, 9)) == 1
    gate.leave.set()
    wait_for(lambda: len(box.by_state(State.DELIVERED, 9)) == 3)


@pytest.mark.behaviour("O5", "O8", "O9", "Q2")
def test_what_fails_is_tried_again_after_its_back_off_and_holds_its_key(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a", "a", "b")
    seen: list[int] = []

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        seen.append(delivery.payload["place"])
        if len(seen) == 1:
            raise RuntimeError("the first time")

    draining = drainer(handle, width=1, backoff=Backoff(base=100, maximum=1_000, jitter=0.2))
    assert draining.drain() == Drained(delivered=1, retried=1)
    waiting = box.read(ids[0])
    assert (waiting.state, waiting.last_error, waiting.ready_at) == (
        State.PENDING,
        "the first time",
        box.hands.now + 110,
    )
    assert seen == [0, 2]
    box.hands.turn(110)
    assert draining.drain() == Drained(delivered=2)
    assert seen == [0, 2, 0, 1]


@pytest.mark.behaviour("O6", "O8", "Q5", "S6")
def test_after_the_last_attempt_it_is_dead_and_the_hook_hears_of_it_once(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a", "a", attempts=2)
    heard: list[tuple[str, State]] = []

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        if delivery.payload["place"] == 0:
            raise SystemExit("even this")

    def on_dead(delivery: Delivery) -> None:
        heard.append((delivery.id, box.read(delivery.id).state))

    draining = drainer(handle, backoff=AT_ONCE, on_dead=on_dead)

    assert draining.drain() == Drained(delivered=1, retried=1, dead=1)
    assert draining.drain() == Drained()
    dead = box.read(ids[0])
    assert (dead.state, dead.cause, dead.last_error, dead.attempts) == (
        State.DEAD,
        Cause.FAILED,
        "even this",
        2,
    )
    assert heard == [(ids[0], State.DEAD)]


@pytest.mark.behaviour("O6")
def test_what_died_with_its_claimer_is_announced_by_the_next_one(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a", attempts=1)
    box.take()
    box.hands.turn(1_000)
    heard: list[str] = []

    drainer(lambda cancel, delivery: None, on_dead=lambda dead: heard.append(dead.id)).drain()

    assert heard == ids


@pytest.mark.behaviour("O8")
def test_a_hook_that_raises_is_told_of_and_ends_nothing(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a", "b", attempts=1)
    troubles: list[str] = []

    def fail(*_: object) -> None:
        raise ValueError("broken")

    draining = drainer(fail, on_dead=fail, on_trouble=troubles.append)

    assert draining.drain() == Drained(dead=2)
    assert sorted(troubles) == sorted(f"the dead-letter hook has failed for `{each}`: broken" for each in ids)


class Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("nothing can be said")


@pytest.mark.behaviour("O8")
@pytest.mark.parametrize("error", [ZeroDivisionError(), Mute()], ids=["says nothing", "cannot be told"])
def test_an_error_without_words_has_its_name(box: Outbox, drainer: Make, error: Exception) -> None:
    ids = box.fill("a", attempts=1)

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        raise error

    assert drainer(handle).drain() == Drained(dead=1)
    assert box.read(ids[0]).last_error == type(error).__name__


@pytest.mark.behaviour("O8")
def test_hooks_that_would_end_their_thread_end_nothing(tmp_path: Path, drainer: Make) -> None:
    def leave(*_: object) -> None:
        raise SystemExit(3)

    def handle(cancel: CancelToken, delivery: Delivery) -> object:
        if delivery.payload == "fails":
            raise ValueError
        return object()  # no JSON: somebody is told

    with OutboxStore(tmp_path / "outbox.db") as store:
        # Announced by the thread that claims, and by the one that has delivered it.
        crashed = store.append("crashed", attempts=1)
        claimed = store.claim(store.clock(), 1)
        assert claimed is not None
        store.settle(claimed.id, Dead("gone"), token(claimed))
        store.append("fails", attempts=1)
        arrived = store.append("arrives")
        drainer(handle, store, on_dead=leave, on_trouble=leave).start()
        wait_for(lambda: store.snapshot().counts[State.DELIVERED] == 1)
        late = store.append("later")
        wait_for(lambda: store.snapshot().counts[State.DELIVERED] == 2)

        assert [each.id for each in store.by_state(State.DELIVERED, 9)] == [arrived.id, late.id]
        assert store.by_state(State.DEAD, 1)[0].id == crashed.id


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError], ids=["on_dead", "on_trouble"])
def test_who_interrupts_a_hook_interrupts_the_drain(
    box: Outbox, drainer: Make, error: type[BaseException]
) -> None:
    box.settle(box.fill("a")[0], Dead("gone"), token(box.take()))

    def fail(_dead: Delivery) -> None:
        raise error

    def interrupt(_sentence: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drainer(lambda cancel, delivery: None, on_dead=fail, on_trouble=interrupt).drain()


def test_a_result_that_is_no_json_is_not_delivered_twice_for_that(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a")
    troubles: list[str] = []

    assert drainer(lambda cancel, delivery: object(), on_trouble=troubles.append).drain() == Drained(
        delivered=1
    )
    assert box.read(ids[0]).result is None
    assert [each.split(":")[0] for each in troubles] == [f"`{ids[0]}` was delivered without its result"]


@pytest.mark.behaviour("O4")
@pytest.mark.parametrize("fails", [False, True], ids=["arrives", "fails for the last time"])
def test_a_drainer_that_has_lost_its_claim_counts_and_announces_nothing(
    box: Outbox, drainer: Make, fails: bool
) -> None:
    ids = box.fill("a", attempts=2)
    heard: list[str] = []
    troubles: list[str] = []
    others: list[Delivery] = []

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        # To somebody else, whose clock is ahead, our lease has run out.
        other = box.claim(box.hands.now + 2_000_000, 10**9, claimer="other")
        assert other is not None
        others.append(other)
        assert cancel.wait(PATIENCE), "the renewal has told us"
        if fails:
            raise RuntimeError("late")

    slow = drainer(
        handle,
        claim_ttl=1_000_000,
        on_dead=lambda dead: heard.append(dead.id),
        on_trouble=troubles.append,
        backoff=AT_ONCE,
    )
    assert slow.drain() == Drained()
    assert heard == []
    assert troubles == [f"`{ids[0]}` belongs to another claimer: the lease had run out"]
    assert box.read(ids[0]) == others[0]
    assert box.settle(ids[0], Delivered("theirs"), token(others[0])) is State.DELIVERED


@pytest.mark.behaviour("O3")
def test_claims_are_renewed_while_the_handler_runs(tmp_path: Path, drainer: Make) -> None:
    with OutboxStore(tmp_path / "real.db") as store:
        delivery_id = store.append(1, key="a").id
        gate = Gate()
        running = drainer(gate, store, claim_ttl=300)
        running.start()
        assert gate.entered.wait(PATIENCE)
        first = store.get(delivery_id)
        assert first is not None
        wait_for(lambda: store.clock() > first.ready_at + 300)

        assert store.claim(store.clock(), 1000) is None
        gate.leave.set()
        wait_for(lambda: store.by_state(State.DELIVERED, 9))
        found = store.get(delivery_id)
        assert found is not None
        assert (found.attempts, found.result) == (1, "through")
        assert running.stop(PATIENCE).is_complete


@pytest.mark.behaviour("Q7")
def test_a_handler_is_told_when_somebody_asks_for_the_end(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a", "a")
    at_work = threading.Event()

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        if delivery.payload["place"] == 0:
            at_work.set()
            assert cancel.wait(PATIENCE)
            raise RuntimeError("ended early")

    running = drainer(handle)
    running.start()
    assert at_work.wait(PATIENCE)
    with OutboxStore(box.path) as elsewhere:
        assert elsewhere.request_cancel(ids[0])

    wait_for(lambda: box.read(ids[1]).state is State.DELIVERED)
    assert (box.read(ids[0]).state, box.read(ids[0]).cause) == (State.DEAD, Cause.CANCELLED)


def test_what_is_appended_meanwhile_is_delivered_in_the_background(box: Outbox, drainer: Make) -> None:
    arrived = threading.Event()
    running = drainer(lambda cancel, delivery: arrived.set(), poll=PATIENCE)
    running.start()

    box.fill("a")
    assert arrived.wait(PATIENCE)


@pytest.mark.behaviour("Q13", "Q14")
def test_stop_waits_for_what_is_underway_and_claims_nothing_more(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a", "a")
    gate = Gate()
    running = drainer(gate)
    running.start()
    assert gate.entered.wait(PATIENCE)
    threading.Timer(0.05, gate.leave.set).start()

    assert running.stop(PATIENCE) == Stopped(Drained(delivered=1), ())
    assert [box.read(each).state for each in ids] == [State.DELIVERED, State.PENDING]
    assert running.drain() == Drained()


@pytest.mark.behaviour("Q13", "Q14")
def test_at_the_deadline_handlers_are_told_and_their_deliveries_given_back(
    box: Outbox, drainer: Make
) -> None:
    ids = box.fill("a", attempts=1)
    at_work = threading.Event()

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        at_work.set()
        assert cancel.wait(PATIENCE)
        raise RuntimeError("ended early")

    running = drainer(handle)
    running.start()
    assert at_work.wait(PATIENCE)

    stopped = running.stop(0, grace=PATIENCE)
    assert (stopped, stopped.is_complete) == (Stopped(Drained(released=1), ()), True)
    assert (box.read(ids[0]).state, box.read(ids[0]).attempts) == (State.PENDING, 0)


@pytest.mark.behaviour("Q14")
def test_what_does_not_end_is_reported_and_its_claim_kept(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a")
    gate = Gate()
    running = drainer(gate)
    running.start()
    assert gate.entered.wait(PATIENCE)

    stopped = running.stop(0, grace=0)
    assert (stopped, stopped.is_complete) == (Stopped(Drained(), (ids[0],)), False)
    assert box.has_nothing()
    gate.leave.set()
    wait_for(lambda: box.read(ids[0]).state is State.DELIVERED)


def test_stop_keeps_its_deadline_whatever_a_hook_is_at(box: Outbox, drainer: Make) -> None:
    box.settle(box.fill("a")[0], Dead("gone"), token(box.take()))
    gate, ended = Gate(), threading.Event()

    def announce(_dead: Delivery) -> None:
        gate.entered.set()
        gate.leave.wait(PATIENCE)
        ended.set()

    draining = drainer(lambda cancel, delivery: None, on_dead=announce)
    draining.start()
    assert gate.entered.wait(PATIENCE)

    assert (draining.stop(0.05, grace=0.05), ended.is_set()) == (Stopped(Drained(), ()), False)
    gate.leave.set()


class Slow(Outbox):
    """Who claims from it has to wait for the answer."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.claimed, self.answer = threading.Event(), threading.Event()

    def claim(self, now: int, claim_ttl: int, *, claimer: str | None = None) -> Delivery | None:
        found = super().claim(now, claim_ttl, claimer=claimer)
        self.claimed.set()
        assert self.answer.wait(PATIENCE)
        return found


def test_a_claim_that_stop_has_not_waited_for_is_given_back(tmp_path: Path, drainer: Make) -> None:
    troubles: list[str] = []
    with Slow(tmp_path) as slow:
        ids = slow.fill("a")
        draining = drainer(lambda cancel, delivery: None, slow, on_trouble=troubles.append)
        draining.start()
        assert slow.claimed.wait(PATIENCE)

        assert draining.stop(0, grace=0.05) == Stopped(Drained(), ())
        assert slow.read(ids[0]).state is State.DELIVERING
        slow.answer.set()
        wait_for(lambda: slow.read(ids[0]).state is State.PENDING)
        assert (slow.read(ids[0]).attempts, troubles) == (0, [])


@pytest.mark.parametrize("deadline", [float("inf"), 1e30, float("nan"), -1])
def test_any_number_is_a_deadline(box: Outbox, drainer: Make, deadline: float) -> None:
    box.fill("a")
    gate = Gate()
    draining = drainer(gate)
    draining.start()
    assert gate.entered.wait(PATIENCE)
    gate.leave.set()

    assert draining.stop(deadline, grace=PATIENCE).is_complete


@pytest.mark.parametrize("numbers", [{"width": 0}, {"claim_ttl": 0}], ids=repr)
def test_a_drainer_without_slots_or_leases_is_refused(box: Outbox, numbers: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"ha(s|ve) to be"):
        Drainer(box, lambda cancel, delivery: None, **numbers)  # type: ignore[arg-type]


def test_an_outbox_that_cannot_be_used_ends_a_drain_with_its_error(box: Outbox, drainer: Make) -> None:
    box.fill("a", "b")
    gate = Gate()

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        box.path.rename(box.path.with_name("elsewhere"))
        gate.leave.set()

    troubles: list[str] = []
    with pytest.raises(OutboxError, match="was removed or replaced"):
        drainer(handle, width=1, on_trouble=troubles.append).drain()
    assert any("could not be settled: " in each for each in troubles)


class Stubborn(Outbox):
    """Its disk is full, as often as it was told."""

    refusals = 0
    claims_refused = 0
    looks_refused = 0

    def settle(self, id: str, patch: Patch, claim_token: str) -> State | None:  # noqa: A002
        if self.refusals:
            self.refusals -= 1
            raise OutboxError("the disk is full", failure_class=FailureClass.DISK_FULL)
        return super().settle(id, patch, claim_token)

    def claim(self, now: int, claim_ttl: int, *, claimer: str | None = None) -> Delivery | None:
        if self.claims_refused:
            self.claims_refused -= 1
            raise OutboxError("the disk is full", failure_class=FailureClass.DISK_FULL)
        return super().claim(now, claim_ttl, claimer=claimer)

    def look(self, claimed: Any) -> Any:
        self._refuse()
        return super().look(claimed)

    def renew(self, claimed: Any, now: int, claim_ttl: int) -> Any:
        self._refuse()
        return super().renew(claimed, now, claim_ttl)

    def _refuse(self) -> None:
        if self.looks_refused:
            self.looks_refused -= 1
            raise (RuntimeError if self.looks_refused % 2 else OutboxError)("no look")


@pytest.fixture
def stubborn(tmp_path: Path) -> Iterator[Stubborn]:
    (tmp_path / "stubborn").mkdir()
    with Stubborn(tmp_path / "stubborn") as made:
        yield made


def test_what_has_arrived_is_settled_when_the_disk_has_room_again(stubborn: Stubborn, drainer: Make) -> None:
    stubborn.fill("a")
    stubborn.refusals = 2
    seen: list[str] = []
    troubles: list[str] = []

    draining = drainer(lambda cancel, each: seen.append(each.id), stubborn, on_trouble=troubles.append)

    assert draining.drain() == Drained(delivered=1)
    assert len(seen) == 1
    assert troubles == [f"`{seen[0]}` cannot be settled yet: the disk is full"] * 2


def test_draining_goes_on_when_claiming_has_failed(stubborn: Stubborn, drainer: Make) -> None:
    ids = stubborn.fill("a")
    stubborn.claims_refused = 2

    def complain(sentence: str) -> None:
        raise ValueError(sentence)

    drainer(lambda cancel, delivery: None, stubborn, on_trouble=complain).start()

    wait_for(lambda: stubborn.read(ids[0]).state is State.DELIVERED)


def test_claims_that_cannot_be_looked_after_are_given_up_with_their_lease(
    stubborn: Stubborn, drainer: Make
) -> None:
    ids = stubborn.fill("a")
    at_work = threading.Event()
    troubles: list[str] = []
    cancelled: list[int] = []

    def handle(cancel: CancelToken, delivery: Delivery) -> None:
        if delivery.attempts > 1:  # we ourselves may be who claims it next
            return
        stubborn.looks_refused = 1_000_000
        wait_for(lambda: len(troubles) > 2)
        at_work.set()
        assert cancel.wait(PATIENCE)
        cancelled.append(stubborn.hands.now)
        stubborn.looks_refused = 0

    draining = drainer(handle, stubborn, claim_ttl=30, on_trouble=troubles.append)
    draining.start()
    assert at_work.wait(PATIENCE)
    stubborn.hands.turn(29)
    told = len(troubles)
    wait_for(lambda: len(troubles) > told + 4)
    assert not cancelled
    stubborn.hands.turn(1)
    wait_for(lambda: stubborn.read(ids[0]).state is State.DELIVERED)
    assert cancelled
    assert "claims cannot be renewed: no look" in troubles


def test_what_the_queue_does_not_take_is_given_back(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a")
    troubles: list[str] = []
    running = drainer(lambda cancel, delivery: None, on_trouble=troubles.append)
    running._queue.stop()

    assert running.drain() == Drained()
    assert troubles == [f"`{ids[0]}` was not begun: the queue is stopped"]
    assert (box.read(ids[0]).state, box.read(ids[0]).attempts, len(running._flights)) == (State.PENDING, 0, 0)


def test_what_cannot_even_be_given_back_is_told_of(stubborn: Stubborn, drainer: Make) -> None:
    ids = stubborn.fill("a")
    stubborn.refusals = 1
    troubles: list[str] = []
    running = drainer(lambda cancel, delivery: None, stubborn, on_trouble=troubles.append)
    running._queue.stop()

    assert running.drain() == Drained()
    assert troubles[1:] == [f"`{ids[0]}` could not be given back: the disk is full"]
    assert len(running._flights) == 0


def test_a_handler_that_is_to_end_before_it_has_begun_is_told_as_soon_as_it_can_be(box: Outbox) -> None:
    box.fill("a")
    claimed = box.take()
    flight = Flight(claimed, token(claimed))
    told: list[str] = []

    flight.cancel()
    flight.cancel_by(lambda: told.append("end"))
    flight.cancel()
    assert told == ["end"]


def test_chance_that_fails_leaves_the_delivery_to_the_next_claim(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a")
    troubles: list[str] = []

    def broken(*_: object) -> float:
        raise ValueError("no chance")

    assert drainer(broken, random=broken, on_trouble=troubles.append).drain() == Drained()
    assert troubles == [f"`{ids[0]}` could not be settled: no chance"]
    assert box.read(ids[0]).state is State.DELIVERING


@pytest.mark.behaviour("O9")
def test_who_drains_has_a_name(box: Outbox, drainer: Make) -> None:
    ids = box.fill("a", "b")
    drainer(lambda cancel, delivery: None, drainer_id="me", width=1).drain()
    unnamed = [drainer(lambda cancel, delivery: None) for _ in range(2)]

    assert [box.read(each).claimed_by for each in ids] == ["me", "me"]
    assert unnamed[0].id != unnamed[1].id
    assert f":{os.getpid()}:" in unnamed[0].id


@pytest.mark.behaviour("O5")
@pytest.mark.parametrize(
    ("attempts", "chance", "delay"),
    [
        (0, 0.0, 100),
        (1, 0.0, 100),
        (2, 0.0, 200),
        (4, 0.0, 800),
        (5, 0.0, 1000),
        (1, 0.5, 110),
        (9, 1.0, 1200),
    ],
)
def test_back_off_doubles_up_to_its_maximum_and_chance_adds_to_it(
    attempts: int, chance: float, delay: int
) -> None:
    assert Backoff(base=100, maximum=1000, jitter=0.2).delay(attempts, chance) == delay


@pytest.mark.behaviour("O5")
@given(st.integers(0, 10**9), st.floats(0, 1), st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1))
@example(10**9, 1.0, 1e9, 1e9, 1.0)
@example(10**9, 1.0, 1e30, float("inf"), 0.0)
def test_back_off_is_a_whole_number_within_its_bounds(
    attempts: int, chance: float, base: float, maximum: float, jitter: float
) -> None:
    delay = Backoff(base, maximum, jitter).delay(attempts, chance)

    assert isinstance(delay, int)
    assert 0 <= delay <= round(min(maximum, LONGEST) * (1 + jitter))


@pytest.mark.behaviour("O1", "O3")
def test_a_drainer_that_was_killed_loses_nothing(tmp_path: Path, repository: Path) -> None:
    path = tmp_path / "outbox.db"
    code = """
import os, sys
from pathlib import Path
from hereya_tf.outbox import Drainer, OutboxStore
def handle(cancel, delivery):
    os.kill(os.getpid(), 9)
store = OutboxStore(Path(sys.argv[1]))
store.append("precious", key="a")
Drainer(store, handle, claim_ttl=1).drain()
"""
    ran = subprocess.run(
        [sys.executable, "-c", code, str(path)], env={**os.environ, "PYTHONPATH": str(repository)}, timeout=60
    )
    assert ran.returncode == -9

    with OutboxStore(path) as store:
        wait_for(lambda: store.claim(store.clock(), 0) is not None)
        seen: list[tuple[str, int]] = []
        draining = Drainer(store, lambda cancel, each: seen.append((each.payload, each.attempts)))
        wait_for(lambda: draining.drain() == Drained(delivered=1))
        assert draining.stop(PATIENCE).is_complete
    assert seen == [("precious", 3)]
