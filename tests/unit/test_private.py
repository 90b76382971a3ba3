"""Files of ours are the user's alone, and whole or not there."""

import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.private import (
    free_bytes,
    make_private_directory,
    nameless_file,
    open_private,
    write_all,
    write_private,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o177], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    """Somebody's umask."""
    mask: int = request.param
    before = os.umask(mask)
    yield mask
    os.umask(before)


# Directories


def test_every_directory_that_is_made_is_private_and_no_other_is_touched(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        (tmp_path / "theirs").mkdir(mode=0o755)
        make_private_directory(tmp_path / "theirs/a/b")
    finally:
        os.umask(before)

    modes = [mode(tmp_path / "theirs" / name) for name in (".", "a", "a/b")]
    assert modes == [0o755, 0o700, 0o700]


def test_a_directory_that_is_there_is_enough(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir(mode=0o755)
    make_private_directory(tmp_path / "theirs")

    assert mode(tmp_path / "theirs") == 0o755


@pytest.mark.parametrize("inside", ["", "child", "child/grandchild"])
def test_a_file_in_the_way_is_an_error(tmp_path: Path, inside: str) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(OSError, match="Not a directory"):
        make_private_directory(tmp_path / "file" / inside)


def test_a_link_to_nowhere_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")

    with pytest.raises(NotADirectoryError):
        make_private_directory(tmp_path / "link")


def test_two_may_make_the_same_directory_at_once(tmp_path: Path) -> None:
    errors: list[BaseException] = []
    barrier = threading.Barrier(8)

    def make() -> None:
        try:
            barrier.wait(30)
            for number in range(20):
                make_private_directory(tmp_path / f"{number}/a/b/c")
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            errors.append(error)

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert errors == []


# Files


def test_a_new_file_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    with open_private(tmp_path / "file") as file:
        file.write(b"text")

    assert mode(tmp_path / "file") == 0o600


def test_a_file_that_others_could_read_becomes_private(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old ")
    (tmp_path / "file").chmod(0o644)
    with open_private(tmp_path / "file") as file:
        file.write(b"new")

    assert (mode(tmp_path / "file"), (tmp_path / "file").read_text()) == (0o600, "old new")


def test_truncated_is_empty(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    open_private(tmp_path / "file", truncate=True).close()

    assert (tmp_path / "file").read_text() == ""


def test_two_that_append_do_not_overwrite_each_other(tmp_path: Path) -> None:
    with open_private(tmp_path / "file") as one, open_private(tmp_path / "file") as other:
        one.write(b"1")
        other.write(b"2")
        one.write(b"3")

    assert (tmp_path / "file").read_text() == "123"


def test_children_do_not_inherit_it(tmp_path: Path) -> None:
    with open_private(tmp_path / "file") as file:
        assert not os.get_inheritable(file.fileno())


def test_a_device_or_a_pipe_is_not_closed_to_others(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o622)
    (tmp_path / "pipe").chmod(0o622)
    before = mode(Path(os.devnull))
    for path in (Path(os.devnull), tmp_path / "pipe"):
        open_private(path).close()

    assert (mode(Path(os.devnull)), mode(tmp_path / "pipe")) == (before, 0o622)


def test_a_file_whose_mode_cannot_be_changed_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_descriptor: int, _mode: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "fchmod", refuse)
    before = len(list(Path("/dev/fd").iterdir()))
    with pytest.raises(PermissionError):
        open_private(tmp_path / "file")

    assert len(list(Path("/dev/fd").iterdir())) == before


# Whole files


def test_what_is_written_is_there_and_private(tmp_path: Path, umask: int) -> None:
    assert write_private(tmp_path / "file", "téxt\n") == tmp_path / "file"

    assert (mode(tmp_path / "file"), (tmp_path / "file").read_bytes()) == (0o600, "téxt\n".encode())
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["file"]


def test_lone_surrogates_survive(tmp_path: Path) -> None:
    write_private(tmp_path / "file", "a\udc80")

    assert (tmp_path / "file").read_bytes().decode("utf-8", "surrogatepass") == "a\udc80"


def test_readers_see_the_old_or_the_new_whole(tmp_path: Path) -> None:
    texts = {letter * 300_000 for letter in "abc"}
    write_private(tmp_path / "file", "a" * 300_000)
    seen: set[str] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.add((tmp_path / "file").read_text())

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(30):
        for text in texts:
            write_private(tmp_path / "file", text)
    done.set()
    thread.join(30)

    assert seen
    assert seen <= texts


def test_the_leftover_of_a_killed_writer_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / f".file.{os.getpid()}").write_text("half of somethi")
    write_private(tmp_path / "file", "new")

    assert (tmp_path / "file").read_text() == "new"
    assert not (tmp_path / f".file.{os.getpid()}").exists()


def test_a_write_that_fails_leaves_the_old_and_no_rubbish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_private(tmp_path / "file", "old")
    before = sorted(tmp_path.iterdir())

    def full(_descriptor: int, _data: bytes) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space"):
            write_private(tmp_path / "file", "new")

    assert (tmp_path / "file").read_text() == "old"
    assert sorted(tmp_path.iterdir()) == before


def test_a_directory_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_private(tmp_path / "nowhere/file", "text")


@given(data=st.binary(max_size=200), piece=st.integers(1, 7))
def test_every_byte_is_written_however_many_calls_it_takes(data: bytes, piece: int) -> None:
    written = bytearray()

    def write_little(_descriptor: int, view: memoryview) -> int:
        written.extend(view[:piece])
        return min(piece, len(view))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, "write", write_little)
        write_all(-1, data)

    assert written == data


# Without a name


@pytest.mark.parametrize("memory", [True, False], ids=["memory", "temporary-file"])
def test_a_nameless_file_is_read_and_written(
    memory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not memory:
        monkeypatch.delattr(os, "memfd_create", raising=False)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = sorted(tmp_path.iterdir())
    with nameless_file() as file:
        file.write(b"one")
        file.write(b"two")
        assert os.pread(file.fileno(), 10, 0) == b"onetwo"
        assert sorted(tmp_path.iterdir()) == before


def test_room_is_told_in_bytes(tmp_path: Path) -> None:
    assert free_bytes(tmp_path) > 1000
    assert free_bytes(tmp_path / "nowhere") == 0
