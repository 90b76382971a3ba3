"""From a job, and what is known of its packages, to the runs that it takes, and what each is given (pure)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hereya_tf.control_plane.results import Failed, Succeeded
from hereya_tf.events import Operation
from hereya_tf.executor.payloads import Inputs, JobType, PackageJob, ProjectJob, Refusal
from hereya_tf.executor.results import OutputValue, RunEnd
from hereya_tf.executor.state_ids import state_id
from hereya_tf.executor.state_places import Found, find_place
from hereya_tf.inputs.deploy_table import DeployPackage, DeployTable, OutputOf
from hereya_tf.words import listed

_OPERATIONS: Mapping[JobType, Operation] = {
    JobType.PROVISION: Operation.PROVISION,
    JobType.DEPLOY: Operation.PROVISION,
    JobType.APP_DEPLOY: Operation.PROVISION,
    JobType.DESTROY: Operation.DESTROY,
    JobType.UNDEPLOY: Operation.DESTROY,
    JobType.APP_DESTROY: Operation.DESTROY,
    JobType.INIT: Operation.INIT,
}


class Stage(NamedTuple):
    """One run of a job; `infra` is a request's `infraConfig`, empty for the package's own backend.

    From low to high a variable has its value from the outputs of the packages in `earlier`, `defaults`, the output
    that `wired` names, and `parameters`. `counts` says whether its outputs are those of the job.
    """

    operation: Operation
    name: str
    found: Found
    id: str
    infra: Mapping[str, str]
    parameters: Mapping[str, Any]
    env: Mapping[str, str]
    earlier: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = {}
    wired: Mapping[str, OutputOf] = {}
    counts: bool = True


class Work(NamedTuple):
    """The runs of a job, one after the other, up to the first that fails; `notes` are lines for its log."""

    stages: tuple[Stage, ...]
    notes: tuple[str, ...]


class Request(NamedTuple):
    """What one run is given: the object of `--request`, and the variables whose values it has to mask."""

    document: Mapping[str, Any]
    masked: tuple[str, ...]


def plan_package(job: PackageJob, found: Found, *, states: str | None) -> Work | Refusal:
    """The one run of a package; `states` is the operator's directory for states that have no other place."""
    place = find_place(found, job.inputs.infra, job.id, states=states, shown="the package")
    if isinstance(place, Refusal):
        return place
    stage = Stage(
        operation=_OPERATIONS[job.type],
        name=job.id,
        found=found,
        id=job.id,
        infra=place.infra,
        parameters=job.inputs.parameters,
        env=job.inputs.env,
    )
    return Work((stage,), (*job.notes, *place.notes))


def packages_of(job: ProjectJob, table: DeployTable | None) -> tuple[DeployPackage, ...] | Refusal:
    """The packages that a job has to do with, in order; those in front of an app are only asked for outputs."""
    if table is None:
        return Refusal("the repository has no table `[deploy]` in its `hereya-tf.toml`")
    if job.app is None:
        return table.packages
    packages = table.up_to_app(job.app)
    if not packages:
        known = listed([f"`{app}`" for app in table.apps]) or "none"
        return Refusal(f"`[deploy]` has no package with the app `{job.app}`; its apps: {known}")
    return packages


def plan_project(
    job: ProjectJob,
    packages: Sequence[DeployPackage],
    found: Mapping[str, Found],
    *,
    states: str | None,
) -> Work | Refusal:
    """The runs for `packages`, which are `found` by their names."""
    infra = job.inputs.infra
    if infra is not None and infra.get("localStatePath", "").endswith(".tfstate"):
        return Refusal(
            "`infraConfig.localStatePath` is one file, and each package has a state: give a directory"
        )
    notes = [*job.notes, *_undeclared(job.inputs, packages, found)]
    stages: list[Stage] = []
    for package in packages:
        identifier = state_id(job.project, job.workspace, package.name)
        place = find_place(
            found[package.name], infra, identifier, states=states, shown=f"the package `{package.name}`"
        )
        if isinstance(place, Refusal):
            return place
        notes += place.notes
        stages.append(
            Stage(
                operation=_OPERATIONS[job.type],
                name=package.name,
                found=found[package.name],
                id=identifier,
                infra=place.infra,
                parameters=_only_declared(job.inputs.parameters, found[package.name]),
                env=job.inputs.env,
                earlier=tuple(stage.name for stage in stages),
                defaults=package.parameters,
                wired=package.inputs,
            )
        )
    return _sharing_a_state(stages) or Work(tuple(_ordered(job.type, stages)), tuple(notes))


def request_of(stage: Stage, outputs: Mapping[str, Mapping[str, OutputValue]]) -> Request:
    """What a run is given, now that the outputs of those before it are known, by package and name."""
    fed: dict[str, OutputValue] = {}
    for package in stage.earlier:
        fed |= _only_declared(outputs.get(package, {}), stage.found)
    fed = {name: value for name, value in fed.items() if name not in stage.defaults}
    for name, source in stage.wired.items():
        if (value := outputs.get(source.package, {}).get(source.output)) is not None:
            fed[name] = value
    fed = {name: value for name, value in fed.items() if name not in stage.parameters}
    values = {name: value.value for name, value in fed.items()}
    document: dict[str, Any] = {
        "id": stage.id,
        "pkgPath": stage.found.directory,
        "parameters": {**stage.defaults, **values, **stage.parameters},
        "env": stage.env,
    }
    if stage.infra:
        document["infraConfig"] = stage.infra
    return Request(document, tuple(sorted(name for name, value in fed.items() if value.sensitive)))


def success_of(work: Work, ends: Sequence[RunEnd]) -> Succeeded:
    """The result of a job all of whose runs have succeeded; of two outputs with one name the later package's."""
    counting = [(stage, end) for stage, end in zip(work.stages, ends, strict=True) if stage.counts]
    counting.sort(key=lambda pair: len(pair[0].earlier))  # what is destroyed first stands last
    return Succeeded({name: text for _, end in counting for name, text in end.env.items()})


def failure_of(work: Work, stage: Stage, end: RunEnd) -> Failed:
    """The result of a job one of whose runs has failed; those after it are not made."""
    return Failed(end.reason if len(work.stages) == 1 else f"the package `{stage.name}`: {end.reason}")


def _ordered(type: JobType, stages: Sequence[Stage]) -> Sequence[Stage]:  # noqa: A002 - the wire's word
    asked = [stage._replace(operation=Operation.OUTPUT, counts=False) for stage in stages[:-1]]
    match type:
        case JobType.UNDEPLOY:
            # All outputs first: to destroy a package takes those of the ones that are destroyed after it.
            return [*asked, *reversed(stages)]
        case JobType.APP_DEPLOY | JobType.APP_DESTROY:
            return [*asked, stages[-1]]
        case _:
            return stages


def _only_declared(values: Mapping[str, Any], found: Found) -> dict[str, Any]:
    return {name: value for name, value in values.items() if found.may_declare(name)}


def _undeclared(
    inputs: Inputs, packages: Sequence[DeployPackage], found: Mapping[str, Found]
) -> Sequence[str]:
    return [
        f"the parameter `{name}` is left out: no package declares such a variable"
        for name in inputs.parameters
        if not any(found[package.name].may_declare(name) for package in packages)
    ]


def _sharing_a_state(stages: Sequence[Stage]) -> Refusal | None:
    owners: dict[str, str] = {}
    for stage in stages:
        other = stage.name if stage.infra else owners.setdefault(stage.found.directory, stage.name)
        if other != stage.name:
            return Refusal(
                f"the packages `{other}` and `{stage.name}` are one directory with one state: give `infraConfig`"
            )
    return None
