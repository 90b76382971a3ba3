"""The headers of a delivery, by their names in any spelling (pure)."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hereya_tf.errors import BadInput
from hereya_tf.triggers.errors import PipelineError, PipelineErrorCode

Headers = Mapping[str, str] | Sequence[tuple[str, str]]
"""What an HTTP server gives: a mapping, or pairs where a name may occur more than once."""


def find_header(
    headers: Headers, name: str, *, code: PipelineErrorCode = PipelineErrorCode.MALFORMED_EVENT
) -> str | None:
    """The value of a header, None when it is missing or empty; capitals do not matter.

    Raises PipelineError with `code` when it is there with different values: who is to say which one counts?
    """
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    values = {value.strip() for key, value in pairs if key.lower() == name.lower()} - {""}
    if len(values) > 1:
        raise PipelineError(
            code, f"the header `{name}` is there {len(values)} times, each time with another value"
        )
    return values.pop() if values else None


def parse_saved_headers(text: str, shown: str) -> tuple[tuple[str, str], ...]:
    """The headers in a saved file: `Name: value` lines up to an empty one, or a JSON object.

    Raises BadInput naming the file as `shown` and the line that is neither.
    """
    if text.lstrip()[:1] in ("{", "["):
        return tuple(_pairs(_document(text, shown), shown))
    return tuple(_lines(text, shown))


def _lines(text: str, shown: str) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(text.lstrip("\r\n").split("\n"), 1):
        stripped = line.rstrip("\r")
        if not stripped.strip():
            return
        name, colon, value = stripped.partition(":")
        if number == 1 and "HTTP/" in stripped and " " in name:
            continue  # the request's own line, which tools save as well
        if not colon or not name or name != name.strip():
            raise BadInput(
                f"`{shown}` holds more than headers: its line {number} is not `Name: value`",
                "save the headers of the delivery, one a line, or as one JSON object",
            )
        yield name, value.strip()


def _document(text: str, shown: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"`{shown}` is neither lines of headers nor JSON",
            "save them as they came: `Name: value`, one a line",
        ) from error


def _pairs(document: Any, shown: str) -> Iterator[tuple[str, str]]:
    if not isinstance(document, dict):
        raise BadInput(
            f"`{shown}` holds JSON, but no object of headers", 'such as `{"X-GitHub-Event": "push"}`'
        )
    for name, value in document.items():
        for each in value if isinstance(value, list) else [value]:
            if not isinstance(each, str):
                raise BadInput(
                    f"`{shown}` has a header whose value is neither a text nor a list of texts",
                    'such as `{"X-GitHub-Event": "push"}`',
                )
            yield name, each
