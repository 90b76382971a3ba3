"""`plan` and `drift`: a saved plan, what it would do, and the engine's own words on it."""

import time
from collections.abc import Iterator
from pathlib import Path

from hereya_tf import __version__
from hereya_tf.engine import commands
from hereya_tf.engine.commands import PlanOptions, Step
from hereya_tf.events import timestamp
from hereya_tf.operations.execution import Execution
from hereya_tf.operations.initialising import act_initialised
from hereya_tf.stream.outputs import read_document

CHANGES_EXIT_CODE = 2


def plan(execution: Execution) -> None:
    """Plan, show it, and put it into a bundle where one is wanted."""
    assignment = execution.assignment

    def act() -> None:
        execution.check_workspace()
        execution.check_writer()
        bundle = None if assignment.bundle_to_write is None else _BundleToBe(execution)
        saved = plan_into(execution, assignment.plan_options)
        if assignment.plan_options.detailed_exitcode:
            assert execution.planned is not None
            execution.exit_code = execution.planned.exit.code or 0
        describe(execution, saved)
        judge_plan(execution, saved)
        if bundle is not None:
            bundle.write(saved)

    act_initialised(execution, act)


def drift(execution: Execution) -> None:
    """Compare the state with reality; drift is what the engine's messages name, never the exit code alone."""

    def act() -> None:
        execution.check_workspace()
        execution.check_writer()
        saved = plan_into(execution, PlanOptions(refresh_only=True))
        assert execution.planned is not None
        summary = execution.planned.summary
        execution.drifted = summary.drift > 0
        if execution.drifted:
            execution.exit_code = CHANGES_EXIT_CODE
            for change in summary.drifted:
                execution.context.journal.emit(change)
            describe(execution, saved)

    act_initialised(execution, act)


def plan_into(execution: Execution, options: PlanOptions) -> Path:
    """Make a plan; its private file lasts as long as the run."""
    assignment = execution.assignment
    execution.plan_document = ""
    saved = execution.context.directory.private_file("plan.bin", "", grows=True)
    execution.planned = execution.run(
        Step.PLAN,
        commands.plan_arguments(
            assignment.options, options, out=saved, variable_files=assignment.variable_files
        ),
    )
    return saved


def describe(execution: Execution, saved: Path) -> None:
    """What the engine has to say on a saved plan, as far as somebody wants it."""
    assignment = execution.assignment
    redactor = execution.context.journal.redactor
    # A plan that was made elsewhere has no values.
    names = frozenset() if execution.context.may_run_remotely else redactor.secret_outputs
    if assignment.wants_plan_document or (assignment.wants_difference and names):
        for value in _values(read_plan(execution, saved), names):
            redactor.add(value)
    if assignment.wants_difference:
        # Known secrets only: sensitive values the engine masks by itself.
        execution.difference = redactor.text(show_plan(execution, saved, json=False))


def judge_plan(execution: Execution, saved: Path) -> None:
    """Raise what the run's guards have against a saved plan. Without guards it costs nothing."""
    if execution.assignment.guards.are_set:
        from hereya_tf.operations.judging import judge

        judge(execution, read_plan(execution, saved))


def read_plan(execution: Execution, saved: Path) -> str:
    """The one plan of this run as JSON text, sensitive values too; the engine is asked once."""
    if not execution.plan_document:
        execution.plan_document = show_plan(execution, saved, json=True)
    return execution.plan_document


def show_plan(execution: Execution, saved: Path, *, json: bool) -> str:
    """The engine's own words on a saved plan, or (`json`) all that is in it, sensitive values too."""
    arguments = commands.show_arguments(saved, json=json, variable_files=execution.backend_variable_files)
    return execution.run(Step.SHOW, arguments, streams=False).document


def _values(document: str, names: frozenset[str]) -> Iterator[object]:
    """What outputs of these names are worth in a plan, before and after; the engine shows them as they are."""
    changes = (read_document(document).get("output_changes") or {}) if names else {}
    for name in names.intersection(changes):
        yield from (changes[name].get("before"), changes[name].get("after"))


class _BundleToBe:
    """The bundle of a plan that is about to be made: what it is for has to be noted before."""

    def __init__(self, execution: Execution) -> None:
        from hereya_tf.bundle.identity import new_salt

        self._execution = execution
        self._salt = new_salt()
        self._identity = execution.assignment.identify(self._salt)

    def write(self, plan: Path) -> None:
        from hereya_tf.bundle.file import write_bundle
        from hereya_tf.bundle.identity import backend_settings, read_lock_file
        from hereya_tf.bundle.manifest import Manifest

        assignment, context = self._execution.assignment, self._execution.context
        manifest = Manifest(
            run=context.journal.run,
            created=timestamp(time.time()),
            tool=f"hereya-tf {__version__}",
            destroys=assignment.plan_options.destroy,
            salt=self._salt,
            identity=self._identity,
            settings=backend_settings(context.package, assignment.workspace.data_directory, self._salt),
        )
        path = assignment.bundle_to_write
        assert path is not None
        write_bundle(path, plan=plan, lock_file=read_lock_file(context.package), manifest=manifest)
