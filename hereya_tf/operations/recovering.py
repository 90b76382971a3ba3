"""`recover`: tells what the last broken run has left, and repairs what can be repaired safely."""

import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import assert_never

from hereya_tf.engine import commands
from hereya_tf.engine.commands import Step
from hereya_tf.errors import (
    Busy,
    Cancelled,
    ErroredState,
    FailureClass,
    HereyaError,
    ShellCommandError,
    StateCorrupt,
    StateLocked,
    no_room,
)
from hereya_tf.event_parts import Recovery, Remainder
from hereya_tf.events import ChangeCounts, Operation
from hereya_tf.failure.rule import holds_one_of, words
from hereya_tf.operations.execution import Execution
from hereya_tf.operations.initialising import initialise_if_needed
from hereya_tf.operations.state_lock import StateLock
from hereya_tf.question import Question
from hereya_tf.reading import reason
from hereya_tf.recovery import looking
from hereya_tf.recovery.gaps import gaps
from hereya_tf.recovery.plan import Act, Damage, Kind, Plan, Stored, compare, plan_recovery
from hereya_tf.recovery.proof import Suspect
from hereya_tf.recovery.state_document import read_state
from hereya_tf.recovery.story import chapters_worth_telling, is_uncertain, tell
from hereya_tf.report.document import Report
from hereya_tf.report.fates import ACTING_OPERATIONS
from hereya_tf.report.recovery_text import recovery_lines
from hereya_tf.states.aftermath import ERRORED_STATE, set_aside
from hereya_tf.states.local import is_in_use
from hereya_tf.states.unsaved import Unsaved, settle

_STDIN = 0
_ERRORS: Mapping[str, type[HereyaError]] = {
    FailureClass.ERRORED_STATE: ErroredState,
    FailureClass.STATE_CORRUPT: StateCorrupt,
    FailureClass.STATE_LOCKED: StateLocked,
}


def recover(execution: Execution) -> None:
    """Tell, ask, repair. Raises what is left when not everything could be, or was to be, repaired."""
    _Recovery(execution).run()


