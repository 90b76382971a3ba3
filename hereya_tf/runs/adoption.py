"""Takes the leftovers of a run that was killed into the history (I/O).

The engine of a killed runner goes on and writes its output to the run's raw files. The next run on the same
lock, which has waited for that engine, completes the dead run's log from them: what was applied, and a state
that the engine could not save, are not lost.
"""

import contextlib
import datetime
import errno
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf import events
from hereya_tf.engine import EngineName
from hereya_tf.engine.commands import DOCUMENT_STEPS, Step
from hereya_tf.errors import FailureClass
from hereya_tf.failure.diagnosis import diagnose, worth_telling
from hereya_tf.locks import tickets
from hereya_tf.private import write_private
from hereya_tf.reading import open_regular_file, read_regular_file
from hereya_tf.redaction import Redactor
from hereya_tf.report.story import seconds_between
from hereya_tf.runs import history, outcome
from hereya_tf.runs.directory import EMERGENCY_STATE, SECRETS, remove_all_but_kept
from hereya_tf.runs.journal import Journal, Sink
from hereya_tf.runs.narration import diagnostic_event
from hereya_tf.runs.transcript import Transcript, read_text
from hereya_tf.states.aftermath import Owner, take_over
from hereya_tf.stream.message_types import Phase, PlannedChange, ResourceHook, render_diagnostic
from hereya_tf.stream.summary import Summary

_ACTING = (Step.APPLY, Step.DESTROY)
_RAW = (".stdout", ".stderr")


class _OpenStep(NamedTuple):
    """The step that was on when the runner died, and where its beginning is in the log."""

    step: Step
    attempt: int
    at: int


def adopt_left_over(
    runs: Path, holders: Iterable[str], ours: history.RunRecord, warn: Callable[[str], None]
) -> None:
    """Adopt the dead `holders` of locks that `ours` has now, and what they would have had to adopt themselves.

    With both locks in hand, no engine of a dead run on the same package or workspace is alive.
    """
    dead = [
        record.id
        for record in history.list_runs(runs)
        if record.id != ours.id and (record.package == ours.package or record.key == ours.key)
    ]
    for run in dict.fromkeys((*dead, *holders)):
        adopt(runs, run, warn)


def adopt(runs: Path, run: str, warn: Callable[[str], None]) -> None:
    """Complete the log and the record of a dead run; `warn` hears what its engine came to.

    Does nothing for a run that has ended by itself, or that lives, be it its engine alone. Never raises for
    what it finds on the disk.
    """
    directory = runs / run
    try:
        with _alone(directory) as alone:
            record = history.read_record(directory)
            if alone and record is not None and record.state == "died":
                warn(_complete(directory, record))
    except OSError as error:
        warn(f"run `{run}` was killed, and its log cannot be completed: {error.strerror}")
    except Exception as error:  # noqa: BLE001 - a dead run must not keep every later one from the package
        warn(f"run `{run}` was killed, and its log cannot be completed: {type(error).__name__}: {error}")


