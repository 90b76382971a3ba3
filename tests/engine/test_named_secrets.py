"""`--redact NAME` of an output, on a real engine."""

from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver, succeeded, warnings

pytestmark = pytest.mark.real_engine

PACKAGE = """
output "endpoint" {
  value = "host-7.internal:8443"
}
output "alias" {
  value = "see host-7.internal:8443"
}
output "port" {
  value = 8443
}
"""


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": PACKAGE})


@pytest.mark.behaviour("F7")
def test_an_output_that_is_named_is_masked_wherever_its_value_stands(hereya: Driver, package: Path) -> None:
    ended = hereya.provision(package, "--redact", "endpoint")

    assert ended.result["env"] == {"port": "8443"}
    assert {name: "value" in output for name, output in ended.result["outputs"].items()} == {
        "endpoint": False,
        "alias": False,
        "port": True,
    }
    assert "host-7" not in ended.stdout + ended.stderr


def test_a_named_output_is_left_out_where_outputs_are_printed(hereya: Driver, package: Path) -> None:
    succeeded(hereya.provision(package))

    shown = hereya.cli("output", package, "--engine", hereya.wish, "--redact", "endpoint")

    assert shown.stdout == "port=8443\n"
    assert shown.stderr.splitlines()[-1] == (
        "left out because they are sensitive: `alias`, `endpoint` (--show-sensitive shows them)"
    )


def test_a_value_in_place_of_a_name_is_warned_of(hereya: Driver, package: Path) -> None:
    ended = hereya.provision(package, "--redact", "host-7.internal")

    assert ended.result["success"]
    assert [warning for warning in warnings(ended) if "`--redact`" in warning] == [
        "a name given to `--redact` is no variable, output or environment variable, and masks nothing;"
        " values stand in a file: `--redact @FILE`"
    ]
