"""A runner that is killed takes nothing with it: the engine goes on, and the next run picks up the pieces."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hereya_tf.package import GENERATED_OVERRIDE
from hereya_tf.supervision.process_table import ProcessIdentity, is_alive
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine, wait_for

SECRET = "correct-horse-battery"
WITH_SECRET = """
variable "password" {
  type      = string
  sensitive = true
}
"""
PRINTING = (
    WITH_SECRET
    + """
resource "terraform_data" "first" {
  provisioner "local-exec" {
    command = "touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"
  }
}
resource "terraform_data" "second" {
  input = terraform_data.first.id
  provisioner "local-exec" {
    command = "echo the password is $(cat password)"
  }
}
"""
)


@contextlib.contextmanager
def daemon_of(package: Path) -> Iterator[ProcessIdentity]:
    """The daemon that has written its id into the package; ended in any case."""
    scenes.wait_for_file(package / "daemon.pid")
    pid = int((package / "daemon.pid").read_text())
    try:
        yield ProcessIdentity(pid, "")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def with_daemon(make_package: MakePackage) -> Path:
    """A package whose provisioner leaves a daemon with all descriptors, in a session of its own."""
    return make_package(
        {
            "main.tf": """
resource "terraform_data" "first" {
  provisioner "local-exec" {
    command = "setsid sh -c 'echo $$ > daemon.tmp; mv daemon.tmp daemon.pid; exec sleep 120' > /dev/null 2>&1 &"
  }
}
resource "terraform_data" "second" {
  input = terraform_data.first.id
  provisioner "local-exec" {
    command = "touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"
  }
}
"""
        }
    )


def test_a_run_that_is_killed_while_it_waits_leaves_no_gap_and_no_secret(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"apply": scenes.applied()})
    package = make_package({"main.tf": WITH_SECRET})
    arguments = (
        "provision",
        package,
        "--yes",
        "--json",
        "--engine",
        fake_engine.path,
        "-p",
        f"password={SECRET}",
    )
    with scenes.package_lock_held(package):
        first = cli.start(*arguments)
        first.wait_for_event("lock_waiting", position=1)
        dead = scenes.kill(first)
        second = cli.start(*arguments)
        waiting = second.wait_for_event("lock_waiting")
    ended = second.finish()

    assert (waiting["position"], waiting["holder"]["run"]) == (1, "the-test")
    assert ended.result["success"]
    assert fake_engine.commands() == ["init", "apply"]
    assert scenes.states(cli)[dead] == "died"
    assert scenes.files_of(dead) == scenes.KEPT
    assert SECRET not in scenes.everything_in(scenes.state_directory())


@pytest.mark.behaviour("T13")
@pytest.mark.parametrize("step", ["init", "apply"])
def test_the_engine_of_a_killed_run_goes_on_and_the_next_run_waits_for_it_and_adopts(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path, step: str
) -> None:
    slow = [
        {"touch": "started"},
        {"wait_for_file": "go"},
        scenes.applying("null_resource.late", "apply_complete"),
        {"stderr": f"the password is {SECRET}\n"},
        *scenes.applied(add=1),
    ]
    fake_engine.plays({"apply": scenes.applied(), step: [slow, scenes.applied()]})
    package = make_package({"main.tf": WITH_SECRET})
    arguments = ("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    given = (*arguments, "-p", f"password={SECRET}", "--state", tmp_path / "kept.tfstate")
    first = cli.start(*given)
    scenes.wait_for_file(package / "started")
    dead = scenes.kill(first)
    assert (package / GENERATED_OVERRIDE).exists()
    private = scenes.state_directory() / "runs" / dead
    assert {oct(entry.stat().st_mode & 0o777) for entry in private.iterdir()} == {"0o600"}

    second = cli.start(*given)
    waiting = second.wait_for_event("lock_waiting", lock="package")
    assert (waiting["holder"]["run"], waiting["position"]) == (dead, 1)
    assert fake_engine.records("end", exit_code=0) == fake_engine.records("end")
    assert not [event for event in second.events() if event["type"] == "lock_acquired"]
    (package / "go").touch()
    ended = second.finish()

    assert ended.result["success"], ended.stdout
    assert fake_engine.records("signal") == []
    warnings = [event["summary"] for event in ended.events if event["type"] == "diagnostic"]
    ending = ", and its engine went on to its end" if step == "apply" else ""
    assert f"run `{dead}` was killed in step {step}{ending}" in warnings
    assert "a generated backend that a killed run had left in the package was removed" in warnings
    assert not (package / GENERATED_OVERRIDE).exists()
    assert scenes.states(cli)[dead] == "failed"
    assert scenes.files_of(dead) == scenes.KEPT
    log = scenes.log_events(cli, dead)
    assert [event["seq"] for event in log] == list(range(1, len(log) + 1))
    assert [event["address"] for event in log if event["type"] == "resource"] == ["null_resource.late"]
    assert (log[-1]["type"], log[-1]["changes"]["add"]) == ("result", int(step == "apply"))
    assert "the password is [redacted]" in [event.get("text") for event in log]
    assert SECRET not in scenes.everything_in(scenes.state_directory())


@pytest.mark.real_engine
def test_a_runner_killed_in_the_middle_of_an_apply_loses_nothing(
    cli: CommandLine, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": PRINTING})
    (package / "password").write_text(SECRET)
    arguments = ("provision", package, "--yes", "--json", "--engine", real_engine, "-p", f"password={SECRET}")
    first = cli.start(*arguments)
    scenes.wait_for_file(package / "started")
    engine = scenes.engine_pid(first)
    dead = scenes.kill(first)
    second = cli.start(*arguments)
    assert second.wait_for_event("lock_waiting", lock="package")["holder"]["run"] == dead
    assert is_alive(ProcessIdentity(engine, ""))
    (package / "go").touch()
    ended = second.finish()

    assert ended.result["success"], ended.stdout
    assert ended.result["changes"]["add"] == 0
    assert scenes.resources(package / "terraform.tfstate") == {
        "terraform_data.first": "complete",
        "terraform_data.second": "complete",
    }
    assert not (package / ".terraform.tfstate.lock.info").exists()
    log = scenes.log_events(cli, dead)
    completed = [event["address"] for event in log if event.get("status") == "completed"]
    assert completed == ["terraform_data.first", "terraform_data.second"]
    assert (log[-1]["type"], log[-1]["changes"]["add"]) == ("result", 2)
    assert scenes.states(cli)[dead] == "failed"
    assert scenes.files_of(dead) == scenes.KEPT
    assert SECRET not in scenes.everything_in(scenes.state_directory())


@pytest.mark.real_engine
def test_a_daemon_left_with_the_lock_by_a_dead_runs_engine_is_ended(
    cli: CommandLine, real_engine: str, with_daemon: Path
) -> None:
    first = cli.start("provision", with_daemon, "--yes", "--json", "--engine", real_engine)
    scenes.wait_for_file(with_daemon / "started")
    scenes.kill(first)
    with daemon_of(with_daemon) as daemon:
        (with_daemon / "go").touch()
        ended = cli("provision", with_daemon, "--yes", "--json", "--engine", real_engine)
        assert ended.result["success"], ended.stdout
        assert not is_alive(daemon)
    assert set(scenes.resources(with_daemon / "terraform.tfstate").values()) == {"complete"}


@pytest.mark.real_engine
def test_a_daemon_that_a_provisioner_starts_keeps_no_lock_when_the_run_ends_normally(
    cli: CommandLine, real_engine: str, with_daemon: Path
) -> None:
    (with_daemon / "go").touch()
    assert cli("provision", with_daemon, "--yes", "--engine", real_engine).exit_code == 0
    with daemon_of(with_daemon) as daemon:
        after = cli("provision", with_daemon, "--yes", "--no-wait", "--json", "--engine", real_engine)
        assert after.result["success"], after.stdout
        assert is_alive(daemon)


@pytest.mark.real_engine
def test_killed_at_any_moment_the_next_run_succeeds_and_the_state_has_everything(
    cli: CommandLine, real_engine: str, make_package: MakePackage, tmp_path: Path
) -> None:
    resources = "".join(
        f"""
