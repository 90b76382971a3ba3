"""Guards on a real engine: what is refused changes nothing, what is allowed is done exactly as it was planned."""

import json
import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cloud_service import CloudService
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import provider, scenes
from tests.engine.driving import Driver, failure, steps, succeeded
from tests.engine.guarding import MANY, ONE_LESS, PACKAGE, policy, provisioned, refused, state
from tests.engine.scenes import resources, state_directory
from tests.engine.terminals import ended, terminals
from tests.fake_engine import FakeEngine

pytestmark = pytest.mark.real_engine


@pytest.fixture
def package(hereya: Driver, make_package: MakePackage) -> Path:
    """A package that has been provisioned."""
    return provisioned(hereya, make_package, PACKAGE)


# What is refused


@pytest.mark.parametrize(
    ("arguments", "failure_class", "sentence"),
    [
        pytest.param(
            (*ONE_LESS, "--max-destroy", "0"), "too-many-destroys",
            "the plan destroys 1 resource, `terraform_data.many[1]`, and `--max-destroy 0` allows none",
            id="a destroy",
        ),
        pytest.param(
            ("-p", "made:=2", "--max-destroy", "1"), "too-many-destroys",
            "the plan destroys 2 resources, `terraform_data.many[0]` and `terraform_data.many[1]`,"
            " and `--max-destroy 1` allows 1",
            id="replaced ones",
        ),
        pytest.param(
            (*ONE_LESS, "--protect", "terraform_data.many"), "protected",
            "the plan destroys `terraform_data.many[1]`, which `--protect terraform_data.many` protects",
            id="protected",
        ),
        pytest.param(
            ("-p", "size:=3", "--expect-no-changes"), "unexpected-changes",
            "the plan changes `terraform_data.many[2]` and output `size`,"
            " and `--expect-no-changes` allows no change",
            id="any change",
        ),
        pytest.param(
            ("-p", "size:=3", "--policy", "sh -c 'echo too many; exit 2'"), "policy-denied",
            "the plan is denied by `--policy sh -c 'echo too many; exit 2'` (exit code 2): too many", id="a policy",
        ),
    ],
)  # fmt: skip
def test_a_provision_that_a_guard_refuses_changes_nothing(
    hereya: Driver, package: Path, arguments: tuple[str, ...], failure_class: str, sentence: str
) -> None:
    before = state(package)

    result = hereya.provision(package, *arguments)

    assert refused(result, failure_class) == sentence
    assert state(package) == before
    assert set(result.result["changes"].values()) == {0}
    assert not list(state_directory().rglob("plan*"))


@pytest.mark.parametrize(
    ("arguments", "failure_class"),
    [
        (("--max-destroy", "2"), "too-many-destroys"),
        (("--protect", "*.kept"), "protected"),
        (("--expect-no-changes",), "unexpected-changes"),
        (("--policy", "false"), "policy-denied"),
    ],
    ids=["max-destroy", "protect", "expect-no-changes", "policy"],
)
def test_a_destroy_that_a_guard_refuses_destroys_nothing(
    hereya: Driver, package: Path, arguments: tuple[str, ...], failure_class: str
) -> None:
    before = state(package)

    result = hereya.destroy(package, *arguments)

    refused(result, failure_class)
    assert state(package) == before


def test_all_that_stands_in_the_way_is_told_at_once(hereya: Driver, package: Path) -> None:
    result = hereya.provision(
        package,
        *(
            "-p",
            "size:=1",
            "--max-destroy",
            "0",
            "--protect",
            "*",
            "--expect-no-changes",
            "--policy",
            "false",
        ),
    )

    clauses = refused(result, "protected").split("; ")
    assert [clause.split(" `")[-1].split("`")[0] for clause in clauses] == [
        "--protect *",
        "--max-destroy 0",
        "--expect-no-changes",
        "--policy false",
    ]


# What is allowed


