"""The threads under the keyed queue: a crew that takes jobs, an alarm that rings later."""

import queue as standard_queue
import threading
from collections.abc import Callable, Iterator
from types import TracebackType

import pytest

from hereya_tf.queue.alarm import Alarm
from hereya_tf.queue.crew import Crew
from tests.fake_engine import wait_for

PATIENCE = 30.0


class WatchedLock:
    """A lock that tells when it is about to be taken."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.when_wanted: Callable[[], None] = lambda: None

    def __enter__(self) -> bool:
        self.when_wanted()
        return self.lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.lock.release()


class Jobs:
    """Jobs that may be taken, and those that were done, with the thread that did them."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.done: standard_queue.SimpleQueue[tuple[str, threading.Thread]] = standard_queue.SimpleQueue()

    def take(self) -> str | None:
        return self.open.pop(0) if self.open else None

    def do(self, job: str) -> None:
        self.done.put((job, threading.current_thread()))

    def next_done(self) -> tuple[str, threading.Thread]:
        return self.done.get(timeout=PATIENCE)


def leave(job: str, error: RuntimeError) -> None:
    raise error


def test_a_thread_that_has_waited_for_nothing_still_does_what_was_given_to_it_at_the_last_moment() -> None:
    lock, jobs = WatchedLock(), Jobs()
    crew = Crew(lock, take=jobs.take, do=jobs.do, leave=leave, linger=0)

    def give_when_one_has_waited() -> None:
        with lock.lock:
            if crew.hand_over("late"):
                lock.when_wanted = lambda: None

    lock.when_wanted = give_when_one_has_waited
    crew.launch(["first"])
    (first, thread), (late, same) = jobs.next_done(), jobs.next_done()

    assert (first, late) == ("first", "late")
    assert thread is same
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_thread_that_waits_is_given_the_next_job() -> None:
    lock, jobs = threading.Lock(), Jobs()
    crew = Crew(lock, take=jobs.take, do=jobs.do, leave=leave, linger=PATIENCE)
    crew.launch(["first"])
    _, thread = jobs.next_done()

    def handed_over() -> bool | None:
        with lock:
            return crew.hand_over("second") or None

    wait_for(handed_over, what="a thread that waits")

    assert jobs.next_done() == ("second", thread)
    with lock:
        jobs.open = ["third"]
        homeless = crew.hand_out()
    crew.launch(homeless)
    assert jobs.next_done()[0] == "third"


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    made = Alarm()
    yield made
    made.clear()


def test_an_alarm_rings_in_the_order_of_time_on_one_thread(alarm: Alarm) -> None:
    rung: standard_queue.SimpleQueue[tuple[float, threading.Thread]] = standard_queue.SimpleQueue()
    begun, gate = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        gate.wait(PATIENCE)

    def ring(seconds: float) -> Callable[[], None]:
        return lambda: rung.put((seconds, threading.current_thread()))

    alarm.after(0, hold)
    assert begun.wait(PATIENCE)
    # All of them are due by then.
    for seconds in (-1000, -3000, -2000):
        alarm.after(seconds, ring(seconds))
    gate.set()
    heard = [rung.get(timeout=PATIENCE) for _ in range(3)]

    assert [seconds for seconds, _ in heard] == [-3000, -2000, -1000]
    assert len({thread for _, thread in heard}) == 1
    heard[0][1].join(PATIENCE)
    alarm.after(0, ring(9.0))
    assert rung.get(timeout=PATIENCE)[0] == 9.0


def test_an_alarm_that_waits_for_long_hears_of_what_comes_sooner(alarm: Alarm) -> None:
    rung: standard_queue.SimpleQueue[int] = standard_queue.SimpleQueue()
    alarm.after(float("inf"), lambda: None)
    for number in range(100):
        alarm.after(0, lambda number=number: rung.put(number))  # type: ignore[misc]

        assert rung.get(timeout=PATIENCE) == number


def test_an_alarm_that_is_cleared_rings_no_more_and_its_thread_ends(alarm: Alarm) -> None:
    rung: standard_queue.SimpleQueue[threading.Thread] = standard_queue.SimpleQueue()
    alarm.after(0, lambda: rung.put(threading.current_thread()))
    alarm.after(float("inf"), lambda: rung.put(threading.current_thread()))
    thread = rung.get(timeout=PATIENCE)
    alarm.clear()
    thread.join(PATIENCE)

    assert not thread.is_alive()
    assert rung.empty()


def test_a_ring_that_raises_is_reported_and_the_others_ring(
    alarm: Alarm, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[BaseException | None] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: reported.append(args.exc_value))
    rung = threading.Event()
    fault = KeyboardInterrupt()

    def ring() -> None:
        raise fault

    alarm.after(0, ring)
    alarm.after(0.01, rung.set)

    assert rung.wait(PATIENCE)
    assert reported == [fault]
