"""Steps that are tried again on a real engine, with backends, repositories and registries that fail for a while."""

import json
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.report.story import seconds_between
from tests.command_line import Result, Running
from tests.conftest import MakePackage
from tests.engine import provider
from tests.engine.driving import Driver, failure, steps, succeeded
from tests.engine.git_server import GitServer, make_repository
from tests.engine.state_server import StateServer

pytestmark = pytest.mark.real_engine

HTTP = 'terraform {\n  backend "http" {}\n}\n'
RESOURCE = 'resource "terraform_data" "a" {}\n'
LOCK = {
    "ID": "11111111-2222",
    "Operation": "OperationTypeApply",
    "Who": "ada@build-7",
    "Version": "1.0.0",
    "Created": "2026-11-30T01:00:00Z",
    "Path": "",
    "Info": "",
}
# The engine's own patience is another thing.
IMPATIENT = {"TF_HTTP_RETRY_MAX": "0"}


def tries(result: Result | Running) -> list[tuple[str, int]]:
    """Steps and attempts that were started, in order."""
    found = result.events if isinstance(result, Result) else result.events()
    return [(event["step"], event["attempt"]) for event in found if event["type"] == "step_started"]


def retries(result: Result) -> list[tuple[str, str, int]]:
    """Step, class and attempt of each `retry`; each wait is within its bounds, and lasted as long."""
    found: list[tuple[str, str, int]] = []
    for event in result.events:
        if event["type"] == "retry":
            number = sum(step == event["step"] for step, _, _ in found) + 1
            assert 2.0**number / 2 <= event["after_seconds"] <= 2.0**number
            found.append((event["step"], event["class"], event["attempt"]))
    return found


def environment(server: StateServer) -> Mapping[str, str]:
    return {**server.environment, **IMPATIENT}


@pytest.mark.parametrize("method", ["GET", "LOCK"])
def test_a_backend_that_answers_after_a_while_is_asked_again(
    hereya: Driver, make_package: MakePackage, method: str
) -> None:
    package = make_package({"main.tf": HTTP + RESOURCE})
    with StateServer({method: 503}, times={method: 2}) as server:
        ended = hereya.provision(package, "--retries", "2", env=environment(server))
        stored = server.state

    assert succeeded(ended)["changes"]["add"] == 1
    assert stored["serial"] == 1
    step = "init" if method == "GET" else "apply"
    assert retries(ended) == [
        (step, "backend-unreachable", 2),
        (step, "backend-unreachable", 3),
    ]
    assert [attempt for name, attempt in tries(ended) if name == step] == [1, 2, 3]
    said = [event for event in ended.events if event["type"] == "diagnostic" and event["severity"] == "error"]
    assert [event["class"] for event in said] == ["backend-unreachable"] * 2


