"""How old a state lock is, from what engines write about it."""

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.failure.lock_info import age_of, read_lock

MOMENT = datetime(2026, 11, 30, 1, 57, 28, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("created", "age"),
    [
        ("2026-11-30 01:57:28.123456 +0000 UTC", 59.876544),
        ("2026-11-30 01:57:28.123456789 +0000 UTC", 59.876544),
        ("2026-11-30 01:57:28.5 +0000 UTC", 59.5),
        ("2026-11-30 01:57:28 +0000 UTC", 60),
        ("2026-11-30 02:57:28 +0100 CET", 60),
        ("2026-11-29 22:27:28 -0330 -0330", 60),
        ("2026-11-30 01:57:28 +0000 UTC m=+0.012345", 60),
        ("2026-11-30T01:57:28.123456789Z", 59.876544),
        ("2026-11-30T01:57:28Z", 60),
        ("2026-11-30T02:57:28+01:00", 60),
        ("2026-11-30 01:57:28+00:00", 60),
        ("  2026-11-30T01:57:28Z\n", 60),
        # A clock that is ahead of ours.
        ("2026-11-30 02:57:28 +0000 UTC", 0),
    ],
)
def test_the_age_is_in_seconds(created: str, age: float) -> None:
    assert age_of(created, MOMENT + 60) == pytest.approx(age, abs=1e-5)


@pytest.mark.parametrize(
    "created",
    [
        "",
        " ",
        "yesterday",
        "2026-11-30",
        "2026-11-30 01:57:28",
        "2026-11-30T01:57:28",
        "2026-13-30 01:57:28 +0000 UTC",
        "2026-11-30 25:57:28 +0000 UTC",
        "2026-11-30 01:57:28 UTC",
        "1970-01-01 00:00:00 +9999 XXX",
    ],
)
def test_what_is_no_time_has_no_age(created: str) -> None:
    assert age_of(created, MOMENT) is None


@given(
    created=st.text()
    | st.lists(
        st.sampled_from(["2026-11-30", "T", " ", "01:57:28", ".5", "+0000", "UTC", "Z", "-", "9"])
    ).map("".join),
    now=st.floats(),
)
def test_it_never_raises(created: str, now: float) -> None:
    age = age_of(created, now)

    assert age is None or age >= 0 or math.isnan(now)


@given(
    moment=st.datetimes(min_value=datetime(1, 1, 3), max_value=datetime(9999, 12, 29)),
    minutes=st.integers(-23 * 60, 23 * 60),
    age=st.floats(0, 1e9),
)
def test_both_forms_mean_the_same(moment: datetime, minutes: int, age: float) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    now = zoned.timestamp() + age

    go = zoned.strftime("%H:%M:%S.%f %z") + " XXX"
    assert age_of(f"{zoned.date().isoformat()} {go}", now) == pytest.approx(age, abs=1e-3)
    assert age_of(zoned.isoformat(), now) == pytest.approx(age, abs=1e-3)


def test_the_id_is_found_where_an_engine_has_broken_the_line_before_it() -> None:
    """As Terraform 1.11.4 says it for people; what stands under `Lock Info` is its own."""
    detail = (
        "Error message: HTTP remote state already locked:\nID=11111111-2222-3333-4444-555555555555\n"
        "Lock Info:\n  ID:        fada9a92-fc4c-c4f2-95a0-39af66f9f75e\n  Who:       root@vm\n"
    )

    assert read_lock(detail) == {"ID": "11111111-2222-3333-4444-555555555555"}
