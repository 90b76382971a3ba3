"""A timeline as a page: a table that reads without a script, with a bar in each row."""

import re
from collections.abc import Sequence

import pytest

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.story import Story
from hereya_tf.report.timeline import Timeline, make_timeline
from hereya_tf.report.timeline_html import timeline_page
from tests.html_pages import Page, digest, policy_of
from tests.reports import HOSTILE, Log


def eventful(text: str = "") -> Log:
    """A run that waited, tried twice, and failed with one resource unfinished."""
    holder = events.HolderInfo(f"run-2{text}", 2, "host", f"destroy{text}", "2026-11-30T01:00:00.000Z")
    log = (
        Log(text=text).add(events.LockWaiting("package", 1, holder)).add(events.LockAcquired(2.0), after=2.0)
    )
    log.add(events.EngineReady("terraform", f"1.11.4{text}", "/usr/bin/terraform", "on PATH"))
    log.begin("init").end("init", exit_code=1).begin("init", attempt=2).end("init").begin("apply")
    log.act("net.zone", "refresh", "started", "completed", seconds=0.5)
    log.act("net.zone", "create", "started", "completed", seconds=4.0)
    log.act("db.main", "create", "started").act("net.rule", "create", "started", "failed", seconds=3.0)
    return log.end("apply", exit_code=1).fail(FailureClass.PROVIDER_ERROR, "no")


def timeline_of(log: Log, *, is_alive: bool = False) -> Timeline:
    return make_timeline(Story.of(log.records, keep_reads=True), is_alive=is_alive)


def page_of(log: Log) -> Page:
    return Page(timeline_page(timeline_of(log)))


def rows_of(page: Page) -> list[str]:
    return [attributes["class"] for attributes in page.all("tr")[1:]]


def bars_of(text: str) -> Sequence[tuple[str, str]]:
    return re.findall(r'<svg><rect x="([\d.]+)%" width="([\d.]+)%"', text)


def test_each_part_is_a_row_with_its_times() -> None:
    page = page_of(eventful())

    cells = [text for text in page.text("td") if text]
    assert page.text("th")[4:] == [
        "engine terraform 1.11.4",
        "package lock held by run run-2 (destroy)",
        "init failed exit code 1",
        "init attempt 2",
        "apply failed exit code 1",
        "net.zone refresh critical path",
        "net.zone create critical path",
        "db.main create unfinished critical path",
        "net.rule create failed",
    ]
    assert cells == [
        *("0ms", "0.5s", "1.0s", "2.0s", "5.0s", "1.0s", "7.0s", "1.0s", "9.0s", "8.5s", "9.0s", "0.5s"),
        *("9.5s", "4.0s", "14s", "4.0s", "14s", "3.0s"),
    ]


def test_what_a_row_is_can_be_seen() -> None:
    assert rows_of(page_of(eventful())) == [
        *("step wait", "step wait", "step failed", "step", "step failed"),
        *("path read", "path", "path unfinished", "failed"),
    ]


def test_bars_lie_where_their_times_are() -> None:
    log = Log().begin("apply").act("a", "create", "started", "completed", seconds=5.0)
    log.act("b", "create", "started", "completed", seconds=0.0).add(
        events.Heartbeat("apply", 1.0, ()), after=4.0
    )

    assert bars_of(timeline_page(timeline_of(log))) == [
        *(("10.0000", "90.0000"), ("10.0000", "50.0000"), ("60.0000", "0.0100")),
    ]


def test_numbers_at_the_top_say_where_the_time_went() -> None:
    page = page_of(eventful())

    assert list(zip(page.text("dt"), page.text("dd"), strict=True)) == [
        *(("in all", "18s"), ("engine", "0.5s"), ("waiting", "2.0s"), ("init", "2.0s"), ("apply", "8.5s")),
        ("on the critical path", "8.5s"),
    ]
    assert "3 resources" in page.text("header")[0]
    assert "at most 2 at once" in page.text("header")[0]


def test_the_page_says_what_the_critical_path_is() -> None:
    assert "The critical path is inferred from the times" in page_of(eventful()).text("main")[0]


