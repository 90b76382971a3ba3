"""Full disks and directories that cannot be written: history may be lost, work and state never."""

import base64
import json
import subprocess
from pathlib import Path

import pytest

from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.conftest import Mount
from tests.engine.driving import Driver, failure, names, succeeded
from tests.engine.provider import PROVIDERS
from tests.engine.recovering import PACKAGE, recover, repaired, repairs
from tests.engine.state_server import StateServer
from tests.fake_engine import FakeEngine

THREE = {f"terraform_data.{name}": "complete" for name in ("first", "second", "third")}
# A state of this package is larger than a file system block: the room of the last one is not enough.
BULKY = {
    "main.tf": scenes.GATED["main.tf"].replace(
        "input = terraform_data.second.id",
        'input = terraform_data.second.id == "" ? "" : join("", [for i in range(1000) : "so many characters"])',
    )
}


def fill(disk: Path, *, leave: int = 0) -> None:
    """Take all the room of a file system but `leave` bytes, rounded to its blocks."""
    with (disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            file.truncate(max(0, file.tell() - leave))


def read_only(disk: Path) -> None:
    subprocess.run(("mount", "-o", "remount,ro", str(disk)), check=True)


def warnings(result: Result) -> list[str]:
    return [event["summary"] for event in result.events if event["type"] == "diagnostic"]


@pytest.mark.real_engine
@pytest.mark.parametrize("problem", ["full", "read-only"])
def test_a_state_directory_that_cannot_be_written_costs_only_the_history(
    cli: CommandLine, real_engine: str, make_package: MakePackage, mount: Mount, tmp_path: Path, problem: str
) -> None:
    disk = mount()
    (fill if problem == "full" else read_only)(disk)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    package = make_package(scenes.GATED)
    (package / "go").touch()
    env = {"HEREYA_TF_STATE_DIR": str(disk), "TMPDIR": str(temporary)}
    given = ("provision", package, "--yes", "--json", "--engine", real_engine)
    ended = cli(*given, env=env)

    assert ended.result["success"], ended.stdout
    assert scenes.resources(package / "terraform.tfstate") == THREE
    assert ended.result["outputs"]["all"]["value"] == ["one", True]
    run = ended.result["run"]
    why = "No space left on device" if problem == "full" else "Read-only file system"
    history = f"`{disk}/runs/{run}` cannot be written, so this run leaves no full history: {why}"
    locks = f"`{disk}/locks` cannot be written, so locks are kept in `{temporary}/hereya-tf-locks-0`"
    assert sorted(warnings(ended)) == sorted([history] if problem == "full" else [history, locks])
    # Private files have been somewhere else, and are gone.
    left = {entry.name for entry in temporary.iterdir()}
    assert left == (set() if problem == "full" else {"hereya-tf-locks-0"})


@pytest.mark.parametrize("problem", ["full", "read-only"])
def test_locks_hold_where_the_state_directory_cannot_be_written(
    cli: CommandLine,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    mount: Mount,
    tmp_path: Path,
    problem: str,
) -> None:
    fake_engine.plays({"apply": [{"touch": "started"}, {"wait_for_file": "go"}, *scenes.applied()]})
    disk = mount()
    (fill if problem == "full" else read_only)(disk)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    package = make_package(scenes.NOTHING)
    env = {"HEREYA_TF_STATE_DIR": str(disk), "TMPDIR": str(temporary)}
    given = ("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    first = cli.start(*given, env=env)
    scenes.wait_for_file(package / "started")
    second = cli(*given, "--no-wait", env=env)
    (package / "go").touch()

    assert (second.exit_code, second.result["status"]) == (4, "busy")
    assert first.finish().result["success"]
    assert fake_engine.commands() == ["init", "apply"]
    assert cli(*given, "--no-wait", env=env).result["success"]


@pytest.mark.real_engine
@pytest.mark.parametrize("problem", ["full", "read-only"])
def test_a_cache_that_cannot_be_written_costs_only_time(
    cli: CommandLine, real_engine: str, make_package: MakePackage, mount: Mount, problem: str
) -> None:
    disk = mount()
    (fill if problem == "full" else read_only)(disk)
    package = make_package(scenes.GATED)
    (package / "go").touch()
    for _ in range(2):
        ended = cli(
            "provision",
            package,
            "--yes",
            "--json",
            "--engine",
            real_engine,
            env={"HEREYA_TF_CACHE_DIR": str(disk / "cache")},
        )
        assert ended.result["success"], ended.stdout
        told = [warning for warning in warnings(ended) if not warning.startswith("the provider cache `")]
        assert told == []
        assert "init" in [event["step"] for event in ended.events if event["type"] == "step_started"]


@pytest.mark.real_engine
def test_a_state_that_cannot_be_saved_is_found_where_the_engine_put_it(
    cli: CommandLine, real_engine: str, make_package: MakePackage, mount: Mount
) -> None:
    disk = mount()
    package = make_package(BULKY)
    given = ("provision", package, "--yes", "--engine", real_engine, "--state", disk / "kept.tfstate")
    running = cli.start(*given, "--json")
    scenes.wait_for_file(package / "started")
    fill(disk)
    (package / "go").touch()
    ended = running.finish()

    failure = ended.result["failure"]
    assert (ended.exit_code, ended.result["status"]) == (1, "failed")
    assert failure["class"] in ("state-not-saved", "disk-full")
    errored = scenes.run_directory(running) / "errored-1.tfstate"
    assert failure["state"] == {"saved": False, "errored_state": str(errored), "lock": None}
    assert f"the only complete copy is `{errored}`" in Path(ended.result["report"]).read_text()
    assert scenes.resources(errored) == THREE
    assert not (package / "errored.tfstate").exists()


@pytest.mark.real_engine
@pytest.mark.parametrize("place", ["run directory", "elsewhere"])
def test_a_state_that_the_engine_can_only_print_is_kept(
    cli: CommandLine, real_engine: str, mount: Mount, tmp_path: Path, place: str
) -> None:
    disk = mount()
    package = disk / "package"
    package.mkdir()
    (package / "main.tf").write_text(BULKY["main.tf"])
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    state = tmp_path / "state" if place == "run directory" else disk / "state"
    env = {"HEREYA_TF_STATE_DIR": str(state), "TMPDIR": str(temporary)}
    running = cli.start("provision", package, "--yes", "--json", "--engine", real_engine, env=env)
    scenes.wait_for_file(package / "started")
    fill(disk)
    (package / "go").touch()
    ended = running.finish()

    failure = ended.result["failure"]
    assert failure["class"] in ("state-not-saved", "disk-full")
    assert failure["state"]["saved"] is False
    kept = Path(failure["state"]["errored_state"])
    assert kept.name == "emergency.tfstate"
    assert kept.parent.parent == (state / "runs" if place == "run directory" else temporary)
    assert scenes.resources(kept) == THREE
    assert oct(kept.stat().st_mode & 0o777) == "0o600"
    beside = {"run.json", "events.ndjson", "report.txt"} if place == "run directory" else set()
    assert {entry.name for entry in kept.parent.iterdir()} == {"emergency.tfstate", *beside}


@pytest.mark.real_engine
def test_a_state_printed_by_the_engine_of_a_killed_run_is_kept(
    cli: CommandLine, real_engine: str, mount: Mount
) -> None:
    disk = mount()
    package = disk / "package"
    package.mkdir()
    (package / "main.tf").write_text(BULKY["main.tf"])
    running = cli.start("provision", package, "--yes", "--json", "--engine", real_engine)
    scenes.wait_for_file(package / "started")
    engine = scenes.engine_pid(running)
    directory = scenes.run_directory(running)
    running.kill()
    fill(disk)
    (package / "go").touch()
    scenes.wait_until_gone(engine)
    (disk / "ballast").unlink()
    (package / "terraform.tfstate").unlink()
    subprocess.run(("mount", "-o", "remount,size=1m", str(disk)), check=True)
    after = cli("provision", package, "--yes", "--json", "--engine", real_engine)

    kept = directory / "emergency.tfstate"
    assert scenes.resources(kept) == THREE
    assert any(str(kept) in summary for summary in warnings(after)), warnings(after)


def test_output_that_does_not_fit_on_the_disk_is_no_success(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, mount: Mount
) -> None:
    disk = mount("size=9m")
    words = {"bytes": base64.b64encode(b"x" * 9999 + b"\n").decode(), "times": 1200}
    fake_engine.plays({"apply": [words, *scenes.applied()]})
    package = make_package(scenes.NOTHING)
    env = {"HEREYA_TF_STATE_DIR": str(disk)}
    ended = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path, env=env)

    assert (ended.exit_code, ended.result["failure"]["class"]) == (1, "disk-full")
    assert ended.result["reason"].endswith(": the disk had no room for all it said")
    # What is left of the history says how the run ended, and the disk is free again for the next one.
    (run,) = (disk / "runs").glob("2*")
    assert "apply.1.stdout" not in {entry.name for entry in run.iterdir()}
    fake_engine.plays({"apply": scenes.applied()})
    assert cli("provision", package, "--yes", "--engine", fake_engine.path, env=env).exit_code == 0


@pytest.mark.real_engine
def test_a_plan_is_made_and_applied_where_the_state_directory_has_no_room(
    cli: CommandLine, real_engine: str, make_package: MakePackage, mount: Mount, tmp_path: Path
) -> None:
    disk = mount()
    fill(disk)
    package = make_package({"main.tf": 'resource "terraform_data" "x" {}\n'})
    env = {"HEREYA_TF_STATE_DIR": str(disk)}
    arguments = ("--engine", real_engine, "--json")

    planned = cli("plan", package, "--out", tmp_path / "a.plan", *arguments, env=env)
    applied = cli("apply", package, tmp_path / "a.plan", *arguments, env=env)

    assert (planned.exit_code, applied.exit_code) == (0, 0)
    assert applied.result["changes"]["add"] == 1


@pytest.mark.real_engine
def test_a_lock_file_is_put_there_whole_or_not_at_all(
    hereya: Driver, make_package: MakePackage, providers: Path, mount: Mount, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PROVIDERS})
    disk = mount()
    (disk / "main.tf").write_text(PROVIDERS)
    fill(disk)
    bundle = tmp_path / "a.plan"
    succeeded(hereya.start("plan", package, "--out", bundle).finish())

    refused = hereya.cli("apply", disk, bundle, "--json", "--engine", hereya.wish)

    assert failure(refused)[:2] == (1, "disk-full")
    assert names(disk) == ["ballast", "main.tf"]


