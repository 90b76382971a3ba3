"""What a person sees while a run goes on: a story that stays, below it one region, never any garbage."""

import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.ui.live import LiveView, size_of
from hereya_tf.ui.narrative import Moment, Narrative
from hereya_tf.ui.outlet import Outlet
from hereya_tf.ui.progress import Progress
from hereya_tf.ui.styled import encoded
from tests.screen import Screen
from tests.unit.test_narrative import STARTED, acts, result

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals like these")

STEP = events.StepStarted("apply", 1, ())
HEAD = "provision shop · workspace default · run 20270115T080000Z-bb"


class Stage:
    """A view, the terminal it writes to, and the clock; nothing is real but the pipe between them."""

    def __init__(
        self, width: int = 80, height: int = 24, *, color: bool = False, unicode: bool = True
    ) -> None:
        self._reader, self._writer = os.pipe()
        self.now = 0.0
        self.size = (width, height)
        self.screen = Screen(width, height)
        self.raw = b""
        self._outlet = Outlet(self._writer)
        self.view = LiveView(
            self._outlet, color=color, unicode=unicode, size=lambda: self.size, clock=lambda: self.now
        )

    def tell(self, *story: Any) -> None:
        """Pass events on as a journal does; a number is seconds that pass, in the steps of a run's loop."""
        for part in story:
            if isinstance(part, float):
                self.wait(part)
                continue
            record = events.record_of(part, sequence=1, seconds=self.now, run="20270115T080000Z-bb")
            self.view.write(record, "")
            self.view.flush()

    def wait(self, seconds: float, *, looks: bool = True) -> None:
        for _ in range(round(seconds / 0.02)):
            self.now += 0.02
            self.view.flush()
            if looks:
                self.look()

    def look(self) -> bytes:
        """Let the terminal take what was written."""
        os.set_blocking(self._reader, False)
        taken = b""
        while True:
            try:
                piece = os.read(self._reader, 1 << 16)
            except BlockingIOError:
                break
            taken += piece
            self.view.flush()
        self.raw += taken
        self.screen.feed(taken)
        return taken

    def resize(self, width: int, height: int) -> None:
        self.look()
        self.size = (width, height)
        self.screen.resize(width, height)

    @property
    def rows(self) -> list[str]:
        self.look()
        return self.screen.rows

    def close(self) -> None:
        self._outlet.close()
        os.close(self._reader)
        os.close(self._writer)


@pytest.fixture
def stage() -> Iterator[Stage]:
    made = Stage()
    yield made
    made.close()


@pytest.fixture
def low_stage() -> Iterator[Stage]:
    made = Stage(60, 12)
    yield made
    made.close()


def test_the_story_stays_and_the_region_below_it_is_painted_over(stage: Stage) -> None:
    stage.tell(STARTED, STEP, acts("a.b"), 2.2)
    assert stage.rows == [
        HEAD,
        "",
        "     2s  provision shop · workspace default · applying",
        "         ──────────────────────────────  0 of 1 done · 1 in flight",
        "     2s  + creating   a.b",
    ]

    stage.tell(acts("a.b", "completed"), acts("a.c"), 1.2)
    assert stage.rows == [
        HEAD,
        "   2.2s  ✓ created    a.b",
        "",
        "     3s  provision shop · workspace default · applying",
        "         ━━━━━━━━━━━━━━━───────────────  1 of 2 done · 1 in flight",
        "     1s  + creating   a.c",
    ]


def test_when_the_run_is_over_the_story_is_all_there_is(stage: Stage) -> None:
    stage.tell(STARTED, STEP, acts("a.b"), 2.0, result())

    assert stage.rows == [
        HEAD,
        "  1m05s  ✓ provision of shop succeeded: 2 added, 0 changed, 1 destroyed (1",
        "           replaced)",
    ]
    assert stage.screen.cursor == (4, 0)
    assert not stage.screen.is_cursor_hidden


def test_between_frames_the_cursor_waits_where_nothing_is_written(stage: Stage) -> None:
    stage.tell(STARTED, STEP, 1.0)
    stage.look()

    assert stage.screen.cursor == (1, 0)
    assert stage.rows[1] == ""


def test_an_engine_that_has_just_been_started_is_left_to_start(stage: Stage) -> None:
    stage.tell(STARTED, STEP, 0.12)
    assert stage.rows == [HEAD]

    stage.tell(0.06)
    assert len(stage.rows) == 3


def test_a_run_that_waits_for_a_lock_or_an_engine_shows_it_before_any_step(stage: Stage) -> None:
    stage.tell(STARTED, 5.0)
    assert stage.rows == [HEAD]

    stage.tell(events.LockWaiting("package", 1, None), 1.2)
    assert stage.rows[2:] == [
        "     6s  provision shop · workspace default · waiting for the package lock",
        "         held by somebody; next in line",
    ]


