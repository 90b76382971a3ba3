"""The history is kept within its limits, by hand and now and then, whatever is in it and whoever dies meanwhile."""

import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import events
from hereya_tf.locks import tickets
from hereya_tf.runs import history, pruning
from hereya_tf.runs.history import RunRecord, list_runs, new_run_id, write_record
from hereya_tf.runs.pruning import Pruned, Spared
from hereya_tf.runs.retention import Limits
from hereya_tf.runs.upkeep import prune_now_and_then
from hereya_tf.supervision.process_table import ProcessIdentity, identify
from tests.command_line import environment

GONE = ProcessIdentity(2**22 + 1, "never")
OURSELVES = identify(os.getpid()) or ProcessIdentity(os.getpid(), "")
DAY = 24 * 3600.0
NOW = 1_800_000_000.0
NO_LIMITS = Limits(math.inf, math.inf, math.inf)
ONE = NO_LIMITS._replace(runs=1)
DUMP = {
    "@level": "info",
    "@message": "Emergency state dump",
    "@module": "terraform.ui",
    "@timestamp": "2026-01-01T00:00:00.000000Z",
    "state": {"version": 4},
    "type": "log",
}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    directory = tmp_path / "state/runs"
    directory.mkdir(parents=True)
    return directory


def run_record(run: str, **changed: Any) -> RunRecord:
    made = RunRecord(
        id=run,
        operation="provision",
        package="/p",
        workspace="default",
        key="/p#default",
        host=history.host_name(),
        process=GONE,
        started="2026-01-01T00:00:00.000Z",
        version="1.0",
        ended="2026-01-01T00:01:00.000Z",
        status="succeeded",
        exit_code=0,
    )
    return made._replace(**changed)


def kept(runs: Path, days: float, **changed: Any) -> str:
    """A run that began so many days ago, with a log of 1000 bytes."""
    run = new_run_id(NOW - days * DAY, os.urandom(4))
    (runs / run).mkdir(mode=0o700)
    write_record(runs / run, run_record(run, **changed))
    (runs / run / history.EVENTS).write_bytes(b"x" * 1000)
    return run


def killed(runs: Path, days: float, **changed: Any) -> str:
    """A run whose runner was killed while its engine was at work."""
    unended = {"status": None, "ended": None, "exit_code": None, "engine_process": GONE, "step": "apply"}
    run = kept(runs, days, **{**unended, "attempt": 1, **changed})
    told: tuple[events.Event, ...] = (
        events.RunStarted("provision", "/p", "default", "/p#default", 1, "1"),
        events.StepStarted("apply", 1, ("terraform", "apply")),
    )
    lines = [
        events.encode(events.record_of(event, sequence=number, seconds=NOW, run=run))
        for number, event in enumerate(told, 1)
    ]
    (runs / run / history.EVENTS).write_text("\n".join(lines) + "\n")
    (runs / run / "apply.1.stdout").write_text("")
    (runs / run / "secrets.json").write_text("[]")
    return run


def refuse_warnings(sentence: str) -> None:
    pytest.fail(sentence)


def pruned(runs: Path, limits: Limits, **how: Any) -> Pruned:
    return pruning.prune(runs, limits, NOW, **{"warn": refuse_warnings, **how})


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir() if not entry.name.startswith("."))


def weight(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


# By hand


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        pytest.param(NO_LIMITS, 4, id="none"),
        pytest.param(NO_LIMITS._replace(age=2.5 * DAY), 2, id="age"),
        pytest.param(NO_LIMITS._replace(runs=3), 3, id="count"),
        pytest.param(NO_LIMITS._replace(bytes=4000), 2, id="bytes"),
        pytest.param(Limits(DAY / 2, 1, 1), 1, id="all"),
    ],
)
def test_what_is_too_old_or_too_much_goes(runs: Path, limits: Limits, left: int) -> None:
    every = [kept(runs, days) for days in (4, 3, 2, 1)]
    size = sum(weight(runs / run) for run in every[: 4 - left])

    assert pruned(runs, limits) == Pruned(tuple(every[: 4 - left]), (), size, is_complete=True)
    assert names(runs) == every[4 - left :]
    assert [record.id for record in list_runs(runs)] == every[4 - left :]


