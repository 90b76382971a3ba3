"""Every row of what was measured of engines' failures: words in, class and exit code and init out."""

import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import FailureClass
from hereya_tf.failure import rules, vocabulary
from hereya_tf.failure.diagnosis import Diagnosis, diagnose
from hereya_tf.failure.rule import Rule
from hereya_tf.failure.state_rules import LOSS_RULES
from hereya_tf.stream.message_types import Diagnostic, Range
from hereya_tf.stream.summary import Summary, succeeded
from tests.streams import ENGINES, Recording, exit_code

OLD, NEW = ENGINES
SIGKILL = 9


class Expected(NamedTuple):
    """What a failure comes to; the exit code is that of the run."""

    failure_class: FailureClass
    exit_code: int
    needs_init: bool = False


class Said(NamedTuple):
    """What a step said, and how it ended."""

    errors: Sequence[Diagnostic] = ()
    exit_code: int | None = 1
    signal: int | None = None
    stderr: str = ""
    failed: Sequence[str] = ()
    out_of_memory: bool = False
    engine: str = "terraform"

    @property
    def diagnosis(self) -> Diagnosis:
        return diagnose(
            self.errors,
            exit_code=self.exit_code,
            signal=self.signal,
            stderr=self.stderr,
            engine_name=self.engine,
            out_of_memory=self.out_of_memory,
            failed=self.failed,
        )


class Case(NamedTuple):
    """One way in which a row shows; nothing is expected of what an engine accepts."""

    name: str
    said: Said
    expected: Expected | None
    recording: Recording | None = None


def recorded(case: str, expected: Expected | None, *engines: str) -> Iterator[Case]:
    """What real engines have said, both unless named."""
    for engine in engines or ENGINES:
        recording = Recording(engine, case)
        assert recording.lines, f"{recording.id} is no recording"
        summary = Summary()
        for message in recording.messages:
            summary.add(message)
        said = Said(
            tuple(summary.errors), exit_code(recording), None, recording.stderr, tuple(summary.failed)
        )
        yield Case(recording.id, said, expected, recording)


def human(case: str, expected: Expected, code: int = 1) -> Iterator[Case]:
    """The same of a command without messages."""
    for engine in ENGINES:
        recording = Recording(engine, case)
        assert recording.stderr, f"{recording.id} is no recording"
        yield Case(recording.id, Said(exit_code=code, stderr=recording.stderr), expected)


def tofu(expected: Expected, summary: str, detail: str = "", place: str | None = None) -> Iterator[Case]:
    """OpenTofu's words, from its sources."""
    where = None if place is None else Range(place, 1, 1, 1, 2)
    said = Said((Diagnostic("error", summary, detail, None, where),), engine="tofu")
    yield Case(f"tofu: {summary[:40]}", said, expected)


def built(name: str, expected: Expected, said: Said) -> Iterator[Case]:
    """What cannot be recorded at will."""
    yield Case(name, said, expected)


def words(summary: str, detail: str = "", address: str | None = None) -> Said:
    return Said((Diagnostic("error", summary, detail, address),))


