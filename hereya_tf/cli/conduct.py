"""Runs a request and passes its events on to the front ends, its results to stdout and files."""

import os
import time
from collections.abc import Mapping
from typing import Any

from hereya_tf import events
from hereya_tf.cli.ci import CI
from hereya_tf.cli.files import CallersFile, put_whole
from hereya_tf.cli.front import choose_talk, sinks
from hereya_tf.cli.option_table import history_limits
from hereya_tf.cli.places import find_places
from hereya_tf.cli.results import OutputPresenter, print_results
from hereya_tf.ending import Ended
from hereya_tf.errors import BadInput, FailureClass, NoRoom
from hereya_tf.events import Operation
from hereya_tf.operations import Execution
from hereya_tf.redaction import Redactor
from hereya_tf.report.document import Report
from hereya_tf.run import Run
from hereya_tf.run_request import RunRequest
from hereya_tf.runs.journal import Sink
from hereya_tf.runs.upkeep import prune_now_and_then
from hereya_tf.supervision.interrupt import Interrupt, Request, signals_ask
from hereya_tf.ui.outlet import Outlet

# How long a reader that takes nothing keeps us from exiting, once the run is over and its locks are free.
READER_PATIENCE_SECONDS = 30.0
# What they print is what they are for: without it they have failed.
_ASKED_FOR_WORDS = (Operation.OUTPUT, Operation.PLAN, Operation.DRIFT)
_PLAN_FILES = ("plan_json", "plan_text")
# After these a result file that was left by a killed run says enough of it.
_TELL_MORE = frozenset(("run_started", "step_started", "heartbeat", "cancelling"))


def conduct(request: RunRequest, options: dict[str, Any], environment: Mapping[str, str]) -> int:
    """Run `request` to its end and tell it as `options` ask; returns the exit code."""
    return _Conduct(request, options, environment).run()


