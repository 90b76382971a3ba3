"""What to make of an HTTP answer: take it, ask again, or give up (pure)."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from hereya_tf.durations import format_duration
from hereya_tf.sizes import format_size

REDIRECTS = (301, 302, 303, 307, 308)
MOST_REDIRECTS = 10
# A site that wants to be left alone for longer will not have us wait that long.
LONGEST_RETRY_AFTER = 60.0  # seconds

_FIRST_WAIT = 0.5  # seconds
_LONGEST_WAIT = 8.0  # seconds
_LONGEST_TEXT = 200  # characters
_TEMPORARY = (408, 425, 429)
_FINAL = (501, 505, 511)
_CONTENT_RANGE = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"\d{1,18}", re.ASCII)


class File(NamedTuple):
    """What the first answer said of a file: bytes in all, and what shows that it is still the same one."""

    length: int | None
    etag: str
    modified: str

    @property
    def validator(self) -> str | None:
        """What If-Range takes (RFC 9110, 13.1.5): a strong ETag, else the date; None: it cannot be resumed."""
        if self.etag and not self.etag.startswith("W/"):
            return self.etag
        return self.modified or None


class Body(NamedTuple):
    """The answer is the file, from byte `start` on."""

    start: int
    file: File


class Again(NamedTuple):
    """It may be different next time.

    `after` is how long the site wants to be left alone, in seconds; `retries` is how often it is worth it.
    """

    reason: str
    after: float | None = None
    resumable: bool = True
    retries: int | None = None


class Never(NamedTuple):
    """Asking again will not help; `status` where that is the reason; `hint` where there is one for just this."""

    reason: str
    status: int | None = None
    hint: str | None = None


def judge(
    status: int,
    headers: Mapping[str, str],
    *,
    offset: int,
    given: int,
    file: File | None,
    limit: int,
    now: float,
) -> Body | Again | Never:
    """What to make of an answer to a request for everything from byte `offset` on.

    `headers` has no regard for case; `given` bytes of `file` have arrived before; more than `limit` bytes are
    never taken; `now` is in seconds of the epoch, for a Retry-After that is a date.
    """
    if status not in (200, 206):
        return _failure(status, headers, offset, now)
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        return Never(f"it came encoded as `{encoding[:20]}`, which was not asked for")
    start = offset if status == 206 else 0
    found = File(_length(headers), _text(headers, "etag"), _text(headers, "last-modified"))
    if status == 206:
        total = _partial_length(headers, offset)
        if file is None or total is None or not _is_rest_of(file, found, total):
            return Again("it answered with another part than was asked for", resumable=False)
        found = file._replace(length=total)
    if found.length is not None and found.length > limit:
        return Never(f"it is larger than {format_size(limit)}")
    if (
        given
        and file is not None
        and None not in (lengths := {file.length, found.length})
        and len(lengths) > 1
    ):
        return Never("it was replaced by another one meanwhile")
    return Body(start, found)


def back_off(failures: int, chance: float) -> float:
    """Seconds to wait after so many failures in a row, from 1; `chance` from 0 to 1 spreads those who wait."""
    return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failures - 1, 10)) * (0.5 + chance / 2)


def _failure(status: int, headers: Mapping[str, str], offset: int, now: float) -> Again | Never:
    reason = f"it answered {status}"
    if status == 416 and offset:
        return Again(reason, resumable=False)
    if status not in _TEMPORARY and (status < 500 or status in _FINAL):
        return Never(reason, status)
    after = _retry_after(headers.get("retry-after", ""), now)
    if after is not None and after > LONGEST_RETRY_AFTER:
        wish = format_duration(float(int(after)))
        return Never(f"{reason} and wants to be left alone for `{wish}`", status)
    return Again(reason, after)


def _text(headers: Mapping[str, str], name: str) -> str:
    """A header that can be sent back."""
    text = headers.get(name, "").strip()
    return text if text.isascii() and text.isprintable() and len(text) <= _LONGEST_TEXT else ""


def _length(headers: Mapping[str, str]) -> int | None:
    # Beside `chunked` a length means nothing (RFC 9112, 6.3).
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return None
    text = headers.get("content-length", "").split(",")[0].strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def _partial_length(headers: Mapping[str, str], offset: int) -> int | None:
    """Bytes of the whole file, when the part is all of it from `offset` on."""
    match = _CONTENT_RANGE.fullmatch(headers.get("content-range", "").strip())
    if match is None or match[3] == "*":
        return None
    first, last, total = (int(group) for group in match.groups())
    length = _length(headers)
    is_whole = offset > 0 and first == offset and last == total - 1 and length in (None, total - offset)
    return total if is_whole else None


def _is_rest_of(file: File, found: File, total: int) -> bool:
    return file.length in (None, total) and found.etag in ("", file.etag)


def _retry_after(text: str, now: float) -> float | None:
    """Seconds, from a number of them or a date (RFC 9110, 10.2.3)."""
    if _NUMBER.fullmatch(text.strip()):
        return float(text)
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError, OSError):
        return None
