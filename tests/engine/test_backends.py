"""Generated and configured backends: which state a run works on, and what it leaves in the package."""

import json
import os
import signal
from pathlib import Path

import pytest

from hereya_tf.package import GENERATED_OVERRIDE
from hereya_tf.workspace import MARK
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, names, read_state, steps, succeeded, warnings
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine

PACKAGE = """
variable "v" { default = "" }
resource "terraform_data" "a" { input = var.v }
output "v" { value = terraform_data.a.output }
output "module" { value = path.module }
"""
# Waits for the file `go`, having made `started`.
GATE = """
resource "terraform_data" "gate" {
  provisioner "local-exec" {
    command = "touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"
  }
}
"""
OTHER_BACKEND = {
    "none": "",
    "local": 'terraform {\n  backend "local" {\n    path = "own.tfstate"\n  }\n}\n',
    "s3": 'terraform {\n  backend "s3" {}\n}\n',
    "http": 'terraform {\n  backend "http" {\n    address = "http://127.0.0.1:1/state"\n  }\n}\n',
    "cloud": 'terraform {\n  cloud {\n    organization = "acme"\n    workspaces {\n      name = "w"\n    }\n'
    "  }\n}\n",
}


def listing(package: Path) -> list[str]:
    """What lies in the package, without the engine's data directory."""
    return [name for name in names(package) if name not in (".terraform", ".terraform.lock.hcl")]


@pytest.mark.behaviour("T10", "T13")
@pytest.mark.parametrize("kind", OTHER_BACKEND)
def test_a_generated_backend_replaces_whatever_backend_the_package_has(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, kind: str
) -> None:
    package = make_package({"main.tf": PACKAGE, "backend.tf": OTHER_BACKEND[kind]})
    before = listing(package)

    result = hereya.provision(package, "--state", "states/deep/x.tfstate", "-p", "v=1", cwd=tmp_path)

    # The module's path is what it is without a generated backend.
    assert succeeded(result)["env"] == {"v": "1", "module": "."}
    # Relative to the caller, its directory made.
    assert read_state(tmp_path / "states/deep/x.tfstate") == {"v": "1", "module": "."}
    assert listing(package) == before

    destroyed = hereya.destroy(package, "--state", tmp_path / "states/deep/x.tfstate")

    assert (succeeded(destroyed)["env"], destroyed.result["changes"]["destroy"]) == (
        {"v": "1", "module": "."},
        1,
    )
    assert (read_state(tmp_path / "states/deep/x.tfstate"), listing(package)) == ({}, before)


@pytest.mark.behaviour("T10")
def test_two_ids_in_one_package_never_see_each_others_state(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})
    one = ("--state", tmp_path / "one.tfstate", "--id", "team/one")
    two = ("--state", tmp_path / "two.tfstate", "--id", "team-one")

    added = [
        succeeded(hereya.provision(package, *which, "-p", f"v={value}"))["changes"]["add"]
        for which, value in ((one, "1"), (two, "2"), (one, "3"))
    ]

    assert added == [1, 1, 0]
    assert [read_state(tmp_path / name)["v"] for name in ("one.tfstate", "two.tfstate")] == ["3", "2"]
    assert succeeded(hereya.destroy(package, *one))["env"]["v"] == "3"
    assert read_state(tmp_path / "two.tfstate")["v"] == "2"
    # The second time round nothing has to be initialised for either.
    assert steps(hereya.provision(package, *two, "-p", "v=2")) == ["apply"]


@pytest.mark.behaviour("T10")
def test_one_id_with_another_path_is_another_state(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})

    for number in ("1", "2"):
        state = tmp_path / f"{number}.tfstate"
        result = hereya.provision(package, "--state", state, "--id", "same", "-p", f"v={number}")
        assert succeeded(result)["changes"]["add"] == 1

    assert [read_state(tmp_path / f"{number}.tfstate")["v"] for number in ("1", "2")] == ["1", "2"]