resource "terraform_data" "r{number}" {{
  input            = {f"terraform_data.r{number - 1}.id" if number else '"start"'}
  triggers_replace = var.generation
  provisioner "local-exec" {{ command = "sleep 0.03" }}
}}
"""
        for number in range(4)
    )
    package = make_package(
        {"main.tf": 'variable "generation" {}\nvariable "password" { sensitive = true }\n' + resources}
    )
    state = tmp_path / "kept.tfstate"
    arguments = ("provision", package, "--yes", "--json", "--engine", real_engine, "--state", state)
    given = (*arguments, "-p", f"password={SECRET}", "-p")
    assert cli(*given, "generation=-1").exit_code == 0
    for generation in range(15):
        running = cli.start(*given, f"generation={generation}")
        # The moment is the point: from before the start of the engine until after the end of the run.
        time.sleep(0.15 + 0.06 * generation)
        running.kill()
    ended = cli(*given, "generation=last")

    assert ended.result["success"], ended.stdout
    assert ended.result["changes"]["replace"] == 4
    assert scenes.resources(state) == {f"terraform_data.r{number}": "complete" for number in range(4)}
    assert not (package / GENERATED_OVERRIDE).exists()
    assert "running" not in scenes.states(cli).values()
    assert SECRET not in scenes.everything_in(scenes.state_directory())
    assert scenes.held_locks() == []


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize("operation", ["output", "validate"])
def test_a_run_without_locks_that_is_killed_is_adopted_by_the_next_one(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, operation: str
) -> None:
    document = {"stdout": f'{{"password": {{"sensitive": true, "type": "string", "value": "{SECRET}"}}}}'}
    stuck = [document, {"touch": "started"}, {"wait_for_file": "go"}]
    fake_engine.plays({"apply": scenes.applied(), operation: [stuck]})
    package = make_package({"main.tf": WITH_SECRET})
    arguments = (package, "--json", "--engine", fake_engine.path, "-p", f"password={SECRET}")
    assert cli("provision", *arguments, "--yes").exit_code == 0
    first = cli.start(operation, *arguments)
    scenes.wait_for_file(package / "started")
    first.kill()
    (package / "go").touch()
    engine = ProcessIdentity(fake_engine.records("start")[-1]["pid"], "")
    wait_for(lambda: None if is_alive(engine) else True)

    assert cli("provision", *arguments, "--yes").exit_code == 0

    assert sorted(scenes.states(cli).values()) == ["failed", "succeeded", "succeeded"]
    assert SECRET not in scenes.everything_in(scenes.state_directory())
