import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.states import scanning
from hereya_tf.states.scanning import find_flaw

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=6)


def flaw(data: bytes) -> str:
    return find_flaw(io.BytesIO(data))


@pytest.fixture(params=[1, 2, 3, 7, 1 << 20])
def piece(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the file is cut into pieces."""
    monkeypatch.setattr(scanning, "_CHUNK", request.param)


TRICKY = {
    'a"b': ['\\"', "\\\\", '\\\\"', '"', "\\", "{", "}]", "é\u2028\U0001f600", "\n\t\x00"],
    "empty": [{}, [], "", 0],
    "nested": {"policy": json.dumps({"a": json.dumps({"b": '"\\'})})},
}


@pytest.mark.usefixtures("piece")
@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("plain", [True, False])
def test_nothing_speaks_against_whole_json(indent: int | None, plain: bool) -> None:
    text = json.dumps(TRICKY, indent=indent, ensure_ascii=plain) + "\n"

    assert flaw(text.encode()) == ""


@given(document=OBJECTS, plain=st.booleans(), indent=st.sampled_from([None, 1, 2]))
def test_no_json_object_is_taken_for_broken(
    document: dict[str, Any], plain: bool, indent: int | None
) -> None:
    text = json.dumps(document, ensure_ascii=plain, indent=indent)

    assert flaw(text.encode("utf-8", "surrogatepass")) == ""


@given(document=OBJECTS, data=st.data())
def test_whatever_is_missing_at_the_end_is_noticed(document: dict[str, Any], data: st.DataObject) -> None:
    text = json.dumps(document).encode()
    end = data.draw(st.integers(0, len(text) - 1))

    assert flaw(text[:end]) != ""


@pytest.mark.usefixtures("piece")
@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param(b"", "it is not a JSON object", id="nothing"),
        pytest.param(b" \n", "it is not a JSON object", id="blank"),
        pytest.param(b"[1]", "it is not a JSON object", id="a list"),
        pytest.param(b'"text"', "it is not a JSON object", id="a text"),
        pytest.param(b'{"a": "b', "it breaks off", id="in a text"),
        pytest.param(b'{"a": "b\\', "it breaks off", id="in an escape"),
        pytest.param(b'{"a": ["b"', "it breaks off", id="in a list"),
        pytest.param(b'{"a": {}', "it breaks off", id="after an object"),
        pytest.param(b'{"a": 1}}', "it breaks off", id="one brace too many"),
        pytest.param(b'{"a": 1} 2', "it breaks off", id="something behind it"),
        pytest.param(b'{"a": \x00\x00}', "it holds what is not JSON", id="a hole outside of a text"),
        pytest.param(b'{"a": "\x00\x00"}', "it holds what is not JSON", id="a hole in a text"),
        pytest.param(b"{'a': 1}", "it holds what is not JSON", id="something else"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, expected: str) -> None:
    assert flaw(data) == expected
