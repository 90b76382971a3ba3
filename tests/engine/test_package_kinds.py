"""Packages of every kind: JSON, OpenTofu's own files, monorepos, links, strange names, nothing to write to."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, names, read_state, skipped, steps, succeeded
from tests.fake_engine import FakeEngine

PACKAGE = """
variable "v" { default = "" }
resource "terraform_data" "a" { input = var.v }
output "v" { value = terraform_data.a.output }
output "path" { value = path.module }
"""
OWN_LOCAL = 'terraform {\n  backend "local" {\n    path = "own.tfstate"\n  }\n}\n'

ReadOnly = Callable[[Path], contextlib.AbstractContextManager[None]]


@pytest.mark.real_engine
def test_a_package_in_json_alone(hereya: Driver, make_package: MakePackage) -> None:
    document = {
        "//": "written by a machine",
        "terraform": [{"backend": {"local": {"path": "own.tfstate"}}}],
        "variable": {
            "v": {"type": "list(string)"},
            "secret": {"sensitive": True, "default": "hidden-default"},
        },
        "resource": {"terraform_data": {"a": {"input": "${var.v}"}}},
        "output": {"v": {"value": "${terraform_data.a.output}"}},
    }
    package = make_package({"main.tf.json": json.dumps(document)})

    result = hereya.provision(
        package, "-p", 'v:=["${x}"]', "-p", "secret=word-of-the-day", "--engine-messages"
    )

    # The type is known: a text for a list is decoded, and the secret is one.
    assert succeeded(result)["env"] == {"v": '["${x}"]'}
    assert read_state(package / "own.tfstate") == {"v": ["${x}"]}
    assert "word-of-the-day" not in result.stdout + result.stderr
    undeclared = hereya.provision(package, "-p", "w=1")
    assert failure(undeclared)[:2] == (3, "bad-input")
    assert succeeded(hereya.destroy(package, "-e", 'v=["x"]'))["changes"]["destroy"] == 1


class Machine:
    """A machine that has the fake engine under the names of real ones."""

    def __init__(self, cli: CommandLine, fake_engine: FakeEngine, directory: Path) -> None:
        self.cli = cli
        self.programs = directory / "programs"
        self.programs.mkdir()
        self._fake_engine = fake_engine

    def has(self, name: str, version: str) -> None:
        """Under this name, it answers with this version; it succeeds at everything."""
        changes = {"add": 0, "change": 0, "remove": 0, "operation": "apply"}
        done = [{"message": {"type": "change_summary", "changes": changes}}]
        scenario = self.programs / f"{name}.json"
        scenario.write_text(json.dumps({"version": [{"stdout": f"{version}\n"}], "apply": done}))
        program = self.programs / name
        program.write_text(f'#!/bin/sh\nFAKE_ENGINE_SCENARIO={scenario} exec {self._fake_engine.path} "$@"\n')
        program.chmod(0o755)

    def provision(self, package: Path, *arguments: str) -> Result:
        path = f"{self.programs}{os.pathsep}/usr/bin{os.pathsep}/bin"
        return self.cli("provision", package, "--yes", "--json", *arguments, env={"PATH": path})


@pytest.fixture
def machine(cli: CommandLine, fake_engine: FakeEngine, tmp_path: Path) -> Machine:
    """A machine with Terraform."""
    machine = Machine(cli, fake_engine, tmp_path)
    machine.has("terraform", "Terraform v1.11.4")
    return machine


def engine(result: Result) -> str:
    succeeded(result)
    return str(result.result["engine"]["name"])


@pytest.mark.parametrize("name", ["main.tofu", "main.tofu.json"])
def test_a_package_for_opentofu_alone(machine: Machine, make_package: MakePackage, name: str) -> None:
    package = make_package({name: "{}" if name.endswith("json") else 'variable "v" {}\n'})

    missing = machine.provision(package)
    code, failure_class, sentence = failure(missing)
    assert (code, failure_class, steps(missing)) == (5, "engine-unavailable", [])
    assert sentence.startswith("`*.tofu` asks for OpenTofu; there is none here, and none can be had: ")

    refused = machine.provision(package, "--engine", "terraform")
    assert failure(refused) == (
        3,
        "bad-package",
        f"`{package}` holds configuration for OpenTofu alone (*.tofu), which Terraform does not read",
    )
    hint = "name OpenTofu, which is installed where it is missing: `--engine tofu`"
    assert (refused.result["failure"]["hint"], steps(refused)) == (hint, [])
    assert names(package) == [name]

    machine.has("tofu", "OpenTofu v1.9.0")

    # There is nothing to choose between, with Terraform first on PATH as well.
    assert engine(machine.provision(package)) == "opentofu"
    assert failure(machine.provision(package, "-p", "w=1"))[:2] == (3, "bad-input")


@pytest.mark.behaviour("T15")
def test_a_package_for_opentofu_alone_with_terraforms_lock_file_is_refused(
    machine: Machine, make_package: MakePackage
) -> None:
    lock_file = 'provider "registry.terraform.io/hashicorp/null" {\n  version = "3.2.3"\n}\n'
    package = make_package({"main.tofu": "", ".terraform.lock.hcl": lock_file})
    machine.has("tofu", "OpenTofu v1.9.0")

    refused = machine.provision(package)

    assert failure(refused)[:2] == (3, "engine-mismatch")
    assert ((package / ".terraform.lock.hcl").read_text(), steps(refused)) == (lock_file, [])
    assert engine(machine.provision(package, "--engine", "tofu")) == "opentofu"


def test_of_two_files_of_one_name_each_engine_has_its_own(
    machine: Machine, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": 'variable "terraforms" {}\n', "main.tofu": 'variable "tofus" {}\n'})
    machine.has("tofu", "OpenTofu v1.9.0")
    known = {
        (wish, name): machine.provision(package, "--engine", wish, "-p", f"{name}=1").exit_code == 0
        for wish in ("terraform", "tofu")
        for name in ("terraforms", "tofus")
    }

    assert known == {
        ("terraform", "terraforms"): True,
        ("terraform", "tofus"): False,
        ("tofu", "terraforms"): False,
        ("tofu", "tofus"): True,
    }
    assert engine(machine.provision(package)) == "terraform"


@pytest.mark.real_engine
def test_files_of_opentofu_beside_its_own_do_not_disturb_terraform(
    hereya: Driver, make_package: MakePackage
) -> None:
    if "OpenTofu" in hereya.plain(Path("/"), "version"):
        pytest.skip("OpenTofu reads them")
    package = make_package({"main.tf": PACKAGE, "main.tofu": 'output "tofu" { value = 1 }\n'})

    assert succeeded(hereya.provision(package, "-p", "v=1"))["env"] == {"v": "1", "path": "."}


@pytest.mark.real_engine
def test_a_module_beside_the_package_is_seen_when_it_changes(
    hereya: Driver, make_package: MakePackage
) -> None:
    call = 'module "x" { source = "../../modules/x" }\noutput "o" { value = module.x.o }\n'
    repository = make_package(
        {
            "stacks/app/main.tf": call,
            "modules/x/main.tf": 'module "y" { source = "../y" }\noutput "o" { value = module.y.o }\n',
            "modules/y/main.tf": 'output "o" { value = "1" }\n',
        }
    )
    package = repository / "stacks/app"

    def provisioned() -> tuple[str, list[str]]:
        result = hereya.provision(package)
        return succeeded(result)["env"]["o"], steps(result)

    assert provisioned() == ("1", ["init", "apply"])
    assert provisioned() == ("1", ["apply"])
    # The module's own module, two directories away.
    (repository / "modules/y/main.tf").write_text('output "o" { value = "2" }\n')
    assert provisioned() == ("2", ["init", "apply"])
    (repository / "modules/x/more.tf").write_text('module "z" { source = "../z" }\n')
    (repository / "modules/z").mkdir()
    (repository / "modules/z/main.tf").write_text("")
    assert provisioned() == ("2", ["init", "apply"])
    assert provisioned() == ("2", ["apply"])
    # A file that no engine reads is no reason.
    (repository / "modules/y/README.md").write_text("# y\n")
    assert provisioned() == ("2", ["apply"])


@pytest.mark.real_engine
def test_a_repository_that_moved_is_initialised_again(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    files = {"app/main.tf": 'module "x" { source = "../x" }\n' + PACKAGE, "x/main.tf": ""}
    repository = make_package(files)
    first = hereya.provision(repository / "app", "-p", "v=1")
    moved = tmp_path / "moved"
    repository.rename(moved)

    second = hereya.provision(moved / "app", "-p", "v=1")

    assert [succeeded(run)["changes"]["add"] for run in (first, second)] == [1, 0]
    assert steps(second) == ["init", "apply"]


@pytest.mark.real_engine
def test_a_link_to_a_package_is_that_package(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    module = {"app/main.tf": PACKAGE + 'module "x" { source = "../x" }\n', "x/main.tf": ""}
    package = make_package(module) / "app"
    link = tmp_path / "elsewhere/link"
    link.parent.mkdir()
    link.symlink_to(package, target_is_directory=True)

    through = hereya.provision(link, "-p", "v=1")
    directly = hereya.provision(package, "-p", "v=1")
    inside = hereya.provision(Path(), "-p", "v=1", cwd=link)

    assert [succeeded(run)["changes"]["add"] for run in (through, directly, inside)] == [1, 0, 0]
    # One package, one lock; and what init made for one is good for the others.
    assert len({run.events[0]["key"] for run in (through, directly, inside)}) == 1
    assert [skipped(run) for run in (directly, inside)] == [["init"], ["init"]]


STRANGE = [
    "two words",
    'it\'s "quoted" `here` $HOME ${x}',
    "größe-日本-🚀",
    "-leading",
    "a*b?[c]",
    "new\nline",
]


@pytest.mark.real_engine
@pytest.mark.parametrize("name", STRANGE)
@pytest.mark.parametrize("state", [False, True], ids=["own state", "generated backend"])
def test_a_directory_may_have_any_name(
    hereya: Driver, make_package: MakePackage, name: str, state: bool
) -> None:
    parent = make_package({f"{name}/main.tf": PACKAGE, f"{name}/x.tfvars": 'v = "1"\n'})
    more: tuple[str | Path, ...] = ("--state", parent / f"{name}.tfstate") if state else ()
    always = ("--yes", "--json", "--engine", hereya.wish)
    # As it is typed by somebody who stands beside it; a dash in front needs `./`, or `--` before it.
    named = f"./{name}" if name.startswith("-") else name

    result = hereya.cli("provision", named, *always, "--var-file", f"./{name}/x.tfvars", *more, cwd=parent)
    again = hereya.destroy(parent / name, *more)

    assert succeeded(result)["env"] == {"v": "1", "path": "."}
    assert (result.result["package"], succeeded(again)["changes"]["destroy"]) == (str(parent / name), 1)


@pytest.mark.real_engine
def test_a_leading_dash_after_two_dashes_is_a_directory(hereya: Driver, make_package: MakePackage) -> None:
    parent = make_package({"-p/main.tf": PACKAGE})

    result = hereya.cli("provision", "--yes", "--json", "--engine", hereya.wish, "--", "-p", cwd=parent)

    assert succeeded(result)["env"] == {"v": "", "path": "."}


@pytest.mark.real_engine
@pytest.mark.parametrize("block", ['backend "local" {}', 'backend "local" {\n    path = "own.tfstate"\n  }'])
def test_a_local_backend_of_the_packages_own(hereya: Driver, make_package: MakePackage, block: str) -> None:
    package = make_package({"main.tf": PACKAGE + f"terraform {{\n  {block}\n}}\n"})
    state = package / ("own.tfstate" if "path" in block else "terraform.tfstate")

    assert succeeded(hereya.provision(package, "-p", "v=1"))["changes"]["add"] == 1

    assert read_state(state)["v"] == "1"
    assert hereya.outputs(package)["v"] == "1"
    assert succeeded(hereya.destroy(package))["env"]["v"] == "1"


@pytest.mark.real_engine
@pytest.mark.behaviour("T10", "T13")
@pytest.mark.parametrize("name", ["override.tf", "zz_override.tf", "zzz_override.tf.json", "a_override.tf"])
def test_override_files_of_the_users_own_count(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, name: str
) -> None:
    if name.endswith("json"):
        override: str = json.dumps(
            {"variable": {"v": {"type": "list(string)"}}, "terraform": OVERRIDE_BACKEND}
        )
    else:
        override = 'variable "v" { type = list(string) }\n' + OWN_LOCAL
    package = make_package({"main.tf": PACKAGE.replace(' default = "" ', ""), name: override})

    # The type is the override's, and so is the backend.
    assert succeeded(hereya.provision(package, "-p", 'v=["a"]'))["env"]["v"] == '["a"]'
    assert read_state(package / "own.tfstate")["v"] == ["a"]

    generated = hereya.provision(package, "--state", tmp_path / "x.tfstate", "-p", 'v=["b"]')

    if name.startswith("zz"):
        # It is read after ours: the run would have worked on the package's own state.
        assert failure(generated) == (
            3,
            "bad-package",
            f"`{package / name}` has a `local` backend, and is read after the generated one,"
            " `zz_hereya_tf_override.tf`",
        )
        assert (steps(generated), (tmp_path / "x.tfstate").exists()) == ([], False)
    else:
        succeeded(generated)
        assert read_state(tmp_path / "x.tfstate")["v"] == ["b"]
    assert read_state(package / "own.tfstate")["v"] == ["a"]


OVERRIDE_BACKEND = {"backend": {"local": {"path": "own.tfstate"}}}


@pytest.fixture
def read_only() -> ReadOnly:
    """Makes a directory and all below it read-only for a time."""

    @contextlib.contextmanager
    def by_mount(directory: Path) -> Iterator[None]:
        for command in (("--bind", directory, directory), ("-o", "remount,bind,ro", directory)):
            done = subprocess.run(("mount", *command), capture_output=True, text=True)
            if done.returncode != 0:
                pytest.skip(f"nothing can be mounted here: {done.stderr}")
        try:
            yield
        finally:
            subprocess.run(("umount", "-l", directory), check=True)

    @contextlib.contextmanager
    def by_mode(directory: Path) -> Iterator[None]:
        everything = [directory, *directory.rglob("*")]
        modes = {path: path.stat().st_mode for path in everything}
        for path in everything:
            path.chmod(modes[path] & ~0o222)
        try:
            yield
        finally:
            for path, mode in modes.items():
                path.chmod(mode)

    # Root may write in spite of any mode.
    if os.geteuid() != 0:
        return by_mode
    if sys.platform != "linux":
        pytest.skip("root needs a mount to be kept from writing")
    return by_mount


def elsewhere(tmp_path: Path) -> dict[str, str]:
    return {"TF_DATA_DIR": str(tmp_path / "data")}


PARTIAL = PACKAGE + 'terraform {\n  backend "local" {}\n}\n'


@pytest.mark.real_engine
def test_a_read_only_checkout_whose_state_and_data_are_elsewhere(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, read_only: ReadOnly
) -> None:
    package = make_package({"main.tf": PARTIAL})
    state = ("--backend-config", f"path={tmp_path}/x.tfstate")

    with read_only(package):
        first = hereya.provision(package, *state, "-p", "v=1", env=elsewhere(tmp_path))
        second = hereya.provision(package, *state, "-p", "v=1", env=elsewhere(tmp_path))
        destroyed = hereya.destroy(package, *state, env=elsewhere(tmp_path))

    assert [succeeded(run)["changes"]["add"] for run in (first, second)] == [1, 0]
    assert (steps(second), succeeded(destroyed)["env"]["v"]) == (["apply"], "1")
    assert names(package) == ["main.tf"]


@pytest.mark.real_engine
@pytest.mark.parametrize(
    ("more", "classes", "hint"),
    [
        pytest.param((), ("engine-error", "state-not-saved"), "writable", id="own state"),
        pytest.param(("--state", "STATE"), ("bad-package",), "a copy of it will do", id="generated backend"),
    ],
)
@pytest.mark.parametrize("data", ["own", "elsewhere"])
def test_a_read_only_checkout_that_cannot_work_says_why(
    hereya: Driver,
    make_package: MakePackage,
    tmp_path: Path,
    read_only: ReadOnly,
    more: tuple[str, ...],
    classes: tuple[str, ...],
    hint: str,
    data: str,
) -> None:
    package = make_package({"main.tf": PACKAGE + 'module "x" { source = "./x" }\n', "x/main.tf": ""})
    arguments = [str(tmp_path / "x.tfstate") if word == "STATE" else word for word in more]
    env: Mapping[str, str] = elsewhere(tmp_path) if data == "elsewhere" else {}

    with read_only(package):
        result = hereya.provision(package, *arguments, env=env)

    assert failure(result)[1] in classes
    assert (
        "read-only file system" in result.result["reason"].lower() or "permission" in result.result["reason"]
    )
    assert hint in result.result["failure"]["hint"]
    assert names(package) == ["main.tf", "x"]
    assert result.result["changes"]["add"] == 0


def document(file: Path) -> Any:
    return json.loads(file.read_bytes())


@pytest.mark.real_engine
def test_a_read_only_checkout_initialised_before_goes_on(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, read_only: ReadOnly
) -> None:
    package = make_package({"main.tf": PARTIAL})
    state = ("--backend-config", f"path={tmp_path}/x.tfstate")
    succeeded(hereya.provision(package, *state, "-p", "v=1"))

    with read_only(package):
        result = hereya.provision(package, *state, "-p", "v=2")

    # Terraform 1.15 reads variables at init; that has nothing to write either.
    assert (succeeded(result)["changes"]["change"], steps(result)[-1]) == (1, "apply")
    assert document(tmp_path / "x.tfstate")["outputs"]["v"]["value"] == "2"


@pytest.mark.real_engine
def test_a_copy_of_an_initialised_package_is_a_package(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + 'module "x" { source = "./x" }\n', "x/main.tf": ""})
    succeeded(hereya.provision(package, "-p", "v=1"))
    copy = shutil.copytree(package, tmp_path / "copy", symlinks=True)

    result = hereya.provision(copy, "-p", "v=1")

    assert (succeeded(result)["changes"]["add"], steps(result)) == (0, ["init", "apply"])
