"""What a run does for its state: before the engine acts, before it writes, and afterwards."""

import json
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.errors import ErroredState, FailureClass, HereyaError, StateCorrupt
from hereya_tf.private import make_private_directory
from hereya_tf.runs import history
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.runs.history import RunRecord
from hereya_tf.states.keeper import Care, StateKeeper
from hereya_tf.states.local import Whereabouts
from hereya_tf.states.unsaved import Unsaved, note_path, note_unsaved, unsaved_of
from hereya_tf.supervision.process_table import ProcessIdentity
from hereya_tf.workspace import BackendKind, GeneratedBackend, Workspace

RUN = "20261130T010000Z-aaaaaaaa"
EARLIER = "20261130T000000Z-bbbbbbbb"
GONE = ProcessIdentity(2**22 + 1, "never")
STATE = {"version": 4, "serial": 7, "lineage": "a-b", "outputs": {}, "resources": []}
BACKEND = GeneratedBackend(BackendKind.S3, "x", bucket="b", region="r")


class World:
    """A package, a state directory, and the keeper of a run in them."""

    def __init__(self, tmp_path: Path) -> None:
        self.package = tmp_path / "package"
        self.package.mkdir()
        self.state_directory = tmp_path / "hereya"
        self.runs = self.state_directory / "runs"
        self.local = self.package / "terraform.tfstate"
        self.errored = self.package / "errored.tfstate"
        self.warnings: list[str] = []
        self.directory = RunDirectory(self.runs, RUN, self.warnings.append)
        self.workspace = Workspace("default", f"{self.package}#default", None, None, ".terraform")

    def keeper(
        self, care: Care = Care.WRITES, own: str | None = None, backend: GeneratedBackend | None = None
    ) -> StateKeeper:
        workspace = self.workspace._replace(backend=backend)
        return StateKeeper(
            Whereabouts(self.package, workspace, own), self.directory, care, self.warnings.append
        )

    def writes_local(self, **changed: Any) -> None:
        self.local.write_text(json.dumps({**STATE, **changed}))

    def lost(self, text: str | None = None) -> Unsaved:
        """A state that an earlier run could not save."""
        kept = self.runs / EARLIER / "errored-1.tfstate"
        make_private_directory(kept.parent)
        kept.write_text(json.dumps(STATE) if text is None else text)
        unsaved = Unsaved(
            EARLIER,
            str(self.package),
            "default",
            self.workspace.key,
            str(kept),
            7,
            "a-b",
            "2026-11-30T00:00:05.000Z",
        )
        note_unsaved(self.state_directory, unsaved)
        return unsaved

    def noted(self) -> list[str]:
        return [Path(each.file).name for each in unsaved_of(self.state_directory, self.workspace.key)]

    def records(self, **fields: Any) -> RunRecord:
        """An earlier run of this workspace in the history."""
        record = RunRecord(
            id=EARLIER,
            operation="provision",
            package=str(self.package),
            workspace="default",
            key=self.workspace.key,
            host=history.host_name(),
            process=GONE,
            started="2026-11-30T00:00:00.000Z",
            version="1",
        )._replace(**fields)
        make_private_directory(self.runs / record.id)
        history.write_record(self.runs / record.id, record)
        return record


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.directory.close()


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def refusal(act: Callable[[], None]) -> HereyaError:
    with pytest.raises((ErroredState, StateCorrupt)) as refused:
        act()
    return refused.value


# Before the engine acts


@pytest.mark.parametrize("care", Care)
def test_nothing_wrong_is_nothing_said(world: World, care: Care) -> None:
    for state in (None, STATE):
        if state is not None:
            world.writes_local()
        keeper = world.keeper(care)
        keeper.check(initialised=False)
        keeper.check(initialised=True)
        keeper.warn_of_missing()
        keeper.warn_of_kept()

    assert (world.warnings, names(world.state_directory)) == ([], ["runs"])


@pytest.mark.parametrize("care", [Care.WRITES, Care.MIGRATES])
def test_an_errored_state_in_the_package_is_refused(world: World, care: Care) -> None:
    world.errored.write_text(json.dumps(STATE))
    os.utime(world.errored, (1_796_000_000.0, 1_796_000_000.0))
    keeper = world.keeper(care)

    refused = refusal(lambda: keeper.check(initialised=False))

    assert refused.failure_class is FailureClass.ERRORED_STATE
    assert str(refused) == (
        f"`{world.errored}` holds, since 2026-11-30T00:53:20.000Z, a state that could not be saved; this run would"
        " go on without it, and might write over it"
    )
    assert refused.hints == (
        "see what it is, and store it where it belongs: `hereya-tf recover`",
        f"or by hand: `hereya-tf tf -- state push {world.errored}`, then remove `errored.tfstate`",
    )
    assert keeper.kept == world.errored


