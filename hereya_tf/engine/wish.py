"""What the caller says of the engine, and where each word comes from (pure)."""

from typing import NamedTuple

from hereya_tf.engine import EngineName


class EngineWish(NamedTuple):
    """`name` is auto (or None), terraform, tofu, opentofu, embedded or a path; `version` a constraint.

    `version_yields`: it stands in the user's `config.toml`, whose word counts less than the package's.
    `mirror` is the address or directory that a missing engine is taken from, None for the vendors' sites.
    """

    name: str | None = None
    source: str = "--engine"
    version: str | None = None
    version_source: str = "--engine-version"
    version_yields: bool = False
    mirror: str | None = None

    @property
    def is_given(self) -> bool:
        """Whether the caller said which engine it has to be."""
        return self.name not in (None, "auto")

    @property
    def engine(self) -> EngineName | None:
        """The engine that was named, if that is what was named."""
        return next((each for each in EngineName if self.name in (each.value, each.executable)), None)

    @property
    def names_file(self) -> bool:
        """Whether it is the embedded engine or a path."""
        return self.is_given and self.engine is None


AUTOMATIC = EngineWish()
