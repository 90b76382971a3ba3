"""Failures get their class, a sentence that names the cause, and hints; the words are engines' own."""

import itertools
import re
import signal
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.cli import COMMANDS
from hereya_tf.errors import FailureClass
from hereya_tf.failure import rules as failure_rules
from hereya_tf.failure import vocabulary
from hereya_tf.failure.diagnosis import Diagnosis, diagnose, lock_holder
from hereya_tf.failure.hints import HINTS
from hereya_tf.failure.human_errors import read_human_errors, without_colour
from hereya_tf.failure.state_rules import LOSS_RULES
from hereya_tf.stream.message_types import Diagnostic, Range, Snippet
from hereya_tf.stream.summary import Summary
from tests.streams import DIRECTORY, ENGINES, FAILURES, Recording, exit_code, recordings

FAILED = tuple(recording for recording in recordings() if recording.case in FAILURES)
each_engine = pytest.mark.parametrize("engine", ENGINES)


def errors_of(recording: Recording) -> list[Diagnostic]:
    return summary_of(recording).errors


def summary_of(recording: Recording) -> Summary:
    summary = Summary()
    for message in recording.messages:
        summary.add(message)
    return summary


def diagnosis_of(recording: Recording) -> Diagnosis:
    summary = summary_of(recording)
    return diagnose(
        summary.errors,
        exit_code=exit_code(recording),
        signal=None,
        stderr=recording.stderr,
        failed=summary.failed,
    )


def diagnosis(*errors: Diagnostic, stderr: str = "", exit_code: int | None = 1) -> Diagnosis:
    return diagnose(errors, exit_code=exit_code, signal=None, stderr=stderr)


def error(summary: str, detail: str = "", address: str | None = None, place: str | None = None) -> Diagnostic:
    where = None if place is None else Range(place, 3, 1, 3, 2)
    return Diagnostic("error", summary, detail, address, where)


# -- recorded failures


@pytest.mark.parametrize("recording", FAILED, ids=lambda recording: recording.id)
def test_a_real_failure_has_its_class(recording: Recording) -> None:
    assert diagnosis_of(recording).failure_class is FAILURES[recording.case]


@pytest.mark.parametrize("recording", FAILED, ids=lambda recording: recording.id)
def test_a_real_failure_is_told_in_one_short_sentence_with_a_hint(recording: Recording) -> None:
    found = diagnosis_of(recording)

    assert "\n" not in found.sentence
    assert not found.sentence.endswith(".")
    assert 10 < len(found.sentence) < 900
    assert found.hints
    assert "problems during initiali" not in found.sentence


@each_engine
@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        (
            "missing-variable",
            'No value for required variable: The root module input variable "need" is not set, and has no'
            " default value (`main.tf:1`)",
        ),
        ("lab-create-failed", "Lab create failed: sorry: because (`lab_thing.c`)"),
        (
            "duplicate",
            'Duplicate resource "terraform_data" configuration: A terraform_data resource named "a" was'
            " already declared at main.tf:1,1-30 (`main.tf:2`)",
        ),
        (
            "value-literal",
            "Variables not allowed: Variables may not be used here (`<value for var.n>:1`) (and 1 more)",
        ),
        (
            "apply-provisioner-failed",
            'local-exec provisioner error: Error running command \'echo \'{"type":"version"}\'; echo boo >&2;'
            ' exit 9\': exit status 9. Output: {"type":"version"} boo (`terraform_data.bad`)',
        ),
        ("validation", "`n` is not accepted: must be x (`main.tf:1`)"),
        ("wrong-type", "`n` is not accepted: a number is required (`main.tf:1`)"),
        (
            "lab-crashed",
            "`terraform-provider-lab_v1.0.0` crashed: panic: lab provider crash: bang (`lab_thing.e`)",
        ),
        ("module-missing", "module `m`: `nope` does not exist (`main.tf:1`)"),
        (
            "module-git",
            "module `m` cannot be fetched: '/nonexistent/repo' does not appear to be a git repository"
            " (`main.tf:1`)",
        ),
        (
            "postcondition",
            "`terraform_data.a` does not meet its postcondition: input is not two (`main.tf:4`)",
        ),
        ("output-precondition", "`output.o` does not meet its precondition: no (`main.tf:5`)"),
        (
            "backend-migration-init",
            "the package has another backend now, and its state is still in `terraform.tfstate`",
        ),
        (
            "state-corrupt",
            "the state cannot be read: The state file could not be parsed as JSON: syntax error at byte offset 1",
        ),
        ("http-auth-init", "HTTP remote state endpoint requires auth"),
    ],
)
def test_the_sentence_names_the_cause(engine: str, case: str, sentence: str) -> None:
    found = diagnosis_of(Recording(engine, case)).sentence

    assert found == sentence or (case == "http-auth-init" and found.endswith(sentence))


