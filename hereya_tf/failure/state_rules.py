"""What can be wrong with a state, its backend, its workspaces and its encryption (pure).

The first rule that fits decides.
"""

from hereya_tf.errors import FailureClass as Class
from hereya_tf.failure.rule import ANY, Rule
from hereya_tf.failure.telling import tell_migration, tell_state

LOCK_SUMMARIES = ("Error acquiring the state lock", "Error locking state")

LOSS_RULES = (
    Rule(
        Class.STATE_NOT_SAVED,
        (
            "Failed to save state",
            "Failed to persist state to backend",
            "Failed to write state",
            "Failed to create local state file",
            "Error saving state",
            "error saving state",
        ),
    ),
    Rule(Class.LOCK_NOT_RELEASED, ("Error releasing the state lock",)),
)

_NEWER_STATE = (
    "a newer engine has written this state: run it with one of that version, `--engine PATH`",
    "an older state, from before it was used, is `terraform.tfstate.backup` or a version in its bucket",
)
_CHECKSUM = (
    "wait a minute, and run it again: the bucket may lag behind the lock table",
    "when that does not help, whoever stored the state last was ended before its checksum was noted: see that the"
    " state in the bucket is the right one, then set `Digest` of its `-md5` item in the lock table to the"
    " calculated checksum",
    "when it is not: put back the version of it in the bucket that has the stored checksum",
)
_HTTP_ADDRESS = (
    "say where the state is: `-e TF_HTTP_ADDRESS=URL`, in every run of this package",
    "or write it down: `address` in the package's backend block, `--backend-config address=URL`",
)
_SETTINGS = (
    "give the backend the setting that the error names: `--backend-config NAME=VALUE`",
    "or write it into the package's backend block",
)
_DATA_DIRECTORY = (
    "the file that says which backend was set up is broken; the state itself is not in it",
    "remove `terraform.tfstate` in the data directory (`.terraform`, with a generated backend"
    " `.terraform/hereya/ID`), and run again with `--reinit`",
)
_PASSPHRASE = (
    "give this run the key or the passphrase that the state was encrypted with, for instance in"
    " `TF_ENCRYPTION` through `--env-file FILE`",
)
_ENCRYPTION = (
    "let the package's `encryption` block read what is there: a `fallback` with the method that was used before",
    'for a state that was never encrypted: `method "unencrypted"` in that `fallback`',
)

_ENCRYPTION_RULES = (
    Rule(
        Class.INVALID_CONFIGURATION,
        ANY,
        ("unencrypted payload without unencrypted method", "Unable to decode encrypted metadata"),
        hints=_ENCRYPTION,
    ),
    Rule(
        Class.CREDENTIALS,
        ANY,
        ("decryption failed for all provided methods", "Unable to fetch encryption key data"),
        hints=_PASSPHRASE,
    ),
)

_BACKEND_RULES = (
    Rule(
        Class.BACKEND_NOT_INITIALISED,
        ("Backend initialization required", "State store initialization required"),
        ("Initial configuration of the requested",),
        needs_init=True,
    ),
    Rule(
        Class.BACKEND_CHANGED,
        ("Backend initialization required", "State store initialization required"),
        needs_init=True,
    ),
    Rule(
        Class.BACKEND_CHANGED,
        (
            "Backend configuration changed",
            "State store configuration changed",
        ),
    ),
    Rule(Class.BACKEND_CHANGED, ("Can't ask approval for state migration",), tell=tell_migration),
    # The state of a package is never told of in these words; an init meets the same file, and fails as well.
    Rule(
        Class.BACKEND_NOT_INITIALISED,
        (
            "Failed to load the backend state file",
            "Failed to load state: invalid syntax:",
            "Failed to load state: unsupported backend state version",
        ),
        hints=_DATA_DIRECTORY,
    ),
    Rule(
        Class.BACKEND_NOT_INITIALISED,
        ("Failed to load state: read ",),
        ("is a directory",),
        hints=_DATA_DIRECTORY,
    ),
    Rule(Class.INVALID_CONFIGURATION, ("address argument is required",), hints=_HTTP_ADDRESS),
    Rule(Class.INVALID_CONFIGURATION, ("Missing region value", "Missing Required Value"), hints=_SETTINGS),
    Rule(Class.INVALID_CONFIGURATION, ('"',), ('": required field is not set',), hints=_SETTINGS),
    Rule(Class.CREDENTIALS, ("One of `access_key`", "Failed to initialize kubernetes configuration")),
    Rule(Class.INVALID_CONFIGURATION, ("Unsupported backend type",)),
)

_CONTENT_RULES = (
    Rule(
        Class.UNSUPPORTED_VERSION,
        ANY,
        ("uses format version", "which is newer than current"),
        hints=_NEWER_STATE,
    ),
    # What a lock table notes of the state in a bucket.
    Rule(Class.STATE_CORRUPT, ANY, ("does not have the expected content",), hints=_CHECKSUM),
    Rule(
        Class.STATE_CORRUPT,
        ANY,
        ("Unsupported state file format", "state file could not be parsed"),
        tell=tell_state,
    ),
)

_WORKSPACE_RULES = (
    Rule(Class.WORKSPACE_UNKNOWN, ("Currently selected workspace", "Failed to select workspace")),
    Rule(Class.WORKSPACE_UNKNOWN, ("Workspace ",), ("doesn't exist", "does not exist")),
    Rule(
        Class.BAD_INPUT,
        ("The workspace name ",),
        ("is not allowed",),
        hints=("name a workspace with letters, digits, `-`, `_` and `.`: `-w NAME`",),
    ),
    Rule(
        Class.BAD_INPUT,
        ("The selected workspace is currently overridden",),
        hints=("unset `TF_WORKSPACE`, and choose with `-w NAME`",),
    ),
)

STATE_RULES = (*_CONTENT_RULES, *_ENCRYPTION_RULES, *_BACKEND_RULES, *_WORKSPACE_RULES)
