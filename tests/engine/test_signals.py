"""One interrupt, then patience: a run ends when it is told to, with its state saved and its locks free."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import CommandLine, Running, environment
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine, wait_for

SIGNALS = pytest.mark.parametrize(
    ("number", "exit_code"),
    [
        pytest.param(signal.SIGINT, 130, id="SIGINT"),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM"),
        pytest.param(signal.SIGHUP, 129, id="SIGHUP"),
    ],
)
FOREVER = {"wait_for_file": "never"}
# The real engine finishes what is in flight, which this one does as soon as `go` exists.
PATIENT = [
    scenes.applying("null_resource.a"),
    {"on_sigint": "record"},
    {"touch": "started"},
    {"wait_for_file": "go"},
    scenes.applying("null_resource.a", "apply_complete"),
    {"exit": 1},
]


def start(cli: CommandLine, package: Path, engine: FakeEngine, *more: str) -> Running:
    return cli.start("provision", package, "--yes", "--json", "--engine", str(engine.path), *more)


@SIGNALS
def test_a_run_that_waits_for_a_lock_ends_at_once_and_starts_no_engine(
    cli: CommandLine,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    number: signal.Signals,
    exit_code: int,
) -> None:
    package = make_package(scenes.NOTHING)
    with scenes.package_lock_held(package):
        running = start(cli, package, fake_engine)
        running.wait_for_event("lock_waiting")
        running.send_signal(number)
        ended = running.finish()

    assert (ended.exit_code, ended.result["status"], ended.result["failure"]["class"]) == (
        exit_code,
        "cancelled",
        "cancelled",
    )
    assert ended.result["reason"] == f"the run was cancelled by {number.name}"
    assert fake_engine.commands() == []
    assert scenes.held_locks() == []


@SIGNALS
@pytest.mark.parametrize("step", ["init", "apply"])
def test_an_engine_that_only_reads_gets_one_interrupt(
    cli: CommandLine,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    step: str,
    number: signal.Signals,
    exit_code: int,
) -> None:
    fake_engine.plays({step: [{"touch": "started"}, FOREVER]})
    package = make_package(scenes.NOTHING)
    running = start(cli, package, fake_engine)
    scenes.wait_for_file(package / "started")
    running.send_signal(number)
    ended = running.finish()

    assert (ended.exit_code, ended.result["status"]) == (exit_code, "cancelled")
    assert ended.result["failure"]["state"]["saved"] is True
    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT"]
    (cancelling,) = [event for event in ended.events if event["type"] == "cancelling"]
    assert (cancelling["reason"], cancelling["signal"], cancelling["grace_seconds"]) == (
        "signal",
        "SIGINT",
        60,
    )
    assert fake_engine.commands()[-1] == step
    assert scenes.held_locks() == []


def test_the_signal_pair_of_a_ci_runner_is_one_interrupt(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    """GitHub's runner sends SIGINT, and SIGTERM a few seconds later."""
    fake_engine.plays({"apply": PATIENT})
    package = make_package(scenes.NOTHING)
    running = start(cli, package, fake_engine)
    scenes.wait_for_file(package / "started")
    running.send_signal(signal.SIGINT)
    fake_engine.wait_for_record("signal")
    with pytest.raises(subprocess.TimeoutExpired):
        running.process.wait(1)
    running.send_signal(signal.SIGTERM)
    with pytest.raises(subprocess.TimeoutExpired):
        running.process.wait(0.5)
    (package / "go").touch()
    ended = running.finish()

    assert (ended.exit_code, ended.result["status"]) == (130, "cancelled")
    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT"]
    assert ended.result["changes"]["add"] == 1


def test_a_shower_of_signals_is_one_interrupt(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    """A terminal, a shell and a wrapper may each pass on the same Ctrl-C."""
    fake_engine.plays({"apply": PATIENT})
    package = make_package(scenes.NOTHING)
    running = start(cli, package, fake_engine)
    scenes.wait_for_file(package / "started")
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
        running.send_signal(number)
        # Signals of one kind that are pending together arrive as one.
        with pytest.raises(subprocess.TimeoutExpired):
            running.process.wait(0.02)
    fake_engine.wait_for_record("signal")
    with pytest.raises(subprocess.TimeoutExpired):
        running.process.wait(0.3)
    (package / "go").touch()
    ended = running.finish()

    assert ended.result["status"] == "cancelled"
    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT"]


def test_the_users_own_second_ctrl_c_is_passed_on(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"apply": [{"on_sigint": "record"}, *PATIENT]})
    package = make_package(scenes.NOTHING)
    running = start(cli, package, fake_engine)
    scenes.wait_for_file(package / "started")
    running.send_signal(signal.SIGINT)
    fake_engine.wait_for_record("signal")
    with pytest.raises(subprocess.TimeoutExpired):
        running.process.wait(0.7)
    running.send_signal(signal.SIGINT)
    wait_for(lambda: len(fake_engine.records("signal")) == 2 or None, what="the second SIGINT")
    (package / "go").touch()
    ended = running.finish()

    assert ended.exit_code == 130
    assert [event["signal"] for event in ended.events if event["type"] == "cancelling"] == [
        "SIGINT",
        "SIGINT",
    ]
    assert ended.result["failure"]["state"]["saved"] is None


