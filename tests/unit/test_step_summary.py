"""The summary of a step: added to what is there, never more than is taken, and no reason to fail."""

import os
from pathlib import Path

import pytest

from hereya_tf.cli.step_summary import LARGEST_BYTES, append_summary


def text(room: int) -> str:
    return "### ours\n" if room > 0 else ""


def test_it_is_added_to_what_is_there(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_text("# theirs\n\nno line break")

    assert append_summary(str(file), text) is None
    assert append_summary(str(file), text) is None
    assert file.read_text() == "# theirs\n\nno line break\n\n### ours\n\n### ours\n"


def test_the_first_one_begins_the_file(tmp_path: Path) -> None:
    assert append_summary(str(tmp_path / "new"), text) is None
    assert (tmp_path / "new").read_text() == "### ours\n"


def test_what_is_left_of_the_limit_is_told(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_bytes(b"x" * 1_000_000)
    rooms: list[int] = []

    def made(room: int) -> str:
        rooms.append(room)
        return "x" * room

    assert append_summary(str(file), made) is None
    assert rooms == [LARGEST_BYTES - 1_000_000 - 4096]
    assert file.stat().st_size <= LARGEST_BYTES


def test_a_full_one_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "summary"
    file.write_bytes(b"x" * LARGEST_BYTES)

    assert append_summary(str(file), text) == f"the summary of this step, `{file}`, has no room for more"
    assert file.stat().st_size == LARGEST_BYTES


@pytest.mark.parametrize("name", ["", "missing/summary", "a\0b"])
def test_one_that_cannot_be_written_is_told(tmp_path: Path, name: str) -> None:
    path = f"{tmp_path}/{name}"
    told = append_summary(path, text)

    assert told is not None
    assert told.startswith(f"the summary of this step, `{path}`, cannot be written: ")


def test_a_full_disk_leaves_nothing_behind() -> None:
    told = append_summary("/dev/full", text) if Path("/dev/full").exists() else "cannot be written"

    assert told is not None
    assert "cannot be written" in told


def test_a_pipe_that_nobody_reads_does_not_hold_us(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert append_summary(str(tmp_path / "pipe"), text) is not None


def test_text_that_has_no_bytes_is_written(tmp_path: Path) -> None:
    assert append_summary(str(tmp_path / "new"), lambda _room: "\ud800\n") is None
    assert (tmp_path / "new").read_bytes() == b"\\ud800\n"
