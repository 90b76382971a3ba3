"""One run, from the request to the result: prepare, lock, act, tell."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hereya_tf import __version__, events, locks
from hereya_tf.assigning import prepare_assignment
from hereya_tf.ending import Ended, Facts, conclude, ended_record, located_fault, write_report
from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.commands import Step
from hereya_tf.errors import HereyaError
from hereya_tf.events import Operation
from hereya_tf.invocation import reproduce
from hereya_tf.operations import Execution, LocksNeeded, perform
from hereya_tf.places import Places
from hereya_tf.preparation import Prepared, prepare
from hereya_tf.question import Question
from hereya_tf.redaction import Redactor
from hereya_tf.releases.supply import Listeners, Supply
from hereya_tf.report.document import Report, make_report
from hereya_tf.report.story import Story
from hereya_tf.retries.retrying import Retrying
from hereya_tf.run_request import RunRequest
from hereya_tf.runs import history
from hereya_tf.runs.adoption import adopt_left_over
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.runs.journal import Journal, Sink
from hereya_tf.runs.unlocked import adopt_unlocked, marked
from hereya_tf.steps import Context
from hereya_tf.supervision.interrupt import Interrupt, Reason
from hereya_tf.supervision.process import HEARTBEAT_SECONDS
from hereya_tf.supervision.process_table import ProcessIdentity, identify_ourselves
from hereya_tf.timer import Timer
from hereya_tf.turn import Applicant, backend_in_place, locked
from hereya_tf.workspace import Workspace

# They are begun without the locks, and take them when that is not enough.
_READ_ONLY = (Operation.OUTPUT, Operation.VALIDATE)
# How often a download is told of.
_DOWNLOAD_SECONDS = 0.25


class Run:
    """One operation on one workspace; `execute` never raises.

    `present` gets what the steps came to while the run can still fail for what is wrong with it; `interim`
    what there is to report when the engine has been asked to end.
    """

    def __init__(
        self,
        request: RunRequest,
        *,
        environment: Mapping[str, str],
        places: Places,
        interrupt: Interrupt,
        sinks: Sequence[Sink],
        ask: Callable[[Question, Callable[..., None]], bool] | None,
        present: Callable[[Execution, Redactor], None] | None = None,
        interim: Callable[[Report], None] = lambda _report: None,
    ) -> None:
        self._request = request
        # Once and for all: a link to the current release may be turned while a run waits or works.
        self._package = Path(os.path.realpath(request.package))
        self._environment = environment
        self._places = places
        self._interrupt = interrupt
        self._ask = ask
        self._present = present
        self._interim = interim
        self._timer = Timer()
        self._warnings: list[str] = []
        self.id = history.new_run_id(time.time(), os.urandom(4))
        self._directory = RunDirectory(places.runs, self.id, self._warnings.append)
        interrupt.cancel_requested = self._directory.cancel_requested
        log = Sink(lambda _record, line: self._directory.append(line), self._directory.flush)
        self.story = Story(asked=self._tell_interim)
        self._redactor = Redactor()
        self._journal = Journal(self.id, self._redactor, (log, Sink(self.story.add, lambda: None), *sinks))
        self._retrying = Retrying(request.retries, emit=self._journal.emit, pause=self._pause)
        self._record: history.RunRecord | None = None
        self._prepared: Prepared | None = None
        self._execution: Execution | None = None
        self._beat_at = time.monotonic() + HEARTBEAT_SECONDS
        self._download_at = 0.0

    def execute(self) -> Ended:
        """Run to the end, whatever happens, and send the result out as the last event."""
        error: HereyaError | None = None
        try:
            self._begin()
            self._act()
        except HereyaError as caught:
            error = caught
        except Exception as caught:  # noqa: BLE001 - a fault of ours ends in a result like any other failure
            error = self._fault(caught)
        return self._end(error)

    @property
    def reproduce(self) -> str | None:
        """The command to run it again, without its secrets."""
        invocation, prepared = self._request.invocation, self._prepared
        if invocation is None:
            return None
        if prepared is None:
            return reproduce(invocation, None, ())
        variables = prepared.package.variables
        secret = {name for name, variable in variables.items() if variable.sensitive}
        return reproduce(invocation, self._redactor, secret.union(self._request.redact))

    def early_result(self) -> Mapping[str, Any]:
        """What is known of the result while the run is on: whose a lock is that it leaves behind, above all."""
        from hereya_tf.runs.trace import early_result

        assert self._record is not None  # it is written before anything is told
        return early_result(self.story, self._record)

    def _tell_interim(self) -> None:
        """What is known before the end: whoever asked the run to end may not wait for it."""
        try:
            report = make_report(self.story, None, reproduce=self.reproduce)
            write_report(report, self._directory)
            self._interim(report)
        except Exception as caught:  # noqa: BLE001 - an engine is at work, and nothing is more important
            self._warnings.append(f"there was no report before the end: {self._fault(caught)}")

    def _end(self, error: HereyaError | None) -> Ended:
        try:
            return self._told(error)
        except Exception as caught:  # noqa: BLE001 - what cannot be told must not hide that the run is over
            # What has been done stays in the log; the outputs may be what cannot be told.
            self._execution = None
            return self._told(self._fault(caught))

    def _begin(self) -> None:
        workspace = self._workspace_hint()
        self._record = history.RunRecord(
            id=self.id,
            operation=self._request.operation,
            package=str(self._request.package),
            workspace=workspace.name,
            key=workspace.key,
            host=history.host_name(),
            process=identify_ourselves(),
            started=events.timestamp(time.time()),
            version=__version__,
            user=history.user_name(),
        )
        self._directory.write_record(self._record)
        self._journal.emit(
            events.RunStarted(
                self._request.operation,
                str(self._request.package),
                workspace.name,
                workspace.key,
                os.getpid(),
                __version__,
            )
        )
        with self._timer.part("engine"):
            request = dataclasses.replace(self._request, package=self._package)
            self._prepared = prepare(
                request, self._environment, self._supply(), self._redactor, tell=self._warn
            )
        for warning in self._prepared.warnings:
            self._warn(warning)
        binary = self._prepared.binary
        self._journal.emit(
            events.EngineReady(binary.engine, str(binary.version), binary.path, binary.chosen_by)
        )

    def _supply(self) -> Supply:
        """Where a missing engine comes from."""
        listeners = Listeners(lambda seconds: self._pause(seconds, "engine"), self._warn, self._tell_download)
        return Supply(self._request.engine.mirror, self._environment, self._places.cache, listeners)

    def _tell_download(self, engine: EngineName, version: Version, arrived: int, total: int | None) -> None:
        now = time.monotonic()
        if now >= self._download_at or arrived == total:
            self._download_at = now + _DOWNLOAD_SECONDS
            self._journal.emit(events.EngineDownload(engine, str(version), arrived, total))

    def _workspace_hint(self) -> Workspace:
        """The workspace as far as it can be told; what is wrong with it is refused a moment later."""
        try:
            return self._request.identify(self._environment)
        except HereyaError:
            return Workspace(self._request.workspace or "default", "", None, None, "")

    def _act(self) -> None:
        prepared = self._prepared
        assert prepared is not None
        self._interrupt.check()
        adopt_unlocked(self._places.runs)
        if self._request.operation in _READ_ONLY:
            try:
                with marked(self._places.runs, self.id):
                    self._perform(prepared, ())
            except LocksNeeded:
                self._directory.remove_private_files()
            else:
                return
        applicant = self._applicant(prepared.workspace)
        with contextlib.ExitStack() as turn:
            with self._timer.part("wait"):
                held = turn.enter_context(locked(applicant, self._places.locks))
            self._journal.emit(events.LockAcquired(round(self._timer.parts["wait"], 3)))
            left = {lock.predecessor.run for lock in held if lock.predecessor is not None}
            recovers = self._request.operation is Operation.RECOVER
            if (left or recovers) and self._record is not None:
                adopt_left_over(self._places.runs, left, self._record, self._warn)
            turn.enter_context(backend_in_place(self._package, prepared.workspace.backend, applicant))
            self._perform(prepared, held)

    def _perform(self, prepared: Prepared, held: tuple[locks.Lock, ...]) -> None:
        """The steps; without locks nothing but reading. Raises LocksNeeded when that is not enough."""
        prepared.check_engine()
        # Not before the locks are ours: a run that is killed while it waits is adopted by nobody.
        self._directory.keep_secrets(self._redactor.secrets())
        assignment = prepare_assignment(
            self._request, prepared, self._directory, self._places.cache, self._asker(), self.reproduce
        )
        context = Context(
            binary=prepared.binary,
            package=self._package,
            environment=prepared.environment,
            interrupt=self._interrupt,
            grace=self._request.grace,
            journal=self._journal,
            directory=self._directory,
            lock_descriptors=tuple(lock.fd for lock in held),
            engine_messages=self._request.engine_messages,
            on_start=lambda step, attempt, process: self._engine_started(held, step, attempt, process),
            may_run_remotely=prepared.may_run_remotely,
            retrying=self._retrying,
        )
        self._execution = Execution(context, assignment)
        try:
            perform(self._execution)
            self._mask_named_outputs()
            if self._present is not None:
                self._present(self._execution, self._redactor)
        finally:
            for lock in held:
                lock.record_engine(None)
            # For the same reason before the locks are free again.
            self._directory.remove_private_files()

    def _applicant(self, workspace: Workspace) -> Applicant:
        return Applicant(
            run=self.id,
            operation=self._request.operation,
            package=self._package,
            workspace_key=workspace.key,
            wait=self._request.wait,
            emit=self._journal.emit,
            warn=self._warn,
            pause=self._pause,
        )

    def _engine_started(
        self, held: tuple[locks.Lock, ...], step: Step, attempt: int, process: ProcessIdentity | None
    ) -> None:
        for lock in held:
            lock.record_engine(process and locks.EngineProcess(process, process.pid))
        if process is not None and self._record is not None and self._prepared is not None:
            self._record = self._record._replace(
                engine=str(self._prepared.binary.engine),
                engine_process=process,
                step=step,
                attempt=attempt,
                reproduce=self.reproduce,
            )
            self._directory.write_record(self._record)

    def _pause(self, seconds: float, awaited: str = "wait") -> None:
        """A wait that ends early, with the error that fits, when the run is to end."""
        self._interrupt.wait(seconds)
        self._journal.flush()  # time passes on the screen as well
        self._beat(awaited)
        self._interrupt.check()

    def _beat(self, step: str) -> None:
        now = time.monotonic()
        if now >= self._beat_at:
            self._beat_at = now + HEARTBEAT_SECONDS
            self._journal.emit(events.Heartbeat(step, round(self._timer.elapsed, 1), ()))
            if self._directory.cancel_requested():
                self._interrupt.ask(Reason.REQUEST)

    def _asker(self) -> Callable[[Question], bool] | None:
        ask = self._ask
        if ask is None or self._request.approved:
            return None
        # Named as it was called for: the answer to `destroy current` is `current`.
        return lambda question: ask(question._replace(package=self._request.package), self._ask_pause)

    def _ask_pause(self, seconds: float, *descriptors: int) -> None:
        self._interrupt.wait(seconds, *descriptors)
        self._beat("question")
        self._interrupt.check()

    def _fault(self, caught: Exception) -> HereyaError:
        return located_fault(caught, debug=bool(self._environment.get("HEREYA_TF_DEBUG")))

    def _mask_named_outputs(self) -> None:
        outputs = self._execution.outputs if self._execution is not None else {}
        for name in self._redactor.secret_outputs.intersection(outputs):
            self._redactor.add(outputs[name].value)

    def _warn(self, sentence: str) -> None:
        self._journal.emit(events.DiagnosticEvent("warning", None, sentence, "", None, None, None))

    def _told(self, error: HereyaError | None) -> Ended:
        """The end of the run, for the record, the log and every sink."""
        while self._warnings:
            self._warn(self._warnings.pop(0))
        self._mask_named_outputs()
        prepared, record = self._prepared, self._record
        facts = Facts(
            operation=self._request.operation,
            package=self._request.package,
            workspace=record.workspace if record is not None else "",
            binary=prepared.binary if prepared is not None else None,
            execution=self._execution,
            error=error,
            waited=self._timer.parts.get("wait"),
            engine_seconds=self._timer.parts.get("engine"),
            total=self._timer.elapsed,
            story=self.story,
            # Of a success nobody has to know the values again.
            reproduce=self.reproduce if error is not None else None,
            record=record,
        )
        reveal = self._request.show_sensitive
        warn = self._warn if self._present is None else None
        ended = conclude(facts, self._directory, self._redactor, reveal=reveal, warn=warn)
        result = ended.result
        if record is not None:
            self._directory.write_record(
                ended_record(record, result, self._redactor, reproduce=facts.reproduce)
            )
        self._journal.finish(result, ended.revealed if reveal else None)
        self._directory.close()
        return ended
