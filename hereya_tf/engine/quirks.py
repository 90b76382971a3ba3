"""What an engine of some version can do: since when, by the sources of both at their tags (pure)."""

from hereya_tf.engine import EngineName, Version


def supports_init_json(engine: EngineName, version: Version) -> bool:
    """`init -json`."""
    return _has(engine, version, terraform=Version(1, 9), opentofu=Version(1, 7))


def takes_variables_at_init(engine: EngineName, version: Version) -> bool:
    """Variables may decide module sources (and a backend, in OpenTofu), so `init` needs their values."""
    return _has(engine, version, terraform=Version(1, 15), opentofu=Version(1, 8))


def has_exclude(engine: EngineName, version: Version) -> bool:
    """`-exclude=ADDRESS`."""
    return _has(engine, version, terraform=None, opentofu=Version(1, 9))


def has_s3_lockfile(engine: EngineName, version: Version) -> bool:
    """The S3 backend's own lock file, `use_lockfile`."""
    return _has(engine, version, terraform=Version(1, 10), opentofu=Version(1, 10))


def _has(
    engine: EngineName, version: Version, *, terraform: Version | None, opentofu: Version | None
) -> bool:
    """Whether the version is not older than the engine's first with it; a pre-release has what its release has."""
    since = terraform if engine is EngineName.TERRAFORM else opentofu
    return since is not None and version[:3] >= since[:3]
