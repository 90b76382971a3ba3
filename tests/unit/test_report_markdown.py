"""A report as Markdown: what is first, what is folded, what is cut, and that text of others is no markup."""

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.document import Report
from hereya_tf.report.markdown import markdown_report, markdown_summary
from hereya_tf.report.markdown_text import cell, code, fence, prose, prose_cell
from tests import reports
from tests.reports import HOSTILE, SAMPLES, Log, hostile_report

# What GitHub reads, linked addresses included.
GITHUB = MarkdownIt("gfm-like")
COMMONMARK = MarkdownIt("commonmark").enable("table")
OURS = re.compile(r"<details>\n<summary>[A-Za-z ]+(?: \([0-9,]+\))?</summary>\n?|</details>\n?")
# What is made a link of when a comment is shown: mentions, numbers, other projects, commits, addresses, emoji.
LINKED = re.compile(
    r"@\w|[#!$&~%]\d|\w/\w+[#!@]|GH-\d|\b(?=\w*\d)[0-9a-f]{7,}\b|://|www\.|:[a-z_]+:|[*]iteration|\[vuln",
    re.IGNORECASE,
)
ALL = pytest.mark.parametrize("name", SAMPLES)
PARSERS = pytest.mark.parametrize("parser", [GITHUB, COMMONMARK], ids=["github", "commonmark"])


def tokens(text: str, parser: MarkdownIt = GITHUB) -> Iterator[Token]:
    for token in parser.parse(text):
        yield token
        yield from token.children or ()


def words(text: str) -> str:
    """What is read outside of code."""
    return "\n".join(token.content for token in tokens(text) if token.type == "text")


def codes(text: str, parser: MarkdownIt = GITHUB) -> list[str]:
    return [token.content for token in tokens(text, parser) if token.type == "code_inline"]


def assert_harmless(text: str, parser: MarkdownIt) -> None:
    """No element, link or picture but what a report has of its own."""
    found = list(tokens(text, parser))
    assert [
        token.content for token in found if "html" in token.type and not OURS.fullmatch(token.content)
    ] == []
    assert [token for token in found if token.type in ("link_open", "image", "hr", "blockquote_open")] == []
    assert LINKED.findall("\n".join(token.content for token in found if token.type == "text")) == []


def section(text: str, title: str) -> str:
    """From a title to the next one."""
    start = re.search(rf"^(?:\*\*|<summary>){re.escape(title)}[^\n]*$", text, re.MULTILINE)
    assert start is not None, text
    end = re.search(r"^(?:\*\*|<details>)", text[start.end() :], re.MULTILINE)
    return text[start.end() :][: end.start() if end else None].replace("</details>", "").strip()


@ALL
@PARSERS
def test_text_of_others_is_no_markup(name: str, parser: MarkdownIt) -> None:
    assert_harmless(markdown_report(SAMPLES[name]("")), parser)
    assert_harmless(markdown_report(SAMPLES[name](HOSTILE)), parser)


@pytest.mark.parametrize(
    "text",
    [
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.example/x.png)",
        "[x](javascript:alert(1))",
        "https://evil.example www.evil.example me@evil.example",
        "@team #12 owner/repo#3 !4 GH-5 group/project@0123456789abcdef0123456789abcdef01234567 :smile:",
        "a | b \\| c \\\\| d",
        "``` x\n```\n</details>\n# heading\n- item\n1. item\n> quote\n***\n===",
        "`` ` ``` ```` `",
        "**bold** _x_ ~~y~~ <!-- comment --> &lt;b&gt; <https://x.example>",
        "a\\",
        "[ref]: https://evil.example\n\n[ref]",
        "\u2028<b>\u2029\x0b\x0c\x85</b>",
        " \n \n",
    ],
)
@PARSERS
def test_nothing_that_is_tried_is_markup(text: str, parser: MarkdownIt) -> None:
    assert_harmless(markdown_report(hostile_report(text)), parser)