NEEDS_INIT = {
    "backend-changed-plan",
    "backend-removed-plan",
    "backend-uninitialised",
    "lock-file-inconsistent",
    "module-not-installed",
    "plugins-checksum",
    "plugins-missing",
}
TRANSIENT = {
    "http-down",
    "http-down-init",
    "http-get-failed",
    "http-lock-down",
    "module-http",
    "module-registry",
    "registry-unreachable",
}


@pytest.mark.parametrize("recording", FAILED, ids=lambda recording: recording.id)
def test_init_and_another_try_are_for_those_they_can_help(recording: Recording) -> None:
    found = diagnosis_of(recording)

    assert (found.needs_init, found.transient) == (recording.case in NEEDS_INIT, recording.case in TRANSIENT)


@each_engine
@pytest.mark.parametrize(
    ("case", "hint"),
    [
        ("missing-variable", "give it a value: `-p need=VALUE`, or `-p need:=JSON` for lists and objects"),
        ("ephemeral", "give it a value: `-p e=VALUE`, or `-p e:=JSON` for lists and objects"),
        ("directory-read-only", "make the package's directory, or the place of its state, writable"),
        (
            "http-locked",
            "of a run of yours that was killed, `hereya-tf recover` releases the lock, once that is proven",
        ),
        (
            "http-locked",
            "only when its process is gone for certain: `hereya-tf tf -- force-unlock -force 11111111-2222`",
        ),
        (
            "backend-changed-init",
            "to take the state along: `hereya-tf init --migrate-state --yes`",
        ),
    ],
)
def test_a_hint_is_ready_to_be_used(engine: str, case: str, hint: str) -> None:
    assert hint in diagnosis_of(Recording(engine, case)).hints


@each_engine
def test_a_lock_that_only_its_holder_can_release_has_no_hint_to_release_it(engine: str) -> None:
    (hint,) = diagnosis_of(Recording(engine, "state-locked")).hints

    assert "--lock-timeout" in hint


def test_several_missing_variables_are_asked_for_at_once() -> None:
    names = ("a", "b")
    missing = [
        error("No value for required variable", f'The root module input variable "{name}" is not set.')
        for name in names
    ]

    assert diagnosis(*missing).hints == (
        "give it a value: `-p a=VALUE -p b=VALUE`, or `-p a:=JSON` for lists and objects",
    )


# -- who holds the lock


@pytest.mark.behaviour("T6")
@each_engine
def test_the_holder_of_a_local_lock_is_told(engine: str) -> None:
    holder = lock_holder(errors_of(Recording(engine, "state-locked")))

    assert {name: value for name, value in holder.items() if name not in ("ID", "Created")} == {
        "Path": "terraform.tfstate",
        "Operation": "OperationTypeApply",
        "Who": "user@host",
        "Version": engine.removeprefix("terraform-"),
    }
    assert len(holder["ID"]) == 36
    assert holder["Created"].endswith("+0000 UTC")


@pytest.mark.behaviour("T6")
def test_one_s_own_lock_data_is_not_taken_for_the_holder_s() -> None:
    old, new = (errors_of(Recording(engine, "http-locked")) for engine in ENGINES)

    assert lock_holder(old) == {"ID": "11111111-2222"}
    assert lock_holder(new) == {
        "ID": "11111111-2222",
        "Operation": "OperationTypeApply",
        "Who": "other@elsewhere",
        "Version": "1.11.4",
        "Created": "2026-11-01 10:00:00 +0000 UTC",
    }
    assert "user@host" not in diagnosis(*old).sentence


@pytest.mark.parametrize(
    "case", ["state-corrupt", "http-lock-down", "directory-read-only", "missing-variable"]
)
def test_a_lock_that_nobody_holds_has_no_holder(case: str) -> None:
    assert lock_holder(errors_of(Recording("terraform-1.11.4", case))) == {}
    assert lock_holder(()) == {}


