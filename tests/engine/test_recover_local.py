"""`recover` where the state is a file: a broken one gets its last good copy back, and a person is asked first."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hereya_tf.states.local import Condition, inspect_state
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.driving import Driver, names, read_state, steps, succeeded, warnings
from tests.engine.recovering import (
    VALUE,
    crashed,
    findings,
    kept,
    left,
    recover,
    recovery,
    refused,
    repaired,
    repairs,
)
from tests.engine.terminals import ended, terminals

pytestmark = pytest.mark.real_engine

PACKAGE = {"main.tf": VALUE}


def provisioned(hereya: Driver, package: Path, *values: str) -> Path:
    """Provision with one value after the other; returns the state's file."""
    for value in values:
        succeeded(hereya.provision(package, "-p", f"v={value}"))
    return package / "terraform.tfstate"


def emptied(state: Path) -> None:
    state.write_text("")


def cut(state: Path) -> None:
    os.truncate(state, state.stat().st_size // 2)


@pytest.mark.parametrize("breaks", [emptied, cut])
def test_a_broken_state_gets_the_newest_whole_copy_back(
    hereya: Driver, make_package: MakePackage, breaks: Callable[[Path], None]
) -> None:
    package = make_package(PACKAGE)
    state = provisioned(hereya, package, "one", "two", "three")
    (package / "terraform.tfstate.backup").unlink()
    state.chmod(0o640)
    breaks(state)
    broken = state.read_bytes()

    told = recover(hereya, package)
    result = recover(hereya, package, "--yes")

    assert (refused(told), repairs(told)) == ((3, "state-corrupt"), {"restore": None})
    assert (repaired(result), findings(result)) == ({"restore": True}, ["state-corrupt"])
    assert (read_state(state), oct(state.stat().st_mode & 0o777)) == ({"v": "two"}, "0o640")
    (repair,) = recovery(result)["repairs"]
    assert "went on with 1 resource: terraform_data.a. Whatever of that exists and is" in repair["because"]
    (aside,) = kept(str(result.result["run"]), "broken-state-")
    assert aside.read_bytes() == broken
    assert steps(result) == []
    assert succeeded(hereya.provision(package, "-p", "v=three"))["changes"]["change"] == 1


def test_of_several_copies_the_one_with_the_highest_serial_is_taken(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package(PACKAGE)
    state = provisioned(hereya, package, "one", "two")
    newest = json.loads(state.read_text())
    state.write_text("")
    (package / "errored.tfstate").write_text(json.dumps(newest))

    result = recover(hereya, package, "--yes")

    assert repaired(result) == {"restore": True, "settle": True}
    assert (json.loads(state.read_text()), "errored.tfstate" in names(package)) == (newest, False)


def test_a_copy_of_another_lineage_does_not_take_the_states_place(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package(PACKAGE)
    state = provisioned(hereya, package, "one", "two")
    backup = package / "terraform.tfstate.backup"
    foreign = {**json.loads(backup.read_text()), "lineage": "another", "serial": 99}
    backup.write_text(json.dumps(foreign))
    emptied(state)

    assert repaired(recover(hereya, package, "--yes")) == {"restore": True}

    assert read_state(state) == {"v": "one"}


def test_without_a_copy_nothing_is_done(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({**PACKAGE, "terraform.tfstate": '{"version": 4, "seri'})

    result = recover(hereya, package, "--yes")

    assert (refused(result), repairs(result)) == ((3, "state-corrupt"), {})
    assert left(result).startswith("there is no whole copy of ")
    assert (package / "terraform.tfstate").read_text() == '{"version": 4, "seri'


def test_without_a_copy_what_was_made_is_told(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(PACKAGE)
    run = succeeded(hereya.provision(package))["run"]
    (package / "terraform.tfstate").write_bytes(b"")

    result = recover(hereya, package, "--yes")

    (remainder,) = recovery(result)["left"]
    assert refused(result) == (3, "state-corrupt")
    assert f"run `{run}` went on with 1 resource: terraform_data.a" in remainder["by_hand"][-1]


def test_a_link_to_the_state_stays_one(hereya: Driver, make_package: MakePackage, tmp_path: Path) -> None:
    package = make_package(PACKAGE)
    state = provisioned(hereya, package, "one", "two")
    real = state.rename(tmp_path / "real.tfstate")
    state.symlink_to(real)
    emptied(real)

    assert repaired(recover(hereya, package, "--yes")) == {"restore": True}

    assert (state.is_symlink(), read_state(real)) == (True, {"v": "one"})


def test_the_state_of_a_generated_backend_is_restored(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package, state = make_package(PACKAGE), tmp_path / "kept.tfstate"
    for value in ("one", "two"):
        succeeded(hereya.provision(package, "--state", state, "-p", f"v={value}"))
    cut(state)

    result = recover(hereya, make_package(PACKAGE), "--state", state, "--yes")

    assert repaired(result) == {"restore": True}
    assert read_state(state) == {"v": "one"}


def test_what_was_in_flight_is_told_where_nothing_is_broken(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package(scenes.GATED)
    dead = crashed(hereya.start("provision", package), package)

    people = hereya.cli("recover", package, "--engine", hereya.wish)

    assert people.exit_code == 0
    said = " ".join(people.stdout.split())
    assert said.startswith(f"Run `{dead}`: `provision` of `{package}`, workspace `default`, begun at ")
    assert f"\n  hereya-tf tf {package} -- import terraform_data.second ID\n" in people.stdout
    assert people.stdout.endswith("\nNothing is broken: no state is missing, and no lock was left.\n")


@pytest.mark.parametrize("patience", [0.0, 0.05, 0.1, 0.15, 0.2, 0.3])
def test_killed_at_any_moment_there_is_the_broken_state_or_the_copy(
    hereya: Driver, make_package: MakePackage, patience: float
) -> None:
    package = make_package(PACKAGE)
    state = provisioned(hereya, package, "one", "two")
    emptied(state)
    running = hereya.cli.start("recover", package, "--yes", "--json", "--engine", hereya.wish)
    running.wait_for_event("engine_ready")
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.process.wait(patience)  # the moment is the point
    running.kill()
    assert inspect_state(state).condition in (Condition.EMPTY, Condition.WHOLE)

    succeeded(recover(hereya, package, "--yes"))

    assert read_state(state) == {"v": "one"}
    assert [name for name in names(package) if "restored" in name] == []


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_a_person_is_asked_once_after_the_story(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, answer: str
) -> None:
    package = make_package(PACKAGE)
    state = provisioned(hereya, package, "one", "two")
    emptied(state)
    with terminals(tmp_path, NO_COLOR="1") as start:
        words = ("-m", "hereya_tf", "recover", str(package), "--engine", hereya.wish)
        child = start(sys.executable, words)
        child.expect_exact("To be repaired, in this order:")
        child.expect_exact("Type `yes` to do it: ")
        child.sendline(answer)
        code, shown = ended(child)

    if answer == "yes":
        assert (code, read_state(state)) == (0, {"v": "one"})
        assert "done: put the state as it was before run" in shown
        assert "To be repaired" not in shown
    else:
        assert (code, state.read_text()) == (130, "")
        assert "the repairs were not approved, and nothing was changed" in shown


def test_a_state_that_is_gone_is_missed_and_put_back(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(PACKAGE)
    state = provisioned(hereya, package, "one", "two", "three")
    state.unlink()

    planned = hereya.cli("plan", package, "--json", "--engine", hereya.wish)
    told = recover(hereya, package, "--dry-run")
    result = recover(hereya, package, "--yes")

    (warning,) = warnings(planned)
    assert warning.startswith(f"there is no `{state}`, and `{state}.backup` says that there was one")
    assert [each["sentence"] for each in recovery(told)["findings"]] == [f"the local state `{state}` is gone"]
    assert repaired(result) == {"restore": True}
    assert read_state(state) == {"v": "two"}
    assert recovery(recover(hereya, package))["findings"] == []


def test_a_state_that_is_gone_after_all_was_destroyed_is_not_missed(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package(PACKAGE)
    state = provisioned(hereya, package, "one")
    succeeded(hereya.destroy(package))
    state.unlink()

    assert warnings(hereya.cli("plan", package, "--json", "--engine", hereya.wish)) == []
    assert recovery(recover(hereya, package))["findings"] == []
