"""Everything that a report says of a run, as one value for every form of it (pure)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from hereya_tf.report.fates import ACTING_OPERATIONS, Fate, ResourceFate, fates_of
from hereya_tf.report.recovery_text import reported_lines
from hereya_tf.report.story import EngineFacts, StepPart, Story, seconds_between
from hereya_tf.words import Record

_INTERRUPTED = {
    "timeout": ("timed-out", "the time limit has passed"),
    "idle": ("idle", "the engine has been silent for too long"),
}
_CANCELLED = ("cancelled", "the run was asked to end")
_INTERIM = "; when this was written the engine was still at work on what is in flight"


class LockFacts(NamedTuple):
    """Whose lock was in the way: `kind` is state, package or workspace; `age_seconds` is None when unknown."""

    kind: str
    holder: tuple[tuple[str, str], ...]
    since: str | None
    age_seconds: float | None


class Report(NamedTuple):
    """A run as a reader of its report wants to know it.

    `diagnostics`, `warnings`, `planned` and `drifted` are records as in events; `result` is the whole result
    record, None in a report that was written before the end (`is_interim`). Moments are RFC 3339.
    """

    run: str
    version: str
    operation: str
    package: str
    workspace: str
    began: str
    ended: str
    seconds: float
    success: bool
    status: str
    exit_code: int | None
    reason: str
    failure_class: str | None
    hints: tuple[str, ...]
    diagnostics: tuple[Record, ...]
    warnings: tuple[Record, ...]
    engine: EngineFacts | None
    steps: tuple[StepPart, ...]
    fates: tuple[ResourceFate, ...]
    left_out: int
    planned: tuple[Record, ...]
    drifted: tuple[Record, ...]
    changes: Mapping[str, int]
    state_saved: bool | None
    errored_state: str | None
    lock: LockFacts | None
    stderr: str
    stdout: str
    reproduce: str | None
    is_interim: bool
    result: Record | None

    def those(self, fate: Fate) -> tuple[ResourceFate, ...]:
        """The resources with this fate."""
        return tuple(each for each in self.fates if each.fate is fate)

    @property
    def recovery(self) -> tuple[str, ...]:
        """What `recover` has found and done, in lines."""
        return () if self.result is None else reported_lines(self.result)

    @property
    def also_done(self) -> tuple[Record, ...]:
        """What a success has done without an operation of its own: imports, moves, what was forgotten."""
        known = {each.address for each in self.fates}
        is_done = self.success and self.operation in ACTING_OPERATIONS
        return tuple(change for change in self.planned if is_done and change["address"] not in known)


def make_report(story: Story, result: Record | None, *, reproduce: str | None = None) -> Report:
    """The report of a run whose result is known, or of one that is still at work, asked to end or not.

    `story` and `result` are redacted already. `reproduce` is a command for a shell.
    """
    failure: Mapping[str, Any] = (result["failure"] if result is not None else None) or _NO_FAILURE
    failure_class, reason = _why(story) if result is None else (failure["class"], result["reason"] or "")
    return Report(
        run=story.run,
        version=story.version,
        operation=story.operation or (result["operation"] if result is not None else ""),
        package=story.package or (result["package"] if result is not None else ""),
        workspace=story.workspace or (result["workspace"] if result is not None else ""),
        began=story.began,
        ended=story.last,
        seconds=result["timings"]["total"]
        if result is not None
        else seconds_between(story.began, story.last),
        success=result is not None and result["success"],
        status=result["status"] if result is not None else _status(story),
        exit_code=result["exit_code"] if result is not None else None,
        reason=reason,
        failure_class=failure_class,
        hints=tuple((failure["hint"] or "").splitlines())
        if result is not None
        else (f"`hereya-tf runs report {story.run}` tells how it ended",),
        diagnostics=tuple(failure["diagnostics"]) if result is not None else tuple(story.errors),
        warnings=tuple(story.warnings),
        engine=story.engine,
        steps=tuple(story.steps),
        fates=fates_of(story, success=result is not None and result["success"]),
        left_out=story.left_out,
        planned=tuple(story.planned.values()),
        drifted=tuple(story.drifted.values()),
        changes=result["changes"] if result is not None else {},
        state_saved=failure["state"]["saved"],
        errored_state=failure["state"]["errored_state"],
        lock=_lock(story, failure, failure_class),
        stderr=failure["stderr"],
        stdout=failure["stdout"],
        reproduce=reproduce,
        is_interim=result is None,
        result=result,
    )


_NO_FAILURE: Mapping[str, Any] = {
    "class": None,
    "hint": None,
    "diagnostics": (),
    "stderr": "",
    "stdout": "",
    "state": {"saved": None, "errored_state": None, "lock": None},
}


def _status(story: Story) -> str:
    """The status of a run that has not ended: it may have been asked to."""
    return "running" if story.cancelling is None else "cancelling"


def _why(story: Story) -> tuple[str | None, str]:
    """Class and reason of a run that has not ended."""
    if story.cancelling is None:
        return None, "the run has not ended yet; this is how far it has come"
    failure_class, reason = _INTERRUPTED.get(story.cancelling["reason"], _CANCELLED)
    return failure_class, reason + _INTERIM


def _lock(story: Story, failure: Mapping[str, Any], failure_class: str | None) -> LockFacts | None:
    """The engine's lock on the state, or the one of ours that was not to be had."""
    found = failure["state"]["lock"]
    if found:
        since = found.get("Created")
        return LockFacts("state", tuple(found.items()), since, _age(since, story.last))
    wait = story.waits[-1] if story.waits else None
    if wait is None or wait.holder is None or (failure_class != "busy" and wait.ended is not None):
        return None
    holder = wait.holder
    age = seconds_between(holder["since"], story.last)
    return LockFacts(
        wait.lock, tuple((name, str(text)) for name, text in holder.items()), holder["since"], age
    )


def _age(created: str | None, now: str) -> float | None:
    """Seconds since a lock was made, as its engine has written it down; None when that is not known."""
    from hereya_tf.failure.lock_info import age_of

    try:
        return age_of(created or "", datetime.fromisoformat(now).timestamp())
    except ValueError:  # a damaged log
        return None
