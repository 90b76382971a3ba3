"""Histories that a crash or a stranger has damaged, names that are no text, files that are written in one step."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hereya_tf import events
from hereya_tf.cli.files import put_whole
from hereya_tf.errors import FailureClass
from hereya_tf.locks import tickets
from hereya_tf.reading import open_regular_file
from hereya_tf.runs import history, pruning
from hereya_tf.runs.history import RunRecord
from hereya_tf.runs.retention import Limits
from hereya_tf.supervision.process_table import ProcessIdentity
from tests.command_line import CommandLine, environment
from tests.fake_engine import FakeEngine
from tests.unit.test_ci_github import commands

RUN = "20260101T000000Z-aaaaaaaa"
COMMANDS = (
    ("runs", "list"),
    ("runs", "list", "--json"),
    ("runs", "show", "last"),
    ("runs", "show", "last", "--json"),
    ("runs", "log", "last"),
    ("runs", "log", "last", "--json"),
    *(("runs", "report", "last", "--format", form) for form in ("text", "markdown", "json", "junit", "html")),
    ("runs", "timeline", "last"),
    ("runs", "prune", "--dry-run"),
)


def event(number: int, what: events.Event) -> str:
    """A line of a log."""
    return events.encode(events.record_of(what, sequence=number, seconds=1767225600.0, run=RUN)) + "\n"


def run_record(run: str = RUN, **changed: Any) -> RunRecord:
    made = RunRecord(
        id=run,
        operation="provision",
        package="/p",
        workspace="default",
        key="/p#default",
        host=history.host_name(),
        process=ProcessIdentity(2**22 + 1, "never"),
        started="2026-01-01T00:00:00.000Z",
        version="1.0",
        ended="2026-01-01T00:01:00.000Z",
        status="succeeded",
        exit_code=0,
        seconds=60.0,
    )
    return made._replace(**changed)


def keep(runs: Path, record: RunRecord, *, name: str | None = None, log: str | None = None) -> Path:
    """A run in the history; its log has at least its beginning."""
    directory = runs / (name or record.id)
    directory.mkdir(parents=True)
    history.write_record(directory, record)
    began = events.RunStarted(
        record.operation, record.package, record.workspace, record.key, 1, record.version
    )
    text = event(1, began) if log is None else log
    (directory / history.EVENTS).write_text(text, encoding="utf-8", errors="backslashreplace")
    return directory


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "state/runs"


def said(*arguments: str, **variables: str) -> str:
    """What a command says into a pipe, as a CI system reads it."""
    process = subprocess.run(
        [sys.executable, "-m", "hereya_tf", *arguments],
        env=environment(variables),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (process.returncode, process.stderr) == (0, b"")
    return process.stdout.decode()


@pytest.mark.parametrize("name", [history.RECORD, history.EVENTS])
def test_a_pipe_in_place_of_a_file_of_the_history_holds_nobody(
    cli: CommandLine, runs: Path, name: str
) -> None:
    # Every command hung, and with the record of a dead run the next `provision` of its package.
    keep(runs, run_record("20251231T000000Z-bbbbbbbb"))
    directory = keep(runs, run_record())
    (directory / name).unlink()
    os.mkfifo(directory / name)

    for arguments in COMMANDS:
        assert cli(*arguments, timeout=30).exit_code == 0, arguments
    assert history.is_waiting(directory) is False


def test_a_device_in_place_of_a_file_of_the_history_is_not_read(runs: Path) -> None:
    # /dev/zero has no end.
    directory = keep(runs, run_record())
    for name in (history.RECORD, history.EVENTS):
        (directory / name).unlink()
        (directory / name).symlink_to(os.devnull)

    assert history.read_record(directory) is None
    assert history.read_log(directory) == ()
    with pytest.raises(OSError, match="it is not a regular file"):
        open_regular_file(Path(os.devnull))


def test_of_a_line_that_no_run_has_written_nothing_is_kept(runs: Path) -> None:
    line = event(1, events.LockAcquired(0.0))
    directory = keep(runs, run_record(), log=line)
    with (directory / history.EVENTS).open("r+b") as file:
        file.truncate((512 << 20) + len(line))
        file.seek(0, os.SEEK_END)
        file.write(f"{line}{line}".encode())  # the first of them ends the line

    tracemalloc.start()
    found = history.read_log(directory)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert [each["type"] for each in found] == ["lock_acquired", "lock_acquired"]
    assert most < 256 << 20


def test_a_log_may_be_larger_than_memory(runs: Path) -> None:
    line = event(1, events.LogEvent("stderr", "x" * 1000))
    directory = keep(runs, run_record(), log=line * 4000)

    tracemalloc.start()
    count = sum(1 for _ in history.log_of(directory))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 4000
    assert most < 1 << 20


def test_a_record_of_another_run_leads_nowhere(cli: CommandLine, runs: Path) -> None:
    # `runs cancel` wrote its request to where the id in the record led.
    keep(runs, run_record("../../elsewhere", status=None, host="another"), name=RUN)

    assert history.list_runs(runs) == ()
    assert cli("runs", "cancel", RUN).exit_code == 3
    assert not (runs.parent.parent / "elsewhere").exists()


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "-Infinity", "1e999", "1e308"])
def test_a_number_that_no_run_takes_is_no_record(cli: CommandLine, runs: Path, seconds: str) -> None:
    # `runs list` failed, whichever run was looked for.
    directory = keep(runs, run_record())
    text = (directory / history.RECORD).read_text(encoding="utf-8")
    assert '"seconds": 60.0' in text
    (directory / history.RECORD).write_text(text.replace("60.0", seconds), encoding="utf-8")
    keep(runs, run_record("20260101T000000Z-bbbbbbbb"))

    ran = cli("runs", "list", "--json")

    assert [run["run"] for run in json.loads(ran.stdout)["runs"]] == ["20260101T000000Z-bbbbbbbb"]


@pytest.mark.parametrize("encoding", ["utf-8:strict", "latin-1:strict", "ascii:strict"])
def test_names_that_are_no_text_can_be_shown_in_every_locale(
    cli: CommandLine, runs: Path, encoding: str
) -> None:
    # One package in a directory named in Latin-1, and no command of `runs` worked any more.
    keep(runs, run_record(package="/p/b\udcff \u2026\u274c"))

    shown = {}
    for arguments in COMMANDS:
        ran = cli(*arguments, env={"PYTHONIOENCODING": encoding})
        assert (ran.exit_code, ran.stderr) == (0, ""), arguments
        shown[arguments] = ran.stdout

    assert json.loads(shown["runs", "list", "--json"])["runs"][0]["package"] == "/p/b\udcff \u2026\u274c"
    assert "/p/b\\udcff \u2026\u274c" in shown["runs", "list"]


def test_a_run_is_a_line_whatever_its_package_is_called(cli: CommandLine, runs: Path) -> None:
    keep(runs, run_record(package="/p/a\n::error::b\tc", workspace="x\ny"))

    listed = cli("runs", "list").stdout.splitlines()
    shown = cli("runs", "show", "last").stdout.splitlines()

    assert listed[1:] == [f"{RUN}  provision  succeeded  1m00s  /p/a\\n::error::b\\tc#x\\ny"]
    assert "package      /p/a\\n::error::b\\tc" in shown


def test_who_holds_a_lock_is_no_command(tmp_path: Path) -> None:
    package = tmp_path / "a\n::set-env name=X::b"
    package.mkdir()

    for command in ("status", "release"):
        log = said("lock", command, str(package), GITHUB_ACTIONS="true")
        assert (commands(log), log.count("\n")) == ([], 1)


@pytest.mark.parametrize("form", ["junit", "html"])
def test_markup_in_a_log_is_no_command_and_means_the_same(runs: Path, form: str) -> None:
    # A report as a page went to the log of GitHub as it was.
    evil = "x\n::set-env name=PATH::/evil\n  ::error::y ##[add-path]/evil"
    failure = events.FailureInfo(
        FailureClass.ENGINE_ERROR,
        evil,
        (),
        evil,
        evil,
        events.StateInfo(None, None, None),
    )
    result = events.Result(
        success=False,
        status="failed",
        reason=evil,
        exit_code=1,
        operation="provision",
        package="/p",
        workspace="default",
        engine=None,
        env={},
        outputs={},
        changes=events.ChangeCounts(),
        drift=None,
        failure=failure,
        timings=events.Timings(None, None, None, None, None, None, 1.0),
        report=None,
    )
    began = events.RunStarted("provision", "/p", "default", "key", 1, "1.0")
    keep(runs, run_record(status="failed", exit_code=1), log=event(1, began) + event(2, result))

    plain = said("runs", "report", "last", "--format", form)
    guarded = said("runs", "report", "last", "--format", form, GITHUB_ACTIONS="true")

    assert commands(plain) != []
    assert commands(guarded) == []
    if form == "junit":
        assert ElementTree.canonicalize(guarded) == ElementTree.canonicalize(plain)
    else:
        assert guarded.replace("&#58;", ":").replace("&#91;", "[") == plain


def test_a_report_takes_the_place_of_the_last_one_in_one_step(tmp_path: Path) -> None:
    file, link = tmp_path / "report.txt", tmp_path / "link.txt"
    file.write_text("yesterday's")
    file.chmod(0o644)
    link.symlink_to(file.name)

    with file.open() as reader:
        assert put_whole(str(link), "today's \udcff") is True
        assert reader.read() == "yesterday's"

    assert link.is_symlink()
    assert file.read_text() == "today's \\udcff"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(each.name for each in tmp_path.iterdir() if "report" in each.name) == ["report.txt"]


def other_places(directory: Path) -> Iterator[Path]:
    """What cannot be replaced, or must not be."""
    os.mkfifo(directory / "pipe")
    yield directory / "pipe"
    (directory / "inner").mkdir()
    yield directory / "inner"
    (directory / "one").write_text("shared")
    (directory / "two").hardlink_to(directory / "one")
    yield directory / "one"
    (directory / "loop").symlink_to("loop")
    yield directory / "loop"
    (directory / "null").symlink_to(os.devnull)
    yield directory / "null"
    yield directory / "missing/report.txt"
    yield directory / ("x" * 255)
    yield Path("nul\0")


def test_what_others_have_as_well_keeps_its_place(tmp_path: Path) -> None:
    for place in other_places(tmp_path):
        names = sorted(tmp_path.iterdir())
        assert put_whole(str(place), "text") is False, place
        assert sorted(tmp_path.iterdir()) == names
    assert (tmp_path / "two").read_text() == "shared"


def test_a_pipe_without_a_reader_does_not_hold_a_timeline(
    cli: CommandLine, runs: Path, tmp_path: Path
) -> None:
    # A page of more than 64 KiB waited for one for ever.
    keep(runs, run_record())
    os.mkfifo(tmp_path / "pipe")

    ran = cli("runs", "timeline", "last", "--html", tmp_path / "pipe", timeout=30)

    assert ran.exit_code == 3
    assert ran.stderr.startswith(f"error: `--html {tmp_path / 'pipe'}` cannot be written: ")


def test_a_killed_run_leaves_whole_reports_or_none(
    cli: CommandLine, fake_engine: FakeEngine, tmp_path: Path, make_package: Any
) -> None:
    # They were emptied first: whoever was killed then left a page without a word.
    package = make_package({"main.tf": ""})
    fake_engine.plays({"apply": [{"stderr": "broken\n" * 2000}, {"exit": 1}]})
    for round_ in range(4):
        place = tmp_path / f"reports-{round_}"
        place.mkdir()
        files = [place / f"report.{ending}" for ending in ("txt", "html", "json", "xml", "md")]
        options = [word for file in files for word in ("--report-file", str(file))]
        running = cli.start("provision", package, "--yes", "--engine", fake_engine.path, *options)
        while not files[0].exists():
            assert running.process.poll() is None
        running.kill()

        for file in filter(Path.exists, files):
            text = file.read_text(encoding="utf-8")
            assert text.endswith("\n"), file
            if file.suffix == ".html":
                assert text.endswith("</html>\n")
            elif file.suffix == ".json":
                json.loads(text)
            elif file.suffix == ".xml":
                ElementTree.fromstring(text)


def test_what_others_have_removed_meanwhile_did_not_stay(runs: Path) -> None:
    # Of two that pruned at once each complained of hundreds that the other had removed.
    busy = keep(runs, run_record("20260101T000000Z-aaaaaaaa"))
    keep(runs, run_record("20260102T000000Z-bbbbbbbb"))
    keep(runs, run_record("20260103T000000Z-cccccccc"))
    asked: list[int] = []
    descriptor = os.open(busy, os.O_RDONLY)
    assert tickets.lock_alone(descriptor)

    def give_up() -> bool:
        asked.append(1)
        if len(asked) == 2:
            shutil.rmtree(busy)
        return False

    try:
        pruned = pruning.prune(
            runs, Limits(runs=1, age=1e12, bytes=1e12), 1.8e9, warn=lambda _said: None, give_up=give_up
        )
    finally:
        os.close(descriptor)

    assert (pruned.removed, pruned.spared) == (("20260102T000000Z-bbbbbbbb",), ())
