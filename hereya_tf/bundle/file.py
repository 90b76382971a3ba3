"""Writes and reads the one file that a bundle is: a zip archive that is not compressed (I/O).

Not compressed, so that a small file cannot turn into a large one: what is read is never more than what is there.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, NamedTuple

from hereya_tf.bundle.identity import LARGEST_LOCK_FILE
from hereya_tf.bundle.manifest import Manifest, NewerFormatError, decode_manifest, encode_manifest
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.errors import BadInput, HereyaError, NoRoom
from hereya_tf.package.lock_file import read_lock_selections
from hereya_tf.private import open_private, sync_directory, write_all
from hereya_tf.reading import read_regular_file, reason

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

_MANIFEST, _SALT, _PLAN = "manifest.json", "salt", "plan"
# Bytes. Below 2 GiB the archive needs none of the extensions of its format.
_LARGEST = {_MANIFEST: 16 << 20, _SALT: 64, _PLAN: 1 << 30, LOCK_FILE: LARGEST_LOCK_FILE}
_LARGEST_DIRECTORY = 1 << 20
_CHUNK = 1 << 20
# An archive begins with its first member's header of 30 bytes and name, and ends with 22 bytes of its own.
_FIRST_NAME = slice(30, 30 + len(_MANIFEST))
_HEAD_BYTES = 4096
_END_BYTES, _END = 22, b"PK\5\6"
_DIRECTORY_SIZE = slice(12, 16)
# The member that every plan file of an engine has, and the key of one that lies in Terraform Cloud.
_ENGINE_PLAN, _CLOUD_PLAN = "tfplan", b'"remote_plan_format"'

_WRITE_ONE = "`hereya-tf plan --out BUNDLE` writes one"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Bundle(NamedTuple):
    """A bundle that was read; the plan stays in its file until it is extracted."""

    path: Path
    manifest: Manifest
    lock_file: bytes | None

    def extract_plan(self, to: Path) -> Path:
        """Write the engine's plan to a private file. Raises BadInput, NoRoom."""
        with _opened(self.path) as archive:
            if _read(archive, self.path) != self:
                raise BadInput(f"`{self.path}` has changed while it was in use", "start again")
            try:
                with archive.open(_PLAN) as plan, _private(to) as target:
                    _copy(plan, lambda chunk: _write_chunk(to, target, chunk))
            except BaseException:
                with contextlib.suppress(OSError):
                    to.unlink()
                raise
        return to


