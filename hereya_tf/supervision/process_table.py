"""Who a process is, whether it still lives, and how groups of processes are ended (I/O)."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")
_POLL = 0.02  # seconds, as everything here
# A process in uninterruptible sleep outlives SIGKILL; nobody should wait for it for ever.
_AFTER_KILL = 2.0


class ProcessIdentity(NamedTuple):
    """A process id together with its start, so that a reused id is not taken for the process."""

    pid: int
    started: str


class _Status(NamedTuple):
    parent: int
    group: int
    started: str
    ended: bool


def identify(pid: int, *, proc: Path = PROC) -> ProcessIdentity | None:
    """The identity of the process with this id now, None when there is none.

    `started` is start time in clock ticks and boot id on Linux (proc(5), field 22), `ps -o lstart` elsewhere,
    and empty when the process may not be looked at.
    """
    status = _status(pid, proc)
    if status is not None:
        return ProcessIdentity(pid, status.started)
    return ProcessIdentity(pid, "") if _exists(pid) else None


def identify_ourselves() -> ProcessIdentity:
    """The identity of this process, without its start where the system does not tell it."""
    return identify(os.getpid()) or ProcessIdentity(os.getpid(), "")


def is_alive(identity: ProcessIdentity, *, proc: Path = PROC) -> bool:
    """Whether that very process still runs; a zombie does not. What may not be looked at counts as alive."""
    status = _status(identity.pid, proc)
    if status is None:
        return _exists(identity.pid)
    return not status.ended and identity.started in ("", status.started)


def group_and_session(pid: int) -> tuple[int, int]:
    """The process group and the session of a process, zeros when it is gone."""
    try:
        return os.getpgid(pid), os.getsid(pid)
    except ProcessLookupError:
        return 0, 0


def is_our_child(pid: int) -> bool:
    """Whether the id is a child of this process that was not waited for yet.

    Guards group signals: a test double's process id may be 1, and killpg(1) would reach far too many.
    """
    if pid <= 0:
        return False
    # waitid came to Python on macOS with 3.13.
    if not hasattr(os, "waitid"):
        status = _ask_ps(pid)
        return status is not None and status.parent == os.getpid()
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except OSError:
        return False
    return True


def end_group(group: int, *, grace: float, pause: Callable[[float], None]) -> bool:
    """End every process of a group: SIGTERM, up to `grace` seconds of patience, SIGKILL; true if any lived.

    Never touches group 0 and 1 or our own. `pause` gets seconds; what it raises passes through.
    """
    if group <= 1 or group == os.getpgrp():
        return False

    def send(number: int) -> None:
        os.killpg(group, number)

    return _end(send, lambda: group_lives(group), grace, pause)


def end_processes(
    identities: tuple[ProcessIdentity, ...], *, grace: float, pause: Callable[[float], None]
) -> bool:
    """End single processes the same way: SIGTERM, up to `grace` seconds, SIGKILL; true if any lived."""
    targets = tuple(identity for identity in identities if identity.pid > 1 and identity.pid != os.getpid())

    def send(number: int) -> None:
        for identity in targets:
            if is_alive(identity):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(identity.pid, number)

    return _end(send, lambda: any(map(is_alive, targets)), grace, pause)


def flock_holders(path: Path, *, taken_by: int) -> tuple[int, ...]:
    """Ids of the other processes with a descriptor through which process `taken_by` locked this file (Linux).

    /proc/PID/fdinfo names the locks that belong to a descriptor (proc(5)), so whoever has merely opened the
    file, or locked it on its own account, is not among them.
    """
    takers = (
        str(taken_by),
        "0",  # inside a PID namespace the kernel writes 0 once the taker is gone (Linux 6.18)
    )
    found = set()
    for pid, number in _open_descriptors(path):
        with contextlib.suppress(OSError):
            for line in (PROC / str(pid) / "fdinfo" / number).read_text().splitlines():
                words = line.split()
                # lock: 1: FLOCK ADVISORY WRITE 7133 fe:00:2146336 0 EOF
                if words[:1] == ["lock:"] and words[2:3] == ["FLOCK"] and words[5] in takers:
                    found.add(pid)
    return tuple(sorted(found))


def _end(
    send: Callable[[int], None], any_lives: Callable[[], bool], grace: float, pause: Callable[[float], None]
) -> bool:
    if not any_lives():
        return False
    for number, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, _AFTER_KILL)):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            send(number)
        waited = 0.0
        while waited < patience and any_lives():
            pause(_POLL)
            waited += _POLL
        if not any_lives():
            break
    return True


def group_lives(group: int) -> bool:
    """Whether a process group has a member that has not ended."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        # macOS refuses when only zombies are left; on Linux it means that none of them is ours to end.
        return False
    return not _has_proc(PROC) or any(_is_living_member(pid, group) for pid in _process_ids())


def _is_living_member(pid: int, group: int) -> bool:
    status = _read_proc(pid)
    return status is not None and status.group == group and not status.ended


def _open_descriptors(path: Path) -> Iterator[tuple[int, str]]:
    try:
        wanted = path.stat()
    except OSError:
        return
    for pid in _process_ids():
        if pid == os.getpid():
            continue
        with contextlib.suppress(OSError):
            for descriptor in (PROC / str(pid) / "fd").iterdir():
                if _is_same_file(descriptor, path.name, wanted):
                    yield pid, descriptor.name


def _is_same_file(descriptor: Path, name: str, wanted: os.stat_result) -> bool:
    with contextlib.suppress(OSError):
        # The name first: to ask a dead network mount about every open file of the machine could hang.
        if descriptor.readlink().name == name:
            return os.path.samestat(descriptor.stat(), wanted)
    return False


def _process_ids() -> list[int]:
    try:
        return [int(name) for name in os.listdir(PROC) if name.isdecimal()]  # noqa: PTH208 - the hot loop
    except OSError:
        return []


def _status(pid: int, proc: Path) -> _Status | None:
    if pid <= 0:
        return None
    status = _read_proc(pid, proc)
    if status is None:
        return None if _has_proc(proc) else _ask_ps(pid)
    return status._replace(started=f"{status.started}@{_boot(proc)}")


def _has_proc(proc: Path) -> bool:
    return os.path.exists(f"{proc}/self/stat")  # noqa: PTH110 - asked with every poll


def _read_proc(pid: int, proc: Path = PROC) -> _Status | None:
    try:
        with open(f"{proc}/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - read with every poll
            text = file.read()
    except OSError:
        return None
    # The name in parentheses may hold anything, parentheses and line breaks too.
    fields = text[text.rindex(b")") + 2 :].split()
    return _Status(
        parent=int(fields[1]),
        group=int(fields[2]),
        started=fields[19].decode(),
        ended=fields[0] in (b"Z", b"X"),
    )


def _boot(proc: Path) -> str:
    try:
        with open(f"{proc}/sys/kernel/random/boot_id", "rb", buffering=0) as file:  # noqa: PTH123
            return file.read().decode().strip()
    except OSError:
        return ""


def _ask_ps(pid: int) -> _Status | None:
    import subprocess

    command = ("ps", "-o", "ppid=", "-o", "pgid=", "-o", "stat=", "-o", "lstart=", "-p", str(pid))
    environment = {**os.environ, "LC_ALL": "C", "TZ": "UTC"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except OSError:
        return None
    words = done.stdout.split()
    if len(words) < 4:
        return None
    return _Status(
        parent=int(words[0]),
        group=int(words[1]),
        started=" ".join(words[3:]),
        ended=words[2].startswith("Z"),
    )


def _exists(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except (OSError, OverflowError) as error:
        return isinstance(error, PermissionError)
    return True
