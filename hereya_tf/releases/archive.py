"""Takes in a release's archive, and the one binary out of it (I/O).

An archive is opened when its digest is proven to be the signed one, not before. Nothing in it decides where
anything is written: the one member is found by its exact name, and its bytes go into a file that is open.
"""

import stat
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from hereya_tf.errors import EngineUnavailable
from hereya_tf.private import write_all
from hereya_tf.sizes import format_size

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

LARGEST_ARCHIVE = 512 * 1024 * 1024
"""Bytes; that of Terraform 1.11.4 has 27,000,000."""

LARGEST_BINARY = 1024 * 1024 * 1024
"""Bytes; Terraform 1.11.4 has 91,000,000."""

_PIECE = 512 * 1024  # bytes
_STORED, _DEFLATED = 0, 8
_ENCRYPTED = 0x1
_MEND = "the archive is as it was signed, so whoever made the release or mirror has to mend it"


class Content(NamedTuple):
    """What was written: SHA-256 (hexadecimal, lower case) and bytes."""

    digest: str
    size: int


def take_in(pieces: Iterable[bytes], target: BinaryIO, pause: Callable[[float], None]) -> Content:
    """Write a stream to its end and take its digest on the way; `pause(0)` is called for every piece.

    Raises OSError when it cannot be written, and what the stream and `pause` raise.
    """
    from concurrent.futures import Future, ThreadPoolExecutor
    from hashlib import sha256

    digest, size = sha256(), 0
    hashed: Future[None] | None = None
    # Hashed while it is written and the next one is inflated: a binary takes an eighth less time, and a third
    # less where the processor has no instructions for SHA-256.
    with ThreadPoolExecutor(1) as beside:
        for piece in pieces:
            if hashed is not None:
                hashed.result()
            hashed = beside.submit(digest.update, piece)
            size += len(piece)
            write_all(target.fileno(), piece)
            pause(0.0)
    return Content(digest.hexdigest(), size)


def unpack(
    archive: BinaryIO,
    member: str,
    target: BinaryIO,
    *,
    shown: str,
    pause: Callable[[float], None],
    limit: int = LARGEST_BINARY,
) -> Content:
    """Write the one member of a zip into `target`; `shown` is the archive's name, `pause(0)` may raise.

    Raises EngineUnavailable unless there is exactly one of that name, a plain file of at most `limit` bytes,
    whole; else as `take_in`.
    """
    return take_in(_pieces(archive, member, shown, limit), target, pause)


def _pieces(archive: BinaryIO, member: str, shown: str, limit: int) -> Iterator[bytes]:
    import struct
    import zlib
    from zipfile import BadZipFile, ZipFile

    given = 0
    try:
        with ZipFile(archive) as opened:
            found = _only(opened, member, shown, limit)
            with opened.open(found) as source:
                while piece := source.read(_PIECE):
                    given += len(piece)
                    yield piece
        if given != found.file_size:
            raise BadZipFile(f"`{member}` is shorter than it says")
    # All that zipfile raises for bytes that are no zip.
    except (BadZipFile, zlib.error, EOFError, struct.error, ValueError, RuntimeError, OSError) as error:
        raise EngineUnavailable(f"`{shown}` cannot be unpacked: {_reason(error)}", _MEND) from error


def _only(opened: "ZipFile", member: str, shown: str, limit: int) -> "ZipInfo":
    """The member that is wanted. Its name is compared as it stands in the archive too, NUL and all."""
    found = [info for info in opened.infolist() if member in (info.filename, info.orig_filename)]
    if not found:
        raise EngineUnavailable(f"`{shown}` holds no `{member}`", _MEND)
    if len(found) > 1:
        raise EngineUnavailable(f"`{shown}` holds `{member}` {len(found)} times", _MEND)
    (info,) = found
    if why := _unusable(info, limit):
        raise EngineUnavailable(f"`{member}` in `{shown}` cannot be used: it is {why}", _MEND)
    return info


def _unusable(info: "ZipInfo", limit: int) -> str | None:
    """Why a member is not unpacked; None when it is."""
    kind = stat.S_IFMT(info.external_attr >> 16)  # as Unix has it; nothing where the maker knew none
    if info.filename != info.orig_filename:
        return "called something else as well"
    if kind == stat.S_IFLNK:
        return "a link"
    if kind not in (0, stat.S_IFREG):
        return "not a file"
    if info.flag_bits & _ENCRYPTED:
        return "encrypted"
    if info.compress_type not in (_STORED, _DEFLATED):
        return "compressed in a way that no release is"
    if info.file_size > limit:
        return f"larger than {format_size(limit)}"
    return None


def _reason(error: Exception) -> str:
    """What zipfile says, as part of a sentence."""
    text = str(error).strip().rstrip(".") or type(error).__name__
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text[:200])
