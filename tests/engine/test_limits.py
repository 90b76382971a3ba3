"""Limits: a run ends in time, whatever it is doing, and says which limit it was."""

import time
from datetime import datetime
from pathlib import Path

import pytest

from hereya_tf.supervision.process_table import ProcessIdentity, is_alive
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine, wait_for

FOREVER = {"wait_for_file": "never"}


def ending(result: Result) -> tuple[int, str, str]:
    """Exit code, status and class."""
    return result.exit_code, result.result["status"], result.result["failure"]["class"]


def signals(engine: FakeEngine) -> list[str]:
    return [found["signal"] for found in engine.records("signal")]


def test_the_time_limit_counts_the_wait_for_a_lock(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package(scenes.NOTHING)
    with scenes.package_lock_held(package):
        ended = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path, "--timeout", "1s")

    assert ending(ended) == (124, "timed_out", "timed-out")
    assert ended.result["reason"] == "the run did not end within `--timeout 1s`"
    assert fake_engine.commands() == []
    assert 0.9 <= ended.result["timings"]["total"] < 15


@pytest.mark.parametrize("step", ["init", "apply"])
def test_the_time_limit_interrupts_an_engine(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, step: str
) -> None:
    # An engine that is never silent, so that it is the limit on the whole that ends it.
    fake_engine.plays({step: [scenes.message("log"), FOREVER]})
    package = make_package(scenes.NOTHING)
    ended = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path, "--timeout", "1500ms")

    assert ending(ended) == (124, "timed_out", "timed-out")
    assert (fake_engine.commands()[-1], signals(fake_engine)) == (step, ["SIGINT"])
    (cancelling,) = [event for event in ended.events if event["type"] == "cancelling"]
    assert (cancelling["reason"], cancelling["signal"]) == ("timeout", "SIGINT")
    assert scenes.held_locks() == []


@pytest.mark.real_engine
def test_an_apply_that_runs_out_of_time_saves_its_state(
    cli: CommandLine, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(scenes.GATED)
    given = ("provision", package, "--yes", "--json", "--engine", real_engine)
    # The limit must not be hit before the apply, however busy the machine is.
    for limit in ("3s", "10s", "40s"):
        ended = cli(*given, "--timeout", limit)
        if (package / "started").exists():
            break

    assert ending(ended) == (124, "timed_out", "timed-out")
    assert ended.result["failure"]["state"]["saved"] is True
    assert scenes.resources(package / "terraform.tfstate") == {
        "terraform_data.first": "complete",
        "terraform_data.second": "tainted",
    }
    (package / "go").touch()
    assert cli(*given, "--no-wait").result["success"]


@pytest.mark.parametrize("patience", [("--wait", "1s"), ("--no-wait",)], ids=["wait", "no-wait"])
def test_a_lock_that_stays_held_is_busy_and_names_its_holder(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, patience: tuple[str, ...]
) -> None:
    package = make_package(scenes.NOTHING)
    with scenes.package_lock_held(package) as holder:
        ended = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path, *patience)
        told = cli("provision", package, "--yes", "--engine", fake_engine.path, "--no-wait")

    assert ending(ended) == (4, "busy", "busy")
    assert f"run `{holder.run}` (`provision`, process {holder.process.pid}" in ended.result["reason"]
    waits = [event for event in ended.events if event["type"] == "lock_waiting"]
    if patience[0] == "--wait":
        assert [(event["lock"], event["position"], event["holder"]["run"]) for event in waits] == [
            ("package", 1, holder.run)
        ]
        assert ended.result["timings"]["wait"] >= 1
    else:
        assert waits == []
    assert (told.exit_code, told.stdout) == (4, "")
    assert f"run `{holder.run}`" in told.stderr
    assert fake_engine.commands() == []


def test_an_engine_that_says_nothing_is_ended_by_the_idle_limit(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    """Silence is counted anew with every word."""
    talk = [action for _ in range(6) for action in ({"sleep": 0.3}, scenes.message("log"))]
    fake_engine.plays({"apply": [*talk, {"touch": "silent"}, FOREVER]})
    package = make_package(scenes.NOTHING)
    ended = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path, "--idle-timeout", "1s")

    assert ending(ended) == (124, "timed_out", "idle")
    assert (package / "silent").exists()
    assert signals(fake_engine) == ["SIGINT"]
    (cancelling,) = [event for event in ended.events if event["type"] == "cancelling"]
    assert cancelling["reason"] == "idle"


def test_waiting_for_a_lock_is_not_idleness(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"apply": scenes.applied()})
    package = make_package(scenes.NOTHING)
    given = ("provision", package, "--yes", "--json", "--engine", fake_engine.path, "--idle-timeout", "3s")
    with scenes.package_lock_held(package):
        running = cli.start(*given)
        waiting = running.wait_for_event("lock_waiting")
        wait_for(lambda: (time.time() - since(waiting) > 3.2) or None, what="three seconds")
        assert running.process.poll() is None

    assert running.finish().result["success"]


def since(event: dict[str, str]) -> float:
    return datetime.fromisoformat(event["ts"]).timestamp()


def test_an_engine_that_only_reads_is_interrupted_again_after_five_seconds(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    """An interrupted plan has been seen to run on for minutes; nothing can be lost there."""
    play = [{"on_sigint": "record"}, scenes.applying("data.slow.a", action="read")]
    twice = [*play, {"touch": "started"}, {"wait_for_file": "go"}, {"exit": 1}]
    fake_engine.plays({"apply": twice})
    package = make_package(scenes.NOTHING)
    running = cli.start("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    scenes.wait_for_file(package / "started")
    running.process.terminate()
    wait_for(lambda: len(signals(fake_engine)) == 2 or None, what="the second SIGINT")
    first, second = fake_engine.records("signal")
    (package / "go").touch()
    ended = running.finish()

    assert 4.5 < second["time"] - first["time"] < 15
    assert signals(fake_engine) == ["SIGINT", "SIGINT"]
    assert ending(ended) == (143, "cancelled", "cancelled")
    # Nothing was being applied.
    assert ended.result["failure"]["state"]["saved"] is True


def test_an_engine_that_ignores_every_interrupt_is_killed_with_its_group_and_the_report_says_so(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    play = [
        {"on_sigint": "ignore"},
        {"spawn_daemon": 120},
        scenes.applying("null_resource.a"),
        {"touch": "started"},
        FOREVER,
    ]
    fake_engine.plays({"apply": play})
    package = make_package(scenes.NOTHING)
    given = ("provision", package, "--yes", "--json", "--engine", fake_engine.path, "--grace", "1s")
    running = cli.start(*given, "--report-file", tmp_path / "report.txt")
    scenes.wait_for_file(package / "started")
    engine = scenes.engine_pid(running)
    daemon = fake_engine.wait_for_record("daemon")["daemon_pid"]
    running.process.terminate()
    ended = running.finish()

    assert ending(ended) == (143, "cancelled", "cancelled")
    told = [event for event in ended.events if event["type"] == "cancelling"]
    assert [event["signal"] for event in told] == ["SIGINT", "SIGINT", "SIGKILL"]
    first, second, third = map(since, told)
    assert 0.9 < second - first < 10
    assert 9.5 < third - second < 20
    assert not is_alive(ProcessIdentity(engine, ""))
    assert not is_alive(ProcessIdentity(daemon, ""))
    assert ended.result["failure"]["state"]["saved"] is None
    report = (tmp_path / "report.txt").read_text()
    assert "state: it is not known whether it was saved" in report
    assert scenes.held_locks() == []
