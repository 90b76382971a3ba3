"""Downloads a file, whatever stands in the way (I/O).

Trust is no matter of this module: what arrives is what the site sent, until a signed digest says more.
"""

import random
import stat
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path
from shlex import quote
from typing import Self, assert_never

from hereya_tf.errors import EngineUnavailable, NotPublished
from hereya_tf.releases.addresses import Origin, read_given_address, why_not
from hereya_tf.releases.answers import (
    MOST_REDIRECTS,
    REDIRECTS,
    Again,
    Body,
    File,
    Never,
    back_off,
    judge,
)
from hereya_tf.releases.connections import Connections
from hereya_tf.releases.download import Download
from hereya_tf.releases.proxies import proxy_for
from hereya_tf.releases.sites import Location
from hereya_tf.releases.transfer import Broken, Head, Transfer
from hereya_tf.sizes import format_size

# Bytes that have come anew since the last failure let the count of failures begin again.
_PROGRESS = 1024 * 1024
_PIECE = 256 * 1024  # bytes
_LOOK = "see what the directory of `--from` holds: it has to be laid out as the vendor's site is"


class Fetcher:
    """Downloads files; keeps connections open between them until it is closed.

    `mirror` is the address the user gave, which may be http and may hold `user:password`: they are sent to that
    scheme, host and port alone. `pause(seconds)` waits, is called several times a second while anything is
    awaited, and raises when the run is to end, which ends a download at once. `tell` hears, in a sentence, why
    there is another attempt. `environment` has the proxies (see `proxies.py`), SSL_CERT_FILE and SSL_CERT_DIR.
    There is no limit to the time a download takes, only to silence: `idle_timeout` seconds without a byte.
    """

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        pause: Callable[[float], None],
        mirror: str | None = None,
        tell: Callable[[str], None] = lambda _sentence: None,
        connect_timeout: float = 15.0,
        idle_timeout: float = 30.0,
        retries: int = 5,
        now: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._environment = environment
        self._pause = pause
        self._tell = tell
        self._retries = retries
        self._now = now
        self._chance = chance
        self._plain: frozenset[Origin] = frozenset()
        self._secrets: dict[Origin, str] = {}
        if mirror is not None:
            address, user_info = read_given_address(mirror)
            self._plain = frozenset((address.origin,))
            self._secrets = {address.origin: _basic(user_info)} if user_info else {}
        self._connections = Connections(
            environment, connect_timeout=connect_timeout, idle_timeout=idle_timeout
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._connections.close()

    def get(self, location: Location, *, limit: int) -> bytes:
        """A file as a whole; raises as `stream` does."""
        return b"".join(self.stream(location, limit=limit))

    def stream(
        self,
        location: Location,
        *,
        limit: int,
        progress: Callable[[int, int | None], None] = lambda _arrived, _total: None,
    ) -> Generator[bytes]:
        """The bytes of a file, in order and once each, however often the connection breaks.

        At most `limit` bytes. `progress(arrived, total)` hears of every piece, in bytes; the total may not be
        known. Raises NotPublished, EngineUnavailable, BadInput for what is no address, and what `pause` raises.
        """
        if isinstance(location, Path):
            return _read(location, limit, progress)
        address, user_info = read_given_address(location)
        secret = _basic(user_info) if user_info else self._secrets.get(address.origin)
        return self._download(Download(address, secret, limit, progress))

    def _download(self, download: "Download") -> Generator[bytes]:
        failures, best = 0, 0
        while True:
            try:
                yield from self._attempt(download)
                return
            except _Unfinished as unfinished:
                again = unfinished.again
            if download.given >= best + _PROGRESS:
                failures, best = 0, download.given
            failures += 1
            download.may_resume = download.may_resume and again.resumable
            if failures > (self._retries if again.retries is None else min(again.retries, self._retries)):
                raise download.failure(Never(again.reason), failures)
            seconds = back_off(failures, self._chance()) if again.after is None else again.after
            self._tell(download.sentence(again.reason, f"another attempt follows in {seconds:.1f} s"))
            self._pause(seconds)

    def _attempt(self, download: "Download") -> Generator[bytes]:
        """What has not been given yet, from the first address on: a redirect's target is good for a while only."""
        download.begin()
        transfer, head = self._answer(download)
        try:
            verdict = judge(
                head.status,
                head.headers,
                offset=download.offset,
                given=download.given,
                file=download.file,
                limit=download.limit,
                now=self._now(),
            )
            match verdict:
                case Body(start, file):
                    yield from self._body(download, transfer, start, file)
                case Again():
                    raise _Unfinished(verdict)
                case Never():
                    raise download.failure(verdict)
                case _:
                    assert_never(verdict)
        finally:
            transfer.close()

    def _answer(self, download: "Download") -> tuple[Transfer, Head]:
        """The first answer that is not a redirect."""
        for _ in range(MOST_REDIRECTS + 1):
            if reason := why_not(download.address, download.previous, self._plain):
                raise download.failure(Never(reason))
            download.proxy = proxy_for(download.address, self._environment)
            self._connections.prepare(download.proxy)
            transfer = self._ask(download)
            try:
                head = transfer.head()
            except BaseException as error:
                transfer.close()
                if isinstance(error, Broken):
                    raise self._explained(error, download) from error.cause
                raise
            if head.status not in REDIRECTS:
                return transfer, head
            transfer.close()
            try:
                download.follow(head.headers.get("location", ""))
            except ValueError as error:
                raise download.failure(Never(f"it redirects to where nothing can be had: {error}")) from error
        raise download.failure(Never(f"it redirects more than {MOST_REDIRECTS} times"))

    def _ask(self, download: "Download") -> Transfer:
        address, headers, proxy = download.address, download.headers(), download.proxy
        return Transfer(lambda: self._connections.ask(address, headers, proxy), self._pause)

    def _body(self, download: "Download", transfer: Transfer, start: int, file: File) -> Generator[bytes]:
        download.file = file
        at = start
        pieces = transfer.pieces()
        while True:
            try:
                piece = next(pieces, b"")
            except Broken as error:
                raise self._explained(error, download) from error.cause
            if not piece:
                break
            at += len(piece)
            if at > download.limit:
                raise download.failure(Never(f"it is larger than {format_size(download.limit)}"))
            if at > download.given:
                new = piece[download.given - at :]
                download.given = at
                yield new
                download.progress(at, file.length)
        if at < download.given or file.length not in (None, at):
            raise _Unfinished(Again("it ended too early"))

    def _explained(self, broken: Broken, download: "Download") -> Exception:
        assert broken.cause is not None
        verdict = self._connections.explain(broken.cause, download.proxy)
        match verdict:
            case Never():
                return download.failure(verdict)
            case Again():
                return _Unfinished(verdict)
            case _:
                assert_never(verdict)


class _Unfinished(Exception):
    """An attempt that did not bring the end of the file."""

    def __init__(self, again: Again) -> None:
        super().__init__(again.reason)
        self.again = again


def _basic(user_info: str) -> str:
    from base64 import b64encode

    pair = user_info if ":" in user_info else f"{user_info}:"
    return f"Basic {b64encode(pair.encode()).decode()}"


def _read(path: Path, limit: int, progress: Callable[[int, int | None], None]) -> Generator[bytes]:
    """A file of a mirror that is a directory."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe may wait for ever
            raise EngineUnavailable(f"`{path}` is not a file", _LOOK)
        if status.st_size > limit:
            raise EngineUnavailable(f"`{path}` is larger than {format_size(limit)}", _LOOK)
        at = 0
        with path.open("rb", buffering=0) as file:
            while piece := file.read(min(_PIECE, limit - at)):
                at += len(piece)
                yield piece
                progress(at, status.st_size)
    except FileNotFoundError as error:
        there = next(parent for parent in path.parents if parent.is_dir())
        raise NotPublished(
            f"`{path}` does not exist", f"look which files there are: `ls {quote(str(there))}`"
        ) from error
    except OSError as error:
        raise EngineUnavailable(f"`{path}` cannot be read: {error.strerror}", _LOOK) from error
