"""How the words of an engine name a failure: a table, from summary and detail to class (pure).

Terraform 1.11 and 1.15 were measured; OpenTofu's words are those of its sources, compared with its name
replaced by Terraform's. The first rule that fits decides.
"""

from hereya_tf.errors import FailureClass as Class
from hereya_tf.failure.remote_rules import REMOTE_RULES
from hereya_tf.failure.rule import Rule

UMBRELLA = "Terraform encountered problems during initiali"
"""How the error begins that `init` adds to the cause, before or behind it."""

LOCK_SUMMARIES = ("Error acquiring the state lock", "Error locking state")

# Where somebody else's words are quoted: never looked at for what they hold.
QUOTING_RULES = (
    Rule(
        Class.PRECONDITION_FAILED,
        (
            "Resource precondition failed",
            "Resource postcondition failed",
            "Module output value precondition failed",
            "Check block assertion failed",
        ),
    ),
    Rule(
        Class.PROVISIONER_FAILED,
        ("local-exec provisioner error", "remote-exec provisioner error", "file provisioner error"),
    ),
    Rule(Class.INVALID_VARIABLE, ("Invalid value for variable",)),
)

STATE_RULES = (
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
    Rule(Class.DISK_FULL, ("",), ("no space left on device", "disk quota exceeded")),
)

_CHECKSUMS = ("checksum", "is not signed", "signature")

RULES = (
    *REMOTE_RULES,
    # variables
    Rule(Class.MISSING_VARIABLE, ("No value for required variable", "Variable not provided via")),
    Rule(
        Class.INVALID_VARIABLE,
        (
            "Value for undeclared variable",
            "Values for undeclared variables",
            "Failed to read variables file",
            "Invalid value for input variable",
            "Variable declaration in .tfvars file",
        ),
    ),
    # plans
    Rule(Class.PLAN_STALE, ("Saved plan is stale",)),
    Rule(
        Class.PLAN_MISMATCH,
        (
            "Saved plan does not match the given state",
            "The plan file describes changes to the",
            "Failed to read plan from plan file",
            'Failed to load "',
            "Mismatch between input and plan variable value",
            "Can't set variables when applying a saved plan",
        ),
    ),
    # providers
    Rule(Class.PROVIDER_CHECKSUM, ("Required plugins are not installed",), _CHECKSUMS, needs_init=True),
    Rule(Class.PROVIDER_CHECKSUM, ("Failed to load plugin schemas",), ("any of the checksums",), True),
    # The second: a provider that only the state needs, which somebody else has put there since our init.
    Rule(
        Class.PROVIDER_UNAVAILABLE,
        ("Failed to load plugin schemas",),
        ("there is no package for", "unavailable provider"),
        needs_init=True,
    ),
    Rule(
        Class.PROVIDER_UNAVAILABLE,
        (
            "Required plugins are not installed",
            "Inconsistent dependency lock file",
            "Missing required provider",
            "Plugin reinitialization required",
            "Could not load plugin",
            "Could not satisfy plugin requirements",
        ),
        needs_init=True,
    ),
    # The words of `validate`, all in the summary.
    Rule(Class.PROVIDER_CHECKSUM, ("missing or corrupted provider plugins",), _CHECKSUMS, needs_init=True),
    Rule(Class.PROVIDER_UNAVAILABLE, ("missing or corrupted provider plugins",), needs_init=True),
    Rule(
        Class.PROVIDER_CHECKSUM,
        ("Failed to install provider", "Failed to resolve provider packages"),
        _CHECKSUMS,
    ),
    Rule(Class.PROVIDER_CHECKSUM, ("Provider dependency changes detected",)),
    Rule(
        Class.PROVIDER_UNAVAILABLE,
        (
            "Failed to query available provider packages",
            "Failed to resolve provider packages",
            "Failed to install provider",
            "Invalid provider registry host",
            "Incompatible provider version",
        ),
    ),
    Rule(
        Class.PROVIDER_CRASHED,
        (
            "Plugin did not respond",
            "Request cancelled",
            "Plugin error",
            "Failed to load plugin schemas",
            "Failed to instantiate provider",
        ),
    ),
    Rule(Class.PROVIDER_ERROR, ("Provider produced in", "Provider returned invalid")),
    # modules
    Rule(
        Class.MODULE_UNAVAILABLE,
        (
            "Module not installed",
            "Module source has changed",
            "Module version requirements have changed",
        ),
        needs_init=True,
    ),
    Rule(
        Class.MODULE_UNAVAILABLE,
        (
            "Unreadable module directory",
            "Error accessing remote module registry",
            "Failed to download module",
            "Module not found",
            "Unresolvable module version",
            "Invalid registry module source",
        ),
    ),
    # engine, backend, workspace
    Rule(Class.UNSUPPORTED_VERSION, ("Unsupported Terraform Core version",)),
    Rule(Class.UNSUPPORTED_VERSION, ("",), ("uses format version", "which is newer than current")),
    Rule(Class.STATE_CORRUPT, ("",), ("Unsupported state file format", "state file could not be parsed")),
    Rule(Class.INVALID_CONFIGURATION, ("",), ("unencrypted payload without unencrypted method",)),
    Rule(Class.INVALID_CONFIGURATION, ("",), ("Unable to decode encrypted metadata",)),
    Rule(
        Class.CREDENTIALS,
        ("",),
        ("decryption failed for all provided methods", "Unable to fetch encryption key data"),
    ),
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
            "Can't ask approval for state migration",
        ),
    ),
    Rule(Class.WORKSPACE_UNKNOWN, ("Currently selected workspace", "Failed to select workspace")),
    Rule(Class.WORKSPACE_UNKNOWN, ("Workspace ",), ("doesn't exist", "does not exist")),
    Rule(
        Class.PROMPT,
        (
            "Plan file or auto-approve required",
            "Error asking for",
            "error asking for",
            "input is disabled",
        ),
    ),
    Rule(Class.PROMPT, ("",), ("interactive input is disabled", "input is disabled")),
    # the package
    Rule(Class.PREVENTED_DESTROY, ("Instance cannot be destroyed", "Resource instance cannot be destroyed")),
    Rule(
        Class.INVALID_CONFIGURATION,
        (
            "Cycle: ",
            "Unsupported backend type",
            "Invalid provider configuration",
            "Missing required argument",
            "Unsupported argument",
            "No configuration files",
            "Failed to read module directory",
            "Failed to load root config module",
        ),
    ),
    Rule(Class.BAD_INPUT, ("Failed to parse command-line flags", "Too many command line arguments")),
    # The same of a single provider: its address is how the summary begins.
    Rule(Class.PROVIDER_CHECKSUM, ("",), ("does not match any of the checksums recorded in",), True),
    Rule(Class.PROVIDER_UNAVAILABLE, ("",), (": there is no package for ",), needs_init=True),
)

