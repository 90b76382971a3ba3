"""The files a caller asks for: the result, reports, the events."""

import json
import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.report.formats import SUFFIXES
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine

OUTPUTS = {
    "name": {"sensitive": False, "type": "string", "value": "db"},
    "password": {"sensitive": True, "type": "string", "value": "hunter22"},
}
SUMMARY = {"type": "change_summary", "changes": {"add": 1, "change": 0, "remove": 0, "operation": "apply"}}
SUCCEEDS: dict[str, Any] = {"apply": [{"message": SUMMARY}], "output": [{"stdout": json.dumps(OUTPUTS)}]}
ERROR = {"severity": "error", "summary": "no quota", "detail": "ask for more"}
FAILS = {
    "apply": [
        {"message": {"@level": "error", "type": "diagnostic", "diagnostic": ERROR}},
        {"stderr": "and more\n"},
        {"exit": 1},
    ]
}


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": ""})


@pytest.fixture
def provision(cli: CommandLine, fake_engine: FakeEngine, package: Path) -> Any:
    def run(*arguments: str | Path, plays: dict[str, Any]) -> Any:
        fake_engine.plays(plays)
        return cli("provision", package, "--yes", "--engine", fake_engine.path, *arguments)

    return run


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_result_file_is_private_and_has_every_value(provision: Any, tmp_path: Path) -> None:
    file = tmp_path / "result.json"

    ran = provision("--result-file", file, plays=SUCCEEDS)

    result = json.loads(file.read_text())
    assert (ran.exit_code, mode(file)) == (0, 0o600)
    assert file.read_text().count("\n") == 1
    assert result["env"] == {"name": "db", "password": "hunter22"}
    assert result["outputs"]["password"] == {"type": "string", "sensitive": True, "value": "hunter22"}
    assert (result["success"], result["status"], result["engine"]) == (
        True,
        "succeeded",
        {"name": "terraform", "version": "1.11.4"},
    )
    assert not {"v", "seq", "ts", "run", "type"} & set(result)
    assert "hunter22" not in ran.stdout + ran.stderr


def test_a_result_file_that_is_there_becomes_private_before_it_is_written(
    provision: Any, tmp_path: Path
) -> None:
    file = tmp_path / "result.json"
    file.write_text("x" * 100_000)
    file.chmod(0o644)

    provision("--result-file", file, plays=SUCCEEDS)

    assert (mode(file), json.loads(file.read_text())["success"]) == (0o600, True)


def test_a_failure_has_a_result_file_too(provision: Any, tmp_path: Path) -> None:
    file = tmp_path / "result.json"

    ran = provision("--result-file", file, "--json", plays=FAILS)

    written = json.loads(file.read_text())
    assert ran.exit_code == 1
    assert written == {
        name: value for name, value in ran.result.items() if name not in ("v", "seq", "ts", "run", "type")
    }


def test_reports_of_a_failure(provision: Any, tmp_path: Path) -> None:
    text, document = tmp_path / "report.txt", tmp_path / "report.json"

    ran = provision("--report-file", text, "--report-file", document, plays=FAILS)

    assert (ran.exit_code, mode(text), mode(document)) == (1, 0o600, 0o600)
    said = "\n--- stderr ---\nError: no quota\n\nask for more\n\nand more\n"
    assert text.read_text().endswith(said)
    assert ran.stderr.count(said) == 1
    report = json.loads(document.read_text())
    assert (report["reason"], report["failure"]["stderr"], report["is_interim"]) == (
        "no quota: ask for more",
        "Error: no quota\n\nask for more\n\nand more\n",
        False,
    )
    assert Path(report["report"]).read_text() == text.read_text()


BEGINNINGS = {
    ".txt": "provision of ",
    ".md": "### ✅ provision of ",
    ".json": "{\n",
    ".xml": "<?xml ",
    ".html": "<!doctype html>",
}


