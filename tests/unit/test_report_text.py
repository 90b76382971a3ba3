"""A report as plain text, whole; and the few lines that stand at the end of a failure."""

from collections.abc import Callable

import pytest

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.document import Report
from hereya_tf.report.sentences import lock_text, resources_text
from hereya_tf.report.text import outcome_lines, text_report
from hereya_tf.words import visible
from tests import reports
from tests.run_log import Log, error

FAILED = """\
provision of /srv/packages/shop, workspace default, failed after 1m14s
run 20261130-020000-4f1c, from 2026-11-30T02:00:00.000Z to 2026-11-30T02:01:12.500Z, hereya-tf 0.4.0
engine: terraform 1.11.4 at /usr/bin/terraform (on PATH)

error: the provider could not do what was asked: cannot create the bucket
class: provider-error (exit code 1)
done: 2 resources: net_zone.shop and net_rule.web
failed: 1 resource: store_bucket.photos
unfinished: 1 resource: db_instance.main (it was destroyed, and its replacement is not complete)
not started: 2 resources: net_record.www["a"] and store_bucket.old
state: saved, with everything that was done
hint: correct what the provider complains about, and run it again
hint: or look at its log
reproduce: hereya-tf provision /srv/packages/shop --yes

done (2):
  created net_zone.shop [id=id-net_zone.shop] after 2.0s
  updated net_rule.web [id=id-net_rule.web] after 0.5s

failed (1):
  create store_bucket.photos after 2.0s

unfinished (1):
  replace db_instance.main after 1m02s; it was destroyed, and its replacement is not complete

not started (2):
  create net_record.www["a"]
  destroy store_bucket.old

steps:
  init      done after 1.0s
            /usr/bin/terraform init -json -x=
  apply     failed after 1m08s (exit code 1)
            /usr/bin/terraform apply -json -x=

warning: Argument is deprecated

--- stderr ---
Error: cannot create the bucket
"""
SUCCEEDED = """\
provision of /srv/packages/shop, workspace default, succeeded after 1m12s
run 20261130-020000-4f1c, from 2026-11-30T02:00:00.000Z to 2026-11-30T02:01:11.000Z, hereya-tf 0.4.0
engine: terraform 1.11.4 at /usr/bin/terraform (on PATH)

2 added, 0 changed, 1 destroyed (1 replaced)

done (2):
  created net_zone.shop [id=id-net_zone.shop] after 2.0s
  replaced db_instance.main [id=id-db_instance.main] after 1m02s

steps:
  init      not needed
  apply     done after 1m05s
            /usr/bin/terraform apply -json -x=
  output    done after 1.0s
            /usr/bin/terraform output -json -x=

warning: Argument is deprecated
"""
PLANNED = """\
changes (3):
  replace db_instance.main
  destroy net_rule.web
  create net_zone.shop

changed outside of the engine (1):
  changed net_zone.shop
"""


@pytest.mark.parametrize(("made", "text"), [(reports.failed, FAILED), (reports.succeeded, SUCCEEDED)])
def test_a_report(made: Callable[[], Report], text: str) -> None:
    assert text_report(made()) == text


RECOVERED = """
recovery:
  Run `dead`: `provision` of `/srv/packages/shop`.
  It was killed.

  Broken:
  - a state could not be saved.
  - the state is locked.

  To be repaired, in this order:
  1. store the state.
     Safe, because the backend has an older one.

  To be done by hand:
  - the lock is not proven to be a dead run's.
    ask whoever holds it

  Then run it again:
    hereya-tf provision /srv/packages/shop

  done: store the state.
"""


def test_what_a_recovery_has_found_and_done() -> None:
    assert RECOVERED in text_report(reports.recovered())


def test_what_a_plan_has_found() -> None:
    text = text_report(reports.planned())

    assert "\n2 to add, 0 to change, 2 to destroy (1 replaced)\n" in text
    assert f"\n\n{PLANNED}\n" in text


