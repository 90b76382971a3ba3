"""The body of a delivery: one JSON object, and what stands where in it (pure)."""

import json
from typing import Any
from urllib.parse import unquote_to_bytes

from hereya_tf.exact import refuse_constant
from hereya_tf.triggers.errors import malformed

_FORM = "application/x-www-form-urlencoded"
_FIELD = b"payload"


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object that `body` is; raises PipelineError (MALFORMED_EVENT) for anything else."""
    try:
        document = json.loads(body.decode(), parse_constant=refuse_constant)
    # Python's decoder gives up on what is nested too deep, and on numbers of too many digits.
    except (ValueError, RecursionError) as error:
        raise malformed("the body is not JSON in UTF-8") from error
    if not isinstance(document, dict):
        raise malformed("the body is JSON, but not an object")
    return document


def read_form_or_object(body: bytes, content_type: str | None) -> dict[str, Any]:
    """Like `read_object`, but the JSON may be the field `payload` of a form (GitHub, Gitea: a choice there)."""
    kind = (content_type or "").partition(";")[0].strip().lower()
    # A saved delivery may have lost the header; no JSON begins like that.
    if kind == _FORM or (not kind and body.startswith(_FIELD + b"=")):
        return read_object(_form_field(body))
    return read_object(body)


def _form_field(body: bytes) -> bytes:
    fields = [
        value for name, _, value in (part.partition(b"=") for part in body.split(b"&")) if name == _FIELD
    ]
    if len(fields) != 1:
        raise malformed("the body is a form that has not exactly one field `payload`")
    return unquote_to_bytes(fields[0].replace(b"+", b" "))


def find(document: Any, *path: str) -> Any:
    """What stands at `path`; None where there is nothing, or no object on the way."""
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def text_at(document: Any, *path: str) -> str:
    """The text at `path`; raises PipelineError (MALFORMED_EVENT) when there is none."""
    value = find(document, *path)
    if not isinstance(value, str):
        raise malformed(f"`{'.'.join(path)}` of the event is missing, or not a text")
    return value


def list_at(document: Any, *path: str) -> list[Any]:
    """The list at `path`; raises PipelineError (MALFORMED_EVENT) when there is none."""
    value = find(document, *path)
    if not isinstance(value, list):
        raise malformed(f"`{'.'.join(path)}` of the event is missing, or not a list")
    return value


def message_at(document: Any, *path: str) -> str | None:
    """The text at `path` when it is one; what is no character becomes `?`."""
    value = find(document, *path)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
