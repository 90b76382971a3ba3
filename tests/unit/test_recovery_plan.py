"""What is broken, what mends it in which order, and what is left alone, with the reason."""

from pathlib import Path

import pytest

from hereya_tf.event_parts import Finding
from hereya_tf.recovery.plan import (
    BrokenState,
    Copy,
    Damage,
    HeldLock,
    Kind,
    Lost,
    Plan,
    Stored,
    choose_copy,
    compare,
    plan_recovery,
)
from hereya_tf.recovery.proof import Verdict
from hereya_tf.recovery.state_document import StateDocument, read_state

LOCK = {"ID": "1-2", "Who": "a@b", "Operation": "OperationTypeApply", "Created": "2026-01-01T00:00:00Z"}
PROVEN = HeldLock(LOCK, Verdict("run-1", ""))
FOREIGN = HeldLock(LOCK, Verdict(None, "it was taken by somebody"))


def state(serial: int, lineage: str = "one", **content: object) -> StateDocument:
    return StateDocument(lineage, serial, content)


def lost(document: StateDocument | None, name: str = "errored-1.tfstate") -> Lost:
    return Lost(Path("/runs/run-1") / name, "run-1", document)


def damage(
    *unsaved: Lost,
    stored: StateDocument | None = None,
    lock: HeldLock | None = None,
    broken: BrokenState | None = None,
    unknown: str = "",
) -> Damage:
    return Damage(broken, unsaved, Stored(stored, unknown), lock, "./shop --id prod")


def kinds(plan: Plan) -> list[Kind]:
    return [act.kind for act in plan.acts]


def test_nothing_broken_is_nothing_to_do() -> None:
    assert plan_recovery(damage()) == Plan((), (), (), Stored(None))


@pytest.mark.parametrize(
    ("stored", "because"),
    [
        pytest.param(None, "the backend has no state", id="none there"),
        pytest.param(
            state(4), "the backend has the same lineage with serial 4, which is older", id="an older one"
        ),
    ],
)
def test_a_state_is_stored_over_none_and_over_an_older_one(
    stored: StateDocument | None, because: str
) -> None:
    plan = plan_recovery(damage(lost(state(5, outputs=1)), stored=stored))

    (act,) = plan.acts
    assert plan.findings == (
        Finding(
            "errored-state",
            "a state of run `run-1` could not be saved, and is kept in `/runs/run-1/errored-1.tfstate`",
        ),
    )
    assert (act.kind, act.repair.because, plan.left) == (Kind.PUSH, because, ())
    assert (
        act.repair.sentence
        == "store the state in `/runs/run-1/errored-1.tfstate`, serial 5; the file is kept"
    )


def test_what_is_there_already_is_settled_whatever_the_serial_has_become() -> None:
    for serial in (5, 6, 50):
        plan = plan_recovery(damage(lost(state(5, outputs=1)), stored=state(serial, outputs=1)))
        assert (kinds(plan), plan.left) == ([Kind.SETTLE], ())


def test_an_encrypted_state_with_the_same_serial_is_not_taken_for_the_same() -> None:
    plan = plan_recovery(damage(lost(StateDocument("one", 5, None)), stored=StateDocument("one", 5, None)))

    assert Kind.SETTLE not in kinds(plan)
    assert len(plan.left) == 1


@pytest.mark.parametrize(
    ("stored", "refusal"),
    [
        pytest.param(
            state(5, outputs=2),
            "the backend has the same serial with something else in it: serial 5 there, 5 here",
            id="the same serial",
        ),
        pytest.param(
            state(9, outputs=2), "the backend has a newer state: serial 9 there, 5 here", id="a newer one"
        ),
        pytest.param(
            state(1, "two"),
            "the backend has another state, of lineage `two` with serial 1; this one has lineage `one` and"
            " serial 5",
            id="another lineage",
        ),
    ],
)
def test_nothing_is_stored_over_what_is_not_older(stored: StateDocument, refusal: str) -> None:
    plan = plan_recovery(damage(lost(state(5, outputs=1)), stored=stored))

    (left,) = plan.left
    assert plan.acts == ()
    assert left.sentence == f"the state in `/runs/run-1/errored-1.tfstate` is not stored: {refusal}"
    assert left.by_hand[0].startswith(
        "`hereya-tf tf ./shop --id prod -- state push -force /runs/run-1/errored-1.tfstate` stores it all the"
    )


