"""A real engine is downloaded, proven and run: by many at once, by runners that are killed, onto bad disks."""

import contextlib
import os
import random
import subprocess
import time
from pathlib import Path

import pytest

from hereya_tf.engine.identity import Identity
from hereya_tf.releases.installed import all_installed, verify
from tests.command_line import REPOSITORY, CommandLine, Running
from tests.engine.conftest import Mount
from tests.engine.supplying import Cache, Release
from tests.installing import HERE, TERRAFORM, VERSION, Installing, eventually, pretender
from tests.published_releases import archive
from tests.release_site import ReleaseSite
from tests.site_faults import dripping

pytestmark = pytest.mark.real_engine


class InstallCache(Cache):
    """`engine install` of the release into a cache."""

    def __init__(self, cli: CommandLine, site: ReleaseSite, release: Release, directory: Path) -> None:
        super().__init__(site, release, directory)
        self._cli = cli

    def start(self) -> Running:
        words = (self.release.engine.executable, str(self.release.version))
        return self._cli.start("engine", "install", *words, env=self.environment)


@pytest.fixture
def cache(cli: CommandLine, site: ReleaseSite, release: Release, tmp_path: Path) -> InstallCache:
    return InstallCache(cli, site, release, tmp_path / "engines cache")


def no_pause(_seconds: float) -> None:
    """Go on."""


def test_what_was_installed_provisions(cache: InstallCache, cli: CommandLine, tmp_path: Path) -> None:
    ran = cache.start().finish()
    path = ran.stdout.strip()
    package = tmp_path / "package"
    package.mkdir()
    hello = REPOSITORY / "fixtures/packages/hello"
    for file in hello.glob("*.tf"):
        (package / file.name).write_bytes(file.read_bytes())

    result = cli("provision", package, "--engine", path, "--yes", "--json", env=cache.environment).result

    assert ran.exit_code == 0, ran.stderr
    assert result["success"], result
    assert result["engine"] == {"name": cache.release.engine, "version": str(cache.release.version)}
    checked = cli("engine", "verify", env=cache.environment)
    assert checked.stdout == f"{cache.release.title} is what Mirror <mirror@example.com> has signed\n"


def test_twenty_at_once_download_once(cache: InstallCache, site: ReleaseSite) -> None:
    running = [cache.start() for _ in range(20)]
    ran = [each.finish(150) for each in running]

    found = cache.found()
    assert found is not None
    assert {(each.exit_code, each.stdout) for each in ran} == {(0, f"{found.path}\n")}
    assert len([request for request in site.requests if request.path.endswith(".zip")]) == 1
    assert len([request for request in site.requests if request.path.endswith("SHA256SUMS")]) == 1
    assert cache.names() == [str(cache.release.version)]
    verify(found, no_pause)


def test_whoever_is_killed_leaves_nothing_that_counts(cache: InstallCache) -> None:
    begin = time.monotonic()
    cache.start().finish()
    seconds = time.monotonic() - begin
    chance = random.Random(5)
    for _ in range(12):
        if (found := cache.found()) is not None:
            verify(found, no_pause)
            for file in found.path.parent.iterdir():
                file.unlink()  # as if it had never been: what is left does not count
        running = cache.start()
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.process.wait(chance.uniform(0, seconds * 1.1))
        running.kill()
        assert all(entry == cache.found() for entry in all_installed(cache.directory))

    assert cache.start().finish().exit_code == 0
    last = cache.found()
    assert last is not None
    verify(last, no_pause)
    assert cache.names() == [str(cache.release.version)]


