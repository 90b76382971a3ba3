"""Text on a terminal is as wide as it looks, and made to fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.ui.cells import cell_width, cut_end, cut_middle, folded

# Letters, marks without a width, wide characters, emoji, the joiner that makes one of several.
TEXT = st.text(st.sampled_from('ab.[]"0 é\u0301\u0308漢字🎉👩\u200d\ufe0f…'), max_size=60)
ADDRESS = 'module.network.module.subnets["eu-west-1a"].aws_subnet.private["東京"]'


@pytest.mark.parametrize(
    ("text", "width"),
    [
        pytest.param("", 0, id="nothing"),
        pytest.param("aws_instance.web", 16, id="ascii"),
        pytest.param("✓ ✗ ━ ─ · …", 11, id="our own symbols"),
        pytest.param("漢字", 4, id="wide"),
        pytest.param("e\u0301", 1, id="combining"),
        pytest.param("🎉", 2, id="emoji"),
        pytest.param("\u200b", 0, id="no width at all"),
    ],
)
def test_width_in_cells(text: str, width: int) -> None:
    assert cell_width(text) == width


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("aws_instance.web", 16, "aws_instance.web"),
        ("aws_instance.web", 15, "aws_instance.w…"),
        ("aws_instance.web", 1, "…"),
        ("aws_instance.web", 0, ""),
        ("漢字漢字", 8, "漢字漢字"),
        ("漢字漢字", 7, "漢字漢…"),
        ("漢字漢字", 6, "漢字…"),
    ],
)
def test_the_end_gives_way(text: str, width: int, expected: str) -> None:
    assert cut_end(text, width) == expected


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (80, ADDRESS),
        (40, 'module.network.…s_subnet.private["東京"]'),
        (20, 'module.…vate["東京"]'),
        (12, 'modu…"東京"]'),
        (3, '…"]'),
        (2, "m…"),
        (1, "…"),
        (0, ""),
    ],
)
def test_the_middle_gives_way(width: int, expected: str) -> None:
    assert cut_middle(ADDRESS, width) == expected


def test_what_is_left_never_begins_with_a_mark_of_what_was_cut_off() -> None:
    assert cut_middle("aaaaaaaaaae\u0301bbb", 6) == "aa…bbb"


@given(TEXT, st.integers(-3, 70))
def test_what_was_cut_fits(text: str, width: int) -> None:
    assert cell_width(cut_end(text, width)) <= max(0, width)
    assert cell_width(cut_middle(text, width)) <= max(0, width)


@given(TEXT, st.integers(0, 70))
def test_what_fits_is_left_alone(text: str, width: int) -> None:
    if cell_width(text) <= width:
        assert cut_end(text, width) == text == cut_middle(text, width)


@pytest.mark.parametrize(
    ("text", "width", "before", "expected"),
    [
        pytest.param("one two three", 20, " ", ["one two three"], id="fits"),
        pytest.param("one two three", 8, " ", ["one two", "three"], id="words"),
        pytest.param("one two  three", 8, " ", ["one two", "three"], id="blanks"),
        pytest.param("one twos three", 8, " ", ["one twos", "three"], id="blank right behind"),
        pytest.param("onetwothreefour", 8, " ", ["onetwoth", "reefour"], id="no blank"),
        pytest.param("module.a.aws_thing.b", 10, ".[", ["module.a", ".aws_thing", ".b"], id="address"),
        pytest.param('aws_thing.long["key"]', 16, ".[", ["aws_thing.long", '["key"]'], id="key"),
        pytest.param("one two three", 0, " ", ["one two", "three"], id="no room: eight cells"),
    ],
)
def test_folding(text: str, width: int, before: str, expected: list[str]) -> None:
    assert folded(text, width, before=before) == expected


@given(TEXT, st.integers(0, 70))
def test_folding_loses_nothing_but_blanks(text: str, width: int) -> None:
    lines = folded(text, width)

    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(cell_width(line) <= max(8, width) for line in lines)


def test_a_text_of_marks_without_a_width_does_not_end_up_in_one_line() -> None:
    assert len(folded("\u0301" * 10_000, 10)) > 10
    assert len(cut_end("a" + "\u0301" * 10_000 + "bbb", 3)) < 100


def test_a_megabyte_in_one_line_is_folded_at_once() -> None:
    assert len(folded("word " * 200_000, 80)) == 12_500
