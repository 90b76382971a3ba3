"""GitHub Actions: nothing that others say is a workflow command; what is one of ours says what it is to say."""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events, exact
from hereya_tf.cli.ci import System, guard_here, guard_of, system_of
from hereya_tf.outputs.variables import shell_line
from hereya_tf.report.annotations import Annotation, Place
from hereya_tf.report.text import text_report
from hereya_tf.ui.ci.folding import FoldingLines, Told
from hereya_tf.ui.ci.github import GUARD, MARKS, annotation_command, masked_assignments
from hereya_tf.ui.ci.guard import UNGUARDED
from hereya_tf.ui.plain import PlainLines
from hereya_tf.words import visible
from tests.reports import HOSTILE, SAMPLES, Log


class Command(NamedTuple):
    """A workflow command as the runner understands it."""

    name: str
    properties: dict[str, str]
    data: str


def _unescape(text: str, *pairs: tuple[str, str]) -> str:
    for escaped, plain in (("%0D", "\r"), ("%0A", "\n"), *pairs, ("%25", "%")):
        text = text.replace(escaped, plain)
    return text


def runner(line: str) -> Command | None:
    """What the runner makes of a line: `ActionCommand.TryParseV2`, else `TryParse`; any name is known to it."""
    trimmed = line.lstrip()
    if trimmed.startswith("::") and (end := trimmed.find("::", 2)) >= 0:
        name, _, rest = trimmed[2:end].partition(" ")
        pairs = (pair.split("=", 1) for pair in rest.strip().split(",") if "=" in pair)
        properties = {key: _unescape(value, ("%3A", ":"), ("%2C", ",")) for key, value in pairs}
        return Command(name, properties, _unescape(trimmed[end + 2 :]))
    if (start := line.find("##[")) >= 0 and (end := line.find("]", start)) >= 0:
        name, _, rest = line[start + 3 : end].partition(" ")
        return Command(
            name, dict(pair.split("=", 1) for pair in rest.split(";") if "=" in pair), line[end + 1 :]
        )
    return None


def commands(text: str) -> list[Command]:
    """Of all lines, as the runner reads lines."""
    return [found for line in re.split(r"\r\n|\r|\n", text) if (found := runner(line)) is not None]


PIECES = (*":#[] \t\n\r'\"\\%a=", "::", "##[", "::a::", "\u200b", "\u00a0", "\ufeff")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


def test_the_runner_of_these_tests_finds_commands() -> None:
    assert [found.name for found in commands(HOSTILE)] == ["set-output", "error", "error"]
    assert runner("::error file=a%2Cb,line=3::50%25%0Aof%3A") == Command(
        "error", {"file": "a,b", "line": "3"}, "50%\nof%3A"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("::set-env name=A::b", ": :set-env name=A::b"),
        ("  \t::error::x", "  \t: :error::x"),
        ("a\n::error::x\r::error::y", "a\n: :error::x\r: :error::y"),
        ("\u00a0::error::x", "\u00a0: :error::x"),
        ("\ufeff::error::x", "\ufeff: :error::x"),
        ("text ##[error]x", "text ## [error]x"),
        ("###[group]", "### [group]"),
        ("::1", "::1"),
        ("::ffff:10.0.0.1/96", "::ffff:10.0.0.1/96"),
        ("a::b::c", "a::b::c"),
        ("", ""),
    ],
)
def test_a_command_in_talk_is_broken_where_it_can_be_seen(text: str, expected: str) -> None:
    assert GUARD.talk(text) == expected


@given(TEXTS)
def test_talk_is_no_command_and_says_the_same(text: str) -> None:
    shown = GUARD.talk(text)

    assert commands(shown) == []
    assert shown.replace(" ", "") == text.replace(" ", "")
    assert GUARD.talk(shown) == shown


@given(TEXTS)
def test_json_is_no_command_and_means_the_same(text: str) -> None:
    line = exact.dumps({"a": text, text: [text]})

    assert commands(GUARD.json(line)) == []
    assert exact.loads(GUARD.json(line)) == exact.loads(line)


@given(TEXTS)
def test_exact_text_is_known_when_it_is_a_command(text: str) -> None:
    assert GUARD.commands(text) or commands(text) == []