LOCKED = "Error acquiring the state lock"
INFO = "\nLock Info:\n  ID:        abc\n  Who:       me: and you@host\n  Info:      \n\nTerraform acquires a lock"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("resource temporarily unavailable", FailureClass.STATE_LOCKED),
        ("ConditionalCheckFailedException: The conditional request failed", FailureClass.STATE_LOCKED),
        (
            "operation error S3: PutObject, https response error StatusCode: 412, RequestID: X, HostID: Y,"
            " api error PreconditionFailed: At least one of the pre-conditions you specified did not hold",
            FailureClass.STATE_LOCKED,
        ),
        (
            'writing "gs://b/default.tflock" failed: googleapi: Error 412: At least one of the pre-conditions'
            " you specified did not hold., conditionNotMet",
            FailureClass.STATE_LOCKED,
        ),
        ("state blob is already locked", FailureClass.STATE_LOCKED),
        ("the state is already locked by another terraform client", FailureClass.STATE_LOCKED),
        ("something no backend has said before" + INFO, FailureClass.STATE_LOCKED),
        ("something no backend has said before", FailureClass.ENGINE_ERROR),
        (
            "operation error S3: PutObject, https response error StatusCode: 403, api error AccessDenied:"
            " Access Denied",
            FailureClass.CREDENTIALS,
        ),
        (
            "operation error DynamoDB: PutItem, api error ExpiredTokenException: The security token included"
            " in the request is expired",
            FailureClass.CREDENTIALS,
        ),
        ('Put "https://x": dial tcp 1.2.3.4:443: i/o timeout', FailureClass.BACKEND_UNREACHABLE),
        ("Failed to lock: LOCK http://x giving up after 1 attempt(s)", FailureClass.BACKEND_UNREACHABLE),
        ("open terraform.tfstate: read-only file system", FailureClass.ENGINE_ERROR),
        ("write .terraform.tfstate.lock.info: no space left on device", FailureClass.DISK_FULL),
        (
            "Unsupported state file format: The state file could not be parsed as JSON",
            FailureClass.STATE_CORRUPT,
        ),
        ("The state file uses format version 5, which is not supported", FailureClass.UNSUPPORTED_VERSION),
    ],
)
def test_one_summary_has_many_causes(message: str, expected: FailureClass) -> None:
    assert diagnosis(error(LOCKED, f"Error message: {message}")).failure_class is expected


@pytest.mark.parametrize(
    "summary", ["Failed to load state", "error loading state", "Failed to refresh state"]
)
def test_a_bucket_and_a_lock_table_that_disagree_say_how_they_agree_again(summary: str) -> None:
    """The words are those of the backends with a lock table, for instance of Terraform 1.11.4 on S3."""
    detail = (
        "state data in S3 does not have the expected content.\n\nThe checksum calculated for the state stored in"
        " S3 does not match the checksum\nstored in DynamoDB.\n\nBucket: b\nKey:    k"
    )

    found = diagnosis(error(summary, detail))

    assert found.failure_class is FailureClass.STATE_CORRUPT
    assert found.sentence == f"{summary}: state data in S3 does not have the expected content"
    assert "set `Digest` of its `-md5` item in the lock table" in found.hints[1]


def test_lock_data_is_read_by_line_and_colon() -> None:
    held = error(LOCKED, "Error message: already locked" + INFO)

    assert lock_holder([error("Other"), held]) == {"ID": "abc", "Who": "me: and you@host"}
    assert diagnosis(held).sentence == f"{LOCKED}: already locked, held by `me: and you@host`"


