"""What is made of an HTTP answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.releases.answers import Again, Body, File, Never, back_off, judge

ONE = File(1000, '"one"', "Wed, 01 Apr 2026 10:00:00 GMT")
DESCRIBED = {"etag": ONE.etag, "last-modified": ONE.modified}
REST = {**DESCRIBED, "content-length": "600", "content-range": "bytes 400-999/1000"}
OTHER_PART = Again("it answered with another part than was asked for", resumable=False)


def answer(
    status: int,
    headers: dict[str, str],
    *,
    offset: int = 0,
    file: File | None = None,
    given: int | None = None,
) -> Body | Again | Never:
    return judge(
        status,
        headers,
        offset=offset,
        given=offset if given is None else given,
        file=file,
        limit=2000,
        now=1_775_037_600.0,  # Wed, 01 Apr 2026 10:00:00 GMT
    )


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({**DESCRIBED, "content-length": "1000"}, ONE),
        ({"content-length": "1000, 1000"}, File(1000, "", "")),
        ({"content-length": "-1"}, File(None, "", "")),
        ({"content-length": "٣"}, File(None, "", "")),
        ({"content-length": "1000", "transfer-encoding": "chunked"}, File(None, "", "")),
        ({"content-encoding": "Identity"}, File(None, "", "")),
        ({"etag": '"a\r\n b"', "last-modified": "x" * 201}, File(None, "", "")),
        ({}, File(None, "", "")),
    ],
)
def test_a_whole_file_is_taken_with_what_is_said_of_it(headers: dict[str, str], expected: File) -> None:
    assert answer(200, headers) == Body(0, expected)


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (ONE, '"one"'),
        (ONE._replace(etag='W/"one"'), ONE.modified),
        (ONE._replace(etag=""), ONE.modified),
        (File(1000, 'W/"one"', ""), None),
        (File(1000, "", ""), None),
    ],
)
def test_only_what_shows_that_a_file_is_the_same_lets_it_resume(file: File, expected: str | None) -> None:
    assert file.validator == expected


def test_the_rest_of_a_file_is_taken() -> None:
    assert answer(206, REST, offset=400, file=ONE) == Body(400, ONE)


def test_the_rest_of_a_file_of_unknown_length_tells_it() -> None:
    headers = {"content-range": "bytes 400-999/1000"}

    assert answer(206, headers, offset=400, file=ONE._replace(length=None)) == Body(400, ONE)


def test_a_whole_file_in_answer_to_a_range_begins_at_its_beginning() -> None:
    assert answer(200, {**DESCRIBED, "content-length": "1000"}, offset=400, file=ONE) == Body(0, ONE)


@pytest.mark.parametrize(
    "headers",
    [
        {**REST, "content-range": "bytes 0-599/1000"},
        {**REST, "content-range": "bytes 400-998/1000"},
        {**REST, "content-range": "bytes 400-999/*"},
        {**REST, "content-range": "bytes 400-1000/1001", "content-length": "601"},
        {**REST, "content-range": "400-999"},
        {**DESCRIBED, "content-range": "bytes 0-999/1000"},
        {**REST, "content-length": "599"},
        {**REST, "etag": '"two"'},
        {**DESCRIBED, "content-length": "600"},
    ],
)
def test_another_part_than_was_asked_for_is_not_taken(headers: dict[str, str]) -> None:
    assert answer(206, headers, offset=400, file=ONE) == OTHER_PART


def test_a_part_that_was_not_asked_for_is_not_taken() -> None:
    assert answer(206, {"content-range": "bytes 0-999/1000"}) == OTHER_PART


def test_a_file_with_another_length_than_before_is_not_the_same() -> None:
    headers = {"content-length": "1001"}

    assert answer(200, headers, given=400, file=ONE) == Never("it was replaced by another one meanwhile")
    assert answer(200, headers, given=0, file=ONE) == Body(0, File(1001, "", ""))


def test_a_file_over_the_limit_is_not_taken() -> None:
    assert answer(200, {"content-length": "2001"}) == Never("it is larger than 2.0 kB")
    assert answer(200, {"content-length": "2000"}) == Body(0, File(2000, "", ""))


def test_an_encoding_that_was_not_asked_for_is_not_taken() -> None:
    assert answer(200, {"content-encoding": "gzip"}) == Never(
        "it came encoded as `gzip`, which was not asked for"
    )


@pytest.mark.parametrize("status", [100, 204, 304, 400, 401, 403, 404, 410, 501, 505, 511])
def test_most_statuses_will_not_change(status: int) -> None:
    assert answer(status, {}) == Never(f"it answered {status}", status)


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 522])
def test_some_statuses_are_temporary(status: int) -> None:
    assert answer(status, {}) == Again(f"it answered {status}")


def test_a_range_behind_the_end_means_that_the_file_has_changed() -> None:
    assert answer(416, {}, offset=400, file=ONE) == Again("it answered 416", resumable=False)
    assert answer(416, {}) == Never("it answered 416", 416)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("Wed, 01 Apr 2026 10:00:09 GMT", 9.0),
        ("Wed, 01 Apr 2026 09:00:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("", None),
        ("1e3", None),
    ],
)
def test_a_site_says_when_to_come_back(text: str, expected: float | None) -> None:
    assert answer(429, {"retry-after": text}) == Again("it answered 429", expected)


def test_nobody_waits_for_an_hour() -> None:
    assert answer(429, {"retry-after": "3600"}) == Never(
        "it answered 429 and wants to be left alone for `1h`", 429
    )


@given(
    st.integers(100, 999),
    st.dictionaries(
        st.sampled_from(
            (
                "content-length",
                "content-range",
                "content-encoding",
                "transfer-encoding",
                "etag",
                "last-modified",
                "retry-after",
            )
        ),
        st.text() | st.from_regex(r"bytes \d+-\d+/\d+", fullmatch=True) | st.integers().map(str),
    ),
    st.integers(0, 1000),
)
def test_any_answer_has_a_verdict(status: int, headers: dict[str, str], offset: int) -> None:
    verdict = answer(status, headers, offset=offset, file=ONE if offset else None)

    if isinstance(verdict, Body):
        assert verdict.start in (0, offset)
        assert verdict.file.length is None or verdict.file.length <= 2000


def test_waits_double_up_to_a_bound_and_are_spread() -> None:
    assert [back_off(failures, 1.0) for failures in (1, 2, 3, 4, 5, 6, 999)] == [0.5, 1, 2, 4, 8, 8, 8]
    assert back_off(3, 0.0) == 1.0
