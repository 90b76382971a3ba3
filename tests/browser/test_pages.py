"""The report and the timeline in a real browser."""

from collections.abc import Callable
from typing import Any

import pytest

from hereya_tf import events
from hereya_tf.report.html import html_report
from hereya_tf.report.story import Story
from hereya_tf.report.timeline import make_timeline
from hereya_tf.report.timeline_html import timeline_page
from tests import reports
from tests.reports import HOSTILE, SAMPLES, Log

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
NASTY = (
    f"{HOSTILE}<img src=x onerror='window.__x=1'><svg/onload=alert(2)>\"onfocus=alert(3) autofocus x=\""
    "<a href=javascript:window.__x=2>a</a><iframe src=//example.com></iframe><style>*{display:none}</style>"
)
# What an accessibility checker would say first, by what it has found wrong.
CHECK = """() => {
  const wrong = [], levels = [...document.querySelectorAll("h1,h2,h3")].map((each) => Number(each.tagName[1]));
  levels.forEach((level, at) => { if (level > (levels[at - 1] ?? 0) + 1) wrong.push(`heading ${at}: h${level}`); });
  for (const field of document.querySelectorAll("input,select,button")) {
    const name = field.labels?.[0]?.textContent || field.getAttribute("aria-label") || field.textContent;
    if (!name.trim()) wrong.push(`no name: ${field.id}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  if (new Set(ids).size !== ids.length) wrong.push("an id twice");
  for (const each of document.querySelectorAll("[aria-labelledby],[aria-describedby]"))
    for (const name of ["aria-labelledby", "aria-describedby"])
      if (each.hasAttribute(name) && !document.getElementById(each.getAttribute(name)))
        wrong.push(`${name}: nothing`);
  for (const name of ["main", "h1", "header"])
    if (document.querySelectorAll(name).length !== 1) wrong.push(`not one ${name}`);
  for (const table of document.querySelectorAll("table"))
    if (!table.querySelector("th[scope]")) wrong.push("a table without headers");
  return wrong;
}"""
CONTRAST = """() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (color) => {
    const [r, g, b] = numbers(color).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if ((numbers(color)[3] ?? 1) === 1) return color;
    }
    return "rgb(255,255,255)";
  };
  const wrong = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.tagName === "SCRIPT") continue;
    const style = getComputedStyle(element), color = element.closest("svg") ? style.fill : style.color;
    const [a, b] = [light(color), light(behind(element))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) wrong.add(`${element.outerHTML} ${color} on ${behind(element)}`);
  }
  return [...wrong];
}"""
WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def timeline(log: Log) -> str:
    return timeline_page(make_timeline(Story.of(log.records, keep_reads=True)))


def run_of(number: int, text: str = "") -> Log:
    """A run with so many resources, every hundredth of which failed."""
    log = Log(text=text).add(events.LockWaiting("package", 1, None)).add(events.LockAcquired(3.0), after=3.0)
    log.begin("init").end("init").begin("apply").act(
        "net.zone", "refresh", "started", "completed", seconds=0.2
    )
    for index in range(number):
        ended = "failed" if index % 100 == 40 else "completed"
        log.act(f"shop_server.web[{index}]", "create", "started", ended, seconds=0.5 + index % 7)
    return log.act("db.last", "create", "started").end("apply", exit_code=1).finish()


def shown_rows(page: Any) -> list[str]:
    """The names of the rows that are to be seen."""
    names = "rows => rows.filter(row => !row.hidden).map(row => row.cells[0].firstChild.textContent.trim())"
    found: list[str] = page.eval_on_selector_all("#rows tbody tr", names)
    return found


def focused(page: Any) -> str:
    name: str = page.evaluate("document.activeElement.cells?.[0].firstChild.textContent.trim() ?? ''")
    return name


def report_page(name: str) -> Callable[[str], str]:
    return lambda text: html_report(SAMPLES[name](text))


PAGES: dict[str, Callable[[str], str]] = {f"report-{name}": report_page(name) for name in SAMPLES}
PAGES["timeline"] = lambda text: timeline(run_of(30, text))