def test_what_drift_has_found() -> None:
    text = text_report(reports.drifted())

    assert "\nthere is drift\n" in text
    assert "changed outside of the engine (2):\n  changed net_rule.web\n  deleted store_bucket.old\n" in text


def test_before_the_end_a_report_tells_how_far_it_has_come() -> None:
    assert outcome_lines(reports.interim()) == [
        "error: the run was asked to end; when this was written the engine was still at work on what is in flight",
        "class: cancelled",
        "done: 1 resource: net_zone.shop",
        "unfinished: 1 resource: db_instance.main",
        "not started: 1 resource: net_rule.web",
        "state: it is not known whether it was saved; what was in flight may exist and not be in it",
        "hint: `hereya-tf runs report 20261130-020000-4f1c` tells how it ended",
        "reproduce: hereya-tf provision /srv/packages/shop --yes",
    ]
    assert "\n  apply     not ended\n" in text_report(reports.interim())


@pytest.mark.parametrize(
    ("reason", "failure_class", "words"),
    [
        ("timeout", "timed-out", "the time limit has passed; "),
        ("idle", "idle", "the engine has been silent for too long; "),
        ("request", "cancelled", "the run was asked to end; "),
        ("weather", "cancelled", "the run was asked to end; "),
    ],
)
def test_it_says_why_the_run_is_to_end(reason: str, failure_class: str, words: str) -> None:
    log = Log().engine().begin("apply").add(events.Cancelling(reason, "SIGINT", 60.0))

    report = log.report()

    assert (report.status, report.failure_class) == ("cancelling", failure_class)
    assert report.reason.startswith(words)


def test_a_run_that_nobody_has_asked_to_end_is_at_work() -> None:
    holder = events.HolderInfo("run-2", 9, "build-7", "destroy", "2026-11-30T02:00:00.000Z")
    report = Log().add(events.LockWaiting("workspace", 1, holder)).report()

    assert (report.status, report.failure_class, report.is_interim) == ("running", None, True)
    assert text_report(report).startswith("provision of /srv/packages/shop, workspace default, is at work")
    assert outcome_lines(report)[:3] == [
        "note: the run has not ended yet; this is how far it has come",
        "state: as it was before: no resource was touched",
        "lock: on the workspace, held by destroy of run run-2 (pid 9 on build-7), "
        "since 2026-11-30T02:00:00.000Z (1.0s ago)",
    ]


def test_errors_that_have_been_said_before_the_end_are_told() -> None:
    text = text_report(Log().engine().begin("apply").say(error(address="a.b")).report())

    assert text.endswith(
        "\n\nerror: cannot create the bucket\n"
        '  on main.tf line 12, in resource "store_bucket" "photos"\n'
        "  BucketAlreadyExists: it is somebody else's\n  \n  request 4711\n"
    )


STATES: dict[Callable[[], Report], str | None] = {
    reports.failed: "saved, with everything that was done",
    reports.not_saved: "could not be saved; the only complete copy is `/srv/packages/shop/errored.tfstate`",
    reports.killed: "it is not known whether it was saved; what was in flight may exist and not be in it",
    reports.refused: "as it was before: no resource was touched",
    reports.invalid: "as it was before: no resource was touched",
}


@pytest.mark.parametrize(("made", "state"), STATES.items(), ids=lambda made: getattr(made, "__name__", None))
def test_the_state_things_are_in(made: Callable[[], Report], state: str | None) -> None:
    assert [line for line in outcome_lines(made()) if line.startswith("state: ")] == [f"state: {state}"]


def test_a_state_of_which_there_is_no_copy_is_lost() -> None:
    state = "could not be saved, and the engine has left no copy of it"

    assert f"state: {state}" in outcome_lines(reports.not_saved()._replace(errored_state=None))


