"""What a dependency lock file selects, and where a cache keeps it (pure)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hereya_tf.package.lock_file import read_lock_providers

# `h1:` is of what a package holds; of `zh:`, its archive's, nothing can be seen in a directory.
_CONTENT_HASH = re.compile(r'"(h1:[^"\\\s]+)"')
# The lock file is the package's, and names places outside of it: neither `..` nor anything hidden.
_PART = re.compile(r"[^./\\\0\s][^/\\\0\s]*")


class Selection(NamedTuple):
    """One version of a provider, `HOST/NAMESPACE/TYPE`, and the hashes that its content may have."""

    address: str
    version: str
    hashes: frozenset[str]

    @property
    def directory(self) -> str:
        """Where its packages for all platforms are, in a cache as in a package's data directory."""
        return f"{self.address}/{self.version}"


def read_selections(lock_file: bytes) -> tuple[Selection, ...]:
    """The selections of a lock file, by address; none for what is no lock file."""
    return tuple(sorted(_selections(lock_file)))


def _selections(lock_file: bytes) -> Iterator[Selection]:
    for address, texts in read_lock_providers(lock_file).items():
        version, parts = texts.get("version", ""), address.split("/")
        if len(parts) == 3 and all(_PART.fullmatch(part) for part in (*parts, version)):
            yield Selection(address, version, frozenset(_CONTENT_HASH.findall(texts.get("hashes", ""))))
