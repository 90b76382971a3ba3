"""A report as a page: what a person sees first, that it stands alone, and that nobody's text is markup."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.html import html_report
from hereya_tf.report.page import escaped, sentence
from tests import reports
from tests.html_pages import Page, digest, policy_of
from tests.reports import HOSTILE, SAMPLES, Log, error

ANY_TEXT = st.text(st.characters(codec=None), max_size=60)


def page_of(name: str) -> Page:
    return Page(html_report(SAMPLES[name]("")))


def marked(problem: events.DiagnosticEvent) -> str:
    """The source part of a page that shows this diagnostic."""
    log = Log().begin("apply").say(problem).end("apply", exit_code=1)
    text = html_report(log.fail(FailureClass.PROVIDER_ERROR, "no", diagnostics=(problem,)).report())
    found = re.search(r'<pre class="source">(.*?)</pre>', text, re.DOTALL)
    assert found is not None
    return found[1]


def snippet(code: str, begin: int, end: int, first: int = 7) -> events.DiagnosticEvent:
    return error(snippet=events.SnippetInfo(None, code, first, (), begin, end))


@pytest.mark.parametrize("name", SAMPLES)
def test_every_report_is_a_sound_page_that_stands_alone(name: str) -> None:
    page = page_of(name)

    assert page.dangers == []
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.text("h1")) == len(page.text("title")) == len(page.text("main")) == 1


@pytest.mark.parametrize("name", SAMPLES)
def test_whatever_runs_contain_is_text_and_nothing_else(name: str) -> None:
    text = html_report(SAMPLES[name](HOSTILE))
    plain, page = page_of(name), Page(text)

    assert page.dangers == []
    for tag in ("script", "style", "h1", "title", "meta"):
        assert len(page.all(tag)) == len(plain.all(tag))
    assert page.text("script") == plain.text("script")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]", text)
    text.encode()  # half a character would not go into a file


@pytest.mark.parametrize("name", SAMPLES)
def test_the_policy_allows_our_own_style_and_script_by_what_they_are(name: str) -> None:
    text = html_report(SAMPLES[name](HOSTILE))
    page = Page(text)

    assert policy_of(text) == {
        "default-src": "'none'",
        "style-src": digest(page.text("style")[0]),
        "script-src": digest(page.text("script")[0]),
        "base-uri": "'none'",
        "form-action": "'none'",
    }


@given(ANY_TEXT)
def test_no_text_becomes_markup(text: str) -> None:
    for made in (escaped(text), sentence(text)):
        page = Page(f'<p title="{escaped(text)}">{made}</p>')

        assert {tag for tag, _ in page.tags} <= {"p", "code"}
        made.encode()


def test_what_failed_and_why_is_the_largest_and_comes_first() -> None:
    page = page_of("failed")

    assert page.text("h1") == ["The provider could not do what was asked: cannot create the bucket"]
    assert page.text("header")[0].split("\n")[1:] == [
        "provision of /srv/packages/shop, workspace default",
        "The provider could not do what was asked: cannot create the bucket",
        "failedprovider-errorexit code 1after 1m14s1 failed1 unfinished2 not started2 done",
        "",
    ]
    assert page.text("h2") == [
        *("What to do", "State and lock", "What the engine says", "Resources", "Steps", "Warnings", "Output"),
        "About this run",
    ]


def test_a_name_at_the_beginning_of_a_reason_stays_as_it_is() -> None:
    log = Log().begin("apply").end("apply", exit_code=1)
    report = log.fail(FailureClass.PROVIDER_ERROR, "aws_vpc.main is gone").report()

    assert Page(html_report(report)).text("h1") == ["aws_vpc.main is gone"]


def test_commands_can_be_copied_and_names_are_code() -> None:
    made = sentence("see `main.tf`, or run `hereya-tf runs log last`")

    assert made == ('see <code>main.tf</code>, or run <code class="command">hereya-tf runs log last</code>')


def test_a_lone_backtick_is_a_backtick() -> None:
    assert sentence("it`s `x`") == "it`s `x`"


def test_a_state_that_is_safe_looks_so_and_one_that_is_not_does_not() -> None:
    safe, lost = (html_report(SAMPLES[name]("")) for name in ("failed", "not_saved"))

    assert '<div class="green-edge"><dt>State</dt><dd>Saved, with everything that was done</dd></div>' in safe
    assert '<div class="red-edge"><dt>State</dt>' in lost
    assert "<code>/srv/packages/shop/errored.tfstate</code>" in lost


def test_the_holder_of_a_lock_is_named() -> None:
    shown = page_of("locked").text("dl")[0]

    assert "On the state, held by ada@build-7" in shown
    assert "(1h00m ago)" in shown


def test_the_range_that_is_meant_is_marked_in_its_line() -> None:
    assert marked(snippet("a = 1\n  b = <c>\n", 12, 15)) == (
        "<span><i>7</i><code>a = 1</code></span>"
        "<span><i>8</i><code>  b = <mark>&lt;c&gt;</mark></code></span>"
        "<span><i>9</i><code></code></span>"
    )


def test_a_range_over_several_lines_is_marked_in_each() -> None:
    assert re.findall("<mark>(.*?)</mark>", marked(snippet("ab\ncd\nef", 1, 7))) == ["b", "cd", "e"]


@pytest.mark.parametrize(
    ("begin", "end"), [(0, 0), (5, 2), (90, 99)], ids=["none", "backwards", "beyond the end"]
)
def test_a_range_that_is_none_marks_nothing(begin: int, end: int) -> None:
    assert "<mark>" not in marked(snippet("a = 1", begin, end))


def test_where_a_secret_was_taken_out_nothing_is_marked() -> None:
    assert "<mark>" not in marked(snippet("password = [redacted]", 2, 5))


def test_a_snippet_of_an_old_log_has_no_range() -> None:
    log = Log().begin("apply").say(error()).end("apply", exit_code=1)
    report = log.fail(FailureClass.PROVIDER_ERROR, "no", diagnostics=(error(),)).report()
    old = {
        name: value for name, value in report.diagnostics[0]["snippet"].items() if not name.startswith("high")
    }
    text = html_report(report._replace(diagnostics=({**report.diagnostics[0], "snippet": old},)))

    assert "<code>  name = var.bucket_name</code>" in text


def test_values_of_expressions_stand_below_the_source() -> None:
    page = page_of("failed")

    assert "var.bucket_name" in page.text("dt")
    assert 'is "photos"' in page.text("dd")


def test_resources_stand_under_what_became_of_them_the_failed_first() -> None:
    page = page_of("failed")

    assert [summary.replace(" ", "") for summary in page.text("summary")] == [
        *("Failed1", "Unfinished1", "Notstarted2", "Done2", "stderr1line"),
    ]
    assert all("open" in attributes for attributes in page.all("details"))
    assert "it was destroyed" in page.text("tbody")[1]


def test_long_lists_of_what_went_well_are_folded() -> None:
    page = Page(html_report(reports.large(50)))

    assert ["open" in attributes for attributes in page.all("details")] == [True, False]
    assert [summary.replace(" ", "") for summary in page.text("summary")] == ["Failed1", "Done49"]


def test_a_plan_shows_what_destroys_first() -> None:
    page = page_of("planned")

    assert page.text("h2")[:2] == ["Plan", "Changed outside of the engine"]
    assert [summary.replace(" ", "") for summary in page.text("summary")] == [
        *("Destroy1", "Replace1", "Create1", "Changed1"),
    ]


def test_what_destroys_is_never_folded() -> None:
    log = Log("plan").begin("plan")
    actions = ("delete", "create", "explode")
    log.plan(*((f"a.{action}[{index}]", action) for index in range(30) for action in actions))
    page = Page(html_report(log.end("plan").finish(changes=events.ChangeCounts(add=30, destroy=30)).report()))

    assert [
        (summary.replace(" ", ""), "open" in attributes)
        for summary, attributes in zip(page.text("summary"), page.all("details"), strict=True)
    ] == [("Destroy30", True), ("Explode30", True), ("Create30", False)]


def test_addresses_are_in_the_order_that_people_count_in_and_say_why() -> None:
    log = Log("plan").begin("plan")
    for index in (10, 9, 2):
        log.add(events.ChangeEvent(f"a[{index}]", "replace", "tainted"))
    page = Page(html_report(log.end("plan").finish().report()))

    assert page.text("td")[:6] == [
        *("a[2]", "it is tainted", "a[9]", "it is tainted", "a[10]", "it is tainted"),
    ]


def test_what_has_no_operation_of_its_own_is_told_of_as_well() -> None:
    log = Log().begin("apply").plan(("a.b", "import"), ("c.d", "create"))
    log.act("c.d", "create", "started", "completed").end("apply")
    page = Page(html_report(log.finish(changes=events.ChangeCounts(add=1, import_=1)).report()))

    assert page.text("h2")[:2] == ["Resources", "Also done"]
    assert [summary.replace(" ", "") for summary in page.text("summary")] == ["Done1", "Imported1"]


def test_a_success_says_what_it_has_come_to() -> None:
    page = page_of("succeeded")

    assert page.text("h1") == ["2 added, 0 changed, 1 destroyed (1 replaced)"]
    assert "What to do" not in page.text("h2")
    assert "https://shop.example" in page.text("code")
    assert "0." + "3" * 155 in page.text("code")
    assert "sensitive, not shown" in page.text("td")


def test_drift_is_told_as_what_has_happened() -> None:
    page = page_of("drifted")

    assert page.text("h1") == ["There is drift"]
    assert [summary.replace(" ", "") for summary in page.text("summary")] == ["Deleted1", "Changed1"]


def test_a_report_before_the_end_says_so() -> None:
    assert "This was written before the run had ended." in page_of("interim").text("main")[0]
    assert "This was written before the run had ended." not in page_of("failed").text("main")[0]


def test_each_step_says_how_it_ended() -> None:
    log = Log().add(events.StepFinished("init", ok=True, exit_code=None, seconds=0.0, skipped=True))
    log.begin("plan").end("plan").begin("apply", attempt=2).end("apply", exit_code=None).begin("output")
    page = Page(html_report(log.fail(FailureClass.OUT_OF_MEMORY, "killed").report()))
    cells = [cell.split("/usr")[0] for cell in page.text("td")]

    assert page.text("tbody")[-1].split("\n")[1].startswith("initnot needed")
    assert cells == [
        *("not needed", "", "done", "1.0s", "failed, ended by a signal", "1.0s", "not ended", ""),
    ]
    assert page.text("th")[3:] == ["init", "plan", "apply, attempt 2", "output"]


@pytest.mark.parametrize(("lines", "is_open"), [(40, True), (41, False)])
def test_the_last_output_is_there_in_full_and_folded_when_long(lines: int, is_open: bool) -> None:
    said = "".join(f"<{index}>\n" for index in range(lines))
    page = Page(html_report(reports.large(1, stderr=said)))

    # A browser leaves out a newline that a `pre` begins with.
    assert page.text("pre")[-1] == "\n" + said
    assert ("open" in page.all("details")[-1]) is is_open


def test_stdout_stands_in_for_a_blank_stderr() -> None:
    log = Log().begin("apply").end("apply", exit_code=1)
    report = log.fail(FailureClass.ENGINE_ERROR, "no", stderr=" \n", stdout="it said\n").report()
    page = Page(html_report(report))

    assert page.text("summary") == ["stdout 1 line"]
    assert page.text("pre") == ["\nit said\n"]


def test_a_reason_as_long_as_a_page_is_smaller() -> None:
    log = Log().begin("apply").end("apply", exit_code=1)

    assert Page(html_report(log.fail(FailureClass.ENGINE_ERROR, "no " * 80).report())).all("h1") == [
        {"class": "long"}
    ]


def test_actions_that_were_left_out_are_counted() -> None:
    text = html_report(reports.failed()._replace(left_out=1234))

    assert "And 1,234 actions more, which only the run's log has." in text


def test_ten_thousand_resources_are_a_file_of_a_reasonable_size() -> None:
    assert len(html_report(reports.large(10_000))) < 2_500_000