@pytest.mark.behaviour("T10")
def test_a_path_wins_over_a_bucket(hereya: Driver, make_package: MakePackage, tmp_path: Path) -> None:
    package = make_package({"main.tf": PACKAGE})
    bucket = ("--state-bucket", "b", "--state-region", "eu-west-1", "--id", "i")

    result = hereya.provision(package, "--state", tmp_path / "x.tfstate", *bucket, "-p", "v=1")

    assert (succeeded(result)["workspace"], read_state(tmp_path / "x.tfstate")["v"]) == ("i", "1")
    assert warnings(result) == ["`--state` wins: the bucket is not used"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        pytest.param(("--state-bucket", "b", "--id", "i"), "a state bucket needs its region", id="no region"),
        pytest.param(
            ("--state-bucket", "b", "--state-region", "r"),
            "a state bucket needs an id for the state in it",
            id="no id",
        ),
        pytest.param(
            ("--state", "x.tfstate", "-w", "w"),
            "`--workspace` and a generated backend exclude each other",
            id="workspace",
        ),
        pytest.param(("--state", "."), "`--state .` is a directory, and a state is a file", id="directory"),
        pytest.param(
            ("--state", "x.tfstate", "--id", "../up"), "`--id ../up` cannot name a state", id="outside"
        ),
    ],
)
def test_half_a_backend_is_refused_before_anything_is_touched(
    hereya: Driver, make_package: MakePackage, arguments: tuple[str, ...], sentence: str
) -> None:
    package = make_package({"main.tf": PACKAGE})

    result = hereya.provision(package, *arguments)

    assert failure(result) == (3, "bad-input", sentence)
    assert names(package) == ["main.tf"]


@pytest.mark.behaviour("T13")
def test_plain_terraform_keeps_its_own_state_before_and_after(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE, "backend.tf": OTHER_BACKEND["local"]})
    hereya.plain(package, "init", "-input=false")
    hereya.plain(package, "apply", "-auto-approve", "-input=false", "-var=v=own")

    # The `.terraform` of another backend is not mistaken for the generated one's.
    result = hereya.provision(package, "--state", tmp_path / "x.tfstate", "-p", "v=generated")

    assert succeeded(result)["changes"]["add"] == 1
    assert (hereya.outputs(package)["v"], read_state(package / "own.tfstate")["v"]) == ("own", "own")
    hereya.plain(package, "plan", "-input=false", "-var=v=own", "-detailed-exitcode")
    assert read_state(tmp_path / "x.tfstate")["v"] == "generated"


@pytest.mark.behaviour("T13")
def test_the_override_file_is_gone_after_a_failure(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    fails = 'resource "terraform_data" "b" {\n  provisioner "local-exec" { command = "exit 1" }\n}\n'
    package = make_package({"main.tf": PACKAGE + fails})

    result = hereya.provision(package, "--state", tmp_path / "x.tfstate")

    assert failure(result)[:2] == (1, "provisioner-failed")
    assert listing(package) == ["main.tf"]


@pytest.mark.behaviour("T13")
def test_the_override_file_lives_until_the_last_command_and_is_gone_after_a_cancel(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + GATE})
    running = hereya.start("provision", package, "--state", tmp_path / "x.tfstate")
    wait_for(lambda: (package / "started").exists() or None)
    during = listing(package)

    running.send_signal(signal.SIGTERM)
    result = running.finish()

    assert (result.exit_code, result.result["status"]) == (143, "cancelled")
    assert during == ["main.tf", "started", GENERATED_OVERRIDE]
    assert listing(package) == ["main.tf", "started"]


