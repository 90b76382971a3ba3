"""A report as JUnit XML: what Jenkins, GitLab and other readers of test results make of a run."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import junitparser
import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.report.document import Report
from hereya_tf.report.junit import junit_report
from hereya_tf.report.text import outcome_lines
from tests import reports

SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[2] / "fixtures" / "junit.xsd")
VERDICTS = ("failure", "error", "skipped")
ELEMENTS = {
    "testsuites",
    "testsuite",
    "properties",
    "property",
    "testcase",
    "system-out",
    "system-err",
    *VERDICTS,
}
# GitLab makes a hash of the XML with Rails' `Hash.from_xml`, which casts or refuses values of these types.
RAILS_TYPES = {
    *("array", "base64Binary", "binary", "boolean", "date", "dateTime", "datetime", "decimal", "double"),
    *("duration", "file", "float", "hexBinary", "integer", "string", "symbol", "yaml"),
}
GREEN = ("succeeded", "planned")
MEGABYTE = 1_000_000


class Shown(NamedTuple):
    """A test as a CI system shows it."""

    name: str
    verdict: str
    type: str | None
    message: str | None


def parse(report: Report) -> ElementTree.Element:
    root = ElementTree.fromstring(junit_report(report).encode())
    suite = root.find("testsuite")
    assert suite is not None
    return suite


def shown(report: Report) -> list[Shown]:
    return [
        Shown(
            case.attrib["name"],
            verdict.tag if verdict is not None else "passed",
            verdict.get("type") if verdict is not None else None,
            verdict.get("message") if verdict is not None else None,
        )
        for case, verdict in cases(report)
    ]


def cases(report: Report) -> Iterator[tuple[ElementTree.Element, ElementTree.Element | None]]:
    for case in parse(report).iter("testcase"):
        yield case, next(iter(case), None)


def text_of(report: Report, name: str) -> str:
    return next(
        verdict.text or ""
        for case, verdict in cases(report)
        if case.attrib["name"] == name and verdict is not None
    )


def validate(report: Report) -> None:
    SCHEMA.validate(io.StringIO(junit_report(report)))


@pytest.mark.parametrize("text", ["", reports.HOSTILE], ids=["plain", "hostile"])
@pytest.mark.parametrize("name", reports.SAMPLES)
def test_every_report_is_valid(name: str, text: str) -> None:
    validate(reports.SAMPLES[name](text))


@pytest.mark.parametrize("name", reports.SAMPLES)
def test_another_reader_finds_what_the_suite_says_it_has(name: str) -> None:
    report = reports.SAMPLES[name]("")
    attributes = parse(report).attrib

    (suite,) = junitparser.JUnitXml.fromstring(junit_report(report).encode())

    results = [entry for case in suite for entry in case.result]
    assert (
        len(list(suite)),
        sum(isinstance(entry, junitparser.Failure) for entry in results),
        sum(isinstance(entry, junitparser.Error) for entry in results),
        sum(isinstance(entry, junitparser.Skipped) for entry in results),
    ) == tuple(int(attributes[key]) for key in ("tests", "failures", "errors", "skipped"))
    assert [(case.name, case.classname, case.time) for case in suite] == [
        (case.attrib["name"], case.attrib["classname"], float(case.attrib["time"]))
        for case, _ in cases(report)
    ]


@pytest.mark.parametrize("name", [name for name in reports.SAMPLES if name not in GREEN])
def test_what_did_not_go_well_is_never_green(name: str) -> None:
    attributes = parse(reports.SAMPLES[name]("")).attrib

    assert int(attributes["failures"]) + int(attributes["errors"]) > 0


@pytest.mark.parametrize("name", GREEN)
def test_what_went_well_is_green_and_has_cases_that_passed(name: str) -> None:
    attributes = parse(reports.SAMPLES[name]("")).attrib

    assert (attributes["failures"], attributes["errors"]) == ("0", "0")
    assert int(attributes["tests"]) > int(attributes["skipped"])


def test_a_run_that_was_refused_is_one_failing_case() -> None:
    report = reports.refused()
    said = "\n".join(outcome_lines(report))

    assert junit_report(report) == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        "<testsuites>\n"
        '<testsuite name="hereya-tf provision" package="/srv/packages/shop.default" id="0"'
        ' hostname="localhost" timestamp="2026-11-30T02:00:00" tests="1" failures="1" errors="0"'
        ' skipped="0" time="1.000">\n'
        "<properties>\n"
        '<property name="run" value="20261130-020000-4f1c"/>\n'
        '<property name="hereya-tf" value="0.4.0"/>\n'
        '<property name="began" value="2026-11-30T02:00:00.000Z"/>\n'
        '<property name="ended" value="2026-11-30T02:00:00.000Z"/>\n'
        '<property name="operation" value="provision"/>\n'
        '<property name="package" value="/srv/packages/shop"/>\n'
        '<property name="workspace" value="default"/>\n'
        '<property name="status" value="refused"/>\n'
        '<property name="exit_code" value="3"/>\n'
        '<property name="class" value="bad-input"/>\n'
        '<property name="reproduce" value="hereya-tf provision /srv/packages/shop --yes"/>\n'
        '<property name="report" value="/state/runs/20261130-020000-4f1c/report.txt"/>\n'
        "</properties>\n"
        '<testcase classname="/srv/packages/shop.default" name="provision" time="1.000">'
        '<failure type="bad-input" message="the package has no variable `regoin`">'
        f"{said}</failure></testcase>\n"
        "<system-out></system-out>\n"
        "<system-err></system-err>\n"
        "</testsuite>\n"
        "</testsuites>\n"
    )


def test_each_resource_is_a_case_and_so_is_each_step() -> None:
    sentence = "the provider could not do what was asked: cannot create the bucket"
    unfinished = "replace was begun and has not ended"

    found = shown(reports.failed())

    assert found[2].message is not None
    assert found[2].message.startswith(f"{unfinished}; it was destroyed")
    assert [found[2]._replace(message=unfinished) if each is found[2] else each for each in found] == [
        Shown("net_zone.shop (create)", "passed", None, None),
        Shown("net_rule.web (update)", "passed", None, None),
        Shown("db_instance.main (replace)", "error", "unfinished", unfinished),
        Shown("store_bucket.photos (create)", "failure", "provider-error", "cannot create the bucket"),
        Shown('net_record.www["a"] (create)', "skipped", "not-started", "create was not started"),
        Shown("store_bucket.old (delete)", "skipped", "not-started", "destroy was not started"),
        Shown("init", "passed", None, None),
        Shown("apply", "failure", "provider-error", sentence),
    ]


def test_a_failed_resource_has_what_was_said_of_it_with_the_source() -> None:
    assert text_of(reports.failed(), "store_bucket.photos (create)") == (
        "error: cannot create the bucket\n"
        '  on main.tf line 12, in resource "store_bucket" "photos"\n'
        "12 |   name = var.bucket_name\n"
        "   |   ^^^^^^^^^^^^^^^^^^^^^^\n"
        '   # var.bucket_name is "photos"\n'
        "BucketAlreadyExists: it is somebody else's\n"
        "\n"
        "request 4711"
    )


def test_a_replacement_that_failed_says_that_the_old_one_is_gone() -> None:
    log = reports.Log().engine().begin("apply").plan(("db.main", "replace"))
    log.act("db.main", "delete", "started", "completed").act("db.main", "create", "started", "failed")
    problem = reports.error(address="db.main", summary="no room", detail="", range=None, snippet=None)
    report = log.fail(FailureClass.PROVIDER_ERROR, "no room", diagnostics=(problem,)).report()
    note = report.fates[0].note

    assert shown(report)[0].message == f"no room; {note}"
    assert text_of(report, "db.main (replace)") == f"error: no room\n  with db.main\n\n{note}"


def test_the_step_that_failed_says_what_else_is_to_know() -> None:
    said = text_of(reports.failed(), "apply").split("\n")

    assert "state: saved, with everything that was done" in said
    assert "reproduce: hereya-tf provision /srv/packages/shop --yes" in said
    assert said[-1] == "apply: failed after 1m08s (exit code 1)"
    assert "BucketAlreadyExists" not in "".join(said)


def test_what_no_resource_stands_for_is_said_at_the_step() -> None:
    said = text_of(reports.invalid(), "apply")

    assert said.count("\n12 |   name = var.bucket_name\n") == 2
    assert "\nerror: Unsupported argument\n" in said


def test_without_a_diagnostic_the_step_has_the_last_that_the_engine_said() -> None:
    assert "--- stderr ---\nError: Failed to query available provider packages" in text_of(
        reports.init_failed(), "init"
    )


def test_a_step_that_was_tried_again_is_no_failure_of_its_own() -> None:
    assert shown(reports.init_failed()) == [
        Shown(
            "init (attempt 1)",
            "skipped",
            "skipped",
            "failed after 1.0s (exit code 1), again after 1.0s: providers cannot be fetched",
        ),
        Shown("init", "failure", "provider-unavailable", "a provider cannot be had"),
    ]


def test_a_step_that_failed_in_a_run_that_went_well_is_no_failure() -> None:
    log = reports.Log("output").engine().begin("output").end("output", exit_code=1).begin("init").end("init")

    assert shown(log.finish().report()) == [
        Shown("output", "skipped", "skipped", "failed after 1.0s (exit code 1)"),
        Shown("init", "passed", None, None),
    ]


def test_a_run_without_a_step_that_went_well_is_a_case_that_passed() -> None:
    assert shown(reports.Log("output").finish().report()) == [Shown("output", "passed", None, None)]


def test_a_run_that_failed_between_its_steps_fails_as_a_whole() -> None:
    log = reports.Log().engine().begin("init").end("init")

    assert shown(log.fail(FailureClass.TIMED_OUT, "the time limit has passed").report()) == [
        Shown("init", "passed", None, None),
        Shown("provision", "failure", "timed-out", "the time limit has passed"),
    ]


def test_a_report_before_the_end_has_what_is_in_flight_as_errors() -> None:
    found = [(case.name, case.verdict, case.type) for case in shown(reports.interim())]

    assert found == [
        ("net_zone.shop (create)", "passed", None),
        ("db_instance.main (create)", "error", "unfinished"),
        ("net_rule.web (create)", "skipped", "not-started"),
        ("init", "passed", None),
        ("apply", "error", "cancelled"),
    ]


def test_each_resource_that_has_drifted_is_a_failure_of_drift() -> None:
    assert shown(reports.drifted()) == [
        Shown("net_rule.web (drift)", "failure", "drift", "changed outside of the engine"),
        Shown("store_bucket.old (drift)", "failure", "drift", "deleted outside of the engine"),
        Shown("init", "passed", None, None),
        Shown("drift", "passed", None, None),
    ]


def test_what_a_plan_would_change_is_skipped() -> None:
    assert shown(reports.planned()) == [
        Shown("net_zone.shop (create)", "skipped", "planned", "to be created"),
        Shown("db_instance.main (replace)", "skipped", "planned", "to be replaced"),
        Shown("net_rule.web (delete)", "skipped", "planned", "to be destroyed"),
        Shown("net_zone.shop (drift)", "skipped", "drift", "changed outside of the engine"),
        Shown("init", "passed", None, None),
        Shown("plan", "passed", None, None),
    ]


def test_a_failed_resource_of_which_nothing_was_said_fails_all_the_same() -> None:
    log = reports.Log().engine().begin("apply").act("db.main", "delete", "started", "failed")
    log.end("apply", exit_code=1)

    assert shown(log.fail(FailureClass.ENGINE_ERROR, "it failed").report())[0] == Shown(
        "db.main (delete)", "failure", "engine-error", "destroy failed"
    )


def test_what_the_engine_said_stands_at_the_suite() -> None:
    suite = parse(reports.failed())

    assert (suite.findtext("system-out"), suite.findtext("system-err")) == (
        "store_bucket.photos: Creating...\n",
        "Error: cannot create the bucket\n",
    )


def test_two_cases_never_have_one_name() -> None:
    # A NUL and its spelling look alike.
    log = reports.Log().engine().begin("apply")
    for address in ("a.b\x00", "a.b\\x00", "a.b\\x00 (create) (2)"):
        log.act(address, "create", "started", "completed")
    log.act("a.b\\x00 (create)", "(2)", "started", "completed")

    names = [case.name for case in shown(log.end("apply").finish().report())]

    assert names == [
        "a.b\\x00 (create)",
        "a.b\\x00 (create) (2)",
        "a.b\\x00 (create) (2) (create)",
        "a.b\\x00 (create) ((2))",
        "apply",
    ]


@pytest.mark.parametrize("text", ["", reports.HOSTILE], ids=["plain", "hostile"])
@pytest.mark.parametrize("name", reports.SAMPLES)
def test_gitlab_shows_every_case_and_a_text_for_each_that_did_not_pass(name: str, text: str) -> None:
    found = list(cases(reports.SAMPLES[name](text)))

    assert len({(case.attrib["classname"], case.attrib["name"]) for case, _ in found}) == len(found)
    for case, verdict in found:
        assert case.find("system-out") is None  # where `[[ATTACHMENT|...]]` would be a link
        if verdict is not None:
            assert verdict.text is not None
            assert verdict.text.strip()
            assert verdict.attrib["type"] not in RAILS_TYPES


def test_hostile_text_is_nothing_but_text() -> None:
    report = reports.hostile_report()
    written = junit_report(report)

    assert {element.tag for element in ElementTree.fromstring(written.encode()).iter()} <= ELEMENTS
    assert "<script" not in written
    assert "]]>" not in written
    assert not any(sign in written for sign in "\x00\x07\x1b\x7f\x85\u202e\u200f\r\ufffe\uffff")


def test_hostile_text_can_be_read() -> None:
    suite = parse(reports.hostile_report())

    assert suite.findtext("system-err") == (
        "Error: cannot create the bucket<script>alert(1)</script> ]]> &#x41; </pre> javascript:alert(1)"
        " | `code` 'one' \"two\" \\ $HOME\n"
        "::set-output name=a::b\n##[error]x\n::error::y\\x0dcarriage\t"
        "\\x1b[31mred\\x1b]0;title\\x07 \\x00 \\x7f \\x85 \\ud800 \\udfff \\ufffe \\uffff"
        " \\u202eltr\\u200f \U0001f600 é\n"
    )


def test_line_ends_of_another_system_are_line_ends() -> None:
    log = reports.Log().fail(FailureClass.INTERNAL, "no", stderr="a\r\nb\rc")

    assert parse(log.report()).findtext("system-err") == "a\nb\\x0dc"


def test_a_message_of_several_lines_keeps_them() -> None:
    report = reports.Log().fail(FailureClass.INTERNAL, "one\ntwo\tthree").report()

    assert shown(report) == [Shown("provision", "failure", "internal", "one\ntwo\tthree")]


@given(st.text(st.characters(codec=None)))
def test_any_text_can_be_written(text: str) -> None:
    validate(reports.hostile_report(text))


@given(st.sampled_from(sorted(reports.SAMPLES)), st.text(st.characters(codec=None)))
def test_it_is_the_same_each_time(name: str, text: str) -> None:
    report = reports.SAMPLES[name](text)

    assert junit_report(report) == junit_report(report)


def test_a_damaged_log_has_a_report_too() -> None:
    log = reports.Log()
    del log.records[0]
    report = log.fail(FailureClass.INTERNAL, "no").report()

    validate(report)
    assert parse(report).attrib["timestamp"] == "1970-01-01T00:00:00"


@pytest.mark.parametrize("sign", ["x", "&", "\u202e", "é"])
def test_gitlab_takes_the_report_of_a_run_of_any_size(sign: str) -> None:
    report = reports.large(10_000, stderr=sign * (50 * MEGABYTE))

    written = junit_report(report)

    suite = parse(report)
    assert len(written.encode()) < 30 * MEGABYTE
    assert (suite.attrib["tests"], suite.attrib["failures"]) == ("10001", "2")
    assert "[49500000 characters are left out]" in (suite.findtext("system-err") or "")


def test_a_thousand_failures_with_much_to_say_are_not_too_much() -> None:
    log = reports.Log().engine().begin("apply")
    found = []
    for index in range(1000):
        address = f"a.b[{index}]"
        log.act(address, "create", "started", "failed")
        found.append(reports.error(address=address, detail="<" * 16_000))
    log.end("apply", exit_code=1)
    report = log.fail(FailureClass.PROVIDER_ERROR, "no", diagnostics=tuple(found)).report()

    assert len(junit_report(report)) < 30 * MEGABYTE
    assert parse(report).attrib["failures"] == "1001"


def test_the_suite_of_another_workspace_has_another_package() -> None:
    def package(workspace: str) -> str:
        log = reports.Log()
        log.records[:] = [{**record, "workspace": workspace} for record in log.records]
        return parse(log.finish(workspace=workspace).report()).attrib["package"]

    assert [package(""), package("blue")] == ["/srv/packages/shop.default", "/srv/packages/shop.blue"]


def test_the_number_of_actions_that_are_left_out_is_told() -> None:
    report = reports.failed()._replace(left_out=7)

    properties = {each.attrib["name"]: each.attrib["value"] for each in parse(report).iter("property")}

    assert properties["left_out"] == "7"


def test_a_snippet_of_an_older_log_has_no_marks() -> None:
    problem = events.record_of(reports.error(), sequence=1, seconds=0, run="run")
    problem["snippet"] = {
        name: value for name, value in problem["snippet"].items() if not name.startswith("highlight")
    }
    report = reports.invalid()._replace(diagnostics=(problem,))

    assert '12 |   name = var.bucket_name\n   # var.bucket_name is "photos"' in text_of(report, "apply")
