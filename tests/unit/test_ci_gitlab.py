"""GitLab CI: sections that fold, which nothing that others say begins or ends."""

import re
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import exact
from hereya_tf.ui.ci.folding import FoldingLines
from hereya_tf.ui.ci.gitlab import GUARD, MARKS
from hereya_tf.ui.plain import PlainLines
from tests.reports import HOSTILE, RUN, Log

# What GitLab takes for a mark (lib/gitlab/ci/trace/section_parser.rb).
MARK = re.compile(r"section_(start|end):(\d+):([a-zA-Z0-9_.-]+)(?:\[(.*?)\])?\r\x1b\[0K")
BEGAN = 1_796_004_000


def written(log: Log) -> str:
    lines = FoldingLines(PlainLines(), MARKS, lambda _run: ())
    told = [each for record in log.records for each in lines.lines(record)]
    return "".join(f"{each.text if each.is_mark else GUARD.talk(each.text)}\n" for each in told)


def test_each_step_is_a_section_and_the_end_is_in_none() -> None:
    log = Log().engine().begin("init").end("init").begin("apply").end("apply", exit_code=1)
    lines = written(log.finish(success=False, status="failed")).split("\n")

    assert lines[2] == f"\x1b[0Ksection_start:{BEGAN + 3}:init.1.{RUN}[collapsed=true]\r\x1b[0Kinit"
    assert lines[5] == f"\x1b[0Ksection_end:{BEGAN + 4}:init.1.{RUN}\r\x1b[0K"
    assert lines[6] == f"\x1b[0Ksection_start:{BEGAN + 5}:apply.2.{RUN}\r\x1b[0Kapply"
    assert lines[9] == f"\x1b[0Ksection_end:{BEGAN + 6}:apply.2.{RUN}\r\x1b[0K"
    assert lines[10].endswith("failed after 7.0s")
    assert len(lines) == 12


def test_no_name_stands_for_two_sections() -> None:
    log = Log().begin("init").end("init", exit_code=1).begin("init", attempt=2).end("init")
    log.begin("show").end("show").begin("show").end("show").finish()
    found = MARK.findall(written(log))
    starts = [name for kind, _, name, _ in found if kind == "start"]

    assert len(starts) == len(set(starts)) == 4
    assert starts == [name for kind, _, name, _ in found if kind == "end"]
    assert "init, attempt 2" in written(log)


def test_a_hostile_run_has_our_marks_and_no_others() -> None:
    mark = "\x1b[0Ksection_end:1:init.1\r\x1b[0K"
    log = Log(text=HOSTILE + mark).engine().begin("init").end("init").begin("apply")
    log.act("a.b", "create", "started", "failed").end("apply", exit_code=1).finish()

    assert [kind for kind, *_ in MARK.findall(written(log))] == ["start", "end"] * 2


@pytest.mark.parametrize(
    "value", ["\x1b[0Ksection_start:1:a\r\x1b[0Kx", "'\x1b[0Ksection_end:1:a\r\x1b[0K\n'"]
)
def test_an_output_begins_and_ends_nothing_and_a_shell_reads_it_as_it_is(value: str) -> None:
    line = GUARD.shell(f"NAME={shlex.quote(value)}")
    done = subprocess.run(["sh", "-c", f'{line}; printf %s "$NAME"'], capture_output=True, check=True)

    assert MARK.findall(line) == []
    assert done.stdout.decode() == value


@given(st.text())
def test_text_without_escapes_stays_as_it_is(text: str) -> None:
    plain = text.replace("\x1b", "")

    assert GUARD.shell(plain) == GUARD.talk(plain) == GUARD.json(plain) == plain
    assert MARK.findall(exact.dumps({"a": "\x1b[0Ksection_start:1:a\r\x1b[0Kx"})) == []
