"""Reading outputs of a generated backend's state with neither its package nor an init."""

import json
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.scratch_backend import SCRATCH_ENVIRONMENT, prepare_scratch
from hereya_tf.workspace import generate_backend
from tests.conftest import MakePackage
from tests.engine.driving import Driver, names, succeeded

pytestmark = [pytest.mark.real_engine, pytest.mark.behaviour("T10")]

PACKAGE = """
variable "v" { default = "" }
resource "terraform_data" "a" { input = var.v }
output "v" { value = terraform_data.a.output }
output "s" {
  value     = { secret = [1, "x"] }
  sensitive = true
}
"""
# It is not at hand, and must not be asked for.
PROVIDERS_RESOURCE = {
    "mode": "managed",
    "type": "null_resource",
    "name": "a",
    "provider": 'provider["registry.terraform.io/hashicorp/null"]',
    "instances": [{"schema_version": 0, "attributes": {"id": "1", "triggers": None}}],
}


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    directory = tmp_path / "scratch"
    directory.mkdir(mode=0o700)
    return directory


def engine_version(hereya: Driver) -> str:
    return str(json.loads(hereya.plain(Path("/"), "version", "-json"))["terraform_version"])


def read(hereya: Driver, scratch: Path, state: Path) -> dict[str, Any]:
    backend = generate_backend(state=state, bucket=None, region=None, lock_table=None, identifier="app")
    assert backend is not None
    prepare_scratch(scratch, backend, {}, engine_version=engine_version(hereya))
    outputs: dict[str, Any] = json.loads(hereya.plain(scratch, "output", "-json", env=SCRATCH_ENVIRONMENT))
    return {name: entry["value"] for name, entry in outputs.items()}


def test_outputs_are_read_without_the_package(
    hereya: Driver, make_package: MakePackage, scratch: Path, tmp_path: Path
) -> None:
    state = tmp_path / "the states ${é}" / "app.tfstate"
    package = make_package({"main.tf": PACKAGE})
    succeeded(hereya.provision(package, "--state", state, "--id", "app", "-p", "v=1"))
    content, before = state.read_bytes(), names(package)

    assert read(hereya, scratch, state) == {"v": "1", "s": {"secret": [1, "x"]}}

    assert (state.read_bytes(), names(state.parent), names(package)) == (content, ["app.tfstate"], before)
    # Whoever reads again is told the same.
    assert read(hereya, scratch, state)["v"] == "1"


def test_a_state_that_is_not_there_has_no_outputs_and_is_not_made(
    hereya: Driver, scratch: Path, tmp_path: Path
) -> None:
    assert read(hereya, scratch, tmp_path / "states/app.tfstate") == {}
    assert not (tmp_path / "states").exists()


def test_no_provider_is_asked_for(hereya: Driver, scratch: Path, tmp_path: Path) -> None:
    state = {
        "version": 4,
        "terraform_version": "1.8.0",
        "serial": 1,
        "lineage": "8a7b6c5d-0000-0000-0000-000000000000",
        "outputs": {"n": {"value": 12345678901234567890, "type": "number"}},
        "resources": [PROVIDERS_RESOURCE],
        "check_results": None,
    }
    (tmp_path / "app.tfstate").write_text(json.dumps(state))

    assert read(hereya, scratch, tmp_path / "app.tfstate") == {"n": 12345678901234567890}
