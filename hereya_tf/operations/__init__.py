"""What each operation does on an engine, step by step, once everything is prepared."""

from collections.abc import Mapping

from hereya_tf.events import Operation
from hereya_tf.operations.performance import LocksNeeded, Performance

__all__ = ["LocksNeeded", "Performance", "perform"]

# operation -> (module, function); only the one that is asked for is imported, for the engine waits for it.
_ACTS: Mapping[Operation, tuple[str, str]] = {
    Operation.PROVISION: ("changing", "provision"),
    Operation.DESTROY: ("changing", "destroy"),
    Operation.PLAN: ("planning", "plan"),
    Operation.DRIFT: ("planning", "drift"),
    Operation.APPLY: ("applying", "apply"),
    Operation.OUTPUT: ("reading", "output"),
    Operation.VALIDATE: ("reading", "validate"),
    Operation.INIT: ("initialising", "initialise"),
    Operation.TF: ("handing_over", "tf"),
}


def perform(performance: Performance) -> None:
    """All steps in order. Raises the error of the first that fails, or the interrupt's.

    Raises LocksNeeded when it was begun without the locks and cannot go on so.
    """
    import importlib

    module, function = _ACTS[performance.assignment.operation]
    getattr(importlib.import_module(f"{__name__}.{module}"), function)(performance)