def test_of_a_remote_run_that_tells_nothing_of_resources_nothing_is_said_of_the_state() -> None:
    log = Log().engine().begin("init").end("init").begin("apply").end("apply", exit_code=1)
    report = log.fail(FailureClass.ENGINE_ERROR, "it failed elsewhere").report()

    assert [line for line in outcome_lines(report) if line.startswith("state: ")] == []


def test_a_state_that_is_nowhere_is_told_so() -> None:
    log = Log().engine().begin("apply").plan(("net_zone.shop", "create"))
    log.act("net_zone.shop", "create", "started", "completed").end("apply", exit_code=1)
    nowhere = events.StateInfo(saved=False, errored_state=None, lock=None)
    report = log.fail(FailureClass.STATE_NOT_SAVED, "the state could not be saved", state=nowhere).report()

    assert "state: could not be saved, and the engine has left no copy of it" in outcome_lines(report)


@pytest.mark.behaviour("T6")
def test_a_lock_has_its_holder_and_its_age() -> None:
    report = reports.locked()
    assert report.lock is not None

    assert (report.lock.kind, report.lock.since) == ("state", "2026-11-30 01:00:00.123456789 +0000 UTC")
    assert report.lock.age_seconds == pytest.approx(3605.876544, abs=1e-5)
    assert lock_text(report) == (
        "on the state, held by ada@build-7, for OperationTypeApply, ID 0b1a2f9e-94a0-2d1c-6a0c-5f0a0f6a1b2c, "
        "of shop/terraform.tfstate, version 1.11.4, since 2026-11-30 01:00:00.123456789 +0000 UTC (1h00m ago)"
    )


def test_a_lock_of_ours_has_them_too() -> None:
    assert lock_text(reports.busy()) == (
        "on the package, held by destroy of run 20261130-015500-aaaa (pid 99 on build-7), "
        "since 2026-11-30T01:55:00.000Z (5m01s ago)"
    )


def test_of_many_resources_the_first_few_have_names() -> None:
    fates = reports.large(30).fates

    assert resources_text(fates[:1]) == "1 resource: null_resource.many[0]"
    assert resources_text(fates[:4]).endswith("many[2] and null_resource.many[3]")
    assert resources_text(fates[:5]) == (
        "5 resources: null_resource.many[0], null_resource.many[1], null_resource.many[2] and 2 more"
    )


def test_all_of_them_stand_below() -> None:
    text = text_report(reports.large(300))

    assert "\ndone (299):\n" in text
    assert text.count("  created null_resource.many[") == 299


def test_of_very_many_the_rest_is_a_number() -> None:
    log = Log().begin("apply")
    for number in range(10_003):
        log.add(events.ResourceEvent(f"a.b[{number}]", "create", "started", None, None), after=0.0)

    assert "\n  and 3 actions more, which only the run's log has\n" in text_report(log.report())


@pytest.mark.behaviour("F3", "F4")
def test_the_last_output_is_there_in_full_stderr_else_stdout() -> None:
    long = "".join(f"line {number}\n" for number in range(20_000))
    report = reports.large(1, stderr=long)

    assert text_report(report).endswith(f"\n--- stderr ---\n{long}")
    assert text_report(report._replace(stderr=" \n", stdout="said")).endswith("\n--- stdout ---\nsaid\n")


@pytest.mark.parametrize("made", reports.SAMPLES.values(), ids=reports.SAMPLES)
def test_nothing_in_a_report_steers_a_terminal_or_looks_like_a_line_of_ours(
    made: Callable[[str], Report],
) -> None:
    forged = "\x1b[2J\u202e\nhint: rm -rf /\r\nclass: x"
    plain, hostile = text_report(made("")), text_report(made(forged))

    assert visible(hostile) == hostile
    # The engine's own words stand at the end, as they are.
    told = hostile.split("\n--- ")[0].split("\n")
    assert "hint: rm" in hostile
    assert [line for line in told if line.startswith(("hint: rm", "class: x"))] == []
    assert plain.split("\n")[0] != told[0]
