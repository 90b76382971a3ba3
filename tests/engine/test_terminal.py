"""At a terminal: a person is asked before anything changes, and what the person answers is what is done."""

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pexpect
import pytest

from tests.command_line import CommandLine, environment
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.terminals import ended, terminals
from tests.fake_engine import FakeEngine, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")

Terminal = Callable[..., "pexpect.spawn[str]"]

ASKED = "Type `yes` to do it: "
GREETING = {
    "main.tf": 'resource "terraform_data" "a" { input = "hello" }\noutput "o" { value = terraform_data.a.output }\n'
}
THREE = {f"terraform_data.{name}": "complete" for name in ("first", "second", "third")}


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """Starts `hereya-tf`, or the `command`, on a terminal of its own."""
    with terminals(tmp_path, NO_COLOR="1") as start:

        def begin(*arguments: str | Path, command: Sequence[str] = ()) -> "pexpect.spawn[str]":
            program, *words = command or (sys.executable, "-m", "hereya_tf", *map(str, arguments))
            return start(program, words)

        yield begin


def ask(child: "pexpect.spawn[str]", question: str = ASKED) -> None:
    child.expect_exact(question)


@pytest.mark.real_engine
def test_yes_applies_exactly_the_plan_that_was_shown(
    terminal: Terminal, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(GREETING)
    child = terminal("provision", package, "--engine", real_engine)
    child.expect_exact(f"Plan for {package.name}: 1 to add, 0 to change, 0 to destroy")
    ask(child)
    assert not (package / "terraform.tfstate").exists()
    (package / "main.tf").write_text(GREETING["main.tf"] + 'resource "terraform_data" "later" {}\n')
    child.sendline("yes")
    code, shown = ended(child)

    assert (code, "o  hello\n" in shown) == (0, True), shown
    assert scenes.resources(package / "terraform.tfstate") == {"terraform_data.a": "complete"}
    assert scenes.held_locks() == []
    # The plan holds every value; nothing of it is left.
    assert not list(scenes.state_directory().rglob("plan*"))


@pytest.mark.real_engine
def test_an_ephemeral_value_counts_for_the_plan_and_for_what_is_done_by_it(
    terminal: Terminal, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(
        {"main.tf": GREETING["main.tf"] + 'variable "token" {\n  type = string\n  ephemeral = true\n}\n'}
    )
    child = terminal("provision", package, "-p", "token=first-token", "--engine", real_engine)
    ask(child)
    child.sendline("yes")
    code, shown = ended(child)

    assert (code, "o  hello\n" in shown) == (0, True), shown


@pytest.mark.real_engine
@pytest.mark.parametrize("answer", ["no", "sure", "", "\x04"])
def test_anything_but_yes_changes_nothing(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage, answer: str
) -> None:
    fake_engine.plays({"plan": scenes.planned(add=1), "apply": scenes.applied(add=1)})
    package = make_package(scenes.NOTHING)
    child = terminal("provision", package, "--engine", fake_engine.path)
    ask(child)
    child.send(answer if answer == "\x04" else answer + "\n")
    code, shown = ended(child)

    assert code == 130
    assert "error: the plan was not approved, and nothing was changed" in shown
    assert fake_engine.commands() == ["init", "plan", "show"]
    assert scenes.held_locks() == []


@pytest.mark.parametrize(("again", "exit_code"), [("yes", 0), ("y", 130)])
def test_who_almost_says_yes_is_asked_once_more(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage, again: str, exit_code: int
) -> None:
    fake_engine.plays({"plan": scenes.planned(add=1), "apply": scenes.applied(add=1)})
    child = terminal("provision", make_package(scenes.NOTHING), "--engine", fake_engine.path)
    ask(child)
    child.sendline("y")
    ask(child, "Nothing has been done yet: type `yes` in full to do it: ")
    child.sendline(again)

    assert ended(child)[0] == exit_code


@pytest.mark.parametrize(
    ("interrupt", "exit_code"),
    [pytest.param("Ctrl-C", 130, id="ctrl-c"), pytest.param(signal.SIGTERM, 143, id="sigterm")],
)
def test_an_interrupt_at_the_question_ends_the_run_at_once(
    terminal: Terminal,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    interrupt: Any,
    exit_code: int,
) -> None:
    fake_engine.plays({"plan": scenes.planned(add=1), "apply": scenes.applied(add=1)})
    package = make_package(scenes.NOTHING)
    child = terminal("provision", package, "--engine", fake_engine.path)
    ask(child)
    if interrupt == "Ctrl-C":
        child.sendintr()
    else:
        child.kill(interrupt)
    code, shown = ended(child)

    assert (code, "error: the run was cancelled by " in shown) == (exit_code, True)
    assert fake_engine.commands() == ["init", "plan", "show"]
    assert scenes.held_locks() == []


def test_the_time_limit_ends_a_question_that_nobody_answers(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"plan": scenes.planned(add=1)})
    package = make_package(scenes.NOTHING)
    child = terminal("provision", package, "--engine", fake_engine.path, "--timeout", "3s")
    ask(child)
    code, shown = ended(child)

    assert (code, "class: timed-out" in shown) == (124, True)
    assert scenes.held_locks() == []


def test_a_terminal_that_goes_away_at_the_question_ends_the_run(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage, cli: CommandLine
) -> None:
    fake_engine.plays({"plan": scenes.planned(add=1)})
    package = make_package(scenes.NOTHING)
    child = terminal("provision", package, "--engine", fake_engine.path)
    ask(child)
    child.close(force=False)
    (run,) = (scenes.state_directory() / "runs").iterdir()
    found = wait_for(
        lambda: record if (record := scenes.record(run.name)).status is not None else None, what="the end"
    )

    assert (found.status, found.exit_code) == ("cancelled", 129)
    assert fake_engine.commands() == ["init", "plan", "show"]
    assert scenes.held_locks() == []


def test_nothing_to_change_is_nothing_to_ask(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"plan": scenes.planned(add=0), "apply": scenes.applied()})
    package = make_package(scenes.NOTHING)
    code, shown = ended(terminal("provision", package, "--engine", fake_engine.path))

    assert (code, "Type" in shown) == (0, False)


