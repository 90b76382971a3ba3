"""Lines of source code, and what a diagnostic points at in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.source import SourceLine, characters_of, source_lines
from hereya_tf.stream.message_types import Diagnostic, Range, Snippet, render_diagnostic

CODE = st.text(alphabet=st.sampled_from("ab \t\n\r\u2028é€😀e\u0301\ud800"), max_size=30)


def test_the_part_that_is_meant_is_marked() -> None:
    (line,) = source_lines('  name = "x"', 3, 9, 12)

    assert line == SourceLine(3, '  name = "x"', 9, 12)
    assert line.marks == "         ^^^"


def test_tabs_keep_the_place() -> None:
    (line,) = source_lines("\ta\t= b", 1, 5, 6)

    assert line.marks == "\t \t  ^"
    assert line.marks.expandtabs().index("^") == line.code.expandtabs().index("b")


def test_a_tab_in_what_is_meant_keeps_the_place_too() -> None:
    (line,) = source_lines("a\t=\tb", 1, 0, 5)

    assert line.marks == "^\t^\t^"


def test_what_goes_over_several_lines_is_marked_on_each() -> None:
    code = "a = {\n\tb = 1\n\n}\nc"

    lines = source_lines(code, 7, 4, 15)

    assert [line.marks for line in lines] == ["    ^", "\t^^^^^", "", "^", ""]
    assert lines == (
        SourceLine(7, "a = {", 4, 5),
        SourceLine(8, "\tb = 1", 0, 6),
        SourceLine(9, "", 0, 0),
        SourceLine(10, "}", 0, 1),
        SourceLine(11, "c", 0, 0),
    )


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (2, 2), (3, 1), (90, 99), (-4, 0)])
def test_where_nothing_is_meant_nothing_is_marked(begin: int, end: int) -> None:
    assert [line.marks for line in source_lines("abc\ndef", 1, begin, end)] == ["", ""]


def test_what_ends_behind_the_code_is_marked_to_its_end() -> None:
    assert [line.marks for line in source_lines("abc\ndef", 1, 2, 99)] == ["  ^", "^^^"]


def test_engines_count_bytes() -> None:
    assert characters_of('é = "€😀" + x', 5, 14) == (4, 8)
    assert characters_of("abc", -1, 99) == (0, 3)
    assert characters_of("é", 1, 2) == (1, 1), "half a character is one that has begun"


@given(CODE, st.integers(0, 40), st.integers(0, 40))
def test_bytes_are_told_in_characters(code: str, begin: int, end: int) -> None:
    begin, end = min(begin, len(code)), min(end, len(code))
    offsets = [len(code[:at].encode("utf-8", "surrogatepass")) for at in (begin, end)]

    if "\ud800" not in code:
        assert characters_of(code, *offsets) == (begin, end)
    else:
        assert all(0 <= at <= 3 * len(code) for at in characters_of(code, *offsets))


@given(CODE, st.integers(-2, 40), st.integers(-2, 40), st.integers(1, 1000))
def test_lines_and_marks_are_the_whole_code(code: str, begin: int, end: int, first: int) -> None:
    lines = source_lines(code, first, begin, end)

    assert "\n".join(line.code for line in lines) == code
    assert [line.number for line in lines] == list(range(first, first + len(lines)))
    marked = "".join(line.code[line.begin : line.end] for line in lines)
    assert marked == code[max(0, begin) : max(0, end)].replace("\n", "")
    for line in lines:
        meant = line.code[line.begin : line.end]
        assert ("^" in line.marks) == bool(meant.strip())
        assert len(line.marks) == (line.end if meant.strip() else 0)
        for at, mark in enumerate(line.marks):
            assert (mark == "\t") == (line.code[at] == "\t"), "a tab stays, to keep the place"
            assert mark != "^" or line.begin <= at


def diagnostic(code: str, begin: int, end: int) -> Diagnostic:
    snippet = Snippet('resource "a" "b"', code, 3, begin, end, (("var.a", 'is "x"'),))
    return Diagnostic("error", "no", "ask\n", "a.b", Range("main.tf", 3, 1, 4, 1), snippet)


def test_a_diagnostic_reads_as_the_engine_prints_it_and_says_what_it_points_at() -> None:
    found = diagnostic("é = [\n\tvar.a,", 8, 13)

    assert render_diagnostic(found, marks=True) == (
        "Error: no\n"
        "\n"
        "  with a.b,\n"
        '  on main.tf line 3, in resource "a" "b":\n'
        "   3: é = [\n"
        "   4: \tvar.a,\n"
        "      \t^^^^^\n"
        '      var.a is "x"\n'
        "\n"
        "ask\n"
    )
    assert "^" not in render_diagnostic(found)


@given(CODE, st.integers(-5, 99), st.integers(-5, 99))
def test_whatever_an_engine_points_at_it_can_be_told(code: str, begin: int, end: int) -> None:
    text = render_diagnostic(diagnostic(code, begin, end), marks=True)

    assert [line for line in text.split("\n") if set(line) - set(" \t^")] == [
        line
        for line in render_diagnostic(diagnostic(code, begin, end)).split("\n")
        if set(line) - set(" \t^")
    ]
