"""Threads that take one job after another (I/O)."""

import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

Job = TypeVar("Job")


class Crew(Generic[Job]):
    """As many threads as there are jobs at once; one that has none waits `linger` seconds for the next.

    `take` gives the next job that may be done now, or None; it is called with `lock` held. `do` does it, in a
    thread of the crew. `leave` gets a job, and the error, when there can be no thread for it.
    """

    def __init__(
        self,
        lock: AbstractContextManager[object],
        *,
        take: Callable[[], Job | None],
        do: Callable[[Job], None],
        leave: Callable[[Job, RuntimeError], None],
        linger: float = 1.0,
    ) -> None:
        self._lock = lock
        self._take = take
        self._do = do
        self._leave = leave
        self._linger = linger
        self._waiting = 0
        self._handed_out: SimpleQueue[Job] = SimpleQueue()

    def hand_out(self) -> list[Job]:
        """Give jobs to threads that wait for one; returns those that are to be launched, when `lock` is free."""
        homeless = []
        while (job := self._take()) is not None:
            if not self.hand_over(job):
                homeless.append(job)
        return homeless

    def hand_over(self, job: Job) -> bool:
        """Give a job to a thread that waits for one, when there is one; called with `lock` held."""
        if not self._waiting:
            return False
        self._waiting -= 1
        self._handed_out.put(job)
        return True

    def launch(self, jobs: Iterable[Job]) -> None:
        """Start a thread for each of these."""
        for job in jobs:
            # A daemon: a program that has given its work up does not wait for it.
            thread = threading.Thread(target=self._serve, args=(job,), name="hereya-queue", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                self._leave(job, error)

    def _serve(self, job: Job | None) -> None:
        try:
            while job is not None:
                self._do(job)
                job = self._next()
        except BaseException:
            # This thread ends with it; what may be done now needs another one.
            with self._lock:
                homeless = self.hand_out()
            self.launch(homeless)
            raise

    def _next(self) -> Job | None:
        with self._lock:
            if (job := self._take()) is not None:
                return job
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