def test_the_run_that_could_not_move_it_is_named(world: World) -> None:
    world.errored.write_text(json.dumps(STATE))
    unsaved = world.lost()._replace(file=str(world.errored))
    note_unsaved(world.state_directory, unsaved)

    refused = refusal(lambda: world.keeper().check(initialised=False))

    assert f"a state that run `{EARLIER}` could not save" in str(refused)


def test_a_link_that_leads_nowhere_is_no_state(world: World) -> None:
    world.errored.symlink_to("nowhere")
    keeper = world.keeper()

    keeper.check(initialised=False)

    assert (keeper.kept, world.errored.is_symlink()) == (None, True)


def test_a_noted_state_is_refused_with_where_it_is_since_when_and_of_which_run(world: World) -> None:
    unsaved = world.lost()
    keeper = world.keeper()

    refused = refusal(lambda: keeper.check(initialised=False))

    note = note_path(world.state_directory, unsaved)
    assert str(refused) == (
        f"run `{EARLIER}` could not save its state, which is in `{unsaved.file}` since 2026-11-30T00:00:05.000Z;"
        " this run would go on without it"
    )
    assert refused.hints == (
        "store it where it belongs: `hereya-tf recover`",
        f"or by hand: `hereya-tf tf -- state push {unsaved.file}`",
        f"when it is stored already, or nobody wants it, remove the note: `rm {note}`",
    )
    assert str(keeper.kept) == unsaved.file


def test_a_noted_state_that_is_gone_is_refused_as_well(world: World) -> None:
    unsaved = world.lost()
    Path(unsaved.file).unlink()

    refused = refusal(lambda: world.keeper().check(initialised=False))

    assert str(refused).endswith("since 2026-11-30T00:00:05.000Z, and is not there any more")
    assert refused.hints[1].startswith("when no state of this workspace is missing, remove the note: `rm ")


def test_an_errored_state_that_somebody_has_taken_out_of_the_package_is_settled(world: World) -> None:
    note_unsaved(world.state_directory, world.lost()._replace(file=str(world.errored)))
    Path(world.lost().file).unlink()
    for note in (world.state_directory / "unsaved").iterdir():
        if str(world.errored) not in note.read_text():
            note.unlink()

    world.keeper().check(initialised=False)

    assert world.noted() == []


@pytest.mark.parametrize("serial", [7, 8])
def test_a_noted_state_that_is_the_local_one_meanwhile_settles_itself(world: World, serial: int) -> None:
    world.lost()
    world.writes_local(serial=serial)
    keeper = world.keeper()

    keeper.check(initialised=False)

    assert (world.noted(), world.warnings, keeper.kept) == ([], [], None)


def test_nothing_settles_by_itself_for_who_only_reads(world: World) -> None:
    world.lost()
    world.writes_local()
    keeper = world.keeper(Care.READS)

    keeper.check(initialised=False)
    keeper.warn_of_missing()

    assert (world.noted(), world.warnings) == (["errored-1.tfstate"], [])


def test_a_backend_that_only_init_tells_is_looked_at_after_it(world: World) -> None:
    (world.package / ".terraform").mkdir()
    saved = {"version": 3, "backend": {"type": "local", "config": {"path": "own.tfstate"}}}
    (world.package / ".terraform/terraform.tfstate").write_text(json.dumps(saved))
    (world.package / "own.tfstate").write_text("{")
    keeper = world.keeper(own="local")

    keeper.check(initialised=False)

    refused = refusal(lambda: keeper.check(initialised=True))
    assert str(refused).startswith(f"the state in `{world.package / 'own.tfstate'}` is broken")
    # Once is enough.
    keeper.check(initialised=True)


def test_a_note_waits_for_init_where_the_state_may_be_stored_already(world: World) -> None:
    world.lost()
    keeper = world.keeper(own="local")

    keeper.check(initialised=False)

    assert refusal(lambda: keeper.check(initialised=True)).failure_class is FailureClass.ERRORED_STATE


def test_a_state_elsewhere_is_only_asked_for_notes(world: World) -> None:
    world.local.write_text("{")

    world.keeper(backend=BACKEND).check(initialised=False)

    world.lost()
    refused = refusal(lambda: world.keeper(own="http").check(initialised=False))
    assert refused.failure_class is FailureClass.ERRORED_STATE


