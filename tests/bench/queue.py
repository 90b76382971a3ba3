"""Time of 100,000 tasks over 1,000 keys: submitted while they run, all at once, and with a failure in ten."""

import resource
import sys
import time
from collections.abc import Callable

from hereya_tf.queue import CancelToken, KeyedQueue

TASKS = 100_000
KEYS = 1_000
LIMIT_SECONDS = 10.0


def main() -> None:
    print(f"{TASKS:,} tasks over {KEYS:,} keys")
    print(f"{'':<24}{'seconds':>9}{'tasks/s':>12}")
    slowest = 0.0
    for label, measure in {
        "while they run": running,
        "held, then run": held,
        "one in ten retried": failing,
    }.items():
        seconds = measure()
        slowest = max(slowest, seconds)
        print(f"{label:<24}{seconds:>9.1f}{TASKS / seconds:>12,.0f}")
    scale = 1 << 20 if sys.platform == "darwin" else 1 << 10
    print(f"peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale:.0f} MiB")
    if slowest >= LIMIT_SECONDS:
        raise SystemExit(f"slower than {LIMIT_SECONDS:.0f} s")


def running() -> float:
    return timed(KeyedQueue(width=8), nothing)


def held() -> float:
    queue = KeyedQueue(width=8)
    queue.pause()
    return timed(queue, nothing)


def failing() -> float:
    failed: set[int] = set()

    def handler(cancel: CancelToken, number: int) -> None:
        if number % 10 == 0 and number not in failed:
            failed.add(number)
            raise RuntimeError

    return timed(KeyedQueue(width=8, attempts=2, backoff=lambda attempt: 0.001), handler)


def timed(queue: KeyedQueue, handler: Callable[[CancelToken, int], None]) -> float:
    """Seconds from the first submission until all results are there."""
    began = time.perf_counter()
    tasks = [queue.run(f"key-{number % KEYS}", handler, number) for number in range(TASKS)]
    queue.resume()
    queue.when_idle().result()
    seconds = time.perf_counter() - began
    if queue.snapshot().completed != TASKS or not all(task.result.done() for task in tasks):
        raise SystemExit("tasks were lost")
    queue.stop()
    return seconds


def nothing(cancel: CancelToken, number: int) -> None:
    """What costs least."""


if __name__ == "__main__":
    main()
