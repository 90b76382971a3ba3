"""`tf`: the engine as if it had been called by hand, and the lock, the backend and the record of a run."""

import base64
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pexpect
import pytest

from hereya_tf.operations.handing_over import needs_init, without_values
from hereya_tf.runs import history
from tests.command_line import CommandLine, environment
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.driving import Driver
from tests.engine.terminals import ended, terminals
from tests.fake_engine import FakeEngine, wait_for

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups")

Spawn = Callable[..., "pexpect.spawn[str]"]

GREETING = {
    "main.tf": """
resource "terraform_data" "a" { input = "hello" }
output "o" { value = terraform_data.a.output }
output "password" {
  value     = "correct-horse"
  sensitive = true
}
"""
}
SLEEPING = {
    "main.tf": """
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch started; i=0; while [ ! -e go ] && [ $i -lt 1200 ]; do i=$((i+1)); sleep 0.05; done"
  }
}
"""
}


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    """Starts a program on a terminal of its own."""
    with terminals(tmp_path, PS1="$ ") as start:
        yield lambda program, *words: start(program, [str(word) for word in words])


def tf(package: Path, engine: str | Path, *arguments: str) -> tuple[str | Path, ...]:
    """The command line of the engine's command, without the program's name."""
    return ("tf", package, "--engine", engine, "--", *arguments)


def spawned(spawn: Spawn, package: Path, engine: str | Path, *arguments: str) -> "pexpect.spawn[str]":
    return spawn(sys.executable, "-m", "hereya_tf", *tf(package, engine, *arguments))


