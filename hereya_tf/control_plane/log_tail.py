"""Which part of a job's log is new to whoever follows it (pure)."""

from typing import NamedTuple

from hereya_tf.control_plane.records import Job


class Tail(NamedTuple):
    """How much of the log of which attempt was seen, in bytes of UTF-8."""

    attempt: int | None = None
    offset: int = 0


class News(NamedTuple):
    """What an answer adds; `is_behind` when its log belongs to another attempt than the offset asked for."""

    text: str
    tail: Tail
    is_behind: bool = False


def news(tail: Tail, job: Job) -> News:
    """What the log in an answer adds to what was seen: each byte once, whatever part the server sent."""
    if tail.attempt not in (None, job.attempt):
        tail = Tail(job.attempt)
        if job.logs_offset:
            return News("", tail, is_behind=True)
    begin = job.logs_offset or 0
    data = job.logs.encode("utf-8", "replace")
    new = data[max(0, tail.offset - begin) :]
    end = max(tail.offset, begin + len(data))
    return News(new.decode("utf-8", "replace"), Tail(job.attempt, end))
