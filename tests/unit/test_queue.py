"""The keyed queue, in threads: order, keys, attempts, cancelling, pausing, stopping."""

import asyncio
import multiprocessing
import os
import queue as standard_queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, NoReturn, TypeVar, assert_type

import pytest

import hereya_tf.queue
from hereya_tf.errors import FailureClass, HereyaError
from hereya_tf.queue import (
    CancelToken,
    DrainReport,
    KeyedQueue,
    KeyState,
    QueueError,
    QueueKeyStoppedError,
    QueueStoppedError,
    Snapshot,
    Task,
    TaskCancelledError,
)
from tests.fake_engine import wait_for

Value = TypeVar("Value")
PATIENCE = 30.0
EMPTY = Snapshot(
    running=0, queued=0, keys={}, paused=False, paused_keys=(), stopped_keys=(), completed=0, failed=0
)


class Broken(Exception):
    """What the handlers here fail with."""


class Gated:
    """A handler that shows that it has started and ends when it is let go, with its value or its error."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.value = object()
        self.started = threading.Event()
        self.gate = threading.Event()
        self.token: CancelToken | None = None

    def __call__(self, cancel: CancelToken) -> object:
        self.token = cancel
        self.started.set()
        assert self.gate.wait(PATIENCE)
        if self.error is not None:
            raise self.error
        return self.value

    def is_running(self) -> bool:
        return self.started.wait(PATIENCE)


class Sleeps:
    """A sleep that is seen to begin and lasts until it is ended."""

    def __init__(self) -> None:
        self.begun: standard_queue.SimpleQueue[float] = standard_queue.SimpleQueue()
        self.ends: standard_queue.SimpleQueue[None] = standard_queue.SimpleQueue()

    def __call__(self, seconds: float) -> None:
        self.begun.put(seconds)
        self.ends.get(timeout=PATIENCE)

    def next(self) -> float:
        return self.begun.get(timeout=PATIENCE)

    def end(self) -> None:
        self.ends.put(None)


def value_of(task: Task[Value]) -> Value:
    return task.result.result(PATIENCE)


def error_of(task: Task[Any]) -> BaseException | None:
    return task.result.exception(PATIENCE)


def value(cancel: CancelToken, given: Value) -> Value:
    return given


def broken(cancel: CancelToken) -> NoReturn:
    raise Broken


@pytest.fixture
def gates() -> Iterator[Callable[..., Gated]]:
    """Makes gated handlers; all of them are let go at the end."""
    made: list[Gated] = []

    def make(error: BaseException | None = None) -> Gated:
        made.append(Gated(error))
        return made[-1]

    yield make
    for handler in made:
        handler.gate.set()


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> Callable[[], BaseException | None]:
    """The next error that was reported as the end of a thread."""
    errors: standard_queue.SimpleQueue[BaseException | None] = standard_queue.SimpleQueue()
    monkeypatch.setattr(threading, "excepthook", lambda args: errors.put(args.exc_value))
    return lambda: errors.get(timeout=PATIENCE)


def test_errors_and_keys_are_there_without_what_threads_need() -> None:
    program = (
        "import sys\n"
        "from hereya_tf.queue import QueueStoppedError, job_key\n"
        "print({'concurrent.futures', 'hereya_tf.queue.keyed', 'queue'} & sys.modules.keys())\n"
        "from hereya_tf.queue import *\n"
        "print(KeyedQueue(width=1).run(None, lambda cancel: cancel.is_set()).result.result())\n"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)

    assert (ended.stdout, ended.stderr) == ("set()\nFalse\n", "")
    with pytest.raises(AttributeError, match="has no attribute `KeyedQueues`"):
        hereya_tf.queue.KeyedQueues  # noqa: B018


# Running


@pytest.mark.behaviour("Q4")
def test_a_task_has_an_id_its_key_and_the_handlers_own_value() -> None:
    queue = KeyedQueue()
    given = object()
    first, second = queue.run("db", value, given), queue.run(None, value, given=3)

    assert_type(first, Task[object])
    assert_type(second, Task[int])
    assert value_of(first) is given
    assert value_of(second) == 3
    assert (first.key, second.key) == ("db", None)
    assert first.id != second.id


@pytest.mark.behaviour("Q4")
def test_run_returns_while_the_handler_is_still_at_work(gates: Callable[..., Gated]) -> None:
    handler = gates()
    task = KeyedQueue().run("db", handler)

    assert handler.is_running()
    assert not task.result.done()
    handler.gate.set()
    assert value_of(task) is handler.value


@pytest.mark.behaviour("Q1", "S4", "S5")
def test_identical_deploys_submitted_together_never_overlap() -> None:
    overlaps, seen, at_work = [], [], threading.Lock()

    def deploy(cancel: CancelToken, number: int) -> None:
        if not at_work.acquire(blocking=False):
            overlaps.append(number)
            return
        seen.append(number)
        time.sleep(0)
        at_work.release()

    queue = KeyedQueue(width=8)
    for number in range(200):
        queue.run("project:shop:prod", deploy, number)
    queue.when_idle().result(PATIENCE)

    assert overlaps == []
    assert seen == list(range(200))


@pytest.mark.behaviour("Q3", "S4")
def test_different_keys_and_none_do_not_wait_for_one_another(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(width=4)
    handlers = [gates() for _ in range(4)]
    for key, handler in zip(("a", "b", None, None), handlers, strict=True):
        queue.run(key, handler)

    assert all(handler.is_running() for handler in handlers)
    assert queue.snapshot().running == 4


@pytest.mark.behaviour("Q3")
def test_never_more_than_width_run_and_a_free_slot_goes_to_the_first_in_line(
    gates: Callable[..., Gated],
) -> None:
    queue = KeyedQueue(width=2)
    handlers = [gates() for _ in range(4)]
    for key, handler in zip(("a", "b", "c", "d"), handlers, strict=True):
        queue.run(key, handler)

    assert handlers[0].is_running()
    assert handlers[1].is_running()
    assert (queue.snapshot().running, queue.snapshot().queued) == (2, 2)
    handlers[1].gate.set()
    assert handlers[2].is_running()
    assert (queue.snapshot().running, queue.snapshot().queued) == (2, 1)
    assert not handlers[3].started.is_set()


@pytest.mark.behaviour("S6")
def test_a_failing_run_neither_blocks_nor_poisons_its_successors() -> None:
    queue = KeyedQueue(width=1)
    tasks: list[Task[Any]] = [queue.run("db", broken), queue.run("db", value, 1)]
    tasks += [queue.run(None, broken), queue.run(None, value, 2)]

    assert isinstance(error_of(tasks[0]), Broken)
    assert value_of(tasks[1]) == 1
    assert isinstance(error_of(tasks[2]), Broken)
    assert value_of(tasks[3]) == 2


@pytest.mark.behaviour("S7")
def test_a_key_is_busy_as_long_as_there_is_work_of_it(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(width=1)
    first, second = gates(), gates()
    tasks: list[Task[Any]] = [queue.run("a", first), queue.run("b", second), queue.run(None, value, 1)]

    assert [queue.is_busy(key) for key in ("a", "b", "c", None)] == [True, True, False, False]
    first.gate.set()
    value_of(tasks[0])
    assert [queue.is_busy(key) for key in ("a", "b")] == [False, True]
    second.gate.set()
    queue.when_idle().result(PATIENCE)
    assert queue.snapshot() == EMPTY._replace(completed=3)


def test_what_a_result_tells_is_what_the_queue_tells_at_once() -> None:
    queue = KeyedQueue()
    for number in range(1, 200):
        value_of(queue.run("db", value, number))

        assert queue.snapshot() == EMPTY._replace(completed=number)


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), Broken()])
def test_whatever_ends_a_handler_is_the_result_and_only_an_exception_is_tried_again(
    error: BaseException,
) -> None:
    attempts = []

    def handler(cancel: CancelToken) -> NoReturn:
        attempts.append(cancel)
        raise error

    queue = KeyedQueue(width=1, attempts=2, backoff=lambda attempt: 0)

    assert error_of(queue.run("db", handler)) is error
    assert len(attempts) == (2 if isinstance(error, Exception) else 1)
    assert value_of(queue.run("db", value, 1)) == 1


@pytest.mark.parametrize("numbers", [{"width": 0}, {"attempts": 0}, {"width": -1}])
def test_a_queue_without_slots_or_attempts_is_refused(numbers: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        KeyedQueue(**numbers)  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_is_told_that_the_queue_is_not_its_own() -> None:
    queue = KeyedQueue()
    assert value_of(queue.run("db", value, 1)) == 1  # a thread waits for more now, in this process only
    child = multiprocessing.get_context("fork").Process(target=run_in_child, args=(queue,))
    child.start()
    child.join(PATIENCE)

    assert child.exitcode == 0
    assert value_of(queue.run("db", value, 2)) == 2


def run_in_child(queue: KeyedQueue) -> None:
    with pytest.raises(QueueError, match="forked"):
        queue.run("db", value, 1)


def test_threads_without_work_end_and_new_work_gets_new_ones() -> None:
    queue = KeyedQueue()
    thread = value_of(queue.run("db", lambda cancel: threading.current_thread()))
    thread.join(PATIENCE)

    assert not thread.is_alive()
    assert value_of(queue.run("db", value, 1)) == 1


def test_its_threads_do_not_keep_a_program_alive() -> None:
    program = (
        "import threading\n"
        "from hereya_tf.queue import KeyedQueue\n"
        "at_work = threading.Event()\n"
        "queue = KeyedQueue()\n"
        "queue.run('db', lambda cancel: (at_work.set(), threading.Event().wait()))\n"
        "at_work.wait()\n"
        "print('done', queue.stop(0))\n"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)

    assert ended.stderr == ""
    assert ended.stdout == "done DrainReport(completed=0, failed=0, abandoned=1, timed_out=True)\n"


# Trying again


@pytest.mark.behaviour("Q2", "Q3")
def test_a_task_that_waits_to_be_tried_again_holds_its_key_but_no_slot() -> None:
    order: list[str] = []
    sleeps = Sleeps()

    def handler(cancel: CancelToken, name: str) -> None:
        order.append(name)
        if order.count("first") == 1 and name == "first":
            raise Broken

    queue = KeyedQueue(width=1, attempts=2, backoff=lambda attempt: 60, sleep=sleeps, clock=lambda: 1_000)
    first = queue.run("db", handler, "first")
    second = queue.run("db", handler, "second")
    other = queue.run("web", handler, "other")
    sleeps.next()
    value_of(other)

    assert order == ["first", "other"]
    assert queue.snapshot() == EMPTY._replace(
        queued=2, keys={"db": KeyState(holder=first.id, until=1_060, queued=1)}, completed=1
    )
    sleeps.end()
    value_of(second)
    assert order == ["first", "other", "first", "second"]


@pytest.mark.behaviour("Q2")
def test_a_task_that_has_failed_for_good_lets_its_key_go() -> None:
    queue = KeyedQueue(attempts=3, backoff=lambda attempt: 0)
    first, second = queue.run("db", broken), queue.run("db", value, 2)

    assert value_of(second) == 2
    assert isinstance(error_of(first), Broken)


@pytest.mark.behaviour("Q5", "Q6")
@pytest.mark.parametrize("attempts", [1, 2, 5])
def test_the_result_fails_with_the_last_error_after_all_attempts(attempts: int) -> None:
    errors: list[Broken] = []
    asked: list[int] = []
    slept: list[float] = []

    def handler(cancel: CancelToken) -> NoReturn:
        errors.append(Broken(len(errors)))
        raise errors[-1]

    def backoff(attempt: int) -> float:
        asked.append(attempt)
        return attempt / 4

    queue = KeyedQueue(attempts=attempts, backoff=backoff, sleep=slept.append)

    assert error_of(queue.run("db", handler)) is errors[-1]
    assert len(errors) == attempts
    assert asked == list(range(1, attempts))
    assert slept == [attempt / 4 for attempt in asked]


@pytest.mark.behaviour("Q5")
def test_a_later_attempt_gives_the_value() -> None:
    failures = iter([Broken(), Broken()])

    def handler(cancel: CancelToken) -> str:
        for failure in failures:
            raise failure
        return "third"

    assert value_of(KeyedQueue(attempts=3, backoff=lambda attempt: 0.001).run("db", handler)) == "third"


@pytest.mark.parametrize("seconds", [-5.0, float("nan"), 0.0])
def test_a_wait_that_is_none_is_over_at_once(seconds: float) -> None:
    queue = KeyedQueue(attempts=3, backoff=lambda attempt: seconds)

    assert isinstance(error_of(queue.run("db", broken)), Broken)


def test_a_wait_without_end_can_be_ended() -> None:
    queue = KeyedQueue(attempts=2, backoff=lambda attempt: float("inf"))
    others = set(threading.enumerate())
    task = queue.run("db", broken)
    wait_for(lambda: queue.snapshot().keys["db"].until, what="the back-off")
    waiting = set(threading.enumerate()) - others

    assert queue.snapshot().keys == {"db": KeyState(task.id, float("inf"), 0)}
    assert queue.stop(0) == DrainReport(completed=0, failed=0, abandoned=1, timed_out=True)
    for thread in waiting:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in waiting)


@pytest.mark.behaviour("Q9")
def test_a_key_that_is_stopped_while_the_wait_is_decided_has_no_further_attempt() -> None:
    happened: list[str] = []

    def handler(cancel: CancelToken) -> NoReturn:
        happened.append("attempt")
        raise Broken

    def backoff(attempt: int) -> float:
        happened.append(f"{queue.stop_key('db')} rejected")
        return 0

    queue = KeyedQueue(attempts=3, backoff=backoff)

    assert isinstance(error_of(queue.run("db", handler)), Broken)
    assert happened == ["attempt", "0 rejected"]


@pytest.mark.parametrize("fault", [ZeroDivisionError(), SystemExit(3)], ids=repr)
def test_a_backoff_that_raises_fails_the_task_and_names_the_handlers_error(fault: BaseException) -> None:
    def backoff(attempt: int) -> float:
        raise fault

    queue = KeyedQueue(attempts=2, backoff=backoff)

    assert error_of(queue.run("db", broken)) is fault
    assert isinstance(fault.__cause__, Broken)
    assert value_of(queue.run("db", value, 1)) == 1


def test_a_sleep_that_raises_is_over(reported: Callable[[], BaseException | None]) -> None:
    fault = ZeroDivisionError()

    def sleep(seconds: float) -> NoReturn:
        raise fault

    queue = KeyedQueue(attempts=2, backoff=lambda attempt: 60, sleep=sleep)

    assert isinstance(error_of(queue.run("db", broken)), Broken)
    assert reported() is fault


# Cancelling


@pytest.mark.behaviour("Q7")
def test_a_task_that_has_not_started_is_cancelled(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(width=1)
    running, never = gates(), gates()
    first = queue.run("db", running)
    second = queue.run("db", never)
    third = queue.run("db", value, 3)

    assert queue.cancel(second.id) is True
    error = error_of(second)
    assert isinstance(error, TaskCancelledError)
    assert (str(error), error.task_id) == (f"task `{second.id}` was cancelled while it waited", second.id)
    assert error.failure_class is FailureClass.CANCELLED
    assert queue.cancel(second.id) is False
    running.gate.set()
    assert value_of(third) == 3
    assert value_of(first) is running.value
    assert not never.started.is_set()
    assert queue.snapshot() == EMPTY._replace(completed=2, failed=1)


@pytest.mark.behaviour("Q7")
def test_a_running_ended_or_unknown_task_is_not_cancelled(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue()
    handler = gates()
    task = queue.run("db", handler)

    assert handler.is_running()
    assert queue.cancel(task.id) is False
    assert handler.token is not None
    assert not handler.token.is_set()
    handler.gate.set()
    assert value_of(task) is handler.value
    assert queue.cancel(task.id) is False
    assert queue.cancel(10**9) is False


@pytest.mark.behaviour("Q7")
def test_a_task_that_waits_for_its_next_attempt_is_cancelled_and_its_key_is_free() -> None:
    sleeps = Sleeps()
    queue = KeyedQueue(width=1, attempts=2, sleep=sleeps)
    first, second = queue.run("db", broken), queue.run("db", value, 2)
    sleeps.next()

    assert queue.cancel(first.id) is True
    assert isinstance(error_of(first), TaskCancelledError)
    assert value_of(second) == 2
    sleeps.end()
    assert queue.snapshot() == EMPTY._replace(completed=1, failed=1)


@pytest.mark.behaviour("Q7")
def test_a_handler_is_asked_to_end_through_its_token() -> None:
    at_work = threading.Event()

    def handler(cancel: CancelToken) -> tuple[bool, bool]:
        before = cancel.is_set()
        at_work.set()
        return before, cancel.wait(PATIENCE)

    queue = KeyedQueue()
    task = queue.run("db", handler)
    assert at_work.wait(PATIENCE)

    assert queue.request_cancel(task.id) is True
    assert value_of(task) == (False, True)
    assert queue.request_cancel(task.id) is False
    assert queue.request_cancel(10**9) is False


@pytest.mark.behaviour("Q7")
def test_a_task_asked_to_end_before_it_starts_starts_with_its_token_set(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(width=1)
    first = gates()
    queue.run("db", first)
    second = queue.run("db", lambda cancel: (cancel.is_set(), cancel.wait(0)))

    assert queue.request_cancel(second.id) is True
    first.gate.set()
    assert value_of(second) == (True, True)


@pytest.mark.behaviour("Q7")
def test_a_task_asked_to_end_is_not_tried_again(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(attempts=5)
    handler = gates(Broken())
    task = queue.run("db", handler)
    assert handler.is_running()
    queue.request_cancel(task.id)
    handler.gate.set()

    assert error_of(task) is handler.error


def test_a_token_that_nobody_sets_is_waited_for_no_longer_than_asked() -> None:
    assert CancelToken().wait(0.001) is False


def test_a_result_is_not_the_way_to_cancel(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(width=1)
    first = gates()
    queue.run("db", first)
    second = queue.run("db", value, 2)

    assert second.result.cancel() is False
    assert queue.when_idle().cancel() is False
    first.gate.set()
    assert value_of(second) == 2


def test_a_result_can_be_awaited_by_asyncio() -> None:
    async def main() -> int:
        return await asyncio.wrap_future(KeyedQueue().run("db", value, 5).result)

    assert asyncio.run(main()) == 5


# Pausing


@pytest.mark.behaviour("Q10")
def test_a_paused_queue_accepts_and_holds_and_runs_in_order_when_resumed(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(width=2)
    running = gates()
    first = queue.run("a", running)
    assert running.is_running()
    queue.pause()
    order: list[int] = []
    for number in range(6):
        queue.run("db", lambda cancel, number: order.append(number), number)
    running.gate.set()
    value_of(first)

    assert queue.snapshot() == EMPTY._replace(
        queued=6, keys={"db": KeyState(None, None, 6)}, paused=True, completed=1
    )
    queue.resume()
    queue.when_idle().result(PATIENCE)
    assert order == list(range(6))
    assert queue.snapshot() == EMPTY._replace(completed=7)


@pytest.mark.behaviour("Q8")
def test_of_a_paused_key_what_runs_ends_and_nothing_else_starts(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue()
    running = gates()
    first = queue.run("db", running)
    order: list[int] = []
    held = [queue.run("db", lambda cancel, number: order.append(number), number) for number in range(3)]
    queue.pause_key("db")
    running.gate.set()
    value_of(first)

    assert value_of(queue.run("web", value, 1)) == 1
    assert queue.snapshot() == EMPTY._replace(
        queued=3, keys={"db": KeyState(None, None, 3)}, paused_keys=("db",), completed=2
    )
    queue.resume_key("db")
    value_of(held[-1])
    assert order == [0, 1, 2]


@pytest.mark.behaviour("Q8")
def test_of_a_paused_key_no_further_attempt_starts_either() -> None:
    sleeps = Sleeps()
    queue = KeyedQueue(attempts=2, sleep=sleeps)
    task = queue.run("db", broken)
    sleeps.next()
    queue.pause_key("db")
    sleeps.end()
    wait_for(lambda: queue.snapshot().keys["db"].holder is None or None, what="the end of the back-off")

    assert queue.snapshot() == EMPTY._replace(
        queued=1, keys={"db": KeyState(None, None, 1)}, paused_keys=("db",)
    )
    queue.resume_key("db")
    assert isinstance(error_of(task), Broken)


# Stopping a key


@pytest.mark.behaviour("Q9")
def test_stopping_a_key_rejects_what_waits_and_lets_what_runs_end(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(attempts=5, backoff=lambda attempt: 0)
    running = gates(Broken())
    first = queue.run("db", running)
    waiting = [queue.run("db", value, number) for number in range(3)]
    other = queue.run("web", value, 1)
    assert running.is_running()

    assert queue.stop_key("db") == 3
    errors = [error_of(task) for task in waiting]
    assert [str(error) for error in errors] == ["the queue is stopped for the key `db`"] * 3
    assert all(isinstance(error, QueueKeyStoppedError) and error.key == "db" for error in errors)
    running.gate.set()
    assert error_of(first) is running.error, "without another attempt"
    assert value_of(other) == 1
    assert queue.snapshot() == EMPTY._replace(stopped_keys=("db",), completed=1, failed=4)


@pytest.mark.behaviour("Q9")
def test_stopping_a_key_rejects_what_waits_for_its_next_attempt() -> None:
    sleeps = Sleeps()
    queue = KeyedQueue(attempts=5, sleep=sleeps)
    tasks = [queue.run("db", broken), queue.run("db", broken)]
    sleeps.next()

    assert queue.stop_key("db") == 2
    assert [type(error_of(task)) for task in tasks] == [QueueKeyStoppedError] * 2
    sleeps.end()
    assert queue.snapshot() == EMPTY._replace(stopped_keys=("db",), failed=2)


@pytest.mark.behaviour("Q9")
def test_a_stopped_key_refuses_until_it_is_started() -> None:
    queue = KeyedQueue()

    assert queue.stop_key("db") == 0
    refused = queue.run("db", value, 1)
    assert refused.result.done()
    assert isinstance(error_of(refused), QueueKeyStoppedError)
    assert queue.cancel(refused.id) is False
    assert value_of(queue.run("web", value, 2)) == 2
    queue.resume_key("db")
    assert isinstance(error_of(queue.run("db", value, 1)), QueueKeyStoppedError), "resume_key does not reopen"
    assert queue.start_key("db") is True
    assert queue.start_key("db") is False
    assert value_of(queue.run("db", value, 3)) == 3
    assert queue.snapshot() == EMPTY._replace(completed=2), "what was refused was never here"


@pytest.mark.behaviour("Q9")
def test_starting_a_key_does_not_end_its_pause() -> None:
    queue = KeyedQueue()
    queue.pause_key("db")
    queue.stop_key("db")
    queue.start_key("db")
    task = queue.run("db", value, 1)

    assert queue.snapshot() == EMPTY._replace(
        queued=1, keys={"db": KeyState(None, None, 1)}, paused_keys=("db",)
    )
    queue.resume_key("db")
    assert value_of(task) == 1


@pytest.mark.behaviour("Q9")
def test_what_ran_when_its_key_was_stopped_is_not_tried_again_after_the_key_is_started(
    gates: Callable[..., Gated],
) -> None:
    queue = KeyedQueue(attempts=5)
    running = gates(Broken())
    first = queue.run("db", running)
    assert running.is_running()
    queue.stop_key("db")
    queue.start_key("db")
    second = queue.run("db", value, 2)
    running.gate.set()

    assert value_of(second) == 2
    assert error_of(first) is running.error


# Idle


@pytest.mark.behaviour("Q12")
def test_an_idle_queue_is_idle_at_once() -> None:
    assert KeyedQueue().when_idle().done()


@pytest.mark.behaviour("Q12")
def test_a_queue_is_idle_only_when_nothing_runs_is_queued_or_waits() -> None:
    sleeps = Sleeps()
    queue = KeyedQueue(attempts=2, sleep=sleeps)
    queue.run("db", broken)
    sleeps.next()
    idle = queue.when_idle()

    assert not idle.done()
    queue.pause()
    sleeps.end()
    wait_for(lambda: queue.snapshot().keys["db"].until is None or None, what="the end of the back-off")
    assert not idle.done()
    queue.resume()
    assert idle.result(PATIENCE) is None
    assert queue.snapshot() == EMPTY._replace(failed=1)


@pytest.mark.behaviour("Q12")
def test_when_a_queue_is_idle_all_results_are_there() -> None:
    queue = KeyedQueue()
    for _ in range(50):
        tasks = [queue.run(None, value, number) for number in range(20)]
        queue.when_idle().result(PATIENCE)

        assert all(task.result.done() for task in tasks)


@pytest.mark.behaviour("Q12")
def test_a_queue_is_idle_when_the_callbacks_of_its_results_have_run() -> None:
    queue = KeyedQueue()
    called, go = threading.Event(), threading.Event()

    def callback(_: object) -> None:
        called.set()
        go.wait(PATIENCE)

    queue.pause()
    queue.run("db", value, 1).result.add_done_callback(callback)
    queue.resume()
    assert called.wait(PATIENCE)
    idle = queue.when_idle()

    assert queue.snapshot() == EMPTY._replace(completed=1)
    assert not idle.done()
    go.set()
    assert idle.result(PATIENCE) is None


# Stopping


@pytest.mark.behaviour("Q13")
def test_stop_waits_for_running_and_queued_work_and_counts_from_there(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(width=1)
    value_of(queue.run(None, value, 0))
    handler = gates()
    tasks: list[Task[Any]] = [queue.run("db", handler), queue.run("db", broken), queue.run(None, value, 1)]
    assert handler.is_running()
    reports = in_a_thread(queue.stop)
    refused = until_refused(queue)
    handler.gate.set()

    assert reports.result(PATIENCE) == DrainReport(completed=2, failed=1, abandoned=0, timed_out=False)
    assert [task.result.done() for task in tasks] == [True] * 3
    assert isinstance(error_of(refused), QueueStoppedError)
    assert str(error_of(refused)) == "the queue is stopped"
    assert queue.stop() == DrainReport(completed=2, failed=1, abandoned=0, timed_out=False)


@pytest.mark.behaviour("Q13")
def test_stop_runs_what_a_pause_has_held() -> None:
    queue = KeyedQueue()
    queue.pause_key("db")
    first = queue.run("db", value, 1)
    queue.pause()
    second = queue.run("web", value, 2)

    assert queue.stop(PATIENCE) == DrainReport(completed=2, failed=0, abandoned=0, timed_out=False)
    assert (value_of(first), value_of(second)) == (1, 2)


@pytest.mark.behaviour("Q13", "Q14")
def test_at_the_deadline_what_is_left_is_abandoned_and_no_result_stays_open(
    gates: Callable[..., Gated],
) -> None:
    queue = KeyedQueue(width=1)
    handler = gates()
    tasks: list[Task[Any]] = [queue.run("db", handler), queue.run("db", value, 1), queue.run(None, value, 2)]
    assert handler.is_running()

    report = queue.stop(0.01)

    assert report == DrainReport(completed=0, failed=0, abandoned=3, timed_out=True)
    assert [type(task.result.exception(0)) for task in tasks] == [QueueStoppedError] * 3
    assert handler.token is not None
    assert handler.token.is_set()
    assert queue.is_busy("db"), "the handler is still at work"
    idle = queue.when_idle()
    assert not idle.done()
    assert queue.stop(0) == report, "what was given up once is never a success"
    handler.gate.set()
    idle.result(PATIENCE)
    assert queue.snapshot() == EMPTY
    assert queue.stop() == report


@pytest.mark.behaviour("Q13")
def test_an_abandoned_handler_that_fails_is_not_tried_again(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(attempts=3)
    handler = gates(Broken())
    task = queue.run("db", handler)
    assert handler.is_running()
    queue.stop(0)
    handler.gate.set()
    queue.when_idle().result(PATIENCE)

    assert isinstance(error_of(task), QueueStoppedError)


@pytest.mark.behaviour("Q6", "Q14")
def test_the_deadline_is_not_a_matter_of_the_injected_sleep() -> None:
    sleeps = Sleeps()
    queue = KeyedQueue(attempts=2, backoff=lambda attempt: 7, sleep=sleeps)
    task = queue.run("db", broken)

    assert sleeps.next() == 7
    assert queue.stop(0.01) == DrainReport(completed=0, failed=0, abandoned=1, timed_out=True)
    assert sleeps.begun.empty()
    assert isinstance(error_of(task), QueueStoppedError)
    sleeps.end()


@pytest.mark.behaviour("Q13")
def test_stop_waits_for_further_attempts() -> None:
    failures = iter([Broken()])

    def handler(cancel: CancelToken) -> int:
        for failure in failures:
            raise failure
        return 1

    queue = KeyedQueue(attempts=2, backoff=lambda attempt: 0.05)
    queue.run("db", handler)

    assert queue.stop() == DrainReport(completed=1, failed=0, abandoned=0, timed_out=False)


@pytest.mark.behaviour("Q7", "Q13")
def test_cancelling_works_while_the_queue_drains(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue(width=1)
    handler = gates()
    first, second = queue.run("db", handler), queue.run("db", value, 2)
    assert handler.is_running()
    report = in_a_thread(queue.stop)
    until_refused(queue)

    assert queue.cancel(second.id) is True
    assert queue.request_cancel(first.id) is True
    assert handler.token is not None
    assert handler.token.is_set()
    handler.gate.set()
    assert report.result(PATIENCE) == DrainReport(completed=1, failed=1, abandoned=0, timed_out=False)


@pytest.mark.parametrize("deadline", [float("inf"), 1e12])
def test_a_deadline_may_be_as_far_away_as_one_likes(deadline: float) -> None:
    queue = KeyedQueue(attempts=2, backoff=lambda attempt: 0.01)
    queue.run("db", broken)

    assert queue.stop(deadline) == DrainReport(completed=0, failed=1, abandoned=0, timed_out=False)


@pytest.mark.parametrize("deadline", [0.0, -1.0, float("nan")])
def test_a_deadline_that_has_passed_is_kept_by_a_queue_without_work(deadline: float) -> None:
    queue, busy = KeyedQueue(), KeyedQueue(attempts=2, backoff=lambda attempt: float("inf"))
    busy.run("db", broken)

    assert queue.stop(deadline) == DrainReport(completed=0, failed=0, abandoned=0, timed_out=False)
    assert busy.stop(deadline) == DrainReport(completed=0, failed=0, abandoned=1, timed_out=True)


def test_a_second_stop_with_a_deadline_ends_the_first_one(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue()
    handler = gates()
    queue.run("db", handler)
    patient = in_a_thread(queue.stop)
    until_refused(queue)
    report = queue.stop(0)

    assert report == DrainReport(completed=0, failed=0, abandoned=1, timed_out=True)
    assert patient.result(PATIENCE) == report


def test_leaving_the_context_waits_for_the_work() -> None:
    with KeyedQueue() as queue:
        tasks = [queue.run("db", value, number) for number in range(10)]

    assert [task.result.result(0) for task in tasks] == list(range(10))
    assert isinstance(error_of(queue.run("db", value, 1)), QueueStoppedError)


def test_a_handler_that_stops_its_own_queue_is_told_that_it_cannot() -> None:
    queue = KeyedQueue()
    error = error_of(queue.run("db", lambda cancel: queue.stop()))

    assert isinstance(error, QueueError)
    assert str(error) == "a task of the queue cannot stop it: it would wait for itself"
    assert error.hints == ("call `stop` from another thread",)
    assert queue.stop() == DrainReport(completed=0, failed=0, abandoned=0, timed_out=False)


def test_a_queue_may_be_stopped_by_who_waited_for_it_to_be_idle(gates: Callable[..., Gated]) -> None:
    queue = KeyedQueue()
    handler = gates()
    queue.run("db", handler)
    reports: Future[DrainReport] = Future()
    queue.when_idle().add_done_callback(lambda _: reports.set_result(queue.stop()))
    handler.gate.set()

    assert reports.result(PATIENCE) == DrainReport(completed=0, failed=0, abandoned=0, timed_out=False)


# Callbacks, and machines without room for threads


def test_a_callback_may_use_the_queue() -> None:
    queue = KeyedQueue(width=1)
    following: Future[Task[int]] = Future()
    queue.run("db", value, 1).result.add_done_callback(
        lambda _: following.set_result(queue.run("db", value, 2))
    )

    assert value_of(following.result(PATIENCE)) == 2


def test_a_callback_that_ends_its_thread_ends_nothing_else(
    gates: Callable[..., Gated], reported: Callable[[], BaseException | None]
) -> None:
    queue = KeyedQueue(width=1)
    handler = gates()
    fault = KeyboardInterrupt()

    def leave(_: object) -> NoReturn:
        raise fault

    queue.run("db", handler).result.add_done_callback(leave)
    after = [queue.run("db", value, number) for number in range(3)]
    handler.gate.set()

    assert [value_of(task) for task in after] == [0, 1, 2]
    assert queue.stop(PATIENCE) == DrainReport(completed=0, failed=0, abandoned=0, timed_out=False)
    assert reported() is fault


def test_rejected_tasks_all_learn_it_whatever_a_callback_raises() -> None:
    queue = KeyedQueue()
    queue.pause()

    def leave(_: object) -> NoReturn:
        raise KeyboardInterrupt

    tasks = [queue.run("db", value, number) for number in range(3)]
    tasks[0].result.add_done_callback(leave)

    with pytest.raises(KeyboardInterrupt):
        queue.stop_key("db")
    assert [type(task.result.exception(0)) for task in tasks] == [QueueKeyStoppedError] * 3
    assert queue.when_idle().done()


@pytest.fixture
def no_room_for_threads() -> Iterator[Callable[[bool], None]]:
    """Says whether there is room for threads from here on: one with so large a stack cannot be started."""
    normal = threading.stack_size()

    def room(is_there: bool) -> None:
        threading.stack_size(normal if is_there else 1 << 46)

    yield room
    threading.stack_size(normal)


def test_a_task_for_which_there_can_be_no_thread_fails(no_room_for_threads: Callable[[bool], None]) -> None:
    queue = KeyedQueue(attempts=3)
    no_room_for_threads(False)
    tasks = [queue.run("db", value, 1), queue.run("db", value, 2)]
    errors = [task.result.exception(0) for task in tasks]
    no_room_for_threads(True)

    assert [str(error) for error in errors] == ["can't start new thread"] * 2
    assert value_of(queue.run("db", value, 3)) == 3
    assert queue.snapshot() == EMPTY._replace(completed=1, failed=2)


def test_tasks_that_wait_for_each_others_threads_do_not_wait_for_ever(
    no_room_for_threads: Callable[[bool], None],
) -> None:
    queue = KeyedQueue()
    queue.pause()
    tasks = [queue.run(None, value, number) for number in range(4)]
    no_room_for_threads(False)
    queue.resume()

    assert [str(task.result.exception(0)) for task in tasks] == ["can't start new thread"] * 4
    assert queue.when_idle().done()


def test_when_there_can_be_no_further_thread_the_ones_there_are_do_the_work(
    no_room_for_threads: Callable[[bool], None], gates: Callable[..., Gated]
) -> None:
    queue = KeyedQueue(width=4)
    handler = gates()
    first = queue.run("db", handler)
    assert handler.is_running()
    no_room_for_threads(False)
    others = [queue.run(None, value, number) for number in range(5)]

    assert (queue.snapshot().running, queue.snapshot().queued) == (1, 5)
    handler.gate.set()
    assert [value_of(task) for task in others] == list(range(5))
    assert value_of(first) is handler.value


@pytest.mark.parametrize("sleep", [None, lambda seconds: None], ids=["alarm", "injected sleep"])
def test_a_wait_for_which_there_can_be_no_thread_is_the_end_of_the_task(
    no_room_for_threads: Callable[[bool], None], sleep: Callable[[float], None] | None
) -> None:
    queue = KeyedQueue(attempts=2, sleep=sleep)

    def handler(cancel: CancelToken) -> NoReturn:
        no_room_for_threads(False)
        raise Broken

    error = error_of(queue.run("db", handler))
    no_room_for_threads(True)

    assert str(error) == "can't start new thread"
    assert error is not None
    assert isinstance(error.__cause__, Broken)
    assert value_of(queue.run("db", value, 1)) == 1


@pytest.mark.parametrize(
    ("error", "failure_class"),
    [
        (TaskCancelledError(1), FailureClass.CANCELLED),
        (QueueStoppedError(), FailureClass.CANCELLED),
        (QueueKeyStoppedError("db"), FailureClass.CANCELLED),
    ],
)
def test_what_was_not_done_counts_as_cancelled(error: QueueError, failure_class: FailureClass) -> None:
    assert isinstance(error, QueueError)
    assert isinstance(error, HereyaError)
    assert error.failure_class is failure_class


def in_a_thread(call: Callable[[], Value]) -> Future[Value]:
    """What the call returns, some time."""
    future: Future[Value] = Future()
    threading.Thread(target=lambda: future.set_result(call()), daemon=True).start()
    return future


def until_refused(queue: KeyedQueue) -> Task[None]:
    """Submits until a task is refused, and gives that one; those before are taken out again."""
    queue.pause_key("probe")

    def refused() -> Task[None] | None:
        task = queue.run("probe", lambda cancel: None)
        return task if task.result.done() else (queue.cancel(task.id), None)[1]

    return wait_for(refused, what="a refusal")
