"""Reads OpenPGP: packets, signatures and public keys, armoured or binary (pure).

Nothing here verifies anything. The formats are those of RFC 9580, for version 4 the same as in RFC 4880.
"""

import binascii
from collections.abc import Iterator
from typing import NamedTuple

SIGNATURE, SECRET_KEY, PUBLIC_KEY, SECRET_SUBKEY, USER_ID, PUBLIC_SUBKEY = 2, 5, 6, 7, 13, 14
"""Tags of packets."""

RSA = (1, 3)
"""Numbers of the algorithms that sign with RSA: keys for both uses, keys for signing alone."""

KEY_ALGORITHMS = {
    1: "RSA",
    2: "RSA for encryption alone",
    3: "RSA",
    16: "Elgamal",
    17: "DSA",
    18: "ECDH",
    19: "ECDSA",
    22: "EdDSA",
    25: "X25519",
    26: "X448",
    27: "Ed25519",
    28: "Ed448",
}

# Sub-packets whose whole meaning is information: they set no condition that a verifier would have to check.
_CREATED, _ISSUER, _SIGNERS_USER_ID, _ISSUER_FINGERPRINT = 2, 16, 28, 33
_UNDERSTOOD = (_CREATED, _ISSUER, _SIGNERS_USER_ID, _ISSUER_FINGERPRINT)
_FINGERPRINT_BYTES = {4: 20, 5: 32, 6: 32}
_TITLES = ("PUBLIC KEY BLOCK", "PRIVATE KEY BLOCK", "SIGNED MESSAGE", "MESSAGE", "SIGNATURE")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class MalformedError(ValueError):
    """These bytes are not the OpenPGP that they should be; says why in a fragment of a sentence."""


class Packet(NamedTuple):
    """One packet, without its header."""

    tag: int
    body: bytes


class Signature(NamedTuple):
    """What a signature packet says. Of other versions than 4 nothing but the version is read.

    `hashed` is what goes into the hash behind the data, `hash_start` the first 16 bits of the result.
    `issuers` are the fingerprints and key ids (hexadecimal, upper case) of who is said to have made it;
    no signature covers that, so it serves to find a key and for nothing else.
    `conditions` are the critical sub-packets that are not understood here, by number.
    """

    version: int
    kind: int = 0
    key_algorithm: int = 0
    hash_algorithm: int = 0
    hashed: bytes = b""
    issuers: frozenset[str] = frozenset()
    conditions: tuple[int, ...] = ()
    hash_start: bytes = b""
    numbers: bytes = b""


class Key(NamedTuple):
    """What a public key packet says; modulus and exponent of RSA keys of version 4 only."""

    version: int
    algorithm: int
    fingerprint: str = ""
    modulus: int = 0
    exponent: int = 0


