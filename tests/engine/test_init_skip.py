"""Init is skipped when nothing has changed since the last good one, and never when something has."""

import json
import shutil
from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, read_state, skipped, steps, succeeded
from tests.fake_engine import FakeEngine

PACKAGE = """
variable "v" { default = "" }
resource "terraform_data" "a" { input = var.v }
output "v" { value = terraform_data.a.output }
"""
PARTIAL = 'terraform {\n  backend "local" {}\n}\n'
CALL = 'module "m" { source = "%s" }\noutput "m" { value = module.m.o }\n'
MODULE = 'output "o" { value = "%s" }\n'
NO_CHANGES = {"add": 0, "change": 0, "import": 0, "remove": 0, "operation": "apply"}


def at(path: Path) -> tuple[str, str]:
    return ("--backend-config", f"path={path}")


@pytest.mark.real_engine
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param((), id="own state"),
        pytest.param(("--state", "x.tfstate"), id="generated backend"),
        pytest.param(("--backend-config", "path=y.tfstate"), id="backend settings"),
    ],
)
def test_an_unchanged_package_starts_one_engine_process(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    package = make_package({"main.tf": PACKAGE + (PARTIAL if "--backend-config" in arguments else "")})
    engine = hereya.counted(tmp_path)
    command: tuple[str | Path, ...] = (
        "provision",
        package,
        "--yes",
        "--json",
        "--engine",
        engine.path,
        *arguments,
    )

    first = hereya.cli(*command)
    calls_of_the_first = engine.calls()
    second = hereya.cli(*command)

    succeeded(first)
    succeeded(second)
    assert (calls_of_the_first, engine.calls()) == (["version", "init", "apply"], ["apply"])
    assert (skipped(first), skipped(second)) == ([], ["init"])


@pytest.mark.real_engine
def test_values_and_targets_need_no_init(hereya: Driver, make_package: MakePackage, tmp_path: Path) -> None:
    package = make_package({"main.tf": PACKAGE + PARTIAL, "terraform.tfvars": 'v = "a"\n'})
    runs = [hereya.provision(package, *at(tmp_path / "x.tfstate"))]
    (package / "terraform.tfvars").write_text('v = "b"\n')
    runs += [
        hereya.provision(package, *at(tmp_path / "x.tfstate"), *more)
        for more in ((), ("--target", "terraform_data.a"), ("-e", "ANY=thing"), ("--parallelism", "1"))
    ]

    assert [steps(run) for run in runs] == [["init", "apply"], *[["apply"]] * 4]


@pytest.mark.real_engine
@pytest.mark.behaviour("T5")
def test_a_changed_backend_setting_never_applies_to_the_old_state(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + PARTIAL})
    old, new = tmp_path / "old.tfstate", tmp_path / "new.tfstate"
    succeeded(hereya.provision(package, *at(old), "-p", "v=old"))
    before = old.read_text()

    refused = hereya.provision(package, *at(new), "-p", "v=new")
    moved = hereya.provision(package, *at(new), "-p", "v=new", "--engine-arg", "init=-reconfigure")
    back = hereya.provision(package, *at(old), "-p", "v=old", "--engine-arg", "init=-reconfigure")

    # Init runs, and refuses: what is to become of the old state is for a person to say.
    assert failure(refused)[:2] == (1, "backend-changed")
    assert steps(refused) == ["init"]
    assert (steps(moved), read_state(new)["v"]) == (["init", "apply"], "new")
    assert (steps(back), set(succeeded(back)["changes"].values())) == (["init", "apply"], {0})
    assert json.loads(old.read_text())["serial"] == json.loads(before)["serial"]


@pytest.mark.real_engine
def test_a_changed_file_of_backend_settings_is_seen(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + PARTIAL})
    settings = tmp_path / "x.tfbackend"
    settings.write_text(f'path = "{tmp_path}/old.tfstate"\n')
    arguments = ("--backend-config", settings, "--engine-arg", "init=-reconfigure")
    succeeded(hereya.provision(package, *arguments, "-p", "v=old"))
    settings.write_text(f'path = "{tmp_path}/new.tfstate"\n')

    result = hereya.provision(package, *arguments, "-p", "v=new")

    assert (steps(result), succeeded(result)["changes"]["add"]) == (["init", "apply"], 1)
    assert [read_state(tmp_path / f"{name}.tfstate")["v"] for name in ("old", "new")] == ["old", "new"]


@pytest.mark.real_engine
def test_a_plain_init_with_another_backend_in_between_is_seen(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + PARTIAL})
    ours, theirs = tmp_path / "ours.tfstate", tmp_path / "theirs.tfstate"
    again = ("--engine-arg", "init=-reconfigure")
    succeeded(hereya.provision(package, *at(ours), *again, "-p", "v=ours"))

    hereya.plain(package, "init", "-input=false", "-reconfigure", f"-backend-config=path={theirs}")
    result = hereya.provision(package, *at(ours), *again, "-p", "v=ours")

    assert (steps(result), set(succeeded(result)["changes"].values())) == (["init", "apply"], {0})
    assert not theirs.exists()


