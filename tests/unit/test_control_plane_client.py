"""The client against a real server that does everything wrong, one fault at a time."""

import contextlib
import gc
import json
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.control_plane import (
    REQUEST_TIMED_OUT,
    Acknowledgement,
    ClaimedJob,
    ControlPlaneClient,
    ControlPlaneError,
    Deadlines,
    Failed,
    Job,
    JobStatus,
    LogPiece,
    Refused,
    RequestTimedOut,
    Submitted,
    Succeeded,
    Unauthorized,
    Unreachable,
    UnreadableAnswer,
    is_timeout,
)
from hereya_tf.errors import BadInput, FailureClass
from tests.certificates import make_certificates
from tests.control_plane import TOKEN, ControlPlane, Fault, status, unauthorized
from tests.control_plane_faults import (
    answered,
    broken,
    dead,
    dripping,
    dripping_head,
    gated,
    half_answer,
    lost_answer,
    slow,
)
from tests.forward_proxy import ForwardProxy

SHORT = Deadlines(submit=0.4, status=0.4, poll=0.4, update=0.4, cancel=0.4)
Call = Callable[[ControlPlaneClient], object]
CALLS: dict[str, Call] = {
    "submit": lambda client: client.submit("prod", "provision", {}),
    "status": lambda client: client.status("prod", "job-1"),
    "cancel": lambda client: client.cancel("prod", "job-1"),
    "poll": lambda client: client.poll("prod"),
    "update": lambda client: client.update("job-1", claim="job-1/1"),
}
every_call = pytest.mark.parametrize("name", CALLS)


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    with ControlPlane() as plane:
        yield plane
        assert plane.violations == []


@pytest.fixture
def client(plane: ControlPlane) -> Iterator[ControlPlaneClient]:
    with ControlPlaneClient(plane.url, TOKEN, environment={}) as client:
        yield client


@pytest.fixture
def hasty(plane: ControlPlane) -> Iterator[ControlPlaneClient]:
    """A client with short deadlines."""
    with ControlPlaneClient(plane.url, TOKEN, environment={}, deadlines=SHORT) as client:
        yield client


def failure(client: ControlPlaneClient, name: str) -> ControlPlaneError:
    with pytest.raises(ControlPlaneError) as caught:
        CALLS[name](client)
    assert caught.value.failure_class is FailureClass.CONTROL_PLANE
    assert caught.value.failure_class.exit_code == 6
    return caught.value


def calls_end(within: float = 20) -> bool:
    """Whether no call is under way any more; one that was given up may need a moment."""
    threads = [thread for thread in threading.enumerate() if thread.name == "download"]
    for thread in threads:
        thread.join(within)
    return not any(thread.is_alive() for thread in threads)


# --- a good server


def test_a_job_is_asked_for_done_and_followed(plane: ControlPlane, client: ControlPlaneClient) -> None:
    job = Job("job-1", "provision", JobStatus.QUEUED, None, "", 0, 1)
    claim = "job-1/1"

    assert client.submit("prod", "provision", {"package": "db"}) == Submitted(job, is_new=True)
    assert client.poll("prod", executor_id="host-1") == ClaimedJob(
        "job-1", "provision", {"package": "db"}, 1, claim
    )
    assert client.update("job-1", claim=claim) == Acknowledgement(cancel_requested=False)
    assert client.update("job-1", claim=claim, logs=LogPiece("créé\r\n", 0)) == Acknowledgement(False)
    assert client.update("job-1", claim=claim, logs=LogPiece("créé\r\ndone\n", 0)) == Acknowledgement(False)
    assert client.status("prod", "job-1", logs_offset=8) == job._replace(
        status=JobStatus.RUNNING, logs="done\n", logs_offset=8
    )
    assert client.cancel("prod", "job-1").status is JobStatus.RUNNING
    assert client.update("job-1", claim=claim) == Acknowledgement(cancel_requested=True)
    done = Succeeded({"URL": "https://db", "SIZE": "3"})
    assert client.update("job-1", claim=claim, status=JobStatus.COMPLETED, result=done) == Acknowledgement(
        True
    )
    ended = client.status("prod", "job-1", last_status=JobStatus.RUNNING)
    assert (ended.status, ended.result, ended.logs) == (JobStatus.COMPLETED, done, "créé\r\ndone\n")
    assert plane.jobs["job-1"].logs == "créé\r\ndone\n".encode()


