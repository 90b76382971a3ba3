"""The history of real runs: listed, shown, and kept within its limits by hand and by the runs themselves."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver, names, succeeded
from tests.engine.scenes import states

pytestmark = pytest.mark.real_engine

MAIN = """
variable "name" { default = "world" }
resource "terraform_data" "greeting" { input = var.name }
output "greeting" { value = terraform_data.greeting.output }
"""
SLOW = """
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "sleep 1" }
}
"""


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": MAIN})


def kept(tmp_path: Path) -> set[str]:
    """The runs in the history."""
    return {name for name in names(tmp_path / "state/runs") if not name.startswith(".")}


def test_runs_are_listed_pruned_and_shown(hereya: Driver, package: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "main.tf").write_text('output "o" {\n  value = terraform_data.missing.id\n}\n')
    first = succeeded(hereya.provision(package))["run"]
    failed = hereya.cli("plan", broken, "--json", "--engine", hereya.wish).result["run"]
    hereya.cli("output", package, "--engine", hereya.wish)
    last = succeeded(hereya.destroy(package))["run"]

    listed = hereya.cli("runs", "list", cwd=tmp_path)
    rows = [line.split() for line in listed.stdout.splitlines()[1:]]
    assert [(row[0], row[1], row[2], row[4]) for row in rows] == [
        (first, "provision", "succeeded", str(package)),
        (failed, "plan", "invalid-configuration", str(broken)),
        (last, "destroy", "succeeded", str(package)),
    ]
    assert listed.stderr == "left out: 1 of `output` or `validate` that succeeded (--all shows it)\n"
    only = hereya.cli("runs", "list", "package1", "--failed", cwd=tmp_path)
    assert len(only.stdout.splitlines()) == 1

    asked = hereya.cli("runs", "prune", "--dry-run", "--history-count", "2")
    assert [line.split()[0] for line in asked.stdout.splitlines()[1:]] == [first, failed, "to"]
    assert len(kept(tmp_path)) == 4

    done = hereya.cli("runs", "prune", "--json", "--history-count", "2")
    assert (json.loads(done.stdout)["removed"], done.stderr) == ([first, failed], "")
    assert hereya.cli("runs", "show", first).stderr.startswith(f"error: there is no run `{first}`\n")
    assert json.loads(hereya.cli("runs", "show", "last", "--json").stdout)["result"]["run"] == last


def test_runs_keep_the_history_within_its_limits_by_themselves(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    few = {"HEREYA_TF_HISTORY_COUNT": "2"}
    every = [succeeded(hereya.provision(package, env=few))["run"] for _ in range(3)]

    assert kept(tmp_path) == set(every[1:])
    assert not any((tmp_path / "state/runs/.removed").iterdir())


def test_a_run_that_was_killed_is_completed_before_it_goes(
    hereya: Driver, make_package: MakePackage, package: Path, tmp_path: Path
) -> None:
    slow = make_package({"main.tf": SLOW})
    running = hereya.start("provision", slow)
    started = running.wait_for_event("resource", status="started")
    os.kill(running.pid, signal.SIGKILL)
    running.process.wait(60)
    few = {"HEREYA_TF_HISTORY_COUNT": "1"}
    at_work = hereya.cli("runs", "prune", "--json", env=few)
    last = succeeded(hereya.provision(package, env=few))["run"]
    spared = json.loads(at_work.stdout)["spared"]

    # The engine goes on for a second: until then its run stays.
    assert spared in ([], [{"run": started["run"], "because": "its engine is at work"}])
    while "orphaned" in states(hereya.cli).values():
        pass
    done = hereya.cli("runs", "prune", env=few)
    assert (kept(tmp_path), done.exit_code) == ({last}, 0)
    assert "terraform_data.a" in hereya.plain(slow, "state", "list")
