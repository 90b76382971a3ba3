"""What is read from a control plane and written for it, the part of a log that is new, and patience."""

import json
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.control_plane.calls import update_call
from hereya_tf.control_plane.description import api_description
from hereya_tf.control_plane.errors import ControlPlaneError, Refused, RequestTimedOut, Unauthorized
from hereya_tf.control_plane.log_tail import News, Tail, news
from hereya_tf.control_plane.patience import MOST_UNAUTHORIZED, Patience, back_off
from hereya_tf.control_plane.records import (
    ClaimedJob,
    Job,
    JobStatus,
    LogPiece,
    read_acknowledgement,
    read_claimed_job,
    read_job,
)
from hereya_tf.control_plane.results import NO_REASON, Failed, Result, Succeeded, encode_result, read_result
from tests.control_plane_contract import Contract

JOB = Job("j", "provision", JobStatus.RUNNING, None, "", 0, 1)
CONTRACT = Contract()


def members(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    names = ("job", "id", "type", "status", "result", "logs", "logsOffset", "attempt", "claim", "payload")
    more = ("success", "env", "reason", "error", "cancelRequested", "message")
    return st.dictionaries(st.sampled_from((*names, *more)), values)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | members(inner)
)


# --- the description of the API


def test_the_description_is_openapi() -> None:
    validate = pytest.importorskip("openapi_spec_validator").validate

    validate(api_description())


def test_the_description_knows_what_the_client_knows() -> None:
    document = api_description()
    operations = {
        (method.upper(), path, described["operationId"])
        for path, item in document["paths"].items()
        for method, described in item.items()
        if method != "parameters"
    }

    assert document["openapi"] == "3.1.0"
    assert operations == {
        ("POST", "/api/workspaces/{workspace}/jobs", "submit"),
        ("GET", "/api/workspaces/{workspace}/jobs/{job}", "status"),
        ("POST", "/api/workspaces/{workspace}/jobs/{job}/cancel", "cancel"),
        ("GET", "/api/workspaces/{workspace}/executor/jobs", "poll"),
        ("PATCH", "/api/executor/jobs/{job}", "update"),
    }
    assert document["components"]["schemas"]["Status"]["enum"] == list(JobStatus)
    assert document["components"]["securitySchemes"] == {"token": {"type": "http", "scheme": "bearer"}}
    fields = document["paths"]["/api/executor/jobs/{job}"]["patch"]["requestBody"]["content"]
    assert list(fields) == ["multipart/form-data"]
    assert set(fields["multipart/form-data"]["schema"]["properties"]) == {
        *("claim", "status", "logs", "logsOffset", "result")
    }


# --- results


@pytest.mark.behaviour("C5")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(None, None, id="none yet"),
        pytest.param({"success": True, "env": {"A": "1"}}, Succeeded({"A": "1"}), id="success"),
        pytest.param({"success": True}, Succeeded({}), id="success without outputs"),
        pytest.param({"success": True, "env": []}, Succeeded({}), id="no outputs at all"),
        pytest.param({"success": False, "reason": "r\nx"}, Failed("r\nx"), id="failure"),
        pytest.param({"error": "e"}, Failed("e"), id="error"),
        pytest.param({"error": {"message": "m"}}, Failed("m"), id="an error with a message"),
        pytest.param({"success": False, "reason": "", "error": "e"}, Failed("e"), id="the one that says"),
        pytest.param('{"success": true, "env": {"A": "ü"}}', Succeeded({"A": "ü"}), id="JSON text"),
        pytest.param('{"error": "e"}', Failed("e"), id="an error as JSON text"),
        pytest.param("it broke", Failed("it broke"), id="plain text"),
        pytest.param("[" * 100_000, Failed("[" * 100_000), id="nested too deeply"),
        pytest.param("null", None, id="none as JSON text"),
        pytest.param({}, Failed(NO_REASON), id="nothing said"),
        pytest.param({"success": "true"}, Failed(NO_REASON), id="no boolean"),
        pytest.param({"success": False}, Failed(NO_REASON), id="no reason"),
        pytest.param([1], Failed(NO_REASON), id="another shape"),
    ],
)
def test_a_result_is_read(value: object, expected: Result | None) -> None:
    assert read_result(value) == expected


