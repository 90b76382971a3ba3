"""Ids of deliveries, which never collide and sort by time (pure, but for the count)."""

import itertools
from collections.abc import Callable

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
# One count for all outboxes of the process: two of them may be asked in the same millisecond.
_sequence = itertools.count()


def new_id(now: int, entropy: Callable[[int], bytes]) -> str:
    """`evt_<base36 ms>_<base36 sequence>_<8 hex>`; `now` in milliseconds, `entropy` gives so many bytes."""
    return f"evt_{base36(now)}_{base36(next(_sequence))}_{entropy(4).hex()}"


def base36(number: int) -> str:
    """A number that is not negative, in digits and small letters."""
    digits = ""
    while number:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
    return digits or "0"