@pytest.mark.behaviour("T13")
@pytest.mark.parametrize("next_state", ["same", "other", "own"])
def test_the_override_file_of_a_killed_run_is_removed_by_the_next_one(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, next_state: str
) -> None:
    package = make_package({"main.tf": PACKAGE + GATE})
    running = hereya.start("provision", package, "--state", tmp_path / "x.tfstate", "-p", "v=killed")
    wait_for(lambda: (package / "started").exists() or None)
    running.process.send_signal(signal.SIGKILL)
    running.kill()
    assert GENERATED_OVERRIDE in names(package)
    (package / "go").touch()

    arguments: dict[str, tuple[str | Path, ...]] = {
        "same": ("--state", tmp_path / "x.tfstate"),
        "other": ("--state", tmp_path / "y.tfstate"),
        "own": (),
    }
    result = hereya.provision(package, *arguments[next_state], "-p", "v=next")

    # The killed run's engine goes on to its end, and the next one waits for it.
    expected = {"same": 0, "other": 2, "own": 2}
    assert succeeded(result)["changes"]["add"] == expected[next_state]
    assert "a generated backend that a killed run had left in the package was removed" in warnings(result)
    assert GENERATED_OVERRIDE not in names(package)
    left = read_state(tmp_path / "x.tfstate")["v"]
    assert left == ("next" if next_state == "same" else "killed")


@pytest.mark.behaviour("T13")
@pytest.mark.parametrize("marked", [False, True], ids=["of another tool", "with our mark further down"])
def test_a_users_own_file_of_that_name_is_refused_and_kept(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, marked: bool
) -> None:
    text = f"# mine\n{MARK if marked else ''}\n"
    package = make_package({"main.tf": PACKAGE, GENERATED_OVERRIDE: text})

    result = hereya.provision(package, "--state", tmp_path / "x.tfstate")

    assert failure(result) == (
        3,
        "bad-package",
        f"`{package / GENERATED_OVERRIDE}` is not a file of ours, and a generated backend needs its name",
    )
    assert (result.result["failure"]["hint"], steps(result)) == ("rename that file", [])
    assert (package / GENERATED_OVERRIDE).read_text() == text
    assert not (tmp_path / "x.tfstate").exists()


@pytest.mark.behaviour("T13")
@pytest.mark.parametrize("kind", ["link", "pipe", "directory"])
def test_whatever_else_has_that_name_is_refused_without_waiting_for_it(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, kind: str
) -> None:
    package = make_package({"main.tf": PACKAGE})
    path = package / GENERATED_OVERRIDE
    match kind:
        case "link":
            path.symlink_to(tmp_path / "outside.tf")
        case "pipe":
            os.mkfifo(path)
        case _:
            path.mkdir()

    result = hereya.provision(package, "--state", tmp_path / "x.tfstate")

    assert failure(result)[:2] == (3, "bad-package")
    assert str(path) in result.result["reason"]
    assert (steps(result), (tmp_path / "outside.tf").exists()) == ([], False)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.behaviour("T13")
def test_a_read_only_package_is_refused_clearly(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})
    package.chmod(0o555)
    try:
        result = hereya.provision(package, "--state", tmp_path / "x.tfstate")
    finally:
        package.chmod(0o755)

    assert failure(result)[:2] == (3, "bad-package")
    assert "cannot be written" in result.result["reason"]
    assert "a copy of it will do" in result.result["failure"]["hint"]


def own_states(package: Path) -> dict[str, bytes]:
    """Every file of the states that the package itself has, byte for byte."""
    found = [package / "terraform.tfstate", *package.glob("terraform.tfstate.*")]
    files = [file for path in found for file in (path, *path.rglob("*")) if file.is_file()]
    return {str(file.relative_to(package)): file.read_bytes() for file in files}


