"""Looks at the packages of a job, before it is decided what is run (I/O)."""

import os
from pathlib import Path

from hereya_tf.errors import BadPackage
from hereya_tf.executor.state_places import Found
from hereya_tf.package import Package, is_for_opentofu_alone, read_package
from hereya_tf.reading import reason


def find_inside(root: Path, directory: str) -> Path:
    """A directory of a checkout, links resolved. Raises BadPackage for none, and for one that lies outside."""
    try:
        top = os.path.realpath(root)
        path = os.path.realpath(Path(top, directory), strict=True)
    except (OSError, ValueError) as error:
        raise BadPackage(
            f"`{directory}` cannot be found in what was checked out: {reason(error)}",
            "name a directory of this commit",
        ) from error
    if os.path.commonpath((top, path)) != top:
        raise BadPackage(
            f"`{directory}` is a link that leads out of what was checked out", "name a directory in it"
        )
    return Path(path)


def look_at(directory: Path, *, is_checkout: bool) -> Found:
    """What the files of a package say, to either engine. Raises BadPackage."""
    readings = [read_package(directory, tofu=is_for_opentofu_alone(directory))]
    if not readings[0].is_for_opentofu:
        readings.append(read_package(directory, tofu=True))
    return Found(
        str(directory),
        _variables(readings),
        next((reading.backend.type for reading in readings if reading.backend), None),
        _has_state(directory),
        is_checkout,
    )


def _variables(readings: list[Package]) -> frozenset[str] | None:
    if any(reading.broken for reading in readings):
        return None
    return frozenset(name for reading in readings for name in reading.variables)


def _has_state(directory: Path) -> bool:
    """Whether an engine has kept a state here, in a file of its own or in those of its workspaces."""
    return any(os.path.lexists(directory / name) for name in ("terraform.tfstate", "terraform.tfstate.d"))
