"""A state that could not be saved is kept, and nothing is built on the one before; a broken state is refused."""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.states.unsaved import Unsaved, unsaved_of
from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.conftest import Mount
from tests.engine.driving import Driver, failure, names, steps, succeeded, warnings
from tests.engine.state_server import StateServer
from tests.engine.test_disk import BULKY, THREE, fill

pytestmark = pytest.mark.real_engine

BACKEND = 'terraform {\n  backend "http" {\n    retry_max = 0\n  }\n}\n'
SMALL = """
variable "text" { default = "a" }
resource "terraform_data" "a" { input = var.text }
output "text" { value = terraform_data.a.output }
"""
ELSEWHERE = {"main.tf": SMALL, "backend.tf": BACKEND}
# The operations that build on the state.
BUILDING = (
    ("provision",),
    ("destroy",),
    ("plan",),
    ("drift",),
    ("init", "--migrate-state"),
)


@pytest.fixture
def server() -> Iterator[StateServer]:
    """A state server that does not take any state."""
    with StateServer({"POST": 500}) as made:
        yield made


def notes(package: Path, workspace: str = "default") -> list[Unsaved]:
    """What is noted as unsaved for a package without a generated backend."""
    return list(unsaved_of(scenes.state_directory(), f"{package.resolve()}#{workspace}"))


def run_directory(result: Result) -> Path:
    return scenes.state_directory() / "runs" / str(result.result["run"])


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


def run(hereya: Driver, package: Path, operation: tuple[str, ...], env: Mapping[str, str] = {}) -> Result:
    first, *rest = operation
    return hereya.cli(first, package, *rest, "--yes", "--json", "--engine", hereya.wish, env=env)


def tf(hereya: Driver, package: Path, *arguments: str, env: Mapping[str, str] = {}) -> Result:
    return hereya.cli("tf", package, "--engine", hereya.wish, "--", *arguments, env=env)


def state_of(path: Path) -> Any:
    return json.loads(path.read_text())


# A state that could not be saved


def test_a_state_that_a_backend_does_not_take_is_kept_noted_and_named(
    hereya: Driver, make_package: MakePackage, server: StateServer
) -> None:
    package = make_package(ELSEWHERE)

    failed = hereya.provision(package, env=server.environment)

    assert failure(failed)[:2] == (1, "state-not-saved")
    kept = run_directory(failed) / "errored-1.tfstate"
    assert scenes.resources(kept) == {"terraform_data.a": "complete"}
    assert (mode(kept), names(package)) == ("0o600", [".terraform", "backend.tf", "main.tf"])
    told = failed.result["failure"]
    assert told["state"] == {"saved": False, "errored_state": str(kept), "lock": None}
    assert f"the only complete copy is `{kept}`" in Path(failed.result["report"]).read_text()
    assert f"`hereya-tf recover {package}`" in told["hint"]
    assert f"`hereya-tf tf {package} -- state push {kept}`" in told["hint"]
    (note,) = notes(package)
    state = state_of(kept)
    assert note[:5] == (failed.result["run"], str(package), "default", f"{package}#default", str(kept))
    assert (note.serial, note.lineage) == (state["serial"], state["lineage"])


