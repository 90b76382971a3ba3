"""Where an engine comes from that is not at hand: which releases there are, and one of them installed (I/O)."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hereya_tf.engine import EngineName, Version, quirks
from hereya_tf.engine.demand import Demand
from hereya_tf.engine.quirks import Quirk
from hereya_tf.errors import NotPublished

if TYPE_CHECKING:  # loaded when an engine is missing, which it is in few runs
    from hereya_tf.releases.fetch import Fetcher
    from hereya_tf.releases.installed import Installed

# Where something else will do, nobody waits long for a site that does not answer.
_HURRY: dict[str, Any] = {"retries": 1, "connect_timeout": 4.0, "idle_timeout": 8.0}


class Listeners(NamedTuple):
    """Who hears of what takes time: `tell` sentences, `progress` how many bytes of how many have arrived.

    `pause(seconds)` waits; it is called several times a second and raises when the run is to end.
    """

    pause: Callable[[float], None]
    tell: Callable[[str], None]
    progress: Callable[[EngineName, Version, int, int | None], None]


class Supply(NamedTuple):
    """The releases of a mirror (an address or a directory), else of the vendors' sites, and the cache."""

    mirror: str | None
    environment: Mapping[str, str]
    cache: Path
    listeners: Listeners

    def newest(self, demand: Demand, engine: EngineName, *, hurried: bool = False) -> Version:
        """The newest release that will do; an exact version is not looked for.

        `hurried` gives up after a few seconds of silence. Raises EngineUnavailable, NoSuchRelease.
        """
        if (exact := demand.exact) is not None:
            if not quirks.has(Quirk.RELEASES, engine, exact):
                first = quirks.since(Quirk.RELEASES, engine)
                raise NotPublished(
                    f"there is no {engine.title} {exact}: it begins with {first}",
                    f"take a version from {first} on, or Terraform",
                )
            return exact
        from hereya_tf.releases.catalogue import newest
        from hereya_tf.releases.sources import site_for

        site = site_for(engine, self.mirror)
        with self._fetcher(hurried=hurried) as fetcher:
            return newest(demand, site, fetcher, self.cache, tell=self.listeners.tell, now=time.time())

    def resolve(self, demand: Demand, engine: EngineName) -> Version:
        """The same, but what is installed will do where no list can be had, which the listener hears."""
        from hereya_tf.releases.catalogue import resolve
        from hereya_tf.releases.sources import local_platform, site_for

        with self._fetcher() as fetcher:
            return resolve(
                demand,
                site_for(engine, self.mirror),
                fetcher,
                self.cache,
                platform=local_platform(),
                tell=self.listeners.tell,
                now=time.time(),
            )

    def install(self, engine: EngineName, version: Version, *, hurried: bool = False) -> "Installed":
        """The release, verified and ready; without a network when it is there already.

        `hurried` see `newest`. Raises what `releases.install.install` does.
        """
        from hereya_tf.releases.install import install
        from hereya_tf.releases.sources import local_platform, site_for, trusted_keys

        listeners = self.listeners
        with self._fetcher(hurried=hurried) as fetcher:
            return install(
                version,
                site_for(engine, self.mirror),
                fetcher,
                trusted_keys(engine, self.environment),
                self.cache,
                platform=local_platform(),
                environment=self.environment,
                progress=lambda arrived, total: listeners.progress(engine, version, arrived, total),
                pause=listeners.pause,
                tell=listeners.tell,
            )

    def _fetcher(self, *, hurried: bool = False) -> "Fetcher":
        from hereya_tf.engine.wish import is_address
        from hereya_tf.releases.fetch import Fetcher

        return Fetcher(
            environment=self.environment,
            pause=self.listeners.pause,
            mirror=self.mirror if self.mirror is not None and is_address(self.mirror) else None,
            # In a hurry its last word is told, with what is taken instead.
            tell=_ignore if hurried else self.listeners.tell,
            **(_HURRY if hurried else {}),
        )


def _ignore(_sentence: str) -> None:
    """Another attempt follows, and soon."""
