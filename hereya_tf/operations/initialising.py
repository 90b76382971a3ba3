"""`init`: whether it is needed, and what it is given."""

from collections.abc import Callable

from hereya_tf import events
from hereya_tf.engine import commands, initialisation, quirks
from hereya_tf.engine.commands import InitOptions, Step
from hereya_tf.errors import FailureClass, ShellCommandError
from hereya_tf.operations.performance import LocksNeeded, Performance
from hereya_tf.saved_backend import Move, choose_move, prepare_move
from hereya_tf.workspace import override_text


def act_initialised(performance: Performance, act: Callable[[], None]) -> None:
    """`act` after the init that it needs. Raises LocksNeeded where that cannot be had without them."""
    skipped = initialise_if_needed(performance)
    try:
        act()
    except ShellCommandError:
        diagnosis = performance.failed.diagnosis if performance.failed is not None else None
        elsewhere = performance.assignment.doubtful_workspace is not None
        if not (skipped or elsewhere) or diagnosis is None or not diagnosis.needs_init:
            raise
        # The engine knows better than our memory of the last init, or this state needs more providers.
        initialise(performance)
        act()


def initialise(performance: Performance) -> None:
    """Run init, and remember what it saw."""
    if not performance.has_locks:
        raise LocksNeeded
    memory = _memory(performance)
    memory.forget()
    arguments = _arguments(performance)
    context = None if performance.doubtful_workspace is None else performance.in_workspace("default")
    try:
        performance.run(Step.INIT, arguments, context=context)
    except ShellCommandError as error:
        creates = performance.assignment.create_workspace
        if error.failure_class is not FailureClass.WORKSPACE_UNKNOWN or not creates:
            raise
        # In a backend with several workspaces init refuses one that apply is still to create.
        performance.run(Step.INIT, arguments, context=performance.in_workspace("default"))
    memory.keep(_fingerprint(performance))


def initialise_if_needed(performance: Performance) -> bool:
    """Init unless the last good one saw exactly what there is now; returns whether it was skipped."""
    if not performance.assignment.reinit and _memory(performance).holds(_fingerprint(performance)):
        performance.context.journal.emit(events.StepFinished(Step.INIT, True, None, 0.0, True))
        return True
    initialise(performance)
    return False


def _arguments(performance: Performance) -> tuple[str, ...]:
    """Init's arguments, after what has to lie ready for it.

    A generated backend says itself where the state is; nothing is ever to be copied into it.
    """
    assignment = performance.assignment
    engine = performance.context.binary
    move = _move_to_backend(performance)
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
        json=quirks.supports_init_json(engine.engine, engine.version) and not migrates,
        backend_files=assignment.backend_files,
        variable_files=performance.early_variable_files,
    )


def _move_to_backend(performance: Performance) -> Move | None:
    """Lay ready what init is to begin with; None where the backend is the package's own."""
    assignment, package = performance.assignment, performance.context.package
    backend = assignment.workspace.backend
    if backend is None:
        return None
    move = choose_move(
        package,
        backend,
        has_settings=bool(assignment.backend_files),
        arguments=assignment.options.extra.get(Step.INIT, ()),
    )
    prepare_move(package, backend, move, engine_version=str(performance.context.binary.version))
    return move


def _memory(performance: Performance) -> initialisation.InitMemory:
    assignment = performance.assignment
    place = f"{performance.context.package.resolve()}\0{assignment.workspace.data_directory}"
    return initialisation.InitMemory(assignment.cache, place)


def _fingerprint(performance: Performance) -> str:
    assignment = performance.assignment
    engine = performance.context.binary
    backend = assignment.workspace.backend
    wants_variables = quirks.takes_variables_at_init(engine.engine, engine.version)
    return initialisation.fingerprint(
        performance.context.package,
        assignment.workspace.data_directory,
        engine,
        arguments=assignment.options.extra.get(Step.INIT, ()),
        contents=(
            override_text(backend) if backend is not None else "",
            *assignment.backend_contents,
            *(assignment.variable_contents if wants_variables else ()),
        ),
    )
