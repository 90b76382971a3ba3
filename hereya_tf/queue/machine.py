"""Which task may start, and what becomes of it: the keyed queue without threads and clocks (pure)."""

import heapq
from collections import OrderedDict
from enum import Enum
from typing import NamedTuple

from hereya_tf.queue.errors import QueueKeyStoppedError, QueueStoppedError
from hereya_tf.queue.snapshot import DrainReport, KeyState, Snapshot

# Places in line whose tasks were cancelled are swept away when they are more than those in use, and these.
_TOLERATED = 64


class Start(NamedTuple):
    """A task that was given a slot; `attempt` counts from 1."""

    task_id: int
    attempt: int
    cancel_requested: bool


class _Phase(Enum):
    QUEUED = "queued"
    RUNNING = "running"
    BACKING_OFF = "backing off"


class _Task:
    __slots__ = (
        "attempts",
        "cancel_requested",
        "is_abandoned",
        "is_last_try",
        "line",
        "number",
        "phase",
        "until",
    )

    def __init__(self, number: int, line: "_Line") -> None:
        self.number = number
        self.line = line
        self.phase = _Phase.QUEUED
        self.attempts = 0
        self.until: float | None = None
        self.cancel_requested = False
        self.is_last_try = False
        self.is_abandoned = False


class _Line:
    """The tasks of one key, or a single task without one; the first holds the key until it has an outcome."""

    __slots__ = ("is_offered", "key", "tasks")

    def __init__(self, key: str | None) -> None:
        self.key = key
        self.tasks: OrderedDict[int, _Task] = OrderedDict()
        self.is_offered = False

    @property
    def waiting_head(self) -> _Task | None:
        head = next(iter(self.tasks.values()), None)
        return head if head is not None and head.phase is _Phase.QUEUED else None


