"""The cached archives, by their digest (I/O).

An archive gets its name when its digest is proven and it is on the disk for good; whoever takes one out of the
cache proves it again, as it is read anyway.
"""

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hereya_tf.checkouts import slots
from hereya_tf.checkouts.credentials import Credentials
from hereya_tf.checkouts.errors import CheckoutFailed, NoAccess, PackageNotFound, RefusedPackage, Unreachable
from hereya_tf.checkouts.sources import Archive
from hereya_tf.errors import EngineUnavailable, NotPublished
from hereya_tf.private import sync_directory
from hereya_tf.releases.addresses import read_address
from hereya_tf.releases.answers import Never
from hereya_tf.releases.archive import take_in
from hereya_tf.releases.download import Download
from hereya_tf.releases.fetch import Fetcher

FILE = "archive"

_PIECE = 1024 * 1024  # bytes
_NOT_ALLOWED = (401, 403, 407)
_NOT_THERE = (404, 410)
_ASK_OPERATOR = "give credentials for it to the operator's setting: `https://USER:PASSWORD@HOST` in its file"


class Downloads(NamedTuple):
    """How archives are had; `transfer` is the most bytes of one, `pause(seconds)` waits and may raise."""

    environment: Mapping[str, str]
    credentials: Credentials
    transfer: int
    pause: Callable[[float], None]
    tell: Callable[[str], None]

    @contextlib.contextmanager
    def open(self, archive: Archive, slot: Path, graveyard: Path) -> Iterator[BinaryIO]:
        """The archive, proven and open for reading, from the cache if it is there; the caller holds its slot.

        Raises CheckoutFailed, OSError, and what `pause` raises.
        """
        path = slot / FILE
        with contextlib.ExitStack() as stack:
            file = _opened(path)
            if file is not None:
                stack.enter_context(file)
                if self._digest(file) != archive.digest:
                    slots.remove(path, graveyard)
                    file = None
            if file is None:
                file = stack.enter_context(self._downloaded(archive, path))
            file.seek(0)
            os.utime(path)  # it is of use
            yield file

    def _digest(self, file: BinaryIO) -> str:
        from hashlib import sha256

        digest = sha256()
        file.seek(0)
        while piece := file.read(_PIECE):
            digest.update(piece)
            self.pause(0.0)
        return digest.hexdigest()

    @contextlib.contextmanager
    def _downloaded(self, archive: Archive, path: Path) -> Iterator[BinaryIO]:
        fresh = path.with_name("new")
        with contextlib.suppress(FileNotFoundError):
            fresh.unlink()
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        with open(os.open(fresh, flags, 0o600), "r+b", buffering=0) as file:  # noqa: PTH123 - a descriptor
            try:
                self._take(archive, file)
                os.fsync(file.fileno())
                fresh.rename(path)
            except BaseException:
                with contextlib.suppress(OSError):
                    fresh.unlink()
                raise
            sync_directory(path.parent)
            yield file

    def _take(self, archive: Archive, file: BinaryIO) -> None:
        with contextlib.closing(self._pieces(archive)) as pieces:
            arrived = take_in(pieces, file, self.pause)
        if arrived.digest != archive.digest:
            raise RefusedPackage(
                f"`{archive.shown}` has SHA-256 `{arrived.digest}`, and `{archive.digest}` was asked for",
                "give the digest of what is there now, if that is what is wanted",
            )

    def _pieces(self, archive: Archive) -> Generator[bytes]:
        if archive.is_local:
            yield from self._local_pieces(Path(archive.path))
            return
        try:
            # Its digest says what it is, so that nobody has to trust the line.
            plain = archive.url if archive.url.startswith("http://") else None
            with _PackageFetcher(
                environment=self.environment, pause=self.pause, mirror=plain, tell=self.tell
            ) as fetcher:
                yield from fetcher.package(archive.url, self.credentials.basic(archive.url), self.transfer)
        except EngineUnavailable as error:
            raise _explained(error) from error

    def _local_pieces(self, path: Path) -> Generator[bytes]:
        try:
            with Fetcher(environment=self.environment, pause=self.pause) as fetcher:
                yield from fetcher.stream(path, limit=self.transfer)
        except NotPublished as error:
            raise PackageNotFound(str(error), *error.hints) from error
        except EngineUnavailable as error:
            raise CheckoutFailed(str(error), "see what is there, and who may read it") from error


class _PackageFetcher(Fetcher):
    """Downloads packages, with credentials that no address holds."""

    def package(self, url: str, user_info: str | None, limit: int) -> Generator[bytes]:
        """The bytes of an archive, as `stream`."""
        address, _ = read_address(url)
        return self._download(
            _PackageDownload(address, _basic(user_info), limit, lambda _arrived, _total: None)
        )


class _PackageDownload(Download):
    """How far a package has come."""

    def failure(self, never: Never, attempts: int = 1) -> EngineUnavailable:
        """The error, with the status of the answer."""
        return _DownloadFailed(str(super().failure(never, attempts)), status=never.status)


class _DownloadFailed(EngineUnavailable):
    """What a download ended with; its hints would be those for an engine."""

    def __init__(self, sentence: str, *, status: int | None) -> None:
        super().__init__(sentence)
        self.status = status


def _explained(error: EngineUnavailable) -> CheckoutFailed:
    sentence = str(error)
    if not isinstance(
        error, _DownloadFailed
    ):  # certificates that cannot be read, or a proxy that cannot be used
        return CheckoutFailed(sentence, *error.hints)
    if error.status in _NOT_ALLOWED:
        return NoAccess(sentence, _ASK_OPERATOR)
    if error.status in _NOT_THERE:
        return PackageNotFound(
            sentence,
            "check the address; many hosts say so too when credentials are missing or may not read it",
        )
    return Unreachable(sentence, "try again; behind a proxy, set `HTTPS_PROXY`")


def _basic(user_info: str | None) -> str | None:
    from base64 import b64encode

    return None if user_info is None else f"Basic {b64encode(user_info.encode()).decode()}"


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb")
    except FileNotFoundError:
        return None
