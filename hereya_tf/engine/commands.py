"""What to run: the arguments and the environment of each engine command (pure)."""

import shlex
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from hereya_tf.durations import format_duration
from hereya_tf.engine.shaping import part
from hereya_tf.errors import CliArgsSet

# Set for every engine command: no questions, no call home, no terminal of git's or ssh's.
MANAGED = {
    "TF_IN_AUTOMATION": "1",
    "TF_INPUT": "0",
    "CHECKPOINT_DISABLE": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "SSH_ASKPASS_REQUIRE": "never",
}
# Taken out: COMP_LINE makes every command print completions and do nothing, with exit code 0;
# a log level puts 50 kB on stderr for a trivial plan; reattached providers are a debugger's.
STRIPPED = ("COMP_LINE", "COMP_POINT", "TF_REATTACH_PROVIDERS")
STRIPPED_PREFIXES = ("TF_LOG", "TF_CLI_ARGS")


class Step(StrEnum):
    """One engine command of a run."""

    INIT = "init"
    PLAN = "plan"
    APPLY = "apply"
    DESTROY = "destroy"
    OUTPUT = "output"
    WORKSPACE = "workspace"
    STATE = "state"
    SHOW = "show"
    VALIDATE = "validate"
    LOCK = "lock"
    FORCE_UNLOCK = "force-unlock"
    TF = "tf"


# Their stdout is one document and no messages: it may hold every value there is, and is nobody's to see.
DOCUMENT_STEPS = (
    Step.OUTPUT,
    Step.WORKSPACE,
    Step.STATE,
    Step.SHOW,
    Step.VALIDATE,
    Step.LOCK,
    Step.FORCE_UNLOCK,
)
# The steps that `--engine-arg` can add to.
TAKES_ARGUMENTS = (Step.INIT, Step.PLAN, Step.APPLY, Step.DESTROY)


class EngineOptions(NamedTuple):
    """What the user wants of the engine beyond the operation itself; `lock_timeout` is in seconds."""

    lock_timeout: float = 300.0
    parallelism: int | None = None
    targets: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    refresh: bool = True
    extra: Mapping[str, tuple[str, ...]] = {}


class PlanOptions(NamedTuple):
    """What kind of plan is wanted."""

    destroy: bool = False
    refresh_only: bool = False
    state_lock: bool = True
    detailed_exitcode: bool = False


class InitOptions(NamedTuple):
    """What init is to do beyond its usual; `migrate_nothing` is for a backend without a state."""

    upgrade: bool = False
    reconfigure: bool = False
    migrate_state: bool = False
    migrate_nothing: bool = False
    readonly_lock_file: bool = False


USUAL_PLAN = PlanOptions()
USUAL_INIT = InitOptions()


def init_arguments(
    options: EngineOptions,
    wish: InitOptions = USUAL_INIT,
    *,
    json: bool,
    locks: bool = True,
    migrates_unasked: bool = False,
    backend: bool = True,
    backend_files: Sequence[str] = (),
    variable_files: Sequence[Path] = (),
) -> tuple[str, ...]:
    """`init` without questions; `backend_files` are `-backend-config` values in their order.

    `locks` and `migrates_unasked` say what this engine's init does with a state that is to move.
    """
    return (
        Step.INIT,
        *(("-json",) if json else ()),
        "-input=false",
        "-no-color",
        *(() if backend else ("-backend=false",)),
        *(("-upgrade",) if wish.upgrade else ()),
        *(("-reconfigure",) if wish.reconfigure else ()),
        # Whether to copy is not asked: without a terminal nobody can answer.
        *(("-migrate-state", "-force-copy", _lock_timeout(options)) if wish.migrate_state else ()),
        *(("-migrate-state",) if wish.migrate_nothing and not migrates_unasked else ()),
        *(("-lock=false",) if wish.migrate_nothing and locks else ()),
        *(("-lockfile=readonly",) if wish.readonly_lock_file else ()),
        *(f"-backend-config={file}" for file in backend_files),
        *_variables(variable_files),
        *options.extra.get(Step.INIT, ()),
    )


