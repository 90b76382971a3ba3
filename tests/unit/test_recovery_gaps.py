"""What was done and is not in the state is told with what to do about it; what is there is no word worth."""

from typing import Any

import pytest

from hereya_tf.recovery.gaps import gaps
from hereya_tf.recovery.state_document import StateDocument
from tests.run_log import Log

MADE = "a.made"
IMPORT = "hereya-tf tf ./shop --id prod -- import"


def state(**instances: Any) -> StateDocument:
    """A state with one resource `a.NAME` for each name, with these instances."""
    resources = [
        {"mode": "managed", "type": "a", "name": name, "instances": each} for name, each in instances.items()
    ]
    return StateDocument("lineage", 1, {"resources": resources})


def told(state_: StateDocument | None, *acts: tuple[str, str]) -> list[str]:
    log = Log().engine().begin("apply")
    for address, action in acts:
        log.act(address, action, "started", "completed")
    return list(gaps(log.report(), state_, "./shop --id prod"))


def test_what_was_made_and_is_not_in_the_state_would_be_made_again() -> None:
    assert told(state(other=[{}]), (MADE, "create")) == [
        f"Done, but not in the state: `{MADE}`, id `id-{MADE}`. It would be made a second time: if it exists,"
        f" import it, or remove it:\n  {IMPORT} {MADE} id-{MADE}"
    ]


def test_without_any_state_nothing_is_in_it() -> None:
    assert len(told(None, (MADE, "create"), ("a.other", "create"))) == 2


def test_another_object_in_its_place_is_told() -> None:
    (sentence,) = told(state(made=[{"attributes": {"id": "old"}}]), (MADE, "create"))

    assert sentence.startswith(f"Done, but the state has another object there: `{MADE}`, id `id-{MADE}`. ")
    assert sentence.endswith(f"\n  {IMPORT} {MADE} id-{MADE}")


@pytest.mark.parametrize(
    ("known", "action"),
    [
        pytest.param([{"attributes": {"id": f"id-{MADE}"}}], "create", id="made, and there"),
        pytest.param([{"attributes": {}}], "create", id="without an id"),
        pytest.param([], "delete", id="destroyed, and gone"),
        pytest.param([{"deposed": "00000001"}], "delete", id="destroyed, and on its way out"),
        pytest.param([{"attributes": {"id": "x"}}], "update", id="changed"),
    ],
)
def test_what_the_state_has_as_it_is_is_not_told(known: list[Any], action: str) -> None:
    assert told(state(made=known), (MADE, action)) == []


def test_what_was_destroyed_and_is_still_in_the_state_is_told() -> None:
    assert told(state(made=[{"attributes": {"id": "x"}}]), (MADE, "delete")) == [
        f"Destroyed, but still in the state: `{MADE}`. The next plan finds that out."
    ]


@pytest.mark.parametrize(
    ("resource", "instance", "address"),
    [
        pytest.param({}, {"index_key": 0}, "a.made[0]", id="counted"),
        pytest.param({}, {"index_key": "${a}%{b}"}, 'a.made["$${a}%%{b}"]', id="named like a template"),
        pytest.param({}, {"index_key": 'é"\\'}, 'a.made["é\\"\\\\"]', id="named"),
        pytest.param({"module": 'module.m["x"]'}, {}, 'module.m["x"].a.made', id="in a module"),
        pytest.param({"mode": "data"}, {}, "data.a.made", id="read"),
    ],
)
def test_a_state_names_its_objects_as_the_engine_does(
    resource: dict[str, Any], instance: dict[str, Any], address: str
) -> None:
    made = {"mode": "managed", "type": "a", "name": "made", "instances": [instance], **resource}

    assert told(StateDocument("lineage", 1, {"resources": [made]}), (address, "create")) == []


@pytest.mark.parametrize("content", [None, {"resources": "odd"}, {"resources": ["odd", {"instances": 1}]}])
def test_of_a_state_that_cannot_be_read_nothing_is_claimed(content: dict[str, Any] | None) -> None:
    expected = 0 if content is None else 1

    assert len(told(StateDocument("lineage", 1, content), (MADE, "create"))) == expected
