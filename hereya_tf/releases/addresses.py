"""Web addresses: reading them, following redirects, and what may be asked of whom (pure)."""

import ipaddress
from collections.abc import Container
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from hereya_tf.errors import BadInput

_PORTS = {"http": 80, "https": 443}
# What stands in a path or query as it is; `%` too, which most often begins what is quoted already.
_SAFE = "%/:?@!$&'()*+,;=~-._[]"
_LONGEST = 8000  # characters
_LONGEST_NAME = 100  # characters

Origin = tuple[str, str, int]


class Address(NamedTuple):
    """An http(s) address without user name and password; `target` is path and query, quoted."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def origin(self) -> Origin:
        """What credentials are for: scheme, host and port."""
        return self[:3]

    @property
    def place(self) -> str:
        """The host, for people, with its port where that is not the usual one."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def file(self) -> str:
        """The file's name, for people; never the query, which may hold a signature that opens doors."""
        return self.target.partition("?")[0].rpartition("/")[2][:_LONGEST_NAME] or "/"

    @property
    def public(self) -> str:
        """All of it but the query."""
        return str(self._replace(target=self.target.partition("?")[0]))

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.place}{self.target}"


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or number."""
    number = as_number(host)
    return host == "localhost" if number is None else number.is_loopback


def as_number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The IP address that a host is, if it is one."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def read_address(text: str) -> tuple[Address, str | None]:
    """An address, and the `user:password` in it, decoded; raises ValueError with the fault, not the password."""
    if len(text) > _LONGEST:
        raise ValueError("it is too long")
    try:
        parts = urlsplit(text.strip())
        port = parts.port
        host = (parts.hostname or "").rstrip(".")
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
    except ValueError as error:  # its text may quote the password
        raise ValueError("it is not an address") from error
    if parts.scheme not in _PORTS:
        raise ValueError(f"its scheme is `{parts.scheme}`" if parts.scheme else "it has no scheme")
    if not host or any(character in host for character in " \\^<>`{|}\"%'") or not host.isprintable():
        raise ValueError("it names no host")
    target = _quoted(parts.path) or "/"
    if parts.query:
        target += f"?{_quoted(parts.query)}"
    address = Address(parts.scheme, host, _PORTS[parts.scheme] if port is None else port, target)
    user_info, mark, _ = parts.netloc.rpartition("@")
    return address, unquote(user_info) if mark else None


def read_given_address(text: str) -> tuple[Address, str | None]:
    """An address that the user gave, as `read_address`; raises BadInput."""
    try:
        if "://" not in text:  # what comes before the first `:` is a name, and no scheme
            raise ValueError("it has no scheme")
        return read_address(text)
    except ValueError as error:
        shown = text.rpartition("@")[2][:_LONGEST_NAME]
        raise BadInput(
            f"`{shown}` cannot be downloaded from: {error}",
            "write `https://HOST/PATH`, or the path of a directory",
        ) from error


def redirected(address: Address, location: str) -> Address:
    """Where a redirect leads, as it stands in a header; a user name in it is dropped. Raises ValueError."""
    # http.client reads headers as Latin-1; what is not ASCII there was most often UTF-8.
    target = quote(location.strip().encode("latin-1", "replace"), safe=f"{_SAFE}#")
    if not target:
        raise ValueError("it does not say where")
    try:
        joined = urljoin(str(address), target)
    except ValueError as error:
        raise ValueError("it is not an address") from error
    return read_address(joined)[0]


def why_not(address: Address, previous: Address | None, plain: Container[Origin]) -> str | None:
    """Why an address must not be asked; None when it may.

    Everything is asked through TLS but this machine and what is `plain`: the mirror that the user gave as
    `http://`. A redirect never leads from https to http.
    """
    if address.scheme == "https":
        return None
    if previous is not None and previous.scheme == "https":
        return f"a redirect to `http://{address.place}` leads out of TLS"
    if address.is_loopback or address.origin in plain:
        return None
    return f"`http://{address.place}` is not encrypted"


def _quoted(text: str) -> str:
    return quote(text, safe=_SAFE, errors="replace")
