import pytest

from hereya_tf.states.aftermath import stamp_of
from tests.conftest import MakePackage
from tests.engine import scenes
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
    before = stamp_of(package / "errored.tfstate")

    ended = hereya.cli("tf", package, "--engine", hereya.wish, "--", "apply", "-auto-approve")

    # It is told of before the command, and not what the command is said to have failed by.
    told = f"a later one could not be saved, and is in `{package}/errored.tfstate`; `hereya-tf recover` stores it"
    assert (ended.exit_code, ended.stderr.count(told), ended.stderr.count("recover")) == (1, 1, 1)
    assert before is not None
    assert stamp_of(package / "errored.tfstate") == before
    # Neither has the run kept a copy of it.
    assert list((scenes.state_directory() / "runs").glob("*/errored*")) == []
