"""What each command prints, whole: exit code, stdout and stderr."""

import json
import re
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import __version__
from hereya_tf.errors import FailureClass
from hereya_tf.failure.hints import hints_of
from tests.command_line import CommandLine, Result, Running
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine

RUN = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
RESOURCE = {"addr": "a.b", "resource": "a.b", "resource_type": "a", "resource_name": "b"}
CREATE = [
    {"message": {"type": "apply_start", "hook": {"resource": RESOURCE, "action": "create"}}},
    {
        "message": {
            "type": "apply_complete",
            "hook": {"resource": RESOURCE, "action": "create", "id_key": "id", "id_value": "i-1"},
        }
    },
]
DELETED = {
    "message": {
        "type": "apply_complete",
        "hook": {"resource": RESOURCE, "action": "delete", "id_key": "id", "id_value": "i-1"},
    }
}
HINTS = "".join(f"hint: {hint}\n" for hint in hints_of(FailureClass.PROVIDER_ERROR, "terraform")).replace(
    "runs log last", "runs log RUN"
)
OUTPUTS = {
    "name": {"sensitive": False, "type": "string", "value": "it's a db"},
    "zones": {"sensitive": False, "type": ["list", "string"], "value": ["a", "b"]},
    "password": {"sensitive": True, "type": "string", "value": "hunter22"},
}


def summary(operation: str, **counts: int) -> dict[str, Any]:
    changes = {"add": 0, "change": 0, "remove": 0, **counts}
    return {"message": {"type": "change_summary", "changes": {**changes, "operation": operation}}}


def error(text: str, detail: str) -> dict[str, Any]:
    found = {"severity": "error", "summary": text, "detail": detail, "address": "a.b"}
    return {"message": {"@level": "error", "type": "diagnostic", "diagnostic": found}}


SUCCEEDS: dict[str, Any] = {
    "apply": [*CREATE, summary("apply", add=1)],
    "output": [{"stdout": json.dumps(OUTPUTS)}],
    "destroy": [DELETED, summary("destroy", remove=1)],
}


class Console:
    """Runs commands on one package and shows what they print, without what differs from time to time."""

    def __init__(self, cli: CommandLine, fake_engine: FakeEngine, package: Path, directory: Path) -> None:
        self.cli = cli
        self.fake_engine = fake_engine
        self.package = package
        self.directory = directory
        self._words = {
            str(fake_engine.path): "ENGINE",
            str(package): "PACKAGE",
            str(directory / "state"): "STATE",
            str(directory): "DIRECTORY",
        }

    def __call__(self, *arguments: str | Path) -> Result:
        ran = self.cli(*arguments, env={"HEREYA_TF_ENGINE": str(self.fake_engine.path)})
        return Result(ran.exit_code, self.shown(ran.stdout), self.shown(ran.stderr))

    def shown(self, text: str) -> str:
        for word, name in self._words.items():
            text = text.replace(word, name)
        text = TIME.sub("TIME", RUN.sub("RUN", text))
        text = re.sub(r"(?m)^ +\d+\.\ds (?= )", "   0.0s ", text)
        return re.sub(r"after \d+\.\d s", "after 0.0 s", re.sub(r"\b\d+\.\ds\b", "0.0s", text))

    def events(self, ran: Result) -> list[dict[str, Any]]:
        return [self.settled(event) for event in ran.events]

    def settled(self, value: Any, name: str = "") -> Any:
        """A JSON value without what differs from run to run."""
        match value:
            case dict():
                return {key: self.settled(item, key) for key, item in value.items()}
            case list():
                return [self.settled(item) for item in value]
            case float():
                return 0.0
            case int() if name == "pid":
                return 1
            case str() if name in ("host", "user", "started"):
                return "HOST"
        return value


@pytest.fixture
def console(cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path) -> Console:
    fake_engine.plays(SUCCEEDS)
    return Console(cli, fake_engine, make_package({"main.tf": ""}), tmp_path)