@contextlib.contextmanager
def _alone(directory: Path) -> Iterator[bool]:
    """Whether nobody else is completing this run: a lock on the directory itself, which the kernel takes back."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except FileNotFoundError:
        yield False
        return
    try:
        yield tickets.lock_alone(descriptor)
    finally:
        os.close(descriptor)


def _complete(directory: Path, record: history.RunRecord) -> str:
    known = history.read_log(directory)
    last_sign = _last_sign(directory)
    lasted = seconds_between(record.started, known[-1]["ts"]) if known else 0.0
    lines: list[str] = []
    open_step = _open_step(known)
    held: str | None = None
    if open_step is not None:
        told = known[open_step.at :]
        held = next((event["ts"] for event in told if events.shows_lock(event, open_step.step)), None)
        # The events of the open step are made anew from the raw files: part of them may be missing.
        known = known[: open_step.at + 1]
    journal = Journal(
        record.id,
        Redactor(_secrets(directory)),
        (Sink(lambda _record, line: lines.append(line), lambda: None),),
        first=len(known) + 1,
        # What it says now it has said before it died.
        clock=lambda: last_sign,
    )
    result = _nothing_open(record, known, lasted)
    if open_step is not None:
        result = _replay(directory, record, open_step, journal, result)
    owner = Owner(record.id, record.package, record.workspace, record.key)
    kept = take_over(directory, owner, _first_act(known))
    if kept is not None:
        result = _with_kept(result, kept, record)
    journal.finish(result, None)
    text = "".join(events.encode(event) + "\n" for event in known) + "".join(f"{line}\n" for line in lines)
    write_private(directory / history.EVENTS, text)
    ended = events.timestamp(time.time())
    sentence = result.reason or ""
    history.write_record(
        directory,
        record._replace(
            ended=ended,
            status=result.status,
            exit_code=result.exit_code,
            reason=journal.redactor.text(sentence),
            failure=result.failure and result.failure.class_,
            engine_process=None,
            last_sign=events.timestamp(last_sign),
            held=held,
        ),
    )
    # Last: until the record says that the run has ended, all of this can be done again.
    remove_all_but_kept(directory)
    is_open = result.failure is not None and result.failure.state.saved is None
    return f"{sentence}; {_recover(record)} tells what it has left" if is_open else sentence


def _last_sign(directory: Path) -> float:
    """When runner or engine last wrote something, in seconds since 1970."""
    with contextlib.suppress(OSError, ValueError):
        return max(
            entry.stat().st_mtime
            for entry in directory.iterdir()
            if entry.name in (history.RECORD, history.EVENTS) or entry.suffix in _RAW
        )
    return time.time()


def _open_step(known: Sequence[Any]) -> _OpenStep | None:
    """The `step_started` that no `step_finished` follows."""
    for at in reversed(range(len(known))):
        event = known[at]
        if event["type"] == "step_finished":
            return None
        if event["type"] == "step_started":
            try:
                return _OpenStep(Step(event["step"]), int(event["attempt"]), at)
            except (KeyError, ValueError, TypeError):  # a newer version's, perhaps
                return None
    return None


def _replay(
    directory: Path, record: history.RunRecord, open_step: _OpenStep, journal: Journal, result: events.Result
) -> events.Result:
    """Pass on what the open step's engine said, to the log and into the result."""
    step, engine = open_step.step, _executable(record.engine)
    transcript = Transcript(journal, step, engine, streams=step not in DOCUMENT_STEPS)
    name = f"{step}.{open_step.attempt}"
    _take_in(directory / f"{name}.stdout", transcript.stdout)
    stderr = _take_in(directory / f"{name}.stderr", transcript.stderr)
    transcript.finish()
    summary = transcript.summary
    told = worth_telling(summary.errors)
    rendered = "\n".join(render_diagnostic(error, marks=True) for error in told)
    assert result.failure is not None
    state = _state(directory, summary, engine)
    hint = result.failure.hint
    if state.saved is False:
        from hereya_tf.failure.hints import hints_of

        hint = "\n".join(hints_of(FailureClass.STATE_NOT_SAVED, engine))
    elif state.saved is None:
        hint = f"see what it has left, and what can be repaired: {_recover(record)}\n{hint}"
    return result._replace(
        reason=_sentence(record.id, step, summary),
        changes=summary.done if step in _ACTING else result.changes,
        failure=result.failure._replace(
            hint=hint,
            diagnostics=tuple(diagnostic_event(error, engine, summary.failed) for error in told),
            stderr="\n".join(part for part in (rendered, stderr) if part),
            state=state,
        ),
    )


def _take_in(raw: Path, take: Callable[[bytes], None]) -> str:
    """Pass on all of a raw file, and return what a failure shows of it."""
    try:
        opened = open_regular_file(raw)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.EINVAL):  # there is none, or something that no engine wrote to
            return ""
        raise
    with opened as file:
        while chunk := file.read(1 << 20):
            take(chunk)
        return read_text(file)