def test_nothing_builds_on_a_state_before_the_one_that_could_not_be_saved(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(ELSEWHERE)
    bundle = tmp_path / "a.plan"
    refuses: dict[str, int] = {}
    with StateServer(refuses) as server:
        env = server.environment
        assert hereya.cli("plan", package, "--out", bundle, "--engine", hereya.wish, env=env).exit_code == 0
        refuses["POST"] = 500
        failed = hereya.provision(package, env=env)
        kept = str(run_directory(failed) / "errored-1.tfstate")
        refuses.clear()

        for operation in (*BUILDING, ("apply", str(bundle))):
            refused = run(hereya, package, operation, env)
            code, failure_class, reason = failure(refused)
            assert (operation, code, failure_class) == (operation, 3, "errored-state")
            assert reason.startswith(
                f"run `{failed.result['run']}` could not save its state, which is in `{kept}`"
            )
            assert (steps(refused), refused.result["status"]) == ([], "refused")
            assert refused.result["failure"]["state"]["errored_state"] == kept
            assert "`hereya-tf recover" in refused.result["failure"]["hint"]
        assert server.state is None

        read = run(hereya, package, ("output",), env)
        assert (read.exit_code, read.stdout) == (0, "{}\n")
        for operation in (("init",), ("validate",)):
            assert run(hereya, package, operation, env).exit_code == 0
        shown = hereya.cli("output", package, "--engine", hereya.wish, env=env)
        assert f"a later one could not be saved, and is in `{kept}`" in shown.stderr

        assert tf(hereya, package, "state", "push", kept, env=env).exit_code == 0
        assert (notes(package), server.state is not None) == ([], True)
        again = succeeded(hereya.provision(package, env=env))
        assert again["changes"]["add"] == 0


def test_a_second_failure_writes_over_no_state_of_the_first(
    hereya: Driver, make_package: MakePackage, server: StateServer
) -> None:
    package = make_package(ELSEWHERE)
    env = server.environment
    first = hereya.provision(package, env=env)
    kept = run_directory(first) / "errored-1.tfstate"
    before = kept.read_bytes()

    # `tf` goes on: what it does is its user's word.
    second = tf(hereya, package, "apply", "-auto-approve", "-no-color", env=env)
    third = tf(hereya, package, "apply", "-auto-approve", "-no-color", env=env)

    assert (second.exit_code, third.exit_code) == (1, 1)
    # Not without having been told.
    assert second.stderr.count(f"a later one could not be saved, and is in `{kept}`") == 1
    assert kept.read_bytes() == before
    found = notes(package)
    assert len(found) == len({note.file for note in found}) == len({note.lineage for note in found}) == 3
    assert [note.lineage for note in found] == [state_of(Path(note.file))["lineage"] for note in found]
    assert names(package) == [".terraform", "backend.tf", "main.tf"]
    assert f"`hereya-tf tf {package} -- state push {found[1].file}`" in second.stderr


def test_an_errored_state_that_a_command_writes_over_is_kept_as_well(
    hereya: Driver, make_package: MakePackage, server: StateServer
) -> None:
    older = json.dumps({"version": 4, "serial": 9, "lineage": "older", "outputs": {}, "resources": []})
    package = make_package({**ELSEWHERE, "errored.tfstate": older})

    ended = tf(hereya, package, "apply", "-auto-approve", "-no-color", env=server.environment)

    assert ended.exit_code == 1
    found = notes(package)
    assert {state_of(Path(note.file))["serial"] for note in found} == {9, 1}
    assert [Path(note.file).read_text() for note in found if note.lineage == "older"] == [older]
    assert not (package / "errored.tfstate").exists()


def test_an_errored_state_crosses_to_the_file_system_of_the_history(
    hereya: Driver, make_package: MakePackage, server: StateServer, mount: Mount
) -> None:
    disk = mount("size=96m")
    package = make_package(ELSEWHERE)
    env = {**server.environment, "HEREYA_TF_STATE_DIR": str(disk)}

    failed = hereya.provision(package, env=env)

    kept = Path(failed.result["failure"]["state"]["errored_state"])
    assert kept == disk / "runs" / failed.result["run"] / "errored-1.tfstate"
    assert (kept.stat().st_dev != package.stat().st_dev, mode(kept)) == (True, "0o600")
    assert scenes.resources(kept) == {"terraform_data.a": "complete"}
    assert names(package) == [".terraform", "backend.tf", "main.tf"]
    assert names(kept.parent) == ["errored-1.tfstate", "events.ndjson", "report.txt", "run.json"]
    assert failure(hereya.provision(package, env=env))[1] == "errored-state"


@pytest.mark.parametrize("problem", ["read-only", "full"])
def test_an_errored_state_that_cannot_be_moved_stays_is_named_and_refuses_by_itself(
    hereya: Driver, make_package: MakePackage, server: StateServer, mount: Mount, problem: str
) -> None:
    disk = mount("size=96m")
    package = make_package({**BULKY, "backend.tf": BACKEND})
    env = {**server.environment, "HEREYA_TF_STATE_DIR": str(disk)}
    running = hereya.start("provision", package, env=env)
    scenes.wait_for_file(package / "started")
    errored = package / "errored.tfstate"
    with filled(disk) if problem == "full" else read_only_from_now_on(disk):
        (package / "go").touch()
        failed = running.finish()

        assert failed.exit_code == 1
        assert failed.result["failure"]["state"]["errored_state"] == str(errored)
        assert scenes.resources(errored) == THREE
        assert any(f"`{errored}` has to stay" in warning for warning in warnings(failed)), warnings(failed)
        refused = hereya.provision(package, env={**env, "TMPDIR": str(package.parent)})
    assert failure(refused)[:2] == (3, "errored-state")
    assert refused.result["failure"]["state"]["errored_state"] == str(errored)


@contextlib.contextmanager
def filled(disk: Path) -> Iterator[None]:
    fill(disk)
    yield


@contextlib.contextmanager
def read_only_from_now_on(disk: Path) -> Iterator[None]:
    """Nothing new can be written, whatever is open for writing."""
    subprocess.run(("mount", "--bind", str(disk), str(disk)), check=True)
    try:
        subprocess.run(("mount", "-o", "remount,bind,ro", str(disk)), check=True)
        yield
    finally:
        subprocess.run(("umount", "-l", str(disk)), check=True)


def test_after_a_full_disk_the_kept_state_is_put_back_by_hand(
    hereya: Driver, make_package: MakePackage, mount: Mount
) -> None:
    disk = mount("size=256k")
    package = make_package(BULKY)
    where = ("--state", disk / "kept.tfstate")
    running = hereya.start("provision", package, *where)
    scenes.wait_for_file(package / "started")
    fill(disk)
    (package / "go").touch()
    failed = running.finish()
    kept = Path(failed.result["failure"]["state"]["errored_state"])
    assert scenes.resources(kept) == THREE
    (disk / "ballast").unlink()

    refused = hereya.provision(package, *where)
    assert failure(refused)[:2] == (3, "errored-state")
    (command,) = [
        line.split("`")[1] for line in refused.result["failure"]["hint"].splitlines() if "by hand" in line
    ]
    if command.startswith("cp "):
        subprocess.run(command, shell=True, check=True)
    else:
        pushed = tf_with_state(hereya, package, where, "state", "push", str(kept))
        assert pushed.exit_code == 0, pushed.stderr

    again = succeeded(hereya.provision(package, *where))
    assert set(again["changes"].values()) == {0}
    assert names(scenes.state_directory() / "unsaved") == []


def tf_with_state(hereya: Driver, package: Path, where: tuple[str | Path, ...], *arguments: str) -> Result:
    return hereya.cli("tf", package, *where, "--engine", hereya.wish, "--", *arguments)


def test_a_state_that_was_only_printed_is_noted_and_the_empty_file_is_taken_away(
    hereya: Driver, mount: Mount
) -> None:
    disk = mount("size=64k")
    package = disk / "package"
    package.mkdir()
    (package / "main.tf").write_text(BULKY["main.tf"])
    running = hereya.start("provision", package)
    scenes.wait_for_file(package / "started")
    fill(disk)
    (package / "go").touch()
    failed = running.finish()

    kept = run_directory(failed) / "emergency.tfstate"
    assert failed.result["failure"]["state"]["errored_state"] == str(kept)
    assert scenes.resources(kept) == THREE
    assert [note.file for note in notes(package)] == [str(kept)]
    assert "errored.tfstate" not in names(package)
    (disk / "ballast").unlink()
    assert failure(hereya.provision(package))[:2] == (3, "errored-state")


def test_the_errored_state_of_a_killed_run_is_kept_by_the_one_that_adopts_it(
    hereya: Driver, make_package: MakePackage, server: StateServer
) -> None:
    package = make_package({**scenes.GATED, "backend.tf": BACKEND})
    running = hereya.start("provision", package, env=server.environment)
    scenes.wait_for_file(package / "started")
    engine = scenes.engine_pid(running)
    dead = scenes.run_directory(running)
    running.send_signal(signal.SIGKILL)
    running.process.wait(60)
    (package / "go").touch()
    scenes.wait_until_gone(engine)

    refused = hereya.provision(package, env=server.environment)

    kept = dead / "errored-1.tfstate"
    assert failure(refused)[:2] == (3, "errored-state")
    assert refused.result["failure"]["state"]["errored_state"] == str(kept)
    assert (scenes.resources(kept), mode(kept)) == (THREE, "0o600")
    assert "errored.tfstate" not in names(package)
    assert [(note.run, note.file) for note in notes(package)] == [(dead.name, str(kept))]
    assert any(f"the only complete copy is `{kept}`" in warning for warning in warnings(refused))
    (last,) = [event for event in scenes.log_events(hereya.cli, dead.name) if event["type"] == "result"]
    assert last["failure"]["state"]["errored_state"] == str(kept)


# A state that is empty or broken


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize("damage", ["empty", "cut off"])
def test_a_local_state_that_is_not_whole_is_refused_before_the_engine_acts(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, damage: str
) -> None:
    package = make_package({"main.tf": SMALL})
    bundle = tmp_path / "a.plan"
    made = hereya.provision(package)
    succeeded(made)
    planned = hereya.cli("plan", package, "-p", "text=b", "--out", bundle, "--engine", hereya.wish)
    assert planned.exit_code == 0
    succeeded(hereya.provision(package, "-p", "text=c"))
    state = package / "terraform.tfstate"
    os.truncate(state, 0 if damage == "empty" else state.stat().st_size - 40)
    broken = state.read_bytes()

    for operation in (*BUILDING, ("apply", str(bundle)), ("output",)):
        refused = run(hereya, package, operation)
        if operation == ("output",):
            assert refused.exit_code == 3, refused
            assert f"the state in `{state}` is " in refused.stderr
            continue
        code, failure_class, reason = failure(refused)
        assert (operation, code, failure_class) == (operation, 3, "state-corrupt")
        assert reason.startswith(f"the state in `{state}` is {'empty' if damage == 'empty' else 'broken'}")
        assert (steps(refused), refused.result["failure"]["state"]["saved"]) == ([], None)
        assert "`hereya-tf recover" in refused.result["failure"]["hint"]
        assert "state-before.tfstate" in refused.result["failure"]["hint"]
    assert run(hereya, package, ("validate",)).exit_code == 0
    # The engine's own init takes an empty state for none, and cannot read one that is cut off.
    initialised = run(hereya, package, ("init",))
    assert (initialised.exit_code, steps(initialised)) == (0 if damage == "empty" else 3, ["init"])
    assert tf(hereya, package, "validate").exit_code == 0
    assert state.read_bytes() == broken


@pytest.mark.parametrize("kind", ["own backend", "own backend, configured", "workspace", "generated", "data"])
def test_a_broken_state_is_found_wherever_it_lies(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, kind: str
) -> None:
    files, state = {"main.tf": SMALL}, "terraform.tfstate"
    where: tuple[str | Path, ...] = ()
    env: dict[str, str] = {}
    if kind.startswith("own backend") or kind == "data":
        text = "" if kind == "own backend, configured" else 'path = "states/own.tfstate"'
        files["backend.tf"] = f'terraform {{\n  backend "local" {{\n    {text}\n  }}\n}}\n'
        state = "states/own.tfstate"
        where = ("--backend-config=path=states/own.tfstate",) if kind == "own backend, configured" else ()
        env = {"TF_DATA_DIR": "elsewhere"} if kind == "data" else {}
    if kind == "workspace":
        where, state = ("-w", "blue", "--create-workspace"), "terraform.tfstate.d/blue/terraform.tfstate"
    if kind == "generated":
        where, state = ("--state", tmp_path / "x.tfstate", "--id", "x"), str(tmp_path / "x.tfstate")
    package = make_package(files)
    succeeded(hereya.provision(package, *where, env=env))
    path = package / state
    assert path.exists()

    path.write_bytes(b"")
    refused = hereya.provision(package, *where, env=env)

    assert failure(refused)[:2] == (3, "state-corrupt")
    assert f"`{path}` is empty" in failure(refused)[2]
    assert "apply" not in steps(refused)
    path.unlink()
    again = succeeded(hereya.provision(package, *where, env=env))
    assert again["changes"]["add"] == 1


# The copy of the state before it is written


def test_the_state_before_a_run_is_kept_byte_for_byte_and_goes_with_its_history(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": SMALL})
    state = package / "terraform.tfstate"
    first = hereya.provision(package)
    assert "state-before.tfstate" not in names(run_directory(first))
    before = state.read_bytes()

    second = hereya.provision(package, "-p", "text=b")
    after = state.read_bytes()
    plan = run(hereya, package, ("plan",))
    listed = tf(hereya, package, "state", "list")
    tainted = tf(hereya, package, "taint", "-no-color", "terraform_data.a")
    destroyed = hereya.destroy(package)

    assert (listed.exit_code, tainted.exit_code, succeeded(destroyed)["success"]) == (0, 0, True)
    copy = run_directory(second) / "state-before.tfstate"
    assert (copy.read_bytes(), mode(copy), before != after) == (before, "0o600", True)
    assert names(copy.parent) == ["events.ndjson", "run.json", "state-before.tfstate"]
    assert "state-before.tfstate" not in names(run_directory(plan))
    last = run_directory(destroyed) / copy.name
    others = set(scenes.state_directory().glob("runs/2*/state-before.tfstate")) - {copy, last}
    assert ([file.read_bytes() for file in others], last.exists()) == ([after], True)
    pruned = hereya.cli("runs", "prune", "--history-count", "1")
    assert (pruned.exit_code, copy.exists(), last.exists()) == (0, False, True)


def test_little_room_is_a_warning_before_something_is_written(hereya: Driver, mount: Mount) -> None:
    disk = mount("size=4m")
    (disk / "main.tf").write_text(SMALL)

    planned = run(hereya, disk, ("plan",))
    provisioned = hereya.provision(disk)

    assert warnings(planned) == []
    (warning,) = warnings(provisioned)
    assert succeeded(provisioned)["changes"]["add"] == 1
    assert warning.startswith(f"the disk of `{disk}` has 3 MiB left, which may be too little")


def test_a_copy_that_has_no_room_is_a_warning(
    hereya: Driver, make_package: MakePackage, mount: Mount
) -> None:
    disk = mount("size=4m")
    package = make_package({"main.tf": SMALL})
    succeeded(hereya.provision(package))

    again = hereya.provision(package, "-p", "text=b", env={"HEREYA_TF_STATE_DIR": str(disk)})

    succeeded(again)
    state = package / "terraform.tfstate"
    assert any(f"there is no copy of `{state}` as it was before" in warning for warning in warnings(again))