def test_what_is_allowed_is_the_plan_that_was_judged(hereya: Driver, package: Path) -> None:
    result = hereya.provision(
        package, *ONE_LESS, "--max-destroy", "1", "--protect", "*.kept", "--policy", "true"
    )

    assert succeeded(result)["changes"]["destroy"] == 1
    assert [*steps(result)[-4:]] == ["plan", "show", "policy", "apply"]
    argv = next(event["argv"] for event in result.events if event.get("step") == "apply")
    assert argv[-1].endswith("plan.bin")
    assert "-auto-approve" not in argv
    assert result.result["env"] == {"size": "1"}


@pytest.mark.parametrize("guard", [(), ("--max-destroy", "0")], ids=["one step", "two steps"])
@pytest.mark.parametrize("step", ["plan", "apply"])
def test_an_argument_that_shapes_the_plan_counts_with_and_without_guards(
    hereya: Driver, package: Path, guard: tuple[str, ...], step: str
) -> None:
    """The engine takes `-target` beside a saved plan, and applies all of it."""
    target = ("--engine-arg", f"{step}=-target=terraform_data.many[2]")

    result = hereya.provision(package, "-p", "size:=4", *target, *guard)

    assert succeeded(result)["changes"]["add"] == 1


def test_an_argument_that_shapes_the_plan_is_judged_with_it(hereya: Driver, package: Path) -> None:
    before = state(package)

    result = hereya.provision(package, "--engine-arg", "apply=-destroy", "--max-destroy", "0")

    assert "destroys 3 resources" in refused(result, "too-many-destroys")
    assert state(package) == before


