"""Which engine and which versions a run asks for, and who says so: all that was said as one demand (pure)."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from hereya_tf.engine import EngineName, Version, quirks
from hereya_tf.engine.quirks import Quirk
from hereya_tf.errors import BadConfig, BadInput, BadPackage, HereyaError
from hereya_tf.words import listed

if TYPE_CHECKING:
    from hereya_tf.engine.constraints import Constraint  # loaded by whoever has one

_NOTHING = Version(0, 0)
_LANGUAGE_BLOCK = quirks.who_has(Quirk.LANGUAGE_BLOCK)
_CHOOSE = "or say which for this run: `--engine-version CONSTRAINT`"


def _first_opentofu(quirk: Quirk) -> Version:
    first = quirks.since(quirk, EngineName.OPENTOFU)
    assert first is not None
    return first


class Era(Enum):
    """Engines by what they read for a constraint on themselves; each begins with a version.

    OpenTofu's have begun to read files of their own, and then to heed only these and the `language` block.
    """

    TERRAFORM = (EngineName.TERRAFORM, _NOTHING)
    LIKE_TERRAFORM = (EngineName.OPENTOFU, _NOTHING)
    OWN_FILES = (EngineName.OPENTOFU, _first_opentofu(Quirk.OWN_FILES))
    LANGUAGE_BLOCK = (EngineName.OPENTOFU, _first_opentofu(Quirk.LANGUAGE_BLOCK))

    @classmethod
    def of(cls, engine: EngineName, version: Version) -> "Era":
        """The era of a version; a pre-release is of its release's."""
        return [era for era in cls if era.value[0] is engine and era.value[1][:3] <= version[:3]][-1]


class Pin(NamedTuple):
    """A version file's word on one engine, or with `fault` why it has none that can be used.

    `is_lowest`: the lowest version that the configuration allows is wanted (`min-required`), and `constraint`
    has no terms. `engine` is None where a file that may speak of both cannot be read.
    """

    engine: EngineName | None
    place: str
    constraint: "Constraint | None" = None
    is_lowest: bool = False
    fault: BadConfig | None = None


class Pins(NamedTuple):
    """The version files' words in the nearest directory that has any; sentences on what was passed over."""

    found: tuple[Pin, ...] = ()
    passed_over: tuple[str, ...] = ()


class Requirement(NamedTuple):
    """A constraint in the package's configuration, by the eras that heed it and those that refuse its block.

    It is checked against a version without its pre-release, as both engines do.
    """

    constraint: "Constraint"
    heeded_in: frozenset[Era]
    refused_in: frozenset[Era] = frozenset()

    def allows(self, engine: EngineName, version: Version) -> bool:
        """Whether a version of an engine takes the configuration that has this in it."""
        era = Era.of(engine, version)
        if era in self.refused_in:
            return False
        return era not in self.heeded_in or self.constraint.allows(version._replace(prerelease=""))


class Requirements(NamedTuple):
    """All requirements of a package's configuration; sentences on what cannot be read as one."""

    found: tuple[Requirement, ...] = ()
    passed_over: tuple[str, ...] = ()


