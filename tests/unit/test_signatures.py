"""Checksums count when a key that is trusted has signed exactly them, and never otherwise."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName
from hereya_tf.errors import EngineUnverified, FailureClass
from hereya_tf.releases import openpgp
from hereya_tf.releases.keys import pinned_keys, read_key_file
from hereya_tf.releases.signatures import LARGEST_SIGNATURE, REVOKED, PublicKey, verify
from tests import openpgp_signer as signer
from tests.command_line import REPOSITORY
from tests.openpgp_signer import signing_key

RELEASES = REPOSITORY / "fixtures" / "releases"
TERRAFORM, TOFU = pinned_keys(EngineName.TERRAFORM), pinned_keys(EngineName.OPENTOFU)
DATA = b"0123  terraform_1.2.3_linux_amd64.zip\n"
MIRROR, OTHER = signing_key(), signing_key("Other <other@example.com>")


class Genuine(NamedTuple):
    """Checksums and their signature as a vendor has published them."""

    data: bytes
    signature: bytes
    keys: tuple[PublicKey, ...]
    fingerprint: str


def loose_part(signature: bytes) -> range:
    """The places in a signature that nothing protects: the sub-packets that are not hashed."""
    body = 3  # a header of three bytes, in both formats
    begin = body + 6 + int.from_bytes(signature[body + 4 : body + 6])
    return range(begin, begin + 2 + int.from_bytes(signature[begin : begin + 2]))


def published(name: str, suffix: str) -> tuple[bytes, bytes]:
    file = RELEASES / f"{name}_SHA256SUMS"
    return file.read_bytes(), file.with_name(file.name + suffix).read_bytes()


GENUINE = {
    "terraform 1.6.6": Genuine(
        *published("terraform_1.6.6", ".sig"), TERRAFORM, "374EC75B485913604A831CC7C820C6D5CD27AB87"
    ),
    "terraform 0.15.1": Genuine(
        *published("terraform_0.15.1", ".sig"), TERRAFORM, "B36CBA91A2C0730C435FC280B0B441097685B676"
    ),
    "tofu 1.8.5": Genuine(
        *published("tofu_1.8.5", ".gpgsig"), TOFU, "E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80"
    ),
}
each_genuine = pytest.mark.parametrize("genuine", GENUINE.values(), ids=GENUINE)


def refusal(data: bytes, signature: bytes, keys: Sequence[PublicKey]) -> str:
    """The sentence with which it is refused."""
    with pytest.raises(EngineUnverified) as caught:
        verify(data, signature, keys)
    assert caught.value.failure_class is FailureClass.ENGINE_UNVERIFIED
    assert caught.value.hints
    return str(caught.value)


def accepted(data: bytes, signature: bytes, keys: Sequence[PublicKey]) -> bool:
    try:
        return verify(data, signature, keys) in keys
    except EngineUnverified:
        return False


def flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@each_genuine
def test_what_a_vendor_has_signed_is_told_by_its_key(genuine: Genuine) -> None:
    assert verify(genuine.data, genuine.signature, genuine.keys).fingerprint == genuine.fingerprint


@each_genuine
def test_any_changed_bit_of_the_checksums_is_refused(genuine: Genuine) -> None:
    bits = range(len(genuine.data) * 8)

    assert [
        bit for bit in bits if accepted(flipped(genuine.data, bit), genuine.signature, genuine.keys)
    ] == []


@each_genuine
def test_any_changed_bit_of_the_signature_is_refused_where_anything_depends_on_it(genuine: Genuine) -> None:
    bits = range(len(genuine.signature) * 8)

    taken = [bit for bit in bits if accepted(genuine.data, flipped(genuine.signature, bit), genuine.keys)]

    assert [bit for bit in taken if bit // 8 not in loose_part(genuine.signature)] == []


@each_genuine
def test_what_is_cut_short_is_refused_wherever_it_is_cut(genuine: Genuine) -> None:
    data, signature, keys, _ = genuine

    assert [size for size in range(len(data)) if accepted(data[:size], signature, keys)] == []
    assert [size for size in range(len(signature)) if accepted(data, signature[:size], keys)] == []


@each_genuine
def test_what_has_more_than_it_should_is_refused(genuine: Genuine) -> None:
    data, signature, keys, _ = genuine

    assert not accepted(data + b"\n", signature, keys)
    assert not accepted(data.replace(b"\n", b"\r\n"), signature, keys)
    assert not accepted(data, signature + b"\n", keys)


def test_a_vendor_signs_for_itself_alone() -> None:
    tofu = GENUINE["tofu 1.8.5"]

    assert refusal(tofu.data, tofu.signature, TERRAFORM) == (
        f"the checksums are signed by `{tofu.fingerprint}`, which is no key that is trusted here"
    )


def test_the_key_that_was_revoked_is_refused_by_name() -> None:
    data, signature = published("terraform_0.12.26", ".sig")

    assert refusal(data, signature, TERRAFORM) == (
        "the checksums are signed by the key that was revoked in April 2021,"
        " `91A6E7F85D05C65630BEF18951852D87348FFC4C`"
    )


def test_the_key_that_was_revoked_counts_for_nothing_whoever_trusts_it() -> None:
    data, signature = published("terraform_0.12.26", ".sig")
    (fingerprint,) = REVOKED
    trusted = MIRROR.public._replace(fingerprint=fingerprint)

    assert "revoked in April 2021" in refusal(data, signature, [trusted])
    # Somebody with that key could sign anything; MIRROR stands for them here.
    forged = MIRROR.sign(data, hashed=((33, b"\x04" + bytes.fromhex(fingerprint)),), loose=())
    assert "revoked in April 2021" in refusal(data, forged, [trusted])


def test_a_signature_by_the_revoked_key_does_no_harm_beside_one_that_counts() -> None:
    data, old = published("terraform_0.12.26", ".sig")

    assert verify(data, old + MIRROR.sign(data), [MIRROR.public]) == MIRROR.public


@pytest.mark.parametrize("new_header", [False, True], ids=["old header", "new header"])
@pytest.mark.parametrize("hash_algorithm", [signer.SHA256, signer.SHA384, signer.SHA512])
def test_a_mirror_may_sign_in_each_of_the_ways(hash_algorithm: int, new_header: bool) -> None:
    signature = MIRROR.sign(DATA, hash_algorithm=hash_algorithm, new_header=new_header)

    assert verify(DATA, signature, [*TERRAFORM, OTHER.public, MIRROR.public]) == MIRROR.public


def test_a_signature_may_be_armoured() -> None:
    assert verify(DATA, signer.armour(MIRROR.sign(DATA), "SIGNATURE"), [MIRROR.public]) == MIRROR.public


@pytest.mark.parametrize(
    ("hashed", "loose"),
    [
        pytest.param(None, (), id="fingerprint"),
        pytest.param((), None, id="key id, not hashed"),
        pytest.param(((16, bytes.fromhex(MIRROR.fingerprint[-16:])),), (), id="key id, hashed"),
        pytest.param(None, ((20, b"a note"), (100, b"x" * 200)), id="with what is not understood"),
        pytest.param((*MIRROR.issued(), (2 | 0x80, bytes(4))), None, id="critical, for information"),
    ],
)
def test_its_key_may_be_named_in_each_of_the_ways(
    hashed: signer.SubPackets | None, loose: signer.SubPackets | None
) -> None:
    signature = MIRROR.sign(DATA, hashed=hashed, loose=loose)

    assert verify(DATA, signature, [OTHER.public, MIRROR.public]) == MIRROR.public


@given(st.binary(max_size=2000))
def test_whatever_was_signed_is_verified_and_nothing_else(data: bytes) -> None:
    signature = MIRROR.sign(data, hash_algorithm=signer.SHA512)

    assert accepted(data, signature, [MIRROR.public])
    assert not accepted(data + b"\0", signature, [MIRROR.public])


def test_a_number_that_is_short_by_chance_is_verified() -> None:
    # One in 256: OpenPGP leaves out the leading zero byte that RSA wants.
    usual = max(len(MIRROR.sign(b"%d" % number)) for number in range(8))
    signed = ((data, MIRROR.sign(data)) for data in (b"%d" % number for number in range(20_000)))
    data, signature = next((data, signature) for data, signature in signed if len(signature) < usual)

    assert verify(data, signature, [MIRROR.public]) == MIRROR.public


def test_the_hash_start_alone_proves_nothing() -> None:
    changed, signature = b"other" + DATA, bytearray(MIRROR.sign(DATA))
    start = loose_part(bytes(signature)).stop
    signature[start : start + 2] = MIRROR.sign(changed)[start : start + 2]

    assert refusal(changed, bytes(signature), [MIRROR.public]) == WRONG


WRONG = (
    "the checksums are not those that `Mirror <mirror@example.com>` has signed"
    f" with the key `{MIRROR.fingerprint}`"
)


def unlike(signature: bytes, number: int, content: int) -> bytes:
    """The signature with another byte at a place of its body, behind a header of three bytes."""
    return signature[: 3 + number] + bytes((content,)) + signature[3 + number + 1 :]


@pytest.mark.parametrize(
    ("signature", "why"),
    [
        pytest.param(MIRROR.sign(DATA + b"x"), WRONG, id="over something else"),
        pytest.param(
            OTHER.sign(DATA, hashed=MIRROR.issued(), loose=()), WRONG, id="by somebody else in its name"
        ),
        pytest.param(
            MIRROR.sign(DATA, hash_algorithm=signer.SHA1),
            "the signature of the checksums cannot be used: it is made with SHA-1, which others can forge",
            id="SHA-1",
        ),
        pytest.param(
            unlike(MIRROR.sign(DATA), 3, 12),
            "the signature of the checksums cannot be used: it is made with hash 12, which is not understood",
            id="SHA-3",
        ),
        pytest.param(
            unlike(MIRROR.sign(DATA), 2, 22),
            "the signature of the checksums cannot be used: it is made with EdDSA, and only RSA is understood",
            id="EdDSA",
        ),
        pytest.param(
            unlike(MIRROR.sign(DATA), 2, 99),
            "the signature of the checksums cannot be used: it is made with algorithm 99,"
            " and only RSA is understood",
            id="unknown algorithm",
        ),
        pytest.param(
            MIRROR.sign(DATA, kind=1),
            "the signature of the checksums cannot be used: it is of type 0x01, not one over a file as it is",
            id="over text",
        ),
        pytest.param(
            MIRROR.sign(DATA, hashed=(*MIRROR.issued(), (3 | 0x80, bytes(4)))),
            "the signature of the checksums cannot be used:"
            " it sets a condition that is not understood, sub-packet 3",
            id="a condition",
        ),
        pytest.param(
            MIRROR.sign(DATA, loose=((77 | 0x80, b""),)),
            "the signature of the checksums cannot be used:"
            " it sets a condition that is not understood, sub-packet 77",
            id="a condition that is not hashed",
        ),
        pytest.param(
            MIRROR.sign(DATA, loose=((16, bytes.fromhex(OTHER.fingerprint[-16:])),)),
            "the signature of the checksums is damaged: it names two keys as its own",
            id="two issuers",
        ),
        pytest.param(
            MIRROR.sign(DATA, hashed=(), loose=()),
            "the signature of the checksums does not say whose it is",
            id="no issuer",
        ),
        pytest.param(
            signer.packet(2, b"\x06" + bytes(40)),
            "the signature of the checksums has OpenPGP's version 6, and only 4 is understood",
            id="version 6",
        ),
        pytest.param(
            OTHER.sign(DATA),
            f"the checksums are signed by `{OTHER.fingerprint}`, which is no key that is trusted here",
            id="by somebody else",
        ),
        pytest.param(
            OTHER.sign(DATA, hashed=()),
            f"the checksums are signed by `{OTHER.fingerprint[-16:]}`, which is no key that is trusted here",
            id="by somebody else, a key id",
        ),
        pytest.param(
            signer.packet(6, MIRROR.body),
            "the signature of the checksums is damaged: there is something else in it than signatures",
            id="a key",
        ),
        pytest.param(
            MIRROR.public_file(),
            "the signature of the checksums is damaged: it holds a public key block, not a signature",
            id="an armoured key",
        ),
        pytest.param(
            b"",
            "the signature of the checksums is damaged: it is not OpenPGP, neither binary nor armoured",
            id="nothing",
        ),
        pytest.param(
            b"<html>404</html>",
            "the signature of the checksums is damaged: it is not OpenPGP, neither binary nor armoured",
            id="a page",
        ),
        pytest.param(
            signer.armour(b"", "SIGNATURE"),
            "the signature of the checksums is damaged: it is empty",
            id="empty armour",
        ),
        pytest.param(
            b"\x88" * (LARGEST_SIGNATURE + 1),
            "the signature of the checksums is damaged: it is larger than 64 KiB",
            id="too large",
        ),
        pytest.param(
            MIRROR.sign(DATA) * 17,
            "the signature of the checksums is damaged: there are more than 16 signatures in it",
            id="too many",
        ),
    ],
)
def test_each_other_signature_is_refused_and_says_why(signature: bytes, why: str) -> None:
    assert refusal(DATA, signature, [MIRROR.public]) == why


@pytest.mark.parametrize(
    ("number", "name"), [(1, "MD5"), (2, "SHA-1"), (3, "RIPEMD-160"), (11, "SHA-224")], ids=str
)
def test_weak_hashes_are_named(number: int, name: str) -> None:
    signature = unlike(MIRROR.sign(DATA), 3, number)

    assert f"it is made with {name}, which" in refusal(DATA, signature, [MIRROR.public])


def test_without_a_key_nothing_is_trusted() -> None:
    assert "no key that is trusted here" in refusal(DATA, MIRROR.sign(DATA), [])


def test_one_good_signature_by_a_known_key_is_enough() -> None:
    unreadable = signer.packet(2, b"\x06" + bytes(40))
    stranger = unlike(OTHER.sign(DATA), 2, 22)

    assert verify(DATA, stranger + unreadable + MIRROR.sign(DATA), [MIRROR.public]) == MIRROR.public


def test_the_first_of_several_known_signers_is_told() -> None:
    keys = [MIRROR.public, OTHER.public]

    assert verify(DATA, OTHER.sign(DATA) + MIRROR.sign(DATA), keys) == OTHER.public


@pytest.mark.parametrize("bad_first", [True, False])
def test_a_bad_signature_by_a_known_key_is_not_excused_by_a_good_one(bad_first: bool) -> None:
    good, bad = OTHER.sign(DATA), MIRROR.sign(DATA + b"x")
    signature = bad + good if bad_first else good + bad

    assert refusal(DATA, signature, [MIRROR.public, OTHER.public]) == WRONG


@pytest.mark.parametrize(
    "key",
    [
        pytest.param(MIRROR.public._replace(modulus=0), id="no modulus"),
        pytest.param(MIRROR.public._replace(modulus=MIRROR.public.modulus - 1), id="even modulus"),
        pytest.param(MIRROR.public._replace(modulus=2**16 + 1), id="tiny modulus"),
        pytest.param(MIRROR.public._replace(modulus=-MIRROR.public.modulus), id="negative modulus"),
        pytest.param(MIRROR.public._replace(modulus=2**70_000 + 1), id="huge modulus"),
        pytest.param(MIRROR.public._replace(exponent=0), id="no exponent"),
        pytest.param(MIRROR.public._replace(exponent=1), id="exponent 1"),
        pytest.param(MIRROR.public._replace(exponent=2**2000 + 1), id="huge exponent"),
    ],
)
def test_numbers_that_no_key_has_verify_nothing(key: PublicKey) -> None:
    assert refusal(DATA, MIRROR.sign(DATA), [key]) == WRONG


@given(st.binary(max_size=1500))
def test_no_bytes_are_taken_for_a_signature(noise: bytes) -> None:
    for file in (noise, signer.packet(2, noise), signer.armour(signer.packet(2, noise), "SIGNATURE")):
        assert not accepted(DATA, file, [MIRROR.public])


@given(st.data())
def test_a_signature_that_was_changed_is_refused_or_still_says_the_truth(data: st.DataObject) -> None:
    signature = bytearray(MIRROR.sign(DATA))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(signature) - 1))
        signature[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))

    if accepted(DATA, bytes(signature), [MIRROR.public]):
        (packet,) = openpgp.packets(bytes(signature))
        (original,) = openpgp.packets(MIRROR.sign(DATA))
        found, expected = openpgp.read_signature(packet.body), openpgp.read_signature(original.body)
        assert found._replace(issuers=expected.issuers) == expected
    assert not accepted(DATA + b"x", bytes(signature), [MIRROR.public])


@pytest.mark.parametrize(
    ("file", "fingerprint"),
    [
        ("mirror_SHA256SUMS.asc", "15F63183C83913DC43F1641DA094C73F99DC2FFE"),
        ("mirror_SHA256SUMS.sig", "400E427274E34E8E3229E5393A229C8107D5805B"),
    ],
)
def test_what_gpg_has_signed_for_a_mirror_is_verified(file: str, fingerprint: str) -> None:
    data, signature = (RELEASES / "mirror_SHA256SUMS").read_bytes(), (RELEASES / file).read_bytes()

    assert verify(data, signature, read_key_file(RELEASES / "mirror.asc")).fingerprint == fingerprint


@pytest.mark.skipif(not shutil.which("gpg"), reason="gpg, which is asked for its opinion here, is not there")
def test_gpg_is_of_the_same_opinion(tmp_path: Path) -> None:
    home = tmp_path / "g"
    home.mkdir(mode=0o700)

    def gpg(*arguments: str | Path) -> int:
        command = ["gpg", "--homedir", home, "--batch", "--no-autostart", "--no-tty", *arguments]
        return subprocess.run(command, check=False, capture_output=True, timeout=60).returncode

    keys, data, signature = (tmp_path / name for name in ("keys", "data", "signature"))
    keys.write_bytes(MIRROR.public_file() + OTHER.public_file())
    assert gpg("--import", keys) == 0
    trusted = [MIRROR.public, OTHER.public]
    good, stranger = MIRROR.sign(DATA), signing_key("Stranger <stranger@example.com>").sign(DATA)
    opinions = {}
    for name, file in {
        "good": good,
        "new header": MIRROR.sign(DATA, new_header=True, hash_algorithm=signer.SHA512),
        "key id alone": MIRROR.sign(DATA, hashed=MIRROR.issued()[:1]),
        "other data": MIRROR.sign(DATA + b"x"),
        "stranger": stranger,
        "condition": MIRROR.sign(DATA, hashed=(*MIRROR.issued(), (77 | 0x80, b""))),
        "two, good": good + OTHER.sign(DATA),
        "two, one bad": good + OTHER.sign(DATA + b"x"),
        "changed": flipped(good, len(good) * 8 - 9),
        "cut": good[:-1],
    }.items():
        data.write_bytes(DATA)
        signature.write_bytes(file)
        opinions[name] = (gpg("--verify", signature, data) == 0, accepted(DATA, file, trusted))

    assert {name: sides for name, sides in opinions.items() if sides[0] != sides[1]} == {}
    assert [sides[1] for sides in opinions.values()].count(True) == 4
