"""`output` and `validate`: what only reads."""

from hereya_tf.engine import commands, quirks
from hereya_tf.engine.commands import InitOptions, Step
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.errors import FailureClass, ShellCommandError
from hereya_tf.operations.initialising import act_initialised
from hereya_tf.operations.performance import LocksNeeded, Performance
from hereya_tf.scratch_backend import SCRATCH_ENVIRONMENT, prepare_scratch
from hereya_tf.steps import Context
from hereya_tf.workspace import GeneratedBackend


def output(performance: Performance) -> None:
    """The outputs as the state has them."""
    backend = performance.assignment.workspace.backend
    if backend is not None and not performance.has_locks and not _asks_for_init(performance):
        _read_apart(performance, backend)
    else:
        act_initialised(performance, lambda: _read(performance))


def _read(performance: Performance) -> None:
    performance.check_workspace()
    performance.outputs = performance.read_outputs()


def _read_apart(performance: Performance, backend: GeneratedBackend) -> None:
    """Read a generated backend's state where no run of the package is in the way."""
    context = performance.context
    settings = performance.assignment.backend_settings
    if settings is None:
        raise LocksNeeded
    with context.directory.scratch("output") as scratch:
        prepare_scratch(scratch, backend, settings, engine_version=str(context.binary.version))
        environment = {**context.environment, **SCRATCH_ENVIRONMENT}
        try:
            performance.outputs = performance.read_outputs(
                context._replace(package=scratch, environment=environment)
            )
        except ShellCommandError as error:
            # A state that is encrypted as only the package says, an engine that reads its version there.
            raise LocksNeeded from error


def validate(performance: Performance) -> None:
    """Whether the configuration is valid; neither backend nor the package's data directory are touched.

    What the package's last init has left will do; else there is an init apart.
    """
    if not _asks_for_init(performance):
        try:
            _validate(performance, performance.context)
            return
        except ShellCommandError:
            diagnosis = performance.failed.diagnosis if performance.failed is not None else None
            if diagnosis is None or not diagnosis.needs_init:
                raise
    with performance.context.directory.scratch("validate") as scratch:
        environment = {**performance.context.environment, "TF_DATA_DIR": str(scratch)}
        context = performance.context._replace(environment=environment)
        _initialise_apart(performance, context)
        _validate(performance, context)


def _asks_for_init(performance: Performance) -> bool:
    """Whether an option is about init, and would be lost without one."""
    assignment = performance.assignment
    return assignment.reinit or bool(assignment.options.extra.get(Step.INIT))


def _validate(performance: Performance, context: Context) -> None:
    arguments = commands.validate_arguments(variable_files=performance.early_variable_files)
    performance.run(Step.VALIDATE, arguments, streams=False, context=context, apart=True)


def _initialise_apart(performance: Performance, context: Context) -> None:
    """The lock file is left as it is, unless there is none that names all providers: then init writes it."""
    engine = context.binary
    has_lock_file = (context.package / LOCK_FILE).exists()
    for readonly in (True, False) if has_lock_file else (False,):
        arguments = commands.init_arguments(
            performance.assignment.options,
            InitOptions(readonly_lock_file=readonly),
            json=quirks.supports_init_json(engine.engine, engine.version),
            backend=False,
            variable_files=performance.early_variable_files,
        )
        try:
            performance.run(Step.INIT, arguments, context=context, apart=True)
        except ShellCommandError as error:
            if not readonly or error.failure_class is not FailureClass.PROVIDER_CHECKSUM:
                raise
        else:
            return