@pytest.mark.behaviour("C4", "C5")
def test_what_goes_on_the_wire(plane: ControlPlane, client: ControlPlaneClient) -> None:
    plane.foreign = True
    client.submit("a/b c", "x", {"n": 1})
    client.poll("a/b c")
    client.poll("a/b c", executor_id="ü&1")
    client.status("a/b c", "job-1")
    client.status("a/b c", "job-1", last_status=JobStatus.QUEUED)
    client.cancel("a/b c", "job-1")
    client.cancel("a/b c", "job-1", force=True)
    client.cancel("a/b c", "job-1", force="false")  # type: ignore[arg-type]

    assert [(asked.target, asked.body) for asked in plane.requests] == [
        ("/api/workspaces/a%2Fb%20c/jobs", {"type": "x", "payload": {"n": 1}}),
        ("/api/workspaces/a%2Fb%20c/executor/jobs", None),
        ("/api/workspaces/a%2Fb%20c/executor/jobs?executorId=%C3%BC%261", None),
        ("/api/workspaces/a%2Fb%20c/jobs/job-1", None),
        ("/api/workspaces/a%2Fb%20c/jobs/job-1?lastStatus=queued", None),
        ("/api/workspaces/a%2Fb%20c/jobs/job-1/cancel", {"force": False}),
        ("/api/workspaces/a%2Fb%20c/jobs/job-1/cancel", {"force": True}),
        ("/api/workspaces/a%2Fb%20c/jobs/job-1/cancel", {"force": False}),
    ]
    assert {asked.headers["authorization"] for asked in plane.requests} == {f"Bearer {TOKEN}"}
    assert all(asked.headers["user-agent"].startswith("hereya-tf/") for asked in plane.requests)


@pytest.mark.behaviour("C5")
def test_an_update_is_a_form_with_what_there_is_to_tell(
    plane: ControlPlane, client: ControlPlaneClient
) -> None:
    for _ in range(2):
        plane.add()
        client.poll("prod")
    client.update("job-1", claim="job-1/1")
    client.update("job-1", claim="job-1/1", logs=LogPiece("--x\r\n\r\n\0ünd\r", 0))
    client.update("job-1", claim="job-1/1", status=JobStatus.FAILED, result=Failed("no\n--- stderr ---\nü"))
    client.update("job-2", claim="job-2/1", status=JobStatus.COMPLETED, result=Succeeded({}))

    assert [asked.body for asked in plane.asked("update")] == [
        {"claim": b"job-1/1"},
        {"claim": b"job-1/1", "logs": "--x\r\n\r\n\0ünd\r".encode(), "logsOffset": b"0"},
        {
            "claim": b"job-1/1",
            "status": b"failed",
            "result": '{"success":false,"reason":"no\\n--- stderr ---\\nü"}'.encode(),
        },
        {"claim": b"job-2/1", "status": b"completed", "result": b'{"success":true,"env":{}}'},
    ]
    assert {asked.target for asked in plane.asked("update")} == {
        "/api/executor/jobs/job-1",
        "/api/executor/jobs/job-2",
    }


def test_the_same_part_of_a_log_twice_is_kept_once(plane: ControlPlane, client: ControlPlaneClient) -> None:
    plane.add()
    client.poll("prod")
    plane.fault("update", lost_answer)
    piece = LogPiece("one\n", 0)

    with pytest.raises(ControlPlaneError):
        client.update("job-1", claim="job-1/1", logs=piece)
    client.update("job-1", claim="job-1/1", logs=piece)
    client.update("job-1", claim="job-1/1", logs=LogPiece("two\n", piece.end))

    assert plane.jobs["job-1"].logs == b"one\ntwo\n"


