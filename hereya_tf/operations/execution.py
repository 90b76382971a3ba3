"""The steps of one run on an engine: what every operation is made of, and what they came to."""

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path

from hereya_tf import events
from hereya_tf.engine import commands, quirks
from hereya_tf.engine.commands import Step
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.engine.quirks import Quirk
from hereya_tf.errors import Busy, FailureClass, ShellCommandError
from hereya_tf.events import ChangeCounts, Recovery
from hereya_tf.operations.assignment import Assignment
from hereya_tf.retries import Situation
from hereya_tf.states.keeper import StateKeeper
from hereya_tf.steps import Context, StepOutcome, run_step
from hereya_tf.stream.outputs import MISSING, Output, read_document, read_output_values
from hereya_tf.workspace import is_backend_in_place, unknown_workspace

_ACTING = (Step.APPLY, Step.DESTROY)
TRIED_AGAIN = frozenset(
    (
        *(Step.INIT, Step.PLAN, Step.APPLY, Step.DESTROY),
        *(Step.OUTPUT, Step.WORKSPACE, Step.STATE, Step.SHOW, Step.VALIDATE),
    )
)
"""The steps that may be: a lock that was released, in spite of an error, may soon be somebody else's."""


class LocksNeeded(Exception):
    """What was begun without the locks, because it only reads, turns out to need them."""


