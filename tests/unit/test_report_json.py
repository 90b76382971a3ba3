"""A report as one JSON object: a program knows from it all that there is to know of a run."""

import json
import re
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events, exact
from hereya_tf.errors import FailureClass
from hereya_tf.report.document import Report
from hereya_tf.report.json_form import json_report
from hereya_tf.schema import report_schema
from tests import reports
from tests.event_samples import CONTRACT_FIELDS

SCHEMA = jsonschema.Draft202012Validator(
    report_schema(), format_checker=jsonschema.Draft202012Validator.FORMAT_CHECKER
)
KEYS = [
    *("v", "run", "version", "began", "ended", "seconds", "is_interim"),
    *CONTRACT_FIELDS["result"],
    *("steps", "resources", "left_out", "planned", "drifted", "warnings", "lock", "reproduce"),
]
MEGABYTE = 1_000_000


def read(report: Report) -> dict[str, Any]:
    return dict(json.loads(json_report(report).encode()))


def is_valid(document: dict[str, Any]) -> bool:
    return bool(SCHEMA.is_valid(document))


@pytest.mark.parametrize("text", ["", reports.HOSTILE], ids=["plain", "hostile"])
@pytest.mark.parametrize("name", reports.SAMPLES)
def test_every_report_is_valid_and_has_the_same_keys(name: str, text: str) -> None:
    document = read(reports.SAMPLES[name](text))

    SCHEMA.validate(document)
    assert list(document) == KEYS


@pytest.mark.parametrize("name", [name for name in reports.SAMPLES if name != "interim"])
def test_the_fields_of_the_result_are_as_the_run_told_them(name: str) -> None:
    report = reports.SAMPLES[name]("")
    assert report.result is not None

    document = exact.loads(json_report(report))

    for field in CONTRACT_FIELDS["result"]:
        if field != "engine":
            assert document[field] == report.result[field], field


def test_a_failure_is_told_with_all_that_was_around_it() -> None:
    document = read(reports.failed())
    diagnostic = {
        "severity": "error",
        "class": "provider-error",
        "summary": "cannot create the bucket",
        "detail": "BucketAlreadyExists: it is somebody else's\n\nrequest 4711",
        "address": "store_bucket.photos",
        "range": {
            "filename": "main.tf",
            "start_line": 12,
            "start_column": 3,
            "end_line": 12,
            "end_column": 22,
        },
        "snippet": {
            "context": 'resource "store_bucket" "photos"',
            "code": "  name = var.bucket_name",
            "start_line": 12,
            "values": [["var.bucket_name", 'is "photos"']],
            "highlight_start": 2,
            "highlight_end": 24,
        },
    }

    assert document["engine"] == {
        "name": "terraform",
        "version": "1.11.4",
        "path": "/usr/bin/terraform",
        "chosen_by": "on PATH",
    }
    assert document["failure"] == {
        "class": "provider-error",
        "hint": "correct what the provider complains about, and run it again\nor look at its log",
        "diagnostics": [diagnostic],
        "stderr": "Error: cannot create the bucket\n",
        "stdout": "store_bucket.photos: Creating...\n",
        "state": {"saved": True, "errored_state": None, "lock": None},
    }
    assert [
        (each["address"], each["action"], each["fate"], each["seconds"]) for each in document["resources"]
    ] == [
        ("net_zone.shop", "create", "done", 2.0),
        ("net_rule.web", "update", "done", 0.5),
        ("db_instance.main", "replace", "unfinished", 62.0),
        ("store_bucket.photos", "create", "failed", 2.0),
        ('net_record.www["a"]', "create", "not_started", None),
        ("store_bucket.old", "delete", "not_started", None),
    ]
    assert document["steps"][1] == {
        "step": "apply",
        "attempt": 1,
        "argv": ["/usr/bin/terraform", "apply", "-json", "-x="],
        "began": "2026-11-30T02:00:05.000Z",
        "ended": "2026-11-30T02:01:12.500Z",
        "ok": False,
        "exit_code": 1,
        "seconds": 67.5,
        "skipped": False,
        "again_after": None,
        "failure_class": None,
        "said": [],
    }
    assert document["planned"][0] == {"address": "store_bucket.photos", "action": "create", "reason": None}
    assert document["warnings"] == [
        {
            "severity": "warning",
            "class": None,
            "summary": "Argument is deprecated",
            "detail": "",
            "address": None,
            "range": None,
            "snippet": None,
        }
    ]
    assert document["reproduce"] == "hereya-tf provision /srv/packages/shop --yes"


def test_a_report_before_the_end_has_null_for_what_is_not_known() -> None:
    document = read(reports.interim())
    known = {field: document[field] for field in CONTRACT_FIELDS["result"] if field != "failure"}

    assert document["is_interim"]
    assert known == {
        "success": False,
        "status": "cancelling",
        "reason": reports.interim().reason,
        "exit_code": None,
        "operation": "provision",
        "package": "/srv/packages/shop",
        "workspace": "default",
        "engine": document["engine"],
        "env": None,
        "outputs": None,
        "changes": None,
        "drift": None,
        "timings": None,
        "report": None,
        "recovery": None,
        "trace": None,
    }
    assert (document["failure"]["class"], document["failure"]["state"]["saved"]) == ("cancelled", None)


