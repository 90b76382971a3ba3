"""Runs in odd surroundings: other state directories, links that turn, streams that are cut off."""

import json
import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.engine.commands import EngineOptions
from hereya_tf.engine.wish import EngineWish
from hereya_tf.events import Operation
from hereya_tf.package import GENERATED_OVERRIDE
from hereya_tf.places import Places
from hereya_tf.run import Run
from hereya_tf.run_request import RunRequest
from hereya_tf.runs.journal import Sink
from hereya_tf.supervision.interrupt import Interrupt
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine

SUMMARY = {"type": "change_summary", "changes": {"add": 0, "change": 0, "remove": 0, "operation": "apply"}}
APPLIES: list[dict[str, Any]] = [{"message": SUMMARY}]
STARTED = {
    "type": "apply_start",
    "hook": {
        "resource": {"addr": "a.b", "resource": "a.b", "resource_type": "a", "resource_name": "b"},
        "action": "create",
    },
}


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": ""})


def run(
    package: Path,
    engine: FakeEngine,
    directory: Path,
    ask: Callable[..., bool] | None = None,
    sink: Callable[[Mapping[str, Any]], None] = lambda _record: None,
) -> dict[str, Any]:
    """The result of a run in this process."""
    ended = Run(
        RunRequest(
            operation=Operation.PROVISION,
            package=package,
            approved=ask is None,
            engine=EngineWish(str(engine.path)),
            engine_options=EngineOptions(),
        ),
        environment=os.environ,
        places=Places(directory / "state", directory / "cache"),
        interrupt=Interrupt(),
        sinks=[Sink(lambda record, _line: sink(record), lambda: None)],
        ask=ask,
    ).execute()
    return ended.result._asdict()


def refusal(ran: Result) -> tuple[int, str, str]:
    return ran.exit_code, ran.result["failure"]["class"], ran.result["reason"]


def test_a_plan_that_was_cut_off_is_never_applied(
    package: Path, fake_engine: FakeEngine, tmp_path: Path
) -> None:
    # Nobody was asked, for the plan seemed to be empty: and then it was applied.
    fake_engine.plays({"plan": [], "apply": APPLIES})

    result = run(package, fake_engine, tmp_path, ask=lambda _question, _pause: False)

    assert (result["success"], result["exit_code"]) == (False, 1)
    assert fake_engine.commands() == ["init", "plan"]


