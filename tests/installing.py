"""Installs engines from a site on this machine: what a release is made of, and what is left in the cache."""

import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hereya_tf.engine import EngineName, Version
from hereya_tf.releases.fetch import Fetcher
from hereya_tf.releases.install import install
from hereya_tf.releases.installed import Installed
from hereya_tf.releases.platforms import Platform
from hereya_tf.releases.signatures import PublicKey
from hereya_tf.releases.sites import Site, archive_name, checksums_name, mirror_site
from hereya_tf.releases.sources import local_platform
from tests.openpgp_signer import signing_key
from tests.published_releases import archive, publish
from tests.release_site import ReleaseSite

HERE = local_platform()
TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
VERSION = Version(1, 11, 4)


def pretender(engine: EngineName = TERRAFORM, version: Version = VERSION, *, size: int = 0) -> bytes:
    """A program that says that it is this engine; of at least so many bytes, which hardly compress."""
    import random

    script = f"#!/bin/sh\necho '{engine.title} v{version}'\nexit 0\n".encode()
    return script + random.Random(1).randbytes(max(0, size - len(script)))


def eventually(condition: Callable[[], object], what: str, *, seconds: float = 30.0) -> None:
    """Wait for a condition; fails when it does not come."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.005)


class Installing:
    """A site with releases, signed by a mirror, and a cache to install into."""

    def __init__(self, site: ReleaseSite, cache: Path) -> None:
        self.site = site
        self.cache = cache
        self.key = signing_key()
        self.told: list[str] = []
        self.progress: list[tuple[int, int | None]] = []
        self.paused: list[float] = []

    def publish(
        self,
        binary: bytes | None = None,
        *,
        engine: EngineName = TERRAFORM,
        version: Version = VERSION,
        platform: Platform = HERE,
        packed: bytes | None = None,
        method: int = zipfile.ZIP_DEFLATED,
        withdrawn: bool = False,
    ) -> bytes:
        """Publish a release of one platform; returns its archive."""
        content = pretender(engine, version) if binary is None else binary
        body = packed if packed is not None else archive(content, engine, platform, method=method)
        publish(self.site, engine, version, {platform: body}, self.key.sign, withdrawn=withdrawn)
        return body

    def install(
        self,
        version: Version = VERSION,
        *,
        engine: EngineName = TERRAFORM,
        platform: Platform = HERE,
        keys: Sequence[PublicKey] | None = None,
        site: Site | None = None,
        pause: Callable[[float], None] | None = None,
        environment: Mapping[str, str] | None = None,
        **options: Any,
    ) -> Installed:
        """Install from the site, or another one."""
        wait = self.pause if pause is None else pause
        with Fetcher(environment={}, pause=wait, mirror=self.site.address, retries=2) as fetcher:
            return install(
                version,
                site or mirror_site(engine, self.site.address),
                fetcher,
                (self.key.public,) if keys is None else keys,
                self.cache,
                platform=platform,
                environment=environment or {},
                progress=lambda arrived, total: self.progress.append((arrived, total)),
                pause=wait,
                tell=self.told.append,
                **options,
            )

    def pause(self, seconds: float) -> None:
        self.paused.append(seconds)

    def left(self, engine: EngineName = TERRAFORM) -> list[str]:
        """What is in the engine's directory, but for lock files, which stay."""
        directory = self.cache / "engines" / engine
        names = [entry.name for entry in directory.iterdir()] if directory.is_dir() else []
        return sorted(name for name in names if not name.endswith(".lock"))

    def directory(self, version: Version = VERSION, engine: EngineName = TERRAFORM) -> Path:
        return self.cache / "engines" / engine / str(version)

    def path_of(self, kind: str, version: Version = VERSION, engine: EngineName = TERRAFORM) -> str:
        """Where the site has `archive`, `checksums` or `signature`."""
        root = (
            f"/terraform/{version}"
            if engine is TERRAFORM
            else f"/opentofu/opentofu/releases/download/v{version}"
        )
        checksums = checksums_name(engine, version)
        names = {
            "archive": archive_name(engine, version, HERE),
            "checksums": checksums,
            "signature": f"{checksums}{'.72D7468F.sig' if engine is TERRAFORM else '.gpgsig'}",
        }
        return f"{root}/{names[kind]}"
