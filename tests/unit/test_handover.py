"""An engine that has our streams and our terminal: it is asked to end once, whoever asks and however."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.errors import Cancelled
from hereya_tf.supervision.handover import hand_over
from hereya_tf.supervision.interrupt import SAME_KEYPRESS_SECONDS, Interrupt, Reason
from hereya_tf.supervision.patience import KILL_AFTER_INSISTING_SECONDS
from hereya_tf.supervision.process import Command, Exit
from hereya_tf.supervision.process_table import ProcessIdentity, is_alive
from tests.command_line import environment
from tests.fake_engine import wait_for

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups"),
]

# What asks in the tests: beyond the time within which two signals are one keypress.
LATER = SAME_KEYPRESS_SECONDS + 0.3
LONG = 60.0

# Hands its streams to the command that the first argument describes, and writes down how that ended.
RUNNER = """
import json, os, sys, time
from pathlib import Path
from hereya_tf.supervision.handover import hand_over
from hereya_tf.supervision.interrupt import Interrupt
from hereya_tf.supervision.process import Command

how = json.loads(sys.argv[1])
directory = Path(how["directory"])
interrupt = Interrupt(timeout=how.get("timeout"))
interrupt.cancel_requested = (directory / "cancel").exists
ticks = []

def started(identity):
    (directory / "engine").write_text(str(identity.pid))

def tick():
    ticks.append(time.monotonic())
    if how.get("failing_tick") and (directory / "ready").exists():
        raise RuntimeError("a fault of ours")

try:
    end = hand_over(
        Command(tuple(how["argv"]), directory, dict(os.environ)),
        pass_fds=(),
        interrupt=interrupt,
        grace=how.get("grace", 60.0),
        started=started,
        tick=tick,
        clock=lambda: time.monotonic() * how.get("hurry", 1),
        shell=how.get("shell", "/bin/sh"),
    )
    story = {"code": end.code, "signal": end.signal, "insisted": end.insisted}
except Exception as error:
    story = {"error": f"{type(error).__name__}: {error}"}
request = interrupt.request
story["request"] = request and [request.reason, request.signal]
began = time.monotonic() if not ticks else ticks[0]
story["longest_pause"] = max([b - a for a, b in zip(ticks, ticks[1:])], default=0.0)
(directory / "story").write_text(json.dumps(story))
"""

# Writes down each signal; ends with 7 when `go` is there, or with 1 at its first SIGINT if told so.
ENGINE = """
import os, signal, sys, time

def record(number, frame):
    with open("signals", "a") as file:
        file.write(signal.Signals(number).name + "\\n")
    if "end-on-sigint" in sys.argv:
        os._exit(1)

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    if signal.getsignal(number) is not signal.SIG_IGN:
        signal.signal(number, record)
open("ready", "w").close()
while not os.path.exists("go"):
    time.sleep(0.01)
