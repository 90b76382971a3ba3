"""A report as one HTML file: what failed, why and what to do at a glance, then everything else (pure)."""

from collections.abc import Iterator, Sequence

from hereya_tf import exact
from hereya_tf.events import Operation
from hereya_tf.report.changes import change_text, kind_of
from hereya_tf.report.document import Report
from hereya_tf.report.fates import WORST_FIRST, WRONG, Fate, ResourceFate
from hereya_tf.report.html_look import SCRIPT, STYLE
from hereya_tf.report.html_source import diagnostic
from hereya_tf.report.page import code, command, definitions, escaped, page, sentence
from hereya_tf.report.sentences import (
    achieved,
    action_text,
    engine_text,
    headline,
    lock_text,
    retried_text,
    state_text,
)
from hereya_tf.report.story import StepPart
from hereya_tf.words import Record, failed_text, format_seconds, natural

# Longer lists of what went as it should are folded; so is longer output.
_ROWS_OPEN = 12
_LINES_OPEN = 40
_LONG_REASON = 160
_FATE_HEADS = ("Action", "Resource", "Took", "ID")
_FATE_TONES = {Fate.FAILED: "red", Fate.UNFINISHED: "amber", Fate.DONE: "green", Fate.NOT_STARTED: "soft"}
_STATUS_TONES = {
    "succeeded": "green",
    **dict.fromkeys(("cancelled", "cancelling", "busy", "running"), "amber"),
}
# Ranks of actions up to this destroy something, or may.
_DANGEROUS = 2
_CELLS = {"Took": ' class="number"', "Action": ' class="short"'}
_TONES = {"delete": "red", "replace": "red", "create": "green", "update": "amber"}


def html_report(report: Report) -> str:
    """The whole file. It needs no script and no network, and nothing in it runs or is fetched."""
    body = (
        *_head(report),
        '<main id="main">\n',
        *_outcome(report),
        *_recovery(report),
        *_section("What the engine says", [diagnostic(each) for each in report.diagnostics]),
        *_resources(report),
        *_changes(report),
        *_outputs(report),
        *_steps(report),
        *_section("Warnings", [diagnostic(each) for each in report.warnings]),
        *_captured(report),
        *_about(report),
        "</main>\n",
    )
    title = f"{report.status.replace('_', ' ')}: {report.operation} of {report.package}"
    return page(title, body, style=STYLE, script=SCRIPT)


def _head(report: Report) -> Iterator[str]:
    tone = _STATUS_TONES.get(report.status, "red")
    kind = f"<code>{escaped(report.failure_class)}</code>" if report.failure_class is not None else ""
    exit_code = f"<span>exit code {report.exit_code}</span>" if report.exit_code is not None else ""
    told = report.reason if not report.success else achieved(report)
    title = told or headline(report)
    size = ' class="long"' if len(title) > _LONG_REASON else ""
    yield (
        f'<header class="{tone}-edge">\n'
        f'<p class="where soft">{escaped(report.operation)} of {code(report.package)}, workspace '
        f"{code(report.workspace or 'default')}</p>\n"
        f"<h1{size}>{sentence(_begun(title))}</h1>\n"
        f'<p class="facts"><span class="badge {tone}">{escaped(report.status.replace("_", " "))}</span>'
        f"{kind}{exit_code}<span>after {format_seconds(report.seconds)}</span>"
        f"{''.join(_counts(report))}</p>\n</header>\n"
    )


def _begun(text: str) -> str:
    """A sentence as a title: it begins large, unless that would change a name."""
    first = text.split(" ", 1)[0].rstrip(",:")
    return text[:1].upper() + text[1:] if first.isascii() and first.isalpha() else text


def _counts(report: Report) -> Iterator[str]:
    """How many resources came how far."""
    for fate in WORST_FIRST:
        those = report.those(fate)
        if those:
            yield f'<span class="{_FATE_TONES[fate]}">{len(those):,} {fate}</span>'


def _section(title: str, parts: Sequence[str]) -> Iterator[str]:
    """A part of the page; nothing at all when it is empty."""
    if parts:
        name = title.lower().replace(" ", "-")
        yield f'<section aria-labelledby="{name}">\n<h2 id="{name}">{title}</h2>\n'
        yield from parts
        yield "</section>\n"


