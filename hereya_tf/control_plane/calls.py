"""The calls of the control-plane API as what goes on the wire (pure)."""

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from hereya_tf import exact
from hereya_tf.control_plane.records import JobStatus, LogPiece
from hereya_tf.control_plane.results import Result, encode_result
from hereya_tf.errors import BadInput

_JSON = "application/json"
_LONGEST_ID = 1000  # characters
_SHOWN = 100  # characters


class Call(NamedTuple):
    """One request: its target below the server's address, and its body."""

    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    content_type: str | None = None

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def submit_call(workspace: str, type_: str, payload: Any, idempotency_key: str | None) -> Call:
    """Ask for a job."""
    body = {"type": type_, "payload": payload}
    if idempotency_key is not None:
        body["idempotencyKey"] = idempotency_key
    return Call("POST", _jobs(workspace), body=_encoded(body), content_type=_JSON)


def status_call(workspace: str, job: str, last_status: JobStatus | None, logs_offset: int | None) -> Call:
    """Ask how a job is; with the status that is known, wait for news of it."""
    query = {"lastStatus": last_status, "logsOffset": logs_offset}
    return Call("GET", f"{_jobs(workspace)}/{_id(job, 'job')}", query=_query(query))


def cancel_call(workspace: str, job: str, *, force: bool) -> Call:
    """Ask for a job's end."""
    body = _encoded({"force": force is True})
    path = f"{_jobs(workspace)}/{_id(job, 'job')}/cancel"
    return Call("POST", path, body=body, content_type=_JSON)


def poll_call(workspace: str, executor_id: str | None) -> Call:
    """Ask for a job to do."""
    path = f"/api/workspaces/{_id(workspace, 'workspace')}/executor/jobs"
    return Call("GET", path, query=_query({"executorId": executor_id}))


def update_call(
    job: str,
    *,
    boundary: str,
    claim: str | None,
    status: JobStatus | None,
    logs: LogPiece | None,
    result: Result | None,
) -> Call:
    """Tell how a job is; with nothing to tell, that its executor is alive."""
    fields: dict[str, str | bytes] = {}
    if claim is not None:
        fields["claim"] = claim
    if status is not None:
        fields["status"] = status
    if logs is not None:
        fields |= {"logs": logs.data, "logsOffset": str(logs.offset)}
    if result is not None:
        fields["result"] = encode_result(result)
    if not fields:
        # Many servers refuse a form without a field. Whoever is alive is at work on it.
        fields["status"] = JobStatus.RUNNING
    return Call(
        "PATCH",
        f"/api/executor/jobs/{_id(job, 'job')}",
        body=_form(fields, boundary),
        content_type=f"multipart/form-data; boundary={boundary}",
    )


def _jobs(workspace: str) -> str:
    return f"/api/workspaces/{_id(workspace, 'workspace')}/jobs"


def _id(text: str, what: str) -> str:
    """A name as one segment of a path; raises BadInput for what cannot be one."""
    # However they are written, `.` and `..` lead elsewhere before any server sees them.
    if text in ("", ".", "..") or len(text) > _LONGEST_ID:
        raise BadInput(f"`{text[:_SHOWN]}` cannot be the name of a {what}", "see how it is spelled")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError as error:
        shown = text.encode("ascii", "backslashreplace").decode()[:_SHOWN]
        raise BadInput(f"`{shown}` cannot be the name of a {what}", "see how it is spelled") from error


def _query(values: dict[str, Any]) -> str:
    known = {name: value for name, value in values.items() if value is not None}
    return urlencode(known, quote_via=quote, safe="", errors="replace")


def _encoded(body: Any) -> bytes:
    return exact.dumps(body).encode("utf-8", "replace")


def _form(fields: dict[str, str | bytes], boundary: str) -> bytes:
    pieces: list[bytes] = []
    for name, value in fields.items():
        data = value.encode("utf-8", "replace") if isinstance(value, str) else value
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'
        pieces += (head.encode(), data, b"\r\n")
    return b"".join([*pieces, f"--{boundary}--\r\n".encode()])
