"""What a run tells its front ends: one named tuple per event type, and the JSON form (pure).

Named tuples, not dataclasses: they cost 0.09 ms each to define against 0.59 ms, and this module is
loaded before the engine can be started.
"""

import functools
import json
import time
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from hereya_tf import exact
from hereya_tf.event_parts import ProcessInfo as ProcessInfo
from hereya_tf.event_parts import RangeInfo as RangeInfo
from hereya_tf.event_parts import Recovery as Recovery
from hereya_tf.event_parts import SnippetInfo as SnippetInfo
from hereya_tf.event_parts import Trace as Trace

FORMAT_VERSION = 1


class Operation(StrEnum):
    """What a run does."""

    PROVISION = "provision"
    DESTROY = "destroy"
    PLAN = "plan"
    APPLY = "apply"
    DRIFT = "drift"
    OUTPUT = "output"
    INIT = "init"
    VALIDATE = "validate"
    TF = "tf"
    RECOVER = "recover"


class RunStarted(NamedTuple):
    """The run has an id; nothing has been touched yet."""

    operation: str
    package: str
    workspace: str
    key: str
    pid: int
    version: str


class HolderInfo(NamedTuple):
    """Who has a lock, for people."""

    run: str
    pid: int
    host: str
    operation: str
    since: str


class LockWaiting(NamedTuple):
    """Somebody else is at it; `position` 1 is the next in line."""

    lock: str
    position: int
    holder: HolderInfo | None


class LockAcquired(NamedTuple):
    """Both locks are ours."""

    waited_seconds: float


class EngineDownload(NamedTuple):
    """Bytes of an engine archive that have arrived; `total` is null when the site does not say."""

    engine: str
    version: str
    bytes: int
    total: int | None


class EngineReady(NamedTuple):
    """The engine that this run uses, and why that one."""

    engine: str
    version: str
    path: str
    chosen_by: str


class StepStarted(NamedTuple):
    """An engine command is about to start."""

    step: str
    attempt: int
    argv: tuple[str, ...]


class StepFinished(NamedTuple):
    """An engine command has ended, or was not needed (`skipped`)."""

    step: str
    ok: bool
    exit_code: int | None
    seconds: float
    skipped: bool


class ResourceEvent(NamedTuple):
    """The engine has begun, goes on with, or has ended an action on one resource."""

    address: str
    action: str
    status: str
    seconds: float | None
    id: str | None


class ChangeEvent(NamedTuple):
    """The engine plans to change one resource."""

    address: str
    action: str
    reason: str | None


_NEED_THE_LOCK = ("resource", "change")


def shows_lock(record: Mapping[str, Any], step: str | None) -> bool:
    """Whether an engine tells this in a step only once it has the lock on the state, or waits for it.

    What it writes into the lock is made before; that it waits is, after 0.4 s, the first thing it says. `init`
    says much before it may need the lock.
    """
    kind = record["type"]
    return kind in _NEED_THE_LOCK or (kind == "log" and record["stream"] == "stdout" and step != "init")


class DiagnosticEvent(NamedTuple):
    """An error or a warning, of the engine's or of ours."""

    severity: str
    class_: str | None
    summary: str
    detail: str
    address: str | None
    range: RangeInfo | None
    snippet: SnippetInfo | None


class LogEvent(NamedTuple):
    """Text without a type of its own."""

    stream: str
    text: str


class EngineMessage(NamedTuple):
    """The engine's own line (with `--engine-messages`)."""

    step: str
    message: Any


class Heartbeat(NamedTuple):
    """The run is alive: every ten seconds, with what is in flight."""

    step: str
    seconds: float
    in_flight: tuple[str, ...]


class Retry(NamedTuple):
    """A step failed in a way that may pass; it is tried again."""

    step: str
    class_: str
    attempt: int
    after_seconds: float


class Cancelling(NamedTuple):
    """The engine has been asked to end."""

    reason: str
    signal: str | None
    grace_seconds: float


