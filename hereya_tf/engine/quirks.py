"""What an engine of some version can do: one table, from the sources of both at their tags (pure)."""

from enum import Enum

from hereya_tf.engine import EngineName, Version


class Feature(Enum):
    """Something that not every engine can; the value is since when, Terraform first."""

    INIT_JSON = (Version(1, 9), Version(1, 7))
    VARIABLES_AT_INIT = (Version(1, 15), Version(1, 8))
    EXCLUDE = (None, Version(1, 9))
    S3_LOCKFILE = (Version(1, 10), Version(1, 10))


def supports(feature: Feature, engine: EngineName, version: Version) -> bool:
    """Has this engine the feature in this version? A pre-release has what its release has."""
    terraform, opentofu = feature.value
    since = terraform if engine is EngineName.TERRAFORM else opentofu
    return since is not None and version[:3] >= since[:3]


def supports_init_json(engine: EngineName, version: Version) -> bool:
    """`init -json`."""
    return supports(Feature.INIT_JSON, engine, version)


def takes_variables_at_init(engine: EngineName, version: Version) -> bool:
    """Variables may decide module sources (and a backend, in OpenTofu), so `init` needs their values."""
    return supports(Feature.VARIABLES_AT_INIT, engine, version)


def has_exclude(engine: EngineName, version: Version) -> bool:
    """`-exclude=ADDRESS`."""
    return supports(Feature.EXCLUDE, engine, version)


def has_s3_lockfile(engine: EngineName, version: Version) -> bool:
    """The S3 backend's own lock file, `use_lockfile`."""
    return supports(Feature.S3_LOCKFILE, engine, version)
