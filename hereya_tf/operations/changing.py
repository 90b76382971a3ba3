"""`provision` and `destroy`."""

from collections.abc import Callable
from pathlib import Path

from hereya_tf.engine import commands
from hereya_tf.engine.commands import PlanOptions, Step
from hereya_tf.errors import Cancelled
from hereya_tf.operations.execution import Execution
from hereya_tf.operations.initialising import act_initialised
from hereya_tf.operations.planning import describe, judge_plan, plan_into
from hereya_tf.question import Question
from hereya_tf.steps import StepOutcome


def provision(execution: Execution) -> None:
    """Apply, and the outputs."""

    def act() -> None:
        execution.check_workspace()
        execution.check_writer()
        take_outputs(execution, _change(execution, Step.APPLY))

    act_initialised(execution, act)


def destroy(execution: Execution) -> None:
    """The outputs as they were, and destroy."""

    def act() -> None:
        execution.check_workspace()
        execution.check_writer()
        execution.outputs = execution.read_outputs()
        _change(execution, Step.DESTROY)

    act_initialised(execution, act)


def take_outputs(execution: Execution, acted: StepOutcome) -> None:
    """The outputs of an apply from its own words when they say it all, else from the state."""
    given = acted.summary.outputs
    complete = given is not None and acted.summary.outputs_complete
    execution.outputs = given if given is not None and complete else execution.read_outputs()


def _change(execution: Execution, step: Step) -> StepOutcome:
    assignment = execution.assignment
    if assignment.ask is None and not assignment.guards.are_set:
        return execution.run(
            step,
            commands.apply_arguments(assignment.options, step, variable_files=assignment.variable_files),
        )
    plan = plan_into(execution, PlanOptions(destroy=step is Step.DESTROY))
    judge_plan(execution, plan)
    if assignment.ask is not None:
        _ask(execution, plan, assignment.ask)
    arguments = commands.apply_plan_arguments(
        assignment.options, step, plan=plan, variable_files=assignment.ephemeral_files
    )
    return execution.run(step, arguments)


def _ask(execution: Execution, plan: Path, ask: Callable[[Question], bool]) -> None:
    """Raises Cancelled for anything but a yes. Nothing to do is nothing to ask."""
    assert execution.planned is not None
    summary = execution.planned.summary
    if not any(summary.planned):
        return
    describe(execution, plan)
    question = Question(
        execution.assignment.operation,
        execution.context.package,
        summary.planned,
        changes=summary.changes,
        difference=execution.difference,
    )
    if not ask(question):
        raise Cancelled("the plan was not approved, and nothing was changed")