def test_a_bundle_is_not_applied_without_an_argument_that_would_do_nothing(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "x.plan"
    succeeded(hereya.start("plan", package, "-p", "size:=3", "--out", bundle).finish())
    words = ("apply", package, bundle, "--engine", hereya.wish, "--engine-arg")

    assert hereya.cli(*words, "apply=-target=secret") == Result(
        64,
        "",
        "error: `--engine-arg apply=-target…` would do nothing: the plan in the bundle says what changes\n"
        "hint: give it when the plan is made: `hereya-tf plan --engine-arg plan=-target…`\n",
    )
    assert hereya.cli(*words, "apply=-parallelism=1").exit_code == 0


def test_a_destroy_may_destroy_so_many(hereya: Driver, package: Path) -> None:
    result = hereya.destroy(package, "--max-destroy", "3", "--protect", "module.*")

    assert (succeeded(result)["changes"]["destroy"], result.result["env"]) == (3, {"size": "2"})
    assert resources(package / "terraform.tfstate") == {}


def test_no_change_passes_where_none_is_expected(hereya: Driver, package: Path) -> None:
    result = hereya.provision(package, "--expect-no-changes", "--max-destroy", "0", "--protect", "*")

    assert set(succeeded(result)["changes"].values()) == {0}
    assert result.result["env"] == {"size": "2"}


def test_what_changes_behind_the_plan_is_not_done(hereya: Driver, package: Path, tmp_path: Path) -> None:
    """The policy stands for anybody who changes the package at that moment."""
    more = 'resource "terraform_data" "later" {}'
    late = policy(tmp_path, f"echo '{more}' >> {package}/main.tf")

    result = hereya.provision(package, *ONE_LESS, "--policy", late)

    assert succeeded(result)["changes"]["add"] == 0
    assert resources(package / "terraform.tfstate") == MANY


@pytest.mark.parametrize("operation", ["provision", "destroy"])
def test_a_state_that_changes_behind_the_plan_makes_it_stale(
    hereya: Driver, package: Path, tmp_path: Path, operation: str
) -> None:
    taint = shlex.join([*hereya.argv, "taint", "terraform_data.kept"])
    late = policy(tmp_path, f"cd {package} && {taint}")

    result = hereya.start(operation, package, *ONE_LESS, "--policy", late).finish()

    assert failure(result)[:2] == (3, "plan-stale"), result.result["reason"]
    assert resources(package / "terraform.tfstate") == {**MANY, "terraform_data.kept": "tainted"}


def test_ephemeral_values_are_given_again_beside_the_others(
    hereya: Driver, make_package: MakePackage
) -> None:
    text = PACKAGE + 'variable "token" {\n  type      = string\n  ephemeral = true\n}\n'
    package = make_package({"main.tf": text})

    result = hereya.provision(package, "-p", "size:=3", "-p", "token=secret-1", "--max-destroy", "0")

    assert succeeded(result)["env"] == {"size": "3"}


# What counts as what


COUNTED = """
module "part" {
  source   = "./part"
  for_each = toset(["a.b", "c"])
}
"""
PART = 'resource "terraform_data" "x" { count = 2 }\n'


@pytest.mark.parametrize(
    ("pattern", "lost"),
    [
        pytest.param("module.part", 2, id="the module"),
        pytest.param('module.part["a.b"]', 2, id="an instance of it"),
        pytest.param("module.part.terraform_data.x[0]", 1, id="an instance in every instance"),
        pytest.param('module.part["c"]', 0, id="the other instance"),
        pytest.param("*b*", 2, id="anything"),
    ],
)
def test_modules_and_their_instances_are_protected(
    hereya: Driver, make_package: MakePackage, pattern: str, lost: int
) -> None:
    package = make_package({"main.tf": COUNTED, "part/main.tf": PART})
    succeeded(hereya.provision(package))
    (package / "main.tf").write_text(COUNTED.replace('"a.b", ', ""))

    result = hereya.provision(package, "--protect", pattern)

    if lost:
        sentence = refused(result, "protected")
        assert sentence.count('`module.part["a.b"].terraform_data.x[') == lost
    else:
        assert succeeded(result)["changes"]["destroy"] == 2


BEFORE = """
variable "made" { default = 1 }
resource "terraform_data" "old" {
  triggers_replace = var.made
  lifecycle {
    create_before_destroy = true
  }
}
"""
MOVED = (
    BEFORE.replace('"old"', '"new"') + "moved {\n  from = terraform_data.old\n  to = terraform_data.new\n}\n"
)
REMOVED = """
removed {
  from = terraform_data.old
  lifecycle {
    destroy = false
  }
}
"""


@pytest.mark.parametrize(
    ("text", "arguments", "refusals"),
    [
        pytest.param(
            BEFORE, ("-p", "made:=2"), ("too-many-destroys", "protected", "unexpected-changes"),
            id="created before destroyed",
        ),
        pytest.param(MOVED, (), (None, None, "unexpected-changes"), id="moved"),
        pytest.param(
            MOVED, ("-p", "made:=2"), ("too-many-destroys", "protected", "unexpected-changes"),
            id="moved and replaced",
        ),
        pytest.param(REMOVED, (), (None, "protected", "unexpected-changes"), id="forgotten"),
        pytest.param("", (), ("too-many-destroys", "protected", "unexpected-changes"), id="gone"),
    ],
)  # fmt: skip
def test_what_counts_for_which_guard(
    hereya: Driver,
    make_package: MakePackage,
    text: str,
    arguments: tuple[str, ...],
    refusals: tuple[str | None, ...],
) -> None:
    package = provisioned(hereya, make_package, BEFORE)
    before = state(package)
    (package / "main.tf").write_text(text)
    guards = (("--max-destroy", "0"), ("--protect", "terraform_data.old"), ("--expect-no-changes",))

    for guard, failure_class in zip(guards, refusals, strict=True):
        result = hereya.start("plan", package, *arguments, *guard).finish()
        if failure_class is None:
            succeeded(result)
        else:
            refused(result, failure_class)

    assert state(package) == before


def test_an_object_that_is_left_of_a_replacement_counts(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, providers: Path
) -> None:
    lifecycle = "lifecycle {\n    create_before_destroy = true\n  }\n}\n"

    def text(path: str, **more: str) -> str:
        record = provider.record("a", tmp_path / path, **more).removesuffix("}\n")
        return f"{provider.PROVIDERS}{record}  {lifecycle}"

    package = provisioned(hereya, make_package, text("one", content="x", fail="delete"))
    (package / "main.tf").write_text(text("two", content="x", fail="delete"))
    assert hereya.provision(package).exit_code == 1

    result = hereya.provision(package, "--max-destroy", "0")

    assert "destroys 1 resource, `file_record.a` (deposed `" in refused(result, "too-many-destroys")
    assert "`file_record.a` (deposed" in refused(
        hereya.provision(package, "--protect", "file_record.a"), "protected"
    )


def test_drift_that_no_plan_sets_right_is_no_change(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, providers: Path
) -> None:
    package = provisioned(
        hereya, make_package, provider.PROVIDERS + provider.record("a", tmp_path / "file", content="x")
    )
    provider.change(tmp_path / "file", token="token-of-another")

    succeeded(hereya.provision(package, "--expect-no-changes"))
    provider.change(tmp_path / "file", content="y")

    assert "`file_record.a`" in refused(
        hereya.provision(package, "--expect-no-changes"), "unexpected-changes"
    )


# Plans and bundles


def test_a_plan_that_a_guard_refuses_is_shown_and_kept_nowhere(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    bundle, document, text = tmp_path / "x.plan", tmp_path / "plan.json", tmp_path / "plan.txt"

    planned = hereya.cli(
        *("plan", package, "--engine", hereya.wish, *ONE_LESS, "--max-destroy", "0"),
        *("--out", bundle, "--plan-json", document, "--plan-text", text, "--detailed-exitcode"),
    )

    assert planned.exit_code == 8
    assert "# terraform_data.many[1] will be destroyed" in planned.stdout
    assert "Plan: 0 to add, 0 to change, 1 to destroy" in planned.stdout
    assert "error: the plan destroys 1 resource, `terraform_data.many[1]`" in planned.stderr
    assert "is kept in" not in planned.stderr
    assert not bundle.exists()
    assert (document.read_text(), text.read_text()) == ("", "")


def test_a_plan_that_is_refused_says_in_json_what_it_would_do(hereya: Driver, package: Path) -> None:
    result = hereya.start("plan", package, *ONE_LESS, "--max-destroy", "0").finish()

    refused(result, "too-many-destroys")
    assert result.result["changes"]["destroy"] == 1


def test_a_plan_that_is_allowed_is_kept(hereya: Driver, package: Path, tmp_path: Path) -> None:
    bundle, document = tmp_path / "x.plan", tmp_path / "plan.json"

    succeeded(
        hereya.start(
            "plan",
            package,
            "--max-destroy",
            "0",
            "--policy",
            "true",
            "--out",
            bundle,
            "--plan-json",
            document,
        ).finish()
    )

    assert bundle.exists()
    assert "resource_changes" in json.loads(document.read_text())


def test_a_bundle_is_judged_before_it_is_applied(hereya: Driver, package: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "x.plan"
    succeeded(hereya.start("plan", package, *ONE_LESS, "--out", bundle).finish())
    before = state(package)

    def apply(*arguments: str) -> Result:
        return hereya.start("apply", package, bundle, *arguments).finish()

    assert "`terraform_data.many[1]`" in refused(apply("--max-destroy", "0"), "too-many-destroys")
    refused(apply("--protect", "terraform_data.many[1]"), "protected")
    refused(apply("--policy", "false"), "policy-denied")
    assert state(package) == before
    assert succeeded(apply("--max-destroy", "1", "--policy", "true"))["changes"]["destroy"] == 1


# The package's own


def test_a_package_may_be_stricter_than_its_caller_and_never_the_other_way(
    hereya: Driver, package: Path
) -> None:
    (package / "hereya-tf.toml").write_text('max-destroy = 0\nprotect = ["terraform_data.kept"]\n')

    by_number = refused(hereya.provision(package, *ONE_LESS, "--max-destroy", "9"), "too-many-destroys")
    by_pattern = refused(hereya.destroy(package, "--max-destroy", "9", "--protect", "x"), "protected")
    (package / "hereya-tf.toml").write_text("max-destroy = 9\n")
    by_caller = refused(hereya.provision(package, *ONE_LESS, "--max-destroy", "0"), "too-many-destroys")

    assert by_number.endswith("and `max-destroy = 0` in `hereya-tf.toml:1` allows none")
    assert "which `protect = terraform_data.kept` in `hereya-tf.toml:2` protects" in by_pattern
    assert by_caller.endswith("and `--max-destroy 0` allows none")
    assert succeeded(hereya.provision(package, *ONE_LESS))["changes"]["destroy"] == 1


def test_guards_of_the_environment_and_of_the_users_file_are_named(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "settings"
    settings.mkdir()
    (settings / "config.toml").write_text('\nprotect = ["terraform_data.kept"]\n')

    result = hereya.destroy(
        package, env={"HEREYA_TF_MAX_DESTROY": "1", "HEREYA_TF_CONFIG_DIR": str(settings)}
    )

    sentence = refused(result, "protected")
    assert f"which `protect = terraform_data.kept` in `{settings}/config.toml:2` protects" in sentence
    assert "and `HEREYA_TF_MAX_DESTROY=1` allows 1" in sentence


# With the question


def test_guards_come_before_the_question(hereya: Driver, package: Path, tmp_path: Path) -> None:
    words = ["-m", "hereya_tf", "destroy", str(package), "--engine", hereya.wish]
    before = state(package)
    with terminals(tmp_path, NO_COLOR="1") as start:
        code, shown = ended(start(sys.executable, [*words, "--max-destroy", "1"]))

        assert (code, "to destroy it: " in shown) == (8, False), shown
        assert "class: too-many-destroys (exit code 8)" in shown
        assert state(package) == before

        child = start(sys.executable, [*words, "--max-destroy", "3", "--policy", "true"])
        child.expect_exact("to destroy it: ")
        assert state(package) == before
        child.sendline(package.name)
        code, shown = ended(child)

    assert code == 0, shown
    assert resources(package / "terraform.tfstate") == {}


# Where there is no plan that can be judged


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ("", "there is no JSON document in the engine's output"),
        ('{"format_version":"1.2","resource_changes":[{', "there is no JSON document in the engine's output"),
        ('{"format_version":"2.0"}', "it is not a plan in a format that is known"),
        (
            '{"format_version":"1.2","resource_changes":[{}]}',
            "it does not say what it would do to each resource",
        ),
    ],
    ids=["nothing", "a half", "another format", "no words"],
)
def test_what_is_not_understood_is_not_applied(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, shown: str, why: str
) -> None:
    fake_engine.plays({"plan": scenes.planned(add=1), "show": [{"stdout": shown}]})

    result = cli(
        *("provision", make_package(scenes.NOTHING), "--yes", "--json", "--engine", fake_engine.path),
        *("--max-destroy", "9"),
    )

    assert failure(result) == (1, "engine-error", f"the plan cannot be judged, and was not applied: {why}")
    assert fake_engine.commands() == ["init", "plan", "show"]


@pytest.fixture
def service() -> Iterator[CloudService]:
    """The engine's host, until the test is over."""
    service = CloudService()
    Path(os.environ["TF_CLI_CONFIG_FILE"]).write_text(service.settings())
    yield service
    service.close()


@pytest.mark.parametrize("kind", ["cloud", 'backend "remote"'])
def test_a_remote_run_that_cannot_be_judged_is_refused(
    hereya: Driver, make_package: MakePackage, service: CloudService, kind: str
) -> None:
    workspace = 'organization = "acme"\n    workspaces {\n      name = "w"\n    }\n'
    block = f"terraform {{\n  {kind} {{\n    {workspace}  }}\n}}\n"
    package = make_package({"main.tf": block + 'resource "terraform_data" "a" {}\n'})

    result = hereya.provision(package, "--max-destroy", "0")

    assert failure(result)[:2] == (3, "bad-input"), result.result["reason"]
    assert "guard" in result.result["failure"]["hint"]
    assert "POST /api/v2/runs/run/actions/apply" not in service.requests
