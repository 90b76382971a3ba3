"""Where a job's state is when nobody says: no two targets share one, and it is where it was last time."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hereya_tf.executor.state_ids import state_id
from hereya_tf.workspace import BackendKind, GeneratedBackend, generate_backend

# Names that join to the same text, or that some file system or normalisation takes for the same.
CLOSE = [
    *("", "a", "A", "b", "ab", "a/b", "a-b", "/", "-", "..", ".", "1:a"),
    *("\u00e9", "e\u0301", "\ud83d", "\ude00", "\U0001f600"),
]
names = st.sampled_from(CLOSE) | st.text(st.characters(), max_size=20)
targets = st.tuples(st.none() | names, names, names)


@given(targets, targets)
@example(("a", "b", "c"), (None, "a", "b/c"))
@example((None, "a", "b"), ("", "a", "b"))
@example(("a", "bc", "d"), ("ab", "c", "d"))
@example(("x", "y", "\ud83d\ude00"), ("x", "y", "😀"))
def test_other_targets_have_other_states_whatever_a_file_system_does_to_names(
    one: tuple[str | None, str, str], other: tuple[str | None, str, str]
) -> None:
    first, second = (unicodedata.normalize("NFC", state_id(*target)).casefold() for target in (one, other))

    assert (first == second) == (one == other)


@given(targets)
def test_every_id_can_name_a_state_as_it_is(target: tuple[str | None, str, str]) -> None:
    identifier = state_id(*target)

    backend = generate_backend(
        state=None, bucket="states", region="eu-west-1", lock_table=None, identifier=identifier
    )

    assert backend == GeneratedBackend(BackendKind.S3, identifier, bucket="states", region="eu-west-1")
    assert identifier.isascii()
    assert len(identifier) < 200


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        pytest.param(
            ("shop", "prod", "network"),
            "shop/prod/network-d0a63276c5938f5aff1a5448362e245af633958a",
            id="plain",
        ),
        pytest.param(
            (None, "prod", "https://git.example.com/acme/network.git//modules/vpc"),
            "prod/example.com-acme-network.git-modules-vpc-6e21d1aa752ecc4aa148969ee0b2b949c7e4676a",
            id="an address",
        ),
        pytest.param(
            ("日本", "..", "A/../B"),
            "_/_/a-..-b-28bac6eca8599a3cf51a1d139ff5c3510756f641",
            id="nothing readable",
        ),
    ],
)
def test_an_id_is_the_same_for_ever(target: tuple[str | None, str, str], expected: str) -> None:
    assert state_id(*target) == expected, "states are kept under it: whatever changes this loses them"