def test_a_submission_whose_answer_was_lost_is_repeated_with_its_key(
    plane: ControlPlane, client: ControlPlaneClient
) -> None:
    plane.fault("submit", lost_answer)

    with pytest.raises(Unreachable):
        client.submit("prod", "provision", {}, idempotency_key="k1")
    again = client.submit("prod", "provision", {}, idempotency_key="k1")

    assert (again.job.id, again.is_new, list(plane.jobs)) == ("job-1", False, ["job-1"])


@pytest.mark.behaviour("E6")
def test_a_job_that_is_handed_out_again_is_the_same_or_another_attempt(
    plane: ControlPlane, client: ControlPlaneClient
) -> None:
    plane.add()
    first = client.poll("prod")
    plane.hand_again(plane.jobs["job-1"])
    same = client.poll("prod")
    plane.redeliver(plane.jobs["job-1"])
    second = client.poll("prod")

    assert first == same == ClaimedJob("job-1", "provision", {}, 1, "job-1/1")
    assert second == ClaimedJob("job-1", "provision", {}, 2, "job-1/2")
    assert failure(client, "update").status == 409


def test_no_job_is_none(plane: ControlPlane, client: ControlPlaneClient) -> None:
    assert client.poll("prod") is None
    plane.fault("poll", answered(200, b'{"job": null}'))
    assert client.poll("prod") is None


def test_a_foreign_control_plane_knows_neither_claims_nor_offsets() -> None:
    with ControlPlane(foreign=True) as plane, ControlPlaneClient(plane.url, TOKEN, environment={}) as client:
        client.submit("prod", "provision", {})

        assert client.poll("prod") == ClaimedJob("job-1", "provision", {}, 1, None)
        assert client.update("job-1") == Acknowledgement(cancel_requested=False)
        assert client.update("job-1", logs=LogPiece("a\n", 0)) == Acknowledgement(False)
        assert client.status("prod", "job-1", logs_offset=1) == Job(
            "job-1", "provision", JobStatus.RUNNING, None, "a\n", None, 1
        )
        plane.fault("update", answered(200, b""), answered(200, b"{}"), answered(204, b""))
        assert [client.update("job-1") for _ in range(3)] == [Acknowledgement(False)] * 3
        assert [asked.body for asked in plane.asked("update")][:1] == [{"status": b"running"}]
        assert plane.violations == []


def test_the_api_may_lie_below_a_path() -> None:
    with ControlPlane() as plane:
        client = ControlPlaneClient(f"{plane.url}/base/", TOKEN, environment={})
        with pytest.raises(Refused), client:
            client.poll("prod")

        assert plane.violations == ["GET /base/api/workspaces/prod/executor/jobs is not in the API"]


def test_a_connection_is_kept_and_several_threads_have_their_own(
    plane: ControlPlane, client: ControlPlaneClient
) -> None:
    for _ in range(3):
        client.submit("prod", "x", {})
    assert plane.connections == 1

    for _ in range(2):
        threads = [threading.Thread(target=client.poll, args=("empty",)) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)

    assert len(plane.asked("poll")) == 10
    assert plane.connections <= 6


# --- deadlines


@pytest.mark.behaviour("C1")
def test_the_deadlines() -> None:
    assert Deadlines() == Deadlines(submit=30.0, status=45.0, poll=45.0, update=30.0, cancel=30.0)