def test_provision(console: Console) -> None:
    assert console("provision", console.package, "--yes") == Result(
        0,
        "name='it'\"'\"'s a db'\nzones='[\"a\",\"b\"]'\n",
        "   0.0s  start    provision PACKAGE, workspace default, run RUN\n"
        "   0.0s  start    terraform 1.11.4 at ENGINE (HEREYA_TF_ENGINE)\n"
        "   0.0s  init     started\n"
        "   0.0s  init     done after 0.0s\n"
        "   0.0s  apply    started\n"
        "   0.0s  apply    a.b: creating\n"
        "   0.0s  apply    a.b: created [id=i-1]\n"
        "   0.0s  apply    done after 0.0s\n"
        "   0.0s  output   started\n"
        "   0.0s  output   done after 0.0s\n"
        "   0.0s  end      succeeded after 0.0s: 1 added, 0 changed, 0 destroyed\n"
        "left out because they are sensitive: `password` (--show-sensitive shows them)\n",
    )


def test_provision_quietly_with_everything_shown(console: Console) -> None:
    assert console("provision", console.package, "-yq", "--show-sensitive") == Result(
        0, "name='it'\"'\"'s a db'\nzones='[\"a\",\"b\"]'\npassword=hunter22\n", ""
    )


def test_provision_verbosely(console: Console) -> None:
    ran = console("provision", console.package, "--yes", "-v", "--engine", console.fake_engine.path)

    assert ran.exit_code == 0
    assert (
        "   0.0s  init     started: ENGINE init -json -input=false -no-color\n"
        "   0.0s  init     done after 0.0s\n"
        "   0.0s  apply    started: ENGINE apply -json -auto-approve -input=false -lock-timeout=5m -no-color\n"
    ) in ran.stderr
    assert "terraform 1.11.4 at ENGINE (--engine)\n" in ran.stderr
    assert "locks taken after 0.0s\n" in ran.stderr


def test_destroy(console: Console) -> None:
    assert console("destroy", console.package, "--yes") == Result(
        0,
        "name='it'\"'\"'s a db'\nzones='[\"a\",\"b\"]'\n",
        "   0.0s  start    destroy PACKAGE, workspace default, run RUN\n"
        "   0.0s  start    terraform 1.11.4 at ENGINE (HEREYA_TF_ENGINE)\n"
        "   0.0s  init     started\n"
        "   0.0s  init     done after 0.0s\n"
        "   0.0s  output   started\n"
        "   0.0s  output   done after 0.0s\n"
        "   0.0s  destroy  started\n"
        "   0.0s  destroy  a.b: destroyed [id=i-1]\n"
        "   0.0s  destroy  done after 0.0s\n"
        "   0.0s  end      succeeded after 0.0s: 0 added, 0 changed, 1 destroyed\n"
        "left out because they are sensitive: `password` (--show-sensitive shows them)\n",
    )


