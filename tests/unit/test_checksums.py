"""A file has the digest that verified checksums say, or none that counts."""

import contextlib
import hashlib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import EngineUnverified, FailureClass
from hereya_tf.releases.checksums import LARGEST_CHECKSUMS, digest_of

NAME = "terraform_1.2.3_linux_amd64.zip"
A, B = "a1" * 32, "b2" * 32


def refusal(checksums: bytes, name: str = NAME) -> str:
    with pytest.raises(EngineUnverified) as caught:
        digest_of(checksums, name)
    assert caught.value.failure_class is FailureClass.ENGINE_UNVERIFIED
    assert caught.value.hints
    return str(caught.value)


@pytest.mark.parametrize(
    "checksums",
    [
        pytest.param(f"{A}  {NAME}\n", id="text"),
        pytest.param(f"{A} *{NAME}\n", id="binary"),
        pytest.param(f"{A}  ./{NAME}\n", id="here"),
        pytest.param(f"{A}  {NAME}", id="no line end"),
        pytest.param(f"{A}  {NAME}\r\n{B}  other.zip\r\n", id="CRLF"),
        pytest.param(f"{A.upper()}  {NAME}\n", id="upper case"),
        pytest.param(f"# made by us\n\n{B}  other.zip\n  \n{A}  {NAME}\n", id="comments, empty lines"),
        pytest.param(f"\ufeff{A}  {NAME}\n", id="byte order mark"),
        pytest.param(f"{A}  {NAME}\n{A.upper()} *{NAME}\n", id="twice the same"),
        pytest.param(f"{B}  {NAME}.sig\n{B}  x{NAME}\n{B}   {NAME}\n{A}  {NAME}\n", id="names like it"),
    ],
)
def test_the_digest_of_a_file_is_found(checksums: str) -> None:
    assert digest_of(checksums.encode(), NAME) == A


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("terraform_1.6.6", "d117883fd98b960c5d0f012b0d4b21801e1aea985e26949c2d1ebb39af074f00"),
        ("tofu_1.8.5", "e2951ba6be8ae9427aabbd5c6f243855e8b526cb2ae6bc33a05dae22d7e82632"),
    ],
)
def test_what_vendors_publish_is_read(fixtures_directory: Path, name: str, digest: str) -> None:
    checksums = (fixtures_directory / "releases" / f"{name}_SHA256SUMS").read_bytes()

    assert digest_of(checksums, f"{name}_linux_amd64.zip") == digest
    assert [
        line for line in checksums.decode().splitlines() if digest_of(checksums, line[66:]) != line[:64]
    ] == []


@pytest.mark.parametrize(
    ("line", "number"),
    [
        pytest.param(f"{A} {NAME}", 2, id="one space"),
        pytest.param(f"{A}\t{NAME}", 2, id="a tab"),
        pytest.param(f"{A[:-1]}  {NAME}", 2, id="63 digits"),
        pytest.param(f"{A}0  {NAME}", 2, id="65 digits"),
        pytest.param(f"{A * 2}  {NAME}", 2, id="SHA-512"),
        pytest.param(f"g{A[1:]}  {NAME}", 2, id="no digit"),
        pytest.param(f" {A}  {NAME}", 2, id="space before"),
        pytest.param(f"{A}  ", 2, id="no name"),
        pytest.param(f"{A}  {NAME}\0", 2, id="zero byte"),
        pytest.param(f"{A}  {NAME}\r\r", 2, id="two carriage returns"),
        pytest.param(f"{A}  {NAME}\r{B}  {NAME}", 2, id="carriage return inside"),
        pytest.param(f"SHA256 ({NAME}) = {A}", 2, id="BSD"),
        pytest.param(f"\N{ARABIC-INDIC DIGIT ONE}{A[1:]}  {NAME}", 2, id="digit of another script"),
        pytest.param("\n<html>", 3, id="a page"),
    ],
)
def test_a_line_that_is_something_else_is_refused_by_its_number(line: str, number: int) -> None:
    checksums = f"{B}  other.zip\n{line}\n{A}  {NAME}\n"

    assert refusal(checksums.encode()) == f"line {number} of the checksums is not a SHA-256 and a file name"


@pytest.mark.parametrize(
    "checksums", [b"", b"\n\n", f"{A}  {NAME}.sig\n".encode(), f"{A}  sub/{NAME}\n".encode()]
)
def test_a_file_that_is_not_listed_is_refused(checksums: bytes) -> None:
    assert refusal(checksums) == f"the checksums do not list `{NAME}`"


def test_two_digests_for_one_file_are_refused() -> None:
    checksums = f"{A}  {NAME}\n{B} *./{NAME}\n".encode()

    assert refusal(checksums) == f"the checksums list `{NAME}` twice, with different digests"


def test_checksums_that_are_too_large_are_refused() -> None:
    most = f"{A}  {NAME}\n".encode().ljust(LARGEST_CHECKSUMS, b"\n")

    assert digest_of(most, NAME) == A
    assert refusal(most + b"\n") == "the checksums are larger than 1024 KiB"


@given(st.binary(max_size=300), st.text(max_size=20))
def test_no_bytes_raise_anything_else(checksums: bytes, name: str) -> None:
    line = f"{A}  {NAME}\n".encode()
    for content in (checksums, line + checksums, A.encode() + b"  " + checksums):
        for wanted in (name, NAME):
            with contextlib.suppress(EngineUnverified):
                assert digest_of(content, wanted) == A


FILE_NAMES = st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9 ._-]{0,30}\Z")


@given(st.dictionaries(FILE_NAMES, st.binary(min_size=32, max_size=32).map(bytes.hex), min_size=1))
def test_every_file_that_is_listed_is_found(digests: dict[str, str]) -> None:
    checksums = "".join(f"{digest}  {name}\n" for name, digest in digests.items()).encode()

    assert {name: digest_of(checksums, name) for name in digests} == digests


def test_what_sha256sum_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"content")
    for tool in (["sha256sum", NAME], ["sha256sum", "-b", f"./{NAME}"], ["shasum", "-a", "256", NAME]):
        try:
            written = subprocess.run(tool, cwd=tmp_path, check=True, capture_output=True, timeout=60).stdout
        except FileNotFoundError:
            continue

        assert digest_of(written, NAME) == hashlib.sha256(b"content").hexdigest()
