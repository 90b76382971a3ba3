"""Of an archive only the one binary is taken, and only when there is no doubt about it."""

import hashlib
import io
import stat
import struct
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hereya_tf.errors import Cancelled, EngineUnavailable
from hereya_tf.private import nameless_file
from hereya_tf.releases.archive import Content, take_in, unpack

BINARY = b"\x7fELF" + bytes(range(256)) * 3000
SHOWN = "terraform_1.11.4_linux_amd64.zip"


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members:
            file.writestr(name, content)
    return buffer.getvalue()


def member(**fields: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo("terraform")
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def no_pause(_seconds: float) -> None:
    """Go on."""


def unpacked(archive: bytes, target: Path, **options: Any) -> Content:
    with target.open("w+b", buffering=0) as file:
        return unpack(
            io.BytesIO(archive),
            "terraform",
            file,
            **{"shown": SHOWN, "pause": no_pause, **options},
        )


def refusal(archive: bytes, target: Path, **options: Any) -> str:
    with pytest.raises(EngineUnavailable) as raised:
        unpacked(archive, target, **options)
    assert raised.value.hints == (
        "the archive is as it was signed, so whoever made the release or mirror has to mend it",
    )
    return str(raised.value)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED], ids=["stored", "deflated"])
def test_the_binary_comes_out_with_its_digest(tmp_path: Path, method: int) -> None:
    archive = zipped(
        ("LICENSE.txt", b"licence"), ("terraform", BINARY), ("README.md", b"read"), method=method
    )
    content = unpacked(archive, tmp_path / "binary")

    assert content == Content(hashlib.sha256(BINARY).hexdigest(), len(BINARY))
    assert (tmp_path / "binary").read_bytes() == BINARY
    assert sorted(file.name for file in tmp_path.iterdir()) == ["binary", "home"]


def test_a_name_that_only_looks_like_it_is_another(tmp_path: Path) -> None:
    names = (
        "../terraform",
        "./terraform",
        "bin/terraform",
        "/terraform",
        "terraform/",
        "Terraform",
        "terraform ",
    )
    archive = zipped(*((name, b"x") for name in names))

    assert refusal(archive, tmp_path / "binary") == f"`{SHOWN}` holds no `terraform`"
    assert (tmp_path / "binary").read_bytes() == b""
    assert sorted(file.name for file in tmp_path.iterdir()) == ["binary", "home"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_of_one_name_are_one_too_many(tmp_path: Path) -> None:
    archive = zipped(("terraform", b"one"), ("terraform", b"two"))

    assert refusal(archive, tmp_path / "binary") == f"`{SHOWN}` holds `terraform` 2 times"


def test_a_name_that_ends_for_some_and_goes_on_for_others_is_refused(tmp_path: Path) -> None:
    archive = zipped(("terraformXbad", BINARY)).replace(b"terraformXbad", b"terraform\0bad")

    assert refusal(archive, tmp_path / "binary") == (
        f"`terraform` in `{SHOWN}` cannot be used: it is called something else as well"
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        pytest.param({"external_attr": (stat.S_IFLNK | 0o777) << 16}, "a link", id="link"),
        pytest.param({"external_attr": (stat.S_IFCHR | 0o666) << 16}, "not a file", id="device"),
        pytest.param({"external_attr": (stat.S_IFIFO | 0o666) << 16}, "not a file", id="pipe"),
        pytest.param({"external_attr": (stat.S_IFDIR | 0o755) << 16}, "not a file", id="directory"),
        pytest.param(
            {"compress_type": zipfile.ZIP_LZMA}, "compressed in a way that no release is", id="LZMA"
        ),
    ],
)
def test_what_is_no_plain_file_is_refused(tmp_path: Path, fields: dict[str, int], why: str) -> None:
    archive = zipped((member(**fields), BINARY))

    assert refusal(archive, tmp_path / "binary") == f"`terraform` in `{SHOWN}` cannot be used: it is {why}"


def test_what_is_encrypted_is_refused(tmp_path: Path) -> None:
    archive = bytearray(zipped((member(external_attr=(stat.S_IFREG | 0o755) << 16), BINARY)))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = archive.index(signature) + offset
        archive[at] |= 1

    assert refusal(bytes(archive), tmp_path / "binary") == (
        f"`terraform` in `{SHOWN}` cannot be used: it is encrypted"
    )


