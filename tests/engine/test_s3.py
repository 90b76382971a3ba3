"""States in a bucket: where they are, how they are locked, and what is said when somebody else has the lock."""

import json
from pathlib import Path

import pytest

from hereya_tf.engine import EngineName
from hereya_tf.scratch_backend import SCRATCH_ENVIRONMENT, plain_settings, prepare_scratch
from hereya_tf.workspace import generate_backend
from tests.command_line import CommandLine, Running
from tests.conftest import MakePackage
from tests.engine import provider
from tests.engine.buckets import HOLDER, REGION, SERVER_SETTINGS, Aws, Locking, in_bucket
from tests.engine.driving import Driver, failure, names, steps, succeeded
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine

PACKAGE = {
    "main.tf": """
variable "v" { default = "" }
resource "terraform_data" "a" { input = var.v }
output "v" { value = terraform_data.a.output }
"""
}
OWN_BACKEND = {**PACKAGE, "backend.tf": 'terraform {\n  backend "s3" {}\n}\n'}


def wait_until_it_waits(running: Running) -> None:
    """Until the engine says that it waits for the lock of the state."""
    text = "Acquiring state lock. This may take a few moments..."
    running.wait_for_event("log", text=text)


@pytest.mark.behaviour("T10", "T9", "T13")
@pytest.mark.parametrize("files", [PACKAGE, OWN_BACKEND], ids=["no backend", "a backend of its own"])
def test_a_state_in_a_bucket_is_found_again_in_a_fresh_clone(
    hereya: Driver,
    make_package: MakePackage,
    aws: Aws,
    bucket: str,
    locking: Locking,
    files: dict[str, str],
) -> None:
    where = in_bucket(bucket, "app/prod", *locking.options)

    provisioned = hereya.provision(make_package(files), *where, "-p", "v=1")

    assert succeeded(provisioned)["env"] == {"v": "1"}
    assert provisioned.result["workspace"] == "app/prod"
    assert aws.keys(bucket) == ["app/prod/terraform.tfstate"]
    assert aws.outputs(bucket, "app/prod/terraform.tfstate") == {"v": "1"}
    clone = make_package(files)
    again = hereya.provision(clone, *where, "-p", "v=1")
    assert set(succeeded(again)["changes"].values()) == {0}
    destroyed = hereya.destroy(make_package(files), *where)
    assert (succeeded(destroyed)["env"], destroyed.result["changes"]["destroy"]) == ({"v": "1"}, 1)
    assert aws.outputs(bucket, "app/prod/terraform.tfstate") == {}
    assert locking.held() == []
    assert not list(clone.glob("*_override.tf"))


@pytest.mark.behaviour("T10")
def test_two_ids_in_a_bucket_are_two_states(
    hereya: Driver, make_package: MakePackage, aws: Aws, bucket: str
) -> None:
    package = make_package(PACKAGE)

    for identifier in ("a", "a/b", "a-b"):
        result = hereya.provision(package, *in_bucket(bucket, identifier), "-p", f"v={identifier}")
        assert succeeded(result)["changes"]["add"] == 1

    found = {key: aws.outputs(bucket, key)["v"] for key in aws.keys(bucket)}
    assert found == {
        "a-b/terraform.tfstate": "a-b",
        "a/b/terraform.tfstate": "a/b",
        "a/terraform.tfstate": "a",
    }
    # Back to the first, without a new init and without a mistake.
    result = hereya.provision(package, *in_bucket(bucket, "a"), "-p", "v=a")
    assert (steps(result), set(succeeded(result)["changes"].values())) == (["apply"], {0})


@pytest.mark.behaviour("T10", "T13")
def test_states_in_the_package_have_nothing_to_do_with_one_in_a_bucket(
    hereya: Driver, make_package: MakePackage, aws: Aws, bucket: str, locking: Locking
) -> None:
    where = in_bucket(bucket, "app", *locking.options)
    succeeded(hereya.provision(make_package(PACKAGE), *where, "-p", "v=there"))
    package = make_package(PACKAGE)
    for workspace in ((), ("-w", "other", "--create-workspace")):
        succeeded(hereya.provision(package, *workspace, "-p", "v=own"))
    files = (package / "terraform.tfstate", package / "terraform.tfstate.d/other/terraform.tfstate")
    own = [file.read_bytes() for file in files]
    other = in_bucket(bucket, "new", *locking.options)

    # Not even a user who says yes to all copying has one copied.
    found = hereya.provision(package, *where, "-p", "v=there", "--engine-arg", "init=-force-copy")
    new = hereya.provision(package, *other, "-p", "v=new")
    again = hereya.provision(package, *other, "-p", "v=new")
    destroyed = hereya.destroy(package, *where, "--reinit")

    assert (steps(found), set(succeeded(found)["changes"].values())) == (["init", "apply"], {0})
    assert (steps(new), succeeded(new)["changes"]["add"]) == (["init", "apply"], 1)
    assert (steps(again), set(succeeded(again)["changes"].values())) == (["apply"], {0})
    assert (succeeded(destroyed)["env"], destroyed.result["changes"]["destroy"]) == ({"v": "there"}, 1)
    assert aws.keys(bucket) == ["app/terraform.tfstate", "new/terraform.tfstate"]
    assert [aws.outputs(bucket, key) for key in aws.keys(bucket)] == [{}, {"v": "new"}]
    assert ([file.read_bytes() for file in files], locking.held()) == (own, [])
    assert hereya.outputs(package) == {"v": "own"}


