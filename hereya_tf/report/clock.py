"""The moments of a log as seconds that never go back, though somebody may have set the clock (pure)."""

from datetime import datetime

# Clocks that are kept right go back by so much, and nobody remarks on it.
_UNREMARKABLE_SECONDS = 1.0


class LogClock:
    """Ask for beginnings in the order they were written down.

    Where one lies before what came first, the clock was set back: all that comes then is moved by as much as
    is known to be missing. A moment that makes no sense is taken for the latest.
    """

    def __init__(self, began: str) -> None:
        self._began = _moment(began)
        self._latest = 0.0
        # What is added to moments, from one time that it was set back to the next.
        self._shifts = [0.0]

    @property
    def went_back(self) -> bool:
        """Whether it was set back by more than clocks go wrong by."""
        return self._shifts[-1] > _UNREMARKABLE_SECONDS

    @property
    def age(self) -> int:
        """How often it was set back: `end_of` wants to know when something had begun."""
        return len(self._shifts) - 1

    def begin_of(self, moment: str) -> float:
        """When the next part began, in seconds."""
        return self._reach(self._raw(moment) + self._shifts[-1], self._latest)

    def end_of_step(self, moment: str, begin: float, seconds: float) -> float:
        """When a step ended that took so many seconds by a clock that nobody can set."""
        now = self._raw(moment) + self._shifts[-1]
        least = begin + seconds
        return self._reach(now, begin if now >= least - _UNREMARKABLE_SECONDS else least)

    def end_of(self, moment: str, begin: float, age: int = 0) -> float:
        """When something ended that had begun at `begin`, when the clock had this age: never before."""
        raw = self._raw(moment)
        return next((raw + shift for shift in self._shifts[age:] if raw + shift >= begin), begin)

    def _reach(self, seconds: float, least: float) -> float:
        if seconds < least:
            self._shifts.append(self._shifts[-1] + least - seconds)
        self._latest = max(seconds, least)
        return self._latest

    def _raw(self, moment: str) -> float:
        found = _moment(moment)
        if found is None or self._began is None:
            return self._latest - self._shifts[-1]
        return (found - self._began).total_seconds()


def _moment(text: str) -> datetime | None:
    """RFC 3339 as a moment; None for what is not."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None
