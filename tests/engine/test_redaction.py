"""No secret leaves a run but through the doors that were made for it: the result file and the engine's state."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import scenes

pytestmark = [pytest.mark.real_engine, pytest.mark.behaviour("F7")]

# Values of sensitive variables, by the way they come in; each way is one that a user has.
BY_WAY = {
    "by_param": "param-Correct-Horse",
    "by_param_file": 'file-"quoted"\tand\\slashed',
    "by_tfvars": "tfvars-Battery-Staple",
    "by_auto_tfvars": "auto-Tr0ub4dor",
    "by_environment": "environment-Purple-Monkey",
    "by_env_option": "option-Dish-Washer",
    "by_var_file": "var-file-Hunter-Two",
}
KEY_LINES = ["MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA", "AoIBAQC7VJTUt9Us8cKjMzEfYyjiWA4R4qRZ0wIDAQAB"]
TOKENS = {
    "aws_key": "AKIAIOSFODNN7EXAMPL3",
    "aws_secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKE1",
    "github": "ghp_016C7f4A9bD2e8F3a5B6c7D8e9F0a1B2c3D4",
    "gitlab": "glpat-x7Yz9Ab3Cd5Ef7Gh9Ij1",
    "bearer": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlLW9mLWl0",
}
PRINTED = f"""
AWS_ACCESS_KEY_ID={TOKENS["aws_key"]}
AWS_SECRET_ACCESS_KEY={TOKENS["aws_secret"]}
-----BEGIN PRIVATE KEY-----
{KEY_LINES[0]}
{KEY_LINES[1]}
-----END PRIVATE KEY-----
push to https://deploy:{TOKENS["github"]}@github.com/acme/shop.git with {TOKENS["gitlab"]}
Authorization: Bearer {TOKENS["bearer"]}
"""
URL_PASSWORD = "url-Pass-Word-99"


class Ways(NamedTuple):
    """The package, and how the run of it is given its secrets."""

    package: Path
    arguments: tuple[str, ...]
    env: dict[str, str]
    secrets: tuple[str, ...]


@pytest.fixture
def ways(make_package: MakePackage, tmp_path: Path) -> Ways:
    variables = "".join(f'variable "{name}" {{\n  type = string\n  sensitive = true\n}}\n' for name in BY_WAY)
    package = make_package(
        {
            "main.tf": variables
            + 'variable "ending" { default = 0 }\n'
            + """