def by_hand(arguments: Sequence[str | Path], stdin: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """`hereya-tf` with bytes for its streams."""
    return subprocess.run(
        [sys.executable, "-m", "hereya_tf", *map(str, arguments)],
        env=environment({}),
        input=stdin,
        capture_output=True,
        timeout=120,
    )


def only_run() -> history.RunRecord:
    (run,) = (scenes.state_directory() / "runs").glob("2*")
    return wait_for(
        lambda: record if (record := scenes.record(run.name)).status is not None else None, what="the end"
    )


# What the engine gets and what it says


def test_the_engine_gets_every_argument_as_it_is(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    odd = ["frob", "", "--", "--yes", "-h", "--engine=x", "a b", "$HOME\n", "é", "\udcff"]
    result = cli(*tf(make_package(scenes.NOTHING), fake_engine.path, *odd))
    (start,) = fake_engine.records("start", command="frob")

    assert (result.exit_code, result.stderr) == (0, "")
    assert start["argv"][1:] == odd


def test_the_engines_environment_is_that_of_a_run(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package(scenes.NOTHING)
    state = tmp_path / "db.tfstate"
    cli("tf", package, "--engine", fake_engine.path, "--state", state, "-e", "ODD=é ${x}", "--", "frob",
        env={"COMP_LINE": "terraform "})  # fmt: skip
    (start,) = fake_engine.records("start", command="frob")
    found = {name: start["env"].get(name) for name in ("ODD", "COMP_LINE", "TF_INPUT", "TF_WORKSPACE")}

    assert found == {"ODD": "é ${x}", "COMP_LINE": None, "TF_INPUT": "0", "TF_WORKSPACE": "default"}
    assert start["env"]["TF_DATA_DIR"].startswith(".terraform/hereya/")
    assert start["cwd"] == os.path.realpath(package)
    assert list(package.glob("*override*")) == []


def test_both_streams_are_byte_for_byte_and_nothing_is_masked(
    fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    said = b"\x00\xff\xfe broken \x1b[31m \r\n correct-horse-battery no line break"
    encoded = base64.b64encode(said).decode()
    fake_engine.plays(
        {"frob": [{"bytes": encoded, "times": 300}, {"bytes": encoded, "stream": "stderr"}, {"exit": 9}]}
    )
    package = make_package(scenes.NOTHING)
    arguments = tf(package, fake_engine.path, "frob")
    result = by_hand((*arguments[:2], "-e", "DB_PASSWORD=correct-horse-battery", *arguments[2:]))

    assert (result.returncode, result.stdout, result.stderr) == (9, said * 300, said)


def test_init_is_made_when_it_is_needed_and_is_not_heard(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    warning = scenes.message("diagnostic", diagnostic={"severity": "warning", "summary": "w", "detail": ""})
    fake_engine.plays({"init": [{"stdout": "Initializing\n"}, {"stderr": "talk\n"}, warning], "plan": []})
    package = make_package(scenes.NOTHING)
    result = cli(*tf(package, fake_engine.path, "plan"))

    assert result == (0, "", "")
    assert fake_engine.commands() == ["init", "plan"]


def test_an_init_that_fails_says_why_and_the_command_is_not_run(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"init": [{"stderr": "Error: no such module\n"}, {"exit": 1}]})
    result = cli(*tf(make_package(scenes.NOTHING), fake_engine.path, "plan"))

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("\n--- stderr ---\nError: no such module\n\nerror: no such module\n")
    assert fake_engine.commands() == ["init"]


@pytest.mark.parametrize("command", ["init", "fmt", "version", "login", "get", "validate", "frob"])
def test_what_needs_no_init_gets_none(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, command: str
) -> None:
    cli(*tf(make_package(scenes.NOTHING), fake_engine.path, command, "x"))

    assert fake_engine.records("start")[-1]["argv"][1:] == [command, "x"]
    assert len([start for start in fake_engine.records("start") if start["command"] != "version"]) <= 1


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (("plan",), True),
        (("-no-color", "state", "list"), True),
        (("plan", "-help"), False),
        (("-version",), False),
        (("fmt", "plan"), False),
        (("providers",), True),
        (("providers", "schema", "-json"), True),
        (("providers", "-h"), False),
        (("providers", "lock", "-platform=linux_amd64"), False),
        (("providers", "mirror", "dir"), False),
    ],
)
def test_which_commands_need_an_init(arguments: tuple[str, ...], needed: bool) -> None:
    assert needs_init(arguments) is needed


# How it ends


@pytest.mark.parametrize(
    ("actions", "exit_code", "status"),
    [
        pytest.param([{"exit": 0}], 0, "succeeded", id="success"),
        pytest.param([{"exit": 3}], 3, "failed", id="a-code-that-means-something-else-with-us"),
        pytest.param([{"exit": 2}], 2, "failed", id="two-without-detailed-exitcode"),
        pytest.param([{"exit": 130}], 130, "failed", id="a-code-like-a-signals"),
        pytest.param([{"kill_self": "SIGKILL"}], 137, "failed", id="death-by-a-signal"),
    ],
)
def test_the_exit_code_is_the_engines_own(
    cli: CommandLine,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    actions: list[scenes.Action],
    exit_code: int,
    status: str,
) -> None:
    fake_engine.plays({"frob": actions})
    result = cli(*tf(make_package(scenes.NOTHING), fake_engine.path, "frob"))
    found = only_run()

    assert result == (exit_code, "", "")
    assert (found.operation, found.status, found.exit_code) == ("tf", status, exit_code)


def test_two_is_a_success_where_it_was_asked_for(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"plan": [{"exit": 2}]})
    cli(*tf(make_package(scenes.NOTHING), fake_engine.path, "plan", "-detailed-exitcode"))

    assert (only_run().status, only_run().exit_code) == ("succeeded", 2)


def test_the_record_has_the_command_without_the_values_it_was_given(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"plan": [{"stdout": "said"}, {"exit": 1}]})
    given = ("plan", "-var", "a=tell-nobody", "-var=b=tell-nobody", "--var=c=tell-nobody", "-out=x")
    cli(*tf(make_package(scenes.NOTHING), fake_engine.path, *given))
    events = scenes.log_events(cli, "last")
    (started,) = [event for event in events if event["type"] == "step_started" and event["step"] == "tf"]
    masked = ["-var", "a=[redacted]", "-var=b=[redacted]", "--var=c=[redacted]"]

    assert started["argv"][1:] == ["plan", *masked, "-out=x"]
    assert events[-1]["failure"]["class"] == "engine-error"
    assert (events[-1]["failure"]["stdout"], events[-1]["failure"]["stderr"]) == ("", "")
    assert "tell-nobody" not in scenes.everything_in(scenes.state_directory())


