"""What is known to be a secret before the engine has said a word."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.engine.commands import EngineOptions
from hereya_tf.events import Operation
from hereya_tf.inputs.given import Given, Source
from hereya_tf.inputs.values import Values, VariableFile
from hereya_tf.known_secrets import learn_secrets
from hereya_tf.package import read_package
from hereya_tf.redaction import Redactor
from hereya_tf.run_request import RunRequest
from tests.conftest import MakePackage

pytestmark = pytest.mark.behaviour("F7")

PACKAGE = """
variable "db_password" {
  default = "declared-default"
}
variable "api_key_name" {
  default = "no-credential-at-all"
}
variable "connections" {
  default = { token = "of-a-collection" }
}
variable "auth_token" {}
variable "size" {
  default = "of-no-interest"
}
output "endpoint" { value = 1 }
"""


def learned(
    package: Path,
    *,
    defaults: tuple[Given, ...] = (),
    environment: Mapping[str, str] | None = None,
    **asked: Any,
) -> Redactor:
    redactor = Redactor()
    request = RunRequest(
        operation=Operation.PROVISION, package=package, approved=True, engine_options=EngineOptions(), **asked
    )
    planned = Values((), (), (), defaults)
    learn_secrets(redactor, request, read_package(package, tofu=False), planned, environment or {})
    return redactor


def given(name: str, value: object) -> Given:
    return Given(name, value, True, Source.FLAG, "-p")


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": PACKAGE, "terraform.tfvars": 'auth_token = "of-the-automatic-file"\n'})


def test_values_are_credentials_by_the_names_of_their_variables(package: Path, tmp_path: Path) -> None:
    (tmp_path / "more.tfvars").write_text('auth_token = "of-a-variable-file"\nsize = "of-no-interest-2"\n')
    inputs = (
        given("auth_token", "of-a-parameter"),
        given("size", "of-no-interest-3"),
        given("token_file", "of-no-interest-4"),
        VariableFile(tmp_path / "more.tfvars"),
    )
    redactor = learned(package, inputs=inputs, defaults=(given("db_password", "of-the-package"),))

    assert set(redactor.secrets()) == {
        *("of-a-parameter", "of-a-variable-file", "of-the-automatic-file", "of-the-package"),
        "declared-default",
    }


@pytest.mark.parametrize("value", ["short", "/run/secrets/token", 12345678, True, None, ["of-a-list"]])
def test_what_only_looks_like_a_credential_by_its_name_is_none(package: Path, value: object) -> None:
    redactor = learned(package, inputs=(given("auth_token", value),))

    assert set(redactor.secrets()) == {"declared-default", "of-the-automatic-file"}


def test_the_credentials_of_a_backend_are_known(package: Path, tmp_path: Path) -> None:
    settings = tmp_path / "backend.hcl"
    settings.write_text(
        'username = "app-of-somebody"\npassword = "of-a-file"\naccess_key = "of-a-file-too"\n'
    )
    (tmp_path / "broken.hcl").write_text("password = {")
    redactor = learned(
        package,
        backend_config=(
            "token=of-an-option",
            "bucket=my-bucket",
            str(settings),
            str(tmp_path / "broken.hcl"),
            "gone",
        ),
    )

    assert set(redactor.secrets()) - {"declared-default", "of-the-automatic-file"} == {
        *("of-an-option", "of-a-file", "of-a-file-too"),
    }


def test_outputs_that_are_named_are_remembered_for_when_their_values_are_known(package: Path) -> None:
    assert learned(package, redact=("endpoint", "size", "HOME")).secret_outputs == {"endpoint"}
