"""When a state elsewhere is asked who wrote it, and what becomes of the lock file that init has written by then."""

import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.engine import EngineName
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import provider, scenes
from tests.engine.driving import failure, names, steps, succeeded
from tests.fake_engine import FakeEngine

pytestmark = pytest.mark.behaviour("T15")

ELSEWHERE = {"main.tf": 'terraform {\n  backend "http" {}\n}\nvariable "name" { default = "" }\n'}
LOCK_FILE = ".terraform.lock.hcl"
INIT = [{"write_file": [LOCK_FILE, f'provider "{EngineName.OPENTOFU.registry}/a/b" {{\n}}\n']}]
FOREIGN = [{"stdout": json.dumps(provider.written_by(EngineName.TERRAFORM, "secret"))}]
OWN = [{"stdout": json.dumps(provider.written_by(EngineName.OPENTOFU, "secret"))}]
UNREADABLE = [{"stderr": "Failed to refresh state: try later\n"}, {"exit": 1}]
FAILING = [
    scenes.message("diagnostic", diagnostic={"severity": "error", "summary": "Bad day", "detail": ""}),
    {"exit": 1},
]
LOCAL = {"main.tf": 'terraform {\n  backend "local" {}\n}\n', ".terraform/ready": ""}
WHERE = "--backend-config=path=elsewhere.tfstate"
SAVED = {"version": 3, "backend": {"type": "local", "config": {"path": "elsewhere.tfstate"}, "hash": 1}}
INIT_LOCAL = [*INIT, {"write_file": [".terraform/terraform.tfstate", json.dumps(SAVED)]}]
WORKSPACES = [{"stdout": "* default\n  blue\n"}]

Tofu = Callable[..., CommandLine]


