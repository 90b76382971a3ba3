"""Reads what a control plane wants: from a job's type and payload to what is asked for, or a refusal (pure).

A payload is whatever came over the wire. Nothing here raises, and no sentence repeats a value that may be secret.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from hereya_tf import exact
from hereya_tf.checkouts.sources import GitRevision
from hereya_tf.errors import BadInput
from hereya_tf.executor.sources import Fetched, Source, canonical, has_changing_address, read_source
from hereya_tf.executor.state_ids import state_id


class JobType(StrEnum):
    """What an executor can be asked for."""

    PROVISION = "provision"
    DESTROY = "destroy"
    DEPLOY = "deploy"
    UNDEPLOY = "undeploy"
    INIT = "init"
    APP_DEPLOY = "app-deploy"
    APP_DESTROY = "app-destroy"
    RESOLVE_ENV = "resolve-env"


class Refusal(NamedTuple):
    """Why a job is not run at all, in a sentence."""

    reason: str


class Inputs(NamedTuple):
    """What each run of a job is given; `infra` is a request's `infraConfig`, None where there is none."""

    parameters: Mapping[str, Any]
    env: Mapping[str, str]
    infra: Mapping[str, str] | None


class PackageJob(NamedTuple):
    """Provision or destroy one package; `id` names its state."""

    type: JobType
    source: Source
    id: str
    inputs: Inputs
    notes: tuple[str, ...] = ()


class ProjectJob(NamedTuple):
    """Do something with the packages in the deploy table of a repository, or with one `app` of them."""

    type: JobType
    source: Fetched
    project: str
    workspace: str
    app: str | None
    inputs: Inputs
    notes: tuple[str, ...] = ()


class ResolveEnvJob(NamedTuple):
    """Find out what the texts of an environment refer to."""

    env: Mapping[str, str]
    notes: tuple[str, ...] = ()


Job = PackageJob | ProjectJob | ResolveEnvJob

_LONGEST_NAME = 1000  # characters
_INPUTS = ("parameters", "env", "infraConfig")
_STATE = (
    "terraformStateBucketName",
    "terraformStateBucketRegion",
    "terraformStateLockTableName",
    "localStatePath",
)
_PACKAGE = ("package", "commit", "version", "digest", "workspace", "project", "id", *_INPUTS)
_REPOSITORY = ("repository", "commit", "version", "workspace", *_INPUTS)
# What a payload may hold; `type` says so once more in some.
_KEYS: Mapping[JobType, tuple[str, ...]] = {
    JobType.PROVISION: _PACKAGE,
    JobType.DESTROY: _PACKAGE,
    JobType.DEPLOY: ("project", *_REPOSITORY),
    JobType.UNDEPLOY: ("project", *_REPOSITORY),
    JobType.INIT: ("projectName", *_REPOSITORY),
    JobType.APP_DEPLOY: ("appName", "project", *_REPOSITORY),
    JobType.APP_DESTROY: ("appName", "project", *_REPOSITORY),
    JobType.RESOLVE_ENV: ("env", "workspace", "project"),
}


class _MalformedError(Exception):
    """A payload that asks for nothing; its text is the sentence."""


def read_job(type: object, payload: object) -> Job | Refusal:  # noqa: A002 - the wire's word
    """What a job asks for. Never raises: what cannot be run is a refusal."""
    known = next((each for each in JobType if each == type), None) if isinstance(type, str) else None
    if known is None:
        return Refusal(f"this executor knows no jobs of the type {_shown(type)}")
    try:
        if not isinstance(payload, dict):
            raise _MalformedError("it is not an object")
        return _read(known, payload)
    except (_MalformedError, BadInput) as error:
        return Refusal(f"the payload of the {known} job cannot be used: {error}")


def _read(type: JobType, payload: Mapping[str, Any]) -> Job:  # noqa: A002
    notes = tuple(
        f"the payload has an unknown key {_shown(key)}, left out" for key in payload if key not in _KEYS[type]
    )
    match type:
        case JobType.RESOLVE_ENV:
            if payload.get("env") is None:
                raise _MalformedError("`env` is missing")
            return ResolveEnvJob(_environment(payload), notes)
        case JobType.PROVISION | JobType.DESTROY:
            return _package_job(type, payload, notes)
        case JobType.DEPLOY | JobType.UNDEPLOY | JobType.INIT:
            return _project_job(type, payload, None, notes)
        case JobType.APP_DEPLOY | JobType.APP_DESTROY:
            return _project_job(type, payload, _name(payload, "appName"), notes)