MISSING = Expected(FailureClass.MISSING_VARIABLE, 1)
INVALID_VALUE = Expected(FailureClass.INVALID_VARIABLE, 1)
CONFIGURATION = Expected(FailureClass.INVALID_CONFIGURATION, 1)
VERSION = Expected(FailureClass.UNSUPPORTED_VERSION, 1)
NO_PROVIDER = Expected(FailureClass.PROVIDER_UNAVAILABLE, 1)
CHECKSUM = Expected(FailureClass.PROVIDER_CHECKSUM, 1)
MODULE = Expected(FailureClass.MODULE_UNAVAILABLE, 1)
NOT_INITIALISED = Expected(FailureClass.BACKEND_NOT_INITIALISED, 1)
CHANGED = Expected(FailureClass.BACKEND_CHANGED, 1)
UNREACHABLE = Expected(FailureClass.BACKEND_UNREACHABLE, 1)
CREDENTIALS = Expected(FailureClass.CREDENTIALS, 1)
LOCKED = Expected(FailureClass.STATE_LOCKED, 4)
CORRUPT = Expected(FailureClass.STATE_CORRUPT, 3)
NOT_SAVED = Expected(FailureClass.STATE_NOT_SAVED, 1)
NOT_RELEASED = Expected(FailureClass.LOCK_NOT_RELEASED, 1)
NO_WORKSPACE = Expected(FailureClass.WORKSPACE_UNKNOWN, 1)
CONDITION = Expected(FailureClass.PRECONDITION_FAILED, 1)
PREVENTED = Expected(FailureClass.PREVENTED_DESTROY, 1)
PROVISIONER = Expected(FailureClass.PROVISIONER_FAILED, 1)
PROVIDER = Expected(FailureClass.PROVIDER_ERROR, 1)
PROVIDER_GONE = Expected(FailureClass.PROVIDER_CRASHED, 1)
ENGINE_GONE = Expected(FailureClass.ENGINE_CRASHED, 1)
DISK = Expected(FailureClass.DISK_FULL, 1)
MEMORY = Expected(FailureClass.OUT_OF_MEMORY, 1)
STALE = Expected(FailureClass.PLAN_STALE, 3)
MISMATCH = Expected(FailureClass.PLAN_MISMATCH, 3)
INPUT = Expected(FailureClass.BAD_INPUT, 3)
PROMPT = Expected(FailureClass.PROMPT, 1)
UNKNOWN = Expected(FailureClass.ENGINE_ERROR, 1)
ACCEPTED = None


def after_init(expected: Expected) -> Expected:
    return expected._replace(needs_init=True)


LOCK = "Error acquiring the state lock"
GONE = "The plugin6.(*GRPCProvider).ApplyResourceChange request was cancelled."
NO_ROOM = "no space left on device"
GO_PANIC = f"panic: write /tmp/plugin: {NO_ROOM}\n\ngoroutine 1 [running]:\n"
OUT_OF_MEMORY_IN_PLUGIN = (
    "Stack trace from the terraform-provider-lab_v1.0.0 plugin:\n\nfatal error: runtime: out of memory\n\n"
    "Error: The terraform-provider-lab_v1.0.0 plugin crashed!\n"
)

