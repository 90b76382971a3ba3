"""`init` and `validate` on a real engine."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, names, read_state, skipped, steps, succeeded
from tests.engine.provider import PROVIDERS

pytestmark = pytest.mark.real_engine

PACKAGE = """
resource "terraform_data" "x" { input = "x" }
output "x" { value = terraform_data.x.output }
"""
MODULE = 'module "part" { source = "./part" }\n'


def test_init_initialises_and_is_remembered(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": PACKAGE})

    initialised = hereya.start("init", package).finish()

    assert steps(initialised) == ["init"]
    assert succeeded(initialised)["operation"] == "init"
    assert skipped(hereya.provision(package)) == ["init"]


def test_init_upgrades(hereya: Driver, make_package: MakePackage, tmp_path: Path) -> None:
    package = make_package({"main.tf": PACKAGE})
    counted = hereya.counted(tmp_path)

    initialised = hereya.cli("init", package, "--engine", str(counted.path), "--upgrade", "--json")

    succeeded(initialised)
    started = next(event for event in initialised.events if event["type"] == "step_started")
    assert started["argv"][1:] == ["init", "-json", "-input=false", "-no-color", "-upgrade"]


@pytest.mark.behaviour("T1")
def test_a_state_is_copied_to_another_backend_when_that_is_asked_for(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": PACKAGE})
    succeeded(hereya.provision(package))
    (package / "backend.tf").write_text('terraform {\n  backend "local" { path = "moved.tfstate" }\n}\n')

    moved = hereya.start("init", package, "--migrate-state").finish()

    succeeded(moved)
    assert read_state(package / "moved.tfstate") == {"x": "x"}
    assert succeeded(hereya.provision(package))["changes"]["add"] == 0


@pytest.mark.behaviour("T5")
def test_a_changed_backend_needs_to_be_told_what_to_do(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(
        {"main.tf": PACKAGE + 'terraform {\n  backend "local" { path = "a.tfstate" }\n}\n'}
    )
    succeeded(hereya.provision(package))
    (package / "main.tf").write_text((package / "main.tf").read_text().replace("a.tfstate", "b.tfstate"))

    assert failure(hereya.start("init", package).finish())[:2] == (1, "backend-changed")
    succeeded(hereya.start("init", package, "--reconfigure").finish())
    assert read_state(package / "a.tfstate") == {"x": "x"}


def test_a_read_only_lock_file_is_left_alone(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": PACKAGE})

    succeeded(hereya.start("init", package, "--lockfile", "readonly").finish())

    assert ".terraform.lock.hcl" not in names(package)


@pytest.mark.parametrize("initialised", [False, True])
def test_a_valid_package_is_valid_and_not_touched(
    hereya: Driver, make_package: MakePackage, initialised: bool
) -> None:
    package = make_package(
        {"main.tf": PACKAGE + 'terraform {\n  backend "local" { path = "a.tfstate" }\n}\n'}
    )
    if initialised:
        succeeded(hereya.provision(package))
    before = names(package)

    checked = hereya.start("validate", package).finish()

    assert succeeded(checked)["operation"] == "validate"
    assert steps(checked) == ["validate"]
    assert names(package) == before


def test_what_has_to_be_initialised_is_initialised_apart(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": MODULE})
    (package / "part").mkdir()
    (package / "part" / "main.tf").write_text(PACKAGE)

    checked = hereya.start("validate", package).finish()

    succeeded(checked)
    assert steps(checked) == ["validate", "init", "validate"]
    assert names(package) == ["main.tf", "part"]


@pytest.fixture
def provided(hereya: Driver, make_package: MakePackage, providers: Path) -> Path:
    """A clone with the lock file of its provider, and without the provider."""
    package = make_package({"main.tf": PROVIDERS})
    succeeded(hereya.start("init", package).finish())
    shutil.rmtree(package / ".terraform")
    return package


def test_a_fresh_clone_is_valid_by_its_own_lock_file(hereya: Driver, provided: Path) -> None:
    lock_file = (provided / ".terraform.lock.hcl").read_bytes()

    checked = hereya.start("validate", provided).finish()

    assert succeeded(checked)["timings"]["wait"] is None
    assert steps(checked) == ["validate", "init", "validate"]
    assert names(provided) == [".terraform.lock.hcl", "main.tf"]
    assert (provided / ".terraform.lock.hcl").read_bytes() == lock_file


@pytest.mark.parametrize("before", [None, "# no providers yet\n"], ids=["none", "incomplete"])
def test_a_lock_file_that_names_not_all_providers_is_written(
    hereya: Driver, provided: Path, before: str | None
) -> None:
    lock_file = provided / ".terraform.lock.hcl"
    complete = lock_file.read_bytes()
    lock_file.unlink()
    if before is not None:
        lock_file.write_text(before)

    checked = hereya.start("validate", provided).finish()

    succeeded(checked)
    assert names(provided) == [".terraform.lock.hcl", "main.tf"]
    assert lock_file.read_bytes() == complete


def test_what_is_wrong_is_told_with_its_place(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": 'output "x" {\n  value = local.nope\n}\n'})

    checked = hereya.start("validate", package).finish()

    assert failure(checked)[:2] == (1, "invalid-configuration")
    (found,) = checked.result["failure"]["diagnostics"]
    assert (found["range"]["filename"], found["range"]["start_line"]) == ("main.tf", 2)
    assert [event["summary"] for event in checked.events if event["type"] == "diagnostic"] == [
        found["summary"]
    ]


def test_validate_waits_for_nobody(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(
        {
            "main.tf": PACKAGE
            + 'resource "terraform_data" "slow" {\n  provisioner "local-exec" { command = "sleep 30" }\n}\n'
        }
    )
    working = hereya.start("provision", package)
    working.wait_for_event("resource", address="terraform_data.slow", status="started")

    checked = hereya.start("validate", package).finish()

    working.kill()
    assert succeeded(checked)["timings"]["wait"] is None
