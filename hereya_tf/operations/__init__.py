"""What each operation does on an engine, step by step, once everything is prepared."""

from collections.abc import Callable, Mapping

from hereya_tf.events import Operation
from hereya_tf.operations import changing, planning, reading
from hereya_tf.operations.initialising import act_initialised, initialise
from hereya_tf.operations.performance import LocksNeeded, Performance

__all__ = ["LocksNeeded", "Performance", "perform"]

_AFTER_INIT: Mapping[Operation, Callable[[Performance], None]] = {
    Operation.PROVISION: changing.provision,
    Operation.DESTROY: changing.destroy,
    Operation.PLAN: planning.plan,
    Operation.DRIFT: planning.drift,
    Operation.OUTPUT: reading.output,
}
_WITHOUT_INIT: Mapping[Operation, Callable[[Performance], None]] = {
    Operation.INIT: initialise,
    Operation.VALIDATE: reading.validate,
}


def perform(performance: Performance) -> None:
    """All steps in order. Raises the error of the first that fails, or the interrupt's.

    Raises LocksNeeded when it was begun without the locks and cannot go on so.
    """
    operation = performance.assignment.operation
    if operation in _WITHOUT_INIT:
        _WITHOUT_INIT[operation](performance)
    else:
        act_initialised(performance, _AFTER_INIT[operation])
