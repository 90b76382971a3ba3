"""Options of runs on a real engine, by what they do; the last test says where each option has its own."""

import json
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.cli.option_table import ROWS
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.driving import Driver, failure, names, steps, succeeded
from tests.engine.provider import PROVIDERS, change, record

pytestmark = pytest.mark.real_engine

TWO = """
variable "size" { default = 1 }
resource "terraform_data" "one" { input = var.size }
resource "terraform_data" "two" { input = var.size }
output "size" { value = terraform_data.one.output }
"""
ONE = "terraform_data.one"
BOTH = {ONE: "complete", "terraform_data.two": "complete"}
BROKEN = 'output "o" { value = terraform_data.missing.id }\n'
# What an operation is told besides its package.
OPERATIONS = ("provision", "destroy", "plan", "drift")


@pytest.fixture
def package(make_package: MakePackage) -> Path:
    return make_package({"main.tf": TWO})


def resources(package: Path) -> dict[str, str]:
    return scenes.resources(package / "terraform.tfstate")


def argv_of(result: Any, step: str) -> list[str]:
    (argv,) = (
        event["argv"] for event in result.events if event["type"] == "step_started" and event["step"] == step
    )
    return list(argv)


# Choices


def test_only_the_targets_are_created_planned_and_destroyed(hereya: Driver, package: Path) -> None:
    created = hereya.provision(package, "--target", ONE, "--param", "size:=7")
    assert (succeeded(created)["changes"]["add"], resources(package)) == (1, {ONE: "complete"})

    planned = hereya.start("plan", package, "--target", ONE).finish()
    assert [event["address"] for event in planned.events if event["type"] == "change"] == [ONE]
    assert succeeded(hereya.start("plan", package).finish())["changes"]["add"] == 1

    succeeded(hereya.provision(package))
    destroyed = hereya.destroy(package, "--target", "terraform_data.two")
    assert (succeeded(destroyed)["changes"]["destroy"], resources(package)) == (1, {ONE: "complete"})


def test_drift_is_looked_for_in_the_targets_alone(
    hereya: Driver, make_package: MakePackage, providers: Path, tmp_path: Path
) -> None:
    files = {name: tmp_path / f"{name}.json" for name in ("kept", "changed")}
    records = "".join(record(name, path, content="as it was") for name, path in files.items())
    package = make_package({"main.tf": PROVIDERS + records})
    succeeded(hereya.provision(package))
    change(files["changed"], content="as nobody wanted")

    assert hereya.start("drift", package, "--target", "file_record.kept").finish().result["drift"] is False
    assert hereya.start("drift", package, "--target", "file_record.changed").finish().result["drift"] is True


@pytest.mark.parametrize("operation", OPERATIONS)
def test_terraform_has_no_exclude(hereya: Driver, package: Path, operation: str) -> None:
    result = hereya.start(operation, package, "--exclude", ONE).finish()

    code, failure_class, sentence = failure(result)
    assert (code, failure_class) == (5, "engine-unsupported")
    assert re.fullmatch(r"Terraform \d+\.\d+\.\d+ has no `-exclude`", sentence)
    assert result.result["failure"]["hint"] == "use OpenTofu 1.9 or newer, or `--target`"
    assert (steps(result), names(package)) == ([], ["main.tf"])


def test_what_is_to_be_replaced_is(hereya: Driver, package: Path) -> None:
    succeeded(hereya.provision(package))

    planned = hereya.start("plan", package, "--replace", ONE).finish()
    replaced = hereya.provision(package, "--replace", ONE)

    assert succeeded(planned)["changes"]["replace"] == 1
    assert succeeded(replaced)["changes"] == {
        "add": 1,
        "change": 0,
        "destroy": 1,
        "replace": 1,
        "import": 0,
        "forget": 0,
    }


