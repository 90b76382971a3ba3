"""What a user can do about each class of failure, with the exact command where there is one (pure).

NAME, ID and ENGINE are filled in where they are known.
"""

from collections.abc import Mapping

from hereya_tf.errors import FailureClass as Class

LEFT = "see what it has left, and what can be repaired: `hereya-tf recover`"
COMPARE = "compare the state with what exists before anything else: `hereya-tf plan`"
"""For whoever does not know what has been done."""

HINTS: Mapping[Class, tuple[str, ...]] = {
    Class.BAD_INPUT: ("correct or leave out the argument that the engine refuses: `--engine-arg STEP=ARG`",),
    Class.PLAN_STALE: (
        "make a new plan, look at it, and apply that one: `hereya-tf plan --out FILE`, `hereya-tf apply FILE`",
    ),
    Class.PLAN_MISMATCH: (
        "make the plan anew, for this workspace and state and with this version of the engine:"
        " `hereya-tf plan --out FILE`",
    ),
    Class.STATE_CORRUPT: (
        "see what has happened, and put the last good state in its place: `hereya-tf recover`",
        "or by hand: keep the broken file, and take the last good state from `terraform.tfstate.backup`, or an"
        " older version in its bucket",
        "then " + COMPARE,
    ),
    Class.STATE_LOCKED: (
        "wait for the other run, or wait longer for it with `--lock-timeout 30m`",
        "of a run of yours that was killed, `hereya-tf recover` releases the lock, once that is proven",
        "only when its process is gone for certain: `hereya-tf tf -- force-unlock -force ID`",
    ),
    Class.MISSING_VARIABLE: ("give it a value: `-p NAME=VALUE`, or `-p NAME:=JSON` for lists and objects",),
    Class.INVALID_VARIABLE: (
        "give it a value of its type: `-p NAME=VALUE`, or `-p NAME:=JSON` for what is no text",
    ),
    Class.INVALID_CONFIGURATION: (
        "correct the package where the error points; `hereya-tf validate` checks it without its state",
    ),
    Class.UNSUPPORTED_VERSION: (
        "run it with an engine of a version that fits: `--engine PATH`, absolute or from the working directory",
        "or change `required_version` where the error points",
    ),
    Class.PROVIDER_UNAVAILABLE: (
        "check source and version in `required_providers`, and the way to the registry or mirror",
        "`hereya-tf init --upgrade` selects versions anew",
    ),
    Class.PROVIDER_CHECKSUM: (
        "if the change is meant, run `hereya-tf init --upgrade` and commit `.terraform.lock.hcl`",
        "for one more platform: `hereya-tf tf -- providers lock -platform=OS_ARCH`",
    ),
    Class.MODULE_UNAVAILABLE: (
        "check the module's `source` and `version`, and that this machine may fetch it without a question;"
        " `hereya-tf init` tries it alone",
    ),
    Class.BACKEND_NOT_INITIALISED: ("run again with `--reinit`",),
    Class.BACKEND_CHANGED: (
        "to take the state along: `hereya-tf init --migrate-state --yes`",
        "to use what is in the new place: `hereya-tf init --reconfigure`",
    ),
    Class.BACKEND_UNREACHABLE: (
        "check the backend's address, the network and the proxy (`HTTPS_PROXY`), then run it again",
    ),
    Class.CREDENTIALS: (
        "set or renew the credentials in this run's environment, for instance with `--env-file FILE`",
        "check that they are allowed all that this run does, its state included",
    ),
    Class.STATE_NOT_SAVED: (
        "store what was kept before anything else: `hereya-tf recover`",
        "or by hand: `hereya-tf tf -- state push errored.tfstate`",
        "apply nothing here until then: it would grow a second, separate state",
    ),
    Class.LOCK_NOT_RELEASED: (
        "when nobody else uses the state, release it: `hereya-tf tf -- force-unlock -force ID`",
        "to learn its ID: `hereya-tf plan --lock-timeout 0s` meets the lock, and changes nothing",
    ),
    Class.WORKSPACE_UNKNOWN: ("create it with `--create-workspace`, or choose another with `-w NAME`",),
    Class.PRECONDITION_FAILED: (
        "the package itself refuses: give it what its message asks for, for instance with `-p NAME=VALUE`",
    ),
    Class.PREVENTED_DESTROY: (
        "take `prevent_destroy` out of the resource when it is to go, or leave it out of the operation:"
        " `--target` the others",
    ),
    Class.PROVISIONER_FAILED: (
        "see what the command said: `hereya-tf runs log last`",
        "the resource is tainted, and the next apply replaces it",
        "a command that asks a question gets no answer: its stdin is empty",
    ),
    Class.PROVIDER_ERROR: (
        "put right what the provider complains of and run it again; what was done is in the state",
        "see everything it said: `hereya-tf runs log last -v`",
    ),
    Class.PROVIDER_CRASHED: (
        "check what was in flight: it may exist and not be in the state, and `hereya-tf plan` then wants to create"
        " it again",
        "try another version of the provider, and report the stack trace to its maintainers:"
        " `hereya-tf runs log last -v`",
    ),
    Class.ENGINE_CRASHED: (LEFT, "see everything it said: `hereya-tf runs log last -v`"),
    Class.DISK_FULL: (
        "see which disk is full, make room where the package, its data directory and `TMPDIR` are, and run it"
        ' again: `df -h . "${TMPDIR:-/tmp}"`',
    ),
    Class.OUT_OF_MEMORY: (
        "give the run more memory, or fewer things at once with `--parallelism 2`",
        COMPARE,
    ),
    Class.PROMPT: (
        "the engine asked a question that nobody is there to answer; give the answer as an option:"
        " `--yes` approves, `-p NAME=VALUE` is a value",
    ),
    Class.ENGINE_ERROR: ("see everything it said: `hereya-tf runs log last -v`",),
}


def hints_of(failure_class: Class, executable: str) -> tuple[str, ...]:
    """The hints of a class for the user of one engine, `terraform` or `tofu`."""
    return tuple(hint.replace("ENGINE", executable) for hint in HINTS.get(failure_class, ()))
