"""What the steps of a run need to know, as values."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, assert_never

from hereya_tf.engine.commands import EngineOptions, InitOptions, PlanOptions, Step
from hereya_tf.events import Operation
from hereya_tf.guards import NO_GUARDS, Guards
from hereya_tf.question import Question
from hereya_tf.run_request import RecoveryWish
from hereya_tf.states.keeper import Care
from hereya_tf.states.local import Whereabouts
from hereya_tf.workspace import Workspace

if TYPE_CHECKING:
    from hereya_tf.bundle.file import Bundle
    from hereya_tf.bundle.manifest import Identity

_MIGRATING = frozenset(("migrate-state", "force-copy"))


class Assignment(NamedTuple):
    """One operation on one workspace; `ask` is None when the run is approved."""

    operation: Operation
    workspace: Workspace
    # A workspace that init, plan and apply would create, unless the engine lists it.
    doubtful_workspace: str | None
    create_workspace: bool
    options: EngineOptions
    init_options: InitOptions
    plan_options: PlanOptions
    backend_files: tuple[str, ...]
    backend_contents: tuple[str, ...]
    # The settings of `--backend-config`; None when it takes an init to know them all.
    backend_settings: Mapping[str, str] | None
    variable_files: tuple[Path, ...]
    variable_contents: tuple[str, ...]
    ephemeral_files: tuple[Path, ...]
    reinit: bool
    cache: Path
    ask: Callable[[Question], bool] | None
    # Whether the engine's own words on a plan are wanted, and the plan as JSON: an engine command each.
    wants_difference: bool
    wants_plan_document: bool
    # What a plan made or applied here is for, with digests of this salt.
    identify: Callable[[bytes], "Identity"]
    bundle: "Bundle | None"
    bundle_to_write: Path | None
    # The engine's, of `tf`.
    arguments: tuple[str, ...] = ()
    sensitive_variables: frozenset[str] = frozenset()
    # Raises EngineMismatch for a state (its text) of the other engine; None where no state need be asked for that.
    check_state: Callable[[str], None] | None = None
    # Whether the cache of providers is for this run, and how many seconds to wait for whoever is filling it.
    plugin_cache: bool = True
    wait: float | None = None
    # The type of the package's own backend block.
    own_backend: str | None = None
    guards: Guards = NO_GUARDS
    # As it was before anything was taken out for the engine.
    callers_environment: Mapping[str, str] = {}
    # What is wanted of a recovery, and the words that say in a command which state this is.
    place: str = ""
    recovery: RecoveryWish | None = None

    @property
    def care(self) -> Care:
        """How much the operation minds that the state is missing or broken."""
        match self.operation:
            case Operation.PROVISION | Operation.DESTROY | Operation.PLAN | Operation.APPLY | Operation.DRIFT:
                return Care.WRITES
            case Operation.INIT:
                return Care.MIGRATES if self._migrates else Care.NONE
            case Operation.OUTPUT:
                return Care.READS
            case Operation.VALIDATE | Operation.TF | Operation.RECOVER:
                return Care.NONE
            case unknown:
                assert_never(unknown)

    def whereabouts(self, package: Path) -> Whereabouts:
        """What tells where the state is."""
        backend, settings = self.workspace.backend, self.backend_settings
        return Whereabouts(
            package,
            self.workspace,
            self.own_backend,
            has_settings=bool(self.backend_files) or "backend-config" in self._names_for_init,
            path_setting=settings.get("path", backend.path) if settings is not None and backend else None,
        )

    @property
    def _migrates(self) -> bool:
        return self.init_options.migrate_state or not _MIGRATING.isdisjoint(self._names_for_init)

    @property
    def _names_for_init(self) -> frozenset[str]:
        """The names of the user's own arguments for init."""
        arguments = self.options.extra.get(Step.INIT, ())
        return frozenset(argument.lstrip("-").partition("=")[0] for argument in arguments)
