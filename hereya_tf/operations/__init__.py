"""What each operation does on an engine, step by step, once everything is prepared."""

from typing import assert_never

from hereya_tf.events import Operation
from hereya_tf.operations.execution import Execution, LocksNeeded

__all__ = ["Execution", "LocksNeeded", "perform"]


def perform(execution: Execution) -> None:
    """All steps in order. Raises the error of the first that fails, or the interrupt's.

    Raises LocksNeeded when it was begun without the locks and cannot go on so. Only the operation that is
    asked for is imported, for the engine waits for it.
    """
    match execution.assignment.operation:
        case Operation.PROVISION:
            from hereya_tf.operations.changing import provision as act
        case Operation.DESTROY:
            from hereya_tf.operations.changing import destroy as act
        case Operation.PLAN:
            from hereya_tf.operations.planning import plan as act
        case Operation.DRIFT:
            from hereya_tf.operations.planning import drift as act
        case Operation.APPLY:
            from hereya_tf.operations.applying import apply as act
        case Operation.OUTPUT:
            from hereya_tf.operations.reading import output as act
        case Operation.VALIDATE:
            from hereya_tf.operations.reading import validate as act
        case Operation.INIT:
            from hereya_tf.operations.initialising import initialise as act
        case Operation.TF:
            from hereya_tf.operations.handing_over import tf as act
        case Operation.RECOVER:
            from hereya_tf.operations.recovering import recover as act
        case unknown:
            assert_never(unknown)
    try:
        execution.keeper.check(initialised=False)
        act(execution)
    except BaseException:
        execution.withdraw_lock_file()
        raise
