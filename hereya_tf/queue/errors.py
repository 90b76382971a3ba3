"""Why a task of a queue was not done (pure)."""

from hereya_tf.errors import FailureClass, HereyaError


class QueueError(HereyaError):
    """A queue cannot do what was asked of it."""


class TaskCancelledError(QueueError):
    """The task was taken out of the queue before it ran, or between two attempts."""

    failure_class = FailureClass.CANCELLED

    def __init__(self, task_id: int) -> None:
        super().__init__(f"task `{task_id}` was cancelled while it waited")
        self.task_id = task_id


class QueueStoppedError(QueueError):
    """The queue was stopped: it takes nothing more, or has given this task up."""

    failure_class = FailureClass.CANCELLED

    def __init__(self) -> None:
        super().__init__("the queue is stopped")


class QueueKeyStoppedError(QueueError):
    """The key was stopped: nothing of it is taken, and what waited is rejected."""

    failure_class = FailureClass.CANCELLED

    def __init__(self, key: str) -> None:
        super().__init__(f"the queue is stopped for the key `{key}`", "`start_key` opens it again")
        self.key = key
