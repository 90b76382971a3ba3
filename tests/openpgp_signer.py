"""Signs as a vendor or a mirror does: RSA keys, detached OpenPGP signatures and files of public keys.

Written from RFC 4880 alone and without the product's reader, so that the two can prove each other.
"""

import base64
import functools
from collections.abc import Sequence
from typing import NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from hereya_tf.releases.signatures import PublicKey

CREATED = 1_600_000_000
SHA1, SHA256, SHA384, SHA512 = 2, 8, 9, 10
HASHES: dict[int, hashes.HashAlgorithm] = {
    SHA1: hashes.SHA1(),  # nothing that counts is signed with it
    SHA256: hashes.SHA256(),
    SHA384: hashes.SHA384(),
    SHA512: hashes.SHA512(),
}
OVER_A_FILE, CERTIFIES, BINDS_SUBKEY, REVOKES_KEY, REVOKES_SUBKEY = 0x00, 0x13, 0x18, 0x20, 0x28

SubPackets = Sequence[tuple[int, bytes]]


class SigningKey(NamedTuple):
    """A key pair; `owner` is the user id."""

    private: RSAPrivateKey
    owner: str

    @property
    def body(self) -> bytes:
        """The public key packet without its header."""
        numbers = self.private.public_key().public_numbers()
        return b"\x04" + CREATED.to_bytes(4) + b"\x01" + mpi(numbers.n) + mpi(numbers.e)

    @property
    def fingerprint(self) -> str:
        digest = hashes.Hash(hashes.SHA1())
        digest.update(framed(self.body))
        return digest.finalize().hex().upper()

    @property
    def public(self) -> PublicKey:
        """The key as the product knows it."""
        numbers = self.private.public_key().public_numbers()
        return PublicKey(
            fingerprint=self.fingerprint, modulus=numbers.n, exponent=numbers.e, owner=self.owner
        )

    def issued(self) -> SubPackets:
        """The sub-packets of every signature: when, and by which key."""
        return ((2, CREATED.to_bytes(4)), (33, b"\x04" + bytes.fromhex(self.fingerprint)))

    def sign(
        self,
        data: bytes,
        *,
        hash_algorithm: int = SHA256,
        new_header: bool = False,
        kind: int = OVER_A_FILE,
        hashed: SubPackets | None = None,
        loose: SubPackets | None = None,
    ) -> bytes:
        """A file with one detached signature over data, binary."""
        hashed = self.issued() if hashed is None else hashed
        loose = ((16, bytes.fromhex(self.fingerprint[-16:])),) if loose is None else loose
        sealed, open_part = sub_packets(hashed), sub_packets(loose)
        begin = bytes((4, kind, 1, hash_algorithm)) + len(sealed).to_bytes(2) + sealed
        covered = data + begin + b"\x04\xff" + len(begin).to_bytes(4)
        algorithm = HASHES[hash_algorithm]
        digest = hashes.Hash(algorithm)
        digest.update(covered)
        value = self.private.sign(covered, padding.PKCS1v15(), algorithm)
        body = begin + len(open_part).to_bytes(2) + open_part + digest.finalize()[:2]
        return packet(2, body + mpi(int.from_bytes(value)), new_header=new_header)

    def public_file(
        self,
        *,
        armoured: bool = True,
        subkeys: Sequence["SigningKey"] = (),
        revoked: Sequence["SigningKey"] = (),
    ) -> bytes:
        """A file with the public key and subkeys, certified; those that are revoked say so."""
        owner = self.owner.encode()
        certified = framed(self.body) + b"\xb4" + len(owner).to_bytes(4) + owner
        parts = [packet(6, self.body)]
        if self in revoked:
            parts.append(self.sign(framed(self.body), kind=REVOKES_KEY))
        uses = (*self.issued(), (27, b"\x03"))
        parts += [packet(13, owner), self.sign(certified, kind=CERTIFIES, hashed=uses)]
        for subkey in subkeys:
            bound = framed(self.body) + framed(subkey.body)
            parts += [packet(14, subkey.body), self.sign(bound, kind=BINDS_SUBKEY)]
            if subkey in revoked:
                parts.append(self.sign(bound, kind=REVOKES_SUBKEY))
        content = b"".join(parts)
        return armour(content, "PUBLIC KEY BLOCK") if armoured else content


@functools.cache
def signing_key(owner: str = "Mirror <mirror@example.com>", *, bits: int = 2048) -> SigningKey:
    """A key pair of that owner, the same one each time."""
    return SigningKey(private=generate_private_key(65537, bits), owner=owner)


def packet(tag: int, body: bytes, *, new_header: bool = False) -> bytes:
    """A packet with a header of the old or the new format, whose length takes as few bytes as it can."""
    size = len(body)
    if not new_header:
        width, width_code = next(each for each in ((1, 0), (2, 1), (4, 2)) if size < 256 ** each[0])
        return bytes((0x80 | tag << 2 | width_code,)) + size.to_bytes(width) + body
    if size < 192:
        length = bytes((size,))
    elif size < 8384:
        length = (size - 192 + (192 << 8)).to_bytes(2)
    else:
        length = b"\xff" + size.to_bytes(4)
    return bytes((0xC0 | tag,)) + length + body


def sub_packets(entries: SubPackets) -> bytes:
    """An area of sub-packets; a number of 128 and more is a critical one."""
    parts = []
    for number, content in entries:
        size = len(content) + 1
        length = bytes((size,)) if size < 192 else (size - 192 + (192 << 8)).to_bytes(2)
        parts.append(length + bytes((number,)) + content)
    return b"".join(parts)


def mpi(number: int) -> bytes:
    """A number with its length in bits before it."""
    bits = number.bit_length()
    return bits.to_bytes(2) + number.to_bytes((bits + 7) // 8)


def framed(key: bytes) -> bytes:
    """A key as it goes into hashes."""
    return b"\x99" + len(key).to_bytes(2) + key


def armour(content: bytes, title: str, *, checksum: bool = True) -> bytes:
    """The content as text."""
    encoded = base64.b64encode(content).decode()
    lines = [encoded[at : at + 64] for at in range(0, len(encoded), 64)]
    if checksum:
        lines.append("=" + base64.b64encode(crc24(content).to_bytes(3)).decode())
    text = "\n".join((f"-----BEGIN PGP {title}-----", "Comment: made by a test", "", *lines, ""))
    return f"{text}-----END PGP {title}-----\n".encode()


def crc24(data: bytes) -> int:
    """The checksum of an armour, bit by bit as in RFC 4880, section 6.1."""
    remainder = 0xB704CE
    for byte in data:
        remainder ^= byte << 16
        for _ in range(8):
            remainder <<= 1
            if remainder & 0x1000000:
                remainder ^= 0x1864CFB
    return remainder
