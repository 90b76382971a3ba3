"""`output` on a real engine: every form, no lock, nothing sensitive that was not asked for."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver, names, succeeded

pytestmark = pytest.mark.real_engine

PACKAGE = """
output "url" { value = "https://example.org/?a=1&b='x'" }
output "zones" { value = ["a", "b"] }
output "big" { value = 9007199254740993 }
output "two-words" { value = "two words" }
output "secret" {
  value     = "correct horse battery"
  sensitive = true
}
"""
URL = "https://example.org/?a=1&b='x'"


@pytest.fixture
def package(hereya: Driver, make_package: MakePackage) -> Path:
    package = make_package({"main.tf": PACKAGE})
    succeeded(hereya.provision(package))
    return package


def test_lines_for_a_shell_are_what_a_pipe_gets(hereya: Driver, package: Path) -> None:
    shown = hereya.cli("output", package, "--engine", hereya.wish)

    assert shown.exit_code == 0
    assert shown.stdout.splitlines() == [
        "big=9007199254740993",
        "two_words='two words'",
        """url='https://example.org/?a=1&b='"'"'x'"'"''""",
        """zones='["a","b"]'""",
    ]
    assert shown.stderr == "left out because they are sensitive: `secret` (--show-sensitive shows them)\n"


def test_a_shell_can_eval_it(hereya: Driver, package: Path) -> None:
    shown = hereya.cli("output", package, "--engine", hereya.wish, "--format", "shell")

    evaluated = subprocess.run(
        ["sh", "-c", 'eval "$1"; printf "%s|%s" "$url" "$two_words"', "sh", shown.stdout],
        capture_output=True,
        text=True,
        timeout=30,
    )

    assert evaluated.stdout == f"{URL}|two words"


@pytest.mark.parametrize("form", [("--json",), ("--format", "json")])
def test_json_has_the_engine_s_shape(hereya: Driver, package: Path, form: tuple[str, ...]) -> None:
    shown = hereya.cli("output", package, "--engine", hereya.wish, *form)

    document = json.loads(shown.stdout)
    of_engine = json.loads(hereya.plain(package, "output", "-json"))
    del of_engine["secret"]["value"]
    assert document == of_engine
    assert json.loads(
        hereya.cli("output", package, "--engine", hereya.wish, *form, "--show-sensitive").stdout
    ) == json.loads(hereya.plain(package, "output", "-json"))


@pytest.mark.parametrize(
    ("name", "form", "expected"),
    [
        pytest.param("url", (), f"{URL}\n", id="text"),
        pytest.param("zones", (), '["a","b"]\n', id="list"),
        pytest.param("secret", (), "correct horse battery\n", id="sensitive-by-name"),
        pytest.param("url", ("--format", "raw"), URL, id="raw"),
        pytest.param("big", ("--format", "json"), "9007199254740993\n", id="json"),
    ],
)
def test_one_output_by_its_name(
    hereya: Driver, package: Path, name: str, form: tuple[str, ...], expected: str
) -> None:
    shown = hereya.cli("output", package, name, "--engine", hereya.wish, *form)

    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, expected, "")


def test_the_package_may_be_left_out(hereya: Driver, package: Path) -> None:
    shown = hereya.cli("output", "url", "--engine", hereya.wish, cwd=package)

    assert (shown.exit_code, shown.stdout) == (0, f"{URL}\n")


def test_an_unknown_name_is_refused_with_the_nearest(hereya: Driver, package: Path) -> None:
    shown = hereya.cli("output", package, "urls", "--engine", hereya.wish)

    assert (shown.exit_code, shown.stdout) == (3, "")
    assert "the package has no output `urls`" in shown.stderr
    assert "did you mean `url`" in shown.stderr


def test_github_gets_masks_first_and_values_in_its_file(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    file = tmp_path / "github-output"

    shown = hereya.cli(
        "output", package, "--engine", hereya.wish, "--format", "github", env={"GITHUB_OUTPUT": str(file)}
    )

    assert (shown.exit_code, shown.stdout) == (0, "::add-mask::correct horse battery\n")
    first, value, last, *_ = file.read_text().splitlines()
    assert (first.partition("<<")[0], value, last) == (
        "big",
        "9007199254740993",
        first.partition("<<")[2],
    )
    assert "correct horse battery" in file.read_text()


def test_github_without_its_file_is_refused(hereya: Driver, package: Path) -> None:
    shown = hereya.cli("output", package, "--engine", hereya.wish, "--format", "github")

    assert (shown.exit_code, shown.stdout) == (3, "")
    assert "`GITHUB_OUTPUT` is not set" in shown.stderr


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize(
    "place",
    [
        os.devnull,
        pytest.param(
            "/dev/full", marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
        ),
    ],
)
def test_github_gets_no_values_when_nobody_takes_the_masks(
    hereya: Driver, package: Path, tmp_path: Path, place: str
) -> None:
    file = tmp_path / "github-output"
    arguments = ("output", package, "--engine", hereya.wish, "--format", "github")

    with Path(place).open("wb") as stdout:
        running = hereya.cli.start(*arguments, env={"GITHUB_OUTPUT": str(file)}, stdout=stdout)
        ended = running.finish()

    assert ended.exit_code == 3
    assert "cannot learn what to mask" in ended.stderr
    assert not file.exists()


def test_a_dotenv_file_is_read_by_python_dotenv(hereya: Driver, package: Path, tmp_path: Path) -> None:
    from dotenv import dotenv_values

    shown = hereya.cli("output", package, "--engine", hereya.wish, "--format", "dotenv")

    file = tmp_path / "deploy.env"
    file.write_text(shown.stdout)
    assert dotenv_values(file) == {
        "big": "9007199254740993",
        "two_words": "two words",
        "url": URL,
        "zones": '["a","b"]',
    }


def test_it_waits_for_nobody_while_a_run_is_at_work(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": PACKAGE})
    succeeded(hereya.provision(package))
    # A provisioner's command is no reason for a new init.
    (package / "slow.tf").write_text(
        'resource "terraform_data" "slow" {\n  provisioner "local-exec" { command = "sleep 60" }\n}\n'
    )
    succeeded(hereya.start("init", package).finish())
    working = hereya.start("provision", package)
    working.wait_for_event("resource", address="terraform_data.slow", status="started")

    shown = hereya.cli("output", package, "url", "--engine", hereya.wish, "--no-wait")

    working.kill()
    assert (shown.exit_code, shown.stdout) == (0, f"{URL}\n")


def test_a_fresh_clone_is_initialised_under_the_locks(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(
        {"main.tf": PACKAGE + 'terraform {\n  backend "local" { path = "x.tfstate" }\n}\n'}
    )
    hereya.plain(package, "init")
    hereya.plain(package, "apply", "-auto-approve")

    shown = hereya.cli("output", package, "url", "--engine", hereya.wish)

    assert (shown.exit_code, shown.stdout) == (0, f"{URL}\n")


def test_outputs_of_a_generated_backend(hereya: Driver, make_package: MakePackage, tmp_path: Path) -> None:
    package = make_package({"main.tf": PACKAGE})
    state = tmp_path / "elsewhere.tfstate"
    succeeded(hereya.provision(package, "--state", state))

    shown = hereya.cli("output", package, "url", "--engine", hereya.wish, "--state", str(state))

    assert (shown.exit_code, shown.stdout) == (0, f"{URL}\n")
    assert "zz_hereya_tf_override.tf" not in names(package)


def test_outputs_of_a_generated_backend_wait_for_nobody(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})
    state = tmp_path / "elsewhere.tfstate"
    succeeded(hereya.provision(package, "--state", state))
    (package / "slow.tf").write_text(
        'resource "terraform_data" "slow" {\n  provisioner "local-exec" { command = "sleep 60" }\n}\n'
    )
    working = hereya.start("provision", package, "--state", tmp_path / "other.tfstate")
    working.wait_for_event("resource", address="terraform_data.slow", status="started")

    shown = hereya.cli("output", package, "url", "--engine", hereya.wish, "--state", str(state), "--no-wait")

    working.kill()
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, f"{URL}\n", "")


def test_outputs_by_a_file_of_backend_settings(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})
    state, settings = tmp_path / "elsewhere.tfstate", tmp_path / "settings.tfbackend"
    settings.write_text(f'workspace_dir = "{tmp_path}"\n')
    where = ("--state", str(state), "--backend-config", str(settings))
    succeeded(hereya.provision(package, *where))

    shown = hereya.cli("output", package, "url", "--engine", hereya.wish, *where)

    assert (shown.exit_code, shown.stdout) == (0, f"{URL}\n")


def test_a_workspace_that_does_not_exist_has_no_outputs_and_is_refused(hereya: Driver, package: Path) -> None:
    # The engine says `{}` and exit code 0.
    shown = hereya.cli("output", package, "--engine", hereya.wish, "-w", "nope", "--json")

    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "there is no workspace `nope`" in shown.stderr


def test_a_failure_prints_nothing_on_stdout(hereya: Driver, package: Path) -> None:
    (package / "main.tf").write_text("output {")

    shown = hereya.cli("output", package, "--engine", hereya.wish, "--format", "shell")

    assert shown.exit_code == 1
    assert shown.stdout == ""


def test_its_record_is_in_the_history(hereya: Driver, package: Path) -> None:
    hereya.cli("output", package, "--engine", hereya.wish)

    newest = json.loads(hereya.cli("runs", "list", "--json").stdout)["runs"][-1]
    assert (newest["operation"], newest["state"]) == ("output", "succeeded")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize("command", [("output", "--format", "shell"), ("plan",)])
def test_a_result_that_cannot_be_written_is_no_success(
    hereya: Driver, package: Path, command: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("w") as full:
        shown = hereya.cli.start(
            command[0], package, "--engine", hereya.wish, *command[1:], stdout=full
        ).finish()

    assert shown.exit_code == 1
    assert "what was to go to stdout is not complete: No space left on device" in shown.stderr


def test_a_package_without_outputs_says_so(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": 'resource "terraform_data" "x" {}\n'})
    succeeded(hereya.provision(package))

    shown = hereya.cli("output", package, "--engine", hereya.wish)

    told = "there are no outputs: the package declares none, or it was not applied yet\n"
    assert (shown.exit_code, shown.stdout, shown.stderr) == (0, "", told)
