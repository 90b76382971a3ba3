"""Asks a control plane: submit, status, cancel for those who want jobs done; poll, update for executors (I/O)."""

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self, TypeVar

from hereya_tf import __version__
from hereya_tf.control_plane import calls, records
from hereya_tf.control_plane.calls import Call
from hereya_tf.control_plane.errors import UnreadableAnswer
from hereya_tf.control_plane.records import (
    Acknowledgement,
    ClaimedJob,
    Job,
    JobStatus,
    LogPiece,
    Submitted,
)
from hereya_tf.control_plane.replies import read_reply
from hereya_tf.control_plane.results import Result
from hereya_tf.control_plane.wire import Wire
from hereya_tf.errors import BadInput
from hereya_tf.releases.addresses import Address, read_address

Record = TypeVar("Record")
Look = Callable[[], None]


class Deadlines(NamedTuple):
    """Seconds until a call, from looking up a name to the last byte of the answer, is given up.

    The server holds `status` and `poll` for at most 30 s.
    """

    submit: float = 30.0
    status: float = 45.0
    poll: float = 45.0
    update: float = 30.0
    cancel: float = 30.0


def _no_look() -> None:
    return None


class ControlPlaneClient:
    """One control plane, asked with one token; any thread may use it.

    `url` may have a path, below which the API lies. Each method makes one attempt, and raises BadInput for a
    name that cannot be asked for and ControlPlaneError for whatever goes wrong, Unauthorized and RequestTimedOut
    among them. `look` is called several times a second while an answer is awaited; when it raises, the call
    ends at once and its connection is closed. `environment` has proxies and certificates: HTTPS_PROXY,
    NO_PROXY, SSL_CERT_FILE and the like.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        environment: Mapping[str, str],
        deadlines: Deadlines = Deadlines(),  # noqa: B008 - it is frozen
    ) -> None:
        self._address = read_url(url)
        self._token = checked_token(token)
        self._deadlines = deadlines
        self._wire = Wire(environment, longest=max(deadlines))

    def __repr__(self) -> str:
        return f"ControlPlaneClient({str(self._address)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections that are kept open."""
        self._wire.close()

    def submit(
        self,
        workspace: str,
        type_: str,
        payload: Any,
        *,
        idempotency_key: str | None = None,
        look: Look = _no_look,
    ) -> Submitted:
        """Ask for a job; with an idempotency key it may be asked for again after any failure."""
        call = calls.submit_call(workspace, type_, payload, idempotency_key)
        job, status = self._ask(call, self._deadlines.submit, records.read_job, look)
        return Submitted(job, is_new=status != 200)

    def status(
        self,
        workspace: str,
        job_id: str,
        *,
        last_status: JobStatus | None = None,
        logs_offset: int | None = None,
        look: Look = _no_look,
    ) -> Job:
        """How a job is. With `last_status` the server waits for news: another status, or more of the log.

        `logs_offset` is how much of the log is known, in bytes of UTF-8.
        """
        call = calls.status_call(workspace, job_id, last_status, logs_offset)
        return self._ask(call, self._deadlines.status, records.read_job, look)[0]

    def cancel(self, workspace: str, job_id: str, *, force: bool = False, look: Look = _no_look) -> Job:
        """Ask for a job's end; how it is right after that."""
        call = calls.cancel_call(workspace, job_id, force=force)
        return self._ask(call, self._deadlines.cancel, records.read_job, look)[0]

    def poll(
        self, workspace: str, *, executor_id: str | None = None, look: Look = _no_look
    ) -> ClaimedJob | None:
        """The next job to do; None when there was none for as long as the server waits."""
        call = calls.poll_call(workspace, executor_id)
        return self._ask(call, self._deadlines.poll, records.read_claimed_job, look)[0]

    def update(
        self,
        job_id: str,
        *,
        claim: str | None = None,
        status: JobStatus | None = None,
        logs: LogPiece | None = None,
        result: Result | None = None,
        look: Look = _no_look,
    ) -> Acknowledgement:
        """Tell how a job is; without status, logs and result it is a heartbeat.

        Refused with status 409 when somebody else has the job now, or it has ended otherwise.
        """
        call = calls.update_call(
            job_id, boundary=os.urandom(16).hex(), claim=claim, status=status, logs=logs, result=result
        )
        return self._ask(call, self._deadlines.update, records.read_acknowledgement, look)[0]

    def _ask(
        self, call: Call, seconds: float, read: Callable[[object], Record], look: Look
    ) -> tuple[Record, int]:
        address = self._address._replace(target=f"{self._address.target.rstrip('/')}{call.target}")
        reply = self._wire.exchange(call, address, self._headers(call), seconds, look)
        value = read_reply(reply, call, address, self._redacted)
        try:
            return read(value), reply.status
        except ValueError as error:
            raise UnreadableAnswer(str(error), str(call)) from error

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {
            "User-Agent": f"hereya-tf/{__version__}",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {self._token}",
        }
        if call.content_type is not None:
            headers["Content-Type"] = call.content_type
        return headers

    def _redacted(self, text: str) -> str:
        from hereya_tf.redaction import Redactor

        return Redactor((self._token,)).text(text)


def read_url(url: str) -> Address:
    """The address of a control plane; raises BadInput, without a password that may stand in it."""
    hint = "write `https://HOST`, with the port and the path where it has any"
    try:
        if "://" not in url:  # what comes before the first `:` is a host, and no scheme
            raise ValueError("it has no scheme")
        address, user_info = read_address(url)
    except ValueError as error:
        raise BadInput(f"the control plane's address cannot be used: {error}", hint) from error
    if user_info is not None:
        raise BadInput(
            "the control plane's address holds a user name", "take it out: the token is sent instead", hint
        )
    if "?" in address.target or "#" in url:
        raise BadInput("the control plane's address has a query or a fragment", hint)
    return address


def checked_token(token: str) -> str:
    """The token as it is, without blanks around it; raises BadInput for what no header can carry."""
    stripped = token.strip()
    if not stripped:
        raise BadInput("the control plane's token is empty", "see whether it was set where it comes from")
    if not all("!" <= character <= "~" for character in stripped):
        raise BadInput(
            "the control plane's token has a character that no token has",
            "a token is one word of letters, digits and signs; see whether more was copied than that",
        )
    return stripped