@pytest.mark.parametrize("care", [Care.WRITES, Care.READS, Care.MIGRATES])
def test_a_broken_state_is_refused(world: World, care: Care) -> None:
    world.local.write_text('{"version": 4,')
    os.utime(world.local, (1_796_000_000.0, 1_796_000_000.0))

    refused = refusal(lambda: world.keeper(care).check(initialised=False))

    assert refused.failure_class is FailureClass.STATE_CORRUPT
    assert str(refused) == (
        f"the state in `{world.local}` is broken (it breaks off in line 1) since 2026-11-30T00:53:20.000Z"
    )
    assert refused.hints == (
        "see what has happened, and put the last good state in its place: `hereya-tf recover`",
        "or by hand: keep the broken file, and put the last good state there, such as a backup",
    )


def test_an_empty_state_is_refused_with_the_run_before_and_the_copy_that_there_is(world: World) -> None:
    world.local.touch()
    record = world.records(engine_process=GONE)
    copy = world.runs / EARLIER / "state-before.tfstate"
    copy.write_text(json.dumps(STATE))
    # What was refused has done nothing, what only read has written nothing, and half a copy is none.
    refused_one = world.records(id="20261130T003000Z-cccccccc", status="refused")
    world.records(id="20261130T004000Z-cccccccc", operation="plan", status="succeeded")
    world.records(id="20261130T000100Z-cccccccc", key="other", package="/other", status="succeeded")
    (world.runs / refused_one.id / "state-before.tfstate").write_text("{")

    refused = refusal(lambda: world.keeper().check(initialised=False))

    assert str(refused).startswith(f"the state in `{world.local}` is empty since ")
    assert str(refused).endswith(f"; the last run here was `{record.id}`, which was killed")
    restored = shlex.join(("cp", str(copy), str(world.local)))
    assert refused.hints[1:] == (
        f"or by hand, with the state as it was before run `{EARLIER}`: `{restored}`",
        "if there has never been anything in it, remove the empty file",
    )


@pytest.mark.parametrize(
    ("status", "told"),
    [("failed", "failed"), ("timed_out", "ran out of time"), ("cancelled", "was cancelled")],
)
def test_how_the_run_before_ended_is_told(world: World, status: str, told: str) -> None:
    world.local.write_text("{")
    world.local.with_name("terraform.tfstate.backup").write_text("{}")
    world.records(status=status)

    refused = refusal(lambda: world.keeper().check(initialised=False))

    assert str(refused).endswith(f"`{EARLIER}`, which {told}")
    assert refused.hints[-1].endswith(f"such as `{world.local}.backup`")


def test_a_migration_looks_at_the_states_of_all_workspaces(world: World) -> None:
    world.writes_local()
    other = world.package / "terraform.tfstate.d/blue/terraform.tfstate"
    other.parent.mkdir(parents=True)
    other.touch()

    refused = refusal(lambda: world.keeper(Care.MIGRATES, own="s3").check(initialised=False))

    assert f"`{other}` is empty" in str(refused)


def test_a_migration_settles_what_is_where_it_comes_from(world: World) -> None:
    world.lost()
    world.writes_local()

    world.keeper(Care.MIGRATES, own="s3").check(initialised=False)

    assert world.noted() == []


def test_whoever_minds_nothing_goes_on_over_everything(world: World) -> None:
    world.errored.write_text("{}")
    world.local.touch()
    world.lost()

    keeper = world.keeper(Care.NONE)

    keeper.check(initialised=False)

    assert (keeper.kept, world.errored.read_text()) == (None, "{}")


# What was read


def test_of_what_was_read_it_is_said_that_there_is_a_later_one(world: World) -> None:
    unsaved = world.lost()
    world.errored.write_text("{}")
    keeper = world.keeper(Care.READS)
    keeper.check(initialised=False)

    keeper.warn_of_missing()

    assert world.warnings == [
        f"this is not the last state: a later one could not be saved, and is in `{file}`; `hereya-tf recover`"
        " stores it"
        for file in (unsaved.file, world.errored)
    ]


def test_a_note_that_cannot_be_read_is_told_to_who_reads(world: World) -> None:
    note_path(world.state_directory, world.lost()).write_text("")

    world.keeper(Care.READS).warn_of_missing()

    (warning,) = world.warnings
    assert "may tell of a state that could not be saved: it is damaged" in warning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, ""),
        ("", ""),
        ('{"version": 4}', '{"version": 4}'),
        ("{", None),
        ('{"encrypted_data": ""}', None),
    ],
)
def test_a_local_state_is_read_where_no_engine_is_needed_for_that(
    world: World, text: str | None, expected: str | None
) -> None:
    if text is not None:
        world.local.write_text(text)

    assert world.keeper().local_text() == expected
    assert world.keeper(own="http").local_text() is None


