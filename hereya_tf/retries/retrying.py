"""Tries the failed steps of a run again: counts, waits, tells (I/O)."""

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hereya_tf import events
from hereya_tf.retries import Retries, Situation

if TYPE_CHECKING:
    from hereya_tf.failure.diagnosis import Diagnosis

# As often as a screen is painted.
_SLICE_SECONDS = 0.1


def any_chance() -> float:
    """A number from 0 up to 1 that nobody can tell before; `random` takes 2 ms to load."""
    return int.from_bytes(os.urandom(4)) / (1 << 32)


class Retrying:
    """The tries of one run, however often it begins anew; `pause` waits so many seconds, less when it is to end."""

    def __init__(
        self,
        wish: Retries,
        *,
        emit: Callable[[events.Event], None],
        pause: Callable[[float], None],
        chance: Callable[[], float] = any_chance,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wish = wish
        self._emit = emit
        self._pause = pause
        self._chance = chance
        self._clock = clock
        self._retried: dict[str, int] = {}

    def settle(self, step: str, attempt: int, diagnosis: "Diagnosis", at: Situation) -> "Diagnosis | None":
        """None after the wait for another try; else the diagnosis with what there is to say about that.

        `attempt` is the number of the one that has failed. Raises what `pause` does.
        """
        if not self._wish.most:
            return diagnosis
        from hereya_tf.retries.decision import decide

        retried = self._retried.get(step, 0)
        verdict = decide(diagnosis, at, self._wish, retried=retried, chance=self._chance())
        if verdict.seconds is None:
            return verdict.told(diagnosis)
        self._retried[step] = retried + 1
        self._emit(events.Retry(step, diagnosis.failure_class, attempt + 1, round(verdict.seconds, 3)))
        end = self._clock() + verdict.seconds
        while (left := end - self._clock()) > 0:
            self._pause(min(left, _SLICE_SECONDS))
        return None
