"""What can go wrong, one class per thing a user can act on (pure).

An error owns its sentence, its failure class (which owns the exit code) and its hints.
It is raised where it is noticed and rendered once, at the edge.
"""

import errno
from enum import StrEnum


class FailureClass(StrEnum):
    """The stable word for a kind of failure; scripts and the exit code depend on it."""

    BAD_INPUT = "bad-input"
    BAD_PACKAGE = "bad-package"
    BAD_CONFIG = "bad-config"
    CLI_ARGS = "cli-args"
    ENGINE_MISMATCH = "engine-mismatch"
    PLAN_STALE = "plan-stale"
    PLAN_MISMATCH = "plan-mismatch"
    ERRORED_STATE = "errored-state"
    STATE_CORRUPT = "state-corrupt"
    BUSY = "busy"
    STATE_LOCKED = "state-locked"
    ENGINE_UNAVAILABLE = "engine-unavailable"
    ENGINE_UNVERIFIED = "engine-unverified"
    ENGINE_UNSUPPORTED = "engine-unsupported"
    CONTROL_PLANE = "control-plane"
    TOO_MANY_DESTROYS = "too-many-destroys"
    PROTECTED = "protected"
    UNEXPECTED_CHANGES = "unexpected-changes"
    POLICY_DENIED = "policy-denied"
    USAGE = "usage"
    INTERNAL = "internal"
    TIMED_OUT = "timed-out"
    IDLE = "idle"
    CANCELLED = "cancelled"
    MISSING_VARIABLE = "missing-variable"
    INVALID_VARIABLE = "invalid-variable"
    INVALID_CONFIGURATION = "invalid-configuration"
    UNSUPPORTED_VERSION = "unsupported-version"
    PROVIDER_UNAVAILABLE = "provider-unavailable"
    PROVIDER_CHECKSUM = "provider-checksum"
    MODULE_UNAVAILABLE = "module-unavailable"
    BACKEND_NOT_INITIALISED = "backend-not-initialised"
    BACKEND_CHANGED = "backend-changed"
    BACKEND_UNREACHABLE = "backend-unreachable"
    CREDENTIALS = "credentials"
    STATE_NOT_SAVED = "state-not-saved"
    LOCK_NOT_RELEASED = "lock-not-released"
    WORKSPACE_UNKNOWN = "workspace-unknown"
    PRECONDITION_FAILED = "precondition-failed"
    PREVENTED_DESTROY = "prevented-destroy"
    PROVISIONER_FAILED = "provisioner-failed"
    PROVIDER_ERROR = "provider-error"
    PROVIDER_CRASHED = "provider-crashed"
    ENGINE_CRASHED = "engine-crashed"
    DISK_FULL = "disk-full"
    OUT_OF_MEMORY = "out-of-memory"
    PROMPT = "prompt"
    ENGINE_ERROR = "engine-error"

    @property
    def exit_code(self) -> int:
        """The exit code of a run that fails this way; a cancelled run has its signal's code instead."""
        return _EXIT_CODES.get(self, 1)


_EXIT_CODES = {
    FailureClass.BAD_INPUT: 3,
    FailureClass.BAD_PACKAGE: 3,
    FailureClass.BAD_CONFIG: 3,
    FailureClass.CLI_ARGS: 3,
    FailureClass.ENGINE_MISMATCH: 3,
    FailureClass.PLAN_STALE: 3,
    FailureClass.PLAN_MISMATCH: 3,
    FailureClass.ERRORED_STATE: 3,
    FailureClass.STATE_CORRUPT: 3,
    FailureClass.BUSY: 4,
    FailureClass.STATE_LOCKED: 4,
    FailureClass.ENGINE_UNAVAILABLE: 5,
    FailureClass.ENGINE_UNVERIFIED: 5,
    FailureClass.ENGINE_UNSUPPORTED: 5,
    FailureClass.CONTROL_PLANE: 6,
    FailureClass.TOO_MANY_DESTROYS: 8,
    FailureClass.PROTECTED: 8,
    FailureClass.UNEXPECTED_CHANGES: 8,
    FailureClass.POLICY_DENIED: 8,
    FailureClass.USAGE: 64,
    FailureClass.INTERNAL: 70,
    FailureClass.TIMED_OUT: 124,
    FailureClass.IDLE: 124,
    FailureClass.CANCELLED: 130,
}


class HereyaError(Exception):
    """A failure with a sentence for its reader, a class for scripts and hints on what to do."""

    failure_class = FailureClass.INTERNAL

    def __init__(self, sentence: str, *hints: str) -> None:
        super().__init__(sentence)
        self.hints = hints


class BadInput(HereyaError):
    """A value or file the user gave cannot be used."""

    failure_class = FailureClass.BAD_INPUT


class BadPackage(HereyaError):
    """The package directory is not something an engine can run."""

    failure_class = FailureClass.BAD_PACKAGE


class BadConfig(HereyaError):
    """A configuration file cannot be used: the user's own, or the package's `hereya-tf.toml`."""

    failure_class = FailureClass.BAD_CONFIG