# Each says when it begins and ends; `together` waits for the others, for at most a minute.
AT_ONCE = """
resource "terraform_data" "each" {
  for_each = toset(["a", "b", "c"])
  provisioner "local-exec" { command = "%s" }
  provisioner "local-exec" {
    when    = destroy
    command = "%s"
  }
}
"""
IN_TURN = "echo begin >> log; sleep 0.1; echo end >> log"
TOGETHER = (
    "touch {0}-${{each.key}}; i=0; until [ -e {0}-a ] && [ -e {0}-b ] && [ -e {0}-c ]; do"
    " i=$((i+1)); [ $i -lt 1200 ] || exit 1; sleep 0.05; done"
)


def test_as_many_things_are_done_at_once_as_are_allowed(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package({"main.tf": AT_ONCE % (IN_TURN, IN_TURN)})
    for operation in ("provision", "destroy"):
        succeeded(hereya.start(operation, package, "--parallelism", "1").finish())
        assert (package / "log").read_text().split() == ["begin", "end"] * 3
        (package / "log").unlink()
    bundle = package / "kept.plan"
    succeeded(hereya.start("plan", package, "--out", bundle).finish())
    applied = hereya.cli("apply", package, bundle, "--json", "--parallelism", "1", "--engine", hereya.wish)
    succeeded(applied)
    assert (package / "log").read_text().split() == ["begin", "end"] * 3


def test_three_things_are_done_at_once(hereya: Driver, make_package: MakePackage) -> None:
    going = TOGETHER.format("destroy").replace("${each.key}", "${self.input}")
    text = (AT_ONCE % (TOGETHER.format("create"), going)).replace(
        "for_each", "input    = each.key\n  for_each"
    )
    package = make_package({"main.tf": text})

    succeeded(hereya.provision(package, "--parallelism", "3"))
    succeeded(hereya.destroy(package, "--parallelism", "3"))


@pytest.mark.parametrize("operation", ["plan", "drift"])
def test_what_only_looks_is_told_how_many_at_once_too(hereya: Driver, package: Path, operation: str) -> None:
    result = hereya.start(operation, package, "--parallelism", "2").finish()

    assert "-parallelism=2" in argv_of(result, "plan")
    assert result.exit_code == 0


def test_a_refresh_sees_what_has_changed_since_and_without_one_the_state_is_believed(
    hereya: Driver, make_package: MakePackage, providers: Path, tmp_path: Path
) -> None:
    file = tmp_path / "one.json"
    package = make_package({"main.tf": PROVIDERS + record("one", file, content="as it was")})
    succeeded(hereya.provision(package))
    change(file, content="as nobody wanted")

    def changed(operation: str, *arguments: str, count: str = "change") -> int:
        ended = succeeded(hereya.start(operation, package, *arguments).finish())
        return int(ended["changes"][count])

    assert (changed("plan", "--refresh"), changed("plan", "--no-refresh")) == (1, 0)
    assert changed("provision", "--no-refresh") == 0
    assert "as nobody wanted" in file.read_text()
    assert changed("provision", "--refresh") == 1
    assert "as it was" in file.read_text()
    file.unlink()
    assert changed("plan", "--destroy", count="destroy") == 0
    assert changed("destroy", "--no-refresh", count="destroy") == 1


@pytest.mark.parametrize("operation", ["provision", "plan", "apply", "drift", "output", "destroy", "tf"])
def test_every_operation_inits_again_when_it_is_told_to(
    hereya: Driver, package: Path, tmp_path: Path, operation: str
) -> None:
    engine = hereya.counted(tmp_path)
    bundle = tmp_path / "kept.plan"
    choice = ("--engine", engine.path)
    assert hereya.cli("plan", package, "--out", bundle, *choice).exit_code == 0
    rest = {"apply": (bundle,), "tf": ("--", "show")}.get(operation, ())
    # Before `--`, and without a change in what is planned: a plan is applied once.
    given = (operation, package, "--yes", *choice)
    engine.calls()

    again = hereya.cli(*given, "--reinit", *rest)

    assert again.exit_code == 0, again.stderr
    assert engine.calls().count("init") == 1
    if operation != "apply":
        assert hereya.cli(*given, *rest).exit_code == 0
        assert "init" not in engine.calls()


@pytest.mark.parametrize(
    "asked", [("--reinit",), ("--engine-arg", "init=-upgrade")], ids=["reinit", "argument"]
)
def test_outputs_that_could_be_read_without_an_init_are_read_after_the_one_that_is_asked_for(
    hereya: Driver, package: Path, tmp_path: Path, asked: tuple[str, ...]
) -> None:
    engine = hereya.counted(tmp_path)
    given = (package, "--yes", "--engine", engine.path, "--state", tmp_path / "own.tfstate")
    assert hereya.cli("provision", *given).exit_code == 0
    engine.calls()

    assert hereya.cli("output", *given).stdout == "size=1\n"
    assert "init" not in engine.calls()
    assert hereya.cli("output", *given, *asked).stdout == "size=1\n"
    assert "init" in engine.calls()


# The engine


@pytest.mark.parametrize(
    ("operation", "argument", "left"),
    [
        pytest.param("provision", f"apply=-target={ONE}", {ONE: "complete"}, id="provision apply"),
        pytest.param("destroy", f"destroy=-target={ONE}", {"terraform_data.two": "complete"}, id="destroy"),
        pytest.param("plan", f"plan=-target={ONE}", BOTH, id="plan"),
        pytest.param("drift", f"plan=-target={ONE}", BOTH, id="drift plan"),
        pytest.param("init", "init=-upgrade", BOTH, id="init"),
        pytest.param("output", "init=-upgrade", BOTH, id="output init"),
        pytest.param("validate", "init=-upgrade", BOTH, id="validate init"),
        pytest.param("tf", "init=-upgrade", BOTH, id="tf init"),
        pytest.param("apply", "apply=-parallelism=1", BOTH, id="apply"),
        pytest.param("apply", "init=-get=true", BOTH, id="apply init"),
    ],
)
def test_an_argument_for_a_step_reaches_that_step(
    hereya: Driver, package: Path, tmp_path: Path, operation: str, argument: str, left: dict[str, str]
) -> None:
    if operation not in ("provision", "apply"):
        succeeded(hereya.provision(package))
    bundle = tmp_path / "kept.plan"
    if operation == "apply":
        succeeded(hereya.start("plan", package, "--out", bundle).finish())
    rest = {"apply": (bundle,), "tf": ("--", "show")}.get(operation, ())
    engine = hereya.counted(tmp_path)

    ran = hereya.cli(*(operation, package, "--yes", "--engine", engine.path, "--engine-arg", argument), *rest)

    assert ran.exit_code == 0, ran.stderr
    step, _, words = argument.partition("=")
    calls = (tmp_path / "calls").read_text().splitlines()
    assert {call.split()[0] for call in calls if words in call.split()} == {step}
    assert resources(package) == left


@pytest.mark.parametrize("operation", ["provision", "plan", "tf"])
def test_the_engines_own_log_goes_into_a_private_file_and_nowhere_else(
    hereya: Driver, package: Path, tmp_path: Path, operation: str
) -> None:
    log = tmp_path / "trace.log"
    rest = ("--", "version") if operation == "tf" else ()

    ran = hereya.cli(operation, package, "--yes", "--engine", hereya.wish, "--engine-log", log, *rest)

    assert ran.exit_code == 0, ran.stderr
    assert "[TRACE]" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert "[TRACE]" not in ran.stdout + ran.stderr


# State and limits


def test_packages_with_one_lock_key_take_turns(hereya: Driver, make_package: MakePackage) -> None:
    package, other = make_package(scenes.GATED), make_package({"main.tf": TWO})
    first = hereya.start("provision", package, "--lock-key", "shared")
    assert first.wait_for_event("run_started")["key"] == "shared"
    scenes.wait_for_file(package / "started")

    busy = hereya.provision(other, "--lock-key", "shared", "--no-wait")
    late = hereya.provision(other, "--lock-key", "shared", "--wait", "1s")
    free = hereya.provision(other, "--no-wait")
    (package / "go").touch()

    assert (failure(busy)[:2], failure(late)[:2]) == ((4, "busy"), (4, "busy"))
    succeeded(free)
    succeeded(first.finish())


def test_a_plan_without_a_lock_on_the_state_does_not_wait_for_who_has_it(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package(scenes.GATED)
    hereya.plain(package, "init", "-input=false")
    holder = hereya.start_plain(package, "apply", "-auto-approve", "-input=false")
    try:
        scenes.wait_for_file(package / "started")
        locked = hereya.start("plan", package, "--lock-timeout", "0s").finish()
        planned = hereya.start("plan", package, "--no-state-lock").finish()
    finally:
        (package / "go").touch()
        holder.wait(60)

    assert failure(locked)[:2] == (4, "state-locked")
    succeeded(planned)
    assert "-lock=false" in argv_of(planned, "plan")


# Output


def test_who_wants_to_hear_little_hears_only_errors(hereya: Driver, package: Path) -> None:
    assert hereya.cli("provision", package, "--yes", "--quiet", "--engine", hereya.wish) == (
        0,
        "size=1\n",
        "",
    )
    (package / "main.tf").write_text(BROKEN)

    failed = hereya.cli("plan", package, "-q", "--engine", hereya.wish)

    assert (failed.exit_code, failed.stdout) == (1, "")
    assert [line for line in failed.stderr.splitlines() if " started" in line or " done " in line] == []
    assert "class: invalid-configuration (exit code 1)\n" in failed.stderr


def test_who_wants_to_hear_much_hears_the_engine(hereya: Driver, package: Path) -> None:
    ran = hereya.cli("provision", package, "--yes", "--verbose", "--engine", hereya.wish)

    assert (ran.exit_code, ran.stdout) == (0, "size=1\n")
    assert re.search(r"apply    started: .* apply -json -auto-approve ", ran.stderr)
    assert "locks taken after " in ran.stderr


@pytest.mark.parametrize(("choice", "coloured"), [("always", True), ("never", False), ("auto", False)])
def test_colours_in_a_file_are_a_matter_of_choice(
    hereya: Driver, package: Path, choice: str, coloured: bool
) -> None:
    ran = hereya.cli("plan", package, "--color", choice, "--engine", hereya.wish)

    assert ran.exit_code == 0
    assert ("\x1b[32m" in ran.stdout, "\x1b[32m" in ran.stderr) == (coloured, coloured)


def test_events_result_and_reports_go_into_private_files(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": BROKEN})
    files = {name: tmp_path / name for name in ("events", "result.json", "report.txt", "report.json")}

    ran = hereya.provision(
        package,
        *("--events-file", files["events"], "--result-file", files["result.json"]),
        *("--report-file", files["report.txt"], "--report-file", files["report.json"]),
    )

    assert failure(ran)[:2] == (1, "invalid-configuration")
    assert [json.loads(line) for line in files["events"].read_text().splitlines()] == ran.events
    body = {name: ran.result[name] for name in ran.result if name not in ("v", "seq", "ts", "run", "type")}
    assert json.loads(files["result.json"].read_text()) == body
    report = json.loads(files["report.json"].read_text())
    assert {name: report[name] for name in body if name != "engine"} == {
        name: body[name] for name in body if name != "engine"
    }
    assert {name: report["engine"][name] for name in ("name", "version")} == body["engine"]
    assert f"error: {ran.result['reason']}\n" in files["report.txt"].read_text()
    assert {stat.S_IMODE(file.stat().st_mode) for file in files.values()} == {0o600}


@pytest.mark.parametrize("operation", ["provision", "destroy", "plan"])
def test_a_report_of_no_known_form_is_refused_and_never_dropped(
    hereya: Driver, package: Path, operation: str
) -> None:
    given = ("--yes", "--engine", hereya.wish, "--report-file", "report.pdf")
    ran = hereya.cli(operation, package, *given, cwd=package)

    assert (ran.exit_code, ran.stdout) == (64, "")
    first, second, *_ = ran.stderr.splitlines()
    assert first.startswith("error: ")
    assert "`--report-file report.pdf`" in first
    assert second.startswith("hint: ")
    assert names(package) == ["main.tf"]
    assert not scenes.state_directory().exists()


def test_every_option_has_a_test_on_an_engine() -> None:
    texts = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("*.py"))
    options = [name for row in ROWS for full in row.names for name in full.split("/") if name[:2] == "--"]

    assert [option for option in options if not re.search(rf"{option}(?![\w-])", texts)] == []
