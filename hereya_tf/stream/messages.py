"""One line of an engine's JSON stream -> Message (pure).

Both engines and all versions; hostile lines too. What is not understood stays readable as Log or PlainLine.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal

from hereya_tf import exact
from hereya_tf.stream.message_types import (
    ChangeSummary,
    Diagnostic,
    Drift,
    EmergencyState,
    Log,
    Message,
    Outputs,
    Phase,
    PlainLine,
    PlannedChange,
    ProvisionerHook,
    ProvisionerOutput,
    Range,
    ResourceHook,
    Snippet,
    StateLock,
    Version,
)
from hereya_tf.stream.outputs import read_output_values

_decode = json.JSONDecoder(parse_constant=exact.refuse_constant).raw_decode


def parse(line: str) -> Message:
    """The message in one line (without its newline); never raises, however long or odd the line is."""
    if not line.startswith("{"):
        return PlainLine(line)
    try:
        data, end = _decode(line)
        if end != len(line) and line[end:].strip():
            return PlainLine(line)
    except (ValueError, RecursionError):
        # An integer of more than 4,300 digits is legal in an output, and refused by the plain decoder.
        data = _decode_exactly(line)
    try:
        if _may_hold_surrogates(line):
            data = _well_formed(data)
        text = data["@message"]
        # Every line of an engine has these; what has not is somebody else's JSON.
        if type(text) is not str or "@level" not in data or "@timestamp" not in data:
            return PlainLine(line)
    except (KeyError, TypeError, RecursionError):
        return PlainLine(line)
    try:
        kind = data.get("type")
        if hook := _HOOKS.get(kind):
            return _read_hook(data["hook"], text, *hook)
        if reader := _READERS.get(kind):
            return reader(data)
        if kind == "outputs":
            return Outputs(read_output_values(raw(line)["outputs"]), text)
        if kind == "log" and "state" in data:
            return EmergencyState(_raw_state(line, data["state"]))
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError):
        pass
    return Log(_text(data["@level"]) or "info", text)


def raw(line: str) -> Any:
    """The JSON of one line, numbers exact; the line itself when it is not JSON."""
    data = _decode_exactly(line)
    if data is None:
        return line
    return _well_formed(data) if _may_hold_surrogates(line) else data


def _decode_exactly(line: str) -> Any:
    try:
        return exact.loads(line)
    except (ValueError, RecursionError):
        return None


def _may_hold_surrogates(line: str) -> bool:
    return "\\ud" in line or "\\uD" in line


def _well_formed(value: Any) -> Any:
    """Replace lone surrogates, which JSON can spell and no file or terminal can be given."""
    match value:
        case str():
            return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        case dict():
            return {_well_formed(key): _well_formed(item) for key, item in value.items()}
        case list():
            return [_well_formed(item) for item in value]
        case _:
            return value


def _raw_state(line: str, state: object) -> str:
    """The text of the member `state`: a slice and not a re-encoding, for it is the only copy."""
    if isinstance(state, str):
        return state
    try:
        # Inside a string the quotes of the key would be escaped; the comparison makes sure of the rest.
        text = line[line.index('"state":') + len('"state":') :].lstrip()
        decoded, end = exact.decode_prefix(text)
        return text[:end] if decoded == exact.loads(line)["state"] else line
    except (ValueError, RecursionError):
        return line


def _read_hook(hook: Any, text: str, phase: Phase, action: str) -> ResourceHook:
    if action == "invoke":
        return ResourceHook(phase, _string(hook["action"]["addr"]), action, None, None, text)
    address = hook["resource"]["addr"]
    if action != "refresh":
        # OpenTofu's ephemeral hooks have a text instead of an action.
        action = hook.get("action") or _ephemeral_action(hook["Msg"])
    if type(address) is not str or type(action) is not str:
        raise TypeError("address and action of a hook are strings")
    seconds = hook.get("elapsed_seconds")
    if type(seconds) not in _NUMBERS or not 0 <= seconds < _LONGEST:
        seconds = None
    return ResourceHook(phase, address, action, _text(hook.get("id_value")), seconds, text)


_NUMBERS = (int, float)
_LONGEST = 1e9


def _ephemeral_action(text: str) -> str:
    return {"Re": "renew", "Cl": "close"}.get(text[:2], "open")


def _read_version(data: Any) -> Version:
    engine: Literal["terraform", "tofu"] = "tofu" if "tofu" in data else "terraform"
    return Version(engine, _string(data[engine]), _text(data.get("ui")) or "")


def _read_diagnostic(data: Any) -> Diagnostic:
    found = data["diagnostic"]
    severity = found.get("severity")
    if severity not in ("error", "warning"):
        severity = "error" if data["@level"] == "error" else "warning"
    return Diagnostic(
        severity,
        _text(found.get("summary")) or data["@message"],
        _text(found.get("detail")) or "",
        _text(found.get("address")) or None,
        _read_range(found.get("range")),
        _read_snippet(found.get("snippet")),
    )


def _read_range(found: Any) -> Range | None:
    try:
        start, end = found["start"], found["end"]
        numbers = (start["line"], start["column"], end["line"], end["column"])
        return Range(_string(found["filename"]), *map(_count, numbers))
    except (LookupError, TypeError):
        return None


def _read_snippet(found: Any) -> Snippet | None:
    try:
        values = found.get("values") or ()
        return Snippet(
            _text(found["context"]),
            _string(found["code"]),
            _count(found["start_line"]),
            _count(found["highlight_start_offset"]),
            _count(found["highlight_end_offset"]),
            tuple((_string(item["traversal"]), _string(item["statement"])) for item in values),
        )
    except (LookupError, TypeError, AttributeError):
        return None


def _read_planned_change(data: Any) -> PlannedChange:
    change = data["change"]
    previous = change.get("previous_resource")
    return PlannedChange(
        _string(change["resource"]["addr"]),
        _string(change["action"]),
        _text(change.get("reason")),
        change.get("importing") is not None,
        _string(previous["addr"]) if previous else None,
        data["@message"],
    )


def _read_change_summary(data: Any) -> ChangeSummary:
    changes = data["changes"]
    add, change, destroy = (_count(changes[name]) for name in ("add", "change", "remove"))
    imported, forgotten = (_count(changes.get(name, 0)) for name in ("import", "forget"))
    return ChangeSummary(
        _string(changes["operation"]), add, change, destroy, imported, forgotten, data["@message"]
    )


def _read_drift(data: Any) -> Drift:
    return Drift(
        _string(data["change"]["resource"]["addr"]), _string(data["change"]["action"]), data["@message"]
    )


def _read_provisioner_output(data: Any) -> ProvisionerOutput:
    hook = data["hook"]
    return ProvisionerOutput(*map(_string, (hook["resource"]["addr"], hook["provisioner"], hook["output"])))


def _read_provisioner_hook(data: Any) -> ProvisionerHook:
    hook = data["hook"]
    phase = _PROVISIONER_PHASES[data["type"]]
    return ProvisionerHook(
        phase, _string(hook["resource"]["addr"]), _string(hook["provisioner"]), data["@message"]
    )


def _read_state_lock(data: Any) -> StateLock:
    return StateLock(data["type"] == "state_lock_acquire", data["@message"])


def _string(value: object) -> str:
    if type(value) is not str:
        raise TypeError("expected a string")
    return value


def _count(value: object) -> int:
    if type(value) is not int:
        raise TypeError("expected an integer")
    return value


def _text(value: object) -> str | None:
    return value if type(value) is str else None


_PROVISIONER_PHASES = {
    "provision_start": Phase.STARTED,
    "provision_complete": Phase.COMPLETED,
    "provision_errored": Phase.FAILED,
}
_HOOK_PHASES = {
    "start": Phase.STARTED,
    "progress": Phase.PROGRESS,
    "complete": Phase.COMPLETED,
    "errored": Phase.FAILED,
}
# Type of the line -> phase, and the action of hooks that do not name one.
_HOOKS: Mapping[Any, tuple[Phase, str]] = {
    **{f"apply_{word}": (phase, "") for word, phase in _HOOK_PHASES.items()},
    **{f"refresh_{word}": (phase, "refresh") for word, phase in _HOOK_PHASES.items()},
    **{f"ephemeral_op_{word}": (phase, "") for word, phase in _HOOK_PHASES.items()},
    **{f"action_{word}": (phase, "invoke") for word, phase in _HOOK_PHASES.items()},
    # OpenTofu's names
    "ephemeral_action_started": (Phase.STARTED, ""),
    "ephemeral_action_complete": (Phase.COMPLETED, ""),
}

_READERS: Mapping[Any, Callable[[Any], Message]] = {
    "version": _read_version,
    "diagnostic": _read_diagnostic,
    "planned_change": _read_planned_change,
    "resource_drift": _read_drift,
    "change_summary": _read_change_summary,
    "provision_start": _read_provisioner_hook,
    "provision_progress": _read_provisioner_output,
    "provision_complete": _read_provisioner_hook,
    "provision_errored": _read_provisioner_hook,
    "state_lock_acquire": _read_state_lock,
    "state_lock_release": _read_state_lock,
}
