"""The one door through which a run's events leave: numbered, stamped and redacted."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from hereya_tf.events import Event, Result, encode, record_of
from hereya_tf.redaction import Redactor

# String leaves under these keys are names, not values: a secret such as `main` must not destroy an address.
# fmt: off
INTACT = frozenset((
    "ts", "run", "type", "operation", "address", "action", "status", "step", "severity", "class", "addr",
    "resource", "resource_type", "resource_name", "resource_key", "module", "implied_provider", "in_flight",
    "@timestamp", "@level", "@module", "key", "package", "filename", "signal", "name", "version", "since",
))
# fmt: on
Record = Mapping[str, Any]


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
        record, line = self._redacted(self._next(event))
        for sink in self._sinks:
            sink.write(record, line)
        if not self._batching:
            self.flush()

    def finish(self, result: Result, revealed: Result | None) -> None:
        """Send the result out; sinks that may reveal get `revealed`, with the outputs as they are."""
        hidden = self._next(result)
        record, line = self._redacted(hidden)
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

    def _next(self, event: Event) -> dict[str, Any]:
        self._sequence += 1
        return record_of(event, sequence=self._sequence, seconds=self._clock(), run=self.run)

    def _redacted(self, record: dict[str, Any]) -> tuple[Record, str]:
        line = encode(record)
        if not self.redactor.touches(line):
            return record, line
        clean = self.redactor.leaves(record, INTACT)
        assert isinstance(clean, dict)
        return clean, encode(clean)
