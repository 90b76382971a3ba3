"""Locks: first come, first served, and they last as long as the engine they protect."""

import contextlib
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock
import pytest

import hereya_tf
from hereya_tf.errors import Busy, FailureClass
from hereya_tf.locks import (
    EngineProcess,
    Holder,
    Lock,
    LockKey,
    LockKind,
    LockState,
    Waiting,
    acquire,
    inspect,
    tickets,
)
from hereya_tf.locks import records as lock_records
from hereya_tf.locks.leftovers import Leftovers
from hereya_tf.locks.records import Record
from hereya_tf.supervision.process_table import ProcessIdentity, identify, is_alive

linux_only = pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs Linux's /proc")

KEY = LockKey(LockKind.PACKAGE, "/srv/shop")
LONG_AGO = "2026-11-30T00:00:00Z"
GONE = ProcessIdentity(2**31 - 1, "never")

# A run in a process of its own: does what it is told on stdin, line by line, and says what happens.
RUN = """
import json, os, socket, subprocess, sys, time
from pathlib import Path
from hereya_tf.supervision import process_table as processes
from hereya_tf.locks import EngineProcess, Holder, LockKey, LockKind, acquire

directory, run = Path(sys.argv[1]), sys.argv[2]
me = Holder(run, processes.identify(os.getpid()), "here", "provision", "2026-11-30T00:00:00Z", "/srv/shop")

def say(*words):
    print(*words, flush=True)

def told(waiting):
    say("waiting", waiting.position, waiting.holder.run if waiting.holder else "-")

say("ready")
for line in sys.stdin:
    command, *words = json.loads(line)
    if command == "acquire":
        key = LockKey(LockKind.PACKAGE, "/srv/shop")
        lock = acquire(directory, key, me, deadline=None, pause=time.sleep, on_waiting=told)
        say("acquired")
    elif command == "engine":
        lock.record_engine(None)
        engine = subprocess.Popen(
            words, pass_fds=[lock.fd], start_new_session=True, stdout=subprocess.PIPE, text=True
        )
        lock.record_engine(EngineProcess(processes.identify(engine.pid), engine.pid))
        say(engine.pid, engine.stdout.readline().strip())
    elif command == "wait":
        say(engine.wait())
    elif command == "log":
        with open(words[0], "a", buffering=1) as log:
            log.write(f"{run} in\\n")
            for _ in range(50):
                os.sched_yield()
            log.write(f"{run} out\\n")
    elif command == "release":
        lock.release()
        say("released")
    elif command == "fail":
        raise SystemExit("an unhandled end")
"""


