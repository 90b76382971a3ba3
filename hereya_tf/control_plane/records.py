"""The records of the control-plane API, and how they are read from what a server sent (pure).

What a record does not know is passed over: servers may say more. Reading raises ValueError, which tells what is
wrong, and never repeats a value.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from hereya_tf.control_plane.results import Result, read_result


class JobStatus(StrEnum):
    """Where a job is in its life."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether it stays like this."""
        return self not in (JobStatus.QUEUED, JobStatus.RUNNING)


class Job(NamedTuple):
    """A job as those see it who asked for it.

    `logs` is the part of its log that begins at byte `logs_offset`, counted in UTF-8; None from a server that
    always sends the whole log. Offsets begin anew with every attempt. `raw_result` is the result as it came.
    """

    id: str
    type: str
    status: JobStatus
    raw_result: Any
    logs: str
    logs_offset: int | None
    attempt: int

    @property
    def result(self) -> Result | None:
        """What it has come to; None as long as nobody has said."""
        return read_result(self.raw_result)


class ClaimedJob(NamedTuple):
    """A job as its executor gets it; a server that knows no claims leaves `claim` out."""

    id: str
    type: str
    payload: Any
    attempt: int
    claim: str | None


class Submitted(NamedTuple):
    """The job that was asked for; not a new one when its idempotency key was known."""

    job: Job
    is_new: bool


class Acknowledgement(NamedTuple):
    """The server has taken an update; whether somebody has asked for the job's end meanwhile."""

    cancel_requested: bool


class LogPiece(NamedTuple):
    """A part of a job's log that begins at byte `offset`, counted in UTF-8 from the attempt's beginning."""

    text: str
    offset: int

    @property
    def data(self) -> bytes:
        """The part as it is sent; what is no Unicode becomes `?`."""
        return self.text.encode("utf-8", "replace")

    @property
    def end(self) -> int:
        """The offset of the next part."""
        return self.offset + len(self.data)


def read_job(answer: object) -> Job:
    """The job in `{job: {…}}`; raises ValueError."""
    job = _job(answer)
    logs = job.get("logs")
    return Job(
        id=_text(job, "id"),
        type=_text(job, "type", ""),
        status=_status(job),
        raw_result=job.get("result"),
        logs=logs if isinstance(logs, str) else "",
        logs_offset=_count(job, "logsOffset", None),
        attempt=_count(job, "attempt", 1) or 1,
    )


def read_claimed_job(answer: object) -> ClaimedJob | None:
    """The job that an executor has got, if there was one; raises ValueError.

    A payload is taken as it is, and so is a type: that a job makes no sense is for the executor to say.
    """
    if answer is None or (isinstance(answer, dict) and answer.get("job") is None):
        return None
    job = _job(answer)
    return ClaimedJob(
        id=_text(job, "id"),
        type=_text(job, "type", ""),
        payload=job.get("payload"),
        attempt=_count(job, "attempt", 1) or 1,
        claim=_text(job, "claim", "") or None,
    )


def read_acknowledgement(answer: object) -> Acknowledgement:
    """The answer to an update; one without a body is as good. Raises ValueError."""
    if answer is not None and not isinstance(answer, dict):
        raise ValueError("it is no JSON object")
    return Acknowledgement(isinstance(answer, dict) and answer.get("cancelRequested") is True)


def _job(answer: object) -> Mapping[str, Any]:
    job = answer.get("job") if isinstance(answer, dict) else None
    if not isinstance(job, dict):
        raise ValueError("it holds no `job`")
    return job


def _text(job: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = job.get(name)
    value = default if value is None else value
    if not isinstance(value, str) or (value == "" and default is None):
        raise ValueError(f"`{name}` of the job is no text")
    return value


def _count(job: Mapping[str, Any], name: str, default: int | None) -> int | None:
    value = job.get(name)
    if value is None:
        return default
    if type(value) is not int or value < 0:
        raise ValueError(f"`{name}` of the job is no number from 0 on")
    return value


def _status(job: Mapping[str, Any]) -> JobStatus:
    try:
        return JobStatus(_text(job, "status"))
    except ValueError as error:
        raise ValueError(f"`status` of the job is none of {', '.join(JobStatus)}") from error
