"""Where the vendors, and mirrors of them, keep what: addresses and file names (pure).

A mirror has the vendors' layout below one base, which may serve both engines:
`terraform/index.json`, `terraform/V/FILE`, `tofu/api.json`, `opentofu/opentofu/releases/download/vV/FILE`.
A directory may also hold the files of its releases without any directories (see `directory.py`).
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hereya_tf.engine import EngineName, Version
from hereya_tf.releases.platforms import Platform

# An http(s) address, or a file of a directory that serves as a mirror.
Location = str | Path

_HASHICORP = "https://releases.hashicorp.com"
_HASHICORP_API = "https://api.releases.hashicorp.com/v1/releases/terraform"
_OPENTOFU = "https://get.opentofu.org"
_GITHUB = "https://github.com"
_SIGNATURES = {
    # By the name of the key: the plain `.sig` of releases before April 2021 is by a leaked, revoked one.
    EngineName.TERRAFORM: ".72D7468F.sig",
    # Not `.sig`, which is cosign's.
    EngineName.OPENTOFU: ".gpgsig",
}
_CHECKSUMS = "_SHA256SUMS"


class Release(NamedTuple):
    """Where the files of one version for one platform are; `archive_name` is how the checksums list the archive."""

    archive: Location
    archive_name: str
    checksums: Location
    signature: Location
    member: str


class Site(NamedTuple):
    """Where an engine is published.

    `listing` has every version. `other_listing`, where there is one, has the newest twenty and knows which of
    them were withdrawn. `base` is what a version's directory is below; a `flat` one holds the files itself.
    """

    engine: EngineName
    base: Location
    listing: Location
    other_listing: str | None = None
    flat: bool = False
    is_mirror: bool = False

    def release(self, version: Version, platform: Platform) -> Release:
        """Where the files of `version` are; whether they exist is another question."""
        archive = archive_name(self.engine, version, platform)
        checksums = checksums_name(self.engine, version)
        return Release(
            archive=self._file(version, archive),
            archive_name=archive,
            checksums=self._file(version, checksums),
            signature=self._file(version, f"{checksums}{_SIGNATURES[self.engine]}"),
            member=member_name(self.engine, platform),
        )

    def status(self, version: Version) -> str | None:
        """Where the vendor says whether `version` was withdrawn, where it says so at all."""
        return None if self.other_listing is None else f"{_HASHICORP_API}/{version}"

    def _file(self, version: Version, name: str) -> Location:
        if self.flat:
            return below(self.base, name)
        directory = str(version) if self.engine is EngineName.TERRAFORM else f"v{version}"
        return below(self.base, directory, name)


def vendor_site(engine: EngineName) -> Site:
    """Where the engine's makers publish it."""
    site = mirror_site(engine, _HASHICORP if engine is EngineName.TERRAFORM else _GITHUB)
    if engine is EngineName.TERRAFORM:
        return site._replace(other_listing=f"{_HASHICORP_API}?limit=20", is_mirror=False)
    return site._replace(listing=f"{_OPENTOFU}/tofu/api.json", is_mirror=False)


def mirror_site(engine: EngineName, base: Location, *, flat: bool = False) -> Site:
    """A mirror at an address or in a directory; nothing of it is anywhere else."""
    if engine is EngineName.TERRAFORM:
        releases, listing = below(base, "terraform"), below(base, "terraform", "index.json")
    else:
        releases = below(base, "opentofu", "opentofu", "releases", "download")
        listing = below(base, "tofu", "api.json")
    return Site(
        engine=engine,
        base=base if flat else releases,
        listing=listing,
        flat=flat,
        is_mirror=True,
    )


def archive_name(engine: EngineName, version: Version, platform: Platform) -> str:
    """`terraform_1.11.4_linux_amd64.zip`, `tofu_1.9.0_darwin_arm64.zip`."""
    return f"{engine.executable}_{version}_{platform.os}_{platform.arch}.zip"


def checksums_name(engine: EngineName, version: Version) -> str:
    """`terraform_1.11.4_SHA256SUMS`."""
    return f"{engine.executable}_{version}{_CHECKSUMS}"


def member_name(engine: EngineName, platform: Platform) -> str:
    """The binary's name in the archive."""
    return f"{engine.executable}.exe" if platform.os == "windows" else engine.executable


def versions_of_names(engine: EngineName, names: Iterable[str]) -> tuple[Version, ...]:
    """The versions whose checksums are among file names, newest first."""
    return newest_first(
        name.removeprefix(f"{engine.executable}_").removesuffix(_CHECKSUMS)
        for name in names
        if name.startswith(f"{engine.executable}_") and name.endswith(_CHECKSUMS)
    )


def platforms_of_names(engine: EngineName, version: Version, names: Iterable[str]) -> tuple[Platform, ...]:
    """What `version` is built for, by the archives among file names (those that its checksums list)."""
    pattern = re.compile(
        rf"{engine.executable}_{re.escape(str(version))}_([a-z0-9]+)_([a-z0-9]+)\.zip", re.ASCII
    )
    return tuple(sorted({Platform(*match.groups()) for name in names if (match := pattern.fullmatch(name))}))


def newest_first(texts: Iterable[str]) -> tuple[Version, ...]:
    """The texts that are versions spelt as the vendors spell them, once each; the newest is the first.

    `1.9.0+ent` is another product, and no file is named for `v1.9.0` or `1.9`.
    """
    found = set()
    for text in texts:
        try:
            version = Version.parse(text)
        except ValueError:
            continue
        if str(version) == text:
            found.add(version)
    return tuple(sorted(found, reverse=True))


def newest_stable(versions: Iterable[Version]) -> Version | None:
    """The newest of them that is not a pre-release."""
    return max((version for version in versions if not version.prerelease), default=None)


def below(base: Location, *names: str) -> Location:
    """What is called `names` below a directory or an address, whose own query stays behind the path."""
    if isinstance(base, Path):
        return base.joinpath(*names)
    path, mark, query = base.partition("?")
    return "/".join((path.rstrip("/"), *names)) + mark + query
