"""The file of an outbox: what it may be, what is told when it cannot be, and that nothing is lost."""

import contextlib
import multiprocessing
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hereya_tf.errors import FailureClass
from hereya_tf.outbox import Delivered, Draft, OutboxError, OutboxStore, State, file_system
from hereya_tf.outbox import file as outbox_file
from hereya_tf.outbox.errors import unusable
from hereya_tf.outbox.file import OutboxFile
from hereya_tf.outbox.file_system import kind_of, network_kind, parse_mount, parse_mountinfo
from hereya_tf.outbox.schema import APPLICATION_ID, STEPS

Mount = Callable[[str], Path]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "outbox.db"


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Mounts a file system of its own, in memory."""
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("a file system of its own can be mounted by root on Linux only")
    place = tmp_path / "disk"
    place.mkdir()

    def make(options: str) -> Path:
        command = ("mount", "-t", "tmpfs", "-o", f"mode=0700,{options}", "tmpfs", str(place))
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            pytest.skip(f"nothing can be mounted here: {done.stderr}")
        return place

    yield make
    subprocess.run(("umount", "-l", str(place)), check=False, capture_output=True)


def refusal(path: Path) -> OutboxError:
    with pytest.raises(OutboxError) as caught:
        OutboxStore(path)
    return caught.value


def test_it_is_made_with_its_directory_and_for_its_user_alone(path: Path) -> None:
    before = os.umask(0)
    try:
        with OutboxStore(path) as store:
            store.append(1)
            modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()}
    finally:
        os.umask(before)

    assert store.path == path
    assert modes == {"outbox.db": 0o600, "outbox.db-wal": 0o600, "outbox.db-shm": 0o600}
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.behaviour("O1")
def test_everything_is_on_the_disk_before_a_call_returns(path: Path) -> None:
    with OutboxStore(path) as store, store._file.reading() as connection:
        found = {
            name: connection.execute(f"pragma {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous", "fullfsync", "application_id", "user_version")
        }

    assert found == {
        "journal_mode": "wal",
        "synchronous": 2,
        "fullfsync": 1,
        "application_id": APPLICATION_ID,
        "user_version": len(STEPS),
    }


def test_an_empty_file_is_an_empty_outbox(path: Path) -> None:
    path.parent.mkdir()
    path.touch()

    with OutboxStore(path) as store:
        assert store.append(1).is_new


def test_what_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("not a database, but long enough to be taken for one\n" * 50)
    before = path.read_bytes()

    error = refusal(path)

    assert (str(error), error.failure_class) == (
        f"`{path}` is damaged, or is no outbox: file is not a database",
        FailureClass.BAD_INPUT,
    )
    assert error.hints == ("nothing was removed: move the file away to begin with an empty outbox",)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("create table theirs (x)")
    before = path.read_bytes()

    error = refusal(path)

    assert str(error) == f"`{path}` is a database, but no outbox of hereya-tf"
    assert (path.read_bytes(), error.may_pass) == (before, False)


def test_a_newer_file_is_refused_and_left_alone(path: Path) -> None:
    OutboxStore(path).close()
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma user_version = 9")

    error = refusal(path)

    assert (
        str(error)
        == f"`{path}` was written by a newer hereya-tf: its format is 9, this one knows {len(STEPS)}"
    )
    assert error.hints == ("upgrade hereya-tf",)


def test_a_file_that_becomes_newer_while_it_is_open_is_written_no_more(path: Path) -> None:
    with OutboxStore(path) as store:
        with contextlib.closing(sqlite3.connect(path)) as connection:
            connection.execute("pragma user_version = 9")

        with pytest.raises(OutboxError, match="was written by a newer hereya-tf"):
            store.append(1)
        assert store.by_state(State.PENDING, 9) == ()


def test_an_older_file_gets_what_it_lacks_once_and_keeps_what_it_has(path: Path) -> None:
    OutboxStore(path).close()
    second = "alter table delivery add column note text; create index by_note on delivery (note)"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("pragma user_version = 1")

    steps = (STEPS[0], second)
    for _ in range(2):
        with OutboxStore(path, file=OutboxFile(path, steps=steps)) as store:
            store.append("kept")
    with contextlib.closing(sqlite3.connect(path)) as connection:
        assert connection.execute("pragma user_version").fetchone() == (2,)
        assert connection.execute("select payload, note from delivery").fetchall() == [('"kept"', None)] * 2


def test_a_migration_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    with OutboxStore(path) as store:
        store.append("kept")
    bad = ("", "alter table delivery add column note text; create nonsense")

    with pytest.raises(OutboxError, match="cannot be used"):
        OutboxFile(path, steps=bad)
    with OutboxStore(path) as store:
        assert [each.payload for each in store.by_state(State.PENDING, 9)] == ["kept"]


def test_a_damaged_page_is_told_and_nothing_is_removed(path: Path) -> None:
    with OutboxStore(path) as store:
        store.append_all(Draft("x" * 300, key=f"k{number}") for number in range(200))
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xff" * (size - 4096))

    with (
        pytest.raises(OutboxError, match="is damaged, or is no outbox") as caught,
        OutboxStore(path) as store,
    ):
        store.claim(store.clock(), 1000)
    assert caught.value.failure_class is FailureClass.BAD_INPUT
    assert path.stat().st_size == size


def test_a_truncated_file_is_told(path: Path) -> None:
    with OutboxStore(path) as store:
        store.append_all(Draft("x" * 300, key=f"k{number}") for number in range(200))
    os.truncate(path, 8192)

    with pytest.raises(OutboxError, match="is damaged, or is no outbox"), OutboxStore(path) as store:
        store.by_state(State.PENDING, 1000)


def test_a_directory_in_its_place_is_told(path: Path) -> None:
    path.mkdir(parents=True)

    assert str(refusal(path)) == f"`{path}` cannot be written: unable to open database file"


def test_a_file_above_it_is_told(path: Path) -> None:
    path.parent.write_text("a file")

    assert str(refusal(path)) == f"`{path}` cannot be written: Not a directory"


def test_a_read_only_directory_is_told(mount: Mount) -> None:
    place = mount("size=4m")
    subprocess.run(("mount", "-o", "remount,ro", str(place)), check=True)

    error = refusal(place / "outbox.db")

    assert str(error) == f"`{place / 'outbox.db'}` cannot be written: Read-only file system"
    assert (error.failure_class, error.hints) == (
        FailureClass.BAD_INPUT,
        ("point `HEREYA_TF_STATE_DIR` to a directory on a local disk that you can write to",),
    )


def test_a_file_in_a_directory_that_has_become_read_only_is_told_and_intact_afterwards(mount: Mount) -> None:
    place = mount("size=4m")
    with OutboxStore(place / "outbox.db") as store:
        store.append("kept")
    subprocess.run(("mount", "-o", "remount,ro", str(place)), check=True)

    assert "cannot be written" in str(refusal(place / "outbox.db"))
    subprocess.run(("mount", "-o", "remount,rw", str(place)), check=True)
    with OutboxStore(place / "outbox.db") as store:
        assert [each.payload for each in store.by_state(State.PENDING, 9)] == ["kept"]


def test_a_full_disk_is_told_and_everything_written_before_is_there(mount: Mount) -> None:
    place = mount("size=1m")
    written: list[int] = []
    with OutboxStore(place / "outbox.db") as store:
        with pytest.raises(OutboxError) as caught:
            append_for_ever(store, written)
        assert (str(caught.value), caught.value.failure_class, caught.value.may_pass) == (
            f"the disk of `{place / 'outbox.db'}` has no room left",
            FailureClass.DISK_FULL,
            True,
        )
        assert len(written) > 20
        assert numbers(store) == written, "it can still be read"
        subprocess.run(("mount", "-o", "remount,size=4m", str(place)), check=True)
        claimed = store.claim(store.clock(), 1000)
        assert claimed is not None
        assert claimed.claim_token is not None
        assert store.settle(claimed.id, Delivered(), claimed.claim_token) is State.DELIVERED
    with OutboxStore(place / "outbox.db") as store:
        assert numbers(store) == written[1:]


def append_for_ever(store: OutboxStore, written: list[int]) -> None:
    for number in range(100_000):
        store.append({"number": number, "room": "x" * 2_000}, key="a")
        written.append(number)


def numbers(store: OutboxStore) -> list[int]:
    return [each.payload["number"] for each in store.by_state(State.PENDING, 100_000)]


def test_a_disk_that_is_full_from_the_start_is_told(mount: Mount) -> None:
    place = mount("size=1m")
    with contextlib.suppress(OSError), (place / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))

    assert refusal(place / "outbox.db").failure_class is FailureClass.DISK_FULL


@pytest.mark.parametrize("act", ["remove", "replace"])
def test_a_file_that_is_gone_is_not_written_into_the_void(path: Path, act: str) -> None:
    with OutboxStore(path) as store:
        path.rename(path.with_name("elsewhere"))
        if act == "replace":
            path.touch()

        with pytest.raises(OutboxError, match="was removed or replaced while it was in use"):
            store.append(1)


def test_a_file_that_others_do_not_let_go_of_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox_file, "_PATIENCE", 0.05)
    with (
        OutboxStore(path) as store,
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as other,
    ):
        other.execute("begin immediate")
        with pytest.raises(OutboxError, match="has been locked by another process for too long") as caught:
            store.append(1)
        assert (caught.value.failure_class, caught.value.may_pass) == (FailureClass.BUSY, True)
        other.execute("rollback")
        assert store.append(1).is_new


def test_a_file_that_is_busy_for_a_moment_is_waited_for(path: Path) -> None:
    with (
        OutboxStore(path) as store,
        contextlib.closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
    ):
        other.execute("begin immediate")
        timer = threading.Timer(0.05, other.execute, ("rollback",))
        timer.start()
        assert store.append(1).is_new
        timer.join()


def test_a_closed_store_says_so(path: Path) -> None:
    store = OutboxStore(path)
    store.close()
    store.close()

    with pytest.raises(OutboxError, match="is closed"):
        store.append(1)


def test_a_transaction_that_is_left_by_an_exception_has_changed_nothing(path: Path) -> None:
    with OutboxStore(path) as store:
        store.append("before")
        with pytest.raises(KeyboardInterrupt):
            delete_and_be_interrupted(store)

        assert [each.payload for each in store.by_state(State.PENDING, 9)] == ["before"]


def delete_and_be_interrupted(store: OutboxStore) -> None:
    with store._file.writing() as connection:
        connection.execute("delete from delivery")
        raise KeyboardInterrupt


def test_many_threads_share_one_store(path: Path) -> None:
    with OutboxStore(path) as store, ThreadPoolExecutor(8) as pool:
        list(pool.map(store.append, range(200)))

        assert sorted(each.payload for each in store.by_state(State.PENDING, 999)) == list(range(200))


def test_processes_that_make_the_same_files_at_once_all_succeed(tmp_path: Path) -> None:
    files = 30
    code = (
        "import sqlite3, sys; from pathlib import Path; from hereya_tf.outbox import OutboxStore\n"
        "sys.stdin.read()\n"
        f"for name in range({files}): OutboxStore(Path(sys.argv[1]) / str(name)).append(1)"
    )
    reader, writer = os.pipe()
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdin=reader, stderr=subprocess.PIPE)
        for _ in range(5)
    ]
    os.close(reader)
    os.close(writer)
    for process in running:
        assert process.stderr is not None
        with process.stderr as stderr:
            said = stderr.read()
        assert (process.wait(60), said.decode()) == (0, "")
    for name in range(files):
        with OutboxStore(tmp_path / str(name)) as store:
            assert len(store.by_state(State.PENDING, 99)) == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_has_a_connection_of_its_own(path: Path) -> None:
    with OutboxStore(path) as store:
        store.append("parent")
        # Whatever another thread was at in the moment of the fork.
        store._file._lock.acquire()
        child = multiprocessing.get_context("fork").Process(target=append_and_close, args=(store,))
        child.start()
        store._file._lock.release()
        child.join(60)
        assert child.exitcode == 0
        store.append("parent again")

        assert [each.payload for each in store.by_state(State.PENDING, 9)] == [
            "parent",
            "child",
            "parent again",
        ]


def append_and_close(store: OutboxStore) -> None:
    store.append("child")
    store.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_that_only_closes_leaves_the_parents_connection_alone(path: Path) -> None:
    with OutboxStore(path) as store:
        # Whatever another thread was at in the moment of the fork.
        store._file._lock.acquire()
        child = multiprocessing.get_context("fork").Process(target=close_and_append, args=(store,))
        child.start()
        store._file._lock.release()
        child.join(60)

        assert (child.exitcode, store.append(1).is_new) == (0, True)


def close_and_append(store: OutboxStore) -> None:
    store.close()
    with pytest.raises(OutboxError, match="is closed"):
        store.append(1)


def test_a_network_file_system_is_refused_before_anything_is_written(path: Path) -> None:
    with pytest.raises(OutboxError) as caught:
        OutboxFile(path, network=lambda _path: "nfs4")

    assert str(caught.value) == f"`{path}` is on a network file system (`nfs4`)"
    assert not path.parent.exists()


MOUNTINFO = r"""22 27 0:21 / / rw,relatime - ext4 /dev/vda rw
23 27 0:22 / /home rw,relatime shared:1 - nfs4 server:/home rw,vers=4.2
24 27 0:23 / /home/me/local\040disk rw - ext4 /dev/vdb rw
25 27 0:24 / /mnt rw - ext4 /dev/vdc rw
26 27 0:25 / /mnt rw - fuse.sshfs host: rw
nonsense
"""
MOUNT = """/dev/disk3s1 on / (apfs, sealed, local, read-only, journaled)
//me@server/share on /Volumes/a share (smbfs, nodev, nosuid, mounted by me)
map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/homework/x", "ext4"),
        ("/home", "nfs4"),
        ("/home/me/state/outbox.db", "nfs4"),
        ("/home/me/local disk/outbox.db", "ext4"),
        ("/mnt/x", "fuse.sshfs"),
    ],
)
def test_linux_says_which_file_system_holds_a_path(path: str, kind: str) -> None:
    assert kind_of(path, parse_mountinfo(MOUNTINFO)) == kind