@pytest.mark.parametrize("file", ["archive", "binary"])
def test_whoever_waits_goes_on_where_the_killed_one_has_left(
    cli: CommandLine, site: ReleaseSite, tmp_path: Path, file: str
) -> None:
    """Killed while it downloads, and while it tries out what it has unpacked."""
    gate = tmp_path / "gate"
    started = tmp_path / "started"
    script = (
        f"#!/bin/sh\nif [ ! -e '{gate}' ]; then touch '{started}';"
        f" while [ ! -e '{gate}' ]; do sleep 0.05; done; fi\necho 'Terraform v1.11.4'\n"
    )
    content = script.encode() if file == "binary" else pretender(size=400_000)
    packed = archive(content, TERRAFORM, HERE, method=0)
    cache = InstallCache(cli, site, Release(Identity(TERRAFORM, VERSION), packed), tmp_path / "cache")
    parent = cache.directory / "engines/terraform"
    if file == "archive":
        path = Installing(site, cache.directory).path_of("archive")
        site.fault(path, dripping(0.5, 50_000))
    first = cache.start()
    ready = started.exists if file == "binary" else lambda: list(parent.glob(".1.11.4_*/archive"))
    eventually(ready, f"the {file}")
    second = cache.start()
    eventually(lambda: b"waiting for it" in second.stderr_file.read_bytes(), "the wait")
    said = f"Terraform 1.11.4 is being installed by process {first.pid} on `{os.uname().nodename}`: waiting for it"
    left = cache.names()
    first.kill()
    gate.touch()
    ran = second.finish()

    assert len(left) == 1
    assert left[0].startswith(".1.11.4_")
    assert (ran.exit_code, ran.stdout) == (0, f"{parent / '1.11.4/terraform'}\n")
    assert said in ran.stderr
    assert cache.names() == ["1.11.4"]


def small(cli: CommandLine, site: ReleaseSite, disk: Path, *, size: int = 0) -> InstallCache:
    """A cache on a disk, and a small engine to install."""
    packed = archive(pretender(size=size), TERRAFORM, HERE)
    return InstallCache(cli, site, Release(Identity(TERRAFORM, VERSION), packed), disk / "cache")


@pytest.mark.parametrize("size", ["16k", "300k", "900k"], ids=["the lock", "the archive", "the binary"])
def test_a_full_disk_is_told_and_left_as_it_was(
    cli: CommandLine, site: ReleaseSite, mount: Mount, size: str
) -> None:
    cache = small(cli, site, mount(f"size={size}"), size=600_000)
    ran = cache.start().finish()

    where = cache.directory / "engines/terraform"
    assert (ran.exit_code, ran.stdout) == (5, "")
    assert f"error: there is no room for Terraform 1.11.4 in `{where}`\nhint: " in ran.stderr
    assert cache.names() == []


def test_a_disk_that_runs_no_programs_is_told(cli: CommandLine, site: ReleaseSite, mount: Mount) -> None:
    cache = small(cli, site, mount("size=4m,noexec"))
    ran = cache.start().finish()

    where = cache.directory / "engines/terraform"
    assert (ran.exit_code, ran.stdout) == (5, "")
    assert f"error: nothing can be run from `{where}`: Permission denied\nhint: the file system" in ran.stderr
    assert cache.names() == []


def test_what_was_installed_does_not_count_where_it_no_longer_runs(
    cli: CommandLine, site: ReleaseSite, mount: Mount
) -> None:
    disk = mount("size=4m")
    cache = small(cli, site, disk)
    first = cache.start().finish()
    subprocess.run(("mount", "-o", "remount,noexec", str(disk)), check=True)
    again = cache.start().finish()
    listed = cli("engine", "list", env=cache.environment)

    where = cache.directory / "engines/terraform"
    assert (first.exit_code, again.exit_code, again.stdout) == (0, 5, "")
    assert (
        f"error: nothing can be run from `{where}`: Permission denied\nhint: the file system" in again.stderr
    )
    assert listed.stderr == (
        f"warning: `{where}/1.11.4` does not count: its binary cannot be run by this user, or from this file"
        " system\n"
    )
    assert cache.names() == ["1.11.4"]


def test_a_disk_that_is_read_only_serves_what_is_on_it(
    cli: CommandLine, site: ReleaseSite, mount: Mount
) -> None:
    disk = mount("size=4m")
    cache = small(cli, site, disk)
    first = cache.start().finish()
    subprocess.run(("mount", "-o", "remount,ro", str(disk)), check=True)
    again = cache.start().finish()
    other = cli("engine", "install", "terraform", "1.11.5", env=cache.environment)
    removed = cli("engine", "remove", "terraform", "1.11.4", env=cache.environment)
    checked = cli("engine", "verify", env=cache.environment)

    assert (first.exit_code, again.exit_code, again.stdout) == (0, 0, first.stdout)
    where = cache.directory / "engines/terraform"
    assert other.exit_code == 5
    assert other.stderr == (
        f"error: Terraform 1.11.5 cannot be installed in `{where}`: Read-only file system\n"
        "hint: point `HEREYA_TF_CACHE_DIR` to a directory that you can write to\n"
    )
    assert removed.exit_code == 3
    assert f"error: `{where}/1.11.4` cannot be removed: Read-only file system\n" in removed.stderr
    assert checked.exit_code == 0
