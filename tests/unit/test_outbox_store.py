"""The outbox keeps what it was given, hands it out in order, and believes nobody without a claim."""

import contextlib
import json
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hereya_tf import outbox
from hereya_tf.errors import FailureClass
from hereya_tf.outbox import (
    Appended,
    Cause,
    Dead,
    Delivered,
    Delivery,
    Draft,
    OutboxError,
    OutboxStore,
    Patch,
    Released,
    Renewal,
    Retry,
    State,
)
from hereya_tf.outbox.deliveries import decode, encode
from hereya_tf.outbox.ids import base36, new_id
from hereya_tf.queue import QueueKeyStoppedError
from tests.outboxes import LEASE, Outbox, token

NOW = 1_700_000_000_000


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Outbox]:
    with Outbox(tmp_path) as made:
        yield made


def delivery(delivery_id: str, **fields: Any) -> Delivery:
    plain = Delivery(
        number=1,
        id=delivery_id,
        key=None,
        type="",
        payload=None,
        state=State.PENDING,
        attempts=0,
        attempts_allowed=8,
        ready_at=0,
        claim_token=None,
        claimed_by=None,
        cancel_requested=False,
        result=None,
        last_error=None,
        cause=None,
        idempotency_key=None,
        created=NOW,
        ended=None,
    )
    return plain._replace(**fields)


@pytest.mark.behaviour("O1", "O10")
def test_what_is_appended_is_pending_and_still_there_when_the_file_is_opened_again(tmp_path: Path) -> None:
    with Outbox(tmp_path) as box:
        appended = box.append(
            {"n": 1}, key="shop", type="created", idempotency_key="order-1", delay=50, attempts=4
        )

    with Outbox(tmp_path) as box:
        found = box.get(appended.id)

    assert found == delivery(
        appended.id,
        key="shop",
        type="created",
        payload={"n": 1},
        attempts_allowed=4,
        ready_at=NOW + 50,
        idempotency_key="order-1",
    )


@pytest.mark.behaviour("O1", "O3", "O10")
def test_a_life_from_pending_to_delivered(box: Outbox) -> None:
    appended = box.append([1], key="shop")

    claimed = box.take(claimer="me")
    assert claimed == delivery(
        appended.id,
        key="shop",
        payload=[1],
        state=State.DELIVERING,
        attempts=1,
        ready_at=NOW + LEASE,
        claim_token=token(claimed),
        claimed_by="me",
    )
    assert box.by_state(State.DELIVERING, 10) == (claimed,)

    box.hands.turn(7)
    assert box.settle(appended.id, Delivered({"env": "x"}), token(claimed)) is State.DELIVERED
    assert box.get(appended.id) == claimed._replace(
        state=State.DELIVERED, claim_token=None, result={"env": "x"}, ended=NOW + 7
    )
    assert box.has_nothing()


@pytest.mark.behaviour("O10")
def test_an_id_that_is_unknown_is_none(box: Outbox) -> None:
    assert box.get("evt_0_0_00000000") is None


@pytest.mark.behaviour("O10")
def test_by_state_gives_the_oldest_up_to_the_limit(box: Outbox) -> None:
    ids = box.fill(*"abcde")
    box.settle(ids[0], Delivered(), token(box.take()))

    assert [each.id for each in box.by_state(State.PENDING, 3)] == ids[1:4]
    assert [each.id for each in box.by_state(State.DELIVERED, 3)] == ids[:1]
    assert box.by_state(State.DEAD, 3) == ()


@pytest.mark.behaviour("O2", "Q1")
def test_of_one_key_there_is_one_claim_at_a_time_in_order_of_arrival(box: Outbox) -> None:
    ids = box.fill("a", "a", "b", None, None, "a")

    first = [box.take() for _ in range(4)]
    assert [each.id for each in first] == [ids[0], ids[2], ids[3], ids[4]]
    assert box.has_nothing()

    box.settle(ids[0], Delivered(), token(first[0]))
    second = box.take()
    assert second.id == ids[1]
    assert box.has_nothing()
    box.settle(ids[1], Dead("no"), token(second))
    assert box.take().id == ids[5]


@pytest.mark.behaviour("Q2", "S6")
def test_what_waits_to_be_tried_again_holds_its_key_and_no_other(box: Outbox) -> None:
    ids = box.fill("a", "a", "b")
    box.settle(ids[0], Retry("not yet", NOW, 500), token(box.take()))

    assert box.take().id == ids[2]
    assert box.has_nothing()
    box.hands.turn(499)
    assert box.has_nothing()
    box.hands.turn(1)
    again = box.take()
    assert (again.id, again.attempts, again.last_error) == (ids[0], 2, "not yet")
    box.settle(ids[0], Dead("never"), token(again))
    assert box.take().id == ids[1]


