"""Asks an `http` backend itself who holds its lock (I/O: urllib3).

Terraform before 1.15 tells no more than the ID of such a lock, under its own data; only the server's answer to a
LOCK has who, when and for what.
"""

import base64
import json
import ssl
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hereya_tf import __version__
from hereya_tf.errors import HereyaError
from hereya_tf.events import timestamp
from hereya_tf.runs import history
from hereya_tf.saved_backend import read_saved_backend

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse

    from hereya_tf.releases.addresses import Address

TYPE = "http"
_PATIENCE = 30.0  # seconds
_GIVEN = 200
_HELD = (409, 423)
_LARGEST_ANSWER = 1 << 20  # bytes
_PIECE = 1 << 16  # bytes


class HttpLock(NamedTuple):
    """Where and how the backend is locked and unlocked."""

    lock_address: str
    lock_method: str
    unlock_address: str
    unlock_method: str
    user: str
    password: str
    verifies: bool
    authorities: str
    client_certificate: str
    client_key: str


def read_http_lock(package: Path, environment: Mapping[str, str]) -> HttpLock | None:
    """The settings that the last init has saved, completed from the engine's environment; None for no such lock."""
    saved = read_saved_backend(package / environment.get("TF_DATA_DIR", ".terraform")) or {}
    if saved.get("type") != TYPE:
        return None
    config: Any = saved.get("config")
    settings: Mapping[str, Any] = config if isinstance(config, dict) else {}

    def setting(name: str, otherwise: str = "") -> str:
        value = settings.get(name)
        return str(value) if value else environment.get(f"TF_HTTP_{name.upper()}") or otherwise

    address = setting("lock_address")
    if not address:
        return None
    return HttpLock(
        lock_address=address,
        lock_method=setting("lock_method", "LOCK"),
        unlock_address=setting("unlock_address", address),
        unlock_method=setting("unlock_method", "UNLOCK"),
        user=setting("username"),
        password=setting("password"),
        verifies=setting("skip_cert_verification").lower() not in ("1", "t", "true"),
        authorities=setting("client_ca_certificate_pem"),
        client_certificate=setting("client_certificate_pem"),
        client_key=setting("client_private_key_pem"),
    )


def ask_holder(lock: HttpLock, run: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Who holds the lock, by the server's own record; empty when it does not say.

    To be asked for what is known to be locked. Should it have been freed meanwhile, the lock is this run's for a
    moment, and let go at once. Never raises for what the server answers.
    """
    import urllib3

    body = json.dumps(_info(run)).encode()
    try:
        status, answer = _send(lock, lock.lock_method, lock.lock_address, body, environment)
        if status == _GIVEN:
            _send(lock, lock.unlock_method, lock.unlock_address, body, environment)
            return {}
    except (urllib3.exceptions.HTTPError, HereyaError, OSError, ValueError):
        return {}
    return _holder(answer) if status in _HELD else {}


def _info(run: str) -> dict[str, str]:
    """What an engine puts into a lock, for this run."""
    return {
        "ID": str(uuid.uuid4()),
        "Operation": "recover",
        "Info": f"run {run} of hereya-tf looks whose lock this is",
        "Who": f"{history.user_name()}@{history.host_name()}",
        "Version": __version__,
        "Created": timestamp(time.time()),
        "Path": "",
    }


def _send(
    lock: HttpLock, method: str, to: str, body: bytes, environment: Mapping[str, str]
) -> tuple[int, bytes]:
    """Status and body of the answer; raises what urllib3 raises, and for settings that cannot be used."""
    from hereya_tf.releases.addresses import read_address

    address, user_info = read_address(to)
    user_info = f"{lock.user}:{lock.password}" if lock.user else user_info
    headers = {"Content-Type": "application/json"}
    if user_info:
        headers["Authorization"] = f"Basic {base64.b64encode(user_info.encode()).decode()}"
    manager = _manager(lock, address, environment)
    with warnings.catch_warnings():
        # That nothing is verified there, the package has said itself.
        warnings.simplefilter("ignore")
        answer = manager.request(
            method,
            str(address),
            body=body,
            headers=headers,
            redirect=False,
            retries=False,
            timeout=_PATIENCE,
            preload_content=False,
        )
    try:
        return answer.status, _body(answer, time.monotonic() + _PATIENCE)
    finally:
        answer.release_conn()
        manager.clear()


def _body(
    answer: "BaseHTTPResponse", deadline: float, *, clock: Callable[[], float] = time.monotonic
) -> bytes:
    """The body as far as it has come by then: a limit to silence alone lets it come byte by byte for ever."""
    body = b""
    while len(body) < _LARGEST_ANSWER and clock() < deadline and (piece := answer.read1(_PIECE)):
        body += piece
    return body[:_LARGEST_ANSWER]


def _manager(lock: HttpLock, address: "Address", environment: Mapping[str, str]) -> Any:
    import urllib3

    from hereya_tf.releases.proxies import proxy_for

    context = _context(lock, environment)
    proxy = proxy_for(address, environment)
    if proxy is None:
        return urllib3.PoolManager(ssl_context=context)
    headers = urllib3.make_headers(proxy_basic_auth=proxy.user_info) if proxy.user_info else None
    return urllib3.ProxyManager(proxy.url, proxy_headers=headers, ssl_context=context)


def _context(lock: HttpLock, environment: Mapping[str, str]) -> ssl.SSLContext:
    from hereya_tf.releases.connections import trusting

    context = (
        ssl.create_default_context(cadata=lock.authorities) if lock.authorities else trusting(environment)
    )
    if not lock.verifies:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if lock.client_certificate:
        _present(context, lock)
    return context


def _present(context: ssl.SSLContext, lock: HttpLock) -> None:
    """A certificate of our own; Python takes it from a file only."""
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{lock.client_certificate}\n{lock.client_key}\n")
        file.flush()
        context.load_cert_chain(file.name)


def _holder(answer: bytes) -> dict[str, str]:
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if isinstance(value, str) and value}