os._exit(7)
"""


class Handed:
    """A runner in a group of its own that has handed over to an engine which heeds no signal."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        (directory / "runner.py").write_text(RUNNER, encoding="utf-8")
        (directory / "engine.py").write_text(ENGINE, encoding="utf-8")
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *words: str, popen: dict[str, Any] | None = None, **how: Any) -> "Handed":
        argv = [sys.executable, "-I", "-S", str(self.directory / "engine.py"), *words]
        self.run({"argv": argv, **how}, **(popen or {}))
        wait_for(lambda: (self.directory / "ready").exists() or None, what="the engine")
        return self

    def run(self, how: dict[str, Any], **popen: Any) -> "subprocess.Popen[bytes]":
        how = {"directory": str(self.directory), **how}
        self.process = subprocess.Popen(
            [sys.executable, str(self.directory / "runner.py"), json.dumps(how)],
            env=environment({}),
            start_new_session=True,
            **{"stdin": subprocess.DEVNULL, **popen},
        )
        return self.process

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def engine(self) -> int:
        return int((self.directory / "engine").read_text())

    def alone(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def group(self, number: signal.Signals) -> None:
        os.killpg(self.pid, number)

    def signals(self) -> list[str]:
        """What the engine has got so far."""
        file = self.directory / "signals"
        return file.read_text().split() if file.exists() else []

    def wait_for_signals(self, count: int) -> None:
        wait_for(lambda: len(self.signals()) >= count or None, what=f"{count} signals to the engine")

    def finish(self) -> dict[str, Any]:
        """Let the engine end; how that was."""
        (self.directory / "go").touch()
        return self.end()

    def end(self) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.wait(LONG) == 0
        story = json.loads((self.directory / "story").read_text())
        assert isinstance(story, dict)
        return story

    def close(self) -> None:
        if self.process is not None:
            for identity in (self.pid, self.engine if (self.directory / "engine").exists() else 0):
                if identity and is_alive(ProcessIdentity(identity, "")):
                    os.kill(identity, signal.SIGKILL)
            self.process.wait(LONG)


@pytest.fixture
def handed(tmp_path: Path) -> Iterator[Handed]:
    directory = tmp_path / "handed"
    directory.mkdir()
    given = Handed(directory)
    yield given
    given.close()


def pause(seconds: float) -> None:
    """The time between two signals is the matter itself."""
    time.sleep(seconds)


# What the engine has


def test_the_engine_reads_and_writes_our_streams_byte_for_byte(handed: Handed) -> None:
    data = bytes(range(256)) * 300 + b"\xff\x00no line break"
    (handed.directory / "in").write_bytes(data)
    script = "cat; printf 'odd \\000\\377' >&2"
    with (
        (handed.directory / "in").open("rb") as stdin,
        (handed.directory / "out").open("wb") as stdout,
        (handed.directory / "err").open("wb") as stderr,
    ):
        handed.run({"argv": ["/bin/sh", "-c", script]}, stdin=stdin, stdout=stdout, stderr=stderr)
        story = handed.end()

    assert (story["code"], story["signal"], story["request"]) == (0, None, None)
    assert (handed.directory / "out").read_bytes() == data
    assert (handed.directory / "err").read_bytes() == b"odd \x00\xff"


def test_the_engine_stands_in_our_group_and_session_with_no_descriptor_more(handed: Handed) -> None:
    script = "import os; print(os.getpgrp(), os.getsid(0), sorted(map(int, os.listdir('/dev/fd'))))"
    with (handed.directory / "out").open("wb") as stdout:
        handed.run({"argv": [sys.executable, "-I", "-S", "-c", script]}, stdout=stdout)
        handed.end()
    group, session, descriptors = (handed.directory / "out").read_text().split(" ", 2)

    assert (int(group), int(session)) == (handed.pid, handed.pid)
    # Besides the three streams, at most the one that lists.
    assert len(set(json.loads(descriptors)) - {0, 1, 2}) <= 1


def handed_here(argv: tuple[str, ...], directory: Path, **how: Any) -> Exit:
    settings: dict[str, Any] = {
        "pass_fds": (),
        "interrupt": how.get("interrupt") or Interrupt(),
        "grace": LONG,
        "started": lambda _identity: None,
        "tick": lambda: None,
        **how,
    }
    return hand_over(Command(argv, directory, dict(os.environ)), **settings)


def test_the_exit_code_is_the_engines(tmp_path: Path) -> None:
    end = handed_here(("/bin/sh", "-c", "exit 3"), tmp_path)

    assert (end.code, end.signal, end.insisted) == (3, None, False)


def test_death_by_a_signal_is_no_exit_code(tmp_path: Path) -> None:
    end = handed_here(("/bin/sh", "-c", "kill -SEGV $$"), tmp_path)

    assert (end.code, end.signal, end.insisted) == (None, signal.SIGSEGV, False)


def test_the_engine_holds_the_descriptors_that_it_is_to_hold(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    try:
        script = f"import os; os.write({writer}, b'held')"
        end = handed_here((sys.executable, "-I", "-S", "-c", script), tmp_path, pass_fds=(writer,))
        assert end.code == 0
        held = os.read(reader, 9)
    finally:
        os.close(reader)
        os.close(writer)

    assert held == b"held"


def test_its_end_is_noticed_at_once_and_its_start_told(tmp_path: Path) -> None:
    started: list[ProcessIdentity] = []
    ends = [handed_here(("/bin/sh", "-c", "exit 0"), tmp_path, started=started.append) for _ in range(3)]

    assert min(end.seconds for end in ends) < 0.5
    assert [is_alive(identity) for identity in started] == [False, False, False]


def test_a_command_that_cannot_be_started_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        handed_here(("/nowhere/engine",), tmp_path)


def test_nothing_is_started_once_somebody_has_asked_for_the_end(tmp_path: Path) -> None:
    interrupt = Interrupt()
    interrupt.ask(Reason.REQUEST)

    with pytest.raises(Cancelled):
        handed_here(("/bin/sh", "-c", "touch started"), tmp_path, interrupt=interrupt)

    assert list(tmp_path.glob("started")) == []


def test_handlers_are_as_before_and_nothing_is_left_open(tmp_path: Path) -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
    interrupt = Interrupt()
    handlers = [signal.getsignal(number) for number in numbers]
    before = sum(1 for _ in Path("/dev/fd").iterdir())
    for _ in range(8):
        handed_here(("/bin/sh", "-c", "exit 0"), tmp_path, interrupt=interrupt)

    assert handlers == [signal.getsignal(number) for number in numbers]
    # The test runner may open some of its own meanwhile.
    assert sum(1 for _ in Path("/dev/fd").iterdir()) < before + 8


def test_the_caller_is_called_at_least_each_second(handed: Handed) -> None:
    handed.start()
    pause(2.5)
    story = handed.finish()

    assert 0.5 < story["longest_pause"] < 1.8


# What others ask of us


@pytest.mark.behaviour("T6")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_us_alone_is_one_sigint_to_the_engine(handed: Handed, number: signal.Signals) -> None:
    handed.start()
    handed.alone(number)
    handed.wait_for_signals(1)
    pause(LATER)
    story = handed.finish()

    assert handed.signals() == ["SIGINT"]
    assert (story["code"], story["insisted"], story["request"]) == (7, False, ["signal", number])


@pytest.mark.behaviour("T6")
@pytest.mark.parametrize("shell", ["/bin/sh", "/bin/bash"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_group_is_not_passed_on(handed: Handed, number: signal.Signals, shell: str) -> None:
    if not Path(shell).exists():
        pytest.skip(f"there is no {shell}")
    handed.start(shell=shell)
    handed.group(number)
    pause(2 * LATER)
    story = handed.finish()

    assert handed.signals() == [number.name]
    assert (story["code"], story["insisted"], story["request"]) == (7, False, ["signal", number])


@pytest.mark.parametrize("sent", [("group", "alone"), ("alone", "group"), ("group", "alone", "alone")])
def test_a_wrapper_that_passes_the_same_ctrl_c_on_adds_none(handed: Handed, sent: tuple[str, ...]) -> None:
    handed.start()
    for way in sent:
        getattr(handed, way)(signal.SIGINT)
        pause(0.05)
    pause(2 * LATER)
    handed.finish()

    assert handed.signals() == ["SIGINT"]


def test_each_ctrl_c_of_the_terminal_reaches_the_engine_once(handed: Handed) -> None:
    handed.start()
    for count in (1, 2, 3):
        handed.group(signal.SIGINT)
        handed.wait_for_signals(count)
        pause(LATER)
    story = handed.finish()

    assert handed.signals() == ["SIGINT"] * 3
    assert story["insisted"] is False


def test_two_signals_of_one_keypress_are_one_and_a_later_one_is_the_second(handed: Handed) -> None:
    handed.start()
    handed.alone(signal.SIGINT)
    pause(0.05)
    handed.alone(signal.SIGINT)
    handed.wait_for_signals(1)
    pause(LATER)
    assert handed.signals() == ["SIGINT"]
    handed.alone(signal.SIGINT)
    handed.wait_for_signals(2)
    story = handed.finish()

    assert handed.signals() == ["SIGINT", "SIGINT"]
    assert story["insisted"] is True


def test_a_request_after_the_terminals_ctrl_c_is_no_second_interrupt(handed: Handed) -> None:
    handed.start()
    handed.group(signal.SIGINT)
    pause(LATER)
    handed.alone(signal.SIGTERM)
    pause(2 * LATER)
    story = handed.finish()

    assert handed.signals() == ["SIGINT"]
    assert (story["insisted"], story["request"]) == (False, ["signal", signal.SIGTERM])


def test_the_terminals_ctrl_c_after_a_request_is_the_users_second(handed: Handed) -> None:
    handed.start(grace=LONG)
    handed.alone(signal.SIGTERM)
    handed.wait_for_signals(1)
    pause(LATER)
    handed.group(signal.SIGINT)
    pause(2 * LATER)
    story = handed.finish()

    assert handed.signals() == ["SIGINT", "SIGINT"]
    assert (story["insisted"], story["request"]) == (True, ["signal", signal.SIGTERM])


@pytest.mark.behaviour("T6")
def test_a_limit_asks_once_then_insists_after_the_grace_then_kills(handed: Handed) -> None:
    handed.start(timeout=1.5, grace=20.0, hurry=20)
    handed.wait_for_signals(1)
    first = time.monotonic()
    handed.wait_for_signals(2)
    second = time.monotonic()
    story = handed.end()
    third = time.monotonic()

    assert handed.signals() == ["SIGINT", "SIGINT"]
    # Looked for once a second, and hurried twenty times.
    assert 0.8 < second - first < 3.5
    assert KILL_AFTER_INSISTING_SECONDS / 20 - 0.2 < third - second < 3.5
    assert (story["code"], story["signal"], story["insisted"]) == (None, signal.SIGKILL, True)
    assert story["request"] == ["timeout", None]


def test_a_cancel_that_was_noted_is_a_request(handed: Handed) -> None:
    handed.start("end-on-sigint")
    (handed.directory / "cancel").touch()
    handed.alone(signal.SIGTERM)
    story = handed.end()

    assert handed.signals() == ["SIGINT"]
    assert (story["code"], story["request"]) == (1, ["request", None])


def test_an_engine_that_ends_by_the_terminals_ctrl_c_was_cancelled(handed: Handed) -> None:
    handed.start("end-on-sigint")
    handed.group(signal.SIGINT)
    story = handed.end()

    assert (story["code"], story["request"]) == (1, ["signal", signal.SIGINT])


def test_sigquit_is_the_engines_alone(handed: Handed) -> None:
    handed.start()
    handed.group(signal.SIGQUIT)
    handed.wait_for_signals(1)
    pause(LATER)
    handed.alone(signal.SIGQUIT)
    pause(LATER)
    story = handed.finish()

    assert handed.signals() == ["SIGQUIT"]
    assert (story["code"], story["request"]) == (7, None)


def test_nohup_holds_for_the_engine_and_for_us(handed: Handed) -> None:
    previous = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        handed.start()
    finally:
        signal.signal(signal.SIGHUP, previous)
    handed.group(signal.SIGHUP)
    handed.alone(signal.SIGHUP)
    pause(2 * LATER)
    story = handed.finish()

    assert handed.signals() == []
    assert (story["code"], story["request"]) == (7, None)


def test_a_fault_of_ours_asks_the_engine_to_end_and_waits_for_it(handed: Handed) -> None:
    handed.start(failing_tick=True)
    handed.wait_for_signals(1)
    pause(LATER)
    story = handed.finish()

    assert handed.signals() == ["SIGINT"]
    assert story["error"] == "RuntimeError: a fault of ours"


def test_without_a_shell_a_signal_outside_the_terminals_foreground_is_passed_on(handed: Handed) -> None:
    handed.start(shell="/nowhere/sh")
    handed.alone(signal.SIGINT)
    handed.wait_for_signals(1)
    pause(LATER)
    handed.finish()

    assert handed.signals() == ["SIGINT"]


# What may happen to us


def children(pid: int) -> list[int]:
    """Ids of the children of a process (proc(5))."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_our_sudden_end_leaves_the_engine_alone_and_nothing_else(handed: Handed) -> None:
    handed.start()
    others = [pid for pid in children(handed.pid) if pid != handed.engine]
    handed.alone(signal.SIGKILL)
    (witness,) = others
    wait_for(lambda: None if is_alive(ProcessIdentity(witness, "")) else True, what="the witness's end")

    assert is_alive(ProcessIdentity(handed.engine, ""))
    assert handed.signals() == []


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_whoever_ends_the_witness_does_not_deafen_us(handed: Handed) -> None:
    handed.start()

    def witnesses() -> list[int]:
        return [pid for pid in children(handed.pid) if pid != handed.engine]

    (witness,) = witnesses()
    os.kill(witness, signal.SIGTERM)
    wait_for(lambda: True if (now := witnesses()) and now != [witness] else None, what="another witness")
    handed.alone(signal.SIGTERM)
    handed.wait_for_signals(1)
    handed.finish()

    assert handed.signals() == ["SIGINT"]


def test_what_the_engine_leaves_behind_is_left_alone(handed: Handed) -> None:
    with (handed.directory / "out").open("wb") as stdout:
        script = "sleep 30 >/dev/null 2>&1 & echo $!"
        handed.run({"argv": ["/bin/sh", "-c", script]}, stdout=stdout)
        handed.end()
    left = int((handed.directory / "out").read_text())

    try:
        assert is_alive(ProcessIdentity(left, ""))
    finally:
        os.kill(left, signal.SIGKILL)