# Before it writes, and afterwards


def test_the_state_is_copied_once_before_it_is_written(world: World) -> None:
    world.writes_local()
    before = world.local.read_bytes()
    keeper = world.keeper()

    for serial in (8, 9):
        with keeper.watching():
            world.writes_local(serial=serial)

    assert (world.directory.path / "state-before.tfstate").read_bytes() == before
    assert world.warnings == []


def test_the_copy_stays_at_the_end_of_the_run(world: World) -> None:
    world.writes_local()
    with world.keeper().watching():
        pass
    world.directory.close()

    assert "state-before.tfstate" in names(world.directory.path)


def test_a_state_elsewhere_is_not_copied(world: World) -> None:
    world.writes_local()

    with world.keeper(backend=BACKEND).watching():
        pass

    assert (world.warnings, names(world.directory.path)) == ([], ["events.ndjson"])


def test_the_disk_with_the_least_room_is_told_of_before_something_is_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Disk:
        f_bavail, f_frsize, f_flag, f_blocks = 20 << 20, 1, 0, 1

    monkeypatch.setattr(os, "statvfs", lambda _path: Disk)

    with world.keeper().watching():
        pass

    assert world.warnings == [
        f"the disk of `{world.package}` has 20 MiB left, which may be too little for this run and its state:"
        " better would be 64 MiB"
    ]


def test_a_copy_that_cannot_be_made_is_a_warning(world: World) -> None:
    world.local.mkdir()

    with world.keeper().watching():
        pass

    assert world.warnings == [
        f"there is no copy of `{world.local}` as it was before this run: it is not a regular file"
    ]


@pytest.mark.parametrize("exists", [True, False])
def test_a_run_without_a_directory_says_that_it_has_no_copy(tmp_path: Path, exists: bool) -> None:
    (tmp_path / "hereya").mkdir()
    (tmp_path / "hereya/runs").touch()
    world = World(tmp_path)
    world.warnings.clear()
    if exists:
        world.writes_local()

    with world.keeper().watching():
        world.errored.write_text(json.dumps(STATE))

    stays = f"`{world.errored}` has to stay where the engine has put it: the run has no directory"
    no_copy = f"there is no copy of `{world.local}` as it was before this run: the run has no directory"
    assert world.warnings == ([no_copy, stays] if exists else [stays])


def test_what_an_engine_could_not_save_is_kept_noted_and_refused_from_then_on(world: World) -> None:
    keeper = world.keeper()
    keeper.check(initialised=False)

    def fail() -> None:
        with keeper.watching():
            world.errored.write_text(json.dumps(STATE))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()

    kept = world.directory.path / "errored-1.tfstate"
    assert (keeper.kept, json.loads(kept.read_text()), world.errored.exists()) == (kept, STATE, False)
    (unsaved,) = unsaved_of(world.state_directory, world.workspace.key)
    assert unsaved[:7] == (RUN, str(world.package), "default", world.workspace.key, str(kept), 7, "a-b")
    world.directory.close()
    assert kept.exists()
    assert (
        refusal(lambda: world.keeper().check(initialised=False)).failure_class is FailureClass.ERRORED_STATE
    )
    keeper.warn_of_kept()
    assert world.warnings == [
        f"a state that could not be saved is in `{kept}`; `hereya-tf recover` stores it"
    ]


def test_an_errored_state_that_comes_while_a_plan_is_looked_at_is_not_written_over(world: World) -> None:
    keeper = world.keeper()
    keeper.check(initialised=False)
    world.errored.write_text(json.dumps(STATE))

    refusal(keeper.before_writing)

    assert world.errored.exists()


def test_an_older_errored_state_is_never_touched(world: World) -> None:
    world.errored.write_text(json.dumps(STATE))
    before = world.errored.stat()
    keeper = world.keeper(Care.NONE)

    with keeper.watching():
        assert (world.directory.path / "errored-1.tfstate").exists()

    after = world.errored.stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_mode) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_mode,
    )
    assert (keeper.kept, world.noted(), names(world.directory.path)) == (None, [], ["events.ndjson"])