def test_json(console: Console) -> None:
    ran = console("provision", console.package, "--yes", "--json")
    events = console.events(ran)
    key = f"{Path('PACKAGE')}#default"

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert [event.pop("seq") for event in events] == list(range(1, len(events) + 1))
    envelope = {"v": 1, "ts": "TIME", "run": "RUN"}
    init = ["ENGINE", "init", "-json", "-input=false", "-no-color"]
    apply = ["ENGINE", "apply", "-json", "-auto-approve", "-input=false", "-lock-timeout=5m", "-no-color"]
    told: list[dict[str, Any]] = [
        {
            "type": "run_started",
            "operation": "provision",
            "package": "PACKAGE",
            "workspace": "default",
            "key": key,
            "pid": 1,
            "version": __version__,
        },
        {
            "type": "engine_ready",
            "engine": "terraform",
            "version": "1.11.4",
            "path": "ENGINE",
            "chosen_by": "HEREYA_TF_ENGINE",
        },
        {"type": "lock_acquired", "waited_seconds": 0.0},
        {"type": "step_started", "step": "init", "attempt": 1, "argv": init},
        finished("init"),
        {"type": "step_started", "step": "apply", "attempt": 1, "argv": apply},
        resource("started", None),
        resource("completed", "i-1"),
        finished("apply"),
        {
            "type": "step_started",
            "step": "output",
            "attempt": 1,
            "argv": ["ENGINE", "output", "-json", "-no-color"],
        },
        finished("output"),
        {
            "type": "result",
            "success": True,
            "status": "succeeded",
            "reason": None,
            "exit_code": 0,
            "operation": "provision",
            "package": "PACKAGE",
            "workspace": "default",
            "engine": {"name": "terraform", "version": "1.11.4"},
            "env": {"name": "it's a db", "zones": '["a","b"]'},
            "outputs": {
                "name": {"type": "string", "sensitive": False, "value": "it's a db"},
                "zones": {"type": ["list", "string"], "sensitive": False, "value": ["a", "b"]},
                "password": {"type": "string", "sensitive": True},
            },
            "changes": {"add": 1, "change": 0, "destroy": 0, "replace": 0, "import": 0, "forget": 0},
            "drift": None,
            "failure": None,
            "timings": {
                "wait": 0.0,
                "engine": 0.0,
                "init": 0.0,
                "plan": None,
                "apply": 0.0,
                "output": 0.0,
                "total": 0.0,
            },
            "report": None,
            "recovery": None,
            "trace": {
                "run": "RUN",
                "host": "HOST",
                "user": "HOST",
                "process": {"pid": 1, "started": "HOST"},
                "engine_process": {"pid": 1, "started": "HOST"},
                "began": "TIME",
                "last": "TIME",
                "ended": "TIME",
                "steps": [trace("init", None), trace("apply", "TIME")],
            },
        },
    ]
    assert events == [{**envelope, **event} for event in told]


def trace(command: str, held: str | None) -> dict[str, Any]:
    return {"command": command, "began": "TIME", "held": held, "ended": "TIME", "released": True}


def finished(step: str) -> dict[str, Any]:
    return {
        "type": "step_finished",
        "step": step,
        "ok": True,
        "exit_code": 0,
        "seconds": 0.0,
        "skipped": False,
    }


def resource(status: str, identifier: str | None) -> dict[str, Any]:
    return {
        "type": "resource",
        "address": "a.b",
        "action": "create",
        "status": status,
        "seconds": None,
        "id": identifier,
    }


def test_failure(console: Console) -> None:
    console.fake_engine.plays(
        {"apply": [*CREATE, error("no quota", "ask\nfor more"), {"stderr": "odd\x1b[2J\n"}, {"exit": 1}]}
    )

    assert console("provision", console.package, "--yes") == Result(
        1,
        "",
        "   0.0s  start    provision PACKAGE, workspace default, run RUN\n"
        "   0.0s  start    terraform 1.11.4 at ENGINE (HEREYA_TF_ENGINE)\n"
        "   0.0s  init     started\n"
        "   0.0s  init     done after 0.0s\n"
        "   0.0s  apply    started\n"
        "   0.0s  apply    a.b: creating\n"
        "   0.0s  apply    a.b: created [id=i-1]\n"
        "   0.0s  apply    error: no quota, with a.b\n"
        "   0.0s  apply    odd\\x1b[2J\n"
        "   0.0s  apply    failed after 0.0s (exit code 1)\n"
        "   0.0s  end      failed after 0.0s: 1 added, 0 changed, 0 destroyed\n"
        "\n"
        "--- stderr ---\n"
        "Error: no quota\n"
        "\n"
        "  with a.b,\n"
        "\n"
        "ask\n"
        "for more\n"
        "\n"
        "odd\\x1b[2J\n"
        "\n"
        "error: no quota: ask for more (`a.b`)\n"
        "class: provider-error (exit code 1)\n"
        "done: 1 resource: a.b\n"
        "state: saved, with everything that was done\n"
        + HINTS
        + "reproduce: cd DIRECTORY/caller && hereya-tf provision PACKAGE --engine ENGINE\n"
        "report: STATE/runs/RUN/report.txt\n",
    )