def test_a_report_before_the_end_has_the_errors_that_there_were() -> None:
    log = reports.Log().engine().begin("apply").say(reports.error(address="a.b"))
    log.add(events.Cancelling("timeout", None, 60.0))

    document = read(log.report())

    SCHEMA.validate(document)
    assert document["failure"]["class"] == "timed-out"
    assert [each["address"] for each in document["failure"]["diagnostics"]] == ["a.b"]
    assert list(document["failure"]["diagnostics"][0]) == list(CONTRACT_FIELDS["diagnostic"])


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        pytest.param(
            reports.busy,
            {
                "kind": "package",
                "holder": {
                    "run": "20261130-015500-aaaa",
                    "pid": "99",
                    "host": "build-7",
                    "operation": "destroy",
                    "since": "2026-11-30T01:55:00.000Z",
                },
                "since": "2026-11-30T01:55:00.000Z",
            },
            id="ours",
        ),
        pytest.param(
            reports.locked,
            {
                "kind": "state",
                "holder": {
                    "ID": "0b1a2f9e-94a0-2d1c-6a0c-5f0a0f6a1b2c",
                    "Path": "shop/terraform.tfstate",
                    "Operation": "OperationTypeApply",
                    "Who": "ada@build-7",
                    "Version": "1.11.4",
                    "Created": "2026-11-30 01:00:00.123456789 +0000 UTC",
                    "Info": "",
                },
                "since": "2026-11-30 01:00:00.123456789 +0000 UTC",
            },
            id="the engine's",
        ),
    ],
)
def test_the_lock_in_the_way_is_told(report: Callable[[], Report], expected: dict[str, Any]) -> None:
    lock = read(report())["lock"]

    assert lock.pop("age_seconds") > 60
    assert lock == expected


def test_numbers_keep_their_digits_and_sensitive_outputs_have_no_value() -> None:
    written = json_report(reports.succeeded())

    assert f'"value": 0.{"3" * 155}\n' in written
    assert json.loads(written)["outputs"]["password"] == {"type": "string", "sensitive": True}
    assert "password" not in json.loads(written)["env"]


def test_an_engine_that_the_log_has_not_told_of_has_no_place() -> None:
    document = read(reports.Log().fail(FailureClass.INTERNAL, "no").report())

    SCHEMA.validate(document)
    assert document["engine"] == {"name": "terraform", "version": "1.11.4", "path": None, "chosen_by": None}


def test_it_is_indented_and_ends_with_a_line_end() -> None:
    written = json_report(reports.refused())

    assert written.startswith('{\n  "v": 1,\n  "run": "20261130-020000-4f1c",\n')
    assert written.endswith('yes"\n}\n')


def test_hostile_text_steers_nothing_and_is_not_lost() -> None:
    written = json_report(reports.hostile_report())

    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200f\u202e\ud800-\udfff\ufffe\uffff]", written)
    assert json.loads(written)["failure"]["stderr"] == "Error: cannot create the bucket" + (
        reports.HOSTILE.replace("\ud800", "\ufffd").replace("\udfff", "\ufffd") + "\n"
    )


@given(st.text(st.characters(codec=None)))
def test_any_text_can_be_told(text: str) -> None:
    document = read(reports.hostile_report(text))

    SCHEMA.validate(document)
    told = re.sub("[\ud800-\udfff]", "\ufffd", text)
    assert document["failure"]["stderr"] == f"Error: cannot create the bucket{told}\n"


def test_very_much_is_told_in_full() -> None:
    line = 'Error: "no"\n'
    stderr = line * (50 * MEGABYTE // len(line))

    document = read(reports.large(10_000, stderr=stderr))

    assert document["failure"]["stderr"] == stderr
    assert len(document["resources"]) == 10_000


@pytest.mark.parametrize(
    ("report", "change"),
    [
        pytest.param(reports.failed, {"v": 2}, id="version"),
        pytest.param(reports.failed, {"more": 1}, id="a field too much"),
        pytest.param(reports.failed, {"exit_code": None}, id="no exit code at the end"),
        pytest.param(reports.failed, {"timings": None}, id="no timings at the end"),
        pytest.param(reports.failed, {"status": "cancelling"}, id="an end that is none"),
        pytest.param(reports.failed, {"engine": {"name": "terraform", "version": "1"}}, id="half an engine"),
        pytest.param(reports.failed, {"lock": {"kind": "state"}}, id="half a lock"),
        pytest.param(reports.failed, {"seconds": -1}, id="less than no time"),
        pytest.param(reports.failed, {"began": 7}, id="a number for a moment"),
        pytest.param(reports.interim, {"exit_code": 1}, id="an exit code before the end"),
        pytest.param(reports.interim, {"status": "failed"}, id="an end before the end"),
    ],
)
def test_what_is_wrong_is_not_valid(report: Callable[[], Report], change: dict[str, Any]) -> None:
    assert not is_valid({**read(report()), **change})


@pytest.mark.parametrize("field", KEYS)
def test_no_field_can_be_left_out(field: str) -> None:
    document = read(reports.failed())
    del document[field]

    assert not is_valid(document)


@pytest.mark.parametrize("fate", ["not started", "gone"])
def test_a_fate_that_there_is_not_is_not_valid(fate: str) -> None:
    document = read(reports.failed())
    document["resources"][0]["fate"] = fate

    assert not is_valid(document)
