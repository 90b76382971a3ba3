"""What a `cloud` block and the `remote` backend refuse: its class, and the option of ours that asked for it.

The words marked M were measured on Terraform 1.11.4 and 1.15.5, the others are those of the sources.
"""

import re

import pytest

from hereya_tf.cli import COMMANDS
from hereya_tf.errors import FailureClass
from hereya_tf.failure.diagnosis import Diagnosis, diagnose
from hereya_tf.failure.remote_rules import REMOTE_RULES
from hereya_tf.failure.remote_run import diagnose_remote_run
from hereya_tf.stream.message_types import ChangeSummary, Diagnostic, Phase, PlainLine, Range, ResourceHook
from hereya_tf.stream.summary import Summary

INPUT = FailureClass.BAD_INPUT
NOT_FOUND = (
    "For security, HCP Terraform return '404 Not Found' responses for resources\nfor resources that a user"
    " doesn't have access to, in addition to resources that\ndo not exist. If the resource does exist, please"
    " check the permissions of the provided token."
)
NOT_FOUND_REMOTE = (
    "The configured \"remote\" backend returns '404 Not Found' errors for resources\nthat do not exist, as well"
    " as for resources that a user doesn't have access\nto. If the resource does exist, please check the rights"
    " for the used token"
)
UNEXPECTED = (
    "HCP Terraform returned an unexpected error. Sometimes this is caused by network connection problems, in"
    " which case you could retry the command. If the issue persists please open a support ticket to get help"
    " resolving the problem."
)
NETWORK = 'Get "https://app.terraform.io/.well-known/terraform.json": dial tcp: lookup x: no such host'
WORKSPACES = "Invalid workspaces configuration"
CONFLICT = (
    'Specified workspace "name" conflicts with TF_WORKSPACE environment variable.\n\n'
    "The 'workspaces' block configures how Terraform CLI maps its workspaces for this single configuration"
)
UNINITIALISED = 'initialization required: please run "terraform init"'
FIRST = "Reason: Initial configuration of HCP Terraform or Terraform Enterprise."
CHANGED = "Reason: HCP Terraform configuration block has changed."


def diagnosis(summary: str, detail: str = "", *, place: bool = False, engine: str = "terraform") -> Diagnosis:
    where = Range("main.tf", 2, 3, 2, 8) if place else None
    error = Diagnostic("error", summary, detail, None, where)
    return diagnose((error,), exit_code=1, signal=None, stderr="", engine_name=engine)


@pytest.mark.parametrize(
    ("summary", "detail", "hint"),
    [
        # M
        (
            "Custom parallelism values are currently not supported",
            "HCP Terraform does not",
            "`--parallelism`",
        ),
        # M
        (
            "Run variables are currently not supported",
            'The "remote" backend does not',
            "in the remote workspace, or in a `*.auto.tfvars` file",
        ),
        # M
        ("Saving a generated plan is currently not supported", 'The "remote" backend does', "`--yes`"),
        ("Saved plans not allowed for workspaces with a VCS connection", "A workspace that is", "`--yes`"),
        (
            "Displaying a saved plan is currently not supported",
            "HCP Terraform",
            "`hereya-tf provision --yes`",
        ),
        ("Applying a saved plan is currently not supported", "", "`hereya-tf provision --yes`"),
        ("Applying a saved local plan is not supported", "", "`hereya-tf provision --yes`"),
        # M
        ("Resource targeting is not supported", "The host app.terraform.io does not", "`--target`"),
        ("Resource exclusion is not supported", "", "`--exclude`"),
        ("Resource exclusion is currently not supported", "", "`--exclude`"),
        ("-exclude option is not supported", "The -exclude option is not currently", "`--exclude`"),
        # M
        ("Planning without refresh is not supported", "", "`--no-refresh`"),
        # M
        ("Planning resource replacements is not supported", "", "`--replace`"),
        # M
        ("Refresh-only mode is not supported", "", "drift"),
        ("Generating configuration is not currently supported", "", "`-generate-config-out`"),
        # M
        (
            "Invalid command-line option",
            "The -backend-config=... command line option is only for state backends",
            "`--backend-config`",
        ),
        (
            "Invalid command-line option",
            "The -reconfigure option is for in-place reconfiguration of state backends only",
            "`--reconfigure`",
        ),
        (
            "Invalid command-line option",
            "The -migrate-state option is for migration between state backends only",
            "`--migrate-state`",
        ),
        # M
        ("Apply not allowed for workspaces with a VCS connection", "A workspace that is", "push to the"),
        # M
        ("Error loading state: workspaces not supported", "", "`-w`"),
        ("workspaces not supported", "", "`-w`"),
        (
            "Error loading state: default workspace not supported",
            'You can create a new workspace with the "workspace new" command.',
            "`-w NAME`",
        ),
    ],
)
def test_what_cannot_be_done_is_bad_input_and_names_the_option(summary: str, detail: str, hint: str) -> None:
    found = diagnosis(summary, detail)

    assert (found.failure_class, found.failure_class.exit_code) == (INPUT, 3)
    assert found.sentence.startswith(summary)
    assert hint in " ".join(found.hints)