class Execution:
    """The steps of one run; what they came to can be read after a failure as well."""

    def __init__(self, context: Context, assignment: Assignment) -> None:
        self.context = context
        self.assignment = assignment
        self.doubtful_workspace = assignment.doubtful_workspace
        self._attempts: dict[Step, int] = {}
        self.seconds: dict[Step, float] = {}
        self.acted: StepOutcome | None = None
        # What was tried again after it had changed something.
        self._acted_before: list[StepOutcome] = []
        self.planned: StepOutcome | None = None
        self.failed: StepOutcome | None = None
        self.outputs: Mapping[str, Output] = {}
        # The engine's own words on the plan, and the plan as JSON text.
        self.difference = ""
        self.plan_document = ""
        # What a policy said of the plan that it did not approve.
        self.objected = ""
        self.drifted: bool | None = None
        self.exit_code = 0
        # What `recover` has found and done so far.
        self.recovery: Recovery | None = None
        # Whether a person was shown that, and asked.
        self.was_asked = False
        # Whether the engine has given its reasons to whoever reads our streams.
        self.engine_has_spoken = False
        self.keeper = StateKeeper(
            assignment.whereabouts(context.package), context.directory, assignment.care, self.warn
        )
        self._writer_is_open = assignment.check_state is not None
        self._has_asked_state = False
        self._lock_file_is_new = False

    @property
    def errored_state(self) -> Path | None:
        """The file that holds the state when it is not where it belongs."""
        return self.keeper.kept

    @property
    def done(self) -> ChangeCounts:
        """What was done, in all tries together."""
        acts = (*self._acted_before, *((self.acted,) if self.acted is not None else ()))
        done = ChangeCounts(*map(sum, zip(*(act.summary.done for act in acts), strict=True)))
        if self.acted is not None and self.acted.summary.final is not None and self.planned is not None:
            # What was applied is that plan, which counts what Terraform 1.11 forgets without a word.
            done = done._replace(forget=max(done.forget, self.planned.summary.planned.forget))
        return done

    @property
    def has_changed(self) -> bool:
        """Whether something was begun that is more than reading."""
        return bool(self._acted_before) or (self.acted is not None and self.acted.summary.mutating)

    @property
    def has_locks(self) -> bool:
        """Whether nobody else can be at work on this package and workspace."""
        return bool(self.context.lock_descriptors)

    @property
    def early_variable_files(self) -> tuple[Path, ...]:
        """The variable files for commands that only some versions give values to, such as init."""
        return self._variable_files(Quirk.EARLY_VARIABLES)

    @property
    def backend_variable_files(self) -> tuple[Path, ...]:
        """Those for commands that read a state or a plan, which fewer versions give values to."""
        return self._variable_files(Quirk.BACKEND_VARIABLES)

    def run(
        self,
        step: Step,
        arguments: tuple[str, ...],
        *,
        streams: bool = True,
        context: Context | None = None,
        apart: bool = False,
    ) -> StepOutcome:
        """Run one step, again where that is wanted and of use. Raises its error, or the interrupt's.

        `apart` says that it has nothing to do with the backend that the package has at the moment.
        """
        while True:
            self.context.interrupt.check()
            if not apart:
                self.check_backend()
            attempt = self._attempts[step] = self._attempts.get(step, 0) + 1
            with self.keeper.watching() if step in _ACTING else contextlib.nullcontext():
                outcome = run_step(context or self.context, step, arguments, attempt=attempt, streams=streams)
            self.seconds[step] = self.seconds.get(step, 0.0) + outcome.exit.seconds
            if step in _ACTING:
                self._note_act(outcome)
            if outcome.ok:
                self.failed = None
                self.keeper.warn_of_kept()
                return outcome
            self.fail(outcome)
            final = self._unless_tried_again(outcome, attempt, arguments)
            if final is not None:
                self.failed = final
                raise final.error()

    def _note_act(self, outcome: StepOutcome) -> None:
        if self.acted is not None and self.acted.summary.mutating:
            self._acted_before.append(self.acted)
        self.acted = outcome

    def _unless_tried_again(
        self, outcome: StepOutcome, attempt: int, arguments: tuple[str, ...]
    ) -> StepOutcome | None:
        """None after the wait for another try, else the outcome with what there is to say about that."""
        retrying, diagnosis = self.context.retrying, outcome.diagnosis
        if retrying is None or diagnosis is None or outcome.step not in TRIED_AGAIN:
            return outcome
        summary = outcome.summary
        # Of a remote run nobody hears what it has changed.
        unheard = outcome.step in _ACTING and self.context.may_run_remotely and summary.is_text_alone
        situation = Situation(
            changed=summary.mutating or unheard,
            applies_plan=commands.applies_saved_plan(arguments),
            state_is_lost=self.errored_state is not None or summary.emergency_state is not None,
        )
        final = retrying.settle(outcome.step, attempt, diagnosis, situation)
        return None if final is None else outcome._replace(diagnosis=final)

    def warn(self, sentence: str) -> None:
        """Tell of what is not right, and no reason to end the run."""
        self.context.journal.emit(events.DiagnosticEvent("warning", None, sentence, "", None, None, None))

    def fail(self, outcome: StepOutcome) -> None:
        """Remember the step that failed. Raises the interrupt's error when that is why.

        "Cancelled" and "timed out" come from our own record: the engine's exit code is 1 for both.
        """
        self.failed = outcome
        self.context.interrupt.check()

    def check_backend(self) -> None:
        """Refuse a step without the backend that it was prepared for: it would take another state for its own.

        Runs that keep their locks elsewhere are not kept out by ours.
        """
        package = self.context.package
        if is_backend_in_place(package, self.assignment.workspace.backend):
            return
        if not self.has_locks:
            raise LocksNeeded
        raise Busy(
            f"somebody else has changed the generated backend in `{package}` while this run was at work",
            "use one `HEREYA_TF_STATE_DIR` for all runs of a package, and run it again",
        )

    def read_outputs(self, apart: Context | None = None) -> Mapping[str, Output]:
        """All outputs, sensitive ones too, as the state has them; `apart` is another place to read them in."""
        outcome = self.run(
            Step.OUTPUT,
            # Another place has nothing but the backend, which needs no values there.
            commands.output_arguments(variable_files=self.backend_variable_files if apart is None else ()),
            streams=False,
            context=apart,
            apart=apart is not None,
        )
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
                self.context.journal.redactor.add(output.value)
        return outputs

    def check_workspace(self) -> None:
        """Refuse a workspace that does not exist: plan and apply would create it without a word."""
        wanted = self.doubtful_workspace
        if wanted is None:
            return
        arguments = commands.workspace_list_arguments(variable_files=self.backend_variable_files)
        listing = self.run(Step.WORKSPACE, arguments, streams=False, context=self.in_workspace(None))
        names = {line.lstrip("*").strip() for line in listing.document.splitlines()}
        if wanted not in names:
            raise unknown_workspace(wanted, names)
        self.doubtful_workspace = None
        self.check_new_lock_file()

    def check_writer(self) -> None:
        """Refuse a state that the other engine wrote, where nothing else says who did. Raises EngineMismatch (T15).

        After `check_workspace`: some backends create a workspace that is asked for its state.
        """
        check = self.assignment.check_state
        if check is None or self._has_asked_state:
            return
        self._has_asked_state = True
        if (text := self.keeper.local_text()) is not None:
            check(text)
            self._writer_is_open = False
            return
        arguments = commands.state_pull_arguments(variable_files=self.backend_variable_files)
        try:
            pulled = self.run(Step.STATE, arguments, streams=False)
        except ShellCommandError:
            # What is wrong there is for the next step to say, which was asked for.
            self.failed = None
            return
        check(pulled.document)
        self._writer_is_open = False

    def check_new_lock_file(self) -> None:
        """The same, where init has written a lock file that the next run would take for evidence."""
        if self._lock_file_is_new and os.path.lexists(self.context.package / LOCK_FILE):
            self.check_writer()

    def note_init(self) -> None:
        """Init is about to run: it may write a lock file, and bring the state within reach."""
        self._has_asked_state = False
        if not os.path.lexists(self.context.package / LOCK_FILE):
            self._lock_file_is_new = True

    def withdraw_lock_file(self) -> None:
        """Remove a lock file that init has written while nobody knows who wrote the state.

        It says which engine init was run with, and the next run would believe that of the state.
        """
        if self._writer_is_open and self._lock_file_is_new:
            with contextlib.suppress(OSError):
                (self.context.package / LOCK_FILE).unlink()

    def in_workspace(self, name: str | None) -> Context:
        """The context with another workspace selected, or with none."""
        environment = {**self.context.environment}
        environment.pop("TF_WORKSPACE", None)
        if name is not None:
            environment["TF_WORKSPACE"] = name
        return self.context._replace(environment=environment)

    def _variable_files(self, quirk: Quirk) -> tuple[Path, ...]:
        engine = self.context.binary
        return self.assignment.variable_files if quirks.has(quirk, engine.engine, engine.version) else ()