# The rows of the table of failure classes, in its order; what follows it in prose stands at the end.
ROWS: Mapping[str, Sequence[Iterator[Case]]] = {
    "missing variable": (
        recorded("missing-variable", MISSING),
        tofu(MISSING, "Variable not provided via -var, tfvars files, or env"),
    ),
    "undeclared, -var": (recorded("undeclared-var", INVALID_VALUE),),
    "undeclared, var-file or *.tfvars": (recorded("undeclared-var-file", ACCEPTED),),
    "undeclared, TF_VAR_": (recorded("undeclared-environment", ACCEPTED),),
    "var-file missing / bad JSON": (
        recorded("var-file-missing", INVALID_VALUE),
        recorded("var-file-bad", INVALID_VALUE),
        recorded("plan-var-file-missing", INVALID_VALUE),
    ),
    "wrong type": (recorded("wrong-type", INVALID_VALUE), recorded("value-literal", INVALID_VALUE)),
    "validation block": (recorded("validation", INVALID_VALUE),),
    "HCL syntax": (
        recorded("syntax", CONFIGURATION),
        recorded("syntax-plan", CONFIGURATION),
        recorded("argument", CONFIGURATION),
        recorded("invalid-function", CONFIGURATION),
        recorded("invalid-index", CONFIGURATION),
    ),
    "duplicate resource": (recorded("duplicate", CONFIGURATION),),
    "undeclared reference": (recorded("undeclared-reference", CONFIGURATION),),
    "cycle": (recorded("cycle", CONFIGURATION),),
    "sensitive output not marked": (recorded("sensitive-output", CONFIGURATION),),
    "required_version": (
        recorded("core-version", VERSION),
        recorded("core-version-plan", VERSION),
        tofu(VERSION, "Unsupported OpenTofu Core version", place="main.tf"),
    ),
    "registry unreachable / provider unknown / no such version": (
        recorded("registry-unreachable", NO_PROVIDER),
        recorded("provider-unknown", NO_PROVIDER),
        recorded("provider-version", NO_PROVIDER),
        tofu(
            NO_PROVIDER,
            "Failed to resolve provider packages",
            "Could not resolve provider hashicorp/null: could not connect to registry.opentofu.org",
        ),
    ),
    "lock-file checksum": (
        recorded("init-checksum", CHECKSUM),
        *(
            built(
                told,
                CHECKSUM,
                words("Failed to install provider", f"Error while installing a/b v1.0.0: {told}"),
            )
            for told in (
                "checksum list has no SHA-256 hash for",
                "archive has incorrect checksum zh:1 (expected zh:2)",
                "authentication signature from unknown issuer",
                "error checking signature: openpgp: invalid",
                "provider a/b 1.0.0 for linux_amd64 is not signed",
            )
        ),
    ),
    "-lockfile=readonly, lock must change": (recorded("lock-file-readonly", CHECKSUM),),
    "provider not selected in lock file": (recorded("lock-file-inconsistent", after_init(NO_PROVIDER)),),
    ".terraform gone or binary altered": (
        recorded("plugins-missing", after_init(NO_PROVIDER)),
        recorded("plugins-checksum", after_init(CHECKSUM)),
    ),
    "module not installed": (recorded("module-not-installed", after_init(MODULE)),),
    "module missing (local)": (recorded("module-missing", MODULE),),
    "module registry unreachable": (recorded("module-registry", MODULE),),
    "module git failure": (recorded("module-git", MODULE), recorded("module-http", MODULE)),
    "backend not initialised": (
        recorded("backend-uninitialised", after_init(NOT_INITIALISED)),
        human("human-plan-uninitialised", after_init(NOT_INITIALISED)),
        tofu(
            after_init(NOT_INITIALISED),
            'Backend initialization required, please run "tofu init"',
            'Reason: Initial configuration of the requested backend "local"',
        ),
    ),
    "backend changed, plan": (
        recorded("backend-changed-plan", after_init(CHANGED)),
        recorded("backend-removed-plan", after_init(CHANGED)),
        tofu(
            after_init(CHANGED),
            'Backend initialization required: please run "tofu init"',
            "Reason: Backend configuration block has changed",
        ),
    ),
    "backend changed, init": (
        recorded("backend-changed-init", CHANGED),
        recorded("backend-removed-init", CHANGED),
        recorded("backend-migration-init", CHANGED),
    ),
    "unknown backend": (recorded("backend-unknown", CONFIGURATION),),
    "backend auth / down": (
        recorded("http-auth", CREDENTIALS),
        recorded("http-auth-init", CREDENTIALS),
        recorded("http-forbidden", CREDENTIALS),
        recorded("http-down", UNREACHABLE),
        recorded("http-down-init", UNREACHABLE),
        recorded("http-get-failed", UNREACHABLE),
        recorded("s3-credentials", CREDENTIALS),
        recorded("gcs-settings", CREDENTIALS),
        recorded("azurerm-credentials", CREDENTIALS, NEW),
        recorded("kubernetes-settings", CREDENTIALS),
    ),
    "a backend's setting missing": (
        recorded("http-address-init", CONFIGURATION),
        recorded("http-address-later", CONFIGURATION),
        recorded("s3-settings", CONFIGURATION),
        recorded("s3-region", CONFIGURATION),
        recorded("azurerm-settings", CONFIGURATION, OLD),
    ),
    "the data directory's own file broken": (
        recorded("data-directory-corrupt-plan", NOT_INITIALISED),
        recorded("data-directory-corrupt-cloud-init", NOT_INITIALISED),
        built("a directory", NOT_INITIALISED, words("Failed to load state: read x: is a directory")),
        built(
            "not that", UNREACHABLE, words("Failed to load state: read tcp 1.2.3.4:5432: connection reset")
        ),
    ),
    "state lock held": (recorded("state-locked", LOCKED), recorded("http-locked", LOCKED)),
    "same summary, other causes": (
        recorded("state-corrupt", CORRUPT),
        recorded("state-format-5", VERSION),
        recorded("directory-read-only", UNKNOWN),
        recorded("http-lock-down", UNREACHABLE),
        built("full", DISK, words(LOCK, f"Error message: open .terraform.tfstate.lock.info: {NO_ROOM}")),
        built("refused", CREDENTIALS, words(LOCK, "Error message: https response error StatusCode: 403")),
        built("unheard of", UNKNOWN, words(LOCK, "Error message: what no backend has said before")),
    ),
    "lock of a dead process": (
        recorded("lock-of-the-dead", ACCEPTED),
        human("human-force-unlock-local", UNKNOWN),
        tofu(
            LOCKED, LOCK, "Error message: HTTP remote state already locked: ID=1111\nLock Info:\n  ID: 1111"
        ),
    ),
    "unlock failed": (recorded("http-unlock-failed", NOT_RELEASED),),
    "state newer": (recorded("state-newer", ACCEPTED),),
    "empty state file": (recorded("state-empty", ACCEPTED),),
    "provisioner failed": (recorded("apply-provisioner-failed", PROVISIONER),),
    "pre/postcondition": (
        recorded("precondition", CONDITION),
        recorded("postcondition", CONDITION),
        recorded("output-precondition", CONDITION),
    ),
    "check block": (recorded("check", ACCEPTED),),
    "prevent_destroy": (
        recorded("prevent-destroy", PREVENTED),
        tofu(PREVENTED, "Resource instance cannot be destroyed", place="main.tf"),
    ),
    "provider error": (
        recorded("lab-create-failed", PROVIDER),
        recorded("lab-read-failed", PROVIDER),
        recorded("lab-data-failed", PROVIDER),
        recorded("lab-configure-failed", PROVIDER),
        recorded("lab-delete-failed", PROVIDER),
        recorded("lab-argument-missing", CONFIGURATION),
        built("of a question", PROVIDER, words("Odd", "console: input is disabled", "x.a")),
        built("of a file's format", PROVIDER, words("Odd", "it uses format version 5", "x.a")),
        built(
            "of a checksum",
            PROVIDER,
            words("Odd", "x does not match any of the checksums recorded in y", "x.a"),
        ),
    ),
    "provider crashed": (
        recorded("lab-crashed", PROVIDER_GONE),
        recorded("lab-killed", PROVIDER_GONE),
        built("the other words", PROVIDER_GONE, words("Request cancelled", GONE)),
    ),
    "provider cannot start": (recorded("lab-too-many-files", PROVIDER_GONE),),
    "saved plan stale": (
        recorded("plan-stale", STALE),
        recorded("plan-lineage", STALE),
        recorded("plan-workspace", MISMATCH, OLD),
    ),
    "plan of another workspace": (
        recorded("plan-workspace", MISMATCH, NEW),
        recorded("plan-workspace-empty", ACCEPTED, OLD),
    ),
    "plan of another version": (recorded("plan-version", MISMATCH),),
    "not a plan file": (recorded("not-a-plan", MISMATCH), recorded("plan-missing", MISMATCH)),
    "configuration changed after plan": (recorded("plan-configuration-changed", ACCEPTED),),
    "-var with plan file": (
        recorded("plan-undeclared", INVALID_VALUE),
        recorded("plan-variable-other", MISMATCH),
        recorded("plan-variable-environment", ACCEPTED),
        recorded("ephemeral", MISSING),
    ),
    "workspace select unknown": (human("human-workspace-unknown", NO_WORKSPACE),),
    "workspace, others": (
        human("human-workspace-default-exists", UNKNOWN),
        human("human-workspace-not-allowed", INPUT),
        human("human-workspace-active", UNKNOWN),
        human("human-workspace-not-empty", UNKNOWN),
        human("human-workspace-overridden", INPUT),
        built("none", NO_WORKSPACE, words('Currently selected workspace "ghost" does not exist')),
    ),
    "partial apply": (recorded("lab-create-failed", PROVIDER),),
    "state save failed": (recorded("http-save-failed", NOT_SAVED),),
    "cwd full too": (recorded("disk-full", NOT_SAVED),),
    "existing errored.tfstate": (
        recorded("errored-state-overwritten", NOT_SAVED),
        recorded("errored-state-broken", NOT_SAVED),
    ),
    "local disk full leaves": (recorded("state-truncated", CORRUPT),),
    "read-only directory": (
        recorded("directory-read-only", UNKNOWN),
        recorded("directory-read-only-first-init", UNKNOWN),
        recorded("directory-read-only-init", ACCEPTED),
        recorded("directory-read-only-unlocked", ACCEPTED),
    ),
    "tofu encryption": (
        tofu(CONFIGURATION, "encountered unencrypted payload without unencrypted method configured"),
        tofu(CREDENTIALS, "Error", "error loading state: decryption failed for all provided methods: x"),
        tofu(CREDENTIALS, "Unable to fetch encryption key data"),
        tofu(
            CONFIGURATION,
            "error loading state: Unable to decode encrypted metadata (did you change your encryption config?)",
        ),
    ),
    "tofu destroy that forgets": (
        tofu(UNKNOWN, "Destroy was successful but left behind forgotten instances"),
    ),
    "--target with a pending move": (recorded("moved-target", CONFIGURATION),),
    "questions": (
        recorded("no-approve", PROMPT),
        built("no answer", PROMPT, words("Error asking for approval", "EOF")),
        tofu(PROMPT, "Failed to load variable", "input is disabled"),
    ),
    "options": (
        recorded("bad-flag", INPUT),
        human("human-bad-flag", INPUT),
        human("human-cli-args", INPUT),
        human("human-reattach", INPUT),
        human("human-unknown-command", UNKNOWN),
        human("human-chdir", UNKNOWN),
    ),
    "interrupted": (
        recorded("apply-interrupted", PROVISIONER),
        recorded("apply-interrupted-twice", UNKNOWN),
    ),
    "disk full": (
        recorded("disk-full-init", DISK),
        built("git", DISK, words("Failed to download module", "fatal: write error: No space left on device")),
        built(
            "a provider's file", DISK, words("Create local file error", f"open x: {NO_ROOM}", "local_file.x")
        ),
        built("a panic", DISK, words("Plugin did not respond")._replace(stderr=GO_PANIC)),
        built("a line of the engine", DISK, Said(stderr=f"Error writing to disk: write x: {NO_ROOM}\n")),
        built("quota", DISK, words("Odd", "write x: disk quota exceeded")),
        built("the state", NOT_SAVED, words("Failed to save state", NO_ROOM)._replace(stderr=GO_PANIC)),
    ),
    "exit code 11": (
        recorded("core-panic", ENGINE_GONE),
        built("OpenTofu's", ENGINE_GONE, Said(exit_code=11, stderr="OPENTOFU CRASH", engine="tofu")),
    ),
    "exit code 2, and every Go runtime fatal": (
        human("out-of-memory", MEMORY, code=2),
        built("deadlock", ENGINE_GONE, Said(exit_code=2, stderr="fatal error: all goroutines are asleep\n")),
        built("SIGQUIT", ENGINE_GONE, Said(exit_code=2, stderr="SIGQUIT: quit\nPC=0x47a221 m=0 sigcode=0\n")),
        built(
            "a provider's", MEMORY, words("Plugin did not respond")._replace(stderr=OUT_OF_MEMORY_IN_PLUGIN)
        ),
        built("no words", UNKNOWN, Said(exit_code=2)),
    ),
    "killed": (
        built("not by the system", ENGINE_GONE, Said(exit_code=None, signal=SIGKILL)),
        built("for memory", MEMORY, Said(exit_code=None, signal=SIGKILL, out_of_memory=True)),
        built("for memory, in a shell", MEMORY, Said(exit_code=137, out_of_memory=True)),
        built("in a shell", ENGINE_GONE, Said(exit_code=137)),
        built("a provider, for memory", MEMORY, words("Plugin did not respond")._replace(out_of_memory=True)),
        built(
            "a command, for memory",
            PROVISIONER,
            words("local-exec provisioner error", "signal: killed")._replace(out_of_memory=True),
        ),
        built("something else, for memory", PROVIDER, words("Odd", "", "a.b")._replace(out_of_memory=True)),
        built("SIGHUP", ENGINE_GONE, Said(exit_code=None, signal=signal.SIGHUP)),
        built("SIGPIPE, in a shell", ENGINE_GONE, Said(exit_code=141)),
    ),
    "no command": (built("no command", UNKNOWN, Said(exit_code=127)),),
    "nothing said": (built("nothing said", UNKNOWN, Said()),),
}
CASES = [
    pytest.param(case, id=f"{row}: {case.name}")
    for row, groups in ROWS.items()
    for group in groups
    for case in group
]


