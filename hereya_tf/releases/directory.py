"""A directory that serves as a mirror, for machines without a network (I/O)."""

import contextlib
from pathlib import Path

from hereya_tf.engine import EngineName, Version
from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.sites import Site, mirror_site, newest_first, versions_of_names


def directory_site(engine: EngineName, directory: Path) -> Site:
    """The mirror in `directory`: with the vendors' layout, or all files in one place.

    Raises EngineUnavailable when it cannot be listed.
    """
    try:
        names = [entry.name for entry in directory.iterdir()]
    except OSError as error:
        raise EngineUnavailable(
            f"the mirror `{directory}` cannot be read: {error.strerror}",
            "name a directory that holds the release's archive, checksums and signature: `--from DIR`",
        ) from error
    return mirror_site(engine, directory, flat=bool(versions_of_names(engine, names)))


def versions_in_directory(site: Site) -> tuple[Version, ...]:
    """The versions that are in a directory, newest first, whether or not it has an index; none when unreadable."""
    assert isinstance(site.base, Path)
    names: list[str] = []
    with contextlib.suppress(OSError):
        names = [entry.name for entry in site.base.iterdir()]
    if site.flat:
        return versions_of_names(site.engine, names)
    prefix = "" if site.engine is EngineName.TERRAFORM else "v"
    return newest_first(name[len(prefix) :] for name in names if name.startswith(prefix))
