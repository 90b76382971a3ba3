"""Tells whether a release's checksums are what their vendor has signed (pure).

Of OpenPGP only what vendors publish is taken: detached version 4 signatures over a file as it is, RSA
(PKCS#1 v1.5) with SHA-256 or stronger. A signature by a key that is not known proves nothing and is passed
over, as gpg and Go's openpgp do. Every one by a known key has to be right: gpg ends in an error there too,
and who holds the key never publishes a wrong one, so something was changed.

The clock plays no part. Keys are pinned by their numbers; when vendors renew them, only the date of expiry
in a newer self-signature changes, and tools that looked at an old one stopped working on that day.
"""

from collections.abc import Sequence
from typing import NamedTuple

from hereya_tf.errors import EngineUnverified
from hereya_tf.releases import openpgp

LARGEST_SIGNATURE = 64 * 1024
"""Bytes; one by an RSA key of 4096 bits has 566."""

REVOKED = {
    "91A6E7F85D05C65630BEF18951852D87348FFC4C": "the key that was revoked in April 2021",
}
"""Fingerprints of keys that count for nothing, whoever names them, and what is said of each.

HashiCorp's older key could be read by others (HCSEC-2021-12). Releases up to then have a plain `.sig` by it.
"""

_MOST_PACKETS = 16
_OVER_A_FILE = 0x00
_HASHES = {8: "sha256", 9: "sha384", 10: "sha512"}
_WEAK_HASHES = {1: "MD5", 2: "SHA-1", 3: "RIPEMD-160", 11: "SHA-224"}

_AGAIN = "download it again; if it repeats, suspect the mirror or proxy it comes through"
_OWN_KEYS = (
    "if a mirror signs for itself, put its public keys into a file and name that in `HEREYA_TF_ENGINE_KEYS`"
)
_NEWER_KEY = (
    "take the file that ends in `_SHA256SUMS.72D7468F.sig`, made with the newer key, or a newer version"
)
_SIGN_AGAIN = "let the mirror sign with an RSA key and SHA-256 or SHA-512, as `gpg --detach-sign` does"


class PublicKey(NamedTuple):
    """An RSA key whose signatures are trusted. `fingerprint` is hexadecimal, upper case; `owner` for people."""

    fingerprint: str
    modulus: int
    exponent: int
    owner: str


def verify(data: bytes, signature: bytes, keys: Sequence[PublicKey]) -> PublicKey:
    """The key, of those given, that has signed `data`; `signature` is a file, binary or armoured.

    Raises EngineUnverified when none has, and when one of them is said to have but has not.
    """
    trusted = [key for key in keys if key.fingerprint not in REVOKED]
    try:
        found = _read(signature)
        known = [(one, key) for one in found if (key := _signer(one, trusted))]
        if not known:
            raise _not_trusted(found)
        for one, key in known:
            _check(data, one, key)
    except openpgp.MalformedError as error:
        raise EngineUnverified(f"the signature of the checksums is damaged: {error}", _AGAIN) from error
    return known[0][1]


def _read(signature: bytes) -> list[openpgp.Signature]:
    if len(signature) > LARGEST_SIGNATURE:
        raise openpgp.MalformedError(f"it is larger than {LARGEST_SIGNATURE // 1024} KiB")
    found: list[openpgp.Signature] = []
    for packet in openpgp.packets(openpgp.binary(signature, "SIGNATURE")):
        if packet.tag != openpgp.SIGNATURE:
            raise openpgp.MalformedError("there is something else in it than signatures")
        if len(found) == _MOST_PACKETS:
            raise openpgp.MalformedError(f"there are more than {_MOST_PACKETS} signatures in it")
        found.append(openpgp.read_signature(packet.body))
    if not found:
        raise openpgp.MalformedError("it is empty")
    return found