@given(st.text(alphabet=st.sampled_from(list("`|\\ <>&[]()!@#*_-=~:/\n\t.1aä")), max_size=40))
def test_code_shows_every_text_as_it_is(text: str) -> None:
    shown = text.replace("\n", "\\n").replace("\t", "\\t")
    rows = list(tokens(f"| a | b |\n| --- | --- |\n| {cell(text)} | x |"))
    body = rows[[token.type for token in rows].index("tbody_open") :]

    assert codes(f"see {code(text)} there") == ([shown] if text else [])
    assert "".join(token.content for token in body if token.type in ("code_inline", "text")) == f"{shown}x"


@given(st.text(alphabet=st.sampled_from(list("`|\\ <>&[]()!@#*_-=~:/\n\t.1aä'")), max_size=60))
@pytest.mark.parametrize("before", ["", "- **hint:** ", "### "])
def test_a_sentence_is_one_line_without_markup(before: str, text: str) -> None:
    shown = prose(text)
    table = [token.type for token in tokens(f"| a |\n| --- |\n| {prose_cell(text)} |\n")]

    assert "\n" not in shown
    assert_harmless(before + shown, GITHUB)
    assert table.count("td_open") == 1


@given(st.text(alphabet=st.sampled_from(list("`~ a\n\t<")), max_size=60))
def test_a_block_of_code_holds_every_text(text: str) -> None:
    found = list(tokens("\n".join(["before", "", *fence(text), "", "after"])))
    blocks = [token.content for token in found if token.type == "fence"]

    assert blocks == [text.removesuffix("\n") + "\n"]
    assert [token.content for token in found if token.type == "text"] == ["before", "after"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("saved, with everything that was done", "saved, with everything that was done"),
        ("2 resources: net_zone.shop and db.main", "2 resources: `net_zone.shop` and `db.main`"),
        (
            "the lock of `/srv/a b` is held (pid 3), since 3.5s",
            "the lock of `/srv/a b` is held (pid 3), since 3.5s",
        ),
        ("it's create, after 1m05s (exit code 1)", "it's create, after 1m05s (exit code 1)"),
        ("failed in f() of `a``b`.", "failed in `f()` of `a` `b`."),
        ("ask @bob about #1, deadbeef", "ask `@bob` about `#1`, `deadbeef`"),
        ("- no list", "`-` no list"),
        ("3. no list", "`3.` no list"),
        ("since 2026-11-30 01:00:00 UTC", "since `2026-11-30 01:00:00` UTC"),
        ("", ""),
    ],
)
def test_words_are_words_and_names_are_code(text: str, expected: str) -> None:
    assert prose(text) == expected


def test_a_failure_begins_with_what_to_know() -> None:
    text = markdown_report(reports.failed())

    assert text.split("\n")[:17] == [
        "### ❌ provision of `/srv/packages/shop`, workspace default, failed after 1m14s",
        "",
        "**the provider could not do what was asked: cannot create the bucket**",
        "",
        "- **class:** provider-error (exit code 1)",
        "- **done:** 2 resources: `net_zone.shop` and `net_rule.web`",
        "- **failed:** 1 resource: `store_bucket.photos`",
        "- **unfinished:** 1 resource: `db_instance.main`"
        " (it was destroyed, and its replacement is not complete)",
        '- **not started:** 2 resources: `net_record.www["a"]` and `store_bucket.old`',
        "- **state:** saved, with everything that was done",
        "- **hint:** correct what the provider complains about, and run it again",
        "- **hint:** or look at its log",
        "",
        "To run it again:",
        "",
        "```sh",
        str(reports.failed().reproduce),
    ]


def test_a_diagnostic_has_its_place_its_source_and_its_words() -> None:
    text = section(markdown_report(reports.failed()), "error:")

    assert text.split("\n") == [
        'on `main.tf` line 12, in `resource "store_bucket" "photos"`, with `store_bucket.photos`',
        "",
        "```",
        "12 |   name = var.bucket_name",
        "   |   ^^^^^^^^^^^^^^^^^^^^^^",
        '   # var.bucket_name is "photos"',
        "```",
        "",
        "```text",
        "BucketAlreadyExists: it is somebody else's",
        "",
        "request 4711",
        "```",
    ]


