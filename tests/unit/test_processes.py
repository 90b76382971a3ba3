"""Who a process is, and how processes are ended."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hereya_tf.supervision.process_table import (
    ProcessIdentity,
    end_group,
    end_processes,
    flock_holders,
    group_and_session,
    identify,
    is_alive,
    is_our_child,
)

linux_only = pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs Linux's /proc")
Start = Callable[..., "subprocess.Popen[str]"]

_DEAF = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
)


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes in a session of their own; they are gone at the end of the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(*argv: str | Path, pass_fds: tuple[int, ...] = ()) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, text=True, pass_fds=pass_fds, start_new_session=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def deaf_process(start: Start) -> subprocess.Popen[str]:
    process = start(sys.executable, "-c", _DEAF)
    assert said(process) == "ready"
    return process


def zombie(start: Start) -> subprocess.Popen[str]:
    process = start("true")
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    return process


def in_fast_motion(seconds: float) -> None:
    time.sleep(seconds / 4)


def not_at_all(_: float) -> None:
    pytest.fail("nothing to wait for")


# Where there is no /proc, `ps` is asked.
anywhere = pytest.mark.parametrize(
    "proc", [pytest.param("/proc", id="proc", marks=linux_only), pytest.param("/nowhere", id="ps")]
)


@anywhere
def test_a_process_is_itself_again_when_asked_twice(proc: str) -> None:
    first = identify(os.getpid(), proc=Path(proc))
    second = identify(os.getpid(), proc=Path(proc))

    assert first is not None
    assert first == second
    assert first.pid == os.getpid()
    assert first.started
    assert is_alive(first, proc=Path(proc))


@linux_only
def test_a_start_token_holds_the_ticks_and_the_boot() -> None:
    ticks, _, boot = (identify(os.getpid()) or ProcessIdentity(0, "")).started.partition("@")

    assert ticks.isdecimal()
    assert boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@anywhere
def test_a_reused_process_id_is_not_the_process(proc: str) -> None:
    assert not is_alive(ProcessIdentity(os.getpid(), "before"), proc=Path(proc))


@anywhere
def test_a_process_of_unknown_start_lives_while_its_id_does(start: Start, proc: str) -> None:
    process = start("sleep", "1000")
    identity = ProcessIdentity(process.pid, "")

    before = is_alive(identity, proc=Path(proc))
    process.kill()
    process.wait()

    assert before
    assert not is_alive(identity, proc=Path(proc))


@anywhere
def test_a_zombie_is_known_but_not_alive(start: Start, proc: str) -> None:
    identity = identify(zombie(start).pid, proc=Path(proc))

    assert identity is not None
    assert identity.started
    assert not is_alive(identity, proc=Path(proc))


@anywhere
@pytest.mark.parametrize("pid", [0, -1, 2**22 + 1], ids=["zero", "negative", "beyond any"])
def test_there_is_nobody_with_an_impossible_id(pid: int, proc: str) -> None:
    assert identify(pid, proc=Path(proc)) is None
    assert not is_alive(ProcessIdentity(pid, ""), proc=Path(proc))


def test_a_process_that_may_not_be_looked_at_counts_as_alive(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self/stat").touch()

    assert identify(1, proc=tmp_path) == ProcessIdentity(1, "")
    assert is_alive(ProcessIdentity(1, "then"), proc=tmp_path)


def test_without_proc_and_ps_a_process_is_its_id(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert identify(os.getpid(), proc=tmp_path) == ProcessIdentity(os.getpid(), "")


def test_without_a_boot_id_the_ticks_alone_tell(tmp_path: Path) -> None:
    (tmp_path / "7").mkdir()
    (tmp_path / "7/stat").write_text("7 (sh) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 4242 0")

    assert identify(7, proc=tmp_path) == ProcessIdentity(7, "4242@")


@linux_only
@pytest.mark.parametrize(
    "name", [b"a) Z 1 (", b"a\n) Z", b"\xff\xfe) Z"], ids=["parenthesis", "line", "bytes"]
)
def test_a_name_made_to_deceive_does_not(start: Start, tmp_path: Path, name: bytes) -> None:
    program = Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))
    shutil.copy(shutil.which("sleep") or "", program)
    process = start(program, "1000")

    identity = identify(process.pid)

    assert identity is not None
    assert is_alive(identity)


def test_a_process_has_a_group_and_a_session_until_it_is_gone(start: Start) -> None:
    process = start("sleep", "1000")
    before = group_and_session(process.pid)

    process.kill()
    process.wait()

    assert before == (process.pid, process.pid)
    assert group_and_session(process.pid) == (0, 0)


def test_only_a_child_that_nobody_waited_for_is_ours(start: Start) -> None:
    running, over, waited = start("sleep", "1000"), zombie(start), start("true")
    waited.wait()

    assert [is_our_child(child.pid) for child in (running, over, waited)] == [True, True, False]
    assert not any(map(is_our_child, (-1, 0, 1, 2, 3, os.getpid(), os.getppid())))


def test_a_grandchild_is_not_our_child(start: Start) -> None:
    shell = start("sh", "-c", "sleep 1000 & echo $!; wait")
    grandchild = int(said(shell))

    try:
        assert not is_our_child(grandchild)
    finally:
        os.kill(grandchild, signal.SIGKILL)


def test_where_python_has_no_waitid_ps_knows_the_children(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = start("sleep", "1000")
    monkeypatch.delattr(os, "waitid")

    assert is_our_child(running.pid)
    assert not any(map(is_our_child, (0, 1, os.getpid())))


def test_a_group_is_ended_with_all_its_members(start: Start) -> None:
    shell = start("sh", "-c", "sleep 1000 & echo $!; wait")
    member = identify(int(said(shell)))
    assert member is not None

    assert end_group(shell.pid, grace=60, pause=in_fast_motion)

    assert shell.wait() == -signal.SIGTERM
    assert not is_alive(member)


def test_a_group_that_ignores_sigterm_is_killed_after_its_grace(start: Start) -> None:
    deaf = deaf_process(start)
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        in_fast_motion(seconds)

    assert end_group(deaf.pid, grace=1, pause=pause)

    assert deaf.wait() == -signal.SIGKILL
    assert sum(pauses) >= 1


def test_a_group_of_zombies_has_nobody_to_end(start: Start) -> None:
    assert not end_group(zombie(start).pid, grace=60, pause=not_at_all)


def test_a_group_that_is_gone_has_nobody_to_end(start: Start) -> None:
    process = start("true")
    process.wait()

    assert not end_group(process.pid, grace=60, pause=not_at_all)


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Records signals instead of sending them: where a guard is tested, its failure must hurt nobody."""
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "killpg", lambda group, number: sent.append((-group, number)))
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


