"""The engine's workspaces: which one a run works on, and that none comes into being by a typing error."""

from pathlib import Path

import pytest

from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, names, read_state, steps, succeeded

pytestmark = pytest.mark.real_engine

PACKAGE = """
variable "v" { default = "" }
resource "terraform_data" "a" { input = var.v }
output "workspace" { value = terraform.workspace }
output "v" { value = terraform_data.a.output }
"""
LOCAL = 'terraform {\n  backend "local" {\n    workspace_dir = "elsewhere"\n  }\n}\n'


def made(package: Path) -> list[str]:
    """The workspaces that the package's local state has."""
    return sorted(directory.name for directory in package.glob("terraform.tfstate.d/*"))


def workspace(result: Result) -> tuple[str, str]:
    """What the run calls its workspace, and what the engine does."""
    ended = succeeded(result)
    return ended["workspace"], ended["env"]["workspace"]


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        pytest.param(("-w", "ghost"), {}, id="-w"),
        pytest.param((), {"TF_WORKSPACE": "ghost"}, id="TF_WORKSPACE"),
        pytest.param((), {"HEREYA_TF_WORKSPACE": "ghost"}, id="HEREYA_TF_WORKSPACE"),
    ],
)
@pytest.mark.parametrize("operation", ["provision", "destroy"])
def test_an_unknown_workspace_is_refused_and_not_created(
    hereya: Driver, make_package: MakePackage, operation: str, arguments: tuple[str, ...], env: dict[str, str]
) -> None:
    package = make_package({"main.tf": PACKAGE})

    result = hereya.start(operation, package, *arguments, env=env).finish()

    assert failure(result) == (1, "workspace-unknown", "there is no workspace `ghost`")
    hint = "add `--create-workspace` to create it; known are `default`"
    assert result.result["failure"]["hint"] == hint
    # A look at the package's local state is enough; the engine's init would create the workspace.
    assert (steps(result), names(package)) == ([], ["main.tf"])


@pytest.mark.parametrize(
    ("arguments", "env"),
    [
        pytest.param(("-w", "new"), {}, id="-w"),
        pytest.param((), {"TF_WORKSPACE": "new"}, id="TF_WORKSPACE"),
        pytest.param(("-w", "new"), {"TF_WORKSPACE": "ghost"}, id="-w over TF_WORKSPACE"),
    ],
)
def test_a_workspace_is_created_on_demand_and_known_from_then_on(
    hereya: Driver, make_package: MakePackage, arguments: tuple[str, ...], env: dict[str, str]
) -> None:
    package = make_package({"main.tf": PACKAGE})

    first = hereya.provision(package, *arguments, "--create-workspace", "-p", "v=1", env=env)
    second = hereya.provision(package, *arguments, "-p", "v=1", env=env)

    assert (workspace(first), workspace(second)) == (("new", "new"), ("new", "new"))
    assert made(package) == ["new"]
    assert read_state(package / "terraform.tfstate.d/new/terraform.tfstate")["v"] == "1"
    # What exists need not be asked for.
    assert steps(second) == ["apply"]
    assert succeeded(hereya.destroy(package, *arguments, env=env))["changes"]["destroy"] == 1


def test_the_engines_own_selection_is_followed(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": PACKAGE})
    hereya.plain(package, "init", "-input=false")
    hereya.plain(package, "workspace", "new", "filed")
    hereya.plain(package, "workspace", "new", "other")
    hereya.plain(package, "workspace", "select", "filed")

    filed = hereya.provision(package, "-p", "v=filed")
    named = hereya.provision(package, "-p", "v=other", env={"TF_WORKSPACE": "other"})
    wished = hereya.provision(package, "-w", "default", "-p", "v=default", env={"TF_WORKSPACE": "other"})

    assert workspace(filed) == ("filed", "filed")
    assert workspace(named) == ("other", "other")
    assert workspace(wished) == ("default", "default")
    # The user's own selection stays what it was.
    assert (package / ".terraform/environment").read_text() == "filed"
    states = [
        package / "terraform.tfstate",
        *(package / f"terraform.tfstate.d/{name}/terraform.tfstate" for name in ("filed", "other")),
    ]
    assert [read_state(state)["v"] for state in states] == ["default", "filed", "other"]


def test_each_workspace_has_a_key_and_a_lock_of_its_own(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": ""})
    keys = []
    locks = []
    for name in ("default", "one", "two"):
        result = hereya.provision(package, "-w", name, "--create-workspace")
        keys.append(result.events[0]["key"])
        locks.append(len(list((tmp_path / "state/locks").iterdir())))

    assert keys == [f"{package}#{name}" for name in ("default", "one", "two")]
    assert locks[0] < locks[1] < locks[2]


def test_two_workspaces_of_a_backend_block_are_asked_of_the_engine(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": PACKAGE + LOCAL})
    # The remains of a time without a backend say nothing about this one.
    (package / "terraform.tfstate.d/ghost").mkdir(parents=True)

    created = hereya.provision(package, "-w", "new", "--create-workspace")
    known = hereya.provision(package, "-w", "new")
    unknown = hereya.provision(package, "-w", "ghost")

    assert (workspace(created), workspace(known)) == (("new", "new"), ("new", "new"))
    assert steps(known) == ["workspace", "apply"]
    assert failure(unknown) == (1, "workspace-unknown", "there is no workspace `ghost`")
    assert unknown.result["failure"]["hint"].endswith("known are `default`, `new`")
    assert names(package / "elsewhere") == ["new"]


@pytest.mark.parametrize("name", ["a/b", "a b", "../up", "x\ny"])
def test_a_name_that_no_workspace_can_have_is_refused_before_anything_is_touched(
    hereya: Driver, make_package: MakePackage, name: str
) -> None:
    package = make_package({"main.tf": PACKAGE})

    result = hereya.provision(package, "-w", name, "--create-workspace")

    assert failure(result)[:2] == (3, "bad-input")
    assert names(package) == ["main.tf"]
