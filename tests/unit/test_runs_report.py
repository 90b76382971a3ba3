"""`runs report` of runs that have ended, go on, have died or were refused, and of what is left of a log."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.report.formats import SUFFIXES, Format, render
from hereya_tf.runs import history
from hereya_tf.runs.retelling import report_of
from tests.command_line import CommandLine, Running
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine, wait_for

TOKEN = "glpat-" + "a" * 20
OUTPUTS = {
    "share": {"sensitive": False, "type": "number", "value": 0.25},
    "token": {"sensitive": False, "type": "string", "value": TOKEN},
}
FAILS = [
    scenes.applying("a.b"),
    {
        "message": {
            "@level": "error",
            "type": "diagnostic",
            "diagnostic": {
                "severity": "error",
                "summary": "no quota",
                "detail": "ask",
                "address": "a.b",
                "range": {
                    "filename": "main.tf",
                    "start": {"line": 2, "column": 3, "byte": 9},
                    "end": {"line": 2, "column": 8, "byte": 14},
                },
                "snippet": {
                    "context": 'resource "a" "b"',
                    "code": "  name = var.name",
                    "start_line": 2,
                    "highlight_start_offset": 9,
                    "highlight_end_offset": 17,
                    "values": [{"traversal": "var.name", "statement": 'is "x"'}],
                },
            },
        }
    },
    {"stderr": "odd\x1b[2J\n"},
    {"exit": 1},
]
SUCCEEDS = [scenes.applying("a.b"), scenes.applying("a.b", "apply_complete"), *scenes.applied(1, OUTPUTS)]


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": ""})


def report(cli: CommandLine, run: str = "last", form: Format = Format.TEXT) -> str:
    ran = cli("runs", "report", run, "--format", form)
    assert (ran.exit_code, ran.stderr) == (0, ""), ran.stderr
    return ran.stdout


def document(cli: CommandLine, run: str = "last") -> Any:
    return json.loads(report(cli, run, Format.JSON))


PLAYS = {
    "success": ({"apply": SUCCEEDS, "output": [{"stdout": json.dumps(OUTPUTS)}]}, (), 0),
    "failure": ({"apply": FAILS}, (), 1),
    "failed init": ({"init": [{"stderr": "no\n"}, {"exit": 1}]}, (), 1),
    "refusal": ({}, ("-p", "nowhere=1"), 3),
}


@pytest.mark.parametrize(("plays", "options", "code"), PLAYS.values(), ids=PLAYS)
def test_it_is_the_report_that_the_run_has_written(
    cli: CommandLine,
    fake_engine: FakeEngine,
    package: Path,
    tmp_path: Path,
    plays: dict[str, Any],
    options: tuple[str, ...],
    code: int,
) -> None:
    fake_engine.plays(plays)
    files = [tmp_path / f"report{suffix}" for suffix in SUFFIXES]
    named = [word for file in files for word in ("--report-file", file)]

    ran = cli("provision", package, "--yes", "--engine", fake_engine.path, *options, *named)

    assert ran.exit_code == code
    withheld = "warning: output `token` is left out: its value holds a credential; "
    assert (files[0].read_text().count(withheld), ran.stderr.count(withheld)) == (
        (1, 1) if code == 0 else (0, 0)
    )
    for file, form in zip(files, SUFFIXES.values(), strict=True):
        assert report(cli, form=form) == file.read_text(), form
    kept = tmp_path / "state/runs" / document(cli)["run"] / "report.txt"
    assert (kept.read_text() if kept.exists() else None) == (files[0].read_text() if code else None)


def test_the_report_of_a_failure_has_all_of_it(
    cli: CommandLine, fake_engine: FakeEngine, package: Path
) -> None:
    fake_engine.plays({"apply": FAILS})
    cli("provision", package, "--yes", "--engine", fake_engine.path)

    text = report(cli)

    assert "\nunfinished: 1 resource: a.b\n" in text
    assert text.endswith(
        "\n\n--- stderr ---\n"
        "Error: no quota\n"
        "\n"
        "  with a.b,\n"
        '  on main.tf line 2, in resource "a" "b":\n'
        "   2:   name = var.name\n"
        "               ^^^^^^^^\n"
        '      var.name is "x"\n'
        "\n"
        "ask\n"
        "\n"
        "odd\\x1b[2J\n"
    )


@pytest.fixture
def live(cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path) -> Any:
    """A run whose engine applies until the file `go` is there."""
    fake_engine.plays(
        {
            "apply": [
                scenes.applying("a.b"),
                {"wait_for_file": str(tmp_path / "go")},
                scenes.applying("a.b", "apply_complete"),
                *scenes.applied(1),
            ]
        }
    )
    running = cli.start("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    running.wait_for_event("resource", address="a.b")
    yield running
    (tmp_path / "go").touch()


def test_of_a_run_that_is_at_work_it_tells_how_far_it_has_come(cli: CommandLine, live: Running) -> None:
    text, told = report(cli), document(cli)

    assert ", workspace default, is at work after " in text.split("\n")[0]
    assert "note: the run has not ended yet; this is how far it has come\n" in text
    assert "unfinished: 1 resource: a.b\n" in text
    assert (told["status"], told["is_interim"], told["failure"]) == ("running", True, None)
    assert told["reproduce"].startswith("cd "), "it may die without another word"


def test_of_a_run_that_was_killed_it_tells_what_its_engine_came_to(
    cli: CommandLine, live: Running, fake_engine: FakeEngine, tmp_path: Path
) -> None:
    command = document(cli)["reproduce"]
    live.process.send_signal(signal.SIGKILL)
    live.process.wait()
    orphaned = report(cli)
    (tmp_path / "go").touch()
    fake_engine.wait_for_record("end")

    told = wait_for(lambda: _ended(document(cli)))

    assert (
        ", workspace default, was killed, and its engine is still at work, after " in orphaned.split("\n")[0]
    )
    assert (told["status"], told["exit_code"], told["failure"]["class"]) == ("failed", 70, "internal")
    assert told["reason"].endswith("was killed in step apply, and its engine went on to its end")
    assert [(each["address"], each["fate"]) for each in told["resources"]] == [("a.b", "done")]
    assert told["reproduce"] == command


def _ended(told: Any) -> Any:
    return None if told["is_interim"] else told


def test_of_a_run_that_waits_it_tells_for_whom(
    cli: CommandLine, live: Running, package: Path, fake_engine: FakeEngine
) -> None:
    holder = str(live.events()[0]["run"])
    waiting = cli.start("destroy", package, "--yes", "--json", "--engine", fake_engine.path)
    waiting.wait_for_event("lock_waiting")
    run = str(waiting.events()[0]["run"])

    told = document(cli, run)

    assert (told["status"], told["lock"]["kind"], told["lock"]["holder"]["run"]) == (
        "running",
        "package",
        holder,
    )
    assert f"\nlock: on the package, held by provision of run {holder} (pid {live.pid} on " in report(
        cli, run
    )
    waiting.send_signal(signal.SIGTERM)
    assert waiting.finish().exit_code == 143
    ended = document(cli, run)
    assert (ended["status"], ended["lock"]["holder"]["run"]) == ("cancelled", holder)


def run_directory() -> Path:
    (record,) = history.list_runs(Path(os.environ["HEREYA_TF_STATE_DIR"], "runs"))
    return Path(os.environ["HEREYA_TF_STATE_DIR"], "runs", record.id)


@pytest.fixture
def failed(cli: CommandLine, fake_engine: FakeEngine, package: Path) -> Path:
    """The directory of a run that has failed."""
    fake_engine.plays({"apply": FAILS})
    assert cli("provision", package, "--yes", "--engine", fake_engine.path).exit_code == 1
    return run_directory()


@pytest.mark.parametrize("command", ["report", "show", "log"])
def test_a_log_without_its_end_is_told_with_what_the_record_knows(
    cli: CommandLine, failed: Path, command: str
) -> None:
    """As when the disk was full: the log ends early, and the run goes on."""
    log = failed / history.EVENTS
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:-2]) + '\n{"v":1,"seq":')

    ran = cli("runs", command, "last")

    assert (ran.exit_code, ran.stderr) == (0, "")
    if command == "report":
        assert "\nerror: no quota: ask (`a.b`)\nclass: provider-error (exit code 1)\n" in ran.stdout
        assert "\nhint: the log of the run is not complete; " in ran.stdout
        assert "unfinished: 1 resource: a.b\n" in ran.stdout


@pytest.mark.parametrize("left", ["nothing", "rubbish", "no log", "half of it"])
def test_whatever_is_left_of_a_log_there_is_a_report(cli: CommandLine, failed: Path, left: str) -> None:
    log = failed / history.EVENTS
    match left:
        case "no log":
            log.unlink()
        case "half of it":
            log.write_bytes(log.read_bytes()[::2])
        case _:
            log.write_text("" if left == "nothing" else '[]\n7\n{"type":"result"}\n\x00\n')

    record = history.read_record(failed)
    assert record is not None
    told = report_of(failed.parent, record)
    texts = [render(told, form) for form in Format]

    assert (told.run, told.status, told.exit_code, told.failure_class) == (
        *(failed.name, "failed"),
        *(1, "provider-error"),
    )
    for text in texts:
        assert "no quota" in text.lower()
        assert failed.name in text
    assert report(cli) == texts[0]


def test_a_success_without_a_log_is_a_success(
    cli: CommandLine, fake_engine: FakeEngine, package: Path
) -> None:
    fake_engine.plays({"apply": SUCCEEDS})
    cli("provision", package, "--yes", "--engine", fake_engine.path)
    (run_directory() / history.EVENTS).unlink()

    told = document(cli)

    assert (told["success"], told["status"], told["exit_code"], told["failure"]) == (
        True,
        "succeeded",
        0,
        None,
    )
