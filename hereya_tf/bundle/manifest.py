"""What a plan was made for, and its form as JSON (pure).

Everything that a reader may not see is there as a digest. Their salt is no part of the JSON: whoever
prints a manifest does not hand out a way to try values.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from hereya_tf.engine import EngineName

FORMAT = 1
"""The one that is written, and the newest that can be read."""

_KEYS = frozenset(
    ("format", "run", "created", "tool", "operation", "package", "engine", "state", "backend", "variables")
) | {"providers"}
_NOTHING: Mapping[str, str] = MappingProxyType({})
_OPERATIONS = {False: "provision", True: "destroy"}


class NewerFormatError(Exception):
    """A manifest of a format that is not known yet; the argument is its number."""


class StatePlace(NamedTuple):
    """Which state: the workspace and the type of the backend.

    A generated backend has its id as the workspace, and a `location`. `variables` are digests.
    """

    workspace: str
    backend: str
    location: str = ""
    region: str = ""
    lock_table: str = ""
    variables: Mapping[str, str] = _NOTHING


class VariableDigests(NamedTuple):
    """Digests of what was given: values by name, defaults of the package's author, files by path."""

    named: Mapping[str, str] = _NOTHING
    defaults: Mapping[str, str] = _NOTHING
    files: Mapping[str, str] = _NOTHING
    automatic: Mapping[str, str] = _NOTHING


class Identity(NamedTuple):
    """What a plan is for, or what is here; `files` and `variables` are digests with the same salt.

    `providers` are the versions that the lock file selects, None without one.
    """

    files: Mapping[str, str]
    engine: EngineName
    version: str
    embedded: bool
    place: StatePlace
    variables: VariableDigests
    providers: Mapping[str, str] | None


class Manifest(NamedTuple):
    """What a bundle says of its plan. `settings` are digests of what init has saved of the backend."""

    run: str
    created: str
    tool: str
    destroys: bool
    salt: bytes
    identity: Identity
    settings: Mapping[str, str]


def digest(salt: bytes, *parts: str | bytes) -> str:
    """A keyed digest of parts in their order; `salt` has up to 64 bytes."""
    import hashlib

    made = hashlib.blake2b(key=salt, digest_size=16)
    for part in parts:
        content = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        made.update(len(content).to_bytes(8, "big"))
        made.update(content)
    return made.hexdigest()


def encode_manifest(manifest: Manifest) -> str:
    """The JSON text, without the salt."""
    identity = manifest.identity
    place = identity.place
    document = {
        "format": FORMAT,
        "run": manifest.run,
        "created": manifest.created,
        "tool": manifest.tool,
        "operation": _OPERATIONS[manifest.destroys],
        "package": {"files": dict(identity.files)},
        "engine": {"name": identity.engine, "version": identity.version, "embedded": identity.embedded},
        "state": {
            "workspace": place.workspace,
            "location": place.location,
            "region": place.region,
            "lock_table": place.lock_table,
        },
        "backend": {
            "type": place.backend,
            "variables": dict(place.variables),
            "settings": dict(manifest.settings),
        },
        "variables": {name: dict(digests) for name, digests in identity.variables._asdict().items()},
        "providers": None if identity.providers is None else dict(identity.providers),
    }
    return json.dumps(document, indent=2) + "\n"


def decode_manifest(text: str, salt: bytes) -> Manifest:
    """Read the JSON text. Raises NewerFormatError, and ValueError for what is no manifest."""
    document = json.loads(text)
    version = document.get("format") if isinstance(document, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ValueError("it has no format")
    if version > FORMAT:
        raise NewerFormatError(version)
    if document.keys() != _KEYS:
        raise ValueError("its keys are not those of a manifest")
    engine, state, backend = (_object(document, key) for key in ("engine", "state", "backend"))
    variables = _object(document, "variables")
    operation = _text(document, "operation")
    if operation not in _OPERATIONS.values():
        raise ValueError("its operation is unknown")
    return Manifest(
        run=_text(document, "run"),
        created=_text(document, "created"),
        tool=_text(document, "tool"),
        destroys=operation == _OPERATIONS[True],
        salt=salt,
        identity=Identity(
            files=_texts(_object(document, "package"), "files"),
            engine=EngineName(_text(engine, "name")),
            version=_text(engine, "version"),
            embedded=engine.get("embedded") is True,
            place=StatePlace(
                workspace=_text(state, "workspace"),
                backend=_text(backend, "type"),
                location=_text(state, "location"),
                region=_text(state, "region"),
                lock_table=_text(state, "lock_table"),
                variables=_texts(backend, "variables"),
            ),
            variables=VariableDigests(**{name: _texts(variables, name) for name in VariableDigests._fields}),
            providers=None if document["providers"] is None else _texts(document, "providers"),
        ),
        settings=_texts(backend, "settings"),
    )


def _object(document: Mapping[str, Any], key: str) -> dict[str, Any]:
    match document.get(key):
        case dict() as members:
            return members
        case _:
            raise ValueError(f"`{key}` is no object")


def _text(document: Mapping[str, Any], key: str) -> str:
    match document.get(key):
        case str() as text:
            return text
        case _:
            raise ValueError(f"`{key}` is no text")


def _texts(document: Mapping[str, Any], key: str) -> dict[str, str]:
    members = _object(document, key)
    return {name: _text(members, name) for name in members}
