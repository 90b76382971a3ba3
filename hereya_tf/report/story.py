"""What happened in a run, folded from its events, live or from its log: bounded memory (pure)."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from hereya_tf.events import shows_lock
from hereya_tf.words import Record, short_error

_ACTIONS_KEPT = 10_000
_DIAGNOSTICS_KEPT = 100
# Of each try that another one followed.
_ERRORS_KEPT = 5
# Where these fields are in the list that an action is here.
_STATUS, _ENDED, _ID, _EARLIER = 2, 5, 6, 7
PASSING = frozenset(("refresh", "open", "renew", "close", "read"))
"""What comes and goes without a change; only a timeline wants it."""


class EngineFacts(NamedTuple):
    """The engine that was used, and where it came from."""

    name: str
    version: str
    path: str
    chosen_by: str


class StepPart(NamedTuple):
    """One engine command. `ended`, `ok` and `seconds` are None while it runs; moments are RFC 3339.

    When it was tried again: `again_after` so many seconds, why (`failure_class`), and what its errors `said`.
    """

    step: str
    attempt: int
    argv: tuple[str, ...]
    began: str
    ended: str | None = None
    ok: bool | None = None
    exit_code: int | None = None
    seconds: float | None = None
    skipped: bool = False
    again_after: float | None = None
    failure_class: str | None = None
    said: tuple[str, ...] = ()


class ActionPart(NamedTuple):
    """One action on one resource: `status` is started, completed or failed; `step` counts from 0."""

    address: str
    action: str
    status: str
    step: int
    began: str
    ended: str | None = None
    id: str | None = None


class Wait(NamedTuple):
    """Somebody else's lock was waited for; `holder` is as in `lock_waiting`."""

    lock: str
    holder: Record | None
    began: str
    ended: str | None = None


