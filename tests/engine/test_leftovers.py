"""What a provisioner leaves running does not outlive its engine, and is told of."""

import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver, succeeded, warnings

pytestmark = pytest.mark.real_engine


@pytest.mark.parametrize("command", ["sleep 300 >/dev/null 2>&1 &", "setsid sleep 3 >/dev/null 2>&1 &"])
def test_what_a_provisioner_leaves_running_is_ended_and_told(
    hereya: Driver, make_package: MakePackage, command: str
) -> None:
    provisioner = f'provisioner "local-exec" {{ command = "{command}" }}'
    package = make_package({"main.tf": f'resource "terraform_data" "x" {{\n  {provisioner}\n}}\n'})

    provisioned = hereya.provision(package)

    succeeded(provisioned)
    ended = ["processes that a provisioner or a provider had left running were ended"]
    assert warnings(provisioned) == ([] if command.startswith("setsid") else ended)
