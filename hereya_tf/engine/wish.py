"""What the caller says of the engine, and where each word comes from (pure)."""

from typing import NamedTuple

from hereya_tf.engine import EngineName


class EngineWish(NamedTuple):
    """`name` is auto (or None), terraform, tofu, opentofu, embedded or a path; `version` a constraint.

    `name_yields`, `version_yields`: it stands in the user's `config.toml`, which counts less than the package.
    `mirror` is the address or directory that a missing engine is taken from, None for the vendors' sites.
    """

    name: str | None = None
    source: str = "--engine"
    name_yields: bool = False
    version: str | None = None
    version_source: str = "--engine-version"
    version_yields: bool = False
    mirror: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether the caller has said for this run which engine it has to be."""
        return self.name not in (None, "auto") and not self.name_yields

    @property
    def engine(self) -> EngineName | None:
        """The engine that was named, if that is what was named."""
        return EngineName.named(self.name)

    @property
    def names_file(self) -> bool:
        """Whether it is the embedded engine or a path."""
        return self.name not in (None, "auto") and self.engine is None


AUTOMATIC = EngineWish()


def is_address(mirror: str) -> bool:
    """Whether a mirror is at an address, and not in a directory; an address may have lost its `https://`."""
    user_info, mark, _ = mirror.partition("@")
    names_user = bool(mark) and ":" in user_info and "/" not in user_info.lstrip("/")
    return "://" in mirror or names_user
