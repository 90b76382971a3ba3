"""How long to go on with a control plane that fails, and how long to leave it alone (pure)."""

from typing import NamedTuple

from hereya_tf.control_plane.errors import ControlPlaneError

MOST_UNAUTHORIZED = 5
"""So many answers 401 in a row are the end (E4)."""

_FIRST_WAIT = 0.5  # seconds
_LONGEST_WAIT = 30.0  # seconds
# Seconds without one good answer after which nobody waits any more: before the first one, and later.
_FIRST_OUTAGE = 30.0
_LATER_OUTAGE = 300.0


def back_off(failures: int, chance: float) -> float:
    """Seconds to wait after so many failures in a row, from 1; `chance` from 0 to 1 spreads those who wait."""
    return min(_LONGEST_WAIT, _FIRST_WAIT * 2.0 ** min(failures - 1, 10)) * (0.5 + chance / 2)


class Patience(NamedTuple):
    """Calls in a row that have failed; `since` is when the last one succeeded, or everything began."""

    since: float
    failures: int = 0
    unauthorized: int = 0
    has_succeeded: bool = False

    def after_success(self, now: float) -> "Patience":
        """The control plane has answered: whatever was before counts no more."""
        return Patience(since=now, has_succeeded=True)

    def after_failure(self, error: ControlPlaneError) -> "Patience":
        """One more has failed."""
        return self._replace(
            failures=self.failures + 1, unauthorized=self.unauthorized + 1 if error.unauthorized else 0
        )

    def is_over(self, error: ControlPlaneError, now: float) -> bool:
        """Whether whoever waits for a job gives up after `error`, which is counted already.

        A token that was good a moment ago gets a few more chances: a server that starts up may not know it yet.
        """
        if error.unauthorized:
            return not self.has_succeeded or self.unauthorized >= MOST_UNAUTHORIZED
        return not error.is_temporary or now - self.since > (
            _LATER_OUTAGE if self.has_succeeded else _FIRST_OUTAGE
        )
