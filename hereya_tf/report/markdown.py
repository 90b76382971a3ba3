"""A report as Markdown for comments and job summaries: what to know first, the rest folded (pure)."""

from collections.abc import Iterable, Iterator, Sequence

from hereya_tf import exact
from hereya_tf.events import Operation
from hereya_tf.report.changes import change_text, kind_of
from hereya_tf.report.document import Report
from hereya_tf.report.fates import WORST_FIRST, WRONG, Fate, ResourceFate
from hereya_tf.report.markdown_blocks import Block, folded, joined, table
from hereya_tf.report.markdown_text import cell, code, fence, prose, prose_cell
from hereya_tf.report.sentences import achieved, action_text, engine_text, facts, headline, retried_text
from hereya_tf.report.short_form import captured_text
from hereya_tf.report.snippet import snippet_text
from hereya_tf.report.story import StepPart
from hereya_tf.words import Record, failed_text, format_seconds, natural

_SYMBOLS = {"succeeded": "✅", "cancelled": "⚠️", "cancelling": "⚠️", "busy": "⚠️", "running": "⏳"}
_PLANNING = (Operation.PLAN, Operation.DRIFT)


def markdown_report(report: Report) -> str:
    """The whole report; nothing in it is markup but what is written here."""
    return joined(_blocks(report), room=None)


def markdown_summary(report: Report, room: int) -> str:
    """The report in at most `room` bytes of UTF-8: tables end at a row, with a note on what is left out.

    Empty when not even its first lines fit.
    """
    return joined(_blocks(report), room=room)


def _blocks(report: Report) -> Iterator[Block]:
    yield Block(tuple(_head(report)))
    yield Block(tuple(_what_to_do(report)))
    for record in report.diagnostics:
        yield Block(tuple(_diagnostic(record)))
    yield from _recovery(report)
    yield from _resources(report)
    if report.operation == Operation.PLAN:
        yield from _changes("Plan", report.planned)
        yield from _not_listed(report)
    yield from _changes("Changed outside of the engine", report.drifted)
    yield from _warnings(report.warnings)
    yield from _outputs(report)
    yield from _steps(report.steps)
    yield from _captured(report)
    yield Block(tuple(_foot(report)))


def _head(report: Report) -> Iterator[str]:
    yield f"### {_SYMBOLS.get(report.status, '❌')} {prose(headline(report))}"
    yield ""
    if report.success:
        yield f"**{prose(achieved(report) or 'succeeded')}**"
        return
    yield f"**{prose(report.reason) or 'no reason is known'}**"
    yield ""
    yield from (f"- **{label}:** {prose(text)}" for label, text in facts(report))


def _what_to_do(report: Report) -> Iterator[str]:
    """The commands that stand in hints, and the one to run it again, to be copied."""
    commands = [
        part for hint in report.hints for part in hint.split("`")[1::2] if part.startswith("hereya-tf ")
    ]
    if commands:
        yield from fence("\n".join(dict.fromkeys(commands)), "sh")
    if report.reproduce is not None and not report.success:
        yield from (*([""] if commands else []), "To run it again:", "", *fence(report.reproduce, "sh"))


def _diagnostic(record: Record) -> Iterator[str]:
    yield f"**{prose(record['severity'])}:** {prose(record['summary'])}"
    place = [f"on {code(found['filename'])} line {found['start_line']}"] if (found := record["range"]) else []
    snippet = record["snippet"]
    if snippet and snippet["context"]:
        place.append(f"in {code(snippet['context'])}")
    if record["address"]:
        place.append(f"with {code(record['address'])}")
    if place:
        yield from ("", ", ".join(place))
    if snippet:
        yield from ("", *fence(snippet_text(snippet)))
    if record["detail"].strip():
        yield from ("", *fence(record["detail"], "text"))


def _recovery(report: Report) -> Iterator[Block]:
    if report.recovery:
        yield Block(tuple(fence("\n".join(report.recovery), "text")))


