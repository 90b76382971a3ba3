"""JSON Schema (2020-12) of events, results and reports, made from the types that they are made of (pure)."""

import types
import typing
from collections.abc import Mapping
from typing import Any

from hereya_tf import events
from hereya_tf.errors import FailureClass
from hereya_tf.locks.records import LockKind
from hereya_tf.report.document import LockFacts
from hereya_tf.report.fates import Fate, ResourceFate
from hereya_tf.report.story import EngineFacts, StepPart
from hereya_tf.runs.outcome import Status
from hereya_tf.runs.trace import RUNNING
from hereya_tf.stream.message_types import Phase
from hereya_tf.supervision.interrupt import Reason

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ENVELOPE: Mapping[str, Any] = {
    "v": {"const": events.FORMAT_VERSION},
    "seq": {"type": "integer", "minimum": 1},
    "ts": {"type": "string", "format": "date-time"},
    "run": {"type": "string"},
}
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_OUTPUT = {
    "type": "object",
    "properties": {"type": {}, "sensitive": {"type": "boolean"}, "value": {}},
    "required": ["type", "sensitive"],
    "additionalProperties": False,
}
# What the types leave open.
_NARROWER: Mapping[tuple[str, str], Any] = {
    ("Result", "status"): {"enum": [*Status, RUNNING]},
    ("Result", "outputs"): {"type": "object", "additionalProperties": _OUTPUT},
    ("Result", "env"): {"type": "object", "additionalProperties": {"type": "string"}},
    ("FailureInfo", "class_"): {"enum": list(FailureClass)},
    ("ResourceEvent", "status"): {"enum": list(Phase)},
    ("LockWaiting", "lock"): {"enum": list(LockKind)},
    ("Cancelling", "reason"): {"enum": list(Reason)},
    ("DiagnosticEvent", "severity"): {"enum": ["error", "warning"]},
    ("LockFacts", "kind"): {"enum": ["state", *LockKind]},
    ("LockFacts", "holder"): {"type": "object", "additionalProperties": {"type": "string"}},
    ("ResourceFate", "fate"): {"enum": [fate.name.lower() for fate in Fate]},
}
# How a run is that has not ended, or whose end nobody has told.
_BEFORE_THE_END = ("running", "cancelling", "orphaned", "died")
# What is not known of a run that has not ended; of other fields an interim report knows something.
_KNOWN_AT_THE_END = ("exit_code", "env", "outputs", "changes", "drift", "timings", "report")


def events_schema() -> dict[str, Any]:
    """The schema of one event, whichever type it is."""
    variants = []
    for event, name in events.EVENT_TYPES.items():
        schema = _object(event)
        schema["properties"] = {**_ENVELOPE, "type": {"const": name}, **schema["properties"]}
        schema["required"] = [*_ENVELOPE, "type", *schema["required"]]
        variants.append(schema)
    return {"$schema": _DIALECT, "title": "An event of hereya-tf", "oneOf": variants}


def result_schema() -> dict[str, Any]:
    """The schema of a result without its envelope, as `--result-file` holds it."""
    return {"$schema": _DIALECT, "title": "A result of hereya-tf", **_object(events.Result)}


def report_schema() -> dict[str, Any]:
    """The schema of a report in its JSON form; one written before the end of its run is `is_interim`."""
    result = _object(events.Result)["properties"]
    later = {name: result[name] for name in _KNOWN_AT_THE_END}
    engine = _object(EngineFacts)
    engine["properties"] |= {name: _nullable({"type": "string"}) for name in ("path", "chosen_by")}
    properties = {
        "v": _ENVELOPE["v"],
        "run": _ENVELOPE["run"],
        "version": {"type": "string"},
        "began": _ENVELOPE["ts"],
        "ended": _ENVELOPE["ts"],
        "seconds": {"type": "number", "minimum": 0},
        "is_interim": {"type": "boolean"},
        **result,
        **dict.fromkeys(later, True),
        "status": {"enum": [*Status, *_BEFORE_THE_END]},
        "engine": _nullable(engine),
        "steps": _list_of(StepPart),
        "resources": _list_of(ResourceFate),
        "left_out": {"type": "integer", "minimum": 0},
        "planned": _list_of(events.ChangeEvent),
        "drifted": _list_of(events.ChangeEvent),
        "warnings": _list_of(events.DiagnosticEvent),
        "lock": _nullable(_object(LockFacts)),
        "reproduce": _nullable({"type": "string"}),
    }
    return {
        "$schema": _DIALECT,
        "title": "A report of hereya-tf",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "if": {"properties": {"is_interim": {"const": True}}},
        "then": {
            "properties": {
                **{name: {"type": "null"} for name in later},
                "status": {"enum": list(_BEFORE_THE_END)},
            }
        },
        "else": {"properties": {**later, "status": {"enum": list(Status)}}},
    }


def _nullable(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def _list_of(type_: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(type_)}


def _object(type_: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(type_)
    properties = {
        name.rstrip("_"): _NARROWER.get((type_.__name__, name)) or _schema(hints[name])
        for name in type_._fields
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _schema(hint: Any) -> dict[str, Any]:
    if hint is Any:
        return {}
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if hasattr(hint, "_fields"):
        return _object(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [_schema(argument) for argument in arguments]}
    if origin is tuple:
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": _schema(arguments[0])}
        items = [_schema(argument) for argument in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    # The only other types of events are mappings with texts as keys.
    return {"type": "object", "additionalProperties": _schema(arguments[1])}
