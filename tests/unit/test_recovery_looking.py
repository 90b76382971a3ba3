"""Which runs are of a state, which copies there are of it, and who may have left its lock."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.event_parts import ProcessInfo
from hereya_tf.recovery.looking import find_broken, find_lost, records_of, suspects_of
from hereya_tf.recovery.plan import Lost
from hereya_tf.recovery.state_document import StateDocument
from hereya_tf.runs import history
from hereya_tf.runs.history import RunRecord
from hereya_tf.states.local import Whereabouts
from hereya_tf.states.unsaved import Unsaved, note_path
from hereya_tf.supervision.process_table import ProcessIdentity, identify_ourselves
from hereya_tf.workspace import Workspace
from tests.event_samples import TRACE

IDS = [f"20260101T00000{number}Z-0000000{number}" for number in range(6)]


def state(serial: int, lineage: str = "one") -> str:
    return json.dumps({"version": 4, "serial": serial, "lineage": lineage, "outputs": {}, "resources": []})


def where(package: Path, key: str = "", name: str = "default") -> Whereabouts:
    return Whereabouts(package, Workspace(name, key or f"{package}#{name}", None, None, ".terraform"), None)


def make_run(runs: Path, run: str, package: Path, **changed: Any) -> RunRecord:
    directory = runs / run
    directory.mkdir(parents=True)
    record = RunRecord(
        run,
        "provision",
        str(package),
        "default",
        f"{package}#default",
        history.host_name(),
        ProcessIdentity(2**22, "gone"),
        f"2026-01-01T00:00:0{run[14]}.000Z",
        "1",
        status="failed",
        user="me",
    )._replace(**changed)
    history.write_record(directory, record)
    return record


def ids(records: tuple[RunRecord, ...]) -> list[int]:
    return [IDS.index(record.id) for record in records]


def test_runs_are_of_the_state_by_its_key_or_where_that_was_chosen_by_their_place(tmp_path: Path) -> None:
    runs, package, other = tmp_path / "runs", tmp_path / "p", tmp_path / "other"
    make_run(runs, IDS[0], package)
    make_run(runs, IDS[1], package, workspace="prod", key=f"{package}#prod")
    make_run(runs, IDS[2], package, key="chosen")
    make_run(runs, IDS[3], other, key="chosen")
    make_run(runs, IDS[4], other, key=f"{package}#default")
    make_run(runs, IDS[5], package)

    assert ids(records_of(runs, where(package), IDS[5])) == [4, 2, 0]
    assert ids(records_of(runs, where(package, key="chosen"), IDS[5])) == [2, 0]
    assert ids(records_of(runs, where(package, name="prod"), IDS[5])) == [1]


def test_any_number_of_refused_runs_hides_no_copy(tmp_path: Path) -> None:
    runs, package = tmp_path / "runs", tmp_path / "p"
    for run in IDS[:3]:
        make_run(runs, run, package)
    for run in IDS[:2]:
        (runs / run / "state-before.tfstate").write_text(state(2))
    for number in range(210):
        make_run(runs, f"20260102T000000Z-{number:08x}", package, status="refused")

    assert [record.id for record in records_of(runs, where(package), "")][200:] == [IDS[1]]


def test_the_copies_of_a_broken_state_are_told_newest_first(tmp_path: Path) -> None:
    runs, package = tmp_path / "runs", tmp_path / "p"
    package.mkdir()
    local = package / "terraform.tfstate"
    local.write_text("")
    (package / "terraform.tfstate.backup").write_text(state(1))
    records = [make_run(runs, run, package) for run in IDS[:3]][::-1]
    (runs / IDS[0] / "state-before.tfstate").write_text(state(2))
    (runs / IDS[1] / "state-before.tfstate").write_text("{")
    (runs / IDS[1] / "emergency.tfstate").write_text(state(5))
    (runs / IDS[2] / "errored-1.tfstate").write_text(state(7))
    (runs / IDS[2] / "state-before.tfstate").write_text(state(6))
    noted = Lost(package / "kept", "run-9", StateDocument("one", 8, {}))
    unknown = Lost(package / "errored.tfstate", "", StateDocument("other", 9, {}))

    found = find_broken(local, runs, records, [unknown, noted, Lost(Path("/gone"), "x", None)])

    assert found is not None
    assert [(copy.document.serial, copy.what) for copy in found.copies] == [
        (8, "the state that run `run-9` could not save"),
        (7, f"a state that run `{IDS[2]}` could not save"),
        (6, f"the state as it was before run `{IDS[2]}`"),
        (5, f"a state that run `{IDS[1]}` could not save"),
        (2, f"the state as it was before run `{IDS[0]}`"),
        (1, "the engine's own backup"),
        # Of a workspace that nobody knows: it does not say which lineage is the right one.
        (9, "the state that an engine could not save"),
    ]


def test_a_state_of_a_workspace_that_nobody_knows_is_no_copy_by_itself(tmp_path: Path) -> None:
    local = tmp_path / "terraform.tfstate"
    local.write_text("")
    unknown = Lost(tmp_path / "errored.tfstate", "", StateDocument("other", 9, {}))

    found = find_broken(local, tmp_path / "runs", [], [unknown])

    assert found is not None
    assert found.copies == ()


@pytest.mark.parametrize("text", [state(1), None], ids=["whole", "missing"])
def test_a_state_that_is_whole_or_not_there_is_not_broken(tmp_path: Path, text: str | None) -> None:
    local = tmp_path / "terraform.tfstate"
    if text is not None:
        local.write_text(text)

    assert find_broken(local, tmp_path / "runs", [], []) is None


def test_a_state_that_an_engine_has_locked_is_its_business(tmp_path: Path) -> None:
    local = tmp_path / "terraform.tfstate"
    local.write_text("")
    # A lock of one's own is never in one's way.
    holding = "import fcntl,sys; f = open(sys.argv[1], 'r+'); fcntl.lockf(f, 2); print(flush=True); input()"
    words = [sys.executable, "-c", holding, str(local)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        held = find_broken(local, tmp_path / "runs", [], [])
        holder.communicate("\n")

    assert held is None
    assert find_broken(local, tmp_path / "runs", [], []) is not None


def note(file: Path, run: str = "run-1") -> Unsaved:
    return Unsaved(run, "/p", "default", "key", str(file), 1, "one", "2026-01-01T00:00:00Z")


def test_what_is_lost_is_what_is_noted_and_what_an_engine_left_in_the_package(tmp_path: Path) -> None:
    noted = tmp_path / "errored-1.tfstate"
    noted.write_text(state(3))
    errored = tmp_path / "errored.tfstate"
    document = StateDocument("one", 3, {"outputs": None, "resources": None})

    def lost(file: Path, found: StateDocument | None) -> Lost:
        return Lost(file, "run-1", found, note_path(tmp_path, note(file)))

    def find(*files: Path) -> tuple[Lost, ...]:
        return find_lost(tmp_path, tuple(map(note, files)), tmp_path)

    assert find() == ()
    assert find(noted, tmp_path / "gone") == (lost(noted, document), lost(tmp_path / "gone", None))
    # Taken away by somebody who did not want it.
    assert find(errored) == ()
    errored.write_text(state(4))
    assert find(noted)[1] == Lost(errored, "", document._replace(serial=4))
    assert find(errored) == (lost(errored, document._replace(serial=4)),)
    # One that is in both places: whoever moved it was killed on the way.
    errored.write_text(state(3))
    assert find(noted) == (lost(noted, document),)


def test_only_a_run_of_which_nothing_lives_is_gone(tmp_path: Path) -> None:
    runs, package = tmp_path / "runs", tmp_path / "p"
    alive = identify_ourselves()
    records = [
        make_run(runs, IDS[0], package),
        make_run(runs, IDS[1], package, status=None),
        make_run(runs, IDS[2], package, status=None, process=alive),
        make_run(runs, IDS[3], package, status=None, engine_process=alive),
        make_run(runs, IDS[4], package, status=None, host="elsewhere"),
    ]

    assert [suspect.is_gone for suspect in suspects_of(runs, records, None)] == [
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_record_of_another_machine_is_believed_and_one_of_this_is_looked_at(tmp_path: Path) -> None:
    alive = ProcessInfo(*identify_ourselves())
    here = TRACE._replace(host=history.host_name())
    traces = {
        "elsewhere": TRACE._replace(host="elsewhere", process=alive),
        "gone": here._replace(process=ProcessInfo(2**22, "gone")),
        "alive": here._replace(process=alive),
        "its engine": here._replace(process=ProcessInfo(2**22, "gone"), engine_process=alive),
        "ended": here._replace(process=alive, ended="2026-01-01T00:00:00Z"),
    }

    gone = {name: next(suspects_of(tmp_path, [], trace)).is_gone for name, trace in traces.items()}

    assert gone == {"elsewhere": True, "gone": True, "alive": False, "its engine": False, "ended": True}
