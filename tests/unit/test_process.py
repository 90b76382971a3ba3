"""One engine command, supervised: what it says is heard at once, and it ends when it is to end."""

import contextlib
import itertools
import json
import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from pytest_subprocess import FakeProcess

from hereya_tf.private import nameless_file, open_private
from hereya_tf.supervision.interrupt import Interrupt, Reason
from hereya_tf.supervision.patience import Move
from hereya_tf.supervision.process import CHUNK_BYTES, Command, Exit, Tail, Watcher, run_command
from hereya_tf.supervision.process_table import ProcessIdentity, identify, is_alive
from tests.fake_engine import wait_for

LONG = 60.0
"""Seconds that no test takes unless the product hangs."""

pytestmark = pytest.mark.timeout(120)


class Hurried:
    """A clock that passes so many times faster: patience is tested without having any."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def __call__(self) -> float:
        return time.monotonic() * self._factor


class Supervision:
    """Runs scripts under supervision and keeps what the watcher is told."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.interrupt = Interrupt()
        self.heard = bytearray()
        self.heard_errors = bytearray()
        self.started: list[ProcessIdentity] = []
        self.heartbeats: list[float] = []
        self.moves: list[Move] = []
        self.mutating = False
        self.on_stdout: Callable[[bytes], None] = lambda _chunk: None
        self.on_idle: Callable[[], None] = lambda: None
        self.watcher = Watcher(
            started=self.started.append,
            stdout=self._hear,
            stderr=self._hear_error,
            heartbeat=self.heartbeats.append,
            cancelling=self.moves.append,
            mutating=lambda: self.mutating,
            idle=self._idle,
        )

    @property
    def stdout(self) -> bytes:
        return bytes(self.heard)

    @property
    def stderr(self) -> bytes:
        return bytes(self.heard_errors)

    def _hear(self, chunk: bytes) -> None:
        self.heard += chunk
        self.on_stdout(chunk)

    def _hear_error(self, chunk: bytes) -> None:
        self.heard_errors += chunk

    def _idle(self) -> None:
        self.on_idle()

    def run(
        self,
        *argv: str,
        grace: float = LONG,
        clock: Callable[[], float] = time.monotonic,
        pass_fds: tuple[int, ...] = (),
        environment: dict[str, str] | None = None,
    ) -> Exit:
        """Run a command to its end."""
        out, err = self.directory / "stdout", self.directory / "stderr"
        with open_private(out, truncate=True) as stdout, open_private(err, truncate=True) as stderr:
            return run_command(
                Command(argv, self.directory, {**os.environ, **(environment or {})}),
                stdout=stdout,
                stderr=stderr,
                pass_fds=pass_fds,
                interrupt=self.interrupt,
                grace=grace,
                watcher=self.watcher,
                clock=clock,
            )

    def shell(self, script: str, **options: Any) -> Exit:
        """Run a shell script."""
        return self.run("/bin/sh", "-c", script, **options)

    def python(self, script: str, **options: Any) -> Exit:
        """Run a Python script; `say(text)` in it writes to stdout at once."""
        file = self.directory / "engine.py"
        file.write_text(_PREAMBLE + script, encoding="utf-8")
        return self.run(sys.executable, "-I", "-S", str(file), **options)

    def ask_when(self, said: bytes, then: Callable[[], None] | None = None) -> None:
        """Ask the run to end (or do `then`) once the engine has said this."""
        act = then or (lambda: self.interrupt.ask(Reason.REQUEST))
        done: list[bytes] = []

        def look(_chunk: bytes) -> None:
            if said in self.heard and not done:
                done.append(said)
                act()

        self.on_stdout = look


_PREAMBLE = """
import os, signal, sys, time

def say(text):
    os.write(1, text.encode())

def record(number, frame):
    say(f"<{signal.Signals(number).name}>")

def heed(*numbers):
    for number in numbers:
        signal.signal(number, record)

"""


@pytest.fixture
def supervision(tmp_path: Path) -> Iterator[Supervision]:
    directory = tmp_path / "supervised"
    directory.mkdir()
    supervised = Supervision(directory)
    yield supervised
    # What a failed test has left running.
    for identity in supervised.started:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(identity.pid, signal.SIGKILL)


def wait_until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


def process_named(file: Path) -> ProcessIdentity:
    """The process whose id is in this file."""
    identity = identify(int(file.read_text()))
    return identity or ProcessIdentity(int(file.read_text()), "gone")