# -- other words


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(
            error("Unsupported OpenTofu Core version", place="main.tf"),
            FailureClass.UNSUPPORTED_VERSION,
            id="tofu version",
        ),
        pytest.param(
            error(
                'Backend initialization required: please run "tofu init"',
                'Reason: Initial configuration of the requested backend "s3"',
            ),
            FailureClass.BACKEND_NOT_INITIALISED,
            id="tofu backend",
        ),
        pytest.param(
            error(
                "Failed to resolve provider packages",
                "Could not resolve provider hashicorp/null: could not"
                " connect to registry.opentofu.org: context deadline exceeded",
            ),
            FailureClass.PROVIDER_UNAVAILABLE,
            id="tofu registry",
        ),
        pytest.param(
            error("Error", "error loading state: decryption failed for all provided methods: attempted"),
            FailureClass.CREDENTIALS,
            id="tofu passphrase",
        ),
        pytest.param(
            error(
                "error loading state: encountered unencrypted payload without unencrypted method configured"
            ),
            FailureClass.INVALID_CONFIGURATION,
            id="tofu plain state",
        ),
        pytest.param(error("Unable to fetch encryption key data"), FailureClass.CREDENTIALS, id="tofu key"),
        pytest.param(
            error("Variable not provided via -var, tfvars files, or env"),
            FailureClass.MISSING_VARIABLE,
            id="tofu early variable",
        ),
        pytest.param(
            error("error configuring S3 Backend: no valid credential sources for S3 Backend found."),
            FailureClass.CREDENTIALS,
            id="s3, old",
        ),
        pytest.param(
            error("No valid credential sources found", place="main.tf"), FailureClass.CREDENTIALS, id="s3"
        ),
        pytest.param(
            error(
                "configuring AWS Provider: validating provider credentials: operation error STS:"
                " GetCallerIdentity, https response error StatusCode: 403, api error InvalidClientTokenId:"
                " The security token included in the request is invalid",
                "",
                'provider["registry.terraform.io/hashicorp/aws"]',
                "main.tf",
            ),
            FailureClass.CREDENTIALS,
            id="aws provider",
        ),
        pytest.param(
            error("creating S3 Bucket (b): StatusCode: 403, AccessDenied", "", "aws_s3_bucket.b", "main.tf"),
            FailureClass.PROVIDER_ERROR,
            id="a provider's refusal is the provider's error",
        ),
        pytest.param(
            error("Error refreshing state: Unable to access object in S3 bucket: StatusCode: 403, Forbidden"),
            FailureClass.CREDENTIALS,
            id="a backend's refusal",
        ),
        pytest.param(
            error('Get "https://x": dial tcp: lookup x: no such host'),
            FailureClass.BACKEND_UNREACHABLE,
            id="network and nothing else",
        ),
        pytest.param(
            error("Failed to install provider", "write x: no space left on device"),
            FailureClass.DISK_FULL,
            id="disk full",
        ),
        pytest.param(
            error("Failed to save state", "no space left on device"),
            FailureClass.STATE_NOT_SAVED,
            id="state before disk",
        ),
        pytest.param(
            error("local-exec provisioner error", "Output: no space left on device: ExpiredToken"),
            FailureClass.PROVISIONER_FAILED,
            id="what a command printed is not looked at",
        ),
        pytest.param(
            error("Resource precondition failed", "no valid credential sources found"),
            FailureClass.PRECONDITION_FAILED,
            id="nor what an author wrote",
        ),
        pytest.param(
            error("Failed to load plugin schemas", "there is no package for x cached in .terraform"),
            FailureClass.PROVIDER_UNAVAILABLE,
            id="schemas, no package",
        ),
        pytest.param(
            error("Plugin error", "unexpected error from plugin"),
            FailureClass.PROVIDER_CRASHED,
            id="plugin error",
        ),
        pytest.param(error("Error asking for approval", "EOF"), FailureClass.PROMPT, id="prompt"),
        pytest.param(error("Odd", "something odd"), FailureClass.ENGINE_ERROR, id="unknown"),
    ],
)
def test_words_that_were_not_recorded(found: Diagnostic, expected: FailureClass) -> None:
    assert diagnosis(found).failure_class is expected


@pytest.mark.parametrize(
    ("detail", "sentence"),
    [
        ("Error running command 'x': exit status 3. Output: ", "S: Error running command 'x': exit status 3"),
        ("Failed. Output: boo", "S: Failed. Output: boo"),
        ("These went wrong:\n\n- the first\n- the second", "S: These went wrong: the first"),
        ("This went wrong:", "S: This went wrong"),
    ],
)
def test_of_what_is_announced_and_does_not_follow_nothing_is_said(detail: str, sentence: str) -> None:
    assert diagnosis(error("S", detail)).sentence == sentence


def test_a_git_that_asks_gets_a_hint() -> None:
    found = diagnosis(
        error("Failed to download module", "git exited with 128: Host key verification failed.")
    )

    assert (found.failure_class, len(found.hints)) == (FailureClass.MODULE_UNAVAILABLE, 2)
    assert "known host key" in found.hints[0]


