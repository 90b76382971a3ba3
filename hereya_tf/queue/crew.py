"""Threads that take one piece of work after another (I/O)."""

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from hereya_tf.queue.errors import QueueError

Work = TypeVar("Work")


class Crew(Generic[Work]):
    """As many threads as there is work for at once; one that has none waits `linger` seconds for the next.

    `take` gives the next work that may be done now, or None; it is called with `lock` held. `do` does it, in a
    thread of the crew. `leave` gets the work, and the error, when there can be no thread for it.
    """

    def __init__(
        self,
        lock: AbstractContextManager[object],
        *,
        take: Callable[[], Work | None],
        do: Callable[[Work], None],
        leave: Callable[[Work, RuntimeError], None],
        linger: float = 1.0,
    ) -> None:
        self._lock = lock
        self._take = take
        self._do = do
        self._leave = leave
        self._linger = linger
        self._process = os.getpid()
        self._waiting = 0
        self._handed_out: SimpleQueue[Work] = SimpleQueue()

    def check_process(self) -> None:
        """Raise QueueError in a child that was forked: the threads have stayed with the parent."""
        if self._process != os.getpid():
            raise QueueError(
                "the queue is of the process that this one was forked from",
                "make a queue in the child as well",
            )

    def hand_out(self) -> list[Work]:
        """Give work to threads that wait for it; returns what has to be launched, when `lock` is free."""
        homeless = []
        while (work := self._take()) is not None:
            if not self.hand_over(work):
                homeless.append(work)
        return homeless

    def hand_over(self, work: Work) -> bool:
        """Give work to a thread that waits for it, when there is one; called with `lock` held."""
        if not self._waiting:
            return False
        self._waiting -= 1
        self._handed_out.put(work)
        return True

    def launch(self, homeless: Iterable[Work]) -> None:
        """Start a thread for each of these."""
        for work in homeless:
            # A daemon: a program that has given its work up does not wait for it.
            thread = threading.Thread(target=self._serve, args=(work,), name="hereya-queue", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                self._leave(work, error)

    def _serve(self, work: Work | None) -> None:
        try:
            while work is not None:
                self._do(work)
                work = self._next()
        except BaseException:
            # This thread ends with it; what may be done now needs another one.
            with self._lock:
                homeless = self.hand_out()
            self.launch(homeless)
            raise

    def _next(self) -> Work | None:
        with self._lock:
            if (work := self._take()) is not None:
                return work
            self._waiting += 1
        try:
            return self._handed_out.get(timeout=self._linger)
        except Empty:
            with self._lock:
                if self._waiting:
                    self._waiting -= 1
                    return None
            # Somebody has counted on this thread at the last moment.
            return self._handed_out.get()
