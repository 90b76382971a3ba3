"""Installs a release of an engine: downloads it, proves it, tries it, and only then gives it its name (I/O).

Everything happens in a directory beside the final place, under the lock of the version. Whoever is killed
there leaves a directory that counts for nothing, and that the next installation takes away.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hereya_tf.engine import EngineName, Version, quirks
from hereya_tf.engine.identity import ask_version
from hereya_tf.engine.quirks import Quirk
from hereya_tf.errors import (
    Busy,
    EngineUnavailable,
    EngineUnsupported,
    EngineUnverified,
    NotPublished,
    no_room,
)
from hereya_tf.private import make_private_directory
from hereya_tf.releases import installed as cache_of
from hereya_tf.releases.addresses import read_given_address
from hereya_tf.releases.archive import LARGEST_ARCHIVE, Content, take_in, unpack
from hereya_tf.releases.checksums import LARGEST_CHECKSUMS, digest_of
from hereya_tf.releases.fetch import Fetcher
from hereya_tf.releases.installed import STAMP, Installed, directory_of, find_installed, leftover_prefix
from hereya_tf.releases.platforms import Platform, fallback
from hereya_tf.releases.signatures import LARGEST_SIGNATURE, PublicKey, verify
from hereya_tf.releases.sites import Location, Release, Site, platforms_of_names
from hereya_tf.releases.trial import Ask, try_out
from hereya_tf.releases.version_lock import PATIENCE, hold_version

_AGAIN = "download it again; if it repeats, suspect the mirror or proxy it comes through"
_OTHER_CACHE = "point `HEREYA_TF_CACHE_DIR` to a directory that you can write to"


class _Proof(NamedTuple):
    """What a signature says of an archive."""

    digest: str
    key: PublicKey


def install(
    version: Version,
    site: Site,
    fetcher: Fetcher,
    keys: Sequence[PublicKey],
    cache: Path,
    *,
    platform: Platform,
    environment: Mapping[str, str],
    progress: Callable[[int, int | None], None],
    pause: Callable[[float], None],
    tell: Callable[[str], None] = lambda _sentence: None,
    patience: float = PATIENCE,
    ask: Ask = ask_version,
) -> Installed:
    """The engine of `site` in `version`, installed now unless it is there already; that needs no network.

    `progress(arrived, total)` hears of the archive, in bytes; `pause(seconds)` waits, is called several times a
    second and may raise, which leaves nothing behind; `tell` hears sentences on what takes long. `patience`
    (seconds) is for another process that installs the same.

    Raises EngineUnavailable, EngineUnverified, EngineUnsupported, Busy, BadInput for an
    address that is none, and what `pause` raises.
    """
    return _Installation(
        version=version,
        site=site,
        fetcher=fetcher,
        keys=keys,
        cache=cache,
        wanted=platform,
        environment=environment,
        progress=progress,
        pause=pause,
        tell=tell,
        ask=ask,
    ).run(patience)


@dataclass(frozen=True, kw_only=True)
class _Installation:
    """One call of `install`."""

    version: Version
    site: Site
    fetcher: Fetcher
    keys: Sequence[PublicKey]
    cache: Path
    wanted: Platform
    environment: Mapping[str, str]
    progress: Callable[[int, int | None], None]
    pause: Callable[[float], None]
    tell: Callable[[str], None]
    ask: Ask

    @property
    def engine(self) -> EngineName:
        return self.site.engine

    @property
    def title(self) -> str:
        return f"{self.engine.title} {self.version}"

    @property
    def platform(self) -> Platform:
        """What the binary is built for, where that is not what is wanted."""
        return fallback(self.engine, self.version, self.wanted) or self.wanted

    @property
    def final(self) -> Path:
        return directory_of(self.cache, self.engine, self.version)

    def run(self, patience: float) -> Installed:
        """Look, lock, look again, and install."""
        if found := self._found():
            return found
        self._refuse_too_old()
        with self._cache_errors():
            make_private_directory(self.final.parent)
            with hold_version(
                self.final.parent,
                str(self.version),
                title=self.title,
                pause=self.pause,
                tell=self.tell,
                patience=patience,
            ):
                return self._found() or self._install()

    def _found(self) -> Installed | None:
        found = find_installed(self.cache, self.engine, self.version)
        return found if found is not None and found.is_for(self.wanted) else None

    def _refuse_too_old(self) -> None:
        if not quirks.has(Quirk.MESSAGES, self.engine, self.version):
            oldest = quirks.since(Quirk.MESSAGES, self.engine)
            raise EngineUnsupported(
                f"{self.title} is too old: `apply -json` needs {oldest} or newer",
                "take a newer version",
            )

    def _install(self) -> Installed:
        import shutil
        import tempfile

        sweep(self.final.parent, str(self.version))
        if self.platform != self.wanted:
            self.tell(f"{self.title} is not built for `{self.wanted}`: that for `{self.platform}` is taken")
        release = self.site.release(self.version, self.platform)
        proof = self._proven(release)
        place = Path(tempfile.mkdtemp(prefix=leftover_prefix(str(self.version)), dir=self.final.parent))
        try:
            content = self._fill(place, release, proof)
            try_out(
                place / release.member,
                self.engine,
                self.version,
                platform=self.platform,
                environment=self.environment,
                shown=self.final / release.member,
                pause=self.pause,
                ask=self.ask,
            )
            return self._finish(place, release, proof, content)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _proven(self, release: Release) -> _Proof:
        """What the archive has to be, by a signature that is trusted."""
        checksums = self.fetcher.get(release.checksums, limit=LARGEST_CHECKSUMS)
        try:
            signature = self.fetcher.get(release.signature, limit=LARGEST_SIGNATURE)
        except NotPublished as error:
            raise EngineUnverified(
                f"the checksums of {self.title} have no signature that could be checked: {error}",
                "take another version, or a mirror that has the signature as well",
            ) from error
        key = verify(checksums, signature, self.keys)
        self._check_platform(checksums, release)
        return _Proof(digest_of(checksums, release.archive_name), key)

    def _check_platform(self, checksums: bytes, release: Release) -> None:
        names = {word.decode("utf-8", "replace").lstrip("*") for word in checksums.split()}
        built = platforms_of_names(self.engine, self.version, names)
        if built and release.archive_name not in names:
            listed = ", ".join(f"`{platform}`" for platform in built)
            raise EngineUnavailable(
                f"{self.title} is not published for `{self.platform}`, only for {listed}",
                "take another version, or name a binary that runs here with `--engine PATH`",
            )

    def _fill(self, place: Path, release: Release, proof: _Proof) -> Content:
        """Have the archive in `place`, compare it with what was signed, and only then open it."""
        with _created(place / "archive", 0o600) as archive:
            pieces = self.fetcher.stream(release.archive, limit=LARGEST_ARCHIVE, progress=self.progress)
            # At once: with a full disk nobody takes in what is still to come.
            with contextlib.closing(pieces):
                arrived = take_in(pieces, archive, self.pause)
            if arrived.digest != proof.digest:
                raise EngineUnverified(
                    f"`{release.archive_name}` has SHA-256 {arrived.digest}, and {proof.digest} was signed",
                    _AGAIN,
                )
            archive.seek(0)
            with _created(place / release.member, 0o755) as binary:
                content = unpack(
                    archive, release.member, binary, shown=release.archive_name, pause=self.pause
                )
                os.fsync(binary.fileno())
        (place / "archive").unlink()
        return content

    def _finish(self, place: Path, release: Release, proof: _Proof, content: Content) -> Installed:
        """Write the stamp, and give the whole its name."""
        done = Installed(
            engine=self.engine,
            version=self.version,
            platform=self.platform,
            path=self.final / release.member,
            size=content.size,
            binary_digest=content.digest,
            archive=release.archive_name,
            archive_digest=proof.digest,
            source=_public(release.archive),
            key=proof.key.fingerprint,
            owner=proof.key.owner,
            installed=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        )
        with _created(place / STAMP, 0o600) as stamp:
            take_in((cache_of.stamp_text(done).encode(),), stamp, self.pause)
            os.fsync(stamp.fileno())
        _sync(place)
        if os.path.lexists(self.final):  # what stands there does not count, or is for another platform
            cache_of.remove(self.final)
        place.replace(self.final)
        _sync(self.final.parent)
        return done

    @contextlib.contextmanager
    def _cache_errors(self) -> Iterator[None]:
        """What the system says of the cache, as an error for its reader; nothing else here raises OSError."""
        try:
            yield
        except OSError as error:
            where = self.final.parent
            if full := no_room(error, f"there is no room for {self.title} in `{where}`"):
                raise EngineUnavailable(str(full), *full.hints, _OTHER_CACHE) from error
            raise EngineUnavailable(
                f"{self.title} cannot be installed in `{where}`: {error.strerror or error}", _OTHER_CACHE
            ) from error


def sweep(directory: Path, held: str | None = None) -> None:
    """Take away what dead installations have left in the directory of an engine; the lock of `held` is ours."""
    import shutil

    for version, leftover in cache_of.leftovers(directory):
        if version == held:
            shutil.rmtree(leftover, ignore_errors=True)
            continue
        with (
            contextlib.suppress(Busy, OSError),
            hold_version(
                directory,
                version,
                title="",
                pause=lambda _seconds: None,
                tell=lambda _text: None,
                patience=0.0,
            ),
        ):
            shutil.rmtree(leftover, ignore_errors=True)


@contextlib.contextmanager
def _created(path: Path, mode: int) -> Iterator[BinaryIO]:
    """A new file, whatever the umask; never one that is there, nor what a link leads to."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with open(os.open(path, flags, mode), "r+b", buffering=0) as file:  # noqa: PTH123 - a descriptor
        os.fchmod(file.fileno(), mode)
        yield file


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system of a network that does this by itself
            raise
    finally:
        os.close(descriptor)


def _public(location: Location) -> str:
    """A location for a record that others may read: without a user name, a password and a query."""
    if isinstance(location, Path):
        return str(location)
    return read_given_address(location)[0].public
