"""Runs and notes are of one state when their keys say so, or, where a user has chosen a key, their places."""

import pytest

from hereya_tf.states.identity import StateIdentity

SHOP = StateIdentity("/srv/shop#default", "/srv/shop", "default")
CHOSEN = SHOP._replace(key="nightly")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        pytest.param(SHOP, SHOP, True, id="the same"),
        pytest.param(SHOP, SHOP._replace(package="/home/clone"), True, id="one key from two places"),
        pytest.param(SHOP, SHOP._replace(key="/srv/else#default"), False, id="two keys from one place"),
        pytest.param(SHOP, CHOSEN, True, id="a key that was chosen once"),
        pytest.param(
            CHOSEN, CHOSEN._replace(package="/srv/else"), False, id="one chosen key for two packages"
        ),
        pytest.param(
            CHOSEN, CHOSEN._replace(workspace="blue"), False, id="one chosen key for two workspaces"
        ),
        pytest.param(CHOSEN, CHOSEN._replace(key="weekly"), True, id="two chosen keys"),
    ],
)
def test_two_of_one_state_are_told_by_key_or_place(
    one: StateIdentity, other: StateIdentity, is_same: bool
) -> None:
    assert (one.is_of(other), other.is_of(one)) == (is_same, is_same)
