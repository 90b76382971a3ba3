"""What an engine step did, folded from its messages: bounded memory, whatever the length of the stream (pure)."""

from collections.abc import Mapping
from typing import NamedTuple

from hereya_tf.events import ChangeCounts, ChangeEvent
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
    ResourceHook,
)
from hereya_tf.stream.outputs import MISSING, Output

DIAGNOSTICS_KEPT = 1000
"""Errors and, apart from them, warnings: so many of each are kept, the rest is counted."""
_CHARACTERS_KEPT = 16 << 20
_ADDRESSES_KEPT = 10_000
_NO_CHANGE = frozenset(("noop", "read"))
_FINGERPRINTS_KEPT = 100_000

_PLAN = "plan"
_APPLY = "apply"
_INTERRUPTED = ("Interrupt received.", "Two interrupts received.")
# Operations that change nothing: ended at once, they lose nothing.
_HARMLESS = frozenset(("read", "refresh", "open", "renew", "close"))


class InFlight(NamedTuple):
    """An operation that has begun and not ended; `since` is the caller's clock, in seconds."""

    action: str
    since: float


class Summary:
    """What the messages of one step come to; feed it every message, in order."""

    def __init__(self) -> None:
        self.errors: list[Diagnostic] = []
        self.warnings: list[Diagnostic] = []
        self.error_count = 0
        self.warning_count = 0
        self.in_flight: dict[str, InFlight] = {}
        self.mutating = False
        self.plan: ChangeSummary | None = None
        self.final: ChangeSummary | None = None
        self.outputs: Mapping[str, Output] | None = None
        self.failed: list[str] = []
        self.drift = 0
        self._drifted: list[ChangeEvent] = []
        self._changes: list[ChangeEvent] = []
        self.interrupted = False
        self._has_text = False
        self.emergency_state: str | None = None
        self._done = ChangeCounts()
        self._planned = ChangeCounts()
        self._replacing: dict[str, str] = {}
        self._fingerprints: set[int] = set()
        self._room = _CHARACTERS_KEPT

    def add(self, message: Message, now: float = 0.0) -> bool:
        """Take one message in; False for a diagnostic that was there before. `now` is any clock's seconds."""
        match message:
            case ResourceHook():
                self._add_hook(message, now)
            case Diagnostic():
                return self._add_diagnostic(message)
            case PlannedChange():
                self._add_planned(message)
            case ChangeSummary():
                self._add_summary(message)
            case Outputs():
                # An earlier `outputs` message only says what is planned for each.
                if self.final is not None and self.final.operation == _APPLY:
                    self.outputs = message.values
            case Drift():
                self.drift += 1
                if len(self._drifted) < _ADDRESSES_KEPT:
                    self._drifted.append(ChangeEvent(message.address, message.action, "drift"))
            case EmergencyState():
                self.emergency_state = message.state
            case PlainLine():
                # A message that a full disk has cut off is no text.
                text = message.text.strip()
                self._has_text = self._has_text or (text != "" and not text.startswith("{"))
            case Log():
                self.interrupted = self.interrupted or message.text.lstrip().startswith(_INTERRUPTED)
            case _:
                pass
        return True

    @property
    def is_text_alone(self) -> bool:
        """Whether there was nothing to count and some text, as a remote run is told (`internal/cloud`)."""
        return self._has_text and self.plan is None and self.final is None and not self.mutating

    @property
    def done(self) -> ChangeCounts:
        """What was done, from completed operations, for a failed step has no summary of its own.

        Imports and forgotten resources have no operation: of an apply that came to its end they are known from the
        engine's last word, or, as Terraform 1.11 does not count what it forgets, from the plan before.
        """
        final = self.final
        if final is None:
            return self._done
        return self._done._replace(import_=final.import_, forget=max(final.forget, self._planned.forget))

    @property
    def planned(self) -> ChangeCounts:
        """What the plan would do; the engine's own numbers where it has given them."""
        plan = self.plan
        if plan is None:
            return self._planned
        return ChangeCounts(
            add=plan.add,
            change=plan.change,
            destroy=plan.destroy,
            replace=self._planned.replace,
            import_=plan.import_,
            forget=max(plan.forget, self._planned.forget),
        )

    @property
    def changes(self) -> tuple[ChangeEvent, ...]:
        """What is planned for each resource, as many as are kept."""
        return tuple(self._changes)

    @property
    def drifted(self) -> tuple[ChangeEvent, ...]:
        """What has happened to resources outside of the engine, as many as are kept; `drift` counts them all."""
        return tuple(self._drifted)

    @property
    def outputs_complete(self) -> bool:
        """Whether `outputs` has every value, so that the engine need not be asked for them."""
        return self.outputs is not None and all(
            output.value is not MISSING for output in self.outputs.values()
        )

    def _add_hook(self, hook: ResourceHook, now: float) -> None:
        mutates = hook.action not in _HARMLESS
        match hook.phase:
            case Phase.STARTED:
                self.mutating = self.mutating or mutates
                if len(self.in_flight) < _ADDRESSES_KEPT:
                    self.in_flight[hook.address] = InFlight(hook.action, now)
            case Phase.COMPLETED:
                self.in_flight.pop(hook.address, None)
                if mutates:
                    self._count_done(hook)
            case Phase.FAILED:
                self.in_flight.pop(hook.address, None)
                if len(self.failed) < _ADDRESSES_KEPT:
                    self.failed.append(hook.address)
            case Phase.PROGRESS:
                pass

    def _count_done(self, hook: ResourceHook) -> None:
        done = self._done
        match hook.action:
            case "create":
                self._done = done._replace(add=done.add + 1)
            case "update":
                self._done = done._replace(change=done.change + 1)
                return
            case "delete":
                self._done = done._replace(destroy=done.destroy + 1)
            case _:
                return
        half = self._replacing.get(hook.address)
        if half == "":
            self._replacing[hook.address] = hook.action
        elif half is not None and half != hook.action:
            del self._replacing[hook.address]
            self._done = self._done._replace(replace=done.replace + 1)

    def _add_planned(self, change: PlannedChange) -> None:
        planned = self._planned
        if change.action not in _NO_CHANGE and len(self._changes) < _ADDRESSES_KEPT:
            self._changes.append(ChangeEvent(change.address, change.action, change.reason))
        if change.importing:
            planned = planned._replace(import_=planned.import_ + 1)
        match change.action:
            case "create":
                planned = planned._replace(add=planned.add + 1)
            case "update":
                planned = planned._replace(change=planned.change + 1)
            case "delete":
                planned = planned._replace(destroy=planned.destroy + 1)
            case "replace":
                planned = planned._replace(
                    add=planned.add + 1, destroy=planned.destroy + 1, replace=planned.replace + 1
                )
                self._replacing.setdefault(change.address, "")
            case "remove" | "forget":
                planned = planned._replace(forget=planned.forget + 1)
            case _:
                pass
        self._planned = planned

    def _add_summary(self, summary: ChangeSummary) -> None:
        if summary.operation == _PLAN:
            self.plan = summary
            # A refresh or a read that failed does not say so; when the plan stands, none is left.
            self.in_flight.clear()
        else:
            self.final = summary

    def _add_diagnostic(self, diagnostic: Diagnostic) -> bool:
        # An engine repeats itself: init reports a configuration error twice, each phase its warnings.
        fingerprint = hash(diagnostic[:5])
        if fingerprint in self._fingerprints:
            return False
        if len(self._fingerprints) < _FINGERPRINTS_KEPT:
            self._fingerprints.add(fingerprint)
        if diagnostic.severity == "error":
            self.error_count += 1
            kept = self.errors
        else:
            self.warning_count += 1
            kept = self.warnings
        if len(kept) < DIAGNOSTICS_KEPT and (self._room > 0 or not kept):
            kept.append(diagnostic)
            self._room -= len(diagnostic.summary) + len(diagnostic.detail)
        return True


def succeeded(exit_code: int | None, summary: Summary, *, detailed_exitcode: bool = False) -> bool:
    """Whether exit code and stream agree that a step has come to a good end.

    Either alone lies: some versions answer 0 with an error, and 2 is `-detailed-exitcode` with changes as
    well as every Go crash. Changes that were made without a last summary have no good end either.
    """
    if summary.error_count or (summary.mutating and summary.final is None):
        return False
    return exit_code == 0 or (exit_code == 2 and detailed_exitcode and summary.plan is not None)
