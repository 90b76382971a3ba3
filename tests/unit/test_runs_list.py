"""What `runs list` shows of the history, on a screen and to programs, and what `runs prune` says."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import events
from hereya_tf.cli.runs_list import shortest_path
from hereya_tf.runs import history
from hereya_tf.runs.history import RunRecord, find_run, is_waiting, list_runs, newest_runs, write_record
from hereya_tf.sizes import format_size
from hereya_tf.supervision.process_table import ProcessIdentity, identify
from tests.command_line import CommandLine, Result, environment

GONE = ProcessIdentity(2**22 + 1, "never")
OURSELVES = identify(os.getpid()) or ProcessIdentity(os.getpid(), "")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    directory = tmp_path / "state/runs"
    directory.mkdir(parents=True)
    return directory


def kept(runs: Path, number: int, **changed: Any) -> RunRecord:
    """The run of that minute."""
    run = f"20260101T00{number:02d}00Z-aaaaaa{number:02d}"
    record = RunRecord(
        id=run,
        operation="provision",
        package="/srv/network",
        workspace="default",
        key="/srv/network#default",
        host=history.host_name(),
        process=GONE,
        started=f"2026-01-01T00:{number:02d}:00.000Z",
        version="1.0",
        ended="2026-01-01T01:00:00.000Z",
        status="succeeded",
        exit_code=0,
        seconds=3.0,
    )._replace(**changed)
    (runs / run).mkdir()
    write_record(runs / run, record)
    return record


def tells(directory: Path, *told: events.Event, rest: str = "") -> None:
    lines = [
        events.encode(events.record_of(event, sequence=number, seconds=1e9, run="r"))
        for number, event in enumerate(told, 1)
    ]
    (directory / history.EVENTS).write_text("".join(f"{line}\n" for line in lines) + rest)


# The newest first


def test_the_newest_come_first_and_no_more_are_read_than_are_taken(runs: Path) -> None:
    records = [kept(runs, number) for number in range(5)]
    for record in records[:3]:
        # Who reads it waits for ever.
        (runs / record.id / history.RECORD).unlink()
        os.mkfifo(runs / record.id / history.RECORD)

    newest = newest_runs(runs)

    assert [next(newest), next(newest)] == [records[4], records[3]]


def test_of_one_second_the_records_know_the_order(runs: Path) -> None:
    second = "20260101T000000Z-"
    for name, fraction in (("cccc", 1), ("aaaa", 3), ("bbbb", 2)):
        record = kept(runs, 0)._replace(id=second + name, started=f"2026-01-01T00:00:00.00{fraction}Z")
        (runs / "20260101T000000Z-aaaaaa00").rename(runs / record.id)
        write_record(runs / record.id, record)

    assert [record.id[-4:] for record in newest_runs(runs)] == ["aaaa", "bbbb", "cccc"]
    assert [record.id[-4:] for record in list_runs(runs)] == ["cccc", "bbbb", "aaaa"]


def test_what_is_being_removed_is_no_run(runs: Path) -> None:
    record = kept(runs, 1)
    other = kept(runs, 2)
    (runs / ".removed").mkdir()
    (runs / other.id).rename(runs / ".removed" / other.id)
    (runs / record.id).rename(runs / f".{record.id}")

    assert list_runs(runs) == ()
    (runs / f".{record.id}").rename(runs / record.id)
    assert find_run(runs, "last") == record


# Whether it waits

HOLDER = events.HolderInfo("r", 7, "h", "plan", "2026-01-01T00:00:00.000Z")
STARTED = events.RunStarted("provision", "/p", "default", "k", 1, "1")
WAITING = events.LockWaiting("package", 1, HOLDER)
WARNING = events.LogEvent("stderr", "x" * 5000)


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        pytest.param((STARTED,), False, id="begun"),
        pytest.param((STARTED, WAITING), True, id="waits"),
        pytest.param((STARTED, WAITING, WARNING), True, id="waits-and-says-something"),
        pytest.param((STARTED, WAITING, events.Heartbeat("wait", 10.0, ())), True, id="waits-long"),
        pytest.param((STARTED, WAITING, events.LockAcquired(1.0)), False, id="has-it"),
        pytest.param((STARTED, WAITING, events.Heartbeat("apply", 10.0, ())), False, id="is-at-work"),
        pytest.param((*[STARTED] * 500, WAITING), True, id="long-log"),
        pytest.param((), False, id="nothing"),
    ],
)
@pytest.mark.parametrize(
    "rest", ["", '{"type":"lock_acq', "\xff[]\n7\nnull\n"], ids=["", "cut-off", "rubbish"]
)
def test_a_run_waits_when_that_is_the_last_it_has_told(
    tmp_path: Path, told: tuple[events.Event, ...], expected: bool, rest: str
) -> None:
    tells(tmp_path, *told, rest=rest)

    assert is_waiting(tmp_path) is expected


def test_without_a_log_a_run_does_not_wait(tmp_path: Path) -> None:
    assert is_waiting(tmp_path) is False


# The table


def table(ran: Result) -> list[list[str]]:
    assert ran.exit_code == 0, ran
    return [line.split() for line in ran.stdout.splitlines()][1:]


def test_states_and_packages_in_a_word(cli: CommandLine, runs: Path) -> None:
    every = [
        kept(runs, 1),
        kept(runs, 2, status="failed", failure="provider-error", workspace="prod", seconds=65.0),
        kept(runs, 3, status="failed"),
        kept(runs, 4, status=None, seconds=None, engine_process=OURSELVES, process=GONE),
        kept(runs, 5, status=None, seconds=None),
        kept(runs, 6, status=None, seconds=None, process=OURSELVES),
        kept(runs, 7, status=None, seconds=None, process=OURSELVES, workspace=""),
        kept(runs, 8, status="failed", failure="internal", seconds=None),
    ]
    tells(runs / every[5].id, STARTED, WAITING)

    ran = cli("runs", "list")

    assert ran.stdout.splitlines()[0].split() == ["RUN", "OPERATION", "STATE", "TOOK", "PACKAGE"]
    assert table(ran) == [
        [every[0].id, "provision", "succeeded", "3.0s", "/srv/network"],
        [every[1].id, "provision", "provider-error", "1m05s", "/srv/network#prod"],
        [every[2].id, "provision", "failed", "3.0s", "/srv/network"],
        [every[3].id, "provision", "orphaned", "/srv/network"],
        [every[4].id, "provision", "died", "/srv/network"],
        [every[5].id, "provision", "waiting", "/srv/network"],
        [every[6].id, "provision", "running", "/srv/network"],
        [every[7].id, "provision", "killed", "/srv/network"],
    ]
    document = json.loads(cli("runs", "list", "--json").stdout)["runs"]
    assert [(run["state"], run["failure"]) for run in document] == [
        ("succeeded", None),
        ("failed", "provider-error"),
        ("failed", None),
        ("orphaned", None),
        ("died", None),
        ("waiting", None),
        ("running", None),
        ("failed", "internal"),
    ]


def test_quiet_successes_are_left_out_unless_asked_for(cli: CommandLine, runs: Path) -> None:
    every = [
        kept(runs, 1, operation="output"),
        kept(runs, 2),
        kept(runs, 3, operation="validate"),
        kept(runs, 4, operation="output", status="failed", failure="credentials"),
        kept(runs, 5, operation="validate", status=None, process=OURSELVES),
        kept(runs, 6, operation="plan"),
    ]
    numbers = {record.id: number for number, record in enumerate(every, 1)}

    ran = cli("runs", "list")
    assert [numbers[row[0]] for row in table(ran)] == [2, 4, 5, 6]
    assert ran.stderr == "left out: 2 of `output` or `validate` that succeeded (--all shows them)\n"

    newest = cli("runs", "list", "-n", "4", "--all")
    assert ([numbers[row[0]] for row in table(newest)], newest.stderr) == ([3, 4, 5, 6], "")

    one = cli("runs", "list", "-n", "4")
    assert [numbers[row[0]] for row in table(one)] == [2, 4, 5, 6]
    assert one.stderr == "left out: 1 of `output` or `validate` that succeeded (--all shows it)\n"

    everything = json.loads(cli("runs", "list", "--json").stdout)["runs"]
    assert [numbers[run["run"]] for run in everything] == [1, 2, 3, 4, 5, 6]


def test_those_that_have_failed(cli: CommandLine, runs: Path) -> None:
    kept(runs, 1)
    failed = [
        kept(runs, 2, status="failed"),
        kept(runs, 3, status="cancelled"),
        kept(runs, 4, status=None),
    ]
    kept(runs, 5, status=None, process=OURSELVES)
    kept(runs, 6, operation="output")

    ran = cli("runs", "list", "--failed")

    assert ([row[0] for row in table(ran)], ran.stderr) == ([record.id for record in failed], "")
    newest = json.loads(cli("runs", "list", "--failed", "--json", "-n", "1").stdout)["runs"]
    assert [run["run"] for run in newest] == [failed[-1].id]


def test_those_on_one_package_by_any_of_its_names(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    package = tmp_path / "network"
    package.mkdir()
    (tmp_path / "link").symlink_to(package)
    mine = [
        kept(runs, 1, package=str(package)),
        kept(runs, 2, package=str(tmp_path / "link")),
    ]
    kept(runs, 3, package=str(package / "inner"))
    gone = kept(runs, 4, package="/srv/gone")

    for name in ("network", "link", "./network/", str(package)):
        ran = cli("runs", "list", name, cwd=tmp_path)
        assert [row[0] for row in table(ran)] == [record.id for record in mine], name
    assert [row[0] for row in table(cli("runs", "list", "/srv/gone"))] == [gone.id]
    assert table(cli("runs", "list", "/srv/nothing")) == []


# On a screen


def on_a_terminal(*arguments: str, columns: int, cwd: Path, home: Path) -> list[str]:
    """The lines that a command writes to a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "hereya_tf", *arguments],
        cwd=cwd,
        env=environment({"HOME": str(home)}),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux says so when nobody has the other end any more
            part = b""
        if not part:
            break
        said += part
    os.close(ours)
    assert process.wait(60) == 0
    return said.decode().splitlines()


