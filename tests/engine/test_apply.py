"""A plan bundle is applied exactly, in a fresh clone too; and nowhere where it does not belong."""

import shutil
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, read_state, steps, succeeded
from tests.engine.scenes import everything_in, state_directory
from tests.fake_engine import FakeEngine

pytestmark = pytest.mark.real_engine

PACKAGE = """
variable "size" {
  type    = number
  default = 1
}
variable "password" {
  type      = string
  default   = "correct horse"
  sensitive = true
}
resource "terraform_data" "sized" { input = var.size }
output "size" { value = terraform_data.sized.output }
"""


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": PACKAGE})


def make_bundle(hereya: Driver, package: Path, *arguments: str | Path, **how: Any) -> Path:
    bundle = package.parent / "network.plan"
    succeeded(hereya.start("plan", package, "--out", bundle, *arguments, **how).finish())
    return bundle


def clone(package: Path, to: Path) -> Path:
    """What a checkout elsewhere has: neither data directory nor state nor anything else that is not committed."""
    shutil.copytree(package, to, ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*"))
    return to


def apply(hereya: Driver, package: Path, bundle: Path, *arguments: str | Path, **how: Any) -> Any:
    return hereya.cli("apply", package, bundle, "--yes", "--json", "--engine", hereya.wish, *arguments, **how)


def test_a_bundle_is_one_private_file_without_a_secret_in_its_manifest(hereya: Driver, package: Path) -> None:
    import zipfile

    bundle = make_bundle(hereya, package, "-p", "password=swordfish-1234")

    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600
    with zipfile.ZipFile(bundle) as archive:
        assert "manifest.json" in archive.namelist()
        assert "swordfish" not in archive.read("manifest.json").decode()


def test_the_plan_is_applied_as_it_was_made(hereya: Driver, package: Path) -> None:
    bundle = make_bundle(hereya, package, "-p", "size:=3")

    applied = apply(hereya, package, bundle)

    ended = succeeded(applied)
    assert steps(applied)[-1] == "apply"
    assert (ended["operation"], ended["changes"]["add"], ended["env"]) == ("apply", 1, {"size": "3"})
    assert read_state(package / "terraform.tfstate") == {"size": 3}


def test_it_is_applied_in_a_fresh_clone_under_another_path_and_home(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    bundle = make_bundle(hereya, package, "-p", "size:=3")
    elsewhere = clone(package, tmp_path / "elsewhere" / "checkout")
    home = tmp_path / "other-home"
    home.mkdir()

    applied = apply(
        hereya,
        elsewhere,
        bundle,
        env={
            "HOME": str(home),
            "HEREYA_TF_STATE_DIR": str(home / "state"),
            "HEREYA_TF_CACHE_DIR": str(home / "cache"),
        },
    )

    assert succeeded(applied)["env"] == {"size": "3"}
    assert steps(applied) == ["init", "apply"]
    started = next(event for event in applied.events if event["type"] == "step_started")
    assert "-lockfile=readonly" in started["argv"]


def test_a_local_module_goes_with_the_package(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    root = tmp_path / "repository"
    (root / "modules" / "part").mkdir(parents=True)
    (root / "modules" / "part" / "main.tf").write_text(PACKAGE)
    (root / "app").mkdir()
    (root / "app" / "main.tf").write_text('module "part" { source = "../modules/part" }\n')
    bundle = make_bundle(hereya, root / "app")
    same, other = clone(root, tmp_path / "same"), clone(root, tmp_path / "other")
    (other / "modules" / "part" / "main.tf").write_text(PACKAGE + "# changed\n")

    refused = apply(hereya, other / "app", bundle)

    assert failure(refused)[:2] == (3, "plan-mismatch")
    assert "`../modules/part/main.tf` is not what it was" in refused.result["reason"]
    assert succeeded(apply(hereya, same / "app", bundle))["changes"]["add"] == 1


def test_a_plan_to_destroy_destroys(hereya: Driver, package: Path) -> None:
    succeeded(hereya.provision(package))
    bundle = make_bundle(hereya, package, "--destroy")

    ended = succeeded(apply(hereya, package, bundle))

    assert (ended["changes"]["destroy"], ended["outputs"]) == (1, {})


def test_a_plan_that_is_older_than_the_state_is_stale(hereya: Driver, package: Path) -> None:
    bundle = make_bundle(hereya, package, "-p", "size:=3")
    succeeded(hereya.provision(package))

    assert failure(apply(hereya, package, bundle))[:2] == (3, "plan-stale")
    assert read_state(package / "terraform.tfstate") == {"size": 1}


def test_another_package_is_refused(hereya: Driver, package: Path, tmp_path: Path) -> None:
    bundle = make_bundle(hereya, package)
    changed = clone(package, tmp_path / "changed")
    (changed / "main.tf").write_text(PACKAGE.replace("default = 1", "default = 2"))

    refused = apply(hereya, changed, bundle)

    assert failure(refused)[:2] == (3, "plan-mismatch")
    assert steps(refused) == []
    assert not (changed / ".terraform").exists()


def test_another_workspace_is_refused(hereya: Driver, package: Path) -> None:
    # Terraform 1.11 would apply it to the other workspace when both states are empty.
    bundle = make_bundle(hereya, package)

    refused = apply(hereya, package, bundle, "-w", "prod", "--create-workspace")

    assert failure(refused) == (
        3,
        "plan-mismatch",
        "the plan is for the workspace `default`, and the one here is `prod`",
    )
    assert not (package / "terraform.tfstate.d").exists()


def test_a_plan_for_a_workspace_is_applied_to_it(hereya: Driver, package: Path) -> None:
    bundle = make_bundle(hereya, package, "-w", "prod", "--create-workspace")

    assert failure(apply(hereya, package, bundle))[:2] == (3, "plan-mismatch")
    succeeded(apply(hereya, package, bundle, "-w", "prod", "--create-workspace"))
    assert read_state(package / "terraform.tfstate.d" / "prod" / "terraform.tfstate") == {"size": 1}


def test_another_generated_backend_is_refused(hereya: Driver, package: Path, tmp_path: Path) -> None:
    bundle = make_bundle(hereya, package, "--state", tmp_path / "a.tfstate")

    refused = apply(hereya, package, bundle, "--state", tmp_path / "b.tfstate")

    assert failure(refused)[:2] == (3, "plan-mismatch")
    assert failure(apply(hereya, package, bundle))[:2] == (3, "plan-mismatch")
    assert not (tmp_path / "b.tfstate").exists()
    succeeded(apply(hereya, package, bundle, "--state", tmp_path / "a.tfstate"))
    assert read_state(tmp_path / "a.tfstate") == {"size": 1}


def test_another_backend_by_its_settings_is_refused(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + 'terraform {\n  backend "local" {}\n}\n'})
    bundle = make_bundle(hereya, package, "--backend-config", f"path={tmp_path / 'a.tfstate'}")
    elsewhere = clone(package, tmp_path / "elsewhere")

    refused = apply(hereya, elsewhere, bundle, "--backend-config", f"path={tmp_path / 'b.tfstate'}")

    assert failure(refused)[:2] == (3, "plan-mismatch")
    assert "`path`" in refused.result["reason"]
    assert not (tmp_path / "b.tfstate").exists()
    succeeded(apply(hereya, package, bundle))


def test_values_may_be_given_again_and_must_be_the_same(hereya: Driver, package: Path) -> None:
    bundle = make_bundle(hereya, package, "-p", "size:=3", "-p", "password=swordfish-1234")

    for arguments in (("-p", "size:=4"), ("-p", "password=another-one")):
        refused = apply(hereya, package, bundle, *arguments)
        assert failure(refused)[:2] == (3, "plan-mismatch")
        assert "another-one" not in refused.stdout + refused.stderr
    refused = apply(hereya, package, bundle, env={"TF_VAR_size": "4"})
    assert failure(refused)[:2] == (3, "plan-mismatch")
    assert succeeded(apply(hereya, package, bundle, "-p", "size=3"))["env"] == {"size": "3"}


def test_an_ephemeral_value_is_given_anew(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(
        {
            "main.tf": 'variable "token" {\n  type = string\n  ephemeral = true\n}\n'
            + PACKAGE
            + "locals {\n  used = var.token\n}\n"
        }
    )
    bundle = make_bundle(hereya, package, "-p", "token=first-token", "-p", "size:=3")

    refused = apply(hereya, package, bundle)
    assert refused.exit_code != 0
    assert succeeded(apply(hereya, package, bundle, "-p", "token=second-token"))["env"] == {"size": "3"}


@pytest.mark.parametrize(
    "content", [pytest.param(b"", id="empty"), pytest.param(b"PK\x03\x04 not a bundle", id="broken")]
)
def test_what_is_no_bundle_is_refused(hereya: Driver, package: Path, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "x.plan"
    file.write_bytes(content)

    refused = apply(hereya, package, file)

    assert failure(refused)[:2] == (3, "bad-input")
    assert steps(refused) == []


def test_an_engine_s_own_plan_file_is_refused(hereya: Driver, package: Path, tmp_path: Path) -> None:
    hereya.plain(package, "init")
    hereya.plain(package, "plan", f"-out={tmp_path / 'own.plan'}")

    refused = apply(hereya, package, tmp_path / "own.plan")

    assert failure(refused)[:2] == (3, "bad-input")
    assert "engine's own plan" in refused.result["reason"]


def test_an_engine_of_another_version_is_refused(
    hereya: Driver, package: Path, fake_engine: FakeEngine
) -> None:
    bundle = make_bundle(hereya, package)
    fake_engine.plays({"version": [{"stdout": "Terraform v1.7.0\n"}]})

    refused = hereya.cli("apply", package, bundle, "--engine", str(fake_engine.path), "--json")

    assert failure(refused)[:2] == (3, "plan-mismatch")
    assert "the plan was made with Terraform" in refused.result["reason"]
    assert fake_engine.commands() == []


def test_it_asks_nothing_and_prints_the_outputs(hereya: Driver, package: Path) -> None:
    bundle = make_bundle(hereya, package)

    applied = hereya.cli("apply", package, bundle, "--engine", hereya.wish)

    assert (applied.exit_code, applied.stdout) == (0, "size=1\n")


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize("how", ["-p", "--var-file"])
def test_a_secret_that_only_the_plan_holds_is_masked(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, how: str
) -> None:
    package = make_package(
        {
            "main.tf": """
variable "password" {
  type      = string
  sensitive = true
}
resource "terraform_data" "told" {
  provisioner "local-exec" { command = "echo refused ${nonsensitive(var.password)}; exit 1" }
}
"""
        }
    )
    file = tmp_path / "secret.tfvars"
    file.write_text('password = "swordfish-1234"\n')
    bundle = make_bundle(hereya, package, *(how, file if how == "--var-file" else "password=swordfish-1234"))

    applied = apply(hereya, package, bundle)

    assert failure(applied)[:2] == (1, "provisioner-failed")
    assert "refused [redacted]" in applied.stdout
    assert "swordfish" not in applied.stdout + applied.stderr
    assert "swordfish" not in everything_in(state_directory())


@pytest.mark.parametrize("guard", [(), ("--max-destroy", "0")], ids=["at once", "as planned"])
def test_what_is_forgotten_is_counted(
    hereya: Driver, make_package: MakePackage, guard: tuple[str, ...]
) -> None:
    package = make_package({"main.tf": 'resource "terraform_data" "a" {}\n'})
    succeeded(hereya.provision(package))
    removed = "removed {\n  from = terraform_data.a\n  lifecycle {\n    destroy = false\n  }\n}\n"
    (package / "main.tf").write_text(removed)

    changes = succeeded(hereya.provision(package, *guard))["changes"]

    assert {name: count for name, count in changes.items() if count} == {"forget": 1}