def test_a_state_of_a_workspace_that_nobody_knows_is_stored_only_over_its_own_lineage() -> None:
    """An engine puts the states of all workspaces of a package into one `errored.tfstate`."""
    unknown = Lost(Path("/p/errored.tfstate"), "", state(5))

    nowhere = plan_recovery(damage(unknown))
    other = plan_recovery(damage(unknown, stored=state(1, "two")))

    assert kinds(plan_recovery(damage(unknown, stored=state(4)))) == [Kind.PUSH]
    assert (nowhere.acts, other.acts) == ((), ())
    assert nowhere.left[0].by_hand == (
        "if it is of another workspace, recover that one: its name is given with `-w`",
        "if it is of this one: `hereya-tf tf ./shop --id prod -- state push /p/errored.tfstate`, and remove it",
    )
    assert (
        other.left[0].by_hand[0]
        == "if it is of another workspace, recover that one: its name is given with `-w`"
    )


def test_what_was_stored_where_nothing_was_has_another_lineage_and_is_settled() -> None:
    document = state(5, outputs=None, resources=[1])

    there = state(1, "of the engine's own", outputs=None, resources=[1])

    assert kinds(plan_recovery(damage(lost(document), stored=there))) == [Kind.SETTLE]


def test_a_file_that_is_gone_says_what_can_be_done_about_that() -> None:
    noted = Lost(Path("/gone"), "run-1", None, Path("/state/unsaved/a b.json"))
    unknown = Lost(Path("/p/errored.tfstate"), "", None)

    hints = [plan_recovery(damage(each)).left[0].by_hand for each in (noted, unknown)]

    again = "put the file there again, from a backup of the disk for example"
    assert hints == [
        (
            again,
            "when no state of this workspace is missing, remove the note: `rm '/state/unsaved/a b.json'`",
        ),
        (again, "when nothing in it is missing, remove it: `rm /p/errored.tfstate`"),
    ]


def test_a_file_that_holds_no_state_is_told_and_left() -> None:
    plan = plan_recovery(damage(lost(None), stored=state(5)))

    assert (plan.acts, [left.class_ for left in plan.left]) == ((), ["errored-state"])


def test_a_backend_that_cannot_be_read_gets_nothing() -> None:
    plan = plan_recovery(damage(lost(state(5)), unknown="nobody knows it"))

    assert (plan.acts, plan.left[0].sentence[-15:]) == ((), "nobody knows it")


def test_a_state_is_stored_while_the_dead_runs_lock_still_stands() -> None:
    plan = plan_recovery(damage(lost(state(5)), stored=state(4), lock=PROVEN))

    assert kinds(plan) == [Kind.PUSH, Kind.UNLOCK]
    assert plan.acts[1].repair.sentence == "release the lock `1-2`"
    assert [finding.class_ for finding in plan.findings] == ["errored-state", "state-locked"]


def test_nothing_is_stored_under_somebody_elses_lock() -> None:
    plan = plan_recovery(damage(lost(state(5)), stored=state(4), lock=FOREIGN))

    assert plan.acts == ()
    assert [left.class_ for left in plan.left] == ["errored-state", "state-locked"]
    assert plan.left[1].sentence == "the lock is not proven to be a dead run's: it was taken by somebody"
    assert "`hereya-tf tf ./shop --id prod -- force-unlock -force 1-2`" in plan.left[1].by_hand[1]


def test_a_lock_without_an_id_cannot_be_released_by_hand_either() -> None:
    plan = plan_recovery(damage(lock=HeldLock({}, Verdict(None, "nobody says"))))

    assert not [hint for hint in plan.left[0].by_hand if "force-unlock" in hint]
    assert plan.findings == (Finding("state-locked", "the state is locked"),)


def test_of_two_that_could_not_be_saved_the_newer_one_is_stored() -> None:
    older, newer = (
        lost(state(5, outputs=1), "errored-1.tfstate"),
        lost(state(6, outputs=2), "errored-2.tfstate"),
    )

    plan = plan_recovery(damage(older, newer, stored=state(4)))

    assert [(act.kind, act.lost) for act in plan.acts] == [(Kind.PUSH, newer)]
    assert "a newer state: serial 6 there, 5 here" in plan.left[0].sentence


def copy(name: str, document: StateDocument, *missing: str) -> Copy:
    return Copy(Path(name), document, f"the copy {name}", missing)


def test_the_copy_is_of_the_newest_ones_lineage_and_has_its_highest_serial() -> None:
    new, higher, foreign = copy("a", state(3)), copy("b", state(4)), copy("c", state(9, "two"))

    assert choose_copy([new, higher, foreign]) == higher
    assert choose_copy([foreign, new]) == foreign
    assert choose_copy([new, copy("d", state(3))]) == new
    assert choose_copy([]) is None


