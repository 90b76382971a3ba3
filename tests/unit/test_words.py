"""Words that front ends, reports and errors share."""

import pytest

from hereya_tf.words import listed


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        pytest.param((), "", id="nothing"),
        pytest.param(("a",), "a", id="one"),
        pytest.param(("a", "b"), "a and b", id="two"),
        pytest.param(("a", "b", "c"), "a, b and c", id="three"),
    ],
)
def test_pieces_are_listed_as_in_a_sentence(pieces: tuple[str, ...], text: str) -> None:
    assert text == listed(iter(pieces))