def check_destination(path: Path) -> Path:
    """The file that a bundle can be written to, links followed. Raises BadInput."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise BadInput(f"`{path}` is a directory, and a bundle is a file", "name a file in it")
    if target.exists() and not target.is_file():
        raise BadInput(f"`{path}` is not a regular file", "a bundle cannot be a pipe or a device")
    if not _is_replaceable(target):
        raise BadInput(
            f"`{path}` is there already, and is not a plan bundle", "give another name, or remove it first"
        )
    if not target.parent.is_dir():
        raise BadInput(f"`{path}` cannot be written: there is no directory for it", "make its directory")
    if not os.access(target.parent, os.W_OK):
        raise BadInput(
            f"`{path}` cannot be written: its directory is read-only", "write the bundle somewhere else"
        )
    return target


def _is_replaceable(path: Path) -> bool:
    """Whether nothing is lost by a bundle in the place of this file: a slip would cost a configuration, a state."""
    try:
        begin = read_regular_file(path, at_most=_FIRST_NAME.stop)
    except OSError:
        return True  # there is none, or the system will say why it cannot be written
    return not begin or begin[_FIRST_NAME] == _MANIFEST.encode()


def write_bundle(path: Path, *, plan: Path, lock_file: bytes | None, manifest: Manifest) -> Path:
    """Write a bundle in one step, readable for the user alone. Raises BadInput, NoRoom.

    Its providers are those of the lock file: what was there before init is not what the plan was made with.
    """
    target = check_destination(path)
    providers = None if lock_file is None else read_lock_selections(lock_file)
    manifest = manifest._replace(identity=manifest.identity._replace(providers=providers))
    temporary = target.with_name(f".hereya-tf-{os.urandom(8).hex()}")
    try:
        if plan.stat().st_size > _LARGEST[_PLAN]:
            raise BadInput(
                f"the plan is larger than {_LARGEST[_PLAN] >> 30} GiB, which is too much for a bundle",
                "split the package",
            )
        if not _is_whole_plan(plan):
            raise NoRoom(
                f"the engine has written half a plan to `{plan}`",
                "free some space on that disk, and plan again",
            )
        # Not for appending: sizes are filled in afterwards.
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        with open(os.open(temporary, flags, 0o600), "w+b") as file:  # noqa: PTH123 - a descriptor
            _write(file, plan, lock_file, manifest)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        sync_directory(target.parent)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return target


def _is_whole_plan(path: Path) -> bool:
    """An engine takes no notice when its disk is full, and ends with exit code 0."""
    with path.open("rb") as file:
        begin = file.read(1)
        file.seek(max(0, path.stat().st_size - _END_BYTES))
        return begin == b"{" or file.read().startswith(_END)


def _write(file: BinaryIO, plan: Path, lock_file: bytes | None, manifest: Manifest) -> None:
    from zipfile import ZipFile, ZipInfo

    def member(name: str) -> ZipInfo:
        info = ZipInfo(name)
        info.external_attr = (stat.S_IFREG | 0o600) << 16
        return info

    with ZipFile(file, "w") as archive:
        archive.writestr(member(_MANIFEST), encode_manifest(manifest))
        archive.writestr(member(_SALT), manifest.salt)
        if lock_file is not None:
            archive.writestr(member(LOCK_FILE), lock_file)
        with plan.open("rb") as source, archive.open(member(_PLAN), "w") as target:
            _copy(source, target.write)


def read_bundle(path: Path) -> Bundle:
    """Read what a bundle says, and check that it is one. Raises BadInput."""
    with _opened(path) as archive:
        return _read(archive, path)


@contextlib.contextmanager
def _opened(path: Path) -> "Iterator[ZipFile]":
    """The archive; whatever is wrong with its bytes is BadInput."""
    import struct
    from zipfile import BadZipFile, ZipFile

    # All that the module says to bytes that make no sense.
    nonsense = (
        BadZipFile,
        struct.error,
        EOFError,
        LookupError,
        OSError,
        RuntimeError,
        OverflowError,
        ValueError,
    )
    try:
        file = _open_regular(path)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"`{path}` cannot be read: {reason(error)}", f"check the path and its permissions; {_WRITE_ONE}"
        ) from error
    with file:
        begin = _check_frame(file, path)
        try:
            with ZipFile(file) as archive:
                yield archive
        except nonsense as error:
            raise _damaged(path, begin) from error


def _open_regular(path: Path) -> BinaryIO:
    # Without O_NONBLOCK, opening a named pipe that nobody writes to never returns.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _no_bundle(path)
    return open(descriptor, "rb")  # noqa: PTH123 - a descriptor, closed by the caller


def _check_frame(file: BinaryIO, path: Path) -> bytes:
    """The beginning of a file that can be an archive of ours. Raises BadInput."""
    try:
        size = os.fstat(file.fileno()).st_size
        begin = file.read(_HEAD_BYTES)
        file.seek(max(0, size - _END_BYTES))
        end = file.read(_END_BYTES)
    except OSError as error:
        raise BadInput(f"`{path}` cannot be read: {reason(error)}", _WRITE_ONE) from error
    if begin.lstrip().startswith(b"{") and _CLOUD_PLAN in begin:
        raise _engine_plan(path)
    if size > sum(_LARGEST.values()) + _LARGEST_DIRECTORY:
        raise _no_bundle(path)
    # A long directory would be millions of objects in memory before anybody could say no.
    if not end.startswith(_END) or int.from_bytes(end[_DIRECTORY_SIZE], "little") > _LARGEST_DIRECTORY:
        raise _damaged(path, begin)
    return begin


def _read(archive: "ZipFile", path: Path) -> Bundle:
    members = archive.infolist()
    names = [member.filename for member in members]
    if _MANIFEST not in names:
        raise _engine_plan(path) if _ENGINE_PLAN in names else _no_bundle(path)
    for member in members:
        if member.filename in _LARGEST and not _is_plain(member):
            raise _odd(path)
    if len(set(names)) < len(names):
        raise _odd(path)
    salt = archive.read(_SALT) if _SALT in names else b""
    try:
        manifest = decode_manifest(archive.read(_MANIFEST).decode("utf-8"), salt)
    except NewerFormatError as error:
        raise BadInput(
            f"`{path}` is a plan bundle of format {error.args[0]}, which this version cannot read",
            "use the version of hereya-tf that made the plan, or a newer one",
        ) from error
    except (ValueError, RecursionError) as error:
        raise _odd(path) from error
    if not {_SALT, _PLAN} <= set(names) <= set(_LARGEST) or not salt:
        raise _odd(path)
    return Bundle(path, manifest, archive.read(LOCK_FILE) if LOCK_FILE in names else None)


def _is_plain(member: "ZipInfo") -> bool:
    """Whether a member is as we write them, and not longer than it may be."""
    return (
        member.compress_type == 0
        and not member.flag_bits & 0x1
        and member.file_size <= _LARGEST[member.filename]
    )


def _copy(source: IO[bytes], write: Callable[[bytes], object]) -> None:
    while chunk := source.read(_CHUNK):
        write(chunk)


def _private(path: Path) -> BinaryIO:
    try:
        return open_private(path, truncate=True)
    except OSError as error:
        raise _no_room(path, error) from error


def _write_chunk(path: Path, target: BinaryIO, chunk: bytes) -> None:
    try:
        write_all(target.fileno(), chunk)
    except OSError as error:
        raise _no_room(path, error) from error


def _no_room(path: Path, error: OSError) -> NoRoom:
    return NoRoom(
        f"the plan cannot be written to `{path}`: {reason(error)}", "free some space, and start again"
    )


def _cannot_write(path: Path, error: OSError) -> HereyaError:
    if error.errno in _NO_ROOM:
        return NoRoom(
            f"the bundle cannot be written to `{path}`: {reason(error)}", "free some space, and plan again"
        )
    return BadInput(
        f"the bundle cannot be written to `{path}`: {reason(error)}", "write the bundle somewhere else"
    )


def _no_bundle(path: Path) -> BadInput:
    return BadInput(f"`{path}` is not a plan bundle", _WRITE_ONE)


def _engine_plan(path: Path) -> BadInput:
    return BadInput(
        f"`{path}` is an engine's own plan file, not a bundle: it says nothing of workspace and backend",
        "make a bundle: `hereya-tf plan --out BUNDLE`",
    )


def _damaged(path: Path, begin: bytes) -> BadInput:
    """Bytes that are no archive; those that begin like one of ours have lost their end."""
    if begin[_FIRST_NAME] != _MANIFEST.encode():
        return _no_bundle(path)
    return BadInput(
        f"`{path}` is a plan bundle that is cut off or damaged", "copy it again, or make a new plan"
    )


def _odd(path: Path) -> BadInput:
    return BadInput(f"`{path}` holds something that no plan bundle holds", _WRITE_ONE)