# How it is started


def test_exit_code_and_both_streams_arrive_whole(supervision: Supervision) -> None:
    end = supervision.shell("printf out; printf err >&2; exit 7")

    assert (end.code, end.signal, end.insisted) == (7, None, False)
    assert (supervision.stdout, supervision.stderr) == (b"out", b"err")
    assert 0 < end.seconds < LONG


def test_death_by_a_signal_is_no_exit_code(supervision: Supervision) -> None:
    end = supervision.shell("kill -SEGV $$")

    assert (end.code, end.signal) == (None, signal.SIGSEGV)


def test_a_command_that_cannot_be_started_is_an_oserror(supervision: Supervision) -> None:
    with pytest.raises(FileNotFoundError):
        supervision.run("/nowhere/engine")

    assert supervision.started == []


@pytest.mark.behaviour("T4", "T5")
def test_stdin_is_empty_even_when_ours_is_an_open_pipe(supervision: Supervision) -> None:
    reader, writer = os.pipe()
    kept = os.dup(0)
    os.dup2(reader, 0)
    try:
        end = supervision.python("say(f'{sys.stdin.buffer.read()} {os.fstat(0).st_rdev}')")
    finally:
        os.dup2(kept, 0)
        for descriptor in (reader, writer, kept):
            os.close(descriptor)

    assert end.code == 0
    assert f"b'' {Path(os.devnull).stat().st_rdev}".encode() == supervision.stdout


def test_the_engine_has_a_session_and_a_group_of_its_own(supervision: Supervision) -> None:
    supervision.python("say(f'{os.getpid()} {os.getsid(0)} {os.getpgrp()}')")

    pid, session, group = map(int, supervision.stdout.split())
    assert (pid, pid) == (session, group)
    assert os.getsid(0) != session
    assert [pid] == [identity.pid for identity in supervision.started]


def test_arguments_environment_and_directory_arrive_as_they_are(supervision: Supervision) -> None:
    supervision.run(
        sys.executable,
        "-c",
        "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ['ODD'], os.getcwd()]))",
        "a b",
        "$HOME",
        "",
        "-x=\n",
        environment={"ODD": "é ${x}\n"},
    )

    expected = [["a b", "$HOME", "", "-x=\n"], "é ${x}\n", os.path.realpath(supervision.directory)]
    assert expected == json.loads(supervision.stdout)


def test_the_engine_inherits_the_descriptors_it_is_to_hold_and_no_other(supervision: Supervision) -> None:
    reader, writer = os.pipe()
    os.set_inheritable(reader, True)
    try:
        supervision.python("say(' '.join(sorted(os.listdir('/dev/fd'))))", pass_fds=(writer,))
    finally:
        os.close(reader)
        os.close(writer)

    shown = {int(name) for name in supervision.stdout.split()}
    assert writer in shown
    assert reader not in shown
    # Besides the three streams, at most the one that lists.
    assert len(shown - {0, 1, 2, writer}) <= 1


# Hearing


def test_a_word_is_heard_within_milliseconds(supervision: Supervision) -> None:
    delays = []

    def note(chunk: bytes) -> None:
        delays.append(time.monotonic() - float(chunk.split()[-1]))

    supervision.on_stdout = note
    supervision.python(
        """
for _ in range(9):
    say(f"{time.monotonic()}\\n")
    time.sleep(0.11)
"""
    )

    assert len(delays) >= 7
    # A poll every 200 ms would have a median of about 100 ms.
    assert statistics.median(delays) < 0.08


def test_a_chatty_engine_is_not_polled_late_after_its_end(supervision: Supervision) -> None:
    ends = []
    for _ in range(5):
        supervision.heard.clear()
        supervision.python("say(str(time.monotonic()))")
        ends.append(time.monotonic() - float(supervision.stdout))

    # What is left is the end of the interpreter.
    assert statistics.median(ends) < 0.15


def test_ten_megabytes_in_one_line_arrive_byte_for_byte(supervision: Supervision) -> None:
    supervision.python(
        """
line = bytes(range(32, 127)) * 105264
sys.stdout.buffer.write(line)
sys.stderr.buffer.write(line[::-1])
"""
    )

    line = bytes(range(32, 127)) * 105264
    assert len(line) > 10_000_000
    assert line == supervision.stdout
    assert line[::-1] == supervision.stderr


