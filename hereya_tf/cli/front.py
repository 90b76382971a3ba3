"""Which front end a run gets: NDJSON for programs, lines for logs and for people."""

import os
from collections.abc import Callable, Mapping
from typing import Any

from hereya_tf.cli.files import CallersFile
from hereya_tf.runs.journal import Sink
from hereya_tf.ui.outlet import Outlet


def sinks(options: dict[str, Any], stdout: Outlet, stderr: Outlet, log: CallersFile | None) -> list[Sink]:
    """Who is told what happens, and in which form."""
    chosen = []
    if options["json_output"]:
        chosen.append(Sink(lambda _record, line: stdout.write(f"{line}\n"), stdout.flush, reveals=True))
    else:
        chosen.append(_plain_sink(options, stderr))
    if log is not None:
        chosen.append(Sink(lambda _record, line: log.write(f"{line}\n"), log.flush))
    return chosen


def _plain_sink(options: dict[str, Any], stderr: Outlet) -> Sink:
    from hereya_tf.ui.plain import Detail, PlainLines

    detail = Detail.QUIET if options["quiet"] else Detail.VERBOSE if options["verbose"] else Detail.NORMAL
    plain = PlainLines(detail, color=wants_color(options["color"]), progress=not options["no_progress"])

    def write(record: Mapping[str, Any], _line: str) -> None:
        for line in plain.lines(record):
            stderr.write(f"{line}\n")

    return Sink(write, stderr.flush)


def wants_color(choice: str, descriptor: int = 2) -> bool:
    """Whether what goes to this descriptor is to be coloured."""
    if choice != "auto":
        return choice == "always"
    return os.isatty(descriptor) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def question(stderr: Outlet) -> Callable[..., bool]:
    """Asks the person at the terminal."""

    def ask(*arguments: Any) -> bool:
        from hereya_tf.ui.question import ask as ask_person

        def say(text: str) -> None:
            stderr.write(text)
            stderr.flush()

        return ask_person(*arguments, say=say)

    return ask
