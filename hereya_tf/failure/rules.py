"""How the words of an engine name a failure: a table, from summary and detail to class (pure).

Terraform 1.11 and 1.15 were measured; OpenTofu's words are those of its sources, compared with its name
replaced by Terraform's. The first rule that fits decides.
"""

from hereya_tf.errors import FailureClass as Class
from hereya_tf.failure.installing_rules import INSTALLING_RULES
from hereya_tf.failure.remote_rules import REMOTE_RULES
from hereya_tf.failure.rule import ANY, Rule
from hereya_tf.failure.state_rules import STATE_RULES
from hereya_tf.failure.telling import tell_condition, tell_variable

UMBRELLA = "Terraform encountered problems during initiali"
"""How the error begins that `init` adds to the cause, before or behind it."""

# Summary and the detail's beginning of what only follows from an error that stands beside it.
ECHOES = (
    ("execution halted", ""),
    ("Failed to persist state to backend", "The error"),
    ("Unreadable module directory", "The directory "),
)

# Where somebody else's words are quoted: never looked at for what they hold.
QUOTING_RULES = (
    Rule(
        Class.PRECONDITION_FAILED,
        ("Resource postcondition failed",),
        hints=(
            "put right what the message says of the resource, or the condition where the error points, and run it"
            " again",
            "when the resource is listed as done, it exists and is in the state as it is: `hereya-tf plan`",
        ),
        tell=tell_condition,
    ),
    Rule(
        Class.PRECONDITION_FAILED,
        (
            "Resource precondition failed",
            "Module output value precondition failed",
            "Check block assertion failed",
        ),
        tell=tell_condition,
    ),
    Rule(
        Class.PROVISIONER_FAILED,
        ("local-exec provisioner error", "remote-exec provisioner error", "file provisioner error"),
    ),
    Rule(
        Class.INVALID_VARIABLE,
        ("Invalid value for variable",),
        hints=("give it a value that the package accepts: `-p NAME=VALUE`",),
        tell=tell_variable,
    ),
)

_VARIABLE_RULES = (
    Rule(Class.MISSING_VARIABLE, ("No value for required variable", "Variable not provided via")),
    Rule(
        Class.INVALID_VARIABLE,
        ("Value for undeclared variable", "Values for undeclared variables"),
        hints=('leave it out, correct its name, or declare it in the package: `variable "NAME" {}`',),
    ),
    Rule(
        Class.INVALID_VARIABLE,
        ("Failed to read variables file", "Variable declaration in .tfvars file"),
        hints=("check path and contents of `--var-file FILE`: HCL, or JSON when it is named `.json`",),
    ),
    Rule(Class.INVALID_VARIABLE, ("Invalid value for input variable",), tell=tell_variable),
)

_PLAN_RULES = (
    Rule(Class.PLAN_STALE, ("Saved plan is stale",)),
    Rule(
        Class.PLAN_MISMATCH,
        (
            "Mismatch between input and plan variable value",
            "Can't change variable when applying a saved plan",
            "Can't set variables when applying a saved plan",
        ),
        hints=(
            "apply it without `-p` and variables files: a plan keeps the values that it was made with",
            "for other values make another plan: `hereya-tf plan -p NAME=VALUE --out FILE`",
        ),
    ),
    Rule(
        Class.PLAN_MISMATCH,
        (
            "Saved plan does not match the given state",
            "The plan file describes changes to the",
            "Failed to read plan from plan file",
            'Failed to load "',
        ),
    ),
)

_QUESTION_RULES = (
    Rule(
        Class.PROMPT,
        (
            "Plan file or auto-approve required",
            "Error asking for",
            "error asking for",
            "input is disabled",
        ),
    ),
    Rule(Class.PROMPT, ANY, ("interactive input is disabled", "input is disabled")),
)

_PACKAGE_RULES = (
    Rule(Class.PREVENTED_DESTROY, ("Instance cannot be destroyed", "Resource instance cannot be destroyed")),
    # Its detail lists what to add; the hint of the class would send its reader to the package.
    Rule(
        Class.INVALID_CONFIGURATION,
        ("Moved resource instances excluded by targeting",),
        hints=("leave out `--target`, or add what has moved: TARGETS",),
    ),
    Rule(
        Class.INVALID_CONFIGURATION,
        (
            "Cycle: ",
            "Invalid provider configuration",
            "Missing required argument",
            "Unsupported argument",
            "No configuration files",
            "Failed to read module directory",
            "Failed to load root config module",
        ),
    ),
    # Everything was destroyed that was to be; the rest was forgotten, as the package says.
    Rule(
        Class.ENGINE_ERROR,
        ("Destroy was successful but left behind",),
        hints=(
            "remove by hand what the package says is to be forgotten, or leave it as it is meant to be",
            "to have it count as a success: `--engine-arg destroy=-suppress-forget-errors`",
        ),
    ),
)

_COMMAND_LINE_RULES = (
    Rule(Class.BAD_INPUT, ("Failed to parse command-line flags", "Too many command line arguments")),
    Rule(
        Class.BAD_INPUT,
        ("Error parsing extra CLI args from TF_CLI_ARGS",),
        hints=("unset `TF_CLI_ARGS`, and say it with an option, or with `--engine-arg STEP=ARG`",),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Invalid format for TF_REATTACH_PROVIDERS",),
        hints=("unset `TF_REATTACH_PROVIDERS`: it is for those who debug a provider",),
    ),
)

RULES = (
    *REMOTE_RULES,
    *_VARIABLE_RULES,
    *_PLAN_RULES,
    *INSTALLING_RULES,
    *STATE_RULES,
    *_QUESTION_RULES,
    *_PACKAGE_RULES,
    *_COMMAND_LINE_RULES,
)

# What to tell first when errors of several classes came together: what may be lost, then what broke,
# then what would have to be put right before the rest can be judged.
PRIORITY = (
    Class.STATE_NOT_SAVED,
    Class.OUT_OF_MEMORY,
    Class.ENGINE_CRASHED,
    Class.LOCK_NOT_RELEASED,
    # A provider, too, crashes where there is no room.
    Class.DISK_FULL,
    Class.PROVIDER_CRASHED,
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