def test_refusal(console: Console) -> None:
    assert console("provision", console.package, "--yes", "-p", "a=1") == Result(
        3,
        "",
        "   0.0s  start    provision PACKAGE, workspace default, run RUN\n"
        "   0.0s  end      refused after 0.0s\n"
        "error: the package declares no variable `a` (-p)\n"
        "class: bad-input (exit code 3)\n"
        "state: as it was before: no resource was touched\n"
        "hint: it declares no variable at all\n"
        # Of a request that is refused nothing is known, so that no value of it is shown.
        'reproduce: cd DIRECTORY/caller && hereya-tf provision PACKAGE --engine ENGINE --param a="${a:?}"\n'
        "report: STATE/runs/RUN/report.txt\n",
    )


def test_usage_error(console: Console) -> None:
    assert console("provision", console.package, "--yes", "--wait", "soon") == Result(
        64,
        "",
        "error: `--wait`: `soon` is not a duration such as `90s`, `5m` or `1h30m`\n"
        "hint: `hereya-tf provision --help` shows what it takes\n",
    )


@pytest.fixture
def live(console: Console, tmp_path: Path) -> Iterator[Running]:
    """A run that holds its locks until the file `go` is there, or it is asked to end."""
    console.fake_engine.plays({**SUCCEEDS, "apply": [{"wait_for_file": str(tmp_path / "go")}]})
    running = console.cli.start(
        "provision", console.package, "--yes", "--json", "--engine", console.fake_engine.path
    )
    running.wait_for_event("step_started", step="apply")
    console.fake_engine.wait_for_record("start", command="apply")
    yield running
    (tmp_path / "go").touch()
    running.finish()


def test_locks_that_nobody_holds(console: Console) -> None:
    assert console("lock", "list") == Result(0, "no lock is held\n", "")
    assert console("lock", "list", "--json") == Result(0, '{"locks":[]}\n', "")
    assert console("lock", "status", console.package) == Result(0, "nobody holds a lock of PACKAGE\n", "")
    assert console("lock", "release", console.package) == Result(0, "nobody holds a lock of PACKAGE\n", "")
    assert console("lock", "release", console.package, "--json") == Result(
        0, '{"released":[],"did":[]}\n', ""
    )


def columns(text: str) -> list[list[str]]:
    return [re.split(r"  +", line) for line in text.splitlines()]


def test_locks_that_a_run_holds(console: Console, live: Running) -> None:
    started = live.events()[0]
    waiting = console.cli.start(
        "destroy", console.package, "--yes", "--json", "--engine", console.fake_engine.path
    )
    waiting.wait_for_event("lock_waiting")

    for ran in (console("lock", "list"), console("lock", "status", console.package)):
        head, *rows = columns(ran.stdout)
        assert (ran.exit_code, ran.stderr) == (0, "")
        assert head == ["LOCK", "RUN", "OPERATION", "PID", "HOST", "SINCE"]
        assert sorted(row[0].split("-")[0] for row in rows) == ["", "package", "workspace"]
        held = [row for row in rows if row[0]]
        assert {(row[1], row[2], row[3], row[4]) for row in held} == {
            ("holds it", "RUN", "provision", str(started["pid"]))
        }
        (waiter,) = (row for row in rows if not row[0])
        assert waiter[1:5] == ["waits (1)", "RUN", "destroy", str(waiting.pid)]

    document = json.loads(console("lock", "list", "--json").stdout)
    assert [(lock["held"], len(lock["waiting"])) for lock in document["locks"]] in (
        [(True, 1), (True, 0)],
        [(True, 0), (True, 1)],
    )
    waiting.send_signal(signal.SIGTERM)
    assert waiting.finish().exit_code == 143


