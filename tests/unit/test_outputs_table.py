"""Outputs at a terminal: aligned where they fit, below their names where they do not, never lost unsaid."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.outputs.json_layout import lay_out
from hereya_tf.ui.outputs_table import outputs_table

Rows = list[tuple[str, str | None, str]]


def texts(**values: str) -> Rows:
    return [(name, value, value) for name, value in values.items()]


def test_values_that_fit_stand_in_a_column() -> None:
    rows = [*texts(url="https://x", bucket_name="b"), ("password", None, "")]

    assert outputs_table(rows, width=40) == (
        "url          https://x\nbucket_name  b\npassword     (sensitive)\n"
    )


def test_nothing_makes_nothing() -> None:
    assert outputs_table([], width=80) == ""


def test_an_empty_text_can_be_seen() -> None:
    assert outputs_table(texts(a="", b='""'), width=80) == 'a  ""\nb  ""\n'


@pytest.mark.parametrize("width", [10, 80, None])
def test_a_text_of_several_lines_stands_below_its_name(width: int | None) -> None:
    assert outputs_table(texts(key="-----BEGIN\n  x\n\nEND\n", a="1"), width=width) == (
        "key\n    -----BEGIN\n      x\n\n    END\na    1\n"
    )


def test_a_long_text_stands_below_its_name_in_one_piece() -> None:
    long = "https://example.com/" + "x" * 60

    assert outputs_table(texts(url=long), width=40) == f"url\n    {long}\n"
    assert outputs_table(texts(url=long), width=None) == f"url  {long}\n"


@pytest.mark.parametrize(("width", "fits"), [(13, True), (12, False)])
def test_wide_characters_take_two_cells(width: int, fits: bool) -> None:
    expected = "name  大きい名\n" if fits else "name\n    大きい名\n"

    assert outputs_table(texts(name="大きい名"), width=width + 1) == expected


def test_wide_names_are_aligned() -> None:
    assert outputs_table(texts(名前="1", abcde="2"), width=80) == "名前   1\nabcde  2\n"


def test_json_that_does_not_fit_is_laid_out_below_its_name() -> None:
    text = '{"hosts":["a.example","b.example"],"port":80}'
    rows: Rows = [("service", text, lay_out(text))]

    assert outputs_table(rows, width=80) == f"service  {text}\n"
    assert outputs_table(rows, width=40) == (
        'service\n    {\n      "hosts": [\n        "a.example",\n        "b.example"\n      ],\n      "port": 80\n'
        "    }\n"
    )


def test_a_name_that_is_too_long_does_not_push_the_others_away() -> None:
    long = "n" * 30

    assert outputs_table(texts(a="1", bb="2", **{long: "3"}), width=60) == f"a   1\nbb  2\n{long}  3\n"


def test_a_tab_takes_the_room_it_takes() -> None:
    assert outputs_table(texts(a="x\ty"), width=9) == "a  x\ty\n"
    assert outputs_table(texts(a="x\ty"), width=8) == "a\n    x\ty\n"


def test_text_cannot_steer_the_terminal() -> None:
    rows = texts(**{"a\x1b[2J\nb\t": "\x1b]0;x\x07\u202e\x9b"}, c="x\n\x1b[31m\r")

    assert outputs_table(rows, width=80) == (
        "a\\x1b[2J\\nb\\t  \\x1b]0;x\\x07\\u202e\\x9b\nc\n    x\n    \\x1b[31m\\x0d\n"
    )


def test_what_is_too_long_for_a_terminal_is_cut_and_it_is_said() -> None:
    many = "".join(f"line {number}\n" for number in range(60))
    lines = outputs_table(texts(kubeconfig=many), width=80).splitlines()

    assert lines[:2] == ["kubeconfig", "    line 0"]
    assert lines[50:] == [
        "    line 49",
        "    … 81 more characters: `hereya-tf output PACKAGE kubeconfig --format json` has them",
    ]
    assert outputs_table(texts(kubeconfig=many), width=None).splitlines()[-1] == "    line 59"


def test_one_line_that_is_too_long_is_cut_and_it_is_said() -> None:
    lines = outputs_table(texts(blob="x" * 5000), width=80).splitlines()

    assert lines == [
        "blob",
        "    " + "x" * 4000,
        "    … 1,000 more characters: `hereya-tf output PACKAGE blob --format json` has them",
    ]


def test_as_many_lines_as_there_is_room_for_are_not_cut() -> None:
    text = "x\n" * 50

    assert outputs_table(texts(a=text), width=80) == "a\n" + "    x\n" * 50


@given(
    st.lists(st.tuples(st.text(max_size=8), st.text(max_size=100)), max_size=5),
    st.none() | st.integers(0, 60),
)
def test_every_character_is_there_and_no_control_is(pairs: list[tuple[str, str]], width: int | None) -> None:
    table = outputs_table([(name, text, text) for name, text in pairs], width=width)

    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", table)
    letters = "".join(character for _, text in pairs for character in text if character.isalnum())
    found = iter(table)
    assert all(letter in found for letter in letters), "a value is not there in its order"