class CliArgsSet(HereyaError):
    """TF_CLI_ARGS* would slip arguments into every engine command."""

    failure_class = FailureClass.CLI_ARGS


class EngineMismatch(HereyaError):
    """State or dependency lock file were written by the other engine."""

    failure_class = FailureClass.ENGINE_MISMATCH


class PlanMismatch(HereyaError):
    """A plan bundle was made for something else than what it is to be applied to."""

    failure_class = FailureClass.PLAN_MISMATCH


class ErroredState(HereyaError):
    """A state that could not be saved lies where it does not belong; a run would go on without it."""

    failure_class = FailureClass.ERRORED_STATE


class StateCorrupt(HereyaError):
    """The local state is empty or broken; an engine may take it for none, and create everything anew."""

    failure_class = FailureClass.STATE_CORRUPT


class StateLocked(HereyaError):
    """Somebody holds the lock on the state, and nothing proves that it is a dead run of ours."""

    failure_class = FailureClass.STATE_LOCKED


class TooManyDestroys(HereyaError):
    """The plan destroys more than `--max-destroy` allows."""

    failure_class = FailureClass.TOO_MANY_DESTROYS


class Protected(HereyaError):
    """The plan destroys what `--protect` protects."""

    failure_class = FailureClass.PROTECTED


class UnexpectedChanges(HereyaError):
    """The plan has changes, and `--expect-no-changes` was given."""

    failure_class = FailureClass.UNEXPECTED_CHANGES


class PolicyDenied(HereyaError):
    """The command of `--policy` did not approve the plan."""

    failure_class = FailureClass.POLICY_DENIED


class EngineUnavailable(HereyaError):
    """There is no engine binary to run."""

    failure_class = FailureClass.ENGINE_UNAVAILABLE


class NotPublished(EngineUnavailable):
    """The site of an engine's releases is there, and does not have what was looked for."""


class EngineUnverified(HereyaError):
    """What came as an engine is not proven to be what its vendor has signed."""

    failure_class = FailureClass.ENGINE_UNVERIFIED


class EngineUnsupported(HereyaError):
    """The engine is too old, or cannot do what was asked of it."""

    failure_class = FailureClass.ENGINE_UNSUPPORTED


class WorkspaceUnknown(HereyaError):
    """The engine's workspace does not exist and was not to be created."""

    failure_class = FailureClass.WORKSPACE_UNKNOWN


class Busy(HereyaError):
    """Somebody else holds the lock, for longer than we were to wait."""

    failure_class = FailureClass.BUSY


class Cancelled(HereyaError):
    """The run was asked to end: by a signal, `runs cancel`, or the caller."""

    failure_class = FailureClass.CANCELLED

    def __init__(self, sentence: str, *hints: str, exit_code: int = 130) -> None:
        super().__init__(sentence, *hints)
        self.exit_code = exit_code


class EngineExit(HereyaError):
    """An engine command that had our streams has failed, and has said there why."""

    failure_class = FailureClass.ENGINE_ERROR

    def __init__(self, sentence: str, *hints: str, exit_code: int) -> None:
        super().__init__(sentence, *hints)
        self.exit_code = exit_code


class TimedOut(HereyaError):
    """`--timeout` ran out."""

    failure_class = FailureClass.TIMED_OUT


class Idle(HereyaError):
    """The engine said nothing for as long as `--idle-timeout`."""

    failure_class = FailureClass.IDLE


class NoRoom(HereyaError):
    """A private file that the run cannot do without has no place to be."""

    failure_class = FailureClass.DISK_FULL


class ShellCommandError(HereyaError):
    """An engine command failed; carries all that it said (already redacted)."""

    def __init__(
        self,
        reason: str,
        *hints: str,
        command: str,
        exit_code: int,
        stdout: str = "",
        stderr: str = "",
        failure_class: FailureClass = FailureClass.ENGINE_ERROR,
    ) -> None:
        super().__init__(reason, *hints)
        self.command = command
        self.exit_code = exit_code
        self.stdout = stdout
        self.stderr = stderr
        self.failure_class = failure_class


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def no_room(cause: Exception, sentence: str) -> NoRoom | None:
    """The error for a file of ours that a full disk has not taken; None when that is not the cause."""
    if not isinstance(cause, OSError) or cause.errno not in _NO_ROOM:
        return None
    return NoRoom(sentence, "see which disk is full, make room there, and run it again: `df -h`")


def own_fault(cause: Exception, *, place: str | None = None) -> HereyaError:
    """The error for what nobody foresaw; `place` is where, as `FILE:LINE`."""
    if full := no_room(cause, f"a disk has no room left: {cause}"):
        return full
    where = f" at {place}" if place is not None else ""
    return HereyaError(
        f"hereya-tf itself failed{where}: {type(cause).__name__}: {cause}",
        "set `HEREYA_TF_DEBUG=1` for the traceback, and report it",
    )
