"""Processes that deliver from one outbox are killed, stopped past their leases and continued, all the time.

`python -m tests.bench.outbox_storm [DELIVERIES] [KILLS]`; fails when a delivery is lost, settled twice or out of
order. The file itself keeps the record: triggers write down every change of a state.
"""

import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

from hereya_tf.outbox import Backoff, Delivery, Draft, Drainer, OutboxStore, State
from hereya_tf.queue import CancelToken
from tests.command_line import REPOSITORY

LEASE = 1_000
FAILING = 0.15
# Seconds.
DEADLINE = 120.0
BETWEEN_BLOWS = (0.02, 0.25)
PAUSE = 1.3 * LEASE / 1000
# Any claim and any settlement names the state, also where it stays what it was.
AUDIT = """
create table audit (place integer primary key autoincrement, number integer, key text, state text);
create trigger audited after update of state on delivery
begin insert into audit (number, key, state) values (cast(new.payload as integer), new.key, new.state); end;
"""


class Verdict(NamedTuple):
    """What the record says; all but the last three have to be zero."""

    lost: int
    settled_twice: int
    out_of_order: int
    started_too_early: int
    damaged: int
    attempts: int
    kills: int
    refused: int

    @property
    def is_clean(self) -> bool:
        return not any(self[:5])


def main() -> None:
    if sys.argv[1:2] == ["--work"]:
        work(Path(sys.argv[2]))
        return
    deliveries, kills = (*map(int, sys.argv[1:3]), *(3_000, 50)[len(sys.argv) - 1 :])
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as directory:
        verdict = storm(Path(directory), deliveries=deliveries, keys=60, workers=8, kills=kills, seed=None)
    print(f"{deliveries} deliveries in {time.monotonic() - began:.1f} s: {verdict}")
    sys.exit(0 if verdict.is_clean and verdict.kills >= kills else 1)


def storm(
    directory: Path, *, deliveries: int, keys: int, workers: int, kills: int, seed: int | None
) -> Verdict:
    """Deliver everything, under at least so many blows, and judge the record."""
    path = directory / "outbox.db"
    fate = random.Random(seed)
    with OutboxStore(path) as store:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.executescript(AUDIT)
        submit(store, 0, deliveries, keys)
        troubles = directory / "troubles"
        blows, submitted = _rage(
            store, troubles, workers=workers, kills=kills, submitted=deliveries, keys=keys, fate=fate
        )
    return judge(path, submitted, keys, blows, troubles)


def submit(store: OutboxStore, start: int, count: int, keys: int) -> None:
    numbers = range(start, start + count)
    store.append_all(Draft(number, key=f"key-{number % keys}", attempts=10_000) for number in numbers)


def _rage(
    store: OutboxStore,
    troubles: Path,
    *,
    workers: int,
    kills: int,
    submitted: int,
    keys: int,
    fate: random.Random,
) -> tuple[int, int]:
    """Keep so many workers at it, and deal blows, until all is delivered.

    How many were killed, and how many deliveries there were, so that there was always something to do.
    """
    path = store.path
    running = [start(path, troubles) for _ in range(workers)]
    stopped: dict[int, float] = {}
    blows = 0
    deadline = time.monotonic() + DEADLINE
    try:
        while blows < kills or 10 * refusals(troubles) < kills or _is_at_work(store):
            if not _is_at_work(store):
                submit(store, submitted, keys, keys)
                submitted += keys
            assert time.monotonic() < deadline, store.snapshot()
            time.sleep(fate.uniform(*BETWEEN_BLOWS))
            for pid, since in [*stopped.items()]:
                if time.monotonic() - since > PAUSE:
                    os.kill(pid, signal.SIGCONT)
                    del stopped[pid]
            place = fate.randrange(workers)
            victim = running[place]
            if victim.pid in stopped:
                continue
            if fate.random() < 0.25:
                os.kill(victim.pid, signal.SIGSTOP)
                stopped[victim.pid] = time.monotonic()
            elif blows < kills:
                victim.kill()
                victim.wait()
                blows += 1
                running[place] = start(path, troubles)
    finally:
        for process in running:
            process.kill()
            process.wait()
    return blows, submitted


def _is_at_work(store: OutboxStore) -> bool:
    return bool(store.by_state(State.PENDING, 1) or store.by_state(State.DELIVERING, 1))


def refusals(troubles: Path) -> int:
    return troubles.read_text(encoding="utf-8").count("belongs to another claimer")


def start(path: Path, troubles: Path) -> "subprocess.Popen[bytes]":
    with troubles.open("ab") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.bench.outbox_storm", "--work", str(path)],
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stderr=file,
        )


def work(path: Path) -> None:
    """Deliver until killed, with failures now and then, telling stderr of troubles."""

    def handle(cancel: CancelToken, delivery: Delivery) -> int:
        cancel.wait(random.expovariate(60))
        if not cancel.is_set() and random.random() < FAILING:
            raise RuntimeError("a failure that passes")
        return int(delivery.payload)

    def say(sentence: str) -> None:
        os.write(2, f"{sentence}\n".encode())

    with OutboxStore(path) as store:
        drainer = Drainer(
            store,
            handle,
            width=2,
            claim_ttl=LEASE,
            backoff=Backoff(base=5, maximum=40),
            on_trouble=say,
            poll=0.02,
        )
        drainer.start()
        signal.pause()


def judge(path: Path, submitted: int, keys: int, kills: int, troubles: Path) -> Verdict:
    """Read the record with nothing but SQLite."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        intact = connection.execute("pragma integrity_check").fetchone()[0] == "ok"
        states = dict(connection.execute("select state, count(*) from delivery group by state"))
        record = connection.execute("select number, key, state from audit order by place").fetchall()
    order = {f"key-{place}": list(range(place, submitted, keys)) for place in range(keys)}
    ends: dict[str, list[int]] = defaultdict(list)
    settled: Counter[int] = Counter()
    early = 0
    for number, key, state in record:
        if state == State.DELIVERED:
            ends[key].append(number)
            settled[number] += 1
        elif state == State.DELIVERING:
            early += any(before < number and not settled[before] for before in order[key])
    return Verdict(
        lost=submitted - states.get(State.DELIVERED, 0),
        settled_twice=sum(count - 1 for count in settled.values()),
        out_of_order=sum(ends[key] != order[key] for key in order),
        started_too_early=early,
        damaged=not intact,
        attempts=sum(state == State.DELIVERING for _, _, state in record),
        kills=kills,
        refused=refusals(troubles),
    )


if __name__ == "__main__":
    main()
