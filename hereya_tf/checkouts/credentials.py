"""The operator's credentials for the places where packages are (pure).

A file of lines as git's own `store` helper has them: `https://USER:PASSWORD@HOST[:PORT][/PATH]`. What is secret
leaves this process only through the environment of git, and in a header to the host that it is for.
"""

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

from hereya_tf.errors import BadConfig
from hereya_tf.releases.addresses import Address, read_address

_FORM = "one a line: `https://USER:PASSWORD@HOST/PATH`, with `%40` for an `@` in a password"


class Credential(NamedTuple):
    """A user name and a password, and which addresses they are for: one scheme, host and port, and paths below."""

    address: Address
    user: str
    password: str

    @property
    def scope(self) -> str:
        """The addresses it is for, as git's configuration names them."""
        return str(self.address._replace(target=self.address.target.rstrip("/")))

    def is_for(self, address: Address) -> bool:
        """Whether it may be sent there."""
        path, below = address.target.partition("?")[0], self.address.target.rstrip("/")
        return self.address.origin == address.origin and (path == below or path.startswith(f"{below}/"))

    def __repr__(self) -> str:
        return f"Credential({self.scope})"


class Credentials:
    """All of them; of those for one address the one with the longest path counts."""

    def __init__(self, entries: Iterable[Credential] = ()) -> None:
        # Also the order in which git has to hear of them: the last word is that of the longest path.
        self.entries = tuple(sorted(entries, key=lambda entry: len(entry.scope)))

    def basic(self, url: str) -> str | None:
        """`user:password` for an http(s) address."""
        address, _ = read_address(url)
        fitting = [entry for entry in self.entries if entry.is_for(address)]
        return f"{fitting[-1].user}:{fitting[-1].password}" if fitting else None

    def secrets(self) -> tuple[str, ...]:
        """What must never be shown."""
        return tuple(dict.fromkeys(entry.password for entry in self.entries))

    def __repr__(self) -> str:
        return f"Credentials({', '.join(entry.scope for entry in self.entries)})"


def parse_credentials(text: str, shown: str) -> Credentials:
    """Credentials from the lines of a file called `shown`; raises BadConfig, with a line's number alone."""
    entries = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            entry = _entry(line.strip())
            if isinstance(entry, str):
                raise BadConfig(f"line {number} of `{shown}` is not a credential: {entry}", _FORM)
            entries.append(entry)
    return Credentials(entries)


def _entry(line: str) -> Credential | str:
    """A credential, or why it is none."""
    try:
        address, user_info = read_address(line)
    except ValueError as error:
        return str(error)
    if user_info is None:
        return "it holds no user name and password"
    # Split before it is decoded: either may hold a colon that is written `%3A`.
    user, mark, password = line.partition("://")[2].rpartition("@")[0].partition(":")
    user, password = unquote(user), unquote(password)
    if not mark or not password:
        return "it holds no password"
    if not (user + password).isprintable():
        return "it holds a control character"
    if "?" in address.target:
        return "it holds a query"
    return Credential(address, user, password)