def test_what_is_said_is_passed_on_while_the_engine_still_works(supervision: Supervision) -> None:
    go_on = supervision.directory / "go-on"
    supervision.ask_when(b"first", go_on.touch)

    end = supervision.python(
        f"""
say("first")
while not os.path.exists({str(go_on)!r}):
    time.sleep(0.01)
say(" second")
"""
    )

    assert (end.code, supervision.stdout) == (0, b"first second")


def test_the_front_end_gets_its_turn_all_the_time(supervision: Supervision) -> None:
    turns = []
    supervision.on_idle = lambda: turns.append(time.monotonic())

    supervision.shell("sleep 0.5")

    gaps = [later - earlier for earlier, later in itertools.pairwise(turns)]
    assert len(turns) >= 5
    assert statistics.median(gaps) < 0.1


def test_nameless_files_serve_as_well(supervision: Supervision) -> None:
    with nameless_file() as stdout, nameless_file() as stderr:
        end = run_command(
            Command(("/bin/sh", "-c", "echo one; echo two; echo bad >&2"), supervision.directory, os.environ),
            stdout=stdout,
            stderr=stderr,
            pass_fds=(),
            interrupt=supervision.interrupt,
            grace=LONG,
            watcher=supervision.watcher,
        )

    assert (end.code, supervision.stdout, supervision.stderr) == (0, b"one\ntwo\n", b"bad\n")


def test_a_tail_reads_what_is_new_in_pieces(tmp_path: Path) -> None:
    with open_private(tmp_path / "file") as file:
        tail = Tail(file)
        assert tail.read() == b""
        file.write(b"a" * (CHUNK_BYTES + 1))
        assert [len(tail.read()) for _ in range(3)] == [CHUNK_BYTES, 1, 0]
        file.write(b"b")
        assert tail.read() == b"b"
        assert tail.offset == tail.size() == CHUNK_BYTES + 2


@pytest.mark.parametrize(
    ("offset", "skipped", "next_line"),
    [
        pytest.param(0, 0, b"one\n", id="nothing"),
        pytest.param(4, 4, b"two\n", id="to-where-a-line-begins"),
        pytest.param(5, 8, b"three", id="into-a-line"),
        pytest.param(9, 13, b"", id="into-the-last-line"),
    ],
)
def test_a_tail_skips_to_the_beginning_of_a_line(
    tmp_path: Path, offset: int, skipped: int, next_line: bytes
) -> None:
    with open_private(tmp_path / "file") as file:
        file.write(b"one\ntwo\nthree")
        tail = Tail(file)

        assert skipped == tail.skip(offset)
        assert next_line == (tail.rest_of_line() or tail.read())


def test_heartbeats_come_every_ten_seconds(supervision: Supervision) -> None:
    end = supervision.shell("sleep 1", clock=Hurried(40))

    # The clock does not wait for us: each is at least ten seconds after the one before.
    assert 2 <= len(supervision.heartbeats) <= end.seconds // 10
    beats = [0.0, *supervision.heartbeats]
    assert all(later - earlier >= 10 for earlier, later in itertools.pairwise(beats))
    assert supervision.heartbeats[0] < 20


def test_no_heartbeat_for_what_is_short(supervision: Supervision) -> None:
    supervision.shell("true")

    assert supervision.heartbeats == []


# Ending it


def test_one_interrupt_reaches_the_engine_alone(supervision: Supervision) -> None:
    supervision.ask_when(b"ready")
    supervision.mutating = True

    end = supervision.python(
        """
child = os.fork()
heed(signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
if child == 0:
    say("ready")
    os.write(2, b"child ")
    time.sleep(1)
    os._exit(0)
os.waitpid(child, 0)
say(" done")
sys.exit(3)
"""
    )

    # The child would have said so as well.
    assert supervision.stdout == b"ready<SIGINT> done"
    assert (supervision.moves, end.code, end.insisted) == ([Move.ASK], 3, False)


