"""A run's private directory: it costs the history when it cannot be written, never the run."""

import errno
import json
import os
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

import pytest

from hereya_tf.errors import NoRoom
from hereya_tf.private import open_private
from hereya_tf.runs import directory as rundirectory
from hereya_tf.runs import history
from hereya_tf.runs.directory import LEAST_FREE_BYTES, RunDirectory, remove_all_but_kept
from hereya_tf.runs.history import RunRecord, read_record
from hereya_tf.supervision.process_table import ProcessIdentity

RECORD = RunRecord(
    id="run",
    operation="provision",
    package="/p",
    workspace="default",
    key="k",
    host="host",
    process=ProcessIdentity(1, "a"),
    started="2026-01-01T00:00:00.000Z",
    version="1",
)


class Warned:
    """Hears the warnings."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def __call__(self, sentence: str) -> None:
        self.sentences.append(sentence)


@pytest.fixture
def warned() -> Warned:
    return Warned()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "state/runs"


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def full(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Room(NamedTuple):
    """What os.statvfs says of a disk with so many free bytes."""

    f_bavail: int
    f_frsize: int = 1


# With room


def test_it_and_all_in_it_is_private(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    directory.append("{}")
    directory.write_record(RECORD)
    directory.keep_secrets(("s3cret",))
    directory.private_file("values.json", "{}")
    capture = directory.capture("apply", 1)

    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in directory.path.iterdir()}
    assert files == dict.fromkeys(
        ("apply.1.stderr", "apply.1.stdout", "events.ndjson", "run.json", "secrets.json", "values.json"),
        0o600,
    )
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    assert warned.sentences == []
    capture.discard()
    directory.close()


def test_the_log_is_on_the_disk_after_a_flush(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    log = directory.path / history.EVENTS
    directory.append('{"a":1}')
    assert log.read_text() == ""
    directory.append('{"b":"é"}')
    directory.flush()
    assert log.read_text() == '{"a":1}\n{"b":"é"}\n'
    directory.append("{}")
    directory.close()
    assert log.read_text() == '{"a":1}\n{"b":"é"}\n{}\n'


def test_a_long_batch_does_not_wait_in_memory_for_its_flush(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    for _ in range(100):
        directory.append("x" * 1000)

    assert (directory.path / history.EVENTS).stat().st_size > 60_000
    directory.close()


def test_a_normal_end_leaves_record_log_report_and_an_emergency_state(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    directory.write_record(RECORD)
    directory.keep_secrets(("s3cret",))
    for name in ("report.txt", "emergency.tfstate", "values.json", "plan.bin"):
        directory.private_file(name, "text")
    (directory.path / history.CANCEL).touch()
    (directory.path / "made-by-somebody").mkdir()
    # As after a fault of ours, when nobody discards it.
    capture = directory.capture("apply", 1)
    directory.close()
    capture.stdout.close()
    capture.stderr.close()

    left = ["emergency.tfstate", "events.ndjson", "made-by-somebody", "report.txt", "run.json"]
    assert names(directory.path) == left
    assert read_record(directory.path) == RECORD


def test_what_a_step_said_goes_when_the_log_has_it(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    capture = directory.capture("apply", 2)
    capture.stdout.write(b"one")
    capture.stderr.write(b"two")
    assert [path.read_bytes() for path in capture.paths] == [b"one", b"two"]
    assert [path.name for path in capture.paths] == ["apply.2.stdout", "apply.2.stderr"]
    capture.paths[0].unlink()
    capture.discard()

    assert (capture.stdout.closed, capture.stderr.closed) == (True, True)
    assert names(directory.path) == ["events.ndjson"]
    directory.close()


def test_secrets_are_kept_for_whoever_finds_it_dead(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    directory.keep_secrets(("s3cret", "é\n"))

    assert json.loads((directory.path / rundirectory.SECRETS).read_text()) == ["s3cret", "é\n"]
    directory.close()


def test_an_emergency_state_is_kept_and_known(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    before = directory.emergency_state
    directory.keep_emergency_state('{"version": 4}')
    directory.close()

    assert (before, directory.emergency_state) == (None, directory.path / "emergency.tfstate")
    assert (directory.path / "emergency.tfstate").read_text() == '{"version": 4}'


def test_a_full_disk_cuts_off_what_an_engine_says(
    runs: Path, warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory(runs, "run", warned)
    capture = directory.capture("apply", 1)
    before = capture.is_cut_off()
    monkeypatch.setattr(os, "statvfs", lambda _path: Room(100))

    assert (before, capture.is_cut_off()) == (False, True)
    capture.discard()
    directory.close()


def test_a_request_to_end_is_found(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    before = directory.cancel_requested()
    (directory.path / history.CANCEL).touch()

    assert (before, directory.cancel_requested()) == (False, True)
    directory.close()


def test_a_disk_that_is_gone_is_no_request_to_end(
    runs: Path, warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory(runs, "run", warned)

    def fail(_path: Path) -> bool:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "exists", fail)
        assert not directory.cancel_requested()
    directory.close()


# Without


@pytest.fixture
def unusable(runs: Path, warned: Warned) -> RunDirectory:
    """A run directory where a file is in the way."""
    runs.parent.mkdir(parents=True)
    runs.write_text("not a directory")
    return RunDirectory(runs, "run", warned)


def test_a_directory_that_cannot_be_made_costs_a_warning(unusable: RunDirectory, warned: Warned) -> None:
    unusable.append("{}")
    unusable.flush()
    unusable.write_record(RECORD)
    unusable.keep_secrets(("s3cret",))

    assert not unusable.usable
    assert not unusable.cancel_requested()
    assert warned.sentences == [
        f"`{unusable.path}` cannot be written, so this run leaves no full history: Not a directory"
    ]
    unusable.close()


def test_without_it_engines_write_to_nameless_files(unusable: RunDirectory) -> None:
    capture = unusable.capture("apply", 1)
    capture.stdout.write(b"text")

    assert (capture.paths, os.pread(capture.stdout.fileno(), 9, 0)) == ((), b"text")
    capture.discard()
    unusable.close()


def test_without_it_private_files_are_elsewhere_and_gone_in_the_end(
    unusable: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    values, plan = unusable.private_file("values.json", "{}"), unusable.private_file("plan.bin", "")

    assert values.parent == plan.parent
    assert values.parent.parent == tmp_path / "temporary"
    assert values.read_text() == "{}"
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (values, values.parent)]
    assert modes == [0o600, 0o700]
    unusable.close()
    assert names(tmp_path / "temporary") == []


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="needs /dev/shm")
@pytest.mark.parametrize("reason", ["full", "none-at-all"])
def test_with_no_room_for_temporary_files_memory_is_taken(
    unusable: RunDirectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    def room(path: Path) -> Room:
        return Room(LEAST_FREE_BYTES if path == Path("/dev/shm") else 0)

    def none_at_all() -> str:
        raise FileNotFoundError(errno.ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(os, "statvfs", room)
    if reason == "none-at-all":
        monkeypatch.setattr("tempfile.gettempdir", none_at_all)
    file = unusable.private_file("values.json", "{}")

    assert file.parent.parent == Path("/dev/shm")
    unusable.close()
    assert not file.parent.exists()


def test_no_room_at_all_is_an_error_for_the_reader(
    unusable: RunDirectory, warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.mkdtemp", full)

    with pytest.raises(NoRoom) as caught:
        unusable.private_file("values.json", "{}")
    unusable.keep_emergency_state("{}")

    assert (unusable.emergency_state, len(warned.sentences)) == (None, 2)
    assert str(caught.value) == (
        "there is no room for the run's private file `values.json`: No space left on device"
    )
    assert caught.value.hints == (
        "free some space, or point `HEREYA_TF_STATE_DIR` or `TMPDIR` to a disk that has some",
    )
    assert caught.value.failure_class.exit_code == 1
    unusable.close()


def test_too_little_room_for_an_engines_output_is_none(
    runs: Path, warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory(runs, "run", warned)
    monkeypatch.setattr(os, "statvfs", lambda _path: Room(LEAST_FREE_BYTES - 1))
    capture = directory.capture("apply", 1)

    assert capture.paths == ()
    assert warned.sentences == [
        f"`{directory.path}` cannot be written, so this run leaves no full history: No space left on device"
    ]
    capture.discard()
    directory.close()


def test_one_of_two_files_is_none(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    (directory.path / "apply.1.stderr").mkdir()
    before = len(list(Path("/dev/fd").iterdir()))
    capture = directory.capture("apply", 1)

    # Two nameless ones are open, and the one that could be opened is not.
    assert (capture.paths, len(list(Path("/dev/fd").iterdir())) - before) == ((), 2)
    capture.discard()
    directory.close()


def test_a_disk_that_fills_up_ends_the_log_and_not_the_run(
    runs: Path, warned: Warned, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory(runs, "run", warned)
    directory.append('{"one":1}')
    directory.flush()
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        directory.append('{"two":2}')
        directory.flush()
        directory.write_record(RECORD)
        directory.keep_secrets(())
    directory.append('{"three":3}')
    directory.flush()

    assert (directory.path / history.EVENTS).read_text() == '{"one":1}\n'
    assert len(warned.sentences) == 1
    directory.close()


def test_a_private_file_goes_elsewhere_when_the_disk_is_full(
    runs: Path, warned: Warned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = RunDirectory(runs, "run", warned)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # What is in the way cannot be replaced by a file.
    (directory.path / "values.json").mkdir()
    file = directory.private_file("values.json", "{}")

    assert (file.read_text(), file.parent.parent) == ("{}", tmp_path)
    assert len(warned.sentences) == 1
    directory.close()


def test_a_directory_that_was_taken_away_does_not_fail_the_end(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    shutil.rmtree(directory.path)
    directory.append("{}")
    directory.close()

    remove_all_but_kept(directory.path)
    assert not directory.path.exists()


def test_whoever_else_opens_an_engines_output_does_not_overwrite_it(runs: Path, warned: Warned) -> None:
    directory = RunDirectory(runs, "run", warned)
    capture = directory.capture("apply", 1)
    capture.stdout.write(b"one ")
    with open_private(capture.paths[0]) as other:
        other.write(b"two ")
    capture.stdout.write(b"three")

    assert capture.paths[0].read_bytes() == b"one two three"
    capture.discard()
    directory.close()
