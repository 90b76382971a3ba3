"""What can be wrong with an outbox, from the names that SQLite gives its errors (pure)."""

from pathlib import Path

from hereya_tf.errors import FailureClass, HereyaError

_MAKE_ROOM = "see which disk is full, make room there, and run it again: `df -h`"
_LOCAL_PLACE = "point `HEREYA_TF_STATE_DIR` to a directory on a local disk that you can write to"
_KEPT = "nothing was removed: move the file away to begin with an empty outbox"
_NO_ROOM = frozenset(("SQLITE_FULL", "SQLITE_IOERR_SHMSIZE"))
_BUSY = frozenset(("SQLITE_BUSY", "SQLITE_LOCKED"))
_BROKEN = frozenset(("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_SCHEMA"))
_SHUT = frozenset(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH"))


class OutboxError(HereyaError):
    """The outbox cannot be used, or was asked for what it does not have."""

    failure_class = FailureClass.BAD_INPUT

    def __init__(
        self, sentence: str, *hints: str, failure_class: FailureClass = FailureClass.BAD_INPUT
    ) -> None:
        super().__init__(sentence, *hints)
        self.failure_class = failure_class

    @property
    def may_pass(self) -> bool:
        """Whether the same may work later, with nothing but the surroundings changed."""
        return self.failure_class in (FailureClass.DISK_FULL, FailureClass.BUSY)


def unusable(path: Path, name: str, text: str) -> OutboxError:
    """The error for what SQLite said; `name` is its symbolic code, such as `SQLITE_FULL`."""
    primary = "_".join(name.split("_")[:2])
    if name in _NO_ROOM or primary in _NO_ROOM:
        return no_room(path)
    if primary in _BUSY:
        return OutboxError(
            f"`{path}` has been locked by another process for too long",
            "see who has it open: `fuser -v FILE`",
            failure_class=FailureClass.BUSY,
        )
    if primary in _BROKEN:
        return OutboxError(f"`{path}` is damaged, or is no outbox: {text}", _KEPT)
    if primary in _SHUT:
        return OutboxError(f"`{path}` cannot be written: {text}", _LOCAL_PLACE)
    return OutboxError(f"`{path}` cannot be used: {text} ({name})", _LOCAL_PLACE)


def no_room(path: Path) -> OutboxError:
    """The error for a full disk; what was written before is there."""
    return OutboxError(
        f"the disk of `{path}` has no room left", _MAKE_ROOM, failure_class=FailureClass.DISK_FULL
    )


def shut(path: Path, text: str) -> OutboxError:
    """The error for a file or directory that the system does not let us use."""
    return OutboxError(f"`{path}` cannot be written: {text}", _LOCAL_PLACE)


def on_a_network(path: Path, kind: str) -> OutboxError:
    """The error for a file system that several machines share: its locks and its memory are not shared."""
    return OutboxError(f"`{path}` is on a network file system (`{kind}`)", _LOCAL_PLACE)


def without_shared_memory(path: Path, mode: str) -> OutboxError:
    """The error for a file system on which SQLite cannot keep a write-ahead log."""
    return OutboxError(
        f"the file system of `{path}` cannot hold an outbox: no write-ahead log, only `{mode}`", _LOCAL_PLACE
    )


def not_ours(path: Path) -> OutboxError:
    """The error for a database of another program, which is left as it is."""
    return OutboxError(f"`{path}` is a database, but no outbox of hereya-tf", _KEPT)


def too_new(path: Path, found: int, known: int) -> OutboxError:
    """The error for a file that a newer hereya-tf has written, which is left as it is."""
    return OutboxError(
        f"`{path}` was written by a newer hereya-tf: its format is {found}, this one knows {known}",
        "upgrade hereya-tf",
    )


def gone(path: Path) -> OutboxError:
    """The error for a file that was removed or replaced while it was open."""
    return OutboxError(
        f"`{path}` was removed or replaced while it was in use",
        "restart what uses it; put the file back first",
    )


def unstorable(path: Path, text: str) -> OutboxError:
    """The error for a number or a text that SQLite has no place for."""
    return OutboxError(
        f"`{path}` cannot hold such a value, nor look for it: {text}",
        "texts have to be valid Unicode, numbers at most 64 bits",
    )


def closed(path: Path) -> OutboxError:
    """The error for a store that was closed before."""
    return OutboxError(f"the outbox `{path}` is closed")
