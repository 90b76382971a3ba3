"""Where the files of a job come from: a directory, a repository at a commit or a tag, an archive (pure)."""

import posixpath
import re
from typing import NamedTuple

from hereya_tf.checkouts.sources import Archive, GitRevision, PackageSource
from hereya_tf.errors import BadInput


class Directory(NamedTuple):
    """A directory on the executor's host; a relative one begins where the operator says."""

    path: str


class Fetched(NamedTuple):
    """A directory in what has to be fetched first."""

    source: PackageSource
    directory: str


class Tagged(NamedTuple):
    """A directory in a repository at the commit that the tag `version` names when the job begins."""

    url: str
    version: str
    directory: str


Source = Directory | Fetched | Tagged

_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst", ".txz", ".tbz2")
# `https://…`, `user@host:path`, and `ext::sh -c …`, with which git runs a command.
_ADDRESS = re.compile(r"[^/]*:")
_ANY_COMMIT = "f" * 40


def read_source(package: str, *, commit: str | None, version: str | None, digest: str | None) -> Source:
    """The source that `package` names: a path, or an address and behind `//` a directory inside.

    With a commit, `version` is the tag or branch that has it. Raises BadInput, never with a credential.
    """
    if _ADDRESS.match(package) is None:
        return _directory(package, commit or version or digest)
    address, inside = _split(package)
    if digest is not None or address.partition("?")[0].lower().endswith(_ARCHIVES):
        if commit or version:
            raise BadInput("an archive has a `digest`, and neither `commit` nor `version`", "leave those out")
        if digest is None:
            raise BadInput(
                "an archive needs its `digest`: `sha256:` and 64 hexadecimal digits",
                "`sha256sum FILE` tells it",
            )
        return Fetched(Archive(url=address, digest=digest), inside)
    if commit is not None:
        return Fetched(GitRevision(url=address, commit=commit, ref=version), inside)
    if version is not None:
        # Checked as any commit of it would be.
        return Tagged(GitRevision(url=address, commit=_ANY_COMMIT, ref=version).url, version, inside)
    raise BadInput(
        "a repository needs `commit` or `version`: what runs is one exact commit",
        "give the whole SHA as `commit`",
    )


def canonical(package: str) -> str:
    """One spelling for what several spellings name: two would be two states for one package.

    States are named after it: no detail of this may change.
    """
    if _ADDRESS.match(package) is None:
        return _plain(package)
    address, inside = _split(package)
    return address if inside == "." else f"{address}//{inside}"


def has_changing_address(source: Source) -> bool:
    """Whether its address is only good for once, such as a signed URL: no state may be named after it."""
    return isinstance(source, Fetched) and "?" in source.source.url


def _directory(path: str, unneeded: str | None) -> Directory:
    if unneeded is not None:
        raise BadInput(
            "the package is a directory, and `commit`, `version` and `digest` are of repositories and archives",
            "leave them out, or give the address of the repository",
        )
    if not path.startswith("/") and _leads_out(path):
        raise BadInput(
            "the package is a relative directory that leads out of where those begin", "write it without `..`"
        )
    return Directory(_plain(path))


def _split(package: str) -> tuple[str, str]:
    """The address, and the directory inside."""
    start = package.find("://") + len("://") if "://" in package else 0
    rest, question, query = package[start:].partition("?")
    address, slashes, inside = rest.partition("//")
    if _leads_out(inside) or inside.startswith("/") or (slashes and not inside):
        raise BadInput(
            "what stands behind `//` names no directory inside of the package",
            "such as `URL//modules/network`",
        )
    return f"{package[:start]}{address.rstrip('/')}{question}{query}", _plain(inside)


def _plain(path: str) -> str:
    # Two slashes in front are kept by POSIX, and mean the same here.
    return re.sub("^//", "/", posixpath.normpath(path))


def _leads_out(path: str) -> bool:
    return "\\" in path or ".." in path.split("/")