def test_outputs_that_are_no_texts_become_json_text() -> None:
    env = {"LIST": ["a", 1], "NUMBER": Decimal("1.50"), "NONE": None, "YES": True}

    assert read_result({"success": True, "env": env}) == Succeeded(
        {"LIST": '["a",1]', "NUMBER": "1.50", "NONE": "null", "YES": "true"}
    )


@given(
    st.builds(Succeeded, st.dictionaries(st.text(), st.text()))
    | st.builds(Failed, st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"])))
)
def test_a_result_comes_back_as_it_was_sent_and_fits_the_description(result: Result) -> None:
    text = encode_result(result)

    assert read_result(text) == read_result(json.loads(text)) == result
    assert CONTRACT.faults("Result", json.loads(text)) == []


# --- records


def test_a_job_is_read_and_what_is_not_known_is_passed_over() -> None:
    known = {"id": "j", "type": "destroy", "status": "failed", "result": {"error": "e"}, "logs": "l"}

    assert read_job({"job": {**known, "logsOffset": 7, "attempt": 3, "colour": "red"}, "v": 2}) == Job(
        "j", "destroy", JobStatus.FAILED, {"error": "e"}, "l", 7, 3
    )
    assert read_job({"job": known}) == Job("j", "destroy", JobStatus.FAILED, {"error": "e"}, "l", None, 1)
    assert read_job({"job": {"id": "j", "status": "queued"}}) == Job(
        "j", "", JobStatus.QUEUED, None, "", None, 1
    )
    assert read_job({"job": known}).result == Failed("e")


def test_a_job_to_do_is_read_whatever_its_type_and_payload() -> None:
    payloads: list[object] = [None, 7, "x", [], {"package": "db"}]
    for payload in payloads:
        assert read_claimed_job({"job": {"id": "j", "type": "??", "payload": payload}}) == ClaimedJob(
            "j", "??", payload, 1, None
        )
    assert read_claimed_job({"job": {"id": "j", "claim": "c", "attempt": 2}}) == ClaimedJob(
        "j", "", None, 2, "c"
    )


@given(JSON)
def test_reading_raises_nothing_but_value_error(answer: object) -> None:
    for read in (read_job, read_claimed_job, read_acknowledgement):
        try:
            read(answer)
        except ValueError as error:
            assert str(error).startswith(("it ", "`"))  # noqa: PT017
    read_result(answer)


def test_the_statuses() -> None:
    assert [status for status in JobStatus if not status.is_terminal] == ["queued", "running"]


@given(st.text(alphabet=st.characters()), st.integers(0, 10**9))
def test_a_part_of_a_log_is_sent_whatever_is_in_it(text: str, offset: int) -> None:
    piece = LogPiece(text, offset)
    call = update_call("j", boundary="b", claim=None, status=None, logs=piece, result=None)

    assert call.body == (
        b'--b\r\nContent-Disposition: form-data; name="logs"\r\n\r\n'
        + piece.data
        + b'\r\n--b\r\nContent-Disposition: form-data; name="logsOffset"\r\n\r\n%d\r\n--b--\r\n' % offset
    )
    assert piece.end == offset + len(piece.data)
    assert piece.data.decode() == "".join("?" if "\ud800" <= each <= "\udfff" else each for each in text)


# --- the part of a log that is new


def part(logs: str, offset: int | None, attempt: int = 1) -> Job:
    return JOB._replace(logs=logs, logs_offset=offset, attempt=attempt)


@pytest.mark.parametrize(
    ("tail", "job", "expected"),
    [
        pytest.param(Tail(), part("", 0), News("", Tail(1, 0)), id="nothing"),
        pytest.param(Tail(), part("abc", 0), News("abc", Tail(1, 3)), id="the first part"),
        pytest.param(Tail(1, 3), part("def", 3), News("def", Tail(1, 6)), id="the next part"),
        pytest.param(Tail(1, 3), part("abcdef", 0), News("def", Tail(1, 6)), id="more than was asked for"),
        pytest.param(Tail(1, 3), part("abcdef", None), News("def", Tail(1, 6)), id="always the whole log"),
        pytest.param(Tail(1, 3), part("ab", 0), News("", Tail(1, 3)), id="less than is known"),
        pytest.param(Tail(1, 3), part("z", 9), News("z", Tail(1, 10)), id="a part was thrown away"),
        pytest.param(Tail(1, 3), part("xy", 0, 2), News("xy", Tail(2, 2)), id="another attempt"),
        pytest.param(
            Tail(1, 3), part("xy", None, 2), News("xy", Tail(2, 2)), id="another attempt, all of it"
        ),
        pytest.param(
            Tail(1, 3), part("later", 3, 2), News("", Tail(2, 0), is_behind=True), id="not its beginning"
        ),
        pytest.param(Tail(1, 2), part("éü", 0), News("ü", Tail(1, 4)), id="bytes are counted"),
    ],
)
def test_what_is_new(tail: Tail, job: Job, expected: News) -> None:
    assert news(tail, job) == expected


@given(st.text(), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40))), st.booleans())
def test_each_byte_is_shown_once_whatever_parts_come(
    log: str, cuts: list[tuple[int, int]], is_foreign: bool
) -> None:
    tail, shown = Tail(), ""
    for known, ahead in [*cuts, (len(log), 10**6)]:
        # The server knows `known` characters by now, and sends a part that begins where was asked, or before.
        begin = len(log.encode()[: tail.offset].decode())
        text = log[:known] if is_foreign else log[max(0, begin - ahead) : max(known, begin)]
        offset = None if is_foreign else len(log[: max(0, begin - ahead)].encode())
        found = news(tail, part(text, offset))
        tail, shown = found.tail, shown + found.text

    assert shown == log