@pytest.mark.parametrize("case", CASES)
def test_a_row_of_the_table(case: Case) -> None:
    if case.expected is None:
        assert case.recording is not None
        summary = Summary()
        for message in case.recording.messages:
            summary.add(message)
        assert succeeded(case.said.exit_code, summary)
        return
    found = case.said.diagnosis

    assert case.expected == (found.failure_class, found.failure_class.exit_code, found.needs_init)
    assert found.hints


@pytest.mark.parametrize("case", CASES)
def test_the_same_in_opentofu_s_name_is_the_same(case: Case) -> None:
    def renamed(text: str) -> str:
        return text.replace("Terraform", "OpenTofu").replace("TERRAFORM", "OPENTOFU")

    said = case.said._replace(
        errors=tuple(
            error._replace(summary=renamed(error.summary), detail=renamed(error.detail))
            for error in case.said.errors
        ),
        stderr=renamed(case.said.stderr),
        engine="tofu",
    )

    assert said.diagnosis[0] is case.said.diagnosis[0]
    assert said.diagnosis[3:5] == case.said.diagnosis[3:5]


def test_every_class_that_a_step_may_have_has_a_case() -> None:
    refusals = {FailureClass.BAD_INPUT, *(expected.failure_class for expected in (STALE, MISMATCH, CORRUPT))}
    of_steps = {FailureClass.STATE_LOCKED, *refusals} | {each for each in FailureClass if each.exit_code == 1}
    shown = {case.values[0].expected for case in CASES}  # type: ignore[union-attr]

    assert of_steps == {expected.failure_class for expected in shown if expected is not None}
    assert of_steps == set(rules.PRIORITY)