# How errors begin that come from reading the state, whatever the backend; compared in lower case.
BACKEND_SUMMARIES = (
    "error loading state",
    "error refreshing state",
    "error configuring",
    "error inspecting states",
    "error loading the backend",
    "error reading state",
    "failed to get state",
    "failed to load state",
    "failed to get existing workspaces",
    "failed to lock",
    "http remote state",
    "unable to list objects in s3 bucket",
)

LOCK_HELD = (
    "resource temporarily unavailable",
    "already locked",
    "locked by",
    "conditionalcheckfailed",
    "conditional request failed",
    "preconditionfailed",
    "precondition failed",
    "pre-conditions you specified did not hold",
    "conditionnotmet",
    "statuscode: 412",
    "http 423",
    "423 locked",
)

CREDENTIALS = (
    "no valid credential",
    "nocredentialproviders",
    "failed to refresh cached credentials",
    "could not find default credentials",
    "unable to authenticate",
    "invalid credentials",
    "invalidclienttokenid",
    "unrecognizedclient",
    "expiredtoken",
    "token has expired",
    "token included in the request is",
    "session has expired",
    "signaturedoesnotmatch",
    "invalidaccesskeyid",
    "authfailure",
    "authenticationfailed",
    "invalid_grant",
    "password authentication failed",
    "az login",
)
# Said of a backend these mean it would not let us in; said by a provider they may mean anything.
BACKEND_REFUSALS = (
    "requires auth",
    "invalid auth",
    "unauthorized",
    "forbidden",
    "accessdenied",
    "access denied",
    "statuscode: 401",
    "statuscode: 403",
    "error 401",
    "error 403",
    "http 401",
    "http 403",
    "unexpected http response code 401",
    "unexpected http response code 403",
)

NETWORK = (
    "connection refused",
    "connection reset",
    "connection timed out",
    "i/o timeout",
    "tls handshake timeout",
    "client.timeout exceeded",
    "context deadline exceeded",
    "no such host",
    "could not resolve host",
    "temporary failure in name resolution",
    "server misbehaving",
    "network is unreachable",
    "no route to host",
    "unexpected eof",
    "giving up after",
    "could not connect to",
    "bad gateway",
    "service unavailable",
    "gateway timeout",
    "too many requests",
)
THROTTLING = ("throttling", "requestlimitexceeded", "rate limit", "slowdown", "too many requests")

MEMORY = ("out of memory", "cannot allocate memory", "failed to reserve page summary memory")

# What to tell first when errors of several classes came together: what may be lost, then what broke,
# then what would have to be put right before the rest can be judged.
PRIORITY = (
    Class.STATE_NOT_SAVED,
    Class.OUT_OF_MEMORY,
    Class.ENGINE_CRASHED,
    Class.LOCK_NOT_RELEASED,
    Class.PROVIDER_CRASHED,
    Class.DISK_FULL,
    Class.STATE_CORRUPT,
    Class.STATE_LOCKED,
    Class.CREDENTIALS,
    Class.UNSUPPORTED_VERSION,
    Class.BACKEND_NOT_INITIALISED,
    Class.BACKEND_CHANGED,
    Class.BACKEND_UNREACHABLE,
    Class.MODULE_UNAVAILABLE,
    Class.PROVIDER_CHECKSUM,
    Class.PROVIDER_UNAVAILABLE,
    Class.PLAN_STALE,
    Class.PLAN_MISMATCH,
    Class.WORKSPACE_UNKNOWN,
    Class.BAD_INPUT,
    # A value that cannot be read is reported as missing, too.
    Class.INVALID_VARIABLE,
    Class.MISSING_VARIABLE,
    Class.INVALID_CONFIGURATION,
    Class.PRECONDITION_FAILED,
    Class.PREVENTED_DESTROY,
    Class.PROVISIONER_FAILED,
    Class.PROVIDER_ERROR,
    Class.PROMPT,
    Class.ENGINE_ERROR,
)
