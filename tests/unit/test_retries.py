"""Which failures are tried again, how often and after how long, and how that is told."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.cli.option_table import every_option
from hereya_tf.cli.settings import read_settings
from hereya_tf.engine.commands import (
    EngineOptions,
    Step,
    applies_saved_plan,
    apply_arguments,
    apply_plan_arguments,
)
from hereya_tf.errors import BadConfig, Cancelled, FailureClass
from hereya_tf.failure.advice import AGAIN
from hereya_tf.failure.diagnosis import Diagnosis, Symptom, diagnose
from hereya_tf.inputs.project_file import read_project_file
from hereya_tf.operations.execution import TRIED_AGAIN
from hereya_tf.report.html import html_report
from hereya_tf.report.junit import junit_report
from hereya_tf.report.markdown import markdown_report
from hereya_tf.report.story import Story
from hereya_tf.report.text import text_report
from hereya_tf.report.timeline import Kind, make_timeline
from hereya_tf.retries import NO_RETRIES, Retries, RetryRule, Situation
from hereya_tf.retries.decision import FACTOR, FIRST_SECONDS, MOST_SECONDS, Verdict, decide, seconds_before
from hereya_tf.retries.retrying import Retrying, any_chance
from hereya_tf.retries.rules import NEVER, RULES, may_pass
from hereya_tf.stream.message_types import Diagnostic, Range
from hereya_tf.ui.ci.folding import FoldingLines
from hereya_tf.ui.ci.github import MARKS
from hereya_tf.ui.frame import frame
from hereya_tf.ui.narrative import Moment, Narrative
from hereya_tf.ui.plain import PlainLines
from hereya_tf.ui.progress import Progress
from hereya_tf.ui.styled import Line
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.run_log import Log, error

PLACE = Range("main.tf", 1, 1, 1, 9)
LOCK_SUMMARY = "Error acquiring the state lock"
ASKED = Retries(3)
NOTHING_DONE = Situation()


def said(
    summary: str, detail: str = "", address: str | None = None, place: Range | None = None
) -> Diagnostic:
    return Diagnostic("error", summary, detail, address, place)


def diagnosis(*errors: Diagnostic, stderr: str = "", failed: Sequence[str] = ()) -> Diagnosis:
    return diagnose(errors, exit_code=1, signal=None, stderr=stderr, failed=failed)


def verdict(
    *errors: Diagnostic, wish: Retries = ASKED, at: Situation = NOTHING_DONE, retried: int = 0
) -> Verdict:
    return decide(diagnosis(*errors), at, wish, retried=retried)


# -- which failures may pass

QUERY = "Failed to query available provider packages"
INSTALL = "Failed to install provider"
MODULE = "Failed to download module"
REGISTRY = "Could not retrieve the list of available versions for provider hashicorp/aws: "
SOURCE = 'Could not download module "vpc" (main.tf:1) source code from "git::https://git.example/vpc.git": '
GIT = (
    SOURCE
    + "error downloading 'https://git.example/vpc.git': /usr/bin/git exited with 128: Cloning into 'x'... "
)
RETRY_LATER = (
    "could not query provider registry for registry.terraform.io/a/b: the request failed after 2 attempts, "
)

PASSING = {
    "registry, headers": said(
        QUERY,
        REGISTRY + "could not connect to registry.terraform.io: failed to request discovery document: Get"
        ' "https://registry.terraform.io/.well-known/terraform.json": context deadline exceeded'
        " (Client.Timeout exceeded while awaiting headers)",
    ),
    "registry, handshake": said(
        QUERY,
        REGISTRY + "could not connect to registry.terraform.io: Failed to request discovery document: Get"
        ' "https://registry.terraform.io/.well-known/terraform.json": net/http: TLS handshake timeout',
    ),
    "registry, 502": said(
        QUERY,
        REGISTRY + "could not connect to x.example: failed to request discovery document: 502 Bad Gateway",
    ),
    "registry, tofu": said(
        "Failed to resolve provider packages",
        "Could not resolve provider a/b: could not connect to registry.opentofu.org: failed to"
        " request discovery"
        " document: 503 Service Unavailable",
    ),
    "registry, name": said(
        QUERY, REGISTRY + 'Get "https://x/": dial tcp: lookup x on 10.0.0.2:53: server misbehaving'
    ),
    "registry, checksums": said(
        INSTALL,
        "Error while installing x.example/a/b v1.0.0: could not query provider registry for x.example/a/b:"
        " failed to retrieve authentication checksums for provider: the request failed after 2"
        " attempts, please try again later: 500 Internal Server Error returned from x.example",
    ),
    "registry, signature": said(
        INSTALL,
        "Error while installing x.example/a/b v1.0.0: could not query provider registry for x.example/a/b:"
        " failed to retrieve cryptographic signature for provider: the request failed after 2"
        " attempts, please try again later: 503 Service Unavailable returned from x.example",
    ),
    "registry, closed": said(
        QUERY,
        REGISTRY + "could not connect to x.example: failed to request discovery document: Get"
        ' "https://x.example/.well-known/terraform.json": EOF',
    ),
    "package, closed": said(
        INSTALL, 'Error while installing a/b v1.0.0: x.example: Get "https://x.example/b.zip": EOF'
    ),
    "module, closed": said(MODULE, SOURCE + 'Get "https://git.example/m.zip?archive=zip": EOF.'),
    "provider's archive": said(
        INSTALL,
        'Error while installing a/b v1.0.0: github.com: Get "https://x/": read tcp'
        " 10.0.0.1:1->10.0.0.2:443: read:"
        " connection reset by peer",
    ),
    "provider's archive is being written": said(
        INSTALL, "Error while installing hashicorp/external v2.3.1: open /cache/x_v2.3.1_x5: text file busy"
    ),
    "module registry": said(
        "Error accessing remote module registry",
        'Failed to retrieve available versions for module "vpc" (main.tf:1) from'
        " registry.terraform.io: failed to"
        " request discovery document: 503 Service Unavailable.",
        place=PLACE,
    ),
    "module, git's name": said(
        MODULE, GIT + "fatal: unable to access: Could not resolve host: x", place=PLACE
    ),
    "module, git's server": said(
        MODULE, GIT + "error: RPC failed; HTTP 502 curl 22 The requested URL returned error: 502", place=PLACE
    ),
    "module, git hung up": said(
        MODULE, GIT + "fatal: the remote end hung up unexpectedly fatal: early EOF", place=PLACE
    ),
    "module, ssh": said(
        MODULE,
        GIT
        + "kex_exchange_identification: Connection closed by remote host fatal: Could not read from remote",
        place=PLACE,
    ),
    "module, archive": said(MODULE, SOURCE + "bad response code: 503.", place=PLACE),
    "module, cut off": said(
        MODULE, SOURCE + "Error opening a gzip reader for /tmp/getter/archive: EOF.", place=PLACE
    ),
    "http": said(
        "error loading state: Failed to get state: GET http://127.0.0.1:1/s giving up after 1 attempt(s)"
    ),
    "http, 1.15": said("Failed to get state: GET http://127.0.0.1:1/s giving up after 1 attempt(s)"),
    "http, 408": said("Error refreshing state: Unexpected HTTP response code 408"),
    "http, lock": said(
        LOCK_SUMMARY, "Error message: Failed to lock: LOCK http://127.0.0.1:1/s giving up after 1 attempt(s)"
    ),
    "s3": said(
        'Error refreshing state: Unable to access object "a" in S3 bucket "b": operation error S3:'
        " HeadObject, https"
        " response error StatusCode: 503, RequestID: X, HostID: Y, api error SlowDown: Please"
        " reduce your request rate."
    ),
    "s3, locks": said(
        LOCK_SUMMARY,
        "Error message: operation error DynamoDB: PutItem, exceeded maximum number of attempts, 5,"
        " https response error"
        " StatusCode: 400, RequestID: X, ProvisionedThroughputExceededException: The level of configured",
    ),
    "s3, lock file": said(
        LOCK_SUMMARY,
        "Error message: operation error S3: PutObject, https response error StatusCode: 503,"
        " RequestID: X, api error"
        " ServiceUnavailable: Reduce",
    ),
    "azurerm": said(
        "Failed to get existing workspaces: containers.Client#ListBlobs: Failure responding to"
        " request: StatusCode=503"
        ' -- Original Error: autorest/azure: Service returned an error. Status=503 Code="ServerBusy"'
    ),
    "azurerm, cut off": said(
        "Failed to get existing workspaces: Get https://x.blob.core.windows.net/y: read tcp"
        " 10.0.0.1:1->10.0.0.2:443:"
        " read: connection reset by peer"
    ),
    "azurerm, keys": said(
        "Error loading state: retrieving keys for Storage Account: unexpected status 429 (429 Too"
        " Many Requests)"
    ),
    "gcs": said(
        "Error loading state: Failed to open state file at gs://b/s: googleapi: got HTTP response code 503"
    ),
    "gcs, list": said(
        "Failed to get existing workspaces: querying Cloud Storage failed: googleapi: Error 503: x,"
        " backendError"
    ),
    "pg": said("pq: sorry, too many clients already"),
    "pg, roles": said('pq: too many connections for role "a"'),
    "pg, starts": said(LOCK_SUMMARY, "Error message: pq: the database system is starting up"),
    "consul": said("Error loading state: Unexpected response code: 500 (No cluster leader)"),
    "cloud": said("Failed to request discovery document: 503 Service Unavailable"),
    "aws": said(
        "reading EC2 Instance",
        "operation error EC2: DescribeInstances, https response error StatusCode: 400, RequestID:"
        " X, api error"
        " RequestLimitExceeded: Request limit exceeded.",
        "aws_instance.a",
        PLACE,
    ),
    "aws, route 53": said("listing", "ThrottlingException: Rate exceeded", "aws_route53_record.a", PLACE),
    "google": said(
        "Error when reading or editing ComputeReservation",
        "googleapi: Error 403: Quota exceeded for quota group 'ReadGroup' and limit 'Read requests"
        " per user per 100"
        " seconds' of service 'compute.googleapis.com', rateLimitExceeded",
        "google_compute_reservation.a",
        PLACE,
    ),
    "azure": said(
        "updating",
        "unexpected status 429 (429 Too Many Requests) with error: RetryableError",
        "azurerm_x.a",
        PLACE,
    ),
    "azure, token": said(
        "building account: could not acquire access token",
        "ManagedIdentityAuthorizer: received HTTP status 429 with body:"
        ' {"error_description":"Temporarily throttled"}',
        None,
        None,
    ),
    "provider, handshake": said("Post", "net/http: TLS handshake timeout", "aws_x.a", PLACE),
    "provider does not start": said(
        "Failed to load plugin schemas", "fork/exec .terraform/providers/x/y_v1.0.0: text file busy"
    ),
    "provider starts slowly": said(
        "Failed to load plugin schemas",
        'failed to instantiate provider "x" to obtain schema: timeout while waiting for plugin to start',
    ),
}
LASTING = {
    "no such provider": said(
        QUERY, REGISTRY + "provider registry x does not have a provider named x/hashicorp/azure"
    ),
    "no such version": said(QUERY, REGISTRY + "no available releases match the given constraints 9.9.9"),
    "no entry": said(
        QUERY, REGISTRY + "could not connect to x: failed to request discovery document: 403 Forbidden"
    ),
    "checksum": said(INSTALL, "the current package doesn't match any of the checksums previously recorded"),
    "no such repository": said(MODULE, GIT + "fatal: repository 'x' not found", place=PLACE),
    "no right to it": said(
        MODULE, GIT + "Host key verification failed. fatal: Could not read from remote", place=PLACE
    ),
    "no such archive": said(MODULE, SOURCE + "bad response code: 404.", place=PLACE),
    "no module of that name": said("Unreadable module directory", "lstat 503: no such file or directory"),
    "no backend of that name": said("Error loading state: HTTP remote state endpoint requires auth"),
    "no bucket": said(
        "Error refreshing state: S3 bucket “throttling” does not exist. StatusCode: 404, NoSuchBucket"
    ),
    "a quota": said("creating", "LimitExceededException: Maximum number of Resources", "aws_x.a", PLACE),
    "a quota of Google's": said(
        "Error creating Instance",
        "googleapi: Error 429: Quota limit 'X' has been exceeded. Limit: 0",
        "g.a",
        PLACE,
    ),
    "an address of the user's": said(
        "Get", "dial tcp 127.0.0.1:80: connect: connection refused", "kubernetes_x.a", PLACE
    ),
    "an address that only looks so": said(
        QUERY, REGISTRY + "https://x.example/serviceunavailable is no registry: no such provider"
    ),
    "configuration": said(
        "Unsupported argument", 'An argument named "slowdown:" is not expected here.', place=PLACE
    ),
    "provisioner": said(
        "local-exec provisioner error", "exit status 1. Output: connection reset by peer", "a.b", PLACE
    ),
    "crash": said(
        "Plugin did not respond", "The plugin encountered an error: connection reset by peer", "a.b", PLACE
    ),
    "an unknown error": said("Odd"),
}


@pytest.mark.parametrize("name", PASSING)
def test_what_may_pass_is_tried_again(name: str) -> None:
    assert verdict(PASSING[name]) == Verdict(1.0)
    assert diagnosis(PASSING[name]).transient is True


@pytest.mark.parametrize("name", LASTING)
def test_what_stays_as_it_is_is_not(name: str) -> None:
    assert verdict(LASTING[name]) == Verdict(None)
    assert diagnosis(LASTING[name]).transient is False


def test_words_on_several_lines_and_in_any_case_are_the_same_words() -> None:
    assert verdict(said(QUERY, REGISTRY + "net/http: tls Handshake\n   timeout")) == Verdict(1.0)


def test_one_error_that_stays_makes_another_try_useless() -> None:
    assert verdict(PASSING["registry, 502"], LASTING["no such provider"]) == Verdict(None)
    assert verdict(PASSING["registry, 502"], PASSING["module, ssh"]) == Verdict(1.0)


def test_what_init_adds_to_its_errors_and_what_follows_from_them_does_not_count() -> None:
    umbrella = said(
        "Terraform encountered problems during initialisation, including problems\nwith the configuration"
    )
    echo = said("Unreadable module directory", "The directory  could not be read for module")

    assert verdict(umbrella, PASSING["module, ssh"], PASSING["module, ssh"], echo) == Verdict(1.0)


def test_what_stands_on_stderr_alone_counts() -> None:
    found = diagnosis(
        stderr="Failed to refresh state: Failed to get state: GET http://x/ giving up after 1 attempt(s)\n"
    )

    assert decide(found, Situation(), ASKED) == Verdict(1.0)


def test_an_engine_that_says_nothing_is_not_started_again() -> None:
    assert decide(diagnosis(), Situation(), ASKED) == Verdict(None)
    assert decide(Diagnosis(FailureClass.ENGINE_ERROR, "without symptoms"), Situation(), ASKED) == Verdict(
        None
    )


def test_where_an_init_is_missing_the_same_again_is_no_use() -> None:
    missing = said(
        "Required plugins are not installed", "there is no package for x cached in .terraform/providers"
    )

    assert verdict(
        missing, wish=Retries(3, rules=(RetryRule(FailureClass.PROVIDER_UNAVAILABLE),))
    ) == Verdict(None)


def test_no_row_of_the_table_is_dead_or_written_so_that_it_fits_nothing() -> None:
    for rule in RULES:
        (text,) = rule.text
        assert text == text.lower()
        assert rule.failure_class is not None
        assert may_pass(rule.failure_class, f"it was {text.upper()} again")


# -- locks come before networks

LOCKED = {
    "dynamodb": said(
        LOCK_SUMMARY,
        "Error message: 2 errors occurred:\n\t* operation error DynamoDB: PutItem, https response"
        " error StatusCode: 400,"
        " RequestID: X, ConditionalCheckFailedException: The conditional request failed\n\t* Unable"
        " to retrieve item"
        " from DynamoDB table: context deadline exceeded, please try again later\n\nLock Info:\n  ID: 1111",
    ),
    "an empty answer": said(
        LOCK_SUMMARY,
        "Error message: 2 errors occurred:\n\t* ConditionalCheckFailedException: The conditional"
        " request failed\n\t*"
        " unexpected EOF",
    ),
    "gcs": said(
        LOCK_SUMMARY,
        'Error message: 2 errors occurred:\n\t* writing "gs://b/default.tflock" failed: googleapi:'
        " Error 412: At least"
        " one of the pre-conditions you specified did not hold., conditionNotMet\n\t* googleapi:"
        " Error 503: backendError",
    ),
    "azurerm": said(
        "Error locking state: Error acquiring the state lock: 2 errors occurred:",
        "* state blob is already locked\n* blob metadata: read: connection reset by peer",
    ),
    "s3, at the same moment": said(
        LOCK_SUMMARY,
        "Error message: operation error S3: PutObject, https response error StatusCode: 409,"
        " RequestID: X, api error"
        " ConditionalRequestConflict: The conditional request cannot succeed",
    ),
    "http": said(LOCK_SUMMARY, "Error message: HTTP remote state already locked: ID=1111, i/o timeout"),
}


@pytest.mark.parametrize("name", LOCKED)
def test_an_error_with_the_words_of_a_lock_and_of_a_network_is_a_locks(name: str) -> None:
    found = diagnosis(LOCKED[name])

    assert (found.failure_class, found.transient) == (FailureClass.STATE_LOCKED, False)
    assert verdict(LOCKED[name], wish=Retries(3, lock=True)) == Verdict(1.0)


@pytest.mark.parametrize("name", LOCKED)
@pytest.mark.parametrize("lock_first", [True, False])
def test_a_locks_error_beside_a_networks_is_what_is_told_and_decides(name: str, lock_first: bool) -> None:
    errors = [LOCKED[name], PASSING["http"]] if lock_first else [PASSING["http"], LOCKED[name]]

    assert diagnosis(*errors).failure_class is FailureClass.STATE_LOCKED
    assert verdict(*errors).seconds is None
    assert verdict(*errors, wish=Retries(3, lock=True)) == Verdict(1.0)


def test_a_held_lock_is_waited_for_when_that_is_asked_for() -> None:
    own = RetryRule(None, ("already locked",))

    assert verdict(LOCKED["http"], wish=Retries(3, rules=(own,))) == Verdict(
        None, hint="`--retry-lock` would try again when the state is locked"
    )


# -- what was done decides


def test_after_a_change_there_is_another_try_only_when_that_is_asked_for() -> None:
    changed = Situation(changed=True)

    refused = verdict(PASSING["aws"], at=changed)
    assert (refused.seconds, refused.note) == (None, "")
    assert refused.hint is not None
    assert "`--retry-apply`" in refused.hint
    assert verdict(PASSING["aws"], at=changed, wish=Retries(3, apply=True)) == Verdict(1.0)


def test_a_saved_plan_is_applied_again_only_while_nothing_is_changed() -> None:
    wish = Retries(3, apply=True)

    assert verdict(PASSING["aws"], at=Situation(applies_plan=True), wish=wish) == Verdict(1.0)
    refused = verdict(PASSING["aws"], at=Situation(changed=True, applies_plan=True), wish=wish)
    assert refused.seconds is None
    assert refused.hint is not None
    assert "nobody has looked at another one" in refused.hint


def test_arguments_tell_whether_a_saved_plan_is_applied(tmp_path: Path) -> None:
    options = EngineOptions()

    for step in (Step.APPLY, Step.DESTROY):
        assert not applies_saved_plan(apply_arguments(options, step))
        assert applies_saved_plan(apply_plan_arguments(options, step, plan=tmp_path))
        eager = EngineOptions(extra={step: ("-auto-approve",)})
        assert applies_saved_plan(apply_plan_arguments(eager, step, plan=tmp_path))


@pytest.mark.parametrize("lost", sorted(NEVER))
def test_where_a_state_is_at_stake_there_is_never_another_try(lost: FailureClass) -> None:
    everything = Retries(9, apply=True, lock=True, rules=(RetryRule(None, ("503",)), RetryRule(lost)))
    found = Diagnosis(
        lost, "", symptoms=(Symptom(lost, "HTTP 503"), Symptom(FailureClass.PROVIDER_ERROR, "503"))
    )

    assert decide(found, Situation(), everything) == Verdict(None)


def test_a_lock_is_not_released_twice() -> None:
    assert set(Step) - TRIED_AGAIN == {Step.TF, Step.LOCK, Step.FORCE_UNLOCK}


def test_a_state_that_could_not_be_saved_is_never_tried_again() -> None:
    lost = (
        said("Failed to save state", "Error saving state: HTTP error: 503"),
        said("Failed to persist state to backend", "The error shown above has prevented"),
    )
    wish = Retries(9, apply=True, lock=True, rules=(RetryRule(None, ("state",)),))

    assert verdict(*lost, wish=wish) == Verdict(None)
    assert verdict(PASSING["http"], at=Situation(state_is_lost=True), wish=wish) == Verdict(None)


def test_without_the_wish_nothing_is_tried_again() -> None:
    assert verdict(PASSING["http"], wish=NO_RETRIES) == Verdict(None)


# -- how often, and how long

CLASSES = st.sampled_from(sorted(FailureClass))
WORDS = st.sampled_from(
    ("HTTP 503", "connection reset by peer", "api error Throttling: x", "nothing", "my own words")
)
SYMPTOMS = st.lists(st.builds(Symptom, CLASSES, WORDS), max_size=3).map(tuple)
WISHES = st.builds(
    Retries,
    st.integers(0, 5),
    apply=st.booleans(),
    lock=st.booleans(),
    rules=st.lists(st.builds(RetryRule, st.none() | CLASSES, st.tuples(WORDS)), max_size=2).map(tuple),
)
SITUATIONS = st.builds(Situation, st.booleans(), st.booleans(), st.booleans())
CHANCES = st.floats(0, 1, exclude_max=True)


@given(retry=st.integers(1, 10**9), chance=CHANCES)
def test_a_wait_is_within_its_bounds(retry: int, chance: float) -> None:
    most = seconds_before(retry, 1.0)

    assert most / 2 <= seconds_before(retry, chance) <= most
    assert FIRST_SECONDS <= most <= MOST_SECONDS


@given(retry=st.integers(1, 1000))
def test_each_wait_may_be_longer_than_the_last_until_none_is(retry: int) -> None:
    now, later = seconds_before(retry, 1.0), seconds_before(retry + 1, 1.0)

    assert later == min(now * FACTOR, MOST_SECONDS)


def test_the_waits_are_these() -> None:
    assert [seconds_before(retry, 1.0) for retry in range(1, 8)] == [2, 4, 8, 16, 32, 60, 60]
    assert [seconds_before(retry, 0.0) for retry in range(1, 8)] == [1, 2, 4, 8, 16, 30, 30]


@given(symptoms=SYMPTOMS, wish=WISHES, at=SITUATIONS, retried=st.integers(0, 9), chance=CHANCES)
def test_never_more_often_than_is_wished_nor_when_it_must_not_be(
    symptoms: tuple[Symptom, ...], wish: Retries, at: Situation, retried: int, chance: float
) -> None:
    found = Diagnosis(FailureClass.ENGINE_ERROR, "", symptoms=symptoms)

    seconds = decide(found, at, wish, retried=retried, chance=chance).seconds

    if seconds is not None:
        assert retried < wish.most
        assert not at.state_is_lost
        assert not at.changed or (wish.apply and not at.applies_plan)
        assert symptoms
        classes = {symptom.failure_class for symptom in symptoms}
        assert not classes & NEVER
        assert FailureClass.STATE_LOCKED not in classes or wish.lock
        assert seconds_before(retried + 1, 0.0) <= seconds <= seconds_before(retried + 1, 1.0)


def test_the_last_failure_says_how_often_it_was_tried() -> None:
    assert verdict(PASSING["http"], retried=2) == Verdict(4.0)
    assert verdict(PASSING["http"], retried=3) == Verdict(None, note="; tried 4 times")


def test_chances_are_numbers_below_one_and_not_always_the_same() -> None:
    chances = [any_chance() for _ in range(50)]

    assert all(0 <= chance < 1 for chance in chances)
    assert len(set(chances)) > 1


# -- waiting


class World:
    """A clock that only waiting moves, and what was told."""

    def __init__(self, wish: Retries) -> None:
        self.now = 0.0
        self.told: list[events.Event] = []
        self.ends_at: float | None = None
        self.retrying = Retrying(
            wish, emit=self.told.append, pause=self.pause, chance=lambda: 0.5, clock=lambda: self.now
        )

    def pause(self, seconds: float) -> None:
        assert 0 < seconds <= 0.1
        self.now += seconds
        if self.ends_at is not None and self.now >= self.ends_at:
            raise Cancelled("asked to")

    def settle(self, *errors: Diagnostic, step: Step = Step.INIT, attempt: int = 1) -> Diagnosis | None:
        return self.retrying.settle(step, attempt, diagnosis(*errors), Situation())


def test_a_wait_is_told_before_it_and_lasts_as_long_as_was_told() -> None:
    world = World(Retries(2))

    assert world.settle(PASSING["http"]) is None
    assert world.now == pytest.approx(1.5)
    assert world.settle(PASSING["http"], attempt=2) is None
    assert world.now == pytest.approx(4.5)
    assert world.told == [
        events.Retry("init", FailureClass.BACKEND_UNREACHABLE, 2, 1.5),
        events.Retry("init", FailureClass.BACKEND_UNREACHABLE, 3, 3.0),
    ]


def test_each_step_has_its_own_tries_however_often_it_is_begun_anew() -> None:
    world = World(Retries(1))

    assert world.settle(PASSING["http"]) is None
    last = world.settle(PASSING["http"], attempt=2)
    assert last is not None
    assert last.sentence.endswith("; tried 2 times")
    assert AGAIN in diagnosis(PASSING["http"]).hints
    assert AGAIN not in last.hints, "that was tried"
    again = world.settle(PASSING["http"], attempt=1)
    assert again is not None
    assert world.settle(PASSING["http"], step=Step.PLAN) is None
    assert len(world.told) == 2


def test_who_ends_the_run_ends_the_wait() -> None:
    world = World(Retries(1))
    world.ends_at = 0.3

    with pytest.raises(Cancelled):
        world.settle(PASSING["http"])

    assert world.now == pytest.approx(0.3)


def test_why_there_is_no_other_try_is_the_first_hint() -> None:
    world = World(Retries(1))

    found = world.settle(LOCKED["http"])

    assert found is not None
    assert found.hints[0] == "`--retry-lock` would try again when the state is locked"
    assert found.hints[1:] == diagnosis(LOCKED["http"]).hints
    assert world.told == []


def test_without_the_wish_a_diagnosis_stays_as_it_is() -> None:
    found = diagnosis(PASSING["http"])

    assert World(NO_RETRIES).retrying.settle(Step.INIT, 1, found, Situation()) is found


# -- the user's own rules


def test_a_rule_of_the_users_adds_to_the_table() -> None:
    flaky = said("The record is not ready", "It is  at\n/x, behind https://api.example/v1.", "a.b", PLACE)
    fitting = (
        RetryRule(None, ("not READY",)),
        RetryRule(FailureClass.PROVIDER_ERROR),
        RetryRule(FailureClass.PROVIDER_ERROR, ("is not ready", "it is at /x")),
        RetryRule(None, ("https://api.example",)),
    )
    others = (
        RetryRule(FailureClass.CREDENTIALS, ("not ready",)),
        RetryRule(None, ("not ready", "never")),
    )

    for rule in fitting:
        assert verdict(flaky, wish=Retries(3, rules=(*others, rule))) == Verdict(1.0), rule
    assert verdict(flaky, wish=Retries(3, rules=others)) == Verdict(None)
    assert verdict(PASSING["http"], wish=Retries(3, rules=others)) == Verdict(1.0)


def test_a_rule_may_name_either_engine() -> None:
    rule = RetryRule(None, ("OpenTofu had a hiccup",))

    assert verdict(said("OpenTofu had a hiccup"), wish=Retries(1, rules=(rule,))) == Verdict(1.0)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "config"
    directory.mkdir()
    monkeypatch.setenv("HEREYA_TF_CONFIG_DIR", str(directory))
    return directory / "config.toml"


def read_rules() -> tuple[RetryRule, ...]:
    settings = read_settings(os.environ, list(every_option()))
    assert settings is not None
    return settings.rules


def test_rules_are_read_with_the_lines_on_which_they_stand(file: Path) -> None:
    file.write_text(
        """\
