"""When an engine is asked to end, when again, and when it is killed."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.supervision.patience import (
    INSIST_WHILE_READING_SECONDS,
    KILL_AFTER_INSISTING_SECONDS,
    Asked,
    Move,
    next_move,
)


@pytest.mark.parametrize(
    ("done", "now", "wanted", "user_insists", "mutating", "grace", "expected"),
    [
        pytest.param(Asked(), 0, False, False, False, 60, Move.NOTHING, id="nobody-asked"),
        pytest.param(Asked(), 0, False, True, True, 0, Move.NOTHING, id="nobody-asked-whatever-else"),
        pytest.param(Asked(), 0, True, False, True, 60, Move.ASK, id="ask-at-once"),
        pytest.param(Asked(), 0, True, True, False, 0, Move.ASK, id="ask-before-insisting"),
        pytest.param(Asked(100), 159.9, True, False, True, 60, Move.NOTHING, id="within-the-grace"),
        pytest.param(Asked(100), 160, True, False, True, 60, Move.INSIST, id="after-the-grace"),
        pytest.param(Asked(100), 104.9, True, False, False, 60, Move.NOTHING, id="planning-within-5-s"),
        pytest.param(Asked(100), 105, True, False, False, 60, Move.INSIST, id="planning-after-5-s"),
        pytest.param(Asked(100), 102, True, False, False, 2, Move.INSIST, id="a-short-grace-is-for-both"),
        pytest.param(Asked(100), 100, True, True, True, 60, Move.INSIST, id="the-user-insists"),
        pytest.param(Asked(100), 100, True, False, True, 0, Move.INSIST, id="no-grace"),
        pytest.param(Asked(100, 160), 169.9, True, True, True, 60, Move.NOTHING, id="not-killed-yet"),
        pytest.param(Asked(100, 160), 170, True, False, True, 60, Move.KILL, id="killed"),
        pytest.param(Asked(100, 160, 170), 999, True, True, True, 0, Move.NOTHING, id="killed-once"),
    ],
)
def test_the_next_move(
    done: Asked,
    now: float,
    wanted: bool,
    user_insists: bool,
    mutating: bool,
    grace: float,
    expected: Move,
) -> None:
    assert expected is next_move(
        done, now=now, wanted=wanted, user_insists=user_insists, mutating=mutating, grace=grace
    )


class Moment(NamedTuple):
    after: float
    wanted: bool
    user_insists: bool
    mutating: bool


seconds = st.floats(0, 30, allow_nan=False)
moments = st.lists(st.builds(Moment, seconds, st.booleans(), st.booleans(), st.booleans()), max_size=40)


def played(timeline: list[Moment], grace: float) -> list[tuple[Move, float, Moment]]:
    """The moves that a supervisor makes, with the time of each."""
    moves: list[tuple[Move, float, Moment]] = []
    now, done = 1000.0, Asked()
    for moment in timeline:
        now += moment.after
        move = next_move(
            done,
            now=now,
            wanted=moment.wanted,
            user_insists=moment.user_insists,
            mutating=moment.mutating,
            grace=grace,
        )
        if move is Move.ASK:
            done = done._replace(asked_at=now)
        elif move is Move.INSIST:
            done = done._replace(insisted_at=now)
        elif move is Move.KILL:
            done = done._replace(killed_at=now)
        if move is not Move.NOTHING:
            moves.append((move, now, moment))
    return moves


@given(timeline=moments, grace=st.floats(0, 120, allow_nan=False))
def test_each_move_is_made_once_in_order_and_not_too_soon(timeline: list[Moment], grace: float) -> None:
    moves = played(timeline, grace)

    assert [move for move, _, _ in moves] == [Move.ASK, Move.INSIST, Move.KILL][: len(moves)]
    assert all(moment.wanted for _, _, moment in moves)
    if len(moves) > 1:
        (_, asked_at, _), (_, insisted_at, moment) = moves[:2]
        least = grace if moment.mutating else min(grace, INSIST_WHILE_READING_SECONDS)
        assert moment.user_insists or insisted_at - asked_at >= least
    if len(moves) > 2:
        assert moves[2][1] - moves[1][1] >= KILL_AFTER_INSISTING_SECONDS


@given(
    grace=st.floats(0, 120, allow_nan=False), mutating=st.booleans(), tick=st.floats(0.01, 5, allow_nan=False)
)
def test_an_engine_that_does_not_listen_is_killed_in_the_end(
    grace: float, mutating: bool, tick: float
) -> None:
    patience = grace if mutating else min(grace, INSIST_WHILE_READING_SECONDS)
    ticks = int((patience + KILL_AFTER_INSISTING_SECONDS) / tick) + 4

    moves = played([Moment(tick, True, False, mutating)] * ticks, grace)

    assert [move for move, _, _ in moves] == [Move.ASK, Move.INSIST, Move.KILL]