def test_values_are_masked_whatever_stands_around_them() -> None:
    given = ("init", "-backend-config", "file.tfbackend", "-backend-config=token=x", "-var")

    expected = ["init", "-backend-config", "file.tfbackend", "-backend-config=token=[redacted]", "-var"]
    assert expected == list(without_values(given))


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of 128 KiB is Linux's")
def test_an_engine_that_cannot_be_started_is_told(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    file = tmp_path / "long.env"
    file.write_text(f"LONG={'x' * 200_000}\n")
    package = make_package(scenes.NOTHING)
    result = cli("tf", package, "--engine", fake_engine.path, "--env-file", file, "--", "frob")

    assert (result.exit_code, result.stdout) == (5, "")
    assert result.stderr.startswith(f"error: `{fake_engine.path}` cannot be started: ")
    assert only_run().status == "failed"
    assert scenes.held_locks() == []


# What is refused


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "error: the engine's command is missing: it stands after `--`\n"),
        (("--",), "error: the engine's command is missing: it stands after `--`\n"),
        (("state", "list", "-json"), "error: the engine's command is missing: it stands after `--`\n"),
        (("--", "-chdir=..", "plan"), "error: `-chdir` would take the engine out of the package"),
        (("--", "-no-color", "-chdir", "plan"), "error: `-chdir` would take the engine out of the package"),
        (("--json", "--", "plan"), "error: `tf` has no use for `--json`"),
    ],
)
def test_what_makes_no_sense_is_refused_with_an_example(
    cli: CommandLine, fake_engine: FakeEngine, arguments: tuple[str, ...], sentence: str
) -> None:
    result = cli("tf", *arguments)

    assert (result.exit_code, result.stdout) == (64, "")
    assert result.stderr.startswith(sentence)
    assert "\nhint: " in result.stderr
    assert fake_engine.records("start") == []


def test_chdir_after_the_command_is_the_commands_own(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    cli(*tf(make_package(scenes.NOTHING), fake_engine.path, "frob", "-chdir=x"))

    assert fake_engine.records("start", command="frob")[0]["argv"][1:] == ["frob", "-chdir=x"]


def test_help_is_ours_before_the_dashes(cli: CommandLine) -> None:
    result = cli("tf", "--help")

    assert (result.exit_code, result.stderr) == (0, "")
    assert "Usage: hereya-tf tf [OPTIONS] [PACKAGE] -- ARGS..." in result.stdout


def test_a_mandatory_parameter_is_not_needed(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package(
        {"main.tf": 'variable "size" {}', "hereyarc.yaml": "parameters:\n  size:\n    mandatory: true\n"}
    )

    result = cli(*tf(package, fake_engine.path, "state", "list"))

    assert (result.exit_code, result.stderr) == (0, "")
    assert fake_engine.commands() == ["init", "state"]


# The lock


GATED = [{"touch": "started"}, {"wait_for_file": "go"}]


def test_nobody_else_is_at_work_meanwhile(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"frob": [GATED, []]})
    package = make_package(scenes.NOTHING)
    first = cli.start(*tf(package, fake_engine.path, "frob"))
    scenes.wait_for_file(package / "started")
    refused = cli("tf", package, "--engine", fake_engine.path, "--no-wait", "--", "frob")
    waiting = cli.start(*tf(package, fake_engine.path, "frob"))
    wait_for(lambda: b"waiting for the package lock" in waiting.stderr_file.read_bytes() or None)
    (package / "go").touch()

    assert refused.exit_code == 4
    assert "class: busy" in refused.stderr
    assert [first.finish().exit_code, waiting.finish().exit_code] == [0, 0]
    assert len(fake_engine.records("start", command="frob")) == 2
    assert scenes.held_locks() == []


@pytest.mark.behaviour("T7")
def test_the_lock_lasts_as_long_as_the_engine_when_the_runner_is_killed(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"frob": [GATED, []]})
    package = make_package(scenes.NOTHING)
    first = cli.start(*tf(package, fake_engine.path, "frob"))
    scenes.wait_for_file(package / "started")
    first.send_signal(signal.SIGKILL)
    first.process.wait(60)
    refused = cli("tf", package, "--engine", fake_engine.path, "--no-wait", "--", "frob")
    waiting = cli.start(*tf(package, fake_engine.path, "frob"))
    wait_for(lambda: b"waiting for the package lock" in waiting.stderr_file.read_bytes() or None)
    (package / "go").touch()

    assert refused.exit_code == 4
    assert waiting.finish().exit_code == 0
    assert [end["exit_code"] for end in fake_engine.records("end")[-2:]] == [0, 0]
    assert fake_engine.records("signal") == []
    assert scenes.held_locks() == []


