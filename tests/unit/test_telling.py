"""Sentences say which variable, resource, module, version or state it is, from a diagnostic's own parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.failure.diagnosis import Diagnosis, diagnose, worth_telling
from hereya_tf.failure.hints import HINTS
from hereya_tf.failure.telling import git_words, host_of, variable_name
from hereya_tf.stream.message_types import Diagnostic, Range, Snippet

PRIVATE = "/state/runs/20261130T101540Z-f4a24bcc"
VALUES = f"{PRIVATE}/values-0.tfvars.json"
RULE = "\n\nThis was checked by the validation rule at main.tf:4,3-13."
UMBRELLA = Diagnostic("error", "Terraform encountered problems during initialisation, including problems")


def found(
    summary: str,
    detail: str = "",
    *,
    file: str | None = None,
    code: str = "",
    marked: str = "",
    context: str | None = None,
    values: tuple[tuple[str, str], ...] = (),
) -> Diagnostic:
    """An error on the third line of a file, where `marked` is underlined in `code`."""
    if file is None:
        return Diagnostic("error", summary, detail)
    begin = len(code[: code.index(marked)].encode())
    snippet = Snippet(context, code, 3, begin, begin + len(marked.encode()), values)
    return Diagnostic("error", summary, detail, None, Range(file, 3, 1, 3, 9), snippet)


def told(
    *errors: Diagnostic, failed: tuple[str, ...] = (), state: str | None = None, stderr: str = ""
) -> Diagnosis:
    return diagnose(
        errors, exit_code=1, signal=None, stderr=stderr, failed=failed, private=PRIVATE, state=state
    )


# -- variables


@pytest.mark.parametrize(
    ("error", "sentence", "name"),
    [
        pytest.param(
            found(
                "Invalid value for input variable",
                "The given value is not suitable for var.replicas declared at main.tf:1,1-20: a number is"
                " required.",
                file=VALUES,
                code='{"zones":["é"],"replicas":"three"}',
                marked='"three"',
            ),
            "`replicas` is not accepted: a number is required (`main.tf:1`)",
            "replicas",
            id="our own file",
        ),
        pytest.param(
            found(
                "Invalid value for variable",
                f"The environment is staging or production.{RULE}",
                file=VALUES,
                code='{"environment":"prod"}',
                marked='"prod"',
                values=(("var.environment", 'is "prod"'),),
            ),
            "`environment` is not accepted: The environment is staging or production (`main.tf:4`)",
            "environment",
            id="our own file, a rule",
        ),
        pytest.param(
            found(
                "Invalid value for variable",
                f"The two differ.{RULE}",
                file="/here/production.tfvars",
                code='second-one  =  "x"',
                marked='"x"',
                values=(("var.first", 'is "x"'), ("var.second-one", 'is "x"')),
            ),
            "`second-one` is not accepted: The two differ (`/here/production.tfvars:3`)",
            "second-one",
            id="the user's file",
        ),
        pytest.param(
            found(
                "Invalid value for variable",
                f"must be x{RULE}",
                file="main.tf",
                code='variable "n" {',
                marked='variable "n"',
            ),
            "`n` is not accepted: must be x (`main.tf:3`)",
            "n",
            id="the default",
        ),
        pytest.param(
            found(
                "Invalid value for variable",
                f"must be x{RULE}",
                file=VALUES,
                values=(("var.a.b[0]", "is 1"),),
            ),
            "`a` is not accepted: must be x (`main.tf:4`)",
            "a",
            id="no source",
        ),
        pytest.param(
            found(
                "Invalid value for input variable",
                'Unsuitable value for var.n set using -var="n=...": a number is required.',
            ),
            "`n` is not accepted: a number is required",
            "n",
            id="by the detail alone",
        ),
        pytest.param(
            found(
                "Invalid value for input variable",
                "The given value is not suitable for var.level, which is sensitive: a number is required."
                f" Invalid value defined at {VALUES}:1,13-20.",
                file="main.tf",
                code='variable "level" {',
                marked='variable "level"',
            ),
            "`level` is not accepted: a number is required (`main.tf:3`)",
            "level",
            id="sensitive",
        ),
    ],
)
def test_a_value_that_is_not_accepted_is_told_with_its_variable(
    error: Diagnostic, sentence: str, name: str
) -> None:
    diagnosis = told(error)

    assert diagnosis.sentence == sentence
    assert f"`-p {name}=VALUE`" in diagnosis.hints[0]
    assert "NAME" not in "".join(diagnosis.hints)
    assert PRIVATE not in diagnosis.sentence


def test_a_value_that_the_package_gives_to_its_module_is_corrected_there() -> None:
    diagnosis = told(
        found(
            "Invalid value for input variable",
            "The given value is not suitable for module.m.var.cidr declared at m/main.tf:1,1-16: a number is"
            " required.",
            file="main.tf",
            code='  cidr = "x"',
            marked='"x"',
            context='module "m"',
        )
    )

    assert diagnosis.sentence == "`cidr` of module `m` is not accepted: a number is required (`main.tf:3`)"
    assert diagnosis.hints == HINTS[diagnosis.failure_class.INVALID_CONFIGURATION]


def test_no_value_comes_into_a_sentence() -> None:
    error = found(
        "Invalid value for variable",
        f"too short{RULE}",
        file=VALUES,
        code='{"token":"s3cret-value"}',
        marked='"s3cret-value"',
        values=(("var.token", "has a sensitive value"),),
    )

    assert told(error).sentence == "`token` is not accepted: too short (`main.tf:4`)"


def test_without_a_name_the_engine_s_words_are_left_and_the_hint_is_general() -> None:
    diagnosis = told(found("Invalid value for variable", "must be x", file="main.tf"))

    assert diagnosis.sentence == "Invalid value for variable: must be x (`main.tf:3`)"
    assert "`-p NAME=VALUE`" in diagnosis.hints[0]


def test_a_variable_of_the_environment_is_named_by_the_engine() -> None:
    error = Diagnostic("error", "Variables not allowed", "", None, Range("<value for var.n>", 1, 1, 1, 2))

    assert variable_name(error) == "n"
    assert "`-p n=VALUE`" in told(error).hints[0]


@given(st.text(), st.text(), st.integers(-5, 300), st.integers(-5, 300), st.text())
def test_whatever_stands_in_a_snippet_a_name_is_a_name(
    code: str, context: str, begin: int, end: int, detail: str
) -> None:
    snippet = Snippet(context, code, 1, begin, end, ((f"var.{code}", ""),))
    error = Diagnostic("error", "Invalid value for variable", detail, None, Range("a", 1, 1, 1, 1), snippet)
    name = variable_name(error)

    assert name is None or name.replace("-", "_").isidentifier()
    assert "\n" not in told(error).sentence


# -- conditions


@pytest.mark.parametrize(
    ("summary", "context", "beginning"),
    [
        ("Resource precondition failed", 'resource "a" "b"', "`a.b` does not meet its precondition"),
        ("Resource postcondition failed", 'data "a" "b"', "`data.a.b` does not meet its postcondition"),
        (
            "Module output value precondition failed",
            'output "o"',
            "`output.o` does not meet its precondition",
        ),
        ("Resource precondition failed", None, "Resource precondition failed"),
        ("Resource precondition failed", 'odd "a" "b"', "Resource precondition failed"),
        ("Check block assertion failed", 'check "c"', "Check block assertion failed"),
    ],
)
def test_a_condition_is_told_with_what_it_is_of(summary: str, context: str | None, beginning: str) -> None:
    error = found(summary, "No.", file="main.tf", context=context)

    assert told(error).sentence == f"{beginning}: No (`main.tf:3`)"


def test_an_address_says_more_than_the_source() -> None:
    error = found("Resource precondition failed", "No.", file="main.tf", context='resource "a" "b"')

    assert told(error._replace(address='module.m.a.b["x"]')).sentence == (
        '`module.m.a.b["x"]` does not meet its precondition: No (`main.tf:3`)'
    )


def test_after_a_postcondition_it_is_said_that_the_resource_exists() -> None:
    before, after = (told(found(f"Resource {each}condition failed", "No.")).hints for each in ("pre", "post"))

    assert "exists and is in the state" in after[1]
    assert not any("exists" in hint for hint in before)


# -- what failed, where the error does not say so


LOST = Diagnostic("error", "Plugin did not respond", "The plugin failed.")


@pytest.mark.parametrize(
    "error",
    [
        Diagnostic("error", "It is not empty"),
        LOST,
        Diagnostic("error", "Plugin error", "[Errno 28] No space left on device"),
    ],
    ids=lambda error: str(error.summary),
)
def test_the_one_resource_that_failed_is_named(error: Diagnostic) -> None:
    assert told(error, failed=("a.b", "a.b")).sentence.endswith(" (`a.b`)")
    assert "`" not in told(error, failed=("a.b", "c.d")).sentence
    assert told(error._replace(address="x.y"), failed=("a.b",)).sentence.endswith(" (`x.y`)")
    beside = Diagnostic("error", "Odd", "", "a.b")
    assert "a.b" not in told(error._replace(summary="Plugin error"), beside, failed=("a.b",)).sentence


def test_a_crash_is_told_with_the_one_resource_that_failed() -> None:
    crash = "panic: no\n\nError: The p_v1 plugin crashed!\n"

    assert told(LOST, failed=("a.b",), stderr=crash).sentence == "`p_v1` crashed: panic: no (`a.b`)"


def test_what_is_no_resource_s_fault_has_no_address() -> None:
    full = diagnose(
        (), exit_code=1, signal=None, stderr="write x: no space left on device", failed=("a.b",)
    ).sentence
    assert full == "write x: no space left on device"
    lost = Diagnostic("error", "Failed to save state", "Error saving state: HTTP error: 413")

    assert told(lost, failed=("a.b",)).sentence == "Failed to save state: Error saving state: HTTP error: 413"


# -- modules


UNREADABLE = "Unreadable module directory"
SYMLINK = "Unable to evaluate directory symlink: lstat"


def test_a_local_module_is_told_with_its_name_and_place() -> None:
    missing = found(UNREADABLE, f"{SYMLINK} modules/netwrok: no such file or directory")
    second = found(UNREADABLE, f"{SYMLINK} b: permission denied")
    names = [
        found(UNREADABLE, f'The directory  could not be read for module "{name}" at main.tf:{line}.')
        for name, line in (("network", 5), ("other", 9))
    ]

    assert told(missing, names[0], second, names[1]).sentence == (
        "module `network`: `modules/netwrok` does not exist (`main.tf:5`) (and 1 more)"
    )
    assert told(missing, names[0]).hints[0].startswith("correct the module's `source`")
    assert told(missing).sentence == "the module `modules/netwrok` does not exist"
    assert told(second, names[1]).sentence == (
        "module `other`: `b` cannot be read: permission denied (`main.tf:9`)"
    )


CLONING = (
    'Could not download module "m" (main.tf:1) source code from "git::x": /usr/bin/git exited with 128:'
    " Cloning into '.terraform/modules/m'...\n"
)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            "fatal: unable to access 'http://h:1/': Couldn't connect\n",
            "unable to access 'http://h:1/': Couldn't connect",
        ),
        (
            "Host key verification failed.\nfatal: Could not read from remote repository.\n\nPlease",
            "Host key verification failed",
        ),
        (
            "fatal: '/x' is no repository\nfatal: Could not read from remote repository.\n",
            "'/x' is no repository",
        ),
        ("fatal: Could not read from remote repository.\n", "Could not read from remote repository"),
    ],
)
def test_git_s_own_words_are_the_cause(said: str, cause: str) -> None:
    error = found(
        "Failed to download module", CLONING + said, file="main.tf", code='module "m" {', marked='module "m"'
    )

    assert git_words(error.detail) == cause
    assert told(error).sentence == f"module `m` cannot be fetched: {cause} (`main.tf:3`)"
    assert told(error._replace(snippet=None)).sentence == f"git: {cause} (`main.tf:3`)"


def test_a_host_that_is_out_of_reach_is_named_without_who_logs_in() -> None:
    url = "https://maria:pw@git.example.com:8443/a.git"
    error = found(
        "Failed to download module", f"{CLONING}fatal: unable to access '{url}': Failed to connect\n"
    )
    away = f"{error.detail[:-1]} to git.example.com port 8443\n"

    assert "git.example.com" not in told(error).hints[0]
    assert (
        told(error._replace(detail=away))
        .hints[0]
        .startswith("check that this machine reaches `git.example.com:8443`")
    )
    assert (host_of("no address"), host_of("file:///x")) == (None, None)


def test_a_download_without_git_is_told_as_the_engine_says_it() -> None:
    error = found("Failed to download module", 'Could not download module "m": Get "http://h": refused')

    assert (
        told(error).sentence
        == 'Failed to download module: Could not download module "m": Get "http://h": refused'
    )


# -- versions, states, backends


@pytest.mark.parametrize(
    ("detail", "code", "sentence"),
    [
        (
            "This configuration does not support Terraform version 1.11.4. To proceed, change it.",
            '  required_version = ">= 99.0"',
            "the package wants Terraform `>= 99.0`, and this is 1.11.4 (`main.tf:3`)",
        ),
        (
            'Module module.m (from "./m") does not support Terraform version 1.15.0-rc1. To proceed, change it.',
            'required_version="~> 2.0"',
            "`module.m` wants Terraform `~> 2.0`, and this is 1.15.0-rc1 (`main.tf:3`)",
        ),
        (
            "This configuration does not support Terraform version 1.11.4.",
            "something else",
            "Unsupported Terraform Core version: This configuration does not support Terraform version 1.11.4"
            " (`main.tf:3`)",
        ),
    ],
)
def test_a_version_is_told_with_the_one_that_is_wanted(detail: str, code: str, sentence: str) -> None:
    error = found(
        "Unsupported Terraform Core version", detail, file="main.tf", code=code, marked=code.strip()
    )

    assert told(error).sentence == sentence


PROBLEMS = (
    "2 problems:\n\n- Unsupported state file format: The state file could not be parsed as JSON: offset 1.\n"
    "- Unsupported state file format: The state file does not have a version."
)


@pytest.mark.parametrize(
    "error",
    [
        found(f"Error refreshing state: {PROBLEMS}"),
        found("Error acquiring the state lock", f"Error message: {PROBLEMS}\n\nTerraform acquires"),
        found("Unsupported state file format", "The state file could not be parsed as JSON: offset 1."),
    ],
    ids=["init", "lock", "alone"],
)
def test_a_broken_state_is_told_with_its_place(error: Diagnostic) -> None:
    why = "cannot be read: The state file could not be parsed as JSON: offset 1"

    assert told(error).sentence == f"the state {why}"
    assert told(error, state="terraform.tfstate").sentence == f"the state in `terraform.tfstate` {why}"


def test_a_state_in_other_words_is_told_in_them() -> None:
    error = found("Error loading state", "The state file could not be parsed as JSON.")

    assert told(error).sentence == "Error loading state: The state file could not be parsed as JSON"


def test_no_place_in_a_file_of_ours_is_told() -> None:
    error = found(
        "Invalid backend configuration argument",
        "The argument is odd.",
        file=f"{PRIVATE}/backend-0.tfbackend",
    )

    assert told(error).sentence == "Invalid backend configuration argument: The argument is odd"


def test_one_s_own_lock_data_are_said_to_be_that() -> None:
    def locked(identity: str) -> tuple[str, ...]:
        detail = f"Error message: HTTP remote state already locked: ID=1111\nLock Info:\n  ID:   {identity}\n"
        return told(found("Error acquiring the state lock", detail)).hints

    assert locked("1111") == locked("2222")[:-1]
    assert "`Lock Info`" in locked("2222")[-1]


# -- init's umbrella


def test_the_umbrella_is_not_told_beside_a_cause() -> None:
    cause = found("Unclosed configuration block")

    assert worth_telling((UMBRELLA, cause)) == worth_telling((cause, UMBRELLA)) == (cause,)
    assert worth_telling((UMBRELLA,)) == (UMBRELLA,)
    assert worth_telling((cause, cause)) == (cause, cause)
    assert worth_telling(()) == ()