@pytest.mark.parametrize(
    ("mutating", "least", "most"),
    [pytest.param(True, 60, 90, id="while-applying"), pytest.param(False, 5, 30, id="while-planning")],
)
def test_an_engine_that_does_not_listen_is_interrupted_again_and_then_killed(
    supervision: Supervision, mutating: bool, least: float, most: float
) -> None:
    supervision.ask_when(b"ready")
    supervision.mutating = mutating
    clock = Hurried(60)
    times: list[float] = []

    def note(move: Move) -> None:
        supervision.moves.append(move)
        times.append(clock())

    supervision.watcher = supervision.watcher._replace(cancelling=note)

    end = supervision.python(
        """
heed(signal.SIGINT, signal.SIGTERM)
say("ready")
while True:
    time.sleep(1)
""",
        grace=60,
        clock=clock,
    )

    assert supervision.stdout == b"ready<SIGINT><SIGINT>"
    assert supervision.moves == [Move.ASK, Move.INSIST, Move.KILL]
    assert (end.code, end.signal, end.insisted) == (None, signal.SIGKILL, True)
    assert least <= times[1] - times[0] < most
    assert 10 <= times[2] - times[1] < 40


def test_the_users_second_wish_interrupts_again_at_once(supervision: Supervision) -> None:
    supervision.mutating = True

    def press(_chunk: bytes) -> None:
        if supervision.stdout == b"ready":
            supervision.interrupt.ask(Reason.SIGNAL, signal.SIGINT)
        supervision.interrupt.insisted = b"<1>" in supervision.stdout

    supervision.on_stdout = press
    end = supervision.python(
        """
count = 0

def received(number, frame):
    global count
    count += 1
    say(f"<{count}>")
signal.signal(signal.SIGINT, received)
say("ready")
while count < 2:
    time.sleep(0.01)
sys.exit(1)
"""
    )

    assert (supervision.stdout, end.code, end.insisted) == (b"ready<1><2>", 1, True)
    assert supervision.moves == [Move.ASK, Move.INSIST]
    # Not after the grace, which is a minute.
    assert end.seconds < 30


def test_killing_reaches_the_whole_group(supervision: Supervision, monkeypatch: pytest.MonkeyPatch) -> None:
    provider = supervision.directory / "provider"
    sent: list[tuple[int, int]] = []
    real_killpg = os.killpg

    def killpg(group: int, number: int) -> None:
        sent.append((group, number))
        real_killpg(group, number)

    monkeypatch.setattr(os, "killpg", killpg)
    supervision.ask_when(b"ready")

    supervision.python(
        f"""
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_IGN)
child = os.fork()
if child:
    open({str(provider)!r}, "w").write(str(child))
    say("ready")
while True:
    time.sleep(1)
""",
        clock=Hurried(60),
    )

    assert supervision.moves == [Move.ASK, Move.INSIST, Move.KILL]
    assert sent[0] == (supervision.started[0].pid, signal.SIGKILL)
    assert not is_alive(process_named(provider))


def test_a_stopped_engine_is_killed_in_the_end(supervision: Supervision) -> None:
    supervision.interrupt = Interrupt(timeout=0.5)

    end = supervision.python("say('ready'); os.kill(os.getpid(), signal.SIGSTOP)", clock=Hurried(60))

    assert (end.signal, supervision.moves) == (signal.SIGKILL, [Move.ASK, Move.INSIST, Move.KILL])


def test_the_time_limit_ends_an_engine_that_floods_its_output_for_ever(supervision: Supervision) -> None:
    supervision.interrupt = Interrupt(timeout=0.5)
    supervision.on_stdout = lambda _chunk: time.sleep(0.02)
    began = time.monotonic()

    # It writes faster than this is read, so there is always more; and bounded, for the sake of the disk.
    end = supervision.python(
        """
piece = b"words\\n" * 40000
for _ in range(4000):
    os.write(1, piece)
    time.sleep(0.002)
""",
        clock=Hurried(20),
    )

    assert supervision.moves == [Move.ASK]
    assert (
        supervision.interrupt.request and supervision.interrupt.request.reason,
        end.signal or (end.code and signal.SIGINT),
    ) == (Reason.TIMEOUT, signal.SIGINT)
    assert time.monotonic() - began < 20


