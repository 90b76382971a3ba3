"""What an engine's message is to our front ends (pure)."""

from collections.abc import Collection

from hereya_tf import events
from hereya_tf.failure.diagnosis import diagnose
from hereya_tf.source import characters_of
from hereya_tf.stream.message_types import (
    Diagnostic,
    Drift,
    EmergencyState,
    Message,
    PlannedChange,
    ProvisionerHook,
    ResourceHook,
    Snippet,
    Version,
    render,
)

# Plan and refresh end with an action that changes nothing; it is not worth an event.
_NO_CHANGE = frozenset(("noop", "read"))


def event_of(message: Message, engine: str, failed: Collection[str]) -> events.Event | None:
    """The event for a message; None for what people and programs need not be told.

    `failed` are the addresses whose operation has failed so far.
    """
    match message:
        case Diagnostic():
            return diagnostic_event(message, engine, failed)
        case ResourceHook():
            return events.ResourceEvent(
                message.address, message.action, message.phase, message.seconds, message.id
            )
        case PlannedChange():
            if message.action in _NO_CHANGE:
                return None
            return events.ChangeEvent(message.address, message.action, message.reason)
        case Version() | ProvisionerHook() | Drift():
            return None
        case EmergencyState():
            return events.LogEvent("stdout", "Emergency state dump")
        case _:
            text = render(message)
            return events.LogEvent("stdout", text) if text else None


def diagnostic_event(
    diagnostic: Diagnostic, engine: str, failed: Collection[str] = ()
) -> events.DiagnosticEvent:
    """A diagnostic as an event; errors carry the failure class they would mean on their own.

    `failed` are the addresses whose operation has failed.
    """
    failure_class = None
    if diagnostic.severity == "error":
        failure_class = diagnose(
            (diagnostic,), exit_code=1, signal=None, stderr="", engine_name=engine, failed=failed
        ).failure_class
    place = diagnostic.range
    snippet = diagnostic.snippet
    return events.DiagnosticEvent(
        severity=diagnostic.severity,
        class_=failure_class,
        summary=diagnostic.summary,
        detail=diagnostic.detail,
        address=diagnostic.address,
        range=place and events.RangeInfo(*place),
        snippet=snippet and _snippet_info(snippet),
    )


def _snippet_info(snippet: Snippet) -> events.SnippetInfo:
    meant = characters_of(snippet.code, snippet.highlight_start, snippet.highlight_end)
    return events.SnippetInfo(snippet.context, snippet.code, snippet.start_line, snippet.values, *meant)