def test_of_one_second_the_records_know_which_is_the_newest(runs: Path) -> None:
    every = [f"20260101T000000Z-{name * 8}" for name in ("c", "a", "b")]
    for place, run in enumerate(every):
        (runs / run).mkdir()
        write_record(runs / run, run_record(run, started=f"2026-01-01T00:00:00.00{place}Z"))

    assert pruned(runs, ONE).removed == tuple(every[:2])


def test_without_a_history_there_is_nothing_to_do(tmp_path: Path) -> None:
    assert pruned(tmp_path / "nowhere", ONE) == Pruned((), (), 0, is_complete=True)
    assert not (tmp_path / "nowhere").exists()


def test_a_dry_run_removes_nothing_and_says_the_same(runs: Path) -> None:
    every = [kept(runs, days) for days in (3, 2)]
    dead = killed(runs, 1.5)
    kept(runs, 1)
    before = {file: file.read_bytes() for file in runs.rglob("*") if file.is_file()}

    asked = pruned(runs, ONE, dry_run=True)

    assert asked.removed == (*every, dead)
    assert {file: file.read_bytes() for file in runs.rglob("*") if file.is_file()} == before
    assert not (runs / ".removed").exists()
    assert pruned(runs, ONE, warn=lambda _story: None).removed == asked.removed


@pytest.mark.parametrize(
    ("changed", "because"),
    [
        pytest.param({"status": None, "process": OURSELVES}, pruning.AT_WORK, id="at-work"),
        pytest.param({"process": OURSELVES}, pruning.ENDING, id="about-to-end"),
        pytest.param({"status": None, "engine_process": OURSELVES}, pruning.ORPHANED, id="orphaned"),
        pytest.param(
            {"status": None, "host": "elsewhere"}, "it may be at work on the host `elsewhere`", id="elsewhere"
        ),
    ],
)
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_run_that_may_be_at_work_stays(
    runs: Path, changed: dict[str, Any], because: str, dry_run: bool
) -> None:
    old = kept(runs, 3)
    at_work = kept(runs, 2, **changed)
    new = kept(runs, 1)

    done = pruned(runs, ONE, dry_run=dry_run)

    assert (done.removed, done.spared) == ((old,), (Spared(at_work, because),))
    assert dry_run or names(runs) == [at_work, new]


@pytest.mark.parametrize("name", ["emergency.tfstate", "terraform.tfstate.backup", "kept/errored.tfstate"])
@pytest.mark.parametrize("dry_run", [True, False])
def test_a_copy_of_a_state_is_never_lost(runs: Path, name: str, dry_run: bool) -> None:
    holding = kept(runs, 2, status="failed")
    kept(runs, 1)
    copy = runs / holding / name
    copy.parent.mkdir(exist_ok=True)
    copy.write_text("{}")

    assert pruned(runs, ONE, dry_run=dry_run).spared == (Spared(holding, pruning.HOLDS_STATE),)
    assert copy.read_text() == "{}"


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_newest_whole_copy_of_a_state_stays_as_long_as_its_package(
    runs: Path, tmp_path: Path, dry_run: bool
) -> None:
    def held(days: float, text: str, package: Path = tmp_path, **changed: Any) -> str:
        place = {"package": str(package), "key": f"{package}#default", "started": f"2026-01-{20 - days:02}"}
        run = kept(runs, days, **{**place, **changed})
        (runs / run / "state-before.tfstate").write_text(text)
        return run

    whole = '{"version": 4, "serial": 1}'
    older, newest, broken = held(9, whole), held(8, whole), held(7, "{")
    of_another = held(6, whole, workspace="prod")
    of_none = held(5, whole, tmp_path / "gone")
    refused = [kept(runs, days, status="refused", package=str(tmp_path)) for days in (4, 3, 2)]

    done = pruned(runs, ONE, dry_run=dry_run)

    assert done.removed == (older, broken, of_none, *refused[:2])
    assert done.spared == (Spared(newest, pruning.LAST_COPY), Spared(of_another, pruning.LAST_COPY))
    assert dry_run or names(runs) == [newest, of_another, refused[2]]


