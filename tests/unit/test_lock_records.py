"""Who holds a lock, as a name, a file and an error."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hereya_tf.locks import records as lock_records
from hereya_tf.locks.records import EngineProcess, Holder, LockKey, LockKind, Record, Waiting
from hereya_tf.supervision.process_table import ProcessIdentity

KEY = LockKey(LockKind.PACKAGE, "/srv/shop")
GONE = ProcessIdentity(2**31 - 1, "never")


def holder(run: str, process: ProcessIdentity = GONE, engine: EngineProcess | None = None) -> Holder:
    return Holder(run, process, "here", "provision", "2026-11-30T00:00:00Z", KEY.name, engine)


@pytest.mark.behaviour("F1")
def test_names_that_read_alike_have_files_of_their_own() -> None:
    names = [
        "a/b",
        "a-b",
        "a//b",
        "a/b/",
        "A/b",
        "a b",
        "a\nb",
        "a\udcffb",
        "a\ud800b",
        "",
        ".",
        "..",
        "/",
        "ä" * 300,
    ]
    keys = [LockKey(kind, name) for kind in LockKind for name in names]

    assert len({key.stem for key in keys}) == len(keys)
    assert LockKey(LockKind.WORKSPACE, "a/b").stem == "workspace-a-b-c14cddc033f64b9d"
    assert LockKey(LockKind.WORKSPACE, "..").stem == "workspace-5ec1f7e700f37c3d"


@pytest.mark.behaviour("F1")
@settings(deadline=None)
@given(st.text() | st.text(alphabet=[chr(0xDC80), "/", "-", "."]))
def test_any_name_makes_a_safe_file_name(name: str) -> None:
    assert re.fullmatch(r"package-[A-Za-z0-9_.-]{16,57}", LockKey(LockKind.PACKAGE, name).stem)


identities = st.builds(ProcessIdentity, st.integers(1, 2**31 - 1), st.text())
engines = st.none() | st.builds(EngineProcess, identities, st.integers(1, 2**31 - 1))
holders = st.builds(Holder, st.text(), identities, st.text(), st.text(), st.text(), st.text(), engines)


@settings(deadline=None)
@given(st.builds(Record, holders, st.integers(0)))
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    assert lock_records.decode(lock_records.encode(record)) == record


whole = json.loads(lock_records.encode(Record(holder("r", GONE, EngineProcess(GONE, 5)), 1)))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(json.dumps(whole).encode()[:-1], id="cut short"),
        pytest.param(b"\xff\xfe", id="not UTF-8"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(json.dumps({**whole, "run": 1}).encode(), id="a number for a text"),
        pytest.param(json.dumps({**whole, "ticket": "1"}).encode(), id="a text for a number"),
        pytest.param(json.dumps({**whole, "process": {"pid": True, "started": ""}}).encode(), id="a boolean"),
        pytest.param(
            json.dumps({**whole, "process": {"pid": 10**30, "started": ""}}).encode(), id="a huge id"
        ),
        pytest.param(json.dumps({**whole, "engine": 3}).encode(), id="an engine that is none"),
        pytest.param(json.dumps({key: whole[key] for key in whole if key != "host"}).encode(), id="no host"),
    ],
)
def test_what_is_not_a_record_is_none(content: bytes) -> None:
    assert lock_records.decode(json.dumps(whole).encode()) is not None
    assert lock_records.decode(content) is None


def test_a_record_that_cannot_be_replaced_is_removed(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    lock_records.write(path, Record(holder("r"), 1))
    before = lock_records.read(path)
    (tmp_path / "x.json.new").mkdir()

    lock_records.write(path, Record(holder("r", engine=EngineProcess(GONE, 5)), 1))

    assert before == Record(holder("r"), 1)
    assert lock_records.read(path) is None


@pytest.mark.parametrize(
    ("of", "died", "sentence", "hint"),
    [
        pytest.param(None, False, "a process that left no record", None, id="no record"),
        pytest.param(
            holder("r", GONE),
            False,
            f"run `r` (`provision`, process {GONE.pid} on `here`) for 1m5s",
            None,
            id="alive",
        ),
        pytest.param(
            holder("r", GONE)._replace(since="soon"),
            False,
            f"run `r` (`provision`, process {GONE.pid} on `here`) since soon",
            None,
            id="odd time",
        ),
        pytest.param(
            holder("r", GONE),
            True,
            f"run `r` (`provision`, process {GONE.pid} on `here`) for 1m5s",
            "run `r` has died; something that it started still holds the lock",
            id="died",
        ),
        pytest.param(
            holder("r", GONE, EngineProcess(ProcessIdentity(5, ""), 5)),
            True,
            f"run `r` (`provision`, process {GONE.pid} on `here`) for 1m5s",
            "run `r` has died; its engine (process 5) or what that started holds the lock",
            id="engine",
        ),
    ],
)
def test_busy_says_who_what_where_and_what_to_do(
    of: Holder | None, died: bool, sentence: str, hint: str | None
) -> None:
    error = lock_records.busy(KEY, Waiting(3, of), runner_died=died, now=1795996865.4)

    assert str(error) == f"the package lock of `/srv/shop` is held by {sentence}, position 3 in line"
    assert error.hints == (
        *filter(None, [hint]),
        "`hereya-tf lock status /srv/shop` shows who holds it and who waits",
        "`--wait DURATION` waits longer for it",
    )


def test_busy_names_the_list_where_the_lock_is_not_a_packages() -> None:
    error = lock_records.busy(
        LockKey(LockKind.WORKSPACE, "s3://bucket/a b"), Waiting(1, None), runner_died=False, now=0
    )

    assert error.hints[0] == "`hereya-tf lock list` shows who holds it and who waits"
