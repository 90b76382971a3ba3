"""The engines in the cache: what is there, whether it still is what was signed, and how it goes (I/O).

`engines/NAME/VERSION/` holds the binary and a stamp. The directory gets its name when all of it is verified
and on the disk, so only one with a stamp that fits counts; whatever else is there was not put there by us.
"""

import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.errors import BadInput, EngineUnverified
from hereya_tf.reading import open_regular_file, read_regular_file
from hereya_tf.releases.platforms import Platform, fallback

STAMP = "release.json"

_FORMAT_VERSION = 1
_LARGEST_STAMP = 64 * 1024  # bytes
_PIECE = 1024 * 1024  # bytes
_TEXTS = ("binary", "binary_sha256", "archive", "archive_sha256", "source", "key", "owner", "installed")
_INSTALL_AGAIN = "remove it and install it again: `hereya-tf engine remove {} {}`"


class Installed(NamedTuple):
    """A verified engine in the cache.

    Digests are SHA-256, hexadecimal; `size` is the binary's in bytes; `source` is where the archive came from;
    `key` is the fingerprint of the key that has signed it, `owner` whose that is; `installed` is in RFC 3339.
    """

    engine: EngineName
    version: Version
    platform: Platform
    path: Path
    size: int
    binary_digest: str
    archive: str
    archive_digest: str
    source: str
    key: str
    owner: str
    installed: str

    def is_for(self, platform: Platform) -> bool:
        """Whether it runs on this platform: a cache may be shared by machines that differ."""
        return self.platform in (platform, fallback(self.engine, self.version, platform))

    def binary(self, chosen_by: str) -> Binary:
        """What runs it; it has said who it is when it was installed."""
        return Binary(self.engine, self.version, (str(self.path),), str(self.path), chosen_by)


class Unusable(NamedTuple):
    """A directory that stands where an engine would, and does not count."""

    directory: Path
    reason: str


def directory_of(cache: Path, engine: EngineName, version: Version) -> Path:
    """Where a version is, once it is installed."""
    return cache / "engines" / engine / str(version)


def find_installed(cache: Path, engine: EngineName, version: Version) -> Installed | None:
    """What is installed of a version; None when there is nothing that counts. Reads the stamp alone."""
    found = _examined(directory_of(cache, engine, version), engine, version)
    return found if isinstance(found, Installed) else None


def all_installed(cache: Path) -> tuple[Installed, ...]:
    """Everything that counts, by engine, the newest version first."""
    return tuple(entry for entry in entries(cache) if isinstance(entry, Installed))


def entries(cache: Path) -> tuple[Installed | Unusable, ...]:
    """Everything that stands where engines are, by engine, the newest version first."""
    found: list[Installed | Unusable] = []
    for engine in EngineName:
        versions = sorted(_versions(cache / "engines" / engine), reverse=True)
        found += (_examined(directory_of(cache, engine, version), engine, version) for version in versions)
    return tuple(found)


def stamp_text(installed: Installed) -> str:
    """What the stamp of an engine says."""
    return json.dumps(
        {
            "v": _FORMAT_VERSION,
            "engine": installed.engine,
            "version": str(installed.version),
            "platform": installed.platform._asdict(),
            "binary": installed.path.name,
            "size": installed.size,
            "binary_sha256": installed.binary_digest,
            "archive": installed.archive,
            "archive_sha256": installed.archive_digest,
            "source": installed.source,
            "key": installed.key,
            "owner": installed.owner,
            "installed": installed.installed,
        },
        indent=1,
    )


def verify(installed: Installed, pause: Callable[[float], None]) -> None:
    """Read a binary as a whole and compare; `pause(0)` may raise.

    Raises EngineUnverified when it is not the one that was verified when it was installed.
    """
    from hashlib import sha256

    digest = sha256()
    again = _INSTALL_AGAIN.format(installed.engine.executable, installed.version)
    try:
        with open_regular_file(installed.path) as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
                pause(0.0)
    except OSError as error:
        raise EngineUnverified(f"`{installed.path}` cannot be read: {error.strerror}", again) from error
    if digest.hexdigest() != installed.binary_digest:
        raise EngineUnverified(
            f"`{installed.path}` has been changed: its SHA-256 is {digest.hexdigest()}, and"
            f" {installed.binary_digest} was installed",
            again,
        )