@pytest.mark.behaviour("T13")
def test_a_run_with_another_state_directory_leaves_the_generated_backend_alone(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    fake_engine.plays({"apply": [{"touch": "applying"}, {"wait_for_file": str(go)}, *APPLIES]})
    arguments = ("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    running = cli.start(*arguments, "--state", tmp_path / "a.tfstate")
    fake_engine.wait_for_record("start", command="apply")
    override = (package / GENERATED_OVERRIDE).read_text()

    other = cli(*arguments, env={"HEREYA_TF_STATE_DIR": str(tmp_path / "elsewhere")})

    name = running.events()[0]["run"]
    assert refusal(other) == (
        4,
        "busy",
        f"run `{name}` is at work in `{package}`, and keeps its locks in another place",
    )
    assert (package / GENERATED_OVERRIDE).read_text() == override
    go.touch()
    assert running.finish().exit_code == 0
    assert not (package / GENERATED_OVERRIDE).exists()


@pytest.mark.behaviour("T13")
@pytest.mark.parametrize("with_backend", [False, True])
def test_no_step_starts_on_a_backend_that_somebody_else_has_changed(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path, with_backend: bool
) -> None:
    # Terraform would apply to another state, with exit code 0.
    text = (
        f"# Written by hereya-tf for the time of a run; removed when the run ends.\n"
        f'terraform {{\n  backend "local" {{\n    path = "{tmp_path}/theirs"\n  }}\n}}\n'
    )
    fake_engine.plays({"init": [{"write_file": [GENERATED_OVERRIDE, text]}], "apply": APPLIES})
    state = ("--state", tmp_path / "a.tfstate") if with_backend else ()

    ran = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path, *state)

    assert refusal(ran) == (
        4,
        "busy",
        f"somebody else has changed the generated backend in `{package}` while this run was at work",
    )
    assert fake_engine.commands() == ["init"]


def test_the_backend_of_a_killed_run_is_still_removed(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    fake_engine.plays({"apply": [[{"wait_for_file": str(go)}], APPLIES]})
    arguments = ("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    killed = cli.start(*arguments, "--state", tmp_path / "a.tfstate")
    fake_engine.wait_for_record("start", command="apply")
    killed.send_signal(signal.SIGKILL)
    killed.process.wait()
    go.touch()

    assert cli(*arguments).exit_code == 0
    assert not (package / GENERATED_OVERRIDE).exists()


def test_a_link_that_is_turned_during_a_run_does_not_turn_the_run(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    first, second = make_package({"main.tf": ""}), make_package({"main.tf": ""})
    current, fresh, go = tmp_path / "current", tmp_path / "fresh", tmp_path / "go"
    current.symlink_to(first)
    fresh.symlink_to(second)
    fake_engine.plays({"init": [{"wait_for_file": str(go)}], "apply": APPLIES})
    running = cli.start(
        *("provision", current, "--yes", "--json", "--engine", fake_engine.path),
        *("--state", tmp_path / "a.tfstate"),
    )
    fake_engine.wait_for_record("start", command="init")
    fresh.rename(current)
    go.touch()

    ran = running.finish()

    assert (ran.exit_code, ran.result["package"]) == (0, str(current))
    places = {start["cwd"] for start in fake_engine.records("start") if start["command"] != "version"}
    assert places == {str(first)}
    assert not list(tmp_path.glob(f"package*/{GENERATED_OVERRIDE}"))


def test_a_link_to_itself_is_no_package(cli: CommandLine, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)

    ran = cli("provision", loop, "--yes", "--json")

    assert refusal(ran)[:2] == (3, "bad-package")
    assert cli("lock", "status", loop).exit_code == 0


def test_a_path_that_no_engine_file_can_hold_is_refused_before_anything_is_written(
    cli: CommandLine, fake_engine: FakeEngine, package: Path
) -> None:
    ran = cli(
        *("provision", package, "--yes", "--json", "--engine", fake_engine.path),
        *("--state", os.fsdecode(b"/tmp/\xff.tfstate")),
    )

    assert refusal(ran)[:2] == (3, "bad-input")
    assert [entry.name for entry in package.iterdir()] == ["main.tf"]


def test_a_run_that_cannot_be_told_as_it_is_has_a_result_all_the_same(
    package: Path, fake_engine: FakeEngine, tmp_path: Path
) -> None:
    fake_engine.plays({"apply": APPLIES})
    told: list[Mapping[str, Any]] = []

    def fails_once(record: Mapping[str, Any]) -> None:
        told.append(record)
        if [entry["type"] for entry in told].count("result") == 1:
            raise RecursionError("too deep to be told")

    result = run(package, fake_engine, tmp_path, sink=fails_once)

    assert (result["success"], result["exit_code"], result["failure"].class_) == (False, 70, "internal")
    assert told[-1]["type"] == "result"
    assert told[-1]["exit_code"] == 70


def test_a_state_directory_that_goes_while_a_run_waits_is_told_in_a_sentence(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    fake_engine.plays({"apply": [{"wait_for_file": str(go)}, *APPLIES]})
    arguments = ("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    first = cli.start(*arguments)
    fake_engine.wait_for_record("start", command="apply")
    second = cli.start(*arguments)
    second.wait_for_event("lock_waiting")

    (tmp_path / "state").rename(tmp_path / "gone")
    waited = second.finish()
    go.touch()

    assert refusal(waited)[:2] == (1, "disk-full")
    assert waited.result["reason"].startswith(f"the lock of `{package}` cannot be kept in ")
    assert first.finish().exit_code == 0


def test_a_state_that_the_engine_could_only_print_survives_a_fault_of_ours(
    package: Path, fake_engine: FakeEngine, tmp_path: Path
) -> None:
    dump = {"type": "log", "@message": "Emergency state dump", "state": {"version": 4, "serial": 7}}
    fake_engine.plays({"apply": [{"message": STARTED}, {"message": dump}, {"exit": 1}]})

    def fail(record: Mapping[str, Any]) -> None:
        if record["type"] == "resource":
            raise RuntimeError("a fault of ours")

    result = run(package, fake_engine, tmp_path, sink=fail)

    state = result["failure"].state
    assert (result["exit_code"], state.saved) == (70, False)
    assert json.loads(Path(state.errored_state).read_text()) == {"version": 4, "serial": 7}