def test_a_lock_is_freed_of_an_engine_that_heeds_nothing(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"frob": [{"on_sigint": "record"}, *GATED]})
    package = make_package(scenes.NOTHING)
    first = cli.start(*tf(package, fake_engine.path, "frob"), start_new_session=True)
    scenes.wait_for_file(package / "started")
    first.send_signal(signal.SIGKILL)
    first.process.wait(60)
    released = cli("lock", "release", package, "--force", "--grace", "1s")

    assert released.exit_code == 0, released.stderr
    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT", "SIGINT"]
    assert fake_engine.records("end", exit_code=99) == []  # it was killed, and did not tire of waiting
    assert scenes.held_locks() == []


# Being asked to end


RECORDING = [{"on_sigint": "record"}, {"touch": "started"}, {"wait_for_file": "go"}, {"exit": 1}]


@pytest.mark.behaviour("T6")
def test_a_cancelled_command_is_interrupted_once(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"frob": RECORDING})
    package = make_package(scenes.NOTHING)
    running = cli.start(*tf(package, fake_engine.path, "frob"))
    scenes.wait_for_file(package / "started")
    assert cli("runs", "cancel", "last").exit_code == 0
    fake_engine.wait_for_record("signal")
    (package / "go").touch()
    result, found = running.finish(), only_run()

    assert result == (1, "", "")
    assert (found.status, found.exit_code, found.reason) == (
        "cancelled",
        1,
        "the run was cancelled on request",
    )
    assert [each["signal"] for each in fake_engine.records("signal")] == ["SIGINT"]


@pytest.mark.behaviour("T6")
def test_a_time_limit_interrupts_once_and_says_so(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"frob": [{"touch": "started"}, {"wait_for_file": "never"}]})
    package = make_package(scenes.NOTHING)
    result = cli("tf", package, "--engine", fake_engine.path, "--timeout", "2s", "--", "frob")

    assert (result.exit_code, "class: timed-out (exit code 124)" in result.stderr) == (124, True)
    assert [each["signal"] for each in fake_engine.records("signal")] == ["SIGINT"]
    assert only_run().status == "timed_out"


def test_ctrl_c_at_the_terminal_reaches_the_engine_once(
    spawn: Spawn, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"frob": RECORDING})
    package = make_package(scenes.NOTHING)
    child = spawned(spawn, package, fake_engine.path, "frob")
    scenes.wait_for_file(package / "started")
    child.sendintr()
    fake_engine.wait_for_record("signal")
    # Longer than it takes us to judge the signal: a second one would come now.
    with pytest.raises(pexpect.TIMEOUT):
        child.expect(pexpect.EOF, timeout=1.5)
    (package / "go").touch()
    code, shown = ended(child)

    assert (code, shown.replace("^C", "").strip()) == (1, "")
    assert [each["signal"] for each in fake_engine.records("signal")] == ["SIGINT"]
    assert (only_run().status, only_run().exit_code) == ("cancelled", 1)


# A real engine


@pytest.mark.real_engine
def test_the_console_at_a_terminal(spawn: Spawn, real_engine: str, make_package: MakePackage) -> None:
    child = spawned(spawn, make_package(GREETING), real_engine, "console")
    child.expect_exact("> ")
    child.send("1 + 1\r")
    child.expect(r"\r\n2\r\n")
    child.sendeof()

    assert ended(child)[0] == 0
    assert (only_run().status, only_run().exit_code) == ("succeeded", 0)


