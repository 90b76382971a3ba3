"""An `http` state backend on this machine that refuses what it is told to refuse."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

_ANSWERS = {"LOCK": 200, "UNLOCK": 200, "POST": 200, "DELETE": 200}


class StateServer:
    """Holds one state while it is entered; `refuses` has the status to answer a method with, as often as `times`.

    A strict one, as GitLab's, takes a state from nobody but the holder of its lock. `lock` is what the holder of
    the lock has left there; without one, who locks gets the lock. `state` is what is there at the beginning.
    """

    def __init__(
        self,
        refuses: Mapping[str, int],
        lock: Mapping[str, str] | None = None,
        state: Mapping[str, Any] | None = None,
        times: Mapping[str, int] | None = None,
        is_strict: bool = False,
    ) -> None:
        self._refuses = refuses
        self._is_strict = is_strict
        self._left = dict(times or {})
        self._lost: set[str] = set()
        self._lock = json.dumps(lock).encode() if lock is not None else None
        self._state = json.dumps(state).encode() if state is not None else None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> "StateServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def state(self) -> Any:
        """The state as it is now; None when there is none."""
        return json.loads(self._state) if self._state is not None else None

    @property
    def environment(self) -> Mapping[str, str]:
        """What tells an engine where its state is."""
        address = f"http://127.0.0.1:{self._server.server_port}/state/shop"
        return {f"TF_HTTP_{name}ADDRESS": address for name in ("", "LOCK_", "UNLOCK_")}

    @property
    def lock(self) -> Any:
        """What the holder of the lock has left there; None when it is free."""
        return json.loads(self._lock) if self._lock is not None else None

    def hold(self, lock: Mapping[str, str]) -> None:
        """Somebody takes the lock."""
        self._lock = json.dumps(lock).encode()

    def put(self, state: Mapping[str, Any]) -> None:
        """Somebody stores a state."""
        self._state = json.dumps(state).encode()

    def forget(self) -> None:
        """Somebody takes the state away."""
        self._state = None

    def refuse(self, method: str, status: int, times: int) -> None:
        """From now on a method gets this status, so many times."""
        self._refuses, self._left[method] = {**self._refuses, method: status}, times

    def lose(self, method: str) -> None:
        """The next request with this method is done, and its answer is lost on the way."""
        self._lost.add(method)

    def release(self) -> None:
        """The holder of the lock gives it back."""
        self._lock = None

    def answer(self, method: str, body: bytes, holder: str = "") -> tuple[int, bytes]:
        """Status and body of the answer to a request of who says that `holder` is the ID of its lock."""
        if method in self._refuses and self._left.get(method, 1):
            if method in self._left:
                self._left[method] -= 1
            return self._refuses[method], b""
        if method == "LOCK" and self._lock is not None:
            return 423, self._lock
        if method == "POST" and self._is_strict and self._lock is not None and holder != self.lock["ID"]:
            return 423, self._lock
        if method == "GET":
            return (200, self._state) if self._state is not None else (404, b"")
        self._lock = {"LOCK": body, "UNLOCK": None}.get(method, self._lock)
        self._state = {"POST": body, "DELETE": None}.get(method, self._state)
        if method in self._lost:
            self._lost.remove(method)
            return 502, b""
        return _ANSWERS[method], b""


def _handler(server: StateServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its base has it
            pass

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            query = parse_qs(urlsplit(self.path).query)
            status, answer = server.answer(self.command, body, *query.get("ID", ()))
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_DELETE = do_LOCK = do_UNLOCK = _answer  # noqa: N815 - as its base calls them

    return Handler