def test_what_an_engine_was_given_for_a_while_is_no_state(runs: Path) -> None:
    old = kept(runs, 2)
    kept(runs, 1)
    (runs / old / "scratch-output/data").mkdir(parents=True)
    (runs / old / "scratch-output/data/terraform.tfstate").write_text("{}")

    assert pruned(runs, ONE).removed == (old,)


def test_what_stays_drives_out_no_other(runs: Path) -> None:
    every = [kept(runs, 4), kept(runs, 3, status=None, process=OURSELVES), kept(runs, 2), kept(runs, 1)]
    with (runs / every[1] / "apply.1.stdout").open("wb") as output:
        output.truncate(10**9)

    assert pruned(runs, NO_LIMITS._replace(bytes=100_000)) == Pruned((), (), 0, is_complete=True)
    assert names(runs) == every


def test_a_killed_run_is_completed_before_it_goes(runs: Path) -> None:
    dead = killed(runs, 2)
    kept(runs, 1)
    told: list[str] = []

    done = pruned(runs, ONE, warn=told.append)

    assert (done.removed, done.spared) == ((dead,), ())
    assert told == [f"run `{dead}` was killed in step apply, and its engine ended without finishing"]


def test_the_state_that_a_killed_runs_engine_could_only_print_is_kept(runs: Path) -> None:
    dead = killed(runs, 2)
    kept(runs, 1)
    (runs / dead / "apply.1.stdout").write_text(json.dumps(DUMP) + "\n")
    told: list[str] = []

    done = pruned(runs, ONE, warn=told.append)

    assert (done.removed, done.spared) == ((), (Spared(dead, pruning.HOLDS_STATE),))
    assert json.loads((runs / dead / "emergency.tfstate").read_text()) == {"version": 4}
    assert "the state could not be saved" in told[0]


def test_a_killed_run_that_cannot_be_completed_stays(runs: Path) -> None:
    dead = killed(runs, 2)
    kept(runs, 1)
    (runs / dead / f".{history.EVENTS}.{os.getpid()}").mkdir()  # where its log is written first
    told: list[str] = []

    assert pruned(runs, ONE, warn=told.append).spared == (Spared(dead, pruning.KILLED),)
    assert len(told) == 1
    assert (runs / dead / "apply.1.stdout").exists()


def test_a_run_whose_log_is_being_completed_stays(runs: Path) -> None:
    old = kept(runs, 2)
    kept(runs, 1)
    descriptor = os.open(runs / old, os.O_RDONLY)
    assert tickets.lock_alone(descriptor)
    try:
        assert pruned(runs, ONE).spared == (Spared(old, pruning.BUSY),)
    finally:
        os.close(descriptor)
    assert pruned(runs, ONE).removed == (old,)


# Without a record


@pytest.mark.parametrize(
    "text", [None, "", "[", '{"id": 7}'], ids=["missing", "empty", "cut-off", "nonsense"]
)
@pytest.mark.parametrize(
    ("file", "because"),
    [
        pytest.param("events.ndjson", None, id="nothing-lost"),
        pytest.param("apply.1.stdout", pruning.UNREADABLE, id="output"),
        pytest.param("emergency.tfstate", pruning.HOLDS_STATE, id="state"),
    ],
)
def test_without_a_record_a_run_goes_when_nothing_is_lost(
    runs: Path, text: str | None, file: str, because: str | None
) -> None:
    broken = runs / new_run_id(NOW - 2 * DAY, b"abcd")
    broken.mkdir()
    kept(runs, 1)
    (broken / file).write_text("")
    if text is not None:
        (broken / history.RECORD).write_text(text)
    for path in (*broken.iterdir(), broken):
        os.utime(path, (NOW - DAY, NOW - DAY))

    done = pruned(runs, ONE)

    assert (done.spared, broken.exists()) == (
        ((Spared(broken.name, because),), True) if because is not None else ((), False)
    )


