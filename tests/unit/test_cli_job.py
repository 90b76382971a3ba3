"""`job`: what each command prints, where, and how it ends."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import CommandLine, Result, environment
from tests.control_plane import TOKEN, ControlPlane, status, unauthorized
from tests.control_plane_faults import broken, half_answer, lost_answer
from tests.control_plane_jobs import PlaneJob

OUTPUTS = {"URL": "https://db", "db-size": "a 'b'"}
DONE = {"success": True, "env": OUTPUTS}


@pytest.fixture
def plane(monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        monkeypatch.setenv("HEREYA_CLOUD_URL", plane.url)
        monkeypatch.setenv("HEREYA_TOKEN", TOKEN)
        yield plane
        assert plane.violations == []


def ended(
    plane: ControlPlane, how: str = "completed", result: Any = DONE, log: str = "one\ntwo\n"
) -> PlaneJob:
    job = plane.add()
    plane.change(job, status=how, attempt=1, result=result, more=log)
    return job


def document(result: Result) -> Any:
    return json.loads(result.stdout)


# --- submit


def test_submit_prints_the_id(cli: CommandLine, plane: ControlPlane, tmp_path: Path) -> None:
    (tmp_path / "caller" / "job.json").write_text('{"package": "./db", "parameters": {"n": 1.50}}')

    assert cli("job", "submit", "provision", "-w", "prod", "--payload", "job.json") == Result(
        0, "job-1\n", ""
    )
    (asked,) = plane.requests
    assert asked.body["type"] == "provision"
    assert asked.body["payload"] == {"workspace": "prod", "package": "./db", "parameters": {"n": 1.5}}
    assert len(asked.body["idempotencyKey"]) == 32


def test_a_payload_comes_from_stdin_and_keeps_its_own_workspace(
    cli: CommandLine, plane: ControlPlane
) -> None:
    ran = cli("job", "submit", "x", "-w", "prod", "--payload", "-", "--json", input='{"workspace": "own"}')

    assert document(ran) == {
        "job": "job-1",
        "type": "x",
        "status": "queued",
        "attempt": 1,
        "result": None,
        "new": True,
    }
    assert plane.jobs["job-1"].payload == {"workspace": "own"}


def test_the_same_key_is_the_same_job(cli: CommandLine, plane: ControlPlane) -> None:
    arguments = ("job", "submit", "x", "-w", "prod", "--idempotency-key", "k1")

    assert cli(*arguments) == Result(0, "job-1\n", "")
    assert cli(*arguments) == Result(0, "job-1\n", "it was submitted before\n")
    assert document(cli(*arguments, "--json"))["new"] is False
    assert list(plane.jobs) == ["job-1"]


def test_without_a_key_each_one_is_another_job(cli: CommandLine, plane: ControlPlane) -> None:
    assert [cli("job", "submit", "x", "-w", "prod").stdout for _ in range(2)] == ["job-1\n", "job-2\n"]


def test_a_lost_answer_is_asked_for_again_and_the_job_is_not_done_twice(
    cli: CommandLine, plane: ControlPlane
) -> None:
    plane.fault("submit", lost_answer)
    ran = cli("job", "submit", "x", "-w", "prod")

    assert (ran.exit_code, ran.stdout, list(plane.jobs)) == (0, "job-1\n", ["job-1"])
    assert ran.stderr.startswith(f"the control plane fails: `127.0.0.1:{plane.port}` could not be asked: ")
    assert len({asked.body["idempotencyKey"] for asked in plane.requests}) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("[]", "the payload `job.json` must be one JSON object", id="another shape"),
        pytest.param(
            "{", "the payload `job.json` is not JSON (line 1, column 2: Expecting property name", id="no JSON"
        ),
        pytest.param(None, "the payload `job.json` cannot be read: No such file or directory", id="no file"),
    ],
)
def test_a_payload_that_is_none(
    cli: CommandLine, plane: ControlPlane, tmp_path: Path, text: str | None, sentence: str
) -> None:
    if text is not None:
        (tmp_path / "caller" / "job.json").write_text(text)
    ran = cli("job", "submit", "x", "-w", "prod", "--payload", "job.json")

    assert (ran.exit_code, ran.stdout, plane.requests) == (3, "", [])
    assert ran.stderr.startswith(f"error: {sentence}")


# --- status


def test_status_shows_what_is_known_and_no_value(cli: CommandLine, plane: ControlPlane) -> None:
    ended(plane)

    assert cli("job", "status", "job-1", "-w", "prod") == Result(
        0,
        "job      job-1\ntype     provision\nstatus   completed\nattempt  1\noutputs  URL, db-size\n",
        "",
    )
    assert document(cli("job", "status", "job-1", "-w", "prod", "--json")) == {
        "job": "job-1",
        "type": "provision",
        "status": "completed",
        "attempt": 1,
        "result": {"success": True, "outputs": ["URL", "db-size"]},
    }


def test_status_shows_values_when_they_are_asked_for(cli: CommandLine, plane: ControlPlane) -> None:
    ended(plane)
    ran = cli("job", "status", "job-1", "-w", "prod", "--show-sensitive")

    assert ran.stdout.endswith("URL=https://db\ndb_size='a '\"'\"'b'\"'\"''\n")
    assert document(cli("job", "status", "job-1", "-w", "prod", "--show-sensitive", "--json"))["result"] == {
        "success": True,
        "outputs": ["URL", "db-size"],
        "env": OUTPUTS,
    }


def test_status_of_a_failed_job_has_its_reason(cli: CommandLine, plane: ControlPlane) -> None:
    ended(plane, "failed", {"error": f"it broke\x1b[1m\nBearer {TOKEN}"})

    assert cli("job", "status", "job-1", "-w", "prod").stdout.splitlines()[-1] == (
        "reason   it broke\\x1b[1m\\nBearer [redacted]"
    )
    assert document(cli("job", "status", "job-1", "-w", "prod", "--json"))["result"] == {
        "success": False,
        "reason": "it broke\x1b[1m\nBearer [redacted]",
    }


# --- wait


@pytest.mark.parametrize(
    ("how", "result", "code", "said"),
    [
        pytest.param(
            "completed",
            DONE,
            0,
            "job `job-1` is completed; --show-sensitive prints its outputs",
            id="completed",
        ),
        pytest.param("completed", None, 0, "job `job-1` is completed", id="completed without a result"),
        pytest.param(
            "failed",
            {"success": False, "reason": "apply failed\n--- stderr ---\nboom"},
            1,
            "error: job `job-1` failed: apply failed\n--- stderr ---\nboom",
            id="failed",
        ),
        pytest.param("failed", None, 1, "job `job-1` has failed", id="failed without a reason"),
        pytest.param("cancelled", None, 130, "job `job-1` is cancelled", id="cancelled"),
    ],
)
def test_wait_ends_as_the_job_did(
    cli: CommandLine, plane: ControlPlane, how: str, result: Any, code: int, said: str
) -> None:
    ended(plane, how, result)

    assert cli("job", "wait", "job-1", "-w", "prod") == Result(code, "", f"one\ntwo\n{said}\n")


def test_wait_goes_on_until_the_end_and_prints_one_document(cli: CommandLine, plane: ControlPlane) -> None:
    job = plane.add()
    waiting = cli.start("job", "wait", "job-1", "-w", "prod", "--json")
    plane.wait_for(lambda: len(plane.requests) >= 2)
    plane.change(job, status="running", attempt=1, more="begun\n")
    plane.fault("status", status(502), broken, half_answer)
    plane.change(job, status="failed", result={"success": False, "reason": "no"}, more="done\n")
    ran = waiting.finish()

    assert ran.exit_code == 1
    assert document(ran)["result"] == {"success": False, "reason": "no"}
    assert len(ran.stdout.splitlines()) == 1
    talk = [line for line in ran.stderr.splitlines() if not line.startswith("the control plane fails: ")]
    assert talk == ["begun", "done", "error: job `job-1` failed: no"]


def test_wait_prints_outputs_when_they_are_asked_for(cli: CommandLine, plane: ControlPlane) -> None:
    ended(plane, result={"success": True, "env": {"A": "x y"}})

    assert cli("job", "wait", "job-1", "-w", "prod", "--show-sensitive") == Result(
        0, "A='x y'\n", "one\ntwo\njob `job-1` is completed\n"
    )


def test_wait_ends_when_its_time_is_over(cli: CommandLine, plane: ControlPlane) -> None:
    plane.add()

    assert cli("job", "wait", "job-1", "-w", "prod", "--timeout", "300ms") == Result(
        124,
        "",
        "error: job `job-1` has not ended within `300ms`\n"
        "hint: it goes on; `hereya-tf job wait -w prod job-1` waits on\n",
    )


def test_ctrl_c_ends_the_waiting_and_not_the_job(cli: CommandLine, plane: ControlPlane) -> None:
    job = plane.add()
    waiting = cli.start("job", "wait", "job-1", "-w", "prod")
    plane.wait_for(lambda: len(plane.requests) >= 2)
    waiting.send_signal(signal.SIGINT)

    assert waiting.finish() == Result(130, "", "it goes on; `hereya-tf job wait -w prod job-1` waits on\n")
    assert (job.status, plane.asked("cancel")) == ("queued", [])


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_whoever_does_not_listen_does_not_change_how_it_ends(plane: ControlPlane, closed: str) -> None:
    ended(plane, "failed", {"error": "no"}, "line\n" * 10_000)
    process = subprocess.Popen(
        [sys.executable, "-m", "hereya_tf", "job", "wait", "job-1", "-w", "prod", "--json"],
        env=environment({}),
        stdout=subprocess.PIPE if closed == "stdout" else subprocess.DEVNULL,
        stderr=subprocess.PIPE if closed == "stderr" else subprocess.DEVNULL,
    )
    stream = getattr(process, closed)
    stream.close()

    assert process.wait(60) == 1


@pytest.mark.behaviour("E7", "F7")
def test_a_log_shows_no_credential(cli: CommandLine, plane: ControlPlane) -> None:
    ended(plane, "completed", None, f"using {TOKEN}\nghp_{'a1B2' * 9} and\nunfinished {TOKEN}")
    shown = "using [redacted]\n[redacted] and\nunfinished [redacted]"

    assert cli("job", "wait", "job-1", "-w", "prod").stderr == f"{shown}\njob `job-1` is completed\n"
    assert cli("job", "logs", "job-1", "-w", "prod") == Result(0, shown, "")


# --- logs


def test_logs_are_printed_byte_for_byte(cli: CommandLine, plane: ControlPlane) -> None:
    log = "créé\r\n\x1b[1mbold\x1b[0m\ttab\nno end"
    ended(plane, "failed", {"error": "no"}, log * 5000)

    assert cli("job", "logs", "job-1", "-w", "prod") == Result(0, log * 5000, "")


def test_logs_of_a_running_job_are_those_of_now_unless_more_is_waited_for(
    cli: CommandLine, plane: ControlPlane
) -> None:
    job = plane.add()
    plane.change(job, status="running", attempt=1, more="so far\n")

    assert cli("job", "logs", "job-1", "-w", "prod") == Result(0, "so far\n", "")

    before = len(plane.requests)
    following = cli.start("job", "logs", "job-1", "-w", "prod", "--follow")
    plane.wait_for(lambda: len(plane.requests) >= before + 2)
    plane.change(job, status="failed", more="the end\n")

    assert following.finish() == Result(0, "so far\nthe end\n", "")


# --- cancel


def test_cancel(cli: CommandLine, plane: ControlPlane) -> None:
    for _ in range(2):
        plane.add()
    plane.change(plane.jobs["job-2"], status="running", attempt=1, claim="c")

    def cancelled(*arguments: str) -> Result:
        return cli("job", "cancel", *arguments, "-w", "prod")

    assert cancelled("job-1") == Result(0, "job job-1 is cancelled\n", "")
    assert cancelled("job-2") == Result(0, "job job-2 was asked to end; it is running\n", "")
    assert document(cancelled("job-2", "--force", "--json"))["status"] == "cancelled"
    ended(plane)
    assert cancelled("job-3") == Result(0, "job job-3 has ended already: completed\n", "")
    assert [asked.body["force"] for asked in plane.asked("cancel")] == [False, False, True, False]


# --- what is wrong


@pytest.mark.parametrize("command", ["status", "wait", "logs", "cancel"])
def test_a_job_that_is_not_there(cli: CommandLine, plane: ControlPlane, command: str) -> None:
    ran = cli("job", command, "job-9", "-w", "prod")

    assert (ran.exit_code, ran.stdout) == (6, "")
    assert ran.stderr.splitlines()[0] == "error: there is no job job-9"


@pytest.mark.parametrize("command", ["status", "wait", "logs", "cancel"])
def test_a_token_that_is_not_accepted(cli: CommandLine, plane: ControlPlane, command: str) -> None:
    plane.always("status", unauthorized)
    plane.always("cancel", unauthorized)

    assert cli("job", command, "job-1", "-w", "prod") == Result(
        6,
        "",
        "error: Unauthorized\n"
        f"hint: `127.0.0.1:{plane.port}` does not accept the token: see whether `HEREYA_TOKEN` is still good\n",
    )


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        pytest.param({"HEREYA_CLOUD_URL": None}, "`HEREYA_CLOUD_URL` is not set", id="no address"),
        pytest.param({"HEREYA_TOKEN": " "}, "`HEREYA_TOKEN` is not set", id="no token"),
        pytest.param(
            {"HEREYA_CLOUD_URL": "cp.example"},
            "the control plane's address cannot be used: it has no scheme",
            id="no scheme",
        ),
        pytest.param(
            {"HEREYA_TOKEN": "a b"},
            "the control plane's token has a character that no token has",
            id="two words",
        ),
    ],
)
def test_what_is_not_set(
    cli: CommandLine, plane: ControlPlane, env: dict[str, str | None], sentence: str
) -> None:
    for command in (("submit", "x"), ("status", "j"), ("wait", "j"), ("logs", "j"), ("cancel", "j")):
        ran = cli("job", *command, "-w", "prod", env=env)

        assert (ran.exit_code, ran.stdout, ran.stderr.splitlines()[0]) == (3, "", f"error: {sentence}")
    assert plane.requests == []


def test_a_workspace_has_to_be_named(cli: CommandLine, plane: ControlPlane) -> None:
    ran = cli("job", "status", "job-1")

    assert (ran.exit_code, ran.stdout) == (64, "")
    assert ran.stderr.splitlines()[0] == "error: `--workspace` is missing"


def test_what_a_job_says_commands_no_ci_system(cli: CommandLine, plane: ControlPlane) -> None:
    ended(plane, "failed", {"error": "::warning::x"}, "::add-mask::one\n")
    # stdout and stderr are files here, which GitHub never reads: a pipe is what its runner gives.
    ran = subprocess.run(
        [sys.executable, "-m", "hereya_tf", "job", "wait", "job-1", "-w", "prod"],
        env=environment({"GITHUB_ACTIONS": "true"}),
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ran.returncode == 1
    assert [line for line in ran.stderr.splitlines() if line.startswith("::")] == []
    assert "add-mask" in ran.stderr
