"""A report as plain text: what to know first, what happened, and last the engine's own words in full (pure)."""

from collections.abc import Iterator, Sequence

from hereya_tf.events import Operation
from hereya_tf.report.changes import change_text
from hereya_tf.report.document import Report
from hereya_tf.report.fates import Fate
from hereya_tf.report.sentences import achieved, engine_text, facts, fate_text, headline, step_text
from hereya_tf.report.short_form import captured_text
from hereya_tf.words import Record, diagnostic_text, flat, natural, visible

_INDENT = "  "


def text_report(report: Report) -> str:
    """The whole report; nothing in it steers a terminal."""
    lines = [*_head(report), *_outcome(report), *_recovery(report), *_resources(report)]
    lines += [*_steps(report), *_diagnostics(report)]
    captured = captured_text(report.stderr, report.stdout) if not report.success else ""
    text = "\n".join(lines) + "\n" + captured
    return visible(text if text.endswith("\n") else text + "\n")


def outcome_lines(report: Report) -> list[str]:
    """The failure in few lines, each with its label; the way out is last."""
    # A name or a reason that has lines of its own must not look like a label of ours.
    lines = [f"{'note' if report.status == 'running' else 'error'}: {flat(report.reason)}"]
    lines += [f"{label}: {flat(text)}" for label, text in facts(report)]
    if report.reproduce is not None:
        lines.append(f"reproduce: {flat(report.reproduce)}")
    return lines


def _head(report: Report) -> Iterator[str]:
    yield flat(headline(report))
    yield f"run {report.run}, from {report.began} to {report.ended}, hereya-tf {report.version}"
    engine = engine_text(report)
    if engine is not None:
        yield f"engine: {flat(engine)}"


def _outcome(report: Report) -> Iterator[str]:
    yield ""
    if not report.success:
        yield from outcome_lines(report)
        return
    yield achieved(report) or "succeeded"


def _recovery(report: Report) -> Iterator[str]:
    if report.recovery:
        yield from ("", "recovery:")
    yield from (_INDENT + line if line else "" for line in report.recovery)


def _resources(report: Report) -> Iterator[str]:
    """Every resource under what became of it; the line above each group says so."""
    for fate in Fate:
        those = report.those(fate)
        if those:
            yield from ("", f"{fate} ({len(those)}):")
            yield from (_INDENT + flat(fate_text(each)) for each in those)
    if report.left_out:
        yield f"{_INDENT}and {report.left_out} actions more, which only the run's log has"
    yield from _changes("changes", report.planned if report.operation == Operation.PLAN else ())
    yield from _changes("changed outside of the engine", report.drifted)


def _changes(title: str, records: Sequence[Record]) -> Iterator[str]:
    if records:
        yield from ("", f"{title} ({len(records)}):")
    for record in sorted(records, key=lambda record: natural(record["address"])):
        word, reason = change_text(record["action"], record["reason"])
        yield _INDENT + flat(f"{word} {record['address']}" + (f" ({reason})" if reason else ""))


def _steps(report: Report) -> Iterator[str]:
    if report.steps:
        yield from ("", "steps:")
    for step in report.steps:
        yield f"{_INDENT}{step.step:<9} {step_text(step)}"
        if step.argv:
            yield f"{_INDENT * 6}{flat(' '.join(step.argv))}"
        yield from (f"{_INDENT * 6}{flat(said)}" for said in step.said)


def _diagnostics(report: Report) -> Iterator[str]:
    """Warnings; errors stand in the engine's own words at the end, if it has come to that."""
    for record in (*(report.diagnostics if not report.stderr.strip() else ()), *report.warnings):
        yield ""
        first, *more = diagnostic_text(record).split("\n")
        yield from (first, *(line if line.startswith(_INDENT) else _INDENT + line for line in more))