class Run:
    """A run in another process, driven from here."""

    def __init__(self, directory: Path, name: str) -> None:
        environment = {**os.environ, "PYTHONPATH": str(Path(hereya_tf.__file__).parents[1])}
        self.name = name
        self.process = subprocess.Popen(
            [sys.executable, "-c", RUN, str(directory), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def tell(self, *command: str) -> "Run":
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()
        return self

    def says(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def says_until(self, last: str) -> list[str]:
        said = [self.says()]
        while said[-1] != last:
            assert said[-1], f"`{self.name}` ended before it said `{last}`"
            said.append(self.says())
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


Start = Callable[[str], Run]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start runs that share the locks in `tmp_path / "locks"`; they are gone at the end of the test."""
    runs: list[Run] = []

    def begin(name: str) -> Run:
        run = Run(tmp_path / "locks", name)
        runs.append(run)
        assert run.says() == "ready"
        return run

    yield begin
    for run in runs:
        run.process.kill()
        run.process.communicate()


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    return tmp_path / "locks"


@pytest.fixture
def daemons() -> Iterator[list[ProcessIdentity]]:
    """Processes that are nobody's child; they are gone at the end of the test."""
    found: list[ProcessIdentity] = []
    yield found
    for daemon in found:
        if is_alive(daemon):
            os.kill(daemon.pid, signal.SIGKILL)


def known(pid: str, daemons: list[ProcessIdentity]) -> ProcessIdentity:
    identity = identify(int(pid))
    assert identity is not None
    daemons.append(identity)
    return identity


class World:
    """A clock that only pauses move, and things that happen after so many pauses."""

    def __init__(self, happenings: dict[int, Callable[[], object]] | None = None) -> None:
        self.now = 1000.0
        self.pauses: list[float] = []
        self.told: list[Waiting] = []
        self._happenings = happenings or {}

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        time.sleep(0.0005)
        self._happenings.get(len(self.pauses), lambda: None)()

    def clock(self) -> float:
        return self.now

    def acquire(self, locks: Path, run: str, patience: float | None = None, key: LockKey = KEY) -> Lock:
        return acquire(
            locks,
            key,
            holder(run),
            deadline=None if patience is None else self.now + patience,
            pause=self.pause,
            on_waiting=self.told.append,
            clock=self.clock,
        )


def holder(run: str, process: ProcessIdentity | None = None, engine: EngineProcess | None = None) -> Holder:
    process = process or identify(os.getpid()) or GONE
    return Holder(run, process, "here", "provision", LONG_AGO, KEY.name, engine)


def files(locks: Path) -> set[str]:
    return {str(path.relative_to(locks)) for path in locks.rglob("*")}


def at_rest(key: LockKey = KEY) -> set[str]:
    return {f"{key.stem}.lock", f"{key.stem}.queue", f"{key.stem}.queue/.next"}


def lock_file(locks: Path) -> Path:
    return locks / f"{KEY.stem}.lock"


def record_file(locks: Path) -> Path:
    return locks / f"{KEY.stem}.json"


def open_descriptors() -> set[str]:
    return {path.name for path in Path("/dev/fd").iterdir()}


@contextlib.contextmanager
def heir(locks: Path, *argv: str, session: bool = True) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock through a descriptor of ours, which we no longer have."""
    locks.mkdir(exist_ok=True)
    descriptor = os.open(lock_file(locks), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    process = subprocess.Popen(
        argv or ("sleep", "1000"),
        pass_fds=(descriptor,),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=session,
    )
    os.close(descriptor)
    try:
        yield process
    finally:
        process.kill()
        # Not communicate(): what it has started may still have its end of the pipe.
        process.wait()
        if process.stdout:
            process.stdout.close()


def leave_record(locks: Path, of: Holder) -> None:
    lock_records.write(record_file(locks), Record(of, 7))


# Alone


def test_a_free_lock_is_taken_without_waiting_and_leaves_its_file(locks: Path) -> None:
    world = World()

    lock = world.acquire(locks, "one", patience=0)
    held = inspect(locks)
    lock.release()

    assert held == (LockState(KEY.stem, holder("one"), True, ()),)
    assert inspect(locks) == (LockState(KEY.stem, None, False, ()),)
    assert files(locks) == at_rest()
    assert (world.told, world.pauses) == ([], [])


def test_lock_files_are_private(locks: Path) -> None:
    lock = World().acquire(locks, "one")

    modes = {(path.is_dir(), path.stat().st_mode & 0o777) for path in (locks, *locks.rglob("*"))}

    assert modes == {(True, 0o700), (False, 0o600)}
    lock.release()


def test_a_taken_and_released_lock_leaves_no_descriptor(locks: Path) -> None:
    before = open_descriptors()

    lock = World().acquire(locks, "one")
    inheritable = os.get_inheritable(lock.fd)
    inspect(locks)
    lock.release()
    lock.release()

    assert not inheritable
    assert open_descriptors() == before


def test_a_second_release_does_not_touch_the_next_holder(locks: Path) -> None:
    first = World().acquire(locks, "first")
    first.release()
    second = World().acquire(locks, "second")

    first.release()
    first.record_engine(EngineProcess(GONE, 5))

    assert inspect(locks) == (LockState(KEY.stem, holder("second"), True, ()),)
    second.release()


def test_other_keys_do_not_wait(locks: Path) -> None:
    keys = [LockKey(LockKind.PACKAGE, "a"), LockKey(LockKind.WORKSPACE, "a"), LockKey(LockKind.PACKAGE, "b")]

    held = [World().acquire(locks, "one", patience=0, key=key) for key in keys]

    assert [state.held for state in inspect(locks)] == [True, True, True]
    for lock in held:
        lock.release()


def test_the_engine_at_work_is_on_record(locks: Path) -> None:
    engine = EngineProcess(GONE, 5)
    lock = World().acquire(locks, "one")

    lock.record_engine(engine)
    during = inspect(locks)
    lock.record_engine(None)

    assert during == (LockState(KEY.stem, holder("one", engine=engine), True, ()),)
    assert inspect(locks) == (LockState(KEY.stem, holder("one"), True, ()),)
    lock.release()


def test_without_a_directory_there_are_no_locks(tmp_path: Path) -> None:
    assert inspect(tmp_path / "missing") == ()


# Waiting


def test_a_waiter_is_told_at_once_and_gets_the_lock_when_it_is_released(locks: Path) -> None:
    first = World().acquire(locks, "first")
    world = World({3: first.release})

    second = world.acquire(locks, "second")

    assert world.told == [Waiting(1, holder("first"))]
    assert world.pauses == [0.02, 0.02, 0.02]
    assert inspect(locks) == (LockState(KEY.stem, holder("second"), True, ()),)
    second.release()
    assert files(locks) == at_rest()


def test_changes_of_place_and_holder_are_told_once(locks: Path, start: Start) -> None:
    first = World().acquire(locks, "first")
    second = start("second").tell("acquire")
    assert second.says() == "waiting 1 first"
    third = start("third").tell("acquire")
    assert third.says() == "waiting 2 first"
    fourth = start("fourth").tell("acquire")
    assert fourth.says() == "waiting 3 first"

    queue = inspect(locks)[0].waiting
    third.kill()
    assert fourth.says() == "waiting 2 first"
    first.release()
    assert second.says() == "acquired"
    assert fourth.says() == "waiting 1 second"
    second.tell("release")

    assert fourth.says() == "acquired"
    assert [waiter.run for waiter in queue if waiter] == ["second", "third", "fourth"]


def test_a_moment_without_a_holder_is_not_worth_a_word_but_a_lasting_one_is(locks: Path) -> None:
    first = World().acquire(locks, "first")
    record = record_file(locks).read_bytes()
    world = World(
        {
            2: record_file(locks).unlink,
            10: lambda: record_file(locks).write_bytes(record),
            12: record_file(locks).unlink,
            50: first.release,
        }
    )

    world.acquire(locks, "second").release()

    assert world.told == [Waiting(1, holder("first")), Waiting(1, None)]


def test_who_will_not_wait_is_told_who_is_at_it(locks: Path) -> None:
    first = World().acquire(locks, "first")
    world = World()

    with pytest.raises(Busy) as caught:
        world.acquire(locks, "second", patience=0)

    assert caught.value.failure_class == FailureClass.BUSY
    assert re.sub(r"for \w+,", "for AGE,", str(caught.value)) == (
        "the package lock of `/srv/shop` is held by run `first`"
        f" (`provision`, process {os.getpid()} on `here`) for AGE, position 1 in line"
    )
    assert (world.told, world.pauses) == ([], [])
    first.release()
    assert files(locks) == at_rest()


def test_who_waited_long_enough_leaves_the_line(locks: Path) -> None:
    first = World().acquire(locks, "first")
    world = World()

    with pytest.raises(Busy):
        world.acquire(locks, "second", patience=0.05)

    assert world.told == [Waiting(1, holder("first"))]
    assert world.pauses == pytest.approx([0.02, 0.02, 0.01])
    assert inspect(locks) == (LockState(KEY.stem, holder("first"), True, ()),)
    first.release()


class Cancel(BaseException):
    """What a pause raises when the run is cancelled."""


def cancel() -> None:
    raise Cancel


def test_who_is_cancelled_in_line_leaves_nothing_behind(locks: Path) -> None:
    first = World().acquire(locks, "first")
    before = (open_descriptors(), files(locks))

    with pytest.raises(Cancel):
        World({5: cancel}).acquire(locks, "second")

    assert (open_descriptors(), files(locks)) == before
    first.release()


@pytest.mark.parametrize("after", [1, 5], ids=["at the first look", "in filelock"])
def test_who_is_cancelled_at_the_lock_proper_leaves_nothing_behind(locks: Path, after: int) -> None:
    with heir(locks):
        World().acquire(locks, "warm-up", key=LockKey(LockKind.PACKAGE, "other")).release()
        before = open_descriptors()

        with pytest.raises(Cancel):
            World({after: cancel}).acquire(locks, "second")

        assert open_descriptors() == before
        assert not [name for name in files(locks) if re.search(r"/\d+$|json", name)]


def test_what_the_listener_raises_passes_through(locks: Path) -> None:
    first = World().acquire(locks, "first")
    before = (open_descriptors(), files(locks))
    world = World()

    def listen(_: Waiting) -> None:
        raise Cancel

    with pytest.raises(Cancel):
        acquire(locks, KEY, holder("second"), deadline=None, pause=world.pause, on_waiting=listen)

    assert (open_descriptors(), files(locks)) == before
    first.release()


# Order


def test_fifty_runs_are_served_in_order_of_arrival_one_at_a_time(
    locks: Path, tmp_path: Path, start: Start
) -> None:
    first = World().acquire(locks, "first")
    runs = []
    for place in range(1, 51):
        runs.append(start(f"r{place}").tell("acquire").tell("log", str(tmp_path / "log")).tell("release"))
        assert runs[-1].says() == f"waiting {place} first"

    waiting = inspect(locks)[0].waiting
    first.release()
    for run in runs:
        run.says_until("released")

    assert [waiter.run for waiter in waiting if waiter] == [run.name for run in runs]
    expected = [f"{run.name} {word}" for run in runs for word in ("in", "out")]
    assert (tmp_path / "log").read_text().splitlines() == expected


def test_the_order_of_the_living_survives_sigkill_of_waiters(
    locks: Path, tmp_path: Path, start: Start
) -> None:
    first = World().acquire(locks, "first")
    runs = []
    for place in range(1, 41):
        runs.append(start(f"r{place}").tell("acquire").tell("log", str(tmp_path / "log")).tell("release"))
        assert runs[-1].says() == f"waiting {place} first"

    killed = {0, 1, 2, 7, 11, 12, 20, 21, 22, 30, 38, 39}
    for index in killed:
        runs[index].process.kill()
    living = [run for index, run in enumerate(runs) if index not in killed]
    first.release()
    for run in living:
        run.says_until("released")

    expected = [f"{run.name} {word}" for run in living for word in ("in", "out")]
    assert (tmp_path / "log").read_text().splitlines() == expected
    World().acquire(locks, "last", patience=0).release()
    assert files(locks) == at_rest()


def test_runs_that_come_again_and_again_never_overlap(locks: Path, tmp_path: Path, start: Start) -> None:
    runs = [start(f"r{index}") for index in range(8)]
    log = tmp_path / "log"

    for run in runs:
        for _ in range(25):
            run.tell("acquire").tell("log", str(log)).tell("release")
    for run in runs:
        for _ in range(25):
            run.says_until("released")

    lines = log.read_text().splitlines()
    assert len(lines) == 8 * 25 * 2
    assert all(out == into.replace(" in", " out") for into, out in zip(lines[::2], lines[1::2], strict=True))
    assert files(locks) == at_rest()


def test_a_place_that_its_owner_left_half_taken_is_taken_over(locks: Path) -> None:
    World().acquire(locks, "one").release()
    (locks / f"{KEY.stem}.queue/.new").write_text("half")

    World().acquire(locks, "two", patience=0).release()

    assert files(locks) == at_rest()


def test_a_ticket_that_vanishes_is_not_waited_for(locks: Path) -> None:
    first = World().acquire(locks, "first")
    queue = locks / f"{KEY.stem}.queue"
    number = tickets.numbers(queue)[0]
    line = tickets.Line(queue, number + 2)
    before = line.ahead()

    first.release()
    (queue / str(number + 1)).touch()

    assert before == (number,)
    assert line.ahead() == ()
    line.close()


@pytest.mark.parametrize("patience", [0, 1], ids=["without a wait", "with one"])
def test_a_stopped_process_at_the_door_is_waited_for_only_so_long(locks: Path, patience: float) -> None:
    World().acquire(locks, "one").release()
    door = os.open(locks / f"{KEY.stem}.queue/.next", os.O_RDWR)
    fcntl.flock(door, fcntl.LOCK_EX)
    world = World()

    with pytest.raises(Busy, match="left no record, position 1 in line"):
        world.acquire(locks, "two", patience)

    assert sum(world.pauses) == pytest.approx(2, abs=0.01)
    os.close(door)
    assert files(locks) == at_rest()


def test_those_at_the_door_go_in_when_it_is_free(locks: Path) -> None:
    World().acquire(locks, "one").release()
    door = os.open(locks / f"{KEY.stem}.queue/.next", os.O_RDWR)
    fcntl.flock(door, fcntl.LOCK_EX)
    world = World({3: lambda: os.close(door)})

    world.acquire(locks, "two", patience=0).release()

    assert world.pauses == [0.002, 0.002, 0.002]


def test_looking_does_not_make_a_run_fail_that_will_not_wait(locks: Path) -> None:
    World().acquire(locks, "one").release()
    looking = os.open(lock_file(locks), os.O_RDONLY)
    assert tickets.lock_shared(looking)
    world = World({200: lambda: os.close(looking)})

    world.acquire(locks, "two", patience=0).release()

    assert world.told == []


def test_a_stopped_looker_is_waited_for_only_so_long(locks: Path) -> None:
    World().acquire(locks, "one").release()
    looking = os.open(lock_file(locks), os.O_RDONLY)
    assert tickets.lock_shared(looking)
    world = World()

    with pytest.raises(Busy):
        world.acquire(locks, "two", patience=0)

    assert sum(world.pauses) == pytest.approx(2, abs=0.01)
    os.close(looking)


def test_lookers_and_takers_do_not_get_into_each_others_way(locks: Path) -> None:
    World().acquire(locks, "one").release()
    seen: list[LockState] = []
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            seen.extend(inspect(locks))

    lookers = [threading.Thread(target=look) for _ in range(2)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(200):
            acquire(
                locks, KEY, holder("one"), deadline=0, pause=time.sleep, on_waiting=lambda _: None
            ).release()
    finally:
        ended.set()
        for looker in lookers:
            looker.join()

    assert {state.waiting for state in seen} <= {(), (holder("one"),)}


# The lock proper, when its runner has died


def test_the_next_run_waits_until_the_engine_of_a_killed_runner_has_ended(
    locks: Path, start: Start, daemons: list[ProcessIdentity]
) -> None:
    killed = start("killed").tell("acquire").tell("engine", "sh", "-c", "echo at work; exec sleep 1000")
    assert killed.says() == "acquired"
    pid, _, at_work = killed.says().partition(" ")
    engine = known(pid, daemons)
    assert at_work == "at work"
    killed.kill()
    still_there: list[bool] = []
    world = World({300: lambda: still_there.append(is_alive(engine)), 301: lambda: os.kill(engine.pid, 9)})

    lock = world.acquire(locks, "next")

    assert still_there == [True]
    assert world.now > 1005
    assert [(waiting.position, waiting.holder and waiting.holder.run) for waiting in world.told] == [
        (1, "killed")
    ]
    assert world.told[0].holder is not None
    assert world.told[0].holder.engine == EngineProcess(engine, engine.pid)
    assert not is_alive(engine)
    lock.release()


def test_who_takes_the_lock_of_a_run_that_died_learns_whose_it_was(locks: Path, start: Start) -> None:
    killed = start("killed").tell("acquire")
    assert killed.says() == "acquired"
    killed.kill()

    heir_of_it = World().acquire(locks, "second", patience=0)
    heir_of_it.release()
    third = World().acquire(locks, "third", patience=0)
    third.release()

    assert heir_of_it.predecessor is not None
    assert heir_of_it.predecessor.run == "killed"
    assert third.predecessor is None


def test_who_waits_behind_the_first_for_a_dead_runners_engine_is_second(locks: Path, start: Start) -> None:
    with heir(locks):
        leave_record(locks, holder("dead", GONE))
        second = start("second").tell("acquire")
        assert second.says() == "waiting 1 dead"
        world = World()

        with pytest.raises(Busy, match=r"run `dead`.*, position 2 in line") as caught:
            world.acquire(locks, "third", patience=1)

        assert world.told == [Waiting(2, holder("dead", GONE))]
        assert caught.value.hints[0] == "run `dead` has died; something that it started still holds the lock"
        [state] = inspect(locks)
        assert (state.holder, state.held) == (holder("dead", GONE), True)
        assert [waiter.run for waiter in state.waiting if waiter] == ["second"]


DAEMONS = {
    "in the engine's group": "sleep 1000 & echo $!",
    "in a session of its own": "setsid sleep 1000 & echo $!",
    "deaf": "setsid sh -c \"trap '' TERM; echo \\$\\$; while :; do sleep 1000; done\" &",
}


@linux_only
@pytest.mark.parametrize("script", [pytest.param(script, id=name) for name, script in DAEMONS.items()])
def test_a_daemon_that_a_finished_engine_left_behind_is_ended(
    locks: Path, start: Start, daemons: list[ProcessIdentity], script: str
) -> None:
    killed = start("killed").tell("acquire").tell("engine", "sh", "-c", script).tell("wait")
    assert killed.says() == "acquired"
    daemon = known(killed.says().split()[1], daemons)
    assert killed.says() == "0"
    killed.kill()
    world = World()

    lock = acquire(
        locks,
        KEY,
        holder("next"),
        deadline=time.monotonic() + 60,
        pause=lambda seconds: time.sleep(seconds / 4),
        on_waiting=world.told.append,
    )

    assert [waiting.holder and waiting.holder.run for waiting in world.told] == ["killed"]
    assert not is_alive(daemon)
    assert inspect(locks) == (LockState(KEY.stem, holder("next"), True, ()),)
    lock.release()


@linux_only
def test_release_lets_go_although_a_daemon_has_the_descriptor(
    locks: Path, start: Start, daemons: list[ProcessIdentity]
) -> None:
    run = (
        start("first").tell("acquire").tell("engine", "sh", "-c", "setsid sleep 1000 & echo $!").tell("wait")
    )
    assert run.says() == "acquired"
    daemon = known(run.says().split()[1], daemons)
    assert run.says() == "0"
    run.tell("release")
    assert run.says() == "released"

    World().acquire(locks, "second", patience=0).release()

    assert is_alive(daemon)


def dead_run(engine: ProcessIdentity | None, group: int, host: str = "here") -> Holder:
    """The record of a run whose process id was ours (who took the lock), but which has died."""
    recorded = engine and EngineProcess(engine, group)
    return holder("dead", ProcessIdentity(os.getpid(), "before"), recorded)._replace(host=host)


def ours() -> ProcessIdentity:
    return identify(os.getpid()) or GONE


@linux_only
@pytest.mark.parametrize(
    ("record", "session", "ended"),
    [
        pytest.param(lambda pid: dead_run(GONE, GONE.pid), True, True, id="a daemon in another group: ended"),
        pytest.param(lambda pid: dead_run(GONE, pid), True, True, id="a daemon in the group: ended"),
        pytest.param(lambda pid: dead_run(ours(), pid), True, False, id="the engine lives"),
        pytest.param(
            lambda pid: holder("alive", ours(), EngineProcess(GONE, pid)), True, False, id="the runner lives"
        ),
        pytest.param(lambda pid: dead_run(GONE, pid, host="elsewhere"), True, False, id="another host"),
        pytest.param(lambda pid: dead_run(None, pid), True, False, id="no engine on record"),
        pytest.param(lambda pid: None, True, False, id="no record"),
        pytest.param(
            lambda pid: holder("x", GONE, EngineProcess(GONE, pid)), True, False, id="locked by another"
        ),
        pytest.param(lambda pid: dead_run(GONE, GONE.pid), False, False, id="in our own session"),
        pytest.param(lambda pid: dead_run(GONE, os.getpgrp()), False, False, id="in our own group"),
    ],
)
def test_only_a_leftover_is_ended(
    locks: Path, record: Callable[[int], Holder | None], session: bool, ended: bool
) -> None:
    with heir(locks, session=session) as process:
        if found := record(process.pid):
            leave_record(locks, found)
        world = World()

        with contextlib.suppress(Busy):
            world.acquire(locks, "next", patience=3).release()

        assert (process.poll() is not None) == ended
        assert world.now - 1000 < 3.1


@linux_only
def test_a_record_that_changes_between_two_looks_is_not_believed(locks: Path) -> None:
    with heir(locks) as process:
        leave_record(locks, dead_run(GONE, 0x7FFFFFF))

        def change(n: int) -> Callable[[], None]:
            return lambda: leave_record(locks, dead_run(GONE, 0x7FFFFFF)._replace(run=f"r{n}"))

        with pytest.raises(Busy):
            World({n: change(n) for n in range(1000)}).acquire(locks, "next", patience=3)

        assert process.poll() is None


@linux_only
def test_who_has_merely_opened_the_lock_file_is_spared(locks: Path) -> None:
    with heir(locks) as daemon, lock_file(locks).open() as opened:
        leave_record(locks, dead_run(GONE, GONE.pid))
        reader = subprocess.Popen(["sleep", "1000"], pass_fds=(opened.fileno(),), start_new_session=True)

        World().acquire(locks, "next", patience=60).release()

        assert daemon.poll() is not None
        assert reader.poll() is None
        reader.kill()
        reader.wait()


@pytest.mark.parametrize("leader_lives", [False, True], ids=["leader gone", "id given out again"])
def test_where_holders_cannot_be_seen_the_group_of_an_engine_that_is_gone_is_ended(
    locks: Path, tmp_path: Path, daemons: list[ProcessIdentity], leader_lives: bool
) -> None:
    script = "sleep 1000 & echo $!; wait" if leader_lives else "sleep 1000 & echo $!"
    with heir(locks, "sh", "-c", script) as leader:
        assert leader.stdout is not None
        daemon = known(leader.stdout.readline(), daemons)
        if not leader_lives:
            leader.wait()
        record = Record(dead_run(GONE, leader.pid), 7)
        leftovers = Leftovers(lock_file(locks), host="here", now=0, proc=tmp_path / "no proc")

        for now in (0.1, 0.4, 0.8):
            leftovers.look(record, now, lambda seconds: time.sleep(seconds / 4))

        assert is_alive(daemon) == leader_lives


# With filelock


def test_filelock_respects_our_lock(locks: Path) -> None:
    lock = World().acquire(locks, "one")
    other = filelock.FileLock(lock_file(locks), fallback_to_soft=False)

    with pytest.raises(filelock.Timeout):
        other.acquire(timeout=0)
    lock.release()

    other.acquire(timeout=0)
    other.release()


def test_we_respect_filelock(locks: Path) -> None:
    locks.mkdir()
    other = filelock.FileLock(lock_file(locks), fallback_to_soft=False, thread_local=False)
    other.acquire()
    world = World({30: other.release})

    with pytest.raises(Busy, match="is held by a process that left no record, position 1 in line"):
        World().acquire(locks, "one", patience=0)
    lock = acquire_in_thread(world, locks)

    assert world.told == [Waiting(1, None)]
    with pytest.raises(filelock.Timeout):
        other.acquire(timeout=0)
    lock.release()


def acquire_in_thread(world: World, locks: Path) -> Lock:
    """Filelock calls a second wait of one thread for the same file a deadlock, and here it is right."""
    taken: list[Lock] = []
    thread = threading.Thread(target=lambda: taken.append(world.acquire(locks, "one")))
    thread.start()
    thread.join()
    return taken[0]


def test_a_lock_that_was_waited_for_stays_with_the_engine_when_the_runner_fails(
    locks: Path, start: Start, daemons: list[ProcessIdentity]
) -> None:
    with heir(locks) as before:
        run = start("second").tell("acquire")
        assert run.says() == "waiting 1 -"
        before.kill()
        assert run.says() == "acquired"
        run.tell("engine", "sh", "-c", "echo at work; exec sleep 1000")
        known(run.says().split()[0], daemons)

        run.tell("fail")
        assert run.process.wait() == 1

        with pytest.raises(Busy, match="run `second`"):
            World().acquire(locks, "third", patience=0)


# Trouble with the disk


def test_a_directory_that_is_no_directory_is_an_os_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(NotADirectoryError):
        World().acquire(tmp_path / "file/locks", "one")


def test_a_read_only_directory_is_an_os_error() -> None:
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        refuse_everything(Path(name) / "locks")


def refuse_everything(directory: Path) -> None:
    with unprivileged():
        directory.mkdir(mode=0o500)
        before = open_descriptors()

        with pytest.raises(PermissionError):
            World().acquire(directory, "one")

        assert inspect(directory) == ()
        assert open_descriptors() == before
        directory.rmdir()


@contextlib.contextmanager
def unprivileged() -> Iterator[None]:
    """Root may write anywhere; be nobody for a while."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_lock_file_that_is_a_link_is_refused(locks: Path, tmp_path: Path) -> None:
    locks.mkdir()
    lock_file(locks).symlink_to(tmp_path / "victim")

    with pytest.raises(OSError, match="symbolic link"):
        World().acquire(locks, "one")

    assert not (tmp_path / "victim").exists()
    assert tickets.numbers(locks / f"{KEY.stem}.queue") == ()


@linux_only
def test_with_a_full_disk_the_lock_still_works(locks: Path, start: Start) -> None:
    run = start("first")
    # No byte may be written any more, as on a full disk; empty files may be created.
    import resource

    resource.prlimit(run.process.pid, resource.RLIMIT_FSIZE, (0, 0))
    run.tell("acquire")
    assert run.says() == "acquired"

    during = inspect(locks)
    with pytest.raises(Busy, match="left no record, position 1 in line"):
        World().acquire(locks, "second", patience=0)
    run.tell("release")
    assert run.says() == "released"

    assert during == (LockState(KEY.stem, None, True, ()),)
    World().acquire(locks, "second", patience=0).release()
    assert files(locks) == at_rest()


def test_on_a_file_system_without_room_the_lock_still_works(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small file system")
    try:
        with contextlib.suppress(OSError), (disk / "filling").open("wb", buffering=0) as filling:
            while True:
                filling.write(b"x" * 4096)
        first = World().acquire(disk / "locks", "first")
        first.record_engine(EngineProcess(GONE, 5))
        world = World({3: first.release})

        world.acquire(disk / "locks", "second").release()

        assert world.told == [Waiting(1, None)]
        assert files(disk / "locks") == at_rest()
    finally:
        subprocess.run(["umount", str(disk)], check=True)
