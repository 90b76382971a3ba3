"""A request is read whole or refused by the name of its key, and never waited for without end."""

import json
import os
import threading
from decimal import Decimal
from pathlib import Path

import pytest

from hereya_tf.errors import BadInput
from hereya_tf.inputs.given import Given, Source
from hereya_tf.inputs.request import Request, parse_request, read_request
from hereya_tf.reading import LARGEST_INPUT

EMPTY = Request(None, None, (), (), None, None, None, None, ())


def refusal(text: str) -> str:
    with pytest.raises(BadInput) as caught:
        parse_request(text, "r.json")
    assert caught.value.__cause__ is None
    return str(caught.value)


@pytest.mark.behaviour("T12")
def test_everything_in_a_request() -> None:
    text = """{
      "id": "org/db",
      "pkgPath": "packages/db",
      "env": {"A": "text", "B": 9007199254740993, "C": 1.10, "D": true, "E": null, "F": ""},
      "parameters": {"size": 9007199254740993, "name": "x", "tags": {"a": [1e400]}, "none": null},
      "infraConfig": {
        "terraformStateBucketName": "bucket",
        "terraformStateBucketRegion": "eu-west-1",
        "terraformStateLockTableName": "locks",
        "localStatePath": "state.json"
      }
    }"""

    assert parse_request(text, "r.json") == Request(
        id="org/db",
        package="packages/db",
        environment=(("A", "text"), ("B", "9007199254740993"), ("C", "1.10"), ("D", "true"), ("F", "")),
        parameters=(
            Given("size", 9007199254740993, False, Source.REQUEST, "r.json"),
            Given("name", "x", True, Source.REQUEST, "r.json"),
            Given("tags", {"a": [Decimal("1e400")]}, False, Source.REQUEST, "r.json"),
            Given("none", None, False, Source.REQUEST, "r.json"),
        ),
        state_bucket="bucket",
        state_region="eu-west-1",
        state_lock_table="locks",
        state_path="state.json",
        warnings=(),
    )


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"id": null, "pkgPath": null, "env": null, "parameters": null, "infraConfig": null}',
        '{"env": {}, "parameters": {}, "infraConfig": {"localStatePath": null}}',
    ],
)
def test_what_is_left_out_is_empty(text: str) -> None:
    assert parse_request(text, "r.json") == EMPTY


def test_unknown_keys_are_warnings_without_their_values() -> None:
    text = '{"ID": "hunter2", "infraConfig": {"bucket": "hunter2"}}'

    assert parse_request(text, "r.json") == EMPTY._replace(
        warnings=(
            "the request `r.json` has an unknown key `ID`, left out",
            "the request `r.json` has an unknown key `infraConfig.bucket`, left out",
        )
    )


@pytest.mark.parametrize("value", [1, True, [], {}, "", "hunter2\0", "hunter2\ud800"])
@pytest.mark.parametrize("key", ["id", "pkgPath"])
def test_a_text_must_be_text(key: str, value: object) -> None:
    assert (
        refusal(json.dumps({key: value}))
        == f"`{key}` in the request `r.json` must be a text that is not empty"
    )


@pytest.mark.parametrize("value", [1, ["hunter2"], ""])
def test_a_place_for_state_must_be_text(value: object) -> None:
    text = json.dumps({"infraConfig": {"localStatePath": value}})

    assert (
        refusal(text)
        == "`infraConfig.localStatePath` in the request `r.json` must be a text that is not empty"
    )


@pytest.mark.parametrize("value", [1, False, ["hunter2"], "hunter2"])
@pytest.mark.parametrize("key", ["env", "parameters", "infraConfig"])
def test_an_object_must_be_an_object(key: str, value: object) -> None:
    assert refusal(json.dumps({key: value})) == f"`{key}` in the request `r.json` must be an object"


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        (
            {"A": ["hunter2"]},
            "`env.A` in the request `r.json` must be text (JSON text for a list or an object)",
        ),
        ({"A B": "hunter2"}, "`A B` (r.json) cannot be the name of an environment variable"),
        ({"A": "hunter2\0"}, "`A` (r.json) holds a NUL character, which no environment can carry"),
        ({"A": "hunter2\ud800"}, "`A` (r.json) holds half a character, which no environment can carry"),
    ],
)
def test_an_environment_must_fit(environment: dict[str, object], sentence: str) -> None:
    assert refusal(json.dumps({"env": environment})) == sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "the request `r.json` is not JSON (line 1, column 1: Expecting value)"),
        ('{"id":\n hunter2', "the request `r.json` is not JSON (line 2, column 2: Expecting value)"),
        ('{"id": NaN}', "the request `r.json` is not JSON (it holds a number that JSON does not have)"),
        ("[1]", "the request `r.json` must be one JSON object"),
        ('"hunter2"', "the request `r.json` must be one JSON object"),
        ("[" * 100_000, "the request `r.json` is JSON nested too deeply"),
    ],
)
def test_a_request_that_is_none(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_a_request_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(b'\xef\xbb\xbf{"id": "x"}')

    assert read_request(str(path)) == EMPTY._replace(id="x")


def test_a_request_from_stdin_is_read_to_its_end() -> None:
    reading, writing = os.pipe()
    text = json.dumps({"parameters": {"a": "x" * 1_000_000}}).encode()

    def write() -> None:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(text)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        request = read_request("-", stdin=reading)
    finally:
        os.close(reading)
        writer.join()

    assert request == EMPTY._replace(parameters=(Given("a", "x" * 1_000_000, True, Source.REQUEST, "stdin"),))


def unreadable(source: str, *, stdin: int = 0) -> str:
    with pytest.raises(BadInput) as caught:
        read_request(source, stdin=stdin, limit_seconds=0.05)
    return str(caught.value)


def test_a_stdin_that_does_not_end_is_not_waited_for() -> None:
    reading, writing = os.pipe()
    os.write(writing, b'{"id": "hunter2"}')

    try:
        assert unreadable("-", stdin=reading) == (
            "the request `stdin` cannot be read: it did not end within 0.05 seconds"
        )
    finally:
        os.close(reading)
        os.close(writing)


def test_a_named_pipe_without_a_writer_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "r.json")

    assert unreadable(str(tmp_path / "r.json")) == (
        f"the request `{tmp_path}/r.json` cannot be read: it did not end within 0.05 seconds"
    )


def test_an_endless_request_is_refused() -> None:
    assert LARGEST_INPUT == 64 * 1024 * 1024
    with pytest.raises(BadInput) as caught:
        read_request("/dev/zero")

    assert str(caught.value) == "the request `/dev/zero` cannot be read: it is larger than 64 MiB"


def test_a_request_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "r.json").write_bytes(b'{"id":\n"hunter2\xff"}')

    assert unreadable(f"{tmp_path}/none") == (
        f"the request `{tmp_path}/none` cannot be read: No such file or directory"
    )
    assert unreadable(str(tmp_path)) == f"the request `{tmp_path}` cannot be read: Is a directory"
    assert unreadable("a\0b") == "the request `a\0b` cannot be read: embedded null byte"
    assert unreadable("-", stdin=9999) == "the request `stdin` cannot be read: Bad file descriptor"
    assert (
        unreadable(f"{tmp_path}/r.json") == f"`{tmp_path}/r.json` is not UTF-8 text: line 2 holds other bytes"
    )
