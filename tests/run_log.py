"""The log of a made-up run, event by event, and the report that is made from it."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hereya_tf import events, exact
from hereya_tf.errors import FailureClass
from hereya_tf.report.document import Report, make_report
from hereya_tf.report.story import Story

PACKAGE = "/srv/packages/shop"
TERRAFORM = "/usr/bin/terraform"
RUN = "20261130-020000-4f1c"

_BEGAN = datetime(2026, 11, 30, 2, tzinfo=UTC).timestamp()
_NO_STATE = events.StateInfo(saved=True, errored_state=None, lock=None)


class Log:
    """The log of a made-up run: an event a second, or `after` so many."""

    def __init__(self, operation: str = "provision", *, text: str = "") -> None:
        self._seconds = _BEGAN
        self._sequence = 0
        self._operation = operation
        self._text = text
        self._last = _BEGAN
        self.records: list[Mapping[str, Any]] = []
        self.add(
            events.RunStarted(operation, PACKAGE + text, "default" + text, "key", 4711, "0.4.0"), after=0.0
        )

    @property
    def total(self) -> float:
        """Seconds since the run began."""
        return self._seconds - _BEGAN

    def add(self, event: events.Event, *, after: float = 1.0) -> "Log":
        """Write one event down."""
        self._seconds += after
        self._sequence += 1
        record = events.record_of(event, sequence=self._sequence, seconds=self._seconds, run=RUN)
        self.records.append(exact.loads(events.encode(record)))
        return self

    def engine(self) -> "Log":
        """Both locks are ours, and there is an engine."""
        self.add(events.LockAcquired(0.0))
        return self.add(
            events.EngineReady("terraform", "1.11.4", TERRAFORM + self._text, "on PATH" + self._text)
        )

    def begin(self, step: str, *, attempt: int = 1) -> "Log":
        """An engine command is started."""
        self._last = self._seconds
        return self.add(events.StepStarted(step, attempt, (TERRAFORM, step, "-json", f"-x={self._text}")))

    def end(self, step: str, *, exit_code: int | None = 0, ok: bool | None = None) -> "Log":
        """It has ended."""
        seconds = self._seconds - self._last
        is_ok = exit_code == 0 if ok is None else ok
        return self.add(events.StepFinished(step, is_ok, exit_code, seconds, skipped=False))

    def plan(self, *changes: tuple[str, str]) -> "Log":
        """The engine says what it would do: addresses and actions."""
        for address, action in changes:
            self.add(events.ChangeEvent(address + self._text, action, None), after=0.0)
        return self

    def act(self, address: str, action: str, *statuses: str, seconds: float = 2.0) -> "Log":
        """The engine does something to one resource; each status comes so many seconds after the last."""
        for status in statuses:
            took = None if status == "started" else seconds
            name = f"id-{address}{self._text}" if status == "completed" else None
            event = events.ResourceEvent(address + self._text, action, status, took, name)
            self.add(event, after=took or 0.0)
        return self

    def say(self, *diagnostics: events.DiagnosticEvent) -> "Log":
        """The engine says what is wrong, or may be."""
        for diagnostic in diagnostics:
            self.add(diagnostic, after=0.0)
        return self

    def finish(self, **fields: Any) -> "Log":
        """The run has ended, well unless `fields` of its result say otherwise."""
        result = events.Result(
            success=True,
            status="succeeded",
            reason=None,
            exit_code=0,
            operation=self._operation,
            package=PACKAGE + self._text,
            workspace="default" + self._text,
            engine=events.EngineInfo("terraform", "1.11.4"),
            env={},
            outputs={},
            changes=events.ChangeCounts(),
            drift=None,
            failure=None,
            timings=events.Timings(0.0, 0.5, 1.0, None, self.total, None, self.total + 1.0),
            report=None,
        )
        return self.add(result._replace(**fields))

    def fail(self, failure_class: FailureClass, reason: str, **fields: Any) -> "Log":
        """The run has failed; `fields` are of its failure, or of its result."""
        status = fields.pop("status", "failed")
        recovery = fields.pop("recovery", None)
        failure = events.FailureInfo(
            class_=failure_class, hint=None, diagnostics=(), stderr="", stdout="", state=_NO_STATE
        )
        return self.finish(
            success=False,
            status=status,
            reason=reason + self._text,
            exit_code=fields.pop("exit_code", failure_class.exit_code),
            changes=fields.pop("changes", events.ChangeCounts()),
            engine=fields.pop("engine", events.EngineInfo("terraform", "1.11.4")),
            failure=failure._replace(**fields),
            report=f"/state/runs/{RUN}/report.txt",
            recovery=recovery,
        )

    def report(self) -> Report:
        """What is told of the run, now."""
        story = Story.of(self.records)
        command = f"hereya-tf {self._operation} {PACKAGE} --yes{self._text}"
        return make_report(story, story.result, reproduce=command)


def error(text: str = "", *, address: str | None = None, **fields: Any) -> events.DiagnosticEvent:
    """What a provider says of a file system that is full, with its place in the source."""
    made = events.DiagnosticEvent(
        severity="error",
        class_=FailureClass.PROVIDER_ERROR,
        summary=f"cannot create the bucket{text}",
        detail=f"BucketAlreadyExists: it is somebody else's{text}\n\nrequest 4711",
        address=address,
        range=events.RangeInfo(f"main.tf{text}", 12, 3, 12, 22),
        snippet=events.SnippetInfo(
            context=f'resource "store_bucket" "photos"{text}',
            code=f"  name = var.bucket_name{text}",
            start_line=12,
            values=((f"var.bucket_name{text}", f'is "photos"{text}'),),
            highlight_start=2,
            highlight_end=24,
        ),
    )
    return made._replace(**fields)


def warning(text: str = "") -> events.DiagnosticEvent:
    """What an engine says of an argument that will go away."""
    return events.DiagnosticEvent("warning", None, f"Argument is deprecated{text}", text, None, None, None)
