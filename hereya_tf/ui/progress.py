"""Where a run stands, folded from its events (pure)."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from hereya_tf.words import Record

# Operations that change nothing: they are shown while they last, and counted apart.
HARMLESS = frozenset(("read", "refresh", "open", "renew", "close"))
# What the engine does something for while it applies; a replaced resource is destroyed and created.
_OPERATIONS = {"create": 1, "update": 1, "delete": 1, "replace": 2}
_MOST_REMEMBERED = 100_000
_LONGEST_NOTE = 1000


class Flight(NamedTuple):
    """An operation in flight; `since` is the view's clock, in seconds."""

    action: str
    since: float


class LockWait(NamedTuple):
    """Somebody else is at it."""

    lock: str
    ahead: int
    holder: Mapping[str, Any] | None
    # How long the holder had had it when that was told; None when nobody knows.
    held_seconds: float | None
    told_at: float


class Download(NamedTuple):
    """An engine that is on its way."""

    engine: str
    arrived: int
    total: int | None


class Pause(NamedTuple):
    """A step is to be tried again, `until` which moment of the view's clock nothing happens."""

    step: str
    failure_class: str
    until: float


class Stop(NamedTuple):
    """The engine has been asked to end, and how urgently."""

    reason: str
    grace: float
    asked_at: float
    insisted_at: float | None = None
    killed: bool = False


class Progress:
    """Folds events; `tell` takes each with the view's clock (seconds), the rest is there to be read."""

    def __init__(self) -> None:
        self.operation = ""
        self.package = ""
        self.workspace = ""
        self.began = 0.0
        self.step = ""
        self.in_flight: dict[str, Flight] = {}
        self.mutating = False
        self.planned: dict[str, str] = {}
        self._left: dict[str, int] = {}
        self.done = 0
        self.failed = 0
        self.refreshed = 0
        self.lock_wait: LockWait | None = None
        self.download: Download | None = None
        self.pause: Pause | None = None
        self.stop: Stop | None = None
        self.note = ""
        self.is_over = False

    @property
    def waiting(self) -> int:
        """Planned resources that nothing has begun for."""
        begun = sum(1 for address in self.in_flight if address in self._left)
        return max(0, len(self._left) - begun)

    @property
    def planned_changes(self) -> dict[str, int]:
        """What is planned, counted as a result counts it."""
        found = Counter(self.planned.values())
        return {
            "add": found["create"] + found["replace"],
            "change": found["update"],
            "destroy": found["delete"] + found["replace"],
            "replace": found["replace"],
            "import": found["import"],
            "forget": found["forget"] + found["remove"],
        }

    def tell(self, record: Record, now: float) -> None:
        """Take one event in."""
        match record["type"]:
            case "run_started":
                self._begin(record, now)
            case "lock_waiting":
                self._wait(record, now)
            case "lock_acquired":
                self.lock_wait = None
            case "engine_download":
                self.download = Download(
                    f"{record['engine']} {record['version']}", record["bytes"], record["total"]
                )
            case "engine_ready":
                self.download = None
            case "step_started":
                self._begin_step(record["step"])
            case "step_finished":
                self._begin_step("")
            case "retry":
                self.pause = Pause(record["step"], record["class"], now + float(record["after_seconds"]))
            case "change":
                self._plan(record)
            case "resource":
                self._act(record, now)
            case "log":
                if record["stream"] == "stdout":
                    self.note = _last_line(record["text"]) or self.note
            case "cancelling":
                self._stop(record, now)
            case "result":
                self.is_over = True

    def _begin(self, record: Record, now: float) -> None:
        self.operation = record["operation"]
        self.package = record["package"]
        self.workspace = record["workspace"]
        self.began = now

    def _wait(self, record: Record, now: float) -> None:
        holder = record["holder"]
        held = None
        if holder is not None and (since := _moment(holder["since"])) and (told := _moment(record["ts"])):
            held = max(0.0, (told - since).total_seconds())
        self.lock_wait = LockWait(record["lock"], record["position"] - 1, holder, held, now)

    def _begin_step(self, step: str) -> None:
        """Every step says for itself what it plans: an apply repeats the plan it was given."""
        self.step = step
        self.in_flight = {}
        self.mutating = False
        self.note = ""
        self.pause = None
        if step:
            self.planned, self._left = {}, {}
            self.done = self.failed = self.refreshed = 0

    def _plan(self, record: Record) -> None:
        if len(self.planned) < _MOST_REMEMBERED:
            self.planned[record["address"]] = record["action"]
            if operations := _OPERATIONS.get(record["action"]):
                self._left[record["address"]] = operations

    def _act(self, record: Record, now: float) -> None:
        address, action = record["address"], record["action"]
        harmless = action in HARMLESS
        match record["status"]:
            case "started":
                self.mutating = self.mutating or not harmless
                if len(self.in_flight) < _MOST_REMEMBERED:
                    self.in_flight[address] = Flight(action, now)
            case "completed":
                self.in_flight.pop(address, None)
                if harmless:
                    self.refreshed += action == "refresh"
                else:
                    self._complete(address)
            case "failed":
                self.in_flight.pop(address, None)
                self._left.pop(address, None)
                self.failed += not harmless

    def _complete(self, address: str) -> None:
        left = self._left.get(address, 1) - 1
        if left:
            self._left[address] = left
            return
        self._left.pop(address, None)
        self.done += 1

    def _stop(self, record: Record, now: float) -> None:
        if self.stop is None:
            self.stop = Stop(record["reason"], record["grace_seconds"], now)
        elif record["signal"] == "SIGKILL":
            self.stop = self.stop._replace(killed=True)
        else:
            self.stop = self.stop._replace(insisted_at=now)


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _last_line(text: str) -> str:
    return text.strip().rsplit("\n", 1)[-1].strip()[:_LONGEST_NOTE]