resource "terraform_data" "a" {
  input = [INPUTS]
  provisioner "local-exec" {
    command = "touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"
  }
  provisioner "local-exec" {
    command = "cat printed; cat printed >&2; exit ${var.ending}"
  }
}
output "all" {
  sensitive = true
  value     = terraform_data.a.output
}
""".replace("INPUTS", ", ".join(f"var.{name}" for name in BY_WAY)),
            "printed": PRINTED + "\n".join(f"{name}: {value}" for name, value in BY_WAY.items()),
            "terraform.tfvars": f'by_tfvars = "{BY_WAY["by_tfvars"]}"\n',
            "x.auto.tfvars": f'by_auto_tfvars = "{BY_WAY["by_auto_tfvars"]}"\n',
        }
    )
    params = tmp_path / "params.json"
    params.write_text(json.dumps({"by_param_file": BY_WAY["by_param_file"]}))
    var_file = tmp_path / "given.tfvars"
    var_file.write_text(f'by_var_file = "{BY_WAY["by_var_file"]}"\n')
    arguments: tuple[str, ...] = (
        *("-p", f"by_param={BY_WAY['by_param']}"),
        *("--param-file", str(params)),
        *("--var-file", str(var_file)),
        *("-e", f"by_env_option={BY_WAY['by_env_option']}"),
    )
    spelled = (BY_WAY["by_param_file"], json.dumps(BY_WAY["by_param_file"])[1:-1])
    return Ways(
        package,
        arguments,
        {"TF_VAR_by_environment": BY_WAY["by_environment"]},
        (*BY_WAY.values(), *spelled, *KEY_LINES, *TOKENS.values()),
    )


def shown(ended: Result, *files: Path) -> dict[str, str]:
    """Everything that a run has left for others to read, by where it is."""
    places = {"stdout": ended.stdout, "stderr": ended.stderr}
    for file in (*files, *scenes.told_in(scenes.state_directory() / "runs")):
        if file.is_file():
            places[str(file)] = file.read_text(encoding="utf-8")
    return places


def leaks(places: dict[str, str], secrets: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(place, secret) for place, text in places.items() for secret in secrets if secret in text]


@pytest.mark.parametrize("mode", ["--json", "-v"])
@pytest.mark.parametrize("exit_code", [0, 1])
def test_whatever_is_printed_nothing_shows_a_secret(
    cli: CommandLine, real_engine: str, ways: Ways, tmp_path: Path, mode: str, exit_code: int
) -> None:
    (ways.package / "go").touch()
    files = [tmp_path / name for name in ("events", "report.txt", "report.json", "result.json")]
    given: tuple[str | Path, ...] = (
        *("provision", ways.package, "--yes", mode, "--engine", real_engine),
        *ways.arguments,
        *("-p", f"ending={exit_code}", "--engine-messages"),
        *("--events-file", files[0], "--report-file", files[1], "--report-file", files[2]),
        *("--result-file", files[3]),
    )
    ended = cli(*given, env=ways.env)

    assert ended.exit_code == exit_code, ended.stdout + ended.stderr
    places = shown(ended, *(file for file in files[:3] if file.exists()))
    assert leaks(places, ways.secrets) == []
    # What was printed is there, and so is what makes it readable.
    assert all("by_tfvars: [redacted]" in places[place] for place in (str(files[0]), *mode_door(mode)))
    assert len([place for place in places if "report" in place]) == (3 if exit_code else 2)
    # The doors that were made for values.
    state = (ways.package / "terraform.tfstate").read_text()
    assert {name for name, value in BY_WAY.items() if json.dumps(value)[1:-1] in state} == set(BY_WAY)
    result = json.loads(files[3].read_text())
    assert result["outputs"] == (
        {}
        if exit_code
        else {"all": {"type": ["tuple", ["string"] * 7], "sensitive": True, "value": list(BY_WAY.values())}}
    )
    assert oct(files[3].stat().st_mode & 0o777) == oct(files[0].stat().st_mode & 0o777) == "0o600"


def mode_door(mode: str) -> tuple[str]:
    return ("stdout",) if mode == "--json" else ("stderr",)


def test_private_files_are_private_while_the_run_lasts_and_gone_afterwards(
    cli: CommandLine, real_engine: str, ways: Ways
) -> None:
    given = ("provision", str(ways.package), "--yes", "--json", "--engine", real_engine)
    running = cli.start(*given, *ways.arguments, env=ways.env)
    scenes.wait_for_file(ways.package / "started")
    directory = scenes.run_directory(running)
    private = {entry.name: entry for entry in directory.iterdir()}
    held = "".join(entry.read_text() for entry in private.values())
    modes = {oct(entry.stat().st_mode & 0o777) for entry in private.values()}
    above = {oct(place.stat().st_mode & 0o777) for place in (directory, *directory.parents[:2])}
    command = Path(f"/proc/{scenes.engine_pid(running)}/cmdline")
    argv = command.read_text() if command.exists() else ""
    (ways.package / "go").touch()
    ended = running.finish()

    assert {"apply.1.stdout", "apply.1.stderr", "secrets.json", "run.json"} < set(private)
    assert BY_WAY["by_param"] in held
    assert (modes, above) == ({"0o600"}, {"0o700"})
    # `ps` shows arguments to everyone.
    assert leaks({"argv": argv}, ways.secrets) == []
    assert ended.result["success"]
    assert {entry.name for entry in directory.iterdir()} == scenes.KEPT


def test_the_password_in_a_modules_address_is_not_in_the_error(
    cli: CommandLine, real_engine: str, make_package: MakePackage, tmp_path: Path
) -> None:
    address = f"https://deploy:{URL_PASSWORD}@127.0.0.1:9/shop.git"
    package = make_package({"main.tf": f'module "shop" {{\n  source = "git::{address}"\n}}\n'})
    events, report = tmp_path / "events", tmp_path / "report.txt"
    given = ("provision", package, "--yes", "-v", "--engine", real_engine)
    ended = cli(*given, "--events-file", events, "--report-file", report)

    assert ended.exit_code == 1
    assert "class: module-unavailable" in ended.stderr
    assert leaks(shown(ended, events, report), (URL_PASSWORD,)) == []
    assert "127.0.0.1:9/shop.git" in ended.stderr


def test_a_sensitive_output_is_shown_only_when_asked_for(
    cli: CommandLine, real_engine: str, make_package: MakePackage, tmp_path: Path
) -> None:
    secret = "computed-Secret-Value"
    package = make_package(
        {
            "main.tf": """
resource "terraform_data" "a" {
  input = join("-", ["computed", "Secret", "Value"])
}
output "open" { value = "open" }
output "secret" {
  sensitive = true
  value     = terraform_data.a.output
}
"""
        }
    )
    given = ("provision", package, "--yes", "--engine", real_engine)
    plain = cli(*given)
    as_json = cli(*given, "--json")
    asked = cli(*given, "--json", "--show-sensitive", "--events-file", tmp_path / "events")

    assert plain.stdout == "open=open\n"
    assert "left out because they are sensitive: `secret` (--show-sensitive shows them)" in plain.stderr
    assert as_json.result["outputs"]["secret"] == {"type": "string", "sensitive": True}
    assert as_json.result["env"] == {"open": "open"}
    assert asked.result["env"] == {"open": "open", "secret": secret}
    # Files that stay are not a terminal that somebody looks at.
    assert leaks(shown(as_json, tmp_path / "events"), (secret,)) == []