def test_an_older_errored_state_that_is_written_over_is_kept_beside_the_new_one(world: World) -> None:
    world.errored.write_text(json.dumps({**STATE, "serial": 3}))
    keeper = world.keeper(Care.NONE)

    with keeper.watching():
        world.errored.write_text(json.dumps(STATE))

    assert keeper.kept == world.directory.path / "errored-2.tfstate"
    found = unsaved_of(world.state_directory, world.workspace.key)
    assert sorted((Path(each.file).name, each.serial) for each in found) == [
        ("errored-1.tfstate", 3),
        ("errored-2.tfstate", 7),
    ]


def test_what_the_engine_has_printed_is_the_truth(world: World) -> None:
    keeper = world.keeper()

    with keeper.watching():
        world.directory.keep_emergency_state(json.dumps(STATE))
        world.errored.touch()

    assert keeper.kept == world.directory.path / "emergency.tfstate"
    assert (world.noted(), world.errored.exists()) == (["emergency.tfstate"], False)


def test_half_a_file_beside_it_is_put_aside_and_is_not_noted(world: World) -> None:
    keeper = world.keeper()

    with keeper.watching():
        world.directory.keep_emergency_state(json.dumps(STATE))
        world.errored.write_text('{"version": 4,')

    assert (keeper.kept, world.noted()) == (world.directory.path / "emergency.tfstate", ["emergency.tfstate"])
    assert (world.directory.path / "errored-1.tfstate").exists()
    assert not world.errored.exists()


def test_without_a_note_the_state_stays_in_the_package_which_refuses_by_itself(world: World) -> None:
    (world.state_directory / "unsaved").touch()
    keeper = world.keeper(Care.NONE)

    with keeper.watching():
        world.errored.write_text(json.dumps(STATE))

    assert (keeper.kept, json.loads(world.errored.read_text())) == (world.errored, STATE)
    assert names(world.directory.path) == ["events.ndjson"]
    (warning,) = world.warnings
    assert warning.startswith(f"`{world.errored}` has to stay where the engine has put it: ")


def test_a_printed_state_that_cannot_be_noted_is_a_warning(world: World) -> None:
    (world.state_directory / "unsaved").touch()

    with world.keeper(Care.NONE).watching():
        world.directory.keep_emergency_state(json.dumps(STATE))

    (warning,) = world.warnings
    assert warning.startswith("the next run will not know that the state is in `")


def test_a_fault_of_ours_hides_no_end_of_a_step(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = world.keeper()

    with keeper.watching():
        monkeypatch.setattr(world.directory, "emergency_state", 7)

    (warning,) = world.warnings
    assert warning.startswith("it cannot be seen whether the state was saved: ")


# By hand


@pytest.mark.parametrize(
    ("text", "command"),
    [
        (None, "hereya-tf tf -- state push '{kept} 1'"),
        ("", "hereya-tf tf -- state push '{kept} 1'"),
        ("{", "cp '{kept} 1' {local}"),
    ],
    ids=["missing", "empty", "broken"],
)
def test_no_engine_pushes_a_state_over_a_broken_one(world: World, text: str | None, command: str) -> None:
    if text is not None:
        world.local.write_text(text)
    kept = world.directory.path / "kept 1"

    made = world.keeper().by_hand(kept)

    assert made == command.format(kept=world.directory.path / "kept", local=world.local)


@pytest.mark.parametrize(
    ("pushed", "settled"),
    [
        ("itself", True),
        (STATE, True),
        ({**STATE, "serial": 9}, True),
        ({**STATE, "serial": 6}, False),
        ({**STATE, "lineage": "other"}, False),
        ({**STATE, "lineage": ""}, False),
        (None, False),
    ],
    ids=["itself", "a copy", "a later one", "an earlier one", "another", "nobody knows", "missing"],
)
def test_what_was_pushed_by_hand_is_settled(world: World, pushed: Any, settled: bool) -> None:
    unsaved = world.lost()
    if isinstance(pushed, dict):
        (world.package / "copy.tfstate").write_text(json.dumps(pushed))

    world.keeper(Care.NONE, own="http").settle_pushed(
        os.path.relpath(unsaved.file, world.package) if pushed == "itself" else "copy.tfstate"
    )

    assert (world.noted() == []) is settled


def test_an_encrypted_state_is_settled_by_the_file_itself(world: World) -> None:
    unsaved = world.lost('{"encrypted_data": "x"}')
    other = unsaved._replace(file=unsaved.file, serial=None, lineage="")
    note_unsaved(world.state_directory, other)

    world.keeper(Care.NONE, own="http").settle_pushed(unsaved.file)

    assert world.noted() == []