# -- words of somebody else's


def _known_words() -> list[str]:
    tables: tuple[Rule, ...] = (*rules.QUOTING_RULES, *LOSS_RULES, *rules.RULES)
    lists = (
        vocabulary.BACKEND_SUMMARIES,
        vocabulary.LOCK_HELD,
        vocabulary.CREDENTIALS,
        vocabulary.BACKEND_REFUSALS,
        vocabulary.NETWORK,
        vocabulary.THROTTLING,
        vocabulary.NO_SPACE,
        vocabulary.MEMORY,
    )
    return [
        *(word for words in lists for word in words),
        *(word for rule in tables for word in (*rule.summaries, *rule.holds) if word),
    ]


KNOWN = _known_words()
# What engines take for a name: of a resource, a module, a variable.
NAMES = st.sampled_from(
    sorted({"".join(c if c.isalnum() and c.isascii() else "_" for c in word).strip("_") for word in KNOWN})
)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        pytest.param(
            Diagnostic(
                "error", "local-exec provisioner error", "Error running command '{}': exit 1. Output: {}"
            ),
            FailureClass.PROVISIONER_FAILED,
            id="a command and its output",
        ),
        pytest.param(
            Diagnostic("error", "Resource precondition failed", "{}", "a.b", Range("main.tf", 1, 1, 1, 1)),
            FailureClass.PRECONDITION_FAILED,
            id="an author's message",
        ),
        pytest.param(
            Diagnostic(
                "error", "Invalid value for variable", "{}\n\nThis was checked by the validation rule"
            ),
            FailureClass.INVALID_VARIABLE,
            id="an author's message on a variable",
        ),
        pytest.param(
            Diagnostic("error", LOCK, "Error message: nobody has said so\nLock Info:\n  Who: {}\n"),
            FailureClass.STATE_LOCKED,
            id="a user who holds the lock",
        ),
    ],
)
@given(word=st.sampled_from(KNOWN) | st.text(max_size=20))
def test_what_is_quoted_changes_no_class(template: Diagnostic, expected: FailureClass, word: str) -> None:
    said = Said((template._replace(detail=template.detail.replace("{}", word)),))

    assert said.diagnosis.failure_class is expected


