"""Values reach a real engine from flags, files, a request and the environment, in the contract's order."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, steps, succeeded, warnings

pytestmark = pytest.mark.real_engine

VARIABLE = """
variable "who" {
  type    = string
  default = "declaration"
}
output "who" { value = var.who }
"""

TYPES = """
variable "names" { type = list(string) }
variable "limits" { type = object({ cpu = number, labels = map(string) }) }
variable "plain" { default = "" }
output "names" { value = var.names }
output "limits" { value = var.limits }
output "plain" { value = var.plain }
resource "terraform_data" "look" {
  triggers_replace = timestamp()
  provisioner "local-exec" {
    command = "printf '%s\\n' \\"$names\\" \\"$limits\\" \\"$plain\\" \\"$UNDECLARED\\" > seen"
  }
}
"""
NAMES = '["a", "${b}", "c \\"d\\""]'
LIMITS = '{"cpu": 9007199254740993, "labels": {"é": "%{x}"}}'


def who(result: Result) -> Any:
    return succeeded(result)["env"]["who"]


# From the lowest to the highest, each on top of all that come before it.
LADDER = (
    "TF_VAR_ of the environment",
    "terraform.tfvars",
    "*.auto.tfvars",
    "env of the request",
    "--env-file",
    "--env",
    "parameters of the request",
    "HEREYA_TF_PARAM",
    "first -p",
    "--var-file",
    "--param-file",
    "last -p",
)


@pytest.mark.behaviour("T8")
@pytest.mark.parametrize("height", range(len(LADDER) + 1), ids=("the declaration", *LADDER))
def test_the_highest_source_wins(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, height: int
) -> None:
    package = make_package({"main.tf": VARIABLE})
    given = LADDER[:height]
    env: dict[str, str | None] = {}
    arguments: list[str | Path] = []
    request: dict[str, Any] = {}
    for rung in given:
        entry, quoted = f"who={rung}", f'who = "{rung}"\n'
        match rung:
            case "TF_VAR_ of the environment":
                env["TF_VAR_who"] = rung
            case "terraform.tfvars":
                (package / "terraform.tfvars").write_text(quoted)
            case "*.auto.tfvars":
                (package / "x.auto.tfvars").write_text(quoted)
            case "env of the request":
                request["env"] = {"who": rung}
            case "--env-file":
                (tmp_path / "x.env").write_text(f"who='{rung}'\n")
                arguments += ["--env-file", tmp_path / "x.env"]
            case "--env":
                arguments += ["--env", entry]
            case "parameters of the request":
                request["parameters"] = {"who": rung}
            case "HEREYA_TF_PARAM":
                env["HEREYA_TF_PARAM"] = f"who=overridden\n{entry}"
            case "first -p" | "last -p":
                arguments += ["-p", entry]
            case "--var-file":
                (tmp_path / "x.tfvars").write_text(quoted)
                arguments += ["--var-file", tmp_path / "x.tfvars"]
            case "--param-file":
                (tmp_path / "x.yaml").write_text(f"who: {rung}\n")
                arguments += ["--param-file", tmp_path / "x.yaml"]
    (tmp_path / "request.json").write_text(json.dumps(request))

    result = hereya.provision(package, "--request", tmp_path / "request.json", *arguments, env=env)

    assert who(result) == (given[-1] if given else "declaration")
    assert warnings(result) == []


@pytest.mark.behaviour("T8")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param(("-p", "who=flag", "--var-file", "x.tfvars"), "var-file", id="var-file last"),
        pytest.param(("--var-file", "x.tfvars", "-p", "who=flag"), "flag", id="flag last"),
        pytest.param(("--param-file", "x.json", "--var-file", "x.tfvars"), "var-file", id="two files"),
        pytest.param(("--var-file", "x.tfvars", "--param-file", "x.json"), "json", id="two files, turned"),
        pytest.param(("-p", "who=a", "-p", "who=b"), "b", id="one flag twice"),
        pytest.param(("-p", "who=", "-e", "who=env"), "", id="an empty text is a value"),
    ],
)
def test_among_parameters_and_files_the_last_one_given_wins(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    package = make_package({"main.tf": VARIABLE})
    (tmp_path / "x.tfvars").write_text('who = "var-file"\n')
    (tmp_path / "x.json").write_text('{"who": "json"}')

    # The caller's directory is where relative paths begin, not the package's.
    assert who(hereya.provision(package, *arguments, cwd=tmp_path)) == expected


@pytest.mark.behaviour("T8")
def test_what_options_in_the_environment_give_comes_before_what_flags_give(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": VARIABLE})
    (tmp_path / "x.tfvars").write_text('who = "flag"\n')

    result = hereya.provision(
        package, "--var-file", tmp_path / "x.tfvars", env={"HEREYA_TF_PARAM": "who=environment"}
    )

    assert who(result) == "flag"


def test_options_come_from_the_environment_several_on_lines_of_their_own(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": VARIABLE + 'variable "more" {}\noutput "more" { value = var.more }\n'})
    (tmp_path / "a.tfvars").write_text('who = "a"\nmore = "a"\n')
    (tmp_path / "b.tfvars").write_text('who = "b"\n')
    env = {
        "HEREYA_TF_YES": "1",
        "HEREYA_TF_JSON": "1",
        "HEREYA_TF_PACKAGE": str(package),
        "HEREYA_TF_ENGINE": hereya.wish,
        "HEREYA_TF_VAR_FILE": f"{tmp_path}/a.tfvars\n{tmp_path}/b.tfvars",
    }

    assert succeeded(hereya.cli("provision", env=env))["env"] == {"more": "a", "who": "b"}


def test_a_whole_request_arrives_on_stdin(hereya: Driver, make_package: MakePackage, tmp_path: Path) -> None:
    package = make_package({"main.tf": TYPES})
    request = {
        "id": "team/service",
        "pkgPath": str(package),
        "env": {"UNDECLARED": "to the engine", "plain": 9007199254740993},
        "parameters": {"names": json.loads(NAMES), "limits": LIMITS},
        "infraConfig": {"localStatePath": str(tmp_path / "states/x.tfstate")},
    }

    result = hereya.cli(
        "provision", "--request", "-", "--yes", "--json", "--engine", hereya.wish, input=json.dumps(request)
    )

    assert succeeded(result)["env"] == {
        "limits": '{"cpu":9007199254740993,"labels":{"é":"%{x}"}}',
        "names": '["a","${b}","c \\"d\\""]',
        "plain": "9007199254740993",
    }
    assert (result.result["workspace"], result.result["package"]) == ("team/service", str(package))
    assert (tmp_path / "states/x.tfstate").exists()
    assert (package / "seen").read_text().splitlines()[2:] == ["9007199254740993", "to the engine"]


@pytest.mark.behaviour("T8")
def test_env_entries_are_in_the_engines_environment_and_arrive_with_the_declared_type(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": TYPES})

    result = hereya.provision(
        package, "-e", f"names={NAMES}", "-e", f"limits={LIMITS}", "-e", "UNDECLARED=a=b c", "-e", "plain=[1]"
    )

    assert {name: output["value"] for name, output in succeeded(result)["outputs"].items()} == {
        "names": json.loads(NAMES),
        "limits": json.loads(LIMITS),
        "plain": "[1]",  # declared without a type: the text as it is
    }
    assert (package / "seen").read_text().splitlines() == [NAMES, LIMITS, "[1]", "a=b c"]


@pytest.mark.behaviour("T8")
def test_a_parameter_wins_over_an_env_entry_of_its_name_which_stays_in_the_environment(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": TYPES})
    arguments = ("-p", f"limits={LIMITS}", "-p", 'names:=["parameter"]', "-e", 'names=["environment"]')

    result = hereya.provision(package, *arguments)

    assert succeeded(result)["outputs"]["names"]["value"] == ["parameter"]
    assert (package / "seen").read_text().splitlines()[0] == '["environment"]'


@pytest.mark.behaviour("T8")
def test_values_of_a_destroy_arrive_too(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(
        {
            "main.tf": """
            variable "place" { type = string }
            resource "terraform_data" "a" {
              input = var.place
              provisioner "local-exec" {
                when    = destroy
                command = "printf '%s %s' '${self.input}' \\"$FAREWELL\\" > farewell"
              }
            }
            """
        }
    )
    succeeded(hereya.provision(package, "-p", "place=here"))

    succeeded(hereya.destroy(package, "-p", "place=there", "-e", "FAREWELL=bye"))

    assert (package / "farewell").read_text() == "here bye"


def test_an_undeclared_parameter_is_refused_as_a_flag_and_before_the_engine_acts(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": VARIABLE})

    result = hereya.provision(package, "-p", "wo=typo")

    assert failure(result) == (3, "bad-input", "the package declares no variable `wo` (-p)")
    assert result.result["failure"]["hint"] == "did you mean `who`?"
    assert (steps(result), (package / ".terraform").exists()) == ([], False)


def test_an_undeclared_parameter_of_a_file_or_a_request_is_a_warning(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": VARIABLE})
    parameters = tmp_path / "x.yaml"
    parameters.write_text("stray: 1\nwho: file\n")
    request = tmp_path / "request.json"
    request.write_text('{"parameters": {"other": 1}}')

    result = hereya.provision(package, "--param-file", parameters, "--request", request)

    assert who(result) == "file"
    assert warnings(result) == [
        f"`other` ({request}) is left out: the package declares no such variable",
        f"`stray` ({parameters}) is left out: the package declares no such variable",
    ]


@pytest.mark.behaviour("F7")
def test_values_are_in_nobodys_arguments_and_gone_from_the_disk_afterwards(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    text = "value-that-only-the-engine-sees"
    # What the engine itself says of a value is not looked at here: this one it does not say.
    package = make_package({"main.tf": 'variable "v" {}\nvariable "w" {}\n'})

    result = hereya.provision(package, "-p", f"v={text}", "-e", f"w={text}")

    succeeded(result)
    assert text not in result.stdout + result.stderr
    left = [file for file in (tmp_path / "state").rglob("*") if file.is_file()]
    assert left
    assert [file for file in left if text in file.read_text(errors="replace")] == []


@pytest.mark.behaviour("F7")
def test_a_sensitive_value_is_redacted_wherever_the_engine_says_it(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    secret = "correct-horse-battery"
    package = make_package(
        {
            "main.tf": """
            variable "password" { sensitive = true }
            resource "terraform_data" "leak" {
              provisioner "local-exec" { command = "echo leak: $password; echo err: $password >&2; exit 3" }
            }
            """
        }
    )

    result = hereya.provision(package, "-e", f"password={secret}", "--events-file", tmp_path / "events")

    assert failure(result)[:2] == (1, "provisioner-failed")
    places = [result.stdout, result.stderr, (tmp_path / "events").read_text()]
    places += [file.read_text(errors="replace") for file in (tmp_path / "state").rglob("*") if file.is_file()]
    assert [place for place in places if secret in place] == []
    assert "leak: " in result.stdout
