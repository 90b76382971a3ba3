"""Which runs go when the history is too old or too much."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.runs.retention import Kept, Limits, choose

DAY = 24 * 3600.0
NOW = 1000 * DAY
NO_LIMITS = Limits(math.inf, math.inf, math.inf)


def run(name: str, days: float, size: int = 10, *, must_stay: bool = False) -> Kept:
    """A run that began so many days ago."""
    return Kept(name, NOW - days * DAY, size, must_stay)


OLD, OLDER, OLDEST, NEW = run("b", 2), run("c", 3), run("d", 4), run("a", 1)
ALL = (OLD, OLDEST, NEW, OLDER)


@pytest.mark.parametrize(
    ("limits", "chosen"),
    [
        pytest.param(NO_LIMITS, "", id="without-limits"),
        pytest.param(Limits(90 * DAY, 1000, 10**9), "", id="within-all"),
        pytest.param(Limits(3 * DAY, math.inf, math.inf), "d", id="just-old-enough-stays"),
        pytest.param(Limits(3 * DAY - 1, math.inf, math.inf), "dc", id="too-old"),
        pytest.param(Limits(1.0, math.inf, math.inf), "dcb", id="all-too-old-but-the-newest-stays"),
        pytest.param(NO_LIMITS._replace(runs=4), "", id="just-as-many"),
        pytest.param(NO_LIMITS._replace(runs=3), "d", id="one-too-many"),
        pytest.param(NO_LIMITS._replace(runs=1), "dcb", id="all-but-one"),
        pytest.param(NO_LIMITS._replace(bytes=40), "", id="just-as-much"),
        pytest.param(NO_LIMITS._replace(bytes=39), "d", id="too-much"),
        pytest.param(NO_LIMITS._replace(bytes=1), "dcb", id="far-too-much"),
        pytest.param(Limits(3 * DAY, 2, 39), "dc", id="the-tightest-counts"),
    ],
)
def test_the_oldest_go_until_all_limits_hold(limits: Limits, chosen: str) -> None:
    assert "".join(choose(ALL, limits, NOW)) == chosen


def test_what_has_to_stay_drives_out_nothing() -> None:
    huge = run("x", 5, 10**12, must_stay=True)

    assert choose((huge, *ALL), Limits(math.inf, 4, 40), NOW) == ()
    assert choose((huge, *ALL), Limits(3 * DAY, 4, 40), NOW) == ("d",)


def test_what_began_together_goes_in_the_order_of_its_names() -> None:
    assert choose([run("b", 1), run("c", 1), run("a", 1)], NO_LIMITS._replace(runs=1), NOW) == ("a", "b")


def test_no_runs_are_not_too_many() -> None:
    assert choose((), Limits(1.0, 1, 1), NOW) == ()


AMOUNTS = st.integers(1, 60) | st.just(math.inf)
LIMITS = st.builds(Limits, AMOUNTS.map(lambda days: days * DAY), AMOUNTS, AMOUNTS.map(lambda few: few * 7))
RUNS = st.lists(
    st.builds(
        run, st.text("abc", min_size=1), st.integers(-3, 60), st.integers(0, 50), must_stay=st.booleans()
    ),
    unique_by=lambda each: each.run,
)


@given(RUNS, LIMITS)
def test_what_has_to_stay_and_the_newest_never_go(runs: list[Kept], limits: Limits) -> None:
    chosen = choose(runs, limits, NOW)
    newest = max(((each.began, each.run) for each in runs), default=(0.0, ""))[1]

    assert {each.run for each in runs if each.must_stay}.isdisjoint(chosen)
    assert newest not in chosen


@given(RUNS, LIMITS)
def test_the_rest_is_within_the_limits_or_a_single_run(runs: list[Kept], limits: Limits) -> None:
    chosen = choose(runs, limits, NOW)

    rest = [each for each in runs if each.run not in chosen and not each.must_stay]
    assert len(rest) <= 1 or (
        len(rest) <= limits.runs
        and sum(each.bytes for each in rest) <= limits.bytes
        and all(NOW - each.began <= limits.age for each in rest)
    )


@given(RUNS, LIMITS)
def test_nothing_goes_without_need(runs: list[Kept], limits: Limits) -> None:
    *others, last = choose(runs, limits, NOW) or ("",)
    rest = [each for each in runs if each.run not in others and not each.must_stay]

    assert last == "" or (
        len(rest) > limits.runs
        or sum(each.bytes for each in rest) > limits.bytes
        or any(NOW - each.began > limits.age for each in rest)
    )


@given(RUNS, LIMITS)
def test_the_oldest_go_first(runs: list[Kept], limits: Limits) -> None:
    chosen = choose(runs, limits, NOW)
    movable = sorted((each.began, each.run) for each in runs if not each.must_stay)

    assert list(chosen) == [name for _, name in movable[: len(chosen)]]


@given(RUNS, LIMITS, LIMITS)
def test_wider_limits_never_remove_more(runs: list[Kept], one: Limits, other: Limits) -> None:
    wide = Limits(*map(max, one, other))
    tight = choose(runs, one, NOW)

    assert tight[: len(choose(runs, wide, NOW))] == choose(runs, wide, NOW)


@given(RUNS, LIMITS)
def test_what_is_done_need_not_be_done_again(runs: list[Kept], limits: Limits) -> None:
    chosen = choose(runs, limits, NOW)

    assert choose([each for each in runs if each.run not in chosen], limits, NOW) == ()


@given(RUNS, LIMITS, st.data())
def test_to_learn_that_one_has_to_stay_spares_others_at_most(
    runs: list[Kept], limits: Limits, data: st.DataObject
) -> None:
    chosen = choose(runs, limits, NOW)
    if not chosen:
        return
    found = data.draw(st.sampled_from(chosen))
    known = [each._replace(must_stay=each.must_stay or each.run == found) for each in runs]

    assert set(choose(known, limits, NOW)) <= set(chosen)