def test_the_table_fits_a_screen_of_eighty_columns(runs: Path, tmp_path: Path) -> None:
    here, home = tmp_path / "here", tmp_path / "me"
    here.mkdir()
    kept(runs, 1, package=str(here))
    kept(runs, 2, package=str(here / "modules/network"))
    kept(runs, 3, package=str(home / "infra"), workspace="prod")
    kept(runs, 4, package=f"/srv/{'very/' * 20}deep/network")
    kept(runs, 5, package="/東京/東京/東京/東京/東京/東京/東京/東京/network")
    kept(runs, 6, package="/a\x1b[31m\nb", status="failed", failure="provider-error")
    runs_shown = on_a_terminal("runs", "list", columns=80, cwd=here, home=home)

    from hereya_tf.ui.cells import cell_width

    assert max(map(cell_width, runs_shown)) <= 80
    assert [line.split()[-1] for line in runs_shown[1:4]] == [".", "modules/network", "~/infra#prod"]
    assert runs_shown[4].endswith("/network")
    assert "…" in runs_shown[4]
    assert runs_shown[6].endswith("/a\\x1b[31m\\nb")
    assert [line.split()[0] for line in runs_shown[1:]] == sorted(entry.name for entry in runs.iterdir())

    wide = on_a_terminal("runs", "list", columns=250, cwd=here, home=home)
    assert wide[4].endswith(f"/srv/{'very/' * 20}deep/network")