@pytest.mark.real_engine
def test_applys_own_question_is_answered_at_the_terminal(
    spawn: Spawn, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(GREETING)
    child = spawned(spawn, package, real_engine, "apply", "-no-color")
    child.expect_exact("Enter a value: ")
    child.send("yes\r")
    code, shown = ended(child)

    assert (code, "Apply complete!" in shown) == (0, True), shown
    assert scenes.resources(package / "terraform.tfstate") == {"terraform_data.a": "complete"}


@pytest.mark.real_engine
def test_a_missing_variable_is_asked_for_at_a_terminal_only(
    spawn: Spawn, hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": 'variable "need" {}\noutput "o" { value = var.need }\n'})
    failed = by_hand(tf(package, hereya.wish, "plan"))
    child = spawned(spawn, package, hereya.wish, "plan", "-no-color")
    child.expect_exact("Enter a value: ")
    child.send("given\r")
    code, shown = ended(child)

    assert (failed.returncode, b"No value for required variable" in failed.stderr) == (1, True)
    assert (code, '+ o = "given"' in shown) == (0, True), shown


@pytest.mark.real_engine
@pytest.mark.behaviour("T6")
def test_ctrl_c_during_an_apply_is_one_interrupt(
    spawn: Spawn, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(SLEEPING)
    child = spawned(spawn, package, real_engine, "apply", "-auto-approve", "-no-color")
    scenes.wait_for_file(package / "started")
    child.sendintr()
    code, shown = ended(child)

    # The command of the provisioner is interrupted as well, and may end before the engine has said a word.
    assert (code, shown.count("Interrupt received") <= 1, "Two interrupts" in shown) == (1, True, False), (
        shown
    )
    assert scenes.resources(package / "terraform.tfstate") == {"terraform_data.slow": "tainted"}
    assert (only_run().status, only_run().exit_code) == ("cancelled", 1)
    assert scenes.held_locks() == []
    assert not list(package.glob(".terraform.tfstate.lock.info"))


def state_of(pid: int) -> str:
    """The letter of a process's state, `T` for stopped."""
    return subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True
    ).stdout.strip()[:1]


@pytest.mark.real_engine
@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs a shell with job control")
def test_ctrl_z_stops_both_and_fg_resumes_both(
    spawn: Spawn, real_engine: str, make_package: MakePackage
) -> None:
    package = make_package(SLEEPING)
    shell = spawn("/bin/bash", "--norc", "--noprofile", "-i")
    shell.expect_exact("$ ")
    line = tf(package, real_engine, "apply", "-auto-approve", "-no-color")
    shell.sendline(shlex.join([sys.executable, "-m", "hereya_tf", *map(str, line)]))
    scenes.wait_for_file(package / "started")
    (run,) = (scenes.state_directory() / "runs").glob("2*")
    record = scenes.record(run.name)
    assert record.engine_process is not None
    both = (record.process.pid, record.engine_process.pid)
    shell.send("\x1a")
    shell.expect_exact("Stopped")
    shell.expect_exact("$ ")
    wait_for(lambda: True if [state_of(pid) for pid in both] == ["T", "T"] else None, what="both to stop")
    shell.sendline("fg")
    wait_for(lambda: True if "T" not in [state_of(pid) for pid in both] else None, what="both to go on")
    (package / "go").touch()
    shell.expect_exact("Apply complete!")
    shell.expect_exact("$ ")
    shell.sendline("echo code $?")
    shell.expect_exact("code 0")

    assert scenes.resources(package / "terraform.tfstate") == {"terraform_data.slow": "complete"}
    assert scenes.record(run.name).status == "succeeded"


@pytest.mark.real_engine
@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs a shell with job control")
def test_a_background_job_works(spawn: Spawn, real_engine: str, make_package: MakePackage) -> None:
    package = make_package(GREETING)
    shell = spawn("/bin/bash", "--norc", "--noprofile", "-i")
    shell.expect_exact("$ ")
    line = tf(package, real_engine, "apply", "-auto-approve", "-no-color")
    command = shlex.join([sys.executable, "-m", "hereya_tf", *map(str, line)])
    shell.sendline(f"{command} > out & wait $!; echo code $?")
    shell.expect_exact("code 0")

    assert scenes.resources(package / "terraform.tfstate") == {"terraform_data.a": "complete"}


@pytest.mark.real_engine
def test_a_state_goes_out_and_in_byte_for_byte(hereya: Driver, make_package: MakePackage) -> None:
    package, other = make_package(GREETING), make_package(GREETING)
    assert hereya.provision(package).exit_code == 0
    pulled = by_hand(tf(package, hereya.wish, "state", "pull"))
    file = other / "pulled"
    file.write_bytes(pulled.stdout)
    pushed = by_hand(tf(other, hereya.wish, "state", "push", "pulled"))
    again = by_hand(tf(other, hereya.wish, "state", "push", "-"), stdin=pulled.stdout)
    back = by_hand(tf(other, hereya.wish, "state", "pull"))

    assert (pulled.returncode, pulled.stderr) == (0, b"")
    assert hereya.plain(package, "state", "pull").encode() == pulled.stdout
    assert [(pushed.returncode, pushed.stderr), (again.returncode, again.stderr)] == [(0, b"")] * 2
    assert json.loads(pulled.stdout)["resources"] == json.loads(back.stdout)["resources"]
    assert b"correct-horse" in back.stdout


@pytest.mark.real_engine
def test_sensitive_values_are_not_masked(hereya: Driver, make_package: MakePackage) -> None:
    package = make_package(GREETING)
    assert hereya.provision(package).exit_code == 0
    result = by_hand(tf(package, hereya.wish, "output", "-raw", "password"))

    assert (result.returncode, result.stdout, result.stderr) == (0, b"correct-horse", b"")


@pytest.mark.real_engine
@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (("plan", "-detailed-exitcode"), 2),
        (("plan", "-no-such-option"), 1),
        (("fmt", "-check"), 3),
        (("no-such-command",), 1),
        (("version",), 0),
        (("-help",), 0),
    ],
)
def test_the_code_is_what_the_engine_by_hand_would_give(
    hereya: Driver, make_package: MakePackage, arguments: tuple[str, ...], exit_code: int
) -> None:
    package = make_package({"main.tf": GREETING["main.tf"].replace(" = ", "   =  ", 1)})
    result = by_hand(tf(package, hereya.wish, *arguments))
    plainly = subprocess.run(
        [*hereya.argv, *arguments],
        cwd=package,
        env=environment({"TF_IN_AUTOMATION": "1"}),
        capture_output=True,
    )

    assert (result.returncode, result.stdout, result.stderr) == (exit_code, plainly.stdout, plainly.stderr)


