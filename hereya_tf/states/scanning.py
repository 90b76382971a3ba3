"""Looks through JSON that is too large for memory for what a crash or a full disk makes of it."""

from typing import BinaryIO

_CHUNK = 1 << 20
_BACKSLASH = b"\\"
# Everything that may stand outside of strings.
_SIGNS = b" \t\r\n{}[]:,0123456789+-.eEtrufalsn"
# Everything that may stand in one: a control character is written as an escape.
_LETTERS = bytes(range(0x20, 0x100))


def find_flaw(file: BinaryIO) -> str:
    """Why the rest of an open file cannot be one JSON object; empty when nothing speaks against it.

    Takes a few megabytes of memory and, for a gigabyte, a few seconds. Raises OSError.
    """
    depth = 0
    is_string = False
    held = b""
    first = last = b""
    while chunk := file.read(_CHUNK):
        text = held + chunk
        # Whether a backslash escapes what follows it, only the next piece tells.
        whole = text.rstrip(_BACKSLASH)
        held = text[len(whole) :]
        parts = whole.replace(b"\\\\", b"").replace(b'\\"', b"").split(b'"')
        outside = b"".join(parts[is_string::2])
        inside = b"".join(parts[not is_string :: 2])
        is_string ^= len(parts) % 2 == 0
        if outside.translate(None, _SIGNS) or inside.translate(None, _LETTERS):
            return "it holds what is not JSON"
        signs = outside.strip()
        first, last = first or signs[:1], signs[-1:] or last
        depth += sum(map(outside.count, (b"{", b"["))) - sum(map(outside.count, (b"}", b"]")))
    if first != b"{":
        return "it is not a JSON object"
    return "it breaks off" if is_string or held or depth or last != b"}" else ""
