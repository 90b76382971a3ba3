"""Runs one step: an engine command, supervised, and what it came to."""

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from hereya_tf import events
from hereya_tf.engine import Binary
from hereya_tf.engine.commands import Step
from hereya_tf.errors import EngineUnavailable, FailureClass, ShellCommandError
from hereya_tf.failure.diagnosis import Diagnosis, diagnose, worth_telling
from hereya_tf.failure.remote_run import REMOTE_RUN_UNCOUNTED, diagnose_remote_run
from hereya_tf.retries.retrying import Retrying
from hereya_tf.runs.directory import Capture, RunDirectory
from hereya_tf.runs.journal import Journal
from hereya_tf.runs.transcript import Transcript, read_text, render_messages
from hereya_tf.stream.message_types import Diagnostic, EmergencyState, render_diagnostic
from hereya_tf.stream.messages import parse
from hereya_tf.stream.summary import Summary, succeeded
from hereya_tf.supervision.interrupt import Interrupt, Reason
from hereya_tf.supervision.memory import count_memory_kills
from hereya_tf.supervision.patience import Move
from hereya_tf.supervision.process import Command, Exit, Watcher, run_command
from hereya_tf.supervision.process_table import ProcessIdentity

_LEFT_BEHIND = events.DiagnosticEvent(
    "warning",
    None,
    "processes that a provisioner or a provider had left running were ended",
    "What is to stay needs a session of its own, such as `setsid COMMAND` gives it.",
    None,
    None,
    None,
)
_DETAILED_EXITCODE = "-detailed-exitcode"


class Context(NamedTuple):
    """What every step of a run has in common."""

    binary: Binary
    package: Path
    environment: Mapping[str, str]
    interrupt: Interrupt
    grace: float
    journal: Journal
    directory: RunDirectory
    lock_descriptors: tuple[int, ...]
    engine_messages: bool
    # Called before an engine is started, with None, and right after.
    on_start: Callable[[Step, int, ProcessIdentity | None], None]
    # Whether the package's backend may have plan and apply done elsewhere: that is told as text alone.
    may_run_remotely: bool = False
    memory_kills: Callable[[], int | None] = count_memory_kills
    retrying: Retrying | None = None


class StepOutcome(NamedTuple):
    """How a step ended and everything it said that somebody may ask for."""

    step: Step
    command: str
    exit: Exit
    ok: bool
    summary: Summary
    document: str
    stdout: str
    stderr: str
    diagnosis: Diagnosis | None

    def error(self) -> ShellCommandError:
        """The failure, for its reader."""
        diagnosis = self.diagnosis
        assert diagnosis is not None
        return ShellCommandError(
            diagnosis.sentence,
            *diagnosis.hints,
            command=self.command,
            exit_code=self.exit.code if self.exit.code is not None else 128 + (self.exit.signal or 0),
            stdout=self.stdout,
            stderr=self.stderr,
            failure_class=diagnosis.failure_class,
        )


def run_step(
    context: Context,
    step: Step,
    arguments: tuple[str, ...],
    *,
    attempt: int = 1,
    streams: bool = True,
) -> StepOutcome:
    """Run one engine command. `streams` says that its stdout is messages, and not a document."""
    argv = (*context.binary.argv, *arguments)
    context.on_start(step, attempt, None)
    context.journal.emit(events.StepStarted(step, attempt, argv))
    capture = context.directory.capture(step, attempt)
    transcript = Transcript(
        context.journal,
        step,
        context.binary.engine.executable,
        streams=streams,
        engine_messages=context.engine_messages,
    )
    started: list[ProcessIdentity] = []
    kills_before = context.memory_kills()
    try:
        exit_ = run_command(
            Command(argv, context.package, context.environment),
            stdout=capture.stdout,
            stderr=capture.stderr,
            pass_fds=context.lock_descriptors,
            interrupt=context.interrupt,
            grace=context.grace,
            watcher=_watcher(context, step, attempt, transcript, started, capture),
        )
        outcome = _outcome(context, step, argv, transcript, exit_, capture, kills_before)
        context.journal.emit(
            events.StepFinished(step, outcome.ok, exit_.code, round(exit_.seconds, 3), False)
        )
        if outcome.ok and exit_.left_behind:
            context.journal.emit(_LEFT_BEHIND)
        if outcome.summary.emergency_state is not None:
            # While the raw output has it as well: we may be killed.
            context.directory.keep_emergency_state(outcome.summary.emergency_state)
    except OSError as error:
        if not started:
            raise cannot_start(context.binary, error) from error
        _salvage(context, capture)
        raise
    except BaseException:
        _salvage(context, capture)
        raise
    finally:
        capture.discard()
    return outcome


def _salvage(context: Context, capture: Capture) -> None:
    """After a fault of ours: a state that the engine could only print stands in its raw output alone."""
    capture.stdout.seek(0)
    for line in capture.stdout:
        if b"Emergency state dump" in line:
            message = parse(line.decode("utf-8", "replace").rstrip("\n"))
            if isinstance(message, EmergencyState):
                context.directory.keep_emergency_state(message.state)


def cannot_start(binary: Binary, error: OSError) -> EngineUnavailable:
    """The error for a binary that the system does not start."""
    return EngineUnavailable(
        f"`{binary.path}` cannot be started: {error.strerror}",
        "it was there a moment ago: check that nothing replaces it, and that no `--env` is too long for the system",
    )