def frames(raw: bytes) -> list[bytes]:
    return re.findall(rb"\x1b\[\?2026h(.*?)\x1b\[\?2026l", raw, re.DOTALL)


def test_a_frame_is_painted_when_something_has_changed_or_a_second_has_passed(stage: Stage) -> None:
    stage.tell(STARTED, STEP, 1.0)
    stage.look()
    stage.raw = b""
    stage.tell(3.0)
    assert len(frames(stage.raw)) == 3

    stage.raw = b""
    for number in range(100):
        stage.tell(acts(f"a.b[{number}]"), 0.02)
    assert 15 <= len(frames(stage.raw)) <= 21


def test_heartbeats_change_nothing(stage: Stage) -> None:
    stage.tell(STARTED, STEP, 1.0)
    stage.look()
    stage.raw = b""
    stage.tell(*[part for _ in range(4) for part in (events.Heartbeat("apply", 1.0, ()), 0.2)])

    assert len(frames(stage.raw)) <= 1


def test_nothing_outlasts_a_frame_and_no_screen_is_cleared(stage: Stage) -> None:
    stage.tell(STARTED, STEP, acts("a.b"), 2.0, acts("a.b", "completed"), 1.0, result())
    stage.look()

    assert b"\x1b[2J" not in stage.raw
    assert b"\x1b[?25" not in stage.raw
    assert b"\x1b[?1049" not in stage.raw
    for frame in frames(stage.raw):
        assert frame.count(b"\x1b[?7l") == frame.count(b"\x1b[?7h") == 1
        assert frame.index(b"\x1b[?7l") < frame.index(b"\x1b[?7h")
    # Where only the region has changed nothing is blank for a moment: each row is written over.
    same = frames(stage.raw)[1]
    assert same.count(b"\x1b[J") == 1
    assert same.index(b"a.b") < same.index(b"\x1b[J")


@pytest.mark.parametrize("echoed", [b"^C", b"\r\n", b"yes\r\n"])
def test_what_a_key_echoes_leaves_no_garbage(stage: Stage, echoed: bytes) -> None:
    stage.tell(STARTED, STEP, acts("a.b"), 1.0)
    stage.look()
    stage.screen.feed(echoed)
    stage.tell(acts("a.b", "completed"), 1.0, acts("a.c"), 1.2)

    typed = [line for line in stage.rows[1:] if line == "yes"]
    story = [line for line in stage.rows if line and line != "yes"]
    assert typed == (["yes"] if b"yes" in echoed else [])
    assert story == [
        HEAD,
        "   1.0s  ✓ created    a.b",
        "     3s  provision shop · workspace default · applying",
        "         ━━━━━━━━━━━━━━━───────────────  1 of 2 done · 1 in flight",
        "     1s  + creating   a.c",
    ]


@pytest.mark.parametrize("size", [(30, 24), (200, 24), (80, 10), (80, 60), (12, 4), (1, 1)])
def test_a_resized_terminal_shows_no_garbage(stage: Stage, size: tuple[int, int]) -> None:
    stage.tell(STARTED, STEP, *(acts(f"aws_instance.web[{number}]") for number in range(30)), 1.4)
    stage.resize(*size)
    painted = len(frames(stage.raw))
    stage.tell(0.2)
    rows = stage.rows
    assert len(frames(stage.raw)) == painted + 1, "a new size is a reason to paint"
    assert len(rows) <= size[1]
    assert sum("shop" in row for row in rows) <= 2

    stage.resize(80, 24)
    stage.tell(0.2, result(changes=events.ChangeCounts()))
    assert [row for row in stage.rows if "web" in row or "applying" in row] == []
    assert stage.rows[-1] == "  1m05s  ✓ provision of shop succeeded: no changes"


def test_a_terminal_that_takes_nothing_gets_no_frames_and_misses_no_line(stage: Stage) -> None:
    stage.tell(STARTED, STEP, 1.0)
    stage.look()
    stage.raw = b""
    number = 0
    while not stage._outlet.is_waiting:
        stage.tell(acts(f"a.b[{number}]", "completed"))
        stage.wait(0.2, looks=False)
        number += 1
        assert number < 5000
    stage.wait(100.0, looks=False)
    for _ in range(3):
        stage.tell(acts(f"a.b[{number}]", "completed"))
        number += 1
    stage.look()
    stage.wait(1.0)

    assert stage.screen.everything[1 : number + 1] == [
        f"         ✓ created    a.b[{index}]" for index in range(number)
    ]
    # One for each line at most: none for the hundred seconds in which nothing was taken.
    assert len(frames(stage.raw)) < number + 10


