"""One request to end a run, whoever makes it, and no wait that outlives it."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from hereya_tf.errors import Cancelled, FailureClass, HereyaError, Idle, TimedOut
from hereya_tf.supervision.interrupt import SAME_KEYPRESS_SECONDS, Interrupt, Reason, signals_ask

LONG = 30.0


@pytest.fixture
def handlers() -> Iterator[None]:
    """The handlers of this process are as before, whatever the test does."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


def seconds_waited(interrupt: Interrupt, seconds: float, *descriptors: int) -> float:
    began = time.monotonic()
    interrupt.wait(seconds, *descriptors)
    return time.monotonic() - began


# Asking


def test_nobody_has_asked() -> None:
    interrupt = Interrupt()

    interrupt.check()

    assert (interrupt.asked(), interrupt.insisted) == (None, False)


def test_the_first_request_stays() -> None:
    interrupt = Interrupt(timeout=LONG)
    interrupt.ask(Reason.IDLE)
    first = interrupt.asked()
    interrupt.ask(Reason.SIGNAL, signal.SIGTERM)
    interrupt.ask(Reason.REQUEST)

    assert first is not None
    assert (first.reason, first.signal) == (Reason.IDLE, None)
    assert first == interrupt.asked()


def test_the_time_limit_is_noticed_by_whoever_looks() -> None:
    interrupt = Interrupt(timeout=0)

    request = interrupt.asked()

    assert (request and request.reason) == Reason.TIMEOUT


def test_no_limit_is_no_limit() -> None:
    assert Interrupt().deadline is None
    assert Interrupt().idle_timeout is None


def pressed(*presses: tuple[float, int], reason: Reason = Reason.SIGNAL) -> Interrupt:
    """An interrupt that got these signals, each so many seconds after the one before."""
    interrupt = Interrupt()
    for after, number in presses:
        time.sleep(after)  # the time between two keypresses is the matter itself
        interrupt.ask(reason, number)
    return interrupt


AGAIN = SAME_KEYPRESS_SECONDS + 0.1


@pytest.mark.parametrize(
    ("presses", "insisted"),
    [
        pytest.param([(0, signal.SIGINT)], False, id="once"),
        pytest.param([(0, signal.SIGINT), (0, signal.SIGINT)], False, id="one-keypress-passed-on-twice"),
        pytest.param([(0, signal.SIGINT), (AGAIN, signal.SIGINT)], True, id="a-second-ctrl-c"),
        pytest.param([(0, signal.SIGTERM), (AGAIN, signal.SIGTERM)], False, id="a-supervisor-repeats-itself"),
        pytest.param([(0, signal.SIGTERM), (AGAIN, signal.SIGINT)], False, id="only-one-ctrl-c"),
        pytest.param([(0, signal.SIGINT), (AGAIN, signal.SIGTERM)], False, id="a-supervisor-after-ctrl-c"),
        pytest.param(
            [(0, signal.SIGHUP), (0, signal.SIGINT), (AGAIN, signal.SIGINT)],
            True,
            id="two-after-another-signal",
        ),
    ],
)
def test_who_presses_ctrl_c_again_does_not_want_to_wait(
    presses: list[tuple[float, int]], insisted: bool
) -> None:
    assert insisted == pressed(*presses).insisted


def test_two_ctrl_c_insist_after_a_time_limit_too() -> None:
    interrupt = Interrupt(timeout=0)
    interrupt.asked()
    insisted = []
    for after in (0, AGAIN):
        time.sleep(after)
        interrupt.ask(Reason.SIGNAL, signal.SIGINT)
        insisted.append(interrupt.insisted)

    assert insisted == [False, True]
    assert (interrupt.request and interrupt.request.reason) == Reason.TIMEOUT


def test_a_signal_that_comes_with_a_note_is_a_request() -> None:
    interrupt = Interrupt()
    interrupt.cancel_requested = lambda: True
    interrupt.ask(Reason.SIGNAL, signal.SIGTERM)

    request = interrupt.asked()
    assert request is not None
    assert (request.reason, request.signal) == (Reason.REQUEST, None)


def test_a_note_does_not_turn_later_signals_into_anything() -> None:
    interrupt = Interrupt()
    interrupt.ask(Reason.SIGNAL, signal.SIGTERM)
    interrupt.cancel_requested = lambda: pytest.fail("nobody is to look any more")
    interrupt.ask(Reason.SIGNAL, signal.SIGTERM)

    assert (interrupt.request and interrupt.request.signal) == signal.SIGTERM


def test_asking_never_blocks_however_often() -> None:
    interrupt = Interrupt()
    for _ in range(70_000):  # more than a pipe holds
        interrupt.ask(Reason.REQUEST)

    assert seconds_waited(interrupt, LONG) < LONG / 2


# Waiting


def test_a_wait_has_its_time() -> None:
    assert 0.1 <= seconds_waited(Interrupt(), 0.1) < LONG


def test_no_time_is_no_wait() -> None:
    assert seconds_waited(Interrupt(), -1.0) < LONG / 2


def test_a_request_ends_a_wait() -> None:
    interrupt = Interrupt()
    timer = threading.Timer(0.1, interrupt.ask, (Reason.REQUEST,))
    timer.start()

    assert seconds_waited(interrupt, LONG) < LONG / 2
    assert interrupt.asked() is not None
    timer.join()