def test_what_has_waited_is_not_starved_by_what_may_start_at_once(box: Outbox) -> None:
    late = box.append(1, delay=10).id
    box.hands.turn(10)
    ids = [box.append(number).id for number in range(3)]

    assert [box.take().id for _ in range(4)] == [late, *ids]


def test_a_delay_is_kept_and_holds_the_key(box: Outbox) -> None:
    first = box.append(1, key="a", delay=100).id
    second = box.append(2, key="a").id

    assert box.has_nothing()
    box.hands.turn(100)
    claimed = box.take()
    assert claimed.id == first
    box.settle(first, Delivered(), token(claimed))
    assert box.take().id == second


@pytest.mark.behaviour("O3")
def test_a_live_claim_is_nobody_elses_and_one_that_has_run_out_is(box: Outbox) -> None:
    ids = box.fill("a")
    first = box.take(claimer="first")

    box.hands.turn(LEASE - 1)
    assert box.has_nothing()
    box.hands.turn(1)
    second = box.take(claimer="second")

    assert (second.id, second.attempts, second.claimed_by) == (ids[0], 2, "second")
    assert second.last_error == "`first` has ended without a word during attempt 1"
    assert token(first) != token(second)


@pytest.mark.behaviour("O4")
@pytest.mark.parametrize(
    "patch",
    [
        pytest.param(Delivered("late"), id="delivered"),
        pytest.param(Retry("late", NOW, 1), id="retry"),
        pytest.param(Dead("late"), id="dead"),
        pytest.param(Released(), id="given back"),
    ],
)
def test_whoever_has_lost_the_claim_settles_nothing(box: Outbox, patch: Patch) -> None:
    ids = box.fill("a", "a")
    stale = box.take()
    box.hands.turn(LEASE)
    current = box.take()

    assert box.settle(ids[0], patch, token(stale)) is None
    assert box.get(ids[0]) == current
    assert box.settle(ids[0], Delivered("ours"), token(current)) is State.DELIVERED
    assert box.settle(ids[0], patch, token(stale)) is None
    assert box.settle(ids[0], patch, token(current)) is None, "it is settled once"
    assert box.read(ids[0]).result == "ours"
    assert box.take().id == ids[1]


@pytest.mark.behaviour("O4")
def test_a_claim_that_has_run_out_still_settles_while_nobody_else_has_taken_it(box: Outbox) -> None:
    ids = box.fill("a")
    claimed = box.take()
    box.hands.turn(10 * LEASE)

    assert box.settle(ids[0], Delivered(), token(claimed)) is State.DELIVERED


def test_a_token_is_good_for_its_own_delivery_only(box: Outbox) -> None:
    ids = box.fill("a", "b")
    first, second = box.take(), box.take()

    assert box.settle(ids[0], Delivered(), token(second)) is None
    assert box.settle(ids[1], Delivered(), token(first)) is None
    assert box.settle("unknown", Delivered(), token(first)) is None


@pytest.mark.behaviour("O3")
def test_a_renewed_claim_lasts_longer(box: Outbox) -> None:
    ids = box.fill("a", "b")
    first, second = box.take(), box.take()
    claims = [(first.id, token(first)), (second.id, token(second))]
    box.hands.turn(LEASE - 1)

    assert box.renew(claims[:1], box.hands.now, LEASE) == {token(first): Renewal.HELD}
    box.hands.turn(1)
    taken = box.take()
    assert taken.id == ids[1]
    assert box.look(claims) == {token(first): Renewal.HELD, token(second): Renewal.LOST}
    assert box.renew(claims, box.hands.now, LEASE) == {
        token(first): Renewal.HELD,
        token(second): Renewal.LOST,
    }
    assert box.read(ids[1]).ready_at == box.hands.now + LEASE
    box.settle(ids[0], Delivered(), token(first))
    assert box.renew(claims[:1], box.hands.now, LEASE) == {token(first): Renewal.LOST}


def test_given_back_it_is_ready_at_once_and_the_attempt_does_not_count(box: Outbox) -> None:
    ids = box.fill("a", "a")

    assert box.settle(ids[0], Released(), token(box.take())) is State.PENDING
    again = box.take()
    assert (again.id, again.attempts) == (ids[0], 1)