def test_a_run_that_is_about_to_write_its_record_stays(runs: Path) -> None:
    starting = runs / new_run_id(NOW - 2 * DAY, b"abcd")
    starting.mkdir()
    os.utime(starting, (NOW - 60, NOW - 60))
    kept(runs, 1)

    assert pruned(runs, ONE).spared == (Spared(starting.name, pruning.BEGINNING),)


# What is none of ours


def test_what_is_no_run_is_left_alone(runs: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("")
    linked, file = (new_run_id(NOW - days * DAY, b"abcd") for days in (5, 4))
    (runs / linked).symlink_to(elsewhere)
    (runs / file).write_text("")
    for name in ("notes", "20269999T999999Z-aaaaaaaa", f"{linked}-more", ".unlocked", "2026"):
        (runs / name).mkdir()
    every = sorted(entry.name for entry in runs.iterdir())
    old = kept(runs, 2)
    new = kept(runs, 1)

    done = pruned(runs, ONE)

    assert (done.removed, done.spared) == ((old,), ())
    assert sorted(entry.name for entry in runs.iterdir()) == sorted([*every, ".removed", new])
    assert (elsewhere / "precious").exists()


def test_links_inside_a_run_are_not_followed(runs: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o500)
    (tmp_path / "state.tfstate").write_text("{}")
    old = kept(runs, 2)
    kept(runs, 1)
    (runs / old / "link").symlink_to(elsewhere)
    (runs / old / "state.tfstate").symlink_to(tmp_path / "state.tfstate")

    assert pruned(runs, ONE).removed == (old,)
    assert elsewhere.stat().st_mode & 0o777 == 0o500
    assert (tmp_path / "state.tfstate").read_text() == "{}"


# Obstacles

unprivileged = pytest.mark.skipif(os.geteuid() == 0, reason="root may remove everything")


def obstacle(monkeypatch: pytest.MonkeyPatch, name: str, refused: str) -> None:
    """A system call that refuses one path, as for somebody else's files: to root nothing is refused."""
    real = getattr(os, name)

    def refusing(path: Any, *arguments: Any, **settings: Any) -> Any:
        if refused in os.fspath(path):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *arguments, **settings)

    monkeypatch.setattr(os, name, refusing)


