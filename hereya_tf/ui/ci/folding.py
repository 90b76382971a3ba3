"""Plain lines in a log whose parts fold: each step is one, and what went wrong is in none (pure)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from hereya_tf.ui.plain import PlainLines
from hereya_tf.words import Record


class Part(NamedTuple):
    """A part of a log: the `number`th of its run; `second` is when it begins or ends (since 1970)."""

    run: str
    number: int
    step: str
    title: str
    second: int


class Marks(NamedTuple):
    """The lines that begin and end a part."""

    begin: Callable[[Part], str]
    end: Callable[[Part], str]


class Told(NamedTuple):
    """A line, without its line break; a mark of ours is written as it is."""

    text: str
    is_mark: bool = False


class FoldingLines:
    """Renders a run's events; `reports` are the files that say more of a run, by its id."""

    def __init__(self, plain: PlainLines, marks: Marks, reports: Callable[[str], Sequence[str]]) -> None:
        self._plain = plain
        self._marks = marks
        self._reports = reports
        self._open: Part | None = None
        self._parts = 0
        self._is_cancelled = False

    def lines(self, record: Record) -> list[Told]:
        """The lines for one event, often none."""
        told = [Told(line) for line in self._plain.lines(record)]
        match record["type"]:
            case "step_started":
                return [*self._closed(record), self._begun(record), *told]
            case "step_finished":
                return [*told, *self._closed(record)]
            case "result":
                return [*self._closed(record), *told]
            case "cancelling":
                # Whoever has asked may kill us soon: what is said from here on is not folded away.
                return [*self._closed(record), *told, *self._so_far(record)]
        return told

    def _begun(self, record: Record) -> Told:
        self._parts += 1
        again = "" if record["attempt"] == 1 else f", attempt {record['attempt']}"
        title = f"{record['step']}{again}"
        self._open = Part(record["run"], self._parts, record["step"], title, _second(record))
        return Told(self._marks.begin(self._open), is_mark=True)

    def _closed(self, record: Record) -> list[Told]:
        part, self._open = self._open, None
        if part is None:
            return []
        return [Told(self._marks.end(part._replace(second=_second(record))), is_mark=True)]

    def _so_far(self, record: Record) -> list[Told]:
        files = self._reports(record["run"]) if not self._is_cancelled else ()
        self._is_cancelled = True
        return (
            [Told(f"what is known so far is in {' and '.join(f'`{file}`' for file in files)}")]
            if files
            else []
        )


def _second(record: Record) -> int:
    return int(datetime.fromisoformat(record["ts"]).timestamp())