def in_shell(text: str, name: str) -> str:
    """The value of a variable in a shell that has evaluated `text`."""
    script = 'eval "$1"; eval "printf %s. \\"\\$$2\\""'
    done = subprocess.run(["sh", "-c", script, "sh", text, name], capture_output=True, check=True)
    assert done.stderr == b""
    return done.stdout.decode().removesuffix(".")


@pytest.mark.parametrize(
    "value",
    [
        "::set-output name=a::b",
        "a\n::set-output name=a::b\n  ::error::x",
        "a\r\n::error::x\r##[error]y",
        "'\n'::error::'##[x]'\n",
        "##[a]###[b]",
        "::1",
        HOSTILE.encode("utf-8", "ignore").decode().replace("\0", ""),
    ],
)
def test_lines_for_a_shell_are_no_command_and_a_shell_reads_the_same(value: str) -> None:
    for line in (f"NAME={shlex.quote(value)}", shell_line("NAME", "NAME", value)):
        assert commands(GUARD.shell(line)) == []
        assert in_shell(GUARD.shell(line), "NAME") == value


def test_masks_before_assignments_are_nothing_to_a_shell() -> None:
    text = masked_assignments("::add-mask::s3cr'et $(exit 3)\n::add-mask::50%25\n", "0123abcd") + "A='x'\n"

    assert commands(text) == [
        Command("add-mask", {}, "s3cr'et $(exit 3)"),
        Command("add-mask", {}, "50%"),
    ]
    assert in_shell(text, "A") == "x"
    assert masked_assignments("", "0123abcd") == ""


PLACE = Place("app/a,b:c.tf", 3, 3, 5, 9)


@pytest.mark.parametrize(
    ("annotation", "line"),
    [
        pytest.param(
            Annotation(True, "no: bucket", "50%\nof it", PLACE),
            "::error file=app/a%2Cb%3Ac.tf,line=3,endLine=3,col=5,endColumn=9,title=no%3A bucket::50%25%0Aof it",
            id="an error in a line",
        ),
        pytest.param(
            Annotation(False, "old", "old", PLACE._replace(end_line=5)),
            "::warning file=app/a%2Cb%3Ac.tf,line=3,endLine=5,title=old::old",
            id="a warning of several lines has no columns",
        ),
        pytest.param(Annotation(True, "busy", "it is"), "::error title=busy::it is", id="without a place"),
    ],
)
def test_an_annotation(annotation: Annotation, line: str) -> None:
    found = runner(line)

    assert annotation_command(annotation) == line
    assert found is not None
    assert (found.data, found.properties["title"]) == (annotation.message, annotation.title)


@given(TEXTS, TEXTS, TEXTS)
def test_an_annotation_is_one_command_whatever_it_says(title: str, message: str, file: str) -> None:
    made = Annotation(True, title, message, PLACE._replace(file=file))
    found = commands(annotation_command(made))

    assert [(each.name, each.data) for each in found] == [("error", message)]
    assert found[0].properties["file"] == file
    assert found[0].properties["title"].strip() == title.strip(), "the runner trims the last one"


# Groups


def folded(log: Log, *reports: str) -> list[Told]:
    lines = FoldingLines(PlainLines(), MARKS, lambda _run: reports)
    return [told for record in log.records for told in lines.lines(record)]


def outline(told: list[Told]) -> list[str]:
    """Marks as they are; of lines, what they begin with behind the time."""
    return [each.text if each.is_mark else each.text[9:].split(" ")[0] for each in told]


def test_each_step_is_a_group_and_the_end_is_in_none() -> None:
    log = (
        Log().engine().begin("init").end("init").begin("apply").plan(("a.b", "create")).end("apply").finish()
    )

    assert outline(folded(log)) == [
        *("start", "start", "::group::init", "init", "init", "::endgroup::"),
        *("::group::apply", "apply", "apply", "apply", "::endgroup::", "end"),
    ]


def test_a_second_attempt_is_a_group_of_its_own() -> None:
    log = Log().begin("init").end("init", exit_code=1).begin("init", attempt=2).end("init").finish()

    marks = [told.text for told in folded(log) if told.is_mark]
    assert marks == ["::group::init", "::endgroup::", "::group::init, attempt 2", "::endgroup::"]


