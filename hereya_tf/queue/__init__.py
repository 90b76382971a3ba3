"""Work in threads, one task at a time for each key, in the order it came.

`KeyedQueue` runs it, `job_key` says which jobs have to take turns. Usable alone; what has to do with threads is
loaded when it is used.
"""

from typing import TYPE_CHECKING, Any

from hereya_tf.queue.errors import QueueError, QueueKeyStoppedError, QueueStoppedError, TaskCancelledError
from hereya_tf.queue.keys import job_key
from hereya_tf.queue.snapshot import DrainReport, KeyState, Snapshot

if TYPE_CHECKING:
    from hereya_tf.queue.keyed import KeyedQueue
    from hereya_tf.queue.task import CancelToken, Task

__all__ = [
    "CancelToken",
    "DrainReport",
    "KeyState",
    "KeyedQueue",
    "QueueError",
    "QueueKeyStoppedError",
    "QueueStoppedError",
    "Snapshot",
    "Task",
    "TaskCancelledError",
    "job_key",
]

_HOMES = {"CancelToken": "task", "KeyedQueue": "keyed", "Task": "task"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