@pytest.mark.parametrize("text", ["", HOSTILE], ids=["plain", "hostile"])
def test_the_page_is_sound_and_stands_alone(text: str) -> None:
    written = timeline_page(timeline_of(eventful(text)))
    page = Page(written)

    assert page.dangers == []
    assert len(page.text("script")) == len(page.text("style")) == len(page.text("h1")) == 1
    assert page.all("html") == [{"lang": "en"}]
    assert policy_of(written)["script-src"] == digest(page.text("script")[0])
    assert policy_of(written)["style-src"] == digest(page.text("style")[0])
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", written)
    written.encode()


def test_the_script_is_the_same_whatever_the_run() -> None:
    pages = page_of(eventful()), page_of(eventful(HOSTILE)), page_of(Log())

    assert len({page.text("script")[0] for page in pages}) == 1


def test_without_a_script_there_is_nothing_that_needs_one() -> None:
    page = page_of(eventful())

    waiting = [attributes for _, attributes in page.tags if "data-script" in attributes]
    assert len(waiting) == 2
    assert all("hidden" in attributes for attributes in waiting)


def test_every_field_has_a_label_and_every_column_a_header() -> None:
    page = page_of(eventful())

    assert [text.split("\n")[0] for text in page.text("label")] == [
        "Filter",
        "Showeverything",
        "Zoom tothe whole run",
    ]
    assert [attributes["scope"] for attributes in page.all("th")] == ["col"] * 4 + ["row"] * 9
    assert page.text("caption") == ["Steps and resources in the order they began"]


def test_what_can_be_zoomed_to_is_what_took_time_and_is_no_resource() -> None:
    page = page_of(eventful())

    assert [
        (attributes["value"], text)
        for attributes, text in zip(page.all("option"), page.text("option"), strict=True)
    ][4:] == [
        *(("", "the whole run"), ("0", "engine"), ("1", "package lock"), ("2", "init")),
        *(("3", "init, attempt 2"), ("4", "apply")),
    ]


@pytest.mark.parametrize(
    ("seconds", "ticks"),
    [
        (0.0, ["0s", "0.2s", "0.4s", "0.6s", "0.8s"]),
        (0.3, ["0s", "0.1s", "0.2s"]),
        (4.1, ["0s", "1s", "2s", "3s"]),
        (39.0, ["0s", "10s", "20s", "30s"]),
        (70.0, ["0s", "15s", "30s", "45s", "1m"]),
        (445.0, ["0s", "2m", "4m", "6m"]),
        (5400.0, ["0s", "30m", "1h"]),
        (900_000.0, ["0s", "72h", "144h", "216h"]),
    ],
)
def test_the_axis_has_few_and_round_numbers(seconds: float, ticks: list[str]) -> None:
    log = Log()
    log.add(events.Heartbeat("apply", 0.0, ()), after=seconds)

    assert page_of(log).text("text") == ticks


@pytest.mark.parametrize(
    ("is_alive", "note"),
    [(True, "The run goes on: this is how far it had come."), (False, "The run was killed: nobody knows")],
)
def test_a_run_without_an_end_says_so(is_alive: bool, note: str) -> None:
    log = Log().begin("apply").act("a", "create", "started").add(events.Heartbeat("apply", 1.0, ()))

    assert note in Page(timeline_page(timeline_of(log, is_alive=is_alive))).text("header")[0]


def test_an_empty_timeline_is_a_page() -> None:
    page = Page(timeline_page(make_timeline(Story())))

    assert page.dangers == []
    assert page.text("tbody") == ["\n"]


def test_what_was_left_out_is_counted() -> None:
    text = timeline_page(timeline_of(eventful())._replace(left_out=1234))

    assert "<p>And 1,234 actions more, which only the log has.</p>" in text


def test_ten_thousand_resources_are_a_page_of_a_reasonable_size() -> None:
    log = Log().begin("apply")
    for index in range(10_000):
        log.act(f'module.shop["eu-west-1"].aws_instance.web[{index}]', "create", "started", "completed")

    written = timeline_page(timeline_of(log.end("apply")))

    assert written.count("<tr ") == 10_001
    assert len(written) < 5_000_000