def test_a_ctrl_c_at_a_terminal_reaches_the_engine_once(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    """A terminal signals the whole foreground group: the engine must not be in it."""
    fake_engine.plays({"apply": PATIENT})
    package = make_package(scenes.NOTHING)
    running = cli.start(
        "provision",
        package,
        "--yes",
        "--json",
        "--engine",
        str(fake_engine.path),
        start_new_session=True,
    )
    scenes.wait_for_file(package / "started")
    scenes.signal_group(running.pid, signal.SIGINT)
    fake_engine.wait_for_record("signal")
    (package / "go").touch()
    running.finish()

    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT"]
    (apply,) = fake_engine.records("start", command="apply")
    assert apply["sid"] == apply["pid"] != running.pid


@pytest.mark.parametrize("place", ["waiting", "applying"])
def test_runs_cancel_ends_a_run_gracefully(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, place: str
) -> None:
    fake_engine.plays({"apply": [scenes.applying("null_resource.a"), {"touch": "started"}, FOREVER]})
    package = make_package(scenes.NOTHING)
    with scenes.package_lock_held(package) as _:
        running = start(cli, package, fake_engine)
        running.wait_for_event("lock_waiting")
        run = running.wait_for_event("run_started")["run"]
        if place == "waiting":
            asked = cli("runs", "cancel", run)
            ended = running.finish()
    if place == "applying":
        scenes.wait_for_file(package / "started")
        asked = cli("runs", "cancel", run)
        ended = running.finish()
        assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT"]
        (cancelling,) = [event for event in ended.events if event["type"] == "cancelling"]
        assert cancelling["reason"] == "request"

    assert asked.exit_code == 0
    assert (ended.exit_code, ended.result["status"]) == (130, "cancelled")
    assert ended.result["reason"] == "the run was cancelled on request"
    assert cli("runs", "cancel", run).exit_code == 3
    assert not (scenes.state_directory() / "runs" / run / "cancel").exists()


def test_a_hangup_that_was_ignored_from_the_start_stays_ignored(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"apply": [{"touch": "started"}, {"wait_for_file": "go"}, *scenes.applied()]})
    package = make_package(scenes.NOTHING)
    stdout = package.parent / "nohup.stdout"
    with stdout.open("wb") as out:
        # As nohup does it.
        arguments = ["-m", "hereya_tf", "provision", package, "--yes", "--json", "--engine", fake_engine.path]
        process = subprocess.Popen(
            ["/bin/sh", "-c", 'trap "" HUP; exec "$0" "$@"', sys.executable, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            env=environment({}),
        )
    try:
        scenes.wait_for_file(package / "started")
        process.send_signal(signal.SIGHUP)
        (package / "go").touch()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
    assert fake_engine.records("signal") == []
    assert '"status":"succeeded"' in stdout.read_text(encoding="utf-8").splitlines()[-1]


@pytest.mark.real_engine
@SIGNALS
def test_an_apply_is_interrupted_with_its_state_saved_and_the_next_run_completes_it(
    cli: CommandLine, real_engine: str, make_package: MakePackage, number: signal.Signals, exit_code: int
) -> None:
    package = make_package(scenes.GATED)
    running = cli.start("provision", package, "--yes", "--json", "--engine", real_engine)
    scenes.wait_for_file(package / "started")
    running.send_signal(number)
    ended = running.finish()

    assert (ended.exit_code, ended.result["status"], ended.result["success"]) == (
        exit_code,
        "cancelled",
        False,
    )
    assert ended.result["failure"]["state"] == {"saved": True, "errored_state": None, "lock": None}
    assert ended.result["changes"]["add"] == 1
    assert scenes.resources(package / "terraform.tfstate") == {
        "terraform_data.first": "complete",
        "terraform_data.second": "tainted",
    }
    assert not (package / ".terraform.tfstate.lock.info").exists()

    (package / "go").touch()
    options = ("--no-wait", "--lock-timeout", "0s")
    after = cli("provision", package, "--yes", "--json", "--engine", real_engine, *options)
    assert after.result["success"], after.stdout
    assert after.result["changes"]["replace"] == 1
    assert set(scenes.resources(package / "terraform.tfstate").values()) == {"complete"}
    assert after.result["outputs"]["all"]["value"] == ["one", True]


@pytest.mark.real_engine
def test_a_destroy_is_interrupted_the_same_way(
    cli: CommandLine, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(
        {
            "main.tf": """
resource "terraform_data" "a" {
  provisioner "local-exec" {
    when    = destroy
    command = "touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"
  }
}
resource "terraform_data" "b" {
  input = terraform_data.a.id
}
"""
        }
    )
    assert cli("provision", package, "--yes", "--engine", real_engine).exit_code == 0
    running = cli.start("destroy", package, "--yes", "--json", "--engine", real_engine)
    scenes.wait_for_file(package / "started")
    running.send_signal(signal.SIGTERM)
    ended = running.finish()

    assert (ended.exit_code, ended.result["status"]) == (143, "cancelled")
    assert scenes.resources(package / "terraform.tfstate") == {"terraform_data.a": "complete"}
    (package / "go").touch()
    assert cli("destroy", package, "--yes", "--no-wait", "--engine", real_engine).exit_code == 0
    assert scenes.resources(package / "terraform.tfstate") == {}