def test_marks_are_left_out_where_a_secret_was() -> None:
    snippet = events.SnippetInfo(None, 'a = "[redacted]"', 3, (), 4, 30)
    log = Log().engine().begin("apply")
    problem = reports.error(snippet=snippet)
    report = log.fail(FailureClass.PROVIDER_ERROR, "no", diagnostics=(problem,)).report()

    assert '```\n3 | a = "[redacted]"\n```' in markdown_report(report)


def test_what_went_wrong_is_open_and_the_rest_is_folded() -> None:
    text = markdown_report(reports.failed())

    assert re.findall(r"^\*\*(\w+ \(\d+\))\*\*$", text, re.MULTILINE) == ["Failed (1)", "Unfinished (1)"]
    assert re.findall(r"<summary>(.+)</summary>", text) == [
        "Not started (2)",
        "Done (2)",
        "Warnings (1)",
        "Steps (2)",
        "The last output of the engine",
    ]
    assert section(text, "Not started") == (
        '|  | resource |\n| --- | --- |\n| destroy | `store_bucket.old` |\n| create | `net_record.www["a"]` |'
    )
    assert "--- stderr ---\nError: cannot create the bucket\n" in section(text, "The last output")


def test_a_plan_has_its_dangerous_part_first() -> None:
    text = markdown_report(reports.planned())

    assert text.startswith("### ✅ plan of `/srv/packages/shop`, workspace default, succeeded after ")
    assert "\n**2 to add, 0 to change, 2 to destroy (1 replaced)**\n" in text
    assert section(text, "Plan") == (
        "|  | resource |\n| --- | --- |\n"
        "| **destroy** | `net_rule.web` |\n| **replace** | `db_instance.main` |\n| create | `net_zone.shop` |"
    )
    assert section(text, "Changed outside") == "|  | resource |\n| --- | --- |\n| changed | `net_zone.shop` |"


def test_a_plan_says_why_and_what_is_not_listed() -> None:
    log = Log("plan").engine().begin("plan")
    log.add(events.ChangeEvent("a.b", "replace", "tainted")).add(events.ChangeEvent("a.c", "sing", "of_joy"))
    report = log.end("plan").finish(changes=events.ChangeCounts(add=5, destroy=1, replace=1)).report()
    text = markdown_report(report)

    assert section(text, "Plan (2)") == (
        "|  | resource | because |\n| --- | --- | --- |\n"
        "| **replace** | `a.b` | it is tainted |\n| sing | `a.c` | of joy |\n\n"
        "And 3 changes more, which only `--plan-json` has."
    )


def test_a_success_tells_what_was_done_and_its_outputs() -> None:
    text = markdown_report(reports.succeeded())

    assert "\n**2 added, 0 changed, 1 destroyed (1 replaced)**\n" in text
    assert section(text, "Done") == (
        "|  | resource | took | id |\n| --- | --- | --- | --- |\n"
        "| replaced | `db_instance.main` | 1m02s | `id-db_instance.main` |\n"
        "| created | `net_zone.shop` | 2.0s | `id-net_zone.shop` |"
    ).replace("1m02s", re.findall(r"main` \| (\w+) ", text)[0])
    assert section(text, "Outputs") == (
        "| output | value |\n| --- | --- |\n| `url` | `https://shop.example` |\n"
        f"| `share` | `0.{'3' * 155}` |\n| `password` | sensitive, not shown |"
    )
    assert "To run it again" not in text


def test_a_success_tells_what_was_only_moved_or_imported() -> None:
    log = Log().engine().begin("apply").plan(("a.old", "move"), ("a.there", "import"), ("a.gone", "forget"))
    text = markdown_report(log.end("apply").finish().report())

    assert section(text, "Done (3)").split("\n")[2:] == [
        "| forgotten | `a.gone` |",
        "| imported | `a.there` |",
        "| moved | `a.old` |",
    ]