def _outcome(report: Report) -> Iterator[str]:
    """What to do, and how safe the state is: the two questions after the first."""
    if report.is_interim:
        yield '<p class="note" role="note">This was written before the run had ended.</p>\n'
    steps = [f"<li>{sentence(hint)}</li>\n" for hint in report.hints]
    todo = [f"<ul>\n{''.join(steps)}</ul>\n"] if steps else []
    if report.reproduce is not None and not report.success:
        todo.append(f'<p class="soft small">To run it again:</p>\n<p>{command(report.reproduce)}</p>\n')
    yield from _section("What to do", todo)
    cards = []
    state = state_text(report) if not report.success else None
    if state is not None:
        safe = report.state_saved and report.errored_state is None
        cards.append(("State", "green" if safe else "red", state))
    if report.lock is not None:
        cards.append(("Lock", "amber", lock_text(report)))
    items = [
        f'<div class="{tone}-edge"><dt>{label}</dt><dd>{sentence(_begun(text))}</dd></div>\n'
        for label, tone, text in cards
    ]
    yield from _section("State and lock", [f'<dl class="cards">\n{"".join(items)}</dl>\n'] if items else [])


def _recovery(report: Report) -> Iterator[str]:
    told = escaped("\n".join(report.recovery))
    yield from _section("Recovery", [f'<pre class="box">\n{told}</pre>\n'] if told else [])


def _resources(report: Report) -> Iterator[str]:
    """What became of each resource, what went wrong first."""
    groups = []
    for fate in WORST_FIRST:
        those = report.those(fate)
        is_open = fate in WRONG or len(those) <= _ROWS_OPEN
        rows = [_fate_cells(each) for each in those]
        label = f'<span class="{_FATE_TONES[fate]}">{str(fate).capitalize()}</span>'
        groups.append(_group(label, _FATE_HEADS, rows, is_open))
    if report.left_out:
        groups.append(f"<p>And {report.left_out:,} actions more, which only the run's log has.</p>\n")
    yield from _section("Resources", [group for group in groups if group])


def _fate_cells(each: ResourceFate) -> Sequence[str]:
    note = f'<br><span class="red">{escaped(each.note)}</span>' if each.note else ""
    return (
        escaped(action_text(each)),
        code(each.address) + note,
        "" if each.seconds is None else format_seconds(each.seconds),
        code(each.id) if each.id and each.fate is Fate.DONE else "",
    )


def _changes(report: Report) -> Iterator[str]:
    """What a plan would do, what has no operation of its own, and what was done behind the engine's back."""
    if report.operation == Operation.PLAN:
        yield from _section("Plan", _change_groups(report.planned))
    yield from _section("Also done", _change_groups(report.also_done, are_done=True))
    yield from _section("Changed outside of the engine", _change_groups(report.drifted))


def _change_groups(changes: Sequence[Record], *, are_done: bool = False) -> list[str]:
    """A group for each action, the dangerous ones first and never folded."""
    by_action: dict[str, list[Record]] = {}
    for change in sorted(changes, key=lambda change: natural(change["address"])):
        by_action.setdefault(change["action"], []).append(change)
    groups = []
    for action in sorted(by_action, key=lambda action: (kind_of(action).rank, action)):
        those = by_action[action]
        kind = kind_of(action)
        texts = [(kind.done, "") if are_done else change_text(action, each["reason"]) for each in those]
        rows = [
            (code(each["address"]), escaped(because)) for each, (_, because) in zip(those, texts, strict=True)
        ]
        label = f'<span class="{_TONES.get(action, "amber")}">{escaped(_begun(texts[0][0]))}</span>'
        is_open = len(those) <= _ROWS_OPEN or kind.rank <= _DANGEROUS
        groups.append(_group(label, ("Resource", "Because"), rows, is_open))
    return groups