@pytest.mark.parametrize(
    "detail",
    [
        pytest.param(CONFLICT, id="M"),
        'The workspace defined using the environment variable "TF_WORKSPACE" does not belong to "tags".',
    ],
)
def test_another_workspace_than_that_of_the_package(detail: str) -> None:
    found = diagnosis(WORKSPACES, detail, place=True)

    hint = "leave out `-w`, and unset `TF_WORKSPACE`: the package says which workspace it is"
    assert (found.failure_class, found.hints) == (INPUT, (hint,))


def test_a_block_that_is_wrong_by_itself_is_the_packages_fault() -> None:
    detail = 'Missing workspace mapping strategy. Either workspace "tags" or "name" is required.'

    assert diagnosis(WORKSPACES, detail, place=True).failure_class is FailureClass.INVALID_CONFIGURATION


def test_with_the_error_that_follows_the_cause_is_told() -> None:
    # M: both come from one init.
    errors = (
        Diagnostic("error", 'failed to create backend alias to target "".', "", None, None),
        Diagnostic("error", WORKSPACES, CONFLICT, None, Range("main.tf", 2, 3, 2, 8)),
    )

    found = diagnose(errors, exit_code=1, signal=None, stderr="")

    assert (found.failure_class, found.sentence) == (
        INPUT,
        'Invalid workspaces configuration: Specified workspace "name" conflicts with TF_WORKSPACE environment'
        " variable (`main.tf:2`) (and 1 more)",
    )


@pytest.mark.parametrize(
    ("summary", "detail", "hint"),
    [
        # M
        ("Required token could not be found", "Run the following command to", "`TF_TOKEN_app_terraform_io`"),
        # M
        ("Insufficient rights to generate a plan", "The provided credentials", "use a token that may"),
        # M
        ("Insufficient rights to apply changes", "The provided credentials have", "use a token that may"),
        ("Insufficient rights to approve the pending changes", "There are", "use a token that may"),
        # M
        (
            'Failed to read organization "acme" at host app.terraform.io',
            "Encountered an unexpected error while reading the organization settings: unauthorized",
            "`TF_TOKEN_app_terraform_io`",
        ),
        (
            'Failed to read organization "acme" at host app.terraform.io',
            'organization "acme" at host app.terraform.io not found.\n\nPlease ensure that',
            "check the organization",
        ),
        ("Failed to create run: resource not found", NOT_FOUND, "use a token that may"),
        ("workspace w not found", NOT_FOUND_REMOTE, "use a token that may"),
    ],
)
def test_what_the_token_may_not_do_is_credentials(summary: str, detail: str, hint: str) -> None:
    found = diagnosis(summary, detail)

    assert found.failure_class is FailureClass.CREDENTIALS
    assert hint in found.hints[0]


def test_the_hint_to_log_in_names_the_engine() -> None:
    assert "`tofu login`" in diagnosis("Required token could not be found", engine="tofu").hints[1]


@pytest.mark.parametrize(
    ("summary", "detail", "place"),
    [
        # M
        (f"Failed to request discovery document: {NETWORK}", "", True),
        (f"A network issue prevented cloud configuration; failed to request: {NETWORK}", "", True),
        # M
        ("Failed to create the Terraform Enterprise client", "unexpected error: connection refused.", False),
        ("Failed to create the HCP Terraform or Terraform Enterprise client", "i/o timeout", False),
        (
            'Failed to read organization "acme" at host app.terraform.io',
            "unexpected error while reading the organization settings: bad gateway",
            False,
        ),
        ("Failed to retrieve run: bad gateway", UNEXPECTED, False),
        ("Error looking up workspace", "Workspace read failed: service unavailable", False),
    ],
)
def test_a_service_that_does_not_answer_is_the_backend(summary: str, detail: str, place: bool) -> None:
    found = diagnosis(summary, detail, place=place)

    assert (found.failure_class, found.transient) == (FailureClass.BACKEND_UNREACHABLE, True)


