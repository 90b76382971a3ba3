"""What is looked at in a job's packages before anything runs."""

from pathlib import Path

import pytest

from hereya_tf.errors import BadPackage
from hereya_tf.executor.packages import find_inside, look_at
from hereya_tf.executor.state_places import Found
from tests.conftest import MakePackage


def test_a_directory_of_a_checkout_is_found(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "way").symlink_to(tmp_path)

    assert find_inside(tmp_path / "way", "a/b") == tmp_path.resolve() / "a/b"
    assert find_inside(tmp_path, "link") == tmp_path.resolve() / "a/b"
    assert find_inside(tmp_path, ".") == tmp_path.resolve()


@pytest.mark.parametrize("target", ["/", "/etc", "..", "../beside"])
def test_a_link_that_leads_out_of_a_checkout_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "beside").mkdir()
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    (checkout / "x").symlink_to(target)

    with pytest.raises(BadPackage, match=r"^`x` is a link that leads out of what was checked out$"):
        find_inside(checkout, "x")


@pytest.mark.parametrize("directory", ["missing", "loop", "a\0b"])
def test_what_is_not_there_is_refused(tmp_path: Path, directory: str) -> None:
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(BadPackage, match=r"cannot be found in what was checked out: "):
        find_inside(tmp_path, directory)


def test_what_the_files_of_a_package_say(make_package: MakePackage) -> None:
    package = make_package(
        {
            "main.tf": 'variable "a" {}\nterraform {\n  backend "s3" {}\n}\n',
            "more.tf": 'variable "b" {}',
            "more.tofu": 'variable "c" {}',
        }
    )

    assert look_at(package, is_checkout=False) == Found(
        str(package), frozenset({"a", "b", "c"}), "s3", has_state=False, is_checkout=False
    )


def test_a_package_for_opentofu_alone(make_package: MakePackage) -> None:
    package = make_package({"main.tofu": 'variable "a" {}'})

    assert look_at(package, is_checkout=True) == Found(str(package), frozenset("a"), None, False, True)


def test_of_a_package_that_does_not_parse_nothing_is_known(make_package: MakePackage) -> None:
    package = make_package({"main.tf": 'variable "a" {}', "broken.tf": "variable {{{"})

    assert look_at(package, is_checkout=True).variables is None


@pytest.mark.parametrize("name", ["terraform.tfstate", "terraform.tfstate.d/prod/terraform.tfstate"])
def test_a_state_next_to_the_files_is_seen(make_package: MakePackage, name: str) -> None:
    assert look_at(make_package({"main.tf": "", name: "{}"}), is_checkout=True).has_state


def test_a_directory_without_a_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadPackage, match="holds no configuration"):
        look_at(tmp_path, is_checkout=True)
