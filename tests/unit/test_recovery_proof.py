"""A lock is a dead run's when everything about it is that run's; else it is nobody's that we know of."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.event_parts import ProcessInfo, StepTrace, Trace
from hereya_tf.recovery.proof import Suspect, Verdict, judge, operations_of
from tests.event_samples import TRACE

LOCK = {
    "ID": "1111",
    "Operation": "OperationTypeApply",
    "Who": "user@host",
    "Created": "2026-01-01 00:00:10.123456789 +0000 UTC",
}
DEAD = Suspect(TRACE, is_gone=True)
APPLY = TRACE.steps[1]


def with_step(step: StepTrace, **changed: Any) -> Suspect:
    return Suspect(TRACE._replace(steps=(step,), **changed), is_gone=True)


def test_a_lock_that_is_a_dead_runs_in_every_respect_is_proven() -> None:
    assert judge(LOCK, [DEAD]) == Verdict("run-1", "")


@pytest.mark.parametrize(
    ("created", "is_proven"),
    [
        pytest.param("2026-01-01T00:00:09.999Z", False, id="before the command"),
        pytest.param("2026-01-01T00:00:10Z", True, id="with the command"),
        pytest.param("2026-01-01T00:00:11Z", True, id="at the first sign that it has the lock"),
        pytest.param("2026-01-01T00:00:11.001Z", False, id="after it had the lock"),
        pytest.param("2026-01-01T01:00:10.5+01:00", True, id="in another zone"),
        pytest.param("2026-01-01T00:00:10", False, id="in no zone"),
        pytest.param("yesterday", False, id="at no moment"),
    ],
)
def test_the_lock_was_made_between_the_start_of_the_command_and_the_first_sign_of_the_lock(
    created: str, is_proven: bool
) -> None:
    assert (judge({**LOCK, "Created": created}, [DEAD]).run == "run-1") is is_proven


@pytest.mark.parametrize(
    ("changed", "doubt"),
    [
        pytest.param({"Who": ""}, "the engine does not say who holds it", id="nobody"),
        pytest.param({"ID": ""}, "the engine does not say all of it: `ID` is missing", id="no ID"),
        pytest.param(
            {"ID": "", "Created": ""},
            "the engine does not say all of it: `ID` and `Created` are missing",
            id="little",
        ),
        pytest.param(
            {"Who": "user@elsewhere"},
            "it was taken by `user@elsewhere`, and the runs that are known here ran as others or elsewhere",
            id="another host",
        ),
        pytest.param(
            {"Who": "root@host"},
            "it was taken by `root@host`, and the runs that are known here ran as others or elsewhere",
            id="another user",
        ),
        pytest.param(
            {"Created": "2026-01-02T00:00:00Z"},
            "it was taken at another time than when run `run-1` was at it",
            id="another time",
        ),
        pytest.param(
            {"Operation": "OperationTypePlan"},
            "it is for `OperationTypePlan`, which run `run-1` was not about then",
            id="another operation",
        ),
    ],
)
def test_what_differs_is_told(changed: dict[str, str], doubt: str) -> None:
    assert judge({**LOCK, **changed}, [DEAD]) == Verdict(None, doubt)


def test_a_run_that_is_at_work_keeps_its_lock() -> None:
    assert judge(LOCK, [DEAD._replace(is_gone=False)]) == Verdict(
        None, "run `run-1` or its engine is still at work, or may be"
    )


def test_a_command_that_has_let_go_of_its_lock_has_left_none() -> None:
    ended = APPLY._replace(ended="2026-01-01T00:00:30.000Z", released=True)

    assert judge(LOCK, [with_step(ended)]) == Verdict(
        None, "run `run-1` has let go of its lock, as far as it knows"
    )
    assert judge(LOCK, [with_step(ended._replace(released=False))]).run == "run-1"


@pytest.mark.parametrize(
    ("after", "is_proven"), [(timedelta(seconds=10), True), (timedelta(seconds=10.001), False)]
)
def test_without_a_sign_of_the_lock_it_was_made_within_ten_seconds_of_the_last_sign_of_life(
    after: timedelta, is_proven: bool
) -> None:
    last = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
    created = (last + after).isoformat()

    verdict = judge({**LOCK, "Created": created}, [with_step(APPLY._replace(held=None))])

    assert (verdict.run == "run-1") is is_proven


def test_a_record_that_names_the_end_of_all_time_is_a_record_like_others() -> None:
    """Of a result file anybody can write."""
    unheard = APPLY._replace(held=None, ended=None, released=None)
    for last in ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-23:59"):
        assert judge(LOCK, [with_step(unheard, last=last, ended=None)]) == Verdict("run-1", "")
    early = APPLY._replace(began="0001-01-01T00:00:00+23:59")
    assert judge(LOCK, [with_step(early)]) == Verdict("run-1", "")


def test_a_run_that_has_not_noted_as_whom_it_ran_proves_nothing() -> None:
    assert judge(LOCK, [with_step(APPLY, user=None)]) == Verdict(
        None, "run `run-1` has not noted as whom it ran"
    )


def test_of_several_doubts_the_nearest_is_told() -> None:
    suspects = [with_step(APPLY, user="nobody"), DEAD._replace(is_gone=False), with_step(TRACE.steps[0])]

    assert judge(LOCK, suspects).doubt == "run `run-1` or its engine is still at work, or may be"
    assert judge(LOCK, []).doubt == "there is no run of this state in the history here"


def test_the_right_one_of_several_runs_is_found() -> None:
    other = with_step(APPLY._replace(began="2026-01-01T00:00:12.000Z", held=None), run="run-2")

    assert judge(LOCK, [other, DEAD]) == Verdict("run-1", "")


@pytest.mark.parametrize(
    ("command", "operation"),
    [
        ("apply", "OperationTypeApply"),
        ("destroy", "OperationTypeApply"),
        ("plan", "OperationTypePlan"),
        ("state push", "state-push"),
        ("state mv", "state-mv"),
        ("untaint", "untaint"),
        ("import", "import"),
        ("workspace new", "workspace-new"),
    ],
)
def test_what_a_command_writes_into_its_lock(command: str, operation: str) -> None:
    assert operation in operations_of(command)


moments = st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 2)).map(lambda at: at.replace(tzinfo=UTC))


@given(
    began=moments, held=moments, created=moments, who=st.sampled_from(["user@host", "user@other", "a@host"])
)
def test_nothing_outside_of_the_command_or_of_somebody_else_is_ever_proven(
    began: datetime, held: datetime, created: datetime, who: str
) -> None:
    step = StepTrace("apply", began.isoformat(), held.isoformat(), None, None)
    trace = Trace(
        "r", "host", "user", ProcessInfo(1, ""), None, began.isoformat(), held.isoformat(), None, (step,)
    )

    verdict = judge({**LOCK, "Who": who, "Created": created.isoformat()}, [Suspect(trace, is_gone=True)])

    assert (verdict.run is not None) == (who == "user@host" and began <= created <= held)