def _watcher(
    context: Context,
    step: Step,
    attempt: int,
    transcript: Transcript,
    begun: list[ProcessIdentity],
    capture: Capture,
) -> Watcher:
    def started(process: ProcessIdentity) -> None:
        begun.append(process)
        context.on_start(step, attempt, process)

    def heartbeat(seconds: float) -> None:
        in_flight = tuple(transcript.summary.in_flight)
        context.journal.emit(events.Heartbeat(step, round(seconds, 1), in_flight))
        if context.directory.cancel_requested():
            context.interrupt.ask(Reason.REQUEST)

    def cancelling(move: Move) -> None:
        request = context.interrupt.request
        assert request is not None
        name = "SIGKILL" if move is Move.KILL else "SIGINT"
        context.journal.emit(events.Cancelling(request.reason, name, context.grace))

    def mutating() -> bool:
        if transcript.summary.mutating or context.interrupt.request is None:
            return transcript.summary.mutating
        # On a full disk nobody hears that something is being applied, and a second SIGINT would lose it.
        # At the first one a remote run is cancelled, which the second would not wait for.
        unheard = capture.is_cut_off() or (context.may_run_remotely and transcript.summary.is_text_alone)
        return step in (Step.APPLY, Step.DESTROY) and unheard

    return Watcher(
        started=started,
        stdout=transcript.stdout,
        stderr=transcript.stderr,
        heartbeat=heartbeat,
        cancelling=cancelling,
        mutating=mutating,
        idle=context.journal.flush,
    )


def _outcome(
    context: Context,
    step: Step,
    argv: tuple[str, ...],
    transcript: Transcript,
    exit_: Exit,
    capture: Capture,
    kills_before: int | None,
) -> StepOutcome:
    transcript.finish()
    summary = transcript.summary
    remote = context.may_run_remotely and summary.is_text_alone
    outcome = StepOutcome(
        step=step,
        command=context.journal.redactor.text(shlex.join(argv)),
        exit=exit_,
        ok=_agrees(
            step,
            exit_,
            summary,
            streams=transcript.streams,
            detailed=_DETAILED_EXITCODE in argv,
            remote=remote,
        ),
        summary=summary,
        document=transcript.document,
        stdout="",
        stderr="",
        diagnosis=None,
    )
    if outcome.ok:
        if remote and step in (Step.APPLY, Step.DESTROY):
            context.journal.emit(
                events.DiagnosticEvent("warning", None, REMOTE_RUN_UNCOUNTED, "", None, None, None)
            )
        return outcome
    out_of_memory = not exit_.insisted and _rose(kills_before, context.memory_kills())
    explained = _explained(context, outcome, capture, streams=transcript.streams, out_of_memory=out_of_memory)
    if remote and not summary.error_count:
        return explained._replace(diagnosis=diagnose_remote_run(step is Step.PLAN, exit_.code))
    return explained


def _rose(before: int | None, after: int | None) -> bool:
    return before is not None and after is not None and after > before


def _explained(
    context: Context, outcome: StepOutcome, capture: Capture, *, streams: bool, out_of_memory: bool
) -> StepOutcome:
    """A failed step with all that was said, read once more from the raw files, and what it means."""
    redactor = context.journal.redactor
    errors = tuple(
        error._replace(summary=redactor.text(error.summary), detail=redactor.text(error.detail))
        for error in outcome.summary.errors
    )
    stderr = redactor.text(read_text(capture.stderr))
    told = worth_telling(outcome.summary.errors)
    rendered = "\n".join(render_diagnostic(error, marks=True) for error in told)
    diagnosis = _diagnosis(context, outcome, errors, stderr, out_of_memory=out_of_memory)
    if not errors and capture.is_cut_off():
        diagnosis = diagnosis._replace(
            failure_class=FailureClass.DISK_FULL,
            sentence=f"{diagnosis.sentence}: the disk had no room for all it said",
            hints=(f"free some space in `{context.directory.path}`, and run it again",),
        )
    return outcome._replace(
        # A document holds the values of outputs; it is nobody's to see.
        stdout=redactor.text(render_messages(read_text(capture.stdout))) if streams else "",
        stderr="\n".join(part for part in (redactor.text(rendered), stderr) if part),
        diagnosis=diagnosis,
    )


def _diagnosis(
    context: Context,
    outcome: StepOutcome,
    errors: tuple[Diagnostic, ...],
    stderr: str,
    *,
    out_of_memory: bool,
) -> Diagnosis:
    def of(state: str | None) -> Diagnosis:
        return diagnose(
            errors,
            exit_code=outcome.exit.code,
            signal=outcome.exit.signal,
            stderr=stderr,
            engine_name=context.binary.engine.executable,
            out_of_memory=out_of_memory,
            failed=outcome.summary.failed,
            private=str(context.directory.path),
            state=state,
        )

    diagnosis = of(None)
    if diagnosis.failure_class is not FailureClass.STATE_CORRUPT:
        return diagnosis
    from hereya_tf.failure.broken_state import find_broken_state

    return of(find_broken_state(context.package, context.environment))


def _agrees(
    step: Step, exit_: Exit, summary: Summary, *, streams: bool, detailed: bool, remote: bool
) -> bool:
    """Success is exit code and stream agreeing; `detailed` says that 2 is the code of a plan with changes.

    Of a `remote` run there is the exit code alone.
    """
    if exit_.code is None or not streams:
        return exit_.code == 0 and not summary.error_count
    good = succeeded(exit_.code, summary, detailed_exitcode=detailed)
    # A full disk may have cut the stream off, and COMP_LINE makes any command do nothing, with code 0.
    if step in (Step.APPLY, Step.DESTROY):
        return good and (summary.final is not None or remote)
    if step is Step.PLAN:
        # What nobody has been shown cannot have been approved.
        return good and summary.plan is not None
    return good
