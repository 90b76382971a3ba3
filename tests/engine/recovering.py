"""What tests of `recover` share: packages, crashes, and what it has found and done."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.runs import history
from tests.command_line import Result, Running
from tests.engine import scenes
from tests.engine.driving import Driver, failure, succeeded
from tests.engine.state_server import StateServer

HTTP = 'terraform {\n  backend "http" {}\n}\n'
VALUE = """
variable "v" { default = "one" }
resource "terraform_data" "a" { input = var.v }
output "v" { value = terraform_data.a.output }
"""
PACKAGE = {"main.tf": HTTP + VALUE}
"""Its state is in the `http` backend, and `v` says what is in it."""
GATED = {"main.tf": HTTP + scenes.GATED["main.tf"]}
"""It waits in the middle, with one resource done and one in flight."""


@pytest.fixture
def refuses() -> dict[str, int]:
    """What the server refuses, to be changed as the test goes on."""
    return {}


@pytest.fixture
def server(refuses: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[StateServer]:
    """A state server for every process that the test starts."""
    with StateServer(refuses) as made:
        use(made, monkeypatch)
        yield made


def recover(hereya: Driver, package: Path, *arguments: str | Path, **how: Any) -> Result:
    """Run `recover` on the engine under test."""
    return hereya.cli("recover", package, "--json", "--engine", hereya.wish, *arguments, **how)


def kill_both(running: Running) -> str:
    """SIGKILL runner and engine in the middle of the gate, as a machine's end would; returns the run's id."""
    engine = scenes.engine_pid(running)
    run = scenes.kill(running)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(engine, signal.SIGKILL)
    scenes.wait_until_gone(engine)
    return run


def crashed(running: Running, package: Path) -> str:
    """The same, once something is in flight."""
    scenes.wait_for_file(package / "started")
    # The engine has told of what is in flight, and the runner has read it.
    running.wait_for_event("resource", address="terraform_data.second", status="started")
    return kill_both(running)


def recovery(result: Result) -> dict[str, Any]:
    """What a recovery has told, in its result."""
    told = result.result["recovery"]
    assert isinstance(told, dict)
    return told


def repairs(result: Result) -> dict[str, bool | None]:
    """What was, or would be, done, and whether it was, in order."""
    return {repair["repair"]: repair["done"] for repair in recovery(result)["repairs"]}


def findings(result: Result) -> list[str]:
    """The classes of what is broken."""
    return [finding["class"] for finding in recovery(result)["findings"]]


def left(result: Result) -> str:
    """Why the only thing that is not repaired is not."""
    (remainder,) = recovery(result)["left"]
    return str(remainder["sentence"])


def repaired(result: Result) -> dict[str, bool | None]:
    """The repairs of a recovery that must have succeeded."""
    succeeded(result)
    assert recovery(result)["left"] == []
    return repairs(result)


def refused(result: Result) -> tuple[int, str]:
    """Exit code and class of a recovery that must not have succeeded."""
    return failure(result)[:2]


def content(state: Mapping[str, Any]) -> dict[str, Any]:
    """The outputs in a state."""
    return {name: entry["value"] for name, entry in state["outputs"].items()}


def notes() -> list[str]:
    """The notes on states that are not saved."""
    directory = scenes.state_directory() / "unsaved"
    return sorted(file.name for file in directory.glob("*.json")) if directory.exists() else []


def kept(run: str, prefix: str) -> list[Path]:
    """The files of a run that begin so; nobody else may read them."""
    files = sorted((scenes.state_directory() / "runs" / run).glob(f"{prefix}*"))
    assert [oct(file.stat().st_mode & 0o777) for file in files] == ["0o600"] * len(files)
    return files


def lock_of(trace: Mapping[str, Any], **changed: str) -> dict[str, str]:
    """The lock that the apply of a run would have left, by its own trace; with something `changed`."""
    (step,) = (step for step in trace["steps"] if step["command"] == "apply")
    return {
        "ID": "11111111-2222-3333-4444-555555555555",
        "Operation": "OperationTypeApply",
        "Info": "",
        "Who": f"{trace['user']}@{trace['host']}",
        "Version": "1.11.4",
        "Created": str(step["began"]),
        "Path": "",
        **changed,
    }


def read(file: Path) -> dict[str, Any]:
    """A JSON object in a file."""
    found = json.loads(file.read_text())
    assert isinstance(found, dict)
    return found


def who() -> str:
    """What an engine that we start writes into a lock."""
    return f"{history.user_name()}@{history.host_name()}"


def use(server: StateServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every engine keep its state there, and ask once only."""
    monkeypatch.setenv("TF_HTTP_RETRY_MAX", "0")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
