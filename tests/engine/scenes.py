"""What tests of whole runs share: packages, plays for the fake engine, looks at what a run has left behind."""

import contextlib
import json
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hereya_tf import locks
from hereya_tf.runs import history
from hereya_tf.runs.directory import STATE_BEFORE
from hereya_tf.supervision.process_table import ProcessIdentity, identify, is_alive
from tests.command_line import CommandLine, Running
from tests.fake_engine import wait_for

Action = dict[str, Any]

NOTHING = {"main.tf": ""}
# What stays of a run that needs no explanation.
KEPT = {history.RECORD, history.EVENTS}

# `second` waits for the file `go`, for at most a minute, and says when it does.
GATED = {
    "main.tf": """
resource "terraform_data" "first" {
  input = "one"
}

resource "terraform_data" "second" {
  input = terraform_data.first.id
  provisioner "local-exec" {
    command = "touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"
  }
}

resource "terraform_data" "third" {
  input = terraform_data.second.id
}

output "all" {
  value = [terraform_data.first.input, terraform_data.third.id != ""]
}
"""
}


def message(kind: str, **fields: Any) -> Action:
    """An action of the fake engine: a line of JSON."""
    return {"message": {"type": kind, **fields}}


def applying(address: str, kind: str = "apply_start", action: str = "create") -> Action:
    """The message that an action on a resource starts, or has completed."""
    resource = {
        "addr": address,
        "module": "",
        "resource": address,
        "implied_provider": "terraform",
        "resource_type": address.split(".")[0],
        "resource_name": address.split(".")[1],
        "resource_key": None,
    }
    return message(kind, hook={"resource": resource, "action": action, "elapsed_seconds": 0})


def applied(add: int = 0, outputs: Mapping[str, Any] | None = None) -> list[Action]:
    """The messages at the end of an apply that went well."""
    changes = {"add": add, "change": 0, "import": 0, "remove": 0, "operation": "apply"}
    return [message("change_summary", changes=changes), message("outputs", outputs=dict(outputs or {}))]


def planned(add: int) -> list[Action]:
    """The summary of a plan."""
    changes = {"add": add, "change": 0, "import": 0, "remove": 0, "operation": "plan"}
    return [message("change_summary", changes=changes)]


def state_directory() -> Path:
    return Path(os.environ["HEREYA_TF_STATE_DIR"])


def run_directory(running: Running) -> Path:
    """The private directory of a run that prints events."""
    return state_directory() / "runs" / str(running.wait_for_event("run_started")["run"])


def record(run: str) -> history.RunRecord:
    found = history.read_record(state_directory() / "runs" / run)
    assert found is not None
    return found


@contextlib.contextmanager
def package_lock_held(package: Path) -> Iterator[locks.Holder]:
    """Somebody, this test, holds the lock of a package."""
    key = locks.LockKey(locks.LockKind.PACKAGE, str(package.resolve()))
    ourselves = identify(os.getpid())
    assert ourselves is not None
    holder = locks.Holder(
        "the-test", ourselves, socket.gethostname(), "provision", "2026-11-30T00:00:00Z", key.name
    )
    lock = locks.acquire(
        state_directory() / "locks",
        key,
        holder,
        deadline=None,
        pause=time.sleep,
        on_waiting=lambda _waiting: None,
    )
    try:
        yield holder
    finally:
        lock.release()


def held_locks() -> list[str]:
    """The locks that anybody holds."""
    return [state.stem for state in locks.inspect(state_directory() / "locks") if state.held]


def resources(state_file: Path) -> dict[str, str]:
    """What is in a state: `complete` or `tainted` by address."""
    state = json.loads(state_file.read_text(encoding="utf-8"))
    return {
        f"{resource['type']}.{resource['name']}": instance.get("status", "complete")
        for resource in state["resources"]
        for instance in resource["instances"]
    }


def wait_for_file(file: Path, timeout: float = 60) -> None:
    wait_for(lambda: file.exists() or None, timeout, f"the file {file}")


def wait_until_gone(pid: int, timeout: float = 60) -> None:
    """Until no process, or a zombie at most, has this id."""
    wait_for(lambda: None if is_alive(ProcessIdentity(pid, "")) else True, timeout, f"process {pid} to end")


def engine_pid(running: Running) -> int:
    """The engine that a run has on record."""

    def recorded() -> int | None:
        found = history.read_record(run_directory(running))
        return found.engine_process.pid if found is not None and found.engine_process else None

    return wait_for(recorded, what="the engine on record")


def log_events(cli: CommandLine, run: str) -> list[dict[str, Any]]:
    return cli("runs", "log", run, "--json").events


def signal_group(pid: int, number: signal.Signals) -> None:
    """Signal the process group that a process leads, as a terminal does."""
    os.killpg(pid, number)


def document(text: str) -> dict[str, Any]:
    """A JSON object that a command has printed."""
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def kill(running: Running) -> str:
    """SIGKILL the runner alone; returns its run's id."""
    run = str(running.wait_for_event("run_started")["run"])
    running.send_signal(signal.SIGKILL)
    assert running.process.wait(60) == -signal.SIGKILL
    return run


def files_of(run: str) -> set[str]:
    """Names of the files in a run's private directory."""
    return {entry.name for entry in (state_directory() / "runs" / run).iterdir()}


def states(cli: CommandLine) -> dict[str, str]:
    """What `runs list` says of every run, by its id."""
    listed = cli("runs", "list", "--json", "-n", "1000").stdout
    return {entry["run"]: entry["state"] for entry in document(listed)["runs"]}


def told_in(directory: Path) -> list[Path]:
    """The files below a directory that tell something; the private copies of a state hold it as it is."""
    files = [file for file in directory.rglob("*") if file.is_file()]
    copies = [file for file in files if file.name == STATE_BEFORE]
    assert {file.stat().st_mode & 0o777 for file in copies} <= {0o600}
    return [file for file in files if file not in copies]


def everything_in(directory: Path) -> str:
    """All text below a directory that tells something."""
    files = told_in(directory)
    return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
