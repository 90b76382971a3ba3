"""Frees a lock: ends the run that holds it gracefully, or what a dead run has left behind (I/O)."""

import contextlib
import os
import shlex
import signal
import time
from collections.abc import Callable, Iterable

from hereya_tf import locks
from hereya_tf.errors import Busy
from hereya_tf.places import Places
from hereya_tf.runs import history
from hereya_tf.runs.adoption import adopt
from hereya_tf.supervision.patience import KILL_AFTER_INSISTING_SECONDS, Asked, Move, next_move
from hereya_tf.supervision.process_table import ProcessIdentity, identify_ourselves, is_alive

_POLL_SECONDS = 0.1
# A runner has its own patience with its engine, and writes its result after that.
_RUNNER_SURPLUS_SECONDS = 20.0


def release_locks(
    states: Iterable[locks.LockState],
    places: Places,
    *,
    package: str,
    force: bool,
    grace: float,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[str, ...]:
    """Free the locks of a package that are held; returns what was done, in a sentence for each run.

    `grace` is in seconds, of `clock`. Raises Busy as `release_lock` does.
    """
    stories: dict[str, str] = {}
    for state in states:
        run = "" if state.holder is None else state.holder.run
        if run not in stories:
            stories[run] = release_lock(state, places, package=package, force=force, grace=grace, clock=clock)
        # The other lock of a run goes with it, unless something that the run has started still has it.
        for left in _still_held(state, places):
            release_lock(left, places, package=package, force=force, grace=grace, clock=clock)
    return tuple(stories.values())


def _still_held(state: locks.LockState, places: Places) -> list[locks.LockState]:
    """The lock as it is now, if it is with the run that had it; who was next in line may have it by now."""
    run = state.holder and state.holder.run
    found = [now for now in locks.inspect(places.locks) if now.stem == state.stem and now.held]
    return [now for now in found if now.holder is not None and now.holder.run == run]


def release_lock(
    state: locks.LockState,
    places: Places,
    *,
    package: str,
    force: bool,
    grace: float,
    clock: Callable[[], float] = time.monotonic,
) -> str:
    """Free a lock that is held; returns what was done, in a sentence. `grace` is in seconds, of `clock`.

    Raises Busy for a run that lives and is not to be ended (without `force`), or that does not end.
    """
    holder = state.holder
    if holder is None:
        raise Busy(
            f"lock `{state.stem}` is held, and there is no record of by whom",
            "wait for it: `hereya-tf lock list` shows when it is free",
        )
    if holder.host != history.host_name():
        raise Busy(
            f"lock `{state.stem}` is held by run `{holder.run}` on the host `{holder.host}`",
            "release it there",
        )
    runner_lives = is_alive(holder.process)
    engine = holder.engine.process if holder.engine is not None else None
    engine_lives = engine is not None and is_alive(engine)
    if (runner_lives or engine_lives) and not force:
        who = f"pid {holder.process.pid}" if runner_lives else f"its engine, pid {engine and engine.pid}"
        raise Busy(
            f"lock `{state.stem}` is held by run `{holder.run}`, which is at work ({who})",
            f"wait for it, or end it gracefully with `hereya-tf lock release {shlex.quote(package)} --force`",
        )
    if runner_lives:
        _end_runner(holder, places, grace, clock)
        return f"run `{holder.run}` was asked to end, and has ended"
    if engine_lives and engine is not None:
        _end_engine(engine, grace, clock)
        _take_over(holder, state, places)
        return f"the engine of the dead run `{holder.run}` was asked to end, and has ended"
    _take_over(holder, state, places)
    return f"what the dead run `{holder.run}` had left behind was ended"


def _end_runner(holder: locks.Holder, places: Places, grace: float, clock: Callable[[], float]) -> None:
    directory = places.runs / holder.run
    record = history.read_record(directory)
    if record is not None:
        history.request_cancel(directory, record)
    else:
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(holder.process.pid, signal.SIGTERM)
    deadline = clock() + grace + KILL_AFTER_INSISTING_SECONDS + _RUNNER_SURPLUS_SECONDS
    while is_alive(holder.process):
        if clock() > deadline:
            raise Busy(
                f"run `{holder.run}` (pid {holder.process.pid}) was asked to end, and has not within its grace",
                f"look at it with `hereya-tf runs log {holder.run}`; as a last resort end the process by hand",
            )
        time.sleep(_POLL_SECONDS)


def _end_engine(engine: ProcessIdentity, grace: float, clock: Callable[[], float]) -> None:
    """Ask, insist, kill, as a runner would; what it is doing is unknown, so it counts as changing things."""
    done = Asked()
    while is_alive(engine):
        now = clock()
        if done.killed_at is not None and now > done.killed_at + _RUNNER_SURPLUS_SECONDS:
            raise Busy(
                f"the engine (pid {engine.pid}) was killed, and has not ended",
                "it waits for a device or a network disk; it ends when that answers",
            )
        move = next_move(done, now=now, wanted=True, user_insists=False, mutating=True, grace=grace)
        with contextlib.suppress(ProcessLookupError):
            match move:
                case Move.ASK:
                    os.kill(engine.pid, signal.SIGINT)
                    done = done._replace(asked_at=now)
                case Move.INSIST:
                    os.kill(engine.pid, signal.SIGINT)
                    done = done._replace(insisted_at=now)
                case Move.KILL:
                    _kill(engine.pid)
                    done = done._replace(killed_at=now)
                case Move.NOTHING:
                    pass
        time.sleep(_POLL_SECONDS)


def _kill(pid: int) -> None:
    """The engine's whole group, or the engine alone where its group was its runner's as well (`tf`)."""
    if os.getpgid(pid) == pid:
        os.killpg(pid, signal.SIGKILL)
    else:
        os.kill(pid, signal.SIGKILL)


def _take_over(holder: locks.Holder, state: locks.LockState, places: Places) -> None:
    """Take the lock, which ends what a dead run's engine left with the descriptor, and let it go."""
    kind = locks.LockKind(state.stem.split("-", 1)[0])
    taken = locks.acquire(
        places.locks,
        locks.LockKey(kind, holder.key),
        holder._replace(run="release", process=identify_ourselves(), operation="lock release", engine=None),
        deadline=time.monotonic() + _RUNNER_SURPLUS_SECONDS,
        pause=time.sleep,
        on_waiting=lambda _waiting: None,
    )
    taken.release()
    adopt(places.runs, holder.run, lambda _story: None)
