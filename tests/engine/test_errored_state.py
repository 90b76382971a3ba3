import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver

FAILS = """
resource "terraform_data" "broken" {
  provisioner "local-exec" {
    command = "exit 9"
  }
}
"""

pytestmark = pytest.mark.real_engine


def test_an_errored_state_of_an_earlier_run_is_not_taken_for_this_ones(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": FAILS, "errored.tfstate": '{"version": 4}'})

    ended = hereya.provision(package)

    assert ended.result["failure"]["class"] == "provisioner-failed"
    assert ended.result["failure"]["state"] == {"saved": True, "errored_state": None, "lock": None}
