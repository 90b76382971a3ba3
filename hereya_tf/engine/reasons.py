"""What is said of an engine that was chosen, and of one that cannot be had (pure)."""

from collections.abc import Iterator, Mapping, Sequence

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.demand import Demand
from hereya_tf.errors import EngineUnavailable, HereyaError
from hereya_tf.words import listed

DOWNLOADED = "downloaded"
# Nobody has asked for what is taken from there, unless for something that was not to be had elsewhere.
_LAST_RESORTS = (DOWNLOADED, "embedded")
_PATH_HINT = "or name a binary that will do: `--engine PATH`"


def because(place: str, reason: str) -> str:
    """Where a binary was found and why it is the one: `found on PATH: satisfies `~> 1.9` of versions.tf:2`."""
    return f"{place}: {reason}" if reason else place


def explain(
    place: str,
    demand: Demand,
    engine: EngineName,
    version: Version,
    *,
    written_by: Mapping[EngineName, str],
) -> str:
    """Why it is the one that is taken from a place, as a fragment of a sentence; nothing where it is merely there.

    `written_by` see `engine.evidence`.
    """
    reasons = []
    source = demand.engine_source
    if source in written_by.values():
        reasons.append(f"{source} is {engine.title}'s")
    elif source and source != place and not _was_settled_by_versions(demand):
        reasons.append(f"{source} asks for {engine.title}")
    if demand.allows(engine, version) and (said := demand.reason(engine, version)):
        reasons.append(f"satisfies {said}")
    if not reasons and place in _LAST_RESORTS:
        reasons.append("no other is here")
    return ", ".join(reasons)


def _was_settled_by_versions(demand: Demand) -> bool:
    """Whether the engine was settled by what was said of its versions, which is told anyway."""
    return "`" in demand.engine_source or demand.engine_source in [word.source for word in demand.constraints]


def unsatisfied(found: Sequence[Binary], demand: Demand, *hints: str) -> EngineUnavailable:
    """The error for a constraint that nothing at hand satisfies."""
    here = (
        f"{'the embedded engine' if binary.embedded else f'`{binary.path}`'}"
        f" is {binary.engine.title} {binary.version}"
        for binary in found
    )
    return EngineUnavailable(f"{_asking(demand)}, but {listed(here)}", *meaning(demand), *hints)


def unavailable(
    found: Sequence[Binary],
    demand: Demand,
    failure: EngineUnavailable,
    faults: Sequence[HereyaError],
    *,
    other: Binary | None = None,
) -> EngineUnavailable:
    """The error for an engine that is neither at hand nor to be had; `faults` are of what was passed over.

    `other`: the other engine is here, for those who want to go over to it.
    """
    over = (
        f"to go over to {other.engine.title} on purpose: `--engine {other.engine.executable}`"
        if other
        else ""
    )
    passed_over = (f"passed over: {fault}" for fault in faults)
    hints = (*failure.hints, _PATH_HINT, *passed_over, *((over,) if over else ()))
    if found and demand.constraints:
        return unsatisfied(found, demand, f"none can be downloaded: {failure}", *hints)
    lacking = "there is none here" if (asking := _asking(demand)) else "there is no engine here"
    sentence = f"{lacking}, and none can be had: {failure}"
    return EngineUnavailable(f"{asking}; {sentence}" if asking else sentence, *hints)


def _asking(demand: Demand) -> str:
    """Who asks for what: for versions, else for an engine."""
    if not demand.constraints and demand.engine_source:
        return f"{demand.who} asks for {demand.engines[0].title}"
    return listed(f"`{word.source}` asks for `{word.text}`" for word in demand.constraints)


def meaning(demand: Demand) -> Iterator[str]:
    """What a version of one or two numbers means, which few expect."""
    for constraint in demand.constraints:
        exact = constraint.exact
        if exact and not exact.prerelease and (numbers := constraint.terms[0].numbers) < len(exact[:3]):
            given = ".".join(str(number) for number in exact[:numbers])
            yield f"`{given}` is {exact} alone; what begins with it is `~> {given}.0`"
