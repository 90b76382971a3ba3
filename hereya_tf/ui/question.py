"""The question before infrastructure changes, on a terminal."""

import contextlib
import os
from collections.abc import Callable

from hereya_tf.events import Operation, Question
from hereya_tf.ui.plain import visible

_STDIN = 0
_LONGEST_ANSWER_BYTES = 4096


def ask(question: Question, pause: Callable[..., None], *, say: Callable[[str], None]) -> bool:
    """Whether the person at the terminal says yes; `pause(seconds, descriptor)` raises when the run is to end.

    A destroy wants the package's name: `yes` is typed too easily.
    """
    planned = question.planned
    name = question.package.name or str(question.package)
    wanted = name if question.operation is Operation.DESTROY else "yes"
    _forget_what_was_typed()
    counts = f"{planned.add} to add, {planned.change} to change, {planned.destroy} to destroy"
    say(f"\nPlan for {visible(name)}: {counts}\n")
    if question.operation is Operation.DESTROY:
        say(f"Type the package's name, `{visible(name)}`, to destroy it: ")
    else:
        say("Type `yes` to do it: ")
    return _answer(pause) == wanted


def _forget_what_was_typed() -> None:
    """An answer that was given before the question, and so before the plan was shown, is none."""
    import termios

    with contextlib.suppress(termios.error):
        termios.tcflush(_STDIN, termios.TCIFLUSH)


def _answer(pause: Callable[..., None]) -> str:
    """One line from the terminal; its end without a line is an answer too: no."""
    answer = b""
    while b"\n" not in answer and len(answer) < _LONGEST_ANSWER_BYTES:
        piece = _read_ready(pause)
        if not piece:
            break
        answer += piece
    return answer.decode("utf-8", "replace").strip()


def _read_ready(pause: Callable[..., None]) -> bytes:
    import select

    while not select.select([_STDIN], [], [], 0)[0]:
        pause(1.0, _STDIN)
    try:
        return os.read(_STDIN, 1024)
    except OSError:  # the terminal is gone
        return b""
