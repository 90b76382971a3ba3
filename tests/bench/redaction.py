"""What redaction costs: the journal's events and plain text, with 0 to 500 secrets, and its share of a run.

With the path of another checkout as an argument, its rounds take turns with ours: the machine's moods hit both.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROUNDS = 15
SECRETS = (0, 10, 50, 500)
EVENTS = 4_000
TEXT_BYTES = 1 << 20
# What an engine says in a second, when it is busy.
ENGINE_EVENTS = 240
HERE = Path(__file__).resolve().parents[2]


class Measured(NamedTuple):
    """One line of the table: how much of something is done in a second."""

    label: str
    amount: float
    unit: str


def main() -> None:
    if sys.argv[1:2] == ["--round"]:
        print(json.dumps([measured._asdict() for measured in measure()]))
        return
    checkouts = [HERE, *map(Path, sys.argv[1:])]
    rounds: dict[Path, list[list[Mapping[str, Any]]]] = {checkout: [] for checkout in checkouts}
    for _ in range(ROUNDS):
        for checkout in checkouts:
            rounds[checkout].append(one_round(checkout))
    for checkout in checkouts:
        print(f"{checkout}, median of {ROUNDS} rounds")
        for line in zip(*rounds[checkout], strict=True):
            amounts = [measured["amount"] for measured in line]
            spread = (max(amounts) - min(amounts)) / statistics.median(amounts)
            label, unit = line[0]["label"], line[0]["unit"]
            print(f"  {label:<42}{statistics.median(amounts):>12,.2f} {unit:<9}± {spread / 2:4.0%}")


def one_round(checkout: Path) -> list[Mapping[str, Any]]:
    """All of it, once, in a process of its own that imports from `checkout`."""
    done = subprocess.run(
        [sys.executable, str(Path(__file__).resolve()), "--round"],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines: list[Mapping[str, Any]] = json.loads(done.stdout)
    return lines


def measure() -> Sequence[Measured]:
    resources, logs = resource_events(), log_events()
    text = "".join(f"{event.text}\n" for event in logs)
    text = (text * (TEXT_BYTES // len(text) + 1))[:TEXT_BYTES]
    bare = best(emit_all, Blind(), logs)
    return [line for count in SECRETS for line in measure_with(count, resources, logs, text, bare)]


def measure_with(
    count: int, resources: Sequence[Any], logs: Sequence[Any], text: str, bare: float
) -> Iterator[Measured]:
    """All lines of the table for so many secrets; `bare` is what the log events take when nobody looks."""
    from hereya_tf.redaction import Redactor

    known = secrets(count)
    redactor = Redactor(known)
    seconds = best(emit_all, redactor, resources)
    yield Measured(f"resource events, {count} secrets", len(resources) / seconds, "events/s")
    seconds = best(emit_all, redactor, logs)
    yield Measured(f"log events, {count} secrets", len(logs) / seconds, "events/s")
    share = (seconds - bare) / len(logs) * ENGINE_EVENTS
    yield Measured(f"share of an apply, {count} secrets", share * 100, "% CPU")
    yield Measured(
        f"lines of text, {count} secrets", len(text) / best(feed_all, redactor, text) / 1e6, "MB/s"
    )
    whole = f"{text}Authorization: Bearer abc\n"
    yield Measured(f"text with one, {count} secrets", len(whole) / best(redactor.text, whole) / 1e6, "MB/s")
    if known:
        yield Measured(f"to learn {count} secrets", best(learn, known) * 1000, "ms")


class Blind:
    """Takes the place of a redactor that costs nothing."""

    def touches(self, line: str) -> bool:
        return False


def emit_all(redactor: Any, events: Sequence[Any]) -> None:
    from hereya_tf.runs.journal import Journal, Sink

    journal = Journal("run", redactor, (Sink(lambda _record, _line: None, lambda: None),))
    for event in events:
        journal.emit(event)


def feed_all(redactor: Any, text: str) -> None:
    stream = redactor.stream()
    for line in text.splitlines(keepends=True):
        stream.feed(line)
    stream.flush()


def learn(known: Sequence[str]) -> None:
    from hereya_tf.redaction import Redactor

    Redactor(known).lexicon()


def best(act: Callable[..., object], *arguments: object) -> float:
    """Seconds of the fastest of three: what is in the way is not what is measured."""
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        act(*arguments)
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def secrets(count: int) -> list[str]:
    """Half like passwords, half like tokens."""
    words = [f"secret-value-{number:04d}" for number in range(count // 2)]
    return [*words, *(f"x{number * 7919:07d}Kq9ZvT3{number:04x}Lm" for number in range(count - len(words)))]


def resource_events() -> list[Any]:
    from hereya_tf.events import ResourceEvent

    return [
        ResourceEvent(
            f'module.network.aws_subnet.private["zone-{number:07d}"]',
            "create",
            "completed",
            10.0,
            f"subnet-0{number * 0x9E3779B97F4A7C15 % (1 << 64):016x}",
        )
        for number in range(EVENTS)
    ]


def log_events() -> list[Any]:
    from hereya_tf.events import LogEvent

    said = (
        "terraform_data.web (local-exec): Get:{0} http://deb.example/debian stable/main amd64 libc6 [{0} kB]",
        "terraform_data.web (local-exec): + install -m 0644 /tmp/build-{0}/app.conf /etc/app/app.conf",
        "aws_instance.web[{0}]: Still creating... [00m10s elapsed]",
        "aws_instance.web[{0}]: Creation complete after 12s [id=i-0abc123def{0:07d}]",
    )
    return [LogEvent("provisioner", said[number % 4].format(number)) for number in range(EVENTS)]


if __name__ == "__main__":
    main()