@pytest.mark.behaviour("T10", "T13")
@pytest.mark.parametrize("settings", [(), ("--backend-config", "workspace_dir=w")], ids=["path", "settings"])
def test_a_state_in_the_package_has_nothing_to_do_with_a_generated_backend(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, settings: tuple[str, ...]
) -> None:
    package = make_package({"main.tf": PACKAGE})
    for workspace in ((), ("-w", "other", "--create-workspace")):
        succeeded(hereya.provision(package, *workspace, "-p", "v=own"))
    own = own_states(package)
    where: dict[str, tuple[str | Path, ...]] = {
        name: ("--state", tmp_path / f"{name}.tfstate", *settings) for name in ("one", "two")
    }

    for name, arguments in where.items():
        result = hereya.provision(package, *arguments, "-p", f"v={name}")
        assert (succeeded(result)["changes"]["add"], steps(result)) == (1, ["init", "apply"])
        again = hereya.provision(package, *arguments, "-p", f"v={name}")
        assert (set(succeeded(again)["changes"].values()), steps(again)) == ({0}, ["apply"])
    anew = hereya.provision(package, *where["one"], "-p", "v=one", "--reinit")
    destroyed = hereya.destroy(package, *where["two"])

    assert (set(succeeded(anew)["changes"].values()), succeeded(destroyed)["changes"]["destroy"]) == ({0}, 1)
    assert [read_state(tmp_path / f"{name}.tfstate").get("v") for name in where] == ["one", None]
    assert own_states(package) == own
    assert {"terraform.tfstate", "terraform.tfstate.d/other/terraform.tfstate"} <= set(own)
    hereya.plain(package, "plan", "-input=false", "-var=v=own", "-detailed-exitcode")
    assert hereya.outputs(package)["v"] == "own"
    assert own_states(package) == own


@pytest.mark.behaviour("T10", "T13")
def test_one_id_with_another_path_beside_a_state_in_the_package_is_another_state(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})
    for number in "12":
        where = ("--state", tmp_path / f"{number}.tfstate", "--id", "same")
        assert succeeded(hereya.provision(package, *where, "-p", f"v={number}"))["changes"]["add"] == 1
        # Between the two, the package gets a state of its own.
        succeeded(hereya.provision(package, "-p", "v=own"))

    files = (tmp_path / "1.tfstate", tmp_path / "2.tfstate", package / "terraform.tfstate")
    assert [read_state(file)["v"] for file in files] == ["1", "2", "own"]


