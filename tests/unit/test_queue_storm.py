"""The keyed queue under many threads that do everything at once."""

import random
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import wait
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hereya_tf.queue import (
    CancelToken,
    DrainReport,
    KeyedQueue,
    QueueKeyStoppedError,
    QueueStoppedError,
    Task,
    TaskCancelledError,
)

PATIENCE = 60.0
KEYS = tuple(f"key-{number}" for number in range(12))
WIDTH = 6
ATTEMPTS = 3
NEVER = threading.Event()


@pytest.fixture
def restless() -> Iterator[None]:
    """Threads take turns a hundred times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 100)
    yield
    sys.setswitchinterval(usual)


class Failed(Exception):
    """What a handler here fails with."""


class Witness:
    """Handlers that see who else is at work, and in which order the tasks of a key have started."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.at_work: Counter[str | None] = Counter()
        self.faults: list[str] = []
        self.most_at_work = 0
        self.attempts: dict[str, list[int]] = {key: [] for key in KEYS}

    def __call__(self, cancel: CancelToken, key: str | None, number: int, failures: int) -> int:
        with self.lock:
            self.at_work[key] += 1
            if key is not None:
                self.attempts[key].append(number)
                if self.at_work[key] > 1:
                    self.faults.append(f"{number} of {key} overlaps")
            self.most_at_work = max(self.most_at_work, self.at_work.total())
        cancel.wait(0.0005)
        with self.lock:
            self.at_work[key] -= 1
            tried = self.attempts[key].count(number) if key is not None else ATTEMPTS
        if tried <= failures:
            raise Failed(number)
        return number


class Submitter:
    """A thread that submits, and that cancels, pauses and stops what it comes across."""

    def __init__(self, queue: KeyedQueue, witness: Witness, name: int, count: int) -> None:
        self.queue = queue
        self.witness = witness
        self.choose = random.Random(name)
        self.numbers = range(name * count, (name + 1) * count)
        self.tasks: list[tuple[int, Task[int]]] = []
        self.cancelled: set[int] = set()
        self.rejected = 0

    def __call__(self) -> None:
        for number in self.numbers:
            key = self.choose.choice((*KEYS, None))
            failures = self.choose.choice((0, 0, 0, 1, 2, 3))
            self.tasks.append((number, self.queue.run(key, self.witness, key, number, failures)))
            self.disturb()
            # So that there is work at all stages, not only a long line.
            NEVER.wait(0.001)

    def disturb(self) -> None:
        key, (_, task) = self.choose.choice(KEYS), self.choose.choice(self.tasks)
        match self.choose.randrange(40):
            case 0 | 1 | 2:
                if self.queue.cancel(task.id):
                    self.cancelled.add(task.id)
            case 3:
                self.queue.request_cancel(task.id)
            case 4:
                self.queue.pause_key(key)
            case 5 | 6 | 7:
                self.queue.resume_key(key)
            case 8 if self.choose.random() < 0.5:
                self.rejected += self.queue.stop_key(key)
            case 9 | 10 | 11 | 12 | 13 | 14:
                self.queue.start_key(key)
            case 15:
                self.queue.pause()
            case 16 | 17 | 18 | 19 | 20:
                self.queue.resume()
            case 21:
                snapshot = self.queue.snapshot()
                if snapshot.running > WIDTH:
                    self.witness.faults.append(f"{snapshot.running} run at once")
            case _:
                pass


def storm(queue: KeyedQueue, witness: Witness, *, threads: int, count: int) -> list[Submitter]:
    submitters = [Submitter(queue, witness, name, count) for name in range(threads)]
    running = [threading.Thread(target=submitter, daemon=True) for submitter in submitters]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    return submitters


def outcome(task: Task[Any]) -> str:
    """What became of a task; its result has to be there."""
    assert task.result.done()
    match task.result.exception(0):
        case None:
            return "completed"
        case Failed():
            return "failed"
        case TaskCancelledError():
            return "cancelled"
        case QueueKeyStoppedError():
            return "rejected"
        case QueueStoppedError():
            return "abandoned"
        case error:
            raise AssertionError(error)


