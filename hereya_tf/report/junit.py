"""A report as JUnit XML, which CI systems show as tests: a case for each resource and each step (pure).

There are two schemas: junit-10.xsd of Jenkins' xunit plugin, and JUnit.xsd (windyroad/JUnit-Schema) of what
Ant writes; this stays within both. GitLab (lib/gitlab/ci/parsers/test/junit.rb) shows the text of a failure
and not its attributes, passes over a second case of the same name, and refuses more than 30 MB.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple, assert_never

from hereya_tf.events import Operation
from hereya_tf.report.changes import kind_of
from hereya_tf.report.document import Report
from hereya_tf.report.fates import Fate, ResourceFate
from hereya_tf.report.sentences import achieved, engine_text, step_text
from hereya_tf.report.short_form import captured_text
from hereya_tf.report.snippet import snippet_text
from hereya_tf.report.story import StepPart
from hereya_tf.report.text import outcome_lines
from hereya_tf.words import Record, diagnostic_text, flat, visible

_LONGEST_NAME = 300
_LONGEST_TEXT = 20_000
_LONGEST_TAIL = 4_000
# All of them together, and each of the two streams: a character takes up to six in the file.
_MOST_TEXT = 2_000_000
_LONGEST_STREAM = 500_000
# XML 1.0 has no way to write these, half surrogate pairs and non-characters; `visible` has done the rest.
_UNWRITABLE = re.compile("[\ud800-\udfff\ufffe\uffff]")
_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;"})
_NO_MOMENT = "1970-01-01T00:00:00"


class _Verdict(StrEnum):
    """How a case ended, by the name of the element that says so."""

    PASSED = "passed"
    FAILURE = "failure"
    ERROR = "error"
    SKIPPED = "skipped"


class _Case(NamedTuple):
    """A case: `type` and `message` are in one line, `text` says all; they are empty for one that passed."""

    name: str
    seconds: float = 0.0
    verdict: _Verdict = _Verdict.PASSED
    type: str = ""
    message: str = ""
    text: str = ""

    @property
    def is_bad(self) -> bool:
        """Whether CI has to show it red."""
        return self.verdict in (_Verdict.FAILURE, _Verdict.ERROR)


def junit_report(report: Report) -> str:
    """The whole report as the text of an XML 1.0 file.

    No run that failed comes without a case that did, and a success has none; of drift, which is what
    `drift` looks for, each resource is one. What a plan would change is skipped.
    """
    cases = _uniquely_named(_cases(report))
    class_name = f"{report.package}.{report.workspace or 'default'}"
    room = min(
        _LONGEST_TEXT, _MOST_TEXT // max(1, sum(case.verdict is not _Verdict.PASSED for case in cases))
    )
    counts = {verdict: sum(case.verdict is verdict for case in cases) for verdict in _Verdict}
    suite = {
        "name": f"hereya-tf {report.operation}",
        # Jenkins takes suites of one name and time for one; a package differs.
        "package": class_name,
        "id": "0",
        "hostname": "localhost",
        "timestamp": _moment(report.began),
        "tests": str(len(cases)),
        "failures": str(counts[_Verdict.FAILURE]),
        "errors": str(counts[_Verdict.ERROR]),
        "skipped": str(counts[_Verdict.SKIPPED]),
        "time": _seconds(report.seconds),
    }
    return "".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n',
            f"<testsuite{_attributes(suite)}>\n<properties>\n",
            *(
                f"<property{_attributes({'name': name, 'value': value})}/>\n"
                for name, value in _facts(report)
            ),
            "</properties>\n",
            *(_case_element(case, class_name, room) for case in cases),
            f"<system-out>{_text(report.stdout, _LONGEST_STREAM)}</system-out>\n",
            f"<system-err>{_text(report.stderr, _LONGEST_STREAM)}</system-err>\n",
            "</testsuite>\n</testsuites>\n",
        )
    )


def _cases(report: Report) -> list[_Case]:
    cases = [*_resource_cases(report), *_step_cases(report)]
    steps = cases[len(cases) - len(report.steps) :]
    if (not report.success and not any(case.is_bad for case in steps)) or not cases:
        cases.append(_run_case(report))
    return cases


def _run_case(report: Report) -> _Case:
    """The run itself: for one that did not come as far as a step, or failed between two."""
    if report.success:
        return _Case(report.operation, report.seconds)
    return _Case(report.operation, report.seconds, _Verdict.FAILURE, *_explanation(report))


def _resource_cases(report: Report) -> Iterator[_Case]:
    said: dict[str, list[Record]] = {}
    for record in report.diagnostics:
        if record["address"]:
            said.setdefault(record["address"], []).append(record)
    for each in report.fates:
        yield _resource_case(each, said.get(each.address, ()))
    if report.operation == Operation.PLAN:
        for record in report.planned:
            message = f"to be {kind_of(record['action']).done}"
            name = f"{record['address']} ({record['action']})"
            yield _Case(name, 0.0, _Verdict.SKIPPED, "planned", message, message)
    if report.operation in (Operation.PLAN, Operation.DRIFT):
        verdict = _Verdict.FAILURE if report.operation == Operation.DRIFT else _Verdict.SKIPPED
        for record in report.drifted:
            message = f"{kind_of(record['action']).by_others} outside of the engine"
            yield _Case(f"{record['address']} (drift)", 0.0, verdict, "drift", message, message)


def _resource_case(each: ResourceFate, said: Sequence[Record]) -> _Case:
    case = _Case(f"{each.address} ({each.action})", each.seconds or 0.0)
    verb = kind_of(each.action).word
    note = f"; {each.note}" if each.note else ""
    match each.fate:
        case Fate.DONE:
            return case
        case Fate.FAILED:
            message = (said[0]["summary"] if said else f"{verb} failed") + note
            kind = (said[0]["class"] if said else None) or "engine-error"
            text = "\n\n".join(filter(None, (*map(_told, said), each.note))) or message
            return case._replace(verdict=_Verdict.FAILURE, type=kind, message=message, text=text)
        case Fate.UNFINISHED:
            message = f"{verb} was begun and has not ended{note}"
            return case._replace(verdict=_Verdict.ERROR, type="unfinished", message=message, text=message)
        case Fate.NOT_STARTED:
            message = f"{verb} was not started"
            return case._replace(verdict=_Verdict.SKIPPED, type="not-started", message=message, text=message)
        case _:
            assert_never(each.fate)


def _step_cases(report: Report) -> Iterator[_Case]:
    """A case a step; the last of a name has it alone, those before it were tried again or had to be."""
    last = {step.step: index for index, step in enumerate(report.steps)}
    for index, step in enumerate(report.steps):
        is_last = last[step.step] == index
        name = step.step if is_last else f"{step.step} (attempt {step.attempt})"
        yield _step_case(
            report, step, _Case(name, step.seconds or 0.0), may_fail=is_last and not report.success
        )


def _step_case(report: Report, step: StepPart, case: _Case, *, may_fail: bool) -> _Case:
    if step.ok and not step.skipped:
        return case
    message = step_text(step)
    if step.skipped or not may_fail:
        text = "\n".join((message, *step.said))
        return case._replace(verdict=_Verdict.SKIPPED, type="skipped", message=message, text=text)
    verdict = _Verdict.ERROR if step.ended is None else _Verdict.FAILURE
    kind, reason, text = _explanation(report)
    return case._replace(verdict=verdict, type=kind, message=reason, text=f"{text}\n\n{step.step}: {message}")


def _explanation(report: Report) -> tuple[str, str, str]:
    """Class, reason, and all that there is to know of a failure but what stands at its resources."""
    told = {each.address for each in report.those(Fate.FAILED)}
    rest = [_told(record) for record in report.diagnostics if record["address"] not in told]
    captured = captured_text(report.stderr, report.stdout).strip() if not report.diagnostics else ""
    parts = ["\n".join(outcome_lines(report)), *rest, captured[-_LONGEST_TAIL:]]
    return report.failure_class or report.status, report.reason, "\n\n".join(part for part in parts if part)


def _told(record: Record) -> str:
    """A diagnostic with the source that it points at."""
    snippet = record["snippet"]
    if snippet is None:
        return diagnostic_text(record)
    parts = (diagnostic_text({**record, "detail": ""}), snippet_text(snippet), record["detail"])
    return "\n".join(part for part in parts if part)


def _facts(report: Report) -> Iterator[tuple[str, str]]:
    """What is known of the run as a whole, as names and values; none is empty."""
    facts = {
        "run": report.run,
        "hereya-tf": report.version,
        "began": report.began,
        "ended": report.ended,
        "operation": report.operation,
        "package": report.package,
        "workspace": report.workspace,
        "engine": engine_text(report),
        "status": report.status,
        "exit_code": None if report.exit_code is None else str(report.exit_code),
        "class": report.failure_class,
        "achieved": achieved(report) if report.success or any(report.changes.values()) else None,
        "reproduce": report.reproduce,
        "report": report.result["report"] if report.result is not None else None,
        "left_out": str(report.left_out or ""),
    }
    return ((name, value) for name, value in facts.items() if value)


def _uniquely_named(cases: Iterable[_Case]) -> list[_Case]:
    """The cases with names in one line each; a second one of a name gets a number."""
    taken: dict[str, int] = {}
    named = []
    for case in cases:
        name = first = flat(_shortened(case.name, _LONGEST_NAME))
        while name in taken:
            taken[first] += 1
            name = f"{first} ({taken[first]})"
        taken[name] = 1
        named.append(case._replace(name=name))
    return named


def _case_element(case: _Case, class_name: str, room: int) -> str:
    start = f"<testcase{_attributes({'classname': class_name, 'name': case.name, 'time': _seconds(case.seconds)})}"
    if case.verdict is _Verdict.PASSED:
        return f"{start}/>\n"
    said = _attributes({"type": case.type, "message": _shortened(case.message, _LONGEST_NAME)})
    return f"{start}><{case.verdict}{said}>{_text(case.text, room)}</{case.verdict}></testcase>\n"


def _attributes(values: Mapping[str, str]) -> str:
    return "".join(f' {name}="{_writable(value).translate(_ESCAPES)}"' for name, value in values.items())


def _text(text: str, most: int) -> str:
    """Text between tags; of a long one the beginning and the end."""
    shown = _writable(_shortened(text.replace("\r\n", "\n"), most))
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _writable(text: str) -> str:
    """Text that XML can hold and that steers nothing; what it cannot hold shows as `\\ud800`."""
    return _UNWRITABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", visible(text))


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters are left out]\n{text[-half:]}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}"


def _moment(text: str) -> str:
    """A moment in UTC as the schema wants it, without its zone."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%dT%H:%M:%S")
    except ValueError:
        return _NO_MOMENT
