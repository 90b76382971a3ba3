"""Runs a request and passes its events on to the front ends, its results to stdout and files."""

import os
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hereya_tf import events
from hereya_tf.cli.places import find_places
from hereya_tf.ending import Ended
from hereya_tf.interrupt import Interrupt, signals_ask
from hereya_tf.journal import Sink
from hereya_tf.preparation import RunRequest
from hereya_tf.private import open_private, write_all
from hereya_tf.run import Run
from hereya_tf.ui.outlet import Outlet

# How long a reader that takes nothing keeps us from exiting, once the run is over and its locks are free.
READER_PATIENCE_SECONDS = 30.0


def conduct(request: RunRequest, options: dict[str, Any], environment: Mapping[str, str]) -> int:
    """Run `request` to its end and tell it as `options` ask; returns the exit code."""
    interrupt = Interrupt(timeout=options["timeout"], idle_timeout=options["idle_timeout"])
    stdout, stderr = Outlet(1), Outlet(2)
    with signals_ask(interrupt):
        sinks = _sinks(options, stdout, stderr)
        run = Run(
            request,
            environment=environment,
            places=find_places(environment),
            interrupt=interrupt,
            sinks=sinks,
            ask=_question(stderr),
        )
        ended = run.execute()
        _write_files(ended, options, stderr)
        if not options["json_output"]:
            _print_results(ended, options, stdout, stderr)
        asked = interrupt.request

        def give_up() -> bool:
            return interrupt.insisted or interrupt.request is not asked

        stdout.drain(patience=READER_PATIENCE_SECONDS, give_up=give_up)
        stderr.drain(patience=READER_PATIENCE_SECONDS, give_up=give_up)
    return ended.result.exit_code


def _sinks(options: dict[str, Any], stdout: Outlet, stderr: Outlet) -> list[Sink]:
    sinks = []
    if options["json_output"]:
        sinks.append(Sink(lambda _record, line: stdout.write(f"{line}\n"), stdout.flush, reveals=True))
    else:
        sinks.append(_plain_sink(options, stderr))
    if options["events_file"]:
        sinks.append(_file_sink(Path(options["events_file"]), stderr))
    return sinks


def _plain_sink(options: dict[str, Any], stderr: Outlet) -> Sink:
    from hereya_tf.ui.plain import Detail, PlainLines

    detail = Detail.QUIET if options["quiet"] else Detail.VERBOSE if options["verbose"] else Detail.NORMAL
    plain = PlainLines(detail, color=_wants_color(options["color"]), progress=not options["no_progress"])

    def write(record: Mapping[str, Any], _line: str) -> None:
        for line in plain.lines(record):
            stderr.write(f"{line}\n")

    return Sink(write, stderr.flush)


def _file_sink(path: Path, stderr: Outlet) -> Sink:
    """Events into a private file; when it cannot be written the run goes on, and says so once."""
    try:
        file = open_private(path, truncate=True)
    except OSError as error:
        stderr.write(f"warning: `--events-file {path}` cannot be written: {error.strerror}\n")
        return Sink(lambda _record, _line: None, lambda: None)
    usable = [True]

    def write(_record: Mapping[str, Any], line: str) -> None:
        try:
            if usable:
                write_all(file.fileno(), f"{line}\n".encode("utf-8", "backslashreplace"))
        except OSError as error:
            usable.clear()
            stderr.write(f"warning: `--events-file {path}` ends here: {error.strerror}\n")

    return Sink(write, lambda: None, reveals=False)


def _wants_color(choice: str) -> bool:
    if choice != "auto":
        return choice == "always"
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _question(stderr: Outlet) -> Callable[..., bool]:
    def ask(*arguments: Any) -> bool:
        from hereya_tf.ui.question import ask as ask_person

        def say(text: str) -> None:
            stderr.write(text)
            stderr.flush()

        return ask_person(*arguments, say=say)

    return ask


def _write_files(ended: Ended, options: dict[str, Any], stderr: Outlet) -> None:
    """The files a caller asked for, private and whole, before anybody is waited for."""
    wanted = [(path, _report(ended, path)) for path in options["report_file"] if not ended.result.success]
    if options["result_file"]:
        wanted.append((options["result_file"], _result_line(ended.revealed)))
    for path, text in wanted:
        try:
            with open_private(Path(path), truncate=True) as file:
                write_all(file.fileno(), text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            stderr.write(f"warning: `{path}` cannot be written: {error.strerror}\n")


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
        lines = (
            _table(env) if os.isatty(1) else [f"{name}={shlex.quote(text)}" for name, text in env.items()]
        )
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