def test_a_lock_of_a_run_at_work_is_not_released(console: Console, live: Running) -> None:
    ran = console("lock", "release", console.package)

    assert (ran.exit_code, ran.stdout) == (4, "")
    assert re.fullmatch(
        r"error: lock `(package|workspace)-[A-Za-z0-9_-]+` is held by run `RUN`, which is at work \(pid \d+\)\n"
        r"hint: wait for it, or end it gracefully with `hereya-tf lock release PACKAGE --force`\n",
        ran.stderr,
    )
    assert live.process.poll() is None


@pytest.mark.parametrize("command", ["status", "release"])
def test_a_path_that_does_not_exist_has_no_locks(console: Console, command: str) -> None:
    missing = console.directory / "gone"

    assert console("lock", command, missing) == Result(
        3,
        "",
        "error: there is no `DIRECTORY/gone`\nhint: check the path; `hereya-tf lock list` shows all locks\n",
    )
    assert console("lock", command, console.package / "main.tf" / "below").exit_code == 3


@pytest.mark.parametrize("command", ["status", "release"])
def test_a_package_that_is_gone_still_has_its_locks(console: Console, command: str) -> None:
    console("provision", console.package, "--yes", "-q")
    console.package.rename(console.directory / "elsewhere")

    assert console("lock", command, console.package) == Result(0, "nobody holds a lock of PACKAGE\n", "")


def test_a_lock_is_released_by_force(console: Console, live: Running) -> None:
    ran = console("lock", "release", console.package, "--force")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert ran.stdout == "run `RUN` was asked to end, and has ended\n"
    ended = live.finish()
    assert (ended.exit_code, ended.result["status"]) == (130, "cancelled")
    assert console.fake_engine.records("signal")[0]["signal"] == "SIGINT"


def test_runs_of_which_there_are_none(console: Console) -> None:
    assert console("runs", "list") == Result(0, "RUN  OPERATION  STATE  TOOK  PACKAGE\n", "")
    assert console("runs", "list", "--json") == Result(0, '{"runs":[]}\n', "")
    for command in ("show", "log", "cancel"):
        assert console("runs", command, "last") == Result(
            3,
            "",
            "error: there is no run in `STATE/runs`\nhint: `HEREYA_TF_STATE_DIR` tells where runs are kept\n",
        )


def test_runs_that_have_ended(console: Console) -> None:
    console("provision", console.package, "--yes")
    console.fake_engine.plays({"output": [error("no state", ""), {"exit": 1}]})
    console("destroy", console.package, "--yes", "--no-progress")

    listed = console("runs", "list")
    assert (listed.exit_code, listed.stderr) == (0, "")
    assert columns(listed.stdout)[1:] == [
        ["RUN", "provision", "succeeded", "0.0s", "PACKAGE"],
        ["RUN", "destroy", "engine-error", "0.0s", "PACKAGE"],
    ]
    assert columns(console("runs", "list", "-n", "1").stdout)[1:] == [
        ["RUN", "destroy", "engine-error", "0.0s", "PACKAGE"]
    ]
    document = json.loads(console("runs", "list", "--json").stdout)
    assert [(run["operation"], run["exit_code"]) for run in document["runs"]] == [
        ("provision", 0),
        ("destroy", 1),
    ]


def test_one_run(console: Console) -> None:
    console("provision", console.package, "--yes")

    ran = console("runs", "show", "last")

    assert (ran.exit_code, ran.stderr) == (0, "")
    shown = dict(line.split(maxsplit=1) for line in ran.stdout.splitlines())
    assert {name: shown[name] for name in shown if name not in ("seconds", "host", "pid")} == {
        "run": "RUN",
        "operation": "provision",
        "state": "succeeded",
        "package": "PACKAGE",
        "workspace": "default",
        "key": "PACKAGE#default",
        "started": "TIME",
        "ended": "TIME",
        "exit_code": "0",
        "engine": "terraform",
        "version": __version__,
    }


