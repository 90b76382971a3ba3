"""A report as one JSON object: the run's result, and everything around it (pure)."""

import re
from collections.abc import Mapping
from typing import Any

from hereya_tf import events, exact
from hereya_tf.outputs.json_layout import lay_out
from hereya_tf.report.document import Report
from hereya_tf.words import Record

# What steers a terminal; JSON has another way to write it.
_STEERING = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff]"
)
_HALVES = re.compile("[\ud800-\udfff]")


def json_report(report: Report) -> str:
    """The whole report, indented, numbers exact; nothing in it steers a terminal.

    At the top level are the fields of the run's result, as in its log: sensitive outputs have no value. A
    report that was written before the end has the same fields, null where nothing is known yet.
    """
    text = lay_out(exact.dumps(_document(report)))
    # Readers in other languages refuse half a surrogate pair, however it is written.
    text = _HALVES.sub("\ufffd", text)
    while found := _STEERING.search(text):  # once for each of them, not for each time that it is there
        text = text.replace(found.group(), f"\\u{ord(found.group()):04x}")
    return text + "\n"


def _document(report: Report) -> dict[str, Any]:
    return {
        "v": events.FORMAT_VERSION,
        "run": report.run,
        "version": report.version,
        "began": report.began,
        "ended": report.ended,
        "seconds": report.seconds,
        "is_interim": report.is_interim,
        **_result(report),
        "engine": _engine(report),
        "steps": [step._asdict() for step in report.steps],
        "resources": [{**each._asdict(), "fate": each.fate.name.lower()} for each in report.fates],
        "left_out": report.left_out,
        "planned": [_only(events.ChangeEvent, record) for record in report.planned],
        "drifted": [_only(events.ChangeEvent, record) for record in report.drifted],
        "warnings": [_only(events.DiagnosticEvent, record) for record in report.warnings],
        "lock": report.lock and {**report.lock._asdict(), "holder": dict(report.lock.holder)},
        "reproduce": report.reproduce,
    }


def _result(report: Report) -> dict[str, Any]:
    """The fields of the contract's `result`; of a run that still is at work, those that are known."""
    if report.result is not None:
        return _only(events.Result, report.result)
    nothing: dict[str, Any] = dict.fromkeys(events.field_names(events.Result))
    return {
        **nothing,
        "success": False,
        "status": report.status,
        "reason": report.reason,
        "operation": report.operation,
        "package": report.package,
        "workspace": report.workspace,
        "failure": report.failure_class
        and {
            "class": report.failure_class,
            "hint": "\n".join(report.hints) or None,
            "diagnostics": [_only(events.DiagnosticEvent, record) for record in report.diagnostics],
            "stderr": report.stderr,
            "stdout": report.stdout,
            "state": {"saved": report.state_saved, "errored_state": report.errored_state, "lock": None},
        },
    }


def _engine(report: Report) -> dict[str, Any] | None:
    """The engine, with where it came from as far as the run has told."""
    if report.engine is not None:
        return report.engine._asdict()
    known: Mapping[str, Any] | None = report.result["engine"] if report.result is not None else None
    return None if known is None else {**known, "path": None, "chosen_by": None}


def _only(type_: type, record: Record) -> dict[str, Any]:
    """The record's own fields, without what every event has around them."""
    return {name: record[name] for name in events.field_names(type_) if name in record}