@pytest.mark.behaviour("Q1", "Q2", "Q3", "Q7", "Q13", "Q14", "S4", "S5", "S6", "S7")
@pytest.mark.parametrize("deadline", [None, 0.0], ids=["drained", "cut off"])
@pytest.mark.usefixtures("restless")
def test_nothing_is_lost_or_overtaken_in_a_storm(deadline: float | None) -> None:
    witness = Witness()
    queue = KeyedQueue(width=WIDTH, attempts=ATTEMPTS, backoff=lambda attempt: attempt / 1000)
    submitters = storm(queue, witness, threads=8, count=400)
    before = queue.snapshot()
    report = queue.stop(deadline)
    tasks = [pair for submitter in submitters for pair in submitter.tasks]
    outcomes = Counter(outcome(task) for _, task in tasks)
    queue.when_idle().result(PATIENCE)
    after = queue.snapshot()

    assert witness.faults == []
    assert 1 < witness.most_at_work <= WIDTH
    assert sum(outcomes.values()) == 8 * 400
    assert outcomes["completed"] == after.completed
    assert outcomes["abandoned"] == report.abandoned
    assert outcomes["cancelled"] == sum(len(submitter.cancelled) for submitter in submitters)
    rejected = sum(submitter.rejected for submitter in submitters)
    assert outcomes["failed"] + outcomes["cancelled"] + rejected == after.failed
    assert min(outcomes[each] for each in ("completed", "failed", "cancelled", "rejected")) > 0, (
        "a real storm"
    )
    assert report.timed_out is (report.abandoned > 0)
    assert report.abandoned == 0 or deadline is not None
    assert (after.running, after.queued, after.keys) == (0, 0, {})
    assert report.completed <= after.completed - before.completed
    in_order_of_submission(witness, tasks)
    right_values = [task.result.result(0) == number for number, task in tasks if outcome(task) == "completed"]
    assert all(right_values)


def in_order_of_submission(witness: Witness, tasks: list[tuple[int, Task[int]]]) -> None:
    """All attempts at a task before the first at the next one; ids are given in the order of submission."""
    ids = {number: task.id for number, task in tasks}
    for attempts in witness.attempts.values():
        started = [ids[number] for number in attempts]
        assert started == sorted(started)


@pytest.mark.behaviour("Q12", "Q13", "Q15")
@pytest.mark.usefixtures("restless")
def test_submitting_against_stopping_leaves_no_result_open() -> None:
    for _ in range(30):
        queue = KeyedQueue(width=3)
        tasks: list[Task[None]] = []
        at_work = threading.Event()

        def submit(queue: KeyedQueue, tasks: list[Task[None]], at_work: threading.Event) -> None:
            while not (tasks and tasks[-1].result.done() and tasks[-1].result.exception(0)):
                tasks.append(queue.run(KEYS[len(tasks) % 3], lambda cancel: None))
                at_work.set()

        thread = threading.Thread(target=submit, args=(queue, tasks, at_work), daemon=True)
        thread.start()
        assert at_work.wait(PATIENCE)
        report = queue.stop(PATIENCE)
        thread.join(PATIENCE)

        assert report == DrainReport(completed=report.completed, failed=0, abandoned=0, timed_out=False)
        assert outcome(tasks.pop()) == "abandoned", "refused, that is"
        assert [outcome(task) for task in tasks] == ["completed"] * len(tasks)
        assert queue.snapshot().completed == len(tasks)


steps = st.one_of(
    st.tuples(st.just("run"), st.none() | st.sampled_from(KEYS[:3]), st.integers(0, 3)),
    st.tuples(
        st.sampled_from(["pause_key", "resume_key", "stop_key", "start_key"]),
        st.sampled_from(KEYS[:3]),
        st.just(0),
    ),
    st.tuples(st.sampled_from(["pause", "resume"]), st.none(), st.just(0)),
    st.tuples(st.sampled_from(["cancel", "request_cancel"]), st.none(), st.integers(1, 30)),
)


@pytest.mark.behaviour("Q1", "Q13", "Q14")
@settings(deadline=None, max_examples=150)
@given(
    st.lists(steps, max_size=40), st.integers(1, 3), st.integers(1, 3), st.sampled_from([None, 0.0, 0.001])
)
def test_every_result_comes_whatever_is_done_to_a_queue(
    script: list[tuple[str, str | None, int]], width: int, attempts: int, deadline: float | None
) -> None:
    witness = Witness()
    queue = KeyedQueue(width=width, attempts=attempts, backoff=lambda attempt: 0)
    tasks: list[tuple[int, Task[int]]] = []
    for step, key, number in script:
        match step:
            case "run":
                tasks.append((len(tasks), queue.run(key, witness, key, len(tasks), number)))
            case "cancel" | "request_cancel":
                getattr(queue, step)(number)
            case "pause" | "resume":
                getattr(queue, step)()
            case _:
                getattr(queue, step)(key)
    report = queue.stop(deadline)

    assert not wait([task.result for _, task in tasks], timeout=0).not_done
    outcomes = Counter(outcome(task) for _, task in tasks)
    assert outcomes["abandoned"] == report.abandoned
    queue.when_idle().result(PATIENCE)
    assert outcomes["completed"] == queue.snapshot().completed
    assert witness.faults == []
    assert witness.most_at_work <= width
    in_order_of_submission(witness, tasks)