@pytest.mark.behaviour("O6")
def test_a_crash_counts_as_an_attempt_and_the_last_one_is_the_end(box: Outbox) -> None:
    ids = box.fill("a", "a", attempts=2)
    box.take()
    box.hands.turn(LEASE)
    box.take()
    box.hands.turn(LEASE)

    assert box.take().id == ids[1], "its key goes on"
    dead = box.read(ids[0])
    assert (dead.state, dead.cause, dead.attempts) == (State.DEAD, Cause.CRASHED, 2)
    assert dead.last_error == "`us` has ended without a word during attempt 2 of 2"
    assert [each.id for each in box.take_dead_letters()] == [ids[0]]


def test_an_idempotency_key_is_taken_once_whatever_has_become_of_the_delivery(box: Outbox) -> None:
    first = box.append(1, idempotency_key="x")

    assert box.append(2, idempotency_key="x") == Appended(first.id, is_new=False)
    box.settle(first.id, Delivered(), token(box.take()))
    assert box.append(3, idempotency_key="x") == Appended(first.id, is_new=False)
    assert box.append(4, idempotency_key="y").is_new
    assert [each.payload for each in box.by_state(State.PENDING, 9)] == [4]


def test_several_are_appended_all_or_none(box: Outbox) -> None:
    box.stop_key("b")
    with pytest.raises(QueueKeyStoppedError):
        box.append_all((Draft(1, key="a"), Draft(2, key="b")))
    assert box.by_state(State.PENDING, 9) == ()

    box.append_all(Draft(number, key="a") for number in range(3))
    assert [each.payload for each in box.by_state(State.PENDING, 9)] == [0, 1, 2]


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(float("nan"), id="no number"),
        pytest.param({1, 2}, id="no JSON type"),
        pytest.param({1: 2}, id="a key that is no text"),
        pytest.param(b"bytes", id="bytes"),
        pytest.param(type("Odd", (), {})(), id="an object"),
    ],
)
def test_what_is_no_json_is_refused_and_nothing_is_kept(box: Outbox, payload: Any) -> None:
    with pytest.raises(OutboxError, match="the payload is no JSON value") as caught:
        box.append(payload)

    assert caught.value.failure_class is FailureClass.BAD_INPUT
    assert box.snapshot().counts[State.PENDING] == 0


def test_what_is_nested_too_deeply_to_be_read_again_is_refused(box: Outbox) -> None:
    payload: list[Any] = []
    for _ in range(200_000):
        payload = [payload]

    with pytest.raises(OutboxError, match="the payload is no JSON value"):
        box.append(payload)
    while payload:  # or the interpreter falls over it
        payload = payload[0]


@pytest.mark.parametrize("again", [1, 2])
def test_a_payload_that_holds_itself_is_refused(box: Outbox, again: int) -> None:
    payload: list[Any] = []
    payload += [{"self": payload}] * again

    with pytest.raises(OutboxError, match="the payload is no JSON value: it is more than 400 levels deep"):
        box.append(payload)
    payload.clear()


def test_what_is_almost_too_deep_can_be_read_in_the_depths_of_a_program(box: Outbox) -> None:
    payload: list[Any] = []
    for _ in range(399):
        payload = [payload]
    made = box.append(payload)

    def read(depth: int) -> Any:
        return read(depth - 1) if depth else box.read(made.id).payload

    assert read(200) == payload


@pytest.mark.behaviour("O10")
def test_what_has_no_place_in_a_file_is_an_error_of_the_outbox(box: Outbox) -> None:
    acts: tuple[Callable[[], object], ...] = (
        lambda: box.get("\udcff"),
        lambda: box.settle("\udcff", Delivered(), "token"),
        lambda: box.claim(2**64, 1),
        lambda: box.by_state(State.DEAD, 2**64),
    )
    for act in acts:
        with pytest.raises(OutboxError, match="cannot hold such a value"):
            act()


@pytest.mark.parametrize("column", ["state", "cause"])
def test_a_word_that_is_not_known_is_an_error_of_the_outbox(box: Outbox, column: str) -> None:
    made = box.append(1)
    with contextlib.closing(sqlite3.connect(box.path)) as connection:
        connection.execute(f"update delivery set {column} = 'frozen'")
        connection.commit()

    with pytest.raises(OutboxError, match="'frozen' is not a valid"):
        box.get(made.id)


def test_numbers_keep_every_digit(box: Outbox) -> None:
    number = Decimal("0.1234567890123456789012345678901234567890")
    box.append({"whole": 10**60, "part": number})

    assert box.take().payload == {"whole": 10**60, "part": number}


@pytest.mark.parametrize("where", ["key", "type", "idempotency_key"])
def test_a_name_that_is_no_unicode_is_refused(box: Outbox, where: str) -> None:
    with pytest.raises(OutboxError, match=r"`broken \\udcff` is no valid Unicode"):
        box.append(1, **{where: "broken \udcff"})  # type: ignore[arg-type]


