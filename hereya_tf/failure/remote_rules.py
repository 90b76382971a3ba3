"""What Terraform Cloud, its kin and the `remote` backend cannot do, and which option asked for it (pure).

The words are those of Terraform's and OpenTofu's `internal/cloud` and `internal/backend/remote`; most were
measured on Terraform 1.11.4 and 1.15.5 against a service that plays Terraform Cloud.
"""

from hereya_tf.errors import FailureClass as Class
from hereya_tf.failure.rule import Rule

_OWN_WORKSPACE = "leave out `-w`, and unset `TF_WORKSPACE`: the package says which workspace it is"
# How errors begin that come from looking a workspace's state up.
_STATES = (
    "workspaces not supported",
    "default workspace not supported",
    "Error loading state",
    "Error refreshing state",
    "Failed to get existing workspaces",
    "Failed to load state",
    "error loading state",
)
_NO_BUNDLE = "apply without a saved plan: `hereya-tf provision --yes`"
_LOGIN = (
    "set `TF_TOKEN_app_terraform_io` (the host's name, with `_` for each dot), for instance with `--env-file`",
    "or log in once on this machine: `ENGINE login`",
)
_RIGHTS = ("use a token that may do this in the remote workspace", "or ask its owners for the permission")
_MATCHING_VERSION = (
    "use the version that the remote workspace has, or give it this one",
    "when you are sure: `--engine-arg init=-ignore-remote-version`",
)

REMOTE_RULES = (
    Rule(
        Class.BAD_INPUT,
        ("Custom parallelism values are",),
        hints=("leave out `--parallelism`: the remote workspace decides on it",),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Run variables are currently not supported",),
        hints=(
            "set the values in the remote workspace, or in a `*.auto.tfvars` file of the package",
            "leave out `-p`, `--param-file` and `--var-file`, and `--env` for declared variables",
        ),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Saving a generated plan is", "Saved plans not allowed"),
        hints=(
            "`--yes` needs no saved plan, unless a guard has to judge it; without `--yes` the one that was approved"
            " could not be applied",
            "to look at a plan: `hereya-tf tf -- plan`",
        ),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Displaying a saved plan is", "Applying a saved plan is", "Applying a saved local plan is"),
        hints=(_NO_BUNDLE,),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Resource targeting is",),
        hints=("leave out `--target` and `--exclude`",),
    ),
    Rule(
        Class.BAD_INPUT,
        ("-exclude option is not supported", "Resource exclusion is"),
        hints=("leave out `--exclude`",),
    ),
    Rule(Class.BAD_INPUT, ("Planning without refresh is",), hints=("leave out `--no-refresh`",)),
    Rule(Class.BAD_INPUT, ("Planning resource replacements is",), hints=("leave out `--replace`",)),
    Rule(
        Class.BAD_INPUT,
        ("Refresh-only mode is",),
        hints=("look for drift in the remote workspace itself, or with `plan`",),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Generating configuration is",),
        hints=("leave `-generate-config-out` out of `--engine-arg`",),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Invalid command-line option",),
        ("-backend-config", "-reconfigure", "-migrate-state", "-force-copy"),
        hints=(
            "leave out `--backend-config`, `--reconfigure` and `--migrate-state`: they are for other backends",
        ),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Invalid workspaces configuration",),
        ("TF_WORKSPACE environment variable", 'variable "TF_WORKSPACE"'),
        hints=(_OWN_WORKSPACE,),
    ),
    # Of other backends with a single state as well: `http`.
    Rule(Class.BAD_INPUT, _STATES, ("workspaces not supported",), hints=(_OWN_WORKSPACE,)),
    Rule(
        Class.BAD_INPUT,
        _STATES,
        ("default workspace not supported",),
        hints=("name a workspace: `-w NAME`, with `--create-workspace` for a new one",),
    ),
    Rule(
        Class.BAD_INPUT,
        ("Apply not allowed for workspaces with a VCS connection",),
        hints=(
            "push to the repository that the remote workspace is connected to, and approve the run there",
            "or disconnect the workspace from it",
        ),
    ),
    Rule(
        Class.PROMPT,
        ("Cannot override soft failed policy checks",),
        hints=("open the run in the remote workspace, and override the policy there",),
    ),
    Rule(
        Class.PROMPT,
        ("Cannot confirm apply due to -input=false",),
        hints=("`--yes` confirms it", "or open the run in the remote workspace, and confirm it there"),
    ),
    Rule(Class.PLAN_MISMATCH, ("Saved plan is for a different",)),
    Rule(
        Class.PLAN_STALE,
        (
            "Saved plan is already",
            "Saved plan is canceled",
            "Saved plan is discarded",
            "Saved plan is errored",
            "Saved plan has no changes",
            "Saved plan requires policy override",
            "Saved plan cannot be applied",
        ),
    ),
    Rule(Class.CREDENTIALS, ("Required token could not be found",), hints=_LOGIN),
    Rule(Class.CREDENTIALS, ("Insufficient rights to",), hints=_RIGHTS),
    Rule(Class.CREDENTIALS, ('Failed to read organization "',), ("unauthorized",), hints=_LOGIN),
    Rule(
        Class.CREDENTIALS,
        ('Failed to read organization "',),
        ("not found",),
        hints=("check the organization and the host that the package names", *_LOGIN),
    ),
    # Such a service does not tell what is hidden from what is not there.
    Rule(Class.CREDENTIALS, ("",), ("resources that a user doesn't have access",), hints=_RIGHTS),
    Rule(
        Class.BACKEND_UNREACHABLE,
        (
            'Failed to read organization "',
            "Failed to request discovery document",
            "A network issue prevented cloud configuration",
            "Failed to create the Terraform Enterprise client",
            "Failed to create the HCP Terraform or Terraform Enterprise client",
            "Failed to create the Terraform Cloud/Enterprise client",
            "Failed to create the cloud backend client",
            "Error looking up workspace",
        ),
    ),
    Rule(Class.BACKEND_UNREACHABLE, ("",), ("Sometimes this is caused by network connection problems",)),
    Rule(
        Class.UNSUPPORTED_VERSION,
        ("Incompatible Terraform version", "Incompatible TF version", "Remote workspace Terraform version"),
        hints=_MATCHING_VERSION,
    ),
    Rule(Class.UNSUPPORTED_VERSION, ("Unsupported Terraform Enterprise version",)),
    *(
        Rule(failure_class, (f"{name} initialization required",), holds, needs_init=True)
        for name in (
            "HCP Terraform or Terraform Enterprise",
            "HCP Terraform",
            "Terraform Cloud",
            "Cloud backend",
        )
        for failure_class, holds in (
            (Class.BACKEND_NOT_INITIALISED, ("Initial configuration of",)),
            (Class.BACKEND_CHANGED, ()),
        )
    ),
)