@pytest.mark.behaviour("C1", "C2")
@every_call
def test_a_dead_connection_ends_at_the_deadline(
    plane: ControlPlane, hasty: ControlPlaneClient, name: str
) -> None:
    plane.always(name, dead)
    began = time.monotonic()
    error = failure(hasty, name)

    assert time.monotonic() - began < 10
    assert type(error) is RequestTimedOut
    assert (error.reason, str(error)) == ("Request timed out", REQUEST_TIMED_OUT)
    assert error.hints == (f"`127.0.0.1:{plane.port}` has not given a whole answer within `400ms`",)
    assert is_timeout(error)
    # The server sees at once that nobody listens any more, and no thread is left behind.
    assert plane.gone.wait(20)
    assert calls_end()


@pytest.mark.behaviour("C1")
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(dripping(0.05), id="of the body"),
        pytest.param(dripping_head(0.05), id="of the head"),
    ],
)
def test_a_byte_now_and_then_keeps_no_call_alive(
    plane: ControlPlane, hasty: ControlPlaneClient, fault: Fault
) -> None:
    plane.add(payload={"text": "x" * 1000})
    plane.fault("poll", fault)

    assert type(failure(hasty, "poll")) is RequestTimedOut
    assert calls_end()


def test_after_a_call_that_was_given_up_the_next_one_is_answered(
    plane: ControlPlane, hasty: ControlPlaneClient
) -> None:
    plane.add()
    plane.fault("status", dead, dead)

    assert [type(failure(hasty, "status")) for _ in range(2)] == [RequestTimedOut] * 2
    assert hasty.status("prod", "job-1").id == "job-1"


@pytest.mark.skipif(sys.platform != "linux", reason="others take connections that nobody accepts")
def test_a_connection_that_comes_too_late_is_not_used() -> None:
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.settimeout(60)
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        # The queue of a listener that accepts nothing is full then.
        stack.enter_context(socket.create_connection(listener.getsockname()))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        client = stack.enter_context(ControlPlaneClient(url, TOKEN, environment={}, deadlines=SHORT))
        error = failure(client, "submit")
        stack.enter_context(listener.accept()[0])
        late = stack.enter_context(listener.accept()[0])
        late.settimeout(60)

        assert type(error) is RequestTimedOut
        assert late.recv(1) == b""
    assert calls_end()


def test_a_call_ends_at_once_when_its_caller_wants_it_to(
    plane: ControlPlane, client: ControlPlaneClient
) -> None:
    plane.always("poll", dead)

    def look() -> None:
        if plane.stalls.is_set():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.poll("prod", look=look)
    assert plane.gone.wait(20)
    assert calls_end()


def test_a_slow_answer_within_the_deadline_is_one(plane: ControlPlane, client: ControlPlaneClient) -> None:
    plane.add()
    plane.fault("poll", slow(0.3))

    assert client.poll("prod") is not None


def test_a_call_that_waits_holds_up_no_other(plane: ControlPlane, client: ControlPlaneClient) -> None:
    gate = threading.Event()
    plane.fault("poll", gated(gate))
    polled: list[object] = []
    poll = threading.Thread(target=lambda: polled.append(client.poll("prod")))
    poll.start()

    client.submit("prod", "provision", {})
    gate.set()
    poll.join(30)

    assert polled == [ClaimedJob("job-1", "provision", {}, 1, "job-1/1")]


def raised_from(error: Exception, cause: BaseException | None) -> Exception:
    with pytest.raises(type(error)) as caught:
        raise error from cause
    return caught.value


@pytest.mark.behaviour("C1")
def test_timeouts_are_told_from_other_errors() -> None:
    late = RequestTimedOut("cp", 45.0)
    loop = ValueError("a")
    loop.__cause__ = loop
    try:
        try:
            raise late
        except RequestTimedOut:
            raise ValueError("while it was handled")  # noqa: B904
    except ValueError as error:
        handled = error

    assert is_timeout(late)
    assert is_timeout(TimeoutError())
    assert is_timeout(raised_from(RuntimeError("job"), raised_from(ValueError("x"), late)))
    assert is_timeout(handled)
    assert not is_timeout(raised_from(RuntimeError("job"), Unauthorized("cp")))
    assert not is_timeout(loop)
    assert not is_timeout(None)