@pytest.mark.parametrize(("attempts", "delay"), [(0, 0), (1, -1), (10**10, 0), (1, 10**15)])
def test_numbers_that_make_no_sense_are_refused(box: Outbox, attempts: int, delay: int) -> None:
    with pytest.raises(OutboxError, match="needs at least one attempt, and no delay"):
        box.append(1, attempts=attempts, delay=delay)


def test_an_error_that_is_no_unicode_is_kept_as_well_as_it_can_be(box: Outbox) -> None:
    ids = box.fill("a")
    box.settle(ids[0], Dead("no such file: \udcff\x00"), token(box.take()))

    assert box.read(ids[0]).last_error == "no such file: \\udcff\x00"


def test_a_result_that_is_no_json_changes_nothing(box: Outbox) -> None:
    ids = box.fill("a")
    claimed = box.take()

    with pytest.raises(OutboxError, match="the result is no JSON value"):
        box.settle(ids[0], Delivered(object()), token(claimed))
    assert box.get(ids[0]) == claimed


@pytest.mark.parametrize("key", ["", "a\x00b", "kA", "I'm; drop table delivery --", "日本", "x" * 10_000])
def test_any_text_is_a_key_of_its_own(box: Outbox, key: str) -> None:
    ids = box.fill(key, key, "other", None)

    assert [box.take().id for _ in range(3)] == [ids[0], ids[2], ids[3]]
    assert (box.has_nothing(), box.is_busy(key), box.read(ids[0]).key) == (True, True, key)


def test_a_payload_that_was_tampered_with_is_an_error_of_the_outbox(box: Outbox) -> None:
    with pytest.raises(OutboxError, match="holds what is no JSON value"):
        decode("{")
    assert decode(None) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON)
def test_a_json_value_comes_back_as_it_was(value: Any) -> None:
    text = encode(value, "payload")

    text.encode("utf-8")
    again = decode(text)
    # Two halves of one character are that character afterwards.
    assert joined(again) == joined(value)


def joined(value: Any) -> str:
    return re.sub(
        r"\\u(d[89ab]..)\\u(d[c-f]..)",
        lambda match: "\\u" + match[1] + "\\u" + match[2],
        json.dumps(value, sort_keys=True),
    )


@pytest.mark.behaviour("O7")
def test_ids_of_two_outboxes_in_one_millisecond_differ_without_any_chance(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    still = bytes(4)
    stores = [
        OutboxStore(tmp_path / name / "outbox.db", wall=lambda: NOW, entropy=lambda size: still[:size])
        for name in ("a", "b")
    ]
    ids = [store.append(1).id for _ in range(20) for store in stores]
    for store in stores:
        store.close()

    assert len(set(ids)) == 40
    assert all(re.fullmatch(r"evt_loyw3v28_[0-9a-z]+_00000000", each) for each in ids)


@pytest.mark.behaviour("O7")
def test_an_id_that_another_process_has_used_is_not_used_again(box: Outbox) -> None:
    upcoming = int(new_id(NOW, lambda _: b"").split("_")[2], 36) + 1
    taken = f"evt_{base36(NOW)}_{base36(upcoming)}_00000000"
    with OutboxStore(box.path, wall=box.hands, entropy=bytes) as other:
        with box._file.writing() as connection:
            connection.execute(
                "insert into delivery (id, lane, type, payload, state, attempts, attempts_allowed, ready_at,"
                " span, created) values (?, 'x', '', '1', 'dead', 0, 1, 0, 0, 0)",
                (taken,),
            )
        fresh = other.append(1).id

    assert fresh == f"evt_{base36(NOW)}_{base36(upcoming + 1)}_00000000"


@given(st.integers(0, 2**70))
@example(0)
def test_base36_is_what_python_reads(number: int) -> None:
    assert int(base36(number), 36) == number


def test_the_package_loads_nothing_until_it_is_used(repository: Path) -> None:
    code = "import sys, hereya_tf.outbox; print([name for name in sys.modules if 'hereya_tf' in name])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True
    )

    assert ran.stdout == "['hereya_tf', 'hereya_tf.outbox']\n"


def test_the_package_names_what_it_has_and_nothing_else() -> None:
    assert {name: getattr(outbox, name).__name__ for name in outbox.__all__ if name != "Patch"} == {
        name: name for name in outbox.__all__ if name != "Patch"
    }
    with pytest.raises(AttributeError, match="has no attribute `Nothing`"):
        outbox.Nothing  # noqa: B018