class EngineInfo(NamedTuple):
    """Name and version of an engine."""

    name: str
    version: str


class ChangeCounts(NamedTuple):
    """How many resources were (in `plan`: would be) changed; a replaced one is in add, destroy and replace."""

    add: int = 0
    change: int = 0
    destroy: int = 0
    replace: int = 0
    import_: int = 0
    forget: int = 0


class StateInfo(NamedTuple):
    """What is known of the state after a failure; null is unknown."""

    saved: bool | None
    errored_state: str | None
    lock: Mapping[str, str] | None


class FailureInfo(NamedTuple):
    """Why a run did not succeed."""

    class_: str
    hint: str | None
    diagnostics: tuple[DiagnosticEvent, ...]
    stderr: str
    stdout: str
    state: StateInfo


class Timings(NamedTuple):
    """Seconds spent per part of a run; null where the part did not happen."""

    wait: float | None
    engine: float | None
    init: float | None
    plan: float | None
    apply: float | None
    output: float | None
    total: float


class Result(NamedTuple):
    """How the run ended; always the last event."""

    success: bool
    status: str
    reason: str | None
    exit_code: int
    operation: str
    package: str
    workspace: str
    engine: EngineInfo | None
    env: Mapping[str, str]
    outputs: Mapping[str, Mapping[str, Any]]
    changes: ChangeCounts
    drift: bool | None
    failure: FailureInfo | None
    timings: Timings
    report: str | None
    recovery: Recovery | None = None
    trace: Trace | None = None


Event = (
    RunStarted
    | LockWaiting
    | LockAcquired
    | EngineDownload
    | EngineReady
    | StepStarted
    | StepFinished
    | ResourceEvent
    | ChangeEvent
    | DiagnosticEvent
    | LogEvent
    | EngineMessage
    | Heartbeat
    | Retry
    | Cancelling
    | Result
)

EVENT_TYPES: Mapping[type, str] = {
    RunStarted: "run_started",
    LockWaiting: "lock_waiting",
    LockAcquired: "lock_acquired",
    EngineDownload: "engine_download",
    EngineReady: "engine_ready",
    StepStarted: "step_started",
    StepFinished: "step_finished",
    ResourceEvent: "resource",
    ChangeEvent: "change",
    DiagnosticEvent: "diagnostic",
    LogEvent: "log",
    EngineMessage: "engine_message",
    Heartbeat: "heartbeat",
    Retry: "retry",
    Cancelling: "cancelling",
    Result: "result",
}

_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def record_of(event: Event, *, sequence: int, seconds: float, run: str) -> dict[str, Any]:
    """The event as the JSON object of the contract; `seconds` is the wall clock (since 1970)."""
    kind: Any = type(event)
    record: dict[str, Any] = {
        "v": FORMAT_VERSION,
        "seq": sequence,
        "ts": timestamp(seconds),
        "run": run,
        "type": EVENT_TYPES[kind],
    }
    for name, value in zip(field_names(kind), event, strict=True):
        record[name] = _plain(value) if isinstance(value, tuple) else value
    return record


def encode(record: Mapping[str, Any]) -> str:
    """One line of NDJSON, without its newline."""
    try:
        return _ENCODE(record)
    except (TypeError, RecursionError):
        return exact.dumps(record)  # a Decimal, or deep nesting: rare


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC with milliseconds."""
    whole, fraction = divmod(seconds, 1)
    return f"{_second(int(whole))}.{int(fraction * 1000):03d}Z"


@functools.lru_cache(maxsize=1)
def _second(seconds: int) -> str:
    """A busy engine says hundreds of things in one second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


@functools.lru_cache(maxsize=64)
def field_names(kind: Any) -> tuple[str, ...]:
    """The JSON names of a type's fields: `class_` is `class`."""
    return tuple(name.rstrip("_") for name in kind._fields)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        if hasattr(value, "_fields"):
            return {name: _plain(item) for name, item in zip(field_names(type(value)), value, strict=True)}
        return [_plain(item) for item in value]
    return value