def test_calls_that_are_given_up_never_break_others(plane: ControlPlane) -> None:
    deadlines = Deadlines(poll=0.12, status=60.0)
    job = plane.add()
    plane.hold = 0.1  # just as long as the deadline of polls: answers come when the call is being given up
    with ControlPlaneClient(plane.url, TOKEN, environment={}, deadlines=deadlines) as client:
        is_over = threading.Event()
        seen: list[str] = []
        wrong: list[ControlPlaneError] = []

        def poll() -> None:
            while not is_over.is_set():
                with contextlib.suppress(RequestTimedOut):
                    client.poll("empty")

        def ask() -> None:
            try:
                seen.extend(client.status("prod", job.id).id for _ in range(150))
            except ControlPlaneError as error:
                wrong.append(error)

        polls = [threading.Thread(target=poll) for _ in range(4)]
        asks = [threading.Thread(target=ask) for _ in range(4)]
        for thread in (*polls, *asks):
            thread.start()
        for thread in asks:
            thread.join(60)
        is_over.set()
        for thread in polls:
            thread.join(60)

    assert (wrong, seen) == ([], [job.id] * 600)
    assert calls_end()


# --- what servers and networks say no with


@pytest.mark.behaviour("C3")
@every_call
def test_a_token_that_is_not_accepted(plane: ControlPlane, client: ControlPlaneClient, name: str) -> None:
    plane.fault(name, unauthorized)
    error = failure(client, name)

    assert type(error) is Unauthorized
    assert (error.reason, error.unauthorized, error.status, error.is_temporary) == (
        "Unauthorized",
        True,
        401,
        False,
    )
    assert error.hints == (
        f"`127.0.0.1:{plane.port}` does not accept the token: see whether `HEREYA_TOKEN` is still good",
    )


@pytest.mark.behaviour("C3")
@every_call
def test_the_reason_of_the_server_is_the_reason(
    plane: ControlPlane, client: ControlPlaneClient, name: str
) -> None:
    plane.fault(name, status(503, "we move to another house"))
    error = failure(client, name)

    assert type(error) is Refused
    assert (error.reason, error.unauthorized, error.status, error.is_temporary) == (
        "we move to another house",
        False,
        503,
        True,
    )


@pytest.mark.behaviour("C3")
@pytest.mark.parametrize(
    ("number", "body", "reason", "is_temporary"),
    [
        pytest.param(404, b'{"error": "no such job"}', "no such job", False, id="error"),
        pytest.param(400, b'{"message": "bad\\nlines"}', "bad\\nlines", False, id="message, in one line"),
        pytest.param(422, b'{"error": {"message": "deep"}}', "deep", False, id="an object"),
        pytest.param(403, b'{"title": "Forbidden", "detail": "not yours"}', "not yours", False, id="problem"),
        pytest.param(409, b"{}", "409 Conflict", False, id="no reason"),
        pytest.param(502, b"<html>nginx</html>", "502 Bad Gateway", True, id="a page"),
        pytest.param(500, b"\xff\xfe", "500 Internal Server Error", True, id="no text"),
        pytest.param(429, b'["slow"]', "429 Too Many Requests", True, id="another shape"),
        pytest.param(501, b"", "501 Not Implemented", False, id="never"),
        pytest.param(599, b'{"reason": " "}', "599", True, id="an unknown status"),
    ],
)
def test_any_other_failure_has_the_reason_of_the_server_or_the_status(
    plane: ControlPlane, client: ControlPlaneClient, number: int, body: bytes, reason: str, is_temporary: bool
) -> None:
    plane.fault("poll", answered(number, body))
    error = failure(client, "poll")

    assert (error.reason, error.status, error.is_temporary) == (reason, number, is_temporary)
    assert error.hints == (f"`GET /api/workspaces/prod/executor/jobs` was answered with {number}",)