class Machine:
    """The state of a keyed queue; every method is one transition, and none waits.

    A free slot goes to the task that was submitted first among those that may start.
    """

    def __init__(self, *, width: int, attempts: int) -> None:
        self._width = width
        self._attempts = attempts
        self._tasks: dict[int, _Task] = {}
        self._lines: dict[str, _Line] = {}
        # Lines by their first task; a line is here at most once, and is looked at again when its turn comes.
        self._offered: list[tuple[int, _Line]] = []
        self._running = 0
        self._running_abandoned = 0
        self._is_paused = False
        self._paused_keys: set[str] = set()
        self._stopped_keys: set[str] = set()
        self._is_stopping = False
        self._completed = 0
        self._failed = 0
        self._abandoned = 0
        self._before_stop = (0, 0)

    def submit(self, task_id: int, key: str | None) -> None:
        """Take a task in; ids ascend. Raises QueueStoppedError, QueueKeyStoppedError."""
        if self._is_stopping:
            raise QueueStoppedError
        if key is not None and key in self._stopped_keys:
            raise QueueKeyStoppedError(key)
        line = self._lines.get(key) if key is not None else None
        if line is None:
            line = _Line(key)
            if key is not None:
                self._lines[key] = line
        task = _Task(task_id, line)
        self._tasks[task_id] = line.tasks[task_id] = task
        self._offer(line)

    def start_next(self) -> Start | None:
        """Give a slot to the next task that may start; None when there is no slot or no such task."""
        if self._running >= self._width or (self._is_paused and not self._is_stopping):
            return None
        while self._offered:
            number, line = heapq.heappop(self._offered)
            line.is_offered = False
            head = line.waiting_head
            if head is None or self._is_held(line):
                continue
            if head.number != number:
                self._offer(line)
                continue
            head.phase = _Phase.RUNNING
            head.attempts += 1
            self._running += 1
            return Start(head.number, head.attempts, head.cancel_requested)
        return None

    def put_back(self, task_id: int) -> bool:
        """Undo the start of a task that could not run; False when no other runs whose end would start it."""
        if self._running == 1:
            return False
        task = self._tasks[task_id]
        if task.is_abandoned:
            return False
        task.attempts -= 1
        self._release(task, _Phase.QUEUED)
        return True

    def complete(self, task_id: int) -> bool:
        """The handler has returned; False when the task's outcome was decided before."""
        return self._end(task_id, is_success=True)

    def fail(self, task_id: int) -> bool:
        """The handler has failed for good; False when the task's outcome was decided before."""
        return self._end(task_id, is_success=False)

    def may_retry(self, task_id: int) -> bool:
        """Whether a running task is tried again when it fails now."""
        task = self._tasks[task_id]
        is_over = task.is_abandoned or task.is_last_try or task.cancel_requested
        return not is_over and task.attempts < self._attempts

    def back_off(self, task_id: int, until: float) -> None:
        """A running task has failed and waits for its next attempt; it gives up its slot, not its key."""
        task = self._tasks[task_id]
        task.until = until
        self._release(task, _Phase.BACKING_OFF)

    def wake(self, task_id: int, attempt: int) -> None:
        """The wait after that attempt is over; nothing happens when the task is not waiting any more."""
        task = self._tasks.get(task_id)
        if task is None or task.phase is not _Phase.BACKING_OFF or task.attempts != attempt:
            return
        task.phase = _Phase.QUEUED
        task.until = None
        self._offer(task.line)

    def cancel(self, task_id: int) -> bool:
        """Take out a task that does not run; False for one that runs or is not there."""
        task = self._tasks.get(task_id)
        if task is None or task.phase is _Phase.RUNNING:
            return False
        self._leave(task)
        self._failed += 1
        return True

    def request_cancel(self, task_id: int) -> bool:
        """Whether there is such a task; it starts with its token set from now on, and is not tried again."""
        task = self._tasks.get(task_id)
        if task is None:
            return False
        task.cancel_requested = True
        return True

    def pause(self) -> None:
        """Start nothing."""
        self._is_paused = True

    def resume(self) -> None:
        """Start tasks again."""
        self._is_paused = False

    def pause_key(self, key: str) -> None:
        """Start nothing of this key."""
        self._paused_keys.add(key)

    def resume_key(self, key: str) -> None:
        """Start tasks of this key again."""
        self._paused_keys.discard(key)
        if line := self._lines.get(key):
            self._offer(line)

    def stop_key(self, key: str) -> tuple[int, ...]:
        """Close a key; returns the tasks that are rejected by it. What runs is not tried again."""
        self._stopped_keys.add(key)
        line = self._lines.get(key)
        if line is None:
            return ()
        rejected = tuple(task for task in line.tasks.values() if task.phase is not _Phase.RUNNING)
        # From behind: what is left of the line is never offered a slot meanwhile.
        for task in reversed(rejected):
            self._leave(task)
        for task in line.tasks.values():
            task.is_last_try = True
        self._failed += len(rejected)
        return tuple(task.number for task in rejected)

    def start_key(self, key: str) -> bool:
        """Open a key again; False when it was not stopped."""
        was_stopped = key in self._stopped_keys
        self._stopped_keys.discard(key)
        return was_stopped

    def stop(self) -> None:
        """Take nothing more and let all that is here run to its end; a pause holds nothing from now on."""
        if self._is_stopping:
            return
        self._is_stopping = True
        self._before_stop = (self._completed, self._failed)
        for key in self._paused_keys & self._lines.keys():
            self._offer(self._lines[key])

    def abandon(self) -> tuple[int, ...]:
        """Give up every task that has no outcome yet; what runs goes on to its end for nobody."""
        left = tuple(task for task in self._tasks.values() if not task.is_abandoned)
        for task in left:
            if task.phase is _Phase.RUNNING:
                task.is_abandoned = True
                self._running_abandoned += 1
            else:
                self._leave(task)
        self._abandoned += len(left)
        return tuple(task.number for task in left)

    @property
    def is_drained(self) -> bool:
        """Whether every task has its outcome; a handler whose task was given up may still run."""
        return len(self._tasks) == self._running_abandoned

    @property
    def is_idle(self) -> bool:
        """Whether nothing runs, is queued, or waits to be tried again."""
        return not self._tasks

    def is_busy(self, key: str | None) -> bool:
        """Whether there is a task of this key; None is never busy."""
        return key is not None and key in self._lines

    def report(self) -> DrainReport:
        """The outcomes since `stop`."""
        completed, failed = self._before_stop
        return DrainReport(
            completed=self._completed - completed,
            failed=self._failed - failed,
            abandoned=self._abandoned,
            timed_out=self._abandoned > 0,
        )

    def snapshot(self) -> Snapshot:
        """The queue as it is now."""
        return Snapshot(
            running=self._running,
            queued=len(self._tasks) - self._running,
            keys={key: _state(line) for key, line in self._lines.items()},
            paused=self._is_paused,
            paused_keys=tuple(sorted(self._paused_keys)),
            stopped_keys=tuple(sorted(self._stopped_keys)),
            completed=self._completed,
            failed=self._failed,
        )

    def _is_held(self, line: _Line) -> bool:
        return not self._is_stopping and line.key is not None and line.key in self._paused_keys

    def _offer(self, line: _Line) -> None:
        head = line.waiting_head
        if head is not None and not line.is_offered and not self._is_held(line):
            line.is_offered = True
            heapq.heappush(self._offered, (head.number, line))
            if len(self._offered) > 2 * len(self._tasks) + _TOLERATED:
                self._offered = [place for place in self._offered if place[1].tasks]
                heapq.heapify(self._offered)

    def _release(self, task: _Task, phase: _Phase) -> None:
        task.phase = phase
        self._running -= 1
        self._offer(task.line)

    def _end(self, task_id: int, *, is_success: bool) -> bool:
        task = self._tasks[task_id]
        self._running -= 1
        self._leave(task)
        if task.is_abandoned:
            self._running_abandoned -= 1
            return False
        if is_success:
            self._completed += 1
        else:
            self._failed += 1
        return True

    def _leave(self, task: _Task) -> None:
        line = task.line
        del self._tasks[task.number], line.tasks[task.number]
        if line.tasks:
            self._offer(line)
        elif line.key is not None:
            del self._lines[line.key]


def _state(line: _Line) -> KeyState:
    head = next(iter(line.tasks.values()))
    if head.phase is _Phase.QUEUED:
        return KeyState(None, None, len(line.tasks))
    return KeyState(head.number, head.until, len(line.tasks) - 1)