def test_a_flood_that_is_far_ahead_of_us_when_it_is_ended_is_cut_to_its_last_words(
    supervision: Supervision,
) -> None:
    # Two minutes' work for this reader, of which the clock makes ten seconds.
    supervision.on_stdout = lambda chunk: time.sleep(len(chunk) / 4_000_000)
    flooded = supervision.directory / "flooded"
    supervision.on_idle = lambda: supervision.interrupt.ask(Reason.REQUEST) if flooded.exists() else None

    end = supervision.python(
        f"""
def received(number, frame):
    say("the last words\\n")
    os._exit(1)
signal.signal(signal.SIGINT, received)
for number in range(40):
    os.write(1, b"".join(b"line %07d\\n" % (number * 90000 + index) for index in range(90000)))
open({str(flooded)!r}, "w").close()
while True:
    time.sleep(0.01)
""",
        clock=Hurried(20),
    )

    assert end.seconds / 20 < 8
    lines = supervision.stdout.decode().split("\n")
    (note,) = (line for line in lines if line.startswith("["))
    assert lines[-2:] == ["the last words", ""]
    # Nothing but whole lines, in order, and one gap.
    numbers = [int(line.removeprefix("line ")) for line in lines if line.startswith("line ")]
    assert {12} == {len(line) for line in lines if line.startswith("line ")}
    gaps = [(one, two) for one, two in itertools.pairwise(numbers) if two != one + 1]
    ((before, after),) = gaps
    assert f"[{(after - before - 1) * 13} bytes are left out here]" == note


def test_silence_is_a_limit_of_its_own(supervision: Supervision) -> None:
    supervision.interrupt = Interrupt(idle_timeout=20)

    supervision.python(
        """
for _ in range(4):
    say("word ")
    time.sleep(0.3)
while True:
    time.sleep(1)
""",
        clock=Hurried(25),
    )

    # 0.3 s are 7.5 s: as long as there were words, it was not idle.
    assert supervision.stdout == b"word " * 4
    request = supervision.interrupt.request
    assert (request and request.reason) == Reason.IDLE


def test_a_request_from_another_thread_is_heard_while_the_engine_is_silent(supervision: Supervision) -> None:
    supervision.ask_when(
        b"ready", lambda: threading.Timer(0.2, supervision.interrupt.ask, (Reason.REQUEST,)).start()
    )

    end = supervision.python("say('ready'); time.sleep(60)")

    assert (supervision.moves, end.signal or (end.code and signal.SIGINT)) == ([Move.ASK], signal.SIGINT)
    assert end.seconds < 20


def test_a_run_that_is_to_end_already_ends_its_engine_at_once(supervision: Supervision) -> None:
    supervision.interrupt.ask(Reason.REQUEST)

    # Not by way of a shell: one that is interrupted while it starts waits for its child.
    end = supervision.run("sleep", "60")

    assert (end.code, end.signal, supervision.moves) == (None, signal.SIGINT, [Move.ASK])


# What it leaves behind


def test_survivors_in_the_group_are_ended(supervision: Supervision) -> None:
    survivor = supervision.directory / "survivor"

    end = supervision.shell(f"sleep 300 & echo $! > {survivor}; exit 4")

    assert end.code == 4
    assert end.seconds < 10
    assert not is_alive(process_named(survivor))


def test_a_survivor_that_does_not_listen_is_killed(supervision: Supervision) -> None:
    survivor = supervision.directory / "survivor"

    end = supervision.python(
        f"""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    time.sleep(300)
open({str(survivor)!r}, "w").write(str(child))
"""
    )

    assert end.code == 0
    assert end.seconds < 20
    assert not is_alive(process_named(survivor))


def test_a_daemon_that_got_away_and_holds_stdout_does_not_keep_us(supervision: Supervision) -> None:
    daemon = supervision.directory / "daemon"

    end = supervision.python(
        f"""
child = os.fork()
if child == 0:
    os.setsid()
    open({str(daemon)!r}, "w").write(str(os.getpid()))
    time.sleep(300)
while not os.path.exists({str(daemon)!r}):
    time.sleep(0.01)
say("done")
"""
    )

    identity = process_named(daemon)
    try:
        assert (end.code, supervision.stdout) == (0, b"done")
        assert end.seconds < 10
        # It is not ours to end: it has left the group.
        assert is_alive(identity)
    finally:
        os.kill(identity.pid, signal.SIGKILL)


