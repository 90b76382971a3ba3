"""Unpacks an archive into a directory: files, directories and links that stay inside, and nothing else (I/O).

Nothing is written through a link: files are new ones, their directories are looked at one by one, and links are
made last. What stands where a member belongs gives way to it, so that unpacking again restores a package.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from hereya_tf.checkouts.careful import CarefulReader
from hereya_tf.checkouts.errors import RefusedPackage, as_part
from hereya_tf.checkouts.limits import Limits
from hereya_tf.checkouts.listing import refuse_too_much
from hereya_tf.checkouts.members import LONGEST_LINK, Names, member_path, refusal
from hereya_tf.checkouts.slots import bury
from hereya_tf.private import write_all

if TYPE_CHECKING:
    from tarfile import TarFile, TarInfo
    from zipfile import ZipFile, ZipInfo

_PIECE = 256 * 1024  # bytes
_LARGEST_HEADER = 1024 * 1024  # bytes
_LARGEST_DIRECTORY = 32 * 1024 * 1024  # bytes of a zip's list of members
_TAR_BLOCK = 512  # bytes; one of zeros is the end
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1
# Not xz: its decompressor takes as much memory as the archive says.
_COMPRESSIONS = {b"\x1f\x8b": "gzip", b"BZh": "bz2"}
_HINT = "whoever made the archive has to mend it"


class _Member(NamedTuple):
    """A member; `link` is a link's target, `pieces` are a file's bytes, and a directory has neither."""

    name: str
    pieces: Callable[[], Iterator[bytes]] | None = None
    link: str | None = None
    is_executable: bool = False


def unpack(archive: BinaryIO, root: Path, limits: Limits, pause: Callable[[float], None]) -> frozenset[str]:
    """Unpack a zip or a tar (plain, gzip, bzip2); returns the paths of its files and links below `root`.

    `pause(0)` is called often, and may raise. Raises RefusedPackage, OSError, and what `pause` raises.
    """
    archive.seek(0)
    magic = archive.read(8)
    archive.seek(0)
    members = _zip_members if magic[:4] in (b"PK\x03\x04", b"PK\x05\x06") else _tar_members
    unpacking = _Unpacking(root, limits, pause)
    try:
        unpacking.take(members(archive, magic, limits, pause))
    except (RefusedPackage, OSError) as error:
        if isinstance(error, OSError) and error.errno is None:  # gzip.BadGzipFile, and bz2 for bad data
            raise _broken(error) from error
        raise
    except _faults() as error:
        raise _broken(error) from error
    return frozenset("/".join(path) for path in unpacking.names.files)


class _Unpacking:
    """One call of `unpack`."""

    def __init__(self, root: Path, limits: Limits, pause: Callable[[float], None]) -> None:
        self.names = Names()
        self._root = root
        self._limits = limits
        self._pause = pause
        self._size = 0
        self._links: list[tuple[tuple[str, ...], str, str]] = []

    def take(self, members: Iterable[_Member]) -> None:
        for count, member in enumerate(members, 1):
            self._pause(0.0)
            refuse_too_much(count, self._size, self._limits)
            path = member_path(member.name)
            if member.link is not None and path:
                self.names.add_file(path, member.name)
                self._links.append((path, member.link, member.name))
            elif member.pieces is not None and path:
                self.names.add_file(path, member.name)
                self._write(path, member.pieces(), is_executable=member.is_executable)
            else:
                self.names.add_directory(path, member.name)
                self._directory(path)
        self._make_links()

    def _write(self, path: tuple[str, ...], pieces: Iterator[bytes], *, is_executable: bool) -> None:
        place = self._cleared(path)
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        )
        descriptor = os.open(place, flags, 0o777 if is_executable else 0o666)  # less the umask, as git has it
        try:
            for piece in pieces:
                self._pause(0.0)
                self._size += len(piece)
                refuse_too_much(0, self._size, self._limits)
                write_all(descriptor, piece)
        finally:
            os.close(descriptor)

    def _make_links(self) -> None:
        for path, target, _ in self._links:
            self._cleared(path).symlink_to(target)
        root = self._root.resolve()
        for path, _, name in self._links:
            # Now that all of them are there: one may lead through another.
            if not _leads_into(self._root.joinpath(*path), root):
                for made, _, _ in self._links:
                    self._root.joinpath(*made).unlink()
                raise refusal(name, "it is a link that leads out of the package")

    def _cleared(self, path: tuple[str, ...]) -> Path:
        """Where a file belongs, with nothing there."""
        place = self._directory(path[:-1]) / path[-1]
        if os.path.lexists(place):
            bury(place)
        return place

    def _directory(self, path: tuple[str, ...]) -> Path:
        """A directory that is one, all the way down."""
        place = self._root
        for part in path:
            place /= part
            try:
                is_directory = stat.S_ISDIR(place.lstat().st_mode)
            except FileNotFoundError:
                is_directory = False
            else:
                if not is_directory:
                    place.unlink()
            if not is_directory:
                place.mkdir()
        return place


def _leads_into(link: Path, root: Path) -> bool:
    try:
        return link.resolve().is_relative_to(root)
    except (OSError, RuntimeError):  # a circle
        return False


def _zip_members(
    archive: BinaryIO, _magic: bytes, limits: Limits, pause: Callable[[float], None]
) -> Iterator[_Member]:
    from zipfile import ZipFile

    # Compressed bytes are what is read, of which there are no more than those that came.
    size = os.fstat(archive.fileno()).st_size
    reader = CarefulReader(
        archive, largest=_LARGEST_DIRECTORY, total=4 * size + limits.tree_bytes, pause=pause
    )
    with ZipFile(reader) as opened:
        for info in opened.infolist():
            yield _zip_member(opened, info)


def _zip_member(opened: "ZipFile", info: "ZipInfo") -> _Member:
    name = info.filename
    kind = stat.S_IFMT(info.external_attr >> 16)  # as Unix has it; nothing where the maker knew none
    if info.filename != info.orig_filename:
        raise refusal(name, "it is called something else as well")
    if info.flag_bits & _ENCRYPTED:
        raise refusal(name, "it is encrypted")
    if info.compress_type not in (_STORED, _DEFLATED):
        raise refusal(name, "it is compressed in a way that only some programs know")
    if info.is_dir():
        return _Member(name)
    if kind == stat.S_IFLNK:
        if info.file_size > LONGEST_LINK:
            raise refusal(name, "it is a link to a place that is too long")
        with opened.open(info) as source:
            return _Member(name, link=_link_target(name, source.read(LONGEST_LINK + 1)))
    if kind not in (0, stat.S_IFREG):
        raise refusal(name, "it is neither a file, nor a directory or a link")

    def pieces() -> Iterator[bytes]:
        with opened.open(info) as source:
            while piece := source.read(_PIECE):
                yield piece

    return _Member(name, pieces=pieces, is_executable=bool(info.external_attr >> 16 & 0o100))


def _link_target(name: str, data: bytes) -> str:
    if not data or b"\0" in data or len(data) > LONGEST_LINK:
        raise refusal(name, "it is a link to nowhere")
    return os.fsdecode(data)


def _tar_members(
    archive: BinaryIO, magic: bytes, limits: Limits, pause: Callable[[float], None]
) -> Iterator[_Member]:
    import tarfile
    from importlib import import_module

    source: BinaryIO = archive
    for start, name in _COMPRESSIONS.items():
        if magic.startswith(start):
            source = import_module(name).open(archive, "rb")
    # Twice: headers, padding, and what a member says of its size are part of it.
    total = 2 * limits.tree_bytes + 4096 * limits.files
    reader = CarefulReader(source, largest=_LARGEST_HEADER, total=total, pause=pause)
    with tarfile.open(fileobj=reader, mode="r:", errorlevel=2) as opened:  # type: ignore[call-overload]
        while (info := opened.next()) is not None:
            opened.members.clear()  # it would keep them all
            yield _tar_member(opened, info)
    # It takes an archive that was cut off at the right place, or in a header, for a whole one.
    if reader.last != bytes(_TAR_BLOCK):
        raise EOFError("it ends too early")
    while reader.read(_PIECE):  # to the checksum behind it
        pass


def _tar_member(opened: "TarFile", info: "TarInfo") -> _Member:
    if info.isdir():
        return _Member(info.name)
    if info.issym():
        return _Member(info.name, link=_link_target(info.name, os.fsencode(info.linkname)))
    if info.islnk():
        raise refusal(info.name, "it is a hard link; make the archive with `--hard-dereference`")
    if not info.isreg() or info.sparse is not None or info.size < 0:
        raise refusal(info.name, "it is neither a file, nor a directory or a link")

    def pieces() -> Iterator[bytes]:
        source = opened.extractfile(info)
        assert source is not None
        with source:
            left = info.size
            while left and (piece := source.read(min(_PIECE, left))):
                left -= len(piece)
                yield piece
        if left:
            raise refusal(info.name, "it ends too early")

    return _Member(info.name, pieces=pieces, is_executable=bool(info.mode & 0o100))


def _faults() -> tuple[type[Exception], ...]:
    """All that zipfile, tarfile and decompressors raise for bytes that make no sense."""
    import struct
    import tarfile
    import zipfile
    import zlib

    return (
        *(tarfile.TarError, zipfile.BadZipFile, zlib.error, struct.error),
        *(EOFError, ValueError, RuntimeError, LookupError, OverflowError),
    )


def _broken(error: Exception) -> RefusedPackage:
    said = as_part(str(error)) or type(error).__name__
    return RefusedPackage(f"the archive cannot be unpacked: {said}", _HINT)
