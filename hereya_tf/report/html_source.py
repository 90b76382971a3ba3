"""A diagnostic in a page, with the source it points at (pure)."""

from collections.abc import Iterator

from hereya_tf.report.page import code, definitions, escaped
from hereya_tf.report.snippet import marked_lines
from hereya_tf.source import SourceLine
from hereya_tf.words import Record

_TONES = {"error": "red", "warning": "amber"}


def diagnostic(record: Record) -> str:
    """What an engine says, where it points, what its expressions were worth, and the rest of its words."""
    return f"<article>\n{''.join(_parts(record))}</article>\n"


def _parts(record: Record) -> Iterator[str]:
    severity = record["severity"]
    tone = _TONES.get(severity, "soft")
    yield f'<h3><span class="{tone}">{escaped(severity)}:</span> {escaped(record["summary"])}</h3>\n'
    snippet = record["snippet"]
    place = _place(record)
    if place:
        yield f'<p class="soft small">{place}</p>\n'
    if snippet:
        yield f'<pre class="source">{"".join(_line(line) for line in marked_lines(snippet))}</pre>\n'
        values = [(name, f"<code>{escaped(said)}</code>") for name, said in snippet["values"]]
        yield definitions(values, "values")
    if record["detail"]:
        yield f'<p class="detail">{escaped(record["detail"])}</p>\n'


def _place(record: Record) -> str:
    """Where it is: file and line, the block, the resource."""
    said = []
    if place := record["range"]:
        said.append(f"{code(place['filename'])} line {place['start_line']}")
    context = (record["snippet"] or {}).get("context")
    if context:
        said.append(f"in {code(context)}")
    if record["address"]:
        said.append(f"with {code(record['address'])}")
    return ", ".join(said)


def _line(line: SourceLine) -> str:
    before, meant, after = line.code[: line.begin], line.code[line.begin : line.end], line.code[line.end :]
    mark = f"<mark>{escaped(meant)}</mark>" if meant else ""
    return f"<span><i>{line.number}</i><code>{escaped(before)}{mark}{escaped(after)}</code></span>"
