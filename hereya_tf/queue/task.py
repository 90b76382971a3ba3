"""A task of the queue as its submitter and its handler see it."""

import threading
from concurrent.futures import Future
from typing import Generic, NamedTuple, TypeVar

Value = TypeVar("Value")


class CancelToken:
    """Tells a handler that its work is not wanted any more; the handler decides how it ends."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask the handler to end."""
        self._event.set()

    def is_set(self) -> bool:
        """Whether the handler was asked to end."""
        return self._event.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the handler is asked to end, for at most so many seconds; returns whether it was."""
        return self._event.wait(seconds)


class Task(NamedTuple, Generic[Value]):
    """What was submitted; `result` gives the handler's own value, or raises the last error.

    `result.cancel()` does nothing, `KeyedQueue.cancel` does. A callback of `result` runs on a thread of the
    queue and has to be short.
    """

    id: int
    key: str | None
    result: Future[Value]
