import os
from pathlib import Path

import pytest

from hereya_tf.private import sync_directory, write_private
from hereya_tf.states.durable import copy_durably, is_copy


def test_a_text_is_replaced_in_one_step_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "note"
    path.write_text("old")
    path.chmod(0o644)
    # What a process of this number has left when it was killed.
    (tmp_path / f".note.{os.getpid()}").write_text("half")

    write_private(path, "new ü", durable=True)

    assert path.read_text(encoding="utf-8") == "new ü"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in tmp_path.iterdir() if "note" in entry.name] == ["note"]


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "note"
    path.mkdir()

    with pytest.raises(OSError, match="directory"):
        write_private(path, "new", durable=True)

    assert [entry.name for entry in tmp_path.iterdir() if "note" in entry.name] == ["note"]


def test_a_copy_is_whole_private_and_never_written_over_another_file(tmp_path: Path) -> None:
    source, target = tmp_path / "state", tmp_path / "copy"
    content = os.urandom((2 << 20) + 17)
    source.write_bytes(content)

    with source.open("rb") as file:
        copy_durably(file, target)

    assert (target.read_bytes() == content, target.stat().st_mode & 0o777) == (True, 0o600)
    source.write_bytes(b"other")
    with source.open("rb") as file, pytest.raises(FileExistsError):
        copy_durably(file, target)
    assert target.read_bytes() == content


def test_half_a_copy_is_none(tmp_path: Path) -> None:
    with (tmp_path / "closed").open("w+b", buffering=0) as file:
        pass

    with pytest.raises(ValueError, match="closed"):
        copy_durably(file, tmp_path / "copy")

    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    ("other", "same"),
    [
        pytest.param(b"x" * 3_000_000, True, id="same"),
        pytest.param(b"x" * 2_999_999 + b"y", False, id="other end"),
        pytest.param(b"x" * 2_999_999, False, id="shorter"),
        pytest.param(b"x" * 3_000_001, False, id="longer"),
        pytest.param(b"", False, id="empty"),
    ],
)
def test_files_are_compared_to_their_ends(tmp_path: Path, other: bytes, same: bool) -> None:
    (tmp_path / "one").write_bytes(b"x" * 3_000_000)
    (tmp_path / "other").write_bytes(other)

    with (tmp_path / "one").open("rb") as one, (tmp_path / "other").open("rb") as two:
        assert is_copy(one, two) is same


def test_a_directory_that_cannot_be_synchronised_is_no_failure(tmp_path: Path) -> None:
    sync_directory(tmp_path / "missing")

    assert not (tmp_path / "missing").exists()
