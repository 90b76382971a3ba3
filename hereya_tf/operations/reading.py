"""`output` and `validate`: what only reads."""

from hereya_tf.engine import commands, quirks
from hereya_tf.engine.commands import InitOptions, Step
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.engine.quirks import Quirk
from hereya_tf.errors import FailureClass, ShellCommandError
from hereya_tf.operations.execution import Execution, LocksNeeded
from hereya_tf.operations.initialising import act_initialised
from hereya_tf.scratch_backend import SCRATCH_ENVIRONMENT, prepare_scratch
from hereya_tf.steps import Context
from hereya_tf.workspace import GeneratedBackend


def output(execution: Execution) -> None:
    """The outputs as the state has them."""
    backend = execution.assignment.workspace.backend
    if backend is not None and not execution.has_locks and not _asks_for_init(execution):
        _read_apart(execution, backend)
    else:
        act_initialised(execution, lambda: _read(execution))
    execution.keeper.warn_of_missing()


def _read(execution: Execution) -> None:
    execution.check_workspace()
    execution.outputs = execution.read_outputs()


def _read_apart(execution: Execution, backend: GeneratedBackend) -> None:
    """Read a generated backend's state where no run of the package is in the way."""
    context = execution.context
    settings = execution.assignment.backend_settings
    if settings is None:
        raise LocksNeeded
    with context.directory.scratch("output") as scratch:
        prepare_scratch(scratch, backend, settings, engine_version=str(context.binary.version))
        environment = {**context.environment, **SCRATCH_ENVIRONMENT}
        try:
            execution.outputs = execution.read_outputs(
                context._replace(package=scratch, environment=environment)
            )
        except ShellCommandError as error:
            # A state that is encrypted as only the package says, an engine that reads its version there.
            raise LocksNeeded from error


def validate(execution: Execution) -> None:
    """Whether the configuration is valid; neither backend nor the package's data directory are touched.

    What the package's last init has left will do; else there is an init apart.
    """
    if not _asks_for_init(execution):
        try:
            _validate(execution, execution.context)
            return
        except ShellCommandError:
            diagnosis = execution.failed.diagnosis if execution.failed is not None else None
            if diagnosis is None or not diagnosis.needs_init:
                raise
    with execution.context.directory.scratch("validate") as scratch:
        environment = {**execution.context.environment, "TF_DATA_DIR": str(scratch)}
        context = execution.context._replace(environment=environment)
        execution.note_init()
        _initialise_apart(execution, context)
        _validate(execution, context)
    # No state was asked who wrote it.
    execution.withdraw_lock_file()


def _asks_for_init(execution: Execution) -> bool:
    """Whether an option is about init, and would be lost without one."""
    assignment = execution.assignment
    return assignment.reinit or bool(assignment.options.extra.get(Step.INIT))


def _validate(execution: Execution, context: Context) -> None:
    arguments = commands.validate_arguments(variable_files=execution.early_variable_files)
    execution.run(Step.VALIDATE, arguments, streams=False, context=context, apart=True)


def _initialise_apart(execution: Execution, context: Context) -> None:
    """The lock file is left as it is, unless there is none that names all providers: then init writes it."""
    from hereya_tf.operations.caching import run_init

    engine = context.binary
    has_lock_file = (context.package / LOCK_FILE).exists()
    for readonly in (True, False) if has_lock_file else (False,):
        arguments = commands.init_arguments(
            execution.assignment.options,
            InitOptions(readonly_lock_file=readonly),
            json=quirks.has(Quirk.INIT_JSON, engine.engine, engine.version),
            backend=False,
            variable_files=execution.early_variable_files,
        )
        try:
            run_init(execution, arguments, context, apart=True)
        except ShellCommandError as error:
            if not readonly or error.failure_class is not FailureClass.PROVIDER_CHECKSUM:
                raise
        else:
            return
