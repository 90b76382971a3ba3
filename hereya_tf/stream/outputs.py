"""Output values, wherever an engine prints them: `output -json` and its `outputs` messages (pure)."""

import json
import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, Final, NamedTuple

from hereya_tf import exact


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""Stands for a value the engine kept to itself; null is a value."""


class Output(NamedTuple):
    """One output: its value is MISSING when sensitive in a stream, or not known yet."""

    sensitive: bool
    type: Any = None
    value: Any = MISSING
    action: str | None = None


def output_text(value: Any) -> str:
    """The value as one environment variable: a string is itself, anything else JSON with every digit."""
    return value if isinstance(value, str) else exact.dumps(value)


def read_output_values(document: object) -> Mapping[str, Output]:
    """Outputs by name from the object that `output -json` prints or an `outputs` message holds.

    Raises ValueError when it is not such an object.
    """
    if not isinstance(document, dict):
        raise ValueError("the outputs are not a JSON object")
    return {name: _read_output(name, entry) for name, entry in document.items()}


def read_document(text: str) -> Any:
    """The one JSON object an engine printed, numbers exact, whatever was printed before and behind it.

    A document begins its line; only when none does is one looked for inside lines. Log lines are noise.
    Raises ValueError when there is none, when it is cut off, or when it is nested too deeply.
    """
    try:
        spans = list(_objects(text, at_line_start=True)) or list(_objects(text, at_line_start=False))
        if not spans:
            raise ValueError("there is no JSON document in the engine's output")
        start, end = max(spans, key=lambda span: span[1] - span[0])
        return exact.loads(text[start:end])
    except RecursionError:
        raise ValueError("the JSON document is nested too deeply") from None


def _read_output(name: str, entry: object) -> Output:
    if not isinstance(entry, dict):
        raise ValueError(f"output `{name}` is not a JSON object")
    action = entry.get("action")
    return Output(
        # What does not say that it may be shown is not shown.
        sensitive=entry.get("sensitive") is not False,
        type=entry.get("type"),
        value=entry.get("value", MISSING),
        action=action if isinstance(action, str) else None,
    )


# Only to find where documents end: digits stay text, so that none is too long for int().
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=exact.refuse_constant)


# How an object begins; anywhere, or at the start of a line.
_BEGINNING = re.compile(r'\{[ \t\r\n]*["}]')
_LINE_BEGINNING = re.compile(r'^\{[ \t\r\n]*["}]', re.MULTILINE)
# Each failed attempt costs a pass over the text before it, to tell its line: noise must not make it hours.
_ATTEMPTS = 10_000


def _objects(text: str, *, at_line_start: bool) -> Iterator[tuple[int, int]]:
    pattern = _LINE_BEGINNING if at_line_start else _BEGINNING
    position = 0
    for _ in range(_ATTEMPTS):
        found = pattern.search(text, position)
        if found is None:
            return
        start = found.start()
        position = start + 1
        try:
            value, position = _DECODER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if not at_line_start:
                # The inside of a document that was cut off is no document: go on behind the fault.
                unclosed = error.msg.startswith("Unterminated")
                position = len(text) if unclosed else max(error.pos, position)
            continue
        except ValueError:
            continue
        if "@level" not in value:
            yield start, position
