"""Which versions a vendor's index lists (pure)."""

import json
from collections.abc import Iterator
from typing import Any

from hereya_tf.engine import EngineName, Version
from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.sites import newest_first

_WITHDRAWN = "withdrawn"


def versions_in(engine: EngineName, document: bytes) -> tuple[Version, ...]:
    """The versions that an index lists, newest first, those that were withdrawn left out.

    Reads all three: `index.json` of releases.hashicorp.com, the lists of api.releases.hashicorp.com, `api.json`
    of get.opentofu.org. Entries that are no versions are passed over; raises EngineUnavailable when none is left.
    """
    versions = newest_first(_listed(_decoded(engine, document)))
    if not versions:
        raise _not_an_index(engine)
    return versions


def is_withdrawn(document: bytes) -> bool:
    """Whether what `Site.status` names says that a version was withdrawn; anything unreadable does not."""
    try:
        state: object = _state(_decoded(EngineName.TERRAFORM, document))
    except EngineUnavailable:
        return False
    return state == _WITHDRAWN


def _decoded(engine: EngineName, document: bytes) -> Any:
    try:
        return json.loads(document)
    except (ValueError, RecursionError) as error:
        raise _not_an_index(engine) from error


def _listed(index: Any) -> Iterator[str]:
    entries = index.get("versions") if isinstance(index, dict) else index
    if isinstance(entries, dict):
        yield from entries
    elif isinstance(entries, list):
        for entry in entries:
            name = entry.get("id", entry.get("version")) if isinstance(entry, dict) else None
            if isinstance(name, str) and _state(entry) != _WITHDRAWN:
                yield name


def _state(release: Any) -> Any:
    status = release.get("status") if isinstance(release, dict) else None
    return status.get("state") if isinstance(status, dict) else None


def _not_an_index(engine: EngineName) -> EngineUnavailable:
    return EngineUnavailable(
        f"what was found in place of the list of {engine.title}'s versions is not one",
        "a proxy or a log-in page may have answered",
        "an exact version, such as `1.11.4`, needs no list",
    )
