"""`lock release`: refuses what is at work, ends it gracefully by force, frees what the dead have left."""

import pytest

from hereya_tf.supervision.process_table import ProcessIdentity, is_alive
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine


def test_release_refuses_a_run_at_work_and_ends_it_gracefully_by_force(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays(
        {"apply": [scenes.applying("null_resource.a"), {"touch": "started"}, {"wait_for_file": "never"}]}
    )
    package = make_package(scenes.NOTHING)
    running = cli.start("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    scenes.wait_for_file(package / "started")
    refused = cli("lock", "release", package)
    assert (refused.exit_code, "is at work" in refused.stderr) == (4, True)
    assert running.process.poll() is None
    assert fake_engine.records("signal") == []

    released = cli("lock", "release", package, "--force")
    ended = running.finish(10)

    assert released.exit_code == 0, released.stderr
    assert (ended.exit_code, ended.result["status"]) == (130, "cancelled")
    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT"]
    assert scenes.held_locks() == []


@pytest.mark.real_engine
def test_release_refuses_the_living_engine_of_a_dead_run_and_ends_it_gracefully_by_force(
    cli: CommandLine, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(scenes.GATED)
    running = cli.start("provision", package, "--yes", "--json", "--engine", real_engine)
    scenes.wait_for_file(package / "started")
    engine = ProcessIdentity(scenes.engine_pid(running), "")
    dead = scenes.kill(running)
    refused = cli("lock", "release", package)
    assert (refused.exit_code, f"its engine, pid {engine.pid}" in refused.stderr) == (4, True)
    assert is_alive(engine)

    released = cli("lock", "release", package, "--force")

    assert released.exit_code == 0, released.stderr
    assert released.stdout == f"the engine of the dead run `{dead}` was asked to end, and has ended\n"
    assert not is_alive(engine)
    assert scenes.held_locks() == []
    assert scenes.resources(package / "terraform.tfstate") == {
        "terraform_data.first": "complete",
        "terraform_data.second": "tainted",
    }
    assert scenes.states(cli)[dead] == "failed"
    assert scenes.files_of(dead) == scenes.KEPT
    (package / "go").touch()
    after = cli("provision", package, "--yes", "--json", "--no-wait", "--engine", real_engine)
    assert after.result["success"], after.stdout


def test_release_frees_what_a_daemon_holds_after_runner_and_engine_are_gone(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays(
        {
            "apply": [
                {"spawn_daemon": 120, "setsid": True},
                {"touch": "started"},
                {"wait_for_file": "go"},
                scenes.applying("null_resource.late", "apply_complete"),
                *scenes.applied(add=1),
            ]
        }
    )
    package = make_package(scenes.NOTHING)
    running = cli.start("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    scenes.wait_for_file(package / "started")
    engine = scenes.engine_pid(running)
    dead = scenes.kill(running)
    (package / "go").touch()
    scenes.wait_until_gone(engine)
    daemon = ProcessIdentity(fake_engine.wait_for_record("daemon")["daemon_pid"], "")
    assert is_alive(daemon)
    assert len(scenes.held_locks()) == 2

    released = cli("lock", "release", package)

    assert released.exit_code == 0, released.stderr
    assert released.stdout == f"what the dead run `{dead}` had left behind was ended\n"
    assert not is_alive(daemon)
    assert scenes.held_locks() == []
    assert scenes.states(cli)[dead] == "failed"
    assert scenes.log_events(cli, dead)[-1]["changes"]["add"] == 1
    assert cli("provision", package, "--yes", "--no-wait", "--engine", fake_engine.path).exit_code == 0