class Story:
    """Feed it every event of a run, in order; all moments are texts in RFC 3339, which sort by time.

    Events are taken for what they should be; no others are read from a log. `asked` is called when the engine
    has been asked to end.
    """

    def __init__(self, *, keep_reads: bool = False, asked: Callable[[], None] = lambda: None) -> None:
        self._skipped = frozenset() if keep_reads else PASSING
        self._asked = asked
        self.run = self.operation = self.package = self.workspace = self.version = ""
        self.began = self.last = ""
        self.engine: EngineFacts | None = None
        self.steps: list[StepPart] = []
        self.waits: list[Wait] = []
        # By address: action and reason of what the last plan would do; drift is kept apart.
        self.planned: dict[str, Record] = {}
        self.drifted: dict[str, Record] = {}
        self.warnings: list[Record] = []
        self.errors: list[Record] = []
        self.retries: list[Record] = []
        # The first `cancelling`, and the last one.
        self.cancelling: Record | None = None
        self.last_cancelling: Record | None = None
        self.result: Record | None = None
        # By the place of a step: when it first told what it could not before it asked for the state's lock, and
        # the classes of the errors it told of.
        self.held: dict[int, str] = {}
        self.classes: dict[int, set[str]] = {}
        # Lists of an ActionPart's fields, and of what had begun before at the same address and goes on as well:
        # an ActionPart that is replaced at its end costs a tenth of all that is done with an event.
        self._actions: list[list[Any]] = []
        self._open: dict[tuple[str, str], list[Any]] = {}
        self._step = -1
        self._said: list[Record] = []
        self.left_out = 0

    @classmethod
    def of(cls, records: Iterable[Record], *, keep_reads: bool = False) -> "Story":
        """The story of a whole log."""
        story = cls(keep_reads=keep_reads)
        for record in records:
            story.add(record)
        return story

    def add(self, record: Record, _line: str = "") -> None:
        """Take one event in; what a newer version says is passed over."""
        kind = record["type"]
        if self._step not in self.held and shows_lock(record, self.steps[-1].step if self.steps else None):
            self.held[self._step] = record["ts"]
        fold = _FOLDS.get(kind)
        if fold is not None:
            fold(self, record)
        if kind != "result":  # the report is made before the result is sent
            self.last = record["ts"]

    @property
    def actions(self) -> tuple[ActionPart, ...]:
        """What was done to resources, in the order it began.

        Of very many there are the first and all that were planned; `left_out` counts the rest.
        """
        return tuple(ActionPart(*part[:_EARLIER]) for part in self._actions)

    def _run_started(self, record: Record) -> None:
        self.run, self.began = record["run"], record["ts"]
        self.operation, self.package = record["operation"], record["package"]
        self.workspace, self.version = record["workspace"], record["version"]

    def _engine_ready(self, record: Record) -> None:
        self.engine = EngineFacts(*(record[name] for name in ("engine", "version", "path", "chosen_by")))

    def _lock_waiting(self, record: Record) -> None:
        last = self.waits[-1] if self.waits else None
        if last is not None and last.ended is None:
            if last.lock == record["lock"]:
                self.waits[-1] = last._replace(holder=record["holder"])
                return
            self.waits[-1] = last._replace(ended=record["ts"])
        self.waits.append(Wait(record["lock"], record["holder"], record["ts"]))

    def _lock_acquired(self, record: Record) -> None:
        if self.waits and self.waits[-1].ended is None:
            self.waits[-1] = self.waits[-1]._replace(ended=record["ts"])

    def _step_started(self, record: Record) -> None:
        argv = tuple(record["argv"])
        self.steps.append(StepPart(record["step"], record["attempt"], argv, record["ts"]))
        self._step = len(self.steps) - 1
        self._open = {}
        self._said = []
        self.planned = {} if record["step"] == "plan" else self.planned

    def _step_finished(self, record: Record) -> None:
        facts = {name: record[name] for name in ("ok", "exit_code", "seconds", "skipped")}
        last = self.steps[-1] if self.steps else None
        if last is not None and last.ended is None and last.step == record["step"]:
            self.steps[-1] = last._replace(ended=record["ts"], **facts)
        else:  # one that was not needed has no beginning
            self.steps.append(StepPart(record["step"], 1, (), record["ts"], record["ts"], **facts))
            self._step = len(self.steps) - 1

    def _resource(self, record: Record) -> None:
        status = record["status"]
        if status == "progress":
            return
        action = record["action"]
        if action in self._skipped:
            return
        address, moment = record["address"], record["ts"]
        key = (address, action)
        if status == "started":
            if len(self._actions) >= _ACTIONS_KEPT and address not in self.planned:
                self.left_out += 1
                return
            # An object that is left of an earlier replacement is destroyed beside the one that replaced it.
            part = [address, action, status, self._step, moment, None, record["id"], self._open.get(key)]
            self._open[key] = part
            self._actions.append(part)
            return
        begun = self._open.pop(key, None)
        if begun is not None:
            begun[_STATUS] = status
            begun[_ENDED] = moment
            begun[_ID] = record["id"] or begun[_ID]
            if begun[_EARLIER] is not None:
                self._open[key] = begun[_EARLIER]
        elif len(self._actions) < _ACTIONS_KEPT:  # its beginning is missing
            self._actions.append([address, action, status, self._step, moment, moment, record["id"], None])

    def _change(self, record: Record) -> None:
        target = self.drifted if record["reason"] == "drift" else self.planned
        if len(target) < _ACTIONS_KEPT:
            target[record["address"]] = record

    def _diagnostic(self, record: Record) -> None:
        if record["class"] is not None:
            self.classes.setdefault(self._step, set()).add(record["class"])
        kept = self.errors if record["severity"] == "error" else self.warnings
        if kept is self.errors and len(self._said) < _ERRORS_KEPT:
            self._said.append(record)
        if len(kept) < _DIAGNOSTICS_KEPT:
            kept.append(record)

    def _retry(self, record: Record) -> None:
        self.retries.append(record)
        last = self.steps[-1] if self.steps else None
        if last is not None and last.step == record["step"]:
            self.steps[-1] = last._replace(
                again_after=float(record["after_seconds"]),
                failure_class=record["class"],
                said=tuple(map(short_error, self._said)),
            )

    def _cancelling(self, record: Record) -> None:
        self.cancelling = self.cancelling or record
        self.last_cancelling = record
        self._asked()

    def _result(self, record: Record) -> None:
        self.result = record


_FOLDS: Mapping[str, Callable[[Story, Record], None]] = {
    "run_started": Story._run_started,
    "engine_ready": Story._engine_ready,
    "lock_waiting": Story._lock_waiting,
    "lock_acquired": Story._lock_acquired,
    "step_started": Story._step_started,
    "step_finished": Story._step_finished,
    "resource": Story._resource,
    "change": Story._change,
    "diagnostic": Story._diagnostic,
    "retry": Story._retry,
    "cancelling": Story._cancelling,
    "result": Story._result,
}


def seconds_between(began: str, ended: str) -> float:
    """Seconds from one moment to another; 0 when the clock was set back, or either makes no sense."""
    try:
        return max(0.0, (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