retries = 3  # [[retry]]

[[retry]]
class = "provider-error"
text = [
  "is not ready",
  "[[retry]]",
]

# the next one
[["retry"]]
text = ["flaky"]
[[retry]]
class = 'backend-changed'
"""
    )

    assert read_rules() == (
        RetryRule(FailureClass.PROVIDER_ERROR, ("is not ready", "[[retry]]"), f"{file}:3"),
        RetryRule(None, ("flaky",), f"{file}:11"),
        RetryRule(FailureClass.BACKEND_CHANGED, (), f"{file}:13"),
    )


def test_rules_on_one_line_are_rules_as_well(file: Path) -> None:
    file.write_text('color = "never"\nretry = [{text = ["a b"]}, {class = "prompt"}]\n')

    assert read_rules() == (
        RetryRule(None, ("a b",), f"{file}:2"),
        RetryRule(FailureClass.PROMPT, (), f"{file}:2"),
    )


def test_a_file_without_rules_has_none(file: Path) -> None:
    file.write_text("retries = 3\n")

    assert read_rules() == ()


WRITTEN = 'write it like `[[retry]]`, and below it `class = "provider-error"` and `text = ["…"]`'


@pytest.mark.parametrize(
    ("text", "line", "sentence", "hint"),
    [
        ("retry = 3", 1, "`retry` is no list of tables", WRITTEN),
        ("\n[retry]\ntext = ['a']", 2, "`retry` is no list of tables", WRITTEN),
        ("retry = ['a']", 1, "`retry` is no list of tables", WRITTEN),
        ("[[retry]]\ntext = ['a']\n[[retry]]", 3, "`[[retry]]` says neither `class` nor `text`", WRITTEN),
        (
            "[[retry]]\ntext = ['a']\n[[retry]]\n\ntexts = ['a']",
            5,
            "`[[retry]]` has no key `texts`",
            "it has `class` and `text`",
        ),
        (
            "[[retry]]\ntext = ['a']\n[retry.on]\na = 1",
            3,
            "`[[retry]]` has no key `on`",
            "it has `class` and `text`",
        ),
        ("[[retry]]\ntext = 'a'", 2, "`text` is no list of texts", 'write it like `text = ["…", "…"]`'),
        (
            "[[retry]]\ntext = ['a', ' ']",
            2,
            "`text` is no list of texts",
            'write it like `text = ["…", "…"]`',
        ),
        ("[[retry]]\ntext = []", 2, "`text` is empty", "take it out, or say what the error has to hold"),
        (
            "[[retry]]\nclass = 'provider-eror'",
            2,
            "there is no class `provider-eror` of failures that can be tried again",
            "did you mean `provider-error`?",
        ),
        (
            "[[retry]]\nclass = ['x']",
            2,
            "there is no class `['x']` of failures that can be tried again",
            "a failure's class stands in its report, after `class:`",
        ),
        (
            "[[retry]]\nclass = 'state-locked'",
            2,
            "`state-locked` needs no rule",
            "`retry-lock = true` above all tables asks for it",
        ),
        *(
            (
                f"[[retry]]\nclass = '{lost}'",
                2,
                f"`{lost}` is never tried again",
                "another try could cost the state: take it out",
            )
            for lost in sorted(NEVER)
        ),
    ],
)
def test_what_is_wrong_with_a_rule_is_told_with_its_line(
    file: Path, text: str, line: int, sentence: str, hint: str
) -> None:
    file.write_text(text)

    with pytest.raises(BadConfig) as caught:
        read_rules()

    assert (str(caught.value), caught.value.hints) == (f"`{file}`, line {line}: {sentence}", (hint,))


def test_a_package_has_no_say_in_it(make_package: MakePackage) -> None:
    package = make_package({"hereya-tf.toml": "\n[[retry]]\ntext = ['a']\n"})

    with pytest.raises(BadConfig, match="line 2: a package may not say what is tried again") as caught:
        read_project_file(package)

    assert caught.value.hints == ("put it into your own `config.toml`",)


def test_a_bad_rule_refuses_a_run(file: Path, cli: CommandLine, make_package: MakePackage) -> None:
    file.write_text("[[retry]]\nclass = 'nonsense'\n")

    ended = cli("plan", make_package({"main.tf": ""}), "--json")

    assert (ended.exit_code, ended.result["failure"]["class"]) == (3, "bad-config")
    assert f"`{file}`, line 2" in ended.result["reason"]


def test_config_show_shows_them(file: Path, cli: CommandLine, make_package: MakePackage) -> None:
    file.write_text(
        "[[retry]]\nclass = 'provider-error'\ntext = ['a b', 'https://u:secret@x.example/y?token=secret']\n"
        "[[retry]]\ntext = ['c']\n"
    )
    package = make_package({"main.tf": ""})

    shown = cli("config", "show", package).stdout.splitlines()[-2:]
    document = cli("config", "show", package, "--json").stdout

    assert [" ".join(line.split()) for line in shown] == [
        f'retry provider-error with "a b" and "https://[redacted]@x.example/y?…" {file}:1',
        f'retry any class with "c" {file}:4',
    ]
    assert f'{{"class":null,"text":["c"],"source":"{file}:4"}}' in document
    assert "secret" not in document


# -- how it is told


def tried_again() -> Log:
    """Init failed, and succeeded after a while."""
    log = Log().engine().begin("init")
    log.say(error(summary="no registry today", class_=FailureClass.PROVIDER_UNAVAILABLE)).end(
        "init", exit_code=1
    )
    log.add(events.Retry("init", FailureClass.PROVIDER_UNAVAILABLE, 2, 4.2), after=0.0)
    return log


def recovered() -> Log:
    log = tried_again().add(events.StepStarted("init", 2, ("terraform", "init")), after=4.2)
    return log.end("init").begin("apply").end("apply").finish()


def shown(lines: Sequence[Line]) -> list[str]:
    return ["".join(piece.text for piece in line).rstrip() for line in lines]


LINE = "again in 4.2s: providers cannot be fetched"


def test_a_plain_line() -> None:
    plain = PlainLines()

    lines = [line for record in recovered().records for line in plain.lines(record)]

    assert [line[9:] for line in lines[2:8]] == [
        "init     started",
        "init     error: no registry today, on main.tf line 12",
        "init     failed after 1.0s (exit code 1)",
        f"init     {LINE}",
        "init     started again (attempt 2)",
        "init     done after 6.2s",
    ]


def test_a_line_that_stays_on_the_screen() -> None:
    record = tried_again().records[-1]

    assert shown(Narrative().lines(record, Progress(), Moment(0.0, 80))) == [f"         ! init {LINE}"]


def test_the_region_counts_down_until_the_next_try() -> None:
    progress = Progress()
    log = tried_again()
    for record in log.records:
        progress.tell(record, 0.0)

    waiting = shown(frame(progress, width=80, height=24, now=1.0))
    log.begin("init", attempt=2)
    progress.tell(log.records[-1], 4.2)
    working = shown(frame(progress, width=80, height=24, now=5.0))

    assert waiting[1:] == [
        "     1s  provision /srv/packages/shop · workspace default · init again in 3s",
        "         it has failed, but may pass: providers cannot be fetched",
    ]
    assert working[1:] == ["     5s  provision /srv/packages/shop · workspace default · initialising"]


def test_between_two_tries_nothing_is_folded_away() -> None:
    folding = FoldingLines(PlainLines(), MARKS, lambda _run: ())

    lines = [told.text for record in recovered().records for told in folding.lines(record)]

    at = next(place for place, line in enumerate(lines) if LINE in line)
    assert (lines[at - 1], lines[at + 1]) == ("::endgroup::", "::group::init, attempt 2")


def test_reports_tell_each_try_and_what_it_said() -> None:
    report = recovered().report()
    ended = "failed after 1.0s (exit code 1), again after 4.2s: providers cannot be fetched"

    text = text_report(report).splitlines()
    at = text.index(f"  init      {ended}")
    assert text[at + 2] == "            error: no registry today, on main.tf line 12"
    assert text[at + 3] == "  init      done after 6.2s"
    assert report.success
    assert "again after 4.2s: providers cannot be fetched; error: no registry today" in markdown_report(
        report
    )
    assert "again after 4.2s: providers cannot be fetched<br>" in html_report(report)
    assert "error: no registry today, on main.tf line 12</skipped>" in junit_report(report)


def test_a_timeline_shows_the_wait() -> None:
    rows = make_timeline(Story.of(recovered().records, keep_reads=True)).rows

    (wait,) = [row for row in rows if row.kind is Kind.WAIT]
    assert (wait.name, wait.note) == ("before attempt 2", "provider-unavailable")
    assert wait.seconds == pytest.approx(4.2)
