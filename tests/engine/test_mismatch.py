"""What the other engine has written, here or elsewhere, is not touched without a word (T15)."""

import json
import os
from pathlib import Path

import pytest

from hereya_tf.engine import EngineName
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import provider, scenes
from tests.engine.driving import Driver, failure, names, steps, succeeded
from tests.engine.state_server import StateServer

pytestmark = [pytest.mark.real_engine, pytest.mark.behaviour("T15")]

PACKAGE = 'resource "terraform_data" "a" {}\noutput "o" { value = "o" }\n'
ELSEWHERE = (
    f'terraform {{\n  backend "http" {{}}\n}}\n{provider.SHORT_PROVIDERS}output "o" {{ value = "o" }}\n'
)
SECRET = "nobody-is-ever-shown-this"


def lock_file(*engines: EngineName) -> str:
    return "".join(
        f'provider "{engine.registry}/hashicorp/null" {{\n  version = "3.2.3"\n'
        '  hashes = ["h1:I0Um8UkrMUb81Fxq/dxbr3HLP2cecTH2WMJiwKSrwQY="]\n}\n'
        for engine in engines
    )


def state(engine: EngineName) -> str:
    resource = {
        "mode": "managed",
        "type": "null_resource",
        "name": "a",
        "provider": f'provider["{engine.registry}/hashicorp/null"]',
        "instances": [{"schema_version": 0, "attributes": {"id": "1", "triggers": None}}],
    }
    document = {
        "version": 4,
        "terraform_version": "1.8.0",
        "serial": 1,
        "lineage": "8a7b6c5d-0000-0000-0000-000000000000",
        "outputs": {},
        "resources": [resource],
        "check_results": None,
    }
    return json.dumps(document, indent=2)


def contents(directory: Path) -> dict[str, str]:
    return {
        str(file.relative_to(directory)): file.read_text() for file in directory.rglob("*") if file.is_file()
    }


@pytest.mark.parametrize("operation", ["provision", "destroy"])
@pytest.mark.parametrize("place", [".terraform.lock.hcl", "terraform.tfstate"])
@pytest.mark.parametrize("wish", [(), ("--engine", "auto")], ids=["unset", "auto"])
def test_files_of_the_other_engine_are_refused_and_not_touched(
    only_engine: CommandLine,
    make_package: MakePackage,
    engine: EngineName,
    other: EngineName,
    operation: str,
    place: str,
    wish: tuple[str, ...],
) -> None:
    text = lock_file(other) if place == ".terraform.lock.hcl" else state(other)
    package = make_package({"main.tf": PACKAGE, place: text})
    before = contents(package)

    result = only_engine(operation, package, "--yes", "--json", *wish)

    exit_code, failure_class, reason = failure(result)
    assert (exit_code, failure_class, result.result["status"]) == (3, "engine-mismatch", "refused")
    assert place in reason
    assert f"was written by {other.title}, and the engine here is {engine.title}" in reason
    assert f"--engine {other.executable}" in result.result["failure"]["hint"]
    assert steps(result) == []
    assert contents(package) == before


def test_a_generated_backends_own_state_counts(
    only_engine: CommandLine, make_package: MakePackage, other: EngineName, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})
    file = tmp_path / "x.tfstate"
    file.write_text(state(other))

    result = only_engine("provision", package, "--yes", "--json", "--state", file)

    assert failure(result)[:2] == (3, "engine-mismatch")
    assert (file.read_text(), contents(package)) == (state(other), {"main.tf": PACKAGE})
    assert succeeded(only_engine("provision", package, "--yes", "--json", "--state", tmp_path / "y.tfstate"))


def test_a_workspaces_own_state_counts(
    only_engine: CommandLine, make_package: MakePackage, other: EngineName
) -> None:
    package = make_package({"main.tf": PACKAGE, "terraform.tfstate.d/w/terraform.tfstate": state(other)})

    of_the_workspace = only_engine("provision", package, "--yes", "--json", "-w", "w")
    of_the_default = only_engine("provision", package, "--yes", "--json")

    assert failure(of_the_workspace)[:2] == (3, "engine-mismatch")
    succeeded(of_the_default)


@pytest.mark.parametrize("both", [False, True], ids=["its own", "of both"])
def test_files_of_its_own_or_of_both_are_no_reason_to_refuse(
    only_engine: CommandLine, make_package: MakePackage, engine: EngineName, other: EngineName, both: bool
) -> None:
    engines = (other, engine) if both else (engine,)
    package = make_package({"main.tf": PACKAGE, ".terraform.lock.hcl": lock_file(*engines)})

    succeeded(only_engine("provision", package, "--yes", "--json"))


