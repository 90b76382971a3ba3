"""Whether a plan belongs to what it is to be applied to; the refusal names one thing that differs (pure)."""

from collections.abc import Mapping

from hereya_tf.bundle.manifest import Identity, Manifest, StatePlace
from hereya_tf.errors import PlanMismatch

_NEW_PLAN = "or make a new plan"


def check_before_init(manifest: Manifest, here: Identity) -> None:
    """Raise PlanMismatch for the first difference: package, engine, workspace, backend, variables, providers.

    `here` is made with the manifest's salt. Another engine comes first of all: it reads other files.
    """
    then = manifest.identity
    if here.engine is not then.engine:
        raise _other_engine(then, here)
    _check_files(then.files, here.files)
    if here.version != then.version:
        raise _other_engine(then, here)
    _check_workspace(then.place, here.place)
    _check_backend(then.place, here.place)
    _check_variables(then, here)
    if here.providers is not None:
        _check_providers(then.providers or {}, here.providers)


def check_backend_settings(manifest: Manifest, settings: Mapping[str, str]) -> None:
    """Raise PlanMismatch when init has saved another backend than that of the plan; digests as in the manifest."""
    name = _first_difference(manifest.settings, settings)
    if name is not None:
        backend = manifest.identity.place.backend
        raise PlanMismatch(
            f"the `{backend}` backend's `{name}` {_difference(manifest.settings, settings, name)}",
            f"give the same `--backend-config` as for the plan, {_NEW_PLAN}",
        )


def _check_files(then: Mapping[str, str], here: Mapping[str, str]) -> None:
    name = _first_difference(then, here)
    if name is None:
        return
    if name not in here:
        sentence = f"`{name}` is missing here, and the plan was made with it"
    elif name not in then:
        sentence = f"`{name}` was not there when the plan was made"
    else:
        sentence = f"`{name}` is not what it was when the plan was made"
    raise PlanMismatch(sentence, f"check out what the plan was made from, {_NEW_PLAN}")


def _other_engine(then: Identity, here: Identity) -> PlanMismatch:
    if then.embedded and not here.embedded:
        wish = "use `--engine embedded`"
    elif here.engine is not then.engine:
        wish = f"use `--engine {then.engine.executable}`"
    else:
        wish = f"use {then.engine.title} {then.version}"
    return PlanMismatch(
        f"the plan was made with {then.engine.title} {then.version},"
        f" and the engine here is {here.engine.title} {here.version}",
        f"{wish}, {_NEW_PLAN}",
    )


def _check_workspace(then: StatePlace, here: StatePlace) -> None:
    if (then.workspace, then.location, then.region, then.lock_table) == (
        here.workspace,
        here.location,
        here.region,
        here.lock_table,
    ):
        return
    if not then.location and not here.location:
        if then.workspace and here.workspace:
            raise PlanMismatch(
                f"the plan is for the workspace `{then.workspace}`, and the one here is `{here.workspace}`",
                f"use `-w {then.workspace}`, {_NEW_PLAN}",
            )
        return  # the cloud's own mapping on one side; its settings are compared after init
    raise PlanMismatch(
        f"the plan is for {_state(then, here)}, and {_state(here, then)} was asked for",
        f"{_state_options(then)}, {_NEW_PLAN}",
    )


def _state(place: StatePlace, other: StatePlace) -> str:
    if not place.location:
        return "the package's own backend"
    text = f"the state `{place.location}` with the id `{place.workspace}`"
    if (place.location, place.workspace) == (other.location, other.workspace):
        text += f" in the region `{place.region}` with "
        text += f"the lock table `{place.lock_table}`" if place.lock_table else "no lock table"
    return text


def _state_options(place: StatePlace) -> str:
    if not place.location:
        return "leave out the options of a generated backend"
    if not place.location.startswith("s3://"):
        return f"use `--state {place.location} --id {place.workspace}`"
    bucket = place.location.removeprefix("s3://").partition("/")[0]
    table = f" --state-lock-table {place.lock_table}" if place.lock_table else ""
    return f"use `--state-bucket {bucket} --state-region {place.region}{table} --id {place.workspace}`"


def _check_backend(then: StatePlace, here: StatePlace) -> None:
    if then.backend != here.backend:
        raise PlanMismatch(
            f"the plan is for the backend `{then.backend}`, and the one here is `{here.backend}`",
            f"check out what the plan was made from, {_NEW_PLAN}",
        )
    name = _first_difference(then.variables, here.variables)
    if name is not None:
        raise PlanMismatch(
            f"`{name}`, which says where the state is, {_difference(then.variables, here.variables, name)}",
            f"set it as it was for the plan, {_NEW_PLAN}",
        )


def _check_variables(then: Identity, here: Identity) -> None:
    """Everything that is given now must have been given then; a default only where the plan had one."""
    given, now = then.variables, here.variables
    hint = f"leave it out, for the plan holds its values, {_NEW_PLAN}"
    for name, value in now.named.items():
        if name not in given.named:
            raise PlanMismatch(f"`{name}` has a value here, and none was given for the plan", hint)
        if given.named[name] != value:
            raise PlanMismatch(f"`{name}` has another value here than in the plan", hint)
    for name, value in now.defaults.items():
        if name not in given.named and given.defaults.get(name, value) != value:
            raise PlanMismatch(f"`{name}` has another default here than in the plan", hint)
    known = set(given.files.values())
    for path, value in now.files.items():
        if value not in known:
            raise PlanMismatch(
                f"`{path}` is not a variable file that the plan was made with, or has changed since", hint
            )
    for name, value in now.automatic.items():
        if given.automatic.get(name) != value:
            how = "has changed since" if name in given.automatic else "was not there when"
            raise PlanMismatch(
                f"`{name}`, which the engine loads by itself, {how} the plan was made",
                f"use it as it was for the plan, {_NEW_PLAN}",
            )


def _check_providers(then: Mapping[str, str], here: Mapping[str, str]) -> None:
    name = _first_difference(then, here)
    if name is None:
        return
    mine, its = (f"has version {side[name]}" if name in side else "is not selected" for side in (here, then))
    raise PlanMismatch(
        f"the provider `{name}` {mine} here, and {its} in the bundle",
        f"use the `.terraform.lock.hcl` that the plan was made with, {_NEW_PLAN}",
    )


def _first_difference(then: Mapping[str, str], here: Mapping[str, str]) -> str | None:
    """The first name, in alphabetical order, that one side has alone or with another value."""
    return next((name for name in sorted({*then, *here}) if then.get(name) != here.get(name)), None)


def _difference(then: Mapping[str, str], here: Mapping[str, str], name: str) -> str:
    if name not in here:
        return "is not set here, and it was for the plan"
    if name not in then:
        return "is set here, and it was not for the plan"
    return "is not what it was for the plan"
