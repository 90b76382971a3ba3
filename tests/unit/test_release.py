"""Freeing a lock: a run that lives is ended gracefully, a dead one's leftovers are ended, nothing else is."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hereya_tf import locks
from hereya_tf.errors import Busy
from hereya_tf.lock_release import release_lock, release_locks
from hereya_tf.locks.records import EngineProcess, Holder
from hereya_tf.places import Places
from hereya_tf.runs import history
from hereya_tf.supervision.process_table import ProcessIdentity, identify, is_alive
from tests.command_line import environment

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="who has a lock is known on Linux"),
]

RUN = "20260101T000000Z-aaaaaaaa"
HOST = history.host_name()
LONG = 60.0

# A runner that takes a lock and, where there is a script for it, starts an engine that inherits it.
RUNNER = """
import os, signal, subprocess, sys, time
from pathlib import Path
from hereya_tf import locks
from hereya_tf.runs import history
from hereya_tf.supervision.process_table import identify

directory, recorded, engine_script, reaction = Path(sys.argv[1]), sys.argv[2] == "recorded", *sys.argv[3:5]
if reaction == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
ourselves = identify(os.getpid())
holder = locks.Holder(THE_RUN, ourselves, history.host_name(), "provision", "2026-01-01T00:00:00.000Z", "name")
def acquire(kind):
    return locks.acquire(
        directory / "locks",
        locks.LockKey(kind, "name"),
        holder,
        deadline=None,
        pause=time.sleep,
        on_waiting=lambda _waiting: None,
    )
lock = acquire(locks.LockKind.WORKSPACE)
other = acquire(locks.LockKind.PACKAGE) if sys.argv[5] == "both" else None
engine = None
if engine_script:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", engine_script, str(directory)],
        start_new_session=True,
        pass_fds=[taken.fd for taken in (lock, other) if taken],
        stdin=subprocess.DEVNULL,
    )
    engine = identify(process.pid)
    for taken in (lock, other):
        if taken:
            taken.record_engine(locks.EngineProcess(engine, process.pid))
if recorded:
    run = directory / "runs" / THE_RUN
    run.mkdir(parents=True)
    record = history.RunRecord(
        THE_RUN, "provision", "/p", "default", "name", history.host_name(), ourselves, "2026-01-01", "1",
        engine_process=engine,
    )
    history.write_record(run, record)
(directory / "ready").touch()
time.sleep(300)
""".replace("THE_RUN", repr(RUN))

ENGINE = """
import os, signal, sys, time
directory = sys.argv[1]
def note(text):
    with open(directory + "/engine", "a") as file:
        file.write(text)
def received(number, frame):
    note(f"<{signal.Signals(number).name}>")
    REACTION
signal.signal(signal.SIGINT, received)
CHILD
note("ready")
while True:
    time.sleep(0.05)
"""
LISTENS = ENGINE.replace("REACTION", "os._exit(1)").replace("CHILD", "")
DEAF = ENGINE.replace("REACTION", "pass").replace("CHILD", "")
# A child that keeps the lock when the engine has gone.
WITH_PROVIDER = ENGINE.replace("REACTION", "os._exit(1)").replace(
    "CHILD",
    """
child = os.fork()
if child == 0:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    time.sleep(300)
open(directory + "/provider", "w").write(str(child))
""",
)


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


class Hurried:
    """A clock that passes so many times faster."""

    def __init__(self, factor: float) -> None:
        self._factor = factor

    def __call__(self) -> float:
        return time.monotonic() * self._factor


class Scene:
    """A lock with a holder, alive or dead."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.places = Places(directory, directory / "cache")
        self._runners: list[subprocess.Popen[bytes]] = []

    def run(
        self, engine: str = "", *, recorded: bool = True, reaction: str = "", both: bool = False
    ) -> "subprocess.Popen[bytes]":
        """A runner at work, its engine too."""
        runner = subprocess.Popen(
            [
                sys.executable,
                "-c",
                RUNNER,
                str(self.directory),
                "recorded" if recorded else "unrecorded",
                engine,
                reaction,
                "both" if both else "one",
            ],
            env=environment({}),
        )
        self._runners.append(runner)
        wait_until((self.directory / "ready").exists)
        if engine:
            wait_until(lambda: "ready" in self.engine_said)
        return runner

    def killed_run(self, engine: str = "", *, recorded: bool = True, both: bool = False) -> None:
        """The same, and then the runner is killed."""
        runner = self.run(engine, recorded=recorded, both=both)
        runner.kill()
        runner.wait(LONG)

    @property
    def engine_said(self) -> str:
        file = self.directory / "engine"
        return file.read_text() if file.exists() else ""

    @property
    def state(self) -> locks.LockState:
        *_, state = locks.inspect(self.places.locks)
        return state

    @property
    def engine(self) -> ProcessIdentity:
        holder = self.state.holder
        assert holder is not None
        assert holder.engine is not None
        return holder.engine.process

    def release(
        self, *, force: bool, grace: float = LONG, clock: Callable[[], float] = time.monotonic
    ) -> str:
        return release_lock(
            self.state, self.places, package="/a package", force=force, grace=grace, clock=clock
        )

    def release_all(self, *, force: bool) -> tuple[str, ...]:
        states = [state for state in locks.inspect(self.places.locks) if state.held]
        return release_locks(states, self.places, package="/p", force=force, grace=LONG)

    @property
    def held(self) -> list[str]:
        return [state.stem for state in locks.inspect(self.places.locks) if state.held]

    def close(self) -> None:
        with contextlib.suppress(AssertionError, ProcessLookupError):
            os.killpg(self.engine.pid, signal.SIGKILL)
        for runner in self._runners:
            runner.kill()
            runner.wait()


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    directory = tmp_path / "scene"
    directory.mkdir()
    made = Scene(directory)
    yield made
    made.close()


