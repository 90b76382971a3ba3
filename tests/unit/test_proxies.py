"""Proxies: which variable counts, and what NO_PROXY takes out."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import EngineUnavailable
from hereya_tf.releases.addresses import read_address
from hereya_tf.releases.proxies import Proxy, proxy_for


def proxy_of(address: str, **environment: str) -> Proxy | None:
    return proxy_for(read_address(address)[0], environment)


def place_of(address: str, **environment: str) -> str | None:
    proxy = proxy_of(address, **environment)
    return proxy and proxy.place


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"HTTPS_PROXY": "http://p:3128"}, "p:3128"),
        ({"https_proxy": "http://small:1", "HTTPS_PROXY": "http://big:1"}, "small:1"),
        ({"https_proxy": "", "HTTPS_PROXY": "http://big:1"}, "big:1"),
        ({"HTTPS_PROXY": " "}, None),
        ({"HTTP_PROXY": "http://p:1"}, None),
        ({"ALL_PROXY": "p"}, "p:80"),
        ({"ALL_PROXY": "http://all:1", "HTTPS_PROXY": "https://one"}, "one:443"),
        ({"all_proxy": "socks5h://s"}, "s:1080"),
        ({"HTTPS_PROXY": "[2001:db8::1]:3128"}, "[2001:db8::1]:3128"),
    ],
)
def test_a_proxy_for_https_is_named_by_https_proxy_or_all_proxy(
    environment: dict[str, str], expected: str | None
) -> None:
    assert place_of("https://releases.example/x", **environment) == expected


def test_a_proxy_for_http_is_named_by_http_proxy() -> None:
    assert place_of("http://mirror.example/", HTTP_PROXY="http://p:1", HTTPS_PROXY="http://other:1") == "p:1"


def test_http_proxy_of_a_cgi_program_is_a_header_of_a_request() -> None:
    assert place_of("http://mirror.example/", HTTP_PROXY="http://evil:1", REQUEST_METHOD="GET") is None
    assert place_of("http://mirror.example/", http_proxy="http://p:1", REQUEST_METHOD="GET") == "p:1"


def test_a_proxy_may_want_a_password_which_its_address_does_not_show() -> None:
    proxy = proxy_of("https://h/", HTTPS_PROXY="http://me:p%40ss@p:3128")

    assert proxy == Proxy("http", "p", 3128, "me:p@ss", "HTTPS_PROXY")
    assert (proxy.url, proxy.place) == ("http://p:3128", "p:3128")


@pytest.mark.parametrize(
    "value", ["ftp://p", "http://", "http://me:secret@p:99999", "://", "http://ü", "http://[x"]
)
def test_a_value_that_names_no_proxy_is_refused_without_its_password(value: str) -> None:
    with pytest.raises(EngineUnavailable) as caught:
        proxy_of("https://h/", HTTPS_PROXY=value)

    assert (str(caught.value), caught.value.hints) == (
        "`HTTPS_PROXY` does not name a proxy",
        ("write `http://HOST:PORT`, or unset it",),
    )


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"])
def test_this_machine_is_never_asked_through_a_proxy(host: str) -> None:
    assert proxy_of(f"http://{host}/", ALL_PROXY="http://p:1") is None


@pytest.mark.parametrize(
    ("exceptions", "address", "is_excepted"),
    [
        ("*", "https://releases.example/", True),
        ("releases.example", "https://releases.example/", True),
        ("RELEASES.example.", "https://releases.example/", True),
        ("example", "https://releases.example/", True),
        (".example", "https://releases.example/", True),
        ("*.example", "https://releases.example/", True),
        (".releases.example", "https://releases.example/", True),
        ("leases.example", "https://releases.example/", False),
        ("releases.example.org", "https://releases.example/", False),
        ("other.example, releases.example", "https://releases.example/", True),
        ("other.example releases.example", "https://releases.example/", True),
        (",, ,", "https://releases.example/", False),
        (".", "https://releases.example/", False),
        ("releases.example:443", "https://releases.example/", True),
        ("releases.example:8443", "https://releases.example/", False),
        ("*:443", "https://releases.example/", False),
        ("10.0.0.0/8", "https://10.1.2.3/", True),
        ("10.0.0.1/8", "https://10.1.2.3/", True),
        ("10.0.0.0/8", "https://11.1.2.3/", False),
        ("10.0.0.0/8", "https://releases.example/", False),
        ("10.0.0.0/x", "https://10.1.2.3/", False),
        ("10.1.2.3", "https://10.1.2.3/", True),
        ("10.1.2.3:443", "https://10.1.2.3/", True),
        ("10.1.2.3:444", "https://10.1.2.3/", False),
        ("2.3", "https://10.1.2.3/", False),
        ("2001:db8::1", "https://[2001:db8:0::1]/", True),
        ("[2001:db8::1]", "https://[2001:db8::1]/", True),
        ("[2001:db8::1]:443", "https://[2001:db8::1]/", True),
        ("2001:db8::/32", "https://[2001:db8::1]/", True),
        ("10.0.0.0/8", "https://[2001:db8::1]/", False),
    ],
)
def test_no_proxy_takes_out_names_numbers_and_ranges(
    exceptions: str, address: str, is_excepted: bool
) -> None:
    proxy = proxy_of(address, HTTPS_PROXY="http://p:1", NO_PROXY=exceptions)

    assert (proxy is None) is is_excepted


@given(st.text(), st.text())
def test_any_values_are_a_proxy_none_or_refused(value: str, exceptions: str) -> None:
    with contextlib.suppress(EngineUnavailable):
        proxy = proxy_of("https://releases.example/", HTTPS_PROXY=value, NO_PROXY=exceptions)
        assert proxy is None or proxy.host