def test_a_long_reason_is_cut(plane: ControlPlane, client: ControlPlaneClient) -> None:
    plane.fault("poll", status(500, "x" * 9000))

    assert failure(client, "poll").reason == "x" * 500


@pytest.mark.parametrize(
    "fault",
    [pytest.param(broken, id="broken"), pytest.param(half_answer, id="half an answer")],
)
@every_call
def test_a_connection_that_breaks(
    plane: ControlPlane, client: ControlPlaneClient, name: str, fault: Fault
) -> None:
    plane.add()
    plane.change(plane.jobs["job-1"], claim="job-1/1", status="running", attempt=1)
    plane.hand_again(plane.jobs["job-1"])
    plane.fault(name, fault)
    error = failure(client, name)

    assert type(error) is Unreachable
    assert error.is_temporary
    assert error.reason.startswith(f"`127.0.0.1:{plane.port}` could not be asked: ")
    CALLS[name](client)  # the next one is another connection


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        pytest.param(b'{"job": {"id"', "it is no JSON", id="half of it"),
        pytest.param(b"<html>welcome to the hotel</html>", "it is no JSON", id="a page"),
        pytest.param(b"\xff", "it is no JSON", id="no text"),
        pytest.param(b"[" * 100_000, "it is no JSON", id="too deep"),
        pytest.param(b"[]", "it holds no `job`", id="another shape"),
        pytest.param(b'{"job": "job-1"}', "it holds no `job`", id="no object"),
        pytest.param(b'{"job": {"type": "x"}}', "`id` of the job is no text", id="no id"),
        pytest.param(b'{"job": {"id": 7}}', "`id` of the job is no text", id="an id that is a number"),
        pytest.param(b'{"job": {"id": ""}}', "`id` of the job is no text", id="an empty id"),
        pytest.param(
            b'{"job": {"id": "1", "attempt": true}}',
            "`attempt` of the job is no number from 0 on",
            id="no number",
        ),
        pytest.param(b'{"job": {"id": "1", "claim": {}}}', "`claim` of the job is no text", id="no claim"),
    ],
)
def test_an_answer_that_makes_no_sense(
    plane: ControlPlane, client: ControlPlaneClient, body: bytes, fault: str
) -> None:
    plane.fault("poll", answered(200, body))
    error = failure(client, "poll")

    assert type(error) is UnreadableAnswer
    assert error.reason == f"the control plane's answer cannot be used: {fault}"
    assert error.is_temporary


@pytest.mark.parametrize(
    ("name", "body", "fault"),
    [
        pytest.param(
            "status",
            b'{"job": {"id": "1", "status": "paused"}}',
            "`status` of the job is none of queued, running, completed, failed, cancelled",
            id="another status",
        ),
        pytest.param("submit", b"", "it holds no `job`", id="nothing"),
        pytest.param("update", b"[]", "it is no JSON object", id="another shape"),
    ],
)
def test_an_answer_that_makes_no_sense_to_others(
    plane: ControlPlane, client: ControlPlaneClient, name: str, body: bytes, fault: str
) -> None:
    plane.fault(name, answered(200, body))

    assert failure(client, name).reason == f"the control plane's answer cannot be used: {fault}"


def test_an_answer_that_was_encoded_is_not_guessed_at(
    plane: ControlPlane, client: ControlPlaneClient
) -> None:
    plane.fault("poll", answered(200, b"\x1f\x8b", Content_Encoding="gzip"))

    assert failure(client, "poll").reason == (
        "the control plane's answer cannot be used: it came encoded as `gzip`, which was not asked for"
    )