def _resources(report: Report) -> Iterator[Block]:
    """What became of each resource, what went wrong first, and there the dangerous ones."""
    if report.operation in _PLANNING:
        return
    for fate in WORST_FIRST:
        others = report.also_done if fate is Fate.DONE else ()
        those = [
            *report.those(fate),
            *(ResourceFate(change["address"], change["action"], fate) for change in others),
        ]
        those.sort(key=lambda each: (kind_of(each.action).rank, natural(each.address)))
        made = table(("", "resource", "took", "id"), [_fate_cells(each) for each in those])
        yield from _titled(str(fate).capitalize(), made, is_open=fate in WRONG or report.success)
    if report.left_out:
        yield Block((f"And {report.left_out:,} actions more, which only the log of the run has.",))


def _fate_cells(each: ResourceFate) -> tuple[str, ...]:
    is_done = each.fate is Fate.DONE
    note = f" ({prose_cell(each.note)})" if each.note else ""
    took = format_seconds(each.seconds) if each.seconds else ""
    return (
        prose_cell(action_text(each)),
        cell(each.address) + note,
        took,
        cell(each.id or "") if is_done else "",
    )


def _changes(title: str, changes: Sequence[Record]) -> Iterator[Block]:
    """What a plan would do, the dangerous part first, or what has been done behind its back."""
    ordered = sorted(changes, key=lambda change: (kind_of(change["action"]).rank, natural(change["address"])))
    made = table(("", "resource", "because"), [_change_cells(change) for change in ordered])
    yield from _titled(title, made, is_open=True)


def _not_listed(report: Report) -> Iterator[Block]:
    """A replaced resource is counted twice, an import may be an update as well."""
    counts = report.changes
    total = sum(counts.get(name, 0) for name in ("add", "change", "destroy", "forget")) - counts.get(
        "replace", 0
    )
    if len(report.planned) < total:
        yield Block((f"And {total - len(report.planned):,} changes more, which only `--plan-json` has.",))


def _change_cells(change: Record) -> tuple[str, ...]:
    word, because = map(prose_cell, change_text(change["action"], change["reason"]))
    is_dangerous = kind_of(change["action"]).rank < kind_of("forget").rank
    return (f"**{word}**" if is_dangerous else word, cell(change["address"]), because)


def _titled(title: str, made: Block, *, is_open: bool) -> Iterator[Block]:
    if made.rows:
        named = f"{title} ({len(made.rows):,})"
        yield made.below(f"**{named}**", "") if is_open else folded(named, made)


def _warnings(records: Sequence[Record]) -> Iterator[Block]:
    if records:
        rows = tuple("\n".join(["", *_diagnostic(record)]) for record in records)
        yield folded(f"Warnings ({len(records):,})", Block((), rows, left="and {left:,} more"))


def _outputs(report: Report) -> Iterator[Block]:
    outputs = report.result["outputs"] if report.result is not None and report.success else {}
    rows = [(cell(name), _output_cell(output)) for name, output in outputs.items()]
    yield from _titled("Outputs", table(("output", "value"), rows), is_open=False)


def _output_cell(output: Record) -> str:
    if "value" not in output:
        return "sensitive, not shown"
    value = output["value"]
    return cell(value if isinstance(value, str) else exact.dumps(value))


def _steps(steps: Iterable[StepPart]) -> Iterator[Block]:
    rows = [(prose_cell(step.step), *_step_end(step)) for step in steps]
    yield from _titled("Steps", table(("step", "end", "took"), rows), is_open=False)


def _step_end(step: StepPart) -> tuple[str, str]:
    if step.skipped:
        return "not needed", ""
    if step.ended is None:
        return "not ended", ""
    end = "done" if step.ok else f"failed ({failed_text(step.exit_code)}){retried_text(step)}"
    end = "; ".join((end, *step.said))
    return prose_cell(end), format_seconds(step.seconds or 0.0)


def _captured(report: Report) -> Iterator[Block]:
    """The engine's own words in full; of what has to be cut the end is kept, where errors stand."""
    captured = captured_text(report.stderr, report.stdout) if not report.success else ""
    if captured:
        first, *rows, last = fence(captured.lstrip("\n"), "text")
        block = Block((first,), tuple(rows), (last,), left="({left:,} lines before)", keeps_end=True)
        yield folded("The last output of the engine", block)


def _foot(report: Report) -> Iterator[str]:
    if report.is_interim:
        yield "This was written before the run had ended."
        yield ""
    engine = engine_text(report)
    used = f" with {prose(engine)}" if engine is not None else ""
    yield f"run {code(report.run)} of hereya-tf {code(report.version)}{used}, {code(report.began)}"
