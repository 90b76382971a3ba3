"""Fixtures for tests on a real engine."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hereya_tf.engine import EngineName
from hereya_tf.engine.candidates import embedded_argv, embedded_library
from tests.command_line import CommandLine
from tests.engine import provider
from tests.engine.buckets import aws, bucket, locking, moto
from tests.engine.databases import database, postgres
from tests.engine.driving import Driver
from tests.engine.recovering import refuses, server
from tests.engine.supplying import Cache, Machine, Release, packed, pretending
from tests.release_site import ReleaseSite

Mount = Callable[..., Path]
# Fixtures that have a module of their own.
__all__ = ["aws", "bucket", "database", "locking", "moto", "postgres", "refuses", "server"]


@pytest.fixture(scope="session")
def real_engine_argv(real_engine: str) -> tuple[str, ...]:
    """What stands in front of the arguments to run the engine under test by hand."""
    if real_engine == "embedded":
        library = embedded_library()
        assert library is not None
        return embedded_argv(library)
    return (shutil.which(real_engine) or real_engine,)


@pytest.fixture
def hereya(cli: CommandLine, real_engine: str, real_engine_argv: tuple[str, ...]) -> Driver:
    """`hereya-tf` on the engine under test."""
    return Driver(cli, real_engine, real_engine_argv)


@pytest.fixture(scope="session")
def release(real_engine: str, real_engine_argv: tuple[str, ...]) -> Release:
    """The engine under test as its makers would publish it."""
    return packed(real_engine, real_engine_argv)


@pytest.fixture
def site() -> Iterator[ReleaseSite]:
    """A site on this machine that has nothing yet."""
    with ReleaseSite() as made:
        yield made


@pytest.fixture
def machine(cli: CommandLine, site: ReleaseSite, release: Release, tmp_path: Path) -> Machine:
    """It takes the engine under test from the site."""
    return Machine(cli, Cache(site, release, tmp_path / "engines cache"), tmp_path / "machine")


@pytest.fixture
def small(cli: CommandLine, site: ReleaseSite, tmp_path: Path) -> Machine:
    """It takes a small engine from the site, that can do no more than to say its name."""
    return pretending(cli, site, tmp_path)


@pytest.fixture(scope="session")
def provider_mirror(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filesystem mirror with the provider of `provider.PROVIDERS`."""
    return provider.make_mirror(tmp_path_factory.mktemp("provider"))


@pytest.fixture
def providers(provider_mirror: Path, isolation: None) -> Path:
    """Lets every engine of this test take its providers from the mirror, and nowhere else."""
    Path(os.environ["TF_CLI_CONFIG_FILE"]).write_text(provider.mirror_settings(provider_mirror))
    return provider_mirror


@pytest.fixture
def engine(hereya: Driver) -> EngineName:
    """Which of the two the engine under test is."""
    return EngineName.OPENTOFU if "OpenTofu" in hereya.plain(Path("/"), "version") else EngineName.TERRAFORM


@pytest.fixture
def other(engine: EngineName) -> EngineName:
    """The one that it is not."""
    return next(name for name in EngineName if name is not engine)


@pytest.fixture
def only_engine(
    hereya: Driver, engine: EngineName, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> CommandLine:
    """`hereya-tf` where no engine is named, and the one under test is all that can be found."""
    directory = tmp_path / "path"
    directory.mkdir()
    if hereya.wish != "embedded":
        (directory / engine.executable).symlink_to(hereya.argv[0])
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return hereya.cli


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mounts a file system of its own, in memory; a test may fill it, or make it read-only."""
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("a file system of its own can be mounted by root on Linux only")
    mounted: list[Path] = []

    def make(options: str = "size=64k") -> Path:
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        command = ("mount", "-t", "tmpfs", "-o", f"mode=0700,{options}", "tmpfs", str(place))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"nothing can be mounted here: {done.stderr}")
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        subprocess.run(("umount", "-l", str(place)), check=True)
