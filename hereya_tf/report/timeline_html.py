"""A timeline as one HTML page: a table that reads without a script, and can be searched with one (pure)."""

import math
from collections.abc import Iterator

from hereya_tf.report.page import code, definitions, escaped, page
from hereya_tf.report.story import PASSING
from hereya_tf.report.timeline import PATH_SENTENCE, Kind, Row, State, Timeline, fine, notes, totals
from hereya_tf.report.timeline_look import SCRIPT, STYLE
from hereya_tf.words import format_seconds

_TONES = {"succeeded": "green", "cancelled": "amber", "busy": "amber", "running": "soft"}
# Up to so many seconds lines are a round decimal apart, then a round part of an hour or a day.
_TENS = 10
_TICKS = (15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
# A bar in percent: with fewer digits, a second of a day would be lost, and with none it would not be seen.
_DIGITS = 4
_THINNEST = 0.01
_LEGEND = (
    ("path", "critical path"),
    ("other", "other resources"),
    ("read", "refresh, read"),
    ("failed", "failed"),
    ("unfinished", "unfinished"),
    ("wait", "waiting"),
)
_CONTROLS = """<div class="controls" role="search" data-script hidden>
<label>Filter<input id="words" type="search" autocomplete="off" spellcheck="false"
 placeholder="words of a name, action or ID"></label>
<label>Show<select id="kind"><option value="all">everything</option>
<option value="wrong">failed and unfinished</option><option value="path">the critical path</option>
<option value="changes">changes, without reads</option></select></label>
<label>Zoom to<select id="part"><option value="">the whole run</option>
%s</select></label>
<output id="count" for="words kind"></output>
</div>
"""
_HEAD = """<table id="rows" data-seconds="%s">
<caption class="unseen">Steps and resources in the order they began</caption>
<thead><tr><th scope="col" class="name">Step and resource</th><th scope="col" class="number">Began</th>
<th scope="col" class="number">Took</th><th scope="col" class="axis"><span class="unseen">Time</span>
<svg id="axis" aria-hidden="true">%s</svg></th></tr></thead>
<tbody>
"""
_DETAIL = (
    '<aside class="detail" id="detail" aria-label="Detail" data-script hidden>'
    '<p class="soft">Point at a row, or go to one with the keys, to see more of it here.</p>'
    '<p class="keys soft small"><kbd>↑</kbd> <kbd>↓</kbd> rows, <kbd>+</kbd> <kbd>-</kbd> zoom, <kbd>←</kbd> '
    "<kbd>→</kbd> move, <kbd>/</kbd> filter, <kbd>Esc</kbd> back to everything</p></aside>\n"
)


def timeline_page(timeline: Timeline) -> str:
    """The whole file: about 300 bytes a row, whatever fetched or run from elsewhere is refused."""
    total = timeline.seconds or 1.0
    tick = _tick(total)
    body = (
        *_head(timeline),
        "<main>\n",
        _CONTROLS % "".join(_parts(timeline)),
        '<ul class="legend">',
        *(f'<li class="{name}">{_sample()}{words}</li>' for name, words in _LEGEND),
        "</ul>\n",
        f'<p class="soft small">{escaped(PATH_SENTENCE)}.</p>\n',
        _HEAD % (f"{timeline.seconds:.3f}", "".join(_axis(total, tick))),
        *(_row(row, total) for row in timeline.rows),
        "</tbody>\n</table>\n",
        f"<p>And {timeline.left_out:,} actions more, which only the log has.</p>\n"
        if timeline.left_out
        else "",
        "</main>\n",
        _DETAIL,
    )
    style = f"{STYLE}:root{{--tick:{tick / total * 100:.4f}%}}"
    title = f"Timeline: {timeline.operation} of {timeline.package}"
    return page(title, body, style=style, script=SCRIPT)


def _head(timeline: Timeline) -> Iterator[str]:
    tone = _TONES.get(timeline.status, "red")
    yield (
        f'<header>\n<p class="soft">{escaped(timeline.operation)} of {code(timeline.package)}, workspace '
        f"{code(timeline.workspace or 'default')}</p>\n<h1>Timeline of {escaped(timeline.operation)}</h1>\n"
        f'<p class="facts"><span class="badge {tone}">{escaped(timeline.status.replace("_", " "))}</span>'
        f"<span>run {code(timeline.run)}</span><span>began {escaped(timeline.began)}</span>"
        f"{''.join(_counts(timeline))}</p>\n"
    )
    yield definitions(((label, fine(seconds)) for label, seconds in totals(timeline)), "totals")
    yield from (f'<p class="amber">{escaped(note)}.</p>\n' for note in notes(timeline))
    yield "</header>\n"


def _counts(timeline: Timeline) -> Iterator[str]:
    actions = timeline.actions
    if actions:
        names = len({row.name for row in actions})
        yield f"<span>{names:,} resource{'s' if names > 1 else ''}</span>"
        yield f"<span>at most {timeline.most_at_once:,} at once</span>"
    for state, tone in ((State.FAILED, "red"), (State.UNFINISHED, "amber")):
        number = sum(row.state is state for row in actions)
        if number:
            yield f'<span class="{tone}">{number:,} {state}</span>'


def _parts(timeline: Timeline) -> Iterator[str]:
    """What can be zoomed to: everything that is no resource, by its place among the rows."""
    for place, row in enumerate(timeline.rows):
        if row.kind is not Kind.ACTION and row.seconds > 0:
            action = f", {row.action}" if row.kind is Kind.STEP and row.action else ""
            yield f'<option value="{place}">{escaped(row.name + action)}</option>\n'


def _tick(seconds: float) -> float:
    """How far apart the lines are, in seconds: a round number, about five of them."""
    wish = seconds / 5
    if wish > _TENS:
        return float(next((tick for tick in _TICKS if tick >= wish), math.ceil(wish / 86400) * 86400))
    power: float = 10.0 ** math.floor(math.log10(wish))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= wish), 10 * power)