@pytest.mark.real_engine
def test_a_changed_backend_block_is_seen(hereya: Driver, make_package: MakePackage) -> None:
    block = 'terraform {\n  backend "local" {\n    path = "%s.tfstate"\n  }\n}\n'
    package = make_package({"main.tf": PACKAGE, "backend.tf": block % "old"})
    succeeded(hereya.provision(package))
    (package / "backend.tf").write_text(block % "new")

    result = hereya.provision(package)

    assert (failure(result)[1], steps(result)) == ("backend-changed", ["init"])
    assert not (package / "new.tfstate").exists()


@pytest.mark.real_engine
def test_a_changed_local_module_outside_the_package_is_seen(
    hereya: Driver, make_package: MakePackage
) -> None:
    module = make_package({"main.tf": MODULE % "1"})
    deeper = make_package({"main.tf": MODULE % "deep"})
    package = make_package({"main.tf": CALL % f"../{module.name}"})
    succeeded(hereya.provision(package))
    unchanged = hereya.provision(package)
    (module / "main.tf").write_text(
        f'module "n" {{ source = "../{deeper.name}" }}\noutput "o" {{ value = module.n.o }}\n'
    )

    nested = hereya.provision(package)
    (deeper / "main.tf").write_text(MODULE % "deeper")
    changed = hereya.provision(package)

    assert steps(unchanged) == ["apply"]
    # A module of a module is installed by init alone.
    assert (steps(nested), succeeded(nested)["env"]) == (["init", "apply"], {"m": "deep"})
    assert (steps(changed), succeeded(changed)["env"]) == (["init", "apply"], {"m": "deeper"})


@pytest.mark.real_engine
@pytest.mark.parametrize(
    "change",
    ["configuration", "new file", "lock file", "data directory", "--reinit", "--engine-arg"],
)
def test_what_init_depends_on_makes_it_run_again(
    hereya: Driver, make_package: MakePackage, change: str
) -> None:
    package = make_package({"main.tf": PACKAGE + PARTIAL})
    succeeded(hereya.provision(package))
    arguments: tuple[str, ...] = ()
    match change:
        case "configuration":
            (package / "main.tf").write_text(PACKAGE + PARTIAL + "# more\n")
        case "new file":
            (package / "more.tf.json").write_text("{}")
        case "lock file":
            (package / ".terraform.lock.hcl").write_text("# more\n")
        case "data directory":
            shutil.rmtree(package / ".terraform")
        case "--reinit":
            arguments = ("--reinit",)
        case "--engine-arg":
            arguments = ("--engine-arg", "init=-upgrade")

    result = hereya.provision(package, *arguments)

    succeeded(result)
    assert steps(result) == ["init", "apply"]
    assert steps(hereya.provision(package, *arguments)) == (
        ["init", "apply"] if change == "--reinit" else ["apply"]
    )


@pytest.mark.real_engine
def test_another_engine_inits_anew(hereya: Driver, make_package: MakePackage, tmp_path: Path) -> None:
    package = make_package({"main.tf": PACKAGE})
    other = hereya.counted(tmp_path)
    succeeded(hereya.provision(package))

    result = hereya.cli("provision", package, "--yes", "--json", "--engine", other.path)

    succeeded(result)
    assert (steps(result), other.calls()) == (["init", "apply"], ["version", "init", "apply"])


@pytest.mark.real_engine
def test_a_failed_init_is_not_remembered_as_a_good_one(hereya: Driver, make_package: MakePackage) -> None:
    module = make_package({"main.tf": MODULE % "1"})
    package = make_package({"main.tf": CALL % f"../{module.name}"})
    succeeded(hereya.provision(package))
    module.rename(module.with_name("away"))

    failed = hereya.provision(package, "--reinit")
    module.with_name("away").rename(module)
    again = hereya.provision(package)
    # This one leaves no trace, and still it was not a good one.
    refused = hereya.provision(package, "--engine-arg", "init=-frob")
    afterwards = hereya.provision(package)

    assert failure(failed)[:2] == (1, "module-unavailable")
    assert (succeeded(again)["env"], steps(again)) == ({"m": "1"}, ["init", "apply"])
    assert failure(refused)[:2] == (3, "bad-input")
    assert (succeeded(afterwards)["env"], steps(afterwards)) == ({"m": "1"}, ["init", "apply"])


@pytest.mark.real_engine
@pytest.mark.parametrize("operation", ["provision", "destroy"])
def test_init_runs_after_all_when_the_engine_says_that_it_is_needed(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, operation: str
) -> None:
    module = make_package({"main.tf": MODULE % "1" + 'resource "terraform_data" "a" {}\n'})
    package = make_package({"main.tf": CALL % f"../{module.name}"})
    succeeded(hereya.provision(package))
    # What init has made is gone, and the memory of it says that it is as it was.
    memory = next((tmp_path / "cache/inits").iterdir())
    shutil.rmtree(package / ".terraform/modules")
    forge_memory(hereya, package, memory)

    result = hereya.start(operation, package).finish()

    act = {"provision": ["apply"], "destroy": ["output", "destroy"]}[operation]
    assert (skipped(result), steps(result)) == (["init"], [*act, "init", *act])
    assert succeeded(result)["env"] == {"m": "1"}
    assert result.result["failure"] is None
    assert (package / ".terraform/modules/modules.json").exists()


