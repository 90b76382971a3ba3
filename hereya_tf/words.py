"""The words that front ends and reports share, and text that steers no terminal (pure)."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

Record = Mapping[str, Any]
"""An event as the JSON object of the contract."""

DONE = {
    "create": "created",
    "update": "updated",
    "delete": "destroyed",
    "read": "read",
    "refresh": "refreshed",
}
DOING = {
    "create": "creating",
    "update": "updating",
    "delete": "destroying",
    "read": "reading",
    "refresh": "refreshing",
}
_MEGABYTE = 1_000_000
# Control characters of the C0 and C1 sets, and the marks that turn the direction of text.
_CONTROLS = {
    **{code: f"\\x{code:02x}" for code in (*range(9), *range(11, 32), *range(127, 160))},
    **{
        code: f"\\u{code:04x}"
        for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)
    },
}
_ASKED_BECAUSE = {
    "signal": "interrupted",
    "timeout": "the time limit has passed",
    "idle": "the engine has been silent for too long",
    "request": "cancelled on request",
}

# What may pass, by its class.
_PASSING = {
    "provider-unavailable": "providers cannot be fetched",
    "module-unavailable": "a module cannot be fetched",
    "backend-unreachable": "the backend does not answer",
    "provider-error": "a provider has failed",
    "provider-crashed": "a provider did not start",
    "state-locked": "the state is locked",
}


def visible(text: str) -> str:
    """Text that cannot steer a terminal: escape sequences show as `\\x1b`."""
    return text.translate(_CONTROLS)


def flat(text: str) -> str:
    """Text that takes one line and steers nothing."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def listed(pieces: Iterable[str], conjunction: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; nothing for nothing."""
    *most, last = tuple(pieces) or ("",)
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def natural(address: str) -> list[tuple[int, str]]:
    """Addresses in the order that people count in: `a[2]` before `a[10]`. The engine's is another each time."""
    parts = re.split(r"([0-9]{1,18})", address)  # text and number in turns
    return [(int(part), "") if place % 2 else (-1, part) for place, part in enumerate(parts)]


def format_seconds(seconds: float) -> str:
    """`0.3s`, `12s`, `3m05s`, `1h02m`."""
    if seconds < 9.95:
        return f"{seconds:.1f}s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def counts_text(changes: Mapping[str, int]) -> str:
    """`1 added, 0 changed, 2 destroyed (1 replaced)`, with what else there was; `no changes`."""
    if not any(changes.values()):
        return "no changes"
    words = [("add", "added"), ("change", "changed"), ("destroy", "destroyed")]
    shown = [f"{changes[name]} {word}" for name, word in words]
    more = [("import", "imported"), ("forget", "forgotten")]
    shown += [f"{changes[name]} {word}" for name, word in more if changes[name]]
    # A replaced resource is counted as destroyed and as added as well.
    return ", ".join(shown) + (f" ({changes['replace']} replaced)" if changes["replace"] else "")


def achieved_text(record: Record) -> str:
    """What a run has come to, from its result; empty when that is all there is to say."""
    match record["operation"]:
        case "plan":
            return planned_text(record["changes"])
        case "drift":
            return "there is drift" if record["drift"] else "no drift"
        case "provision" | "destroy" | "apply":
            return counts_text(record["changes"])
    return ""


def planned_text(changes: Mapping[str, int]) -> str:
    """`1 to add, 0 to change, 2 to destroy (1 replaced)`, with what else there is; `no changes`."""
    if not any(changes.values()):
        return "no changes"
    shown = [f"{changes[name]} to {name}" for name in ("add", "change", "destroy")]
    shown += [f"{changes[name]} to {name}" for name in ("import", "forget") if changes[name]]
    return ", ".join(shown) + (f" ({changes['replace']} replaced)" if changes["replace"] else "")


def who_works(step: str) -> str:
    """Who is at work in a step: of all there are one is no command of the engine's."""
    return "the policy" if step == "policy" else "the engine"


def asked_because(reason: str, step: str) -> str:
    """Why a run is to end, from the reason of a `cancelling` event, and the step that is on."""
    return _ASKED_BECAUSE.get(reason, reason).replace("the engine", who_works(step))


def queue_text(ahead: int) -> str:
    """How many come first at a lock."""
    return "next in line" if ahead == 0 else f"{ahead} more ahead of this run"


def arrived_text(arrived: int, total: int | None) -> str:
    """`1.5 of 20.0 MB`, from bytes."""
    of = "" if total is None else f" of {total / _MEGABYTE:.1f}"
    return f"{arrived / _MEGABYTE:.1f}{of} MB"


def passing_text(failure_class: str) -> str:
    """Why something is tried again, from the class of its failure."""
    return _PASSING.get(failure_class, failure_class.replace("-", " "))


def again_text(record: Record) -> str:
    """`again in 4.2s: the backend does not answer`, from a `retry` event."""
    return f"again in {format_seconds(record['after_seconds'])}: {passing_text(record['class'])}"


def failed_text(exit_code: int | None) -> str:
    """`exit code 1`; None is for a command that a signal has ended."""
    return "ended by a signal" if exit_code is None else f"exit code {exit_code}"


def failed_after(step: str, exit_code: int | None, seconds: float) -> str:
    """`failed after 1.0s (exit code 1)`; a look for a lock that somebody has is no failure."""
    took = format_seconds(seconds)
    return f"not free, after {took}" if step == "lock" else f"failed after {took} ({failed_text(exit_code)})"


def diagnostic_text(record: Record) -> str:
    """A diagnostic with all it says, in several lines."""
    text = f"{record['severity']}: {record['summary']}"
    if place := record["range"]:
        text += f"\n  on {place['filename']} line {place['start_line']}"
        text += f", in {record['snippet']['context']}" if (record["snippet"] or {}).get("context") else ""
    elif record["address"]:
        text += f"\n  with {record['address']}"
    if record["detail"]:
        text += "\n" + "\n".join(f"  {line}" for line in record["detail"].split("\n"))
    return text


def short_error(record: Record) -> str:
    """An error while the run goes on, in one line: its whole text stands at the end of the run."""
    text = f"error: {' '.join(record['summary'].split())}"
    if place := record["range"]:
        return f"{text}, on {place['filename']} line {place['start_line']}"
    return f"{text}, with {record['address']}" if record["address"] else text
