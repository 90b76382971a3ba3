"""Addresses: what is read, shown, followed and refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import BadInput
from hereya_tf.releases.addresses import Address, read_address, read_given_address, redirected, why_not

SITE = Address("https", "releases.example", 443, "/terraform/1.9.0/terraform_1.9.0_linux_amd64.zip")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://Releases.Example/a.zip", (Address("https", "releases.example", 443, "/a.zip"), None)),
        ("http://h:81", (Address("http", "h", 81, "/"), None)),
        ("HTTPS://h./a b?c=ü&d=%20#e", (Address("https", "h", 443, "/a%20b?c=%C3%BC&d=%20"), None)),
        ("https://[::1]:8443/", (Address("https", "::1", 8443, "/"), None)),
        ("https://bücher.example/", (Address("https", "xn--bcher-kva.example", 443, "/"), None)),
        ("https://me:p%40ss@h/", (Address("https", "h", 443, "/"), "me:p@ss")),
        ("https://me:p@ss@h/", (Address("https", "h", 443, "/"), "me:p@ss")),
    ],
)
def test_an_address_is_read(text: str, expected: tuple[Address, str | None]) -> None:
    assert read_address(text) == expected


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ftp://h/x", "`ftp://h/x` cannot be downloaded from: its scheme is `ftp`"),
        ("file:///etc/passwd", "`file:///etc/passwd` cannot be downloaded from: its scheme is `file`"),
        ("mirror.example/x", "`mirror.example/x` cannot be downloaded from: it has no scheme"),
        ("https:///x", "`https:///x` cannot be downloaded from: it names no host"),
        ("https://me:secret@h:99999/", "`h:99999/` cannot be downloaded from: it is not an address"),
        ("https://me:secret@[::1/", "`[::1/` cannot be downloaded from: it is not an address"),
        ("https://a%0d%0ab/", "`https://a%0d%0ab/` cannot be downloaded from: it names no host"),
        ("https://h/" + "x" * 9000, f"`https://h/{'x' * 90}` cannot be downloaded from: it is too long"),
    ],
)
def test_what_is_no_address_is_refused_without_its_password(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_given_address(text)

    assert (str(caught.value), caught.value.hints) == (
        sentence,
        ("write `https://HOST/PATH`, or the path of a directory",),
    )


@given(
    st.one_of(st.text(), st.text().map("https://h/".__add__), st.from_regex(r"https?://\S+", fullmatch=True))
)
def test_any_text_is_an_address_or_refused_and_reads_the_same_again(text: str) -> None:
    with contextlib.suppress(BadInput):
        address, _ = read_given_address(text)
        assert read_given_address(str(address)) == (address, None)
        assert str(address).isascii()
        assert str(address).isprintable()
        assert " " not in str(address)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://objects.example/x?sig=a%2Fb", "https://objects.example/x?sig=a%2Fb"),
        ("/other", "https://releases.example/other"),
        ("other", "https://releases.example/terraform/1.9.0/other"),
        ("//objects.example/x", "https://objects.example/x"),
        ("https://me:secret@objects.example/x#y", "https://objects.example/x"),
        ("/b\xc3\xbccher", "https://releases.example/b%C3%BCcher"),
        ("?sig=1", f"{SITE}?sig=1"),
    ],
)
def test_a_redirect_leads_to_an_address(location: str, expected: str) -> None:
    assert str(redirected(SITE, location)) == expected


@pytest.mark.parametrize(
    ("location", "fault"),
    [
        ("file:///etc/passwd", "its scheme is `file`"),
        ("javascript:alert(1)", "its scheme is `javascript`"),
        ("", "it does not say where"),
        ("https://[", "it is not an address"),
        ("https://%/", "it names no host"),
    ],
)
def test_a_redirect_to_anything_else_is_refused(location: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        redirected(SITE, location)


@given(st.text())
def test_any_location_leads_to_an_address_or_is_refused(location: str) -> None:
    with contextlib.suppress(ValueError):
        assert redirected(SITE, location).scheme in {"http", "https"}


@pytest.mark.parametrize(
    ("address", "previous", "expected"),
    [
        ("https://h/", None, None),
        ("https://h/", "http://mirror.example/", None),
        ("http://127.0.0.1:81/", None, None),
        ("http://127.8.8.8/", None, None),
        ("http://localhost/", None, None),
        ("http://[::1]/", None, None),
        ("http://mirror.example/", None, None),
        ("http://mirror.example/", "http://mirror.example/", None),
        ("http://mirror.example:81/", None, "`http://mirror.example:81` is not encrypted"),
        ("http://other.example/", "http://mirror.example/", "`http://other.example` is not encrypted"),
        ("http://localhost.example/", None, "`http://localhost.example` is not encrypted"),
        ("http://localhost/", "https://h/", "a redirect to `http://localhost` leads out of TLS"),
        ("http://mirror.example/", "https://h/", "a redirect to `http://mirror.example` leads out of TLS"),
    ],
)
def test_plain_http_is_for_this_machine_and_for_the_given_mirror(
    address: str, previous: str | None, expected: str | None
) -> None:
    mirror = read_address("http://mirror.example/")[0]

    found = why_not(
        read_address(address)[0],
        (previous and read_address(previous)[0]) or None,
        frozenset((mirror.origin,)),
    )

    assert found == expected


@pytest.mark.parametrize(
    ("address", "place", "file"),
    [
        (SITE, "releases.example", "terraform_1.9.0_linux_amd64.zip"),
        (Address("https", "::1", 8443, "/"), "[::1]:8443", "/"),
        (Address("http", "h", 443, "/a?signature=secret"), "h:443", "a"),
    ],
)
def test_people_are_shown_host_and_file_without_the_query(address: Address, place: str, file: str) -> None:
    assert (address.place, address.file) == (place, file)
