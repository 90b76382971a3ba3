"""Plays the sites that engines are downloaded from, on this machine: files, Range, TLS, and faults when asked for.

`site.put(path, body)` publishes a file; `site.fault(path, FAULT, …)` makes its next requests go wrong, one fault
for each request (`site_faults.py`); `site.requests` has what was asked.
"""

import contextlib
import re
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

MODIFIED = "Wed, 01 Apr 2026 10:00:00 GMT"
_PIECE = 1024 * 1024
_RANGE = re.compile(r"bytes=(\d+)-")


class Request(NamedTuple):
    """What was asked; header names are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]


class File(NamedTuple):
    """A published file, and what its answers say of it; an empty text is not said."""

    body: bytes
    etag: str = '"one"'
    modified: str = MODIFIED
    tells_length: bool = True
    takes_ranges: bool = True


class Exchange:
    """One request and the means to answer it well or badly."""

    def __init__(self, handler: BaseHTTPRequestHandler, site: "ReleaseSite", file: File | None) -> None:
        self._handler = handler
        self.site = site
        self.file = file
        self.headers = handler.headers

    @property
    def body(self) -> bytes:
        assert self.file is not None
        return self.file.body

    def start(self, status: int, headers: Mapping[str, str]) -> None:
        self._handler.send_response(status)
        for name, value in headers.items():
            self._handler.send_header(name, value)
        self._handler.end_headers()

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        for begin in range(0, len(view), _PIECE):
            self._handler.wfile.write(view[begin : begin + _PIECE])

    def hang_up(self) -> None:
        self._handler.close_connection = True

    def reset(self) -> None:
        """End the connection with RST: what a crashed middle box does."""
        connection = self._handler.connection
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.hang_up()
        socket.socket.close(connection)

    def described(self) -> dict[str, str]:
        assert self.file is not None
        told = {"ETag": self.file.etag, "Last-Modified": self.file.modified}
        return {name: value for name, value in told.items() if value}

    def wanted_offset(self) -> int:
        """Where the wanted part begins: Range counts only when If-Range, if given, names this very file."""
        assert self.file is not None
        match = _RANGE.fullmatch(self.headers.get("Range", ""))
        condition = self.headers.get("If-Range", self.file.etag)
        is_same = condition in (self.file.etag, self.file.modified)
        return int(match[1]) if match and is_same and self.file.takes_ranges else 0

    def answer(self, *, cut: int | None = None) -> None:
        """As a good server would, but for the last `cut` bytes."""
        offset = self.wanted_offset()
        headers = self.described()
        rest = self.body[offset:]
        if self.file is not None and self.file.tells_length:
            headers["Content-Length"] = str(len(rest))
        if offset:
            headers["Content-Range"] = f"bytes {offset}-{len(self.body) - 1}/{len(self.body)}"
        if offset > len(self.body):
            self.start(416, {"Content-Length": "0"})
            return
        self.start(206 if offset else 200, headers)
        self.write(rest if cut is None else rest[: max(0, len(rest) - cut)])
        if cut is not None or "Content-Length" not in headers:
            self.hang_up()


Fault = Callable[[Exchange], None]


def status(number: int, **headers: str) -> Fault:
    """Answer with a status; `retry_after="1"` becomes a header."""
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda exchange: exchange.start(number, {"Content-Length": "0", **told})


def well(exchange: Exchange) -> None:
    """No fault at all."""
    exchange.answer()


class ReleaseSite:
    """A server on this machine; `host` is how it is called in its own addresses: 127.0.0.1 or localhost."""

    def __init__(self, *, host: str = "127.0.0.1", context: ssl.SSLContext | None = None) -> None:
        self.files: dict[str, File] = {}
        self.requests: list[Request] = []
        self.connections = 0
        self.closing = threading.Event()
        self.stalls = threading.Event()
        self._faults: dict[str, list[Fault]] = {}
        self._lasting: dict[str, Fault] = {}
        self._server = _Server(("127.0.0.1", 0), _handler(self))
        self._server.context = context
        self.port = self._server.server_port
        self.address = f"{'http' if context is None else 'https'}://{host}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> "ReleaseSite":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, path: str) -> str:
        return f"{self.address}{path}"

    def put(self, path: str, body: bytes, **how: Any) -> str:
        """Publish a file; returns its address. `how` has fields of `File`."""
        self.files[path] = File(body, **how)
        return self.url(path)

    def fault(self, path: str, *faults: Fault) -> None:
        """Let the next requests for `path` go wrong, one fault for each."""
        self._faults.setdefault(path, []).extend(faults)

    def always(self, path: str, fault: Fault) -> None:
        """Let every request for `path` go wrong."""
        self._lasting[path] = fault

    def asked(self, path: str) -> list[Request]:
        """The requests for `path`, its query left out."""
        return [request for request in self.requests if request.path.partition("?")[0] == path]

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        headers = {name.lower(): value for name, value in handler.headers.items()}
        self.requests.append(Request(handler.command, handler.path, headers))
        path = handler.path.partition("?")[0]
        file = self.files.get(path)
        waiting = self._faults.get(path)
        fault = waiting.pop(0) if waiting else self._lasting.get(path)
        if fault is None:
            fault = well if file is not None else status(404)
        fault(Exchange(handler, self, file))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    context: ssl.SSLContext | None = None

    def finish_request(self, request: Any, client_address: Any) -> None:
        # In the connection's own thread: a handshake must not hold up others.
        if self.context is not None:
            request = self.context.wrap_socket(request, server_side=True)
        with contextlib.closing(request):
            super().finish_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients hang up here, on purpose."""


def _handler(site: ReleaseSite) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # As every real server: a body after its head would wait 40 ms for a client that delays its ACK.
        disable_nagle_algorithm = True

        def setup(self) -> None:
            super().setup()
            site.connections += 1

        def do_GET(self) -> None:
            with contextlib.suppress(OSError, ValueError):  # the client, or the fault, has closed it
                site.answer(self)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


@contextlib.contextmanager
def two_sites() -> Iterator[tuple[ReleaseSite, ReleaseSite]]:
    """Two sites with different names on this machine, for redirects from one to the other."""
    with ReleaseSite() as first, ReleaseSite(host="localhost") as second:
        yield first, second
