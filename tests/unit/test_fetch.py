"""Downloads from a real site that does everything wrong, one fault at a time."""

import contextlib
import gc
import hashlib
import os
import random
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hereya_tf.errors import BadInput, Cancelled, EngineUnavailable, HereyaError, NotPublished
from hereya_tf.releases.connections import Connections
from hereya_tf.releases.fetch import Fetcher
from tests.certificates import Certificates, make_certificates
from tests.forward_proxy import ForwardProxy, SocksProxy
from tests.release_site import Fault, ReleaseSite, status, two_sites, well
from tests.site_faults import (
    chunked,
    corrupt,
    dripping,
    endless,
    gzipped,
    hung_up_after,
    other_part,
    out_of_range,
    raw,
    redirect,
    reset_after,
    stalled,
    truncated,
    whole,
)

FILE = "/terraform/1.9.0/terraform_1.9.0_linux_amd64.zip"
NAME = "terraform_1.9.0_linux_amd64.zip"
BODY = random.Random(1).randbytes(3_000_000)
LIMIT = 10_000_000
# An answer with two lengths keeps its socket until the garbage collector comes.
_LEAK_OF_URLLIB3 = "ignore:Exception ignored in. <socket:pytest.PytestUnraisableExceptionWarning"
MIRROR_HINT = "take it from a mirror: `--from DIR|URL`"
OFFLINE_HINT = "without a network: `--engine embedded`, from `pip install 'hereya-tf[embedded]'`"


class Waits:
    """A pause that takes no time; `waited` has what it was asked for, `told` what was said."""

    def __init__(self) -> None:
        self.waited: list[float] = []
        self.told: list[str] = []

    def __call__(self, seconds: float) -> None:
        if seconds:
            self.waited.append(seconds)


@pytest.fixture
def site() -> Iterator[ReleaseSite]:
    with ReleaseSite() as site:
        site.put(FILE, BODY)
        yield site


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def make_fetcher(waits: Waits) -> Iterator[Callable[..., Fetcher]]:
    with contextlib.ExitStack() as stack:

        def make(**options: Any) -> Fetcher:
            chosen: dict[str, Any] = {
                "environment": {},
                "pause": waits,
                "tell": waits.told.append,
                "chance": lambda: 1.0,
                "idle_timeout": 5.0,
                **options,
            }
            return stack.enter_context(Fetcher(**chosen))

        yield make


@pytest.fixture
def fetcher(make_fetcher: Callable[..., Fetcher]) -> Fetcher:
    return make_fetcher()


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"), "mirror.example")


def is_body(data: bytes) -> bool:
    """Compared by digest: pytest would spend minutes on telling the difference."""
    return hashlib.sha256(data).digest() == hashlib.sha256(BODY).digest()


def refusal(fetcher: Fetcher, url: str, *, limit: int = LIMIT) -> HereyaError:
    with pytest.raises(HereyaError) as caught:
        fetcher.get(url, limit=limit)
    return caught.value


def have_ended() -> bool:
    """Whether no download is left; one of a site that was closed may need a moment."""
    downloads = [thread for thread in threading.enumerate() if thread.name == "download"]
    for thread in downloads:
        thread.join(20)
    return not any(thread.is_alive() for thread in downloads)


# --- a good site


def test_a_file_arrives(site: ReleaseSite, fetcher: Fetcher) -> None:
    progress: list[tuple[int, int | None]] = []
    pieces = list(
        fetcher.stream(site.url(FILE), limit=LIMIT, progress=lambda *how_far: progress.append(how_far))
    )

    assert is_body(b"".join(pieces))
    assert progress[-1] == (len(BODY), len(BODY))
    assert [arrived for arrived, _ in progress] == [
        sum(map(len, pieces[: n + 1])) for n in range(len(pieces))
    ]
    assert [dict(request.headers) for request in site.requests] == [
        {
            "host": f"127.0.0.1:{site.port}",
            "user-agent": site.requests[0].headers["user-agent"],
            "accept": "*/*",
            "accept-encoding": "identity",
        }
    ]
    assert site.requests[0].headers["user-agent"].startswith("hereya-tf/")


def test_an_empty_file_arrives(site: ReleaseSite, fetcher: Fetcher) -> None:
    assert fetcher.get(site.put("/empty", b""), limit=LIMIT) == b""


def test_a_file_as_large_as_the_limit_arrives(site: ReleaseSite, fetcher: Fetcher) -> None:
    assert is_body(fetcher.get(site.url(FILE), limit=len(BODY)))


@pytest.mark.parametrize("fault", [chunked(), chunked(size=1_000_000), dripping(0.001, 500_000)])
def test_a_file_arrives_however_it_is_sent(site: ReleaseSite, fetcher: Fetcher, fault: Fault) -> None:
    site.fault(FILE, fault)

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert len(site.requests) == 1


