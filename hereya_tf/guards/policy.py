"""Asks the command of `--policy` for its verdict on a plan (I/O).

It gets the plan's JSON on stdin, which is a private file without a name: nothing of it stands in an argument, in a
variable, or on the disk for longer than the command runs. Exit code 0 approves; everything else denies.
"""

import codecs
import signal
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hereya_tf import events
from hereya_tf.durations import format_duration
from hereya_tf.errors import Idle, PolicyDenied
from hereya_tf.guards import POLICY_VARIABLES, Policy
from hereya_tf.guards.command import split_command
from hereya_tf.guards.verdict import Objection, told
from hereya_tf.redaction import Redactor
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.steps import Context
from hereya_tf.supervision.flow import Flow
from hereya_tf.supervision.interrupt import Reason
from hereya_tf.supervision.patience import Move
from hereya_tf.supervision.process import Command, Exit, Watcher, run_command
from hereya_tf.supervision.process_table import ProcessIdentity
from hereya_tf.words import visible

STEP = "policy"
"""What its events call it: it is a step of the run, and no command of the engine's."""

KEPT_CHARACTERS = 1 << 15
"""What is kept of the beginning of what it says on each stream, and of the end."""

_FIRST_LINE_CHARACTERS = 200
# A policy that starts hereya-tf itself would be asked about that again, and so on.
_TAKEN_OUT = "HEREYA_TF_POLICY"


class Hearing(NamedTuple):
    """What a policy is asked about: the plan's JSON, and what it gets to know besides, by the end of its variable.

    `environment` is the caller's, `redactor` knows every secret of the plan.
    """

    plan: str
    facts: Mapping[str, str]
    environment: Mapping[str, str]
    redactor: Redactor


class Answer(NamedTuple):
    """None against the plan when it is approved; `text` is what was said, without secrets, harmless to show."""

    objection: Objection | None
    text: str


def ask_policy(policy: Policy, hearing: Hearing, context: Context) -> Answer:
    """Run the command in the caller's working directory, to its end or that of the run.

    Raises NoRoom, and the interrupt's error, Idle too.
    """
    argv = split_command(policy.command)
    context.journal.emit(events.StepStarted(STEP, 1, argv))
    said = _Said(hearing.redactor)
    ended = _run(Command(argv, Path(), _environment(hearing)), hearing.plan, said, context)
    text = said.text()
    match ended:
        case Exit(code=code, seconds=seconds):
            context.journal.emit(events.StepFinished(STEP, code == 0, code, round(seconds, 3), False))
            if context.interrupt.asked() is not None:
                tell_said(text, context)  # the only trace of what it was at
            _check_interrupt(policy, context)
        case OSError():
            context.journal.emit(events.StepFinished(STEP, False, None, 0.0, False))
    return Answer(_objection(policy, ended, text), text)


def tell_said(text: str, context: Context) -> None:
    """Put into the log what a policy has said."""
    with context.journal.batch():
        for line in text.split("\n") if text else ():
            context.journal.emit(events.LogEvent(STEP, line))


def _environment(hearing: Hearing) -> Mapping[str, str]:
    theirs = {name: value for name, value in hearing.environment.items() if name != _TAKEN_OUT}
    return {**theirs, **{f"{POLICY_VARIABLES}{name}": value for name, value in hearing.facts.items()}}


def _run(command: Command, plan: str, said: "_Said", context: Context) -> Exit | OSError:
    """How it ended, or why it could not be started."""
    started: list[ProcessIdentity] = []
    stdout, stderr = Flow(), Flow()
    try:
        with _private_stdin(context.directory, plan) as stdin:
            return run_command(
                command,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(),  # our locks are not for it to keep
                interrupt=context.interrupt,
                grace=context.grace,
                watcher=_watcher(context, said, started),
            )
    except OSError as error:
        if started:
            raise
        return error
    finally:
        stdout.close()
        stderr.close()


def _private_stdin(directory: RunDirectory, plan: str) -> BinaryIO:
    path = directory.private_file(f"{STEP}.json", plan, grows=True)
    file = path.open("rb")
    path.unlink()  # whoever kills us leaves nothing behind
    return file


