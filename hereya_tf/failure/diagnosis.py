"""Why a step failed: one class, sentence and hints, from all that is known of it (pure)."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from hereya_tf.errors import FailureClass
from hereya_tf.stream.message_types import Diagnostic


class Symptom(NamedTuple):
    """One of the errors that came together: the class that it would mean alone, and what it says in one line."""

    failure_class: FailureClass
    text: str


class Diagnosis(NamedTuple):
    """What a failure is and what to do about it.

    `needs_init`: the engine wants an init first. `transient`: what the sentence tells may well not happen again.
    `symptoms` are all that was found, in no order.
    """

    failure_class: FailureClass
    sentence: str
    hints: tuple[str, ...] = ()
    needs_init: bool = False
    transient: bool = False
    symptoms: tuple[Symptom, ...] = ()


def diagnose(
    errors: Sequence[Diagnostic],
    *,
    exit_code: int | None,
    signal: int | None,
    stderr: str,
    engine_name: str = "terraform",
    out_of_memory: bool = False,
    failed: Collection[str] = (),
    private: str = "",
    state: str | None = None,
) -> Diagnosis:
    """The diagnosis of a failed step.

    `errors` are the stream's. `signal` is the number of the signal that ended the engine, `out_of_memory`
    says that the system has ended a process here for its memory meanwhile, `failed` are the addresses whose
    operation failed (the error of a failed destroy has no address of its own). No place in the directory
    `private` is told, and `state` is where a broken state lies, when that is known.
    """
    # The tables are for failures: a run that has none does not wait for them.
    from hereya_tf.failure.explanation import explain
    from hereya_tf.failure.process_end import ProcessEnd

    end = ProcessEnd(exit_code, signal, stderr, out_of_memory)
    explained = explain(errors, end, engine_name, failed, private, state)
    return Diagnosis(*explained[:5], tuple(Symptom(*symptom) for symptom in explained[5]))


def worth_telling(errors: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The errors, but for the one that `init` puts over or under the cause, unless it is all there is."""
    from hereya_tf.failure.explanation import without_umbrella

    return tuple(without_umbrella(errors) if len(errors) > 1 else errors)


def lock_holder(errors: Sequence[Diagnostic]) -> Mapping[str, str]:
    """Who holds the state lock: ID, Path, Operation, Who, Version, Created, Info, as far as they are known.

    Empty when no error says that the lock is held.
    """
    from hereya_tf.failure.explanation import find_holder

    return find_holder(errors) if errors else {}
