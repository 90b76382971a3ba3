"""Which versions of an engine are wanted: the engines' own constraints, by hashicorp/go-version's rules (pure)."""

import re
from enum import StrEnum
from typing import NamedTuple, assert_never

from hereya_tf.engine import Version
from hereya_tf.errors import BadInput

LATEST = "latest"

_LONGEST = 200  # characters
_LONGEST_SHOWN = 60  # characters
_EXAMPLES = "use a version (`1.11.4`), a constraint (`~> 1.9`), several (`>= 1.5, < 2`), or `latest`"
# As in go-version, but for a fourth number, which no engine has.
_TERM = re.compile(
    r"\s*(?P<operator>|=|!=|>=|>|<=|<|~>)\s*v?"
    r"(?P<numbers>\d{1,9}(?:\.\d{1,9}){0,2})"
    r"(?:(?:-|(?=[A-Za-z]))(?P<prerelease>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?\s*",
    re.ASCII,
)


class Operator(StrEnum):
    """How a version is compared; `~>` lets the last number that was given grow."""

    EQUAL = "="
    NOT_EQUAL = "!="
    ABOVE = ">"
    AT_LEAST = ">="
    BELOW = "<"
    AT_MOST = "<="
    PESSIMISTIC = "~>"


class Term(NamedTuple):
    """One comparison; `numbers` is how many numbers of the version were given."""

    operator: Operator
    version: Version
    numbers: int

    def allows(self, version: Version) -> bool:
        """Whether `version` passes, by go-version's rules (see `_allows_prerelease` for what is stricter)."""
        if not self._allows_prerelease(version):
            return False
        match self.operator:
            case Operator.EQUAL:
                return version == self.version
            case Operator.NOT_EQUAL:
                return version != self.version
            case Operator.ABOVE:
                return version > self.version
            case Operator.AT_LEAST:
                return version >= self.version
            case Operator.BELOW:
                return version < self.version
            case Operator.AT_MOST:
                return version <= self.version
            case Operator.PESSIMISTIC:
                fixed = self.numbers - 1
                released = bool(self.version.prerelease) and not version.prerelease
                return version[:fixed] == self.version[:fixed] and version >= self.version and not released
            case _:
                assert_never(self.operator)

    def _allows_prerelease(self, version: Version) -> bool:
        # Stricter than go-version for `!=` alone: who excludes a release has not asked for an alpha.
        if not version.prerelease:
            return True
        return bool(self.version.prerelease) and version[:3] == self.version[:3]


class Constraint(NamedTuple):
    """What is wanted, and by whom: `--engine-version`, HEREYA_TF_ENGINE_VERSION, `hereya-tf.toml:5`.

    No terms stand for `latest`: any version will do, and the newest is best.
    """

    text: str
    source: str
    terms: tuple[Term, ...]

    @property
    def is_latest(self) -> bool:
        """Whether the newest is wanted, whichever that is."""
        return not self.terms

    @property
    def exact(self) -> Version | None:
        """The one version that is wanted, if that is how it was said."""
        match self.terms:
            case (Term(operator=Operator.EQUAL, version=version),):
                return version
            case _:
                return None

    def allows(self, version: Version) -> bool:
        """Whether `version` passes every term."""
        return all(term.allows(version) for term in self.terms)


def parse_constraint(text: str, source: str) -> Constraint:
    """Read `1.11.4`, `~> 1.9`, `>= 1.5, < 2`, `!= 1.9.0` or `latest`; raises BadInput with what to write instead.

    Grammar: hashicorp/go-version, `NewConstraint`. Nothing between commas is an error there too.
    """
    shown = " ".join(text.split())
    if shown == LATEST:
        return Constraint(shown, source, ())
    terms = _terms(text)
    if terms:
        return Constraint(shown, source, terms)
    if len(shown) > _LONGEST_SHOWN:
        shown = f"{shown[:_LONGEST_SHOWN]}…"
    better = _rewritten(text)
    raise BadInput(
        f"`{shown}` of `{source}` is not a version constraint" if shown else f"`{source}` is empty",
        f"write `{better}`" if better else _EXAMPLES,
    )


def _terms(text: str) -> tuple[Term, ...]:
    """Nothing when any of it is not a comparison."""
    found = [_TERM.fullmatch(piece) for piece in text.split(",")] if len(text) <= _LONGEST else []
    return tuple(_term(match) for match in found if match) if all(found) else ()


def _term(match: re.Match[str]) -> Term:
    numbers = [int(number) for number in match["numbers"].split(".")]
    major, minor, patch = (*numbers, 0, 0)[:3]
    version = Version(major, minor, patch, match["prerelease"] or "")
    return Term(Operator(match["operator"] or "="), version, len(numbers))


def _compatible(match: re.Match[str]) -> str:
    return f">= {match[1]}, < {int(match[2]) + 1}"


# What other package managers write, or a slip of the finger, and what means the same here.
_REWRITES = (
    (re.compile(r"[\"'`]"), ""),
    (re.compile(r"(?i)^\s*latest\s*$"), LATEST),
    (re.compile(r"([=!<>~])\s+(?=[=>])"), r"\1"),
    (re.compile(r"(?<=[0-9A-Za-z*])\s+(?=[=!<>~^])"), ", "),
    (re.compile(r"\^\s*v?((\d{1,9})(?:\.\d{1,9}){0,2})"), _compatible),
    (re.compile(r"~="), "~>"),
    (re.compile(r"={2,}"), "="),
    (re.compile(r"=([<>])"), r"\1="),
    (re.compile(r"(^|,)[\s=]*v?(\d{1,9}(?:\.\d{1,9})?)\.[xX*](?=\s*(?:,|$))"), r"\1 ~> \2.0"),
    (re.compile(r"(?<=[=<>])(?=[0-9v])"), " "),
    (re.compile(r"^[\s,]+|[\s,]+$"), ""),
)


def _rewritten(text: str) -> str | None:
    """The constraint that was meant, where that can be told."""
    if len(text) > _LONGEST:
        return None
    for pattern, replacement in _REWRITES:
        text = pattern.sub(replacement, text)
    text = " ".join(text.split())
    return text if text == LATEST or _terms(text) else None
