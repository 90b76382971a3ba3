"""Policies on a real engine: what they get, what counts as a yes, and that none holds a run or tells a secret."""

import json
import shlex
import signal
import sys
from pathlib import Path

import pytest

from tests.command_line import Result
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, succeeded
from tests.engine.guarding import ONE_LESS, policy, provisioned, refused, state
from tests.engine.scenes import everything_in, state_directory, wait_until_gone
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine


@pytest.fixture
def package(hereya: Driver, make_package: MakePackage) -> Path:
    """A package that has been provisioned."""
    return provisioned(hereya, make_package)


def told(result: Result) -> list[str]:
    """What a policy has said of a plan that it approved."""
    return [event["text"] for event in result.events if event.get("stream") == "policy"]


def finished(result: Result) -> tuple[bool, int | None]:
    """Whether the policy was content, and its exit code."""
    (event,) = (
        each for each in result.events if each["type"] == "step_finished" and each["step"] == "policy"
    )
    return event["ok"], event["exit_code"]


def test_a_policy_gets_the_plan_and_what_it_is_about(hereya: Driver, package: Path, tmp_path: Path) -> None:
    look = policy(
        tmp_path,
        "cat > plan.json; pwd > directory; env | grep HEREYA_TF_POLICY > facts; printf '%s' \"$MINE$1\" > mine;"
        f" tr '\\0' ' ' < /proc/$$/cmdline > argv; ls -lR {state_directory()}/runs > files",
    )

    result = hereya.provision(
        package, *ONE_LESS, "--policy", f"{look} 'a b'", env={"MINE": "mine "}, cwd=tmp_path
    )

    succeeded(result)
    planned = json.loads((tmp_path / "plan.json").read_text())
    assert [
        each["address"] for each in planned["resource_changes"] if each["change"]["actions"] == ["delete"]
    ] == ["terraform_data.many[1]"]
    assert (tmp_path / "directory").read_text() == f"{tmp_path}\n"
    assert dict(line.split("=", 1) for line in (tmp_path / "facts").read_text().splitlines()) == {
        "HEREYA_TF_POLICY_OPERATION": "provision",
        "HEREYA_TF_POLICY_PACKAGE": str(package),
        "HEREYA_TF_POLICY_WORKSPACE": "default",
        "HEREYA_TF_POLICY_RUN": result.result["run"],
    }
    assert (tmp_path / "mine").read_text() == "mine a b"
    assert "policy.json" not in (tmp_path / "files").read_text()
    assert "resource_changes" not in (tmp_path / "argv").read_text()


def test_what_a_policy_says_of_a_plan_that_it_approves_is_in_the_log(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    approves = policy(tmp_path, "echo '1 warning' > /dev/stderr; echo checked")

    result = hereya.provision(package, "--policy", approves)

    succeeded(result)
    assert told(result) == ["checked", "1 warning"]
    assert finished(result) == (True, 0)


def test_what_a_policy_says_of_a_plan_that_it_denies_is_the_failures(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    denies = policy(
        tmp_path,
        "echo; echo '  public bucket  '; echo one >/dev/stderr; echo two >/dev/stderr; printf '\\033[2J'; exit 9",
    )
    report = tmp_path / "report.md"

    result = hereya.provision(package, *ONE_LESS, "--policy", denies, "--report-file", report)

    assert refused(result, "policy-denied") == (
        f"the plan is denied by `--policy {denies}` (exit code 9): public bucket"
    )
    assert result.result["failure"]["stderr"] == "\n  public bucket  \n\\x1b[2J\none\ntwo"
    assert "two" in report.read_text()
    assert finished(result) == (False, 9)


SECRETS = """
variable "pin" {
  sensitive = true
  default   = "hunter2hunter2"
}
resource "terraform_data" "a" { input = [var.pin, sensitive(join(" ", ["correct", "horse"])), "of the plan"] }
"""


def test_no_secret_comes_out_of_a_policy(hereya: Driver, make_package: MakePackage) -> None:
    """One that a variable declares, and one that the plan alone knows to be one."""
    package = provisioned(hereya, make_package, SECRETS)
    (package / "main.tf").write_text(SECRETS.replace("of the plan", "of another"))

    denied = hereya.provision(package, "--policy", "sh -c 'cat; exit 1'")
    approved = hereya.provision(package, "--policy", "cat")

    assert "of another" in denied.result["failure"]["stderr"]
    assert "of another" in approved.stdout
    kept = [
        file.read_text() for name in ("events.ndjson", "report.txt") for file in state_directory().rglob(name)
    ]
    assert len(kept) == 4
    for said in (denied.stdout, approved.stdout, *kept):
        assert "hunter2hunter2" not in said
        assert "correct horse" not in said


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("no-such-policy", "No such file or directory"),
        ("./not-there", "No such file or directory"),
        ("/", "Permission denied"),
    ],
)
def test_a_policy_that_cannot_be_asked_has_not_approved(
    hereya: Driver, package: Path, command: str, why: str
) -> None:
    result = hereya.provision(package, *ONE_LESS, "--policy", command)

    assert refused(result, "policy-denied") == (
        f"the plan has not been approved: `--policy {command}` cannot be started: {why}"
    )
    assert finished(result) == (False, None)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        pytest.param("kill -9 $$", "ended by SIGKILL", id="killed"),
        pytest.param("kill -40 $$", "ended by signal 40", id="a signal without a name"),
        pytest.param("exec <&-; exec >&- 2>&-; exit 1", "exit code 1", id="closed streams"),
        pytest.param("head -c 1 > /dev/null; exit 255", "exit code 255", id="a plan half read"),
    ],
)
def test_whatever_ends_a_policy_is_no_yes(
    hereya: Driver, package: Path, tmp_path: Path, text: str, how: str
) -> None:
    denies = policy(tmp_path, text)

    sentence = refused(hereya.provision(package, "--policy", denies), "policy-denied")

    assert sentence == f"the plan is denied by `--policy {denies}` ({how})"