@pytest.mark.real_engine
def test_destroy_wants_the_name_of_the_package(
    cli: CommandLine, terminal: Terminal, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(GREETING)
    assert cli("provision", package, "--yes", "--engine", real_engine).exit_code == 0
    question = f"Type the package's name, `{package.name}`, to destroy it: "
    child = terminal("destroy", package, "--engine", real_engine)
    ask(child, question)
    child.sendline("yes")
    ask(child, f"type the package's name in full, `{package.name}`, to destroy it: ")
    child.sendline("yes")
    assert ended(child)[0] == 130
    assert scenes.resources(package / "terraform.tfstate") == {"terraform_data.a": "complete"}

    child = terminal("destroy", package, "--engine", real_engine)
    ask(child, question)
    child.sendline(package.name)
    code, shown = ended(child)

    assert (code, "o  hello\n" in shown) == (0, True), shown
    assert scenes.resources(package / "terraform.tfstate") == {}


@pytest.mark.real_engine
def test_inputs_given_here_and_there_are_what_is_asked_about_and_done(
    terminal: Terminal, real_engine: str, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(
        {
            "main.tf": """
variable "size" {}
variable "zones" { type = list(string) }
resource "terraform_data" "a" { input = [var.size, join("", var.zones)] }
output "o" { value = terraform_data.a.output }
"""
        }
    )
    values = tmp_path / "values.tfvars"
    values.write_text('size = "from the file"\nzones = ["from", "the", "file"]\n')
    child = terminal(
        *("provision", "-p", "size=first", "--engine", real_engine, package),
        *("--var-file", values, "--no-progress", "--param", 'zones:=["b","a"]'),
    )
    child.expect_exact('+ "from the file"')
    child.expect_exact('+ "ba"')
    ask(child)
    values.write_text('size = "too late"\nzones = []\n')
    child.sendline("yes")
    code, shown = ended(child)

    assert (code, '["from the file", "ba"]' in shown or '["from the file","ba"]' in shown) == (0, True), shown
    assert "apply    terraform_data.a: created" in shown


@pytest.mark.real_engine
@pytest.mark.parametrize("operation", ["provision", "destroy"])
def test_a_state_that_changes_at_the_question_makes_the_plan_stale(
    cli: CommandLine,
    terminal: Terminal,
    real_engine: str,
    real_engine_argv: tuple[str, ...],
    make_package: MakePackage,
    operation: str,
) -> None:
    package = make_package(GREETING)
    assert cli("provision", package, "--yes", "--engine", real_engine).exit_code == 0
    (package / "main.tf").write_text(GREETING["main.tf"].replace("hello", "bye"))
    child = terminal(operation, package, "--engine", real_engine)
    child.expect(r"Type .*: ")
    # Somebody works by hand, where our lock does not matter.
    subprocess.run(
        [*real_engine_argv, "taint", "terraform_data.a"],
        cwd=package,
        env=environment({}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
    )
    child.sendline("yes" if operation == "provision" else package.name)
    code, shown = ended(child)

    assert (code, "class: plan-stale (exit code 3)" in shown) == (3, True), shown
    assert scenes.resources(package / "terraform.tfstate") == {"terraform_data.a": "tainted"}


@pytest.mark.real_engine
def test_nothing_to_do_asks_nothing_of_a_real_engines_user(
    cli: CommandLine, terminal: Terminal, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(GREETING)
    assert cli("provision", package, "--yes", "--engine", real_engine).exit_code == 0

    code, shown = ended(terminal("provision", package, "--engine", real_engine))
    assert (code, "Type" in shown, "o  hello\n" in shown) == (0, False, True)

    assert cli("destroy", package, "--yes", "--engine", real_engine).exit_code == 0
    code, shown = ended(terminal("destroy", package, "--engine", real_engine))
    assert (code, "Type" in shown) == (0, False)


@pytest.mark.parametrize("answer", ["\x04", "\x03", "\n"], ids=["end", "ctrl-c", "nothing"])
def test_a_destroy_that_is_not_wanted_destroys_nothing(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage, answer: str
) -> None:
    fake_engine.plays({"plan": scenes.planned(add=1)})
    package = make_package(scenes.NOTHING)
    child = terminal("destroy", package, "--engine", fake_engine.path)
    ask(child, f"Type the package's name, `{package.name}`, to destroy it: ")
    child.send(answer)

    assert ended(child)[0] == 130
    assert fake_engine.commands() == ["init", "output", "plan", "show"]
    assert scenes.held_locks() == []


@pytest.mark.real_engine
@pytest.mark.parametrize("arguments", [(), ("--json",)], ids=["outputs", "json"])
def test_who_keeps_the_results_is_asked_on_the_terminal_all_the_same(
    terminal: Terminal,
    real_engine: str,
    make_package: MakePackage,
    tmp_path: Path,
    arguments: tuple[str, ...],
) -> None:
    package = make_package(GREETING)
    words = (
        sys.executable,
        "-m",
        "hereya_tf",
        "provision",
        str(package),
        "--engine",
        real_engine,
        *arguments,
    )
    child = terminal(command=("sh", "-c", f"{shlex.join(words)} > results"))
    child.expect_exact("+ create")
    ask(child)
    child.sendline("yes")

    assert ended(child)[0] == 0
    results = (tmp_path / "results").read_text()
    if not arguments:
        assert results == "o=hello\n"
        return
    last = [json.loads(line) for line in results.splitlines()][-1]
    assert (last["type"], last["status"], last["changes"]["add"]) == ("result", "succeeded", 1)


@pytest.mark.real_engine
@pytest.mark.behaviour("T4")
def test_a_missing_variable_is_an_error_at_a_terminal_too(
    terminal: Terminal, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": 'variable "need" {}\noutput "o" { value = var.need }\n'})
    code, shown = ended(terminal("provision", package, "--engine", real_engine))

    assert (code, "class: missing-variable" in shown) == (1, True)
    assert "Enter a value" not in shown


@pytest.mark.real_engine
def test_nothing_that_the_engine_starts_can_read_the_terminal(
    terminal: Terminal, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(
        {
            "main.tf": """
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "if read x < /dev/tty; then touch read-the-terminal; fi; cat > stdin; touch done"
  }
}
"""
        }
    )
    child = terminal("provision", package, "--engine", real_engine, "--yes")
    child.sendline("typed ahead")
    code, shown = ended(child)

    assert code == 0, shown
    assert (package / "done").exists()
    assert not (package / "read-the-terminal").exists()
    assert (package / "stdin").read_text() == ""


def test_what_was_typed_before_the_question_is_no_answer(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays(
        {
            "plan": [{"touch": "started"}, {"wait_for_file": "go"}, *scenes.planned(add=1)],
            "apply": scenes.applied(add=1),
        }
    )
    package = make_package(scenes.NOTHING)
    child = terminal("provision", package, "--engine", fake_engine.path)
    scenes.wait_for_file(package / "started")
    child.sendline("yes")
    child.expect_exact("yes")
    (package / "go").touch()
    ask(child)
    child.sendline("no")

    assert ended(child)[0] == 130
    assert fake_engine.commands() == ["init", "plan", "show"]


def test_ctrl_c_during_the_plan_ends_the_run_before_it_asks(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"plan": [{"touch": "started"}, {"wait_for_file": "never"}]})
    package = make_package(scenes.NOTHING)
    child = terminal("provision", package, "--engine", fake_engine.path)
    scenes.wait_for_file(package / "started")
    child.sendintr()
    code, shown = ended(child)

    assert (code, "error: the run was cancelled by SIGINT" in shown, ASKED in shown) == (130, True, False)
    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT"]
    assert fake_engine.commands() == ["init", "plan"]


def test_ctrl_c_during_an_apply_reaches_the_engine_once(
    terminal: Terminal, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    play = [
        scenes.applying("null_resource.a"),
        {"on_sigint": "record"},
        {"touch": "started"},
        {"wait_for_file": "go"},
        {"exit": 1},
    ]
    fake_engine.plays({"apply": play})
    package = make_package(scenes.NOTHING)
    child = terminal("provision", package, "--engine", fake_engine.path, "--yes")
    scenes.wait_for_file(package / "started")
    child.sendintr()
    fake_engine.wait_for_record("signal")
    (package / "go").touch()

    assert ended(child)[0] == 130
    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT"]
