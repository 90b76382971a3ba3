"""Runs a request and passes its events on to the front ends, its results to stdout and files."""

import os
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from hereya_tf import events
from hereya_tf.cli.files import CallersFile
from hereya_tf.cli.front import question, sinks
from hereya_tf.cli.places import find_places
from hereya_tf.ending import Ended
from hereya_tf.errors import BadInput
from hereya_tf.preparation import RunRequest
from hereya_tf.run import Run
from hereya_tf.supervision.interrupt import Interrupt, signals_ask
from hereya_tf.ui.outlet import Outlet

# How long a reader that takes nothing keeps us from exiting, once the run is over and its locks are free.
READER_PATIENCE_SECONDS = 30.0


def conduct(request: RunRequest, options: dict[str, Any], environment: Mapping[str, str]) -> int:
    """Run `request` to its end and tell it as `options` ask; returns the exit code."""
    interrupt = Interrupt(timeout=options["timeout"], idle_timeout=options["idle_timeout"])
    stdout, stderr = Outlet(1), Outlet(2)

    def warn(sentence: str) -> None:
        stderr.write(f"warning: {sentence}\n")

    with signals_ask(interrupt):
        log = CallersFile(options["events_file"], warn) if options["events_file"] else None
        # Opened first, and emptied: the values of an apply would be lost, those of the last taken for its own.
        results = CallersFile(options["result_file"], warn) if options["result_file"] else None
        if results is not None and not results.is_open:
            request = _refused(request, options["result_file"])
        run = Run(
            request,
            environment=environment,
            places=find_places(environment),
            interrupt=interrupt,
            sinks=sinks(options, stdout, stderr, log),
            ask=question(stderr),
        )
        ended = run.execute()
        files = [*_reports(ended, options, warn), *(file for file in (results, log) if file is not None)]
        if results is not None:
            results.write(_result_line(ended.revealed))
            results.flush()
        if not options["json_output"]:
            _print_results(ended, options, stdout, stderr)
        asked = interrupt.request

        def give_up() -> bool:
            return interrupt.insisted or interrupt.request is not asked

        for file in files:
            file.finish(patience=READER_PATIENCE_SECONDS, give_up=give_up)
        stdout.drain(patience=READER_PATIENCE_SECONDS, give_up=give_up)
        stderr.drain(patience=READER_PATIENCE_SECONDS, give_up=give_up)
    return ended.result.exit_code


def _refused(request: RunRequest, path: str) -> RunRequest:
    """The request, to be refused: its result would have no place to go."""
    if request.refusal is not None:
        return request
    import dataclasses

    return dataclasses.replace(
        request, refusal=BadInput(f"`--result-file {path}` cannot be written", "give another path")
    )


def _reports(ended: Ended, options: dict[str, Any], warn: Callable[[str], None]) -> list[CallersFile]:
    """The reports of a failure, written as far as they can be before anybody is waited for."""
    files = []
    for path in options["report_file"] if not ended.result.success else ():
        file = CallersFile(path, warn)
        file.write(_report(ended, path))
        file.flush()
        files.append(file)
    return files


def _result_line(result: events.Result) -> str:
    record = events.record_of(result, sequence=0, seconds=0.0, run="")
    for name in ("v", "seq", "ts", "run", "type"):
        del record[name]
    return events.encode(record) + "\n"


def _report(ended: Ended, path: str) -> str:
    if path.endswith(".json"):
        return _result_line(ended.result)
    from hereya_tf.report import report_text

    return report_text(ended.result)


def _print_results(ended: Ended, options: dict[str, Any], stdout: Outlet, stderr: Outlet) -> None:
    result = ended.result
    if result.success:
        env = ended.revealed.env if options["show_sensitive"] else result.env
        lines = _table(env) if os.isatty(1) else [f"{name}={shlex.quote(text)}" for name, text in env.items()]
        for line in lines:
            stdout.write(f"{line}\n")
        if ended.withheld and not options["quiet"]:
            names = ", ".join(f"`{name}`" for name in ended.withheld)
            stderr.write(f"left out because they are sensitive: {names} (--show-sensitive shows them)\n")
        return
    from hereya_tf.report import captured_text, failure_lines
    from hereya_tf.ui.plain import visible

    record = events.record_of(result, sequence=0, seconds=0.0, run="")
    failure = record["failure"]
    for line in failure_lines(record):
        stderr.write(f"{visible(line)}\n")
    captured = captured_text(failure["stderr"], failure["stdout"])
    stderr.write(visible(captured) + ("\n" if captured else ""))
    if result.report is not None:
        stderr.write(f"report: {result.report}\n")


def _table(env: Mapping[str, str]) -> list[str]:
    from hereya_tf.ui.plain import visible

    width = max((len(name) for name in env), default=0)
    return [f"{name:<{width}}  {visible(text)}" for name, text in env.items()]
