"""The file of an outbox: opened with care, used in transactions, its errors told in sentences (I/O)."""

import contextlib
import errno
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hereya_tf.outbox import errors
from hereya_tf.outbox.clock import Clock, boot_name, find_clock
from hereya_tf.outbox.file_system import network_kind
from hereya_tf.outbox.schema import APPLICATION_ID, STEPS
from hereya_tf.private import make_private_directory

if TYPE_CHECKING:
    import sqlite3

Result = TypeVar("Result")

# Seconds.
_PATIENCE = 30.0
_BETWEEN_TRIES = (0.002, 0.02)
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
# What a transaction returns from is on the disk for good. The log is copied back every 16 MB, four times as rarely
# as usual: so much faster are many small transactions.
_SETTINGS = (
    *("synchronous = full", "fullfsync = on"),
    *("wal_autocheckpoint = 4000", "journal_size_limit = 67108864"),
)
# Connections that a forked child has inherited: to close one would touch the parent's files.
_inherited: list["sqlite3.Connection"] = []


class OutboxFile:
    """One connection to the file, which the threads of a process take turns with.

    A child that was forked opens a connection of its own.
    """

    def __init__(
        self,
        path: Path,
        *,
        steps: Sequence[str] = STEPS,
        boot: Callable[[], str | None] = boot_name,
        network: Callable[[Path], str | None] = network_kind,
    ) -> None:
        self.path = path
        self._steps = steps
        self._boot = boot
        self._network = network
        self._closed = False
        self._open()

    @property
    def clock(self) -> Clock:
        """The clock that leases and back-offs are kept by, in milliseconds."""
        return self._clock

    @contextlib.contextmanager
    def writing(self) -> Iterator["sqlite3.Connection"]:
        """A transaction that nobody else writes beside; all of it is on the disk afterwards, or nothing.

        Raises OutboxError.
        """
        with self._turn() as connection:
            _begin(connection)
            try:
                self._check_version(connection)
                yield connection
                connection.execute("commit")
            except BaseException:
                self._roll_back(connection)
                raise

    @contextlib.contextmanager
    def reading(self) -> Iterator["sqlite3.Connection"]:
        """Queries, each of which sees what was committed before it. Raises OutboxError."""
        with self._turn() as connection:
            yield connection

    def close(self) -> None:
        """Give the file back; a second call does nothing."""
        if self._process != os.getpid():
            # The lock may have been held, for ever, when this child was forked.
            self._lock = threading.Lock()
            self._closed = True
            return
        with self._lock:
            if not self._closed:
                self._connection.close()
            self._closed = True

    def _open(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        with _explained(self.path):
            self._create()
            self._connection = _connect(self.path)
            try:
                self._prepare(self._connection)
            except BaseException:
                self._connection.close()
                raise
        self._identity = self._find_identity()

    def _create(self) -> None:
        """Make an empty file that nobody else may read, where there is none; SQLite gives its mode to the log."""
        if (kind := self._network(self.path)) is not None:
            raise errors.on_a_network(self.path, kind)
        make_private_directory(self.path.parent)
        with contextlib.suppress(FileExistsError):
            # Only when it is new: to close any descriptor of a file drops all locks that the process has on it.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))

    def _prepare(self, connection: "sqlite3.Connection") -> None:
        # One look: between two, another process may have made it.
        connection.execute("begin")
        try:
            version = self._check_owner(connection)
        finally:
            self._roll_back(connection)
        for setting in _SETTINGS:
            connection.execute(f"pragma {setting}")
        if version == 0:
            connection.execute("pragma auto_vacuum = incremental")
        mode = _patiently(lambda: connection.execute("pragma journal_mode = wal").fetchone()[0])
        if mode != "wal":
            raise errors.without_shared_memory(self.path, mode)
        connection.execute("begin immediate")
        try:
            self._migrate(connection)
            self._clock = find_clock(connection, self._boot())
            connection.execute("commit")
        except BaseException:
            self._roll_back(connection)
            raise

    def _check_owner(self, connection: "sqlite3.Connection") -> int:
        """The version of the file's format, 0 for none yet. Raises OutboxError for what is not ours to touch."""
        application = connection.execute("pragma application_id").fetchone()[0]
        version: int = connection.execute("pragma user_version").fetchone()[0]
        tables = connection.execute("select count(*) from sqlite_master").fetchone()[0]
        if application != APPLICATION_ID and (application, version, tables) != (0, 0, 0):
            raise errors.not_ours(self.path)
        if version > len(self._steps):
            raise errors.too_new(self.path, version, len(self._steps))
        return version

    def _migrate(self, connection: "sqlite3.Connection") -> None:
        version = self._check_owner(connection)  # again: another process may have been faster
        for step in self._steps[version:]:
            for statement in step.split(";"):
                connection.execute(statement)
        if version < len(self._steps):
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
            connection.execute(f"pragma user_version = {len(self._steps)}")

    def _check_version(self, connection: "sqlite3.Connection") -> None:
        """A newer process may have changed the tables under a connection that is open for days."""
        version: int = connection.execute("pragma user_version").fetchone()[0]
        if version != len(self._steps):
            raise errors.too_new(self.path, version, len(self._steps))

    @contextlib.contextmanager
    def _turn(self) -> Iterator["sqlite3.Connection"]:
        if self._process != os.getpid() and not self._closed:
            _inherited.append(self._connection)
            self._open()
        with self._lock, _explained(self.path):
            if self._closed:
                raise errors.closed(self.path)
            # What is written to a file that has no name any more is lost without a word.
            if self._find_identity() != self._identity:
                raise errors.gone(self.path)
            yield self._connection

    def _find_identity(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.path)  # noqa: PTH116 - at every transaction
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _roll_back(self, connection: "sqlite3.Connection") -> None:
        import sqlite3

        # After some errors SQLite has done it by itself.
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("rollback")


def _connect(path: Path) -> "sqlite3.Connection":
    import sqlite3

    return sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What SQLite and the system complain of, as an OutboxError."""
    import sqlite3

    try:
        yield
    except sqlite3.Error as error:
        raise errors.unusable(path, getattr(error, "sqlite_errorname", "") or "", str(error)) from error
    except OSError as error:
        if error.errno in _NO_ROOM:
            raise errors.no_room(path) from error
        raise errors.shut(path, error.strerror or str(error)) from error
    except (OverflowError, UnicodeEncodeError) as error:
        raise errors.unstorable(path, str(error)) from error


def _begin(connection: "sqlite3.Connection") -> None:
    """Begin to write as soon as nobody else does.

    SQLite itself would wait in ever longer steps, up to 100 ms, while who comes later takes the file: measured
    with 8 processes, one waited for 5 s now and then.
    """
    connection.execute("pragma busy_timeout = 0")
    try:
        _patiently(lambda: connection.execute("begin immediate"))
    finally:
        connection.execute(f"pragma busy_timeout = {_PATIENCE * 1000:.0f}")


def _patiently(act: Callable[[], Result]) -> Result:
    """What `act` returns, tried again while the file is busy."""
    import sqlite3

    deadline = time.monotonic() + _PATIENCE
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if not error.sqlite_errorname.startswith("SQLITE_BUSY") or time.monotonic() > deadline:
                raise
            # By chance, so that two that wait do not wake together for ever.
            time.sleep(random.uniform(*_BETWEEN_TRIES))  # noqa: S311