@pytest.mark.parametrize(
    ("path", "short"),
    [
        ("{here}", "."),
        ("{here}/a/b", "a/b"),
        ("{here}er", "{here}er"),
        ("{home}/x", "~/x"),
        ("{home}", "{home}"),
        ("/elsewhere", "/elsewhere"),
    ],
)
def test_a_path_is_as_short_as_can_be(
    path: str, short: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, home = tmp_path / "here", tmp_path / "me"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    named = {"here": here, "home": home}

    assert shortest_path(path.format(**named)) == short.format(**named)


def test_where_everything_is_below_nothing_is_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/")

    assert (shortest_path("/a"), shortest_path("/")) == ("/a", ".")


def test_a_working_directory_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    assert shortest_path("/a") == "/a"


def test_a_thousand_runs_are_listed_in_no_time(runs: Path) -> None:
    record = kept(runs, 0)
    for number in range(1, 1000):
        run = f"20260101T{number // 60:02d}{number % 60:02d}00Z-aaaaaaaa"
        (runs / run).mkdir()
        write_record(runs / run, record._replace(id=run))
    began = time.monotonic()

    assert len(list_runs(runs)) == 1000
    # 27 ms where nobody else is at work.
    assert time.monotonic() - began < 2


# What pruning says


def prunable(runs: Path) -> list[RunRecord]:
    return [kept(runs, number) for number in range(1, 5)]


def test_prune_says_what_it_has_done(cli: CommandLine, runs: Path) -> None:
    every = prunable(runs)
    size = sum(file.stat().st_size for record in every[:2] for file in (runs / record.id).iterdir())
    (runs / every[0].id / "emergency.tfstate").write_text("{}")
    warning = f"warning: run `{every[0].id}` stays: it holds a copy of a state\n"
    keep_all = ("--history-age", "none", "--history-count")

    dry = cli("runs", "prune", "--dry-run", *keep_all, "1")
    assert (dry.exit_code, dry.stderr) == (0, warning)
    assert [line.split()[0] for line in dry.stdout.splitlines()] == ["RUN", every[1].id, every[2].id, "to"]
    assert dry.stdout.splitlines()[-1] == f"to be removed: 2 runs, {format_size(size)}"

    assert cli("runs", "prune", *keep_all, "1") == Result(
        0, f"removed 2 runs, {format_size(size)}\n", warning
    )
    assert cli("runs", "prune", *keep_all, "1") == Result(0, "nothing to remove\n", warning)
    assert sorted(record.id for record in list_runs(runs)) == [every[0].id, every[3].id]


def test_prune_tells_programs(cli: CommandLine, runs: Path) -> None:
    every = prunable(runs)
    (runs / every[0].id / "emergency.tfstate").write_text("{}")
    size = sum(file.stat().st_size for file in (runs / every[1].id).iterdir())

    ran = cli(
        "runs", "prune", "--json", env={"HEREYA_TF_HISTORY_AGE": "none", "HEREYA_TF_HISTORY_COUNT": "2"}
    )

    assert ran.exit_code == 0
    assert json.loads(ran.stdout) == {
        "removed": [every[1].id],
        "spared": [{"run": every[0].id, "because": "it holds a copy of a state"}],
        "bytes": size,
    }


def test_by_itself_prune_goes_by_what_is_configured(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    every = prunable(runs)
    (tmp_path / "config.toml").write_text("history-age = 'none'\nhistory-count = 3\n")
    configured = {"HEREYA_TF_CONFIG_DIR": str(tmp_path)}

    assert cli("runs", "prune", env=configured).stdout.startswith("removed 1 run, ")
    assert cli("runs", "prune").stdout.startswith("removed 2 runs, "), "they are older than 90 days"
    assert [record.id for record in list_runs(runs)] == [every[3].id]


def test_a_bad_file_is_refused(cli: CommandLine, runs: Path, tmp_path: Path) -> None:
    prunable(runs)
    (tmp_path / "config.toml").write_text("history-count = 0\n")

    ran = cli("runs", "prune", env={"HEREYA_TF_CONFIG_DIR": str(tmp_path)})

    assert (ran.exit_code, ran.stdout, len(list_runs(runs))) == (3, "", 4)
    assert ran.stderr.startswith(f"error: `{tmp_path}/config.toml`, line 1: `history-count`: `0` is not ")
