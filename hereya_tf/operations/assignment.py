"""What the steps of a run need to know, as values."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from hereya_tf.engine.commands import EngineOptions, InitOptions, PlanOptions
from hereya_tf.events import Operation
from hereya_tf.question import Question
from hereya_tf.workspace import Workspace

if TYPE_CHECKING:
    from hereya_tf.bundle.file import Bundle
    from hereya_tf.bundle.manifest import Identity


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