@pytest.mark.behaviour("T15")
@pytest.mark.usefixtures("providers")
def test_a_state_in_a_bucket_that_the_other_engine_wrote_is_not_touched(
    only_engine: CommandLine,
    make_package: MakePackage,
    aws: Aws,
    bucket: str,
    locking: Locking,
    engine: EngineName,
    other: EngineName,
) -> None:
    locking.hold("app/terraform.tfstate")  # which a look does not wait for
    there = provider.written_by(other, "secret")
    aws.put(bucket, "app/terraform.tfstate", there)
    package = make_package({**PACKAGE, "providers.tf": provider.SHORT_PROVIDERS})

    result = only_engine("provision", package, "--yes", "--json", *in_bucket(bucket, "app", *locking.options))

    exit_code, failure_class, reason = failure(result)
    assert (exit_code, failure_class, steps(result)) == (3, "engine-mismatch", ["init", "state"])
    assert reason.startswith(
        f"the state in the `s3` backend was written by {other.title}, and the engine here is {engine.title} "
    )
    assert names(package) == [".terraform", "main.tf", "providers.tf"]
    assert aws.outputs(bucket, "app/terraform.tfstate") == {"password": "secret"}


@pytest.mark.behaviour("T6", "T10")
def test_a_lock_on_a_bucket_is_waited_for_beside_a_state_in_the_package_too(
    hereya: Driver, make_package: MakePackage, bucket: str, locking: Locking
) -> None:
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package, "-p", "v=own"))
    locking.hold("app/terraform.tfstate")
    running = hereya.start("provision", package, *in_bucket(bucket, "app", *locking.options), "-p", "v=1")
    wait_until_it_waits(running)

    locking.free("app/terraform.tfstate")

    assert succeeded(running.finish())["changes"]["add"] == 1


@pytest.mark.behaviour("T6", "T10")
def test_a_lock_that_somebody_else_holds_is_waited_for(
    hereya: Driver, make_package: MakePackage, aws: Aws, bucket: str, locking: Locking
) -> None:
    locking.hold("app/terraform.tfstate")
    where = in_bucket(bucket, "app", *locking.options)
    running = hereya.start("provision", make_package(PACKAGE), *where, "-p", "v=1")
    wait_until_it_waits(running)
    before = aws.keys(bucket)

    locking.free("app/terraform.tfstate")

    assert succeeded(running.finish())["env"] == {"v": "1"}
    assert "app/terraform.tfstate" not in before
    assert locking.held() == []


@pytest.mark.behaviour("T6", "T10")
def test_a_lock_that_is_never_freed_fails_at_the_limit_and_names_its_holder(
    hereya: Driver, make_package: MakePackage, bucket: str, locking: Locking
) -> None:
    holder = locking.hold("app/terraform.tfstate")
    where = in_bucket(bucket, "app", *locking.options)

    result = hereya.provision(make_package(PACKAGE), *where, "--lock-timeout", "1s")

    exit_code, failure_class, reason = failure(result)
    assert (exit_code, failure_class, result.result["status"]) == (4, "state-locked", "busy")
    assert "held by `somebody@elsewhere` since 2026-01-01" in reason
    found = result.result["failure"]["state"]["lock"]
    expected = {name: text for name, text in holder.items() if text}
    assert found == {**expected, "Created": "2026-01-01 00:00:00 +0000 UTC"}
    assert HOLDER["ID"] in result.result["failure"]["hint"]
    assert result.result["timings"]["apply"] >= 1
    # It is still theirs.
    assert len(locking.held()) == 1


@pytest.mark.behaviour("T10")
def test_two_clones_of_a_package_share_the_lock_of_a_state_in_a_bucket(
    hereya: Driver, make_package: MakePackage, aws: Aws, bucket: str
) -> None:
    gate = (
        'resource "terraform_data" "gate" {\n  provisioner "local-exec" {\n    command = '
        '"touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"\n  }\n}\n'
    )
    first_clone = make_package({**PACKAGE, "gate.tf": gate})
    second_clone = make_package(PACKAGE)
    where = in_bucket(bucket, "app")
    first = hereya.start("provision", first_clone, *where, "-p", "v=1")
    wait_for(lambda: (first_clone / "started").exists() or None)

    second = hereya.start("provision", second_clone, *where, "-p", "v=2")
    waiting = second.wait_for_event("lock_waiting")
    (first_clone / "go").touch()

    assert (waiting["lock"], waiting["position"]) == ("workspace", 1)
    assert waiting["holder"]["pid"] == first.pid
    assert succeeded(first.finish())["env"] == {"v": "1"}
    assert succeeded(second.finish())["changes"]["change"] == 1
    assert aws.outputs(bucket, "app/terraform.tfstate") == {"v": "2"}