def test_a_file_of_unknown_length_arrives(site: ReleaseSite, fetcher: Fetcher) -> None:
    progress: list[int | None] = []
    url = site.put("/x", BODY, tells_length=False)

    data = b"".join(fetcher.stream(url, limit=LIMIT, progress=lambda _arrived, total: progress.append(total)))

    assert is_body(data)
    assert set(progress) == {None}


def test_a_connection_is_used_again(site: ReleaseSite, fetcher: Fetcher) -> None:
    for name in ("a", "b", "c"):
        fetcher.get(site.put(f"/{name}", name.encode()), limit=LIMIT)

    assert site.connections == 1


def test_what_is_wrong_inside_is_not_noticed_here(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.fault(FILE, corrupt)
    data = fetcher.get(site.url(FILE), limit=LIMIT)

    assert (len(data), is_body(data)) == (len(BODY), False)


# --- what is tried again


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(status(500), id="500"),
        pytest.param(status(503), id="503"),
        pytest.param(reset_after(-1), id="reset before the head"),
        pytest.param(raw(b""), id="closed before the head"),
        pytest.param(raw(b"\x00\xff\r\n\r\n"), id="not HTTP"),
        pytest.param(raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n"), id="too many headers"),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n"), id="a header without end"
        ),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nx"), id="no chunk's length"
        ),
        pytest.param(chunked(is_complete=False), id="chunks cut off"),
    ],
)
def test_a_fault_that_passes_costs_a_wait(
    site: ReleaseSite, fetcher: Fetcher, waits: Waits, fault: Fault
) -> None:
    site.fault(FILE, fault)

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert waits.waited == [0.5]


