"""Packages with a `cloud` block or the `remote` backend: what works, and what is refused in a clear sentence."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cloud_service import TOKEN, CloudService
from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, names, read_state, steps, succeeded, warnings
from tests.engine.scenes import everything_in, state_directory
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine

WORKSPACE = '    organization = "acme"\n    workspaces {\n      name = "w"\n    }\n'
BLOCKS = {
    "cloud": f"terraform {{\n  cloud {{\n{WORKSPACE}  }}\n}}\n",
    "remote": f'terraform {{\n  backend "remote" {{\n{WORKSPACE}  }}\n}}\n',
}
PACKAGE = """
variable "v" { default = "" }
resource "terraform_data" "a" { input = var.v }
output "v" { value = terraform_data.a.output }
"""
UNCOUNTED = (
    "the remote workspace has done the work and tells of it as text alone:"
    " what it changed is in the log, and not counted here"
)


@pytest.fixture
def service() -> Iterator[CloudService]:
    """The engine's host, until the test is over."""
    service = CloudService()
    Path(os.environ["TF_CLI_CONFIG_FILE"]).write_text(service.settings())
    yield service
    service.close()


@pytest.fixture(params=BLOCKS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def package(make_package: MakePackage, kind: str) -> Path:
    return make_package({"main.tf": PACKAGE, "backend.tf": BLOCKS[kind]})


def told(result: Result) -> str:
    """What the remote run had to say."""
    return "\n".join(event["text"] for event in result.events if event["type"] == "log")


def hints(result: Result) -> list[str]:
    return str(result.result["failure"]["hint"]).split("\n")


def refused(result: Result, failure_class: str, beginning: str) -> list[str]:
    """The hints of a refusal, whose sentence begins so."""
    exit_code = 3 if failure_class == "bad-input" else 1
    assert failure(result)[:2] == (exit_code, failure_class), result.result["reason"]
    assert result.result["reason"].startswith(beginning)
    return hints(result)


def test_where_only_the_state_is_elsewhere_everything_works(
    hereya: Driver, package: Path, service: CloudService
) -> None:
    service.execution_mode = "local"

    first = hereya.provision(package, "-p", "v=1", "--parallelism", "3", "--target", "terraform_data.a")
    again = hereya.provision(package, "-p", "v=1")
    outputs = json.loads(service.states[-1])["outputs"]

    assert [succeeded(run)["changes"]["add"] for run in (first, again)] == [1, 0]
    assert (again.result["env"], outputs["v"]["value"], steps(again)) == ({"v": "1"}, "1", ["apply"])
    assert UNCOUNTED not in warnings(again)
    assert succeeded(hereya.destroy(package))["changes"]["destroy"] == 1
    assert "terraform.tfstate" not in names(package)
    assert TOKEN not in everything_in(state_directory())


def test_a_remote_run_succeeds_by_its_exit_code_and_is_not_counted(
    hereya: Driver, package: Path, service: CloudService
) -> None:
    result = hereya.provision(package)

    assert succeeded(result)["changes"]["add"] == 0
    assert warnings(result) == [UNCOUNTED]
    assert "Apply complete! Resources: 1 added." in told(result)
    assert "POST /api/v2/runs" in service.requests


@pytest.mark.parametrize("operation", ["provision", "destroy"])
def test_a_remote_run_that_failed_has_failed(
    hereya: Driver, package: Path, service: CloudService, operation: str
) -> None:
    service.run_status = "errored"

    result = hereya.start(operation, package).finish()

    assert failure(result) == (
        1,
        "engine-error",
        "the run in the remote workspace did not come to a good end",
    )
    assert f"`hereya-tf runs log {result.result['run']}`" in hints(result)[0]
    # It names the address of the run.
    assert "https://app.terraform.io/app/acme/w/runs/run" in told(result)


def test_the_first_interrupt_cancels_the_remote_run(
    hereya: Driver, package: Path, service: CloudService
) -> None:
    service.comes_to_an_end, service.run_status = False, "planning"
    running = hereya.start("provision", package)
    wait_for(lambda: "GET /logs/plan" in service.requests or None, what="the log of the plan")

    running.send_signal(signal.SIGINT)
    result = running.finish()

    assert (result.exit_code, result.result["status"]) == (130, "cancelled")
    assert service.requests.count("POST /api/v2/runs/run/actions/cancel") == 1
    sent = [event["signal"] for event in result.events if event["type"] == "cancelling"]
    assert sent == ["SIGINT"]


def test_parameters_reach_a_cloud_run_and_not_that_of_the_remote_backend(
    hereya: Driver, package: Path, service: CloudService, kind: str
) -> None:
    result = hereya.provision(package, "-p", "v=1")

    if kind == "cloud":
        succeeded(result)
        assert service.variables == [{"key": "v", "value": '"1"'}]
    else:
        found = refused(result, "bad-input", "Run variables are currently not supported")
        assert "in the remote workspace, or in a `*.auto.tfvars` file" in found[0]
        assert "`-p`, `--param-file` and `--var-file`" in found[1]
        assert "POST /api/v2/runs" not in service.requests


def plan(hereya: Driver, package: Path, operation: str, *arguments: str | Path) -> Result:
    return hereya.cli(operation, package, "--json", "--engine", hereya.wish, *arguments)


@pytest.mark.parametrize("operation", ["plan", "drift"])
def test_a_plan_that_cannot_be_read_is_refused(
    hereya: Driver, package: Path, service: CloudService, kind: str, operation: str
) -> None:
    result = plan(hereya, package, operation)

    if kind == "cloud":
        sentence = "the plan was made in the remote workspace, which tells what would change as text alone"
        found = refused(result, "bad-input", sentence)
        # It can be read by people.
        assert "Plan: 1 to add, 0 to change, 0 to destroy." in told(result)
    else:
        found = refused(result, "bad-input", "Saving a generated plan is currently not supported")
        assert "POST /api/v2/runs" not in service.requests
    assert "--yes" in found[0]
    assert f"`hereya-tf tf {package} -- plan`" in found[1]


@pytest.mark.parametrize(
    ("arguments", "beginning", "hint"),
    [
        (("--parallelism", "3"), "Custom parallelism values are", "leave out `--parallelism`"),
        (("--target", "terraform_data.a"), "Resource targeting is", "leave out `--target`"),
        (("--no-refresh",), "Planning without refresh is", "leave out `--no-refresh`"),
        (("--replace", "terraform_data.a"), "Planning resource replacements is", "leave out `--replace`"),
    ],
)
@pytest.mark.parametrize("kind", ["remote"])
def test_options_that_an_old_service_does_not_know_are_refused(
    hereya: Driver, package: Path, service: CloudService, arguments: Any, beginning: str, hint: str
) -> None:
    service.api_version = "2.2"

    result = hereya.provision(package, *arguments)

    assert refused(result, "bad-input", beginning)[0].startswith(hint)
    assert "POST /api/v2/runs" not in service.requests


def test_parallelism_is_the_remote_workspaces_own(
    hereya: Driver, package: Path, service: CloudService
) -> None:
    result = hereya.provision(package, "--parallelism", "3")

    found = refused(result, "bad-input", "Custom parallelism values are currently not supported")
    assert found == ["leave out `--parallelism`: the remote workspace decides on it"]


@pytest.mark.parametrize("how", ["-w", "TF_WORKSPACE"])
def test_another_workspace_than_the_packages_is_refused(
    hereya: Driver, package: Path, service: CloudService, how: str
) -> None:
    arguments, env = (("-w", "other"), {}) if how == "-w" else ((), {"TF_WORKSPACE": "other"})

    result = hereya.provision(package, *arguments, env=env)

    assert failure(result)[:2] == (3, "bad-input"), result.result["reason"]
    assert hints(result) == [
        "leave out `-w`, and unset `TF_WORKSPACE`: the package says which workspace it is"
    ]
    assert "POST /api/v2/runs" not in service.requests


def test_backend_settings_are_not_for_a_cloud_block(
    hereya: Driver, make_package: MakePackage, service: CloudService
) -> None:
    package = make_package({"main.tf": PACKAGE, "backend.tf": BLOCKS["cloud"]})

    result = hereya.provision(package, "--backend-config", "organization=acme")

    assert refused(result, "bad-input", "Invalid command-line option")[0].startswith(
        "leave out `--backend-config`"
    )
    assert service.states == []


def test_rights_a_repository_and_a_token_are_asked_for(
    hereya: Driver, package: Path, service: CloudService
) -> None:
    service.has_rights = False
    found = refused(hereya.provision(package), "credentials", "Insufficient rights to apply changes")
    assert found[0] == "use a token that may do this in the remote workspace"

    service.has_rights, service.has_repository = True, True
    found = refused(hereya.provision(package), "bad-input", "Apply not allowed for workspaces with a VCS")
    assert found[0].startswith("push to the repository")

    service.authorizes = False
    found = refused(hereya.provision(package), "credentials", 'Failed to read organization "acme"')
    assert found[0].startswith("set `TF_TOKEN_app_terraform_io`")

    Path(os.environ["TF_CLI_CONFIG_FILE"]).write_text(service.settings(token=False))
    found = refused(hereya.provision(package, "--reinit"), "credentials", "Required token could not be found")
    assert found[0].startswith("set `TF_TOKEN_app_terraform_io`")
    service.authorizes, service.has_repository = True, False
    succeeded(hereya.provision(package, "-e", f"TF_TOKEN_app_terraform_io={TOKEN}"))
    assert TOKEN not in everything_in(state_directory())


def test_a_service_that_cannot_be_reached_is_the_backend(
    hereya: Driver, package: Path, service: CloudService
) -> None:
    settings = service.settings().replace(service.address, "http://127.0.0.1:1")
    Path(os.environ["TF_CLI_CONFIG_FILE"]).write_text(settings)

    result = hereya.provision(package)

    assert failure(result)[:2] == (1, "backend-unreachable"), result.result["reason"]
    assert "127.0.0.1:1" in result.result["reason"]


def test_a_generated_backend_leaves_the_service_alone(
    hereya: Driver, package: Path, service: CloudService, tmp_path: Path
) -> None:
    result = hereya.provision(package, "--state", tmp_path / "x.tfstate", "-p", "v=1", "--parallelism", "2")

    assert succeeded(result)["changes"]["add"] == 1
    assert (read_state(tmp_path / "x.tfstate"), service.requests) == ({"v": "1"}, [])