def _watcher(context: Context, said: "_Said", started: list[ProcessIdentity]) -> Watcher:
    def heartbeat(seconds: float) -> None:
        context.journal.emit(events.Heartbeat(STEP, round(seconds, 1), ()))
        if context.directory.cancel_requested():
            context.interrupt.ask(Reason.REQUEST)

    def cancelling(move: Move) -> None:
        request = context.interrupt.request
        if move is Move.ASK and request is not None:  # later ones would tell of what may be lost
            context.journal.emit(events.Cancelling(request.reason, "SIGINT", context.grace))

    return Watcher(
        started=started.append,
        stdout=said.stdout,
        stderr=said.stderr,
        heartbeat=heartbeat,
        cancelling=cancelling,
        mutating=lambda: False,
        idle=context.journal.flush,
    )


def _check_interrupt(policy: Policy, context: Context) -> None:
    request = context.interrupt.asked()
    if request is not None and request.reason is Reason.IDLE:
        limit = format_duration(context.interrupt.idle_timeout or 0)
        raise Idle(
            f"{told('policy', policy.command, policy.place)} said nothing for `--idle-timeout {limit}`",
            "raise `--idle-timeout` if it takes that long",
        )
    context.interrupt.check()


def _objection(policy: Policy, ended: Exit | OSError, text: str) -> Objection | None:
    guard = told("policy", policy.command, policy.place)
    match ended:
        case Exit(code=0):
            return None
        case Exit():
            said = next((line.strip() for line in text.split("\n") if line.strip()), "")
            shown = f"{said[:_FIRST_LINE_CHARACTERS]}…" if len(said) > _FIRST_LINE_CHARACTERS else said
            how = f"is denied by {guard} ({_how(ended)}){': ' if shown else ''}{shown}"
            return Objection(PolicyDenied, how, (_TRY_IT,))
        case OSError():
            why = f"has not been approved: {guard} cannot be started: {ended.strerror}"
            return Objection(PolicyDenied, why, (_NO_SHELL,))


_TRY_IT = (
    "to see what the policy sees, run it again with one that keeps it, and denies:"
    " `--policy \"sh -c 'umask 077; cat > plan.json; false'\"`"
)
_NO_SHELL = (
    "the command is started without a shell, in the working directory: check its path, that it may be executed,"
    " and the first line of a script; for a shell's own words: `--policy \"sh -c '…'\"`"
)


def _how(ended: Exit) -> str:
    if ended.code is not None:
        return f"exit code {ended.code}"
    try:
        return f"ended by {signal.Signals(ended.signal or 0).name}"
    except ValueError:  # a real-time signal
        return f"ended by signal {ended.signal}"


class _Said:
    """What a policy says on both streams: its beginning and its end, redacted before anything is cut off."""

    def __init__(self, redactor: Redactor) -> None:
        self._stdout = _Stream(redactor)
        self._stderr = _Stream(redactor)

    def stdout(self, chunk: bytes) -> None:
        self._stdout.feed(chunk)

    def stderr(self, chunk: bytes) -> None:
        self._stderr.feed(chunk)

    def text(self) -> str:
        """Both, stdout first."""
        parts = (self._stdout.text(), self._stderr.text())
        return "\n".join(part.rstrip("\n") for part in parts if part.strip())


class _Stream:
    """One stream; of what is in the middle only the length is kept."""

    def __init__(self, redactor: Redactor) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._redacting = redactor.stream()
        self._head = ""
        self._tail: deque[str] = deque()
        self._held = 0
        self._left_out = 0

    def feed(self, chunk: bytes) -> None:
        """Take bytes as they arrive."""
        self._keep(self._redacting.feed(self._decoder.decode(chunk)))

    def text(self) -> str:
        """What is kept, with nothing in it that steers a terminal; there is no more to come."""
        self._keep(self._redacting.flush(self._decoder.decode(b"", final=True)))
        tail = "".join(self._tail)
        left_out = self._left_out + max(0, len(tail) - KEPT_CHARACTERS)
        gap = f"\n[{left_out} characters are left out here]\n" if left_out else ""
        return visible((self._head + gap + tail[-KEPT_CHARACTERS:]).replace("\r\n", "\n"))

    def _keep(self, text: str) -> None:
        room = KEPT_CHARACTERS - len(self._head)
        self._head += text[:room]
        if rest := text[room:]:
            self._tail.append(rest)
            self._held += len(rest)
        while self._tail and self._held - len(self._tail[0]) >= KEPT_CHARACTERS:
            self._held -= len(self._tail[0])
            self._left_out += len(self._tail.popleft())
