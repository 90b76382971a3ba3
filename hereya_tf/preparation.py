"""Everything that is decided before a lock is taken: package, values, workspace, engine, what to redact (I/O)."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hereya_tf.engine import Binary, EngineName, commands, quirks
from hereya_tf.engine.choose import choose, expected_engine
from hereya_tf.engine.evidence import check_mismatch, evidence
from hereya_tf.errors import BadConfig, BadInput, EngineUnavailable, EngineUnsupported
from hereya_tf.events import Operation
from hereya_tf.inputs import values
from hereya_tf.inputs.hereyarc import Hereyarc, plan_defaults, read_hereyarc
from hereya_tf.inputs.project_file import FILE, ProjectFile, read_project_file
from hereya_tf.known_secrets import learn_secrets, vain_wishes
from hereya_tf.package import Package, check_generated_backend, read_package
from hereya_tf.redaction import Redactor
from hereya_tf.run_request import RunRequest
from hereya_tf.workspace import BackendKind, Workspace

if TYPE_CHECKING:
    from hereya_tf.bundle.file import Bundle
    from hereya_tf.bundle.manifest import Identity
    from hereya_tf.engine.constraints import Constraint

# A saved plan holds its values, and what only reads asks for none.
_NEEDS_VALUES = (Operation.PROVISION, Operation.DESTROY, Operation.PLAN, Operation.DRIFT)
_GO_OVER = "to go over to Terraform on purpose: `--engine terraform`"


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


def prepare(request: RunRequest, environment: Mapping[str, str], cache: Path, redactor: Redactor) -> Prepared:
    """Read, check and choose. Raises BadInput, BadPackage, CliArgsSet, EngineUnavailable, EngineUnsupported."""
    if request.refusal is not None:
        raise request.refusal
    given = {**environment, **dict(request.additions)}
    commands.refuse_cli_args(given, ignore=request.ignore_cli_args)
    bundle = _read_bundle(request)
    project = read_project_file(request.package)
    request = _with_files(request, project)
    hereyarc = project.over(read_hereyarc(request.package))
    if request.operation is Operation.TF:
        # Variables are the engine's own there, and most commands need none.
        hereyarc = hereyarc._replace(rules={})
    elif request.operation not in _NEEDS_VALUES:
        hereyarc = hereyarc.without_demands()
    tofu = _expects_opentofu(request, hereyarc, environment)
    package, planned = _read(request, hereyarc, given, redactor, tofu=tofu)
    workspace = request.identify(environment)
    wanted = _wanted_version(request, project)
    binary = _choose(request, hereyarc, wanted, environment, cache, _evidence(package, workspace))
    if (binary.engine is EngineName.OPENTOFU) is not tofu:
        package, planned = _read(request, hereyarc, given, redactor, tofu=not tofu)
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
        explicit_engine=request.names_engine,
        bundle=bundle,
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


def _read(
    request: RunRequest,
    hereyarc: Hereyarc,
    environment: Mapping[str, str],
    redactor: Redactor,
    *,
    tofu: bool,
) -> tuple[Package, values.Values]:
    """The package as one of the engines reads it, and the values for it."""
    package = read_package(request.package, tofu=tofu)
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
    return package, planned._replace(warnings=(*defaults.warnings, *planned.warnings))


def _expects_opentofu(request: RunRequest, hereyarc: Hereyarc, environment: Mapping[str, str]) -> bool:
    """Whether OpenTofu's own files count: bad input is to be refused before an engine is asked for its name."""
    if hereyarc.asks_for_opentofu and not request.names_engine:
        return True
    written_by = frozenset(evidence(request.package, frozenset(), None))
    expected = expected_engine(
        request.engine, environment=environment, evidence=written_by, directory=request.package
    )
    return expected is EngineName.OPENTOFU


def _wanted_version(request: RunRequest, project: ProjectFile) -> "Constraint | None":
    """The word of the caller, else the package's, else the one in the user's `config.toml`.

    Raises BadInput and, for what a file says, BadConfig.
    """
    text, source = request.engine_version, request.engine_version_source
    from_file = request.engine_version_yields
    if project.engine_version is not None and (text is None or from_file):
        text, source = project.engine_version, f"{FILE}:{project.engine_version_line}"
        from_file = True
    if text is None:
        return None
    from hereya_tf.engine.constraints import parse_constraint

    try:
        return parse_constraint(text, source)
    except BadInput as error:
        if from_file:
            raise BadConfig(str(error), *error.hints) from error
        raise


def _choose(
    request: RunRequest,
    hereyarc: Hereyarc,
    wanted: "Constraint | None",
    environment: Mapping[str, str],
    cache: Path,
    found: Mapping[EngineName, str],
) -> Binary:
    """The engine that the caller names, else the one that the package asks for, else what there is."""
    asked = hereyarc.asks_for_opentofu and not request.names_engine
    try:
        binary = choose(
            "tofu" if asked else request.engine,
            wish_source=hereyarc.file if asked else request.engine_source,
            environment=environment,
            cache_directory=cache,
            evidence=frozenset(found),
            wanted=wanted,
            directory=request.package,
        )
    except EngineUnavailable as error:
        raise EngineUnavailable(str(error), *error.hints, *((_GO_OVER,) if asked else ())) from error
    if asked and binary.engine is not EngineName.OPENTOFU:
        raise EngineUnavailable(
            f"`{hereyarc.file}` asks for OpenTofu, and `{binary.path}` is {binary.engine.title}",
            "install OpenTofu",
            _GO_OVER,
        )
    return binary


def _evidence(package: Package, workspace: Workspace) -> Mapping[EngineName, str]:
    return evidence(package.directory, package.provider_hosts, _local_state(package, workspace))


def _local_state(package: Package, workspace: Workspace) -> Path | None:
    backend = workspace.backend
    if backend is not None:
        return Path(backend.path) if backend.kind is BackendKind.LOCAL else None
    if workspace.name == "default":
        return package.directory / "terraform.tfstate"
    return package.directory / "terraform.tfstate.d" / workspace.name / "terraform.tfstate"


def _check_support(binary: Binary, request: RunRequest) -> None:
    engine, version = binary.engine, binary.version
    title = f"{engine.title} {version}"
    if request.engine_options.excludes and not quirks.has_exclude(engine, version):
        raise EngineUnsupported(f"{title} has no `-exclude`", "use OpenTofu 1.9 or newer, or `--target`")
    backend = request.backend
    if backend is not None and backend.needs_lock_file and not quirks.has_s3_lockfile(engine, version):
        raise EngineUnsupported(
            f"{title} cannot lock a state in a bucket without a lock table",
            "add `--state-lock-table NAME`, or use an engine of version 1.10 or newer",
        )
