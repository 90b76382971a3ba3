"""States in a bucket: where they are, how they are locked, and what is said when somebody else has the lock."""

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from hereya_tf.engine import EngineName
from hereya_tf.scratch_backend import SCRATCH_ENVIRONMENT, plain_settings, prepare_scratch
from hereya_tf.workspace import generate_backend
from tests.command_line import CommandLine, Running
from tests.conftest import MakePackage
from tests.engine import provider
from tests.engine.driving import Driver, failure, names, steps, succeeded
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine

REGION = "eu-west-1"
PACKAGE = {
    "main.tf": """
variable "v" { default = "" }
resource "terraform_data" "a" { input = var.v }
output "v" { value = terraform_data.a.output }
"""
}
OWN_BACKEND = {**PACKAGE, "backend.tf": 'terraform {\n  backend "s3" {}\n}\n'}
# A server on this machine has no hosts named after buckets, and no accounts to check.
SERVER_SETTINGS = (
    "--backend-config=use_path_style=true",
    "--backend-config=skip_credentials_validation=true",
    "--backend-config=skip_metadata_api_check=true",
    "--backend-config=skip_requesting_account_id=true",
)
HOLDER = {
    "ID": "11111111-2222-3333-4444-555555555555",
    "Operation": "OperationTypeApply",
    "Info": "",
    "Who": "somebody@elsewhere",
    "Version": "1.11.4",
    "Created": "2026-01-01T00:00:00Z",
}


class Aws:
    """S3 and DynamoDB on 127.0.0.1, spoken to by plain HTTP."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    @property
    def environment(self) -> dict[str, str]:
        """What an engine needs to find it."""
        services = ("S3", "DYNAMODB", "STS", "IAM")
        return {
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_EC2_METADATA_DISABLED": "true",
            **{f"AWS_ENDPOINT_URL_{service}": self.url for service in services},
        }

    def make_bucket(self, name: str) -> None:
        self._s3(
            "PUT",
            name,
            f"<CreateBucketConfiguration><LocationConstraint>{REGION}</LocationConstraint>"
            "</CreateBucketConfiguration>".encode(),
        )

    def put(self, bucket: str, key: str, content: Any) -> None:
        self._s3("PUT", f"{bucket}/{key}", json.dumps(content).encode())

    def delete(self, bucket: str, key: str) -> None:
        self._s3("DELETE", f"{bucket}/{key}")

    def keys(self, bucket: str) -> list[str]:
        listing = ElementTree.fromstring(self._s3("GET", f"{bucket}?list-type=2"))
        return sorted(str(element.text) for element in listing.iter() if element.tag.endswith("}Key"))

    def outputs(self, bucket: str, key: str) -> dict[str, Any]:
        state = json.loads(self._s3("GET", f"{bucket}/{key}"))
        return {name: entry["value"] for name, entry in state["outputs"].items()}

    def table(self, action: str, **content: Any) -> Any:
        """One call to DynamoDB."""
        headers = {
            "X-Amz-Target": f"DynamoDB_20120810.{action}",
            "Content-Type": "application/x-amz-json-1.0",
        }
        return json.loads(self._send("POST", "", "dynamodb", json.dumps(content).encode(), headers))

    def _s3(self, method: str, path: str, data: bytes | None = None) -> bytes:
        return self._send(method, path, "s3", data, {"Content-Type": "application/octet-stream"})

    def _send(
        self, method: str, path: str, service: str, data: bytes | None, headers: dict[str, str]
    ) -> bytes:
        scope = f"testing/20260101/{REGION}/{service}/aws4_request"
        signed = {"Authorization": f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"}
        request = urllib.request.Request(f"{self.url}/{path}", data, {**headers, **signed}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            content: bytes = answer.read()
            return content


class Locking:
    """One of the two ways to lock a state in a bucket: the options for it, and a lock of somebody else's."""

    def __init__(self, aws: Aws, bucket: str, kind: str) -> None:
        self._aws = aws
        self._bucket = bucket
        self._kind = kind
        self._table = f"{bucket}-locks"
        if kind == "table":
            aws.table(
                "CreateTable",
                TableName=self._table,
                KeySchema=[{"AttributeName": "LockID", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "LockID", "AttributeType": "S"}],
                BillingMode="PAY_PER_REQUEST",
            )

    @property
    def options(self) -> tuple[str, ...]:
        return ("--state-lock-table", self._table) if self._kind == "table" else ()

    def hold(self, key: str) -> dict[str, str]:
        """Take the lock of the state `key` for somebody else, who is returned."""
        holder = {**HOLDER, "Path": f"{self._bucket}/{key}"}
        if self._kind == "table":
            info = {"S": json.dumps(holder)}
            self._aws.table("PutItem", TableName=self._table, Item={**self._item(key), "Info": info})
        else:
            self._aws.put(self._bucket, f"{key}.tflock", holder)
        return holder

    def free(self, key: str) -> None:
        if self._kind == "table":
            self._aws.table("DeleteItem", TableName=self._table, Key=self._item(key))
        else:
            self._aws.delete(self._bucket, f"{key}.tflock")

    def held(self) -> list[str]:
        """The locks that there are now."""
        if self._kind == "table":
            items = self._aws.table("Scan", TableName=self._table)["Items"]
            locks = sorted(item["LockID"]["S"] for item in items)
            return [lock for lock in locks if not lock.endswith("-md5")]
        return [key for key in self._aws.keys(self._bucket) if key.endswith(".tflock")]

    def _item(self, key: str) -> dict[str, Any]:
        return {"LockID": {"S": f"{self._bucket}/{key}"}}


@pytest.fixture(scope="module")
def server() -> Iterator[Aws]:
    """moto's server, for all tests of this file."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def answers() -> bool | None:
        assert process.poll() is None, "moto's server has ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return None
        return True

    try:
        wait_for(answers, what="moto's server")
        yield Aws(port)
    finally:
        process.terminate()
        process.wait()


@pytest.fixture
def aws(server: Aws, monkeypatch: pytest.MonkeyPatch) -> Aws:
    """The server, for every process that the test starts."""
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server


@pytest.fixture
def bucket(aws: Aws, tmp_path: Path) -> str:
    """A bucket of the test's own."""
    name = "".join(letter for letter in tmp_path.name.lower() if letter.isalnum())[-40:] + "-states"
    aws.make_bucket(name)
    return name


@pytest.fixture(params=["lock file", "table"])
def locking(request: pytest.FixtureRequest, aws: Aws, bucket: str) -> Locking:
    return Locking(aws, bucket, request.param)


def in_bucket(bucket: str, identifier: str, *more: str) -> tuple[str, ...]:
    return ("--state-bucket", bucket, "--state-region", REGION, "--id", identifier, *SERVER_SETTINGS, *more)


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
