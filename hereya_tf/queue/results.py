"""Futures, and how they get their results."""

from collections.abc import Iterable
from concurrent.futures import Future
from typing import Any, NamedTuple


class Resolution(NamedTuple):
    """A result that is decided and has yet to reach its future: outside the lock, callbacks may do anything."""

    future: Future[Any]
    error: BaseException | None
    value: Any = None

    def resolve(self) -> None:
        """Resolve the future; raises what its callbacks raise, but for an Exception."""
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.value)


def new_future() -> Future[Any]:
    """A future that nobody but the queue ends: from the start as if it ran, `cancel()` does nothing."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()
    return future


def complete(waiting: Iterable[Future[None]]) -> None:
    """End these waits."""
    for future in waiting:
        future.set_result(None)
