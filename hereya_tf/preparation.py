"""Everything that is decided before a lock is taken: package, values, workspace, engine, what to redact (I/O)."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hereya_tf.engine import Binary, EngineName, commands, quirks
from hereya_tf.engine.demand import Demand
from hereya_tf.engine.evidence import check_mismatch, check_state, evidence
from hereya_tf.engine.quirks import Quirk
from hereya_tf.engine.wish import EngineWish
from hereya_tf.errors import EngineUnsupported
from hereya_tf.events import Operation
from hereya_tf.guards import Guards
from hereya_tf.inputs import values
from hereya_tf.inputs.hereyarc import Hereyarc, plan_defaults, read_hereyarc
from hereya_tf.inputs.project_file import ProjectFile, read_project_file
from hereya_tf.known_secrets import learn_secrets, vain_wishes
from hereya_tf.package import Package, check_generated_backend, is_for_opentofu_alone, read_package
from hereya_tf.redaction import Redactor
from hereya_tf.run_request import RunRequest
from hereya_tf.selection import Selection
from hereya_tf.wanted_engine import wanted_engine
from hereya_tf.workspace import BackendKind, Workspace

if TYPE_CHECKING:
    from hereya_tf.bundle.file import Bundle
    from hereya_tf.bundle.manifest import Identity
    from hereya_tf.releases.supply import Supply

# A saved plan holds its values, and what only reads asks for none.
_NEEDS_VALUES = (Operation.PROVISION, Operation.DESTROY, Operation.PLAN, Operation.DRIFT)
_THE_PLAN = "the plan"


class Prepared(NamedTuple):
    """What preparing has found; nothing has been touched."""

    package: Package
    binary: Binary
    workspace: Workspace
    values: values.Values
    environment: Mapping[str, str]
    warnings: tuple[str, ...]
    explicit_engine: bool
    # The plan to be applied.
    bundle: "Bundle | None"
    # What the caller and the package forbid.
    guards: Guards
    callers_environment: Mapping[str, str]

    def identify(self, salt: bytes) -> "Identity":
        """What a plan made or applied here is for."""
        from hereya_tf.bundle.identity import identify

        return identify(
            self.package,
            self.workspace,
            self.binary,
            self.values,
            environment=self.environment,
            salt=salt,
        )

    @property
    def may_run_remotely(self) -> bool:
        """Whether the package's own backend may have its operations done elsewhere."""
        backend = self.package.backend
        return self.workspace.backend is None and backend is not None and backend.is_remote

    def check_engine(self) -> None:
        """Refuse an engine that did not write the state or the lock file. Raises EngineMismatch (T15).

        Under the lock: the run before this one may have written them.
        """
        check_mismatch(self.binary, _evidence(self.package, self.workspace), self.explicit_engine)

    def state_check(self) -> Callable[[str], None] | None:
        """What raises EngineMismatch for the text of a state that the other engine wrote (T15).

        None where the engine was named, a plan says which it is, or files here do: under the lock as well.
        """
        backend = _backend_out_of_sight(self.package, self.workspace)
        decided = self.explicit_engine or self.bundle is not None
        if decided or backend is None or _evidence(self.package, self.workspace):
            return None
        hosts = self.package.provider_hosts
        return lambda state: check_state(self.binary, state, hosts, backend=backend)


def prepare(
    request: RunRequest,
    environment: Mapping[str, str],
    supply: "Supply",
    redactor: Redactor,
    *,
    tell: Callable[[str], None],
) -> Prepared:
    """Read, check, and have the engine; `tell` hears in sentences what was passed over on the way.

    Raises what is wrong with the request or the package, and what `Selection.select` raises.
    """
    if request.refusal is not None:
        raise request.refusal
    given = {**environment, **dict(request.additions)}
    commands.refuse_cli_args(given, ignore=request.ignore_cli_args)
    bundle = _read_bundle(request)
    project = read_project_file(request.package)
    request = _with_files(request, project)
    hereyarc = project.over(read_hereyarc(request.package))
    workspace = request.identify(environment)
    package, selection = _begin_selection(request, project, hereyarc, workspace, supply, bundle, tell)
    if request.operation is Operation.TF:
        # Variables are the engine's own there, and most commands need none.
        hereyarc = hereyarc._replace(rules={})
    elif request.operation not in _NEEDS_VALUES:
        hereyarc = hereyarc.without_demands()
    planned = _plan_values(request, hereyarc, package, given, redactor)
    binary = selection.select()
    has_own_files = quirks.has(Quirk.OWN_FILES, binary.engine, binary.version)
    if has_own_files is not package.is_for_opentofu:
        package = read_package(request.package, tofu=has_own_files)
        planned = _plan_values(request, hereyarc, package, given, redactor)
    _check_support(binary, request)
    if workspace.backend is not None:
        check_generated_backend(package)
    return Prepared(
        package=package,
        binary=binary,
        workspace=workspace,
        values=planned,
        environment=commands.managed_environment(
            environment,
            additions=dict(request.additions),
            workspace=workspace.selected,
            data_directory=workspace.data_directory if workspace.backend is not None else None,
            log_file=request.engine_log,
        ),
        warnings=(*request.warnings, *planned.warnings, *vain_wishes(request.redact, package, given)),
        explicit_engine=request.engine.is_given,
        bundle=bundle,
        guards=request.guards.tightened_by(project.guards),
        callers_environment=environment,
    )


