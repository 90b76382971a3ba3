"""How long a failed delivery waits before it is tried again (pure)."""

from typing import NamedTuple

# Further doublings of a float end in infinity.
_MOST_DOUBLINGS = 1000
# Milliseconds of a hundred years: what is later than that has no place in the file.
LONGEST = 100 * 365 * 86_400_000


class Backoff(NamedTuple):
    """Doubles from `base` to `maximum` milliseconds; `jitter` is the share that chance may add."""

    base: float = 1_000
    maximum: float = 300_000
    jitter: float = 0.2

    def delay(self, attempts: int, chance: float) -> int:
        """Milliseconds to wait after so many attempts; `chance` is a random number from 0 to 1."""
        doublings = min(max(0, attempts - 1), _MOST_DOUBLINGS)
        return round(min(self.base * 2.0**doublings, self.maximum, LONGEST) * (1 + self.jitter * chance))