def _signer(signature: openpgp.Signature, keys: Sequence[PublicKey]) -> PublicKey | None:
    """The key that is said to have made it."""
    for key in keys:
        agreeing = [key.fingerprint.endswith(issuer) for issuer in signature.issuers]
        if any(agreeing) and not all(agreeing):
            raise openpgp.MalformedError("it names two keys as its own")
        if any(agreeing):
            return key
    return None


def _not_trusted(found: Sequence[openpgp.Signature]) -> EngineUnverified:
    """The error when no signature is by a known key."""
    issuers = {issuer for one in found for issuer in one.issuers}
    for fingerprint, description in REVOKED.items():
        if any(fingerprint.endswith(issuer) for issuer in issuers):
            return EngineUnverified(
                f"the checksums are signed by {description}, `{fingerprint}`",
                _NEWER_KEY,
            )
    if issuers:
        # A fingerprint says more than the key id, which is a part of it.
        longest = max(map(len, issuers))
        names = " and ".join(f"`{issuer}`" for issuer in sorted(issuers) if len(issuer) == longest)
        return EngineUnverified(
            f"the checksums are signed by {names}, which is no key that is trusted here", _AGAIN, _OWN_KEYS
        )
    if versions := sorted({one.version for one in found} - {4}):
        return EngineUnverified(
            f"the signature of the checksums has OpenPGP's version {versions[0]}, and only 4 is understood",
            _SIGN_AGAIN,
        )
    return EngineUnverified("the signature of the checksums does not say whose it is", _SIGN_AGAIN)


def _check(data: bytes, signature: openpgp.Signature, key: PublicKey) -> None:
    """Raise unless the key has made this signature over this data."""
    if why := _unusable(signature):
        raise EngineUnverified(f"the signature of the checksums cannot be used: {why}", _SIGN_AGAIN)
    if not _is_right(data, signature, key):
        raise EngineUnverified(
            f"the checksums are not those that `{key.owner}` has signed with the key `{key.fingerprint}`",
            _AGAIN,
        )


def _unusable(signature: openpgp.Signature) -> str | None:
    """Why a signature does not count, whether it is right or not; None when it does."""
    if signature.kind != _OVER_A_FILE:
        return f"it is of type 0x{signature.kind:02x}, not one over a file as it is"
    if signature.key_algorithm not in openpgp.RSA:
        algorithm = openpgp.KEY_ALGORITHMS.get(
            signature.key_algorithm, f"algorithm {signature.key_algorithm}"
        )
        return f"it is made with {algorithm}, and only RSA is understood"
    if signature.hash_algorithm in _WEAK_HASHES:
        return f"it is made with {_WEAK_HASHES[signature.hash_algorithm]}, which others can forge"
    if signature.hash_algorithm not in _HASHES:
        return f"it is made with hash {signature.hash_algorithm}, which is not understood"
    if signature.conditions:
        return f"it sets a condition that is not understood, sub-packet {signature.conditions[0]}"
    return None


def _is_right(data: bytes, signature: openpgp.Signature, key: PublicKey) -> bool:
    import hashlib

    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding, rsa, utils

    digest = hashlib.new(_HASHES[signature.hash_algorithm], data)
    digest.update(signature.hashed)
    (number,) = openpgp.read_numbers(signature.numbers, 1)
    if digest.digest()[:2] != signature.hash_start:
        return False
    algorithm = {8: hashes.SHA256(), 9: hashes.SHA384(), 10: hashes.SHA512()}[signature.hash_algorithm]
    try:
        # OpenPGP leaves leading zeros out, RSA wants them.
        value = number.to_bytes((key.modulus.bit_length() + 7) // 8)
        public = rsa.RSAPublicNumbers(key.exponent, key.modulus).public_key()
        public.verify(value, digest.digest(), padding.PKCS1v15(), utils.Prehashed(algorithm))
    except (InvalidSignature, ValueError, OverflowError):  # numbers that no RSA key can have, too
        return False
    return True