def _with_files(request: RunRequest, project: ProjectFile) -> RunRequest:
    """The request with the package's own variable files, which anything given wins over."""
    if not project.var_files:
        return request
    return replace(request, inputs=(*project.var_files, *request.inputs))


def _read_bundle(request: RunRequest) -> "Bundle | None":
    if request.operation is not Operation.APPLY or request.bundle is None:
        return None
    from hereya_tf.bundle.file import read_bundle

    return read_bundle(request.bundle)


def _begin_selection(
    request: RunRequest,
    project: ProjectFile,
    hereyarc: Hereyarc,
    workspace: Workspace,
    supply: "Supply",
    bundle: "Bundle | None",
    tell: Callable[[str], None],
) -> tuple[Package, Selection]:
    """The package as the engine that is expected reads it, and the search for that engine.

    Nothing is run: bad input is to be refused before an engine is asked for its name, or downloaded.
    """
    wish, directory = request.engine, request.package
    package = read_package(
        directory, tofu=wish.engine is EngineName.OPENTOFU or is_for_opentofu_alone(directory)
    )
    written_by = _evidence(package, workspace)
    if bundle is not None and not wish.is_given and (wish.version is None or wish.version_yields):
        wish, demand = _of_bundle(wish, bundle)
    else:
        demand = wanted_engine(wish, directory, project=project, hereyarc=hereyarc, written_by=written_by)
    for sentence in demand.passed_over:
        tell(sentence)
    selection = Selection(demand, wish, supply=supply, package=directory, written_by=written_by, tell=tell)
    expects_tofu = selection.expected_engine() is EngineName.OPENTOFU
    if expects_tofu is not package.is_for_opentofu:
        package = read_package(directory, tofu=expects_tofu)
    return package, selection


def _of_bundle(wish: EngineWish, bundle: "Bundle") -> tuple[EngineWish, Demand]:
    """A plan is for the engine that has made it, and for that version of it; `bundle.check` refuses others."""
    from hereya_tf.engine.constraints import parse_constraint

    made_by = bundle.manifest.identity
    wish = wish._replace(name=made_by.engine, source=_THE_PLAN)
    exact = parse_constraint(made_by.version, _THE_PLAN)
    return wish, Demand((made_by.engine,), _THE_PLAN, (exact,), is_checked_later=True)


def _plan_values(
    request: RunRequest,
    hereyarc: Hereyarc,
    package: Package,
    environment: Mapping[str, str],
    redactor: Redactor,
) -> values.Values:
    """The values for the package's variables; every secret among them is known from here on."""
    defaults = plan_defaults(
        hereyarc, package, environment=environment, additions=request.additions, inputs=request.inputs
    )
    planned = values.plan_values(
        package, environment=request.additions, inputs=request.inputs, defaults=defaults.values
    )
    learn_secrets(redactor, request, package, planned, environment)
    for default in defaults.values:
        if default.name in request.redact:
            redactor.add(default.value)
    return planned._replace(warnings=(*defaults.warnings, *planned.warnings))


def _evidence(package: Package, workspace: Workspace) -> Mapping[EngineName, str]:
    return evidence(package.directory, package.provider_hosts, _local_state(package, workspace))


def _backend_out_of_sight(package: Package, workspace: Workspace) -> str | None:
    """The type of the backend whose state is where only an engine finds it."""
    backend = workspace.backend
    if backend is not None:
        return None if backend.kind is BackendKind.LOCAL else backend.kind
    # A `local` one too: its path may be an expression, or a `-backend-config`.
    return None if package.backend is None else package.backend.type


def _local_state(package: Package, workspace: Workspace) -> Path | None:
    backend = workspace.backend
    if backend is not None:
        return Path(backend.path) if backend.kind is BackendKind.LOCAL else None
    if workspace.name == "default":
        return package.directory / "terraform.tfstate"
    return package.directory / "terraform.tfstate.d" / workspace.name / "terraform.tfstate"


def _check_support(binary: Binary, request: RunRequest) -> None:
    """Refuse what this version of the engine cannot do, before it does anything. Raises EngineUnsupported."""
    engine, version = binary.engine, binary.version
    for quirk, refusal, hint in _demands(request):
        if not quirks.has(quirk, engine, version):
            raise EngineUnsupported(f"{engine.title} {version} {refusal}", hint)


def _demands(request: RunRequest) -> Iterator[tuple[Quirk, str, str]]:
    """What the request needs and not every version has: what those that have not do, and the way out."""
    if request.engine_options.excludes:
        yield (
            Quirk.EXCLUDE,
            "has no `-exclude`",
            f"use {quirks.who_has(Quirk.EXCLUDE)}, or `--target`",
        )
    if request.backend is not None and request.backend.needs_lock_file:
        yield (
            Quirk.S3_LOCK_FILE,
            "cannot lock a state in a bucket without a lock table",
            f"add `--state-lock-table NAME`, or use {quirks.who_has(Quirk.S3_LOCK_FILE)}",
        )
    if request.operation is Operation.DRIFT:
        yield (
            Quirk.DRIFT_MESSAGES,
            "does not say which resources have drifted",
            f"use {quirks.who_has(Quirk.DRIFT_MESSAGES)}",
        )
    if request.init_options.migrate_state:
        yield (
            Quirk.INIT_LOCKS,
            "copies states without locking them",
            f"use {quirks.who_has(Quirk.INIT_LOCKS)}",
        )