@pytest.mark.parametrize(
    ("name", "engine"),
    [
        pytest.param("HCP Terraform or Terraform Enterprise", "terraform", id="M"),
        ("HCP Terraform", "terraform"),
        ("Terraform Cloud", "terraform"),
        ("Cloud backend", "tofu"),
    ],
)
def test_an_init_that_is_missing_is_wanted(name: str, engine: str) -> None:
    summary = f"{name} {UNINITIALISED.replace('terraform', engine)}"

    first, changed = diagnosis(summary, FIRST, engine=engine), diagnosis(summary, CHANGED, engine=engine)

    assert (first.failure_class, first.needs_init) == (FailureClass.BACKEND_NOT_INITIALISED, True)
    assert (changed.failure_class, changed.needs_init) == (FailureClass.BACKEND_CHANGED, True)


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ("Saved plan is for a different hostname", FailureClass.PLAN_MISMATCH),
        ("Saved plan is for a different workspace", FailureClass.PLAN_MISMATCH),
        ("Saved plan is already applied", FailureClass.PLAN_STALE),
        ("Saved plan is discarded", FailureClass.PLAN_STALE),
        ("Saved plan requires policy override", FailureClass.PLAN_STALE),
        ("Saved plan is stale", FailureClass.PLAN_STALE),
        ("Incompatible Terraform version", FailureClass.UNSUPPORTED_VERSION),
        ("Incompatible TF version", FailureClass.UNSUPPORTED_VERSION),
        ("Incompatible OpenTofu version v1.9.0", FailureClass.UNSUPPORTED_VERSION),
        (
            'Remote workspace Terraform version "1.5.0" does not match local Terraform version "1.11.4"',
            FailureClass.UNSUPPORTED_VERSION,
        ),
        ("Unsupported Terraform Enterprise version", FailureClass.UNSUPPORTED_VERSION),
        (
            "Cannot confirm apply due to -input=false. Please handle run confirmation in the UI.",
            FailureClass.PROMPT,
        ),
        (
            "Cannot override soft failed policy checks when -input=false. Please open the run in the UI",
            FailureClass.PROMPT,
        ),
    ],
)
def test_plans_versions_and_questions_have_their_classes(summary: str, expected: FailureClass) -> None:
    found = diagnosis(summary)

    assert found.failure_class is expected
    assert found.hints


@pytest.mark.parametrize("text", ["workspaces not supported", "default workspace not supported"])
def test_a_provider_that_says_the_same_is_not_taken_for_the_backend(text: str) -> None:
    error = Diagnostic(
        "error", f"creating: {text}", "", "databricks_workspace.a", Range("main.tf", 1, 1, 1, 2)
    )

    found = diagnose((error,), exit_code=1, signal=None, stderr="")

    assert found.failure_class is FailureClass.PROVIDER_ERROR


def test_hints_name_what_there_is() -> None:
    hints = [hint for rule in REMOTE_RULES for hint in rule.hints]
    commands = {match[1] for hint in hints for match in re.finditer(r"`hereya-tf (\w+)", hint)}

    assert commands <= {*COMMANDS}
    assert all(hint[0].islower() or hint[0] == "`" for hint in hints)
    assert not any(hint.endswith(".") for hint in hints)


def counted(*messages: PlainLine | ChangeSummary | ResourceHook) -> bool:
    summary = Summary()
    for message in messages:
        summary.add(message)
    return not summary.is_text_alone


LINE = PlainLine("Running apply in HCP Terraform. Output will stream here. Pressing Ctrl-C")
PLAN = ChangeSummary("plan", 1, 0, 0)


def test_a_stream_is_text_alone_when_it_has_text_and_nothing_to_count() -> None:
    assert not counted(LINE)
    assert not counted(PlainLine(""), LINE)
    # Nothing at all, blank lines, and what is left of a message on a full disk are not a remote run.
    assert counted()
    assert counted(PlainLine(""), PlainLine("  "))
    assert counted(PlainLine('{"@level":"info","@message":"Terra'))
    assert counted(LINE, PLAN)
    assert counted(LINE, PLAN._replace(operation="apply"))
    assert counted(LINE, ResourceHook(Phase.STARTED, "a.b", "create"))


@pytest.mark.parametrize(
    ("is_plan", "exit_code", "expected"),
    [
        (True, 0, INPUT),
        (True, 2, INPUT),
        (True, 1, FailureClass.ENGINE_ERROR),
        (False, 1, FailureClass.ENGINE_ERROR),
        (False, None, FailureClass.ENGINE_ERROR),
    ],
)
def test_a_remote_run_is_of_no_use_as_a_plan_or_has_failed(
    is_plan: bool, exit_code: int | None, expected: FailureClass
) -> None:
    found = diagnose_remote_run(is_plan, exit_code)

    assert found.failure_class is expected
    assert ("`--yes`" in found.hints[0]) is (expected is INPUT)
