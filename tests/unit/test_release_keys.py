"""Trusted are the keys that vendors sign with, and those in a file that the user names."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName
from hereya_tf.errors import BadInput, FailureClass
from hereya_tf.releases.keys import pinned_keys, read_key_file
from hereya_tf.releases.signatures import PublicKey, verify
from tests import openpgp_signer as signer
from tests.command_line import REPOSITORY
from tests.openpgp_signer import packet, signing_key

RELEASES = REPOSITORY / "fixtures" / "releases"
MIRROR, OTHER, SUBKEY = signing_key(), signing_key("Other <other@example.com>"), signing_key("subkey")
PRIMARY, FIRST, ENCRYPTION, LAST = (
    "723393C2EE5FFCDA1DB0BD624E0956E3A02E7824",
    "400E427274E34E8E3229E5393A229C8107D5805B",
    "383933EF8A045AD5FA07533403E1C106E1369C36",
    "15F63183C83913DC43F1641DA094C73F99DC2FFE",
)

WriteKeys = Callable[[bytes], Path]


@pytest.fixture
def write_keys(tmp_path: Path) -> WriteKeys:
    """Write a file of that content and return its path."""

    def write(content: bytes) -> Path:
        path = tmp_path / "keys.asc"
        path.write_bytes(content)
        return path

    return write


def refusal(path: Path) -> tuple[str, str]:
    """The sentence and the hint with which it is refused, without the directory."""
    with pytest.raises(BadInput) as caught:
        read_key_file(path)
    assert caught.value.failure_class is FailureClass.BAD_INPUT
    return str(caught.value).replace(f"{path.parent}/", ""), caught.value.hints[0]


@pytest.mark.parametrize(
    ("engine", "owner", "fingerprints"),
    [
        (
            EngineName.TERRAFORM,
            "HashiCorp",
            [
                "C874011F0AB405110D02105534365D9472D7468F",
                "374EC75B485913604A831CC7C820C6D5CD27AB87",
                "B36CBA91A2C0730C435FC280B0B441097685B676",
            ],
        ),
        (EngineName.OPENTOFU, "OpenTofu", ["E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80"]),
    ],
)
def test_the_keys_of_the_vendors_are_pinned(engine: EngineName, owner: str, fingerprints: list[str]) -> None:
    keys = pinned_keys(engine)

    # A fingerprint is computed from every digit of a key.
    assert [(key.fingerprint, key.owner) for key in keys] == [(each, owner) for each in fingerprints]
    assert {(key.modulus.bit_length(), key.exponent) for key in keys} == {(4096, 65537)}


def test_looking_at_keys_loads_no_cryptography() -> None:
    program = "import sys, hereya_tf.releases.keys; print('cryptography' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=REPOSITORY)

    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("armoured", [True, False], ids=["armoured", "binary"])
def test_a_key_of_a_file_is_the_key_that_signs(write_keys: WriteKeys, armoured: bool) -> None:
    path = write_keys(MIRROR.public_file(armoured=armoured))

    assert read_key_file(path) == (MIRROR.public,)
    assert verify(b"data", MIRROR.sign(b"data"), read_key_file(path)) == MIRROR.public


@pytest.mark.parametrize("armoured", [True, False], ids=["armoured", "binary"])
def test_all_keys_of_a_file_are_read_with_their_owners(write_keys: WriteKeys, armoured: bool) -> None:
    first = MIRROR.public_file(armoured=armoured, subkeys=[SUBKEY])

    keys = read_key_file(write_keys(first + OTHER.public_file(armoured=armoured)))

    assert keys == (MIRROR.public, SUBKEY.public._replace(owner=MIRROR.owner), OTHER.public)


@pytest.mark.parametrize("name", ["mirror.asc", "mirror.gpg"])
def test_what_gpg_has_exported_is_read(name: str) -> None:
    keys = read_key_file(RELEASES / name)

    assert [(key.fingerprint, key.modulus.bit_length()) for key in keys] == [
        (PRIMARY, 3072),
        (FIRST, 3072),
        (ENCRYPTION, 2048),
        (LAST, 2048),
    ]
    assert {key.owner for key in keys} == {"Mirror <mirror@example.com>"}


def test_a_revoked_subkey_is_left_out() -> None:
    keys = read_key_file(RELEASES / "mirror-subkey-revoked.asc")

    assert [key.fingerprint for key in keys] == [PRIMARY, ENCRYPTION, LAST]


def test_with_the_primary_key_all_its_subkeys_are_revoked(write_keys: WriteKeys) -> None:
    family = MIRROR.public_file(armoured=False, subkeys=[SUBKEY], revoked=[MIRROR])

    assert read_key_file(write_keys(family + OTHER.public_file(armoured=False))) == (OTHER.public,)
    assert refusal(RELEASES / "mirror-revoked.asc") == (
        "`mirror-revoked.asc` holds no key that can be used, only a revoked key",
        "use RSA keys of 2048 bits or more, in OpenPGP's version 4",
    )


def test_a_key_without_an_owner_is_called_by_its_fingerprint(write_keys: WriteKeys) -> None:
    path = write_keys(packet(6, MIRROR.body))

    assert read_key_file(path) == (MIRROR.public._replace(owner=MIRROR.fingerprint),)


def test_an_owner_cannot_steer_a_terminal(write_keys: WriteKeys) -> None:
    path = write_keys(packet(6, MIRROR.body) + packet(13, b"\x1b[2J\nM\xff" + b"x" * 1000))

    (key,) = read_key_file(path)

    assert key.owner == "\\x1b[2J\\nM\N{REPLACEMENT CHARACTER}" + "x" * 193


def test_what_is_no_key_stands_between_keys_and_counts_for_nothing(write_keys: WriteKeys) -> None:
    between = (
        packet(12, b"trust") + packet(17, b"picture") + packet(2, b"") + packet(63, b"?", new_header=True)
    )
    path = write_keys(packet(10, b"PGP") + packet(6, MIRROR.body) + between + packet(14, SUBKEY.body))

    assert [key.fingerprint for key in read_key_file(path)] == [MIRROR.fingerprint, SUBKEY.fingerprint]


def test_keys_that_cannot_be_used_are_left_out(write_keys: WriteKeys) -> None:
    curve = b"\x04" + bytes(4) + b"\x16" + b"a curve"

    assert read_key_file(write_keys(packet(6, curve) + packet(14, SUBKEY.body))) == (
        SUBKEY.public._replace(owner=SUBKEY.fingerprint),
    )


def rsa(modulus: int, exponent: int = 65537, *, algorithm: int = 1) -> bytes:
    return packet(6, b"\x04" + bytes(4) + bytes((algorithm,)) + signer.mpi(modulus) + signer.mpi(exponent))


ODD = MIRROR.public.modulus


@pytest.mark.parametrize(
    ("content", "only"),
    [
        pytest.param(packet(6, b"\x06" + bytes(4) + b"\x1b"), "a key of version 6", id="version 6"),
        pytest.param(packet(6, b"\x03" + bytes(6) + b"\x01"), "a key of version 3", id="version 3"),
        pytest.param(
            packet(6, b"\x04" + bytes(4) + b"\x16"),
            "a key that is not for signing with RSA (EdDSA)",
            id="EdDSA",
        ),
        pytest.param(
            rsa(ODD, algorithm=2),
            "a key that is not for signing with RSA (RSA for encryption alone)",
            id="encryption",
        ),
        pytest.param(
            packet(6, b"\x04" + bytes(4) + b"\x63"),
            "a key that is not for signing with RSA (of algorithm 99)",
            id="unknown",
        ),
        pytest.param(rsa(2**2046 + 1), "an RSA key of 2047 bits", id="short"),
        pytest.param(rsa(2**16384 + 1), "an RSA key of 16385 bits", id="long"),
        pytest.param(rsa(ODD - 1), "an RSA key of numbers that no key has", id="even modulus"),
        pytest.param(rsa(ODD, 65536), "an RSA key of numbers that no key has", id="even exponent"),
        pytest.param(rsa(ODD, 1), "an RSA key of numbers that no key has", id="exponent 1"),
        pytest.param(rsa(ODD, 2**64 + 1), "an RSA key of numbers that no key has", id="long exponent"),
        pytest.param(
            rsa(2**1023 + 1) * 2 + packet(6, b"\x06" + bytes(4) + b"\x1b"),
            "an RSA key of 1024 bits, a key of version 6",
            id="several",
        ),
    ],
)
def test_a_file_without_a_key_that_can_be_used_is_refused(
    write_keys: WriteKeys, content: bytes, only: str
) -> None:
    assert refusal(write_keys(content)) == (
        f"`keys.asc` holds no key that can be used, only {only}",
        "use RSA keys of 2048 bits or more, in OpenPGP's version 4",
    )


def test_curves_that_gpg_has_made_are_refused_by_name() -> None:
    assert refusal(RELEASES / "mirror-curve.asc")[0] == (
        "`mirror-curve.asc` holds no key that can be used,"
        " only a key that is not for signing with RSA (EdDSA)"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        pytest.param(b"", "it is not OpenPGP, neither binary nor armoured", id="empty"),
        pytest.param(b"ssh-rsa AAAA", "it is not OpenPGP, neither binary nor armoured", id="another key"),
        pytest.param("-----BEGIN".encode("utf-16"), "a packet comes in parts", id="UTF-16"),
        pytest.param(packet(5, MIRROR.body), "it holds a private key", id="private"),
        pytest.param(
            signer.armour(b"", "PRIVATE KEY BLOCK"),
            "it holds a private key block, not a public key block",
            id="private, armoured",
        ),
        pytest.param(packet(6, MIRROR.body) + packet(7, SUBKEY.body), "it holds a private key", id="subkey"),
        pytest.param(packet(6, MIRROR.body)[:-1], "it breaks off", id="cut"),
        pytest.param(packet(6, MIRROR.body + b"x"), "there is more in it than there should be", id="more"),
    ],
)
def test_what_is_no_file_of_public_keys_is_refused(write_keys: WriteKeys, content: bytes, why: str) -> None:
    assert refusal(write_keys(content)) == (
        f"`keys.asc` is not a file of public keys: {why}",
        "write one with `gpg --armor --output FILE --export KEY`",
    )


@pytest.mark.parametrize(
    "content", [MIRROR.sign(b"data"), signer.armour(b"", "PUBLIC KEY BLOCK")], ids=["a signature", "nothing"]
)
def test_a_file_without_keys_is_refused(write_keys: WriteKeys, content: bytes) -> None:
    assert refusal(write_keys(content))[0] == "`keys.asc` holds no public key"


def test_a_key_that_is_known_to_be_revoked_is_refused_from_any_file(write_keys: WriteKeys) -> None:
    revoked = {MIRROR.fingerprint: "the key that was revoked in May"}

    both = write_keys(MIRROR.public_file() + OTHER.public_file())
    assert read_key_file(both, revoked=revoked) == (OTHER.public,)
    with pytest.raises(BadInput, match="no key that can be used, only the key that was revoked in May"):
        read_key_file(write_keys(MIRROR.public_file()), revoked=revoked)


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none")[0] == "`none` cannot be read: No such file or directory"
    assert refusal(tmp_path)[0].endswith("cannot be read: Is a directory")
    with pytest.raises(BadInput):
        read_key_file(Path("nul\0byte"))


def test_a_file_that_is_too_large_is_refused(write_keys: WriteKeys) -> None:
    assert refusal(write_keys(bytes(1024 * 1024 + 1)))[0] == "`keys.asc` is larger than 1 MiB"


def test_keys_may_come_through_a_pipe() -> None:
    reading, writing = os.pipe()
    content = MIRROR.public_file()

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert read_key_file(Path(f"/dev/fd/{reading}")) == (MIRROR.public,)
    finally:
        writer.join()
        os.close(reading)


@pytest.mark.parametrize(
    "many",
    [
        pytest.param(packet(14, b"\x06" + bytes(4) + b"\x1b") * 130_000, id="subkeys"),
        pytest.param(packet(6, b"\x06" + bytes(4) + b"\x1b") * 50_000, id="keys"),
        pytest.param(packet(2, b"") * 100_000, id="signatures"),
    ],
)
def test_the_largest_file_is_read_in_one_go(write_keys: WriteKeys, many: bytes) -> None:
    path = write_keys(packet(6, MIRROR.body) + many)
    started = time.process_time()

    keys = read_key_file(path)

    # One second; when each key looked through the whole file it was forty.
    assert ([key.fingerprint for key in keys], time.process_time() - started < 20) == (
        [MIRROR.fingerprint],
        True,
    )


@given(st.binary(max_size=600), st.integers(0, 600))
def test_no_bytes_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, place: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "noise"
    genuine = MIRROR.public_file(armoured=False, subkeys=[SUBKEY])
    for content in (noise, packet(6, noise), genuine[:place] + noise + genuine[place + len(noise) :]):
        path.write_bytes(content)
        try:
            keys = read_key_file(path)
        except BadInput:
            continue
        assert all(isinstance(key, PublicKey) for key in keys)