def test_a_failure_does_not_tell_what_was_to_be_moved_or_imported_as_done() -> None:
    log = Log().engine().begin("apply").plan(("net_zone.shop", "import"), ("net_rule.web", "move"))
    report = log.end("apply", exit_code=1).fail(FailureClass.PROVIDER_ERROR, "it failed").report()

    assert report.also_done == ()


def test_a_command_in_a_hint_can_be_copied() -> None:
    log = Log().fail(FailureClass.BUSY, "no", status="busy", hint="see `hereya-tf lock list`, or `--wait 1h`")
    text = markdown_report(log.report())

    assert "- **hint:** see `hereya-tf lock list`, or `--wait 1h`\n" in text
    assert "\n```sh\nhereya-tf lock list\n```\n\nTo run it again:\n" in text


def test_what_was_written_before_the_end_says_so() -> None:
    text = markdown_report(reports.interim())

    assert text.startswith("### ⚠️ provision of `/srv/packages/shop`, workspace default, is being cancelled")
    assert "\nThis was written before the run had ended.\n" in text


def test_steps_that_have_not_ended_or_were_not_needed() -> None:
    assert "| apply | not ended |" in markdown_report(reports.interim())
    assert "| init | not needed |" in markdown_report(reports.succeeded())


def test_an_unknown_reason_is_said() -> None:
    text = markdown_report(Log().fail(FailureClass.INTERNAL, "").report())

    assert "\n**no reason is known**\n" in text


@ALL
@pytest.mark.parametrize("room", [300, 700, 1200, 3000])
def test_a_summary_keeps_its_limit_and_is_whole_markup(name: str, room: int) -> None:
    report: Report = SAMPLES[name](HOSTILE)
    text = markdown_summary(report, room)

    assert len(text.encode("utf-8", "backslashreplace")) <= room
    assert_harmless(text, GITHUB)
    assert text.count("<details>") == text.count("</details>")
    assert all(token.markup in token.content or token.map for token in tokens(text) if token.type == "fence")


def test_no_summary_takes_a_byte_more_than_its_limit() -> None:
    report = reports.failed()
    whole = len(markdown_report(report).encode())

    sizes = {room: len(markdown_summary(report, room).encode()) for room in range(whole + 1)}

    assert {room: size for room, size in sizes.items() if size > room} == {}


def test_a_summary_with_room_for_all_is_the_report() -> None:
    report = reports.failed()
    whole = markdown_report(report)

    assert markdown_summary(report, 1 << 20) == whole
    assert markdown_summary(report, 0) == ""


def test_a_table_is_cut_at_a_row() -> None:
    report = reports.large(3000)
    text = markdown_summary(report, 20_000)
    rows = re.findall(r"^\| created \| `null_resource\.many\[(\d+)\]` \|", text, re.MULTILINE)
    left = re.search(r"^\| and ([\d,]+) more \|", text, re.MULTILINE)

    assert len(text.encode()) <= 20_000
    assert left is not None
    assert len(rows) + int(left[1].replace(",", "")) == 2999
    assert text.endswith("\n*More did not fit in here; `hereya-tf runs report` has the rest.*\n")
    assert "| create | `null_resource.many[2999]` |" in text, "what failed comes first"


def test_of_long_output_the_end_is_kept() -> None:
    stderr = "".join(f"line {number}\n" for number in range(10_000))
    text = markdown_summary(reports.large(2, stderr), 5000)
    numbers = [int(number) for number in re.findall(r"^line (\d+)$", text, re.MULTILINE)]

    assert numbers == list(range(numbers[0], 10_000))
    assert f"\n({numbers[0] + 1:,} lines before)\nline {numbers[0]}\n" in text


def test_of_very_many_actions_the_rest_is_counted() -> None:
    report = reports.large(2)._replace(left_out=1234)

    assert "\nAnd 1,234 actions more, which only the log of the run has.\n" in markdown_report(report)
