"""A failure in words: the short form that every caller knows, and the report of a run (pure)."""

from collections.abc import Mapping
from typing import Any

from hereya_tf.errors import ShellCommandError
from hereya_tf.events import Result


def reason_of(error: object) -> str:
    """The sentence of a ShellCommandError, and the text of anything else."""
    if isinstance(error, ShellCommandError):
        return str(error.args[0])
    return str(error)


def full_text(error: object) -> str:
    """The reason, and below it the whole stderr, or the whole stdout when stderr is blank; never both.

    Works on anything, with or without the attributes `stderr` and `stdout`; nothing is trimmed.
    """
    return reason_of(error) + captured_text(getattr(error, "stderr", None), getattr(error, "stdout", None))


def captured_text(stderr: object, stdout: object) -> str:
    """The captured part of a failure's text; empty when there is nothing but white space."""
    if isinstance(stderr, str) and stderr.strip():
        return "\n--- stderr ---\n" + stderr
    if isinstance(stdout, str) and stdout.strip():
        return "\n--- stdout ---\n" + stdout
    return ""


def failure_lines(record: Mapping[str, Any]) -> list[str]:
    """What a person needs to know of a result that is a failure, from its record."""
    failure = record["failure"]
    lines = [f"error: {record['reason']}"]
    lines.append(f"class: {failure['class']} (exit code {record['exit_code']})")
    lines += [f"hint: {hint}" for hint in (failure["hint"] or "").split("\n") if hint]
    state = failure["state"]
    if state["errored_state"]:
        lines.append(f"state: could not be saved; the only complete copy is `{state['errored_state']}`")
    elif state["saved"] is None:
        lines.append(
            "state: it is not known whether it was saved; what was in flight may exist and not be in it"
        )
    for name, text in (state["lock"] or {}).items():
        lines.append(f"lock: {name} {text}")
    return lines


def report_text(result: Result) -> str:
    """The whole report of a failed run."""
    from hereya_tf.events import record_of

    record = record_of(result, sequence=0, seconds=0.0, run="")
    failure = record["failure"]
    head = [f"{record['operation']} of {record['package']}, workspace {record['workspace']}"]
    engine = record["engine"]
    if engine is not None:
        head.append(f"engine: {engine['name']} {engine['version']}")
    head.append(f"after {record['timings']['total']} s: {record['status'].replace('_', ' ')}")
    body = failure_lines(record) if failure is not None else []
    captured = captured_text(failure["stderr"], failure["stdout"]) if failure is not None else ""
    return "\n".join((*head, "", *body)) + captured + ("" if captured.endswith("\n") else "\n")
