"""`init`: whether it is needed, and what it is given."""

from collections.abc import Callable

from hereya_tf import events
from hereya_tf.engine import commands, initialisation, quirks
from hereya_tf.engine.commands import InitOptions, Step
from hereya_tf.engine.quirks import Quirk
from hereya_tf.errors import FailureClass, ShellCommandError
from hereya_tf.operations.execution import Execution, LocksNeeded
from hereya_tf.saved_backend import Move, choose_move, prepare_move
from hereya_tf.workspace import override_text


def act_initialised(execution: Execution, act: Callable[[], None]) -> None:
    """`act` after the init that it needs. Raises LocksNeeded where that cannot be had without them."""
    skipped = initialise_if_needed(execution)
    execution.keeper.check(initialised=True)
    try:
        act()
    except ShellCommandError:
        diagnosis = execution.failed.diagnosis if execution.failed is not None else None
        elsewhere = execution.assignment.doubtful_workspace is not None
        if not (skipped or elsewhere) or diagnosis is None or not diagnosis.needs_init:
            raise
        # The engine knows better than our memory of the last init, or this state needs more providers.
        initialise(execution)
        act()


def initialise(execution: Execution) -> None:
    """Run init, and remember what it saw."""
    if not execution.has_locks:
        raise LocksNeeded
    # Here, because most runs need no init.
    from hereya_tf.operations.caching import run_init

    memory = _memory(execution)
    memory.forget()
    execution.note_init()
    arguments = _arguments(execution)
    context = None if execution.doubtful_workspace is None else execution.in_workspace("default")
    try:
        run_init(execution, arguments, context)
    except ShellCommandError as error:
        creates = execution.assignment.create_workspace
        if error.failure_class is not FailureClass.WORKSPACE_UNKNOWN or not creates:
            raise
        # In a backend with several workspaces init refuses one that apply is still to create.
        run_init(execution, arguments, execution.in_workspace("default"))
    memory.keep(_fingerprint(execution))
    # A workspace that may not be there yet is not asked: that would create it in some backends.
    if execution.doubtful_workspace is None and not execution.assignment.create_workspace:
        execution.check_new_lock_file()


def initialise_if_needed(execution: Execution) -> bool:
    """Init unless the last good one saw exactly what there is now; returns whether it was skipped."""
    if not execution.assignment.reinit and _memory(execution).holds(_fingerprint(execution)):
        execution.context.journal.emit(events.StepFinished(Step.INIT, True, None, 0.0, True))
        return True
    initialise(execution)
    return False


def _arguments(execution: Execution) -> tuple[str, ...]:
    """Init's arguments, after what has to lie ready for it.

    A generated backend says itself where the state is; nothing is ever to be copied into it.
    """
    assignment = execution.assignment
    engine = execution.context.binary
    move = _move_to_backend(execution)
    wish = assignment.init_options
    migrates = move is Move.MIGRATE_NOTHING or wish.migrate_state
    return commands.init_arguments(
        assignment.options,
        InitOptions(
            upgrade=wish.upgrade,
            reconfigure=wish.reconfigure or move is Move.RECONFIGURE,
            migrate_state=wish.migrate_state,
            migrate_nothing=move is Move.MIGRATE_NOTHING,
            readonly_lock_file=wish.readonly_lock_file,
        ),
        # The engine takes only one of `-json` and `-migrate-state`.
        json=quirks.has(Quirk.INIT_JSON, engine.engine, engine.version) and not migrates,
        locks=quirks.has(Quirk.INIT_LOCKS, engine.engine, engine.version),
        migrates_unasked=not quirks.has(Quirk.MIGRATION_ON_DEMAND, engine.engine, engine.version),
        backend_files=assignment.backend_files,
        variable_files=execution.early_variable_files,
    )


def _move_to_backend(execution: Execution) -> Move | None:
    """Lay ready what init is to begin with; None where the backend is the package's own."""
    assignment, package = execution.assignment, execution.context.package
    backend = assignment.workspace.backend
    if backend is None:
        return None
    move = choose_move(
        package,
        backend,
        has_settings=bool(assignment.backend_files),
        arguments=assignment.options.extra.get(Step.INIT, ()),
    )
    prepare_move(package, backend, move, engine_version=str(execution.context.binary.version))
    return move


def _memory(execution: Execution) -> initialisation.InitMemory:
    assignment = execution.assignment
    place = f"{execution.context.package.resolve()}\0{assignment.workspace.data_directory}"
    return initialisation.InitMemory(assignment.cache, place)


def _fingerprint(execution: Execution) -> str:
    assignment = execution.assignment
    engine = execution.context.binary
    backend = assignment.workspace.backend
    wants_variables = quirks.has(Quirk.EARLY_VARIABLES, engine.engine, engine.version)
    return initialisation.fingerprint(
        execution.context.package,
        assignment.workspace.data_directory,
        engine,
        arguments=assignment.options.extra.get(Step.INIT, ()),
        contents=(
            override_text(backend) if backend is not None else "",
            *assignment.backend_contents,
            *(assignment.variable_contents if wants_variables else ()),
            # Who wants no links to the cache wants those gone that an earlier init has made.
            *(() if assignment.plugin_cache else ("no plugin cache",)),
        ),
    )