def refusal(caught: pytest.ExceptionInfo[Busy]) -> tuple[str, tuple[str, ...], int]:
    return str(caught.value), caught.value.hints, caught.value.failure_class.exit_code


# Refused


def test_a_lock_without_a_record_of_its_holder_cannot_be_freed(tmp_path: Path) -> None:
    state = locks.LockState("workspace-name-0", None, True, ())
    with pytest.raises(Busy) as caught:
        release_lock(state, Places(tmp_path, tmp_path), package="/p", force=True, grace=LONG)

    assert refusal(caught) == (
        "lock `workspace-name-0` is held, and there is no record of by whom",
        ("wait for it: `hereya-tf lock list` shows when it is free",),
        4,
    )


def test_a_lock_of_another_host_is_freed_there(tmp_path: Path) -> None:
    holder = Holder(RUN, ProcessIdentity(1, "a"), "elsewhere", "provision", "2026-01-01", "name")
    state = locks.LockState("workspace-name-0", holder, True, ())
    with pytest.raises(Busy) as caught:
        release_lock(state, Places(tmp_path, tmp_path), package="/p", force=True, grace=LONG)

    assert refusal(caught) == (
        f"lock `workspace-name-0` is held by run `{RUN}` on the host `elsewhere`",
        ("release it there",),
        4,
    )


def test_a_run_that_lives_is_not_ended_without_force(scene: Scene) -> None:
    runner = scene.run(LISTENS)
    with pytest.raises(Busy) as caught:
        scene.release(force=False)

    assert refusal(caught) == (
        f"lock `{scene.state.stem}` is held by run `{RUN}`, which is at work (pid {runner.pid})",
        ("wait for it, or end it gracefully with `hereya-tf lock release '/a package' --force`",),
        4,
    )
    assert runner.poll() is None
    assert is_alive(scene.engine)


def test_the_engine_of_a_dead_run_is_not_ended_without_force(scene: Scene) -> None:
    scene.killed_run(LISTENS)
    with pytest.raises(Busy) as caught:
        scene.release(force=False)

    assert f"which is at work (its engine, pid {scene.engine.pid})" in str(caught.value)
    assert scene.engine_said == "ready"


# A run that lives


@pytest.mark.parametrize("recorded", [True, False], ids=["recorded", "unrecorded"])
def test_a_live_run_is_asked_to_end(scene: Scene, recorded: bool) -> None:
    runner = scene.run(recorded=recorded)

    assert scene.release(force=True) == f"run `{RUN}` was asked to end, and has ended"
    assert runner.wait(LONG) == -signal.SIGTERM
    assert (scene.places.runs / RUN / history.CANCEL).exists() == recorded
    assert not scene.state.held


def test_a_live_run_that_does_not_end_within_its_grace_is_told_of(scene: Scene) -> None:
    runner = scene.run(reaction="deaf")
    with pytest.raises(Busy) as caught:
        scene.release(force=True, grace=60, clock=Hurried(200))

    assert refusal(caught) == (
        f"run `{RUN}` (pid {runner.pid}) was asked to end, and has not within its grace",
        (f"look at it with `hereya-tf runs log {RUN}`; as a last resort end the process by hand",),
        4,
    )
    # It is at work, and may be applying: it is not killed.
    assert runner.poll() is None


