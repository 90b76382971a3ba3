"""Plays a control plane on this machine: jobs, claims, long-polls, logs by offset, and faults when asked for.

`plane.fault("poll", FAULT, …)` lets the next calls of an operation go wrong, one fault for each; `always` lets all
of them (`control_plane_faults.py`). Everything that is asked and answered well is checked against the description
of the API: `plane.violations` has what does not fit. With `foreign` it knows neither claims nor offsets.
"""

import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from tests.control_plane_contract import Contract
from tests.control_plane_jobs import Asked, JobBoard

TOKEN = "cp-token-0123456789abcdef"


class Exchange:
    """One request and the means to answer it well or badly."""

    def __init__(self, handler: BaseHTTPRequestHandler, plane: "ControlPlane", asked: Asked) -> None:
        self._handler = handler
        self.plane = plane
        self.asked = asked

    def well(self) -> tuple[int, bytes]:
        """Do what was asked; returns the answer, which is not sent yet."""
        status, body = self.plane.do(self.asked)
        self.plane.violations += self.plane.contract.faults_of_answer(self.asked.operation, status, body)
        return status, b"" if body is None else json.dumps(body).encode()

    def send(
        self, status: int, body: bytes, *, length: int | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self._handler.send_response(status)
        told = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        if status != 204:
            told["Content-Length"] = str(len(body) if length is None else length)
        for name, value in {"Content-Type": "application/json", **told}.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()
        self.write(body)

    def write(self, data: bytes) -> None:
        self._handler.wfile.write(data)

    def hang_up(self) -> None:
        self._handler.close_connection = True

    def reset(self) -> None:
        connection = self._handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.hang_up()
        socket.socket.close(connection)

    def wait_for_end(self, seconds: float = 60) -> bool:
        """Wait until the client, or the test, has gone; whether that was so."""
        connection = self._handler.connection
        connection.settimeout(0.05)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends and not self.plane.closing.is_set():
            try:
                if not connection.recv(1):
                    return True
            except TimeoutError:
                continue
            except OSError:
                return True
        return self.plane.closing.is_set()


Fault = Callable[[Exchange], None]


def well(exchange: Exchange) -> None:
    """No fault at all."""
    exchange.send(*exchange.well())


def status(number: int, reason: str = "the control plane has a bad day") -> Fault:
    """Answer with a status and a reason."""
    return lambda exchange: exchange.send(number, json.dumps({"reason": reason}).encode())


def unauthorized(exchange: Exchange) -> None:
    """Not accept the token."""
    status(401, "who are you?")(exchange)


class ControlPlane(JobBoard):
    """A server on this machine; `hold` is how long it holds long-polls, in seconds."""

    def __init__(
        self, *, hold: float = 0.2, foreign: bool = False, context: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(hold=hold, foreign=foreign)
        self.contract = Contract()
        self.violations: list[str] = []
        self.requests: list[Asked] = []
        self.connections = 0
        self.stalls = threading.Event()
        self.gone = threading.Event()
        self._faults: dict[str, list[Fault]] = {}
        self._lasting: dict[str, Fault] = {}
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.context = context
        self.port = self._server.server_port
        self.url = f"{'http' if context is None else 'https'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> "ControlPlane":
        return self

    def __exit__(self, *_error: object) -> None:
        self.closing.set()
        with self.changed:
            self.changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def environment(self) -> dict[str, str | None]:
        """What a client needs to know."""
        return {"HEREYA_CLOUD_URL": self.url, "HEREYA_TOKEN": TOKEN}

    def fault(self, operation: str, *faults: Fault) -> None:
        self._faults.setdefault(operation, []).extend(faults)

    def always(self, operation: str, fault: Fault) -> None:
        self._lasting[operation] = fault

    def asked(self, operation: str) -> list[Asked]:
        return [request for request in self.requests if request.operation == operation]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        path, _, query = handler.path.partition("?")
        length = int(handler.headers.get("Content-Length") or 0)
        data = handler.rfile.read(length)
        found = self.contract.find(handler.command, path)
        headers = {name.lower(): value for name, value in handler.headers.items()}
        if found is None:
            self.violations.append(f"{handler.command} {path} is not in the API")
            handler.send_error(404)
            return
        operation, names = found
        content_type = headers.get("content-type", "")
        body = _decoded(data, content_type)
        asked = Asked(
            operation, names, dict(parse_qsl(query, strict_parsing=bool(query))), body, headers, handler.path
        )
        self.violations += self.contract.faults_of_request(
            operation, asked.query, content_type, _as_texts(body)
        )
        with self.changed:
            self.requests.append(asked)
            self.changed.notify_all()
        exchange = Exchange(handler, self, asked)
        waiting = self._faults.get(operation)
        fault = waiting.pop(0) if waiting else self._lasting.get(operation, well)
        if fault is well and headers.get("authorization") != f"Bearer {TOKEN}":
            fault = unauthorized
        fault(exchange)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    context: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        if self.context is not None:
            request = self.context.wrap_socket(request, server_side=True)
        with contextlib.closing(request):
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients hang up here, on purpose."""


def _handler(plane: ControlPlane) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            plane.connections += 1

        def _answer(self) -> None:
            with contextlib.suppress(OSError, ValueError):  # the client, or the fault, has closed it
                plane.answer(self)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


def _decoded(data: bytes, content_type: str) -> Any:
    if not data:
        return None
    if content_type.startswith("multipart/form-data; boundary="):
        return dict(_fields(data, content_type.partition("boundary=")[2]))
    return json.loads(data)


def _fields(data: bytes, boundary: str) -> Iterator[tuple[str, bytes]]:
    begin, *parts, end = (b"\r\n" + data).split(f"\r\n--{boundary}".encode())
    assert (begin, end) == (b"", b"--\r\n"), "no whole form"
    for part in parts:
        head, _, value = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = head.decode().removeprefix('Content-Disposition: form-data; name="').removesuffix('"')
        yield name, value


def _as_texts(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    return {name: value.decode() if isinstance(value, bytes) else value for name, value in body.items()}
