"""From what happened in a run to its result (the last event), and the files that explain a failure (I/O)."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf import events
from hereya_tf.engine import Binary
from hereya_tf.engine.commands import Step
from hereya_tf.errors import FailureClass, HereyaError, own_fault
from hereya_tf.events import Operation
from hereya_tf.failure.diagnosis import worth_telling
from hereya_tf.operations import Execution
from hereya_tf.redaction import Redactor
from hereya_tf.report.document import Report, make_report
from hereya_tf.report.story import Story
from hereya_tf.runs import outcome
from hereya_tf.runs.directory import REPORT, RunDirectory
from hereya_tf.runs.history import RunRecord
from hereya_tf.runs.journal import INTACT
from hereya_tf.runs.narration import diagnostic_event

_RECOVER = "`hereya-tf recover"
_AFTER_INTERRUPT = ("run it again: what was in flight and did not get ready is replaced then",)


class PlanView(NamedTuple):
    """What a plan, or a look for drift, has found: the changes, and the engine's own words on them."""

    changes: tuple[events.ChangeEvent, ...]
    counts: events.ChangeCounts
    difference: str
    document: str


class Ended(NamedTuple):
    """A run's result as its log has it, and with every value for who may see them."""

    result: events.Result
    revealed: events.Result
    withheld: tuple[str, ...]
    report: Report
    plan: PlanView | None = None
    # Whether the engine itself has said why it failed.
    is_told: bool = False
    # Whether a person was shown what would be done, and asked.
    was_asked: bool = False


class Facts(NamedTuple):
    """What is known of a run when it is over; durations in seconds."""

    operation: Operation
    package: Path
    workspace: str
    binary: Binary | None
    execution: Execution | None
    error: HereyaError | None
    waited: float | None
    engine_seconds: float | None
    total: float
    story: Story
    # The command to run it again.
    reproduce: str | None
    record: RunRecord | None = None


def conclude(
    facts: Facts,
    directory: RunDirectory,
    redactor: Redactor,
    *,
    reveal: bool,
    warn: Callable[[str], None] | None = None,
) -> Ended:
    """The result, and its report in the run's directory when it is a failure.

    `reveal` says that the user asked to see sensitive values; `warn` hears of other outputs that are left out.
    """
    execution, error, binary = facts.execution, facts.error, facts.binary
    outputs = execution.outputs if execution is not None else {}
    shown = outcome.present_outputs(outputs, redactor, reveal=False)
    everything = outcome.present_outputs(outputs, redactor, reveal=True)
    if warn is not None and not reveal:
        _warn_of_withheld(shown, warn)
    result = events.Result(
        success=error is None,
        status=outcome.Status.SUCCEEDED if error is None else outcome.status_of(error),
        reason=None if error is None else redactor.text(str(error)),
        exit_code=_exit_code(execution) if error is None else outcome.exit_code_of(error),
        operation=facts.operation,
        package=str(facts.package),
        workspace=facts.workspace,
        engine=binary and events.EngineInfo(binary.engine, str(binary.version)),
        env=shown.env,
        outputs=shown.outputs,
        changes=_changes(facts),
        drift=execution.drifted if execution is not None else None,
        failure=None if error is None else _failure(facts, error, directory, redactor),
        timings=_timings(facts),
        report=None,
        recovery=_recovery(execution, redactor),
        trace=_trace(facts),
    )
    record = _shown_record(result, redactor)
    report = make_report(facts.story, record, reproduce=facts.reproduce)
    if error is not None:
        result = result._replace(report=write_report(report, directory))
        report = report._replace(result={**record, "report": result.report})
    revealed = result._replace(env=everything.env, outputs=everything.outputs)
    is_told = execution is not None and execution.engine_has_spoken
    was_asked = execution is not None and execution.was_asked
    withheld = () if reveal else shown.withheld
    return Ended(result, revealed, withheld, report, _plan_view(execution), is_told, was_asked)


def _recovery(execution: Execution | None, redactor: Redactor) -> events.Recovery | None:
    """What `recover` has found and done; it is also told without a journal's redaction."""
    if execution is None or execution.recovery is None:
        return None
    from hereya_tf.report.recovery_text import redacted

    return redacted(execution.recovery, redactor.text)


def _trace(facts: Facts) -> events.Trace | None:
    """What proves later whose lock it is, should one have been left."""
    if facts.record is None:
        return None
    from hereya_tf.runs.trace import trace_of

    failure = facts.error.failure_class if facts.error is not None else None
    return trace_of(facts.story, facts.record, failure=failure, ended=events.timestamp(time.time()))


def ended_record(
    record: RunRecord, result: events.Result, redactor: Redactor, *, reproduce: str | None
) -> RunRecord:
    """The record of a run that has ended so."""
    return record._replace(
        ended=events.timestamp(time.time()),
        status=result.status,
        exit_code=result.exit_code,
        reason=result.reason and redactor.text(result.reason),
        seconds=result.timings.total,
        engine_process=None,
        reproduce=reproduce,
        failure=result.failure and result.failure.class_,
    )


def _warn_of_withheld(shown: outcome.Outputs, warn: Callable[[str], None]) -> None:
    """Before there is a report, so that it has the warnings as well."""
    for name in shown.withheld:
        if not shown.outputs[name]["sensitive"]:
            warn(
                f"output `{name}` is left out: its value holds a credential; `--result-file` has it,"
                " `--show-sensitive` shows it"
            )