def test_a_broken_state_gets_a_copy_and_what_may_be_missing_is_told() -> None:
    broken = BrokenState(
        Path("/p/terraform.tfstate"), "is no state: it is empty", (copy("a", state(3), "run `r` went on"),)
    )

    plan = plan_recovery(damage(broken=broken))

    (act,) = plan.acts
    assert plan.findings == (
        Finding("state-corrupt", "the local state `/p/terraform.tfstate` is no state: it is empty"),
    )
    assert (act.kind, act.copy) == (Kind.RESTORE, broken.copies[0])
    assert act.repair.sentence == "put the copy a, serial 3, back as `/p/terraform.tfstate`"
    assert act.repair.because.endswith(
        " lineage. But it is older: run `r` went on. Whatever of that exists and is missing in the copy would be"
        " made a second time: import it first, or remove it"
    )


def test_a_state_that_could_not_be_saved_is_compared_with_the_copy_that_is_put_back() -> None:
    unsaved = lost(state(5, outputs=1))
    same = BrokenState(Path("/s"), "it is empty", (copy("a", state(5, outputs=1)),))
    older = BrokenState(Path("/s"), "it is empty", (copy("a", state(4)),))

    assert kinds(plan_recovery(damage(unsaved, broken=same))) == [Kind.RESTORE, Kind.SETTLE]
    assert kinds(plan_recovery(damage(unsaved, broken=older))) == [Kind.RESTORE, Kind.PUSH]


def test_without_a_copy_nothing_is_stored_either() -> None:
    plan = plan_recovery(damage(lost(state(5)), broken=BrokenState(Path("/s"), "it is empty", ())))

    assert (plan.acts, [left.class_ for left in plan.left]) == ((), ["state-corrupt", "errored-state"])
    assert "`rm /s`" in plan.left[0].by_hand[1]


def test_compare_lets_only_the_same_lineage_go_up() -> None:
    assert compare(state(2), None) is None
    assert compare(state(2), state(1)) is None
    assert compare(state(2), state(2)) is not None
    assert compare(state(2, "two"), state(1)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"serial": 1}',
        '{"lineage": 1, "serial": 1, "version": 4}',
        b"\xff",
        '{"version": 4}',
    ],
)
def test_what_is_no_state_is_none(text: str | bytes) -> None:
    assert read_state(text) is None


def test_an_encrypted_state_is_compared_by_serial_and_lineage() -> None:
    encrypted = read_state('{"serial": 3, "lineage": "one", "encrypted_data": "x", "meta": {}}')

    assert encrypted == StateDocument("one", 3, None)
    assert encrypted.has_content_of(state(3, outputs=1))
    assert not encrypted.has_content_of(state(4, outputs=1))
    assert not encrypted.has_content_of(state(3, "two"))


def test_two_states_are_the_same_whatever_engine_and_serial_they_name() -> None:
    first = read_state(
        '{"version": 4, "terraform_version": "1", "serial": 1, "lineage": "a", "outputs": {}, "resources": []}'
    )
    second = read_state('{"version": 4, "terraform_version": "2", "serial": 9, "lineage": "a"}')

    assert first is not None
    assert second is not None
    assert first.has_content_of(second)
    assert (first.resources, StateDocument("a", 1, {"resources": [1, 2]}).resources) == (0, 2)


def test_what_was_stored_where_nothing_was_is_known_by_its_content() -> None:
    """There an engine gives it a lineage of its own (measured on Terraform 1.11.4)."""
    full, empty = {"outputs": None, "resources": [1]}, {"outputs": None, "resources": None}

    assert StateDocument("new", 1, full).has_content_of(StateDocument("old", 5, full))
    assert StateDocument("new", 1, empty).has_content_of(StateDocument("", 0, empty))
    assert not StateDocument("new", 1, empty).has_content_of(StateDocument("old", 5, empty))


def test_only_a_state_with_neither_lineage_nor_content_is_blank() -> None:
    blank = '{"version": 4, "serial": 0, "lineage": "", "outputs": {}, "resources": []}'

    shown = read_state(blank)

    assert shown is not None
    assert shown.is_blank
    assert not StateDocument("one", 0, {"outputs": None, "resources": None}).is_blank
    assert not StateDocument("", 0, {"outputs": None, "resources": [1]}).is_blank
    assert not StateDocument("", 0, None).is_blank
