"""Nothing is changed unless the person at the terminal says so, in so many words."""

import os
import pty
import select
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hereya_tf.errors import Cancelled
from hereya_tf.events import ChangeCounts, ChangeEvent, Operation
from hereya_tf.question import Question
from hereya_tf.supervision.interrupt import Interrupt, Reason
from hereya_tf.ui.question import ask, shown

pytestmark = pytest.mark.timeout(60)

PROVISION = Question(
    Operation.PROVISION, Path("/packages/web-shop"), ChangeCounts(add=3, change=2, destroy=1)
)
DESTROY = PROVISION._replace(operation=Operation.DESTROY)


class Person:
    """Sits at the other end of stdin; answers as soon as there is a question."""

    def __init__(self, mine: int, theirs: int) -> None:
        self._mine = mine
        self._theirs = theirs
        self.interrupt = Interrupt()
        self.seen = ""
        self.pauses = 0
        self.is_colored = False
        self._answers: list[bytes] = []

    def types(self, *answers: bytes) -> "Person":
        """What is typed, piece by piece; an empty piece hangs up."""
        self._answers = list(answers)
        return self

    def types_now(self, text: bytes) -> None:
        os.write(self._mine, text)

    def hang_up(self) -> None:
        if self._mine >= 0:
            os.close(self._mine)
            self._mine = -1

    def is_asked(self, question: Question) -> bool:
        return ask(question, self._pause, say=self._say, color=self.is_colored)

    def _say(self, text: str) -> None:
        self.seen += text

    def _pause(self, seconds: float, *descriptors: int) -> None:
        """As a run does it; and the person's turn."""
        self.pauses += 1
        if self._answers:
            answer = self._answers.pop(0)
            if answer:
                self.types_now(answer)
            else:
                self.hang_up()
        self.interrupt.wait(seconds, *descriptors)
        self.interrupt.check()

    def close(self) -> None:
        self.hang_up()
        os.close(self._theirs)


def seated(mine: int, theirs: int) -> Iterator[Person]:
    kept = os.dup(0)
    os.dup2(theirs, 0)
    made = Person(mine, theirs)
    yield made
    os.dup2(kept, 0)
    os.close(kept)
    made.close()


@pytest.fixture(params=["terminal", "pipe"])
def person(request: pytest.FixtureRequest) -> Iterator[Person]:
    if request.param == "terminal":
        mine, theirs = pty.openpty()
    else:
        theirs, mine = os.pipe()
    yield from seated(mine, theirs)


@pytest.fixture
def at_a_terminal() -> Iterator[Person]:
    yield from seated(*pty.openpty())


def test_what_is_asked_before_a_provision(person: Person) -> None:
    assert person.types(b"yes\n").is_asked(PROVISION)
    assert person.seen == "\nPlan for web-shop: 3 to add, 2 to change, 1 to destroy\nType `yes` to do it: "


def test_what_is_asked_before_a_destroy(person: Person) -> None:
    assert person.types(b"web-shop\n").is_asked(DESTROY)
    assert person.seen == (
        "\nPlan for web-shop: 3 to add, 2 to change, 1 to destroy\n"
        "Type the package's name, `web-shop`, to destroy it: "
    )


def test_a_name_cannot_steer_the_terminal(person: Person) -> None:
    assert not person.types(b"\n").is_asked(DESTROY._replace(package=Path("/packages/a\x1b[2J")))
    assert "\x1b" not in person.seen
    assert "\nPlan for a\\x1b[2J: 3 to add" in person.seen
    assert "`a\\x1b[2J`, to destroy it" in person.seen


def test_a_package_without_a_name_is_not_destroyed_by_an_empty_answer(person: Person) -> None:
    assert not person.types(b"\n").is_asked(DESTROY._replace(package=Path("/")))
    assert "Type the package's name, `/`, to destroy it: " in person.seen


@pytest.mark.parametrize(
    "answer",
    [
        b"\n",
        b"no\n",
        b"web-shop\n",
        b"sure\n",
        b"\xff\xfe\n",
        b"\x00yes\n",
    ],
)
def test_anything_else_is_no(person: Person, answer: bytes) -> None:
    assert not person.types(answer).is_asked(PROVISION)


@pytest.mark.parametrize("answer", [b"y\n", b"YES\n", b"yes please\n", b"yess\n", b"ye\n", b"'yes'\n"])
def test_who_almost_says_yes_is_asked_once_more(person: Person, answer: bytes) -> None:
    assert person.types(answer, b"yes\n").is_asked(PROVISION)
    assert person.seen.endswith(
        "Type `yes` to do it: Nothing has been done yet: type `yes` in full to do it: "
    )


def test_who_almost_says_yes_twice_says_no(person: Person) -> None:
    assert not person.types(b"y\n", b"Yes\n").is_asked(PROVISION)


@pytest.mark.parametrize("answer", [b"yes\n", b"Web-Shop\n", b"`web-shop`\n"])
def test_who_almost_names_the_package_is_asked_once_more(person: Person, answer: bytes) -> None:
    assert person.types(answer, b"web-shop\n").is_asked(DESTROY)
    assert person.seen.endswith(
        "Nothing has been done yet: type the package's name in full, `web-shop`, to destroy it: "
    )
    assert not person.types(answer, b"yes\n").is_asked(DESTROY)