def _shown_record(result: events.Result, redactor: Redactor) -> Mapping[str, Any]:
    """The result as its event will have it."""
    record = redactor.leaves(events.record_of(result, sequence=0, seconds=0.0, run=""), INTACT)
    assert isinstance(record, dict)
    return record


def _exit_code(execution: Execution | None) -> int:
    return execution.exit_code if execution is not None else 0


def _changes(facts: Facts) -> events.ChangeCounts:
    """What was done; of a plan, what would be."""
    execution = facts.execution
    if execution is None:
        return events.ChangeCounts()
    planned = execution.planned
    if facts.operation is Operation.PLAN and planned is not None:
        return planned.summary.planned
    return execution.done


def _plan_view(execution: Execution | None) -> PlanView | None:
    planned = execution.planned if execution is not None else None
    if execution is None or planned is None:
        return None
    drifts = execution.assignment.operation is Operation.DRIFT
    return PlanView(
        changes=planned.summary.drifted if drifts else planned.summary.changes,
        counts=events.ChangeCounts() if drifts else planned.summary.planned,
        difference=execution.difference,
        document=execution.plan_document,
    )


def _failure(
    facts: Facts, error: HereyaError, directory: RunDirectory, redactor: Redactor
) -> events.FailureInfo:
    execution = facts.execution
    failed = execution.failed if execution is not None else None
    acted = execution.acted if execution is not None else None
    errors = tuple(failed.summary.errors) if failed is not None else ()
    engine = facts.binary.engine.executable if facts.binary is not None else "terraform"
    end = outcome.EngineEnd(
        mutated=execution is not None and execution.has_changed,
        by_itself=acted is not None and acted.exit.code is not None and not acted.exit.insisted,
        errored_state=_errored_state(execution, directory),
    )
    hints = _hints(error, end)
    told = worth_telling(errors)
    addresses = failed.summary.failed if failed is not None else ()
    return events.FailureInfo(
        class_=error.failure_class,
        hint="\n".join(_ready(hints, facts, directory, _store(execution, end))) or None,
        diagnostics=tuple(_redacted(diagnostic_event(each, engine, addresses), redactor) for each in told),
        stderr=failed.stderr if failed is not None else execution.objected if execution is not None else "",
        stdout=failed.stdout if failed is not None else "",
        state=outcome.state_info(error.failure_class, errors, end),
    )


def _hints(error: HereyaError, end: outcome.EngineEnd) -> tuple[str, ...]:
    if end.errored_state is None:
        return error.hints or (_AFTER_INTERRUPT if end.mutated and end.by_itself else ())
    if any(_RECOVER in hint for hint in error.hints):
        return error.hints
    from hereya_tf.failure.hints import HINTS

    return (*error.hints, *HINTS[FailureClass.STATE_NOT_SAVED])


def _store(execution: Execution | None, end: outcome.EngineEnd) -> str | None:
    """The command that stores the state which could not be saved."""
    if execution is None or end.errored_state is None:
        return None
    return execution.keeper.by_hand(Path(end.errored_state))


def _ready(
    hints: tuple[str, ...], facts: Facts, directory: RunDirectory, store: str | None
) -> tuple[str, ...]:
    from hereya_tf.failure.ready_hints import make_ready

    run = directory.path.name if directory.usable else None
    return make_ready(hints, run=run, reproduce=facts.reproduce, package=str(facts.package), store=store)


def _redacted(event: events.DiagnosticEvent, redactor: Redactor) -> events.DiagnosticEvent:
    """Reports and the terminal get a result without the journal's redaction."""
    snippet = event.snippet and event.snippet._replace(
        code=redactor.text(event.snippet.code),
        values=tuple((name, redactor.text(text)) for name, text in event.snippet.values),
    )
    return event._replace(
        summary=redactor.text(event.summary), detail=redactor.text(event.detail), snippet=snippet
    )


def _errored_state(execution: Execution | None, directory: RunDirectory) -> str | None:
    """Where the engine left the state when it could not save it; what it could only print is in a file."""
    left = execution.errored_state if execution is not None else None
    path = directory.emergency_state or left
    return str(path) if path is not None else None


def write_report(report: Report, directory: RunDirectory) -> str | None:
    """The report in the run's directory: its path, or None where it cannot be written."""
    from hereya_tf.report.text import text_report

    if not directory.usable:
        return None
    try:
        # Names of files need not be text.
        text = text_report(report).encode("utf-8", "backslashreplace").decode("utf-8")
        return str(directory.private_file(REPORT, text))
    except HereyaError:
        return None


def _timings(facts: Facts) -> events.Timings:
    seconds: Mapping[Step, float] = facts.execution.seconds if facts.execution is not None else {}

    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, 3)

    return events.Timings(
        wait=rounded(facts.waited),
        engine=rounded(facts.engine_seconds),
        init=rounded(seconds.get(Step.INIT)),
        plan=rounded(seconds.get(Step.PLAN)),
        apply=rounded(seconds.get(Step.APPLY, seconds.get(Step.DESTROY))),
        output=rounded(seconds.get(Step.OUTPUT)),
        total=round(facts.total, 3),
    )


def located_fault(caught: Exception, *, debug: bool) -> HereyaError:
    """A fault of ours: what it was, and where; with `debug` the traceback goes to stderr."""
    import traceback

    frame = traceback.extract_tb(caught.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    if debug:
        traceback.print_exception(caught)
    return own_fault(caught, place=place)
