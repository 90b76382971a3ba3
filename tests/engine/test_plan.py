"""`plan` on a real engine: what it says, what it leaves, what it never does."""

import json
import stat
from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, names, read_state, steps, succeeded

pytestmark = pytest.mark.real_engine

PACKAGE = """
variable "size" { default = 1 }
variable "password" {
  sensitive = true
  default   = "correct horse"
}
resource "terraform_data" "kept" { input = "same" }
resource "terraform_data" "sized" { input = var.size }
resource "terraform_data" "secret" { input = var.password }
resource "terraform_data" "many" {
  count            = var.size
  triggers_replace = var.size
}
output "size" { value = var.size }
"""


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": PACKAGE})


def test_the_difference_and_the_table_are_the_results(hereya: Driver, package: Path) -> None:
    succeeded(hereya.provision(package))

    planned = hereya.cli("plan", package, "--engine", hereya.wish, "-p", "size:=2")

    assert planned.exit_code == 0
    difference, _, table = planned.stdout.partition("\n\n  -/+ replace")
    assert "# terraform_data.sized will be updated in-place" in difference
    assert "correct horse" not in planned.stdout
    assert ("  -/+ replace" + table).splitlines() == [
        "  -/+ replace  terraform_data.many[0]  (cannot be updated in place)",
        "    ~ update   terraform_data.sized",
        "    + create   terraform_data.many[1]",
        "",
        "Plan: 2 to add, 1 to change, 1 to destroy (1 replaced)",
    ]
    assert hereya.outputs(package) == {"size": 1}


def test_with_json_the_changes_are_events_and_counts(hereya: Driver, package: Path) -> None:
    succeeded(hereya.provision(package))

    planned = hereya.start("plan", package, "-p", "size:=2").finish()

    ended = succeeded(planned)
    assert steps(planned)[-1] == "plan"  # with values that init gets as well there is one before it
    assert ended["changes"] == {"add": 2, "change": 1, "destroy": 1, "replace": 1, "import": 0, "forget": 0}
    assert (ended["operation"], ended["drift"], ended["outputs"]) == ("plan", None, {})
    assert {(event["address"], event["action"]) for event in planned.events if event["type"] == "change"} == {
        ("terraform_data.many[0]", "replace"),
        ("terraform_data.many[1]", "create"),
        ("terraform_data.sized", "update"),
    }


def test_nothing_to_do_is_said_so(hereya: Driver, package: Path) -> None:
    succeeded(hereya.provision(package))

    planned = hereya.cli("plan", package, "--engine", hereya.wish)

    assert planned.exit_code == 0
    assert "No changes." in planned.stdout
    assert planned.stdout.splitlines()[-1] == "Plan: no changes"


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        pytest.param((), 0, id="no-changes"),
        pytest.param(("-p", "size:=2"), 2, id="changes"),
    ],
)
def test_the_exit_code_tells_changes_when_asked(
    hereya: Driver, package: Path, parameters: tuple[str, ...], code: int
) -> None:
    succeeded(hereya.provision(package))

    planned = hereya.start("plan", package, "--detailed-exitcode", *parameters).finish()

    assert planned.exit_code == code
    assert (planned.result["success"], planned.result["status"]) == (True, "succeeded")
    assert planned.result["exit_code"] == code


def test_a_new_output_alone_is_a_change_to_the_exit_code(hereya: Driver, package: Path) -> None:
    succeeded(hereya.provision(package))
    (package / "more.tf").write_text('output "more" { value = 1 }\n')

    planned = hereya.start("plan", package, "--detailed-exitcode").finish()

    assert planned.exit_code == 2


def test_a_plan_that_fails_is_no_change(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": 'resource "terraform_data" "x" { input = nope.nope }\n'})

    planned = hereya.start("plan", package, "--detailed-exitcode").finish()

    assert failure(planned)[:2] == (1, "invalid-configuration")


def test_a_plan_of_a_destroy_destroys_nothing(hereya: Driver, package: Path) -> None:
    succeeded(hereya.provision(package))

    planned = hereya.start("plan", package, "--destroy").finish()

    assert succeeded(planned)["changes"]["destroy"] == 4
    assert read_state(package / "terraform.tfstate") == {"size": 1}


def test_plan_and_its_words_go_into_private_files(hereya: Driver, package: Path, tmp_path: Path) -> None:
    document, text = tmp_path / "plan.json", tmp_path / "plan.txt"

    succeeded(hereya.start("plan", package, "--plan-json", document, "--plan-text", text).finish())

    changes = json.loads(document.read_text())["resource_changes"]
    assert {change["address"] for change in changes} >= {"terraform_data.kept", "terraform_data.many[0]"}
    assert "# terraform_data.kept will be created" in text.read_text()
    assert "correct horse" not in text.read_text()
    assert [stat.S_IMODE(file.stat().st_mode) for file in (document, text)] == [0o600, 0o600]


def test_a_file_that_cannot_be_written_is_refused_before_the_engine_acts(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    planned = hereya.start("plan", package, "--plan-json", tmp_path / "no" / "plan.json").finish()

    assert failure(planned) == (
        3,
        "bad-input",
        f"`--plan-json {tmp_path}/no/plan.json` cannot be written",
    )
    assert steps(planned) == []


def test_a_plan_leaves_nothing_but_what_init_does(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": 'resource "terraform_data" "x" {}\n'})

    succeeded(hereya.start("plan", package).finish())

    assert set(names(package)) <= {"main.tf", ".terraform", ".terraform.lock.hcl"}
