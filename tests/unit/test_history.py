"""The history of runs: found by id, readable after a crash at any point."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.errors import BadInput
from hereya_tf.runs import history
from hereya_tf.runs.history import (
    RunRecord,
    find_run,
    list_runs,
    living_owner,
    new_run_id,
    owner_line,
    read_log,
    read_record,
    record_json,
    request_cancel,
    write_record,
)
from hereya_tf.supervision.process_table import ProcessIdentity, identify

GONE = ProcessIdentity(2**22 + 1, "never")
OURSELVES = identify(os.getpid()) or ProcessIdentity(os.getpid(), "")


def run_record(run: str = "20260101T000000Z-aaaaaaaa", **changed: Any) -> RunRecord:
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
    )
    return made._replace(**changed)


FULL = run_record(
    engine="terraform",
    engine_process=ProcessIdentity(5, "then"),
    step="apply",
    attempt=2,
    ended="2026-01-01T00:01:00.000Z",
    status="failed",
    exit_code=1,
    reason="it failed: é\n",
    seconds=60.0,
)


def kept(runs: Path, *records: RunRecord) -> Path:
    for record in records:
        (runs / record.id).mkdir(parents=True)
        write_record(runs / record.id, record)
    return runs


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    """A live process that is not this one."""
    process = subprocess.Popen((sys.executable, "-c", "import time; time.sleep(300)"))
    yield process
    process.kill()
    process.wait()


# Ids


def test_an_id_says_when_and_sorts_by_it() -> None:
    assert new_run_id(1_796_003_848.9, bytes.fromhex("4f3a2b1c")) == "20261130T015728Z-4f3a2b1c"


@given(st.lists(st.integers(0, 4_000_000_000), min_size=2, max_size=2, unique=True))
def test_ids_sort_by_time(moments: list[int]) -> None:
    earlier, later = (new_run_id(moment, b"\xff\x00") for moment in sorted(moments))

    assert earlier < later


# Records


@pytest.mark.parametrize("record", [run_record(), FULL], ids=["begun", "ended"])
def test_a_record_is_read_as_it_was_written(tmp_path: Path, record: RunRecord) -> None:
    write_record(tmp_path, record)

    assert read_record(tmp_path) == record
    assert (tmp_path / "run.json").stat().st_mode & 0o777 == 0o600


def test_what_a_newer_version_added_is_passed_over(tmp_path: Path) -> None:
    fields = record_json(FULL)
    fields["telepathy"] = {"on": True}
    fields["process"]["namespace"] = 7
    fields["engine_process"]["namespace"] = 7
    (tmp_path / "run.json").write_text(json.dumps(fields))

    assert read_record(tmp_path) == FULL


def test_what_an_older_version_did_not_know_has_its_default(tmp_path: Path) -> None:
    fields = record_json(run_record())
    for name in ("engine_process", "step", "attempt", "seconds"):
        del fields[name]
    (tmp_path / "run.json").write_text(json.dumps(fields))

    assert read_record(tmp_path) == run_record()


def spoilt(**changed: Any) -> str:
    fields = record_json(run_record())
    fields.update(changed)
    return json.dumps({name: value for name, value in fields.items() if value != "missing"})


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param('{"id": "a', id="cut-off"),
        pytest.param("[]", id="no-object"),
        pytest.param("null", id="null"),
        pytest.param("[" * 100_000, id="deep"),
        pytest.param(spoilt(id="missing"), id="no-id"),
        pytest.param(spoilt(id=7), id="id-is-no-text"),
        pytest.param(spoilt(package=None), id="no-package"),
        pytest.param(spoilt(process=None), id="no-process"),
        pytest.param(spoilt(process="missing"), id="process-missing"),
        pytest.param(spoilt(process={"pid": "7", "started": "a"}), id="pid-is-a-text"),
        pytest.param(spoilt(process={"pid": True, "started": "a"}), id="pid-is-a-boolean"),
        pytest.param(spoilt(process={"pid": 7, "started": 7}), id="start-is-a-number"),
        pytest.param(spoilt(process={"pid": 7}), id="no-start"),
        pytest.param(spoilt(engine_process=[7, "a"]), id="engine-is-a-list"),
        pytest.param(spoilt(reproduce=["a"]), id="a-command-is-a-list"),
        pytest.param(spoilt(status=1), id="status-is-a-number"),
        pytest.param(spoilt(seconds="3.5"), id="seconds-are-a-text"),
        pytest.param(spoilt(exit_code=[]), id="exit-code-is-a-list"),
    ],
)
def test_a_record_that_makes_no_sense_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)

    assert read_record(tmp_path) is None


def test_a_record_that_is_no_text_is_none(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_bytes(b"\xff\xfe")
    (tmp_path / "directory").mkdir()

    assert read_record(tmp_path) is None
    assert read_record(tmp_path / "directory") is None
    assert read_record(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    ("changed", "alive", "state"),
    [
        pytest.param({"process": OURSELVES}, True, "running", id="lives"),
        pytest.param({}, False, "died", id="died"),
        pytest.param({"host": "elsewhere"}, True, "running", id="elsewhere-is-believed"),
        pytest.param({"process": OURSELVES, "status": "failed"}, False, "failed", id="ended"),
        pytest.param({"host": "elsewhere", "status": "succeeded"}, False, "succeeded", id="ended-elsewhere"),
    ],
)
def test_how_a_run_is(changed: dict[str, Any], alive: bool, state: str) -> None:
    record = run_record(**changed)

    assert (record.is_alive, record.state) == (alive, state)


def test_what_belongs_to_a_living_run_says_so() -> None:
    line = owner_line("20260101T000000Z-aa", OURSELVES)

    assert "\n" not in line
    assert living_owner(line) == "20260101T000000Z-aa"


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(owner_line("r", GONE), id="dead"),
        pytest.param(
            owner_line("r", OURSELVES).replace(json.dumps(history.host_name()), '"elsewhere"'), id="elsewhere"
        ),
        pytest.param("", id="empty"),
        pytest.param("written by hand", id="prose"),
        pytest.param("[]", id="list"),
        pytest.param('{"run": "r", "host": "h"}', id="no-process"),
        pytest.param(owner_line("r", OURSELVES).replace(str(OURSELVES.pid), '"x"'), id="pid-is-a-text"),
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_what_belongs_to_no_living_run_of_this_host_is_nobodys(line: str) -> None:
    assert living_owner(line) is None


# Finding one


ONE = run_record("20260101T000000Z-aaaaaaaa")
TWO = run_record("20260101T000500Z-bbbbbbbb")
THREE = run_record("20260202T000000Z-aaaabbbb")


def test_runs_are_listed_oldest_first_and_rubbish_is_not(tmp_path: Path) -> None:
    kept(tmp_path / "runs", THREE, ONE, TWO)
    (tmp_path / "runs/.DS_Store").write_text("x")
    (tmp_path / "runs/empty").mkdir()

    assert list_runs(tmp_path / "runs") == (ONE, TWO, THREE)


def test_no_runs_are_none(tmp_path: Path) -> None:
    assert list_runs(tmp_path / "runs") == ()


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        pytest.param(TWO.id, TWO, id="whole"),
        pytest.param("last", THREE, id="last"),
        pytest.param("20260202", THREE, id="beginning"),
        pytest.param("aaaaaaaa", ONE, id="end"),
        pytest.param("20260101T0005", TWO, id="longer-beginning"),
    ],
)
def test_a_run_is_found_by_its_id_or_a_part_of_it(tmp_path: Path, wanted: str, found: RunRecord) -> None:
    assert find_run(kept(tmp_path, ONE, TWO, THREE), wanted) == found


def test_a_whole_id_wins_over_those_that_begin_with_it(tmp_path: Path) -> None:
    longer = run_record(ONE.id + "-more")

    assert find_run(kept(tmp_path, ONE, longer), ONE.id) == ONE


@pytest.mark.parametrize(
    ("wanted", "sentence", "hint"),
    [
        pytest.param(
            "20260101",
            f"`20260101` could be 2 runs, `{ONE.id}`, `{TWO.id}` among them",
            "give more of the id",
            id="beginning-of-two",
        ),
        pytest.param(
            "bbbb",
            f"`bbbb` could be 2 runs, `{TWO.id}`, `{THREE.id}` among them",
            "give more of the id",
            id="end-of-two",
        ),
        pytest.param(
            "0101", "there is no run `0101`", "`hereya-tf runs list` shows their ids", id="in-the-middle"
        ),
        pytest.param(
            "../" + ONE.id,
            f"there is no run `../{ONE.id}`",
            "`hereya-tf runs list` shows their ids",
            id="a-path",
        ),
    ],
)
def test_what_is_no_run_or_several_is_refused(tmp_path: Path, wanted: str, sentence: str, hint: str) -> None:
    kept(tmp_path, ONE, TWO, THREE)
    with pytest.raises(BadInput) as caught:
        find_run(tmp_path, wanted)

    assert (str(caught.value), caught.value.hints) == (sentence, (hint,))


def test_without_any_run_it_is_said_where_they_would_be(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=re.escape(f"there is no run in `{tmp_path}`")):
        find_run(tmp_path, "last")


# Asking a run to end


def test_a_live_run_gets_a_note_and_a_signal(tmp_path: Path, sleeper: "subprocess.Popen[bytes]") -> None:
    process = identify(sleeper.pid)
    assert process is not None
    request_cancel(tmp_path, run_record(process=process))

    assert sleeper.wait(30) == -signal.SIGTERM
    assert (tmp_path / history.CANCEL).exists()


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({}, id="dead"),
        pytest.param({"process": OURSELVES, "host": "elsewhere"}, id="elsewhere"),
        pytest.param({"process": OURSELVES, "status": "failed"}, id="ended"),
    ],
)
def test_nobody_else_gets_a_signal(
    tmp_path: Path, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(pid: int, number: int) -> None:
        pytest.fail(f"signal {number} to {pid}")

    record = run_record(**changed)
    _ = record.is_alive
    real = os.kill
    monkeypatch.setattr(os, "kill", lambda pid, number: real(pid, 0) if number == 0 else refuse(pid, number))
    request_cancel(tmp_path, record)

    assert (tmp_path / history.CANCEL).exists()


def test_a_run_that_ends_just_now_needs_no_waking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_pid: int, _number: int) -> None:
        raise ProcessLookupError

    monkeypatch.setattr(os, "kill", gone)
    request_cancel(tmp_path, run_record(process=OURSELVES))

    assert (tmp_path / history.CANCEL).exists()


def test_a_note_that_cannot_be_left_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file"):
        request_cancel(tmp_path / "nowhere", run_record())


# Logs


def logged(*told: events.Event) -> list[str]:
    return [
        events.encode(events.record_of(event, sequence=number, seconds=1e9 + number, run="r"))
        for number, event in enumerate(told, 1)
    ]


LINES = logged(
    events.RunStarted("provision", "/p", "default", "k", 1, "1"),
    events.LogEvent("stderr", "a\u2028b\x85c\x1cd\u2029e\x0bf\x7fg\r\nh é"),
    events.EngineMessage("apply", {"deep": [1, {"x": None}]}),
)


def test_a_log_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "events.ndjson").write_text("\n".join(LINES) + "\n", encoding="utf-8")

    assert [events.encode(event) for event in read_log(tmp_path)] == LINES


@given(st.text())
def test_no_text_breaks_a_log_into_pieces(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        line = logged(events.LogEvent("stderr", text))[0]
        (Path(directory) / "events.ndjson").write_bytes(f"{line}\n".encode("utf-8", "backslashreplace"))

        (event,) = read_log(Path(directory))

    assert event["text"] == text


@pytest.mark.behaviour("T12")
def test_numbers_keep_every_digit(tmp_path: Path) -> None:
    value = "0.333333333333333333333333333333333333333333"
    line = logged(events.EngineMessage("apply", {"value": Decimal(value), "big": 10**40}))[0]
    (tmp_path / "events.ndjson").write_text(line + "\n")

    (event,) = read_log(tmp_path)
    assert (str(event["message"]["value"]), event["message"]["big"]) == (value, 10**40)
    assert events.encode(event) == line


@given(cut=st.integers(0, 400))
def test_a_log_that_is_cut_off_anywhere_is_read_as_far_as_it_goes(cut: int) -> None:
    import tempfile

    whole = ("\n".join(LINES) + "\n").encode()
    part = whole[: min(cut, len(whole))]
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "events.ndjson").write_bytes(part)
        read = [events.encode(event) for event in read_log(Path(directory))]

    complete = part.count(b"\n")
    # A last line without its newline may be there already.
    assert read in (LINES[:complete], LINES[: complete + 1])


@pytest.mark.parametrize(
    "rubbish",
    [
        pytest.param(b"\xff\xfe\x00", id="bytes"),
        pytest.param(b"[]", id="no-object"),
        pytest.param(b"{}", id="no-type"),
        pytest.param(b'{"type":"log","ts":7}', id="no-time"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"NaN", id="not-a-number"),
        pytest.param(b"", id="nothing"),
    ],
)
def test_rubbish_between_events_is_left_out(tmp_path: Path, rubbish: bytes) -> None:
    first, *others = (line.encode() for line in LINES)
    (tmp_path / "events.ndjson").write_bytes(b"\n".join([first, rubbish, *others]))

    assert [events.encode(event) for event in read_log(tmp_path)] == LINES


def test_no_log_is_no_events(tmp_path: Path) -> None:
    assert read_log(tmp_path) == ()
