"""Many runs at once: one at a time where they share a package or a state, in the order of their arrival."""

import itertools
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command_line import CommandLine, Running
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine

GREETING = {
    "main.tf": """
variable "number" {}
resource "terraform_data" "greeting" {
  input = var.number
}
output "number" { value = terraform_data.greeting.output }
"""
}


class Turn(NamedTuple):
    """When the engine commands of one run began and ended, in seconds since the epoch."""

    began: float
    ended: float


def turns(engine: FakeEngine) -> list[Turn]:
    """One per run, by the parameter files that their steps were given; `version` is no step."""
    steps: dict[str, Turn] = {}
    run_of: dict[int, str] = {}
    for record in engine.records():
        if record["event"] == "start" and record["command"] != "version":
            run_of[record["pid"]] = record["env"]["RUN_NUMBER"]
            found = steps.get(run_of[record["pid"]])
            began = found.began if found else record["time"]
            steps[run_of[record["pid"]]] = Turn(began, record["time"])
        elif record["event"] == "end" and record["pid"] in run_of:
            run = run_of[record["pid"]]
            steps[run] = steps[run]._replace(ended=record["time"])
    return [steps[number] for number in sorted(steps, key=int)]


def overlaps(found: list[Turn]) -> list[tuple[Turn, Turn]]:
    ordered = sorted(found)
    return [(a, b) for a, b in itertools.pairwise(ordered) if b.began < a.ended]


def start(cli: CommandLine, package: Path, engine: str | Path, number: int, *more: str) -> Running:
    return cli.start(
        "provision",
        package,
        "--yes",
        "--json",
        "--engine",
        engine,
        "-e",
        f"RUN_NUMBER={number}",
        *more,
    )


@pytest.mark.behaviour("S4", "S5")
def test_twenty_runs_of_one_package_go_one_by_one_in_the_order_of_their_arrival(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"apply": [{"sleep": 0.02}, *scenes.applied()]})
    package = make_package(scenes.NOTHING)
    with scenes.package_lock_held(package):
        runs = [start(cli, package, fake_engine.path, number) for number in range(20)]
        # Who has come is in line: all of them are there before the first may go on.
        places = [running.wait_for_event("lock_waiting")["position"] for running in runs]
        assert fake_engine.commands() == []
    results = [running.finish(120).result for running in runs]

    assert sorted(places) == list(range(1, 21))
    assert [result["status"] for result in results] == ["succeeded"] * 20
    found = turns(fake_engine)
    in_order = [turn for _, turn in sorted(zip(places, found, strict=True))]
    assert in_order == sorted(found)
    assert overlaps(found) == []


@pytest.mark.real_engine
@pytest.mark.behaviour("S5")
def test_runs_of_one_package_that_start_together_all_succeed(
    cli: CommandLine, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(GREETING)
    runs = [start(cli, package, real_engine, number, "-p", f"number={number}") for number in range(6)]
    results = [running.finish(120).result for running in runs]

    assert [result["status"] for result in results] == ["succeeded"] * 6
    assert [result["env"]["number"] for result in results] == [str(number) for number in range(6)]
    assert sorted(result["changes"]["add"] for result in results) == [0, 0, 0, 0, 0, 1]


@pytest.mark.behaviour("S4")
def test_runs_of_twenty_packages_do_not_wait_for_one_another(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    together = tmp_path / "together"
    fake_engine.plays({"apply": [{"touch": "started"}, {"wait_for_file": str(together)}, *scenes.applied()]})
    packages = [make_package(scenes.NOTHING) for _ in range(20)]
    runs = [start(cli, package, fake_engine.path, number) for number, package in enumerate(packages)]
    for package in packages:
        scenes.wait_for_file(package / "started")
    together.touch()
    ended = [running.finish() for running in runs]

    assert [end.result["status"] for end in ended] == ["succeeded"] * 20
    assert [event for end in ended for event in end.events if event["type"] == "lock_waiting"] == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(("--state", "a", "--id", "one"), ("--state", "b", "--id", "two"), id="ids"),
        pytest.param(("-w", "a", "--create-workspace"), ("-w", "b", "--create-workspace"), id="workspaces"),
    ],
)
def test_states_of_one_package_take_turns_on_its_directory(
    cli: CommandLine,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    first: tuple[str, ...],
    second: tuple[str, ...],
) -> None:
    go = [{"touch": "started"}, {"wait_for_file": "go"}, *scenes.applied()]
    fake_engine.plays({"apply": [go, scenes.applied()]})
    package = make_package(scenes.NOTHING)
    one = start(cli, package, fake_engine.path, 0, *first)
    scenes.wait_for_file(package / "started")
    two = start(cli, package, fake_engine.path, 1, *second)
    waiting = two.wait_for_event("lock_waiting")
    (package / "go").touch()

    assert (waiting["lock"], waiting["holder"]["run"]) == (
        "package",
        one.wait_for_event("run_started")["run"],
    )
    assert (one.finish().result["status"], two.finish().result["status"]) == ("succeeded", "succeeded")
    assert overlaps(turns(fake_engine)) == []


def test_packages_that_share_a_state_take_turns_on_it(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    go = [{"touch": "started"}, {"wait_for_file": "go"}, *scenes.applied()]
    fake_engine.plays({"apply": [go, scenes.applied()]})
    packages = [make_package(scenes.NOTHING) for _ in range(2)]
    shared = ("--state", str(tmp_path / "shared.tfstate"), "--id", "shared")
    one = start(cli, packages[0], fake_engine.path, 0, *shared)
    scenes.wait_for_file(packages[0] / "started")
    two = start(cli, packages[1], fake_engine.path, 1, *shared)
    waiting = two.wait_for_event("lock_waiting")
    (packages[0] / "go").touch()

    assert (waiting["lock"], waiting["position"]) == ("workspace", 1)
    assert (one.finish().result["status"], two.finish().result["status"]) == ("succeeded", "succeeded")
    assert overlaps(turns(fake_engine)) == []


def test_a_failure_neither_blocks_nor_poisons_who_comes_next(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"apply": [[{"kill_self": "SIGKILL"}], scenes.applied()]})
    package = make_package(scenes.NOTHING)
    with scenes.package_lock_held(package):
        runs = []
        for number in range(2):
            runs.append(start(cli, package, fake_engine.path, number))
            runs[-1].wait_for_event("lock_waiting")
    results = [running.finish().result for running in runs]

    assert [result["status"] for result in results] == ["failed", "succeeded"]
    assert results[0]["failure"]["class"] == "engine-crashed"
