"""Which proxy an address is asked through: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY (pure).

* `https_proxy` for https, `http_proxy` for http, `all_proxy` for both where the first is not set; the spelling
  in small letters wins over the one in capitals; an empty value is none. HTTP_PROXY in capitals is ignored in a
  CGI program (REQUEST_METHOD is set): there it is a request's header (CVE-2016-5385).
* A value without a scheme is `http://`. `socks4`, `socks4a`, `socks5`, `socks5h` need PySocks.
* This machine (localhost, 127.0.0.0/8, ::1) is never asked through a proxy, as with the engines.
* `no_proxy` lists, between commas or blanks: `*` for everything; a name, for itself and everything below it,
  with or without `.` or `*.` in front; an IP address or a range (`10.0.0.0/8`), for hosts given as numbers
  (nothing is looked up); each but ranges with a `:PORT` where only that port is meant.
"""

import ipaddress
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.addresses import Address, as_number

_SCHEMES = {"http": 80, "https": 443, "socks4": 1080, "socks4a": 1080, "socks5": 1080, "socks5h": 1080}


class Proxy(NamedTuple):
    """A proxy; `user_info` is `user:password` where it wants one, `source` the variable that names it."""

    scheme: str
    host: str
    port: int
    user_info: str | None
    source: str

    @property
    def place(self) -> str:
        """Host and port, for people."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        """Its address, without user name and password."""
        return f"{self.scheme}://{self.place}"


def proxy_for(address: Address, environment: Mapping[str, str]) -> Proxy | None:
    """The proxy to ask for `address`, if any; raises EngineUnavailable for a value that names none."""
    if address.is_loopback or _is_excepted(address, _value("no_proxy", environment)[1]):
        return None
    for name in (f"{address.scheme}_proxy", "all_proxy"):
        source, value = _value(name, environment)
        if value:
            return _proxy(source, value)
    return None


def _value(name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    for spelling in (name, name.upper()):
        value = environment.get(spelling, "").strip()
        if value and not (spelling == "HTTP_PROXY" and environment.get("REQUEST_METHOD")):
            return spelling, value
    return name, ""


def _proxy(source: str, value: str) -> Proxy:
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        host, port = parts.hostname, parts.port
        if not host or not host.isascii() or not host.isprintable() or parts.scheme not in _SCHEMES:
            raise ValueError
    except ValueError as error:  # its text, and the value, may hold a password
        raise EngineUnavailable(
            f"`{source}` does not name a proxy", "write `http://HOST:PORT`, or unset it"
        ) from error
    user_info, mark, _ = parts.netloc.rpartition("@")
    return Proxy(
        scheme=parts.scheme,
        host=host,
        port=_SCHEMES[parts.scheme] if port is None else port,
        user_info=unquote(user_info) if mark else None,
        source=source,
    )


def _is_excepted(address: Address, exceptions: str) -> bool:
    return any(_excepts(entry, address) for entry in exceptions.lower().replace(",", " ").split())


def _excepts(entry: str, address: Address) -> bool:
    if entry == "*":
        return True
    number = as_number(address.host)
    if "/" in entry:
        try:
            return number is not None and number in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    host, port = _host_and_port(entry)
    if port is not None and port != address.port:
        return False
    if number is not None:
        return as_number(host) == number
    name = host.removeprefix("*").strip(".")
    return bool(name) and f".{address.host}".endswith(f".{name}")


def _host_and_port(entry: str) -> tuple[str, int | None]:
    if as_number(entry) is not None:  # `::1` has colons of its own
        return entry, None
    host, mark, port = entry.rpartition(":")
    if mark and port.isdecimal():
        return host.strip("[]"), int(port)
    return entry.strip("[]"), None
