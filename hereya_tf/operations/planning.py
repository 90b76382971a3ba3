"""`plan` and `drift`: a saved plan, what it would do, and the engine's own words on it."""

from pathlib import Path

from hereya_tf.engine import commands
from hereya_tf.engine.commands import PlanOptions, Step
from hereya_tf.operations.performance import Performance

CHANGES_EXIT_CODE = 2


def plan(performance: Performance) -> None:
    """Plan, and show it."""
    performance.check_workspace()
    options = performance.assignment.plan_options
    saved = plan_into(performance, options)
    planned = performance.planned
    assert planned is not None
    if options.detailed_exitcode:
        performance.exit_code = planned.exit.code or 0
    describe(performance, saved)


def drift(performance: Performance) -> None:
    """Compare the state with reality; drift is what the engine's messages name, never the exit code alone."""
    performance.check_workspace()
    saved = plan_into(performance, PlanOptions(refresh_only=True))
    planned = performance.planned
    assert planned is not None
    performance.drifted = planned.summary.drift > 0
    if performance.drifted:
        performance.exit_code = CHANGES_EXIT_CODE
        for change in planned.summary.drifted:
            performance.context.journal.emit(change)
        describe(performance, saved)


def plan_into(performance: Performance, options: PlanOptions) -> Path:
    """Make a plan; its private file lasts as long as the run."""
    assignment = performance.assignment
    saved = performance.context.directory.private_file("plan.bin", "")
    performance.planned = performance.run(
        Step.PLAN,
        commands.plan_arguments(
            assignment.options, options, out=saved, variable_files=assignment.variable_files
        ),
    )
    return saved


def describe(performance: Performance, saved: Path) -> None:
    """What the engine has to say on a saved plan, as far as somebody wants it."""
    assignment = performance.assignment
    if assignment.wants_difference:
        shown = performance.run(Step.SHOW, commands.show_arguments(saved, json=False), streams=False)
        # Known secrets only: sensitive values the engine masks by itself.
        performance.difference = performance.context.journal.redactor.text(shown.document)
    if assignment.wants_plan_document:
        document = performance.run(Step.SHOW, commands.show_arguments(saved, json=True), streams=False)
        performance.plan_document = document.document
