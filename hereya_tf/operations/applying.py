"""`apply`: exactly the plan of a bundle, where it belongs."""

import os
from collections.abc import Collection
from pathlib import Path

from hereya_tf.bundle import check, identity
from hereya_tf.bundle.file import Bundle
from hereya_tf.bundle.manifest import Manifest
from hereya_tf.engine import commands
from hereya_tf.engine.commands import Step
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.errors import BadPackage, no_room
from hereya_tf.operations.changing import take_outputs
from hereya_tf.operations.execution import Execution
from hereya_tf.operations.initialising import act_initialised
from hereya_tf.operations.planning import judge_plan, read_plan
from hereya_tf.reading import reason
from hereya_tf.stream.outputs import read_document


def apply(execution: Execution) -> None:
    """Check that the plan belongs here, initialise with the lock file that it was made with, and apply it."""
    bundle = execution.assignment.bundle
    assert bundle is not None
    check.check_before_init(bundle.manifest, execution.assignment.identify(bundle.manifest.salt))
    if bundle.lock_file is not None:
        _put_lock_file(execution, bundle.lock_file)
    act_initialised(execution, lambda: _apply(execution, bundle))


def _apply(execution: Execution, bundle: Bundle) -> None:
    assignment, context = execution.assignment, execution.context
    data_directory = assignment.workspace.data_directory
    check.check_backend_settings(
        bundle.manifest, identity.backend_settings(context.package, data_directory, bundle.manifest.salt)
    )
    execution.check_workspace()
    plan = bundle.extract_plan(context.directory.private_file("plan.bin", "", grows=True))
    if _may_hold_secrets(bundle.manifest, assignment.sensitive_variables):
        _learn_secrets(execution, plan)
    judge_plan(execution, plan)
    arguments = commands.apply_plan_arguments(
        assignment.options, Step.APPLY, plan=plan, variable_files=assignment.ephemeral_files
    )
    take_outputs(execution, execution.run(Step.APPLY, arguments))


def _may_hold_secrets(manifest: Manifest, sensitive: Collection[str]) -> bool:
    """Whether the plan was made with values of sensitive variables that nobody has to give again."""
    given = manifest.identity.variables
    named = {*given.named, *given.defaults}
    return any(name in named or given.files or given.automatic for name in sensitive)


def _learn_secrets(execution: Execution, plan: Path) -> None:
    """What the engine says of an apply must not show them, nor may the log of a run that is killed."""
    context = execution.context
    if context.may_run_remotely:
        return  # the values are there, and the plan has none
    variables = read_document(read_plan(execution, plan)).get("variables", {})
    for name in execution.assignment.sensitive_variables.intersection(variables):
        context.journal.redactor.add(variables[name].get("value"))
    context.directory.keep_secrets(context.journal.redactor.secrets())


def _put_lock_file(execution: Execution, content: bytes) -> None:
    """A clone without one gets the plan's: init may then not choose other providers."""
    path = execution.context.package / LOCK_FILE
    if os.path.lexists(path):
        return
    # In one step: half a lock file would be refused by every later apply.
    temporary = path.with_name(f"{LOCK_FILE}.{execution.context.journal.run}")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(content)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        sentence = f"`{path}` cannot be written: {reason(error)}"
        raise no_room(error, sentence) or BadPackage(
            sentence,
            "the plan needs the providers that it was made with; commit the lock file, or apply in a copy",
        ) from error
