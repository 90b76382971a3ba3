"""OpenPGP is read as it is written, and refused when it is anything else."""

import base64
import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hereya_tf.releases import openpgp
from hereya_tf.releases.openpgp import Key, MalformedError, Packet, Signature
from tests import openpgp_signer as signer

TAGS = st.integers(1, 15)


@given(TAGS, st.sampled_from([0, 1, 191, 192, 255, 256, 8383, 8384, 65535, 65536]), st.booleans())
def test_packets_of_every_length_and_both_formats_are_read(tag: int, size: int, new_header: bool) -> None:
    file = signer.packet(tag, bytes(size), new_header=new_header)

    assert list(openpgp.packets(file * 2)) == [Packet(tag, bytes(size))] * 2


@pytest.mark.parametrize(
    ("file", "why"),
    [
        pytest.param(b"\x02\x00", "what should be a packet is none", id="first bit"),
        pytest.param(b"\x8bxx", "a packet does not say how long it is", id="indeterminate length"),
        pytest.param(b"\xc2\xe0x", "a packet comes in parts", id="partial length"),
        pytest.param(b"\x88", "it breaks off", id="no length"),
        pytest.param(b"\x89\x00", "it breaks off", id="half a length"),
        pytest.param(b"\x88\x03xx", "it breaks off", id="short body"),
        pytest.param(b"\xc2\xff\xff\xff\xff\xffx", "it breaks off", id="4 GiB"),
    ],
)
def test_what_is_no_packet_is_refused(file: bytes, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        list(openpgp.packets(file))


def test_a_signature_is_read() -> None:
    key = signer.signing_key()
    (packet,) = openpgp.packets(key.sign(b"data", hash_algorithm=signer.SHA512))

    found = openpgp.read_signature(packet.body)

    begin = packet.body[: 6 + int.from_bytes(packet.body[4:6])]
    assert found == Signature(
        version=4,
        kind=0,
        key_algorithm=1,
        hash_algorithm=10,
        hashed=begin + b"\x04\xff" + len(begin).to_bytes(4),
        issuers=frozenset({key.fingerprint, key.fingerprint[-16:]}),
        conditions=(),
        hash_start=found.hash_start,
        numbers=found.numbers,
    )
    assert packet.body.endswith(found.hash_start + found.numbers)


@pytest.mark.parametrize("version", [2, 3, 5, 6])
def test_of_other_versions_nothing_but_the_version_is_read(version: int) -> None:
    assert openpgp.read_signature(bytes((version,))) == Signature(version=version)


@given(st.integers(0, 127), st.binary(max_size=300))
@example(2, bytes(192))
def test_critical_sub_packets_are_conditions_unless_they_only_inform(number: int, content: bytes) -> None:
    if number in (16, 33):
        return
    area = signer.sub_packets(((number | 0x80, content), (number, content)))
    body = b"\x04\x00\x01\x08" + len(area).to_bytes(2) + area + bytes(4)

    assert openpgp.read_signature(body).conditions == (() if number in (2, 28) else (number,))


def test_a_sub_packet_may_have_a_length_of_five_bytes() -> None:
    area = b"\xff" + (9).to_bytes(4) + b"\x10ABCDEFGH"
    body = b"\x04\x00\x01\x08\x00\x00" + len(area).to_bytes(2) + area + bytes(2)

    assert openpgp.read_signature(body).issuers == {b"ABCDEFGH".hex().upper()}


@pytest.mark.parametrize(
    ("area", "why"),
    [
        pytest.param(b"\x00", "a sub-packet is empty", id="empty"),
        pytest.param(b"\x05\x02", "it breaks off", id="short"),
        pytest.param(b"\x02\x10A", "it names its key in an unknown way", id="key id of one byte"),
        pytest.param(b"\x01\x21", "it names its key in an unknown way", id="empty fingerprint"),
        pytest.param(b"\x02\x21\x04", "it names its key in an unknown way", id="no fingerprint"),
        pytest.param(b"\x02\x21\x09", "it names its key in an unknown way", id="unknown version"),
    ],
)
@pytest.mark.parametrize("hashed", [True, False])
def test_sub_packets_that_are_not_whole_are_refused(area: bytes, why: str, hashed: bool) -> None:
    size = len(area).to_bytes(2)
    areas = size + area + b"\0\0" if hashed else b"\0\0" + size + area

    with pytest.raises(MalformedError, match=why):
        openpgp.read_signature(b"\x04\x00\x01\x08" + areas + bytes(2))


def test_the_issuer_may_have_a_fingerprint_of_a_newer_version() -> None:
    area = signer.sub_packets(((33, b"\x06" + bytes(32)),))
    body = b"\x04\x00\x01\x08" + len(area).to_bytes(2) + area + bytes(4)

    assert openpgp.read_signature(body).issuers == {"00" * 32}


@given(st.lists(st.integers(0, 2**4096), max_size=3))
def test_numbers_are_read(numbers: list[int]) -> None:
    data = b"".join(map(signer.mpi, numbers))

    assert openpgp.read_numbers(data, len(numbers)) == tuple(numbers)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(b"\x00\x09\x01", "it breaks off", id="short"),
        pytest.param(b"\x00\x02\x01", "a number is not as long as it says", id="leading zero bit"),
        pytest.param(b"\x00\x07\xff", "a number is not as long as it says", id="more bits"),
        pytest.param(b"\x00\x01\x01\x00", "there is more in it than there should be", id="rest"),
    ],
)
def test_numbers_that_are_not_what_they_say_are_refused(data: bytes, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        openpgp.read_numbers(data, 1)


def test_a_public_key_is_read_and_named() -> None:
    key = signer.signing_key()

    assert openpgp.read_key(key.body) == Key(
        version=4,
        algorithm=1,
        fingerprint=key.fingerprint,
        modulus=key.public.modulus,
        exponent=65537,
    )
    assert (
        openpgp.rsa_fingerprint(created=signer.CREATED, modulus=key.public.modulus, exponent=65537)
        == key.fingerprint
    )


@pytest.mark.parametrize(
    ("body", "key"),
    [
        pytest.param(b"\x03" + bytes(6) + b"\x01", Key(version=3, algorithm=1), id="version 3"),
        pytest.param(b"\x06" + bytes(4) + b"\x1b", Key(version=6, algorithm=27), id="version 6"),
    ],
)
def test_of_keys_of_other_versions_the_algorithm_is_read(body: bytes, key: Key) -> None:
    assert openpgp.read_key(body) == key


def test_of_keys_of_other_kinds_the_fingerprint_is_read() -> None:
    key = openpgp.read_key(b"\x04" + bytes(4) + b"\x16" + b"curve")

    assert (key.algorithm, len(key.fingerprint), key.modulus) == (22, 40, 0)


def test_a_key_of_more_bytes_than_a_key_can_have_is_refused() -> None:
    with pytest.raises(MalformedError, match="too large"):
        openpgp.read_key(b"\x04" + bytes(4) + b"\x16" + bytes(65536))


@given(st.binary(max_size=500), st.booleans())
def test_armour_is_taken_off(content: bytes, checksum: bool) -> None:
    text = signer.armour(content, "SIGNATURE", checksum=checksum)

    assert openpgp.binary(text, "SIGNATURE") == content


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: text.replace(b"\n", b"\r\n"), id="CRLF"),
        pytest.param(lambda text: b"\xef\xbb\xbf" + text, id="byte order mark"),
        pytest.param(lambda text: b"Our key:\n\n" + text + b"\nBest regards\n", id="in a letter"),
        pytest.param(lambda text: text.replace(b"\n", b"  \n"), id="spaces at the end of lines"),
        pytest.param(lambda text: text.removesuffix(b"\n"), id="no last line end"),
    ],
)
def test_armour_may_have_been_through_other_hands(change: Callable[[bytes], bytes]) -> None:
    text = signer.armour(b"content", "SIGNATURE")

    assert openpgp.binary(change(text), "SIGNATURE") == b"content"


