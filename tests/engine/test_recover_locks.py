"""`recover` on an `http` backend: a lock is released when it is proven to be a dead run's, and never else."""

import signal
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.buckets import HOLDER
from tests.engine.driving import Driver, failure, succeeded
from tests.engine.recovering import (
    GATED,
    PACKAGE,
    crashed,
    findings,
    kill_both,
    left,
    lock_of,
    read,
    recover,
    recovery,
    refused,
    repaired,
    repairs,
    who,
)
from tests.engine.state_server import StateServer

pytestmark = pytest.mark.real_engine


def test_a_lock_that_could_not_be_released_is_released(
    hereya: Driver, make_package: MakePackage, server: StateServer, refuses: dict[str, int]
) -> None:
    package = make_package(PACKAGE)
    refuses["UNLOCK"] = 500
    assert failure(hereya.provision(package))[1] == "lock-not-released"
    refuses.clear()
    assert server.lock is not None

    result = recover(hereya, package, "--yes")

    assert (repaired(result), findings(result)) == ({"unlock": True}, ["state-locked"])
    assert server.lock is None
    assert repaired(recover(hereya, package)) == {}


def test_the_lock_of_a_run_that_was_killed_with_its_engine_is_released(
    hereya: Driver, make_package: MakePackage, server: StateServer
) -> None:
    package = make_package(GATED)
    dead = crashed(hereya.start("provision", package), package)
    left_behind = server.lock
    assert left_behind["Who"] == who()

    told = recover(hereya, package)
    result = recover(hereya, package, "--yes")

    assert refused(told) == (4, "state-locked")
    assert (repairs(told), repaired(result)) == ({"unlock": None}, {"unlock": True})
    (repair,) = recovery(result)["repairs"]
    assert repair["sentence"] == f"release the lock `{left_behind['ID']}`"
    assert f"it is proven to be of run `{dead}`, which is dead" in repair["because"]
    assert server.lock is None
    story = "\n".join(recovery(result)["story"])
    assert "It was killed in step apply, and its engine ended without finishing" in story
    assert "Done before that: 1 resource: terraform_data.first." in story
    assert "In flight: `terraform_data.second` was being created." in story
    assert f"hereya-tf tf {package} -- import terraform_data.second ID" in story
    # An `http` backend gets the state at the end, and every 20 s.
    (done,) = (each for each in recovery(result)["story"] if each.startswith("Done, but not in the state"))
    assert f"hereya-tf tf {package} -- import terraform_data.first " in done
    (package / "go").touch()
    succeeded(hereya.provision(package))


def test_a_lock_that_was_taken_although_the_answer_was_lost_is_released(
    hereya: Driver, make_package: MakePackage, server: StateServer
) -> None:
    package = make_package(PACKAGE)
    server.lose("LOCK")
    assert failure(hereya.provision(package))[1] == "backend-unreachable"
    assert server.lock is not None

    result = recover(hereya, package, "--yes")

    assert (repaired(result), server.lock) == ({"unlock": True}, None)


def test_a_run_that_was_killed_while_it_waited_has_not_left_the_lock_that_is_there_later(
    hereya: Driver, make_package: MakePackage, server: StateServer
) -> None:
    holder = {**HOLDER, "Who": who()}
    server.hold(holder)
    package = make_package(PACKAGE)
    waiting = hereya.start("provision", package, "--lock-timeout", "5m")
    waiting.wait_for_event("log", text="Acquiring state lock. This may take a few moments...")
    another = {**holder, "ID": HOLDER["ID"].replace("1", "2"), "Created": f"{datetime.now(UTC).isoformat()}"}
    dead = kill_both(waiting)
    server.hold(another)

    result = recover(hereya, package, "--yes")

    assert refused(result) == (4, "state-locked")
    assert left(result).endswith(f"it was taken at another time than when run `{dead}` was at it")
    assert server.lock == another


