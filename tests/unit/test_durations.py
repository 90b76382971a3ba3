"""Durations as people write them, and as the engine reads them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.durations import format_duration, parse_duration, spell_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("5m", 300),
        ("1h30m", 5400),
        ("1h1m1s1ms", 3661.001),
        ("500ms", 0.5),
        ("1.5h", 5400),
        ("0.25s", 0.25),
        ("0s", 0),
        ("0", 0),
        ("45", 45),
        ("90d", 7_776_000),
        ("2w", 1_209_600),
        ("1w1d12h", 734_400),
        ("2.5", 2.5),
        (" 5M ", 300),
    ],
)
def test_what_is_a_duration(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "m", "5x", "5 m", "-5m", "+5m", "5m-", "1h 30m", "5mm", "1e3", "inf", "nan", ".5s", "5.s"),
        *("5y", "36501d", "1m30", "\u0665m", "1000000h", "9" * 400),
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration such as `90s`, `5m` or `1h30m`") as caught:
        parse_duration(text)

    assert str(caught.value).startswith(f"`{text}`")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (300, "5m"),
        (90, "1m30s"),
        (3600, "1h"),
        (0.05, "50ms"),
        (3661.001, "1h1m1s1ms"),
        (0.0001, "0s"),
    ],
)
def test_the_shortest_spelling(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@given(st.integers(0, 10**9))
def test_a_spelling_means_what_it_was_made_from(milliseconds: int) -> None:
    assert parse_duration(format_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)


@given(st.text())
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert parse_duration(text) >= 0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (300, "5m"),
        (7_776_000, "90d"),
        (129_600, "1d12h"),
        (86_400.5, "1d500ms"),
        (86_399.999, "23h59m59s999ms"),
    ],
)
def test_people_count_days_as_well(seconds: float, text: str) -> None:
    assert spell_duration(seconds) == text


@given(st.integers(0, 10**12))
def test_what_is_spelt_for_people_means_the_same(milliseconds: int) -> None:
    assert parse_duration(spell_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)
