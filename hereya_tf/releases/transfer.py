"""One request and its answer, on a thread of its own (I/O).

A wait for a name server, for a connection, for a byte cannot be cut short where it happens. The thread is
left alone with it, and ends at its own time-out, or at once when its socket is shut down.
"""

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from urllib3.response import BaseHTTPResponse

# Below the size from which the C library takes memory from the system and gives it back each time.
_PIECE = 64 * 1024  # bytes
_MOST_WAITING = 4 * 1024 * 1024  # bytes
_LOOK_SECONDS = 0.1
_FAREWELL_SECONDS = 1.0


class Head(NamedTuple):
    """Status and headers of an answer; headers have no regard for case."""

    status: int
    headers: Mapping[str, str]


class Broken(Exception):
    """It did not come to its end; `cause` is what urllib3 raised."""

    def __init__(self, cause: Exception | None) -> None:
        super().__init__(str(cause))
        self.cause = cause


class Transfer:
    """An answer that is on its way; `pause(0)` is called several times a second and may raise."""

    def __init__(self, ask: "Callable[[], BaseHTTPResponse]", pause: Callable[[float], None]) -> None:
        self._ask = ask
        self._pause = pause
        self._looked = time.monotonic()
        self._changed = threading.Condition()
        self._response: BaseHTTPResponse | None = None
        self._pieces: deque[bytes] = deque()
        self._waiting = 0  # bytes
        self._has_ended = False
        self._is_abandoned = False
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="download", daemon=True)
        self._thread.start()

    def head(self) -> Head:
        """The answer's head, as soon as it is here; raises Broken."""
        self._wait_for(lambda: self._response is not None or self._has_ended)
        if self._response is None:
            raise Broken(self._error)
        return Head(self._response.status, self._response.headers)

    def pieces(self) -> Iterator[bytes]:
        """The body as it comes, never an empty piece; raises Broken, after all that came before."""
        while True:
            self._wait_for(lambda: self._pieces or self._has_ended)
            with self._changed:
                pieces = tuple(self._pieces)
                self._pieces.clear()
                self._waiting = 0
                self._changed.notify_all()
            if pieces:
                yield pieces[0] if len(pieces) == 1 else b"".join(pieces)
            elif self._error is not None:
                raise Broken(self._error)
            else:
                return

    def close(self) -> None:
        """Stop it, wherever it is."""
        with self._changed:
            self._is_abandoned = True
            response = None if self._has_ended else self._response
            self._changed.notify_all()
        if response is not None:
            # It may end by itself at this very moment, and takes these things away one by one.
            with contextlib.suppress(OSError, ValueError, RuntimeError, TypeError):
                response.shutdown()
            self._thread.join(_FAREWELL_SECONDS)

    def _wait_for(self, is_so: Callable[[], object]) -> None:
        while True:
            now = time.monotonic()
            if now - self._looked >= _LOOK_SECONDS:
                self._looked = now
                self._pause(0.0)
            with self._changed:
                if is_so() or self._changed.wait_for(is_so, _LOOK_SECONDS):
                    return

    def _work(self) -> None:
        try:
            response = self._ask()
            try:
                self._tell(response)
                while piece := response.read1(_PIECE):
                    self._put(piece)
                response.release_conn()
            finally:
                response.close()
        except _AbandonedError:
            pass
        except Exception as error:  # noqa: BLE001 - raised again where somebody waits for it
            self._error = error
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _tell(self, response: "BaseHTTPResponse") -> None:
        with self._changed:
            self._response = response
            self._changed.notify_all()
            if self._is_abandoned:
                raise _AbandonedError

    def _put(self, piece: bytes) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting < _MOST_WAITING or self._is_abandoned)
            if self._is_abandoned:
                raise _AbandonedError
            self._pieces.append(piece)
            self._waiting += len(piece)
            self._changed.notify_all()


class _AbandonedError(Exception):
    """Nobody waits for it any more."""