class _Recovery:
    """One recovery; what it has found and done so far is the execution's `recovery`."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution
        self._assignment = execution.assignment
        self._where = execution.keeper.whereabouts
        self._directory = execution.context.directory.path
        self._runs = self._directory.parent
        self._records = looking.records_of(self._runs, self._where, self._directory.name)
        self._is_initialised = False
        self._lock = StateLock(execution, self._suspects)
        self._notes: tuple[Unsaved, ...] = ()
        self._told = Recovery((), (), (), (), None)
        # Those whose engine could not save the state itself.
        self._unsure: tuple[Report, ...] = ()

    def run(self) -> None:
        wish = self._assignment.recovery
        self._notes = self._execution.keeper.notes()
        self._tell_story()
        plan = plan_recovery(self._look())
        self._tell_plan(plan)
        self._tell_gaps(plan)
        if not plan.findings or (wish is not None and wish.dry_run):
            return
        if plan.acts:
            self._get_approval(plan)
            self._act(plan)
        if plan.left:
            raise _error(plan.left[0])

    def _tell_story(self) -> None:
        wanted = frozenset(note.run for note in self._notes)
        chosen = chapters_worth_telling(self._records, wanted)
        chapters = looking.chapters_of(self._runs, chosen)
        self._unsure = tuple(chapter.report for chapter in chapters if is_uncertain(chapter.report))
        now = time.time()
        story = [
            sentence
            for chapter in chapters
            for sentence in tell(chapter, now, self._assignment.place, is_missing=chapter.record.id in wanted)
        ]
        # What somebody has tried by hand, `state push -force` perhaps, is not to be done again.
        ours = [record for record in reversed(chosen) if record.operation != Operation.TF]
        ours.sort(key=lambda record: record.operation not in ACTING_OPERATIONS)
        again = next((record.reproduce for record in ours if record.reproduce), None)
        self._publish(Recovery(tuple(story), (), (), (), again))

    def _tell_plan(self, plan: Plan) -> None:
        repairs = tuple(act.repair for act in plan.acts)
        self._publish(self._told._replace(findings=plan.findings, repairs=repairs, left=plan.left))

    def _tell_gaps(self, plan: Plan) -> None:
        """What was done and will not be in the state; no word while it is not known what that will be."""
        if plan.state.unknown or any(left.class_ != FailureClass.STATE_LOCKED for left in plan.left):
            return
        place, state = self._assignment.place, plan.state.document
        missing = tuple(sentence for report in self._unsure for sentence in gaps(report, state, place))
        self._publish(self._told._replace(story=(*self._told.story, *missing)))

    def _publish(self, told: Recovery) -> None:
        self._told = self._execution.recovery = told

    def _look(self) -> Damage:
        """What is broken. A local state that is broken is all that can be looked at: no engine gets past it."""
        local = self._where.local_state(initialised=True)
        lost = looking.find_lost(self._where.package, self._notes, self._runs.parent)
        if local is not None:
            if is_in_use(local):
                raise Busy(
                    f"an engine that is no run of ours is at work on `{local}`", "wait until that has ended"
                )
            broken = looking.find_broken(local, self._runs, self._records, lost)
            if broken is not None:
                return Damage(broken, lost, Stored(None), None, self._assignment.place)
            if not lost:
                return Damage(None, (), self._read(local), None, self._assignment.place)
        self._initialise()
        # No local state has a lock that outlives its holder.
        lock = self._lock.find() if local is None else None
        stored = self._pull() if lost or self._unsure else Stored(None)
        return Damage(None, lost, stored, lock, self._assignment.place)

    def _read(self, local: Path) -> Stored:
        document = looking.read_document(local)
        return Stored(document, f"`{local}` cannot be read" if document is None and local.exists() else "")

    def _initialise(self) -> None:
        if not self._is_initialised:
            initialise_if_needed(self._execution)
            self._execution.check_workspace()
            self._execution.check_writer()
            self._is_initialised = True

    def _pull(self) -> Stored:
        arguments = commands.state_pull_arguments(variable_files=self._execution.backend_variable_files)
        text = self._execution.run(Step.STATE, arguments, streams=False).document
        if not text.strip():
            return Stored(None)
        document = read_state(text)
        if document is None:
            return Stored(None, "what the backend has is no state that is known")
        return Stored(None if document.is_blank else document)

    def _suspects(self) -> Iterable[Suspect]:
        wish = self._assignment.recovery
        return looking.suspects_of(self._runs, self._records, wish.record if wish is not None else None)

    def _get_approval(self, plan: Plan) -> None:
        """Raises Cancelled, or, where there is nobody to ask, what is broken."""
        ask = self._assignment.ask
        if ask is None:
            return
        if not os.isatty(_STDIN):
            first = plan.findings[0]
            raise _ERRORS[first.class_](first.sentence, "`--yes` does the repairs that are offered")
        question = Question(
            self._assignment.operation,
            self._where.package,
            ChangeCounts(),
            lines=tuple(recovery_lines(self._told)),
        )
        self._execution.was_asked = True
        if not ask(question):
            raise Cancelled("the repairs were not approved, and nothing was changed")

    def _act(self, plan: Plan) -> None:
        """All repairs in order; a push that a backend refuses under somebody's lock is done again without it."""
        is_locked = any(act.kind is Kind.UNLOCK for act in plan.acts)
        put_off = [
            act
            for act in plan.acts
            if not self._done(act, locks=not is_locked, may_fail=is_locked and act.kind is Kind.PUSH)
        ]
        for act in put_off:
            self._done(act, locks=True)

    def _done(self, act: Act, *, locks: bool, may_fail: bool = False) -> bool:
        """Do it, and note whether it is done; what the engine says against it is raised unless it `may_fail`."""
        try:
            self._do(act, locks=locks)
        except HereyaError as error:
            if may_fail and isinstance(error, ShellCommandError) and _is_refused_for_lock(error):
                self._execution.failed = None
                return False
            self._note(act, done=False)
            raise
        self._note(act, done=True)
        if act.kind is Kind.PUSH:
            self._settle(act)
        return True

    def _do(self, act: Act, *, locks: bool) -> None:
        match act.kind:
            case Kind.RESTORE:
                self._restore(act)
            case Kind.PUSH:
                self._push(act, locks=locks)
            case Kind.SETTLE:
                self._settle(act)
            case Kind.UNLOCK:
                self._lock.release()
            case _:
                assert_never(act.kind)

    def _note(self, act: Act, *, done: bool) -> None:
        repairs = tuple(
            repair._replace(done=done) if repair == act.repair else repair for repair in self._told.repairs
        )
        self._publish(self._told._replace(repairs=repairs))

    def _restore(self, act: Act) -> None:
        from hereya_tf.recovery.restoring import restore

        local = self._where.local_state(initialised=True)
        assert local is not None
        assert act.copy is not None
        restore(local, act.copy.path, self._directory)

    def _push(self, act: Act, *, locks: bool) -> None:
        lost = act.lost
        assert lost is not None
        assert lost.document is not None
        self._initialise()
        self._check_older(lost.path)
        execution = self._execution
        arguments = commands.state_push_arguments(
            self._assignment.options,
            lost.path,
            locks=locks,
            variable_files=execution.backend_variable_files,
        )
        execution.run(Step.STATE, arguments, streams=False)
        there = self._pull().document
        if there is None or not there.has_content_of(lost.document):
            raise ErroredState(
                f"the state in `{lost.path}` was pushed, and something else is there now",
                "see what is there: `hereya-tf tf -- state pull`",
            )

    def _check_older(self, path: Path) -> None:
        """Once more, right before: somebody may have been faster. Raises ErroredState."""
        document = looking.read_document(path)
        if document is None:
            raise ErroredState(f"`{path}` cannot be read any more", "look where it has gone")
        stored = self._pull()
        refusal = stored.unknown or compare(document, stored.document)
        there = stored.document
        if refusal and (there is None or not there.has_content_of(document)):
            raise ErroredState(
                f"the state in `{path}` is not stored: {refusal}",
                "see what can be done now: `hereya-tf recover`",
            )

    def _settle(self, act: Act) -> None:
        """What is stored is not missing any more. Raises ErroredState or NoRoom when that cannot be noted."""
        lost = act.lost
        assert lost is not None
        errored = self._where.package / ERRORED_STATE
        try:
            for note in self._notes:
                if Path(note.file) == lost.path:
                    settle(self._runs.parent, note)
            if looking.read_document(errored) == lost.document:
                set_aside(errored, self._directory, lambda _kept: None)
        except OSError as error:
            sentence = f"the state in `{lost.path}` is stored, and that cannot be noted: {reason(error)}"
            raise no_room(error, sentence) or ErroredState(
                sentence,
                f"make `{self._runs.parent}` and the package writable, and try again: `hereya-tf recover`",
            ) from error


def _is_refused_for_lock(error: ShellCommandError) -> bool:
    """Whether the backend takes a state from the holder of its lock alone, as an `http` one may answer.

    While it takes none for another reason, the lock keeps others from going on with the old state.
    """
    return holds_one_of(words(error.stderr), ("HTTP error: 409", "HTTP error: 423"))


def _error(remainder: Remainder) -> HereyaError:
    return _ERRORS[remainder.class_](remainder.sentence, *remainder.by_hand)
