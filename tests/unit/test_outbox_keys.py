"""Deliveries that are not to be delivered, keys that rest, the dead and the old."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hereya_tf.errors import FailureClass
from hereya_tf.outbox import (
    Blocked,
    Cause,
    Dead,
    Delivered,
    Draft,
    OutboxError,
    OutboxStore,
    Patch,
    Released,
    Renewal,
    Retry,
    Snapshot,
    State,
)
from hereya_tf.queue import QueueKeyStoppedError
from tests.outboxes import LEASE, Outbox, token


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox(tmp_path) as made:
        yield made


def fates(box: Outbox, ids: list[str]) -> list[tuple[State, Cause | None]]:
    return [(box.read(each).state, box.read(each).cause) for each in ids]


WAITS = (State.PENDING, None)
UNDERWAY = (State.DELIVERING, None)
CANCELLED = (State.DEAD, Cause.CANCELLED)
STOPPED = (State.DEAD, Cause.KEY_STOPPED)


@pytest.mark.behaviour("Q7")
def test_cancel_ends_what_waits_and_leaves_alone_what_does_not(box: Outbox) -> None:
    ids = box.fill("a", "a", "a", "b")
    box.take()

    assert [box.cancel(each) for each in (ids[0], ids[1], ids[3], ids[3], "unknown")] == [
        *(False, True, True, False, False)
    ]
    assert fates(box, ids) == [UNDERWAY, CANCELLED, WAITS, CANCELLED]
    assert box.read(ids[1]).last_error == "cancelled"


@pytest.mark.behaviour("Q7")
def test_what_is_in_back_off_may_be_cancelled_and_its_key_goes_on(box: Outbox) -> None:
    ids = box.fill("a", "a")
    box.settle(ids[0], Retry("no", box.hands.now, 10_000), token(box.take()))

    assert box.cancel(ids[0])
    assert box.take().id == ids[1]


@pytest.mark.behaviour("Q7")
def test_the_end_of_what_is_underway_can_be_asked_for(box: Outbox) -> None:
    ids = box.fill("a", "a", "b")
    claimed = box.take()
    claim = (claimed.id, token(claimed))

    assert [box.request_cancel(each) for each in (*ids, "unknown")] == [True, True, True, False]
    assert fates(box, ids) == [UNDERWAY, CANCELLED, CANCELLED]
    assert box.look([claim]) == {token(claimed): Renewal.CANCEL_REQUESTED}
    assert box.renew([claim], box.hands.now, LEASE) == {token(claimed): Renewal.CANCEL_REQUESTED}
    assert box.settle(ids[0], Retry("gave up", box.hands.now, 1), token(claimed)) is State.DEAD
    assert fates(box, ids)[0] == CANCELLED
    assert not box.request_cancel(ids[0])


@pytest.mark.behaviour("Q7")
def test_what_arrives_although_its_end_was_asked_for_has_arrived(box: Outbox) -> None:
    ids = box.fill("a")
    claimed = box.take()
    box.request_cancel(ids[0])

    assert box.settle(ids[0], Delivered(), token(claimed)) is State.DELIVERED


def test_a_cancelled_delivery_of_a_crashed_claimer_is_not_tried_again(box: Outbox) -> None:
    ids = box.fill("a")
    box.take()
    box.request_cancel(ids[0])
    box.hands.turn(LEASE)

    assert box.has_nothing()
    assert fates(box, ids) == [CANCELLED]


@pytest.mark.behaviour("Q8")
def test_a_paused_key_ends_what_runs_starts_nothing_and_goes_on_in_order(box: Outbox) -> None:
    ids = box.fill("a", "a", "b")
    claimed = box.take()
    box.pause_key("a")
    more = box.append(1, key="a").id

    assert box.settle(ids[0], Retry("no", box.hands.now, 1), token(claimed)) is State.PENDING
    box.hands.turn(1)
    assert box.take().id == ids[2]
    assert box.has_nothing()
    box.resume_key("a")
    for each in (ids[0], ids[1], more):
        claimed = box.take()
        assert claimed.id == each
        box.settle(each, Delivered(), token(claimed))


@pytest.mark.behaviour("Q8")
def test_a_key_can_be_paused_before_it_has_anything(box: Outbox) -> None:
    box.pause_key("a")
    ids = box.fill("a")

    assert box.has_nothing()
    box.resume_key("a")
    assert box.take().id == ids[0]


@pytest.mark.behaviour("Q9")
@pytest.mark.parametrize("patch", [Retry("no", 0, 1), Released()], ids=["retry", "given back"])
def test_a_stopped_key_rejects_what_waits_and_does_not_try_again(box: Outbox, patch: Patch) -> None:
    ids = box.fill("a", "a", "a", "b")
    claimed = box.take()

    assert box.stop_key("a") == 2
    assert box.stop_key("a") == 0
    assert fates(box, ids) == [UNDERWAY, STOPPED, STOPPED, WAITS]
    assert box.read(ids[1]).last_error == "the key `a` was stopped"
    assert box.settle(ids[0], patch, token(claimed)) is State.DEAD
    assert fates(box, ids)[0] == STOPPED
    assert not box.is_busy("a")


@pytest.mark.behaviour("Q9")
def test_what_is_in_back_off_is_rejected_with_its_key(box: Outbox) -> None:
    ids = box.fill("a", "a")
    box.settle(ids[0], Retry("no", box.hands.now, 10_000), token(box.take()))

    assert box.stop_key("a") == 2
    assert fates(box, ids) == [STOPPED, STOPPED]


@pytest.mark.behaviour("Q9")
def test_a_stopped_key_takes_nothing_until_it_is_started(box: Outbox) -> None:
    box.stop_key("a")

    with pytest.raises(QueueKeyStoppedError) as caught:
        box.append(1, key="a")
    assert caught.value.key == "a"
    box.resume_key("a")
    with pytest.raises(QueueKeyStoppedError):
        box.append(1, key="a")
    assert [box.start_key("a"), box.start_key("a"), box.start_key("never stopped")] == [True, False, False]
    assert box.append(1, key="a").is_new


@pytest.mark.behaviour("Q9")
def test_to_start_a_key_is_not_to_resume_it(box: Outbox) -> None:
    box.pause_key("a")
    box.stop_key("a")

    assert box.start_key("a")
    box.fill("a")
    assert box.has_nothing()
    assert box.snapshot().paused_keys == ("a",)


@pytest.mark.behaviour("Q9")
def test_what_a_crash_has_left_of_a_stopped_key_is_not_tried_again(box: Outbox) -> None:
    ids = box.fill("a")
    box.take()
    box.stop_key("a")
    box.hands.turn(LEASE)

    assert box.has_nothing()
    assert fates(box, ids) == [STOPPED]


@pytest.mark.behaviour("S7")
def test_a_key_is_busy_while_something_of_it_waits_or_is_underway(box: Outbox) -> None:
    ids = box.fill("a", None)
    seen = [box.is_busy("a")]
    claimed = box.take()
    seen.append(box.is_busy("a"))
    box.settle(ids[0], Delivered(), token(claimed))

    assert [*seen, box.is_busy("a"), box.is_busy(None)] == [True, True, False, False]


@pytest.mark.behaviour("S7", "Q11")
def test_nothing_is_left_of_lanes_that_have_drained(box: Outbox) -> None:
    for each in box.fill("a", "a", "b", None):
        claimed = box.take()
        box.settle(claimed.id, Delivered(), token(claimed))
        assert box.read(each)

    with box._file.reading() as connection:
        assert connection.execute("select count(*) from head").fetchone() == (0,)


@pytest.mark.behaviour("Q11")
def test_a_snapshot_says_what_blocks_a_key_and_until_when(box: Outbox) -> None:
    ids = box.fill("a", "a", "a", "b", "b", "c", None)
    box.settle(ids[0], Retry("no", box.hands.now, 700), token(box.take()))
    box.take()
    box.pause_key("c")
    box.stop_key("d")

    assert box.snapshot() == Snapshot(
        counts={State.PENDING: 6, State.DELIVERING: 1, State.DELIVERED: 0, State.DEAD: 0},
        paused_keys=("c",),
        stopped_keys=("d",),
        blocked=(
            Blocked("a", ids[0], State.PENDING, box.hands.now + 700, 2),
            Blocked("b", ids[3], State.DELIVERING, box.hands.now + LEASE, 1),
        ),
    )


@pytest.mark.behaviour("O6")
def test_dead_letters_are_given_out_once_and_only_what_nobody_asked_for(box: Outbox) -> None:
    ids = box.fill("a", "b", "c", "d")
    box.settle(ids[0], Dead("broken"), token(box.take()))
    box.cancel(ids[1])
    box.stop_key("c")

    with OutboxStore(box.path) as other:
        found = other.take_dead_letters()
    assert [(each.id, each.state, each.last_error) for each in found] == [(ids[0], State.DEAD, "broken")]
    assert box.take_dead_letters() == ()


@pytest.mark.behaviour("O6")
def test_a_dead_delivery_can_be_revived_and_dies_once_more(box: Outbox) -> None:
    ids = box.fill("a", attempts=1)
    box.settle(ids[0], Dead("broken"), token(box.take()))
    box.take_dead_letters()

    assert [box.revive(each) for each in (ids[0], "unknown")] == [True, False]
    again = box.take()
    assert (again.id, again.attempts, again.last_error, again.ended, again.cause) == (
        *(ids[0], 1, "broken"),
        *(None, None),
    )
    box.settle(ids[0], Dead("again"), token(again))
    assert [each.last_error for each in box.take_dead_letters()] == ["again"]


@pytest.mark.behaviour("O2", "O6")
def test_what_was_revived_has_its_old_place_but_does_not_push_aside_what_has_begun(box: Outbox) -> None:
    ids = box.fill("a", "a", "a")
    box.settle(ids[0], Dead("x"), token(box.take()))
    box.revive(ids[0])
    first = box.take()
    assert first.id == ids[0], "nothing else had begun"
    box.settle(ids[0], Dead("x"), token(first))

    box.settle(ids[1], Retry("no", box.hands.now, 50), token(box.take()))
    box.revive(ids[0])
    assert box.has_nothing(), "the second is in back-off and holds the key"
    box.hands.turn(50)
    second = box.take()
    assert second.id == ids[1]
    box.cancel(ids[2])
    assert box.has_nothing()
    box.settle(ids[1], Delivered(), token(second))
    assert box.take().id == ids[0]


def test_what_is_in_back_off_can_be_tried_at_once(box: Outbox) -> None:
    ids = box.fill("a")
    box.settle(ids[0], Retry("no", box.hands.now, 10_000), token(box.take()))

    assert box.revive(ids[0])
    claimed = box.take()
    assert (claimed.id, claimed.attempts) == (ids[0], 2)
    assert not box.revive(ids[0])


@pytest.mark.behaviour("Q8", "Q9")
def test_what_is_revived_heeds_its_key(box: Outbox) -> None:
    ids = box.fill("a", "b")
    for each in ids:
        box.settle(each, Dead("x"), token(box.take()))
    box.pause_key("a")
    box.stop_key("b")

    box.revive(ids[0])
    assert box.has_nothing()
    with pytest.raises(QueueKeyStoppedError):
        box.revive(ids[1])
    assert box.read(ids[1]).state is State.DEAD


def test_purge_removes_what_ended_before_and_nothing_that_is_to_arrive(box: Outbox) -> None:
    ids = box.fill(*"abcd")
    began = box.hands.now
    box.settle(ids[0], Delivered(), token(box.take()))
    box.settle(ids[1], Dead("x"), token(box.take()))
    box.hands.turn(10)
    box.settle(ids[2], Delivered(), token(box.take()))

    assert box.purge((State.DELIVERED,), ended_before=began) == 0
    assert box.purge((State.DELIVERED,), ended_before=began + 1) == 1
    assert [box.get(each) is None for each in ids] == [True, False, False, False]
    assert box.purge((State.DELIVERED, State.DEAD), ended_before=began + 11) == 2
    assert [box.get(each) is None for each in ids] == [True, True, True, False]


@pytest.mark.parametrize("state", [State.PENDING, State.DELIVERING])
def test_what_is_to_arrive_cannot_be_purged(box: Outbox, state: State) -> None:
    box.fill("a")

    with pytest.raises(OutboxError, match=f"a delivery that is {state} cannot be removed") as caught:
        box.purge((State.DELIVERED, state), ended_before=2**60)
    assert caught.value.failure_class is FailureClass.BAD_INPUT


def test_much_is_purged_in_parts_and_its_room_is_given_back(box: Outbox) -> None:
    box.append_all(Draft("x" * 500) for _ in range(1_200))
    with box._file.writing() as connection:
        connection.execute("update delivery set state = 'delivered', ended = ?", (box.hands.now,))
        before = connection.execute("pragma page_count").fetchone()[0]

    assert box.purge((State.DELIVERED,), ended_before=box.hands.now + 1) == 1_200
    with box._file.reading() as connection:
        assert connection.execute("pragma page_count").fetchone()[0] < before / 4


def test_after_a_purge_the_idempotency_key_is_forgotten(box: Outbox) -> None:
    first = box.append(1, idempotency_key="x").id
    box.settle(first, Delivered(), token(box.take()))
    box.purge((State.DELIVERED,), ended_before=box.hands.now + 1)

    assert box.append(1, idempotency_key="x").is_new


def test_who_listens_hears_of_what_may_be_ready(box: Outbox) -> None:
    heard: list[str] = []

    def hear() -> None:
        heard.append("!")

    box.listen(hear)
    ids = box.fill("a")
    box.settle(ids[0], Dead("x"), token(box.take()))
    box.revive(ids[0])
    box.resume_key("a")
    assert len(heard) == 4
    box.unlisten(hear)
    box.unlisten(hear)
    box.fill("a")
    assert len(heard) == 4
