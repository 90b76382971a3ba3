"""Which runs a job takes, in which order, and what each of them is given."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.checkouts.sources import GitRevision
from hereya_tf.control_plane.results import Failed, Succeeded
from hereya_tf.events import Operation
from hereya_tf.executor.payloads import Inputs, JobType, PackageJob, ProjectJob, Refusal
from hereya_tf.executor.results import OutputValue, RunEnd
from hereya_tf.executor.sources import Directory, Fetched
from hereya_tf.executor.state_ids import state_id
from hereya_tf.executor.state_places import Found
from hereya_tf.executor.work import (
    Request,
    Stage,
    Work,
    failure_of,
    packages_of,
    plan_package,
    plan_project,
    request_of,
    success_of,
)
from hereya_tf.inputs.deploy_table import DeployPackage, DeployTable, OutputOf

NETWORK = DeployPackage("network", "network")
DATABASE = DeployPackage("modules/db", "db", "db", {"size": "small", "port": 1})
TILL = DeployPackage("apps/till", "till", "till", {}, {"address": OutputOf("db", "url")})
TABLE = DeployTable((NETWORK, DATABASE, TILL))
SOURCE = Fetched(GitRevision(url="https://git.example.com/a.git", commit="a" * 40), ".")
BUCKET = {"terraformStateBucketName": "states", "terraformStateBucketRegion": "eu-west-1"}
EVERY_PROJECT_JOB = [
    *(JobType.DEPLOY, JobType.UNDEPLOY, JobType.INIT, JobType.APP_DEPLOY, JobType.APP_DESTROY),
]


def found(
    directory: str,
    *variables: str,
    backend: str | None = None,
    has_state: bool = False,
    is_checkout: bool = True,
) -> Found:
    return Found(directory, frozenset(variables), backend, has_state, is_checkout)


FOUND = {
    "network": found("/c/network", "region"),
    "db": found("/c/modules/db", "vpc_id", "size", "region"),
    "till": found("/c/apps/till", "vpc_id", "address", "url", "region"),
}


def project_job(
    kind: JobType = JobType.DEPLOY,
    *,
    parameters: Mapping[str, Any] = {},
    infra: Mapping[str, str] | None = BUCKET,
    notes: tuple[str, ...] = (),
) -> ProjectJob:
    app = "till" if kind in (JobType.APP_DEPLOY, JobType.APP_DESTROY) else None
    return ProjectJob(
        kind, SOURCE, "shop", "prod", app, Inputs(parameters, {"AWS_REGION": "x"}, infra), notes
    )


def package_job(
    kind: JobType = JobType.PROVISION,
    *,
    infra: Mapping[str, str] | None = None,
    parameters: Mapping[str, Any] = {},
) -> PackageJob:
    return PackageJob(kind, Directory("/p"), "the-id", Inputs(parameters, {"A": "b"}, infra), ("a note",))


def planned(job: ProjectJob, *, states: str | None = "/states") -> Work:
    packages = packages_of(job, TABLE)
    assert not isinstance(packages, Refusal), packages
    work = plan_project(job, packages, FOUND, states=states)
    assert not isinstance(work, Refusal), work
    return work


def order(work: Work) -> list[tuple[str, str, bool]]:
    return [(stage.operation.value, stage.name, stage.counts) for stage in work.stages]


# One package


@pytest.mark.parametrize(
    ("kind", "operation"),
    [(JobType.PROVISION, Operation.PROVISION), (JobType.DESTROY, Operation.DESTROY)],
)
def test_a_package_is_one_run(kind: JobType, operation: Operation) -> None:
    work = plan_package(package_job(kind, infra=BUCKET, parameters={"a": 1}), found("/p", "b"), states=None)

    stage = Stage(operation, "the-id", found("/p", "b"), "the-id", BUCKET, {"a": 1}, {"A": "b"})
    assert work == Work((stage,), ("a note",))
    assert request_of(stage, {}) == Request(
        {"id": "the-id", "pkgPath": "/p", "parameters": {"a": 1}, "env": {"A": "b"}, "infraConfig": BUCKET},
        (),
    )


def place_of(infra: Mapping[str, str] | None, package: Found, *, states: str | None = "/states") -> object:
    work = plan_package(package_job(infra=infra), package, states=states)
    return work.reason if isinstance(work, Refusal) else (dict(work.stages[0].infra), *work.notes[1:])


def test_a_state_is_where_the_job_says() -> None:
    package = found("/p", backend="s3", has_state=True)

    assert place_of(BUCKET, package) == (BUCKET,)
    assert place_of({"localStatePath": "/s/x.tfstate"}, package) == ({"localStatePath": "/s/x.tfstate"},)


def test_a_local_path_is_a_directory_of_states() -> None:
    assert place_of({"localStatePath": "/s/"}, found("/p")) == (
        {"localStatePath": "/s/the-id/terraform.tfstate"},
    )


@pytest.mark.parametrize("is_checkout", [True, False], ids=["checkout", "directory"])
def test_else_it_is_where_the_package_says(is_checkout: bool) -> None:
    assert place_of(None, found("/p", backend="s3", is_checkout=is_checkout)) == (
        {},
        "the package keeps its state where its own backend `s3` says, whatever the workspace",
    )


def test_a_request_names_no_place_for_a_backend_of_the_packages_own() -> None:
    work = plan_package(package_job(), found("/p", backend="s3"), states=None)

    assert isinstance(work, Work)
    assert request_of(work.stages[0], {}).document == {
        "id": "the-id",
        "pkgPath": "/p",
        "parameters": {},
        "env": {"A": "b"},
    }


def test_else_it_is_below_the_operators_directory() -> None:
    kept = ({"localStatePath": "/states/the-id/terraform.tfstate"},)

    assert place_of(None, found("/p")) == kept
    assert place_of(None, found("/p", backend="local")) == kept, "what lies in a checkout goes away with it"


def test_a_directory_may_have_a_local_backend_of_its_own() -> None:
    assert place_of(None, found("/p", backend="local", is_checkout=False)) == (
        {},
        "the package keeps its state where its own backend `local` says, whatever the workspace",
    )


def test_no_job_passes_over_a_state_that_is_there() -> None:
    assert place_of(None, found("/p", has_state=True)) == (
        "the package has a state next to its files, and a job would begin another:"
        " say by `infraConfig.localStatePath` which is meant"
    )


def test_without_a_place_for_a_state_nothing_runs() -> None:
    assert place_of(None, found("/p"), states=None) == (
        "the package has no backend to keep its state in: give `infraConfig`"
    )


# The packages of a repository


def test_a_deploy_provisions_all_in_order() -> None:
    assert order(planned(project_job())) == [
        ("provision", "network", True),
        ("provision", "db", True),
        ("provision", "till", True),
    ]


def test_an_init_initialises_all_in_order() -> None:
    assert order(planned(project_job(JobType.INIT))) == [
        ("init", "network", True),
        ("init", "db", True),
        ("init", "till", True),
    ]


def test_an_undeploy_asks_for_outputs_and_destroys_in_reverse() -> None:
    assert order(planned(project_job(JobType.UNDEPLOY))) == [
        ("output", "network", False),
        ("output", "db", False),
        ("destroy", "till", True),
        ("destroy", "db", True),
        ("destroy", "network", True),
    ]


@pytest.mark.parametrize(
    ("kind", "operation"), [(JobType.APP_DEPLOY, "provision"), (JobType.APP_DESTROY, "destroy")]
)
def test_an_app_alone_is_changed(kind: JobType, operation: str) -> None:
    assert order(planned(project_job(kind))) == [
        ("output", "network", False),
        ("output", "db", False),
        (operation, "till", True),
    ]


def test_every_job_finds_a_packages_state_in_one_place() -> None:
    places = {
        (stage.id, *stage.infra.items())
        for kind in EVERY_PROJECT_JOB
        for stage in planned(project_job(kind, infra=None)).stages
        if stage.name == "till"
    }

    identifier = state_id("shop", "prod", "till")
    assert places == {(identifier, ("localStatePath", f"/states/{identifier}/terraform.tfstate"))}


@pytest.mark.parametrize("kind", EVERY_PROJECT_JOB)
def test_packages_share_a_bucket_or_a_directory_and_no_state(kind: JobType) -> None:
    stages = planned(project_job(kind)).stages
    local = planned(project_job(kind, infra={"localStatePath": "/s"})).stages

    assert len({stage.id for stage in stages}) == 3
    assert {stage.infra["localStatePath"] for stage in local} == {
        f"/s/{stage.id}/terraform.tfstate" for stage in stages
    }


def test_one_file_is_no_place_for_several_states() -> None:
    job = project_job(infra={"localStatePath": "/s/shop.tfstate"})

    assert plan_project(job, TABLE.packages, FOUND, states=None) == Refusal(
        "`infraConfig.localStatePath` is one file, and each package has a state: give a directory"
    )


def test_a_directory_that_is_listed_twice_needs_two_states() -> None:
    twice = (NETWORK, NETWORK._replace(name="other"))
    own = found("/c/network", backend="s3")
    there = {"network": own, "other": own}

    assert plan_project(project_job(infra=None), twice, there, states="/s") == Refusal(
        "the packages `network` and `other` are one directory with one state: give `infraConfig`"
    )
    assert isinstance(plan_project(project_job(), twice, there, states="/s"), Work)


def test_one_package_without_a_place_refuses_the_whole_job() -> None:
    assert plan_project(project_job(infra=None), TABLE.packages, FOUND, states=None) == Refusal(
        "the package `network` has no backend to keep its state in: give `infraConfig`"
    )


def test_what_is_noted_is_for_the_log() -> None:
    job = project_job(parameters={"region": "x", "typo": 1}, notes=("a note",), infra=None)
    there = {**FOUND, "db": FOUND["db"]._replace(backend="http")}

    work = plan_project(job, TABLE.packages, there, states="/s")

    assert isinstance(work, Work)
    assert work.notes == (
        "a note",
        "the parameter `typo` is left out: no package declares such a variable",
        "the package `db` keeps its state where its own backend `http` says, whatever the workspace",
    )


def test_a_repository_without_a_table_is_refused() -> None:
    assert packages_of(project_job(), None) == Refusal(
        "the repository has no table `[deploy]` in its `hereya-tf.toml`"
    )


@pytest.mark.parametrize(
    ("packages", "known"), [(TABLE.packages[:2], "`db`"), ((NETWORK,), "none")], ids=["others", "none"]
)
def test_an_app_that_is_not_there_is_refused(packages: tuple[DeployPackage, ...], known: str) -> None:
    assert packages_of(project_job(JobType.APP_DESTROY), DeployTable(packages)) == Refusal(
        f"`[deploy]` has no package with the app `till`; its apps: {known}"
    )


# What each run is given


def values(stages: Sequence[Stage], name: str, outputs: Mapping[str, Mapping[str, OutputValue]]) -> Request:
    return request_of(next(stage for stage in stages if stage.name == name and stage.counts), outputs)


OUTPUTS = {
    "network": {
        "vpc_id": OutputValue("vpc-1", False),
        "secret": OutputValue("s", True),
        "region": OutputValue("n", False),
    },
    "db": {
        "url": OutputValue("db://x", True),
        "vpc_id": OutputValue(Decimal("1.50"), True),
        "size": OutputValue("huge", False),
    },
    "till": {"vpc_id": OutputValue("its own", False)},
}


def test_outputs_of_one_feed_the_next() -> None:
    stages = planned(project_job()).stages

    assert [values(stages, name, OUTPUTS) for name in ("network", "db", "till")] == [
        Request(
            {
                "id": state_id("shop", "prod", "network"),
                "pkgPath": "/c/network",
                "parameters": {},
                "env": {"AWS_REGION": "x"},
                "infraConfig": BUCKET,
            },
            (),
        ),
        Request(
            {
                "id": state_id("shop", "prod", "db"),
                "pkgPath": "/c/modules/db",
                "parameters": {"size": "small", "port": 1, "vpc_id": "vpc-1", "region": "n"},
                "env": {"AWS_REGION": "x"},
                "infraConfig": BUCKET,
            },
            (),
        ),
        Request(
            {
                "id": state_id("shop", "prod", "till"),
                "pkgPath": "/c/apps/till",
                "parameters": {
                    "vpc_id": Decimal("1.50"),
                    "region": "n",
                    "url": "db://x",
                    "address": "db://x",
                },
                "env": {"AWS_REGION": "x"},
                "infraConfig": BUCKET,
            },
            ("address", "url", "vpc_id"),
        ),
    ]


@pytest.mark.parametrize("kind", EVERY_PROJECT_JOB)
def test_a_package_is_given_the_same_by_every_job(kind: JobType) -> None:
    deploy = values(planned(project_job()).stages, "till", OUTPUTS)

    assert values(planned(project_job(kind)).stages, "till", OUTPUTS) == deploy


def test_the_jobs_parameters_win_where_they_are_declared() -> None:
    given = {"region": "eu", "size": None, "address": "mine"}
    stages = planned(project_job(parameters=given)).stages

    assert [values(stages, name, OUTPUTS).document["parameters"] for name in FOUND] == [
        {"region": "eu"},
        {"size": None, "port": 1, "vpc_id": "vpc-1", "region": "eu"},
        {"vpc_id": Decimal("1.50"), "region": "eu", "url": "db://x", "address": "mine"},
    ]
    assert values(stages, "till", OUTPUTS).masked == ("url", "vpc_id")


def test_an_output_that_is_not_there_is_not_given() -> None:
    stages = planned(project_job()).stages

    assert values(stages, "till", {}).document["parameters"] == {}


def test_a_package_that_cannot_be_read_is_given_everything() -> None:
    job = project_job(parameters={"x": 1})
    there = {**FOUND, "till": FOUND["till"]._replace(variables=None)}
    work = plan_project(job, TABLE.packages, there, states=None)

    assert isinstance(work, Work)
    assert work.notes == ()
    assert set(values(work.stages, "till", OUTPUTS).document["parameters"]) == {
        *("x", "address"),
        *OUTPUTS["network"],
        *OUTPUTS["db"],
    }


# What becomes of it


def test_a_job_has_the_outputs_of_all_its_packages() -> None:
    work = planned(project_job())
    ends = [RunEnd(True, env={"a": "1", "b": "1"}), RunEnd(True), RunEnd(True, env={"b": "3"})]

    assert success_of(work, ends) == Succeeded({"a": "1", "b": "3"})


def test_an_undeploy_tells_what_a_deploy_has_told() -> None:
    ends = [RunEnd(True, env=env) for env in ({"x": "0"}, {}, {"b": "3"}, {}, {"a": "1", "b": "1"})]

    assert success_of(planned(project_job(JobType.UNDEPLOY)), ends) == Succeeded({"a": "1", "b": "3"})


def test_an_app_has_its_own_outputs_alone() -> None:
    ends = [RunEnd(True, env={"a": "1"}), RunEnd(True), RunEnd(True, env={"b": "3"})]

    assert success_of(planned(project_job(JobType.APP_DEPLOY)), ends) == Succeeded({"b": "3"})


def test_a_failure_names_the_package_among_several() -> None:
    project = planned(project_job())
    single = plan_package(package_job(infra=BUCKET), found("/p"), states=None)
    assert isinstance(single, Work)
    end = RunEnd(False, "no such zone")

    assert failure_of(project, project.stages[1], end) == Failed("the package `db`: no such zone")
    assert failure_of(single, single.stages[0], end) == Failed("no such zone")


@pytest.mark.behaviour("D9")
@given(
    st.sampled_from(EVERY_PROJECT_JOB),
    st.lists(
        st.sampled_from([NETWORK, DATABASE, TILL]), min_size=1, max_size=3, unique_by=lambda each: each.name
    ),
    st.none() | st.just(BUCKET),
    st.none() | st.just("/states"),
)
def test_only_jobs_that_destroy_destroy(
    kind: JobType, packages: list[DeployPackage], infra: Mapping[str, str] | None, states: str | None
) -> None:
    work = plan_project(project_job(kind, infra=infra), packages, FOUND, states=states)

    stages = work.stages if isinstance(work, Work) else ()
    destroyed = [stage.name for stage in stages if stage.operation is Operation.DESTROY]
    expected = {
        JobType.UNDEPLOY: [package.name for package in reversed(packages)],
        JobType.APP_DESTROY: [packages[-1].name],
    }
    assert destroyed == (expected.get(kind, []) if stages else [])
