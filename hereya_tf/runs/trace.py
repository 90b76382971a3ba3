"""Who was at work where and when, from a run's record and its story.

An engine writes user, host, time and kind of its command into the lock that it takes on a state. A lock that was
left is proven to be a run's by what the run has noted of itself.
"""

from collections.abc import Sequence
from typing import Any

from hereya_tf import events
from hereya_tf.engine.commands import Step
from hereya_tf.errors import FailureClass
from hereya_tf.event_parts import ProcessInfo, StepTrace, Trace
from hereya_tf.report.story import StepPart, Story
from hereya_tf.runs.history import RunRecord
from hereya_tf.supervision.process_table import ProcessIdentity

RUNNING = "running"
"""The status in a result file of a run that has not ended."""

# Commands of an engine that lock the state, and their second words where these say what is done.
_LOCKING = frozenset(
    ("apply", "destroy", "plan", "refresh", "import", "taint", "untaint", "init", "state", "workspace")
)
_WITH_SECOND = frozenset(("state", "workspace"))
_UNLOCKED = ("-lock=false", "--lock=false")
# The exit codes of a Go program that has crashed: nothing of what it had to tidy up was tidied up.
_CRASHES = (2, 11)


def trace_of(
    story: Story, record: RunRecord, *, failure: str | None = None, ended: str | None = None
) -> Trace:
    """What proves later which lock was this run's; `failure` is the class of its failure, once it has ended."""
    engine = record.engine_process
    last = record.last_sign or story.last or record.started
    steps = enumerate(story.steps)
    return Trace(
        run=record.id,
        host=record.host,
        user=record.user,
        process=_info(record.process),
        engine_process=engine and _info(engine),
        began=record.started,
        last=last,
        ended=ended,
        steps=tuple(
            _step(part, story, place, record, failure=failure)
            for place, part in steps
            if command_of(part.step, part.argv)
        ),
    )


def command_of(step: str, argv: Sequence[str]) -> str:
    """The engine's command in `argv`, `apply` or `state push`, if it locks the state; empty if not."""
    if any(word in _UNLOCKED for word in argv):
        return ""
    # What stands in front of the command is an engine, which may take words of its own to start.
    at = next((place for place, word in enumerate(argv) if place and word in _LOCKING), None)
    if at is None or step not in (Step.TF, Step.LOCK, argv[at]):
        return ""
    second = next((word for word in argv[at + 1 :] if not word.startswith("-")), "")
    return f"{argv[at]} {second}".strip() if argv[at] in _WITH_SECOND else argv[at]


def early_result(story: Story, record: RunRecord) -> dict[str, Any]:
    """What a result file holds before the end; of a run that is killed it proves whose lock was left."""
    result = events.Result(
        success=False,
        status=RUNNING,
        reason="the run has not ended; when it is not at work any more, it was killed",
        exit_code=FailureClass.INTERNAL.exit_code,
        operation=record.operation,
        package=record.package,
        workspace=record.workspace,
        engine=story.engine and events.EngineInfo(story.engine.name, story.engine.version),
        env={},
        outputs={},
        changes=events.ChangeCounts(),
        drift=None,
        failure=None,
        timings=events.Timings(None, None, None, None, None, None, 0.0),
        report=None,
        trace=trace_of(story, record),
    )
    return events.record_of(result, sequence=0, seconds=0.0, run=record.id)


def _step(part: StepPart, story: Story, place: int, record: RunRecord, *, failure: str | None) -> StepTrace:
    is_last = place == len(story.steps) - 1
    classes = {*story.classes.get(place, ()), *((failure,) if failure and is_last else ())}
    held = story.held.get(place)
    if part.ended is None and record.held is not None:
        held = record.held
    return StepTrace(
        command=command_of(part.step, part.argv),
        began=part.began,
        held=held,
        ended=part.ended,
        released=_released(part, classes),
    )


def _released(part: StepPart, classes: set[str]) -> bool | None:
    """Whether the command has let go of the lock; one that never got it has none to let go of."""
    if FailureClass.LOCK_NOT_RELEASED in classes:
        return False
    if part.ended is None or part.exit_code is None:
        return None
    if part.exit_code in _CRASHES and not part.ok:
        return None
    if FailureClass.BACKEND_UNREACHABLE in classes:
        # The lock may have been taken by a request whose answer never came.
        return None
    return True


def _info(process: ProcessIdentity) -> ProcessInfo:
    return ProcessInfo(process.pid, process.started)
