"""Where an engine is taken from and whose signatures count, as the user has said (I/O)."""

import os
from collections.abc import Mapping
from pathlib import Path

from hereya_tf.engine import EngineName
from hereya_tf.engine.wish import is_address
from hereya_tf.errors import BadInput
from hereya_tf.releases.directory import directory_site
from hereya_tf.releases.keys import pinned_keys, read_key_file
from hereya_tf.releases.platforms import Platform, this_platform
from hereya_tf.releases.signatures import PublicKey
from hereya_tf.releases.sites import Site, mirror_site, vendor_site

KEYS_VARIABLE = "HEREYA_TF_ENGINE_KEYS"


def site_for(engine: EngineName, mirror: str | None) -> Site:
    """The vendor's own site, or the mirror that `--from` names: an address, or a directory.

    Raises EngineUnavailable for a directory that cannot be listed.
    """
    if mirror is None:
        return vendor_site(engine)
    return (
        mirror_site(engine, mirror) if is_address(mirror) else directory_site(engine, Path(mirror).absolute())
    )


def trusted_keys(engine: EngineName, environment: Mapping[str, str]) -> tuple[PublicKey, ...]:
    """The vendor's keys, and those in the file that HEREYA_TF_ENGINE_KEYS names; raises BadInput."""
    file = environment.get(KEYS_VARIABLE)
    try:
        return (*pinned_keys(engine), *(read_key_file(Path(file)) if file else ()))
    except BadInput as error:
        raise BadInput(str(error), f"it is what `{KEYS_VARIABLE}` names", *error.hints) from error


def local_platform() -> Platform:
    """What binaries have to be built for to run here; raises EngineUnavailable."""
    system = os.uname()
    return this_platform(system.sysname, system.machine)
