"""`recover` on an `http` backend with faults: what a crash has left is told, and mended only where that is safe."""

import shutil
from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.buckets import HOLDER
from tests.engine.driving import Driver, failure, steps, succeeded
from tests.engine.recovering import (
    GATED,
    PACKAGE,
    content,
    findings,
    kept,
    kill_both,
    left,
    notes,
    read,
    recover,
    recovery,
    refused,
    repaired,
    repairs,
    use,
)
from tests.engine.state_server import StateServer
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine


@pytest.fixture
def unsaved(hereya: Driver, make_package: MakePackage, server: StateServer, refuses: dict[str, int]) -> Path:
    """A package whose second state could not be saved, once the server refused to take it."""
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package, "-p", "v=one"))
    refuses["POST"] = 500
    assert failure(hereya.provision(package, "-p", "v=two"))[1] == "state-not-saved"
    refuses.clear()
    return package


def test_nothing_is_broken_where_nothing_is_broken(
    hereya: Driver, make_package: MakePackage, server: StateServer
) -> None:
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package))
    before = server.state

    result = recover(hereya, package)

    assert succeeded(result)["recovery"] == {
        "story": [],
        "findings": [],
        "repairs": [],
        "left": [],
        "again": None,
    }
    assert steps(result) == ["lock"]
    assert (server.state, server.lock) == (before, None)


def test_a_state_that_could_not_be_saved_is_stored(
    hereya: Driver, unsaved: Path, server: StateServer
) -> None:
    assert content(server.state) == {"v": "one"}
    assert failure(hereya.provision(unsaved, "-p", "v=two"))[:2] == (3, "errored-state")

    result = recover(hereya, unsaved, "--yes")

    assert repaired(result) == {"push": True}
    assert findings(result) == ["errored-state"]
    assert content(server.state) == {"v": "two"}
    assert (server.lock, notes()) == (None, [])
    (dead,) = (run for run, state in scenes.states(hereya.cli).items() if state == "failed")
    assert [content(read(file)) for file in kept(dead, "errored-")] == [{"v": "two"}]
    story = recovery(result)["story"]
    assert story[0].startswith(f"Run `{dead}`: `provision` of `{unsaved}`")
    assert recovery(result)["again"].endswith(
        f"hereya-tf provision {unsaved} --engine {hereya.wish} --param v=two"
    )
    again = hereya.provision(unsaved, "-p", "v=two")
    assert set(succeeded(again)["changes"].values()) == {0}
    assert repaired(recover(hereya, unsaved)) == {}


@pytest.mark.parametrize("answer", ["POST", "GET"])
def test_the_first_state_is_stored_where_there_is_none(
    hereya: Driver, make_package: MakePackage, server: StateServer, refuses: dict[str, int], answer: str
) -> None:
    """An engine shows an empty state without a lineage there, and stores what it is given under one of its own."""
    package = make_package(GATED)
    running = hereya.start("provision", package)
    scenes.wait_for_file(package / "started")
    refuses[answer] = 500
    (package / "go").touch()
    assert failure(running.finish())[1] == "state-not-saved"
    refuses.clear()

    result = recover(hereya, package, "--yes")

    assert repaired(result) == {"push": True}
    assert recovery(result)["repairs"][0]["because"] == "the backend has no state"
    assert (len(server.state["resources"]), server.lock, notes()) == (3, None, [])
    assert set(succeeded(hereya.provision(package))["changes"].values()) == {0}


def test_a_first_state_that_was_stored_already_is_settled(
    hereya: Driver, make_package: MakePackage, server: StateServer, refuses: dict[str, int]
) -> None:
    package = make_package(PACKAGE)
    refuses["POST"] = 500
    failed = failure(hereya.provision(package))
    assert failed[1] == "state-not-saved"
    refuses.clear()
    (run,) = (run for run, state in scenes.states(hereya.cli).items() if state == "failed")
    hereya.plain(package, "state", "push", str(*kept(run, "errored-")))

    assert repaired(recover(hereya, package, "--yes")) == {"settle": True}
    assert notes() == []


def test_a_state_that_may_be_of_another_workspace_is_not_stored_in_an_empty_one(
    hereya: Driver, make_package: MakePackage, server: StateServer, unsaved: Path
) -> None:
    clone = make_package(PACKAGE)
    (run,) = (run for run, state in scenes.states(hereya.cli).items() if state == "failed")
    (file,) = kept(run, "errored-")
    shutil.copy(file, clone / "errored.tfstate")
    server.forget()

    result = recover(hereya, clone, "--yes")

    assert refused(result) == (3, "errored-state")
    assert "nobody knows of which workspace this one is" in left(result)
    assert (server.state, (clone / "errored.tfstate").exists()) == (None, True)