def test_a_destroy_s_error_is_the_provider_s_when_an_operation_failed() -> None:
    found = error("Lab delete failed", "cannot")

    def classes(failed: Sequence[str], *errors: Diagnostic) -> FailureClass:
        return diagnose(errors, exit_code=1, signal=None, stderr="", failed=failed).failure_class

    assert classes(("lab_thing.a",), found) is FailureClass.PROVIDER_ERROR
    assert classes((), found) is FailureClass.ENGINE_ERROR
    assert classes(("a.b",), error("execution halted")) is FailureClass.ENGINE_ERROR


# -- how the process ended

PANIC = """
!!!!!!!!!!!!!!!!!!!!!!!!!!! TERRAFORM CRASH !!!!!!!!!!!!!!!!!!!!!!!!!!!!

Terraform crashed! This is always indicative of a bug within Terraform.

panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation]

goroutine 1 [running]:
main.main()
"""
PLUGIN_PANIC = Recording("terraform-1.11.4", "lab-crashed").stderr


@pytest.mark.parametrize(
    ("exit_code", "ended_by", "stderr", "expected", "sentence"),
    [
        pytest.param(
            11,
            None,
            PANIC,
            FailureClass.ENGINE_CRASHED,
            "Terraform crashed: panic: runtime error: invalid memory address or nil pointer dereference",
            id="panic",
        ),
        pytest.param(
            11, None, "", FailureClass.ENGINE_CRASHED, "Terraform crashed", id="panic without words"
        ),
        pytest.param(
            2,
            None,
            "fatal error: all goroutines are asleep - deadlock!\n\ngoroutine 1 [chan receive]:\n",
            FailureClass.ENGINE_CRASHED,
            "Terraform crashed: fatal error: all goroutines are asleep - deadlock!",
            id="fatal",
        ),
        pytest.param(
            2,
            None,
            "SIGQUIT: quit\nPC=0x46\n\ngoroutine 0 [idle]:\n",
            FailureClass.ENGINE_CRASHED,
            "Terraform crashed: SIGQUIT: quit",
            id="quit",
        ),
        pytest.param(
            2,
            None,
            "fatal error: failed to reserve page summary memory\n",
            FailureClass.OUT_OF_MEMORY,
            "Terraform ran out of memory",
            id="no memory",
        ),
        pytest.param(
            2,
            None,
            "runtime: out of memory: cannot allocate 4194304-byte block\nfatal error: out of memory\n",
            FailureClass.OUT_OF_MEMORY,
            "Terraform ran out of memory",
            id="no more memory",
        ),
        pytest.param(
            None,
            signal.SIGKILL,
            "",
            FailureClass.ENGINE_CRASHED,
            "Terraform was ended by SIGKILL",
            id="killed",
        ),
        pytest.param(
            None, 99, "", FailureClass.ENGINE_CRASHED, "Terraform was ended by signal 99", id="odd signal"
        ),
        pytest.param(
            1,
            None,
            PLUGIN_PANIC,
            FailureClass.PROVIDER_CRASHED,
            "`terraform-provider-lab_v1.0.0` crashed: panic: lab provider crash: bang",
            id="a provider's panic is not the engine's",
        ),
        pytest.param(
            1,
            None,
            "",
            FailureClass.ENGINE_ERROR,
            "Terraform ended with exit code 1 and gave no reason",
            id="silence",
        ),
        pytest.param(
            0,
            None,
            "",
            FailureClass.ENGINE_ERROR,
            "Terraform ended with exit code 0, but did not report the end of its work",
            id="nothing done",
        ),
    ],
)
def test_the_way_a_process_ended_is_a_cause(
    exit_code: int | None, ended_by: int | None, stderr: str, expected: FailureClass, sentence: str
) -> None:
    found = diagnose((), exit_code=exit_code, signal=ended_by, stderr=stderr)

    assert (found.failure_class, found.sentence) == (expected, sentence)
    assert found.hints


def test_a_kill_for_memory_is_decided_by_the_system_s_word() -> None:
    found = diagnose((), exit_code=None, signal=9, stderr="", engine_name="tofu", out_of_memory=True)

    assert (found.failure_class, found.sentence) == (FailureClass.OUT_OF_MEMORY, "OpenTofu ran out of memory")


