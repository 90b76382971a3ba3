"""`apply`: exactly the plan of a bundle, where it belongs."""

from hereya_tf.bundle import check, digest
from hereya_tf.bundle.file import Bundle
from hereya_tf.engine import commands
from hereya_tf.engine.commands import Step
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.errors import BadPackage
from hereya_tf.operations.changing import take_outputs
from hereya_tf.operations.initialising import act_initialised
from hereya_tf.operations.performance import Performance
from hereya_tf.reading import reason


def apply(performance: Performance) -> None:
    """Check that the plan belongs here, initialise with the lock file that it was made with, and apply it."""
    bundle = performance.assignment.bundle
    assert bundle is not None
    check.check_before_init(bundle.manifest, performance.assignment.identify(bundle.manifest.salt))
    if bundle.lock_file is not None:
        _put_lock_file(performance, bundle.lock_file)
    act_initialised(performance, lambda: _apply(performance, bundle))


def _apply(performance: Performance, bundle: Bundle) -> None:
    assignment, context = performance.assignment, performance.context
    data_directory = assignment.workspace.data_directory
    check.check_backend_settings(
        bundle.manifest, digest.backend_settings(context.package, data_directory, bundle.manifest.salt)
    )
    performance.check_workspace()
    plan = bundle.extract_plan(context.directory.private_file("plan.bin", ""))
    arguments = commands.apply_plan_arguments(
        assignment.options, Step.APPLY, plan=plan, variable_files=assignment.ephemeral_files
    )
    take_outputs(performance, performance.run(Step.APPLY, arguments))


def _put_lock_file(performance: Performance, content: bytes) -> None:
    """A clone without one gets the plan's: init may then not choose other providers."""
    path = performance.context.package / LOCK_FILE
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return
    except OSError as error:
        raise BadPackage(
            f"`{path}` cannot be written: {reason(error)}",
            "the plan needs the providers that it was made with; commit the lock file, or apply in a copy",
        ) from error
