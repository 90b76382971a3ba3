"""One request and its whole answer within a deadline, or the end of both (I/O)."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from hereya_tf.control_plane.calls import Call
from hereya_tf.control_plane.errors import (
    ControlPlaneError,
    RequestTimedOut,
    Unreachable,
    UnreadableAnswer,
)
from hereya_tf.control_plane.replies import Reply
from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.addresses import Address
from hereya_tf.releases.answers import Never
from hereya_tf.releases.connections import Connections
from hereya_tf.releases.proxies import Proxy, proxy_for
from hereya_tf.releases.transfer import Broken, Transfer
from hereya_tf.sizes import format_size

if TYPE_CHECKING:
    from urllib3 import PoolManager
    from urllib3.response import BaseHTTPResponse

MOST_BYTES = 64 * 1024 * 1024
_KEPT = 16  # connections
# So long after its deadline the thread of a call ends at the latest: nothing cuts a wait for a connection short.
_FAREWELL_SECONDS = 15.0


class Wire:
    """Keeps connections to a server open; any thread may use it, and several at once.

    `environment` has proxies and certificates, as for downloads; no call has a deadline of more than `longest`
    seconds. Raises ControlPlaneError throughout.
    """

    def __init__(self, environment: Mapping[str, str], *, longest: float) -> None:
        self._environment = environment
        self._preparing = threading.Lock()
        silence = longest + _FAREWELL_SECONDS
        self._connections = Connections(
            environment, connect_timeout=silence, idle_timeout=silence, shape=_watch
        )

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._connections.close()

    def exchange(
        self,
        call: Call,
        address: Address,
        headers: Mapping[str, str],
        seconds: float,
        look: Callable[[], None],
    ) -> Reply:
        """Send a call and wait for its whole answer, at most `seconds` in all.

        `look` is called several times a second and may raise. However it ends, the connection of a call that is
        not answered is closed: a server must not think that somebody still listens.
        """
        proxy = self._prepared(address)
        ends = time.monotonic() + seconds

        def pause(_seconds: float) -> None:
            look()
            if time.monotonic() >= ends:
                raise _LateError

        caller = _Caller()

        def ask() -> "BaseHTTPResponse":
            with caller.asking():
                return self._connections.ask(address, headers, proxy, method=call.method, body=call.body)

        transfer = Transfer(ask, pause)
        try:
            return _received(transfer, call)
        except _LateError:
            raise RequestTimedOut(address.place, seconds) from None
        except Broken as broken:
            raise self._explained(broken.cause, address, proxy) from broken.cause
        finally:
            caller.hang_up()
            transfer.close()

    def _prepared(self, address: Address) -> Proxy | None:
        try:
            proxy = proxy_for(address, self._environment)
            with self._preparing:
                self._connections.prepare(proxy)
        except EngineUnavailable as error:  # a proxy or certificates that cannot be used
            raise Unreachable(str(error), *error.hints, is_temporary=False) from error
        return proxy

    def _explained(self, cause: Exception | None, address: Address, proxy: Proxy | None) -> ControlPlaneError:
        assert cause is not None
        verdict = self._connections.explain(cause, proxy)
        is_final = isinstance(verdict, Never)
        hints = (
            (verdict.hint,)
            if isinstance(verdict, Never) and verdict.hint is not None
            else ("see whether `HEREYA_CLOUD_URL` is its address; `HTTPS_PROXY` names a proxy",)
        )
        return Unreachable(
            f"`{address.place}` could not be asked: {verdict.reason}", *hints, is_temporary=not is_final
        )


class _LateError(Exception):
    """The deadline has passed."""


class _Caller:
    """Who waits for the head of an answer, and the connection that it is to come from."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._has_hung_up = False
        self._connection: Any = None

    @contextlib.contextmanager
    def asking(self) -> Iterator[None]:
        """While the block is on, hanging up ends it; later the connection may be somebody else's."""
        _at_work.caller = self
        try:
            yield
        finally:
            with self._lock:
                self._connection = None

    def uses(self, connection: Any) -> None:
        """This connection it is; raises when there is no call any more."""
        with self._lock:
            if self._has_hung_up:
                raise ConnectionAbortedError
            self._connection = connection

    def hang_up(self) -> None:
        """Break the connection that nothing has come from, if there is one."""
        with self._lock:
            self._has_hung_up = True
            open_socket = getattr(self._connection, "sock", None)
            if open_socket is not None:
                with contextlib.suppress(OSError, ValueError):
                    open_socket.shutdown(socket.SHUT_RDWR)


_at_work = threading.local()


def _watch(manager: "PoolManager") -> None:
    """Let each thread's caller know its connection: while there is no answer, urllib3 shows it to nobody."""
    manager.connection_pool_kw["maxsize"] = _KEPT
    manager.pool_classes_by_scheme = {
        scheme: _watching(pool) for scheme, pool in manager.pool_classes_by_scheme.items()
    }


def _watching(pool: Any) -> Any:
    base = pool.ConnectionCls

    def connect(connection: Any) -> None:
        _at_work.caller.uses(connection)
        base.connect(connection)
        _at_work.caller.uses(connection)  # nothing is sent for a caller that has gone meanwhile

    def request(connection: Any, *arguments: Any, **options: Any) -> None:
        _at_work.caller.uses(connection)
        base.request(connection, *arguments, **options)

    watched = type(base.__name__, (base,), {"connect": connect, "request": request})
    return type(pool.__name__, (pool,), {"ConnectionCls": watched})


def _received(transfer: Transfer, call: Call) -> Reply:
    head = transfer.head()
    pieces: list[bytes] = []
    size = 0
    for piece in transfer.pieces():
        size += len(piece)
        if size > MOST_BYTES:
            raise UnreadableAnswer(f"it is larger than {format_size(MOST_BYTES)}", str(call))
        pieces.append(piece)
    return Reply(head.status, head.headers, b"".join(pieces))
