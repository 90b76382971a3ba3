"""Whether a failed step is tried again, after how long, or why not (pure)."""

from typing import NamedTuple

from hereya_tf.errors import FailureClass
from hereya_tf.failure.advice import AGAIN
from hereya_tf.failure.diagnosis import Diagnosis
from hereya_tf.retries import Retries, Situation
from hereya_tf.retries.rules import may_pass

FIRST_SECONDS = 2.0
FACTOR = 2.0
MOST_SECONDS = 60.0
# Long after the most has been reached, and long before a power is too large for a float.
_POWERS = 64

_LOCK_UNASKED = "`--retry-lock` would try again when the state is locked"
_CHANGED = (
    "it may pass, but something was changed before it failed: look at that first,"
    " or let `--retry-apply` try it again all the same"
)
_PLAN_USED_UP = (
    "it may pass, but the plan has been applied in part and fits no more, and nobody has looked at another one:"
    " run it again for a new plan"
)


class Verdict(NamedTuple):
    """Seconds to wait before the next try; None for none, and then what there is to say about that."""

    seconds: float | None
    note: str = ""
    hint: str | None = None

    def told(self, diagnosis: Diagnosis) -> Diagnosis:
        """The diagnosis of the last try, with that."""
        hints = tuple(hint for hint in diagnosis.hints if not self.note or hint != AGAIN)
        first = (self.hint,) if self.hint is not None else ()
        return diagnosis._replace(sentence=diagnosis.sentence + self.note, hints=(*first, *hints))


_NO = Verdict(None)


def decide(
    diagnosis: Diagnosis, at: Situation, wish: Retries, *, retried: int = 0, chance: float = 0.0
) -> Verdict:
    """The verdict on a failure of a step that was `retried` so often before; `chance` is from 0 up to 1."""
    if not wish.most or at.state_is_lost or diagnosis.needs_init:
        return _NO
    # One error that does not pass would be there again: then all of it is in vain.
    if not _all_pass(diagnosis, wish):
        return _NO
    is_locked = any(symptom.failure_class is FailureClass.STATE_LOCKED for symptom in diagnosis.symptoms)
    if is_locked and not wish.lock:
        return Verdict(None, hint=_LOCK_UNASKED)
    if at.changed and at.applies_plan:
        return Verdict(None, hint=_PLAN_USED_UP)
    if at.changed and not wish.apply:
        return Verdict(None, hint=_CHANGED)
    if retried >= wish.most:
        return Verdict(None, note=f"; tried {retried + 1} times")
    return Verdict(seconds_before(retried + 1, chance))


def seconds_before(retry: int, chance: float) -> float:
    """The wait before the first (1), second, … try again, in seconds.

    Twice as long each time, up to a minute; `chance` says where in its second half it ends, so that those who
    have failed together do not come back together.
    """
    whole = min(MOST_SECONDS, FIRST_SECONDS * FACTOR ** min(retry - 1, _POWERS))
    return whole * (1 + chance) / 2


def _all_pass(diagnosis: Diagnosis, wish: Retries) -> bool:
    return bool(diagnosis.symptoms) and all(
        symptom.failure_class is FailureClass.STATE_LOCKED
        or may_pass(symptom.failure_class, symptom.text, wish.rules)
        for symptom in diagnosis.symptoms
    )