@pytest.mark.filterwarnings(_LEAK_OF_URLLIB3)
def test_two_lengths_are_a_fault_that_passes(site: ReleaseSite, fetcher: Fetcher, waits: Waits) -> None:
    site.fault(FILE, raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nx"))

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert waits.waited == [0.5]
    gc.collect()


def test_attempts_end_with_the_last_reason(site: ReleaseSite, fetcher: Fetcher, waits: Waits) -> None:
    site.always(FILE, status(503))
    error = refusal(fetcher, site.url(FILE))
    beginning = f"`{NAME}` could not be downloaded from `127.0.0.1:{site.port}`: it answered 503; "

    assert (type(error), str(error), error.hints) == (
        EngineUnavailable,
        f"{beginning}after 6 attempts",
        ("behind a proxy, set `HTTPS_PROXY`", MIRROR_HINT, OFFLINE_HINT),
    )
    assert waits.waited == [0.5, 1.0, 2.0, 4.0, 8.0]
    assert waits.told == [
        f"{beginning}another attempt follows in {seconds:.1f} s" for seconds in waits.waited
    ]


def test_a_site_is_left_alone_for_as_long_as_it_wants(
    site: ReleaseSite, fetcher: Fetcher, waits: Waits
) -> None:
    site.fault(FILE, status(429, retry_after="7"), status(429))

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert waits.waited == [7.0, 1.0]


def test_nobody_waits_for_an_hour(site: ReleaseSite, fetcher: Fetcher, waits: Waits) -> None:
    site.always(FILE, status(429, retry_after="3600"))

    assert str(refusal(fetcher, site.url(FILE))) == (
        f"`{NAME}` could not be downloaded from `127.0.0.1:{site.port}`: "
        "it answered 429 and wants to be left alone for `1h`"
    )
    assert waits.waited == []


def test_without_retries_there_is_one_attempt(
    site: ReleaseSite, make_fetcher: Callable[..., Fetcher]
) -> None:
    site.always(FILE, status(500))
    refusal(make_fetcher(retries=0), site.url(FILE))

    assert len(site.requests) == 1


def test_who_gets_on_is_not_given_up(site: ReleaseSite, make_fetcher: Callable[..., Fetcher]) -> None:
    site.put(FILE, BODY * 4)
    site.always(FILE, hung_up_after(1_500_000))
    data = make_fetcher(retries=1).get(site.url(FILE), limit=20_000_000)

    assert hashlib.sha256(data).digest() == hashlib.sha256(BODY * 4).digest()


def test_who_hardly_gets_on_is_given_up(site: ReleaseSite, make_fetcher: Callable[..., Fetcher]) -> None:
    site.always(FILE, reset_after(100_000))
    refusal(make_fetcher(retries=3), site.url(FILE))

    assert len(site.requests) == 4


# --- resuming


@pytest.mark.parametrize(
    "fault",
    [pytest.param(truncated(1_000_000), id="truncated"), pytest.param(reset_after(2_000_000), id="reset")],
)
def test_a_broken_download_goes_on_where_it_broke(site: ReleaseSite, fetcher: Fetcher, fault: Fault) -> None:
    site.fault(FILE, fault)
    pieces = list(fetcher.stream(site.url(FILE), limit=LIMIT))
    first, second = site.requests
    begin = int(second.headers["range"].removeprefix("bytes=").removesuffix("-"))

    assert is_body(b"".join(pieces))
    assert ("range" in first.headers, second.headers["if-range"]) == (False, '"one"')
    assert 0 < begin <= 2_000_000


def test_a_date_is_enough_to_go_on(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.put(FILE, BODY, etag='W/"one"')
    site.fault(FILE, truncated(1_000_000))

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert site.requests[1].headers["if-range"] == site.files[FILE].modified


def test_without_either_it_starts_over_and_gives_nothing_twice(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.put(FILE, BODY, etag="", modified="")
    site.fault(FILE, truncated(1_000_000), truncated(2_000_000), truncated(500_000))

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert ["range" in request.headers for request in site.requests] == [False] * 4


@pytest.mark.parametrize("how", [{}, {"takes_ranges": False}], ids=["once", "always"])
def test_a_site_without_ranges_starts_over_and_nothing_is_given_twice(
    site: ReleaseSite, fetcher: Fetcher, how: dict[str, bool]
) -> None:
    site.put(FILE, BODY, **how)
    site.fault(FILE, truncated(1_000_000), whole)

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert len(site.requests) == 2


def test_another_part_than_was_asked_for_is_not_taken(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.fault(FILE, truncated(1_000_000), other_part)

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert ["range" in request.headers for request in site.requests] == [False, True, False]


def test_a_file_that_has_shrunk_is_not_taken(site: ReleaseSite, fetcher: Fetcher) -> None:
    def shrink(exchange: Any) -> None:
        truncated(1_000_000)(exchange)
        site.put(FILE, BODY[:1000], etag='"two"')

    site.fault(FILE, shrink)

    assert "it was replaced by another one meanwhile" in str(refusal(fetcher, site.url(FILE)))


def test_a_range_that_cannot_be_had_starts_over(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.fault(FILE, truncated(1_000_000), status(416))

    assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
    assert "range" not in site.requests[2].headers


def test_a_file_of_unknown_length_that_has_shrunk_is_not_taken(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.put(FILE, BODY, etag="", modified="", tells_length=False)

    def shrink(exchange: Any) -> None:
        chunked(is_complete=False)(exchange)
        site.put(FILE, BODY[:1000], tells_length=False)

    site.fault(FILE, shrink)

    assert "it ended too early, 1.5 MB had come; after 6 attempts" in str(refusal(fetcher, site.url(FILE)))


def test_progress_never_goes_back(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.fault(FILE, truncated(1_000_000), whole, truncated(10))
    arrived: list[int] = []
    list(fetcher.stream(site.url(FILE), limit=LIMIT, progress=lambda count, _total: arrived.append(count)))

    assert arrived == sorted(set(arrived))
    assert arrived[-1] == len(BODY)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    faults=st.lists(
        st.sampled_from(
            (
                status(500),
                out_of_range,
                status(429, retry_after="0"),
                reset_after(-1),
                reset_after(0),
                reset_after(20_000),
                truncated(1),
                truncated(30_000),
                chunked(is_complete=False, size=5_000),
                other_part,
                whole,
                well,
            )
        ),
        max_size=5,
    ),
    how=st.fixed_dictionaries(
        {
            "etag": st.sampled_from(('"one"', 'W/"one"', "")),
            "modified": st.sampled_from(("Wed, 01 Apr 2026 10:00:00 GMT", "")),
            "takes_ranges": st.booleans(),
        }
    ),
)
def test_whatever_goes_wrong_every_byte_comes_once(faults: list[Fault], how: dict[str, Any]) -> None:
    body = BODY[:50_000]
    with ReleaseSite() as site, Fetcher(environment={}, pause=Waits()) as fetcher:
        url = site.put("/x", body, **how)
        site.fault("/x", *faults)

        assert fetcher.get(url, limit=LIMIT) == body


# --- what is not tried again


@pytest.mark.parametrize("number", [404, 410])
def test_a_file_that_is_not_there_is_not_published(site: ReleaseSite, fetcher: Fetcher, number: int) -> None:
    site.always(FILE, status(number))
    error = refusal(fetcher, site.url(FILE) + "?token=secret")
    host = f"127.0.0.1:{site.port}"

    assert (type(error), str(error), error.hints) == (
        NotPublished,
        f"`{NAME}` could not be downloaded from `{host}`: it answered {number}",
        (f"look which files there are at `http://{host}/terraform/1.9.0/`", MIRROR_HINT),
    )
    assert len(site.requests) == 1


@pytest.mark.parametrize("number", [401, 403])
def test_a_file_that_is_not_for_everybody_wants_a_password(
    site: ReleaseSite, fetcher: Fetcher, number: int
) -> None:
    site.always(FILE, status(number))
    error = refusal(fetcher, site.url(FILE))

    assert (type(error), error.hints) == (
        EngineUnavailable,
        ("a mirror's address may hold `USER:PASSWORD@`", MIRROR_HINT),
    )


@pytest.mark.parametrize(
    "fault", [endless, well, whole, chunked()], ids=["endless", "well", "whole", "chunked"]
)
def test_a_file_over_the_limit_is_not_taken(site: ReleaseSite, fetcher: Fetcher, fault: Fault) -> None:
    site.always(FILE, fault)
    error = refusal(fetcher, site.url(FILE), limit=2_999_999)

    assert "it is larger than 3.0 MB" in str(error)
    assert len(site.requests) == 1


def test_what_came_compressed_is_not_taken(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.always(FILE, gzipped)

    assert "it came encoded as `gzip`, which was not asked for" in str(refusal(fetcher, site.url(FILE)))
    assert len(site.requests) == 1


def test_nobody_at_the_port_is_said_so(make_fetcher: Callable[..., Fetcher]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = refusal(make_fetcher(retries=1), f"http://127.0.0.1:{port}{FILE}")

    assert str(error) == (
        f"`{NAME}` could not be downloaded from `127.0.0.1:{port}`: Connection refused; after 2 attempts"
    )


def test_a_name_that_is_none_is_asked_for_twice_at_most(fetcher: Fetcher, waits: Waits) -> None:
    error = refusal(fetcher, f"https://releases.invalid{FILE}")

    assert str(error) == (
        f"`{NAME}` could not be downloaded from `releases.invalid`: "
        "its name cannot be resolved; after 2 attempts"
    )
    assert waits.waited == [0.5]


def test_a_host_that_cannot_be_one_is_said_so(fetcher: Fetcher) -> None:
    assert "it is not a host" in str(refusal(fetcher, f"https://{'a' * 70}.example/x"))


@pytest.mark.filterwarnings(_LEAK_OF_URLLIB3)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    answer=st.binary(max_size=300)
    | st.tuples(
        st.sampled_from(
            (b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 302 Found\r\n", b"HTTP/1.0 206 x\r\n", b"HTTP/9 1\r\n")
        ),
        st.lists(
            st.tuples(
                st.sampled_from((b"Content-Length", b"Location", b"ETag", b"Transfer-Encoding", b"X")),
                st.binary(max_size=30) | st.sampled_from((b"chunked", b"5", b"/x", b"\xe9", b" \r\n folded")),
            ).map(b": ".join),
            max_size=4,
        ).map(b"\r\n".join),
        st.binary(max_size=30),
    ).map(lambda parts: parts[0] + parts[1] + b"\r\n\r\n" + parts[2])
)
def test_any_bytes_for_an_answer_are_a_file_or_a_refusal(answer: bytes) -> None:
    with (
        ReleaseSite() as site,
        Fetcher(environment={}, pause=Waits(), idle_timeout=2.0, retries=1) as fetcher,
        contextlib.suppress(EngineUnavailable),
    ):
        site.always("/x", raw(answer))
        fetcher.get(site.url("/x"), limit=1000)
    gc.collect()


# --- silence, and the end of patience


@pytest.mark.parametrize("size", [-1, 0, 100_000], ids=["no head", "no body", "in the middle"])
def test_silence_ends_an_attempt(site: ReleaseSite, make_fetcher: Callable[..., Fetcher], size: int) -> None:
    site.fault(FILE, stalled(size))

    assert is_body(make_fetcher(idle_timeout=0.3).get(site.url(FILE), limit=LIMIT))


def test_silence_that_lasts_is_said_so(site: ReleaseSite, make_fetcher: Callable[..., Fetcher]) -> None:
    site.always(FILE, stalled(100_000))
    error = refusal(make_fetcher(idle_timeout=0.2, retries=1), site.url(FILE))

    assert str(error) == (
        f"`{NAME}` could not be downloaded from `127.0.0.1:{site.port}`: "
        "nothing came any more, 100 kB had come; after 2 attempts"
    )


def test_slow_is_not_silent(site: ReleaseSite, make_fetcher: Callable[..., Fetcher]) -> None:
    url = site.put("/slow", b"0123456789")
    site.fault("/slow", dripping(0.1))

    assert make_fetcher(idle_timeout=0.5, retries=0).get(url, limit=LIMIT) == b"0123456789"


def test_a_server_that_begins_no_tls_is_left_in_time(make_fetcher: Callable[..., Fetcher]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/x"

        assert "nothing came any more" in str(refusal(make_fetcher(connect_timeout=0.2, retries=0), url))


def test_a_server_that_accepts_nobody_is_left_in_time(make_fetcher: Callable[..., Fetcher]) -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):  # those who wait for it are as many as may wait
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/x"
        error = refusal(make_fetcher(connect_timeout=0.3, retries=0), url)

    assert str(error).endswith(": there was no connection within 300ms")


class Interrupted:
    """A pause that raises once the site has come to a stall."""

    def __init__(self, site: ReleaseSite) -> None:
        self.site = site
        self.since: float | None = None

    def __call__(self, seconds: float) -> None:
        if self.site.stalls.is_set():
            self.since = self.since or time.monotonic()
            raise Cancelled("the run was cancelled by SIGINT")


@pytest.mark.parametrize("size", [-1, 0, 100_000], ids=["no head", "no body", "in the middle"])
@pytest.mark.parametrize("is_secure", [False, True], ids=["plain", "TLS"])
def test_an_interrupt_ends_a_download_at_once(
    certificates: Certificates, make_fetcher: Callable[..., Fetcher], size: int, is_secure: bool
) -> None:
    with ReleaseSite(context=certificates.context if is_secure else None) as site:
        site.put(FILE, BODY)
        site.always(FILE, stalled(size))
        pause = Interrupted(site)
        fetcher = make_fetcher(
            pause=pause, idle_timeout=60.0, environment={"SSL_CERT_FILE": str(certificates.trust)}
        )

        assert type(refusal(fetcher, site.url(FILE))) is Cancelled
        assert pause.since is not None
        assert time.monotonic() - pause.since < 1.0


def test_an_answer_that_comes_too_late_is_dropped(
    site: ReleaseSite, make_fetcher: Callable[..., Fetcher]
) -> None:
    go_on = threading.Event()

    def late(exchange: Any) -> None:
        site.stalls.set()
        go_on.wait(60)
        well(exchange)

    site.always(FILE, late)
    assert type(refusal(make_fetcher(pause=Interrupted(site)), site.url(FILE))) is Cancelled
    go_on.set()

    assert have_ended()


def test_an_interrupt_ends_a_wait(site: ReleaseSite, make_fetcher: Callable[..., Fetcher]) -> None:
    def pause(seconds: float) -> None:
        if seconds:
            raise Cancelled("the run was cancelled by SIGINT")

    site.always(FILE, status(503))

    assert type(refusal(make_fetcher(pause=pause), site.url(FILE))) is Cancelled
    assert len(site.requests) == 1


def test_who_stops_taking_ends_the_download(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.always(FILE, endless)
    pieces = fetcher.stream(site.url(FILE), limit=10**12)
    next(pieces)
    pieces.close()

    assert have_ended()


def test_who_takes_slowly_does_not_fill_the_memory(site: ReleaseSite, fetcher: Fetcher) -> None:
    has_sent_all = threading.Event()

    def large(exchange: Any) -> None:
        well(exchange)
        has_sent_all.set()

    url = site.put("/large", bytes(100_000_000))
    site.fault("/large", large)
    pieces = fetcher.stream(url, limit=10**9)
    first = next(pieces)

    assert not has_sent_all.wait(1)
    assert len(first) + sum(map(len, pieces)) == 100_000_000
    assert has_sent_all.wait(30)


# --- redirects and credentials


@pytest.mark.parametrize("number", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed_to_another_host(fetcher: Fetcher, number: int) -> None:
    with two_sites() as (site, store):
        site.always(FILE, redirect(store.put("/objects/7", BODY) + "?signature=x", number))

        assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
        assert [request.path for request in store.requests] == ["/objects/7?signature=x"]


def test_every_attempt_begins_at_the_first_address(fetcher: Fetcher) -> None:
    with two_sites() as (site, store):
        store.put("/objects/7", BODY)
        site.fault(FILE, redirect(store.url("/objects/7?first")), redirect(store.url("/objects/7?second")))
        store.fault("/objects/7", truncated(1_000_000))

        assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
        assert [request.path for request in store.requests] == ["/objects/7?first", "/objects/7?second"]
        assert store.requests[1].headers["if-range"] == '"one"'


def test_an_error_names_where_a_redirect_led(fetcher: Fetcher) -> None:
    with two_sites() as (site, store):
        site.always(FILE, redirect(store.url("/objects/7?signature=secret")))
        error = refusal(fetcher, site.url(FILE))

        assert str(error) == (
            f"`{NAME}` could not be downloaded from `127.0.0.1:{site.port}`, "
            f"which redirects to `localhost:{store.port}`: it answered 404"
        )


def test_ten_redirects_are_followed_and_no_more(site: ReleaseSite, fetcher: Fetcher) -> None:
    for number in range(12):
        site.always(f"/{number}", redirect(f"/{number + 1}"))
    site.always("/12", redirect(FILE))

    assert is_body(fetcher.get(site.url("/3"), limit=LIMIT))
    assert "it redirects more than 10 times" in str(refusal(fetcher, site.url("/2")))


def test_a_redirect_in_a_circle_ends(site: ReleaseSite, fetcher: Fetcher, waits: Waits) -> None:
    site.always(FILE, redirect(FILE))

    assert "it redirects more than 10 times" in str(refusal(fetcher, site.url(FILE)))
    assert (len(site.requests), waits.waited) == (11, [])


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("file:///etc/passwd", "it redirects to where nothing can be had: its scheme is `file`"),
        ("ftp://h/x", "it redirects to where nothing can be had: its scheme is `ftp`"),
        ("http://[", "it redirects to where nothing can be had: it is not an address"),
        ("", "it redirects to where nothing can be had: it does not say where"),
        ("http://other.example/x", "`http://other.example` is not encrypted"),
    ],
)
def test_a_redirect_elsewhere_is_not_followed(
    site: ReleaseSite, fetcher: Fetcher, location: str, reason: str
) -> None:
    site.always(FILE, redirect(location))

    assert reason in str(refusal(fetcher, site.url(FILE)))
    assert len(site.requests) == 1


def test_a_redirect_out_of_tls_is_not_followed(
    certificates: Certificates, site: ReleaseSite, make_fetcher: Callable[..., Fetcher]
) -> None:
    fetcher = make_fetcher(environment={"SSL_CERT_FILE": str(certificates.trust)})
    with ReleaseSite(context=certificates.context, host="localhost") as secure:
        secure.always("/x", redirect(site.url(FILE)))

        assert f"a redirect to `http://127.0.0.1:{site.port}` leads out of TLS" in str(
            refusal(fetcher, secure.url("/x"))
        )
    assert site.requests == []


def with_password(url: str) -> str:
    return url.replace("://", "://me:p%40ss@")


def test_a_mirror_gets_its_password_and_no_other_host_does(fetcher: Fetcher) -> None:
    with two_sites() as (site, store):
        site.always(FILE, redirect("/inside"))
        site.always("/inside", redirect(store.url("/outside")))
        store.always("/outside", redirect(site.put("/back", b"there")))

        assert fetcher.get(with_password(site.url(FILE)), limit=LIMIT) == b"there"
        assert [request.headers.get("authorization") for request in (*site.requests, *store.requests)] == [
            "Basic bWU6cEBzcw==",
            "Basic bWU6cEBzcw==",
            None,
            None,
        ]


def test_another_port_of_the_same_host_is_another_site(site: ReleaseSite, fetcher: Fetcher) -> None:
    with ReleaseSite() as other:
        site.always(FILE, redirect(other.put("/x", b"there")))

        assert fetcher.get(with_password(site.url(FILE)), limit=LIMIT) == b"there"
        assert "authorization" not in other.requests[0].headers


def test_every_attempt_has_the_password(site: ReleaseSite, fetcher: Fetcher) -> None:
    site.fault(FILE, status(503), truncated(1000))

    assert is_body(fetcher.get(with_password(site.url(FILE)), limit=LIMIT))
    assert [request.headers["authorization"] for request in site.requests] == ["Basic bWU6cEBzcw=="] * 3


def test_the_given_mirrors_password_is_for_all_that_is_there(
    site: ReleaseSite, make_fetcher: Callable[..., Fetcher]
) -> None:
    with ReleaseSite(host="localhost") as other:
        fetcher = make_fetcher(mirror=site.url("").replace("://", "://token@"))
        fetcher.get(site.url(FILE), limit=LIMIT)
        fetcher.get(other.put("/x", b""), limit=LIMIT)

        assert site.requests[0].headers["authorization"] == "Basic dG9rZW46"
        assert "authorization" not in other.requests[0].headers


def test_no_sentence_shows_a_password(site: ReleaseSite, fetcher: Fetcher, waits: Waits) -> None:
    site.always(FILE, status(503))
    error = refusal(fetcher, f"{with_password(site.url(FILE))}?key=p%40ss")
    told = "\n".join((str(error), *error.hints, *waits.told))

    assert not any(secret in told for secret in ("p@ss", "p%40ss", "me:", "bWU6"))


# --- TLS


@pytest.mark.parametrize("has_truststore", [True, False])
def test_a_site_with_a_certificate_of_the_users_own_is_trusted(
    certificates: Certificates,
    make_fetcher: Callable[..., Fetcher],
    monkeypatch: pytest.MonkeyPatch,
    has_truststore: bool,
) -> None:
    if has_truststore:
        pytest.importorskip("truststore", reason="truststore is not installed")
    else:
        monkeypatch.setitem(sys.modules, "truststore", None)
    with ReleaseSite(context=certificates.context, host="localhost") as site:
        site.put(FILE, BODY)
        fetcher = make_fetcher(environment={"SSL_CERT_FILE": str(certificates.trust)})

        assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))


def test_a_fault_of_our_own_is_not_blamed_on_the_site() -> None:
    connections = Connections({}, connect_timeout=1.0, idle_timeout=1.0)

    with pytest.raises(ZeroDivisionError):
        connections.explain(ZeroDivisionError(), None)


def test_a_site_with_a_certificate_of_a_directory_is_trusted(
    certificates: Certificates, make_fetcher: Callable[..., Fetcher], tmp_path: Path
) -> None:
    # OpenSSL finds certificates by the hash of their subject, which `openssl rehash` makes links of.
    import subprocess

    run = ["openssl", "x509", "-subject_hash", "-noout", "-in", str(certificates.trust)]
    name = subprocess.run(run, capture_output=True, text=True, check=True).stdout.strip()
    (tmp_path / f"{name}.0").symlink_to(certificates.trust)
    with ReleaseSite(context=certificates.context) as site:
        fetcher = make_fetcher(environment={"SSL_CERT_DIR": str(tmp_path)})

        assert fetcher.get(site.put("/x", b"there"), limit=LIMIT) == b"there"


def test_a_site_with_a_strangers_certificate_is_not_asked(
    certificates: Certificates, fetcher: Fetcher, waits: Waits
) -> None:
    with ReleaseSite(context=certificates.context, host="localhost") as site:
        site.put(FILE, BODY)
        error = refusal(fetcher, with_password(site.url(FILE)))

        assert str(error).startswith(
            f"`{NAME}` could not be downloaded from `localhost:{site.port}`: its certificate is not trusted: "
        )
        assert error.hints == (
            "name the certificate of a mirror, or of a proxy that opens TLS, with `SSL_CERT_FILE`",
            MIRROR_HINT,
        )
        assert (site.requests, waits.waited) == ([], [])


def test_a_site_that_speaks_no_tls_is_said_so(
    site: ReleaseSite, make_fetcher: Callable[..., Fetcher]
) -> None:
    error = refusal(make_fetcher(retries=0), site.url(FILE).replace("http:", "https:"))

    assert ": TLS failed: " in str(error)


@pytest.mark.parametrize("content", [None, "no certificate"], ids=["missing", "empty"])
def test_certificates_that_cannot_be_read_are_named(
    make_fetcher: Callable[..., Fetcher], tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "authority.pem"
    if content is not None:
        file.write_text(content)
    error = refusal(make_fetcher(environment={"SSL_CERT_FILE": str(file)}), "https://127.0.0.1:1/x")

    assert str(error).startswith(f"the certificates in `{file}` of `SSL_CERT_FILE` cannot be read: ")
    assert error.hints == ("let `SSL_CERT_FILE` name certificates in PEM, or unset it",)


# --- plain http, mirrors, directories


def test_plain_http_is_for_this_machine_and_for_the_given_mirror(
    make_fetcher: Callable[..., Fetcher],
) -> None:
    with ForwardProxy({}) as proxy:
        environment = {"HTTP_PROXY": proxy.url}
        error = refusal(make_fetcher(environment=environment), f"http://mirror.example{FILE}")
        assert str(error) == (
            f"`{NAME}` could not be downloaded from `mirror.example`: `http://mirror.example` is not encrypted"
        )
        assert proxy.requests == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "mirror.example/x", "ftp://h/x", ""])
def test_only_web_addresses_are_asked(fetcher: Fetcher, url: str) -> None:
    assert type(refusal(fetcher, url)) is BadInput


def test_a_mirror_that_is_no_address_is_refused(make_fetcher: Callable[..., Fetcher]) -> None:
    with pytest.raises(BadInput):
        make_fetcher(mirror="mirror.example")


def test_a_file_of_a_directory_is_read(fetcher: Fetcher, tmp_path: Path) -> None:
    file = tmp_path / NAME
    file.write_bytes(BODY)
    progress: list[tuple[int, int | None]] = []
    data = b"".join(fetcher.stream(file, limit=LIMIT, progress=lambda *how_far: progress.append(how_far)))

    assert is_body(data)
    assert progress[-1] == (len(BODY), len(BODY))


def test_what_a_directory_does_not_have_is_not_published(fetcher: Fetcher, tmp_path: Path) -> None:
    with pytest.raises(NotPublished) as caught:
        fetcher.get(tmp_path / "terraform" / NAME, limit=LIMIT)

    assert (str(caught.value), caught.value.hints) == (
        f"`{tmp_path / 'terraform' / NAME}` does not exist",
        (f"look which files there are: `ls {tmp_path}`",),
    )


def test_what_is_no_file_of_a_directory_is_refused(fetcher: Fetcher, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"abc")
    sentences = []
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "file", tmp_path / "file/x"):
        with pytest.raises(EngineUnavailable) as caught:
            fetcher.get(path, limit=2)
        sentences.append(str(caught.value))

    assert sentences == [
        f"`{tmp_path}/pipe` is not a file",
        f"`{tmp_path}` is not a file",
        f"`{tmp_path}/file` is larger than 2 B",
        f"`{tmp_path}/file/x` cannot be read: Not a directory",
    ]


# --- proxies


def test_a_mirror_in_plain_http_is_asked_through_the_proxy(
    site: ReleaseSite, make_fetcher: Callable[..., Fetcher]
) -> None:
    with ForwardProxy({"mirror.example:80": site.port}) as proxy:
        fetcher = make_fetcher(environment={"HTTP_PROXY": proxy.url}, mirror="http://mirror.example/")

        assert is_body(fetcher.get(f"http://mirror.example{FILE}", limit=LIMIT))
        assert proxy.requests == [f"GET http://mirror.example{FILE}"]


def test_a_site_with_tls_is_asked_through_a_tunnel(
    certificates: Certificates, make_fetcher: Callable[..., Fetcher]
) -> None:
    with (
        ReleaseSite(context=certificates.context) as site,
        ForwardProxy({"mirror.example:443": site.port}, user_info="me:secret") as proxy,
    ):
        site.put(FILE, BODY)
        environment = {"https_proxy": proxy.url, "SSL_CERT_FILE": str(certificates.trust)}
        fetcher = make_fetcher(environment=environment)

        assert is_body(fetcher.get(f"https://mirror.example{FILE}", limit=LIMIT))
        assert proxy.requests == ["CONNECT mirror.example:443"]
        assert "proxy-authorization" not in site.requests[0].headers


def test_a_proxy_that_wants_another_password_is_asked_once(
    make_fetcher: Callable[..., Fetcher], waits: Waits
) -> None:
    with ForwardProxy({}, user_info="me:secret") as proxy:
        url = proxy.url.replace("secret", "wrong")
        error = refusal(make_fetcher(environment={"ALL_PROXY": url}), f"https://mirror.example{FILE}")
        place = f"127.0.0.1:{proxy.port}"

        assert str(error).startswith(
            f"`{NAME}` could not be downloaded from `mirror.example`: the proxy `{place}` of `ALL_PROXY` gave no "
            "connection: Tunnel connection failed: 407"
        )
        assert error.hints[0] == (
            "`ALL_PROXY` names the proxy, with `USER:PASSWORD@` in front of its host where it wants them"
        )
        assert (proxy.requests, waits.waited) == (["CONNECT mirror.example:443"], [])
        assert "wrong" not in str(error)


def test_a_proxy_without_a_way_there_is_asked_again(make_fetcher: Callable[..., Fetcher]) -> None:
    with ForwardProxy({}) as proxy:
        fetcher = make_fetcher(environment={"HTTPS_PROXY": proxy.url}, retries=2)
        error = refusal(fetcher, f"https://mirror.example{FILE}")

        assert "Tunnel connection failed: 502" in str(error)
        assert error.hints[0] == (
            f"it was asked through `127.0.0.1:{proxy.port}` of `HTTPS_PROXY`; `NO_PROXY` names exceptions"
        )
        assert len(proxy.requests) == 3


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        (
            "http://127.0.0.1:9",
            "the proxy `127.0.0.1:9` of `HTTPS_PROXY` gave no connection: Connection refused",
        ),
        (
            "http://proxy.invalid:3128",
            "the proxy `proxy.invalid:3128` of `HTTPS_PROXY` gave no connection: its name cannot be resolved",
        ),
    ],
)
def test_a_proxy_that_is_not_there_is_named(
    make_fetcher: Callable[..., Fetcher], proxy: str, reason: str
) -> None:
    fetcher = make_fetcher(environment={"HTTPS_PROXY": proxy}, retries=0)

    assert reason in str(refusal(fetcher, f"https://mirror.example{FILE}"))


def test_a_socks_proxy_is_asked_where_pysocks_is_installed(
    certificates: Certificates, make_fetcher: Callable[..., Fetcher]
) -> None:
    pytest.importorskip("socks", reason="PySocks is not installed")
    with (
        ReleaseSite(context=certificates.context) as site,
        SocksProxy({"mirror.example:443": site.port}) as proxy,
    ):
        site.put(FILE, BODY)
        environment = {"ALL_PROXY": proxy.url, "SSL_CERT_FILE": str(certificates.trust)}

        assert is_body(
            make_fetcher(environment=environment).get(f"https://mirror.example{FILE}", limit=LIMIT)
        )
        assert proxy.requests == ["mirror.example:443"]


def test_a_socks_proxy_without_pysocks_is_said_so(
    make_fetcher: Callable[..., Fetcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "socks", None)
    fetcher = make_fetcher(environment={"ALL_PROXY": "socks5://me:secret@proxy.example"})
    error = refusal(fetcher, "https://mirror.example/x")

    assert (str(error), error.hints) == (
        "the SOCKS proxy `proxy.example:1080` of `ALL_PROXY` cannot be used without PySocks",
        ("install it beside hereya-tf: `pip install PySocks`",),
    )


def test_a_host_that_no_proxy_names_is_asked_itself(make_fetcher: Callable[..., Fetcher]) -> None:
    with ForwardProxy({}) as proxy:
        environment = {"HTTPS_PROXY": proxy.url, "NO_PROXY": ".invalid"}
        error = refusal(make_fetcher(environment=environment), f"https://releases.invalid{FILE}")

        assert "its name cannot be resolved" in str(error)
        assert proxy.requests == []


def test_this_machine_is_asked_itself(site: ReleaseSite, make_fetcher: Callable[..., Fetcher]) -> None:
    with ForwardProxy({}) as proxy:
        fetcher = make_fetcher(environment={"ALL_PROXY": proxy.url, "HTTP_PROXY": proxy.url})

        assert is_body(fetcher.get(site.url(FILE), limit=LIMIT))
        assert proxy.requests == []
