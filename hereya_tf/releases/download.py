"""How far a download has come, over all its attempts, and what is said of it (pure)."""

from collections.abc import Callable

from hereya_tf import __version__
from hereya_tf.errors import EngineUnavailable, NotPublished
from hereya_tf.releases.addresses import Address, redirected
from hereya_tf.releases.answers import File, Never
from hereya_tf.releases.proxies import Proxy
from hereya_tf.sizes import format_size

_MIRROR_HINT = "take it from a mirror: `--from DIR|URL`"
_OFFLINE_HINT = "without a network: `--engine embedded`, from `pip install 'hereya-tf[embedded]'`"
_NOT_FOUND = (404, 410)
_NOT_ALLOWED = (401, 403)


class Download:
    """How far a file has come, over all attempts, and where the present one is at."""

    def __init__(
        self, address: Address, secret: str | None, limit: int, progress: Callable[[int, int | None], None]
    ) -> None:
        self.limit = limit
        self.progress = progress
        self.given = 0
        self.file: File | None = None
        self.may_resume = True
        self.proxy: Proxy | None = None
        self._first = address
        self._first_secret = secret
        self.begin()

    def begin(self) -> None:
        """Start an attempt."""
        self.address = self._first
        self.previous: Address | None = None
        self.offset = self.given if self.file is not None and self._validator else 0
        self._secret = self._first_secret

    def follow(self, location: str) -> None:
        """Go where a redirect leads; raises ValueError."""
        self.previous, self.address = self.address, redirected(self.address, location)
        if self.address.origin != self.previous.origin:
            self._secret = None

    def headers(self) -> dict[str, str]:
        """What the present request says of itself."""
        headers = {"User-Agent": f"hereya-tf/{__version__}", "Accept": "*/*", "Accept-Encoding": "identity"}
        if self._secret is not None:
            headers["Authorization"] = self._secret
        if self.offset and self._validator is not None:
            headers |= {"Range": f"bytes={self.offset}-", "If-Range": self._validator}
        return headers

    def failure(self, never: Never, attempts: int = 1) -> EngineUnavailable:
        """The error for its reader."""
        end = f"after {attempts} attempts" if attempts > 1 else ""
        sentence = self.sentence(never.reason, end)
        if never.status in _NOT_FOUND:
            return NotPublished(sentence, f"look which files there are at `{self._directory}`", _MIRROR_HINT)
        if never.hint is not None:
            return EngineUnavailable(sentence, never.hint, _MIRROR_HINT)
        if never.status in _NOT_ALLOWED:
            return EngineUnavailable(sentence, "a mirror's address may hold `USER:PASSWORD@`", _MIRROR_HINT)
        return EngineUnavailable(sentence, self._proxy_hint, _MIRROR_HINT, _OFFLINE_HINT)

    def sentence(self, reason: str, end: str = "") -> str:
        """What went wrong with which file and which host, never with a user name, a password or a query."""
        place = f"`{self._first.place}`"
        if self.address.place != self._first.place:
            place += f", which redirects to `{self.address.place}`"
        arrived = f", {format_size(self.given)} had come" if self.given else ""
        end = f"; {end}" if end else ""
        return f"`{self._first.file}` could not be downloaded from {place}: {reason}{arrived}{end}"

    @property
    def _validator(self) -> str | None:
        return self.file.validator if self.file is not None and self.may_resume else None

    @property
    def _directory(self) -> str:
        path = self._first.target.partition("?")[0].rpartition("/")[0]
        return f"{self._first._replace(target=path)}/"

    @property
    def _proxy_hint(self) -> str:
        if self.proxy is None:
            return "behind a proxy, set `HTTPS_PROXY`"
        return (
            f"it was asked through `{self.proxy.place}` of `{self.proxy.source}`; `NO_PROXY` names exceptions"
        )
