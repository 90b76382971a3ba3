"""Selects the engine of a run: on PATH, installed, to be downloaded, embedded, in this order (I/O).

Where nobody has said which engine, Terraform comes before OpenTofu on PATH, and OpenTofu before Terraform in the
cache and on the sites.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.candidates import EMBEDDED_HINT, Candidate, embedded, named_file, on_path
from hereya_tf.engine.demand import Demand
from hereya_tf.engine.evidence import check_mismatch
from hereya_tf.engine.identity import RunVersion, ask_version, identify
from hereya_tf.engine.reasons import DOWNLOADED, because, explain, unavailable, unsatisfied
from hereya_tf.engine.wish import AUTOMATIC, EngineWish
from hereya_tf.errors import EngineMismatch, EngineUnavailable, EngineUnsupported, HereyaError, NotPublished
from hereya_tf.releases.supply import Supply

_OPENTOFU_FIRST = (EngineName.OPENTOFU, EngineName.TERRAFORM)


class Missing(NamedTuple):
    """A release that would do and is not here, and why it is the one, as a fragment of a sentence."""

    engine: EngineName
    version: Version
    reason: str


class Selection:
    """The search for the engine that a package is to be run with, as `demand` has it.

    `package` is where a launcher looks for the version to run; `written_by` see `engine.evidence`; `tell` hears, in
    sentences, what was passed over and why something else is taken.
    """

    def __init__(
        self,
        demand: Demand,
        wish: EngineWish,
        *,
        supply: Supply,
        package: Path,
        written_by: Mapping[EngineName, str],
        tell: Callable[[str], None],
        run_version: RunVersion = ask_version,
    ) -> None:
        self._demand = demand
        self._wish = wish
        self._supply = supply
        self._package = package
        self._written_by = written_by
        self._tell = tell
        self._run_version = run_version
        self._asked: dict[Path, Binary | None] = {}
        self._faults: list[HereyaError] = []

    def expected_engine(self) -> EngineName:
        """Which engine it will most likely be, by the names of files and without running any."""
        if self._wish.names_file:
            return EngineName.OPENTOFU if "tofu" in Path(self._wish.name or "").name else EngineName.TERRAFORM
        for engine in self._demand.engines:
            if len(self._demand.engines) == 1 or any(on_path(engine, self._supply.environment)):
                return engine
        fitting = (each.engine for each in self._installed() if self._fits(each.engine, each.version))
        return next(fitting, _OPENTOFU_FIRST[0])

    def select(self) -> Binary:
        """The binary; a missing one is installed.

        Raises EngineUnavailable, EngineUnsupported, EngineMismatch where all that is to be had is not the engine
        that wrote the package's files, and what `Supply.install` raises.
        """
        found = self._at_hand()
        if found is not None:
            return found
        failure: EngineUnavailable | None = None
        try:
            for missing in self._releases():
                try:
                    return self._same(missing) or self._install(missing)
                except NotPublished as error:
                    failure = failure or error
        except NotPublished as error:
            failure = failure or error
        except EngineUnavailable as error:  # a site that is down says more than one that has nothing
            failure = error
        assert failure is not None
        return self._instead(failure)

    def look(self) -> Binary | Missing:
        """What `select` would select, or install; nothing is installed."""
        found = self._at_hand()
        if found is not None:
            return found
        try:
            missing = next(self._releases())
        except EngineUnavailable as error:
            return self._instead(error)
        return self._same(missing) or missing

    def _at_hand(self) -> Binary | None:
        """The one that was named, else the first that will do, unless the newest there is was asked for."""
        if self._wish.names_file:
            named = self._named()
            if named is not None:
                return named
        if self._demand.wants_newest:
            return None
        # A plan that the embedded engine has made: nothing is downloaded for what is here.
        last = self._embedded() if self._demand.is_checked_later else ()
        fitting = (each for each in chain(self._found(), last) if self._fits(each.engine, each.version))
        return next((self._chosen(binary) for binary in fitting), None)

    def _named(self) -> Binary | None:
        """The embedded engine, or the binary at a path; how the package's files see it, it says itself.

        None where it is only what the user usually takes, and will not do.
        """
        wish, source = self._wish.name or "", self._wish.source
        candidate = embedded(source) if wish == "embedded" else named_file(wish, source)
        if candidate is None:
            raise EngineUnavailable("the embedded engine is not installed", EMBEDDED_HINT)
        binary = self._identified(candidate)
        if self._wish.name_yields and not self._fits(binary.engine, binary.version):
            return None
        if not all(constraint.allows(binary.version) for constraint in self._demand.constraints):
            raise unsatisfied(
                [binary], self._demand, f"leave out `{source}`, and one that will do is looked for"
            )
        return self._chosen(binary)

    def _found(self) -> Iterator[Binary]:
        """All that is on PATH and the best that are installed."""
        for engine in self._demand.engines:
            for candidate in on_path(engine, self._supply.environment):
                if candidate.version is None or self._demand.allows(engine, candidate.version):
                    yield from self._answering(candidate)
        yield from self._installed()

    def _installed(self) -> Iterator[Binary]:
        """Of each engine in the cache the newest that fits, that is allowed, and of all releases."""
        from hereya_tf.releases.installed import all_installed
        from hereya_tf.releases.sites import newest_stable
        from hereya_tf.releases.sources import local_platform

        if not (found := all_installed(self._supply.cache)):
            return
        platform = local_platform()
        for engine in self._in_order():
            ours = {each.version: each for each in found if each.engine is engine and each.is_for(platform)}
            fitting = (version for version in ours if self._fits(engine, version))
            best = (self._demand.best(engine, fitting), self._demand.best(engine, ours), newest_stable(ours))
            for version in dict.fromkeys(version for version in best if version is not None):
                yield ours[version].binary("installed")

    def _embedded(self) -> Iterator[Binary]:
        if EngineName.TERRAFORM in self._demand.engines and (candidate := embedded()):
            yield from self._answering(candidate)

    def _answering(self, candidate: Candidate) -> Iterator[Binary]:
        """The binary, if it answers as an engine that will do."""
        if candidate.file not in self._asked:
            self._asked[candidate.file] = self._answer(candidate)
        if (binary := self._asked[candidate.file]) is not None:
            yield binary

    def _answer(self, candidate: Candidate) -> Binary | None:
        """One that is too old is refused where nobody has said what is to be."""
        fault: HereyaError
        try:
            binary = self._identified(candidate)
        except EngineUnavailable as error:
            self._tell(f"{error}; it is passed over")
            fault = error
        except EngineUnsupported as error:
            if not (self._demand.is_about_versions or self._demand.is_checked_later):
                raise
            fault = error
        else:
            if binary.engine in self._demand.engines:
                return binary
            fault = EngineUnavailable(f"`{binary.path}` is {binary.engine.title}", "give it its own name")
        self._faults.append(fault)
        return None

    def _identified(self, candidate: Candidate) -> Binary:
        identity = identify(
            candidate.argv,
            candidate.file,
            environment=self._supply.environment,
            cache_directory=self._supply.cache,
            directory=self._package,
            run_version=self._run_version,
        )
        return Binary(
            engine=identity.engine,
            version=identity.version,
            argv=candidate.argv,
            path=str(candidate.file),
            chosen_by=candidate.place,
            embedded=candidate.embedded,
        )

    def _fits(self, engine: EngineName, version: Version) -> bool:
        """Whether it will do. Where the engine is open, it is to be one that heeds all that the package says."""
        is_open = len(self._demand.engines) > 1
        heeds_all = not (is_open and self._demand.overlooked(engine, version))
        return heeds_all and self._demand.allows(engine, version)

    def _in_order(self) -> Iterator[EngineName]:
        return (engine for engine in _OPENTOFU_FIRST if engine in self._demand.engines)

    def _releases(self) -> Iterator[Missing]:
        """The newest that will do, of each engine; raises for the first engine when there is no more."""
        wants_newest = self._demand.wants_newest
        hurried = self._demand.exact is None and self._substitute() is not None
        failure: EngineUnavailable | None = None
        second_best: list[Missing] = []
        for engine in (self.expected_engine(),) if wants_newest else self._in_order():
            try:
                version = self._supply.newest(self._demand, engine, hurried=hurried)
            except NotPublished as error:
                failure = failure or error
                continue
            missing = Missing(engine, version, self._explain(DOWNLOADED, engine, version))
            if self._fits(engine, version):
                yield missing
            else:
                second_best.append(missing)
        yield from second_best
        if failure is not None:
            raise failure

    def _same(self, missing: Missing) -> Binary | None:
        """The release where it is here already, which it may be when the newest was asked for."""
        wanted = (missing.engine, missing.version)
        same = (binary for binary in self._found() if (binary.engine, binary.version) == wanted)
        return next((self._chosen(binary) for binary in same), None)

    def _install(self, missing: Missing) -> Binary:
        # No site has answered yet where the version is exact, and what would be taken instead is of this very one.
        instead = self._substitute() if self._demand.exact is not None else None
        hurried = instead is not None and self._demand.allows(instead.engine, instead.version)
        installed = self._supply.install(missing.engine, missing.version, hurried=hurried)
        return installed.binary(because(DOWNLOADED, missing.reason))

    def _instead(self, failure: EngineUnavailable) -> Binary:
        """What is taken where no release can be had; raises for the failure when there is nothing."""
        binary = self._substitute()
        if binary is None:
            found = [*self._found(), *self._embedded()]
            if not found:
                self._refuse_other_engine(failure)
            other = None if found or self._wish.is_given else next(self._others(), None)
            raise unavailable(found, self._demand, failure, self._faults, other=other) from failure
        self._tell(f"{failure}; {binary.engine.title} {binary.version} is taken, {binary.chosen_by}")
        return self._chosen(binary)

    def _substitute(self) -> Binary | None:
        """The best of all that is here, if any of it will do, or is refused later with better words."""
        found = [*self._found(), *self._embedded()]
        allowed = [binary for binary in found if self._demand.allows(binary.engine, binary.version)]
        allowed.sort(key=lambda binary: not self._fits(binary.engine, binary.version))
        if self._demand.wants_newest and allowed:
            same = (binary for binary in allowed if binary.engine is allowed[0].engine)
            return max(same, key=lambda binary: (not binary.version.prerelease, binary.version))
        if self._demand.is_checked_later:
            return next(iter((*allowed, *found, *self._others())), None)
        # What the package's files alone forbid, the engine refuses itself, and shows where they do.
        return next(iter(allowed if self._demand.constraints else (*allowed, *found)), None)

    def _refuse_other_engine(self, failure: EngineUnavailable) -> None:
        """Raise EngineMismatch where the engine that wrote the files is not to be had, and the other one is."""
        if self._demand.engine_source in self._written_by.values():
            for binary in self._others():
                try:
                    check_mismatch(binary, self._written_by, explicit=False)
                except EngineMismatch as error:
                    raise EngineMismatch(str(error), *error.hints, f"none can be had: {failure}") from failure

    def _others(self) -> Iterator[Binary]:
        """What is here of the engine that is not asked for."""
        other = Selection(
            Demand(
                tuple(engine for engine in EngineName if engine not in self._demand.engines),
                is_checked_later=True,
            ),
            AUTOMATIC,
            supply=self._supply,
            package=self._package,
            written_by={},
            tell=self._tell,
            run_version=self._run_version,
        )
        yield from other._found()
        yield from other._embedded()

    def _chosen(self, binary: Binary) -> Binary:
        reason = self._explain(binary.chosen_by, binary.engine, binary.version)
        return binary._replace(chosen_by=because(binary.chosen_by, reason))

    def _explain(self, place: str, engine: EngineName, version: Version) -> str:
        return explain(place, self._demand, engine, version, written_by=self._written_by)