# --- patience


@pytest.mark.behaviour("E4")
def test_back_off_grows_to_thirty_seconds_with_jitter() -> None:
    assert [back_off(failures, 1.0) for failures in (1, 2, 3, 4, 5, 6, 7, 8, 10**6)] == [
        *(0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0)
    ]
    assert [back_off(failures, 0.0) for failures in (1, 7)] == [0.25, 15.0]
    assert 15.0 <= back_off(20, random.random()) <= 30.0


GONE = RequestTimedOut("cp", 45.0)
DENIED = Unauthorized("cp")


def after(patience: Patience, *errors: ControlPlaneError) -> Patience:
    for error in errors:
        patience = patience.after_failure(error)
    return patience


@pytest.mark.behaviour("E4")
def test_five_answers_401_in_a_row_are_the_end_and_any_other_answer_resets_the_count() -> None:
    good = Patience(0.0).after_success(0.0)

    assert MOST_UNAUTHORIZED == 5
    assert [after(good, *[DENIED] * count).is_over(DENIED, 1.0) for count in (1, 4, 5)] == [
        False,
        False,
        True,
    ]
    assert not after(after(good, *[DENIED] * 4).after_success(1.0), DENIED).is_over(DENIED, 1.0)
    assert not after(good, *[DENIED] * 4, GONE, DENIED).is_over(DENIED, 1.0)


def test_a_token_that_was_never_good_is_the_end_at_once() -> None:
    assert after(Patience(0.0), DENIED).is_over(DENIED, 0.0)


@pytest.mark.parametrize(
    ("has_succeeded", "seconds", "is_over"),
    [
        pytest.param(False, 30.0, False, id="it may start up"),
        pytest.param(False, 31.0, True, id="it was never there"),
        pytest.param(True, 300.0, False, id="it may come back"),
        pytest.param(True, 301.0, True, id="it has gone"),
    ],
)
def test_an_outage_is_waited_for_with_an_end(has_succeeded: bool, seconds: float, is_over: bool) -> None:
    patience = Patience(1000.0)._replace(has_succeeded=has_succeeded)

    assert after(patience, *[GONE] * 9).is_over(GONE, 1000.0 + seconds) is is_over


def test_what_will_not_change_is_the_end() -> None:
    patience = Patience(0.0).after_success(0.0)
    missing, busy = Refused(404, "there is no such job", "GET /"), Refused(503, "", "GET /")

    assert [after(patience, error).is_over(error, 1.0) for error in (missing, busy)] == [True, False]
