"""The question before infrastructure changes, on a terminal (I/O)."""

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

from hereya_tf.events import Operation
from hereya_tf.question import Question
from hereya_tf.ui.plan_table import difference_lines, plan_lines
from hereya_tf.ui.styled import Piece, Style, encoded, line_of
from hereya_tf.words import visible

_STDIN = 0
_LONGEST_ANSWER_BYTES = 4096
# Of the screen: the blank line above the table, the question, and the one that asks once more.
_OTHER_LINES = 4
_FEWEST_LINES = 6


def ask(
    question: Question,
    pause: Callable[..., None],
    *,
    say: Callable[[str], None],
    color: bool = False,
    size: tuple[int, int] | None = None,
) -> bool:
    """Whether the person at the terminal says yes; `pause(seconds, descriptor)` raises when the run is to end.

    A destroy wants the package's name: `yes` is typed too easily. `size` is columns and rows of the screen.
    """
    name = name_of(question.package)
    is_destroy = question.operation is Operation.DESTROY
    wanted = name if is_destroy else "yes"
    _forget_what_was_typed()
    say("".join(f"{line}\n" for line in shown(question, color=color, size=size)))
    shown_name = encoded(line_of("`", Piece(visible(name), Style.BOLD), "`"), color=color)
    if is_destroy:
        say(f"Type the package's name, {shown_name}, to destroy it: ")
    else:
        say("Type `yes` to do it: ")
    answer = _answer(pause, say)
    if is_close(answer, wanted):
        _forget_what_was_typed()
        it = (
            f"the package's name in full, {shown_name}, to destroy it"
            if is_destroy
            else "`yes` in full to do it"
        )
        say(f"Nothing has been done yet: type {it}: ")
        answer = _answer(pause, say)
    return answer == wanted


def shown(question: Question, *, color: bool, size: tuple[int, int] | None) -> list[str]:
    """What is decided on: the engine's own words, then as much of the table as fits above the question."""
    if question.lines:
        return ["", *(visible(line) for line in question.lines), ""]
    width, height = size or (None, None)
    difference = difference_lines(question.difference, color=color) if question.difference.strip() else []
    table = plan_lines(
        question.changes,
        question.planned,
        width=None if width is None else width - 1,
        height=None if height is None else max(_FEWEST_LINES, height - _OTHER_LINES),
        color=color,
        title=f"Plan for {name_of(question.package)}",
    )
    return ["", *difference, *([""] if difference else []), *table]


def is_close(answer: str, wanted: str) -> bool:
    """Whether it was most likely meant as a yes, and is none."""
    text = answer.casefold()
    return answer != wanted and (text.startswith("y") or text.strip("`'\"") == wanted.casefold())


def name_of(package: Path) -> str:
    """What people call a package: its directory, also where `.` was given; a link has its own name."""
    return os.path.basename(os.path.abspath(package)) or str(package)  # noqa: PTH100, PTH119 - links stay


def _forget_what_was_typed() -> None:
    """An answer that was given before the question, and so before the plan was shown, is none."""
    import termios

    with contextlib.suppress(termios.error):
        termios.tcflush(_STDIN, termios.TCIFLUSH)


def _answer(pause: Callable[..., None], say: Callable[[str], None]) -> str:
    """One line from the terminal; its end without a line is an answer too: no."""
    answer = b""
    try:
        while b"\n" not in answer and len(answer) < _LONGEST_ANSWER_BYTES:
            piece = _read_ready(pause)
            if not piece:
                break
            answer += piece
    finally:
        if b"\n" not in answer:
            say("\n")  # nobody else has ended the line of the question
    return answer.decode("utf-8", "replace").strip()


def _read_ready(pause: Callable[..., None]) -> bytes:
    import select

    while not select.select([_STDIN], [], [], 0)[0]:
        pause(1.0, _STDIN)
    try:
        return os.read(_STDIN, 1024)
    except OSError:  # the terminal is gone
        return b""
