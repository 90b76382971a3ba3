"""`tf`: any engine command, with the streams and the terminal that we have."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence

from hereya_tf import events
from hereya_tf.engine.commands import Step
from hereya_tf.errors import Cancelled, EngineExit
from hereya_tf.operations.execution import Execution
from hereya_tf.operations.initialising import initialise_if_needed
from hereya_tf.redaction import MASK
from hereya_tf.steps import Context, cannot_start
from hereya_tf.supervision.handover import hand_over
from hereya_tf.supervision.interrupt import Reason
from hereya_tf.supervision.process import HEARTBEAT_SECONDS, Command, Exit
from hereya_tf.supervision.process_table import ProcessIdentity

# The others work without an init, are one, or are not known: then the engine says so itself.
_NEEDS_INIT = frozenset(
    (
        *("apply", "console", "destroy", "force-unlock", "graph", "import", "modules", "output", "plan"),
        *("providers", "query", "refresh", "show", "state", "taint", "test", "untaint", "workspace"),
    )
)
# Those that fetch or write providers from what the configuration says, for a package that has none yet.
_BEFORE_INIT = ("lock", "mirror")
_READS = frozenset(
    (
        *("console", "fmt", "force-unlock", "functions", "get", "graph", "login", "logout", "metadata"),
        *("modules", "output", "plan", "providers", "show", "validate", "version"),
    )
)
_READS_STATE = frozenset(("state", name) for name in ("list", "pull", "show"))
_HELP = ("-h", "-help", "--help", "-v", "-version", "--version")
# Their values are anybody's secrets.
_ASSIGNS = ("var", "backend-config")


def tf(execution: Execution) -> None:
    """The command, after the init that it needs. Raises EngineExit, Cancelled or TimedOut for its failure."""
    arguments = execution.assignment.arguments
    command = words(arguments)
    if needs_init(arguments):
        initialise_if_needed(execution)
        execution.keeper.check(initialised=True)
        if command[0] != "workspace":  # it is how one is made
            execution.check_workspace()
    execution.context.interrupt.check()
    execution.check_backend()
    if may_write(arguments) and command[:2] != ("state", "push"):
        # It is its user's word, but nobody is to fork a state without having been told.
        execution.keeper.warn_of_missing()
    with execution.keeper.watching() if may_write(arguments) else contextlib.nullcontext():
        end = _handed_over(execution, arguments)
    code = end.code if end.code is not None else 128 + (end.signal or 0)
    ok = is_success(end, arguments)
    execution.context.journal.emit(events.StepFinished(Step.TF, ok, end.code, round(end.seconds, 3), False))
    execution.seconds[Step.TF] = end.seconds
    execution.exit_code = code
    if not ok:
        # Where the engine says that it has put the state, it is not any more.
        execution.engine_has_spoken = execution.errored_state is None
        _fail(execution, arguments, code)
    if command[:2] == ("state", "push"):
        execution.keeper.settle_pushed(command[-1])
    execution.keeper.warn_of_kept()


def needs_init(arguments: Sequence[str]) -> bool:
    """Whether the engine refuses this command in a package that was not initialised."""
    command = words(arguments)
    if not command or command[0] not in _NEEDS_INIT or any(word in _HELP for word in arguments):
        return False
    return not (command[0] == "providers" and command[1:2] and command[1] in _BEFORE_INIT)


def may_write(arguments: Sequence[str]) -> bool:
    """Whether this command may write the state, as far as its name tells."""
    command = words(arguments)
    return bool(command) and command[0] not in _READS and command[:2] not in _READS_STATE


def words(arguments: Sequence[str]) -> tuple[str, ...]:
    """The command and what follows it, without options."""
    return tuple(word for word in arguments if not word.startswith("-"))


def is_success(end: Exit, arguments: Sequence[str]) -> bool:
    """Whether the command has done what it was asked; 2 is only a plan's word for changes."""
    return end.code == 0 or (
        end.code == 2 and any(word.lstrip("-") == "detailed-exitcode" for word in arguments)
    )


def without_values(arguments: Sequence[str]) -> Iterator[str]:
    """The arguments for the record: a variable's name, and a mask for its value."""
    assigns = False
    for argument in arguments:
        if assigns:
            yield _masked(argument)
            assigns = False
            continue
        option, equals, assigned = argument.partition("=")
        is_assignment = option.startswith("-") and option.lstrip("-") in _ASSIGNS
        assigns = is_assignment and not equals
        yield f"{option}={_masked(assigned)}" if is_assignment and equals else argument


def _masked(assignment: str) -> str:
    name, equals, _ = assignment.partition("=")
    return f"{name}={MASK}" if equals else name


def _handed_over(execution: Execution, arguments: tuple[str, ...]) -> Exit:
    if words(arguments)[:1] != ("init",):
        return _hand_over(execution.context, arguments)
    from hereya_tf.operations.caching import plugin_cache

    with plugin_cache(execution, execution.context) as context:
        return _hand_over(context, arguments)


def _hand_over(context: Context, arguments: tuple[str, ...]) -> Exit:
    environment = dict(context.environment)
    if os.isatty(0):
        # Somebody sits there to be asked.
        environment.pop("TF_INPUT", None)
    context.on_start(Step.TF, 1, None)
    context.journal.emit(events.StepStarted(Step.TF, 1, (*context.binary.argv, *without_values(arguments))))
    began = beat_at = time.monotonic()

    def tick() -> None:
        nonlocal beat_at
        context.journal.flush()
        if context.directory.cancel_requested():
            context.interrupt.ask(Reason.REQUEST)
        if time.monotonic() >= beat_at + HEARTBEAT_SECONDS:
            beat_at += HEARTBEAT_SECONDS
            context.journal.emit(events.Heartbeat(Step.TF, round(time.monotonic() - began, 1), ()))

    started = False

    def on_started(process: ProcessIdentity) -> None:
        nonlocal started
        started = True
        context.on_start(Step.TF, 1, process)

    try:
        return hand_over(
            Command((*context.binary.argv, *arguments), context.package, environment),
            pass_fds=context.lock_descriptors,
            interrupt=context.interrupt,
            grace=context.grace,
            started=on_started,
            tick=tick,
        )
    except OSError as error:
        if started:
            raise
        raise cannot_start(context.binary, error) from error


def _fail(execution: Execution, arguments: Sequence[str], code: int) -> None:
    """Raise what fits: the engine has given its reasons to whoever reads its streams."""
    interrupt = execution.context.interrupt
    request = interrupt.asked()
    if request is not None and request.reason is Reason.TIMEOUT:
        execution.engine_has_spoken = False
        raise interrupt.error()
    name = " ".join((execution.context.binary.engine.executable, *words(arguments)[:1]))
    if request is not None:
        raise Cancelled(str(interrupt.error()), exit_code=code)
    raise EngineExit(
        f"`{name}` has ended with exit code {code}",
        "it has said why where its output went; nothing of that is kept here",
        exit_code=code,
    )