def test_an_engine_that_is_named_may_go_on(
    hereya: Driver, make_package: MakePackage, other: EngineName
) -> None:
    package = make_package({"main.tf": PACKAGE, ".terraform.lock.hcl": lock_file(other)})

    result = hereya.provision(package)

    assert succeeded(result)["env"] == {"o": "o"}


def test_a_host_that_the_package_writes_out_says_nothing(
    only_engine: CommandLine, make_package: MakePackage, other: EngineName, tmp_path: Path
) -> None:
    nowhere = f'provider_installation {{\n  filesystem_mirror {{\n    path = "{tmp_path}"\n  }}\n}}\n'
    Path(os.environ["TF_CLI_CONFIG_FILE"]).write_text(nowhere)
    explicit = f'  source  = "{other.registry}/hashicorp/null"\n'
    package = make_package(
        {
            "main.tf": f"terraform {{\n  required_providers {{\n    null = {{\n{explicit}    }}\n  }}\n}}\n",
            ".terraform.lock.hcl": lock_file(other),
        }
    )

    result = only_engine("provision", package, "--yes", "--json")

    # The engine was asked, and failed by itself: there is no such provider in an empty mirror.
    assert failure(result)[1] in ("provider-unavailable", "provider-checksum")
    assert steps(result) == ["init"]


def refused_for_its_state(result: Result, engine: EngineName, other: EngineName) -> None:
    exit_code, failure_class, reason = failure(result)
    assert (exit_code, failure_class, result.result["status"]) == (3, "engine-mismatch", "refused")
    assert reason.startswith(
        f"the state in the `http` backend was written by {other.title}, and the engine here is {engine.title} "
    )
    assert f"`--engine {other.executable}`" in result.result["failure"]["hint"]


@pytest.mark.usefixtures("providers")
@pytest.mark.parametrize("operation", ["provision", "destroy", "plan", "drift", "init"])
def test_a_state_elsewhere_is_looked_at_as_soon_as_init_has_reached_it(
    only_engine: CommandLine,
    make_package: MakePackage,
    engine: EngineName,
    other: EngineName,
    operation: str,
) -> None:
    package = make_package({"main.tf": ELSEWHERE})
    there = provider.written_by(other, SECRET)

    with StateServer({}, state=there) as server:
        result = only_engine(operation, package, "--yes", "--json", env=server.environment)
        again = only_engine(operation, package, "--yes", "--json", env=server.environment)

        assert server.state == there
    # Its lock file would have been the next run's evidence, for the wrong engine.
    for refused in (result, again):
        refused_for_its_state(refused, engine, other)
        assert steps(refused) == ["init", "state"]
        assert SECRET not in refused.stdout + refused.stderr
    assert names(package) == [".terraform", "main.tf"]
    assert SECRET not in scenes.everything_in(scenes.state_directory())


@pytest.mark.usefixtures("providers")
def test_an_engine_that_is_named_may_go_on_with_a_state_elsewhere(
    hereya: Driver, make_package: MakePackage, other: EngineName
) -> None:
    package = make_package({"main.tf": ELSEWHERE})

    with StateServer({}, state=provider.written_by(other, SECRET)) as server:
        result = hereya.provision(package, env=server.environment)

    assert (steps(result), succeeded(result)["env"]) == (["init", "apply"], {"o": "o"})


@pytest.mark.usefixtures("providers")
@pytest.mark.parametrize("is_there", [False, True], ids=["no state", "its own"])
def test_a_state_elsewhere_is_looked_at_until_a_lock_file_says_who_wrote_it(
    only_engine: CommandLine, make_package: MakePackage, engine: EngineName, is_there: bool
) -> None:
    package = make_package({"main.tf": ELSEWHERE})

    with StateServer({}, state=provider.written_by(engine, SECRET) if is_there else None) as server:
        first = only_engine("provision", package, "--yes", "--json", env=server.environment)
        second = only_engine("provision", package, "--yes", "--json", "--reinit", env=server.environment)

    assert (succeeded(first)["env"], succeeded(second)["env"]) == ({"o": "o"}, {"o": "o"})
    assert (steps(first), steps(second)) == (["init", "state", "apply"], ["init", "apply"])
    assert f'provider "{engine.registry}/' in (package / ".terraform.lock.hcl").read_text()


@pytest.mark.usefixtures("providers")
def test_a_package_is_validated_without_a_word_on_who_wrote_its_state(
    only_engine: CommandLine, make_package: MakePackage, engine: EngineName, other: EngineName
) -> None:
    package = make_package({"main.tf": ELSEWHERE})

    with StateServer({}, state=provider.written_by(other, SECRET)) as server:
        validated = only_engine("validate", package, "--json", env=server.environment)
        provisioned = only_engine("provision", package, "--yes", "--json", env=server.environment)

    assert steps(validated)[-1] == "validate"
    succeeded(validated)
    refused_for_its_state(provisioned, engine, other)
