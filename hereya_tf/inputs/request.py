"""Reads a request: one JSON object with everything an executor or a script wants of a run (I/O)."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf import exact
from hereya_tf.errors import BadInput
from hereya_tf.inputs.given import Given, Source, check_environment_entry, decode_json, is_encodable
from hereya_tf.reading import PATIENCE, decode_text, read_descriptor, read_input_file, reason

_KEYS = ("id", "pkgPath", "env", "parameters", "infraConfig")
_STATE_KEYS = (
    "terraformStateBucketName",
    "terraformStateBucketRegion",
    "terraformStateLockTableName",
    "localStatePath",
)


class Request(NamedTuple):
    """What a request asks for; what it leaves out is None or empty."""

    id: str | None
    package: str | None
    environment: tuple[tuple[str, str], ...]
    parameters: tuple[Given, ...]
    state_bucket: str | None
    state_region: str | None
    state_lock_table: str | None
    state_path: str | None
    warnings: tuple[str, ...]


def read_request(source: str, *, stdin: int = 0, limit_seconds: float = PATIENCE) -> Request:
    """Read a request from a file, or with `-` from the descriptor `stdin`.

    Raises BadInput; also when the end does not come within `limit_seconds` and 64 MiB.
    """
    where = "stdin" if source == "-" else source
    try:
        if source == "-":
            data = read_descriptor(stdin, limit_seconds=limit_seconds)
        else:
            data = read_input_file(Path(source), limit_seconds=limit_seconds)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"the request `{where}` cannot be read: {reason(error)}",
            "`--request` takes a file, or `-` and the request on stdin",
        ) from error
    return parse_request(decode_text(data, where), where)


def parse_request(text: str, where: str) -> Request:
    """Read a request's text; raises BadInput naming a key and what was expected, never a value."""
    document = decode_json(text, f"the request `{where}`")
    if not isinstance(document, dict):
        raise BadInput(
            f"the request `{where}` must be one JSON object",
            'it looks like `{"pkgPath": "DIRECTORY", "parameters": {"NAME": "VALUE"}}`',
        )
    state = _object(document, "infraConfig", where)
    bucket, region, table, path = (_text(state, key, where, "infraConfig.") for key in _STATE_KEYS)
    unknown = [
        *(key for key in document if key not in _KEYS),
        *(f"infraConfig.{key}" for key in state if key not in _STATE_KEYS),
    ]
    return Request(
        id=_text(document, "id", where),
        package=_text(document, "pkgPath", where),
        environment=tuple(_environment(_object(document, "env", where), where)),
        parameters=tuple(
            Given(name, value, isinstance(value, str), Source.REQUEST, where)
            for name, value in _object(document, "parameters", where).items()
        ),
        state_bucket=bucket,
        state_region=region,
        state_lock_table=table,
        state_path=path,
        warnings=tuple(f"the request `{where}` has an unknown key `{key}`, left out" for key in unknown),
    )


def _object(document: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    match document.get(key):
        case None:
            return {}
        case dict() as members:
            return members
        case _:
            raise _unexpected(key, where, "an object")


def _text(document: Mapping[str, Any], key: str, where: str, prefix: str = "") -> str | None:
    match document.get(key):
        case None:
            return None
        # An empty one is a variable somewhere that was not set: to go on without it may be another state.
        case str() as text if text and "\0" not in text and is_encodable(text):
            return text
        case _:
            raise _unexpected(prefix + key, where, "a text that is not empty")


def _environment(entries: Mapping[str, Any], where: str) -> Iterator[tuple[str, str]]:
    for name, value in entries.items():
        match value:
            case None:
                continue
            case str():
                text = value
            case dict() | list():
                raise _unexpected(f"env.{name}", where, "text (JSON text for a list or an object)")
            case _:
                text = exact.dumps(value)
        check_environment_entry(name, text, where)
        yield name, text


def _unexpected(key: str, where: str, expected: str) -> BadInput:
    return BadInput(
        f"`{key}` in the request `{where}` must be {expected}", "leave it out when there is nothing to say"
    )
