"""Which jobs have to take turns."""

from enum import StrEnum
from typing import Any, NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.queue import job_key

PAYLOAD = {"project": "shop", "projectName": "store", "appName": "till", "package": "db", "workspace": "prod"}
TYPES = ["deploy", "undeploy", "init", "app-deploy", "app-destroy", "provision", "destroy"]


class Job(StrEnum):
    DEPLOY = "deploy"


class Hostile(str):
    """A text that raises whatever is done with it."""

    __slots__ = ()

    def __hash__(self) -> int:
        raise RuntimeError("hash")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("eq")

    def __str__(self) -> str:
        raise RuntimeError("str")

    def __format__(self, format_spec: str) -> str:
        raise RuntimeError("format")


class HostileObject(dict[str, Any]):
    """An object that raises when it is read the usual way."""

    def get(self, *args: object) -> NoReturn:
        raise RuntimeError("get")

    def __getitem__(self, key: str) -> NoReturn:
        raise RuntimeError("getitem")


@pytest.mark.behaviour("S1")
@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("deploy", "project:shop:prod"),
        ("undeploy", "project:shop:prod"),
        ("init", "project:store:prod"),
        ("app-deploy", "app:till:prod"),
        ("app-destroy", "app:till:prod"),
        ("provision", "pkg:db:prod"),
        ("destroy", "pkg:db:prod"),
        (Job.DEPLOY, "project:shop:prod"),
    ],
)
def test_jobs_on_one_target_share_a_key(kind: str, key: str) -> None:
    assert key == job_key(kind, PAYLOAD)


@pytest.mark.behaviour("S1")
def test_a_deploy_and_the_init_of_its_project_share_a_key() -> None:
    deploy = job_key("deploy", {"project": "shop", "workspace": "prod"})

    assert deploy == job_key("init", {"projectName": "shop", "workspace": "prod"})


@pytest.mark.behaviour("S2")
@pytest.mark.parametrize(
    "kind", ["resolve-env", "", "Deploy", "deploy ", "rollback", None, 7, b"deploy", ["deploy"], {}]
)
def test_other_types_have_no_key(kind: object) -> None:
    assert job_key(kind, PAYLOAD) is None


@pytest.mark.behaviour("S2")
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(None, id="nothing"),
        pytest.param("shop", id="text"),
        pytest.param([PAYLOAD], id="list"),
        pytest.param({}, id="empty"),
        pytest.param({"workspace": "prod"}, id="no name"),
        pytest.param({**PAYLOAD, "workspace": None}, id="no workspace"),
        pytest.param({**PAYLOAD, "workspace": 1}, id="workspace is a number"),
        pytest.param(
            {"project": [], "projectName": {}, "appName": 1, "package": True, "workspace": ""},
            id="name is no text",
        ),
    ],
)
def test_a_malformed_payload_has_no_key(kind: str, payload: object) -> None:
    assert job_key(kind, payload) is None


@pytest.mark.behaviour("S3")
def test_what_raises_when_it_is_read_does_not_raise_here() -> None:
    hostile = HostileObject({name: Hostile(text) for name, text in PAYLOAD.items()})

    assert job_key("deploy", hostile) == "project:shop:prod"
    assert job_key(Hostile("deploy"), PAYLOAD) == "project:shop:prod"
    assert job_key(Hostile("none"), PAYLOAD) is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(list(PAYLOAD)) | st.text(), inner),
)


@pytest.mark.behaviour("S3")
@given(st.sampled_from(TYPES) | json_values, json_values)
def test_deriving_a_key_never_raises(kind: object, payload: object) -> None:
    key = job_key(kind, payload)

    assert key is None or key.split(":")[0] in {"project", "app", "pkg"}
