"""Takes the leftovers of a run that was killed into the history (I/O).

The engine of a killed runner goes on and writes its output to the run's raw files. The next run on the same
lock, which has waited for that engine, completes the dead run's log from them: what was applied, and a state
that the engine could not save, are not lost.
"""

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hereya_tf import events, history
from hereya_tf.commands import Step
from hereya_tf.journal import Journal, Sink
from hereya_tf.private import write_private
from hereya_tf.redact import Redactor
from hereya_tf.rundirectory import EMERGENCY_STATE, SECRETS, remove_all_but_kept
from hereya_tf.transcript import Transcript

REASON = "the runner was killed while the run was on"


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

    Does nothing for a run that lives or has ended by itself. Never raises for what it finds on the disk.
    """
    directory = runs / run
    record = history.read_record(directory)
    if record is None or record.status is not None or record.is_alive:
        return
    try:
        warn(_complete(directory, record))
    except OSError as error:
        warn(f"run `{run}` was killed, and its log cannot be completed: {error.strerror}")


def _complete(directory: Path, record: history.RunRecord) -> str:
    known = list(history.read_log(directory))
    step = _open_step(known)
    lines: list[str] = []
    if step is not None:
        # The events of the open step are made anew from the raw files: part of them may be missing.
        known = known[: known.index(step) + 1]
    journal = Journal(
        record.id,
        Redactor(_secrets(directory)),
        (Sink(lambda _record, line: lines.append(line), lambda: None),),
        first=len(known) + 1,
    )
    story = f"run `{record.id}` was killed before its engine was started"
    changes = events.ChangeCounts()
    if step is not None:
        transcript = _replay(directory, step, record.engine or "terraform", journal)
        summary = transcript.summary
        changes = events.ChangeCounts(*summary.done)
        ended = "went on to its end" if summary.final is not None else "ended without finishing"
        story = f"run `{record.id}` was killed in step {step['step']}, and its engine {ended}"
        if summary.emergency_state is not None:
            write_private(directory / EMERGENCY_STATE, summary.emergency_state)
            story += f"; it could not save the state, and its only copy is `{directory / EMERGENCY_STATE}`"
    journal.finish(_result(record, story, changes), None)
    text = "".join(events.encode(event) + "\n" for event in known) + "".join(f"{line}\n" for line in lines)
    write_private(directory / history.EVENTS, text)
    ended_record = record._replace(
        ended=events.timestamp(time.time()), status="failed", exit_code=70, reason=story, engine_process=None
    )
    history.write_record(directory, ended_record)
    remove_all_but_kept(directory)
    return story


def _open_step(known: list[Any]) -> Any | None:
    """The `step_started` that no `step_finished` follows."""
    for event in reversed(known):
        if event.get("type") == "step_finished":
            return None
        if event.get("type") == "step_started":
            return event
    return None


def _replay(directory: Path, step: Any, engine: str, journal: Journal) -> Transcript:
    name = str(step["step"])
    transcript = Transcript(journal, Step(name), engine, streams=name not in (Step.OUTPUT, Step.WORKSPACE))
    for suffix, take in ((".stdout", transcript.stdout), (".stderr", transcript.stderr)):
        raw = directory / f"{name}.{step['attempt']}{suffix}"
        if raw.exists():
            with raw.open("rb") as file:
                while chunk := file.read(1 << 20):
                    take(chunk)
    transcript.finish()
    return transcript


def _secrets(directory: Path) -> list[str]:
    try:
        secrets = json.loads((directory / SECRETS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [secret for secret in secrets if isinstance(secret, str)] if isinstance(secrets, list) else []


def _result(record: history.RunRecord, story: str, changes: events.ChangeCounts) -> events.Result:
    from hereya_tf.errors import FailureClass

    state = events.StateInfo(None, None, None)
    hint = "look at what it did with `hereya-tf runs log`"
    return events.Result(
        success=False,
        status="failed",
        reason=story,
        exit_code=FailureClass.INTERNAL.exit_code,
        operation=record.operation,
        package=record.package,
        workspace=record.workspace,
        engine=None,
        env={},
        outputs={},
        changes=changes,
        drift=None,
        failure=events.FailureInfo(FailureClass.INTERNAL, hint, (), "", "", state),
        timings=events.Timings(None, None, None, None, None, None, 0.0),
        report=None,
    )
