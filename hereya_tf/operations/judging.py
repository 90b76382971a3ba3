"""Whether a saved plan may be applied: the guards are asked before a person is, and before anything is changed."""

from typing import Any

from hereya_tf import exact
from hereya_tf.engine.commands import Step
from hereya_tf.errors import FailureClass, ShellCommandError
from hereya_tf.guards.changes import read_changes
from hereya_tf.guards.verdict import Objection, objections, refusal
from hereya_tf.operations.execution import Execution
from hereya_tf.redaction import Redactor
from hereya_tf.stream.outputs import read_document


def judge(execution: Execution, document: str) -> None:
    """Raise what the guards have against a plan, whose JSON is `document`; all that it does counts.

    Every guard is heard, so that one run tells all that stands in the way.
    """
    guards = execution.assignment.guards
    try:
        plan = read_document(document)
        changes = read_changes(plan)
    except ValueError as error:
        raise ShellCommandError(
            f"the plan cannot be judged, and was not applied: {error}",
            "update hereya-tf if the engine is newer than it is",
            command=f"{execution.context.binary.path} {Step.SHOW} -json",
            exit_code=0,
            failure_class=FailureClass.ENGINE_ERROR,
        ) from error
    found = [*objections(guards, changes, execution.assignment.operation)]
    if guards.policy is not None:
        found += _ask_policy(execution, document, plan)
    refused = refusal(found)
    if refused is not None:
        raise refused


def _ask_policy(execution: Execution, document: str, plan: Any) -> tuple[Objection, ...]:
    from hereya_tf.guards.policy import Hearing, ask_policy, tell_said
    from hereya_tf.guards.sensitive_values import sensitive_values

    assignment, context = execution.assignment, execution.context
    assert assignment.guards.policy is not None
    # One of its own: what a plan calls sensitive may well be in an output that is not.
    redactor = Redactor(context.journal.redactor.secrets())
    for value in sensitive_values(plan):
        redactor.add(value)
    text = document.strip()
    hearing = Hearing(
        plan=text if text.startswith("{") and text.endswith("}") else exact.dumps(plan),
        facts={
            "OPERATION": assignment.operation,
            "PACKAGE": str(context.package),
            "WORKSPACE": assignment.workspace.name,
            "RUN": context.journal.run,
        },
        environment=assignment.callers_environment,
        redactor=redactor,
    )
    answer = ask_policy(assignment.guards.policy, hearing, context)
    if answer.objection is not None:
        execution.objected = answer.text
        return (answer.objection,)
    tell_said(answer.text, context)
    return ()