def test_a_request_that_was_made_before_ends_the_next_wait_and_not_the_one_after() -> None:
    interrupt = Interrupt()
    interrupt.ask(Reason.REQUEST)

    assert seconds_waited(interrupt, LONG) < LONG / 2
    assert seconds_waited(interrupt, 0.1) >= 0.1


def test_the_time_limit_ends_a_wait() -> None:
    interrupt = Interrupt(timeout=0.1)

    assert 0.09 <= seconds_waited(interrupt, LONG) < LONG / 2
    assert interrupt.asked() is not None
    # From now on the wait for the end is not cut short again and again.
    interrupt.wait(0)
    assert seconds_waited(interrupt, 0.1) >= 0.1


def test_a_readable_descriptor_ends_a_wait_and_is_not_read() -> None:
    reader, writer = os.pipe()
    try:
        os.write(writer, b"x")
        assert seconds_waited(Interrupt(), LONG, reader) < LONG / 2
        assert os.read(reader, 2) == b"x"
    finally:
        os.close(reader)
        os.close(writer)


def test_descriptors_over_1023_can_be_waited_for() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 4096)), hard))
    reader, writer = os.pipe()
    high = fcntl.fcntl(reader, fcntl.F_DUPFD, 2000)
    try:
        os.write(writer, b"x")
        assert seconds_waited(Interrupt(), LONG, high) < LONG / 2
    finally:
        for descriptor in (reader, writer, high):
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# What it means


def told(error: HereyaError) -> tuple[type, str, int, FailureClass, tuple[str, ...]]:
    code = error.exit_code if isinstance(error, Cancelled) else error.failure_class.exit_code
    return type(error), str(error), code, error.failure_class, error.hints


@pytest.mark.parametrize(
    ("reason", "number", "expected"),
    [
        pytest.param(
            Reason.TIMEOUT,
            None,
            (
                TimedOut,
                "the run did not end within `--timeout 1m30s`",
                124,
                FailureClass.TIMED_OUT,
                ("raise `--timeout`, or look at `hereya-tf runs log last` for what took the time",),
            ),
            id="timeout",
        ),
        pytest.param(
            Reason.IDLE,
            None,
            (
                Idle,
                "the engine said nothing for `--idle-timeout 5s`",
                124,
                FailureClass.IDLE,
                ("raise `--idle-timeout` if a resource of this package is silent for that long",),
            ),
            id="idle",
        ),
        pytest.param(
            Reason.REQUEST,
            None,
            (Cancelled, "the run was cancelled on request", 130, FailureClass.CANCELLED, ()),
            id="request",
        ),
        pytest.param(
            Reason.SIGNAL,
            signal.SIGINT,
            (Cancelled, "the run was cancelled by SIGINT", 130, FailureClass.CANCELLED, ()),
            id="ctrl-c",
        ),
        pytest.param(
            Reason.SIGNAL,
            signal.SIGTERM,
            (Cancelled, "the run was cancelled by SIGTERM", 143, FailureClass.CANCELLED, ()),
            id="term",
        ),
        pytest.param(
            Reason.SIGNAL,
            signal.SIGHUP,
            (Cancelled, "the run was cancelled by SIGHUP", 129, FailureClass.CANCELLED, ()),
            id="hangup",
        ),
    ],
)
def test_a_request_is_an_error_of_its_own(
    reason: Reason, number: int | None, expected: tuple[object, ...]
) -> None:
    interrupt = Interrupt(timeout=90, idle_timeout=5)
    interrupt.ask(reason, number)

    with pytest.raises(HereyaError) as caught:
        interrupt.check()

    assert expected == told(caught.value)


# Signals


@pytest.mark.usefixtures("handlers")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_asks_while_the_block_runs_and_handlers_are_put_back(number: signal.Signals) -> None:
    before: list[int] = []
    signal.signal(number, lambda received, _frame: before.append(received))
    interrupt = Interrupt()
    with signals_ask(interrupt):
        os.kill(os.getpid(), number)
        interrupt.wait(LONG)
        request = interrupt.asked()
    assert request is not None
    assert (Reason.SIGNAL, number, []) == (request.reason, request.signal, before)

    os.kill(os.getpid(), number)
    assert [number] == before


@pytest.mark.usefixtures("handlers")
def test_a_hangup_that_was_ignored_stays_ignored() -> None:
    """As under nohup(1)."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interrupt = Interrupt()
    with signals_ask(interrupt):
        os.kill(os.getpid(), signal.SIGHUP)

    assert interrupt.asked() is None
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.usefixtures("handlers")
def test_an_interrupt_that_was_ignored_is_heard() -> None:
    """As in the background of a shell without job control."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    interrupt = Interrupt()
    with signals_ask(interrupt):
        os.kill(os.getpid(), signal.SIGINT)

    assert interrupt.asked() is not None


@pytest.mark.usefixtures("handlers")
def test_handlers_are_put_back_when_the_block_fails() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(RuntimeError), signals_ask(Interrupt()):
        raise RuntimeError

    assert before == signal.getsignal(signal.SIGTERM)


def test_children_do_not_inherit_its_descriptors() -> None:
    interrupt = Interrupt()
    descriptors = (interrupt._wake_reader, interrupt._wake_writer)

    script = f"""
import os
for descriptor in {descriptors}:
    try:
        os.fstat(descriptor)
    except OSError:
        print("closed")
"""
    done = subprocess.run(
        (sys.executable, "-I", "-S", "-c", script), stdout=subprocess.PIPE, close_fds=False, check=True
    )

    assert done.stdout.split() == [b"closed", b"closed"]