def test_a_daemon_that_got_away_and_writes_for_ever_does_not_keep_us(supervision: Supervision) -> None:
    daemon = supervision.directory / "daemon"
    # Reading is slower than its writing.
    supervision.on_stdout = lambda _chunk: time.sleep(0.01)

    end = supervision.python(
        f"""
child = os.fork()
if child == 0:
    os.setsid()
    open({str(daemon)!r}, "w").write(str(os.getpid()))
    piece = b"y" * 65536
    for _ in range(20000):
        os.write(1, piece)
        time.sleep(0.002)
while not os.path.exists({str(daemon)!r}):
    time.sleep(0.01)
"""
    )

    os.kill(process_named(daemon).pid, signal.SIGKILL)
    assert end.code == 0
    assert end.seconds < 10


# When something of ours fails


class WatcherFailed(Exception):
    """Raised by a watcher in a test."""


def failing(*_: object) -> None:
    raise WatcherFailed


_LISTENING = """
def received(number, frame):
    open("signals", "a").write("<SIGINT>")
    time.sleep(0.3)
    open("state", "w").write("saved")
    os._exit(1)
signal.signal(signal.SIGINT, received)
say("ready")
while True:
    time.sleep(0.05)
"""


@pytest.mark.parametrize("part", ["stdout", "heartbeat", "idle", "mutating"])
def test_an_exception_in_a_watcher_ends_the_engine_gracefully(supervision: Supervision, part: str) -> None:
    ready = []
    supervision.ask_when(b"ready", lambda: ready.append(True))

    def fail_when_ready(*_: object) -> bool:
        if ready or part == "stdout":
            raise WatcherFailed
        return True

    parts: dict[str, Any] = {part: fail_when_ready}
    supervision.watcher = supervision.watcher._replace(**parts)
    with pytest.raises(WatcherFailed):
        supervision.python(_LISTENING, clock=Hurried(30), grace=600)

    # Asked once, and waited for.
    assert (supervision.directory / "signals").read_text() == "<SIGINT>"
    assert (supervision.directory / "state").read_text() == "saved"
    assert not is_alive(supervision.started[0])


def test_the_engine_is_asked_before_that_is_told(supervision: Supervision) -> None:
    """To write reports takes time, and whoever has asked may have given little."""
    signals = supervision.directory / "signals"
    supervision.ask_when(b"ready")

    def note(move: Move) -> None:
        supervision.moves.append(move)
        wait_for(lambda: signals.read_text() if signals.exists() else None, 30, "a signal")

    supervision.watcher = supervision.watcher._replace(cancelling=note)
    supervision.python(_LISTENING)

    assert (supervision.moves, signals.read_text()) == ([Move.ASK], "<SIGINT>")


def test_a_watcher_that_fails_for_good_does_not_keep_the_engine_from_being_asked(
    supervision: Supervision,
) -> None:
    """As when the engine is to end, and to say so fails each time."""
    supervision.watcher = supervision.watcher._replace(cancelling=failing)
    supervision.ask_when(b"ready")

    with pytest.raises(WatcherFailed):
        # It has been asked before that fails to be told.
        supervision.python(_LISTENING, clock=Hurried(60))

    assert (supervision.directory / "signals").read_text() == "<SIGINT>"
    assert not is_alive(supervision.started[0])


def test_a_failure_right_at_the_start_leaves_no_engine_without_supervision(supervision: Supervision) -> None:
    def fail(identity: ProcessIdentity) -> None:
        supervision.started.append(identity)
        raise WatcherFailed

    supervision.watcher = supervision.watcher._replace(started=fail)
    with pytest.raises(WatcherFailed):
        supervision.run("sleep", "60")

    assert not is_alive(supervision.started[0])


def test_a_failure_while_the_last_words_are_passed_on_is_raised_as_it_is(supervision: Supervision) -> None:
    release = supervision.directory / "release"
    supervision.on_stdout = lambda chunk: failing() if b"last" in chunk else release.touch()
    # Two pieces at once: the second can only be read when the engine has ended.
    with pytest.raises(WatcherFailed):
        supervision.python(
            f"""
os.write(1, b"y" * {CHUNK_BYTES} + b"last")
os._exit(0)
"""
        )

    assert not is_alive(supervision.started[0])


def test_an_abandoned_engine_gets_the_whole_grace_because_nobody_listens_any_more(
    supervision: Supervision,
) -> None:
    """What it was doing when we last listened says nothing: it may have begun to apply since."""
    supervision.mutating = False
    supervision.ask_when(b"ready", failing)

    with pytest.raises(WatcherFailed):
        # 0.5 s are 20 s: a planning engine would have been interrupted again after 5.
        supervision.python(
            """
def received(number, frame):
    open("signals", "a").write("<SIGINT>")
signal.signal(signal.SIGINT, received)
say("ready")
deadline = time.monotonic() + 1
while time.monotonic() < deadline:
    time.sleep(0.05)
""",
            clock=Hurried(40),
            grace=600,
        )

    assert (supervision.directory / "signals").read_text() == "<SIGINT>"


