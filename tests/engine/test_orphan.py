"""A run whose runner was killed while its engine goes on: what the commands say of it, and how it ends."""

import json
from pathlib import Path

import pytest

from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package(scenes.GATED)


def orphan(cli: CommandLine, package: Path, real_engine: str) -> str:
    """The id of a run that was killed in the middle of its apply; its engine waits for the file `go`."""
    running = cli.start("provision", package, "--yes", "--json", "--engine", real_engine)
    scenes.wait_for_file(package / "started")
    return scenes.kill(running)


def state(cli: CommandLine, run: str) -> str:
    return scenes.states(cli)[run]


def test_an_orphaned_run_is_told_as_such_and_its_log_is_completed_by_who_looks_at_it(
    cli: CommandLine, package: Path, real_engine: str
) -> None:
    run = orphan(cli, package, real_engine)
    before = state(cli, run)
    looked_early = cli("runs", "log", run, "--json").stdout

    (package / "go").touch()
    wait_for(lambda: state(cli, run) == "died" or None, what="the engine's end")
    events = [json.loads(line) for line in cli("runs", "log", run, "--json").stdout.splitlines()]

    assert before == "orphaned"
    assert '"type":"result"' not in looked_early
    created = [e["address"] for e in events if e["type"] == "resource" and e["status"] == "completed"]
    assert created == ["terraform_data.first", "terraform_data.second", "terraform_data.third"]
    assert (events[-1]["type"], events[-1]["changes"]["add"]) == ("result", 3)
    assert events[-1]["failure"]["state"]["saved"] is True
    assert state(cli, run) == "failed"


def test_an_orphaned_engine_is_cancelled_gracefully(
    cli: CommandLine, package: Path, real_engine: str
) -> None:
    run = orphan(cli, package, real_engine)

    said = cli("runs", "cancel", run)
    wait_for(lambda: state(cli, run) == "died" or None, what="the engine's end")
    shown = json.loads(cli("runs", "show", run, "--json").stdout)

    assert (said.exit_code, said.stdout) == (
        0,
        f"the runner of run {run} was killed; its engine was asked to end\n",
    )
    assert shown["result"]["changes"]["add"] == 1
    assert "ended without finishing" in shown["reason"] or "interrupt" in shown["reason"]
    assert cli("runs", "cancel", run).exit_code == 3