def test_a_flood_is_handed_over_without_a_region(stage: Stage) -> None:
    stage.tell(STARTED, STEP, 1.0)
    stage.tell(*(acts(f"a.b[{index}]", "completed") for index in range(2500)))
    stage.look()
    assert len(stage.screen.everything) > 2000, "though no frame was due"
    stage.wait(1.2)

    assert stage.screen.everything[1:2501] == [f"         ✓ created    a.b[{index}]" for index in range(2500)]
    assert stage.rows[-2].startswith("     2s  provision shop")


def test_the_region_is_gone_while_somebody_is_asked(stage: Stage) -> None:
    stage.tell(STARTED, events.StepStarted("plan", 1, ()), 1.0)
    stage.view.pause()
    assert stage.rows == [HEAD]

    stage.tell(events.Heartbeat("question", 10.0, ()), 5.0)
    stage.screen.feed(b"Type yes: yes\n")
    stage.view.resume()
    stage.tell(STEP, acts("a.b", "completed"), 1.0)
    assert stage.rows[:5] == [HEAD, "Type yes: yes", "", "         ✓ created    a.b", ""]


def test_a_sentence_of_somebody_elses_stays(stage: Stage) -> None:
    stage.tell(STARTED, STEP, 1.0)
    stage.view.say("warning: a\x1b[2J\nb")
    stage.tell(1.0)

    assert stage.rows[:4] == [HEAD, "warning: a\\x1b[2J", "b", ""]


def test_a_package_is_called_by_the_name_of_its_directory(
    stage: Stage, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "web-shop").mkdir()
    monkeypatch.chdir(tmp_path / "web-shop")
    stage.tell(STARTED._replace(package="."), STEP, 1.0, result(package="."))

    assert stage.rows[0].startswith("provision web-shop ·")
    assert "provision of web-shop succeeded" in stage.rows[1]


def test_without_colours_there_are_no_colours() -> None:
    plain, colored = Stage(), Stage(color=True)
    for stage in (plain, colored):
        stage.tell(STARTED, STEP, acts("a.b"), 1.0, acts("a.b", "failed"), 1.0, result(), 0.1)
        stage.close()

    assert re.findall(rb"\x1b\[[0-9;]*m", plain.raw) == []
    assert set(re.findall(rb"\x1b\[([0-9;]*)m", colored.raw)) <= set(
        b"0 1 2 31 32 33 36 1;31 1;32 1;33".split()
    )
    assert plain.screen.rows == colored.screen.rows


def test_a_terminal_that_has_only_ascii_is_shown_only_ascii() -> None:
    stage = Stage(unicode=False)
    stage.tell(STARTED, STEP, acts("a.b"), acts("a.c"), acts("a.c", "completed"), 1.2)
    stage.close()

    assert stage.raw.isascii()
    assert stage.screen.rows[1:5] == [
        "   0.0s  * created    a.c",
        "",
        "     1s  provision shop - workspace default - applying",
        "         ###############...............  1 of 2 done - 1 in flight",
    ]


ADDRESSES = st.text(st.sampled_from('ab.["]漢é\x1b'), min_size=1, max_size=12)
STORIES = st.lists(
    st.one_of(
        st.builds(acts, ADDRESSES, st.sampled_from(["started", "completed", "failed"])),
        st.sampled_from([0.02, 0.1, 0.3, 1.1]),
        st.sampled_from(["\r\n", "^C"]),
        st.just(events.Cancelling("signal", "SIGINT", 60.0)),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=60)
@given(STORIES, st.integers(6, 30))
def test_whatever_happens_the_story_is_on_the_screen_once(story: list[Any], height: int) -> None:
    stage = Stage(120, height)
    narrative, progress, told = Narrative(), Progress(), []
    for part in (STARTED, STEP, *story, result()):
        if isinstance(part, str):
            stage.look()
            stage.screen.feed(part.encode())
            stage.tell(1.1)
            continue
        if not isinstance(part, float):
            record = events.record_of(part, sequence=1, seconds=0.0, run="20270115T080000Z-bb")
            moment = Moment(stage.now, 120)
            told += [encoded(line, color=False) for line in narrative.lines(record, progress, moment)]
            progress.tell(record, stage.now)
        stage.tell(part)
        stage.look()
    shown = [line.removeprefix("^C") for line in stage.screen.everything if line.removeprefix("^C")]
    stage.close()

    assert shown == [line for line in told if line]


def test_a_terminal_that_does_not_know_its_size_is_taken_for_a_common_one(tmp_path: Any) -> None:
    file = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    mine, theirs = os.openpty()
    assert (size_of(file), size_of(theirs)) == ((80, 24), (80, 24))
    for descriptor in (file, mine, theirs):
        os.close(descriptor)