def test_a_file_that_is_gone_is_no_dead_end(hereya: Driver, unsaved: Path, server: StateServer) -> None:
    (run,) = (run for run, state in scenes.states(hereya.cli).items() if state == "failed")
    (file,) = kept(run, "errored-")
    file.unlink()

    result = recover(hereya, unsaved, "--yes")

    assert refused(result) == (3, "errored-state")
    (note,) = notes()
    assert (
        f"remove the note: `rm {scenes.state_directory() / 'unsaved' / note}`"
        in result.result["failure"]["hint"]
    )


def test_what_was_tried_by_hand_is_not_what_to_run_again(
    hereya: Driver, unsaved: Path, server: StateServer
) -> None:
    by_hand = ("state", "push", "-force", "nothing.tfstate")
    assert hereya.cli("tf", unsaved, "--engine", hereya.wish, "--", *by_hand).exit_code == 1

    told = recovery(recover(hereya, unsaved, "--dry-run"))

    assert len([sentence for sentence in told["story"] if sentence.startswith("Run `")]) == 2
    assert "`tf`" in told["story"][-2]
    assert told["again"].endswith(f"hereya-tf provision {unsaved} --engine {hereya.wish} --param v=two")


def test_without_a_yes_and_without_a_terminal_everything_is_told_and_nothing_is_done(
    hereya: Driver, unsaved: Path, server: StateServer
) -> None:
    before = server.state

    told = recover(hereya, unsaved)
    dry = recover(hereya, unsaved, "--dry-run", "--yes")
    people = hereya.cli("recover", unsaved, "--engine", hereya.wish)

    assert refused(told) == (3, "errored-state")
    assert told.result["failure"]["hint"] == "`--yes` does the repairs that are offered"
    assert (succeeded(dry)["exit_code"], repairs(told), repairs(dry)) == (0, {"push": None}, {"push": None})
    assert (server.state, len(notes())) == (before, 1)
    assert people.exit_code == 3
    assert "To be repaired, in this order:\n1. store the state in" in people.stdout
    assert "error: a state of run" in people.stderr


def test_what_is_stored_already_is_not_stored_again(
    hereya: Driver, unsaved: Path, server: StateServer
) -> None:
    (run,) = (run for run, state in scenes.states(hereya.cli).items() if state == "failed")
    (file,) = kept(run, "errored-")
    hereya.plain(unsaved, "state", "push", str(file))
    before = server.state

    result = recover(hereya, unsaved, "--yes")

    assert repaired(result) == {"settle": True}
    assert (server.state, notes(), file.exists()) == (before, [], True)


def test_a_state_of_another_lineage_is_never_stored(
    hereya: Driver, unsaved: Path, server: StateServer
) -> None:
    other = {**server.state, "lineage": "00000000-1111-2222-3333-444444444444", "serial": 1}
    server.put(other)

    result = recover(hereya, unsaved, "--yes")

    assert refused(result) == (3, "errored-state")
    assert repairs(result) == {}
    assert "the backend has another state, of lineage `00000000-1111-2222-3333-444444444444`" in left(result)
    assert "state push -force" in recovery(result)["left"][0]["by_hand"][0]
    assert (server.state, len(notes())) == (other, 1)


@pytest.mark.parametrize("ahead", [0, 5], ids=["the same serial", "a higher serial"])
def test_a_state_that_was_overtaken_is_not_stored(
    hereya: Driver, unsaved: Path, server: StateServer, ahead: int
) -> None:
    newer = {**server.state, "serial": server.state["serial"] + 1 + ahead, "outputs": {}}
    server.put(newer)

    result = recover(hereya, unsaved, "--yes")

    assert refused(result) == (3, "errored-state")
    assert f"serial {newer['serial']} there" in left(result)
    assert (server.state, len(notes())) == (newer, 1)


def test_a_state_that_the_engine_left_in_the_package_is_stored_and_taken_away(
    hereya: Driver, make_package: MakePackage, server: StateServer, refuses: dict[str, int]
) -> None:
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package, "-p", "v=one"))
    refuses["POST"] = 500
    hereya.plain(package, "apply", "-auto-approve", "-var", "v=two", check=False)
    refuses.clear()
    assert (package / "errored.tfstate").exists()

    result = recover(hereya, package, "--yes")

    assert repaired(result) == {"push": True}
    assert content(server.state) == {"v": "two"}
    assert not (package / "errored.tfstate").exists()
    run = str(result.result["run"])
    assert [content(read(file)) for file in kept(run, "errored-")] == [{"v": "two"}]
    assert set(succeeded(hereya.provision(package, "-p", "v=two"))["changes"].values()) == {0}