def test_a_plan_that_cannot_read_the_state_is_made_again(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": HTTP + RESOURCE})
    with StateServer({}) as server:
        succeeded(hereya.cli("init", package, "--engine", hereya.wish, "--json", env=environment(server)))
    with StateServer({"LOCK": 502}, times={"LOCK": 1}) as server:
        # Another port is another backend.
        succeeded(
            hereya.cli(
                *("init", package, "--engine", hereya.wish, "--json", "--reconfigure"),
                env=environment(server),
            )
        )
        ended = hereya.cli(
            *("plan", package, "--engine", hereya.wish, "--json", "--retries", "1"), env=environment(server)
        )

    assert succeeded(ended)["changes"]["add"] == 1
    assert retries(ended) == [("plan", "backend-unreachable", 2)]


def test_outputs_are_read_again(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": HTTP + 'output "a" {\n  value = "b"\n}\n'})
    with StateServer({}) as server:
        succeeded(hereya.provision(package, env=environment(server)))
        server.refuse("GET", 503, 1)
        log = package / "events"
        ended = hereya.cli(
            *("output", package, "--engine", hereya.wish, "--json", "--retries", "1", "--events-file", log),
            env=environment(server),
        )

    assert json.loads(ended.stdout)["a"]["value"] == "b"
    events = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(event["step"], event["attempt"]) for event in events if event["type"] == "retry"] == [
        ("output", 2)
    ]


def test_without_the_wish_there_is_one_try(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": HTTP})
    with StateServer({"GET": 503}, times={"GET": 1}) as server:
        ended = hereya.provision(package, env=environment(server))

    assert failure(ended)[:2] == (1, "backend-unreachable")
    assert (retries(ended), tries(ended)) == ([], [("init", 1)])


def test_a_lock_is_tried_again_when_that_is_asked_for_until_it_is_free(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": HTTP + RESOURCE})
    with StateServer({}, lock=LOCK) as server:
        running = hereya.start(
            *("provision", package, "--lock-timeout", "0s", "--retries", "2", "--retry-lock"),
            env=environment(server),
        )
        running.wait_for_event("retry", step="apply", attempt=2)
        server.release()
        ended = running.finish()

    assert succeeded(ended)["changes"]["add"] == 1
    assert retries(ended) == [("apply", "state-locked", 2)]


def test_a_lock_is_not_tried_again_unasked(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": HTTP + RESOURCE})
    with StateServer({}, lock=LOCK) as server:
        ended = hereya.provision(package, "--lock-timeout", "0s", "--retries", "2", env=environment(server))

    assert failure(ended)[:2] == (4, "state-locked")
    assert "`--retry-lock` would try again" in ended.result["failure"]["hint"]
    assert retries(ended) == []


def test_a_module_of_a_repository_that_comes_up_late(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    make_repository(tmp_path / "git", "module.git", {"main.tf": 'output "b" {\n  value = "c"\n}\n'})
    with GitServer(tmp_path / "git", refusals=2) as server:
        call = f'module "a" {{\n  source = "{server.source("module.git")}"\n}}\n'
        package = make_package({"main.tf": call + 'output "a" {\n  value = module.a.b\n}\n'})
        ended = hereya.provision(package, "--retries", "2")

    assert succeeded(ended)["env"] == {"a": "c"}
    assert retries(ended)[0] == ("init", "module-unavailable", 2)


def test_a_rule_of_the_users_on_a_repository_that_appears(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    directory = tmp_path / "config"
    directory.mkdir()
    rule = '[[retry]]\nclass = "module-unavailable"\ntext = ["does not appear to be a git repository"]\n'
    (directory / "config.toml").write_text(f"retries = 1\n{rule}")
    package = make_package(
        {"main.tf": f'module "a" {{\n  source = "git::file://{tmp_path}/git/module.git"\n}}\n'}
    )

    running = hereya.start("provision", package, env={"HEREYA_TF_CONFIG_DIR": str(directory)})
    running.wait_for_event("retry", step="init", attempt=2)
    make_repository(tmp_path / "git", "module.git", {"main.tf": ""})
    ended = running.finish()

    succeeded(ended)
    assert retries(ended) == [("init", "module-unavailable", 2)]


def test_a_registry_out_of_reach_is_told_with_every_try(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": provider.PROVIDERS})
    reports = [tmp_path / f"report.{form}" for form in ("txt", "md", "html", "xml", "json")]

    ended = hereya.provision(
        package, "--retries", "2", *(word for file in reports for word in ("--report-file", file))
    )

    code, failure_class, reason = failure(ended)
    assert (code, failure_class) == (1, "provider-unavailable")
    assert reason.endswith("; tried 3 times")
    assert tries(ended) == [("init", 1), ("init", 2), ("init", 3)]
    assert [attempt for _, _, attempt in retries(ended)] == [2, 3]
    for file in reports:
        assert file.read_text().count("Failed to query available provider packages") >= 3, file.name
    run = ended.result["run"]
    timeline = hereya.cli("runs", "timeline", run).stdout
    assert "before attempt 2" in timeline
    log = hereya.cli("runs", "log", run).stdout
    assert log.count("again in ") == 2


BUSY = provider.PROVIDERS + provider.record("a", "PATH/a")


def busy_package(make_package: MakePackage, tmp_path: Path) -> Path:
    """Its second record can be created at the second try only."""
    second = provider.record("b", tmp_path / "b", busy=str(tmp_path / "asked"))
    second = second.replace("{\n", "{\n  depends_on = [file_record.a]\n", 1)
    return make_package({"main.tf": BUSY.replace("PATH", str(tmp_path)) + second})


@pytest.mark.usefixtures("providers")
def test_after_a_change_there_is_no_other_try(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = busy_package(make_package, tmp_path)

    ended = hereya.provision(package, "--retries", "3")

    assert failure(ended)[:2] == (1, "provider-error")
    assert "`--retry-apply`" in ended.result["failure"]["hint"]
    assert retries(ended) == []
    assert ended.result["changes"]["add"] == 1


@pytest.mark.usefixtures("providers")
def test_after_a_change_there_is_another_try_when_that_is_asked_for(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = busy_package(make_package, tmp_path)

    ended = hereya.provision(package, "--retries", "3", "--retry-apply")

    assert succeeded(ended)["changes"]["add"] == 2, "what both tries have done"
    assert retries(ended) == [("apply", "provider-error", 2)]
    assert (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()


@pytest.mark.usefixtures("providers")
def test_a_plan_that_was_applied_in_part_is_not_applied_again_nor_made_anew(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package, bundle = busy_package(make_package, tmp_path), tmp_path / "a.plan"
    engine = ("--engine", hereya.wish, "--json")
    succeeded(hereya.cli("plan", package, "--out", bundle, *engine))

    ended = hereya.cli("apply", package, bundle, "--retries", "3", "--retry-apply", *engine)

    assert failure(ended)[:2] == (1, "provider-error")
    assert "the plan has been applied in part" in ended.result["failure"]["hint"]
    assert [step for step, _ in tries(ended)].count("apply") == 1
    assert "plan" not in steps(ended)


@pytest.mark.usefixtures("providers")
def test_a_guarded_run_does_not_make_another_plan_either(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = busy_package(make_package, tmp_path)

    ended = hereya.provision(package, "--retries", "3", "--retry-apply", "--max-destroy", "0")

    assert failure(ended)[:2] == (1, "provider-error")
    assert "nobody has looked at another one" in ended.result["failure"]["hint"]
    assert [step for step in steps(ended) if step in ("plan", "apply")] == ["plan", "apply"]


def test_a_saved_plan_is_applied_again_while_nothing_is_changed(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package, bundle = make_package({"main.tf": HTTP + RESOURCE}), tmp_path / "a.plan"
    engine = ("--engine", hereya.wish, "--json")
    with StateServer({}) as server:
        succeeded(hereya.cli("plan", package, "--out", bundle, *engine, env=environment(server)))
        server.refuse("LOCK", 503, 1)
        ended = hereya.cli("apply", package, bundle, "--retries", "1", *engine, env=environment(server))

    assert succeeded(ended)["changes"]["add"] == 1
    assert retries(ended) == [("apply", "backend-unreachable", 2)]


def test_a_state_that_could_not_be_saved_is_never_tried_again(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": HTTP + RESOURCE})
    with StateServer({"POST": 503}) as server:
        ended = hereya.provision(
            *(package, "--retries", "5", "--retry-apply", "--retry-lock"), env=environment(server)
        )

    assert failure(ended)[:2] == (1, "state-not-saved")
    assert retries(ended) == []


def waiting(hereya: Driver, package: Path, server: StateServer, *more: str) -> Running:
    running = hereya.start("provision", package, "--retries", "9", *more, env=environment(server))
    running.wait_for_event("retry", attempt=3)
    return running


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_wait(
    hereya: Driver, make_package: MakePackage, number: signal.Signals, code: int
) -> None:
    package = make_package({"main.tf": HTTP})
    with StateServer({"GET": 503}) as server:
        running = waiting(hereya, package, server)
        running.send_signal(number)
        ended = running.finish()

    waited = seconds_between(
        running.wait_for_event("retry", attempt=3)["ts"], running.wait_for_event("result")["ts"]
    )
    assert waited < running.wait_for_event("retry", attempt=3)["after_seconds"]
    assert failure(ended)[:2] == (code, "cancelled")
    assert ended.result["status"] == "cancelled"
    assert tries(ended) == [("init", 1), ("init", 2)]
    assert ended.result["failure"]["diagnostics"], "what the last try said is not lost"


def test_runs_cancel_ends_the_wait(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": HTTP})
    with StateServer({"GET": 503}) as server:
        running = waiting(hereya, package, server)
        run = running.wait_for_event("run_started")["run"]
        hereya.cli("runs", "cancel", run)
        ended = running.finish()

    assert failure(ended) == (130, "cancelled", "the run was cancelled on request")
    assert tries(ended) == [("init", 1), ("init", 2)]


def test_the_time_limit_ends_the_wait(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": HTTP})
    with StateServer({"GET": 503}) as server:
        ended = hereya.provision(package, "--retries", "9", "--timeout", "3s", env=environment(server))

    assert failure(ended)[:2] == (124, "timed-out")
    assert ended.result["status"] == "timed_out"
    assert 2.9 <= ended.result["timings"]["total"] < 30


def test_whoever_comes_after_a_run_that_was_killed_in_a_wait_is_not_held_up(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": HTTP + RESOURCE})
    with StateServer({"GET": 503}, times={"GET": 2}) as server:
        running = waiting(hereya, package, server)
        killed = running.wait_for_event("run_started")["run"]
        running.kill()
        ended = hereya.provision(package, env=environment(server))

    assert succeeded(ended)["changes"]["add"] == 1
    story: dict[str, Any] = json.loads(hereya.cli("runs", "show", killed, "--json").stdout)
    assert (story["state"], story["reason"]) == (
        "failed",
        f"run `{killed}` was killed while no engine of it was at work",
    )