def test_one_run_that_has_failed(console: Console) -> None:
    console.fake_engine.plays({"apply": [error("no \x1b[31mquota", "ask"), {"exit": 1}]})
    failed = console.cli(
        "provision", console.package, "--yes", "--json", "--engine", console.fake_engine.path
    )

    ran = console("runs", "show", failed.result["run"][-4:])

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "\x1b" not in ran.stdout
    assert ran.stdout.endswith(
        "error: no \\x1b[31mquota: ask (`a.b`)\n"
        "class: provider-error (exit code 1)\n"
        "state: as it was before: no resource was touched\n"
        + HINTS
        + "reproduce: cd DIRECTORY/caller && hereya-tf provision PACKAGE --engine ENGINE\n"
    )
    document = json.loads(console.cli("runs", "show", "last", "--json").stdout)
    assert document["result"] == failed.result


def test_the_log_of_a_run(console: Console) -> None:
    told = console("provision", console.package, "--yes")
    log = console("runs", "log", "last")

    *lines, withheld = told.stderr.splitlines(keepends=True)
    assert withheld.startswith("left out")
    assert log == Result(0, "".join(lines), "")

    ran = console.cli("provision", console.package, "--yes", "--json", "--engine", console.fake_engine.path)
    assert console.cli("runs", "log", "last", "--json") == Result(0, ran.stdout, "")
    assert " started: ENGINE apply -json" in console("runs", "log", "last", "-v").stdout


def test_the_timeline_of_a_run(console: Console) -> None:
    console("provision", console.package, "--yes")

    ran = console("runs", "timeline", "last")

    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "/package1, workspace default: succeeded\nin all 0.0s, " in ran.stdout
    rows = [
        line.replace("→", " ").split()[0] for line in ran.stdout.splitlines() if "━" in line or "─" in line
    ]
    assert rows[-4:] == ["init", "apply", "a.b", "output"], "the engine's is there when it took its time"


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        ("nothing", "error: there is no run `nothing`\nhint: `hereya-tf runs list` shows their ids\n"),
        ("2", "error: `2` could be 2 runs, `RUN`, `RUN` among them\nhint: give more of the id\n"),
    ],
)
def test_a_run_that_cannot_be_told(console: Console, wanted: str, complaint: str) -> None:
    for _ in range(2):
        console("provision", console.package, "--yes", "-q")

    assert console("runs", "show", wanted) == Result(3, "", complaint)


def test_a_run_is_cancelled(console: Console, live: Running) -> None:
    assert console("runs", "cancel", "last") == Result(
        0, "run RUN was asked to end; `hereya-tf runs log RUN` shows how it does\n", ""
    )
    ended = live.finish()
    assert (ended.exit_code, ended.result["status"], ended.result["reason"]) == (
        130,
        "cancelled",
        "the run was cancelled on request",
    )
    assert console("runs", "cancel", "last", "--json") == Result(
        3,
        "",
        "error: run `RUN` has ended already (cancelled)\nhint: `hereya-tf runs list` shows live ones\n",
    )


def test_a_run_is_cancelled_by_a_program(console: Console, live: Running) -> None:
    run = live.events()[0]["run"]

    ran = console.cli("runs", "cancel", run, "--json")

    assert ran == Result(0, f'{{"run":"{run}","asked":true}}\n', "")
    assert live.finish().exit_code == 130


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("events", "An event of hereya-tf"),
        ("result", "A result of hereya-tf"),
        ("report", "A report of hereya-tf"),
    ],
)
def test_schema(console: Console, name: str, title: str) -> None:
    ran = console("schema", name)
    document: Mapping[str, Any] = json.loads(ran.stdout)

    assert (ran.exit_code, ran.stderr, ran.stdout.count("\n")) == (0, "", 1)
    assert (document["$schema"], document["title"]) == ("https://json-schema.org/draft/2020-12/schema", title)
