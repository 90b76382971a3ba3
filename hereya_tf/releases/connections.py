"""Connections to sites, through proxies and TLS, and what goes wrong with them (I/O: urllib3)."""

import errno
import ssl
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from hereya_tf.durations import format_duration
from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.addresses import Address
from hereya_tf.releases.answers import Again, Never
from hereya_tf.releases.proxies import Proxy

if TYPE_CHECKING:
    from urllib3 import PoolManager
    from urllib3.response import BaseHTTPResponse

_POOLS = 4
_TRUST_HINT = "name the certificate of a mirror, or of a proxy that opens TLS, with `SSL_CERT_FILE`"


class Connections:
    """Keeps connections open for the next request, per proxy; `shape` sees what is to keep them first."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        connect_timeout: float,
        idle_timeout: float,
        shape: "Callable[[PoolManager], None]" = lambda _manager: None,
    ) -> None:
        self._environment = environment
        self._shape = shape
        self._connect_timeout = connect_timeout
        self._idle_timeout = idle_timeout
        self._context: ssl.SSLContext | None = None
        self._managers: dict[Proxy | None, PoolManager] = {}

    def ask(
        self,
        address: Address,
        headers: Mapping[str, str],
        proxy: Proxy | None,
        *,
        method: str = "GET",
        body: bytes | None = None,
    ) -> "BaseHTTPResponse":
        """Send one request and wait for the head of its answer; raises what urllib3 raises."""
        from urllib3 import Timeout

        return self._manager(proxy).urlopen(
            method,
            str(address),
            body=body,
            headers=headers,
            redirect=False,
            retries=False,
            preload_content=False,
            decode_content=False,
            timeout=Timeout(connect=self._connect_timeout, read=self._idle_timeout),
        )

    def prepare(self, proxy: Proxy | None) -> None:
        """Make ready what `ask` needs; raises EngineUnavailable for settings that cannot be used."""
        self._manager(proxy)

    def close(self) -> None:
        """Close what is kept open."""
        for manager in self._managers.values():
            manager.clear()

    def explain(self, error: Exception, proxy: Proxy | None) -> Again | Never:
        """What an error of urllib3 means for its reader; anything else is raised again."""
        from urllib3 import exceptions

        if isinstance(error, exceptions.ProxyError) and proxy is not None:
            return self._of_proxy(error.original_error, proxy)
        if isinstance(error, exceptions.SSLError):
            return _of_tls(error)
        if isinstance(error, exceptions.LocationParseError):
            return Never("it is not a host")
        if not isinstance(error, exceptions.HTTPError | OSError):
            raise error
        return Again(self._reason(error), retries=1 if _is_offline(error) else None)

    def _reason(self, error: Exception) -> str:
        from urllib3 import exceptions

        match error:
            case exceptions.NameResolutionError():
                return "its name cannot be resolved"
            case exceptions.NewConnectionError():
                return _system_reason(error.__cause__)
            case exceptions.ConnectTimeoutError():
                return f"there was no connection within {format_duration(self._connect_timeout)}"
            case exceptions.ReadTimeoutError():  # of the idle time-out, but for TLS's beginning
                return "nothing came any more"
            case exceptions.ProtocolError(args=(_, cause)):
                return _system_reason(cause)
            case _:
                return _system_reason(error)

    def _of_proxy(self, cause: Exception, proxy: Proxy) -> Again | Never:
        sentence = f"the proxy `{proxy.place}` of `{proxy.source}` gave no connection: {self._reason(cause)}"
        # urllib3's "Tunnel connection failed: 407 …" has no number of its own. Who wants another password must
        # not be asked again: many lock an account after a few attempts.
        is_refusal = isinstance(cause, OSError) and not cause.errno and "failed: 4" in str(cause)
        hint = f"`{proxy.source}` names the proxy, with `USER:PASSWORD@` in front of its host where it wants them"
        if is_refusal:
            return Never(sentence, hint=hint)
        return Again(sentence, retries=1 if _is_offline(cause) else None)

    def _manager(self, proxy: Proxy | None) -> "PoolManager":
        if proxy not in self._managers:
            manager = self._made(proxy)
            self._shape(manager)
            self._managers[proxy] = manager
        return self._managers[proxy]

    def _made(self, proxy: Proxy | None) -> "PoolManager":
        import urllib3

        if self._context is None:
            self._context = trusting(self._environment)
        if proxy is None:
            return urllib3.PoolManager(_POOLS, ssl_context=self._context)
        if proxy.scheme.startswith("socks"):
            return _socks_manager(proxy, self._context)
        headers = urllib3.make_headers(proxy_basic_auth=proxy.user_info) if proxy.user_info else None
        return urllib3.ProxyManager(
            proxy.url,
            _POOLS,
            proxy_headers=headers,
            ssl_context=self._context,
            proxy_ssl_context=self._context,
        )


def trusting(environment: Mapping[str, str]) -> ssl.SSLContext:
    """Trust what the system trusts, and SSL_CERT_FILE and SSL_CERT_DIR besides; raises EngineUnavailable.

    `truststore`, where it is installed, asks macOS and Windows themselves.
    """
    context: ssl.SSLContext
    try:
        import truststore
    except ImportError:
        context = ssl.create_default_context()
    else:
        context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        value = environment.get(name)
        try:
            if value and name == "SSL_CERT_FILE":
                context.load_verify_locations(cafile=value)
            elif value:
                context.load_verify_locations(capath=value)
        except OSError as error:  # ssl.SSLError is one
            raise EngineUnavailable(
                f"the certificates in `{value}` of `{name}` cannot be read: {_system_reason(error)}",
                f"let `{name}` name certificates in PEM, or unset it",
            ) from error
    return context


def _socks_manager(proxy: Proxy, context: ssl.SSLContext) -> "PoolManager":
    try:
        import_module("socks")  # by us: without it urllib3 would warn on stderr
    except ImportError as error:
        raise EngineUnavailable(
            f"the SOCKS proxy `{proxy.place}` of `{proxy.source}` cannot be used without PySocks",
            "install it beside hereya-tf: `pip install PySocks`",
        ) from error
    from urllib3.contrib.socks import SOCKSProxyManager

    name, _, password = (proxy.user_info or "").partition(":")
    return SOCKSProxyManager(
        proxy.url, username=name or None, password=password or None, num_pools=_POOLS, ssl_context=context
    )


def _of_tls(error: Exception) -> Again | Never:
    cause = error.args[0] if error.args else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return Never(f"its certificate is not trusted: {cause.verify_message or cause}", hint=_TRUST_HINT)
    return Again(f"TLS failed: {_system_reason(cause)}")


def _is_offline(error: Exception) -> bool:
    """Whether it fails because nothing at all is reached, which seconds do not change."""
    from urllib3.exceptions import NameResolutionError

    cause = error.__cause__
    unreachable = isinstance(cause, OSError) and cause.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH)
    return unreachable or isinstance(error, NameResolutionError)


def _system_reason(cause: object) -> str:
    """What the system, or the one who noticed it, says in a few words."""
    match cause:
        case ssl.SSLError():
            return str(cause.reason or cause).replace("_", " ").lower()
        case OSError(errno=int(number), strerror=str(text)) if number:
            return text
        case OSError(args=(*_, str(text))):
            return text
        case _:
            return "the connection broke"