def test_every_ending_has_its_form_and_a_success_has_reports_too(provision: Any, tmp_path: Path) -> None:
    files = [tmp_path / f"report{ending}" for ending in SUFFIXES]
    options = [word for file in files for word in ("--report-file", file)]

    ran = provision(*options, "--json", plays=SUCCEEDS)

    assert (ran.exit_code, ran.result["report"]) == (0, None)
    assert set(BEGINNINGS) == set(SUFFIXES)
    for file in files:
        assert file.read_text().lower().startswith(BEGINNINGS[file.suffix]), file
        assert (mode(file), "hunter22" in file.read_text()) == (0o600, False)
    kept = Path(os.environ["HEREYA_TF_STATE_DIR"], "runs", ran.result["run"])
    assert not (kept / "report.txt").exists()


@pytest.mark.behaviour("F7")
def test_a_report_holds_no_secret(provision: Any, tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    token = "glpat-" + "a" * 20
    diagnostic = {**ERROR, "summary": f"no access with {token}", "detail": "hunter22"}
    fails = {
        "apply": [
            {"message": {"@level": "error", "type": "diagnostic", "diagnostic": diagnostic}},
            {"stderr": f"{token} hunter22\n"},
            {"exit": 1},
        ]
    }

    ran = provision("--report-file", file, "-e", "A=hunter22", "--redact", "A", plays=fails)

    shown = file.read_text() + ran.stderr + ran.stdout
    assert (token in shown, "hunter22" in shown) == (False, False)
    assert "no access with [redacted]" in shown


def test_events_go_into_a_private_file(provision: Any, tmp_path: Path) -> None:
    file = tmp_path / "events.ndjson"
    file.write_text("of the last time\n")
    file.chmod(0o644)

    ran = provision("--events-file", file, "--json", "--show-sensitive", plays=SUCCEEDS)

    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert mode(file) == 0o600
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[:-1] == ran.events[:-1]
    assert "hunter22" not in file.read_text(), "a log has no secrets, whatever stdout may show"
    assert ran.result["env"]["password"] == "hunter22"


@pytest.mark.parametrize("option", ["--events-file", "--report-file"])
def test_a_file_that_cannot_be_written_costs_a_warning(provision: Any, tmp_path: Path, option: str) -> None:
    file = tmp_path / "nowhere" / "file.json"

    ran = provision(option, file, plays=SUCCEEDS)

    assert ran.exit_code == 0
    assert ran.stderr.count(f"warning: `{file}` cannot be written: No such file or directory\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("option", ["--result-file", "--events-file", "--report-file"])
def test_a_full_disk_costs_a_warning(provision: Any, tmp_path: Path, option: str) -> None:
    file = tmp_path / "full.txt"
    file.symlink_to("/dev/full")

    ran = provision(option, file, plays=SUCCEEDS)

    assert (ran.exit_code, ran.stdout) == (0, "name=db\n")
    complaint = f"warning: `{file}` is not complete: it cannot be written any further\n"
    assert ran.stderr.count(complaint) == 1


def test_a_device_is_written_to_and_left_as_it_is(provision: Any) -> None:
    before = Path("/dev/null").stat().st_mode

    assert (
        provision("--result-file", "/dev/null", "--events-file", "/dev/null", plays=SUCCEEDS).exit_code == 0
    )
    assert Path("/dev/null").stat().st_mode == before


@pytest.mark.parametrize("option", ["--result-file", "--events-file", "--report-file"])
def test_a_pipe_that_nobody_reads_never_stops_a_run(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path, option: str
) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    much: dict[str, Any] = {"message": {"type": "log", "@message": "x" * 50_000}}
    actions: list[Any] = [*[much] * 10, {"message": SUMMARY}]
    fake_engine.plays({"apply": actions})

    running = cli.start("provision", package, "--yes", "--json", "--engine", fake_engine.path, option, pipe)
    running.wait_for_event("result")
    # It waits for a reader for a while, with its locks free; nobody has to.
    running.send_signal(signal.SIGINT)
    ran = running.finish()

    assert ran.result["success"]


def test_a_pipe_gets_every_event(cli: CommandLine, fake_engine: FakeEngine, package: Path) -> None:
    fake_engine.plays(SUCCEEDS)
    reader, writer = os.pipe()
    running = cli.start(
        *("provision", package, "--yes", "--json", "--engine", fake_engine.path),
        *("--events-file", f"/dev/fd/{writer}"),
        pass_fds=(writer,),
    )
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        told = [json.loads(line) for line in pipe]

    ran = running.finish()
    assert told == ran.events