@pytest.mark.parametrize("code", [0, 1])
def test_a_policy_may_say_a_lot(hereya: Driver, package: Path, tmp_path: Path, code: int) -> None:
    loud = policy(
        tmp_path,
        "echo first; head -c 50000000 /dev/zero | tr '\\0' 'x';"
        f" yes line | head -c 20000000 >&2; echo last >&2; exit {code}",
    )

    result = hereya.provision(package, "--policy", loud)

    said = "\n".join(told(result)) if code == 0 else result.result["failure"]["stderr"]
    assert result.exit_code == (8 if code else 0)
    assert said.startswith("first\nxxx")
    assert said.endswith("line\nlast")
    assert "characters are left out here]" in said
    assert len(said) < 150_000


@pytest.mark.parametrize(
    "text",
    [pytest.param("exec sleep 600", id="waits"), pytest.param("trap '' INT; sleep 600", id="ignores SIGINT")],
)
def test_a_policy_that_hangs_ends_with_the_time_limit(
    hereya: Driver, package: Path, tmp_path: Path, text: str
) -> None:
    hangs = policy(tmp_path, f"echo $$ > pid; {text}")
    before = state(package)

    running = hereya.start(
        "provision",
        package,
        "-p",
        "size:=1",
        "--policy",
        hangs,
        "--timeout",
        "8s",
        "--grace",
        "0s",
        cwd=tmp_path,
    )
    result = running.finish()

    assert failure(result)[:2] == (124, "timed-out")
    assert state(package) == before
    wait_until_gone(int((tmp_path / "pid").read_text()), timeout=10)


def test_a_policy_that_is_silent_is_idle(hereya: Driver, package: Path, tmp_path: Path) -> None:
    hangs = policy(tmp_path, "exec sleep 600")

    result = hereya.provision(package, "--policy", hangs, "--idle-timeout", "2s")

    assert failure(result) == (124, "idle", f"`--policy {hangs}` said nothing for `--idle-timeout 2s`")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_policy_ends_with_its_run(
    hereya: Driver, package: Path, tmp_path: Path, how: signal.Signals
) -> None:
    hangs = policy(
        tmp_path,
        "trap 'echo interrupted > said; exit 0' INT; echo at work; touch asked; while :; do sleep 0.1; done",
    )
    before = state(package)
    running = hereya.start("provision", package, *ONE_LESS, "--policy", hangs, cwd=tmp_path)
    wait_for(lambda: (tmp_path / "asked").exists() or None, what="the policy")

    running.send_signal(how)
    result = running.finish()

    assert (result.exit_code, result.result["status"]) == (128 + how, "cancelled")
    assert (tmp_path / "said").read_text() == "interrupted\n", "exit code 0 is no approval then"
    assert told(result) == ["at work"]
    assert state(package) == before


def test_what_a_policy_leaves_running_is_ended(hereya: Driver, package: Path, tmp_path: Path) -> None:
    leaves = policy(tmp_path, "sleep 600 & echo $! > pid")

    succeeded(hereya.provision(package, "--policy", leaves, cwd=tmp_path))

    wait_until_gone(int((tmp_path / "pid").read_text()), timeout=10)


def test_a_policy_that_runs_hereya_tf_is_not_asked_about_that(
    hereya: Driver, package: Path, make_package: MakePackage, tmp_path: Path
) -> None:
    other = make_package({"main.tf": 'output "x" { value = 1 }\n'})
    nested = shlex.join([sys.executable, "-m", "hereya_tf", "plan", str(other), "--engine", hereya.wish])
    asks = policy(tmp_path, f"echo asked >> asked; {nested} > said 2>&1")

    result = hereya.provision(package, cwd=tmp_path, env={"HEREYA_TF_POLICY": asks})

    succeeded(result)
    assert (tmp_path / "asked").read_text() == "asked\n"
    assert "Plan: " in (tmp_path / "said").read_text()


def test_nor_is_the_policy_of_the_users_file(
    hereya: Driver, package: Path, make_package: MakePackage, tmp_path: Path
) -> None:
    other = make_package({"main.tf": 'output "x" { value = 1 }\n'})
    nested = shlex.join([sys.executable, "-m", "hereya_tf", "plan", str(other), "--engine", hereya.wish])
    asks = policy(tmp_path, f"echo asked >> asked; [ $(wc -l < asked) -lt 3 ] && {nested} > said 2>&1")
    settings = tmp_path / "settings"
    settings.mkdir()
    (settings / "config.toml").write_text(f"policy = {json.dumps(asks)}\n")

    result = hereya.provision(package, cwd=tmp_path, env={"HEREYA_TF_CONFIG_DIR": str(settings)})

    succeeded(result)
    assert (tmp_path / "asked").read_text() == "asked\n"
    assert "Plan: " in (tmp_path / "said").read_text()


def test_a_runner_that_is_killed_while_the_policy_thinks_leaves_nothing(
    hereya: Driver, package: Path, tmp_path: Path
) -> None:
    hangs = policy(tmp_path, "touch asked; exec sleep 30")
    before = state(package)
    running = hereya.start("provision", package, *ONE_LESS, "--policy", hangs, cwd=tmp_path)
    wait_for(lambda: (tmp_path / "asked").exists() or None, what="the policy")

    running.kill()
    again = hereya.provision(package, "--no-wait")

    succeeded(again)
    assert state(package) == before
    assert "resource_changes" not in everything_in(state_directory())
