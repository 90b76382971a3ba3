"""`provision` and `destroy`."""

from hereya_tf.engine import commands
from hereya_tf.engine.commands import PlanOptions, Step
from hereya_tf.errors import Cancelled
from hereya_tf.events import Question
from hereya_tf.operations.initialising import act_initialised
from hereya_tf.operations.performance import Performance
from hereya_tf.operations.planning import describe, plan_into
from hereya_tf.steps import StepOutcome


def provision(performance: Performance) -> None:
    """Apply, and the outputs."""

    def act() -> None:
        performance.check_workspace()
        take_outputs(performance, _change(performance, Step.APPLY))

    act_initialised(performance, act)


def destroy(performance: Performance) -> None:
    """The outputs as they were, and destroy."""

    def act() -> None:
        performance.check_workspace()
        performance.outputs = performance.read_outputs()
        _change(performance, Step.DESTROY)

    act_initialised(performance, act)


def take_outputs(performance: Performance, acted: StepOutcome) -> None:
    """The outputs of an apply from its own words when they say it all, else from the state."""
    given = acted.summary.outputs
    complete = given is not None and acted.summary.outputs_complete
    performance.outputs = given if given is not None and complete else performance.read_outputs()


def _change(performance: Performance, step: Step) -> StepOutcome:
    assignment = performance.assignment
    if assignment.ask is None:
        return performance.run(
            step,
            commands.apply_arguments(assignment.options, step, variable_files=assignment.variable_files),
        )
    plan = plan_into(performance, PlanOptions(destroy=step is Step.DESTROY))
    assert performance.planned is not None
    summary = performance.planned.summary
    if any(summary.planned):
        describe(performance, plan)
        question = Question(
            assignment.operation,
            performance.context.package,
            summary.planned,
            changes=summary.changes,
            difference=performance.difference,
        )
        if not assignment.ask(question):
            raise Cancelled("the plan was not approved, and nothing was changed")
    return performance.run(step, commands.apply_plan_arguments(assignment.options, step, plan=plan))