@pytest.mark.real_engine
def test_a_generated_backends_state_is_the_one_that_is_seen(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package, state = make_package(GREETING), tmp_path / "db.tfstate"
    assert hereya.provision(package, "--state", state).exit_code == 0
    listed = by_hand(("tf", package, "--engine", hereya.wish, "--state", state, "--", "state", "list"))
    beside = by_hand(tf(package, hereya.wish, "state", "list"))

    assert (listed.returncode, listed.stdout, listed.stderr) == (0, b"terraform_data.a\n", b"")
    assert (beside.returncode, beside.stdout) == (1, b"")
    assert list(package.glob("*override*")) == []


@pytest.mark.real_engine
def test_a_reader_that_goes_away_ends_the_engine_as_by_hand(
    hereya: Driver, make_package: MakePackage
) -> None:
    package = make_package(GREETING)
    assert hereya.provision(package).exit_code == 0
    reader, writer = os.pipe()
    os.close(reader)
    with contextlib.closing(os.fdopen(writer, "wb")) as gone:
        command = [sys.executable, "-m", "hereya_tf", *map(str, tf(package, hereya.wish, "state", "pull"))]
        done = subprocess.run(command, env=environment({}), stdout=gone, stderr=subprocess.PIPE)

    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")
    assert scenes.held_locks() == []
