"""Sizes as people write them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.sizes import format_size, parse_size, spell_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500MB", 500_000_000),
        ("1GB", 1_000_000_000),
        ("1gb", 1_000_000_000),
        ("1.5GiB", 1_610_612_736),
        ("2K", 2000),
        ("2Ki", 2048),
        ("3T", 3_000_000_000_000),
        ("0.5kB", 500),
        ("7B", 7),
        ("7", 7),
        ("0", 0),
        (" 1M ", 1_000_000),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_what_is_a_size(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "MB", "1 MB", "-1", "+1", "1e3", "1PB", "1Bi", "1iB", ".5M", "5.M", "1MBB", "nan", "inf"),
        *("1M2K", "\u0665M", "9223372036854775808", "9" * 5000, "10000000TB", "1.5.5"),
    ],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size such as `500MB`, `1GB` or") as caught:
        parse_size(text)

    assert str(caught.value).startswith(f"`{text}`")


@given(st.text())
def test_any_text_is_a_size_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        assert 0 <= parse_size(text) < 2**63


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0B"), (999, "999B"), (1000, "1KB"), (1500, "1500B"), (500_000_000, "500MB"), (10**12, "1TB")],
)
def test_the_shortest_spelling(size: int, text: str) -> None:
    assert spell_size(size) == text


@given(st.integers(0, 2**63 - 1))
def test_a_spelling_means_what_it_was_made_from(size: int) -> None:
    assert parse_size(spell_size(size)) == size


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (3_400, "3.4 kB"),
        (9_960, "10 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (12_345_678, "12 MB"),
        (1_500_000_000, "1.5 GB"),
        (5_000_000_000_000_000, "5000 TB"),
    ],
)
def test_about_how_much_it_is(size: int, text: str) -> None:
    assert format_size(size) == text