class _Bytes:
    """Bytes that are taken from the front; raises MalformedError when there are not enough."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._taken = 0

    def __bool__(self) -> bool:
        return self._taken < len(self._data)

    def take(self, count: int) -> bytes:
        if count > len(self._data) - self._taken:
            raise MalformedError("it breaks off")
        self._taken += count
        return self._data[self._taken - count : self._taken]

    def number(self, count: int) -> int:
        return int.from_bytes(self.take(count))

    def rest(self) -> bytes:
        return self.take(len(self._data) - self._taken)


def packets(data: bytes) -> Iterator[Packet]:
    """The packets of a binary file, with headers of the old and the new format.

    Raises MalformedError, for lengths without an end as well: only data has those, never keys or signatures.
    """
    source = _Bytes(data)
    while source:
        header = source.number(1)
        if not header & 0x80:
            raise MalformedError("what should be a packet is none")
        if header & 0x40:
            yield Packet(header & 0x3F, source.take(_new_length(source)))
        else:
            length_type = header & 0x03
            if length_type == 3:
                raise MalformedError("a packet does not say how long it is")
            yield Packet(header >> 2 & 0x0F, source.take(source.number(1 << length_type)))


def _new_length(source: _Bytes) -> int:
    first = source.number(1)
    if first < 192:
        return first
    if first < 224:
        return (first - 192 << 8) + source.number(1) + 192
    if first == 255:
        return source.number(4)
    raise MalformedError("a packet comes in parts")


def read_signature(body: bytes) -> Signature:
    """The content of a signature packet. Raises MalformedError."""
    source = _Bytes(body)
    version = source.number(1)
    if version != 4:
        return Signature(version=version)
    kind, key_algorithm, hash_algorithm = source.take(3)
    sealed = source.take(source.number(2))
    loose = source.take(source.number(2))
    hashed = body[: 6 + len(sealed)]
    found = [*_sub_packets(sealed), *_sub_packets(loose)]
    return Signature(
        version=version,
        kind=kind,
        key_algorithm=key_algorithm,
        hash_algorithm=hash_algorithm,
        hashed=hashed + b"\x04\xff" + len(hashed).to_bytes(4),
        issuers=frozenset(issuer for number, _, content in found for issuer in _issuer(number, content)),
        conditions=tuple(number for number, critical, _ in found if critical and number not in _UNDERSTOOD),
        hash_start=source.take(2),
        numbers=source.rest(),
    )


def _sub_packets(area: bytes) -> Iterator[tuple[int, bool, bytes]]:
    """Number, whether it is critical, and content of each sub-packet."""
    source = _Bytes(area)
    while source:
        length = source.number(1)
        if length == 255:
            length = source.number(4)
        elif length >= 192:
            length = (length - 192 << 8) + source.number(1) + 192
        if length == 0:
            raise MalformedError("a sub-packet is empty")
        number, content = source.number(1), source.take(length - 1)
        yield number & 0x7F, bool(number & 0x80), content


def _issuer(number: int, content: bytes) -> tuple[str, ...]:
    match number:
        case 16:  # the key id: the last 64 bits of a version 4 fingerprint
            if len(content) != 8:
                raise MalformedError("it names its key in an unknown way")
            return (content.hex().upper(),)
        case 33:
            if len(content) - 1 != _FINGERPRINT_BYTES.get(content[0] if content else 0):
                raise MalformedError("it names its key in an unknown way")
            return (content[1:].hex().upper(),)
    return ()


def read_numbers(data: bytes, count: int) -> tuple[int, ...]:
    """So many numbers (MPIs), and nothing behind them. Raises MalformedError."""
    source = _Bytes(data)
    numbers = []
    for _ in range(count):
        bits = source.number(2)
        number = source.number((bits + 7) // 8)
        if number.bit_length() != bits:
            raise MalformedError("a number is not as long as it says")
        numbers.append(number)
    if source:
        raise MalformedError("there is more in it than there should be")
    return tuple(numbers)


def read_key(body: bytes) -> Key:
    """The content of a packet with a public key or subkey. Raises MalformedError."""
    source = _Bytes(body)
    version = source.number(1)
    if version != 4:
        # Up to version 3 there were two more bytes before the algorithm, the days that the key is valid.
        source.take(4 if version > 4 else 6)
        return Key(version=version, algorithm=source.number(1))
    source.take(4)
    algorithm = source.number(1)
    if algorithm not in RSA:
        return Key(version=version, algorithm=algorithm, fingerprint=_fingerprint(body))
    modulus, exponent = read_numbers(source.rest(), 2)
    return Key(
        version=version,
        algorithm=algorithm,
        fingerprint=_fingerprint(body),
        modulus=modulus,
        exponent=exponent,
    )


def rsa_fingerprint(*, created: int, modulus: int, exponent: int) -> str:
    """The fingerprint of an RSA key of version 4, hexadecimal, upper case; `created` in Unix seconds."""
    return _fingerprint(b"\x04" + created.to_bytes(4) + b"\x01" + _mpi(modulus) + _mpi(exponent))


def _mpi(number: int) -> bytes:
    bits = number.bit_length()
    return bits.to_bytes(2) + number.to_bytes((bits + 7) // 8)


def _fingerprint(body: bytes) -> str:
    import hashlib

    # A length of two bytes is the format's; a body that does not fit into it has no fingerprint.
    if len(body) > 0xFFFF:
        raise MalformedError("a key is too large to be one")
    prefix = b"\x99" + len(body).to_bytes(2)
    # SHA-1 is the format's, for a name; machines in FIPS mode want to be told that it protects nothing.
    return hashlib.sha1(prefix + body, usedforsecurity=False).hexdigest().upper()


def binary(data: bytes, title: str) -> bytes:
    """The bytes of all armoured blocks of that title (`PUBLIC KEY BLOCK`); what is binary stays as it is.

    Text around the blocks counts for nothing. Raises MalformedError when there is no block.
    """
    data = data.removeprefix(_BYTE_ORDER_MARK)
    if data[:1] >= b"\x80":  # the first bit of every packet, and of no text
        return data
    lines = iter(data.splitlines())
    begin, end = (f"-----{word} PGP {title}-----".encode() for word in ("BEGIN", "END"))
    blocks = [_armoured(lines, end) for line in lines if line.strip() == begin]
    if not blocks:
        other = next((other for other in _TITLES if f"-----BEGIN PGP {other}-----".encode() in data), None)
        if other:
            raise MalformedError(f"it holds a {other.lower()}, not a {title.lower()}")
        raise MalformedError("it is not OpenPGP, neither binary nor armoured")
    return b"".join(blocks)


def _armoured(lines: Iterator[bytes], end: bytes) -> bytes:
    for line in lines:
        if not line.strip():
            break
        if b":" not in line:
            raise MalformedError("its armour has no empty line before the content")
    encoded: list[bytes] = []
    checksum = b""
    for line in map(bytes.strip, lines):
        if line == end:
            return _decoded(b"".join(encoded), checksum)
        if line.startswith(b"=") and len(line) == 5:
            checksum = line[1:]
        else:
            encoded.append(line)
    raise MalformedError("it breaks off")


def _decoded(encoded: bytes, checksum: bytes) -> bytes:
    try:
        content = binascii.a2b_base64(encoded, strict_mode=True)
        expected = binascii.a2b_base64(checksum, strict_mode=True)
    except binascii.Error as error:
        raise MalformedError("its armour is not base64") from error
    if checksum and expected != _crc24(content).to_bytes(3):
        raise MalformedError("the checksum of its armour is another")
    return content


def _crc24(data: bytes) -> int:
    table = []
    for value in range(256):
        remainder = value << 16
        for _ in range(8):
            remainder = (remainder << 1) ^ (0x1864CFB if remainder & 0x800000 else 0)
        table.append(remainder & 0xFFFFFF)
    remainder = 0xB704CE
    for byte in data:
        remainder = (remainder << 8 & 0xFFFFFF) ^ table[remainder >> 16 ^ byte]
    return remainder
