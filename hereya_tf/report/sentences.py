"""The sentences that every form of a report has in common (pure)."""

from collections.abc import Iterator, Sequence

from hereya_tf.errors import FailureClass
from hereya_tf.events import Operation
from hereya_tf.report.changes import kind_of
from hereya_tf.report.document import Report
from hereya_tf.report.fates import ACTING_OPERATIONS, ACTING_STEPS, Fate, ResourceFate
from hereya_tf.report.story import StepPart
from hereya_tf.words import achieved_text, failed_after, format_seconds, listed, passing_text

_ENDS = {
    "succeeded": "succeeded",
    "failed": "failed",
    "refused": "was refused",
    "cancelled": "was cancelled",
    "cancelling": "is being cancelled",
    "running": "is at work",
    "orphaned": "was killed, and its engine is still at work,",
    "died": "was killed",
    "timed_out": "has run out of time",
    "busy": "gave way to somebody else",
}
_LOCK_WORDS = {
    "Who": "held by",
    "Operation": "for",
    "Info": "info",
    "ID": "ID",
    "Path": "of",
    "Version": "version",
}
_WORTH_TELLING_SECONDS = 0.05


def headline(report: Report) -> str:
    """`provision of /package, workspace default, failed after 12s`."""
    end = _ENDS.get(report.status, report.status)
    what = f"{report.operation} of {report.package}, workspace {report.workspace or 'default'},"
    return f"{what} {end} after {format_seconds(report.seconds)}"


def facts(report: Report) -> Iterator[tuple[str, str]]:
    """What a reader of a failure needs to know besides the reason, as label and sentence, the hints last."""
    if report.failure_class is not None:
        code = "" if report.exit_code is None else f" (exit code {report.exit_code})"
        yield "class", f"{report.failure_class}{code}"
    if not report.success:
        for fate in Fate:
            those = report.those(fate)
            if those:
                yield str(fate), resources_text(those)
        state = state_text(report)
        if state is not None:
            yield "state", state
    if report.lock is not None:
        yield "lock", lock_text(report)
    for hint in report.hints:
        yield "hint", hint


def state_text(report: Report) -> str | None:
    """Whether the state is safe, and where it is when it is not; None when there was nothing to save."""
    if report.failure_class == FailureClass.STATE_CORRUPT:
        return "empty or broken; this run has not touched it"
    if report.failure_class == FailureClass.ERRORED_STATE:
        where = f", and is in `{report.errored_state}`" if report.errored_state is not None else ""
        # A recovery has perhaps mended something else before it came to this one.
        untouched = "" if report.operation == Operation.RECOVER else "; this run has touched nothing"
        return f"a later one could not be saved{where}{untouched}"
    if report.errored_state is not None:
        return f"could not be saved; the only complete copy is `{report.errored_state}`"
    if report.state_saved is False:
        return "could not be saved, and the engine has left no copy of it"
    touched = any(each.fate is not Fate.NOT_STARTED for each in report.fates)
    if report.state_saved is None and (touched or report.failure_class is not None):
        return "it is not known whether it was saved; what was in flight may exist and not be in it"
    if touched:
        return "saved, with everything that was done"
    return "as it was before: no resource was touched" if _is_untouched(report) else None


def _is_untouched(report: Report) -> bool:
    """Whether it is known that the run has changed nothing: a remote run tells nothing of resources."""
    if report.operation not in ACTING_OPERATIONS:
        return False
    acted = any(step.step in ACTING_STEPS for step in report.steps)
    return not acted or bool(report.planned or report.diagnostics)


def lock_text(report: Report) -> str:
    """Who holds the lock, since when, and how old it is."""
    lock = report.lock
    assert lock is not None
    holder = dict(lock.holder)
    if lock.kind == "state":
        said = [f"{word} {holder[name]}" for name, word in _LOCK_WORDS.items() if holder.get(name)]
        text = f"on the state, {', '.join(said)}"
    else:
        text = (
            f"on the {lock.kind}, held by {holder.get('operation')} of run {holder.get('run')}"
            f" (pid {holder.get('pid')} on {holder.get('host')})"
        )
    since = f", since {lock.since}" if lock.since else ""
    return text + since + (f" ({format_seconds(lock.age_seconds)} ago)" if lock.age_seconds else "")


def engine_text(report: Report) -> str | None:
    """`terraform 1.11.4 at /usr/bin/terraform (on PATH)`."""
    engine = report.engine
    return engine and f"{engine.name} {engine.version} at {engine.path} ({engine.chosen_by})"


def achieved(report: Report) -> str:
    """What the run has come to, in numbers; empty when that is all there is to say."""
    return achieved_text(report.result) if report.result is not None else ""


def resources_text(those: Sequence[ResourceFate], most: int = 4) -> str:
    """`3 resources: a, b and c`; of many the first few."""
    names = [each.address + (f" ({each.note})" if each.note else "") for each in those]
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return f"{len(those)} resource{'s' if len(those) > 1 else ''}: {listed(names)}"


def action_text(each: ResourceFate) -> str:
    """`created` for what is done, `create` for what is not."""
    kind = kind_of(each.action)
    return kind.done if each.fate is Fate.DONE else kind.word


def fate_text(each: ResourceFate) -> str:
    """One resource: `created aws_instance.web [id=i-1] in 12s`, `create db.main after 2s: …`."""
    identifier = f" [id={each.id}]" if each.id and each.fate is Fate.DONE else ""
    took = each.seconds or 0.0
    seconds = f" after {format_seconds(took)}" if took >= _WORTH_TELLING_SECONDS else ""
    note = f"; {each.note}" if each.note else ""
    return f"{action_text(each)} {each.address}{identifier}{seconds}{note}"


def step_text(step: StepPart) -> str:
    """How a step ended: `not needed`, `done after 12s`, `failed after 12s (exit code 1)`, and what came of that."""
    if step.skipped:
        return "not needed"
    if step.ended is None:
        return "not ended"
    took = format_seconds(step.seconds or 0.0)
    if step.ok:
        return f"done after {took}"
    return f"{failed_after(step.step, step.exit_code, step.seconds or 0.0)}{retried_text(step)}"


def retried_text(step: StepPart) -> str:
    """`, again after 2.0s: a provider has failed`, or nothing."""
    if step.again_after is None:
        return ""
    after = format_seconds(step.again_after)
    return f", again after {after}: {passing_text(step.failure_class or '')}"