def test_all_blocks_of_a_file_count() -> None:
    text = signer.armour(b"one", "SIGNATURE") + b"\n" + signer.armour(b"two", "SIGNATURE")

    assert openpgp.binary(text, "SIGNATURE") == b"onetwo"


def test_what_is_binary_stays_as_it_is() -> None:
    file = signer.packet(13, b"-----BEGIN PGP SIGNATURE-----\n")

    assert openpgp.binary(file, "SIGNATURE") == file


BLOCK = signer.armour(b"content", "SIGNATURE")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param(b"", "it is not OpenPGP, neither binary nor armoured", id="empty"),
        pytest.param(b"<!doctype html>", "it is not OpenPGP, neither binary nor armoured", id="a web page"),
        pytest.param(
            signer.armour(b"", "PUBLIC KEY BLOCK"), "it holds a public key block, not a signature", id="a key"
        ),
        pytest.param(BLOCK.replace(b"\n\n", b"\n"), "no empty line", id="no empty line"),
        pytest.param(BLOCK[:-12], "it breaks off", id="no end"),
        pytest.param(b"-----BEGIN PGP SIGNATURE-----", "it breaks off", id="only a beginning"),
        pytest.param(BLOCK.replace(base64.b64encode(b"content"), b"Y29u!"), "is not base64", id="not base64"),
        pytest.param(BLOCK.replace(b"Y29u", b"Y28u"), "the checksum of its armour is another", id="changed"),
        pytest.param(BLOCK.replace(b"\n=", b"\n=!"), "is not base64", id="not a checksum"),
    ],
)
def test_what_is_no_armour_is_refused(text: bytes, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        openpgp.binary(text, "SIGNATURE")


def test_what_gpg_has_armoured_is_what_gpg_has_written(fixtures_directory: Path) -> None:
    keys = fixtures_directory / "releases"

    armoured = openpgp.binary((keys / "mirror.asc").read_bytes(), "PUBLIC KEY BLOCK")

    assert armoured == (keys / "mirror.gpg").read_bytes()


@given(st.binary(max_size=400))
@example(b"\x99" + bytes(300))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    def read(file: bytes) -> None:
        for packet in openpgp.packets(openpgp.binary(file, "SIGNATURE")):
            openpgp.read_signature(packet.body)
            openpgp.read_key(packet.body)

    for file in (data, signer.packet(2, data), signer.packet(6, b"\x04" + data), b"-----BEGIN PGP " + data):
        with contextlib.suppress(MalformedError):
            read(file)