def remove(directory: Path) -> None:
    """Take an engine away, whatever is in its directory; under the lock of its version.

    Its name goes first, so that no part of it ever counts. Raises OSError.
    """
    import shutil
    import tempfile

    aside = Path(tempfile.mkdtemp(prefix=leftover_prefix(directory.name), dir=directory.parent))
    directory.rename(aside / directory.name)
    shutil.rmtree(aside)


def leftovers(directory: Path) -> tuple[tuple[str, Path], ...]:
    """What is not finished, or on its way out, in the directory of an engine: versions and directories."""
    try:
        names = sorted(entry.name for entry in directory.iterdir())
    except OSError:
        return ()
    parts = ((name, *name.partition("_")) for name in names if name.startswith("."))
    return tuple((begin[1:], directory / name) for name, begin, mark, _ in parts if mark)


def leftover_prefix(version: str) -> str:
    """How a directory begins that holds what is not finished, or is on its way out."""
    return f".{version}_"  # no version has an underscore


def no_such_engine(cache: Path, engine: EngineName, version: Version) -> BadInput:
    """The error for a version that is not installed."""
    there = [str(each.version) for each in all_installed(cache) if each.engine is engine]
    listed = f"installed: {', '.join(there)}" if there else "`hereya-tf engine list` shows what is there"
    return BadInput(f"{engine.title} {version} is not installed", listed)


def _versions(directory: Path) -> Iterator[Version]:
    try:
        names = [entry.name for entry in directory.iterdir()]
    except OSError:
        return
    for name in names:
        try:
            version = Version.parse(name)
        except ValueError:
            continue
        if str(version) == name:
            yield version


def _examined(directory: Path, engine: EngineName, version: Version) -> Installed | Unusable:
    try:
        document = json.loads(read_regular_file(directory / STAMP, at_most=_LARGEST_STAMP))
        found = _from_stamp(document, directory)
    except FileNotFoundError:
        return Unusable(directory, "it has no stamp")
    except OSError as error:
        return Unusable(directory, f"its stamp cannot be read: {error.strerror}")
    except (ValueError, LookupError, TypeError, RecursionError):
        return Unusable(directory, "its stamp makes no sense")
    if (found.engine, found.version) != (engine, version):
        return Unusable(directory, "its stamp is that of another engine")
    return _why_not_there(found) or found


def _why_not_there(found: Installed) -> Unusable | None:
    directory = found.path.parent
    try:
        status = found.path.lstat()
    except OSError as error:
        return Unusable(directory, f"its binary cannot be found: {error.strerror}")
    if not stat.S_ISREG(status.st_mode) or status.st_size != found.size:
        return Unusable(directory, "its binary is another file")
    if not status.st_mode & 0o100:
        return Unusable(directory, "its binary is not executable")
    if not os.access(found.path, os.X_OK):  # says so of a file system that is mounted `noexec`, too
        return Unusable(directory, "its binary cannot be run by this user, or from this file system")
    return None


def _from_stamp(document: Any, directory: Path) -> Installed:
    """Raises ValueError, TypeError, LookupError for what is no stamp of ours."""
    if document["v"] != _FORMAT_VERSION or not isinstance(document["size"], int):
        raise ValueError("another format")
    texts = {name: document[name] for name in _TEXTS}
    if not all(isinstance(text, str) for text in texts.values()):
        raise TypeError("not a text")
    name, engine = texts["binary"], EngineName(document["engine"])
    if name not in (engine.executable, f"{engine.executable}.exe"):
        raise ValueError("another program")
    return Installed(
        engine=engine,
        version=Version.parse(document["version"]),
        platform=Platform(str(document["platform"]["os"]), str(document["platform"]["arch"])),
        path=directory / name,
        size=document["size"],
        binary_digest=texts["binary_sha256"],
        archive=texts["archive"],
        archive_digest=texts["archive_sha256"],
        source=texts["source"],
        key=texts["key"],
        owner=texts["owner"],
        installed=texts["installed"],
    )