def apply_arguments(
    options: EngineOptions, step: Step, *, variable_files: Sequence[Path] = ()
) -> tuple[str, ...]:
    """`apply` or `destroy` in one step, approved."""
    return (
        step,
        "-json",  # first: a bad flag before it is reported as text on stderr
        "-auto-approve",
        *_common(options),
        *_choices(options),
        *_variables(variable_files),
        # No plan is made before.
        *part(options.extra.get(Step.PLAN, ())).shaping,
        *options.extra.get(step, ()),
    )


def plan_arguments(
    options: EngineOptions, wish: PlanOptions, *, out: Path, variable_files: Sequence[Path] = ()
) -> tuple[str, ...]:
    """`plan` into the file `out`."""
    return (
        Step.PLAN,
        "-json",
        *(("-destroy",) if wish.destroy else ()),
        *(("-refresh-only",) if wish.refresh_only else ()),
        *(("-detailed-exitcode",) if wish.detailed_exitcode else ()),
        *_common(options),
        *(() if wish.state_lock else ("-lock=false",)),
        f"-out={out}",
        *_choices(options),
        *_variables(variable_files),
        *options.extra.get(Step.PLAN, ()),
        *part(options.extra.get(Step.APPLY, ())).shaping,
        *part(options.extra.get(Step.DESTROY, ())).shaping,
    )


def apply_plan_arguments(
    options: EngineOptions, step: Step, *, plan: Path, variable_files: Sequence[Path] = ()
) -> tuple[str, ...]:
    """Apply exactly the saved `plan` (of a destroy as well): it holds its choices, and all but ephemeral values."""
    return (
        Step.APPLY,
        "-json",
        *_common(options),
        *_parallelism(options),
        *_variables(variable_files),
        *part(options.extra.get(step, ())).lasting,
        str(plan),
    )


def applies_saved_plan(arguments: Sequence[str]) -> bool:
    """Whether these are the arguments of `apply_plan_arguments`: nothing else is applied without approval.

    What comes later may be the user's own.
    """
    return arguments[0] == Step.APPLY and "-auto-approve" not in arguments[:3]


def show_arguments(plan: Path, *, json: bool, variable_files: Sequence[Path] = ()) -> tuple[str, ...]:
    """A saved plan: the engine's own words on it, or (`json`) all that is in it, sensitive values too."""
    return (Step.SHOW, *(("-json",) if json else ()), "-no-color", *_variables(variable_files), str(plan))


def validate_arguments(*, variable_files: Sequence[Path] = ()) -> tuple[str, ...]:
    """Whether the configuration is valid, as one JSON document."""
    return (Step.VALIDATE, "-json", "-no-color", *_variables(variable_files))


def output_arguments(*, variable_files: Sequence[Path] = ()) -> tuple[str, ...]:
    """All outputs as one JSON document, sensitive ones too."""
    return (Step.OUTPUT, "-json", "-no-color", *_variables(variable_files))


def workspace_list_arguments(*, variable_files: Sequence[Path] = ()) -> tuple[str, ...]:
    """The names of all workspaces, one a line; the command has no `-json`."""
    return (Step.WORKSPACE, "list", "-no-color", *_variables(variable_files))


def state_pull_arguments(*, variable_files: Sequence[Path] = ()) -> tuple[str, ...]:
    """The state as one JSON document with all its secrets, nothing where there is none; takes no lock of it."""
    return (Step.STATE, "pull", "-no-color", *_variables(variable_files))


def state_push_arguments(
    options: EngineOptions, file: Path, *, locks: bool = True, variable_files: Sequence[Path] = ()
) -> tuple[str, ...]:
    """Store the state in `file`; the engine refuses one of another lineage, or older than what is there.

    `locks`: take the state's lock for it, which is for who does not have it yet.
    """
    lock = _lock_timeout(options) if locks else "-lock=false"
    return (Step.STATE, "push", "-no-color", lock, *_variables(variable_files), str(file))


LOCK_PROBE = "untaint"
"""The engine's command that takes the lock on a state, and lets it go again."""


