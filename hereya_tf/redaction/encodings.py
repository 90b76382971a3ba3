"""A secret in base64, hexadecimal and URLs, by itself and inside of a longer text (pure)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hereya_tf.redaction.quotings import json_escapes

# A shorter one in these would be found by chance, a longer one is a file that nobody encodes twice.
_SHORTEST_RARE = 8
_LONGEST_RARE = 4096
# Where `base64` and `openssl base64` break their lines, in characters; and the least of a last line.
_LINE_LENGTHS = (76, 64)
_SHORTEST_LAST_LINE = 8
_UNRESERVED = r"[A-Za-z0-9_.~-]+"
# Characters that are left as they are, beside the unreserved: by Python, Go, JavaScript.
_LEFT_IN_URLS = ("/", "", "$&+,;=", "$&+=:@", "!'()*", "!'()*;,/?:@&=+$#")


class Core(NamedTuple):
    """The characters of an encoded text that are the same whatever stands around the secret in it.

    `before` and `after` say how many characters beside them, none or one, have bits of the secret as well.
    """

    text: str
    before: int
    after: int


def encodings(value: str, core: str) -> Iterator[str]:
    """The secret by itself, encoded; `core` is `value` without the space around it."""
    yield from _url_encodings(core)
    for text in (value, core, f"{core}\n"):
        standard = _base64(_bytes(text))
        yield from (form for whole in (standard, _urlsafe(standard)) for form in (whole, whole.rstrip("=")))
        yield from _wrapped(standard)
    if _SHORTEST_RARE <= len(core) <= _LONGEST_RARE:
        digits = _bytes(core).hex()
        yield from (digits, digits.upper())


def cores(core: str) -> Iterator[Core]:
    """The secret in the base64 of whatever text holds it, as it is or as JSON: `user:password`, user data."""
    rare = _SHORTEST_RARE <= len(core) <= _LONGEST_RARE
    for text in (core, *sorted(json_escapes(core))):
        for found in _alignments(_bytes(text)):
            yield from _both_alphabets(found)
            if rare and text is core:
                # The `auth` of registry credentials in a Kubernetes secret, a secret in encoded user data.
                for again in _alignments(found.text.encode("ascii")):
                    yield from _both_alphabets(again)
    if rare:
        # What PowerShell's -EncodedCommand takes.
        for found in _alignments(core.encode("utf-16-le", "surrogatepass")):
            yield from _both_alphabets(found)


def _alignments(data: bytes) -> Iterator[Core]:
    for offset in range(3):
        encoded = _base64(b"\0" * offset + data)
        # Six bits a character: those at the edges have bits of what stands beside the data.
        begin = (offset * 8 + 5) // 6
        end = (offset + len(data)) * 8 // 6
        yield Core(encoded[begin:end], 1 if offset else 0, 1 if (offset + len(data)) % 3 else 0)


def _both_alphabets(found: Core) -> Iterator[Core]:
    yield found
    if "+" in found.text or "/" in found.text:
        yield found._replace(text=_urlsafe(found.text))


def _wrapped(encoded: str) -> Iterator[str]:
    """The lines of an encoded text that is too long for one."""
    for length in _LINE_LENGTHS:
        if len(encoded) > length:
            lines = [encoded[at : at + length] for at in range(0, len(encoded), length)]
            yield from lines[:-1]
            if len(lines[-1].rstrip("=")) >= _SHORTEST_LAST_LINE:
                yield lines[-1]


def _url_encodings(text: str) -> Iterator[str]:
    if re.fullmatch(_UNRESERVED, text):
        return
    from urllib.parse import quote_from_bytes

    data = _bytes(text)
    for safe in _LEFT_IN_URLS:
        encoded = quote_from_bytes(data, safe=safe)
        small = re.sub("%[0-9A-F]{2}", lambda escape: escape[0].lower(), encoded)
        for form in (encoded, small):
            yield from (form, form.replace("%20", "+"))


def _base64(data: bytes) -> str:
    from binascii import b2a_base64

    return b2a_base64(data, newline=False).decode("ascii")


def _urlsafe(encoded: str) -> str:
    return encoded.replace("+", "-").replace("/", "_")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