@pytest.mark.parametrize("group", [-1, 0, 1, os.getpgrp()], ids=["negative", "zero", "init", "ours"])
def test_some_groups_are_never_ended(signals: list[tuple[int, int]], group: int) -> None:
    assert not end_group(group, grace=0, pause=lambda _: None)
    assert signals == []


def test_what_the_pause_raises_ends_the_ending(start: Start) -> None:
    deaf = deaf_process(start)

    def cancelled(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        end_group(deaf.pid, grace=60, pause=cancelled)
    assert deaf.poll() is None


def test_single_processes_are_ended_gently_then_by_force(start: Start) -> None:
    meek, deaf, over = start("sleep", "1000"), deaf_process(start), zombie(start)
    targets = tuple(filter(None, (identify(process.pid) for process in (meek, deaf, over))))

    assert end_processes(targets, grace=1, pause=in_fast_motion)

    assert [process.wait() for process in (meek, deaf, over)] == [-signal.SIGTERM, -signal.SIGKILL, 0]


def test_a_process_that_has_another_ones_id_is_spared(start: Start) -> None:
    process, spared = start("sleep", "1000"), start("sleep", "1000")
    reused = ProcessIdentity(spared.pid, "before")

    assert not end_processes((reused,), grace=0, pause=not_at_all)
    assert end_processes((reused, identify(process.pid) or reused), grace=60, pause=in_fast_motion)

    assert process.wait() == -signal.SIGTERM
    with pytest.raises(subprocess.TimeoutExpired):
        spared.wait(0.05)


def test_we_do_not_end_ourselves_nor_init(signals: list[tuple[int, int]]) -> None:
    targets = (identify(os.getpid()) or ProcessIdentity(0, ""), ProcessIdentity(1, ""))

    assert not end_processes(targets, grace=0, pause=lambda _: None)
    assert signals == []


@linux_only
def test_who_has_locked_a_file_is_told_from_who_has_locked_its_namesake(start: Start, tmp_path: Path) -> None:
    wanted, other = tmp_path / "wanted.lock", tmp_path / "elsewhere/wanted.lock"
    other.parent.mkdir()
    with wanted.open("w") as wanted_file, other.open("w") as other_file:
        for file in (wanted_file, other_file):
            fcntl.flock(file, fcntl.LOCK_EX)
        has_it = start("sleep", "1000", pass_fds=(wanted_file.fileno(),))
        start("sleep", "1000", pass_fds=(other_file.fileno(),))

        assert flock_holders(wanted, taken_by=os.getpid()) == (has_it.pid,)

    has_it.kill()
    has_it.wait()
    assert flock_holders(wanted, taken_by=os.getpid()) == ()
    assert flock_holders(tmp_path / "missing", taken_by=os.getpid()) == ()


@linux_only
def test_who_has_a_file_open_is_told_from_who_locks_it(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with path.open("w") as locked, path.open() as opened:
        fcntl.flock(locked, fcntl.LOCK_EX)
        heir = start("sleep", "1000", pass_fds=(locked.fileno(),))
        start("sleep", "1000", pass_fds=(opened.fileno(),))

        assert flock_holders(path, taken_by=os.getpid()) == (heir.pid,)
        assert flock_holders(path, taken_by=os.getppid()) == ()

        fcntl.flock(locked, fcntl.LOCK_UN)
        assert flock_holders(path, taken_by=os.getpid()) == ()
