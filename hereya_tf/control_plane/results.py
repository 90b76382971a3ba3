"""What a job has come to, as it travels: `{success, env}`, `{success, reason}` or `{error}` (pure)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hereya_tf import exact

NO_REASON = "no reason was given"


class Succeeded(NamedTuple):
    """The job was done; `env` has its outputs as texts."""

    env: Mapping[str, str]


class Failed(NamedTuple):
    """The job was not done."""

    reason: str


Result = Succeeded | Failed


def encode_result(result: Result) -> str:
    """A result as the JSON text that an update carries."""
    match result:
        case Succeeded(env):
            return exact.dumps({"success": True, "env": dict(env)})
        case Failed(reason):
            return exact.dumps({"success": False, "reason": reason})


def read_result(value: object) -> Result | None:
    """The result that a control plane keeps of a job: an object, or its JSON text; None for none.

    An output that is no text becomes JSON text. What is neither a success nor says why is a failure.
    """
    if isinstance(value, str):
        try:
            value = exact.loads(value)
        except (ValueError, RecursionError):
            return Failed(str(value))
    match value:
        case None:
            return None
        case {"success": True, **rest}:
            return Succeeded(_texts(rest.get("env")))
        case dict():
            return Failed(_why(value))
        case _:
            return Failed(NO_REASON)


def _why(value: Mapping[str, Any]) -> str:
    for said in (value.get("reason"), value.get("error")):
        text = said.get("message") if isinstance(said, dict) else said
        if isinstance(text, str) and text:
            return text
    return NO_REASON


def _texts(env: Any) -> dict[str, str]:
    if not isinstance(env, dict):
        return {}
    return {name: value if isinstance(value, str) else exact.dumps(value) for name, value in env.items()}
