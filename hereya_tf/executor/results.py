"""What a run has left in its result file (pure)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hereya_tf import exact


class OutputValue(NamedTuple):
    """The value of an output, numbers exact."""

    value: Any
    sensitive: bool


class RunEnd(NamedTuple):
    """How a run ended; `said` is the engine's stderr, else its stdout (already redacted)."""

    success: bool
    reason: str = ""
    env: Mapping[str, str] = {}
    outputs: Mapping[str, OutputValue] = {}
    failure_class: str | None = None
    said: str = ""


def read_run_end(text: str | None, exit_code: int | None) -> RunEnd:
    """The end of a run from its result file's text and its exit code (None: a signal ended it). Never raises.

    Both have to say so for a success: a result that is only half there is none.
    """
    result = _decoded(text)
    if result is None:
        how = "was killed" if exit_code is None else f"ended with exit code {exit_code}"
        return RunEnd(False, f"the run {how} and left no result")
    if result.get("success") is not True or exit_code != 0:
        failure = result.get("failure")
        failure = failure if isinstance(failure, dict) else {}
        said = _text(failure, "stderr") if _text(failure, "stderr").strip() else _text(failure, "stdout")
        reason = _text(result, "reason")
        if not reason:
            reason = (
                "the run was killed" if exit_code is None else f"the run ended with exit code {exit_code}"
            )
        return RunEnd(False, reason, failure_class=_text(failure, "class") or None, said=said)
    env, outputs = _members(result, "env"), _members(result, "outputs")
    return RunEnd(
        True,
        env={name: value for name, value in env.items() if isinstance(value, str)},
        outputs={
            name: OutputValue(output["value"], output.get("sensitive") is not False)
            for name, output in outputs.items()
            if isinstance(output, dict) and "value" in output
        },
    )


def _decoded(text: str | None) -> dict[str, Any] | None:
    try:
        result = exact.loads(text or "")
    except (ValueError, RecursionError):
        return None
    return result if isinstance(result, dict) else None


def _text(members: Mapping[str, Any], name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


def _members(result: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = result.get(name)
    return value if isinstance(value, dict) else {}