@pytest.mark.parametrize("name", PAGES)
def test_pages_reach_nothing_and_can_be_read_by_everybody(opened: Open, name: str) -> None:
    page = opened(PAGES[name](""))

    assert page.evaluate(CHECK) == []
    assert page.evaluate(CONTRAST) == []
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(CONTRAST) == []
    page.set_viewport_size({"width": 390, "height": 800})
    assert not page.evaluate(WIDE)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize(
    "name", ["report-failed", "report-locked", "report-succeeded", "report-planned", "timeline"]
)
def test_hostile_runs_execute_nothing_and_spread_nowhere(opened: Open, name: str) -> None:
    page = opened(PAGES[name](NASTY))
    strange = "img,iframe,a,[onfocus],[onload],[onerror]"

    assert page.evaluate("window.__x") is None
    assert page.locator(strange).count() == 0
    assert page.evaluate("document.scripts.length + document.styleSheets.length") == 2
    assert not page.evaluate(WIDE)
    assert page.is_visible("h1")
    page.set_viewport_size({"width": 390, "height": 800})
    assert not page.evaluate(WIDE)


@pytest.mark.parametrize("name", ["report-failed", "timeline"])
def test_dark_is_dark_and_light_is_light(opened: Open, name: str) -> None:
    color = "getComputedStyle(document.body).backgroundColor"

    page = opened(PAGES[name](""), scheme="light")
    light = page.evaluate(f"{color}.match(/\\d+/)[0]")
    page.emulate_media(color_scheme="dark")

    assert int(light) > 200
    assert int(page.evaluate(f"{color}.match(/\\d+/)[0]")) < 50


def test_a_policy_that_is_broken_would_be_noticed(browser: Any) -> None:
    said: list[str] = []
    text = html_report(reports.failed()).replace("</body>", "<script>window.__x = 1</script></body>")
    page = browser.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.set_content(text)

    assert page.evaluate("window.__x") is None
    assert any("Content Security Policy" in text for text in said)
    page.close()


def test_a_report_is_whole_without_scripts(opened: Open) -> None:
    page = opened(html_report(reports.failed()), scripts=False)

    assert page.is_visible("text=cannot create the bucket >> nth=0")
    assert page.is_visible(".command")
    assert page.locator("button").count() == 0


def test_the_command_can_be_copied(opened: Open) -> None:
    page = opened(html_report(reports.failed()))
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.click("text=Copy")

    page.wait_for_selector("text=Copied")
    assert page.evaluate("navigator.clipboard.readText()") == reports.failed().reproduce


def test_groups_unfold_with_the_keyboard(opened: Open) -> None:
    page = opened(html_report(reports.large(30)))
    page.focus("summary:has-text('Done')")
    page.keyboard.press("Enter")

    assert page.is_visible("text=null_resource.many[3]")


def test_the_filter_narrows_what_is_shown(opened: Open) -> None:
    page = opened(timeline(run_of(60)))
    page.fill("#words", "WEB[4 create")

    assert shown_rows(page) == [
        "apply",
        "shop_server.web[4]",
        *(f"shop_server.web[{n}]" for n in range(40, 50)),
    ]
    assert page.text_content("#count") == "12 of 66 rows"
    page.fill("#words", "id-shop_server.web[5]")
    assert shown_rows(page) == ["apply", "shop_server.web[5]"]
    page.fill("#words", "nothing of that name")
    assert shown_rows(page) == []
    page.keyboard.press("Escape")
    assert page.text_content("#count") == "66 of 66 rows"


@pytest.mark.parametrize(
    ("choice", "rows"),
    [
        ("wrong", ["apply", "shop_server.web[2]", "db.last"]),
        ("path", ["apply", "net.zone", *(f"shop_server.web[{n}]" for n in range(5))]),
        (
            "changes",
            ["package lock", "init", "apply", *(f"shop_server.web[{n}]" for n in range(5)), "db.last"],
        ),
    ],
)
def test_kinds_of_rows_can_be_chosen(opened: Open, choice: str, rows: list[str]) -> None:
    log = Log().add(events.LockWaiting("package", 1, None)).add(events.LockAcquired(3.0), after=3.0)
    log.begin("init").end("init").begin("apply").act("net.zone", "refresh", "started", "completed")
    for index in range(5):
        log.act(f"shop_server.web[{index}]", "create", "started", "failed" if index == 2 else "completed")
    page = opened(timeline(log.act("db.last", "create", "started").end("apply", exit_code=1)))
    page.select_option("#kind", choice)

    shown = shown_rows(page)
    assert [name for name in shown if name != "db.last"] == [name for name in rows if name != "db.last"]
    assert set(shown) >= set(rows)


