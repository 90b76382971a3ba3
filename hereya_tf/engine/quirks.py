"""What not every version of an engine can do: one table of all that our work depends on (pure)."""

from enum import Enum, unique
from typing import NamedTuple

from hereya_tf.engine import EngineName, Version

_ALWAYS = Version(0, 0)


class Row(NamedTuple):
    """A line of the table: what it is, the first version of each engine with it, and how that is known.

    None is for an engine without it. OpenTofu began, with 1.6, as a copy of Terraform 1.5.
    """

    meaning: str
    terraform: Version | None
    opentofu: Version | None
    source: str


@unique
class Quirk(Enum):
    """The table; `hashicorp/terraform#N` and `opentofu/opentofu#N` are pull requests."""

    RELEASES = Row(
        "there are releases of it",
        _ALWAYS,
        Version(1, 6),
        "the lists of releases on both sites",
    )
    MESSAGES = Row(
        "`-json` of plan, apply and destroy",
        Version(0, 15, 3),
        _ALWAYS,
        "hashicorp/terraform#28814",
    )
    MIGRATION_ON_DEMAND = Row(
        "init asks for `-migrate-state` before it goes over to another backend; older ones just do",
        Version(0, 15, 4),
        _ALWAYS,
        "hashicorp/terraform#28718",
    )
    APPLE_SILICON = Row(
        "a build for Apple's own processors",
        Version(1, 0, 2),
        _ALWAYS,
        "the lists of releases on both sites",
    )
    DRIFT_MESSAGES = Row(
        "a `resource_drift` message for each resource; `-refresh-only` itself is older (0.15.4)",
        Version(1, 0, 3),
        _ALWAYS,
        "hashicorp/terraform#29072, its changelog",
    )
    INIT_LOCKS = Row(
        "init locks the states that it copies, and takes `-lock` and `-lock-timeout`",
        Version(1, 0, 10),
        _ALWAYS,
        "hashicorp/terraform#29773, its changelog",
    )
    INIT_JSON = Row(
        "`init -json`",
        Version(1, 9),
        Version(1, 7),
        "hashicorp/terraform#34886; OpenTofu's source at v1.7.0",
    )
    S3_LOCK_FILE = Row(
        "`use_lockfile` of the S3 backend",
        Version(1, 10),
        Version(1, 10),
        "the sources of both at v1.10.0",
    )
    EARLY_VARIABLES = Row(
        "variables may decide module sources: init, plan and validate need their values",
        Version(1, 15),
        Version(1, 8),
        "measured on Terraform 1.15.5; opentofu/opentofu#1718",
    )
    BACKEND_VARIABLES = Row(
        "variables may decide backend and encryption: output, show and workspace take values too",
        None,
        Version(1, 8),
        "opentofu/opentofu#1718",
    )
    OWN_FILES = Row(
        "`x.tofu` is read, and `x.tf` is not where there is one",
        None,
        Version(1, 8),
        "OpenTofu's `configs` at v1.8.0",
    )
    EXCLUDE = Row(
        "`-exclude=ADDRESS`",
        None,
        Version(1, 9),
        "OpenTofu's source at v1.9.0",
    )
    LANGUAGE_BLOCK = Row(
        "a `language` block, and `required_version` is heeded in own files alone",
        None,
        Version(1, 12),
        "OpenTofu's `configs.checkVersionRequirements` at v1.12.0",
    )


def since(quirk: Quirk, engine: EngineName) -> Version | None:
    """The engine's first version with it, 0.0.0 where all have it, None where none has."""
    return quirk.value.terraform if engine is EngineName.TERRAFORM else quirk.value.opentofu


def has(quirk: Quirk, engine: EngineName, version: Version) -> bool:
    """Whether a version of an engine has it; a pre-release has what its release has."""
    first = since(quirk, engine)
    return first is not None and version[:3] >= first[:3]


def who_has(quirk: Quirk) -> str:
    """The engines that have it, for a sentence: `Terraform 1.0.3 or newer, or OpenTofu`."""
    firsts = {engine: first for engine in EngineName if (first := since(quirk, engine)) is not None}
    if len(firsts) > 1 and len(set(firsts.values())) == 1:
        return f"an engine of version {_short(firsts[EngineName.TERRAFORM])} or newer"
    return ", or ".join(
        engine.title if first == _ALWAYS else f"{engine.title} {_short(first)} or newer"
        for engine, first in firsts.items()
    )


def _short(version: Version) -> str:
    return str(version) if version.patch else f"{version.major}.{version.minor}"