@pytest.mark.real_engine
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("option", ["--plan-json", "--plan-text"])
def test_a_plan_that_cannot_be_written_to_its_end_is_no_success(
    hereya: Driver, make_package: MakePackage, option: str
) -> None:
    package = make_package({"main.tf": 'resource "terraform_data" "x" {}\n'})

    ended = hereya.start("plan", package, option, "/dev/full").finish()

    assert failure(ended)[:2] == (1, "disk-full")


def test_a_generated_backend_that_does_not_fit_into_the_package_is_a_full_disk(
    cli: CommandLine, fake_engine: FakeEngine, mount: Mount, tmp_path: Path
) -> None:
    disk = mount()
    (disk / "main.tf").write_text("")
    fill(disk)
    ended = cli(
        "provision", disk, "--yes", "--json", "--engine", fake_engine.path, "--state", tmp_path / "x.tfstate"
    )

    assert (ended.exit_code, ended.result["failure"]["class"]) == (1, "disk-full")
    assert "`df -h`" in ended.result["failure"]["hint"]
    assert fake_engine.commands() == []


@pytest.mark.real_engine
@pytest.mark.parametrize("problem", ["full", "read-only"])
def test_a_state_that_recover_has_stored_is_told_as_stored_when_that_cannot_be_noted(
    hereya: Driver, make_package: MakePackage, server: StateServer, mount: Mount, problem: str
) -> None:
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package, "-p", "v=one"))
    lost = {**server.state, "serial": server.state["serial"] + 1, "outputs": {}}
    (package / "errored.tfstate").write_text(json.dumps(lost))
    disk = mount()
    (fill if problem == "full" else read_only)(disk)

    result = recover(hereya, package, "--yes", env={"HEREYA_TF_STATE_DIR": str(disk)})

    code, failed, reason = failure(result)
    assert (code, failed) == ((1, "disk-full") if problem == "full" else (3, "errored-state"))
    assert "is stored, and that cannot be noted: " in reason
    assert repairs(result) == {"push": True}
    assert (server.state["outputs"], (package / "errored.tfstate").exists()) == ({}, True)
    assert repaired(recover(hereya, package, "--yes")) == {"settle": True}