def test_a_run_that_cannot_be_moved_stays_and_is_told(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = kept(runs, 3)
    old = kept(runs, 2)
    kept(runs, 1)
    obstacle(monkeypatch, "rename", foreign)

    done = pruned(runs, ONE)

    assert (done.removed, done.spared) == (
        (old,),
        (Spared(foreign, "it cannot be removed: Permission denied"),),
    )
    assert names(runs)[0] == foreign


def test_what_cannot_be_removed_is_told_and_tried_again(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = kept(runs, 2)
    kept(runs, 1)
    told: list[str] = []
    with monkeypatch.context() as patch:
        obstacle(patch, "unlink", history.EVENTS)

        done = pruned(runs, ONE, warn=told.append)

    assert done.removed == (old,)
    assert told == [f"`{runs / '.removed' / old}` cannot be removed: Permission denied"]
    assert [record.id for record in list_runs(runs)] != [old]
    pruned(runs, ONE)
    assert list((runs / ".removed").iterdir()) == []


@unprivileged
def test_directories_that_may_not_be_written_to_are_no_obstacle(runs: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o500)
    old = kept(runs, 2)
    kept(runs, 1)
    for mode, name in ((0o500, "module/inner"), (0, "closed/inner")):
        (runs / old / name).mkdir(parents=True)
        (runs / old / name / "file").write_text("")
        (runs / old / name).with_name("link").symlink_to(elsewhere)
        (runs / old / name).parent.chmod(mode)

    assert pruned(runs, ONE).removed == (old,)
    assert elsewhere.stat().st_mode & 0o777 == 0o500
    assert list((runs / ".removed").iterdir()) == []


def test_of_what_is_to_be_removed_only_runs_go(runs: Path, tmp_path: Path) -> None:
    left = kept(runs, 3)
    (runs / ".removed").mkdir()
    (runs / left).rename(runs / ".removed" / left)
    (runs / ".removed/notes").mkdir()

    pruned(runs, NO_LIMITS)

    assert [entry.name for entry in (runs / ".removed").iterdir()] == ["notes"]

    (runs / ".removed").rename(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / left).mkdir()
    (runs / ".removed").symlink_to(tmp_path / "elsewhere")
    pruned(runs, NO_LIMITS)
    assert (tmp_path / "elsewhere" / left).exists()


# Several at a time, and the end at any moment

PRUNE = """
import sys
from pathlib import Path
from hereya_tf.runs.pruning import prune
from hereya_tf.runs.retention import Limits
print("ready", flush=True)
sys.stdin.readline()
done = prune(Path(sys.argv[1]), Limits(9e9, 1, 9e9), float(sys.argv[2]), warn=print)
print(len(done.removed), len(done.spared), flush=True)
"""


def pruner(runs: Path) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(
        [sys.executable, "-c", PRUNE, str(runs), str(NOW)],
        env=environment({}),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def test_two_at_a_time_remove_each_run_once(runs: Path) -> None:
    for number in range(150):
        kept(runs, 200 - number)
    new = kept(runs, 1)
    both = [pruner(runs), pruner(runs)]
    for process in both:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()

    said = [process.communicate(timeout=60)[0].split() for process in both]

    assert sum(int(removed) for removed, _ in said) == 150
    assert names(runs) == [new]
    # One that the other had in hand may still be counted as busy there, and is gone.
    assert list((runs / ".removed").iterdir()) == []


def whole(runs: Path) -> Iterator[str]:
    """All that counts as a run, each with its record and its log."""
    for record in list_runs(runs):
        assert names(runs / record.id) == ["events.ndjson", "run.json"]
        yield record.id


def test_whenever_it_is_killed_there_are_only_whole_runs(runs: Path) -> None:
    chance = random.Random(7)
    for number in range(300):
        kept(runs, 400 - number)
    seen = list(whole(runs))
    kills = 0
    while len(seen) > 1:
        process = pruner(runs)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        # The file system tells how far it is: the first goes, then a few more.
        until = time.monotonic() + 30
        while len(names(runs)) >= len(seen) and process.poll() is None and time.monotonic() < until:
            pass
        time.sleep(chance.random() / 100)
        process.send_signal(signal.SIGKILL)
        kills += process.wait(60) == -signal.SIGKILL
        process.stdin.close()
        process.stdout.close()
        left = list(whole(runs))
        assert left == names(runs) == seen[-len(left) :]
        seen = left

    assert kills > 0
    pruned(runs, ONE)
    assert list((runs / ".removed").iterdir()) == []


# Now and then

TIGHT = Limits(90 * DAY, 10, 10**9)


def automatic(runs: Path, limits: Limits = TIGHT, *, days: float = 0, **how: Any) -> int:
    """Prune now and then, so many days later; returns how many runs there are after it."""
    prune_now_and_then(runs, limits, NOW + days * DAY, **how)
    return len(names(runs))


def test_it_is_done_once_a_day(runs: Path) -> None:
    for days in (100, 95, 2, 1):
        kept(runs, days)

    assert automatic(runs) == 2
    kept(runs, 99)
    assert automatic(runs) == 3
    assert automatic(runs, days=0.9) == 3
    assert automatic(runs, days=1.1) == 2


def test_it_is_done_when_there_are_clearly_too_many(runs: Path) -> None:
    for number in range(12):
        kept(runs, 30 - number)

    assert automatic(runs) == 10
    kept(runs, 1.5)
    assert automatic(runs) == 11, "a tenth more is not worth it"
    kept(runs, 1.4)
    kept(runs, 1.3)
    assert automatic(runs) == 10


def test_what_has_to_stay_is_no_reason_to_look_each_time(runs: Path) -> None:
    for number in range(30):
        kept(runs, 60 - number, status=None, host="elsewhere")

    assert automatic(runs) == 30
    for _ in range(3):
        kept(runs, 100)
    assert automatic(runs) == 33
    kept(runs, 100)
    assert automatic(runs) == 30


def test_a_clock_that_was_put_back_does_not_stop_it(runs: Path) -> None:
    assert automatic(runs, days=300) == 0
    kept(runs, 100)
    kept(runs, 1)

    assert automatic(runs) == 1


@pytest.mark.parametrize("text", [b"", b"nonsense", b"\xff"])
def test_a_stamp_that_makes_no_sense_is_written_anew(runs: Path, text: bytes) -> None:
    (runs / ".pruned").write_bytes(text)
    os.utime(runs / ".pruned", (NOW - 2 * DAY, NOW - 2 * DAY))
    kept(runs, 100)
    kept(runs, 1)

    assert automatic(runs) == 1
    assert (runs / ".pruned").stat().st_mtime == NOW


def test_who_is_in_a_hurry_leaves_the_rest_to_the_next(runs: Path) -> None:
    for number in range(10):
        kept(runs, 110 - number)
    asked: list[None] = []

    def third() -> bool:
        asked.append(None)
        return len(asked) > 3

    assert automatic(runs, give_up=third) == 7
    assert automatic(runs) == 1


def test_who_is_in_a_hurry_and_comes_to_nothing_is_not_asked_again_today(runs: Path) -> None:
    for number in range(3):
        kept(runs, 100 - number)

    assert automatic(runs, give_up=lambda: True) == 3
    assert automatic(runs) == 3
    assert automatic(runs, days=1) == 1


def test_it_takes_no_longer_than_it_may(runs: Path) -> None:
    every = [kept(runs, 110 - number) for number in range(10)]

    done = pruned(runs, ONE, patience=0.0)

    assert done == Pruned((), (), 0, is_complete=False)
    assert names(runs) == every


def test_the_long_output_of_a_killed_run_is_left_for_who_has_time(runs: Path) -> None:
    dead = killed(runs, 2)
    kept(runs, 1)
    (runs / dead / "apply.1.stdout").write_bytes(b"%300d\n" % 7 * 1000)

    assert pruned(runs, ONE, patience=60).spared == (Spared(dead, pruning.KILLED),)
    assert pruned(runs, ONE, warn=lambda _story: None).removed == (dead,)


def test_where_nothing_can_be_written_nothing_is_done(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(runs, 101)
    kept(runs, 100)
    (tmp_path / "file").write_text("")
    obstacle(monkeypatch, "open", ".pruned")

    assert automatic(runs) == 2
    prune_now_and_then(tmp_path / "nowhere", TIGHT, NOW)
    prune_now_and_then(tmp_path / "file", TIGHT, NOW)
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="/proc tells which file is written to")
def test_a_full_disk_is_what_it_is_good_for(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(runs, 101)
    kept(runs, 100)
    real = os.write

    def full(descriptor: int, data: Any) -> int:
        if runs in Path(f"/proc/self/fd/{descriptor}").readlink().parents:
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", full)

    assert automatic(runs) == 1


def test_nothing_of_it_fails_a_run(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_arguments: Any, **_settings: Any) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(pruning, "choose", fault)
    kept(runs, 100)

    assert automatic(runs) == 1