def test_an_unsaved_state_matters_more_than_any_crash() -> None:
    found = diagnose(
        (error("Failed to save state"), error("Plugin did not respond")),
        exit_code=11,
        signal=None,
        stderr=PANIC + PLUGIN_PANIC,
    )

    assert found.failure_class is FailureClass.STATE_NOT_SAVED


# -- several errors

MIXED = (
    (error("Plugin did not respond"), FailureClass.PROVIDER_CRASHED),
    (error("Error releasing the state lock"), FailureClass.LOCK_NOT_RELEASED),
    (error("Failed to save state"), FailureClass.STATE_NOT_SAVED),
    (error("Lab create failed", "x", "a.b", "main.tf"), FailureClass.PROVIDER_ERROR),
    (error("execution halted"), FailureClass.ENGINE_ERROR),
)


@pytest.mark.parametrize("size", range(1, len(MIXED) + 1))
def test_the_gravest_error_is_told_wherever_it_stands(size: int) -> None:
    gravity = [
        FailureClass.STATE_NOT_SAVED,
        FailureClass.LOCK_NOT_RELEASED,
        FailureClass.PROVIDER_CRASHED,
        FailureClass.PROVIDER_ERROR,
        FailureClass.ENGINE_ERROR,
    ]
    for chosen in itertools.permutations(MIXED, size):
        expected = min((failure_class for _, failure_class in chosen), key=gravity.index)
        assert diagnosis(*(found for found, _ in chosen)).failure_class is expected


@pytest.mark.parametrize("engine", ["Terraform", "OpenTofu"])
@pytest.mark.parametrize("word", ["initialisation", "initialization"])
def test_the_umbrella_is_never_the_cause(engine: str, word: str) -> None:
    umbrella = error(
        f"{engine} encountered problems during {word}, including problems\nwith the configuration"
    )
    cause = error("Unclosed configuration block", "There is no closing brace.", None, "main.tf")

    assert diagnosis(umbrella, cause) == diagnosis(cause) == diagnosis(cause, umbrella)
    assert diagnosis(umbrella).sentence.startswith(f"{engine} encountered problems")


def test_the_human_form_is_read_when_there_are_no_messages() -> None:
    found = diagnosis(
        stderr="\nError: No value for required variable\n\n  on main.tf line 3:\n   3: x\n\nA is not\nset.\n"
    )

    assert found.failure_class is FailureClass.MISSING_VARIABLE
    assert found.sentence == "No value for required variable: A is not set (`main.tf:3`)"


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        ("human-chdir", FailureClass.ENGINE_ERROR),
        ("human-plan-uninitialised", FailureClass.BACKEND_NOT_INITIALISED),
        ("human-plan-uninitialised-colour", FailureClass.BACKEND_NOT_INITIALISED),
        ("human-workspace-list-uninitialised", FailureClass.BACKEND_NOT_INITIALISED),
        ("human-workspace-unknown", FailureClass.WORKSPACE_UNKNOWN),
        ("human-workspace-default-exists", FailureClass.ENGINE_ERROR),
        ("human-unknown-command", FailureClass.ENGINE_ERROR),
        ("human-bad-flag", FailureClass.BAD_INPUT),
    ],
)
def test_a_failure_in_human_form_has_its_class(case: str, expected: FailureClass) -> None:
    stderr = Recording("terraform-1.11.4", case).stderr

    assert diagnosis(stderr=stderr).failure_class is expected
    assert stderr


@each_engine
@pytest.mark.parametrize("case", ["values", "address", "multiline"])
def test_the_human_form_says_what_the_messages_say(engine: str, case: str) -> None:
    human = (DIRECTORY / f"{engine}-rendered-{case}.human").read_text(encoding="utf-8")
    (told,) = read_human_errors(human)
    (error,) = errors_of(Recording(engine, f"rendered-{case}"))

    assert (told.summary, told.address) == (error.summary, error.address)
    assert told.range is not None
    assert error.range is not None
    assert told.range[:2] == error.range[:2]
    assert told.detail.split() == error.detail.split()
    assert diagnosis(told).failure_class is diagnosis(error).failure_class


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        (" \n\n", ()),
        ('Workspace "a" is odd.\n', (error('Workspace "a" is odd.'),)),
        ("Warning: a\n\nb\n\nError: c\n\nd\nWarning: e\n\nf\n", (error("c", "d"),)),
        ("│ Error: a\n│ \n│   with b.c,\n│   on x line y:\n╵\n", (error("a", "", "b.c"),)),
        (
            "Error: a\n  on x line 99999999999:\n",
            (Diagnostic("error", "a", "", None, Range("x", 0, 1, 0, 1)),),
        ),
    ],
)
def test_the_human_form_is_taken_apart(text: str, expected: tuple[Diagnostic, ...]) -> None:
    assert read_human_errors(text) == expected


