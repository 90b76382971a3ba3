"""A timeline in a terminal."""

import re

import pytest

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.story import Story
from hereya_tf.report.timeline import Timeline, make_timeline
from hereya_tf.ui.cells import cell_width
from hereya_tf.ui.timeline import timeline_lines
from tests.reports import HOSTILE, Log


def failing(text: str = "") -> Log:
    log = Log(text=text)
    log.add(events.StepFinished("init", ok=True, exit_code=None, seconds=0.0, skipped=True), after=0.0)
    log.add(events.LockWaiting("package", 1, None), after=0.0).add(events.LockAcquired(2.0), after=2.0)
    log.begin("apply").act("net.zone", "create", "started", "completed", seconds=4.0)
    log.act("db.main", "create", "started").act("net.rule", "create", "started", "failed", seconds=2.0)
    return log.end("apply", exit_code=1).fail(FailureClass.PROVIDER_ERROR, "no")


def timeline_of(log: Log, *, is_alive: bool = False) -> Timeline:
    return make_timeline(Story.of(log.records, keep_reads=True), is_alive=is_alive)


def shown(log: Log, width: int | None = 70, **options: bool | int) -> list[str]:
    settings: dict[str, bool | int] = {"color": False, **options}
    return timeline_lines(timeline_of(log), width, **settings)  # type: ignore[arg-type]


def many(number: int) -> Log:
    log = Log().begin("apply")
    for index in range(number):
        log.act(f"a[{index}]", "create", "started", "completed", seconds=0.1 + index / 100)
    return log.end("apply").finish()


def test_a_bar_for_each_part_and_marks_for_those_who_see_no_colours() -> None:
    assert shown(failing()) == [
        "provision of /srv/packages/shop, workspace default: failed",
        "in all 11s, waiting 2.0s, apply 7.0s, on the critical path 7.0s",
        "",
        "                                0s                                 11s",
        "  package lock            2.0s  ·······",
        "  init (not needed)",
        "✗ apply (exit code 1)     7.0s            ━━━━━━━━━━━━━━━━━━━━━━━━✗",
        "→   net.zone create       4.0s            ━━━━━━━━━━━━━━",
        "…   db.main create        3.0s                          ━━━━━━━━━━…",
        "✗   net.rule create       2.0s                          ──────✗",
        "",
        "→ critical path   ✗ failed   … unfinished",
        "The critical path is inferred from the times, for no engine tells what",
        "waits for what: in each step it goes back from what ended last, each",
        "time to what had ended last when that began",
    ]


def test_an_ascii_terminal_gets_ascii_only() -> None:
    lines = shown(failing(), ascii_only=True)

    assert "\n".join(lines).isascii()
    assert [line[:2].strip() for line in lines[4:10]] == ["", "", "x", ">", "~", "x"]


def test_without_colour_there_is_no_escape_and_with_it_the_same_text() -> None:
    plain, coloured = shown(failing()), shown(failing(), color=True)

    assert "\x1b" not in "".join(plain)
    assert [re.sub(r"\x1b\[[\d;]*m", "", line).rstrip() for line in coloured] == plain
    assert any("\x1b[31m" in line for line in coloured)


@pytest.mark.parametrize("width", [1, 20, 30, 40, 50, 80, 100, 250, None])
@pytest.mark.parametrize("text", ["", HOSTILE], ids=["plain", "hostile"])
def test_every_line_fits(width: int | None, text: str) -> None:
    room = 100 if width is None else max(20, width)

    for line in shown(failing(text), width):
        assert cell_width(line) <= room
        assert not re.search(r"[\x00-\x1f\x7f-\x9f]", line)


def test_a_narrow_terminal_has_names_and_times_and_no_bars() -> None:
    lines = shown(failing(), 34)

    assert "━" not in "".join(lines)
    assert "→   net.zone create           4.0s" in lines


def test_of_many_resources_the_longest_are_shown_and_the_rest_counted() -> None:
    lines = shown(many(2000), most=3)

    rows = [line for line in lines if " a[" in line]
    assert [row.split()[1] for row in rows] == ["a[1997]", "a[1998]", "a[1999]"]
    assert "    and 1,997 more, none longer than 20s" in lines


def test_what_failed_is_shown_however_short_it_was() -> None:
    log = Log().begin("apply").act("quick", "create", "started", "failed", seconds=0.01)
    for index in range(20):
        log.act(f"a[{index}]", "create", "started", "completed")

    assert any(line.startswith("✗   quick create") for line in shown(log.end("apply"), most=2))


def test_the_path_is_explained_where_there_is_one() -> None:
    explained = "The critical path is inferred from the times"

    assert explained in " ".join(shown(failing()))
    assert explained not in " ".join(shown(Log().begin("init").end("init")))


def test_a_run_that_goes_on_says_so() -> None:
    log = Log().begin("apply").act("a", "create", "started").add(events.Heartbeat("apply", 1.0, ()))
    lines = timeline_lines(timeline_of(log, is_alive=True), 80, color=False)

    assert lines[0] == "provision of /srv/packages/shop, workspace default: running"
    assert "The run goes on: this is how far it had come" in lines
    assert lines[5].endswith("━…")


def test_an_empty_timeline_has_lines_too() -> None:
    assert timeline_lines(make_timeline(Story()), 80, color=True)[1:3] == ["in all 0ms", ""]


def test_what_was_left_out_is_counted() -> None:
    lines = timeline_lines(timeline_of(failing())._replace(left_out=1234), 80, color=False)

    assert lines[-1] == "1,234 actions more are in the log only"
