"""What an engine can say, one type a message, and how each reads as text (pure)."""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Literal, NamedTuple, assert_never

from hereya_tf.source import characters_of, source_lines
from hereya_tf.stream.outputs import Output


class Phase(StrEnum):
    """How far an operation on one resource is."""

    STARTED = "started"
    PROGRESS = "progress"
    COMPLETED = "completed"
    FAILED = "failed"


class Version(NamedTuple):
    """The first line: who speaks, and in which version of the format."""

    engine: Literal["terraform", "tofu"]
    version: str
    ui: str


class Range(NamedTuple):
    """Where in a source file; lines and columns count from 1."""

    filename: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


class Snippet(NamedTuple):
    """The source text of a diagnostic; highlights are byte offsets, values are (traversal, statement)."""

    context: str | None
    code: str
    start_line: int
    highlight_start: int
    highlight_end: int
    values: tuple[tuple[str, str], ...] = ()


class Diagnostic(NamedTuple):
    """An error or a warning, as the engine words it."""

    severity: Literal["error", "warning"]
    summary: str
    detail: str = ""
    address: str | None = None
    range: Range | None = None
    snippet: Snippet | None = None


class ResourceHook(NamedTuple):
    """An operation on a resource (create, update, delete, read, refresh, open, …) or an action (invoke)."""

    phase: Phase
    address: str
    action: str
    id: str | None = None
    seconds: float | None = None
    text: str = ""


class ProvisionerHook(NamedTuple):
    """A provisioner started, completed or failed."""

    phase: Phase
    address: str
    provisioner: str
    text: str = ""


class ProvisionerOutput(NamedTuple):
    """A line a provisioner's command printed."""

    address: str
    provisioner: str
    text: str


class PlannedChange(NamedTuple):
    """What the plan would do: create, update, delete, replace, read, move, import, remove or noop."""

    address: str
    action: str
    reason: str | None = None
    importing: bool = False
    previous_address: str | None = None
    text: str = ""


class Drift(NamedTuple):
    """A resource that was changed or deleted outside of the engine."""

    address: str
    action: str
    text: str = ""


class ChangeSummary(NamedTuple):
    """The engine's own count; `operation` is plan, apply or destroy."""

    operation: str
    add: int
    change: int
    destroy: int
    import_: int = 0
    forget: int = 0
    text: str = ""


class Outputs(NamedTuple):
    """The outputs: with actions after a plan, with values after an apply."""

    values: Mapping[str, Output]
    text: str = ""


class StateLock(NamedTuple):
    """The state lock is being waited for, or released; only said when that takes more than 0.4 s."""

    acquiring: bool
    text: str


class EmergencyState(NamedTuple):
    """The whole state as JSON text, byte for byte: the engine could save it nowhere else."""

    state: str


class Log(NamedTuple):
    """Any other line of the engine."""

    level: str
    text: str


class PlainLine(NamedTuple):
    """A line that is not a message."""

    text: str


Message = (
    Version
    | Diagnostic
    | ResourceHook
    | ProvisionerHook
    | ProvisionerOutput
    | PlannedChange
    | Drift
    | ChangeSummary
    | Outputs
    | StateLock
    | EmergencyState
    | Log
    | PlainLine
)


def render(message: Message) -> str | None:
    """The text a person would have seen for a message; None for one that has none.

    An emergency dump is only named: the state is full of secrets.
    """
    match message:
        case Diagnostic():
            return render_diagnostic(message)
        case ProvisionerOutput():
            return f"{message.address} ({message.provisioner}): {message.text}"
        case Version():
            return f"{'OpenTofu' if message.engine == 'tofu' else 'Terraform'} {message.version}"
        case EmergencyState():
            return "Emergency state dump"
        case (
            ResourceHook()
            | ProvisionerHook()
            | PlannedChange()
            | Drift()
            | ChangeSummary()
            | Outputs()
            | StateLock()
            | Log()
            | PlainLine()
        ):
            return message.text.strip("\r\n") or None
        case _:
            assert_never(message)


def render_diagnostic(diagnostic: Diagnostic, *, marks: bool = False) -> str:
    """A diagnostic as the engine prints it without colour, but neither boxed nor wrapped.

    `marks` stand below the source for what the engine underlines on a terminal.
    """
    lines = [f"{diagnostic.severity.capitalize()}: {diagnostic.summary.strip()}", ""]
    source = list(_source_lines(diagnostic, marks=marks))
    if source:
        lines += [*source, ""]
    if diagnostic.detail:
        lines.append(diagnostic.detail.rstrip("\n"))
    return "\n".join(lines).rstrip("\n") + "\n"


def _source_lines(diagnostic: Diagnostic, *, marks: bool) -> Iterator[str]:
    if diagnostic.address is not None:
        yield f"  with {diagnostic.address},"
    place, snippet = diagnostic.range, diagnostic.snippet
    if place is None:
        return
    if snippet is None:
        yield f"  on {place.filename} line {place.start_line}:"
        yield "  (source code not available)"
        return
    context = f", in {snippet.context}" if snippet.context else ""
    yield f"  on {place.filename} line {place.start_line}{context}:"
    meant = characters_of(snippet.code, snippet.highlight_start, snippet.highlight_end)
    for line in source_lines(snippet.code, snippet.start_line, *meant):
        yield f"{line.number:4}: {line.code}"
        if marks and line.marks:
            yield f"      {line.marks}"
    for traversal, statement in snippet.values:
        yield f"      {traversal} {statement}"