class Demand(NamedTuple):
    """Which engines will do, which versions of them, and who says so.

    `engines`: one, by the word of `engine_source`; or all, and nobody has said which. `constraints` were said
    by the caller, a version file, `hereya-tf.toml` or the user's `config.toml`; all of them hold, and so does
    every one of `requirements`, for the versions that heed it. `passed_over`: sentences on what does not count.
    `is_checked_later`: where none will do, whatever is there is refused with better words than its absence.
    """

    engines: tuple[EngineName, ...] = tuple(EngineName)
    engine_source: str = ""
    constraints: tuple["Constraint", ...] = ()
    requirements: tuple[Requirement, ...] = ()
    passed_over: tuple[str, ...] = ()
    is_checked_later: bool = False

    @property
    def exact(self) -> Version | None:
        """The one version that will do, if that is how it was said: no list of versions is needed for it."""
        return next((exact for constraint in self.constraints if (exact := constraint.exact)), None)

    @property
    def wants_newest(self) -> bool:
        """Whether the newest that is allowed was asked for in so many words, and not merely one that will do."""
        return any(constraint.is_latest for constraint in self.constraints)

    @property
    def who(self) -> str:
        """`engine_source` in a sentence; where versions have decided on the engine it is one already."""
        return self.engine_source if "`" in self.engine_source else f"`{self.engine_source}`"

    @property
    def is_about_versions(self) -> bool:
        """Whether anybody has said anything of versions."""
        return bool(self.constraints or self.requirements)

    def allows(self, engine: EngineName, version: Version) -> bool:
        """Whether a binary of this engine and version will do."""
        return (
            engine in self.engines
            and all(constraint.allows(version) for constraint in self.constraints)
            and all(requirement.allows(engine, version) for requirement in self.requirements)
        )

    def best(self, engine: EngineName, versions: Iterable[Version]) -> Version | None:
        """The newest that will do; a pre-release only where one was named."""
        named = any(term.version.prerelease for constraint in self.constraints for term in constraint.terms)
        stable = (version for version in versions if named or not version.prerelease)
        return max((version for version in stable if self.allows(engine, version)), default=None)

    def overlooked(self, engine: EngineName, version: Version) -> tuple["Constraint", ...]:
        """What excludes this version for the other engine, or for older ones, and is not heeded by it."""
        era, released = Era.of(engine, version), version._replace(prerelease="")
        ignored = (item.constraint for item in self.requirements if era not in item.heeded_in)
        return tuple(constraint for constraint in ignored if not constraint.allows(released))

    def reason(self, engine: EngineName, version: Version | None = None) -> str:
        """Who asks for what, as `` `~> 1.9` of .terraform-version:1 and `< 1.12` of versions.tf:2 ``, or nothing.

        Without a version: whatever any version of the engine would heed.
        """
        eras = (
            [era for era in Era if era.value[0] is engine] if version is None else [Era.of(engine, version)]
        )
        heeded = (item.constraint for item in self.requirements if not item.heeded_in.isdisjoint(eras))
        return listed(f"`{said.text}` of {said.source}" for said in (*self.constraints, *heeded))


def demand_for(
    *,
    wish: str | None,
    wish_source: str,
    caller: "Constraint | None",
    find_pins: Callable[[frozenset[EngineName]], Pins],
    project: "Constraint | None",
    requirements: Requirements,
    default: "Constraint | None",
    hereyarc: str | None,
    evidence: Mapping[EngineName, str],
    is_for_opentofu_alone: bool,
) -> Demand:
    """All that was said about the engine as one demand; the first that has spoken wins.

    `wish` is `--engine`: auto (or None), terraform, tofu, opentofu, embedded or a path. `caller` is
    `--engine-version` or its variable, `project` what `hereya-tf.toml` says, `default` the user's `config.toml`.
    `find_pins` looks for version files that speak of these engines; it is called at most once.
    `hereyarc` is the file that asks for OpenTofu, if one does; `evidence` see `engine.evidence`.

    Raises BadInput, BadConfig or BadPackage for what cannot be used, and for what contradicts itself, naming
    both sides: no engine that could be installed would help. A binary that was named (embedded, a path)
    is held to constraints alone: what the configuration thinks of it, it says itself.
    """
    named = EngineName.named(wish)
    if named is None and wish not in (None, "auto"):
        word = caller or project or default
        return Demand(engine_source=wish_source, constraints=(word,) if word else ())
    pins = find_pins(frozenset((named,) if named else EngineName))
    found = _speaking(pins.found, caller)
    engines: tuple[EngineName, ...] = (named,) if named else ()
    source = wish_source
    if not engines:
        engines, source = _engines(found, hereyarc, evidence, is_for_opentofu_alone)
    demand = Demand(engines, source, (), requirements.found, (*pins.passed_over, *requirements.passed_over))
    if caller is not None:
        return _possible(demand._replace(constraints=(caller,)), BadInput)
    words = (project,) if project else ()
    for pin in found:
        if pin.engine in engines:
            words = (_pinned(pin, demand._replace(constraints=words)), *words)
    demand = _possible(demand._replace(constraints=words), BadConfig)
    return demand if words or default is None else _narrowed(demand, default)


