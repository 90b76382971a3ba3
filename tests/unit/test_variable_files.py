from pathlib import Path

import pytest

from hereya_tf.inputs.variable_files import sensitive_values
from hereya_tf.package import read_package
from tests.conftest import MakePackage

PACKAGE = """
variable "password" {
  type      = string
  sensitive = true
  default   = "from-default"
}
variable "keys" {
  type      = any
  sensitive = true
  default   = null
}
variable "region" {
  type    = string
  default = "eu-west-1"
}
"""


def found(directory: Path, *files: Path) -> set[str]:
    values = sensitive_values(read_package(directory, tofu=False), files)
    return {str(value).strip() for value in values if value is not None}


@pytest.mark.behaviour("F7")
def test_sensitive_values_of_every_file_that_the_engine_reads_are_found(
    make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(
        {
            "main.tf": PACKAGE,
            "terraform.tfvars": 'password = "pass\\"word"\nregion = "not-secret"\n',
            "b.auto.tfvars": 'keys = { one = ["first-key", 12345678], two = <<EOT\nheredoc-key\nEOT\n}\n',
            "c.auto.tfvars.json": '{"password": "json-password", "region": "not-secret"}',
            "other.tfvars": 'password = "not-loaded"',
        }
    )
    given = tmp_path / "given.tfvars"
    given.write_text('password = "given-password"')

    values = found(package, given)

    assert {
        "from-default",
        'pass"word',
        "first-key",
        "12345678",
        "heredoc-key",
        "json-password",
        "given-password",
    } <= values
    assert not {"not-secret", "eu-west-1", "not-loaded"} & values


@pytest.mark.behaviour("F7")
def test_defaults_in_json_configuration_are_found(make_package: MakePackage) -> None:
    package = make_package(
        {"main.tf.json": '{"variable": {"token": {"sensitive": true, "default": {"a": "json-default"}}}}'}
    )

    assert found(package) == {"{'a': 'json-default'}"}


def test_files_that_make_no_sense_have_no_values(make_package: MakePackage, tmp_path: Path) -> None:
    package = make_package({"main.tf": PACKAGE, "a.auto.tfvars.json": "[1", "b.auto.tfvars.json": "[]"})

    assert found(package, tmp_path / "missing.tfvars") == {"from-default"}


def test_a_package_without_sensitive_variables_has_none(make_package: MakePackage) -> None:
    package = make_package({"main.tf": 'variable "a" {}', "terraform.tfvars": 'a = "plain-text"'})

    assert found(package) == set()
