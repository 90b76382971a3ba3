"""Outputs of every type, wherever they are shown, are the very values that the engine has."""

import json
import stat
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import exact
from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.driving import Driver, failure, steps, succeeded

pytestmark = pytest.mark.real_engine

TRICKY = "é 😀 \u2028 \"double\" 'single' \\ ${a} %{b} $HOME `id` $(id)\nnext\ttab\r\n"
PIECE = "0123456789" * 30
LONG = PIECE * 1000
THIRD = Decimal("0." + "3" * 154 + "5")

PACKAGE = """
output "text" { value = "text" }
output "empty" { value = "" }
output "like_json" { value = "[1, 2]" }
output "tricky" { value = TRICKY }
output "long" { value = join("", [for i in range(1000) : "PIECE"]) }
output "big" { value = 9007199254740993 }
output "huge" { value = 1e400 }
output "third" { value = 1 / 3 }
output "flag" { value = true }
output "list" { value = tolist(["b", "a"]) }
output "tuple" { value = ["b", 9007199254740993, null] }
output "map" { value = tomap({ "é.x" = "1" }) }
output "object" { value = { n = 9007199254740993, inner = { text = "<&>" } } }
output "set" { value = toset(["b", "a"]) }
output "null" { value = null }
""".replace("PIECE", PIECE).replace(
    "TRICKY", json.dumps(TRICKY, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
)

# What the environment gets, the type in the engine's words, and the value.
EXPECTED: dict[str, tuple[str, Any, Any]] = {
    "text": ("text", "string", "text"),
    "empty": ("", "string", ""),
    "like_json": ("[1, 2]", "string", "[1, 2]"),
    "tricky": (TRICKY, "string", TRICKY),
    "long": (LONG, "string", LONG),
    "big": ("9007199254740993", "number", 2**53 + 1),
    "huge": ("1" + "0" * 400, "number", 10**400),
    "third": (str(THIRD), "number", THIRD),
    "flag": ("true", "bool", True),
    "list": ('["b","a"]', ["list", "string"], ["b", "a"]),
    "tuple": (
        '["b",9007199254740993,null]',
        ["tuple", ["string", "number", "dynamic"]],
        ["b", 2**53 + 1, None],
    ),
    "map": ('{"é.x":"1"}', ["map", "string"], {"é.x": "1"}),
    "object": (
        '{"inner":{"text":"<&>"},"n":9007199254740993}',
        ["object", {"inner": ["object", {"text": "string"}], "n": "number"}],
        {"inner": {"text": "<&>"}, "n": 2**53 + 1},
    ),
    "set": ('["a","b"]', ["set", "string"], ["a", "b"]),
}
ENVIRONMENT = {name: text for name, (text, _, _) in EXPECTED.items()}
OUTPUTS = {
    name: {"type": kind, "sensitive": False, "value": value} for name, (_, kind, value) in EXPECTED.items()
}

SECRET = "quite-a-secret-value"
WITH_SECRETS = """
output "open" { value = "open" }
output "secret" {
  value     = "SECRET"
  sensitive = true
}
output "secret_list" {
  value     = ["SECRET-in-a-list", 9007199254740993]
  sensitive = true
}
output "secret_pin" {
  value     = 42 # too short to be recognised anywhere else
  sensitive = true
}
""".replace("SECRET", SECRET)
HIDDEN = {
    "open": {"type": "string", "sensitive": False, "value": "open"},
    "secret": {"type": "string", "sensitive": True},
    "secret_list": {"type": ["tuple", ["string", "number"]], "sensitive": True},
    "secret_pin": {"type": "number", "sensitive": True},
}
SHOWN = {
    "open": {"type": "string", "sensitive": False, "value": "open"},
    "secret": {"type": "string", "sensitive": True, "value": SECRET},
    "secret_list": {
        "type": ["tuple", ["string", "number"]],
        "sensitive": True,
        "value": [f"{SECRET}-in-a-list", 2**53 + 1],
    },
    "secret_pin": {"type": "number", "sensitive": True, "value": 42},
}
SHOWN_ENVIRONMENT = {
    "open": "open",
    "secret": SECRET,
    "secret_list": f'["{SECRET}-in-a-list",9007199254740993]',
    "secret_pin": "42",
}


def exact_result(result: Result) -> dict[str, Any]:
    """The result, every number with all its digits."""
    last: dict[str, Any] = exact.loads(result.stdout.rstrip("\n").split("\n")[-1])
    return last


def read_private(file: Path) -> dict[str, Any]:
    """A result file, which nobody else may read."""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    document: dict[str, Any] = exact.loads(file.read_text(encoding="utf-8"))
    return document


def evaluate(lines: str, directory: Path) -> dict[str, str]:
    """The variables that a POSIX shell has after evaluating `lines`, and had not before."""
    script = directory / "outputs.sh"
    script.write_text(lines, encoding="utf-8", newline="")
    program = 'set -a; . ./outputs.sh; exec python3 -c "import json, os; print(json.dumps(dict(os.environ)))"'
    done = subprocess.run(
        ["sh", "-c", program],
        cwd=directory,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.behaviour("T11", "T12")
def test_outputs_of_every_type_keep_their_type_and_every_digit(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})

    result = hereya.provision(package, "--result-file", tmp_path / "result.json")

    succeeded(result)
    ended = exact_result(result)
    assert ended["outputs"] == OUTPUTS
    assert ended["env"] == ENVIRONMENT
    filed = read_private(tmp_path / "result.json")
    assert {key: filed[key] for key in ("success", "outputs", "env")} == {
        "success": True,
        "outputs": OUTPUTS,
        "env": ENVIRONMENT,
    }
    # Every value was in the stream: the engine is not asked a second time.
    assert steps(result) == ["init", "apply"]


@pytest.mark.behaviour("T12")
def test_outputs_on_stdout_are_lines_that_a_shell_evaluates_to_the_values(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    # 300 kB are more than an environment can hold; the next test has them.
    package = make_package({"main.tf": PACKAGE.replace("range(1000)", "range(10)")})

    result = hereya.cli("provision", package, "--yes", "--engine", hereya.wish)

    assert result.exit_code == 0, result.stderr
    found = evaluate(result.stdout, tmp_path)
    assert {name: found.get(name) for name in ENVIRONMENT} == {**ENVIRONMENT, "long": PIECE * 10}
    assert "null" not in found


def test_a_very_long_output_on_stdout_is_whole(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": PACKAGE})

    result = hereya.cli("provision", package, "--yes", "--engine", hereya.wish)

    assert f"long={LONG}\n" in result.stdout


@pytest.mark.behaviour("T7", "T12")
def test_a_sensitive_output_has_no_value_but_where_every_value_is_asked_for(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": WITH_SECRETS})

    result = hereya.provision(package, "--result-file", tmp_path / "result.json")

    succeeded(result)
    ended = exact_result(result)
    assert ended["outputs"] == HIDDEN
    assert ended["env"] == {"open": "open"}
    assert SECRET not in result.stdout + result.stderr
    filed = read_private(tmp_path / "result.json")
    assert (filed["outputs"], filed["env"]) == (SHOWN, SHOWN_ENVIRONMENT)
    # The stream keeps sensitive values to itself, so here the engine is asked for them.
    assert steps(result) == ["init", "apply", "output"]


@pytest.mark.behaviour("T12")
def test_show_sensitive_shows_sensitive_outputs_in_the_result_and_on_stdout(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": WITH_SECRETS})

    shown = hereya.provision(package, "--show-sensitive")
    plain = hereya.cli("provision", package, "--yes", "--show-sensitive", "--engine", hereya.wish)

    ended = exact_result(shown)
    assert (ended["outputs"], ended["env"]) == (SHOWN, SHOWN_ENVIRONMENT)
    found = evaluate(plain.stdout, tmp_path)
    assert {name: found[name] for name in SHOWN_ENVIRONMENT} == SHOWN_ENVIRONMENT
    # Whoever asked to see them is shown them; the history is not.
    history = scenes.told_in(tmp_path / "state")
    assert history
    assert [file for file in history if SECRET in file.read_text(errors="replace")] == []


@pytest.mark.behaviour("F7")
def test_sensitive_outputs_are_left_out_of_stdout_with_a_note(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": WITH_SECRETS})

    result = hereya.cli("provision", package, "--yes", "--engine", hereya.wish)

    assert (result.exit_code, result.stdout) == (0, "open=open\n")
    names = "`secret`, `secret_list`, `secret_pin`"
    note = f"left out because they are sensitive: {names} (--show-sensitive shows them)"
    assert result.stderr.splitlines()[-1] == note
    assert SECRET not in result.stderr


@pytest.mark.behaviour("T12")
def test_the_engine_is_asked_for_outputs_only_while_one_is_sensitive(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": WITH_SECRETS})
    first = hereya.provision(package)
    (package / "main.tf").write_text('output "open" { value = "open" }\n')
    second = hereya.provision(package)
    (package / "main.tf").write_text("")
    third = hereya.provision(package)

    assert [steps(run)[-1] for run in (first, second, third)] == ["output", "apply", "apply"]
    assert [list(succeeded(run)["outputs"]) for run in (first, second, third)] == [
        ["open", "secret", "secret_list", "secret_pin"],
        ["open"],
        [],
    ]


@pytest.mark.behaviour("T9", "T12")
def test_destroy_returns_the_outputs_that_there_were(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": PACKAGE + 'resource "terraform_data" "a" {}\n'})
    succeeded(hereya.provision(package))

    result = hereya.destroy(package)

    assert succeeded(result)["changes"]["destroy"] == 1
    ended = exact_result(result)
    assert (ended["outputs"], ended["env"]) == (OUTPUTS, ENVIRONMENT)
    assert steps(result) == ["output", "destroy"]
    assert hereya.plain(package, "state", "list") == ""
    # There is nothing left to tell of.
    again = succeeded(hereya.destroy(package))
    assert (again["outputs"], again["env"]) == ({}, {})


@pytest.mark.behaviour("T9", "F7")
def test_destroy_returns_sensitive_outputs_to_the_result_file_only(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": WITH_SECRETS})
    succeeded(hereya.provision(package))

    result = hereya.destroy(package, "--result-file", tmp_path / "result.json")

    ended = exact_result(result)
    assert (ended["outputs"], ended["env"]) == (HIDDEN, {"open": "open"})
    filed = read_private(tmp_path / "result.json")
    assert (filed["outputs"], filed["env"]) == (SHOWN, SHOWN_ENVIRONMENT)
    assert SECRET not in result.stdout + result.stderr


@pytest.mark.behaviour("T11", "T9")
def test_a_failed_destroy_still_returns_the_outputs_there_were(
    hereya: Driver, make_package: MakePackage
) -> None:
    keep = 'resource "terraform_data" "a" {\n  lifecycle { prevent_destroy = true }\n}\n'
    package = make_package({"main.tf": keep + 'output "kept" { value = 1 / 3 }\n'})
    succeeded(hereya.provision(package))

    result = hereya.destroy(package)

    assert failure(result)[:2] == (1, "prevented-destroy")
    assert exact_result(result)["outputs"] == {"kept": {"type": "number", "sensitive": False, "value": THIRD}}


@pytest.mark.behaviour("T11")
def test_a_failed_provision_is_a_result_with_a_reason_and_no_outputs(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(
        {
            "main.tf": """
            output "early" { value = "early" }
            resource "terraform_data" "a" {
              provisioner "local-exec" { command = "echo broken >&2; exit 9" }
            }
            """
        }
    )

    result = hereya.provision(package, "--result-file", tmp_path / "result.json")

    assert failure(result)[:2] == (1, "provisioner-failed")
    ended = result.result
    assert "exit status 9" in ended["reason"]
    assert (ended["outputs"], ended["env"]) == ({}, {})
    filed = read_private(tmp_path / "result.json")
    assert (filed["success"], filed["reason"]) == (False, ended["reason"])


@pytest.mark.behaviour("F7", "T12")
def test_a_credential_in_an_output_is_left_out_rather_than_masked(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    url = "postgres://user:hunter2-hunter2@database.example/app"
    package = make_package({"main.tf": f'output "url" {{ value = "{url}" }}\n'})

    result = hereya.provision(package, "--result-file", tmp_path / "result.json")

    assert succeeded(result)["env"] == {}
    assert result.result["outputs"] == {"url": {"type": "string", "sensitive": False}}
    assert "hunter2" not in result.stdout
    assert read_private(tmp_path / "result.json")["env"] == {"url": url}
