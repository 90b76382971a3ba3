import fcntl
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.runs.directory import LEAST_FREE_BYTES
from hereya_tf.states.preflight import Shortage, copy_state, find_ruined, find_shortages, is_stored
from hereya_tf.states.unsaved import Unsaved

STATE = {"version": 4, "serial": 7, "lineage": "a-b", "outputs": {}, "resources": [{"type": "x"}]}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "terraform.tfstate"
    path.write_text(json.dumps(STATE))
    return path


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir()
    return made


# What must not be built upon


def test_only_what_is_empty_or_broken_is_ruined(state: Path) -> None:
    assert find_ruined(state) is None
    state.write_text("{")
    found = find_ruined(state)
    assert found is not None
    assert found.path == state
    state.unlink()
    assert find_ruined(state) is None


def test_a_state_that_an_engine_is_at_work_on_is_not_judged(state: Path) -> None:
    state.write_text("")
    # Locks are a process's own: another one has to hold it.
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with state.open("r+") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            os.write(writer, b".")
            os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(0)
    try:
        assert os.read(reader, 1) == b"."
        assert find_ruined(state) is None
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(reader)
        os.close(writer)
    assert find_ruined(state) is not None


# What is stored already


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param({}, True, id="itself"),
        pytest.param({"terraform_version": "1.15.5"}, True, id="pushed by another version"),
        pytest.param({"serial": 8, "resources": []}, True, id="a later one"),
        pytest.param({"serial": 6}, False, id="an earlier one"),
        pytest.param({"lineage": "other"}, False, id="another state"),
        pytest.param({"lineage": ""}, False, id="of nobody knows what"),
        pytest.param({"serial": None}, False, id="nobody knows when"),
        pytest.param({"resources": []}, False, id="one that went on without it"),
    ],
)
def test_a_state_is_stored_when_the_local_one_goes_on_from_it(
    tmp_path: Path, there: dict[str, Any], expected: bool
) -> None:
    (tmp_path / "kept").write_text(json.dumps(STATE))
    (tmp_path / "local").write_text(json.dumps({**STATE, **there}))
    unsaved = Unsaved("run", "/p", "default", "key", str(tmp_path / "kept"), 7, "a-b", "")

    assert is_stored(unsaved, tmp_path / "local") is expected


@pytest.mark.parametrize("text", [None, "", "{"], ids=["missing", "empty", "broken"])
def test_no_state_has_another_in_it(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "local").write_text(text)
    unsaved = Unsaved("run", "/p", "default", "key", "/kept", 0, "", "")

    assert not is_stored(unsaved, tmp_path / "local")
    assert not is_stored(unsaved._replace(lineage="a-b", serial=None), tmp_path / "local")


# The copy


def test_the_copy_is_the_state_byte_for_byte_and_private(state: Path, directory: Path) -> None:
    content = os.urandom(3_000_001)
    state.write_bytes(content)

    assert copy_state(state, directory)

    (copy,) = directory.iterdir()
    assert (copy.name, copy.stat().st_mode & 0o777) == ("state-before.tfstate", 0o600)
    assert copy.read_bytes() == content


def test_a_link_is_followed_and_half_a_copy_of_a_killed_run_is_none(state: Path, directory: Path) -> None:
    link = state.with_name("link")
    link.symlink_to(state)
    (directory / "state-before.tfstate.partial").write_text("half")

    assert copy_state(link, directory)

    (copy,) = directory.iterdir()
    assert copy.read_bytes() == state.read_bytes()


@pytest.mark.parametrize("content", [None, b""], ids=["missing", "empty"])
def test_without_a_state_there_is_nothing_to_copy(
    state: Path, directory: Path, content: bytes | None
) -> None:
    state.unlink()
    if content is not None:
        state.write_bytes(content)

    assert not copy_state(state, directory)
    assert list(directory.iterdir()) == []


def test_a_copy_takes_no_room_that_the_engine_needs(
    state: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk(monkeypatch, Disk(LEAST_FREE_BYTES + state.stat().st_size - 1))
    with pytest.raises(OSError, match="there is no room for"):
        copy_state(state, directory)

    assert list(directory.iterdir()) == []
    on_disk(monkeypatch, Disk(LEAST_FREE_BYTES + state.stat().st_size))
    assert copy_state(state, directory)


def test_what_is_no_file_is_not_copied(state: Path, directory: Path) -> None:
    state.unlink()
    os.mkfifo(state)

    with pytest.raises(OSError, match="it is not a regular file"):
        copy_state(state, directory)


# Room


class Disk:
    """What the system says of a disk."""

    def __init__(self, free: int, *, flag: int = 0, blocks: int = 1) -> None:
        self.f_bavail, self.f_frsize, self.f_flag, self.f_blocks = free, 1, flag, blocks


def on_disk(monkeypatch: pytest.MonkeyPatch, disk: Disk) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _path: disk)


def test_a_disk_with_little_room_is_told_of_once(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk(monkeypatch, Disk((64 << 20) - 1))
    missing = tmp_path / "not" / "there"

    assert find_shortages((tmp_path, missing), state) == (Shortage(tmp_path, (64 << 20) - 1, 64 << 20),)
    on_disk(monkeypatch, Disk(64 << 20))
    assert find_shortages((tmp_path, missing), state) == ()


def test_a_large_state_needs_three_times_its_size(
    tmp_path: Path, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.truncate(state, 100 << 20)
    on_disk(monkeypatch, Disk(299 << 20))

    assert find_shortages((), state) == (Shortage(tmp_path, 299 << 20, 300 << 20),)
    assert find_shortages((tmp_path,), None) == ()


@pytest.mark.parametrize(
    "disk", [Disk(0, flag=os.ST_RDONLY), Disk(0, blocks=0)], ids=["read-only", "without a size"]
)
def test_a_disk_that_nothing_is_written_to_has_room_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disk: Disk
) -> None:
    on_disk(monkeypatch, disk)

    assert find_shortages((tmp_path,), None) == ()


def test_a_disk_that_says_nothing_is_no_reason_to_worry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_path: Path) -> None:
        raise OSError("no")

    monkeypatch.setattr(os, "statvfs", refuse)

    assert find_shortages((tmp_path,), tmp_path / "missing.tfstate") == ()
