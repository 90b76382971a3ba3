"""Where a package comes from: a repository at an exact commit, or an archive with its digest (pure)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from hereya_tf.errors import BadInput
from hereya_tf.releases.addresses import read_address
from hereya_tf.triggers.refs import is_branch_name, is_commit, is_nothing

# With a user: `host:path` may as well be a typing error, or a drive.
_SCP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9_][A-Za-z0-9_.-]*:(?!:)[^\s\x00-\x1f\x7f]+")
_DIGEST = re.compile(r"(?:sha256:)?([0-9a-f]{64})", re.IGNORECASE)
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f\ud800-\udfff]")
_WEB = ("http", "https")
_LONGEST = 4096  # characters
_KEEP_SECRETS_OUT = "give credentials to the operator's setting, never to an address: it ends up in logs"


@dataclass(frozen=True, kw_only=True)
class GitRevision:
    """A commit of a repository: `https://`, `ssh://`, `user@host:path`, or `file:///` where that is allowed.

    `commit` is the whole SHA. `ref`, a branch or tag that has it, helps with servers that give no bare commits.
    Raises BadInput.
    """

    url: str
    commit: str
    ref: str | None = None
    with_submodules: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", _git_url(self.url))
        if not is_commit(self.commit) or is_nothing(self.commit):
            raise BadInput(
                f"`{self.commit[:80]}` is not a commit", "write its whole SHA: 40 hexadecimal digits, or 64"
            )
        object.__setattr__(self, "commit", self.commit.lower())
        if self.ref is not None and (not is_branch_name(self.ref) or self.ref.startswith(("-", "+"))):
            raise BadInput(f"`{self.ref[:80]}` is not the name of a branch or tag", "write it as git has it")

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine's disks."""
        return self.url.startswith("file:")

    @property
    def shown(self) -> str:
        """What it is, for people."""
        return f"{self.url} at {self.commit[:12]}"


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A zip or tar archive: `https://`, `http://`, or `file:///` where that is allowed; raises BadInput.

    `digest` is its SHA-256, 64 hexadecimal digits, with or without `sha256:` in front.
    """

    url: str
    digest: str

    def __post_init__(self) -> None:
        match = _DIGEST.fullmatch(self.digest.strip())
        if match is None:
            raise BadInput(
                f"`{self.digest[:80]}` is not the digest of an archive", "write `sha256:` and 64 digits"
            )
        object.__setattr__(self, "digest", match[1].lower())
        object.__setattr__(self, "url", _archive_url(self.url))

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine's disks."""
        return self.url.startswith("file:")

    @property
    def path(self) -> str:
        """Where a local one is."""
        return unquote(self.url.removeprefix("file://"))

    @property
    def shown(self) -> str:
        """What it is, for people; never the query, which may hold a signature that opens doors."""
        return self.url if self.is_local else read_address(self.url)[0].public

    def __repr__(self) -> str:
        return f"Archive(url={self.shown!r}, digest={self.digest!r})"


PackageSource = GitRevision | Archive


def identity(source: PackageSource) -> str:
    """What distinguishes one content from another; the address of an archive does not."""
    match source:
        case Archive():
            return f"archive {source.digest}"
        case GitRevision():
            return f"git {source.url} {source.commit} {source.with_submodules}"


def _git_url(url: str) -> str:
    if _SCP.fullmatch(url) and len(url) <= _LONGEST:
        return url
    scheme = _scheme(url)
    if scheme == "ssh":
        return _ssh_url(url)
    if scheme == "file":
        return _file_url(url)
    if scheme not in _WEB:
        raise _no_address(url, "its scheme is none of `https`, `ssh`, `http` and `file`")
    return _web_url(url, may_have_query=False)


def _archive_url(url: str) -> str:
    scheme = _scheme(url)
    if scheme == "file":
        return _file_url(url)
    if scheme not in _WEB:
        raise _no_address(url, "its scheme is none of `https`, `http` and `file`")
    return _web_url(url, may_have_query=True)


def _scheme(url: str) -> str:
    if len(url) > _LONGEST:
        raise _no_address(url, "it is too long")
    if _UNPRINTABLE.search(url):
        raise _no_address(url, "it holds a space or a control character")
    scheme, mark, _ = url.partition("://")
    if not mark:
        raise _no_address(url, "it has no scheme")
    return scheme.lower()


def _web_url(url: str, *, may_have_query: bool) -> str:
    try:
        address, user_info = read_address(url)
    except ValueError as error:
        raise _no_address(url, str(error)) from error
    if user_info is not None:
        raise _no_address(url, "it holds a user name or a password", _KEEP_SECRETS_OUT)
    if "?" in address.target and not may_have_query:
        raise _no_address(url, "it holds a query", _KEEP_SECRETS_OUT)
    return str(address)


def _ssh_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        host, user, password, _ = parts.hostname, parts.username or "", parts.password, parts.port
    except ValueError as error:  # its text may quote the password
        raise _no_address(url, "it is not an address") from error
    if password is not None:
        raise _no_address(url, "it holds a password", _KEEP_SECRETS_OUT)
    # What begins with `-` ssh would take for an option.
    if not host or host.startswith("-") or user.startswith("-") or parts.query or parts.fragment:
        raise _no_address(url, "it names no host, or more than a host and a path")
    return url


def _file_url(url: str) -> str:
    host, slash, path = url[len("file://") :].partition("/")
    if host not in ("", "localhost") or not slash:
        raise _no_address(url, "a local path is written `file:///PATH`")
    return f"file:///{path}"


def _no_address(url: str, why: str, hint: str = "write `https://HOST/PATH`") -> BadInput:
    # What stands before an `@`, or after a `?`, may be secret.
    shown = url.partition("?")[0].rpartition("@")[2][:80]
    return BadInput(f"no package can be fetched from `{shown}`: {why}", hint)


def read_source(members: Mapping[str, object]) -> PackageSource:
    """A source of a document: `url` with `commit` (`ref`, `submodules`) or with `digest`; raises BadInput."""
    url, commit, digest = members.get("url"), members.get("commit"), members.get("digest")
    ref, submodules = members.get("ref"), members.get("submodules", False)
    if not isinstance(url, str):
        raise BadInput("a package's source has no `url`", "give the address of its repository or archive")
    if not isinstance(submodules, bool):
        raise BadInput("a package's `submodules` is neither true nor false", "write `true`, or leave it out")
    if ref is not None and not isinstance(ref, str):
        raise BadInput("a package's `ref` is not a text", "write it like `refs/heads/main`, or leave it out")
    match commit, digest:
        case str(), None:
            return GitRevision(url=url, commit=commit, ref=ref, with_submodules=submodules)
        case None, str():
            return Archive(url=url, digest=digest)
        case _:
            raise BadInput(
                "a package's source has either a `commit` or a `digest`, and it is a text",
                "a repository needs the `commit`, an archive its `digest`",
            )