@pytest.mark.behaviour("T5")
def test_a_state_in_a_package_that_gets_a_backend_is_left_alone_and_the_hint_says_what_to_do_with_it(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": PACKAGE})
    succeeded(hereya.provision(package, "-p", "v=own"))
    own = own_states(package)
    (package / "backend.tf").write_text(OTHER_BACKEND["local"])

    result = hereya.provision(package, "-p", "v=new")

    assert failure(result)[:2] == (1, "backend-changed")
    assert "`terraform.tfstate`" in result.result["failure"]["hint"]
    assert "--reconfigure" not in result.result["failure"]["hint"]
    assert (own_states(package), (package / "own.tfstate").exists()) == (own, False)

    # One of the ways that the hint names.
    (package / "terraform.tfstate").rename(package / "own.tfstate")
    assert succeeded(hereya.provision(package, "-p", "v=new"))["changes"]["change"] == 1


@pytest.mark.behaviour("T10", "F1")
def test_one_state_file_spelled_in_three_ways_is_one_state_with_one_lock(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    spellings = (tmp_path / "real/x.tfstate", "../real/x.tfstate", tmp_path / "link/x.tfstate")

    results = [hereya.provision(package, "--state", path, "-p", "v=1", cwd=package) for path in spellings]

    assert [succeeded(result)["changes"]["add"] for result in results] == [1, 0, 0]
    assert len({result.result["workspace"] for result in results}) == 1
    started = [event for result in results for event in result.events if event["type"] == "run_started"]
    assert (len(started), len({event["key"] for event in started})) == (3, 1)


@pytest.mark.behaviour("T6")
def test_a_lock_that_the_engine_by_hand_holds_is_waited_for(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + GATE})
    hereya.plain(package, "init", "-input=false")
    by_hand = hereya.start_plain(package, "apply", "-auto-approve", "-input=false", "-var=v=hand")
    wait_for(lambda: (package / "started").exists() or None)

    refused = hereya.provision(package, "-p", "v=ours", "--lock-timeout", "1s")
    running = hereya.start("provision", package, "-p", "v=ours")
    running.wait_for_event("log", text="Acquiring state lock. This may take a few moments...")
    (package / "go").touch()

    exit_code, failure_class, reason = failure(refused)
    assert (exit_code, failure_class, refused.result["status"]) == (4, "state-locked", "busy")
    assert "held by `" in reason
    holder = refused.result["failure"]["state"]["lock"]
    assert (holder["Operation"], holder["Path"]) == ("OperationTypeApply", "terraform.tfstate")
    assert "force-unlock" not in refused.result["failure"]["hint"]
    assert succeeded(running.finish())["changes"]["change"] == 1
    assert by_hand.wait(60) == 0
    assert read_state(package / "terraform.tfstate")["v"] == "ours"


def test_backend_settings_apply_in_their_order(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + 'terraform {\n  backend "local" {}\n}\n'})
    for name in "abc":
        (tmp_path / f"{name}.tfbackend").write_text(f'path = "{tmp_path}/{name}.tfstate"\n')
    for number, (last, arguments) in enumerate(
        {
            "b": ("a.tfbackend", "b.tfbackend"),
            "d": ("a.tfbackend", f"path={tmp_path}/c.tfstate", f"path={tmp_path}/d.tfstate"),
            "c": (f"path={tmp_path}/d.tfstate", "c.tfbackend"),
        }.items()
    ):
        fresh = make_package({"main.tf": (package / "main.tf").read_text()})
        flags = [part for argument in arguments for part in ("--backend-config", argument)]

        result = hereya.provision(fresh, *flags, "-p", f"v={number}", cwd=tmp_path)

        assert succeeded(result)["changes"]["add"] == 1
        assert read_state(tmp_path / f"{last}.tfstate")["v"] == str(number)


@pytest.mark.behaviour("F7")
def test_backend_settings_are_in_nobodys_arguments_and_in_no_history(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE + 'terraform {\n  backend "http" {}\n}\n'})
    settings = {"address": "http://127.0.0.1:1/x", "username": "someone", "password": 'p4ss-${word}-quoted"'}
    flags = [part for name, text in settings.items() for part in ("--backend-config", f"{name}={text}")]

    result = hereya.provision(package, *flags)

    assert failure(result)[:2] == (1, "backend-unreachable")
    secrets = ("p4ss-", "${word}", "-quoted")
    argv = [event["argv"] for event in result.events if event["type"] == "step_started"]
    assert argv
    assert [word for words in argv for word in words if any(secret in word for secret in secrets)] == []
    shown = [result.stdout, result.stderr]
    shown += [file.read_text(errors="replace") for file in (tmp_path / "state").rglob("*") if file.is_file()]
    assert [text for text in shown if any(secret in text for secret in secrets)] == []


def test_a_setting_that_is_neither_a_pair_nor_a_file_is_refused(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": PACKAGE})

    result = hereya.provision(package, "--backend-config", "missing.tfbackend")

    assert failure(result) == (
        3,
        "bad-input",
        "`--backend-config missing.tfbackend` is neither NAME=VALUE nor a file",
    )


def test_the_data_directory_of_a_generated_backend_is_inside_the_engines_own(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(
        {"main.tf": PACKAGE, "m/main.tf": "", "call.tf": 'module "m" { source = "./m" }\n'}
    )

    succeeded(hereya.provision(package, "--state", tmp_path / "x.tfstate", "--id", "team/one"))

    (data,) = (package / ".terraform/hereya").iterdir()
    assert names(package / ".terraform") == ["hereya"]
    assert json.loads((data / "terraform.tfstate").read_text())["backend"]["type"] == "local"