PLACE = Range("main.tf", 1, 1, 1, 2)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        (
            Diagnostic(
                "error", "Reference to undeclared resource", 'A resource "x" "{}" has not', None, PLACE
            ),
            FailureClass.INVALID_CONFIGURATION,
        ),
        (
            Diagnostic("error", 'Duplicate resource "{}" configuration', 'A "{}" was declared', None, PLACE),
            FailureClass.INVALID_CONFIGURATION,
        ),
        (
            Diagnostic(
                "error", "Unsupported argument", 'An argument named "{}" is not expected', "{}", PLACE
            ),
            FailureClass.INVALID_CONFIGURATION,
        ),
        (Diagnostic("error", "Cycle: x.{}, module.{}"), FailureClass.INVALID_CONFIGURATION),
        (
            Diagnostic(
                "error", "No value for required variable", 'The variable "{}" is not set', None, PLACE
            ),
            FailureClass.MISSING_VARIABLE,
        ),
        (
            Diagnostic(
                "error", "Invalid value for input variable", "Unsuitable value for var.{}", None, PLACE
            ),
            FailureClass.INVALID_VARIABLE,
        ),
        (
            Diagnostic("error", "Value for undeclared variable", 'A variable named "{}" was assigned'),
            FailureClass.INVALID_VARIABLE,
        ),
        (
            Diagnostic("error", "Module not installed", 'The module "{}" is not yet installed', None, PLACE),
            FailureClass.MODULE_UNAVAILABLE,
        ),
        (
            Diagnostic("error", "Failed to download module", 'Could not download "{}" from "git::x/{}"'),
            FailureClass.MODULE_UNAVAILABLE,
        ),
        (
            Diagnostic("error", "Unreadable module directory", "lstat {}: no such file or directory"),
            FailureClass.MODULE_UNAVAILABLE,
        ),
        (
            Diagnostic("error", "Failed to query available provider packages", "for provider {}/{}: no"),
            FailureClass.PROVIDER_UNAVAILABLE,
        ),
        (
            Diagnostic("error", "Failed to install provider", "Error while installing {}/{} v1.0.0: odd"),
            FailureClass.PROVIDER_UNAVAILABLE,
        ),
        (
            Diagnostic(
                "error", "Instance cannot be destroyed", "Resource x.{} has prevent_destroy", None, PLACE
            ),
            FailureClass.PREVENTED_DESTROY,
        ),
        (Diagnostic("error", 'Workspace "{}" doesn\'t exist.'), FailureClass.WORKSPACE_UNKNOWN),
        (
            Diagnostic("error", "Failed to get state: GET http://host/{}/x giving up", "connection refused"),
            FailureClass.BACKEND_UNREACHABLE,
        ),
        (Diagnostic("error", "Plugin did not respond", "The plugin", "x.{}"), FailureClass.PROVIDER_CRASHED),
        (Diagnostic("error", "Odd", "so odd", "x.{}", PLACE), FailureClass.PROVIDER_ERROR),
    ],
    ids=lambda value: value.summary if isinstance(value, Diagnostic) else str(value),
)
@given(name=NAMES)
def test_a_name_changes_no_class(template: Diagnostic, expected: FailureClass, name: str) -> None:
    def named(text: str) -> str:
        return text.replace("{}", name)

    found = Said(
        (
            template._replace(
                summary=named(template.summary),
                detail=named(template.detail),
                address=template.address and named(template.address),
            ),
        )
    ).diagnosis

    assert found.failure_class is expected


# Each letter becomes a Cyrillic one: nothing that is known can be among them by chance.
UNKNOWN_TEXTS = st.text().map(
    lambda text: "".join(chr(0x400 + ord(sign) % 0x100) if sign.isalpha() else sign for sign in text)
)


@given(UNKNOWN_TEXTS, UNKNOWN_TEXTS, UNKNOWN_TEXTS)
def test_what_nobody_knows_is_an_engine_error(summary: str, detail: str, stderr: str) -> None:
    said = Said((Diagnostic("error", summary, detail),), stderr=stderr)

    assert said.diagnosis.failure_class is FailureClass.ENGINE_ERROR
    assert said._replace(errors=()).diagnosis.failure_class is FailureClass.ENGINE_ERROR
