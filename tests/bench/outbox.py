"""How many deliveries processes claim and settle in a second, through one file, everything on the disk at once.

`python -m tests.bench.outbox [PROCESSES] [DELIVERIES] [KEYS]`
"""

import multiprocessing
import statistics
import sys
import tempfile
import time
from multiprocessing.synchronize import Event
from pathlib import Path

from hereya_tf.outbox import Delivered, Draft, OutboxStore, State

# What is promised, for 8 processes.
WANTED = 1_500
LEASE = 30_000
BATCH = 1_000


def main() -> None:
    processes, deliveries, keys = (*map(int, sys.argv[1:4]), *(8, 20_000, 1_000)[len(sys.argv) - 1 :])
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "outbox.db"
        began = time.perf_counter()
        fill(path, deliveries, keys)
        print(f"append: {deliveries / (time.perf_counter() - began):,.0f}/s in batches of {BATCH}")
        rate, waits = race(path, processes, deliveries)
    print(
        f"claim+settle: {rate:,.0f}/s, {processes} processes, {keys:,} keys (wanted: {WANTED:,});"
        f" claim p50 {waits[len(waits) // 2]:.2f} ms, p99 {waits[len(waits) * 99 // 100]:.2f} ms,"
        f" mean {statistics.mean(waits):.2f} ms, max {waits[-1]:.0f} ms"
    )
    sys.exit(0 if rate >= WANTED else 1)


def fill(path: Path, deliveries: int, keys: int) -> None:
    with OutboxStore(path) as store:
        for start in range(0, deliveries, BATCH):
            numbers = range(start, min(start + BATCH, deliveries))
            store.append_all(Draft({"number": number}, key=f"key-{number % keys}") for number in numbers)


def race(path: Path, processes: int, deliveries: int) -> tuple[float, list[float]]:
    """Deliveries in a second, and the milliseconds that each claim took, sorted."""
    context = multiprocessing.get_context("spawn")
    go = context.Event()
    ready: multiprocessing.Queue[list[float] | None] = context.Queue()
    running = [context.Process(target=work, args=(path, go, ready)) for _ in range(processes)]
    for process in running:
        process.start()
    for _ in running:
        assert ready.get() is None
    began = time.perf_counter()
    go.set()
    waits = [wait for _ in running for wait in ready.get() or ()]
    seconds = time.perf_counter() - began
    for process in running:
        process.join()
    assert len(waits) == deliveries, "each was claimed once"
    return deliveries / seconds, sorted(waits)


def work(path: Path, go: Event, ready: "multiprocessing.Queue[list[float] | None]") -> None:
    """Claim and settle until there is nothing left."""
    waits: list[float] = []
    with OutboxStore(path) as store:
        ready.put(None)
        go.wait()
        while True:
            began = time.perf_counter()
            claimed = store.claim(store.clock(), LEASE)
            if claimed is None:
                if not store.by_state(State.PENDING, 1):
                    break
                continue
            waits.append((time.perf_counter() - began) * 1000)
            assert claimed.claim_token is not None
            store.settle(claimed.id, Delivered(), claimed.claim_token)
    ready.put(waits)


if __name__ == "__main__":
    main()
