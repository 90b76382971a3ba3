"""How a run ended, from what happened to the result that callers get (pure)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from hereya_tf.errors import Cancelled, EngineExit, FailureClass, HereyaError
from hereya_tf.events import StateInfo
from hereya_tf.failure.diagnosis import lock_holder
from hereya_tf.redaction import Redactor
from hereya_tf.stream.message_types import Diagnostic
from hereya_tf.stream.outputs import MISSING, Output, output_text


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
    if isinstance(error, EngineExit):  # whatever its code, which is not one of ours
        return Status.FAILED
    return _STATUS_OF_CODE.get(error.failure_class.exit_code, Status.FAILED)


def exit_code_of(error: HereyaError) -> int:
    """The exit code of a run that ends with this error."""
    return error.exit_code if isinstance(error, Cancelled | EngineExit) else error.failure_class.exit_code


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
        if output.value is MISSING:
            continue
        text = output_text(output.value)
        if not reveal and (output.sensitive or holds_credential(name, output.value, redactor)):
            withheld.append(name)
            continue
        outputs[name]["value"] = output.value
        env[name] = text
    return Outputs(env, outputs, tuple(withheld))


def holds_credential(name: str, value: Any, redactor: Redactor) -> bool:
    """Whether an output's value would be masked, as a text or in one of its leaves."""
    text = output_text(value)
    return redactor.text(text) != text or redactor.leaves({name: value}) != {name: value}


class EngineEnd(NamedTuple):
    """How the engine command that changed things ended, as far as the state is concerned."""

    mutated: bool
    by_itself: bool
    errored_state: str | None


def state_info(failure_class: FailureClass, errors: tuple[Diagnostic, ...], end: EngineEnd) -> StateInfo:
    """What is known of the state after a failure: whether it was saved, where else it is, whose lock it is.

    An engine that ends by itself, interrupted once or not, saves the state or says that it could not.
    """
    saved: bool | None
    if failure_class is FailureClass.STATE_NOT_SAVED or end.errored_state is not None:
        saved = False
    elif failure_class is FailureClass.STATE_CORRUPT:
        saved = None
    else:
        saved = True if end.by_itself or not end.mutated else None
    return StateInfo(saved, end.errored_state, lock_holder(errors) or None)