def test_init_runs_after_all_for_a_provider_that_only_the_state_needs(
    hereya: Driver, make_package: MakePackage, fake_engine: FakeEngine
) -> None:
    # In the words of Terraform 1.11.4 and 1.15.5, when another clone has put the resource there.
    said = {
        "severity": "error",
        "summary": "Failed to load plugin schemas",
        "detail": "Error while loading schemas for plugin components: Failed to obtain provider schema: Could not"
        " load the schema for provider registry.terraform.io/lab/lab: failed to instantiate provider"
        ' "registry.terraform.io/lab/lab" to obtain schema: unavailable provider'
        ' "registry.terraform.io/lab/lab"..',
    }
    done = {"message": {"type": "change_summary", "changes": NO_CHANGES}}
    outputs = {"message": {"type": "outputs", "outputs": {}}}
    needs = [{"message": {"type": "diagnostic", "@level": "error", "diagnostic": said}}, {"exit": 1}]
    fake_engine.plays({"apply": [[done, outputs], needs, [done, outputs]]})
    package = make_package({"main.tf": ""})
    command = ("provision", package, "--yes", "--json", "--engine", fake_engine.path)

    succeeded(hereya.cli(*command))
    result = hereya.cli(*command)

    assert (skipped(result), steps(result)) == (["init"], ["apply", "init", "apply"])
    succeeded(result)


def forge_memory(hereya: Driver, package: Path, memory: Path) -> None:
    """Make the memory of the last init hold for the package as it is now."""
    from hereya_tf.engine import Binary, EngineName, Version
    from hereya_tf.engine.initialisation import fingerprint

    which = hereya.cli("engine", "which", package, "--engine", hereya.wish, "--json")
    found = json.loads(which.stdout)
    engine, version = EngineName(found["engine"]), Version.parse(found["version"])
    binary = Binary(engine, version, tuple(found["argv"]), found["path"], found["chosen_by"])
    memory.write_text(fingerprint(package, ".terraform", binary, arguments=(), contents=("",)))


@pytest.mark.parametrize(
    ("version", "arguments"),
    [
        pytest.param("1.8.5", ["init", "-input=false", "-no-color"], id="before it"),
        pytest.param("1.9.0", ["init", "-json", "-input=false", "-no-color"], id="since then"),
    ],
)
@pytest.mark.behaviour("T1")
def test_an_engine_that_cannot_init_with_json_is_not_asked_to(
    hereya: Driver, make_package: MakePackage, fake_engine: FakeEngine, version: str, arguments: list[str]
) -> None:
    fake_engine.plays(
        {
            "version": [{"stdout": f"Terraform v{version}\non linux_amd64\n"}],
            "init": [{"stdout": "\nInitializing the backend...\n\nTerraform has been initialized!\n"}],
            "apply": [
                {"message": {"type": "change_summary", "changes": NO_CHANGES}},
                {"message": {"type": "outputs", "outputs": {}}},
            ],
        }
    )
    package = make_package({"main.tf": ""})

    result = hereya.cli("provision", package, "--yes", "--json", "--engine", fake_engine.path)

    assert succeeded(result)["engine"] == {"name": "terraform", "version": version}
    (start,) = fake_engine.records("start", command="init")
    assert start["argv"][1:] == arguments


def test_what_an_old_engine_says_of_a_failed_init_is_understood(
    hereya: Driver, make_package: MakePackage, fake_engine: FakeEngine
) -> None:
    said = (
        "\nError: Backend configuration changed\n\nA change in the backend configuration has been detected,"
        " which may require\nmigrating existing state.\n"
    )
    fake_engine.plays(
        {
            "version": [{"stdout": "Terraform v1.8.5\non linux_amd64\n"}],
            "init": [{"stdout": "\nInitializing the backend...\n"}, {"stderr": said}, {"exit": 1}],
        }
    )
    package = make_package({"main.tf": ""})

    result = hereya.cli("provision", package, "--yes", "--json", "--engine", fake_engine.path)

    assert failure(result)[:2] == (1, "backend-changed")
    assert fake_engine.commands() == ["init"]


@pytest.mark.behaviour("T10")
def test_a_bucket_without_a_lock_table_is_refused_by_an_engine_that_cannot_lock_it(
    hereya: Driver, make_package: MakePackage, fake_engine: FakeEngine
) -> None:
    fake_engine.plays({"version": [{"stdout": "Terraform v1.8.5\non linux_amd64\n"}]})
    package = make_package({"main.tf": ""})
    bucket = ("--state-bucket", "b", "--state-region", "r", "--id", "i", "--engine", fake_engine.path)

    result = hereya.cli("provision", package, "--yes", "--json", *bucket)

    assert failure(result) == (
        5,
        "engine-unsupported",
        "Terraform 1.8.5 cannot lock a state in a bucket without a lock table",
    )
    assert fake_engine.commands() == []