@pytest.mark.parametrize("answer", [b"web\n", b"/packages/web-shop\n"])
def test_a_destroy_wants_the_name_and_nothing_else(person: Person, answer: bytes) -> None:
    assert not person.types(answer).is_asked(DESTROY)


def test_what_is_decided_on_is_shown_first(person: Person) -> None:
    changes = (ChangeEvent("a.new", "create", None), ChangeEvent("a.old\x1b[2J", "delete", None))
    question = PROVISION._replace(
        planned=ChangeCounts(add=1, destroy=1), changes=changes, difference='\n  # a.new\n  + x = "\x1b[2J"\n'
    )
    assert person.types(b"yes\n").is_asked(question)
    assert person.seen == (
        "\n"
        "  # a.new\n"
        '  + x = "\\x1b[2J"\n'
        "\n"
        "    - destroy  a.old\\x1b[2J\n"
        "    + create   a.new\n"
        "\n"
        "Plan for web-shop: 1 to add, 0 to change, 1 to destroy\n"
        "Type `yes` to do it: "
    )


@pytest.mark.parametrize(("height", "rows"), [(24, 17), (50, 43), (5, 3)])
def test_the_table_leaves_room_for_the_question(height: int, rows: int) -> None:
    changes = tuple(ChangeEvent(f"a.b[{number}]", "create", None) for number in range(2000))
    question = PROVISION._replace(planned=ChangeCounts(add=2000), changes=changes)
    lines = shown(question, color=False, size=(80, height))

    assert sum("+ create" in line for line in lines) == rows
    # With the question itself, and with another one.
    assert len(lines) + 2 <= max(9, height)


def test_what_destroys_and_what_is_to_be_typed_stand_out() -> None:
    theirs, mine = os.pipe()
    for made in seated(mine, theirs):
        made.is_colored = True
        assert made.types(b"web-shop\n").is_asked(DESTROY)
        assert "\x1b[1;31m1 to destroy\x1b[0m" in made.seen
        assert made.seen.endswith("Type the package's name, `\x1b[1mweb-shop\x1b[0m`, to destroy it: ")


def test_a_package_that_was_given_as_here_has_its_name(
    person: Person, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "releases/7").mkdir(parents=True)
    (tmp_path / "current").symlink_to("releases/7")
    monkeypatch.chdir(tmp_path / "releases")

    assert not person.types(b".\n").is_asked(DESTROY._replace(package=Path()))
    assert person.types(b"releases\n").is_asked(DESTROY._replace(package=Path()))
    assert person.types(b"current\n").is_asked(DESTROY._replace(package=Path("../current")))


def test_the_line_of_a_question_that_nobody_answers_is_ended(person: Person) -> None:
    assert not person.types(b"").is_asked(PROVISION)
    assert person.seen.endswith("Type `yes` to do it: \n")


def test_white_space_around_the_answer_is_nothing(person: Person) -> None:
    assert person.types(b"  yes \t\n").is_asked(PROVISION)


def test_an_answer_may_come_in_pieces(person: Person) -> None:
    assert person.types(b"ye", b"s\n").is_asked(PROVISION)


def test_the_end_of_input_is_no(person: Person) -> None:
    assert not person.types(b"").is_asked(PROVISION)


def test_a_terminal_that_cannot_be_read_any_more_is_no() -> None:
    theirs, mine = pty.openpty()  # this end fails when the other one is closed
    for made in seated(mine, theirs):
        assert not made.types(b"").is_asked(PROVISION)


def test_half_an_answer_before_a_pipe_ends_counts_as_what_it_says() -> None:
    theirs, mine = os.pipe()
    for made in seated(mine, theirs):
        assert made.types(b"yes", b"").is_asked(PROVISION)


def test_an_endless_answer_ends(person: Person) -> None:
    assert not person.types(*[b"yes" * 300 + b"\n"] * 3, b"").is_asked(PROVISION)


def test_an_endless_line_in_a_pipe_ends() -> None:
    theirs, mine = os.pipe()
    for made in seated(mine, theirs):
        assert not made.types(b"y" * 20_000).is_asked(PROVISION)


def test_what_was_typed_before_the_question_is_no_answer(at_a_terminal: Person) -> None:
    """Before the plan could be seen."""
    at_a_terminal.types_now(b"yes\n")
    assert select.select([0], [], [], 10)[0]

    assert not at_a_terminal.types(b"no\n").is_asked(PROVISION)


def test_who_interrupts_is_not_asked_any_longer(person: Person) -> None:
    timer = threading.Timer(0.2, person.interrupt.ask, (Reason.SIGNAL, signal.SIGINT))
    timer.start()
    with pytest.raises(Cancelled, match="the run was cancelled by SIGINT"):
        person.is_asked(PROVISION)
    timer.join()


def test_while_nobody_answers_the_run_gets_its_turn(person: Person) -> None:
    """For heartbeats, and for a request to end that comes as a file."""
    person.types(b"ye", b"s\n").is_asked(PROVISION)

    assert person.pauses >= 2
