"""Durations as people write them: `90s`, `5m`, `1h30m`."""

import re

_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def parse_duration(text: str) -> float:
    """Seconds that `text` names; a number without a unit counts seconds.

    Raises ValueError for anything that is not a sequence of number and unit (h, m, s, ms).
    """
    compact = text.strip().lower()
    if re.fullmatch(r"\d+(\.\d+)?", compact):
        return float(compact)
    parts = _PART.findall(compact)
    if not parts or "".join(number + unit for number, unit in parts) != compact:
        raise ValueError(f"`{text}` is not a duration such as `90s`, `5m` or `1h30m`")
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def format_duration(seconds: float) -> str:
    """The shortest exact spelling that Go's time.ParseDuration reads too: 300 -> `5m`, 90 -> `1m30s`."""
    milliseconds = round(seconds * 1000)
    hours, milliseconds = divmod(milliseconds, 3_600_000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    whole, milliseconds = divmod(milliseconds, 1000)
    parts = ((hours, "h"), (minutes, "m"), (whole, "s"), (milliseconds, "ms"))
    return "".join(f"{number}{unit}" for number, unit in parts if number) or "0s"