def test_an_endless_answer_is_not_taken(
    plane: ControlPlane, client: ControlPlaneClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hereya_tf.control_plane.wire.MOST_BYTES", 100_000)
    plane.fault("poll", answered(200, b" " * 200_000))

    assert failure(client, "poll").reason == (
        "the control plane's answer cannot be used: it is larger than 100 kB"
    )


@pytest.mark.parametrize(
    ("location", "where"),
    [
        pytest.param("https://login.example/?token=1", "to `https://login.example`", id="elsewhere"),
        pytest.param("/login", "elsewhere on the same server", id="the same server"),
        pytest.param("", "to `no address`", id="nowhere"),
    ],
)
def test_a_redirect_is_not_followed_with_the_token(
    plane: ControlPlane, client: ControlPlaneClient, location: str, where: str
) -> None:
    plane.fault("poll", answered(302, b"", Location=location))
    error = failure(client, "poll")

    assert error.reason == f"`{plane.url}` redirects {where}, where the token is not sent"
    assert (error.status, error.is_temporary, len(plane.requests)) == (302, False, 1)


def test_nobody_is_there() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with ControlPlaneClient(f"http://127.0.0.1:{port}", TOKEN, environment={}) as client:
            error = failure(client, "poll")

    assert (type(error), error.is_temporary) == (Unreachable, True)
    assert str(error) == f"`127.0.0.1:{port}` could not be asked: Connection refused"
    assert error.hints == ("see whether `HEREYA_CLOUD_URL` is its address; `HTTPS_PROXY` names a proxy",)


# --- TLS and proxies


def test_tls_is_spoken_and_an_unknown_certificate_is_the_end(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    trusting = {"SSL_CERT_FILE": str(certificates.trust)}
    with ControlPlane(context=certificates.context) as plane:
        with ControlPlaneClient(plane.url, TOKEN, environment=trusting, deadlines=SHORT) as client:
            assert client.poll("prod") is None
            plane.always("poll", dead)
            assert type(failure(client, "poll")) is RequestTimedOut
            assert plane.gone.wait(20)
        with ControlPlaneClient(plane.url, TOKEN, environment={}) as client:
            error = failure(client, "poll")

    assert (type(error), error.is_temporary) == (Unreachable, False)
    assert str(error).startswith(
        f"`127.0.0.1:{plane.port}` could not be asked: its certificate is not trusted:"
    )
    assert error.hints == (
        "name the certificate of a mirror, or of a proxy that opens TLS, with `SSL_CERT_FILE`",
    )
    assert calls_end()


def test_a_proxy_is_used(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path, "cp.example")
    with (
        ControlPlane(context=certificates.context) as plane,
        ForwardProxy({"cp.example:443": plane.port}) as proxy,
    ):
        environment = {"HTTPS_PROXY": proxy.url, "SSL_CERT_FILE": str(certificates.trust)}
        with ControlPlaneClient("https://cp.example", TOKEN, environment=environment) as client:
            assert client.poll("prod") is None

    assert proxy.requests == ["CONNECT cp.example:443"]


def test_a_proxy_that_is_not_there_is_named() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{unused.getsockname()[1]}"
        environment = {"HTTPS_PROXY": f"http://me:hunter22@{place}"}
        with ControlPlaneClient("https://cp.example", TOKEN, environment=environment) as client:
            error = failure(client, "poll")

    assert (type(error), error.is_temporary) == (Unreachable, True)
    assert str(error) == (
        f"`cp.example` could not be asked: the proxy `{place}` of `HTTPS_PROXY` gave no connection:"
        " Connection refused"
    )


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        pytest.param({"HTTPS_PROXY": "ftp://x"}, "`HTTPS_PROXY` does not name a proxy", id="no proxy"),
        pytest.param(
            {"SSL_CERT_FILE": "/nowhere.pem"},
            "the certificates in `/nowhere.pem` of `SSL_CERT_FILE` cannot be read: No such file or directory",
            id="no certificates",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_the_end(environment: dict[str, str], sentence: str) -> None:
    with ControlPlaneClient("https://cp.example", TOKEN, environment=environment) as client:
        error = failure(client, "poll")

    assert (str(error), error.is_temporary) == (sentence, False)


# --- what is asked for


@pytest.mark.parametrize("name", ["", ".", "..", "x" * 1001, "\udcff"])
def test_a_name_that_would_lead_elsewhere_is_never_asked_for(
    plane: ControlPlane, client: ControlPlaneClient, name: str
) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: client.poll(name),
        lambda: client.status("prod", name),
        lambda: client.status(name, "job-1"),
        lambda: client.cancel("prod", name),
        lambda: client.update(name),
        lambda: client.submit(name, "x", {}),
    ]

    for call in calls:
        with pytest.raises(BadInput, match=r"cannot be the name of a (job|workspace)"):
            call()
    assert plane.requests == []


@pytest.mark.parametrize("name", ["a/../b", "%2e%2e", "a?b#c", "ü", "a b", "..."])
def test_any_other_name_arrives_as_it_is(plane: ControlPlane, client: ControlPlaneClient, name: str) -> None:
    plane.add(workspace=name)

    assert client.status(name, "job-1").id == "job-1"
    assert plane.requests[0].names == {"workspace": name, "job": "job-1"}


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        pytest.param("cp.example", "cannot be used: it has no scheme", id="no scheme"),
        pytest.param("ftp://cp.example", "cannot be used: its scheme is `ftp`", id="another scheme"),
        pytest.param("https://", "cannot be used: it names no host", id="no host"),
        pytest.param("https://me:hunter22@cp.example", "holds a user name", id="a password"),
        pytest.param("https://cp.example/?key=hunter22", "has a query or a fragment", id="a query"),
        pytest.param("https://cp.example/#hunter22", "has a query or a fragment", id="a fragment"),
    ],
)
def test_an_address_that_is_none(url: str, fault: str) -> None:
    with pytest.raises(BadInput) as caught:
        ControlPlaneClient(url, TOKEN, environment={})

    assert str(caught.value) == f"the control plane's address {fault}"
    assert "hunter22" not in str(caught.value.hints)


