"""Plays proxies on this machine: HTTP (CONNECT and plain requests) and SOCKS 5, with routes of the test's own."""

import base64
import contextlib
import http.client
import select
import socket
import socketserver
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


class ForwardProxy:
    """`routes` says which port of this machine plays a host: `{"mirror.example:443": 40123}`; others get a 502."""

    def __init__(self, routes: Mapping[str, int], *, user_info: str | None = None) -> None:
        self.routes = routes
        self.user_info = user_info
        self.requests: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._server.block_on_close = False
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> "ForwardProxy":
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Its address, as the variables want it."""
        user_info = f"{self.user_info}@" if self.user_info else ""
        return f"http://{user_info}127.0.0.1:{self.port}"

    def admits(self, authorization: str | None) -> bool:
        if self.user_info is None:
            return True
        return authorization == f"Basic {base64.b64encode(self.user_info.encode()).decode()}"


def _handler(proxy: ForwardProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_CONNECT(self) -> None:
            proxy.requests.append(f"CONNECT {self.path}")
            port = proxy.routes.get(self.path)
            if not proxy.admits(self.headers.get("Proxy-Authorization")):
                self.send_error(407)
            elif port is None:
                self.send_error(502)
            else:
                with socket.create_connection(("127.0.0.1", port)) as there:
                    self.send_response(200)
                    self.end_headers()
                    with contextlib.suppress(OSError):
                        _carry(self.connection, there)

        def do_GET(self) -> None:
            proxy.requests.append(f"GET {self.path}")
            address = urlsplit(self.path)
            port = proxy.routes.get(f"{address.hostname}:{address.port or 80}")
            if port is None:
                self.send_error(502)
                return
            there = http.client.HTTPConnection("127.0.0.1", port)
            there.request("GET", address.path)
            answer = there.getresponse()
            body = answer.read()
            there.close()
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Say nothing."""

    return Handler


class SocksProxy(socketserver.ThreadingTCPServer):
    """SOCKS 5 (RFC 1928) with names that the proxy resolves: `routes` as for `ForwardProxy`."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, routes: Mapping[str, int]) -> None:
        super().__init__(("127.0.0.1", 0), _SocksHandler)
        self.routes = routes
        self.requests: list[str] = []
        self.url = f"socks5h://127.0.0.1:{self.server_address[1]}"
        self._thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __exit__(self, *_error: object) -> None:
        self.shutdown()
        self.server_close()
        self._thread.join()


class _SocksHandler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        proxy = self.server
        assert isinstance(proxy, SocksProxy)
        _, methods = self.rfile.read(2)
        self.rfile.read(methods)
        self.wfile.write(b"\x05\x00")
        *_, kind, length = self.rfile.read(5)
        assert kind == 3
        name = self.rfile.read(length).decode()
        place = f"{name}:{int.from_bytes(self.rfile.read(2), 'big')}"
        proxy.requests.append(place)
        with socket.create_connection(("127.0.0.1", proxy.routes[place])) as there:
            self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
            with contextlib.suppress(OSError):
                _carry(self.connection, there)


def _carry(here: socket.socket, there: socket.socket) -> None:
    """Carry bytes both ways until one side is done."""
    other = {here: there, there: here}
    while True:
        for side in select.select([here, there], [], [])[0]:
            data = side.recv(65536)
            if not data:
                return
            other[side].sendall(data)