@pytest.mark.parametrize("is_strict", [False, True], ids=["lax", "strict"])
def test_a_state_is_stored_before_the_lock_of_the_dead_run_is_released(
    hereya: Driver, make_package: MakePackage, monkeypatch: pytest.MonkeyPatch, is_strict: bool
) -> None:
    """Who waits for the lock would else go on with the old state; a strict server wants it the other way round."""
    refuses: dict[str, int] = {}
    with StateServer(refuses, is_strict=is_strict) as server:
        use(server, monkeypatch)
        package = make_package(PACKAGE)
        succeeded(hereya.provision(package, "-p", "v=one"))
        refuses |= {"POST": 500, "UNLOCK": 500}
        assert failure(hereya.provision(package, "-p", "v=two"))[1] == "state-not-saved"
        refuses.clear()

        result = recover(hereya, package, "--yes")

        assert repaired(result) == {"push": True, "unlock": True}
        assert (content(server.state), server.lock, notes()) == ({"v": "two"}, None, [])
        done = [step for step in steps(result) if step == "force-unlock"]
        pushes = [
            event["argv"]
            for event in result.events
            if event["type"] == "step_started" and "push" in event["argv"]
        ]
        assert (len(done), ["-lock=false" in push for push in pushes]) == (
            1,
            [True, False] if is_strict else [True],
        )


def test_a_lock_that_protects_a_state_stays_while_that_cannot_be_stored(
    hereya: Driver, make_package: MakePackage, server: StateServer, refuses: dict[str, int]
) -> None:
    """Who waits for it would go on with the old state."""
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package, "-p", "v=one"))
    refuses |= {"POST": 500, "UNLOCK": 500}
    assert failure(hereya.provision(package, "-p", "v=two"))[1] == "state-not-saved"
    del refuses["UNLOCK"]
    before = server.lock

    result = recover(hereya, package, "--yes")

    assert refused(result) == (1, "backend-unreachable")
    assert repairs(result) == {"push": False, "unlock": None}
    assert (server.lock, len(notes())) == (before, 1)
    refuses.clear()
    assert repaired(recover(hereya, package, "--yes")) == {"push": True, "unlock": True}


def test_what_was_stored_since_is_not_told_as_missing(
    hereya: Driver, unsaved: Path, server: StateServer
) -> None:
    missing = recovery(recover(hereya, unsaved, "--yes"))["story"]
    stored = recovery(recover(hereya, unsaved))["story"]

    assert "the only complete copy is" in "\n".join(missing)
    assert "Its state: could not be saved then, and is not missing any more." in stored


def test_nothing_is_stored_while_somebody_else_has_the_lock(
    hereya: Driver, unsaved: Path, server: StateServer
) -> None:
    before = server.state
    server.hold(HOLDER)

    result = recover(hereya, unsaved, "--yes")

    assert refused(result) == (3, "errored-state")
    assert [each["class"] for each in recovery(result)["left"]] == ["errored-state", "state-locked"]
    assert (server.state, len(notes())) == (before, 1)


@pytest.mark.parametrize("nth", range(7))
def test_a_recovery_that_is_killed_at_any_step_is_done_by_the_next(
    hereya: Driver, make_package: MakePackage, server: StateServer, refuses: dict[str, int], nth: int
) -> None:
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package, "-p", "v=one"))
    refuses |= {"POST": 500, "UNLOCK": 500}
    hereya.provision(package, "-p", "v=two")
    refuses.clear()
    arguments = ("--yes", "--json", "--engine", hereya.wish, "--reinit")
    running = hereya.cli.start("recover", package, *arguments)

    def started() -> int:
        return len([event for event in running.events() if event["type"] == "step_started"])

    wait_for(lambda: True if started() > nth or running.process.poll() is not None else None)
    if running.process.poll() is None:
        kill_both(running)

    result = hereya.cli("recover", package, *arguments)

    succeeded(result)
    assert (content(server.state), server.lock, notes()) == ({"v": "two"}, None, [])
    assert set(succeeded(hereya.provision(package, "-p", "v=two"))["changes"].values()) == {0}
