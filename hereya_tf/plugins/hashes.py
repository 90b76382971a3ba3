"""What is in the entries of a cache: the hash that lock files know it by, remembered as long as it fits (I/O)."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.private import write_all
from hereya_tf.reading import read_regular_file


class Contents(NamedTuple):
    """The hash of an entry's content; `is_trusted` when that is what a source, or a lock file, has vouched for."""

    hash: str
    is_trusted: bool


class Hashes:
    """The hashes of a cache's entries, which go by their place in it: `HOST/NAMESPACE/TYPE/VERSION/PLATFORM`."""

    def __init__(self, root: Path, records: Path) -> None:
        self._root = root
        self._records = records

    def look(self, place: str) -> Contents | None:
        """What is there now; None when it is no directory, or cannot be read.

        A provider has hundreds of megabytes: it is read again only when a file of it is not as it was.
        """
        entry = self._root / place
        try:
            if not entry.is_dir():
                return None
            trusted = self._read(place)
            if trusted is not None and trusted["files"] == _files_seen(entry):
                return Contents(trusted["hash"], True)
            found = package_hash(entry)
        except OSError:
            return None
        if trusted is not None and trusted["hash"] == found:
            self.trust(place, found)
            return Contents(found, True)
        return Contents(found, False)

    def trust(self, place: str, content: str) -> None:
        """Remember that an entry has been vouched for; where that cannot be written, it only costs time."""
        record = self._record(place)
        temporary = record.with_name(f"{record.name}.{os.getpid()}")
        try:
            data = json.dumps({"hash": content, "files": _files_seen(self._root / place)}).encode()
            record.parent.mkdir(parents=True, exist_ok=True)
            # As the umask has it, not 0600: others may share this cache, and have hundreds of megabytes to hash.
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
            try:
                write_all(descriptor, data)
            finally:
                os.close(descriptor)
            temporary.replace(record)
        except OSError:
            return

    def _read(self, place: str) -> Any:
        try:
            record = json.loads(read_regular_file(self._record(place)))
        except (OSError, ValueError, RecursionError):
            return None
        known = isinstance(record, dict) and isinstance(record.get("hash"), str) and "files" in record
        return record if known else None

    def _record(self, place: str) -> Path:
        import hashlib

        name = hashlib.sha256(place.encode("utf-8", "surrogatepass")).hexdigest()
        return self._records / name[:32]


def package_hash(directory: Path) -> str:
    """The hash of an unpacked provider as lock files have it: `h1:…`. Raises OSError.

    `HashDir` of golang.org/x/mod/sumdb/dirhash with its `Hash1`, as `getproviders.PackageHashV1` calls it.
    """
    import base64
    import hashlib

    whole = hashlib.sha256()
    for name, path in sorted(_files(directory)):
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a path of bytes
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        whole.update(digest.encode() + b"  " + name + b"\n")
    return f"h1:{base64.b64encode(whole.digest()).decode()}"


def _files(directory: Path) -> Iterator[tuple[bytes, bytes]]:
    """The files below a directory: their names from there, with slashes, and their paths."""
    top = os.fsencode(os.path.realpath(directory))

    def fail(error: OSError) -> None:
        raise error

    for parent, directories, names in os.walk(top, onerror=fail):
        # Go's walk does not follow a link to a directory either: it is a file that cannot be read.
        links = [name for name in directories if os.path.islink(os.path.join(parent, name))]  # noqa: PTH114, PTH118
        for name in (*names, *links):
            path = os.path.join(parent, name)  # noqa: PTH118 - bytes
            yield path[len(top) + 1 :], path


def _files_seen(directory: Path) -> list[list[Any]]:
    """What would change with any file that is cut short, replaced or written anew."""
    seen = []
    for name, path in sorted(_files(directory)):
        status = os.stat(path)  # noqa: PTH116 - bytes
        seen.append([os.fsdecode(name), status.st_size, status.st_mtime_ns, status.st_ino])
    return seen