class _Conduct:
    """One run and everybody who is told of it."""

    def __init__(self, request: RunRequest, options: dict[str, Any], environment: Mapping[str, str]) -> None:
        self._request = request
        self._options = options
        self._environment = environment
        self._places = find_places(environment)
        self._interrupt = Interrupt(timeout=options["timeout"], idle_timeout=options["idle_timeout"])
        self._ci = CI(request.operation, options, environment)
        self._stdout, self._stderr = Outlet(1), self._ci.stderr
        self._talk = choose_talk(request.operation, options, self._ci)
        self._warned: set[str] = set()
        self._results: dict[str, CallersFile] = {}
        self._run: Run | None = None
        # Whether the result file has been replaced by one with an early result.
        self._is_early = False
        is_output = request.operation is Operation.OUTPUT
        self._presenter = OutputPresenter(options, environment, self._stdout, self._ci) if is_output else None

    def run(self) -> int:
        """The run, and what there is to tell of it; returns the exit code."""
        with signals_ask(self._interrupt):
            log = self._file(self._options["events_file"]) if self._options["events_file"] else None
            request = self._with_results()
            run = Run(
                request,
                environment=self._environment,
                places=self._places,
                interrupt=self._interrupt,
                sinks=[*sinks(self._options, self._stdout, self._talk, log, self._ci), self._early_results()],
                ask=self._talk.ask,
                present=self._present if self._presenter is not None or self._plan_files else None,
                interim=self._tell_interim,
            )
            self._run = run
            ended = run.execute()
            # Asked before we began to wait for readers: whoever asks again has waited long enough.
            asked = self._interrupt.request
            files = self._tell(ended)
            self._wait_for_readers([*files, *([log] if log is not None else ())], asked)
            if asked is None:
                limits = history_limits(self._options)
                prune_now_and_then(
                    self._places.runs, limits, time.time(), give_up=lambda: self._gives_up(asked)
                )
        exit_code = ended.result.exit_code
        if self._stdout.failure is not None and request.operation in _ASKED_FOR_WORDS:
            return exit_code or FailureClass.DISK_FULL.exit_code
        return exit_code

    @property
    def _plan_files(self) -> list[str]:
        return [option for option in _PLAN_FILES if option in self._results]

    def _warn(self, sentence: str) -> None:
        if sentence not in self._warned:  # a file that could not be written to at first is told of once
            self._warned.add(sentence)
            self._talk.say(f"warning: {sentence}")

    def _file(self, path: str) -> CallersFile:
        return CallersFile(path, self._warn)

    def _with_results(self) -> RunRequest:
        """The request, refused when a result would have no place to go."""
        request = self._request
        for option in ("result_file", *_PLAN_FILES):
            if path := self._options.get(option):
                # Opened first, and emptied: the values of an apply would be lost, the last ones taken for its own.
                self._results[option] = self._file(path)
                if not self._results[option].is_open:
                    request = _refused(request, option, path)
        return request

    def _early_results(self) -> Sink:
        """Keeps a result in its file from the beginning: whoever kills us leaves it there."""
        has_lock, step = False, None

        def write(record: Mapping[str, Any], _line: str) -> None:
            nonlocal has_lock, step
            kind = record["type"]
            if kind == "step_started":
                has_lock, step = False, record["step"]
            is_first = not has_lock and events.shows_lock(record, step)
            has_lock = has_lock or is_first
            if (is_first or kind in _TELL_MORE) and "result_file" in self._results and self._run is not None:
                path = self._options["result_file"]
                self._is_early = put_whole(path, _line_of(self._run.early_result())) or self._is_early

        return Sink(write, lambda: None)

    def _present(self, execution: Execution, redactor: Redactor) -> None:
        if self._presenter is not None:
            self._presenter.present(execution.outputs, redactor)
        for option in self._plan_files:
            _write_plan(self._results[option], execution, option)

    def _tell_interim(self, report: Report) -> None:
        """Whoever asked may kill us before the engine has come to its end; a pipe gets the last word only."""
        for path in self._options["report_file"]:
            if os.path.isfile(path) or not os.path.lexists(path):  # noqa: PTH113
                for file in self._report(report, path):
                    file.finish(patience=0.0, give_up=lambda: True)
        self._ci.tell_interim(report, self._warn)

    def _tell(self, ended: Ended) -> list[CallersFile]:
        """Reports, results and what stands on the screen, written as far as nobody has to be waited for."""
        reports = [file for path in self._options["report_file"] for file in self._report(ended.report, path)]
        if "result_file" in self._results and not self._put_result(_result_line(ended.revealed)):
            self._results["result_file"].write(_result_line(ended.revealed))
            self._results["result_file"].flush()
        self._ci.tell(ended.report, self._warn)
        if not self._options["json_output"]:
            print_results(ended, self._options, self._stdout, self._ci, self._presenter)
        return [*reports, *self._results.values()]

    def _put_result(self, line: str) -> bool:
        """Put the result in the place of an early one; whether that is all there is to do."""
        if not self._is_early:
            return False
        path = self._options["result_file"]
        if put_whole(path, line):
            return True
        # The file that was opened first is not the one that has this name now.
        self._results["result_file"] = self._file(path)
        return False

    def _report(self, report: Report, path: str) -> list[CallersFile]:
        """Write a report; returns what may have to be waited for."""
        from hereya_tf.report.formats import format_of, render

        form = format_of(path)
        assert form is not None  # what has no form is refused as misuse
        text = render(report, form)
        if put_whole(path, text):
            return []
        file = self._file(path)
        file.write(text)
        file.flush()
        return [file]

    def _wait_for_readers(self, files: list[CallersFile], asked: Request | None) -> None:
        def give_up() -> bool:
            return self._gives_up(asked)

        for file in files:
            file.finish(patience=READER_PATIENCE_SECONDS, give_up=give_up)
        stdout, stderr = self._stdout, self._stderr
        # On a screen what is still owed to stderr goes first: the live view would paint over the results.
        for outlet in (stderr, stdout) if os.isatty(2) else (stdout, stderr):
            outlet.drain(patience=READER_PATIENCE_SECONDS, give_up=give_up)
        if stdout.failure is not None:
            lost = f"what was to go to stdout is not complete: {stdout.failure}"
            is_error = self._request.operation in _ASKED_FOR_WORDS
            self._talk.say(f"{'error' if is_error else 'warning'}: {lost}")
            stderr.drain(patience=READER_PATIENCE_SECONDS, give_up=give_up)

    def _gives_up(self, asked: Request | None) -> bool:
        return self._interrupt.insisted or self._interrupt.request is not asked


def _write_plan(file: CallersFile, execution: Execution, option: str) -> None:
    """Raises NoRoom: half a plan would be approved as if it were all of it."""
    file.write(execution.plan_document if option == "plan_json" else execution.difference)
    file.flush()
    if not file.is_open:
        name = option.replace("_", "-")
        raise NoRoom(
            f"the file of `--{name}` cannot be written to its end", "free some space, and plan again"
        )


def _refused(request: RunRequest, option: str, path: str) -> RunRequest:
    """The request, to be refused: its result would have no place to go."""
    if request.refusal is not None:
        return request
    import dataclasses

    return dataclasses.replace(
        request,
        refusal=BadInput(f"`--{option.replace('_', '-')} {path}` cannot be written", "give another path"),
    )


def _result_line(result: events.Result) -> str:
    return _line_of(events.record_of(result, sequence=0, seconds=0.0, run=""))


def _line_of(result: Mapping[str, Any]) -> str:
    """A result as its file has it: without what every event has around it."""
    record = {**result}
    for name in ("v", "seq", "ts", "run", "type"):
        del record[name]
    return events.encode(record) + "\n"