def test_colour_is_taken_out() -> None:
    assert without_colour("\x1b[31m╷\x1b[0m\x1b[0m x\x1b[1") == "╷ x"


# -- the table


def test_every_class_the_table_knows_has_a_rank_and_a_hint() -> None:
    tables = (*failure_rules.QUOTING_RULES, *LOSS_RULES, *failure_rules.RULES)

    assert {rule.failure_class for rule in tables} <= set(failure_rules.PRIORITY)
    assert set(failure_rules.PRIORITY) == set(HINTS)
    assert len(failure_rules.PRIORITY) == len(set(failure_rules.PRIORITY))


def test_words_that_are_compared_in_lower_case_are_in_lower_case() -> None:
    words = (
        *vocabulary.BACKEND_SUMMARIES,
        *vocabulary.LOCK_HELD,
        *vocabulary.CREDENTIALS,
        *vocabulary.BACKEND_REFUSALS,
        *vocabulary.NETWORK,
        *vocabulary.THROTTLING,
        *vocabulary.NO_SPACE,
        *vocabulary.NOT_WRITABLE,
        *vocabulary.MEMORY,
        *vocabulary.GIT_REFUSALS,
    )

    assert [word for word in words if word != word.lower()] == []


TEXTS = st.text(max_size=40) | st.sampled_from(
    [LOCKED, "Lock Info:", "ID:", "Error message: already locked: ID="]
)
DIAGNOSTICS = st.builds(
    Diagnostic,
    st.just("error"),
    TEXTS,
    st.lists(TEXTS).map("\n".join),
    st.none() | TEXTS,
    st.none() | st.builds(Range, TEXTS, st.integers(), st.integers(), st.integers(), st.integers()),
    st.none() | st.builds(Snippet, st.none() | TEXTS, TEXTS, st.integers(), st.integers(), st.integers()),
)


@given(
    st.lists(DIAGNOSTICS, max_size=4),
    st.none() | st.integers(-2, 300),
    st.none() | st.integers(-2, 300),
    st.text() | st.lists(st.sampled_from(["Error: ", "  on ", " line 3", "\n", "panic:", "│"])).map("".join),
)
def test_any_failure_gets_a_class_a_sentence_and_a_hint(
    errors: list[Diagnostic], exit_code: int | None, ended_by: int | None, stderr: str
) -> None:
    found = diagnose(errors, exit_code=exit_code, signal=ended_by, stderr=stderr)

    assert found.failure_class in failure_rules.PRIORITY
    assert found.hints
    assert "\n" not in found.sentence
    lock_holder(errors)


def test_what_only_follows_from_another_error_is_not_counted() -> None:
    lost = error("Failed to save state", "POST http://x giving up")
    kept = error("Failed to persist state to backend", "The error shown above has prevented Terraform")
    unreadable = error("Unreadable module directory", "lstat nope: no such file or directory")
    nameless = error("Unreadable module directory", 'The directory  could not be read for module "m"')

    assert diagnosis(lost, kept) == diagnosis(lost)
    assert diagnosis(nameless, unreadable) == diagnosis(unreadable)
    assert diagnosis(error("Odd"), error("execution halted")) == diagnosis(error("Odd"))
    assert diagnosis(nameless).sentence.startswith("Unreadable module directory: The directory")


def test_an_error_that_comes_again_of_another_line_is_counted_once() -> None:
    here, there = (
        Diagnostic("error", "Odd", "So odd.", None, Range("main.tf", line, 1, line, 2)) for line in (3, 9)
    )

    assert diagnosis(here, there, here).sentence == "Odd: So odd (`main.tf:3`)"
    assert diagnosis(here, there, error("Other")).sentence.endswith(" (and 1 more)")