def test_a_look_for_the_lock_whose_answer_is_lost_leaves_no_lock_behind(
    hereya: Driver, make_package: MakePackage, server: StateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine asks for the lock once more, and is refused for the one that it has itself taken."""
    monkeypatch.setenv("TF_HTTP_RETRY_MAX", "1")
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package))
    server.lose("LOCK")

    result = recover(hereya, package, "--dry-run")

    assert (repaired(result), findings(result), server.lock) == ({}, [], None)
    assert [step["command"] for step in result.result["trace"]["steps"]] == ["untaint"] * 3


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        pytest.param({"Who": "root@elsewhere"}, "it was taken by `root@elsewhere`", id="another host"),
        pytest.param({"Who": "nobody@HOST"}, "it was taken by `nobody@", id="another user"),
        pytest.param(
            {"Created": "2026-01-01T00:00:00Z"},
            "it was taken at another time than when run",
            id="another time",
        ),
        pytest.param(
            {"Operation": "OperationTypePlan"}, "it is for `OperationTypePlan`", id="another operation"
        ),
        pytest.param({"Who": ""}, "the engine does not say who holds it", id="nobody"),
    ],
)
def test_a_lock_that_is_not_proven_to_be_a_dead_runs_is_never_released(
    hereya: Driver, make_package: MakePackage, server: StateServer, changed: dict[str, str], because: str
) -> None:
    package = make_package(GATED)
    crashed(hereya.start("provision", package), package)
    changed = {name: text.replace("HOST", who().partition("@")[2]) for name, text in changed.items()}
    foreign = {**server.lock, "ID": "99999999-2222-3333-4444-555555555555", **changed}
    server.hold(foreign)

    result = recover(hereya, package, "--yes")

    assert refused(result) == (4, "state-locked")
    assert repairs(result) == {}
    assert because in left(result)
    assert "force-unlock -force 99999999-2222-3333-4444-555555555555" in str(recovery(result)["left"])
    assert server.lock == foreign


def test_the_lock_of_a_run_that_is_at_work_elsewhere_is_not_touched(
    hereya: Driver, make_package: MakePackage, server: StateServer, tmp_path: Path
) -> None:
    package, clone = make_package(GATED), make_package(GATED)
    running = hereya.start("provision", package, "--result-file", tmp_path / "result.json")
    running.wait_for_event("resource", address="terraform_data.second", status="started")

    result = recover(hereya, clone, "--yes", "--record", tmp_path / "result.json")

    assert refused(result) == (4, "state-locked")
    assert "is still at work, or may be" in left(result)
    (package / "go").touch()
    succeeded(running.finish())


@pytest.mark.parametrize("ends", ["killed", "unlock refused"])
def test_the_lock_of_a_run_that_died_with_its_machine_is_released_by_its_record(
    hereya: Driver,
    make_package: MakePackage,
    server: StateServer,
    refuses: dict[str, int],
    tmp_path: Path,
    ends: str,
) -> None:
    package, clone = make_package(GATED), make_package(GATED)
    record = tmp_path / "result.json"
    away = {"HEREYA_TF_STATE_DIR": str(tmp_path / "the state of the other machine")}
    if ends == "killed":
        running = hereya.start("provision", package, "--result-file", record, env=away)
        scenes.wait_for_file(package / "started")
        running.wait_for_event("resource", address="terraform_data.second", status="started")
        engine = int(read(record)["trace"]["engine_process"]["pid"])
        scenes.kill(running)
        scenes.signal_group(engine, signal.SIGKILL)
        scenes.wait_until_gone(engine)
    else:
        (package / "go").touch()
        refuses["UNLOCK"] = 500
        ended = hereya.provision(package, "--result-file", record, env=away)
        assert failure(ended)[1] == "lock-not-released"
        refuses.clear()
    assert oct(record.stat().st_mode & 0o777) == "0o600"
    unknown = recover(hereya, clone, "--yes")

    result = recover(hereya, clone, "--yes", "--record", record)

    assert refused(unknown) == (4, "state-locked")
    assert left(unknown).endswith("there is no run of this state in the history here")
    assert "--record" in str(recovery(unknown)["left"])
    assert repaired(result) == {"unlock": True}
    assert server.lock is None


def test_a_record_of_another_machine_proves_no_other_lock(
    hereya: Driver, make_package: MakePackage, server: StateServer, tmp_path: Path
) -> None:
    record = tmp_path / "result.json"
    package = make_package(PACKAGE)
    succeeded(hereya.provision(package, "--result-file", record))
    foreign = lock_of(read(record)["trace"])
    server.hold(foreign)

    result = recover(hereya, package, "--yes", "--record", record)

    assert refused(result) == (4, "state-locked")
    assert "has let go of its lock, as far as it knows" in left(result)
    assert server.lock == foreign


@pytest.mark.parametrize("text", ["", "{}", '{"trace": {"run": "x"}}', "[]", "\0"])
def test_a_record_that_tells_nothing_is_refused(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, text: str
) -> None:
    record = tmp_path / "result.json"
    record.write_text(text)

    result = recover(hereya, make_package(PACKAGE), "--record", record)

    assert failure(result)[:2] == (3, "bad-input")
    assert "so it proves nothing" in result.result["reason"]