def _package_job(type: JobType, payload: Mapping[str, Any], notes: tuple[str, ...]) -> PackageJob:  # noqa: A002
    package, workspace = _name(payload, "package"), _name(payload, "workspace")
    project, identifier = _optional_name(payload, "project"), _optional_name(payload, "id")
    source = read_source(
        package,
        commit=_optional_name(payload, "commit"),
        version=_optional_name(payload, "version"),
        digest=_optional_name(payload, "digest"),
    )
    if identifier is None:
        if has_changing_address(source):
            raise _MalformedError(
                "an archive whose URL has a `?` needs an `id`: its state cannot be named after it"
            )
        identifier = state_id(project, workspace, canonical(package))
    return PackageJob(type, source, identifier, _inputs(payload), notes)


def _project_job(
    type: JobType,  # noqa: A002
    payload: Mapping[str, Any],
    app: str | None,
    notes: tuple[str, ...],
) -> ProjectJob:
    # An app has its state where a deploy of the whole project has it.
    project = _name(payload, "projectName" if type is JobType.INIT else "project")
    workspace = _name(payload, "workspace")
    source = read_source(
        _name(payload, "repository"),
        commit=_name(payload, "commit"),
        version=_optional_name(payload, "version"),
        digest=None,
    )
    if not isinstance(source, Fetched) or not isinstance(source.source, GitRevision):
        raise _MalformedError("`repository` is not the URL of a git repository")
    return ProjectJob(type, source, project, workspace, app, _inputs(payload), notes)


def _inputs(payload: Mapping[str, Any]) -> Inputs:
    return Inputs(dict(_object(payload, "parameters")), _environment(payload), _infra(payload))


def _environment(payload: Mapping[str, Any]) -> Mapping[str, str]:
    env = {}
    for name, value in _object(payload, "env").items():
        match value:
            case None:
                continue
            case str():
                if any("\ud800" <= letter <= "\udfff" for letter in name + value):
                    raise _MalformedError(f"{_shown(name)} in `env` holds half a character")
                env[name] = value
            case dict() | list():
                raise _MalformedError(f"{_shown(name)} in `env` must be a text")
            case _:
                env[name] = exact.dumps(value)
    return env


def _infra(payload: Mapping[str, Any]) -> Mapping[str, str] | None:
    members = {name: value for name, value in _object(payload, "infraConfig").items() if value is not None}
    if not members:
        return None
    for name, value in members.items():
        # A run would pass over what it does not know, and work on another state.
        if name not in _STATE:
            raise _MalformedError(f"`infraConfig` has an unknown key {_shown(name)}")
        if not isinstance(value, str) or not value:
            raise _MalformedError(f"`infraConfig.{name}` must be a text that is not empty")
    path = members.get("localStatePath")
    if path is not None and not path.startswith("/"):
        raise _MalformedError("`infraConfig.localStatePath` must be absolute: each executor begins elsewhere")
    if path is None and "terraformStateBucketName" not in members:
        raise _MalformedError("`infraConfig` names neither `terraformStateBucketName` nor `localStatePath`")
    return members


def _object(payload: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = payload.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _MalformedError(f"`{key}` must be an object")
    return value


def _name(payload: Mapping[str, Any], key: str) -> str:
    name = _optional_name(payload, key)
    if name is None:
        raise _MalformedError(f"`{key}` is missing")
    return name


def _optional_name(payload: Mapping[str, Any], key: str) -> str | None:
    value = payload.get(key)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise _MalformedError(f"`{key}` must be a text that is not empty")
    if len(value) > _LONGEST_NAME or not value.isprintable():
        raise _MalformedError(f"`{key}` must be one line of at most {_LONGEST_NAME} characters")
    return value


def _shown(value: object) -> str:
    """A word of the wire's, so that it cannot do harm in a log."""
    if not isinstance(value, str):
        return "that is no text"
    short = value if len(value) <= 60 else f"{value[:60]}…"
    return f"`{''.join(each if each.isprintable() else '?' for each in short)}`"