@each_engine
def test_what_has_moved_is_ready_to_be_added(engine: str) -> None:
    (hint,) = diagnosis_of(Recording(engine, "moved-target")).hints

    assert hint == (
        "leave out `--target`, or add what has moved: `--target terraform_data.a --target terraform_data.c`"
    )


def test_a_moved_address_is_quoted_for_a_shell() -> None:
    moved = error("Moved resource instances excluded by targeting", 'Add:\n  -target="a.b[\\"x y\\"]"\n')

    assert "`--target 'a.b[\"x y\"]'`" in diagnosis(moved).hints[0]
    assert "see the error" in diagnosis(error(moved.summary)).hints[0]


def test_a_state_that_a_full_disk_has_kept_from_being_saved_needs_room_first() -> None:
    found = diagnosis(
        error("Failed to save state"), error("Failed to write state", "No space left on device")
    )

    assert found.failure_class is FailureClass.STATE_NOT_SAVED
    assert "make room" in found.hints[0]


@pytest.mark.parametrize(
    "found",
    [
        error("Failed to save state", "open terraform.tfstate: permission denied"),
        error("Error loading state", "open x/terraform.tfstate: not a directory"),
        error("Odd", "mkdir .terraform: read-only file system"),
    ],
    ids=lambda found: str(found.summary),
)
def test_what_cannot_be_written_is_to_be_made_writable(found: Diagnostic) -> None:
    assert diagnosis(found).hints[0].endswith("writable")


def test_a_limit_of_requests_is_met_with_fewer_of_them() -> None:
    found = diagnosis(error("creating X", "api error Throttling: Rate exceeded", "aws_x.a", "main.tf"))

    assert (found.failure_class, found.transient) == (FailureClass.PROVIDER_ERROR, True)
    assert "`--parallelism 2`" in found.hints[0]


def test_a_command_that_may_have_been_ended_for_its_memory_gets_a_hint() -> None:
    found = error("local-exec provisioner error", "Error running command 'x': signal: killed. Output: ")
    calm, scarce = (
        diagnose((found,), exit_code=1, signal=None, stderr="", out_of_memory=scarce)
        for scarce in (False, True)
    )

    assert calm.failure_class is scarce.failure_class is FailureClass.PROVISIONER_FAILED
    assert "memory" in scarce.hints[0]
    assert scarce.hints[1:] == calm.hints


def test_every_class_has_a_hint_that_can_be_typed_or_done_at_once() -> None:
    vague = {each for each, told in HINTS.items() if not any("`" in hint for hint in told)}

    assert vague == set()
    assert [
        hint for told in HINTS.values() for hint in told if hint.endswith(".") or hint[:1].isupper()
    ] == []


@pytest.mark.parametrize(
    "detail", ["word " * 10_000_000, "x" * 50_000_000, "\n\n" * 25_000_000, "\x1b[31m\x00\ufffd" * 5_000_000]
)
def test_a_flood_of_words_is_no_trouble(detail: str) -> None:
    found = diagnosis(error("Odd", detail), stderr=detail)

    assert found.failure_class is FailureClass.ENGINE_ERROR
    assert len(found.sentence) < 900


def test_what_stands_at_the_end_of_a_flood_is_found() -> None:
    found = diagnosis(error("Odd", "word " * 1_000_000 + "write x: no space left on device"))

    assert found.failure_class is FailureClass.DISK_FULL


def test_thousands_of_errors_are_no_trouble() -> None:
    many = [error(f"Odd {number}", "detail", f"a.b[{number}]") for number in range(10_000)]

    assert diagnosis(*many).sentence == "Odd 0: detail (`a.b[0]`) (and 9999 more)"


def test_a_word_without_end_is_left_out_of_the_sentence() -> None:
    assert diagnosis(error("Odd", "x" * 1000)).sentence == "Odd: …"


def test_a_long_detail_is_cut_between_words() -> None:
    found = diagnosis(error("Odd", "word " * 1000))

    assert found.sentence == "Odd: " + " ".join(["word"] * 80) + " …"


def test_hints_name_commands_that_there_are() -> None:
    hints = [hint for hints in HINTS.values() for hint in hints]
    named = [word for hint in hints for word in re.findall(r"`hereya-tf ([a-z-]+)", hint)]

    assert named
    assert set(named) <= set(COMMANDS)
