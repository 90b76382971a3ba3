"""The recorded streams under fixtures/streams, and what each of them came to."""

from collections.abc import Iterator
from typing import NamedTuple

from hereya_tf.errors import FailureClass
from hereya_tf.stream.message_types import Message
from hereya_tf.stream.messages import parse
from tests.command_line import REPOSITORY

DIRECTORY = REPOSITORY / "fixtures/streams"
ENGINES = ("terraform-1.11.4", "terraform-1.15.5")


class Recording(NamedTuple):
    """What one command of an engine said."""

    engine: str
    case: str

    @property
    def id(self) -> str:
        return f"{self.engine}-{self.case}"

    @property
    def lines(self) -> list[str]:
        path = DIRECTORY / f"{self.id}.ndjson"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    @property
    def stderr(self) -> str:
        path = DIRECTORY / f"{self.id}.stderr"
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @property
    def messages(self) -> list[Message]:
        return [parse(line) for line in self.lines]


def recordings() -> Iterator[Recording]:
    """Every recorded stream."""
    for path in sorted(DIRECTORY.glob("*.ndjson")):
        engine, version, case = path.stem.split("-", 2)
        yield Recording(f"{engine}-{version}", case)


# Ended with exit code 0 and no error.
SUCCESSES = frozenset(
    (
        "apply-no-changes",
        "apply-outputs",
        "apply-replace-create-first",
        "apply-replace-saved-plan",
        "apply-sensitive-output",
        "apply-slow",
        "check",
        "destroy",
        "directory-read-only-init",
        "directory-read-only-unlocked",
        "init",
        "lab-apply",
        "lab-drift",
        "lab-gone",
        "lab-init",
        "lab-plan-failed",
        "lock-of-the-dead",
        "plan-changes",
        "plan-configuration-changed",
        "plan-create",
        "plan-variable-environment",
        "plan-workspace-empty",
        "state-empty",
        "state-newer",
        "undeclared-environment",
        "undeclared-var-file",
    )
)

