"""A real engine that is interrupted while it plans, or while it initialises: nothing is changed, nothing stays."""

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.driving import Driver

pytestmark = pytest.mark.real_engine

# Planning this takes an engine a second or more; its first message is sent before.
LONG_PLAN = """
resource "terraform_data" "many" {
  count = 1200
  input = count.index
}
"""
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
each_signal = pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)


@pytest.fixture
def silent_server() -> Iterator[socket.socket]:
    """Takes connections and never answers: git waits for it for ever."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


@pytest.fixture
def waiting_init(make_package: MakePackage, silent_server: socket.socket) -> Path:
    """A package whose init waits for the silent server."""
    port = silent_server.getsockname()[1]
    module = f'module "remote" {{\n  source = "git::http://127.0.0.1:{port}/remote.git"\n}}\n'
    return make_package({"main.tf": module})


@each_signal
def test_a_plan_is_interrupted_before_anything_is_changed(
    hereya: Driver, make_package: MakePackage, number: signal.Signals
) -> None:
    package = make_package({"main.tf": LONG_PLAN})
    running = hereya.start("provision", package, "--engine-messages")
    running.wait_for_event("engine_message", step="apply")

    running.send_signal(number)
    ended = running.finish()

    assert (ended.exit_code, ended.result["status"]) == (CODES[number], "cancelled")
    assert [event["signal"] for event in ended.events if event["type"] == "cancelling"] == ["SIGINT"]
    assert [event for event in ended.events if event["type"] == "resource"] == []
    assert ended.result["changes"]["add"] == 0
    assert ended.result["failure"]["state"] == {"saved": True, "errored_state": None, "lock": None}
    assert not (package / ".terraform.tfstate.lock.info").exists()
    assert hereya.plain(package, "state", "list", check=False) == ""


@each_signal
def test_an_init_that_waits_for_a_server_is_interrupted(
    hereya: Driver, waiting_init: Path, silent_server: socket.socket, number: signal.Signals
) -> None:
    running = hereya.start("provision", waiting_init)
    connection, _ = silent_server.accept()

    with connection:
        running.send_signal(number)
        ended = running.finish(timeout=30)

    assert (ended.exit_code, ended.result["status"]) == (CODES[number], "cancelled")
    assert [event["step"] for event in ended.events if event["type"] == "step_started"] == ["init"]


@pytest.mark.parametrize("limit", ["--timeout", "--idle-timeout"])
def test_an_init_that_waits_for_a_server_ends_at_its_limit(
    hereya: Driver, waiting_init: Path, limit: str
) -> None:
    ended = hereya.provision(waiting_init, limit, "3s")

    assert (ended.exit_code, ended.result["status"]) == (124, "timed_out")
    assert [event["step"] for event in ended.events if event["type"] == "step_started"] == ["init"]


def test_a_runner_killed_during_init_is_adopted_by_the_next_run(
    hereya: Driver, waiting_init: Path, silent_server: socket.socket
) -> None:
    running = hereya.start("provision", waiting_init)
    connection, _ = silent_server.accept()
    dead = scenes.kill(running)
    silent_server.close()
    connection.close()
    (waiting_init / "main.tf").write_text('resource "terraform_data" "only" {}\n')

    ended = hereya.provision(waiting_init)

    assert ended.result["success"]
    assert ended.result["changes"]["add"] == 1
    assert scenes.states(hereya.cli)[dead] == "failed"