@pytest.mark.parametrize(("path", "kind"), [("/Users/me", "apfs"), ("/Volumes/a share/x", "smbfs")])
def test_macos_says_which_file_system_holds_a_path(path: str, kind: str) -> None:
    assert kind_of(path, parse_mount(MOUNT)) == kind


def test_where_the_system_says_nothing_of_what_is_mounted_it_is_taken_for_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_system, "_MOUNTINFO", tmp_path / "missing")

    assert network_kind(tmp_path) is None


def test_where_nothing_is_said_there_is_no_network(tmp_path: Path) -> None:
    assert kind_of("/x", []) is None
    assert network_kind(tmp_path / "missing" / "outbox.db") is None


@pytest.mark.parametrize(
    ("name", "expected", "failure_class"),
    [
        ("SQLITE_FULL", "the disk of `x` has no room left", FailureClass.DISK_FULL),
        ("SQLITE_IOERR_SHMSIZE", "the disk of `x` has no room left", FailureClass.DISK_FULL),
        ("SQLITE_IOERR_READ", "`x` cannot be used: text (SQLITE_IOERR_READ)", FailureClass.BAD_INPUT),
        ("SQLITE_READONLY_DBMOVED", "`x` cannot be written: text", FailureClass.BAD_INPUT),
        ("SQLITE_BUSY_SNAPSHOT", "`x` has been locked by another process for too long", FailureClass.BUSY),
        ("", "`x` cannot be used: text ()", FailureClass.BAD_INPUT),
    ],
)
def test_what_sqlite_says_has_its_sentence(name: str, expected: str, failure_class: FailureClass) -> None:
    error = unusable(Path("x"), name, "text")

    assert (str(error), error.failure_class) == (expected, failure_class)
    assert error.hints