# Everything else ended with exit code 1, but a panic and one more: 1.15.5 answers 0 to a plan without its
# variable file.
FAILURES = {
    "apply-interrupted": FailureClass.PROVISIONER_FAILED,
    "apply-interrupted-twice": FailureClass.ENGINE_ERROR,
    "apply-provisioner-failed": FailureClass.PROVISIONER_FAILED,
    "argument": FailureClass.INVALID_CONFIGURATION,
    "azurerm-credentials": FailureClass.CREDENTIALS,
    "azurerm-settings": FailureClass.INVALID_CONFIGURATION,
    "backend-changed-init": FailureClass.BACKEND_CHANGED,
    "backend-changed-plan": FailureClass.BACKEND_CHANGED,
    "backend-migration-init": FailureClass.BACKEND_CHANGED,
    "backend-removed-init": FailureClass.BACKEND_CHANGED,
    "backend-removed-plan": FailureClass.BACKEND_CHANGED,
    "backend-uninitialised": FailureClass.BACKEND_NOT_INITIALISED,
    "backend-unknown": FailureClass.INVALID_CONFIGURATION,
    "bad-flag": FailureClass.BAD_INPUT,
    "core-panic": FailureClass.ENGINE_CRASHED,
    "core-version": FailureClass.UNSUPPORTED_VERSION,
    "core-version-plan": FailureClass.UNSUPPORTED_VERSION,
    "cycle": FailureClass.INVALID_CONFIGURATION,
    "data-directory-corrupt-cloud-init": FailureClass.BACKEND_NOT_INITIALISED,
    "data-directory-corrupt-plan": FailureClass.BACKEND_NOT_INITIALISED,
    "directory-read-only": FailureClass.ENGINE_ERROR,
    "directory-read-only-first-init": FailureClass.ENGINE_ERROR,
    "disk-full": FailureClass.STATE_NOT_SAVED,
    "disk-full-init": FailureClass.DISK_FULL,
    "duplicate": FailureClass.INVALID_CONFIGURATION,
    "ephemeral": FailureClass.MISSING_VARIABLE,
    "errored-state-broken": FailureClass.STATE_NOT_SAVED,
    "errored-state-overwritten": FailureClass.STATE_NOT_SAVED,
    "gcs-settings": FailureClass.CREDENTIALS,
    "http-address-init": FailureClass.INVALID_CONFIGURATION,
    "http-address-later": FailureClass.INVALID_CONFIGURATION,
    "http-auth": FailureClass.CREDENTIALS,
    "http-auth-init": FailureClass.CREDENTIALS,
    "http-down": FailureClass.BACKEND_UNREACHABLE,
    "http-down-init": FailureClass.BACKEND_UNREACHABLE,
    "http-forbidden": FailureClass.CREDENTIALS,
    "http-get-failed": FailureClass.BACKEND_UNREACHABLE,
    "http-lock-down": FailureClass.BACKEND_UNREACHABLE,
    "http-locked": FailureClass.STATE_LOCKED,
    "http-save-failed": FailureClass.STATE_NOT_SAVED,
    "http-unlock-failed": FailureClass.LOCK_NOT_RELEASED,
    "init-checksum": FailureClass.PROVIDER_CHECKSUM,
    "invalid-function": FailureClass.INVALID_CONFIGURATION,
    "invalid-index": FailureClass.INVALID_CONFIGURATION,
    "kubernetes-settings": FailureClass.CREDENTIALS,
    "lab-argument-missing": FailureClass.INVALID_CONFIGURATION,
    "lab-configure-failed": FailureClass.PROVIDER_ERROR,
    "lab-crashed": FailureClass.PROVIDER_CRASHED,
    "lab-create-failed": FailureClass.PROVIDER_ERROR,
    "lab-data-failed": FailureClass.PROVIDER_ERROR,
    "lab-delete-failed": FailureClass.PROVIDER_ERROR,
    "lab-killed": FailureClass.PROVIDER_CRASHED,
    "lab-read-failed": FailureClass.PROVIDER_ERROR,
    "lab-too-many-files": FailureClass.PROVIDER_CRASHED,
    "lock-file-inconsistent": FailureClass.PROVIDER_UNAVAILABLE,
    "lock-file-readonly": FailureClass.PROVIDER_CHECKSUM,
    "missing-variable": FailureClass.MISSING_VARIABLE,
    "module-git": FailureClass.MODULE_UNAVAILABLE,
    "module-http": FailureClass.MODULE_UNAVAILABLE,
    "module-missing": FailureClass.MODULE_UNAVAILABLE,
    "module-not-installed": FailureClass.MODULE_UNAVAILABLE,
    "module-registry": FailureClass.MODULE_UNAVAILABLE,
    "moved-target": FailureClass.INVALID_CONFIGURATION,
    "no-approve": FailureClass.PROMPT,
    "not-a-plan": FailureClass.PLAN_MISMATCH,
    "output-precondition": FailureClass.PRECONDITION_FAILED,
    "plan-lineage": FailureClass.PLAN_STALE,
    "plan-missing": FailureClass.PLAN_MISMATCH,
    "plan-stale": FailureClass.PLAN_STALE,
    "plan-undeclared": FailureClass.INVALID_VARIABLE,
    "plan-var-file-missing": FailureClass.INVALID_VARIABLE,
    "plan-variable-other": FailureClass.PLAN_MISMATCH,
    "plan-version": FailureClass.PLAN_MISMATCH,
    "plan-workspace": FailureClass.PLAN_MISMATCH,
    "plugins-checksum": FailureClass.PROVIDER_CHECKSUM,
    "plugins-missing": FailureClass.PROVIDER_UNAVAILABLE,
    "postcondition": FailureClass.PRECONDITION_FAILED,
    "precondition": FailureClass.PRECONDITION_FAILED,
    "prevent-destroy": FailureClass.PREVENTED_DESTROY,
    "provider-unknown": FailureClass.PROVIDER_UNAVAILABLE,
    "provider-version": FailureClass.PROVIDER_UNAVAILABLE,
    "registry-unreachable": FailureClass.PROVIDER_UNAVAILABLE,
    "rendered-address": FailureClass.PROVIDER_ERROR,
    "rendered-multiline": FailureClass.INVALID_VARIABLE,
    "rendered-values": FailureClass.INVALID_CONFIGURATION,
    "s3-credentials": FailureClass.CREDENTIALS,
    "s3-region": FailureClass.INVALID_CONFIGURATION,
    "s3-settings": FailureClass.INVALID_CONFIGURATION,
    "sensitive-output": FailureClass.INVALID_CONFIGURATION,
    "state-corrupt": FailureClass.STATE_CORRUPT,
    "state-format-5": FailureClass.UNSUPPORTED_VERSION,
    "state-locked": FailureClass.STATE_LOCKED,
    "state-truncated": FailureClass.STATE_CORRUPT,
    "syntax": FailureClass.INVALID_CONFIGURATION,
    "syntax-plan": FailureClass.INVALID_CONFIGURATION,
    "undeclared-reference": FailureClass.INVALID_CONFIGURATION,
    "undeclared-var": FailureClass.INVALID_VARIABLE,
    "validation": FailureClass.INVALID_VARIABLE,
    "value-literal": FailureClass.INVALID_VARIABLE,
    "var-file-bad": FailureClass.INVALID_VARIABLE,
    "var-file-missing": FailureClass.INVALID_VARIABLE,
    "wrong-type": FailureClass.INVALID_VARIABLE,
}


def exit_code(recording: Recording) -> int:
    """How the command ended."""
    if recording == Recording("terraform-1.15.5", "plan-var-file-missing"):
        return 0
    if recording.case == "core-panic":
        return 11
    return 0 if recording.case in SUCCESSES else 1
