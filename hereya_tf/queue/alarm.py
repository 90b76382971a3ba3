"""Calls that come later, all of them on one thread (I/O)."""

import heapq
import itertools
import threading
import time
from collections.abc import Callable


class Alarm:
    """Rings once for every `after`; its thread lives as long as there is something to wait for."""

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()
        self._is_awake = False

    def after(self, seconds: float, ring: Callable[[], None]) -> None:
        """Call `ring` in so many seconds. Raises RuntimeError when there can be no thread for it."""
        with self._changed:
            if not self._is_awake:
                threading.Thread(target=self._keep, name="hereya-queue-alarm", daemon=True).start()
                self._is_awake = True
            heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), ring))
            self._changed.notify()

    def clear(self) -> None:
        """Forget everything that has not rung."""
        with self._changed:
            self._due.clear()
            self._changed.notify()

    def _keep(self) -> None:
        while (ring := self._next()) is not None:
            try:
                ring()
            except BaseException as error:  # noqa: BLE001 - told as the end of a thread would be; others want their call
                threading.excepthook(
                    threading.ExceptHookArgs(
                        (type(error), error, error.__traceback__, threading.current_thread())
                    )
                )

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while self._due:
                seconds = self._due[0][0] - time.monotonic()
                if seconds <= 0:
                    return heapq.heappop(self._due)[2]
                self._changed.wait(min(seconds, threading.TIMEOUT_MAX))
            self._is_awake = False
            return None


class SleepingAlarm:
    """An alarm that waits with a `sleep` of the caller's, on a thread for each wait."""

    def __init__(self, sleep: Callable[[float], object]) -> None:
        self._sleep = sleep

    def after(self, seconds: float, ring: Callable[[], None]) -> None:
        """Call `ring` when `sleep` has returned. Raises RuntimeError when there can be no thread for it."""
        threading.Thread(
            target=self._wait, args=(seconds, ring), name="hereya-queue-sleep", daemon=True
        ).start()

    def clear(self) -> None:
        """Nothing: a sleep of the caller's cannot be ended, and whom it wakes knows whether it is still wanted."""

    def _wait(self, seconds: float, ring: Callable[[], None]) -> None:
        try:
            self._sleep(seconds)
        finally:
            ring()
