"""Which versions there are and which of them is wanted, also while the site that lists them is down (I/O).

An exact version needs none of this. What a site has listed is kept in the cache: for a while it is taken
instead of asking again, and for as long as it is there it is better than nothing.
"""

import contextlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.durations import spell_duration
from hereya_tf.engine import Version
from hereya_tf.engine.demand import Demand
from hereya_tf.errors import EngineUnavailable, NotPublished
from hereya_tf.private import make_private_directory, write_private
from hereya_tf.reading import read_regular_file
from hereya_tf.releases.addresses import read_given_address
from hereya_tf.releases.directory import versions_in_directory
from hereya_tf.releases.fetch import Fetcher
from hereya_tf.releases.index import is_withdrawn, versions_in
from hereya_tf.releases.installed import all_installed
from hereya_tf.releases.platforms import Platform
from hereya_tf.releases.sites import Location, Site, newest_first

FRESH_SECONDS = 900.0
"""For how long a list is taken without asking again."""

_FORMAT_VERSION = 1
_LARGEST_INDEX = 64 * 1024 * 1024  # bytes; Terraform's has 2,000,000
_LARGEST_STATUS = 1024 * 1024  # bytes
_LARGEST_COPY = 4 * 1024 * 1024  # bytes
_MINUTE = 60


class NoSuchRelease(NotPublished):
    """There is a list, and nothing in it will do."""


class _Copy(NamedTuple):
    """What a site listed, and when, in seconds of the epoch."""

    versions: tuple[Version, ...]
    at: float


def resolve(
    demand: Demand,
    site: Site,
    fetcher: Fetcher,
    cache: Path,
    *,
    platform: Platform,
    tell: Callable[[str], None],
    now: float,
) -> Version:
    """The newest version of `site` that will do; for an exact one nothing is asked and nothing is read.

    Where no list can be had, a newest one that is installed will do as well; `tell` hears of that, and of a list
    that is old. `now` is in seconds of the epoch. Raises EngineUnavailable, NoSuchRelease.
    """
    engine = site.engine
    try:
        return newest(demand, site, fetcher, cache, tell=tell, now=now)
    except NoSuchRelease:
        raise
    except EngineUnavailable as error:
        ours = (
            each.version for each in all_installed(cache) if each.engine is engine and each.is_for(platform)
        )
        best = demand.best(engine, ours)
        if best is None:
            raise
        tell(f"{error}; {engine.title} {best}, which is installed, is taken")
        return best


def newest(
    demand: Demand,
    site: Site,
    fetcher: Fetcher,
    cache: Path,
    *,
    tell: Callable[[str], None],
    now: float,
) -> Version:
    """The same, but what is installed does not count. Raises EngineUnavailable, NoSuchRelease."""
    if demand.exact is not None:
        return demand.exact
    return _best(demand, site, known_versions(site, fetcher, cache, tell=tell, now=now), fetcher)


def known_versions(
    site: Site, fetcher: Fetcher, cache: Path, *, tell: Callable[[str], None], now: float
) -> tuple[Version, ...]:
    """All versions that a site lists, newest first; an old list where no new one can be had, which `tell` hears.

    Raises EngineUnavailable when there is neither.
    """
    if isinstance(site.base, Path):
        return versions_in_directory(site)
    file = _file(cache, site)
    copy = _read_copy(file)
    if copy is not None and 0 <= now - copy.at < FRESH_SECONDS:
        return copy.versions
    try:
        versions = _listed(site, fetcher)
    except EngineUnavailable as error:
        if copy is None:
            raise
        age = spell_duration(max(0.0, (now - copy.at) // _MINUTE * _MINUTE))
        tell(f"{error}; a list of {site.engine.title}'s versions that is {age} old is taken")
        return copy.versions
    with contextlib.suppress(OSError):  # read-only or full: it is asked again next time
        make_private_directory(file.parent)
        document = {"v": _FORMAT_VERSION, "at": now, "versions": [str(version) for version in versions]}
        write_private(file, json.dumps(document))
    return versions


def _listed(site: Site, fetcher: Fetcher) -> tuple[Version, ...]:
    """The site's list, else the other one that it has, of the newest alone."""
    try:
        return _versions_at(site, site.listing, fetcher)
    except EngineUnavailable:
        if site.other_listing is None:
            raise
        with contextlib.suppress(EngineUnavailable):
            return _versions_at(site, site.other_listing, fetcher)
        raise


def _versions_at(site: Site, location: Location, fetcher: Fetcher) -> tuple[Version, ...]:
    document = fetcher.get(location, limit=_LARGEST_INDEX)
    try:
        return versions_in(site.engine, document)
    except EngineUnavailable as error:
        shown = location if isinstance(location, Path) else read_given_address(location)[0].public
        raise EngineUnavailable(str(error), f"look at what is there: `{shown}`", *error.hints) from error


def _best(demand: Demand, site: Site, versions: tuple[Version, ...], fetcher: Fetcher) -> Version:
    """The newest that will do and was not withdrawn."""
    left = set(versions)
    while best := demand.best(site.engine, left):
        if not _is_withdrawn(site, best, fetcher):
            return best
        left.remove(best)
    hint = f"the newest is {versions[0]}" if versions else "its list is empty: is it the right place?"
    reason = demand.reason(site.engine)
    wanted = f"satisfies {reason}" if reason else "was found"
    raise NoSuchRelease(f"no release of {site.engine.title} {wanted}", hint)


def _is_withdrawn(site: Site, version: Version, fetcher: Fetcher) -> bool:
    """Whether the vendor says so; when it says nothing it was not."""
    location = site.status(version)
    if location is None:
        return False
    with contextlib.suppress(EngineUnavailable):
        return is_withdrawn(fetcher.get(location, limit=_LARGEST_STATUS))
    return False


def _file(cache: Path, site: Site) -> Path:
    """Where the copy of a site's list is; an address may hold a password, so none is in the name."""
    from hashlib import sha256

    digest = sha256(str(site.listing).encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return cache / "engines" / site.engine / f".versions-{digest}.json"


def _read_copy(file: Path) -> _Copy | None:
    try:
        document: Any = json.loads(read_regular_file(file, at_most=_LARGEST_COPY))
        at = document["at"]
        if document["v"] != _FORMAT_VERSION or not isinstance(at, int | float) or not math.isfinite(at):
            return None
        versions = newest_first(text for text in document["versions"] if isinstance(text, str))
    except (OSError, ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None
    return _Copy(versions, at) if versions else None
