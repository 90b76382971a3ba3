"""The story of a run that broke is told in plain words, with what may exist without being in the state."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import events
from hereya_tf.event_parts import Recovery
from hereya_tf.recovery.looking import chapters_of
from hereya_tf.recovery.story import Chapter, chapters_worth_telling, deeds, tell
from hereya_tf.report.document import make_report
from hereya_tf.report.recovery_text import closing_lines, recovery_lines, redacted
from hereya_tf.report.story import Story
from hereya_tf.runs.history import RunRecord
from hereya_tf.supervision.process_table import ProcessIdentity
from tests.event_samples import RECOVERY

BEGAN = "2026-01-01T00:00:00.000Z"
NOW = datetime.fromisoformat("2026-01-01T00:05:00.000Z").timestamp()


def record(run: str = "run-1", **changed: Any) -> RunRecord:
    plain = RunRecord(
        run,
        "provision",
        "/p",
        "default",
        "/p#default",
        "host",
        ProcessIdentity(1, "x"),
        BEGAN,
        "1",
        user="me",
        status="failed",
        reason=f"run `{run}` was killed in step apply, and its engine ended without finishing",
        last_sign="2026-01-01T00:00:09.000Z",
    )
    return plain._replace(**changed)


def chapter(
    *told: events.Event,
    saved: bool | None = None,
    lock: dict[str, str] | None = None,
    **changed: Any,
) -> Chapter:
    """A run of which the log tells this, and whose state was saved, or not, or nobody knows."""
    found = record(**changed)
    log: list[events.Event] = [
        events.RunStarted("provision", "/p", "default", "/p#default", 1, "1"),
        events.StepStarted("apply", 1, ("terraform", "apply")),
        *told,
    ]
    story = Story.of(events.record_of(event, sequence=1, seconds=NOW - 300, run=found.id) for event in log)
    failure = events.FailureInfo("internal", None, (), "", "", events.StateInfo(saved, None, lock))
    result = events.Result(
        success=False,
        status="failed",
        reason=found.reason,
        exit_code=70,
        operation="provision",
        package="/p",
        workspace="default",
        engine=None,
        env={},
        outputs={},
        changes=events.ChangeCounts(),
        drift=None,
        failure=failure,
        timings=events.Timings(None, None, None, None, None, None, 12.0),
        report=None,
    )
    told_result = events.record_of(result, sequence=1, seconds=NOW, run=found.id)
    return Chapter(found, make_report(story, told_result))


def begun(address: str, action: str = "create", status: str = "started") -> events.ResourceEvent:
    return events.ResourceEvent(address, action, status, None, None)


def test_a_killed_run_is_told_from_beginning_to_end() -> None:
    told = chapter(
        events.ChangeEvent("a.done", "create", None),
        events.ChangeEvent("a.flying", "create", None),
        events.ChangeEvent('a.later["x y"]', "create", None),
        begun("a.done"),
        begun("a.done", status="completed"),
        begun("a.flying"),
    )

    assert list(tell(told, NOW, "./p")) == [
        "Run `run-1`: `provision` of `/p`, workspace `default`, begun at 2026-01-01T00:00:00.000Z (5m00s ago) on"
        " `host` by `me`.",
        "It was killed in step apply, and its engine ended without finishing; the last sign of life came at"
        " 2026-01-01T00:00:09.000Z.",
        "Done before that: 1 resource: a.done.",
        "In flight: `a.flying` was being created. It may exist without being in the state, and would be made a"
        " second time. Look for it: if it is there, remove it by hand, or import it:\n"
        "  hereya-tf tf ./p -- import a.flying ID",
        'Never begun: 1 resource: a.later["x y"].',
        "Its state: it is not known whether it was saved; what was in flight may exist and not be in it.",
    ]


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("create", "was being created. It may exist without being in the state"),
        ("delete", "was being destroyed. It may be gone and still stand in the state: the next plan finds"),
        ("update", "was being changed. The change may be made and not stand in the state: the next plan"),
    ],
)
def test_what_was_in_flight_is_told_by_what_was_being_done(action: str, words: str) -> None:
    assert words in "\n".join(tell(chapter(begun("a.b", action)), NOW, ""))


def test_what_was_being_created_is_imported_by_the_id_that_is_known() -> None:
    told = chapter(begun("a.b")._replace(id="new/1"))

    assert "-- import a.b new/1\n" in "\n".join((*tell(told, NOW, ""), ""))


REPLACES = events.ChangeEvent("a.b", "replace", None)
DESTROYED = (begun("a.b", "delete"), begun("a.b", "delete", "completed"))


def test_what_has_taken_a_destroyed_resources_place_is_imported_by_an_id_of_its_own() -> None:
    told = chapter(REPLACES, *DESTROYED, begun("a.b")._replace(id="old/1"))

    assert "-- import a.b ID\n" in "\n".join((*tell(told, NOW, ""), ""))


@pytest.mark.parametrize(
    "acts",
    [
        pytest.param((begun("a.b", "delete"),), id="it is being destroyed"),
        pytest.param((begun("a.b"),), id="its replacement is being made"),
        pytest.param((begun("a.b"), begun("a.b", status="completed")), id="its replacement is made"),
    ],
)
def test_while_the_object_before_stands_in_the_state_its_replacement_cannot_be_imported(
    acts: tuple[events.Event, ...],
) -> None:
    told = "\n".join(tell(chapter(REPLACES, *acts), NOW, ""))

    assert "In flight: `a.b` was being replaced. The object before it may be gone and still stand in" in told
    assert "import" not in told


@pytest.mark.parametrize(
    ("told", "left"),
    [
        pytest.param((begun("a.b"), begun("a.b", status="failed")), "was made of it stands in", id="create"),
        pytest.param(
            (begun("a.b", "delete"), begun("a.b", "delete", "failed")), "It still stands in the", id="delete"
        ),
        pytest.param(
            (begun("a.b", "update"), begun("a.b", "update", "failed")), "in the state as it was", id="update"
        ),
        pytest.param(
            (REPLACES, begun("a.b", "delete"), begun("a.b", "delete", "failed")),
            "The object before it still stands in the state",
            id="replace, not destroyed",
        ),
        pytest.param(
            (REPLACES, *DESTROYED, begun("a.b"), begun("a.b", status="failed")),
            "The object before it was destroyed. What was made of its replacement",
            id="replace, destroyed",
        ),
    ],
)
def test_what_is_left_of_what_failed_is_told_by_what_was_to_be_done(
    told: tuple[events.Event, ...], left: str
) -> None:
    (said,) = (sentence for sentence in tell(chapter(*told, saved=True), NOW, "") if "Failed:" in sentence)

    assert left in said


def test_what_failed_and_a_lock_that_was_in_the_way_are_told() -> None:
    lock = {"ID": "1", "Who": "a@b", "Operation": "OperationTypeApply", "Created": "2026-01-01T00:00:00Z"}
    told = chapter(begun("a.b"), begun("a.b", status="failed"), saved=True, lock=lock)

    assert list(tell(told, NOW, ""))[2:] == [
        "Failed: `a.b` was to be created. What was made of it stands in the state as tainted, or not at all: look.",
        "Its state: saved, with everything that was done.",
        "A lock was in its way: on the state, held by a@b, for OperationTypeApply, ID 1, since"
        " 2026-01-01T00:00:00Z.",
    ]


def test_a_moment_that_is_none_is_told_as_it_is() -> None:
    assert "begun yesterday on `host`" in next(tell(chapter(started="yesterday"), NOW, ""))


def test_what_an_engine_has_saved_itself_is_not_in_doubt() -> None:
    said = "\n".join(tell(chapter(begun("a.b"), saved=True), NOW, ""))

    assert "Not brought to its end: 1 resource: a.b." in said
    assert "may exist" not in said


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"status": "cancelled", "reason": "it was interrupted"},
            "It was ended after 12s: it was interrupted.",
        ),
        ({"status": "failed", "last_sign": None, "reason": "no"}, "It failed after 12s: no."),
        ({"status": "succeeded", "reason": None}, "It succeeded."),
        ({"status": None}, "It was killed, and nobody has heard of its end."),
        ({"reason": "the disk is full"}, "It was killed: the disk is full; the last sign of life came at "),
    ],
)
def test_every_end_has_its_words(changed: dict[str, Any], sentence: str) -> None:
    assert list(tell(chapter(**changed), NOW, ""))[1].startswith(sentence)


def test_only_what_broke_since_the_last_good_run_is_told() -> None:
    newest_first = [
        record("8", status="refused"),
        record("7", operation="output"),
        record("6"),
        record("5", operation="plan", status="succeeded"),
        record("4"),
        record("3", status="succeeded"),
        record("2"),
        record("1"),
    ]

    told = chapters_worth_telling(newest_first, frozenset(("1",)))

    assert [each.id for each in told] == ["1", "4", "6"]


def test_what_a_run_has_begun_may_be_missing_in_a_copy_from_before_it() -> None:
    touched = chapter(begun("a.a"), begun("a.a", status="completed"), begun("a.b"))

    assert list(deeds(touched)) == ["run `run-1` went on with 2 resources: a.a and a.b"]
    assert list(deeds(chapter())) == []


def test_a_run_without_a_log_is_told_all_the_same(tmp_path: Path) -> None:
    (found,) = chapters_of(tmp_path, [record()])

    assert next(tell(found, NOW, "")).startswith("Run `run-1`: `provision` of `/p`")


def test_lines_for_people_keep_what_is_to_be_copied_whole() -> None:
    command = "  hereya-tf tf " + "x" * 120
    lines = list(recovery_lines(RECOVERY._replace(story=(f"{'word ' * 40}\n{command}",))))

    assert command in lines
    assert max(len(line) for line in lines if line != command) <= 79
    assert lines[lines.index("Broken:") :] == [
        "Broken:",
        "- the state is locked.",
        "",
        "To be repaired, in this order:",
        "1. release the lock `1`.",
        "   Safe, because it is proven.",
        "",
        "To be done by hand:",
        "- not stored.",
        "  ask somebody",
        "",
        "Then run it again:",
        "  cd / && hereya-tf provision",
    ]


def test_a_command_within_a_sentence_stays_on_one_line() -> None:
    command = f"`hereya-tf tf ./a b -- force-unlock -force {'x' * 60}`"
    told = RECOVERY._replace(
        left=(RECOVERY.left[0]._replace(by_hand=(f"{'word ' * 15}{command}, perhaps",)),)
    )

    assert [line for line in recovery_lines(told) if command in line] == [f"  {command},"]


NOTHING = Recovery((), (), (), (), None)


def test_the_end_says_what_was_done() -> None:
    (repair,) = RECOVERY.repairs
    done = RECOVERY._replace(repairs=(repair._replace(done=True),))
    failed = RECOVERY._replace(repairs=(repair._replace(done=False),))

    assert list(closing_lines(NOTHING, success=True, dry_run=True)) == [
        "Nothing is broken: no state is missing, and no lock was left."
    ]
    assert list(closing_lines(RECOVERY, success=True, dry_run=True)) == [
        "Nothing was done: this was a dry run."
    ]
    assert list(closing_lines(done, success=True, dry_run=False)) == [
        "done: release the lock `1`.",
        "All of that is repaired.",
    ]
    assert list(closing_lines(failed, success=False, dry_run=False)) == ["failed: release the lock `1`."]


def test_every_text_is_redacted() -> None:
    def names(value: Any) -> set[str]:
        if isinstance(value, str):
            return {value}
        return set().union(*map(names, value)) if isinstance(value, tuple) else set()

    shown = redacted(RECOVERY, lambda _text: "?")

    # But for the words that are names of ours.
    assert names(tuple(shown)) == {"?", "state-locked", "errored-state", "unlock"}
    assert redacted(NOTHING, lambda _text: "?") == NOTHING