@pytest.fixture
def tofu(cli: CommandLine, fake_engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tofu:
    """`hereya-tf` where all that can be found is the fake engine, which says that it is OpenTofu."""

    def play(*, version: str = "1.8.0", **plays: Any) -> CommandLine:
        commands = {name.replace("_", " "): actions for name, actions in plays.items()}
        answer = [{"stdout": f"OpenTofu v{version}\non linux_amd64\n"}]
        fake_engine.plays({"version": answer, "init": INIT, "apply": scenes.applied(), **commands})
        return cli

    directory = tmp_path / "path"
    directory.mkdir()
    (directory / "tofu").symlink_to(fake_engine.path)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return play


def step_of(result: Result, name: str) -> list[bool]:
    """Whether each attempt at a step went well."""
    return [
        event["ok"] for event in result.events if event["type"] == "step_finished" and event["step"] == name
    ]


@pytest.mark.parametrize("operation", ["provision", "destroy", "plan", "drift"])
def test_what_may_write_looks_at_the_state_also_where_init_writes_no_lock_file(
    tofu: Tofu, make_package: MakePackage, operation: str
) -> None:
    package = make_package(ELSEWHERE)

    result = tofu(init=[], state_pull=FOREIGN)(operation, package, "--yes", "--json")

    assert (failure(result)[:2], steps(result)) == ((3, "engine-mismatch"), ["init", "state"])


def test_a_lock_file_that_says_nothing_is_nobodys_to_remove(tofu: Tofu, make_package: MakePackage) -> None:
    files = {**ELSEWHERE, LOCK_FILE: 'provider "example.com/a/b" {\n}\n'}
    package = make_package(files)

    result = tofu(init=[], state_pull=FOREIGN)("provision", package, "--yes", "--json")

    assert (failure(result)[1], steps(result)) == ("engine-mismatch", ["init", "state"])
    assert (package / LOCK_FILE).read_text() == files[LOCK_FILE]


def test_what_keeps_the_state_from_being_read_is_no_failure_by_itself(
    tofu: Tofu, make_package: MakePackage
) -> None:
    package = make_package(ELSEWHERE)

    result = tofu(state_pull=UNREADABLE)("provision", package, "--yes", "--json")

    assert (steps(result), step_of(result, "state")) == (["init", "state", "apply"], [False])
    assert succeeded(result)["failure"] is None
    assert LOCK_FILE in names(package)


def test_the_step_that_was_asked_for_says_what_is_wrong_and_leaves_no_evidence(
    tofu: Tofu, make_package: MakePackage
) -> None:
    package = make_package(ELSEWHERE)

    result = tofu(state_pull=UNREADABLE, apply=FAILING)("provision", package, "--yes", "--json")

    assert failure(result)[0] == 1
    assert [found["summary"] for found in result.result["failure"]["diagnostics"]] == ["Bad day"]
    assert names(package) == ["main.tf"]


def test_a_failure_after_a_look_at_the_state_keeps_the_lock_file(
    tofu: Tofu, make_package: MakePackage
) -> None:
    package = make_package(ELSEWHERE)

    result = tofu(state_pull=OWN, apply=FAILING)("provision", package, "--yes", "--json")

    assert (failure(result)[0], steps(result)) == (1, ["init", "state", "apply"])
    assert names(package) == [LOCK_FILE, "main.tf"]


def test_a_run_that_is_cancelled_before_it_has_looked_leaves_no_evidence(
    tofu: Tofu, make_package: MakePackage
) -> None:
    package = make_package(ELSEWHERE)
    pull = [{"touch": "looking"}, {"wait_for_file": "never"}]
    running = tofu(state_pull=pull).start("provision", package, "--yes", "--json")
    scenes.wait_for_file(package / "looking")
    assert (package / LOCK_FILE).exists()

    running.send_signal(signal.SIGINT)

    ended = running.finish()
    assert (ended.exit_code, ended.result["status"]) == (130, "cancelled")
    assert names(package) == ["looking", "main.tf"]


def test_a_state_that_only_another_init_brings_within_reach_is_looked_at_after_it(
    tofu: Tofu, make_package: MakePackage
) -> None:
    package = make_package(ELSEWHERE)
    nothing: list[Any] = []
    needs_init = [
        scenes.message(
            "diagnostic",
            diagnostic={"severity": "error", "summary": "Missing required provider", "detail": ""},
        ),
        {"exit": 1},
    ]
    hereya_tf = tofu(
        init=[nothing, INIT],
        state_pull=[OWN, UNREADABLE, FOREIGN],
        apply=[scenes.applied(), needs_init],
    )
    succeeded(hereya_tf("provision", package, "--yes", "--json"))

    result = hereya_tf("provision", package, "--yes", "--json")

    assert (failure(result)[:2], step_of(result, "state")) == ((3, "engine-mismatch"), [False, True])
    assert steps(result) == ["state", "apply", "init", "state"]
    assert names(package) == ["main.tf"]


def test_a_workspace_is_not_asked_for_its_state_before_it_is_known_to_exist(
    tofu: Tofu, make_package: MakePackage, fake_engine: FakeEngine
) -> None:
    package = make_package(ELSEWHERE)
    hereya_tf = tofu(state_pull=FOREIGN, workspace_list=WORKSPACES)

    ghost = hereya_tf("provision", package, "-w", "ghost", "--yes", "--json")

    assert (failure(ghost)[1], fake_engine.commands()) == ("workspace-unknown", ["init", "workspace list"])
    assert names(package) == ["main.tf"]
    known = hereya_tf("provision", package, "-w", "blue", "--yes", "--json")
    assert (failure(known)[1], steps(known)) == ("engine-mismatch", ["init", "workspace", "state"])
    before = len(fake_engine.commands())
    read = hereya_tf("output", package, "-w", "blue")
    asked = ["init", "workspace list", "state pull"]
    assert (read.exit_code, fake_engine.commands()[before:]) == (3, asked)
    assert names(package) == ["main.tf"]


def test_a_workspace_that_is_to_be_created_is_not_asked_by_an_init(
    tofu: Tofu, make_package: MakePackage, fake_engine: FakeEngine
) -> None:
    package = make_package(ELSEWHERE)

    result = tofu(state_pull=FOREIGN)("init", package, "-w", "new", "--create-workspace", "--json")

    succeeded(result)
    assert fake_engine.commands() == ["init"]


@pytest.mark.parametrize("operation", ["output", "tf"])
def test_what_only_reads_looks_at_no_state_when_it_writes_no_lock_file(
    tofu: Tofu, make_package: MakePackage, fake_engine: FakeEngine, operation: str
) -> None:
    package = make_package(ELSEWHERE)
    hereya_tf = tofu(init=[], state_pull=FOREIGN)

    result = hereya_tf(operation, package, *(("--", "output", "-json") if operation == "tf" else ("--json",)))

    assert (result.exit_code, fake_engine.commands()) == (0, ["init", "output"])


@pytest.mark.parametrize("operation", ["output", "tf"])
def test_what_only_reads_looks_when_its_init_writes_a_lock_file(
    tofu: Tofu, make_package: MakePackage, fake_engine: FakeEngine, operation: str
) -> None:
    package = make_package(ELSEWHERE)

    result = tofu(state_pull=FOREIGN)(operation, package, *(("--", "plan") if operation == "tf" else ()))

    assert (result.exit_code, fake_engine.commands()) == (3, ["init", "state pull"])
    assert "the state in the `http` backend was written by Terraform" in result.stderr
    assert names(package) == ["main.tf"]


@pytest.mark.parametrize(
    ("files", "options"),
    [
        pytest.param({"main.tf": ""}, (), id="no backend"),
        pytest.param({**ELSEWHERE, LOCK_FILE: INIT[0]["write_file"][1]}, (), id="a lock file"),
        pytest.param(ELSEWHERE, ("--engine", "tofu"), id="a named engine"),
        pytest.param(ELSEWHERE, ("--state", "x.tfstate"), id="a generated local backend"),
    ],
)
def test_no_state_is_looked_at_where_it_can_tell_nothing_new(
    tofu: Tofu, make_package: MakePackage, files: dict[str, str], options: tuple[str, ...]
) -> None:
    result = tofu(state_pull=FOREIGN)("provision", make_package(files), "--yes", "--json", *options)

    assert steps(result) == ["init", "apply"]
    succeeded(result)


def test_a_host_that_the_package_writes_out_says_nothing_in_a_state_elsewhere(
    tofu: Tofu, make_package: MakePackage
) -> None:
    explicit = provider.PROVIDERS
    assert EngineName.TERRAFORM.registry in explicit
    package = make_package({**ELSEWHERE, "providers.tf": explicit})

    result = tofu(state_pull=FOREIGN)("provision", package, "--yes", "--json")

    assert steps(result) == ["init", "state", "apply"]
    succeeded(result)


def test_a_local_backend_of_the_packages_own_may_be_anywhere(tofu: Tofu, make_package: MakePackage) -> None:
    package = make_package(LOCAL)
    (package / "elsewhere.tfstate").write_text(FOREIGN[0]["stdout"])

    result = tofu(init=INIT_LOCAL)("provision", package, WHERE, "--yes", "--json")

    assert (failure(result)[:2], steps(result)) == ((3, "engine-mismatch"), ["init"])
    assert names(package) == [".terraform", "elsewhere.tfstate", "main.tf"]
    assert failure(result)[2].startswith("the state in the `local` backend was written by Terraform")


@pytest.mark.parametrize("state", [None, OWN[0]["stdout"]], ids=["no state yet", "its own"])
def test_a_local_state_that_nobody_else_wrote_is_no_reason_to_ask_an_engine(
    tofu: Tofu, make_package: MakePackage, state: str | None
) -> None:
    package = make_package(LOCAL)
    if state is not None:
        (package / "elsewhere.tfstate").write_text(state)

    result = tofu(init=INIT_LOCAL)("provision", package, WHERE, "--yes", "--json")

    assert steps(result) == ["init", "apply"]
    succeeded(result)


@pytest.mark.parametrize(
    ("init", "state"),
    [
        pytest.param(INIT_LOCAL, '{"encrypted_data": "secret", "meta": {}}', id="encrypted"),
        pytest.param(INIT, None, id="init has not said where it is"),
    ],
)
def test_a_local_state_that_only_an_engine_can_read_is_read_by_one(
    tofu: Tofu, make_package: MakePackage, init: list[Any], state: str | None
) -> None:
    package = make_package(LOCAL)
    if state is not None:
        (package / "elsewhere.tfstate").write_text(state)

    result = tofu(init=init, state_pull=FOREIGN)("provision", package, WHERE, "--yes", "--json")

    assert (failure(result)[1], steps(result)) == ("engine-mismatch", ["init", "state"])


@pytest.mark.parametrize(("version", "takes_values"), [("1.7.0", False), ("1.8.0", True)])
def test_values_are_given_where_the_state_may_be_encrypted_with_them(
    tofu: Tofu, make_package: MakePackage, fake_engine: FakeEngine, version: str, takes_values: bool
) -> None:
    package = make_package(ELSEWHERE)

    result = tofu(version=version, state_pull=OWN)("plan", package, "-p", "name=a", "--json")

    (start,) = fake_engine.records("start", command="state pull")
    assert start["argv"][1:4] == ["state", "pull", "-no-color"]
    assert any(word.startswith("-var-file=") for word in start["argv"]) is takes_values
    assert "secret" not in result.stdout + result.stderr
