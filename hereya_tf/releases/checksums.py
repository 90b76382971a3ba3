"""Reads SHA256SUMS: which digest a file has to have (pure).

A line is as `sha256sum` writes it: the digest, two spaces or ` *`, the name.
"""

import re

from hereya_tf.errors import EngineUnverified

LARGEST_CHECKSUMS = 1024 * 1024
"""Bytes; those of a release with 30 files have 4,000."""

_LINE = re.compile(rb"([0-9A-Fa-f]{64}) [ *](?:\./)?([^\x00-\x1f\x7f]+)")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_ASK_THE_MIRROR = "the file is as it was signed, so whoever made the release or mirror has to mend it"


def digest_of(checksums: bytes, file_name: str) -> str:
    """The SHA-256 (hexadecimal, lower case) that `file_name` has according to checksums that are verified.

    Raises EngineUnverified when the file is not listed, has two that differ, or any line is something else.
    """
    if len(checksums) > LARGEST_CHECKSUMS:
        raise EngineUnverified(
            f"the checksums are larger than {LARGEST_CHECKSUMS // 1024} KiB", _ASK_THE_MIRROR
        )
    wanted = file_name.encode("utf-8", "surrogateescape")
    digests: set[str] = set()
    for number, line in enumerate(checksums.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), start=1):
        content = line.removesuffix(b"\r")
        if not content.strip() or content.startswith(b"#"):
            continue
        match = _LINE.fullmatch(content)
        if match is None:
            raise EngineUnverified(
                f"line {number} of the checksums is not a SHA-256 and a file name", _ASK_THE_MIRROR
            )
        if match[2] == wanted:
            digests.add(match[1].decode().lower())
    if not digests:
        raise EngineUnverified(
            f"the checksums do not list `{file_name}`",
            "a release may have no build for this platform; another version may have one",
        )
    if len(digests) > 1:
        raise EngineUnverified(
            f"the checksums list `{file_name}` twice, with different digests", _ASK_THE_MIRROR
        )
    return digests.pop()
