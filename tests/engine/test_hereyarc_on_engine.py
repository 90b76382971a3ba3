"""`hereyarc.yaml` on a real engine: its defaults arrive and lose; on a fake one: which engine it asks for."""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, steps, succeeded, warnings
from tests.fake_engine import FakeEngine

pytestmark = pytest.mark.behaviour("T14")

TYPES = """
variable "text" {}
variable "names" { type = list(string) }
variable "limits" { type = object({ cpu = number, on = bool }) }
output "text" { value = var.text }
output "names" { value = var.names }
output "limits" { value = var.limits }
"""
RULES = """
iac: terraform
parameters:
  text: {default: "${x} [1]"}
  names: {default: '["a", "${b}"]'}
  limits: {default: {cpu: 9007199254740993, on: true}}
"""
VARIABLE = 'variable "who" { default = "declaration" }\noutput "who" { value = var.who }\n'


@pytest.mark.real_engine
def test_a_default_arrives_with_its_type(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": TYPES, "hereyarc.yml": RULES})

    result = hereya.provision(package)

    assert succeeded(result)["env"] == {
        "text": "${x} [1]",
        "names": '["a","${b}"]',
        "limits": '{"cpu":9007199254740993,"on":true}',
    }
    assert warnings(result) == []


@pytest.mark.real_engine
@pytest.mark.parametrize(
    "source",
    [
        "hereyarc",
        "TF_VAR_",
        "terraform.tfvars",
        "x.auto.tfvars",
        "--env",
        "--env TF_VAR_",
        "-p",
        "--var-file",
    ],
)
def test_a_default_wins_over_the_declaration_only(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, source: str
) -> None:
    package = make_package(
        {"main.tf": VARIABLE, "hereyarc.yaml": "parameters: {who: {mandatory: true, default: hereyarc}}"}
    )
    arguments: list[str | Path] = []
    how: dict[str, Any] = {}
    match source:
        case "TF_VAR_":
            how["env"] = {"TF_VAR_who": source}
        case "terraform.tfvars" | "x.auto.tfvars":
            (package / source).write_text(f'who = "{source}"\n')
        case "--env" | "-p":
            arguments += [source, f"who={source}"]
        case "--env TF_VAR_":
            arguments += ["--env", f"TF_VAR_who={source}"]
        case "--var-file":
            (tmp_path / "x.tfvars").write_text(f'who = "{source}"\n')
            arguments += [source, tmp_path / "x.tfvars"]

    assert succeeded(hereya.provision(package, *arguments, **how))["env"] == {"who": source}


@pytest.mark.behaviour("F7")
@pytest.mark.real_engine
@pytest.mark.parametrize(("sensitive", "flags"), [("true", ()), ("false", ("--redact", "who"))])
def test_a_secret_default_is_shown_nowhere(
    hereya: Driver, make_package: MakePackage, sensitive: str, flags: tuple[str, ...]
) -> None:
    command = "echo it is ${nonsensitive(var.who)}" if sensitive == "true" else "echo it is ${var.who}"
    package = make_package(
        {
            "main.tf": f"""
variable "who" {{ sensitive = {sensitive} }}
resource "terraform_data" "look" {{
  provisioner "local-exec" {{ command = "{command}" }}
}}
""",
            "hereyarc.yaml": "parameters: {who: {default: hidden-in-the-file}}",
        }
    )

    result = hereya.provision(package, "--engine-messages", *flags)

    assert succeeded(result)["reason"] is None
    assert "it is [redacted]" in result.stdout
    assert "hidden-in-the-file" not in result.stdout + result.stderr


class Machine:
    """A machine on which the fake engine is installed under some names."""

    def __init__(self, cli: CommandLine, fake_engine: FakeEngine, package: Path, directory: Path) -> None:
        self.cli = cli
        self.fake_engine = fake_engine
        self.package = package
        self.programs = directory / "programs"
        self.programs.mkdir()
        self.answers("Terraform v1.11.4")

    def install(self, name: str) -> None:
        shutil.copy(self.fake_engine.path, self.programs / name)

    def answers(self, version: str) -> None:
        """What every engine says of itself; each succeeds at everything."""
        changes = {"add": 0, "change": 0, "remove": 0, "operation": "apply"}
        done = [{"message": {"type": "change_summary", "changes": changes}}]
        self.fake_engine.plays({"version": [{"stdout": f"{version}\n"}], "apply": done})

    def asks(self, iac: str) -> None:
        (self.package / "hereyarc.yaml").write_text(f"iac: {iac}\n")

    def provision(self, *arguments: str) -> Result:
        path = f"{self.programs}{os.pathsep}/usr/bin{os.pathsep}/bin"
        return self.cli("provision", self.package, "--yes", "--json", *arguments, env={"PATH": path})


@pytest.fixture
def machine(cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path) -> Machine:
    return Machine(cli, fake_engine, make_package({"main.tf": ""}), tmp_path)


def engine(result: Result) -> tuple[str, str]:
    succeeded(result)
    chosen = next(event for event in result.events if event["type"] == "engine_ready")
    return chosen["engine"], Path(chosen["path"]).name


@pytest.mark.parametrize("iac", ["opentf", "opentofu", "tofu"])
def test_opentofu_runs_where_it_is_asked_for(machine: Machine, iac: str) -> None:
    machine.answers("OpenTofu v1.9.0")
    machine.install("terraform")
    machine.install("tofu")
    machine.asks(iac)

    assert engine(machine.provision()) == ("opentofu", "tofu")
    assert engine(machine.provision("--engine", "auto")) == ("opentofu", "tofu")


def test_either_engine_will_do_for_terraform(machine: Machine) -> None:
    machine.answers("OpenTofu v1.9.0")
    machine.install("tofu")
    machine.asks("terraform")

    assert engine(machine.provision()) == ("opentofu", "tofu")


def test_opentofu_that_is_not_there_is_not_replaced_unless_told(machine: Machine) -> None:
    machine.install("terraform")
    machine.asks("opentofu")

    refused = machine.provision()

    exit_code, failure_class, sentence = failure(refused)
    assert (exit_code, failure_class) == (5, "engine-unavailable")
    assert sentence.startswith("`hereyarc.yaml` asks for OpenTofu; there is none here, and none can be had: ")
    hints = refused.result["failure"]["hint"].split("\n")
    assert hints[-1] == "to go over to Terraform on purpose: `--engine terraform`"
    assert {record["command"] for record in machine.fake_engine.records() if record["event"] == "start"} <= {
        "version"
    }
    assert engine(machine.provision("--engine", "terraform")) == ("terraform", "terraform")


def test_a_package_for_opentofu_alone_is_not_called_empty(machine: Machine) -> None:
    (machine.package / "main.tf").rename(machine.package / "main.tofu")
    machine.install("terraform")
    machine.asks("opentofu")

    assert failure(machine.provision())[:2] == (5, "engine-unavailable")


def test_terraform_under_the_name_of_opentofu_is_not_taken_for_it(machine: Machine) -> None:
    machine.install("tofu")
    machine.asks("opentofu")

    refused = machine.provision()

    assert failure(refused)[:2] == (5, "engine-unavailable")
    hint = f"passed over: `{machine.programs / 'tofu'}` is Terraform"
    assert hint in refused.result["failure"]["hint"].split("\n")


def test_what_is_refused_reaches_no_engine(machine: Machine) -> None:
    machine.install("terraform")
    machine.asks("cdk")

    refused = machine.provision()

    assert failure(refused) == (
        3,
        "bad-package",
        "`iac` in `hereyarc.yaml` is `cdk`, which is neither Terraform nor OpenTofu",
    )

    (machine.package / "main.tf").write_text('variable "region" {}\n')
    (machine.package / "hereyarc.yaml").write_text("parameters: {region: {mandatory: true}}\n")

    refused = machine.provision()

    assert failure(refused) == (
        3,
        "bad-input",
        "`region` has no value, and `hereyarc.yaml` has the parameter as mandatory",
    )
    assert machine.fake_engine.records() == []
    assert steps(refused) == []
    assert steps(machine.provision("-p", "region=")) != []
