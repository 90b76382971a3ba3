"""The keyed queue: one task at a time for each key, in order, on at most `width` threads (I/O)."""

import functools
import itertools
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from hereya_tf.queue.alarm import Alarm, SleepingAlarm
from hereya_tf.queue.crew import Crew
from hereya_tf.queue.errors import QueueError, QueueKeyStoppedError, QueueStoppedError, TaskCancelledError
from hereya_tf.queue.machine import Machine, Start
from hereya_tf.queue.results import Resolution, complete, new_future
from hereya_tf.queue.snapshot import DrainReport, Snapshot
from hereya_tf.queue.task import CancelToken, Task

Value = TypeVar("Value")
Arguments = ParamSpec("Arguments")

_MOST_DOUBLINGS = 6


def doubling(attempt: int) -> float:
    """The wait after an attempt unless told otherwise, in seconds: 1, 2, 4, … up to 64."""
    return 2.0 ** min(attempt - 1, _MOST_DOUBLINGS)


class _Work(NamedTuple):
    call: Callable[[CancelToken], Any]
    future: Future[Any]


class _Attempt(NamedTuple):
    start: Start
    call: Callable[[CancelToken], Any]
    cancel: CancelToken


class KeyedQueue:
    """Runs handlers in threads: those with one key one after another, the others side by side.

    `width` is the most that run at once; a slot goes to the task submitted first among those that may start.
    `attempts` is how often a handler that raises an Exception is called altogether. Between two attempts the
    task holds its key, but no slot, for `backoff(attempt)` seconds, `attempt` being the number of the attempt
    just made. `sleep` replaces that wait and gets the seconds; `clock` is the time that `snapshot` shows, in
    seconds since the epoch. Raises ValueError for a width or attempts below 1.

    Every method may be called from any thread, `stop` from none of the queue's own; none from a signal handler.
    The threads do not keep a program alive: end with `stop`, or use the queue as a context manager, which
    stops it without a deadline.
    """

    def __init__(
        self,
        *,
        width: int = 8,
        attempts: int = 1,
        backoff: Callable[[int], float] = doubling,
        sleep: Callable[[float], object] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if width < 1 or attempts < 1:
            raise ValueError(f"width is {width} and attempts is {attempts}, both have to be at least 1")
        self._backoff = backoff
        self._clock = clock
        self._alarm = Alarm() if sleep is None else SleepingAlarm(sleep)
        self._lock = threading.Lock()
        self._machine = Machine(width=width, attempts=attempts)
        self._ids = itertools.count(1)
        self._work: dict[int, _Work] = {}
        # Of tasks that have been started: a hundred thousand that wait do without.
        self._tokens: dict[int, CancelToken] = {}
        self._resolving: set[Future[Any]] = set()
        self._awaiting_drained: list[Future[None]] = []
        self._awaiting_idle: list[Future[None]] = []
        self._crew = Crew(self._lock, take=self._begin, do=self._run_attempt, leave=self._give_back)
        self._thread = threading.local()

    def __enter__(self) -> "KeyedQueue":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def run(
        self,
        key: str | None,
        handler: Callable[Concatenate[CancelToken, Arguments], Value],
        /,
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Task[Value]:
        """Submit a call of `handler(cancel, *args)` and return at once.

        A task without a key waits for no other task. A task that is refused has a result that fails with
        QueueStoppedError or QueueKeyStoppedError. Raises QueueError in a process that was forked.
        """
        self._crew.check_process()
        future: Future[Value] = new_future()
        work = _Work(lambda cancel: handler(cancel, *args, **kwargs), future)
        refusal, homeless = None, list[_Attempt]()
        with self._lock:
            task_id = next(self._ids)
            try:
                self._machine.submit(task_id, key)
            except QueueError as error:
                refusal = error
            else:
                self._work[task_id] = work
                homeless = self._crew.hand_out()
        if refusal is not None:
            future.set_exception(refusal)
        self._crew.launch(homeless)
        return Task(task_id, key, future)

    def cancel(self, task_id: int) -> bool:
        """Take out a task that is not running: its result fails with TaskCancelledError.

        True for one that has not started or waits for its next attempt, false for one that runs, has ended or
        is unknown.
        """
        with self._lock:
            if not self._machine.cancel(task_id):
                return False
            resolutions = [self._take_out(task_id, TaskCancelledError(task_id))]
            homeless = self._crew.hand_out()
        self._crew.launch(homeless)
        self._resolve(resolutions)
        return True

    def request_cancel(self, task_id: int) -> bool:
        """Set the cancel token of a task; one that has not started will start with its token set.

        The task is not tried again. False when it has ended or is unknown.
        """
        with self._lock:
            if not self._machine.request_cancel(task_id):
                return False
            cancel = self._tokens.get(task_id)
        if cancel is not None:
            cancel.set()
        return True

    def pause(self) -> None:
        """Let what runs end, take submissions, start nothing."""
        with self._lock:
            self._machine.pause()

    def resume(self) -> None:
        """Go on after `pause`."""
        self._change(self._machine.resume)

    def pause_key(self, key: str) -> None:
        """Let what runs of this key end, take submissions, start nothing of it, no further attempt either."""
        with self._lock:
            self._machine.pause_key(key)

    def resume_key(self, key: str) -> None:
        """Go on with this key, in order; a stopped key stays stopped."""
        self._change(functools.partial(self._machine.resume_key, key))

    def stop_key(self, key: str) -> int:
        """Reject what waits of this key with QueueKeyStoppedError, and refuse more; returns how many.

        What runs ends without another attempt.
        """
        with self._lock:
            rejected = self._machine.stop_key(key)
            resolutions = [self._take_out(task_id, QueueKeyStoppedError(key)) for task_id in rejected]
        self._resolve(resolutions)
        return len(rejected)

    def start_key(self, key: str) -> bool:
        """Take submissions of this key again, a paused key stays paused; false when it was not stopped."""
        with self._lock:
            return self._machine.start_key(key)

    def is_busy(self, key: str | None) -> bool:
        """Whether a task of this key runs, is queued or waits for its next attempt; None is never busy."""
        with self._lock:
            return self._machine.is_busy(key)

    def snapshot(self) -> Snapshot:
        """The queue at this moment: how much there is of what, and for every key what holds it."""
        with self._lock:
            return self._machine.snapshot()

    def when_idle(self) -> Future[None]:
        """Done as soon as nothing runs, is queued or waits for its next attempt.

        All results are there by then, and their callbacks have run.
        """
        future: Future[None] = new_future()
        with self._lock:
            self._awaiting_idle.append(future)
            ready = self._release_waiters()
        complete(ready)
        return future

    def stop(self, deadline: float | None = None) -> DrainReport:
        """Refuse submissions, wait until all tasks have ended, and report what became of them.

        Waits `deadline` seconds at most, without end for None; a pause holds nothing from now on, `cancel` and
        the like work as ever. At the deadline the results of what is left fail with QueueStoppedError, and
        handlers that still run have their cancel token set. A second call waits as well and reports the same.
        Raises QueueError when a handler or a callback of the queue calls it: it would wait for itself.
        """
        if getattr(self._thread, "is_ours", False):
            raise QueueError(
                "a task of the queue cannot stop it: it would wait for itself",
                "call `stop` from another thread",
            )
        drained: Future[None] = new_future()
        with self._lock:
            self._machine.stop()
            self._awaiting_drained.append(drained)
            ready = self._release_waiters()
            homeless = self._crew.hand_out()
        complete(ready)
        self._crew.launch(homeless)
        try:
            drained.result(None if deadline is None else min(max(0.0, deadline), threading.TIMEOUT_MAX))
        except TimeoutError:
            self._abandon()
        with self._lock:
            return self._machine.report()

    def _abandon(self) -> None:
        with self._lock:
            left = self._machine.abandon()
            tokens = [self._tokens[task_id] for task_id in left if task_id in self._tokens]
            resolutions = [self._take_out(task_id, QueueStoppedError()) for task_id in left]
            underway = set(self._resolving)
        for cancel in tokens:
            cancel.set()
        self._resolve(resolutions)
        # A result that was decided just before the deadline may not have reached its future yet.
        wait(underway)

    def _change(self, transition: Callable[[], None]) -> None:
        """A transition after which more may start."""
        with self._lock:
            transition()
            homeless = self._crew.hand_out()
        self._crew.launch(homeless)

    def _start_more(self) -> None:
        with self._lock:
            homeless = self._crew.hand_out()
        self._crew.launch(homeless)

    def _begin(self) -> _Attempt | None:
        start = self._machine.start_next()
        if start is None:
            return None
        cancel = self._tokens.setdefault(start.task_id, CancelToken())
        if start.cancel_requested:
            cancel.set()
        return _Attempt(start, self._work[start.task_id].call, cancel)

    def _give_back(self, attempt: _Attempt, error: RuntimeError) -> None:
        with self._lock:
            if self._crew.hand_over(attempt) or self._machine.put_back(attempt.start.task_id):
                return
        # No other thread is there that would come back for it.
        self._end(attempt, error)
        self._start_more()

    def _run_attempt(self, attempt: _Attempt) -> None:
        """One attempt at a task, and what follows from how it ended."""
        self._thread.is_ours = True
        try:
            value = attempt.call(attempt.cancel)
        except BaseException as error:  # noqa: BLE001 - whatever ends a handler is the result of its task
            self._thread.is_ours = False
            self._after_failure(attempt, error)
        else:
            self._thread.is_ours = False
            self._end(attempt, None, value)

    def _after_failure(self, attempt: _Attempt, error: BaseException) -> None:
        try:
            if isinstance(error, Exception) and self._backs_off(attempt.start):
                return
        except BaseException as fault:  # noqa: BLE001 - `backoff` is the caller's, or there can be no more threads
            fault.__cause__ = error
            error = fault
        self._end(attempt, error)

    def _backs_off(self, start: Start) -> bool:
        with self._lock:
            if not self._machine.may_retry(start.task_id):
                return False
        seconds = max(0.0, self._backoff(start.attempt))
        until = self._clock() + seconds
        with self._lock:
            # Asked again: meanwhile it may have been cancelled, or its key stopped.
            if not self._machine.may_retry(start.task_id):
                return False
            self._alarm.after(seconds, functools.partial(self._wake, start))
            self._machine.back_off(start.task_id, until)
        return True

    def _wake(self, start: Start) -> None:
        self._change(functools.partial(self._machine.wake, start.task_id, start.attempt))

    def _end(self, attempt: _Attempt, error: BaseException | None, value: object = None) -> None:
        task_id = attempt.start.task_id
        with self._lock:
            is_wanted = self._machine.complete(task_id) if error is None else self._machine.fail(task_id)
            resolutions = [self._take_out(task_id, error, value)] if is_wanted else []
        self._resolve(resolutions)

    def _take_out(self, task_id: int, error: BaseException | None, value: object = None) -> Resolution:
        future = self._work.pop(task_id).future
        self._tokens.pop(task_id, None)
        self._resolving.add(future)
        return Resolution(future, error, value)

    def _resolve(self, resolutions: Iterable[Resolution]) -> None:
        """Let results reach their futures; every one does, whatever the callbacks of another raise."""
        was_own, self._thread.is_ours = getattr(self._thread, "is_ours", False), True
        raised = None
        for resolution in resolutions:
            try:
                resolution.resolve()
            except BaseException as error:  # noqa: BLE001 - raised again below
                raised = error
        self._thread.is_ours = was_own
        with self._lock:
            self._resolving.difference_update(resolution.future for resolution in resolutions)
            ready = self._release_waiters()
        complete(ready)
        if raised is not None:
            raise raised

    def _release_waiters(self) -> list[Future[None]]:
        """Takes out the waits that are over; forgets the alarm's when nothing is left."""
        ready: list[Future[None]] = []
        if not self._resolving and self._machine.is_drained:
            ready, self._awaiting_drained = self._awaiting_drained, []
            if self._machine.is_idle:
                self._alarm.clear()
                ready, self._awaiting_idle = ready + self._awaiting_idle, []
        return ready
