"""The engine as data: its names, its version, and the binary that was chosen (pure)."""

import re
from enum import StrEnum
from typing import Any, NamedTuple

_VERSION = re.compile(r"v?(\d+)\.(\d+)(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)
_LONGEST_VERSION = 100


class EngineName(StrEnum):
    """Terraform or OpenTofu."""

    TERRAFORM = "terraform"
    OPENTOFU = "opentofu"

    @classmethod
    def named(cls, word: str | None) -> "EngineName | None":
        """The engine that `terraform`, `tofu` or `opentofu` stands for; no other word stands for one."""
        return next((engine for engine in cls if word in (engine.value, engine.executable)), None)

    @property
    def title(self) -> str:  # type: ignore[override]  # str.title() has no use here
        """The name in a sentence, and at the start of what `version` prints."""
        return "Terraform" if self is EngineName.TERRAFORM else "OpenTofu"

    @property
    def executable(self) -> str:
        """The name of its binary, without a suffix."""
        return "terraform" if self is EngineName.TERRAFORM else "tofu"

    @property
    def registry(self) -> str:
        """The host that it completes provider names with, and writes into lock files and states."""
        return f"registry.{self}.{'io' if self is EngineName.TERRAFORM else 'org'}"


class Version(NamedTuple):
    """A release of an engine; a pre-release sorts before its release, `rc2` before `rc10`."""

    major: int
    minor: int
    patch: int = 0
    prerelease: str = ""

    @classmethod
    def parse(cls, text: str) -> "Version":
        """Read `1.11.4`, `v1.6` or `1.12.0-beta1`; build metadata is dropped. Raises ValueError."""
        match = _VERSION.fullmatch(text) if len(text) <= _LONGEST_VERSION else None
        if match is None:
            raise ValueError(f"`{text[:_LONGEST_VERSION]}` is not a version such as `1.11.4`")
        major, minor, patch, prerelease = match.groups()
        return cls(int(major), int(minor), int(patch or 0), prerelease or "")

    def __str__(self) -> str:
        release = f"{self.major}.{self.minor}.{self.patch}"
        return f"{release}-{self.prerelease}" if self.prerelease else release

    def __lt__(self, other: tuple[Any, ...]) -> bool:
        return self._order() < Version(*other)._order()

    def __le__(self, other: tuple[Any, ...]) -> bool:
        return self._order() <= Version(*other)._order()

    def __gt__(self, other: tuple[Any, ...]) -> bool:
        return self._order() > Version(*other)._order()

    def __ge__(self, other: tuple[Any, ...]) -> bool:
        return self._order() >= Version(*other)._order()

    def _order(self) -> tuple[Any, ...]:
        pieces = re.findall(r"\d+|[A-Za-z]+", self.prerelease)
        natural = tuple((0, int(piece), "") if piece.isdigit() else (1, 0, piece) for piece in pieces)
        return (self.major, self.minor, self.patch, not self.prerelease, natural)


class Binary(NamedTuple):
    """An executable that has said which engine it is.

    `argv` goes in front of the arguments; `path` is what people are shown; `chosen_by` is a fragment of a
    sentence: `found on PATH`, `--engine`, `embedded: nothing else is installed`.
    """

    engine: EngineName
    version: Version
    argv: tuple[str, ...]
    path: str
    chosen_by: str
    embedded: bool = False