def lock_probe_arguments(*, variable_files: Sequence[Path] = ()) -> tuple[str, ...]:
    """Take the state's lock and let it go again: it looks for a resource that no state has, and writes nothing.

    Measured on Terraform 1.11.4 and 1.15.5: unlike `plan` it reads no configuration but the backend's, starts no
    provider, asks for no variable and no data source; unlike `state push` it has nothing to write; and
    `force-unlock` with a made-up ID, which another backend would refuse with the holder's, unlocks an `http` one.
    """
    nothing = "terraform_data.hereya_tf_looks_for_the_lock"
    return (
        LOCK_PROBE,
        "-allow-missing",
        "-lock-timeout=0s",
        "-no-color",
        *_variables(variable_files),
        nothing,
    )


def force_unlock_arguments(identifier: str, *, variable_files: Sequence[Path] = ()) -> tuple[str, ...]:
    """Take away the lock with this ID, whoever holds it; an `http` backend does not even compare the ID."""
    return (Step.FORCE_UNLOCK, "-force", "-no-color", *_variables(variable_files), identifier)


def refuse_cli_args(environment: Mapping[str, str], *, ignore: bool) -> None:
    """Raise CliArgsSet when TF_CLI_ARGS* is set: `TF_CLI_ARGS_apply=-destroy` destroys everything, exit code 0."""
    names = sorted(name for name, value in environment.items() if name.startswith("TF_CLI_ARGS") and value)
    if not names or ignore:
        return
    name = names[0]
    step = name.removeprefix("TF_CLI_ARGS").removeprefix("_")
    wanted = step if step in TAKES_ARGUMENTS else Step.APPLY
    raise CliArgsSet(
        f"`{name}` is set, and would slip arguments into the engine's commands",
        f"use `--engine-arg {wanted}=ARG` for each argument you need, then unset `{name}`",
        "or pass `--ignore-cli-args` to run without them",
    )


def managed_environment(
    environment: Mapping[str, str],
    *,
    additions: Mapping[str, str],
    workspace: str | None,
    data_directory: str | None,
    log_file: Path | None = None,
) -> dict[str, str]:
    """The engine's environment: the user's without what changes an engine's behaviour behind our back.

    `workspace` and `data_directory` are set where given; `additions` are the user's `--env`.
    """
    theirs = {name: value for name, value in environment.items() if not name.startswith("HEREYA_")}
    kept = {
        name: value
        for name, value in {**theirs, **additions}.items()
        if name not in STRIPPED and not name.startswith(STRIPPED_PREFIXES)
    }
    managed = {**kept, **MANAGED, "GIT_SSH_COMMAND": _batch_ssh(kept)}
    if workspace is not None:
        managed["TF_WORKSPACE"] = workspace
    if data_directory is not None:
        managed["TF_DATA_DIR"] = data_directory
    if log_file is not None:
        managed |= {"TF_LOG": "TRACE", "TF_LOG_PATH": str(log_file)}
    return managed


def _batch_ssh(environment: Mapping[str, str]) -> str:
    # An unknown host key, a passphrase or a password would be asked for on /dev/tty or by a window.
    own = environment.get("GIT_SSH_COMMAND") or shlex.quote(environment.get("GIT_SSH") or "ssh")
    return f"{own} -o BatchMode=yes"


def _common(options: EngineOptions) -> tuple[str, ...]:
    return ("-input=false", _lock_timeout(options), "-no-color")


def _lock_timeout(options: EngineOptions) -> str:
    return f"-lock-timeout={format_duration(options.lock_timeout)}"


def _choices(options: EngineOptions) -> tuple[str, ...]:
    return (
        *_parallelism(options),
        *(() if options.refresh else ("-refresh=false",)),
        *(f"-target={address}" for address in options.targets),
        *(f"-exclude={address}" for address in options.excludes),
        *(f"-replace={address}" for address in options.replaces),
    )


def _parallelism(options: EngineOptions) -> tuple[str, ...]:
    return () if options.parallelism is None else (f"-parallelism={options.parallelism}",)


def _variables(files: Sequence[Path]) -> tuple[str, ...]:
    return tuple(f"-var-file={file}" for file in files)
