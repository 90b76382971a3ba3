"""Engines that cannot do all that newer ones can: what is refused, what is done another way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine

APPLIED = scenes.applied(add=1)
DESTROYED = [
    scenes.message("change_summary", changes={"add": 0, "change": 0, "remove": 0, "operation": "destroy"})
]
# A package with a state of its own, which a generated backend must not be given.
STATE = {"terraform.tfstate": '{"version": 4, "serial": 1, "lineage": "x", "outputs": {}, "resources": []}'}

Old = Callable[..., FakeEngine]


@pytest.fixture
def old(fake_engine: FakeEngine) -> Old:
    """The fake engine as some other version: `old("Terraform v0.15.3", init=[…])`."""

    def become(answer: str, **plays: Any) -> FakeEngine:
        fake_engine.plays({"version": [{"stdout": f"{answer}\non linux_amd64\n"}], **plays})
        return fake_engine

    return become


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": 'variable "name" { default = "" }\n'})


def refusal(result: Result) -> tuple[int, str, str, str]:
    failure = result.result["failure"]
    return result.exit_code, failure["class"], result.result["reason"], failure["hint"]


def argv(engine: FakeEngine, command: str) -> list[str]:
    (start,) = engine.records("start", command=command)
    return [word for word in start["argv"][1:] if not word.startswith("-backend-config")]


def test_an_engine_without_messages_is_refused(cli: CommandLine, package: Path, old: Old) -> None:
    engine = old("Terraform v0.15.2")

    result = cli("provision", package, "--yes", "--json", "--engine", engine.path)

    assert refusal(result) == (
        5,
        "engine-unsupported",
        f"`{engine.path}` is Terraform 0.15.2, and `apply -json` needs 0.15.3 or newer",
        "install a newer Terraform, or name another one with `--engine PATH`",
    )
    assert engine.commands() == []


@pytest.mark.behaviour("T1")
@pytest.mark.behaviour("T2")
def test_the_oldest_that_has_messages_provisions(cli: CommandLine, package: Path, old: Old) -> None:
    engine = old("Terraform v0.15.3", apply=APPLIED)

    result = cli("provision", package, "--yes", "--json", "--engine", engine.path)

    assert (result.exit_code, result.result["engine"]["version"]) == (0, "0.15.3")
    assert argv(engine, "init") == ["init", "-input=false", "-no-color"]
    assert argv(engine, "apply")[:3] == ["apply", "-json", "-auto-approve"]


@pytest.mark.parametrize(
    ("answer", "with_json"),
    [
        ("Terraform v0.15.3", False),
        ("Terraform v1.8.5", False),
        ("Terraform v1.9.0-rc1", True),
        ("OpenTofu v1.6.3", False),
        ("OpenTofu v1.7.0", True),
    ],
)
@pytest.mark.behaviour("T1")
def test_what_init_says_in_words_is_understood_as_well(
    cli: CommandLine, package: Path, old: Old, answer: str, with_json: bool
) -> None:
    summary = "Failed to query available provider packages"
    detail = "Could not retrieve the list of available versions for provider a/b: no available releases match"
    human = [{"stderr": f"\nError: {summary}\n\n{detail}\nthe given constraints\n\n"}, {"exit": 1}]
    message = scenes.message(
        "diagnostic", diagnostic={"severity": "error", "summary": summary, "detail": detail}
    )
    engine = old(answer, init=[{**message}, {"exit": 1}] if with_json else human)

    result = cli("provision", package, "--yes", "--json", "--engine", engine.path)

    assert (result.exit_code, result.result["failure"]["class"]) == (1, "provider-unavailable")
    assert ("-json" in argv(engine, "init"), engine.commands()) == (with_json, ["init"])


@pytest.mark.parametrize("answer", ["Terraform v0.15.3", "Terraform v0.15.5", "Terraform v1.0.2"])
def test_drift_that_an_engine_would_not_tell_is_not_looked_for(
    cli: CommandLine, package: Path, old: Old, answer: str
) -> None:
    engine = old(answer, plan=scenes.planned(add=0))

    result = cli("drift", package, "--json", "--engine", engine.path)

    assert refusal(result) == (
        5,
        "engine-unsupported",
        f"{answer.replace(' v', ' ')} does not say which resources have drifted",
        "use Terraform 1.0.3 or newer, or OpenTofu",
    )
    assert engine.commands() == []


@pytest.mark.parametrize("answer", ["Terraform v1.0.3", "OpenTofu v1.6.0"])
def test_drift_is_looked_for_where_it_would_be_told(
    cli: CommandLine, package: Path, old: Old, answer: str
) -> None:
    engine = old(answer, plan=scenes.planned(add=0))

    result = cli("drift", package, "--json", "--engine", engine.path)

    assert (result.exit_code, "-refresh-only" in argv(engine, "plan")) == (0, True)


def test_a_state_is_not_copied_without_a_lock(cli: CommandLine, package: Path, old: Old) -> None:
    engine = old("Terraform v1.0.9")

    refused = cli("init", package, "--migrate-state", "--yes", "--json", "--engine", engine.path)

    assert refusal(refused) == (
        5,
        "engine-unsupported",
        "Terraform 1.0.9 copies states without locking them",
        "use Terraform 1.0.10 or newer, or OpenTofu",
    )
    assert engine.commands() == []
    old("Terraform v1.0.10")
    assert cli("init", package, "--migrate-state", "--yes", "--json", "--engine", engine.path).exit_code == 0
    assert {"-migrate-state", "-force-copy", "-lock-timeout=5m"} < set(argv(engine, "init"))


@pytest.mark.parametrize(
    ("answer", "migration"),
    [
        ("Terraform v0.15.3", []),
        ("Terraform v0.15.4", ["-migrate-state"]),
        ("Terraform v1.0.9", ["-migrate-state"]),
        ("Terraform v1.0.10", ["-migrate-state", "-lock=false"]),
        ("OpenTofu v1.6.0", ["-migrate-state", "-lock=false"]),
    ],
)
@pytest.mark.behaviour("T10")
def test_init_is_given_no_option_that_it_does_not_know(
    cli: CommandLine, make_package: MakePackage, tmp_path: Path, old: Old, answer: str, migration: list[str]
) -> None:
    engine = old(answer, apply=APPLIED)
    package = make_package({"main.tf": "", **STATE})
    backend = ("--state", tmp_path / "elsewhere.tfstate", "--backend-config", "workspace_dir=ws")

    result = cli("provision", package, "--yes", "--json", "--engine", engine.path, *backend)

    assert result.exit_code == 0, result.stdout
    assert argv(engine, "init") == ["init", "-input=false", "-no-color", *migration]


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ("Terraform v1.15.5", ["init"]),
        ("OpenTofu v1.7.0", []),
        ("OpenTofu v1.8.0", ["init", "workspace", "output"]),
    ],
)
def test_values_are_given_to_what_may_need_them_for_the_backend(
    cli: CommandLine, make_package: MakePackage, old: Old, answer: str, given: list[str]
) -> None:
    listing = {"workspace list": [{"stdout": "  default\n* blue\n"}]}
    engine = old(answer, destroy=DESTROYED, **listing)
    package = make_package(
        {
            "main.tf": 'terraform {\n  backend "http" {}\n}\nvariable "name" {}\n',
        }
    )
    arguments = ("-w", "blue", "-p", "name=a", "--yes", "--json", "--engine", engine.path)

    result = cli("destroy", package, *arguments)

    assert result.exit_code == 0, result.stdout
    with_values = [
        start["command"].split()[0]
        for start in engine.records("start")
        if any(word.startswith("-var-file=") for word in start["argv"])
    ]
    assert with_values == [*given, "destroy"]


def test_saved_plans_are_shown_with_the_values_that_they_may_be_encrypted_with(
    cli: CommandLine, package: Path, tmp_path: Path, old: Old
) -> None:
    show = [{"stdout": "{}"}]
    engine = old("OpenTofu v1.8.0", plan=scenes.planned(add=1), show=show)

    result = cli(
        *("plan", package, "-p", "name=a", "--plan-json", tmp_path / "plan.json"),
        *("--json", "--engine", engine.path),
    )

    assert result.exit_code == 0, result.stdout
    shown = engine.records("start", command="show")
    assert shown
    for start in shown:
        *_, values, plan = start["argv"]
        assert (values.startswith("-var-file="), Path(plan).name) == (True, "plan.bin")
