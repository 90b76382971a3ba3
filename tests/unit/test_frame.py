"""The region below the story: where the run stands, in few rows, none wider than the screen."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.ui.frame import frame
from hereya_tf.ui.progress import Progress
from hereya_tf.ui.styled import Style, encoded, width_of

BEGAN = 1_800_000_000.0
STARTED = events.RunStarted("provision", "shop", "default", "/shop#default", 7, "1.0")
NETWORK = 'module.network.module.subnets["eu-west-1a"].aws_subnet.private["東京"]'
HOLDER = events.HolderInfo("20270115T075900Z-aa", 12, "ci-7", "destroy", events.timestamp(BEGAN - 120))


def told(*story: Any) -> Progress:
    """What is known after these events; a number is seconds that pass."""
    progress = Progress()
    now = 0.0
    for part in story:
        if isinstance(part, float):
            now += part
        else:
            progress.tell(events.record_of(part, sequence=1, seconds=BEGAN + now, run="r"), now)
    return progress


def rows(progress: Progress, now: float, width: int = 80, height: int = 24) -> list[str]:
    return [encoded(line, color=False) for line in frame(progress, width=width, height=height, now=now)]


def step(name: str) -> events.StepStarted:
    return events.StepStarted(name, 1, ())


def change(address: str, action: str = "create") -> events.ChangeEvent:
    return events.ChangeEvent(address, action, None)


def acts(address: str, status: str = "started", action: str = "create") -> events.ResourceEvent:
    return events.ResourceEvent(address, action, status, None, None)


APPLYING: tuple[Any, ...] = (
    STARTED,
    step("apply"),
    *(change(f"aws_instance.web[{number}]") for number in range(4)),
    change(NETWORK),
    change("aws_db_instance.orders", "update"),
    change("aws_vpc.old", "delete"),
    change("aws_eip.kept", "import"),
    1.0,
    acts("aws_instance.web[0]"),
    acts(NETWORK),
    1.0,
    acts("aws_db_instance.orders", action="update"),
    acts("aws_vpc.old", action="delete"),
    1.0,
    acts("aws_instance.web[0]", "completed"),
    acts("aws_instance.web[1]"),
    acts("aws_instance.web[1]", "failed"),
)


def test_what_is_in_flight_and_for_how_long_what_is_done_and_what_waits() -> None:
    assert rows(told(*APPLYING), 66.0) == [
        "",
        "  1m06s  provision shop · workspace default · applying",
        "         ━━──────────────────  1 of 7 done · 1 failed · 3 in flight · 2 waiting",
        '  1m05s  + creating   module.network.module.…st-1a"].aws_subnet.private["東京"]',
        "  1m04s  ~ updating   aws_db_instance.orders",
        "  1m04s  - destroying aws_vpc.old",
    ]


def test_on_a_narrow_screen_words_give_way_to_addresses() -> None:
    assert rows(told(*APPLYING), 6.0, width=40) == [
        "",
        "     6s  provision shop · applying",
        "  1 of 7 done · 1 failed · 3 in flight…",
        '     5s  + module.net…t.private["東京"]',
        "     4s  ~ aws_db_instance.orders",
        "     4s  - aws_vpc.old",
    ]


def test_on_a_wide_screen_nothing_is_left_out() -> None:
    assert rows(told(*APPLYING), 6.0, width=200)[2:4] == [
        "         ━━━━──────────────────────────  1 of 7 done · 1 failed · 3 in flight · 2 waiting",
        f"     5s  + creating   {NETWORK}",
    ]


@pytest.mark.parametrize(
    ("height", "expected"),
    [
        (1, []),
        (2, ["     6s  provision shop · workspace default · applying"]),
        (3, ["     6s  provision shop · workspace default · applying", "1 of 7 done"]),
        (4, ["", "     6s  provision shop · workspace default · applying", "1 of 7 done"]),
        (5, ["", "     6s  provision shop · workspace default · applying", "1 of 7 done", "and 3 more"]),
    ],
)
def test_on_a_low_screen_the_header_stays_longest(height: int, expected: list[str]) -> None:
    shown = rows(told(*APPLYING), 6.0, height=height)

    assert len(shown) == len(expected) < max(2, height)
    assert all(part in line for part, line in zip(expected, shown, strict=True))


def test_of_many_in_flight_those_that_last_longest_are_shown() -> None:
    story: list[Any] = [STARTED, step("plan")]
    for number in range(40):
        story += [acts(f"aws_instance.web[{number}]", action="refresh"), 1.0]
    shown = rows(told(*story), 40.0, height=16)

    assert shown == [
        "",
        "    40s  provision shop · workspace default · planning",
        *(f"    {40 - number}s  · refreshing aws_instance.web[{number}]" for number in range(7)),
        "         and 33 more",
    ]


def test_before_anything_is_planned_what_was_refreshed_is_counted() -> None:
    story = [STARTED, step("plan"), acts("a.b", action="refresh"), acts("a.b", "completed", "refresh")]

    assert rows(told(*story), 1.0)[1:] == [
        "     1s  provision shop · workspace default · planning",
        "         1 refreshed",
    ]


def test_a_replaced_resource_is_done_when_both_halves_are() -> None:
    replaced = [STARTED, step("apply"), change("a.b", "replace"), change("a.c")]
    destroyed = [*replaced, acts("a.b", action="delete"), acts("a.b", "completed", "delete")]
    created = [*destroyed, acts("a.b"), acts("a.b", "completed")]

    assert "0 of 2 done · 2 waiting" in rows(told(*destroyed), 1.0)[2]
    assert "1 of 2 done · 1 waiting" in rows(told(*created), 1.0)[2]


def test_what_nobody_has_planned_counts_when_it_is_done() -> None:
    deposed = [STARTED, step("apply"), acts("a.b", action="delete"), acts("a.b", "completed", "delete")]

    assert "1 of 1 done" in rows(told(*deposed), 1.0)[2]


def test_an_apply_says_for_itself_what_it_does() -> None:
    story = [STARTED, step("plan"), change("a.b"), events.StepFinished("plan", True, 0, 1.0, False)]

    assert rows(told(*story), 1.0) == ["", "     1s  provision shop · workspace default · starting"]
    assert "of 1 done" in rows(told(*story, step("apply"), change("a.b"), acts("a.b")), 1.0)[2]


def test_init_shows_the_last_thing_it_said() -> None:
    story = [STARTED, step("init"), events.LogEvent("stdout", "\n- Installing hashicorp/aws v5.1\n\n")]

    assert rows(told(*story), 3.0)[1:] == [
        "     3s  provision shop · workspace default · initialising",
        "         - Installing hashicorp/aws v5.1",
    ]


def test_a_lock_that_somebody_has() -> None:
    waiting = [STARTED, events.LockWaiting("workspace", 3, HOLDER)]

    assert rows(told(*waiting), 10.0) == [
        "",
        "    10s  provision shop · workspace default · waiting for the workspace lock",
        "         held for 2m10s by destroy of run 20270115T075900Z-aa",
        "         pid 12 on ci-7; 2 more ahead of this run",
    ]
    assert rows(told(STARTED, events.LockWaiting("package", 1, None)), 1.0)[2:] == [
        "         held by somebody; next in line"
    ]
    assert rows(told(*waiting, events.LockAcquired(10.0)), 10.0)[1:] == [
        "    10s  provision shop · workspace default · starting"
    ]


@pytest.mark.parametrize("since", ["", "yesterday", "2027-01-15T08:00:00"])
def test_a_holder_that_does_not_say_since_when(since: str) -> None:
    waiting = events.LockWaiting("package", 1, HOLDER._replace(since=since))

    assert rows(told(STARTED, waiting), 0.0)[2] == "         held by destroy of run 20270115T075900Z-aa"


@pytest.mark.parametrize(
    ("total", "expected"),
    [
        (28_000_000, "         ━━━━━━━━━━━━━━━───────────────  14.0 of 28.0 MB"),
        (None, "         14.0 MB"),
    ],
)
def test_an_engine_on_its_way(total: int | None, expected: str) -> None:
    download = events.EngineDownload("terraform", "1.15.5", 14_000_000, total)
    story = [STARTED, download]

    assert rows(told(*story), 2.0)[1:] == [
        "     2s  provision shop · workspace default · downloading terraform 1.15.5",
        expected,
    ]
    ready = events.EngineReady("terraform", "1.15.5", "/e", "found on PATH")
    assert len(rows(told(*story, ready), 2.0)) == 2


def cancelling(reason: str = "signal", signal: str = "SIGINT") -> events.Cancelling:
    return events.Cancelling(reason, signal, 60.0)


def test_ctrl_c_says_what_happens_and_what_a_second_one_would_cost() -> None:
    assert rows(told(*APPLYING, cancelling()), 13.0)[:4] == [
        "",
        "    13s  provision shop · workspace default · stopping",
        "         ! the engine gets up to 50s more for what is in flight",
        "         ! a second Ctrl-C ends it at once: the 3 resources in flight would not",
    ]
    assert rows(told(*APPLYING, cancelling()), 13.0)[4] == "           be in the state"


def test_a_grace_that_is_over_is_not_negative() -> None:
    assert "up to 0s more" in rows(told(*APPLYING, cancelling()), 300.0)[2]


@pytest.mark.parametrize("reason", ["timeout", "idle", "request"])
def test_who_did_not_press_ctrl_c_is_not_told_of_a_second_one(reason: str) -> None:
    shown = rows(told(*APPLYING, cancelling(reason)), 4.0)

    assert "! the engine gets up to 59s more for what is in flight" in shown[2]
    assert "Ctrl-C" not in "".join(shown)


def test_nothing_in_flight_is_nothing_to_lose() -> None:
    assert rows(told(STARTED, step("plan"), acts("a.b", action="read"), cancelling()), 4.0)[2:] == [
        "         ! nothing is being changed, so nothing can be lost",
        "     4s  · reading    a.b",
    ]
    done = [STARTED, step("apply"), acts("a.b"), acts("a.b", "completed"), cancelling()]
    assert "Ctrl-C" not in "".join(rows(told(*done), 4.0))


def test_after_the_second_ctrl_c_what_it_costs_is_said() -> None:
    insisted = [*APPLYING, cancelling(), cancelling()]
    one = [STARTED, step("apply"), acts("a.b"), cancelling(), cancelling()]

    assert rows(told(*insisted), 4.0)[2:4] == [
        "         ! told to end at once: the 3 resources in flight may exist and not be",
        "           in the state",
    ]
    assert "the resource in flight may exist" in rows(told(*one), 4.0)[2]
    assert rows(told(STARTED, step("plan"), cancelling(), cancelling()), 4.0)[2:] == [
        "         ! told to end at once"
    ]
    assert rows(told(*insisted, cancelling(signal="SIGKILL")), 4.0)[2] == (
        "         ! the engine did not end and is killed"
    )


def test_the_cost_of_a_second_ctrl_c_has_room_on_a_small_screen() -> None:
    shown = " ".join(" ".join(rows(told(*APPLYING, cancelling()), 4.0, width=40, height=12)).split())

    assert "a second Ctrl-C ends it at once: the 3 resources in flight would not be in the state" in shown


def test_when_the_run_is_over_there_is_no_region() -> None:
    progress = told(*APPLYING)
    progress.is_over = True

    assert rows(progress, 6.0) == []


def test_failures_are_red_and_what_is_destroyed_too() -> None:
    pieces = {
        piece.text: piece.style
        for line in frame(told(*APPLYING), width=80, height=24, now=6.0)
        for piece in line
    }

    assert pieces["1 failed"] is Style.BOLD_RED
    assert pieces["- destroying "] is Style.RED


def test_hostile_text_steers_nothing() -> None:
    started = STARTED._replace(package="\x1b[2J", workspace="\n\r")
    story = [started, step("\x1b"), acts("a\x1b[1m\n", action="\x07"), events.LogEvent("stdout", "\x1b[H")]

    text = "".join(rows(told(*story), 1.0, width=200))
    assert not any(character < " " or "\x7f" <= character < "\xa0" for character in text)


ADDRESSES = st.text(st.sampled_from('ab.["]漢🎉\u0301\u200d\x1b\n'), min_size=1, max_size=80)


@given(
    st.lists(st.tuples(ADDRESSES, st.sampled_from(["create", "delete", "read", "x"])), max_size=30),
    st.lists(
        st.sampled_from([cancelling(), events.LockWaiting("package", 9, HOLDER), step("apply")]), max_size=3
    ),
    st.integers(1, 130),
    st.integers(1, 60),
)
def test_the_region_never_fills_the_screen(
    flights: list[tuple[str, str]], more: list[Any], width: int, height: int
) -> None:
    story = [STARTED, step("apply"), *(acts(address, action=action) for address, action in flights), *more]
    lines = frame(told(*story), width=width, height=height, now=5.0)

    assert len(lines) <= max(0, height - 1)
    assert all(width_of(line) < width for line in lines)
