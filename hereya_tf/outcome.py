"""How a run ended, from what happened to the result that callers get (pure)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from hereya_tf import exact
from hereya_tf.diagnosis import lock_holder
from hereya_tf.errors import Cancelled, FailureClass, HereyaError, ShellCommandError
from hereya_tf.events import DiagnosticEvent, FailureInfo, StateInfo
from hereya_tf.messages import Diagnostic, Output
from hereya_tf.redact import Redactor


class Status(StrEnum):
    """The word for how a run ended."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    BUSY = "busy"


_STATUS_OF_CODE = {3: Status.REFUSED, 8: Status.REFUSED, 4: Status.BUSY, 124: Status.TIMED_OUT}


class Outputs(NamedTuple):
    """A package's outputs in the form of the contract: `env` has texts, `outputs` keeps types."""

    env: Mapping[str, str]
    outputs: Mapping[str, Mapping[str, Any]]
    withheld: tuple[str, ...] = ()


def status_of(error: HereyaError) -> Status:
    """The status that goes with an error."""
    if isinstance(error, Cancelled):
        return Status.CANCELLED
    return _STATUS_OF_CODE.get(error.failure_class.exit_code, Status.FAILED)


def exit_code_of(error: HereyaError) -> int:
    """The exit code of a run that ends with this error."""
    return error.exit_code if isinstance(error, Cancelled) else error.failure_class.exit_code


def output_text(value: object) -> str:
    """What an output is as an environment variable: a string's text, JSON for anything else."""
    return value if isinstance(value, str) else exact.dumps(value)


def present_outputs(values: Mapping[str, Output], redactor: Redactor, *, reveal: bool) -> Outputs:
    """Outputs as a result shows them.

    Without `reveal` a sensitive output has no value, and one whose value holds a credential has none either:
    a masked value in its place would be taken for the real one.
    """
    env: dict[str, str] = {}
    outputs: dict[str, dict[str, Any]] = {}
    withheld = []
    for name, output in values.items():
        outputs[name] = {"type": output.type, "sensitive": output.sensitive}
        text = output_text(output.value)
        if not reveal and (output.sensitive or redactor.text(text) != text):
            withheld.append(name)
            continue
        outputs[name]["value"] = output.value
        env[name] = text
    return Outputs(env, outputs, tuple(withheld))


def failure_info(
    error: HereyaError, diagnostics: tuple[DiagnosticEvent, ...], state: StateInfo
) -> FailureInfo:
    """The failure of a result."""
    shell = error if isinstance(error, ShellCommandError) else None
    return FailureInfo(
        class_=error.failure_class,
        hint="; ".join(error.hints) or None,
        diagnostics=diagnostics,
        stderr=shell.stderr if shell is not None else "",
        stdout=shell.stdout if shell is not None else "",
        state=state,
    )


def state_info(
    error: HereyaError, errors: tuple[Diagnostic, ...], *, mutated: bool, errored_state: str | None
) -> StateInfo:
    """What is known of the state after a failure: whether it was saved, where the truth is, whose lock it is."""
    holder = lock_holder(errors) or None
    if error.failure_class is FailureClass.STATE_NOT_SAVED or errored_state is not None:
        saved: bool | None = False
    else:
        # Nothing was changed: what is stored is what there is. Ended by force: nobody can know.
        saved = True if not mutated else None
        if mutated and isinstance(error, ShellCommandError) and error.exit_code == 1:
            saved = True
    return StateInfo(saved, errored_state, holder)
