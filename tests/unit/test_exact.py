"""JSON in which numbers keep every digit."""

import contextlib
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import exact

NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.text() | NUMBERS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
# 1/3 as an engine prints it.
THIRD = "0." + "3" * 154


@pytest.mark.behaviour("T12")
@pytest.mark.parametrize(
    "text",
    [
        "9007199254740993",
        THIRD,
        "1.10",
        "-0.0",
        "1E+400",
        "123456789012345678901234567890.12345678901234567890",
        "9" * 5000,
        "-" + "9" * 5000,
        f'{{"a":[{THIRD},1E-7,null,true,"ü\\"\\n"]}}',
    ],
)
def test_every_digit_is_kept(text: str) -> None:
    assert exact.dumps(exact.loads(text)) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("1.50", Decimal("1.50")), ("1e400", Decimal("1E+400")), ("9" * 4000, Decimal("9" * 4000))],
)
def test_integers_are_int_where_they_can_be_and_all_else_is_decimal(text: str, value: object) -> None:
    assert (exact.loads(text), type(exact.loads(text))) == (value, type(value))


@given(DOCUMENTS)
def test_what_was_written_is_read_back(document: Any) -> None:
    assert exact.loads(exact.dumps(document)) == document


@given(DOCUMENTS)
def test_what_is_written_is_json_for_everybody_else(document: Any) -> None:
    def plain(value: Any) -> Any:
        match value:
            case dict():
                return {key: plain(item) for key, item in value.items()}
            case list():
                return [plain(item) for item in value]
            case Decimal():
                return float(value)
        return value

    assert json.loads(exact.dumps(document), parse_int=int) == plain(document)


@given(st.text())
def test_any_text_is_a_document_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        exact.loads(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("NaN", "NaN is not JSON"),
        ("[Infinity]", "Infinity is not JSON"),
        ("-Infinity", "-Infinity is not JSON"),
        ("1e99999999999999999999", "a number's exponent is too large"),
        ("{} {}", "Extra data"),
        ("", "Expecting value"),
        ("{'a': 1}", "Expecting property name"),
    ],
)
def test_what_is_not_json_is_a_value_error(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        exact.loads(text)


@given(DOCUMENTS.filter(lambda value: not isinstance(value, int | Decimal)), st.text())
def test_the_document_at_the_start_of_a_text_is_found_with_its_end(document: Any, rest: str) -> None:
    text = exact.dumps(document)

    assert exact.decode_prefix(text + rest) == (document, len(text))


def test_a_tuple_is_a_list() -> None:
    assert exact.dumps((1, (), ("a",))) == '[1,[],["a"]]'


@pytest.mark.parametrize("value", [{1}, b"bytes", object()])
def test_what_json_cannot_hold_is_a_type_error(value: object) -> None:
    with pytest.raises(TypeError):
        exact.dumps([value])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_json_has_no_number_for_is_a_value_error(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        exact.dumps({"a": value})
