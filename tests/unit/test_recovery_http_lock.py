"""An `http` backend is asked itself who holds its lock; nothing of that stays behind."""

import base64
import io
import itertools
import json
import ssl
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import urllib3

from hereya_tf.recovery import http_lock
from hereya_tf.recovery.http_lock import HttpLock, ask_holder, read_http_lock
from tests.certificates import make_certificates

HOLDER = {
    "ID": "1",
    "Who": "a@b",
    "Operation": "OperationTypeApply",
    "Created": "2026-01-01T00:00:00Z",
    "Info": "",
}
ENVIRONMENT: dict[str, str] = {}


class Server:
    """Answers every request with one status and body, and remembers what it was asked."""

    def __init__(self, status: int, body: bytes, context: ssl.SSLContext | None = None) -> None:
        self.asked: list[tuple[str, str, Mapping[str, str], Any]] = []
        handler = _handler(self, status, body)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        if context is not None:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._scheme = "http" if context is None else "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def address(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self._server.server_port}/state"

    def __enter__(self) -> "Server":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def _handler(server: Server, status: int, body: bytes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its base has it
            pass

        def _answer(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.asked.append((self.command, self.path, dict(self.headers), asked))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_LOCK = do_UNLOCK = do_PUT = do_DELETE = _answer  # noqa: N815 - as its base calls them

    return Handler


def lock(address: str, **changed: Any) -> HttpLock:
    plain = HttpLock(address, "LOCK", address, "UNLOCK", "", "", True, "", "", "")
    return plain._replace(**changed)


@pytest.mark.parametrize("status", [409, 423])
def test_the_server_says_who_holds_the_lock(status: int) -> None:
    with Server(status, json.dumps(HOLDER).encode()) as server:
        found = ask_holder(lock(f"{server.address}?a=b"), "run-1", ENVIRONMENT)

    assert found == {name: text for name, text in HOLDER.items() if text}
    ((method, path, _, asked),) = server.asked
    assert (method, path, asked["Operation"]) == ("LOCK", "/state?a=b", "recover")
    assert "run-1" in asked["Info"]


def test_a_lock_that_has_become_free_is_let_go_at_once() -> None:
    with Server(200, b"") as server:
        found = ask_holder(
            lock(server.address, lock_method="PUT", unlock_method="DELETE"), "run-1", ENVIRONMENT
        )

    assert found == {}
    assert [method for method, *_ in server.asked] == ["PUT", "DELETE"]
    assert server.asked[0][3] == server.asked[1][3]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (423, b"locked"),
        (423, b"[]"),
        (423, b'{"ID": 1}'),
        (423, b"[" * 100_000),
        (401, b'{"ID": "1"}'),
        (500, b""),
    ],
    ids=["text", "a list", "a number", "a bomb", "no right", "a fault"],
)
def test_what_says_nothing_is_nothing(status: int, body: bytes) -> None:
    with Server(status, body) as server:
        assert ask_holder(lock(server.address), "run-1", ENVIRONMENT) == {}


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/state", "ftp://host/state", "nonsense", "http://[x"])
def test_who_cannot_be_asked_says_nothing(address: str) -> None:
    assert ask_holder(lock(address), "run-1", ENVIRONMENT) == {}


@pytest.mark.parametrize("place", ["settings", "address"])
def test_user_and_password_are_sent(place: str) -> None:
    with Server(423, json.dumps(HOLDER).encode()) as server:
        address = server.address
        if place == "settings":
            asked = lock(address, user="me", password="pass word")
        else:
            asked = lock(address.replace("//", "//me:pass%20word@"))
        assert ask_holder(asked, "run-1", ENVIRONMENT)["ID"] == "1"

    sent = server.asked[0][2]["Authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"me:pass word"


def test_over_tls_the_backends_own_authority_counts_or_none(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    pem = certificates.trust.read_text()
    server_pem = (tmp_path / "server.pem").read_text()
    with Server(423, json.dumps(HOLDER).encode(), certificates.context) as server:
        unknown = lock(server.address)
        ways = {
            "unknown": (unknown, ENVIRONMENT),
            "its own": (unknown._replace(authorities=pem), ENVIRONMENT),
            "unchecked": (unknown._replace(verifies=False), ENVIRONMENT),
            "the system's": (unknown, {"SSL_CERT_FILE": str(certificates.trust)}),
            "a client's": (unknown._replace(authorities=pem, client_certificate=server_pem), ENVIRONMENT),
            "a broken client's": (unknown._replace(authorities=pem, client_certificate="no"), ENVIRONMENT),
        }
        found = {name: bool(ask_holder(asked, "run-1", env)) for name, (asked, env) in ways.items()}

    assert found == {
        "unknown": False,
        "its own": True,
        "unchecked": True,
        "the system's": True,
        "a client's": True,
        "a broken client's": False,
    }


def test_a_proxy_is_used_for_what_is_not_on_this_machine() -> None:
    with Server(423, json.dumps(HOLDER).encode()) as server:
        place = server.address.removeprefix("http://").removesuffix("/state")
        environment = {"HTTP_PROXY": f"http://me:pw@{place}"}
        found = ask_holder(lock("http://states.invalid/shop"), "run-1", environment)

    assert found["Who"] == "a@b"
    ((_, path, headers, _),) = server.asked
    assert path == "http://states.invalid/shop"
    assert "proxy-authorization" in {name.lower() for name in headers}


def saved(package: Path, type_: str, **config: Any) -> Path:
    directory = package / ".terraform"
    directory.mkdir()
    (directory / "terraform.tfstate").write_text(
        json.dumps({"version": 3, "backend": {"type": type_, "config": config, "hash": 1}})
    )
    return package


def test_the_settings_are_those_of_the_last_init_and_of_the_environment(tmp_path: Path) -> None:
    package = saved(
        tmp_path,
        "http",
        address="http://h/s",
        lock_address="http://h/l",
        lock_method=None,
        unlock_address=None,
        skip_cert_verification=True,
        username="me",
    )

    found = read_http_lock(
        package, {"TF_HTTP_PASSWORD": "p", "TF_HTTP_LOCK_METHOD": "PUT", "TF_HTTP_USERNAME": "x"}
    )

    assert found == HttpLock("http://h/l", "PUT", "http://h/l", "UNLOCK", "me", "p", False, "", "", "")


@pytest.mark.parametrize(
    ("type_", "config"),
    [("s3", {"bucket": "b"}), ("http", {"address": "http://h/s"})],
    ids=["bucket", "no lock"],
)
def test_a_backend_without_such_a_lock_is_not_asked(
    tmp_path: Path, type_: str, config: dict[str, str]
) -> None:
    assert read_http_lock(saved(tmp_path, type_, **config), {}) is None


def test_a_package_that_was_never_initialised_has_no_such_lock(tmp_path: Path) -> None:
    assert read_http_lock(tmp_path, {}) is None


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for_without_end() -> None:
    class Trickle(io.RawIOBase):
        """A body that has no end, and brings one byte at a time."""

        def read1(self, _size: int = -1) -> bytes:
            return b" "

    ticks = itertools.count()
    answer = urllib3.HTTPResponse(Trickle(), preload_content=False)

    assert http_lock._body(answer, 5.0, clock=lambda: float(next(ticks))) == b" " * 5
