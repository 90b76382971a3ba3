"""Follows a job to its end, whatever the control plane does meanwhile (I/O: the clock)."""

import functools
import random
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from hereya_tf.control_plane.client import ControlPlaneClient
from hereya_tf.control_plane.errors import ControlPlaneError
from hereya_tf.control_plane.log_tail import News, Tail, news
from hereya_tf.control_plane.patience import Patience, back_off
from hereya_tf.control_plane.records import Job
from hereya_tf.durations import format_duration
from hereya_tf.errors import TimedOut

Answer = TypeVar("Answer")

# Seconds between two questions that the server does not hold: without news, and while the log grows.
_QUIET = 1.0
_BUSY = 0.1
# A part of the log that is shorter is its last one (`openapi.json`).
_SHORTEST_PART = 64 * 1024  # bytes


class Limit:
    """Until when anything is waited for; without seconds, for ever."""

    def __init__(self, seconds: float | None, what: str, *hints: str) -> None:
        self._seconds = seconds
        self._what = what
        self._hints = hints
        self._ends = None if seconds is None else time.monotonic() + seconds

    def look(self) -> None:
        """Raises TimedOut when it has passed."""
        if self._ends is not None and self._seconds is not None and time.monotonic() >= self._ends:
            raise TimedOut(f"{self._what} within `{format_duration(self._seconds)}`", *self._hints)

    def pause(self, seconds: float) -> None:
        """Wait; raises TimedOut as soon as the limit passes."""
        left = seconds if self._ends is None else min(seconds, self._ends - time.monotonic())
        time.sleep(max(0.0, left))
        self.look()


class Persistence:
    """Asks again and again, until the control plane says no for good, or nothing for minutes.

    Only for what may be asked twice. `tell` hears, in a sentence, why there is another attempt.
    """

    def __init__(self, tell: Callable[[str], object], limit: Limit) -> None:
        self._tell = tell
        self._limit = limit
        self._patience = Patience(time.monotonic())

    def ask(self, call: Callable[[], Answer]) -> Answer:
        """What `call` returns at last; raises ControlPlaneError, TimedOut, and what else `call` raises."""
        while True:
            try:
                answer = call()
            except ControlPlaneError as error:
                self._patience = self._patience.after_failure(error)
                if self._patience.is_over(error, time.monotonic()):
                    raise
                seconds = back_off(self._patience.failures, random.random())  # noqa: S311 - no secret
                self._tell(f"the control plane fails: {error.reason}; it is asked again in {seconds:.1f} s")
                self._limit.pause(seconds)
            else:
                self._patience = self._patience.after_success(time.monotonic())
                return answer


class Listener(NamedTuple):
    """Who follows a job: hears its log as it grows, and sentences about what happens besides."""

    show: Callable[[str], object]
    tell: Callable[[str], object]


def follow(
    client: ControlPlaneClient, workspace: str, job_id: str, listener: Listener, limit: Limit, *, to_end: bool
) -> Job:
    """The job as it is at its end, when all of its log was shown; or as it is now.

    Raises TimedOut, and ControlPlaneError when the control plane says no for good, or nothing for minutes.
    """
    tail, held = Tail(), None
    persistence = Persistence(listener.tell, limit)
    while True:
        asked_at = time.monotonic()
        asked = functools.partial(client.status, workspace, job_id, last_status=held, look=limit.look)
        job = persistence.ask(functools.partial(asked, logs_offset=tail.offset))
        found = _shown(news(tail, job), tail, job, listener)
        tail = found.tail
        is_held = to_end and not job.status.is_terminal
        if not (is_held or found.is_behind or _has_more(found.text, job)):
            return job
        if is_held and held is not None:  # a server that holds nothing must not be asked without a pause
            wanted = _BUSY if found.text else _QUIET
            limit.pause(max(0.0, wanted - (time.monotonic() - asked_at)))
        held = job.status if is_held and not found.is_behind else None


def _has_more(text: str, job: Job) -> bool:
    """Whether it is worth asking for more of the log. Of one that has ended nothing is to be missed."""
    return bool(text) and (job.status.is_terminal or len(text.encode("utf-8", "replace")) >= _SHORTEST_PART)


def _shown(found: News, tail: Tail, job: Job, listener: Listener) -> News:
    if tail.attempt not in (None, job.attempt):
        listener.tell(f"attempt {job.attempt} has begun")
    if found.text:
        listener.show(found.text)
    return found