@pytest.mark.behaviour("F7")
def test_credentials_among_backend_settings_are_in_no_arguments_log_or_history(
    hereya: Driver, make_package: MakePackage, aws: Aws, bucket: str, tmp_path: Path
) -> None:
    key, secret = "testing-access-key", "testing-secret-key-0123"
    given = (f"--backend-config=access_key={key}", f"--backend-config=secret_key={secret}")
    without = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
    package = make_package({**PACKAGE, "look.tf": LOOK})

    result = hereya.provision(package, *in_bucket(bucket, "app"), *given, env=without)

    succeeded(result)
    arguments = (package / "arguments").read_text(errors="replace")
    assert "apply" in arguments
    history = [file.read_text(errors="replace") for file in (tmp_path / "state").rglob("*") if file.is_file()]
    assert history
    places = (result.stdout, result.stderr, arguments, *history)
    assert [place for place in places if key in place or secret in place] == []


# The arguments of the engine that runs the provisioner, as `ps` would show them to everyone.
LOOK = """
resource "terraform_data" "look" {
  provisioner "local-exec" { command = "ps -ww -o args= -p $PPID > arguments" }
}
"""


@pytest.mark.parametrize("own", [False, True], ids=["no state in the package", "a state in the package"])
def test_a_bucket_that_does_not_exist_is_named(
    hereya: Driver, make_package: MakePackage, aws: Aws, own: bool
) -> None:
    package = make_package(PACKAGE)
    if own:
        succeeded(hereya.provision(package))

    result = hereya.provision(package, *in_bucket("no-such-bucket", "app"))

    assert failure(result)[:2] == (1, "backend-unreachable")
    assert "no-such-bucket" in result.result["reason"]


def test_a_workspace_in_a_bucket_is_created_on_demand_only(
    hereya: Driver, make_package: MakePackage, aws: Aws, bucket: str
) -> None:
    own = (f"--backend-config=bucket={bucket}", f"--backend-config=region={REGION}", *SERVER_SETTINGS)
    where = ("--backend-config=key=k", *own)
    ghost = hereya.provision(make_package(OWN_BACKEND), "-w", "ghost", *where)
    assert failure(ghost) == (1, "workspace-unknown", "there is no workspace `ghost`")
    assert aws.keys(bucket) == []
    for name in ("one", "two", "three"):
        created = hereya.provision(
            make_package(OWN_BACKEND), "-w", name, "--create-workspace", *where, "-p", f"v={name}"
        )
        assert succeeded(created)["env"] == {"v": name}

    unknown = hereya.provision(make_package(OWN_BACKEND), "-w", "four", *where)
    known = hereya.provision(make_package(OWN_BACKEND), "-w", "two", *where, "-p", "v=two")

    assert failure(unknown)[:2] == (1, "workspace-unknown")
    assert set(succeeded(known)["changes"].values()) == {0}
    assert aws.keys(bucket) == ["env:/one/k", "env:/three/k", "env:/two/k"]


@pytest.mark.behaviour("T10")
@pytest.mark.parametrize("held", [False, True], ids=["free", "held"])
def test_outputs_in_a_bucket_are_read_without_package_init_or_lock(
    hereya: Driver, make_package: MakePackage, bucket: str, locking: Locking, tmp_path: Path, held: bool
) -> None:
    where = in_bucket(bucket, "app/prod", *locking.options)
    succeeded(hereya.provision(make_package(PACKAGE), *where, "-p", "v=1"))
    if held:
        locking.hold("app/prod/terraform.tfstate")
    backend = generate_backend(
        state=None,
        bucket=bucket,
        region=REGION,
        lock_table=locking.options[-1] if locking.options else None,
        identifier="app/prod",
    )
    assert backend is not None
    entries = [setting.removeprefix("--backend-config=") for setting in SERVER_SETTINGS]
    settings = plain_settings([*entries, "max_retries=2"], ())
    assert settings is not None
    version = json.loads(hereya.plain(Path("/"), "version", "-json"))["terraform_version"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()

    prepare_scratch(scratch, backend, settings, engine_version=version)

    said = hereya.plain(scratch, "output", "-json", env=SCRATCH_ENVIRONMENT)
    assert json.loads(said) == {"v": {"sensitive": False, "type": "string", "value": "1"}}
