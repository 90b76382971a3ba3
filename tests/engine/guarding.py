"""What tests of guards share: a package with something to lose, a policy, and how a refusal looks."""

import shlex
from pathlib import Path

from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, steps, succeeded

PACKAGE = """
variable "size" { default = 2 }
variable "made" { default = 1 }
resource "terraform_data" "many" {
  count            = var.size
  triggers_replace = var.made
}
resource "terraform_data" "kept" {}
output "size" { value = var.size }
"""
ONE_LESS = ("-p", "size:=1")
"""Destroys `terraform_data.many[1]`."""

MANY = {"terraform_data.kept": "complete", "terraform_data.many": "complete"}


def provisioned(hereya: Driver, make_package: MakePackage, text: str = PACKAGE) -> Path:
    """A package that has been provisioned."""
    package = make_package({"main.tf": text})
    succeeded(hereya.provision(package))
    return package


def state(package: Path) -> bytes:
    """The state as it is on the disk."""
    return (package / "terraform.tfstate").read_bytes()


def refused(result: Result, failure_class: str) -> str:
    """The sentence of a refusal by a guard of this class."""
    code, found, sentence = failure(result)
    assert (code, found, result.result["status"]) == (8, failure_class, "refused"), result.result
    assert not {"apply", "destroy"}.intersection(steps(result))
    assert result.result["failure"]["state"]["saved"] is True
    return sentence


def policy(directory: Path, text: str) -> str:
    """A policy that is a script for a shell, as it is given to `--policy`."""
    script = directory / "a policy.sh"
    script.write_text(f"#!/bin/sh\n{text}\n")
    script.chmod(0o755)
    return shlex.quote(str(script))
