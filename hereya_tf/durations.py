"""Durations as people write them: `90s`, `5m`, `1h30m`, `90d` (pure)."""

import re

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[wdhms]|$)")
_DAY = 24 * 3600.0
_SECONDS = {"w": 7 * _DAY, "d": _DAY, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "": 1.0}
# Go's durations end at 292 years.
_LONGEST = 100 * 365 * _DAY


def parse_duration(text: str) -> float:
    """Seconds that `text` names; a number without a unit counts seconds.

    Raises ValueError for anything that is not a sequence of number and unit (w, d, h, m, s, ms), and for more
    than 100 years.
    """
    compact = text.strip().lower()
    parts = _PART.findall(compact)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    complete = parts and "".join(number + unit for number, unit in parts) == compact
    if not complete or (parts[-1][1] == "" and len(parts) > 1) or seconds > _LONGEST:
        raise ValueError(f"`{text}` is not a duration such as `90s`, `5m` or `1h30m`")
    return seconds


def format_duration(seconds: float) -> str:
    """The shortest exact spelling that Go's time.ParseDuration reads too: 300 -> `5m`, 90 -> `1m30s`."""
    milliseconds = round(seconds * 1000)
    hours, milliseconds = divmod(milliseconds, 3_600_000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    whole, milliseconds = divmod(milliseconds, 1000)
    parts = ((hours, "h"), (minutes, "m"), (whole, "s"), (milliseconds, "ms"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"


def spell_duration(seconds: float) -> str:
    """The shortest exact spelling for people, who count days as well: 7776000 -> `90d`."""
    days, rest = divmod(seconds, _DAY)
    return f"{days:.0f}d{format_duration(rest) if rest else ''}" if days else format_duration(seconds)