def test_a_group_that_nobody_has_ended_is_ended() -> None:
    log = Log().begin("init").begin("apply").finish(success=False, status="failed")

    marks = [told.text for told in folded(log) if told.is_mark]
    assert marks == ["::group::init", "::endgroup::", "::group::apply", "::endgroup::"]
    assert folded(log)[-1].text.endswith("failed after 3.0s")


def test_an_interrupted_run_is_told_outside_and_says_once_where_its_report_is() -> None:
    log = Log().begin("apply").add(events.Cancelling("signal", "SIGTERM", 60.0))
    log.add(events.Cancelling("signal", "SIGINT", 60.0)).end("apply", exit_code=1).finish()
    told = folded(log, "report.md", "/state/report.txt")

    assert outline(told)[1:4] == ["::group::apply", "apply", "::endgroup::"]
    assert "interrupted: the engine gets up to 1m00s" in told[4].text
    assert told[5].text == "what is known so far is in `report.md` and `/state/report.txt`"
    assert [each.text for each in told if each.is_mark] == ["::group::apply", "::endgroup::"]
    assert len([each for each in told if "known so far" in each.text]) == 1


def test_without_a_report_none_is_told_of() -> None:
    log = Log().begin("apply").add(events.Cancelling("signal", "SIGTERM", 60.0))

    assert [each.text for each in folded(log) if "known so far" in each.text] == []


def test_a_hostile_run_has_the_commands_that_are_ours_and_no_others() -> None:
    log = Log(text=HOSTILE).engine().begin("init").end("init").begin("apply").plan(("a.b", "create"))
    log.act("a.b", "create", "started", "failed").end("apply", exit_code=1).finish()
    written = "\n".join(told.text if told.is_mark else GUARD.talk(told.text) for told in folded(log))

    assert [command.name for command in commands(written)] == ["group", "endgroup"] * 2


# Detection

GITHUB = {"GITHUB_ACTIONS": "true"}
GITLAB = {"GITLAB_CI": "true"}


@pytest.mark.parametrize(
    ("choice", "environment", "is_terminal", "expected"),
    [
        ("auto", GITHUB, False, System.GITHUB),
        ("auto", GITLAB, False, System.GITLAB),
        ("auto", GITHUB, True, System.NONE),
        ("auto", {}, False, System.NONE),
        ("auto", {"GITHUB_ACTIONS": "false", "CI": "true"}, False, System.NONE),
        ("none", GITHUB, False, System.NONE),
        ("github", {}, True, System.GITHUB),
        ("gitlab", GITHUB, False, System.GITLAB),
    ],
)
def test_which_system_it_is(
    choice: str, environment: dict[str, str], is_terminal: bool, expected: System
) -> None:
    assert system_of(choice, environment, is_terminal=is_terminal) is expected


def test_without_a_system_text_stays_as_it_is() -> None:
    guard = guard_of(System.NONE)

    assert guard is UNGUARDED
    assert guard.talk(HOSTILE) == guard.json(HOSTILE) == guard.shell(HOSTILE) == HOSTILE
    assert not guard.commands(HOSTILE)
    assert guard_of(System.GITHUB) is GUARD


@pytest.mark.parametrize("name", SAMPLES)
def test_no_form_of_a_report_for_people_is_a_command(name: str) -> None:
    assert commands(GUARD.talk(visible(text_report(SAMPLES[name](HOSTILE))))) == []


@pytest.mark.parametrize(
    ("variables", "system"),
    [
        ({**GITHUB}, System.GITHUB),
        ({**GITHUB, "HEREYA_TF_CI": "none"}, System.NONE),
        ({**GITHUB, "HEREYA_TF_CI": "nonsense"}, System.GITHUB),
        ({"HEREYA_TF_CI": "gitlab"}, System.GITLAB),
        ({}, System.NONE),
    ],
)
def test_commands_without_the_option_are_guarded_where_a_log_reads_them(
    tmp_path: Path, variables: dict[str, str], system: System
) -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "wb"), (tmp_path / "file").open("wb") as file:
        assert guard_here(variables, writer) is guard_of(system)
        assert guard_here(variables, file.fileno()) is UNGUARDED