def test_a_run_that_ends_just_now_is_no_failure(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    runner = scene.run(recorded=False)
    real_kill = os.kill

    def kill(pid: int, number: int) -> None:
        if number == signal.SIGTERM:
            runner.kill()
            runner.wait(LONG)
            raise ProcessLookupError
        real_kill(pid, number)

    monkeypatch.setattr(os, "kill", kill)

    assert scene.release(force=True) == f"run `{RUN}` was asked to end, and has ended"


# What a dead run has left


def test_the_engine_of_a_dead_run_is_interrupted_once_and_the_run_is_adopted(scene: Scene) -> None:
    scene.killed_run(LISTENS)
    engine = scene.engine

    assert scene.release(force=True) == (
        f"the engine of the dead run `{RUN}` was asked to end, and has ended"
    )
    assert scene.engine_said == "ready<SIGINT>"
    assert not is_alive(engine)
    assert not scene.state.held
    record = json.loads((scene.places.runs / RUN / "run.json").read_text())
    assert (record["status"], record["exit_code"]) == ("failed", 70)


def test_an_engine_that_does_not_listen_is_interrupted_again_and_killed(scene: Scene) -> None:
    scene.killed_run(DEAF)
    engine = scene.engine

    scene.release(force=True, grace=60, clock=Hurried(60))

    assert scene.engine_said == "ready<SIGINT><SIGINT>"
    assert not is_alive(engine)
    assert not scene.state.held


def test_an_engine_that_even_a_kill_does_not_end_is_told_of(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.killed_run(LISTENS)
    engine = scene.engine
    sent: list[int] = []
    real_kill = os.kill

    def deaf(_pid: int, number: int) -> None:
        if number == 0:
            real_kill(_pid, 0)
        else:
            sent.append(number)

    with monkeypatch.context() as patched:
        patched.setattr(os, "kill", deaf)
        patched.setattr(os, "killpg", deaf)
        with pytest.raises(Busy) as caught:
            scene.release(force=True, grace=60, clock=Hurried(200))

    assert sent == [signal.SIGINT, signal.SIGINT, signal.SIGKILL]
    assert refusal(caught) == (
        f"the engine (pid {engine.pid}) was killed, and has not ended",
        ("it waits for a device or a network disk; it ends when that answers",),
        4,
    )


def test_what_an_engine_leaves_with_the_lock_is_ended_as_well(scene: Scene) -> None:
    scene.killed_run(WITH_PROVIDER)
    provider = identify(int((scene.directory / "provider").read_text()))
    assert provider is not None

    scene.release(force=True)

    assert not is_alive(provider)
    assert not scene.state.held


def test_the_daemon_of_a_dead_run_is_ended_without_force(scene: Scene) -> None:
    scene.killed_run(WITH_PROVIDER)
    engine = scene.engine
    os.kill(engine.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(engine))
    provider = identify(int((scene.directory / "provider").read_text()))
    assert provider is not None
    assert scene.state.held

    assert scene.release(force=False) == f"what the dead run `{RUN}` had left behind was ended"
    assert not is_alive(provider)
    assert not scene.state.held


def test_a_process_that_got_the_recorded_id_later_is_left_alone(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ids are given out again: it is the start that tells."""
    scene.killed_run()
    state = scene.state
    assert state.holder is not None
    ourselves = ProcessIdentity(os.getpid(), "another start")
    holder = state.holder._replace(engine=EngineProcess(ourselves, os.getpid()))

    done = release_lock(state._replace(holder=holder), scene.places, package="/p", force=True, grace=0)

    assert done == f"what the dead run `{RUN}` had left behind was ended"


# Both locks of a run


def test_a_live_run_with_two_locks_is_told_of_once(scene: Scene) -> None:
    scene.run(both=True)
    assert len(scene.held) == 2

    assert scene.release_all(force=True) == (f"run `{RUN}` was asked to end, and has ended",)
    assert scene.held == []


def test_what_a_run_that_was_ended_leaves_with_its_locks_is_ended_as_well(scene: Scene) -> None:
    """This runner ends without a thought for its engine, which keeps both locks."""
    scene.run(LISTENS, both=True)
    engine = scene.engine

    assert scene.release_all(force=True) == (f"run `{RUN}` was asked to end, and has ended",)
    assert scene.engine_said == "ready<SIGINT>"
    assert not is_alive(engine)
    assert scene.held == []


def test_the_engine_of_a_dead_run_with_two_locks_is_told_of_once(scene: Scene) -> None:
    scene.killed_run(WITH_PROVIDER, both=True)
    assert len(scene.held) == 2

    assert scene.release_all(force=True) == (
        f"the engine of the dead run `{RUN}` was asked to end, and has ended",
    )
    assert scene.held == []


def test_two_locks_that_nothing_at_work_holds_are_freed_in_one_sentence(scene: Scene) -> None:
    scene.killed_run(WITH_PROVIDER, both=True)
    engine = scene.engine
    os.kill(engine.pid, signal.SIGKILL)
    wait_until(lambda: not is_alive(engine))

    assert scene.release_all(force=False) == (f"what the dead run `{RUN}` had left behind was ended",)
    assert scene.held == []
