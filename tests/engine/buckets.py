"""States in a bucket, served by moto on this machine, and the two ways to lock them."""

import json
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.fake_engine import wait_for

REGION = "eu-west-1"
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

    def get(self, bucket: str, key: str) -> bytes:
        return self._s3("GET", f"{bucket}/{key}")

    def outputs(self, bucket: str, key: str) -> dict[str, Any]:
        state = json.loads(self.get(bucket, key))
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


@pytest.fixture(scope="session")
def moto() -> Iterator[Aws]:
    """moto's server, for all tests of this process."""
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
def aws(moto: Aws, monkeypatch: pytest.MonkeyPatch) -> Aws:
    """The server, for every process that the test starts."""
    for name, value in moto.environment.items():
        monkeypatch.setenv(name, value)
    return moto


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