def _speaking(pins: Sequence[Pin], caller: "Constraint | None") -> tuple[Pin, ...]:
    """Those that name an engine. One that might and cannot be read is raised, unless the caller has spoken."""
    for pin in pins:
        if pin.engine is None and pin.fault is not None and caller is None:
            raise pin.fault
    return tuple(pin for pin in pins if pin.engine is not None)


def _engines(
    pins: Sequence[Pin], hereyarc: str | None, evidence: Mapping[EngineName, str], is_for_opentofu_alone: bool
) -> tuple[tuple[EngineName, ...], str]:
    """The engines that will do, and who says so."""
    match [(pin.engine, pin.place) for pin in pins]:
        case [(EngineName.TERRAFORM, place)] if is_for_opentofu_alone:
            said = f"`{place}` asks for Terraform, and the package is for OpenTofu alone (`*.tofu`)"
            raise BadConfig(said, "write an `.opentofu-version` in the package, or name it: `--engine tofu`")
        case [(EngineName() as engine, place)]:
            return (engine,), place
    if hereyarc is not None:
        return (EngineName.OPENTOFU,), hereyarc
    if is_for_opentofu_alone:
        return (EngineName.OPENTOFU,), "*.tofu"
    if len(evidence) == 1:
        ((writer, file),) = evidence.items()
        return (writer,), file
    if pins:
        said = listed(f"`{pin.place}` asks for {pin.engine.title}" for pin in pins if pin.engine)
        raise BadConfig(
            f"{said}, and nothing in the package says which it is to be",
            "take one of the two away, or name the engine: `--engine terraform`, `--engine tofu`",
        )
    return tuple(EngineName), ""


def _pinned(pin: Pin, demand: Demand) -> "Constraint":
    """What a pin asks for; `min-required` becomes the version that it stands for."""
    if pin.fault is not None:
        raise pin.fault
    assert pin.constraint is not None, "there is a fault instead"
    assert pin.engine is not None, "it has been decided on"
    if not pin.is_lowest:
        return pin.constraint
    lowest = _lowest(_possible(demand, BadConfig), pin.engine)
    if lowest is None or lowest == _NOTHING:
        raise BadConfig(
            f"`{pin.constraint.text}` of `{pin.place}` asks for the lowest version that the package allows,"
            " and it names none",
            "give it a `required_version` such as `>= 1.9`, or write a version in place of the word",
        )
    from hereya_tf.engine.constraints import Operator, Term

    return pin.constraint._replace(terms=(Term(Operator.EQUAL, lowest, 3),))


def _narrowed(demand: Demand, default: "Constraint") -> Demand:
    """The demand within what the user usually takes, unless the package allows none of that."""
    narrowed = demand._replace(constraints=(default,))
    excluding = [engine for engine in demand.engines if not _may_be(narrowed, engine)]
    if not excluding or not demand.requirements:
        return _possible(narrowed, BadConfig)
    said = f"`{default.text}` of `{default.source}` is passed over: the package asks for"
    return demand._replace(passed_over=(*demand.passed_over, f"{said} {demand.reason(excluding[0])}"))


