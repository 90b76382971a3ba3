"""What provision and destroy do on an engine, step by step, once everything is prepared and locked."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from hereya_tf import events
from hereya_tf.engine import commands, initialisation, quirks
from hereya_tf.engine.commands import EngineOptions, Step
from hereya_tf.errors import Busy, Cancelled, FailureClass, ShellCommandError
from hereya_tf.events import Operation, Question
from hereya_tf.runs import outcome
from hereya_tf.saved_backend import Move, choose_move, prepare_move
from hereya_tf.steps import Context, StepOutcome, run_step
from hereya_tf.stream.outputs import MISSING, Output, read_document, read_output_values
from hereya_tf.workspace import Workspace, is_backend_in_place, override_text, unknown_workspace


class Plan(NamedTuple):
    """Everything that the steps need, as values; `ask` is None when the run is approved."""

    operation: Operation
    workspace: Workspace
    # A workspace that init, plan and apply would create, unless the engine lists it.
    doubtful_workspace: str | None
    create_workspace: bool
    options: EngineOptions
    backend_files: tuple[str, ...]
    backend_contents: tuple[str, ...]
    variable_files: tuple[Path, ...]
    variable_contents: tuple[str, ...]
    reinit: bool
    cache: Path
    ask: Callable[[Question], bool] | None


class Performance:
    """The steps of one run; what they came to can be read after a failure as well."""

    def __init__(self, context: Context, plan: Plan) -> None:
        self._context = context
        self._plan = plan
        self._doubtful_workspace = plan.doubtful_workspace
        self._attempts: dict[Step, int] = {}
        self.seconds: dict[Step, float] = {}
        self.acted: StepOutcome | None = None
        self.failed: StepOutcome | None = None
        self.outputs: Mapping[str, Output] = {}
        # An `errored.tfstate` of an earlier run is not this one's.
        self._errored_before = _stamp(context.package / outcome.ERRORED_STATE)

    @property
    def errored_state(self) -> Path | None:
        """The file that the engine left beside the package when it could not save the state."""
        path = self._context.package / outcome.ERRORED_STATE
        return path if self.acted is not None and _stamp(path) not in (None, self._errored_before) else None

    def perform(self) -> None:
        """All steps in order. Raises the error of the first that fails, or the interrupt's."""
        skipped = self._initialise_if_needed()
        try:
            self._act()
        except ShellCommandError:
            diagnosis = self.failed.diagnosis if self.failed is not None else None
            elsewhere = self._plan.doubtful_workspace is not None
            if not (skipped or elsewhere) or diagnosis is None or not diagnosis.needs_init:
                raise
            # The engine knows better than our memory of the last init, or this state needs more providers.
            self._initialise()
            self._act()

    def _act(self) -> None:
        self._check_workspace()
        if self._plan.operation is Operation.DESTROY:
            self.outputs = self._read_outputs()
            self._change(Step.DESTROY)
        else:
            acted = self._change(Step.APPLY)
            given = acted.summary.outputs
            complete = given is not None and acted.summary.outputs_complete
            self.outputs = given if given is not None and complete else self._read_outputs()

    def _change(self, step: Step) -> StepOutcome:
        plan = self._plan
        if plan.ask is None:
            arguments = commands.apply_arguments(plan.options, step, variable_files=plan.variable_files)
            return self._run(step, arguments)
        saved = self._context.directory.private_file("plan.bin", "")
        planned = self._run(
            Step.PLAN,
            commands.plan_arguments(
                plan.options,
                out=saved,
                destroy=step is Step.DESTROY,
                variable_files=plan.variable_files,
            ),
        )
        if any(planned.summary.planned) and not plan.ask(
            Question(plan.operation, self._context.package, planned.summary.planned)
        ):
            raise Cancelled("the plan was not approved, and nothing was changed")
        return self._run(step, commands.apply_plan_arguments(plan.options, step, plan=saved))

    def _run(
        self, step: Step, arguments: tuple[str, ...], *, streams: bool = True, context: Context | None = None
    ) -> StepOutcome:
        self._context.interrupt.check()
        self._check_backend()
        attempt = self._attempts[step] = self._attempts.get(step, 0) + 1
        outcome = run_step(context or self._context, step, arguments, attempt=attempt, streams=streams)
        self.seconds[step] = self.seconds.get(step, 0.0) + outcome.exit.seconds
        if step in (Step.APPLY, Step.DESTROY):
            self.acted = outcome
        if outcome.ok:
            self.failed = None
            return outcome
        self.failed = outcome
        # "Cancelled" and "timed out" come from our own record: the engine's exit code is 1 for both.
        self._context.interrupt.check()
        raise outcome.error()

    def _check_backend(self) -> None:
        """Refuse a step without the backend that it was prepared for: it would take another state for its own.

        Runs that keep their locks elsewhere are not kept out by ours.
        """
        package = self._context.package
        if not is_backend_in_place(package, self._plan.workspace.backend):
            raise Busy(
                f"somebody else has changed the generated backend in `{package}` while this run was at work",
                "use one `HEREYA_TF_STATE_DIR` for all runs of a package, and run it again",
            )

    def _read_outputs(self) -> Mapping[str, Output]:
        outcome = self._run(Step.OUTPUT, commands.output_arguments(), streams=False)
        try:
            outputs = read_output_values(read_document(outcome.document))
        except ValueError as error:
            self.failed = outcome
            raise ShellCommandError(
                f"`output -json` did not print the outputs: {error}",
                "run `hereya-tf runs log last` to see what it said",
                command=outcome.command,
                exit_code=0,
                stderr=outcome.stderr,
                failure_class=FailureClass.ENGINE_ERROR,
            ) from error
        for output in outputs.values():
            if output.sensitive and output.value is not MISSING:
                self._context.journal.redactor.add(output.value)
        return outputs

    def _initialise_if_needed(self) -> bool:
        """Init unless the last good one saw exactly what there is now; returns whether it was skipped."""
        if not self._plan.reinit and self._memory().holds(self._fingerprint()):
            self._context.journal.emit(events.StepFinished(Step.INIT, True, None, 0.0, True))
            return True
        self._initialise()
        return False

    def _initialise(self) -> None:
        memory = self._memory()
        memory.forget()
        arguments = self._init_arguments()
        context = self._context if self._doubtful_workspace is None else self._in_workspace("default")
        try:
            self._run(Step.INIT, arguments, context=context)
        except ShellCommandError as error:
            if error.failure_class is not FailureClass.WORKSPACE_UNKNOWN or not self._plan.create_workspace:
                raise
            # In a backend with several workspaces init refuses one that apply is still to create.
            self._run(Step.INIT, arguments, context=self._in_workspace("default"))
        memory.keep(self._fingerprint())

    def _init_arguments(self) -> tuple[str, ...]:
        """Init's arguments, after what has to lie ready for it.

        A generated backend says itself where the state is; nothing is ever to be copied into it.
        """
        plan = self._plan
        engine = self._context.binary
        move = self._move_to_backend()
        nothing_moves = move is Move.MIGRATE_NOTHING
        wants_variables = quirks.takes_variables_at_init(engine.engine, engine.version)
        return commands.init_arguments(
            plan.options,
            # The engine takes only one of `-json` and `-migrate-state`.
            json=quirks.supports_init_json(engine.engine, engine.version) and not nothing_moves,
            backend_files=plan.backend_files,
            variable_files=plan.variable_files if wants_variables else (),
            reconfigure=move is Move.RECONFIGURE,
            migrate_nothing=nothing_moves,
        )

    def _move_to_backend(self) -> Move | None:
        """Lay ready what init is to begin with; None where the backend is the package's own."""
        plan, package = self._plan, self._context.package
        backend = plan.workspace.backend
        if backend is None:
            return None
        move = choose_move(
            package,
            backend,
            has_settings=bool(plan.backend_files),
            arguments=plan.options.extra.get(Step.INIT, ()),
        )
        prepare_move(package, backend, move, engine_version=str(self._context.binary.version))
        return move

    def _memory(self) -> initialisation.InitMemory:
        place = f"{self._context.package.resolve()}\0{self._plan.workspace.data_directory}"
        return initialisation.InitMemory(self._plan.cache, place)

    def _fingerprint(self) -> str:
        plan = self._plan
        engine = self._context.binary
        backend = plan.workspace.backend
        wants_variables = quirks.takes_variables_at_init(engine.engine, engine.version)
        return initialisation.fingerprint(
            self._context.package,
            plan.workspace.data_directory,
            engine,
            arguments=plan.options.extra.get(Step.INIT, ()),
            contents=(
                override_text(backend) if backend is not None else "",
                *plan.backend_contents,
                *(plan.variable_contents if wants_variables else ()),
            ),
        )

    def _check_workspace(self) -> None:
        """Refuse a workspace that does not exist: plan and apply would create it without a word."""
        wanted = self._doubtful_workspace
        if wanted is None:
            return
        listing = run_step(
            self._in_workspace(None), Step.WORKSPACE, commands.workspace_list_arguments(), streams=False
        )
        if not listing.ok:
            self.failed = listing
            self._context.interrupt.check()
            raise listing.error()
        names = {line.lstrip("*").strip() for line in listing.document.splitlines()}
        if wanted not in names:
            raise unknown_workspace(wanted, names)
        self._doubtful_workspace = None

    def _in_workspace(self, name: str | None) -> Context:
        """The context with another workspace selected, or with none."""
        environment = {**self._context.environment}
        environment.pop("TF_WORKSPACE", None)
        if name is not None:
            environment["TF_WORKSPACE"] = name
        return self._context._replace(environment=environment)


def _stamp(path: Path) -> tuple[int, int] | None:
    """What tells one writing of a file from the next; None when there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
