"""What a user can do about each class of failure; NAME, ID and ENGINE are filled in where they are known."""

from collections.abc import Mapping

from hereya_tf.errors import FailureClass as Class

HINTS: Mapping[Class, tuple[str, ...]] = {
    Class.BAD_INPUT: ("check what `--engine-arg` hands to the engine",),
    Class.PLAN_STALE: ("make a new plan and apply that one",),
    Class.PLAN_MISMATCH: (
        "make the plan anew, for this workspace and state and with this version of the engine",
    ),
    Class.STATE_CORRUPT: ("restore it from `terraform.tfstate.backup` or an older version in its bucket",),
    Class.STATE_LOCKED: (
        "wait for the other run, or wait longer for it with `--lock-timeout`",
        "only when its process is gone for certain: `hereya-tf tf -- force-unlock -force ID`",
    ),
    Class.MISSING_VARIABLE: ("give it a value: `-p NAME=VALUE`, or `-p NAME:=JSON` for lists and objects",),
    Class.INVALID_VARIABLE: (
        "give it a value of its type: `-p NAME=VALUE`, or `-p NAME:=JSON` for what is no text",
    ),
    Class.INVALID_CONFIGURATION: (
        "correct the package where the error points; `hereya-tf validate` checks it without its state",
    ),
    Class.UNSUPPORTED_VERSION: ("choose an engine of a version that fits with `--engine PATH`",),
    Class.PROVIDER_UNAVAILABLE: (
        "check source and version in `required_providers`, and the way to the registry or mirror",
        "`hereya-tf init --upgrade` selects versions anew",
    ),
    Class.PROVIDER_CHECKSUM: (
        "if the change is meant, run `hereya-tf init --upgrade` and commit `.terraform.lock.hcl`",
        "for one more platform: `ENGINE providers lock -platform=OS_ARCH`",
    ),
    Class.MODULE_UNAVAILABLE: (
        "check the module's `source` and `version`, and that this machine may fetch it without a question",
    ),
    Class.BACKEND_NOT_INITIALISED: ("run again with `--reinit`",),
    Class.BACKEND_CHANGED: (
        "to take the state along: `hereya-tf init --migrate-state --yes`",
        "to use what is in the new place: `hereya-tf init --reconfigure`",
    ),
    Class.BACKEND_UNREACHABLE: ("check the backend's address, the network and the proxy, then try again",),
    Class.CREDENTIALS: (
        "set or renew the credentials in this run's environment, for instance with `--env-file`",
        "check that they are allowed all that this run does, its state included",
    ),
    Class.STATE_NOT_SAVED: (
        "apply nothing here before the state is stored: it would grow a second, separate state",
        "store what was kept, with the options of this run that say where its state is:"
        " `hereya-tf tf -- state push errored.tfstate`",
    ),
    Class.LOCK_NOT_RELEASED: (
        "when nobody else uses the state, release it: `hereya-tf tf -- force-unlock -force ID`",
    ),
    Class.WORKSPACE_UNKNOWN: ("create it with `--create-workspace`, or choose another with `-w`",),
    Class.PRECONDITION_FAILED: ("the package's author asks for this; give it what the message wants",),
    Class.PREVENTED_DESTROY: (
        "take `prevent_destroy` out of the resource, or leave the resource out of the operation",
    ),
    Class.PROVISIONER_FAILED: (
        "see what the command said: `hereya-tf runs log last`",
        "the resource is tainted, and the next apply replaces it",
    ),
    Class.PROVIDER_ERROR: ("put right what the provider complains of and run again",),
    Class.PROVIDER_CRASHED: (
        "check what was in flight: it may exist and not be in the state",
        "try another version of the provider, and report the stack trace in the log to its maintainers",
    ),
    Class.ENGINE_CRASHED: ("compare the state with what exists before anything else: `hereya-tf plan`",),
    Class.DISK_FULL: ("make room where the package, its data directory and `TMPDIR` are",),
    Class.OUT_OF_MEMORY: (
        "give the run more memory, or fewer things at once with `--parallelism`",
        "compare the state with what exists before anything else: `hereya-tf plan`",
    ),
    Class.PROMPT: (
        "the engine asked a question that nobody is there to answer; give the answer as an option",
    ),
    Class.ENGINE_ERROR: ("see everything it said: `hereya-tf runs log last -v`",),
}


def hints_of(failure_class: Class, executable: str) -> tuple[str, ...]:
    """The hints of a class for the user of one engine, `terraform` or `tofu`."""
    return tuple(hint.replace("ENGINE", executable) for hint in HINTS.get(failure_class, ()))


STATE_LEFT_BEHIND = (
    "`terraform.tfstate` in the package's directory holds a state, and the engine would copy it to the new place",
    "to take it along: `hereya-tf init --migrate-state --yes`, or move the file there yourself",
    "to begin without it: move the file out of the package's directory",
)
WRITABLE = "make the package's directory, or the place of its state, writable"
FETCHABLE = "give git its credentials without a question: a credential helper, a deploy key, a known host key"