def _possible(demand: Demand, refusal: type[HereyaError]) -> Demand:
    """The demand without an engine of which no version would do; raises for a contradiction.

    Where nobody has named an engine, a `language` block does. A version that Terraform must not have does not:
    that newer OpenTofu overlooks what excludes it is no reason to change over unasked.
    """
    for item in demand.requirements if len(demand.engines) > 1 else ():
        if Era.TERRAFORM in item.refused_in:
            demand = demand._replace(engines=(EngineName.OPENTOFU,), engine_source=item.constraint.source)
            break
    first, *others = demand.engines
    if not _may_be(demand, first):
        raise _contradiction(demand, first, refusal)
    for other in others:
        if not _may_be(demand, other):
            return demand._replace(engines=(first,), engine_source=demand.reason(other))
    return demand


def _may_be(demand: Demand, engine: EngineName) -> bool:
    """Whether some version would do. Between pre-releases anything may lie: no contradiction is seen there."""
    if any(
        term.version.prerelease for said in demand.constraints for term in said.terms if said.exact is None
    ):
        return True
    return _lowest(demand, engine) is not None


def _lowest(demand: Demand, engine: EngineName) -> Version | None:
    """The lowest version that will do, as far as numbers go: nobody need have released it.

    A set made of comparisons has its lowest element at one of the numbers in them, or right behind one.
    """
    said = (*demand.constraints, *(requirement.constraint for requirement in demand.requirements))
    bounds = {term.version for constraint in said for term in constraint.terms}
    bounds |= {version._replace(prerelease="") for version in bounds}
    behind = {version._replace(patch=version.patch + 1, prerelease="") for version in bounds}
    begins = {era.value[1] for era in Era}
    return next(
        (version for version in sorted(bounds | behind | begins) if demand.allows(engine, version)), None
    )


def _contradiction(demand: Demand, engine: EngineName, refusal: type[HereyaError]) -> HereyaError:
    """The error for a demand that nothing can meet, by as few of those who have spoken as it takes."""
    culprits = next(part for part in _parts(demand) if not _may_be(part, engine))
    said = [f"`{word.text}` of `{word.source}`" for word in culprits.constraints]
    required = [_required(item) for item in culprits.requirements]
    overlooked = any(Era.TERRAFORM in item.heeded_in for item in culprits.requirements)
    hints = (f"{_LANGUAGE_BLOCK} leaves `required_version` in `*.tf` alone",) if overlooked else ()
    match said, required:
        case [], [only] if engine is EngineName.TERRAFORM and culprits.requirements[0].refused_in:
            asking = f"{demand.who} asks for {engine.title}"
            return BadPackage(f"{only} is for OpenTofu alone, and {asking}", "name OpenTofu: `--engine tofu`")
        case [only], []:
            return refusal(f"no version can be {only}", "leave one of its parts out")
        case [], _:
            sentence = f"no version of {engine.title} can be {listed(required)}"
            return BadPackage(sentence, "change it" if len(required) == 1 else "change one of them", *hints)
        case [word], [_]:
            choose = () if refusal is BadInput else (_CHOOSE,)
            return refusal(f"{required[0]} excludes {word}", "change one of the two", *choose, *hints)
        case _:
            sentence = f"{listed([*said, *required])} exclude one another"
            return refusal(sentence, "change one of them", _CHOOSE, *hints)


def _parts(demand: Demand) -> Iterator[Demand]:
    """Who has spoken, one by one, then in pairs, then all together."""
    everyone: tuple[Constraint | Requirement, ...] = (*demand.constraints, *demand.requirements)
    for count in (1, 2, len(everyone)):
        for some in combinations(everyone, count):
            yield demand._replace(
                constraints=tuple(item for item in some if not isinstance(item, Requirement)),
                requirements=tuple(item for item in some if isinstance(item, Requirement)),
            )


def _required(requirement: Requirement) -> str:
    constraint = requirement.constraint
    if requirement.refused_in:
        return f"the `language` block of `{constraint.source}` ({_LANGUAGE_BLOCK}, `{constraint.text}`)"
    return f"`{constraint.text}` of `{constraint.source}`"