def test_what_says_that_it_is_large_is_not_begun(tmp_path: Path) -> None:
    archive = zipped(("terraform", bytes(10_000_000)))
    assert len(archive) < 20_000

    assert refusal(archive, tmp_path / "binary", limit=9_999_999) == (
        f"`terraform` in `{SHOWN}` cannot be used: it is larger than 10 MB"
    )
    assert (tmp_path / "binary").read_bytes() == b""
    assert unpacked(archive, tmp_path / "binary", limit=10_000_000).size == 10_000_000


def test_what_is_larger_than_it_says_is_refused_before_more_is_written(tmp_path: Path) -> None:
    archive = bytearray(zipped(("terraform", bytes(10_000_000))))
    at = archive.index(b"PK\x01\x02") + 24
    archive[at : at + 4] = struct.pack("<I", 1000)

    assert "cannot be unpacked" in refusal(bytes(archive), tmp_path / "binary", limit=1000)
    assert (tmp_path / "binary").stat().st_size <= 1000


def test_what_is_shorter_than_it_says_is_refused(tmp_path: Path) -> None:
    archive = bytearray(zipped(("terraform", BINARY)))
    at = archive.index(b"PK\x01\x02") + 24
    archive[at : at + 4] = struct.pack("<I", len(BINARY) + 1)

    assert refusal(bytes(archive), tmp_path / "binary") == (
        f"`{SHOWN}` cannot be unpacked: `terraform` is shorter than it says"
    )


def test_one_wrong_bit_is_noticed_even_where_the_digest_was_right(tmp_path: Path) -> None:
    archive = bytearray(zipped(("terraform", BINARY), method=zipfile.ZIP_STORED))
    archive[1000] ^= 1

    assert refusal(bytes(archive), tmp_path / "binary") == (
        f"`{SHOWN}` cannot be unpacked: Bad CRC-32 for file 'terraform'"
    )


@pytest.mark.parametrize("archive", [b"", b"PK", b"<html>log in</html>", bytes(100_000)])
def test_what_is_no_archive_is_refused(tmp_path: Path, archive: bytes) -> None:
    assert refusal(archive, tmp_path / "binary") == f"`{SHOWN}` cannot be unpacked: File is not a zip file"


GOOD = zipped(("LICENSE.txt", b"licence"), ("terraform", b"#!/bin/sh\necho Terraform v1.11.4\n" * 20))


@given(st.lists(st.tuples(st.integers(0, len(GOOD) - 1), st.integers(0, 255)), min_size=1, max_size=6))
@example([(len(GOOD) - 6, 255), (len(GOOD) - 5, 255)])
def test_bytes_that_were_changed_make_the_same_binary_or_a_refusal(changes: list[tuple[int, int]]) -> None:
    archive = bytearray(GOOD)
    for at, value in changes:
        archive[at] = value
    with nameless_file() as target:
        said = ""
        try:
            unpack(io.BytesIO(archive), "terraform", target, shown=SHOWN, pause=no_pause)
        except EngineUnavailable as error:
            said = str(error)

        assert said.isprintable()
        assert target.tell() < 10_000


@given(st.integers(0, len(GOOD) - 1))
def test_a_part_of_an_archive_is_none(size: int) -> None:
    with nameless_file() as target, pytest.raises(EngineUnavailable):
        unpack(io.BytesIO(GOOD[:size]), "terraform", target, shown=SHOWN, pause=no_pause)


def test_a_stream_is_written_to_its_end(tmp_path: Path) -> None:
    seen: list[float] = []
    with (tmp_path / "archive").open("w+b", buffering=0) as file:
        content = take_in((b"one", b"", b"two"), file, seen.append)

    assert content == Content(hashlib.sha256(b"onetwo").hexdigest(), 6)
    assert (tmp_path / "archive").read_bytes() == b"onetwo"
    assert seen == [0.0, 0.0, 0.0]


def test_whoever_pauses_may_end_it(tmp_path: Path) -> None:
    def end(_seconds: float) -> None:
        raise Cancelled("the run was cancelled by SIGINT")

    with pytest.raises(Cancelled):
        unpacked(GOOD, tmp_path / "binary", pause=end)


def test_what_the_reader_of_the_pieces_raises_is_its_own() -> None:
    def pieces() -> Iterable[bytes]:
        yield b"one"
        raise ValueError("of the stream")

    with (
        nameless_file() as file,
        pytest.raises(ValueError, match="stream"),
    ):
        take_in(pieces(), file, no_pause)