@pytest.mark.parametrize("token", ["", " \n", "two words", "line\nbreak", "tökén", "nul\0"])
def test_a_token_that_is_none(token: str) -> None:
    with pytest.raises(BadInput) as caught:
        ControlPlaneClient("https://cp.example", token, environment={})

    assert str(caught.value).startswith("the control plane's token ")
    assert not token.strip() or token.strip() not in str((caught.value, caught.value.hints))


@pytest.mark.behaviour("E7", "F7")
def test_the_token_stands_in_no_error_and_no_repr(plane: ControlPlane, client: ControlPlaneClient) -> None:
    plane.fault("poll", status(500, "x" * 485 + f" {TOKEN}"), status(400, f"{TOKEN} is a bad token"))
    plane.fault("poll", answered(302, b"", Location=f"https://x.example/{TOKEN}"), broken, half_answer)
    plane.fault("poll", answered(200, json.dumps([TOKEN]).encode()), unauthorized)
    job = plane.add()
    plane.change(job, attempt=1, status="running", claim="job-1/1")
    plane.hand_again(job)
    errors = [failure(client, "poll") for _ in range(7)]
    told = [
        "".join((*traceback.format_exception(error), repr(error), *error.hints, repr(vars(error))))
        for error in errors
    ]

    assert [text for text in told if TOKEN[:9] in text] == []
    assert errors[1].reason == "[redacted] is a bad token"
    assert TOKEN not in repr(client)
    assert repr(client) == f"ControlPlaneClient('{plane.url}/')"


def test_the_token_is_sent_without_the_blanks_around_it(plane: ControlPlane) -> None:
    with ControlPlaneClient(plane.url, f" {TOKEN}\n", environment={}) as client:
        assert client.poll("prod") is None


def test_nothing_is_left_open(plane: ControlPlane) -> None:
    with ControlPlaneClient(plane.url, TOKEN, environment={}) as client:
        client.poll("prod")
    del client
    gc.collect()  # a socket that was left open is told of here

    assert calls_end()