# Systems that lack what Linux has


def test_without_waitid_and_pidfd_it_works_the_same(
    supervision: Supervision, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "waitid", raising=False)
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    survivor = supervision.directory / "survivor"
    supervision.ask_when(b"ready")

    end = supervision.shell(
        f"trap 'echo heard; exit 5' INT; sleep 300 & echo $! > {survivor}; echo ready; wait; wait"
    )

    assert (end.code, supervision.stdout) == (5, b"ready\nheard\n")
    assert not is_alive(process_named(survivor))


def test_without_a_descriptor_for_the_end_it_polls(
    supervision: Supervision, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)

    assert supervision.shell("exit 3").code == 3


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
def test_an_engine_that_ended_just_before_the_signal_is_no_failure(
    supervision: Supervision, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    real_kill = os.kill

    def kill(pid: int, number: int) -> None:
        if number == signal.SIGINT:
            real_kill(pid, signal.SIGKILL)
            raise error
        real_kill(pid, number)

    monkeypatch.setattr(os, "kill", kill)
    supervision.ask_when(b"ready")

    assert supervision.python("say('ready'); time.sleep(60)").signal == signal.SIGKILL


# Test doubles


def fake_files(directory: Path) -> tuple[BinaryIO, BinaryIO]:
    return open_private(directory / "fake.stdout"), open_private(directory / "fake.stderr")


@pytest.fixture
def no_group_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(group: int, number: int) -> None:
        pytest.fail(f"signal {number} to group {group}")

    monkeypatch.setattr(os, "killpg", refuse)
    monkeypatch.setattr(os, "kill", refuse)


@pytest.mark.usefixtures("no_group_signals")
def test_a_double_gets_the_command_and_gives_its_canned_end(
    fp: FakeProcess, supervision: Supervision
) -> None:
    argv = ("terraform", "apply", "-json", "a b")
    recorder = fp.register([*argv], stdout=b"canned\n", stderr=b"oh\n", returncode=3)
    stdout, stderr = fake_files(supervision.directory)
    with stdout, stderr:
        end = run_command(
            Command(argv, supervision.directory, {"ONLY": "this"}),
            stdout=stdout,
            stderr=stderr,
            pass_fds=(),
            interrupt=supervision.interrupt,
            grace=LONG,
            watcher=supervision.watcher,
        )
    (call,) = recorder.calls
    given = call.kwargs or {}

    assert (end.code, end.signal) == (3, None)
    assert (supervision.stdout, supervision.stderr) == (b"canned\n", b"oh\n")
    assert [argv] == list(fp.calls)
    assert ({"ONLY": "this"}, supervision.directory) == (given["env"], given["cwd"])
    assert (given["stdin"], given["start_new_session"], given["pass_fds"]) == (subprocess.DEVNULL, True, ())
    assert supervision.started == []


@pytest.mark.usefixtures("no_group_signals")
def test_a_double_is_interrupted_without_a_signal_to_any_process(
    fp: FakeProcess, supervision: Supervision
) -> None:
    released = threading.Event()
    recorder = fp.register(["terraform", "plan"], callback=lambda _process: released.wait(30))

    def note(move: Move) -> None:
        supervision.moves.append(move)
        if move is Move.KILL:
            released.set()

    supervision.watcher = supervision.watcher._replace(cancelling=note)
    supervision.interrupt.ask(Reason.REQUEST)
    stdout, stderr = fake_files(supervision.directory)
    with stdout, stderr:
        run_command(
            Command(("terraform", "plan"), supervision.directory, {}),
            stdout=stdout,
            stderr=stderr,
            pass_fds=(),
            interrupt=supervision.interrupt,
            grace=LONG,
            watcher=supervision.watcher,
            clock=Hurried(60),
        )

    (call,) = recorder.calls
    assert supervision.moves == [Move.ASK, Move.INSIST, Move.KILL]
    assert call.received_signals() == (signal.SIGINT, signal.SIGINT, signal.SIGKILL)
