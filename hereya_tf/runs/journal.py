"""The one door through which a run's events leave: numbered, stamped and redacted."""

import contextlib
import functools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from hereya_tf.events import Event, Result, encode, record_of
from hereya_tf.redaction import Redactor
from hereya_tf.words import Record

# String leaves under these keys are names, not values: a secret such as `main` must not destroy an address.
# fmt: off
INTACT = frozenset((
    "ts", "run", "type", "operation", "address", "action", "status", "step", "severity", "class", "addr",
    "resource", "resource_type", "resource_name", "resource_key", "module", "implied_provider", "in_flight",
    "@timestamp", "@level", "@module", "key", "package", "filename", "signal", "name", "version", "since",
    "stream",
))
# fmt: on


class Sink(NamedTuple):
    """A receiver of events: `write` gets the record and its line, `flush` ends a batch.

    `reveals` sinks get the result with sensitive values when the user asked to see them.
    """

    write: Callable[[Record, str], None]
    flush: Callable[[], None]
    reveals: bool = False


class Journal:
    """Numbers, stamps and redacts events and hands them to every sink."""

    def __init__(
        self,
        run: str,
        redactor: Redactor,
        sinks: Sequence[Sink],
        *,
        first: int = 1,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.redactor = redactor
        self.run = run
        self._sinks = tuple(sinks)
        self._sequence = first - 1
        self._clock = clock
        self._batching = False

    def emit(self, event: Event) -> None:
        """Send one event out."""
        record, line = self._redacted(event)
        for sink in self._sinks:
            sink.write(record, line)
        if not self._batching:
            self.flush()

    def finish(self, result: Result, revealed: Result | None) -> None:
        """Send the result out; sinks that may reveal get `revealed`, with the outputs as they are."""
        record, line = self._redacted(result)
        shown, shown_line = record, line
        if revealed is not None:
            shown = {**record, "outputs": revealed.outputs, "env": revealed.env}
            shown_line = encode(shown)
        for sink in self._sinks:
            sink.write(*((shown, shown_line) if sink.reveals else (record, line)))
        self.flush()

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Flush the sinks once, at the end of the block."""
        self._batching = True
        try:
            yield
        finally:
            self._batching = False
            self.flush()

    def flush(self) -> None:
        """Pass on what sinks hold back; also what a slow reader has not taken yet."""
        for sink in self._sinks:
            sink.flush()

    def _redacted(self, event: Event) -> tuple[Record, str]:
        self._sequence += 1
        record = record_of(event, sequence=self._sequence, seconds=self._clock(), run=self.run)
        line = None
        exposed = _exposed_text(event)
        if exposed is None:
            exposed = line = encode(record)
        if exposed and self.redactor.touches(exposed):
            record = self.redactor.leaves(record, INTACT)
            line = None
        return record, line if line is not None else encode(record)


def _exposed_text(event: Event) -> str | None:
    """All text of an event that may have to be redacted; None where it lies deeper.

    Most events are names and numbers, and a busy engine causes thousands.
    """
    kind: Any = type(event)
    exposed = ""
    for at in _exposed_fields(kind):
        value = event[at]
        if isinstance(value, str):
            exposed = f"{exposed}\n{value}" if exposed else value
        elif isinstance(value, tuple | list | dict):
            return None
    return exposed


@functools.lru_cache(maxsize=64)
def _exposed_fields(kind: Any) -> tuple[int, ...]:
    return tuple(at for at, name in enumerate(kind._fields) if name.rstrip("_") not in INTACT)