def _group(label: str, heads: Sequence[str], rows: Sequence[Sequence[str]], is_open: bool) -> str:
    """A table below a line that counts its rows and folds it; columns and tables without cells are left out."""
    if not rows:
        return ""
    used = [at for at in range(len(heads)) if any(row[at] for row in rows)]
    kinds = [_CELLS.get(heads[at], "") for at in used]
    head = "".join(f'<th scope="col"{kind}>{heads[at]}</th>' for at, kind in zip(used, kinds, strict=True))
    # One column needs no name that can be seen.
    seen = "" if len(used) > 1 else ' class="unseen"'
    body = "\n".join(
        f"<tr>{''.join(f'<td{kind}>{row[at]}</td>' for at, kind in zip(used, kinds, strict=True))}</tr>"
        for row in rows
    )
    return (
        f"<details{' open' if is_open else ''}><summary>{label} <span>{len(rows):,}</span></summary>\n"
        f"<table>\n<thead{seen}><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</details>\n"
    )


def _outputs(report: Report) -> Iterator[str]:
    outputs = report.result["outputs"] if report.result is not None and report.success else {}
    rows = "".join(
        f'<tr><th scope="row">{code(name)}</th><td>{_output_text(output)}</td></tr>\n'
        for name, output in outputs.items()
    )
    table = f'<table class="fields"><tbody>\n{rows}</tbody></table>\n'
    yield from _section("Outputs", [table] if rows else [])


def _output_text(output: Record) -> str:
    if "value" not in output:
        return '<span class="soft">sensitive, not shown</span>'
    value = output["value"]
    return code(value if isinstance(value, str) else exact.dumps(value))


def _steps(report: Report) -> Iterator[str]:
    rows = "".join(_step_row(step) for step in report.steps)
    table = (
        '<table>\n<thead><tr><th scope="col">Step</th><th scope="col">How it ended</th>'
        f'<th scope="col" class="number">Took</th></tr></thead>\n<tbody>\n{rows}</tbody>\n</table>\n'
    )
    yield from _section("Steps", [table] if rows else [])


def _step_row(step: StepPart) -> str:
    if step.skipped:
        end = '<span class="soft">not needed</span>'
    elif step.ended is None:
        end = '<span class="amber">not ended</span>'
    elif step.ok:
        end = '<span class="green">done</span>'
    else:
        end = f'<span class="red">failed, {failed_text(step.exit_code)}</span>{escaped(retried_text(step))}'
        end += "".join(f'<br><span class="soft">{escaped(said)}</span>' for said in step.said)
    attempt = f", attempt {step.attempt}" if step.attempt > 1 else ""
    took = "" if step.skipped or step.seconds is None else format_seconds(step.seconds)
    argv = f'<br><span class="soft">{code(" ".join(step.argv))}</span>' if step.argv else ""
    return (
        f'<tr><th scope="row">{escaped(step.step + attempt)}</th><td>{end}{argv}</td>'
        f'<td class="number">{took}</td></tr>\n'
    )


def _captured(report: Report) -> Iterator[str]:
    """The last output in full: stderr, or stdout when there is none."""
    name, text = ("stderr", report.stderr) if report.stderr.strip() else ("stdout", report.stdout)
    if report.success or not text.strip():
        return
    lines = text.rstrip("\n").count("\n") + 1
    is_open = " open" if lines <= _LINES_OPEN else ""
    counted = "1 line" if lines == 1 else f"{lines:,} lines"
    yield from _section(
        "Output",
        [
            f"<details{is_open}><summary>{name} <span>{counted}</span></summary>\n"
            # A browser leaves out a newline that a `pre` begins with.
            f'<pre class="box">\n{escaped(text)}</pre>\n</details>\n'
        ],
    )


def _about(report: Report) -> Iterator[str]:
    engine = engine_text(report)
    pairs = [
        ("Run", code(report.run)),
        ("Began", escaped(report.began)),
        ("Ended", escaped(report.ended)),
        ("Engine", escaped(engine) if engine is not None else '<span class="soft">none was chosen</span>'),
        ("hereya-tf", escaped(report.version)),
    ]
    if report.success and report.reproduce is not None:
        pairs.append(("To run it again", command(report.reproduce)))
    yield from _section("About this run", [definitions(pairs, "fields")])