def _sentence(run: str, step: Step, summary: Summary) -> str:
    sentence = f"run `{run}` was killed in step {step}"
    if step in _ACTING:
        came_to_its_end = summary.final is not None
        sentence += (
            f", and its engine {'went on to its end' if came_to_its_end else 'ended without finishing'}"
        )
    return sentence


def _recover(record: history.RunRecord) -> str:
    from hereya_tf.failure.ready_hints import place_words

    return f"`{f'hereya-tf recover {place_words(record.reproduce, record.package)}'.strip()}`"


def _first_act(known: Sequence[Any]) -> float | None:
    """When the first step began that may have left a state behind, in seconds since 1970."""
    for event in known:
        if event["type"] == "step_started" and event.get("step") in (*_ACTING, Step.TF):
            with contextlib.suppress(ValueError):
                return datetime.datetime.fromisoformat(event["ts"]).timestamp()
    return None


def _with_kept(result: events.Result, kept: Path, record: history.RunRecord) -> events.Result:
    """The result of a run whose state is not where it belongs."""
    from hereya_tf.failure.hints import hints_of
    from hereya_tf.failure.ready_hints import make_ready
    from hereya_tf.states.refusals import by_hand

    assert result.failure is not None
    hints = make_ready(
        hints_of(FailureClass.STATE_NOT_SAVED, _executable(record.engine)),
        run=record.id,
        reproduce=record.reproduce,
        package=record.package,
        store=by_hand(kept, None),
    )
    return result._replace(
        reason=f"{result.reason}; the state could not be saved, and the only complete copy is `{kept}`",
        failure=result.failure._replace(
            hint="\n".join(hints),
            state=result.failure.state._replace(saved=False, errored_state=str(kept)),
        ),
    )


def _state(directory: Path, summary: Summary, engine: str) -> events.StateInfo:
    """What is known of the state; a dump of it in the stream is put into a file."""
    if summary.emergency_state is not None:
        write_private(directory / EMERGENCY_STATE, summary.emergency_state, durable=True)
    errors = tuple(summary.errors)
    diagnosis = diagnose(errors, exit_code=1, signal=None, stderr="", engine_name=engine)
    end = outcome.EngineEnd(mutated=summary.mutating, by_itself=summary.final is not None, errored_state=None)
    return outcome.state_info(diagnosis.failure_class, errors, end)


def _nothing_open(record: history.RunRecord, known: Sequence[Any], lasted: float) -> events.Result:
    """The result of a run that died while none of its engines was at work."""
    return events.Result(
        success=False,
        status=outcome.Status.FAILED,
        reason=f"run `{record.id}` was killed while no engine of it was at work",
        exit_code=FailureClass.INTERNAL.exit_code,
        operation=record.operation,
        package=record.package,
        workspace=record.workspace,
        engine=None,
        env={},
        outputs={},
        changes=_changes(known),
        drift=None,
        failure=events.FailureInfo(
            FailureClass.INTERNAL,
            f"look at what it did with `hereya-tf runs log {record.id}`",
            (),
            "",
            "",
            # Every engine that was started had ended, and had saved what it did.
            events.StateInfo(True, None, None),
        ),
        timings=events.Timings(None, None, None, None, None, None, round(lasted, 3)),
        report=None,
    )


def _changes(known: Sequence[Any]) -> events.ChangeCounts:
    """What was done in steps that had ended, from the log."""
    summary = Summary()
    for event in known:
        address, action = str(event.get("address")), str(event.get("action"))
        if event["type"] == "change":
            summary.add(PlannedChange(address, action))
        elif event["type"] == "resource" and event.get("status") == Phase.COMPLETED:
            summary.add(ResourceHook(Phase.COMPLETED, address, action))
    return summary.done


def _secrets(directory: Path) -> list[str]:
    try:
        secrets = json.loads(read_regular_file(directory / SECRETS))
    except (OSError, ValueError, RecursionError):
        return []
    return [secret for secret in secrets if isinstance(secret, str)] if isinstance(secrets, list) else []


def _executable(engine: str | None) -> str:
    return (
        EngineName.OPENTOFU.executable if engine == EngineName.OPENTOFU else EngineName.TERRAFORM.executable
    )