def test_the_keyboard_goes_through_rows_and_shows_their_detail(opened: Open) -> None:
    page = opened(timeline(run_of(60)))
    page.focus("#words")
    page.keyboard.press("ArrowDown")
    assert focused(page) == "engine"
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)

    assert focused(page) == "shop_server.web[0]"
    detail = page.text_content("#detail")
    assert detail.startswith("shop_server.web[0] create")
    assert "in apply, from " in detail
    assert "on the critical path, ID id-shop_server.web[0]" in detail
    assert page.evaluate("document.activeElement.getAttribute('aria-describedby')") == "detail"
    page.keyboard.press("End")
    assert (focused(page), page.is_visible("text=db.last >> nth=0")) == ("db.last", True)
    page.keyboard.press("Home")
    assert focused(page) == "engine"


def test_one_tab_enters_the_rows_and_one_leaves_them(opened: Open) -> None:
    page = opened(timeline(run_of(60)))
    page.focus("#part")
    page.keyboard.press("Tab")
    assert focused(page) == "engine"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    assert focused(page) == ""
    page.keyboard.press("Shift+Tab")
    assert focused(page) == "package lock"


def test_a_row_that_is_focused_is_not_covered(opened: Open) -> None:
    page = opened(timeline(run_of(60)))
    page.focus("#part")
    page.keyboard.press("Tab")
    room = []
    for key in ["ArrowDown"] * 40 + ["ArrowUp"] * 40:
        page.keyboard.press(key)
        room += page.evaluate("""() => {
          const row = document.activeElement.getBoundingClientRect();
          const [above, below] = [document.querySelector("thead th"), document.getElementById("detail")];
          return [row.top - above.getBoundingClientRect().bottom, below.getBoundingClientRect().top - row.bottom];
        }""")

    assert min(room) >= 0


def test_pointing_at_a_row_shows_its_detail(opened: Open) -> None:
    page = opened(timeline(run_of(5)))
    page.hover("th:has-text('shop_server.web[1]')")

    assert page.text_content("#detail").startswith("shop_server.web[1] create")


def test_zoom_spreads_a_part_over_the_whole_width(opened: Open) -> None:
    page = opened(timeline(run_of(60)))
    width = "document.querySelector('tr.step:nth-child(3) rect').getBoundingClientRect().width"
    before = page.evaluate(width)
    page.select_option("#part", label="init")

    assert page.evaluate(width) > 20 * before
    labels = page.eval_on_selector_all("#axis text", "all => all.map(each => each.textContent)")
    assert labels[0].startswith("5") or labels[0].startswith("6")
    page.keyboard.press("Escape")
    assert page.evaluate(width) == before
    page.focus("#part")
    page.keyboard.press("Tab")
    page.keyboard.press("+")
    assert page.evaluate(width) > before
    page.keyboard.press("0")
    assert page.evaluate(width) == before


def test_the_lines_of_the_axis_lie_where_the_numbers_are(opened: Open) -> None:
    page = opened(timeline(run_of(60)))
    page.select_option("#part", label="init")
    lines = page.evaluate("""() => {
      const axis = document.getElementById("axis").parentNode.getBoundingClientRect().left;
      const width = document.querySelector(".bar").clientWidth, root = document.documentElement.style;
      const at = parseFloat(root.getPropertyValue("--at")), tick = parseFloat(root.getPropertyValue("--tick"));
      return [...document.querySelectorAll("#axis text")].map((text, n) =>
        Math.abs(text.getBoundingClientRect().left - axis - (at + n * tick / 100 * width)));
    }""")

    assert len(lines) > 1
    assert max(lines) < 3


def test_the_timeline_is_a_table_without_scripts(opened: Open) -> None:
    page = opened(timeline(run_of(5)), scripts=False)

    assert page.is_visible("text=shop_server.web[4]")
    assert not page.is_visible("#words")
    assert not page.is_visible("#detail")
    assert page.locator("#axis text").count() > 2


def test_two_thousand_resources_can_be_searched(opened: Open) -> None:
    page = opened(timeline(run_of(2000)))

    assert page.text_content("#count") == "2,006 of 2,006 rows"
    page.fill("#words", "web[19")
    assert page.text_content("#count") == "112 of 2,006 rows"
    page.select_option("#kind", "wrong")
    assert page.text_content("#count") == "2 of 2,006 rows"


def test_an_empty_timeline_does_no_harm(opened: Open) -> None:
    page = opened(timeline_page(make_timeline(Story())))

    assert page.text_content("#count") == "0 of 0 rows"
    page.keyboard.press("/")
    page.keyboard.type("x")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.id") == "words"