def _axis(total: float, tick: float) -> Iterator[str]:
    for number in range(int(total * 0.97 / tick) + 1):
        yield f'<text x="{number * tick / total * 100:.3f}%" y="75%">{_tick_text(number * tick)}</text>'


def _tick_text(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:g}s"
    return format_seconds(seconds).replace("m00s", "m").replace("h00m", "h")


def _sample() -> str:
    return '<svg aria-hidden="true"><rect x="5%" width="85%"/></svg>'


def _row(row: Row, total: float) -> str:
    begin = row.begin / total * 100
    width = row.seconds / total * 100
    real = f' data-w="{width:.{_DIGITS}f}"' if width < _THINNEST else ""
    identity = f' data-id="{escaped(row.id)}"' if row.id else ""
    return (
        f'<tr class="{" ".join(_classes(row))}"{identity}><th scope="row">{"".join(_name(row))}</th>'
        f'<td class="number">{fine(row.begin)}</td>'
        f'<td class="number">{_took(row)}</td><td class="bar" aria-hidden="true"><svg>'
        f'<rect x="{begin:.{_DIGITS}f}%" width="{max(width, _THINNEST):.{_DIGITS}f}%"{real}/></svg></td></tr>\n'
    )


def _took(row: Row) -> str:
    return "" if row.state is State.SKIPPED else fine(row.seconds)


def _classes(row: Row) -> Iterator[str]:
    if row.kind is not Kind.ACTION:
        yield "step"
    if row.kind in (Kind.WAIT, Kind.ENGINE):
        yield "wait"
    if row.is_critical:
        yield "path"
    if row.action in PASSING:
        yield "read"
    if row.state is not State.OK:
        yield str(row.state)


def _name(row: Row) -> Iterator[str]:
    yield escaped(row.name)
    if row.action and row.kind in (Kind.ACTION, Kind.STEP):
        yield f" <small>{escaped(row.action)}</small>"
    if row.state in (State.FAILED, State.UNFINISHED):
        yield f" <b>{row.state}</b>"
    if row.note:
        yield f" <small>{escaped(row.note)}</small>"
    if row.is_critical:
        yield '<span class="unseen"> critical path</span>'
