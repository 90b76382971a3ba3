"""Runs a request and passes its events on to the front ends, its results to stdout and files."""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hereya_tf import events
from hereya_tf.cli.ci import CI
from hereya_tf.cli.files import CallersFile
from hereya_tf.cli.front import choose_talk, sinks
from hereya_tf.cli.option_table import history_limits
from hereya_tf.cli.places import find_places
from hereya_tf.cli.results import OutputPresenter, print_results
from hereya_tf.errors import BadInput, FailureClass, NoRoom
from hereya_tf.events import Operation
from hereya_tf.operations import Execution
from hereya_tf.redaction import Redactor
from hereya_tf.report.document import Report
from hereya_tf.report.formats import format_of, render
from hereya_tf.run import Run
from hereya_tf.run_request import RunRequest
from hereya_tf.runs.upkeep import prune_now_and_then
from hereya_tf.supervision.interrupt import Interrupt, signals_ask
from hereya_tf.ui.outlet import Outlet

# How long a reader that takes nothing keeps us from exiting, once the run is over and its locks are free.
READER_PATIENCE_SECONDS = 30.0
# What they print is what they are for: without it they have failed.
_ASKED_FOR_WORDS = (Operation.OUTPUT, Operation.PLAN, Operation.DRIFT)
_PLAN_FILES = ("plan_json", "plan_text")


def conduct(request: RunRequest, options: dict[str, Any], environment: Mapping[str, str]) -> int:
    """Run `request` to its end and tell it as `options` ask; returns the exit code."""
    interrupt = Interrupt(timeout=options["timeout"], idle_timeout=options["idle_timeout"])
    ci = CI(request.operation, options, environment)
    places = find_places(environment)
    stdout, stderr = Outlet(1), ci.stderr
    talk = choose_talk(request.operation, options, ci)

    said: set[str] = set()

    def warn(sentence: str) -> None:
        if sentence not in said:  # a file that cannot be written when the engine is asked to end cannot later
            said.add(sentence)
            talk.say(f"warning: {sentence}")

    with signals_ask(interrupt):
        log = CallersFile(options["events_file"], warn) if options["events_file"] else None
        results = {}
        for option in ("result_file", "plan_json", "plan_text"):
            if path := options.get(option):
                # Opened first, and emptied: the values of an apply would be lost, the last ones taken for its own.
                results[option] = CallersFile(path, warn)
                if not results[option].is_open:
                    request = _refused(request, option, path)
        is_output = request.operation is Operation.OUTPUT
        presenter = OutputPresenter(options, environment, stdout, ci) if is_output else None
        plan_files = [option for option in _PLAN_FILES if option in results]

        def present(execution: Execution, redactor: Redactor) -> None:
            if presenter is not None:
                presenter.present(execution.outputs, redactor)
            for option in plan_files:
                _write_plan(results[option], execution, option)

        def interim(report: Report) -> None:
            # Whoever asked may kill us before the engine has come to its end.
            _write_interim(report, options["report_file"], warn)
            ci.tell_interim(report, warn)

        run = Run(
            request,
            environment=environment,
            places=places,
            interrupt=interrupt,
            sinks=sinks(options, stdout, talk, log, ci),
            ask=talk.ask,
            present=present if presenter is not None or plan_files else None,
            interim=interim,
        )
        ended = run.execute()
        reports = _reports(ended.report, options["report_file"], warn)
        files = [*reports, *results.values(), *([log] if log is not None else ())]
        if "result_file" in results:
            results["result_file"].write(_result_line(ended.revealed))
            results["result_file"].flush()
        ci.tell(ended.report, warn)
        if not options["json_output"]:
            print_results(ended, options, stdout, ci, presenter)
        asked = interrupt.request

        def give_up() -> bool:
            return interrupt.insisted or interrupt.request is not asked

        for file in files:
            file.finish(patience=READER_PATIENCE_SECONDS, give_up=give_up)
        # On a screen what is still owed to stderr goes first: the live view would paint over the results.
        for outlet in (stderr, stdout) if os.isatty(2) else (stdout, stderr):
            outlet.drain(patience=READER_PATIENCE_SECONDS, give_up=give_up)
        if stdout.failure is not None:
            lost = f"what was to go to stdout is not complete: {stdout.failure}"
            talk.say(f"{'error' if request.operation in _ASKED_FOR_WORDS else 'warning'}: {lost}")
            stderr.drain(patience=READER_PATIENCE_SECONDS, give_up=give_up)
        if asked is None:
            prune_now_and_then(places.runs, history_limits(options), time.time(), give_up=give_up)
    if stdout.failure is not None and request.operation in _ASKED_FOR_WORDS:
        return ended.result.exit_code or FailureClass.DISK_FULL.exit_code
    return ended.result.exit_code


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


def _write_interim(report: Report, paths: Sequence[str], warn: Callable[[str], None]) -> None:
    """The reports as far as they can be told; a pipe's reader gets the last word only."""
    regular = [path for path in paths if os.path.isfile(path) or not os.path.lexists(path)]  # noqa: PTH113
    for file in _reports(report, regular, warn):
        file.finish(patience=0.0, give_up=lambda: True)


def _reports(report: Report, paths: Sequence[str], warn: Callable[[str], None]) -> list[CallersFile]:
    """The reports, written as far as they can be before anybody is waited for."""
    files = []
    for path in paths:
        form = format_of(path)
        assert form is not None  # what has no form is refused as misuse
        file = CallersFile(path, warn)
        file.write(render(report, form))
        file.flush()
        files.append(file)
    return files


def _result_line(result: events.Result) -> str:
    record = events.record_of(result, sequence=0, seconds=0.0, run="")
    for name in ("v", "seq", "ts", "run", "type"):
        del record[name]
    return events.encode(record) + "\n"
