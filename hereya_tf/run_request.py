"""What the caller wants of a run, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hereya_tf.engine import commands
from hereya_tf.engine.commands import EngineOptions, InitOptions, PlanOptions
from hereya_tf.engine.wish import AUTOMATIC, EngineWish
from hereya_tf.errors import HereyaError
from hereya_tf.events import Operation, Trace
from hereya_tf.guards import NO_GUARDS, Guards
from hereya_tf.inputs.given import Given
from hereya_tf.inputs.values import VariableFile
from hereya_tf.invocation import Invocation
from hereya_tf.retries import NO_RETRIES, Retries
from hereya_tf.workspace import GeneratedBackend, Workspace, identify_workspace


class RecoveryWish(NamedTuple):
    """How much of a recovery is wanted, and what proves whose lock was left by a run that died elsewhere."""

    dry_run: bool = False
    record: Trace | None = None


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """What the caller wants, as values; durations in seconds, paths absolute."""

    operation: Operation
    package: Path
    approved: bool
    inputs: tuple[Given | VariableFile, ...] = ()
    additions: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    workspace: str | None = None
    create_workspace: bool = False
    backend: GeneratedBackend | None = None
    backend_config: tuple[str, ...] = ()
    lock_key: str | None = None
    engine: EngineWish = AUTOMATIC
    engine_options: EngineOptions
    init_options: InitOptions = commands.USUAL_INIT
    plan_options: PlanOptions = commands.USUAL_PLAN
    guards: Guards = NO_GUARDS
    retries: Retries = NO_RETRIES
    plugin_cache: bool = True
    # Where the plan bundle goes (`plan`), or which one is applied (`apply`).
    bundle: Path | None = None
    wants_difference: bool = False
    wants_plan_document: bool = False
    # The engine's arguments, of `tf`.
    arguments: tuple[str, ...] = ()
    recovery: RecoveryWish | None = None
    engine_log: Path | None = None
    ignore_cli_args: bool = False
    reinit: bool = False
    wait: float | None = 1800.0
    grace: float = 60.0
    redact: tuple[str, ...] = ()
    show_sensitive: bool = False
    engine_messages: bool = False
    # The command line that asked for the run.
    invocation: Invocation | None = None
    # What was wrong with the request before it could be built.
    refusal: HereyaError | None = None

    def identify(self, environment: Mapping[str, str]) -> Workspace:
        """The workspace of the run. Raises BadInput for options that exclude each other."""
        return identify_workspace(
            self.package,
            wish=self.workspace,
            backend=self.backend,
            lock_key=self.lock_key,
            environment={**environment, **dict(self.additions)},
        )
