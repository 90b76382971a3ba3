"""Which front end a run gets: NDJSON for programs, lines for logs, a live view for people at a terminal."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hereya_tf.cli.ci import CI, System
from hereya_tf.cli.files import CallersFile
from hereya_tf.events import Operation
from hereya_tf.question import Question
from hereya_tf.runs.journal import Sink
from hereya_tf.ui.outlet import Outlet

_STDERR = 2
# How often a terminal that has not taken the whole question yet is tried again.
_LOOK_SECONDS = 0.05

# Beside an engine that has our stderr, and beside a value that was asked for, there is little to say.
_RESERVED = {
    Operation.TF: frozenset(("lock_waiting",)),
    Operation.OUTPUT: frozenset(("lock_waiting", "heartbeat", "cancelling")),
}


# Asks a person; the second part is a wait that ends early when the run is to end.
Ask = Callable[[Question, Callable[..., None]], bool]


class Talk(NamedTuple):
    """What a person is told on stderr: the run's events, sentences of ours, and a question."""

    sink: Sink
    say: Callable[[str], None]
    ask: Ask


def choose_talk(operation: Operation, options: Mapping[str, Any], ci: CI) -> Talk:
    """How a run talks to people, by what it does, its options, and by what reads stderr."""
    color, stderr = wants_color(options["color"]), ci.stderr
    if operation in _RESERVED and not (options["quiet"] or options["verbose"]):
        return _reserved_talk(_RESERVED[operation], stderr, color=color)
    if ci.system is System.NONE and _is_live(options):
        return _live_talk(stderr, color=color)

    def say(sentence: str) -> None:
        stderr.write(f"{sentence}\n")

    return Talk(_plain_sink(options, ci, color=color), say, _question(stderr, color=color))


def sinks(
    options: Mapping[str, Any], stdout: Outlet, talk: Talk, log: CallersFile | None, ci: CI
) -> list[Sink]:
    """Who is told what happens, and in which form."""
    if options["json_output"]:
        guarded = ci.results.json
        chosen = [Sink(lambda _record, line: stdout.write(f"{guarded(line)}\n"), stdout.flush, reveals=True)]
    else:
        chosen = [talk.sink]
    if log is not None:
        chosen.append(Sink(lambda _record, line: log.write(f"{line}\n"), log.flush))
    return chosen


def _is_live(options: Mapping[str, Any]) -> bool:
    """Whether a person sits there who wants to see what is going on."""
    if options["json_output"] or options["quiet"] or options["verbose"] or options["no_progress"]:
        return False
    return os.isatty(_STDERR) and _is_capable()


def wants_color(choice: str, descriptor: int = _STDERR) -> bool:
    """Whether what goes to this descriptor is to be coloured."""
    if choice != "auto":
        return choice == "always"
    return os.isatty(descriptor) and not os.environ.get("NO_COLOR") and _is_capable()


def _is_capable() -> bool:
    """Whether the terminal says that it is more than a typewriter."""
    return os.environ.get("TERM", "") not in ("", "dumb", "unknown")


def _live_talk(stderr: Outlet, *, color: bool) -> Talk:
    from hereya_tf.ui.live import LiveView, size_of

    view = LiveView(stderr, color=color, unicode=has_symbols(os.environ), size=lambda: size_of(_STDERR))
    ask_person = _question(stderr, color=color)

    def ask(question: Question, pause: Callable[..., None]) -> bool:
        view.pause()
        try:
            return ask_person(question, pause)
        finally:
            view.resume()

    return Talk(Sink(view.write, view.flush), view.say, ask)


def _reserved_talk(shown: frozenset[str], stderr: Outlet, *, color: bool) -> Talk:
    """Only the events that are `shown`, and what we ourselves warn of."""
    from hereya_tf.ui.plain import Detail, PlainLines

    plain = PlainLines(Detail.NORMAL, color=color)
    in_step = False

    def write(record: Mapping[str, Any], _line: str) -> None:
        nonlocal in_step
        in_step = record["type"] == "step_started" or (in_step and record["type"] != "step_finished")
        if record["type"] in shown or (record["type"] == "diagnostic" and not in_step):
            for line in plain.lines(record):
                stderr.write(f"{line}\n")

    def say(sentence: str) -> None:
        stderr.write(f"{sentence}\n")

    return Talk(Sink(write, stderr.flush), say, _question(stderr, color=color))


def has_symbols(environment: Mapping[str, str]) -> bool:
    """Whether the terminal shows more than ASCII, by what it says of itself and by the locale."""
    locale = environment.get("LC_ALL") or environment.get("LC_CTYPE") or environment.get("LANG") or "UTF-8"
    return environment.get("TERM") != "linux" and "UTF8" in locale.upper().replace("-", "")


def _plain_sink(options: Mapping[str, Any], ci: CI, *, color: bool) -> Sink:
    from hereya_tf.ui.plain import Detail, PlainLines

    detail = Detail.QUIET if options["quiet"] else Detail.VERBOSE if options["verbose"] else Detail.NORMAL
    plain = PlainLines(detail, color=color, progress=not options["no_progress"])
    stderr, folding = ci.stderr, ci.folding(plain)

    def write(record: Mapping[str, Any], _line: str) -> None:
        for line in plain.lines(record):
            stderr.write(f"{line}\n")

    def fold(record: Mapping[str, Any], _line: str) -> None:
        for told in folding.lines(record) if folding is not None else ():
            stderr.command(told.text) if told.is_mark else stderr.write(f"{told.text}\n")

    return Sink(write if folding is None else fold, stderr.flush)


def _question(stderr: Outlet, *, color: bool) -> Ask:
    def ask(question: Question, pause: Callable[..., None]) -> bool:
        from hereya_tf.ui.live import size_of
        from hereya_tf.ui.question import ask as ask_person

        def pause_and_write(seconds: float, *descriptors: int) -> None:
            stderr.flush()
            pause(_LOOK_SECONDS if stderr.is_waiting else seconds, *descriptors)

        return ask_person(question, pause_and_write, say=stderr.write, color=color, size=size_of(_STDERR))

    return ask
