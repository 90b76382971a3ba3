"""What a control plane may ask for, and how everything else is refused."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hereya_tf.checkouts.sources import Archive, GitRevision
from hereya_tf.executor.payloads import (
    Inputs,
    JobType,
    PackageJob,
    ProjectJob,
    Refusal,
    ResolveEnvJob,
    read_job,
)
from hereya_tf.executor.sources import Directory, Fetched, Tagged
from hereya_tf.executor.state_ids import state_id
from hereya_tf.queue import job_key

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DIGEST = "ab" * 32
URL = "https://git.example.com/acme/shop.git"
NOTHING = Inputs({}, {}, None)
TARGETS = {
    "provision": {"package": "/srv/network"},
    "destroy": {"package": "/srv/network"},
    "deploy": {"project": "shop", "repository": URL, "commit": COMMIT},
    "undeploy": {"project": "shop", "repository": URL, "commit": COMMIT},
    "init": {"projectName": "shop", "repository": URL, "commit": COMMIT},
    "app-deploy": {"appName": "till", "project": "shop", "repository": URL, "commit": COMMIT},
    "app-destroy": {"appName": "till", "project": "shop", "repository": URL, "commit": COMMIT},
}
PAYLOADS: Mapping[str, Mapping[str, Any]] = {
    **{name: {**target, "workspace": "prod"} for name, target in TARGETS.items()},
    "resolve-env": {"env": {"A": "env:B"}},
}


def why(kind: object, payload: object) -> str:
    refusal = read_job(kind, payload)
    assert isinstance(refusal, Refusal), refusal
    return refusal.reason


def package_job(payload: Mapping[str, Any]) -> PackageJob:
    job = read_job("provision", {"package": "/srv/network", "workspace": "prod", **payload})
    assert isinstance(job, PackageJob), job
    return job


# What it understands


@pytest.mark.parametrize("kind", [JobType.PROVISION, JobType.DESTROY])
def test_a_package_and_a_workspace_are_enough(kind: JobType) -> None:
    identifier = state_id(None, "prod", "/srv/network")

    assert read_job(kind.value, {"package": "/srv/network/", "workspace": "prod"}) == PackageJob(
        kind, Directory("/srv/network"), identifier, NOTHING
    )


def test_everything_that_a_package_may_be_given() -> None:
    infra = {"terraformStateBucketName": "states", "terraformStateBucketRegion": "eu-west-1"}

    job = read_job(
        "provision",
        {
            "package": f"{URL}//vpc",
            "commit": COMMIT,
            "version": "v1",
            "workspace": "prod",
            "project": "shop",
            "id": "legacy/network",
            "parameters": {"size": Decimal("1.50"), "zones": ["a"], "none": None},
            "env": {"A": "x", "B": 1, "C": Decimal("0.10"), "D": True, "E": None},
            "infraConfig": {**infra, "terraformStateLockTableName": None},
            "note\x1b[2J": 1,
        },
    )

    assert job == PackageJob(
        JobType.PROVISION,
        Fetched(GitRevision(url=URL, commit=COMMIT, ref="v1"), "vpc"),
        "legacy/network",
        Inputs(
            {"size": Decimal("1.50"), "zones": ["a"], "none": None},
            {"A": "x", "B": "1", "C": "0.10", "D": "true"},
            infra,
        ),
        ("the payload has an unknown key `note?[2J`, left out",),
    )


def test_null_is_nothing() -> None:
    names = ("project", "id", "commit", "version", "digest", "parameters", "env", "infraConfig")

    assert package_job(dict.fromkeys(names)) == package_job({})
    assert package_job({"infraConfig": {"localStatePath": None}}) == package_job({})


def test_an_archive_and_a_tag() -> None:
    archive = package_job({"package": "https://x.example.com/a.zip", "digest": DIGEST})
    tag = package_job({"package": URL, "version": "v1"})

    assert archive.source == Fetched(Archive(url="https://x.example.com/a.zip", digest=DIGEST), ".")
    assert tag.source == Tagged(URL, "v1", ".")


def test_a_state_outlives_the_version_of_its_package() -> None:
    jobs = [
        package_job({"package": URL, "commit": COMMIT}),
        package_job({"package": f"{URL}/", "version": "v2"}),
    ]

    assert [job.id for job in jobs] == [state_id(None, "prod", URL)] * 2


def test_projects_workspaces_and_directories_have_states_of_their_own() -> None:
    ids = {
        package_job({"package": URL, "commit": COMMIT, **other}).id
        for other in ({}, {"project": "shop"}, {"workspace": "test"}, {"package": f"{URL}//vpc"})
    }

    assert len(ids) == 4


def test_a_signed_address_names_no_state() -> None:
    archive = {
        "package": "https://x.example.com/a.zip?signature=hunter2",
        "digest": DIGEST,
        "workspace": "prod",
    }

    assert why("destroy", archive) == (
        "the payload of the destroy job cannot be used: an archive whose URL has a `?` needs an `id`:"
        " its state cannot be named after it"
    )
    job = read_job("destroy", {**archive, "id": "network"})
    assert isinstance(job, PackageJob)
    assert job.id == "network"


@pytest.mark.parametrize(
    ("kind", "app"),
    [
        (JobType.DEPLOY, None),
        (JobType.UNDEPLOY, None),
        (JobType.INIT, None),
        (JobType.APP_DEPLOY, "till"),
        (JobType.APP_DESTROY, "till"),
    ],
)
def test_what_is_done_with_a_project(kind: JobType, app: str | None) -> None:
    payload = {
        **PAYLOADS[kind],
        "parameters": {"a": 1},
        "env": {"B": "c"},
        "infraConfig": {"localStatePath": "/s"},
    }

    assert read_job(kind.value, payload) == ProjectJob(
        kind,
        Fetched(GitRevision(url=URL, commit=COMMIT), "."),
        "shop",
        "prod",
        app,
        Inputs({"a": 1}, {"B": "c"}, {"localStatePath": "/s"}),
    )


def test_an_environment_to_resolve() -> None:
    assert read_job("resolve-env", {"env": {"A": "env:B", "C": 1}}) == ResolveEnvJob({"A": "env:B", "C": "1"})
    assert read_job("resolve-env", {"env": {}, "x": 1}) == ResolveEnvJob(
        {}, ("the payload has an unknown key `x`, left out",)
    )


@pytest.mark.behaviour("S1", "S2")
@pytest.mark.parametrize("kind", PAYLOADS)
def test_whatever_is_not_refused_takes_its_turn(kind: str) -> None:
    assert not isinstance(read_job(kind, PAYLOADS[kind]), Refusal)
    assert (job_key(kind, PAYLOADS[kind]) is None) == (kind == "resolve-env")


# What it refuses


@pytest.mark.behaviour("D9")
@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("rollback", "`rollback`"),
        ("Destroy", "`Destroy`"),
        ("destroy ", "`destroy `"),
        ("", "``"),
        ("a\nb", "`a?b`"),
        ("x" * 70, f"`{'x' * 60}…`"),
        (None, "that is no text"),
        (7, "that is no text"),
        (["destroy"], "that is no text"),
        ({}, "that is no text"),
    ],
)
def test_an_unknown_type_is_refused(kind: object, shown: str) -> None:
    assert why(kind, PAYLOADS["destroy"]) == f"this executor knows no jobs of the type {shown}"


@pytest.mark.behaviour("D9")
@pytest.mark.parametrize("kind", PAYLOADS)
@pytest.mark.parametrize("payload", [None, "shop", 1, True, [PAYLOADS]], ids=repr)
def test_a_payload_that_is_no_object_is_refused(kind: str, payload: object) -> None:
    assert why(kind, payload) == f"the payload of the {kind} job cannot be used: it is not an object"


@pytest.mark.behaviour("D9")
@pytest.mark.parametrize(
    ("kind", "key"),
    [(kind, key) for kind, payload in PAYLOADS.items() for key in payload],
)
def test_every_key_that_is_needed_is_named_when_it_is_missing(kind: str, key: str) -> None:
    payload = {name: value for name, value in PAYLOADS[kind].items() if name != key}

    assert why(kind, payload) == f"the payload of the {kind} job cannot be used: `{key}` is missing"


BLANKS: tuple[object, ...] = ("", " ", 1, True, ["x"], {})
WRONG = [
    *(
        pytest.param({key: value}, f"`{key}` must be a text that is not empty", id=f"{key} {value!r}")
        for key in ("package", "workspace", "project", "id", "commit", "version", "digest")
        for value in BLANKS
    ),
    *(
        pytest.param(
            {key: value}, f"`{key}` must be one line of at most 1000 characters", id=f"{key} {value[:3]!r}"
        )
        for key in ("package", "workspace", "project", "id")
        for value in ("a\nb", "a\0", "\x1b[2J", "\ud800", "x" * 1001)
    ),
    *(
        pytest.param({key: []}, f"`{key}` must be an object", id=f"{key} of a list")
        for key in ("parameters", "env", "infraConfig")
    ),
    pytest.param({"env": {"A": ["x"]}}, "`A` in `env` must be a text", id="a list in env"),
    pytest.param({"env": {"A": {}}}, "`A` in `env` must be a text", id="an object in env"),
    pytest.param({"env": {"A": "\ud83d"}}, "`A` in `env` holds half a character", id="half a character"),
    pytest.param({"env": {"\ud83d": "x"}}, "`?` in `env` holds half a character", id="half a name"),
    pytest.param(
        {"infraConfig": {"terraformStateBucket": "x"}}, "`infraConfig` has an unknown key `terraformStateBucket`",
        id="a misspelt bucket",
    ),
    pytest.param(
        {"infraConfig": {"localStatePath": ""}}, "`infraConfig.localStatePath` must be a text that is not empty",
        id="an empty path",
    ),
    pytest.param(
        {"infraConfig": {"terraformStateBucketName": 1}},
        "`infraConfig.terraformStateBucketName` must be a text that is not empty", id="a number for a bucket",
    ),
    pytest.param(
        {"infraConfig": {"localStatePath": "states"}},
        "`infraConfig.localStatePath` must be absolute: each executor begins elsewhere", id="a relative path",
    ),
    pytest.param(
        {"infraConfig": {"terraformStateBucketRegion": "eu-west-1"}},
        "`infraConfig` names neither `terraformStateBucketName` nor `localStatePath`", id="a region alone",
    ),
    pytest.param(
        {"commit": COMMIT},
        "the package is a directory, and `commit`, `version` and `digest` are of repositories and archives",
        id="a directory at a commit",
    ),
    pytest.param(
        {"package": URL}, "a repository needs `commit` or `version`: what runs is one exact commit", id="a tip"
    ),
]  # fmt: skip


@pytest.mark.behaviour("D9")
@pytest.mark.parametrize("kind", ["provision", "destroy"])
@pytest.mark.parametrize(("change", "sentence"), WRONG)
def test_what_is_wrong_is_named(kind: str, change: Mapping[str, Any], sentence: str) -> None:
    assert (
        why(kind, {**PAYLOADS[kind], **change}) == f"the payload of the {kind} job cannot be used: {sentence}"
    )


@pytest.mark.parametrize(
    "repository",
    ["/srv/shop", "https://x.example.com/a.zip", "shop"],
    ids=["directory", "archive", "relative"],
)
def test_a_project_is_a_repository(repository: str) -> None:
    assert why("deploy", {**PAYLOADS["deploy"], "repository": repository}).startswith(
        "the payload of the deploy job cannot be used: "
    )


def test_a_project_is_at_one_exact_commit() -> None:
    payload = {**PAYLOADS["undeploy"], "commit": "main", "version": "main"}

    assert (
        why("undeploy", payload) == "the payload of the undeploy job cannot be used: `main` is not a commit"
    )


@pytest.mark.behaviour("E7")
def test_a_credential_in_an_address_is_not_repeated() -> None:
    payload = {**PAYLOADS["deploy"], "repository": "https://bot:hunter2@git.example.com/a.git"}

    assert "hunter2" not in why("deploy", payload)


KEYS = sorted({key for payload in PAYLOADS.values() for key in payload} | {"id", "parameters", "infraConfig"})
TEXTS = [
    "shop",
    "prod",
    URL,
    COMMIT,
    "https://h/a.zip?x",
    DIGEST,
    "a//b",
    "ext::x",
    "",
    "env:A",
    "https://[",
    "u@h:x",
]
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(KEYS) | st.text(), inner),
)
texts = st.sampled_from(TEXTS) | st.text(st.characters())
payloads = st.dictionaries(st.sampled_from(KEYS), texts | json_values) | json_values
almost = st.builds(
    lambda kind, change: (kind, {**PAYLOADS[kind], **change}),
    st.sampled_from(sorted(PAYLOADS)),
    st.dictionaries(st.sampled_from(KEYS), texts | json_values),
)


@pytest.mark.behaviour("D9")
@given(almost | st.tuples(st.sampled_from(sorted(PAYLOADS)) | json_values, payloads))
@example(("provision", {"package": "https://[::1", "workspace": "w", "commit": COMMIT}))
@example(("provision", {"package": "https://h:port/x", "workspace": "w", "version": "v"}))
def test_whatever_comes_over_the_wire_is_a_job_or_a_refusal(job: tuple[object, object]) -> None:
    kind, payload = job

    read = read_job(kind, payload)

    match read:
        case Refusal(reason=reason):
            assert reason.isprintable()
        case PackageJob() | ProjectJob():
            assert read.type == kind
        case ResolveEnvJob():
            assert kind == "resolve-env"
