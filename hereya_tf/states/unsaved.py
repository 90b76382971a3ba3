"""Notes on states that are not where they belong: each keeps every later run of its workspace from acting (I/O).

A note is a small JSON file below the state directory, named by digests of the workspace's key and of the file
that holds the state. What cannot be read there is never taken for nothing.
"""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.errors import ErroredState
from hereya_tf.private import make_private_directory, write_private
from hereya_tf.reading import read_regular_file, reason
from hereya_tf.states.identity import StateIdentity

_DIRECTORY = "unsaved"
_SUFFIX = ".json"
_LARGEST_NOTE = 1 << 20  # bytes
_TEXTS = ("run", "package", "workspace", "key", "file", "lineage", "since")


class Unsaved(NamedTuple):
    """A state that its engine could not save: of which run and workspace, and the file that holds it now.

    `serial` is None and `lineage` empty where the file does not say them; `since` is RFC 3339.
    """

    run: str
    package: str
    workspace: str
    key: str
    file: str
    serial: int | None
    lineage: str
    since: str


def note_unsaved(state_directory: Path, unsaved: Unsaved) -> None:
    """Note that a state is not where it belongs; it is on the disk for good then. Raises OSError."""
    path = note_path(state_directory, unsaved)
    make_private_directory(path.parent)
    write_private(path, json.dumps(unsaved._asdict()) + "\n", durable=True)


def unsaved_of(
    state_directory: Path, key: str, *, package: str = "", workspace: str = ""
) -> tuple[Unsaved, ...]:
    """What is noted for the workspace of this key, oldest first; nearly always nothing.

    With `package` and `workspace` it is what is noted for their state, when a key was chosen by the user: that says
    nothing about the state. Raises ErroredState for what cannot be read.
    """
    directory = state_directory / _DIRECTORY
    try:
        names = sorted(os.listdir(directory))  # noqa: PTH208 - nearly always there is none
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _unreadable(directory, reason(error)) from error
    found = list(_read_all(directory, names, key, package, workspace))
    return tuple(sorted(found, key=lambda unsaved: (unsaved.since, unsaved.file)))


def settle(state_directory: Path, unsaved: Unsaved) -> None:
    """The state is where it belongs, or nobody wants it any more: forget the note. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        note_path(state_directory, unsaved).unlink()


def note_path(state_directory: Path, unsaved: Unsaved) -> Path:
    """The file that a note is in."""
    return state_directory / _DIRECTORY / f"{_digest(unsaved.key)}-{_digest(unsaved.file)[:16]}{_SUFFIX}"


def _read_all(directory: Path, names: list[str], key: str, package: str, workspace: str) -> Iterator[Unsaved]:
    ours = f"{_digest(key)}-"
    for name in names:
        is_ours = name.startswith(ours)
        # Hidden is what somebody is writing, or has not come to write.
        if name.startswith(".") or not (is_ours or package):
            continue
        try:
            unsaved = _read(directory / name)
        except (OSError, ValueError, RecursionError) as error:
            # One that has gone was just settled.
            if is_ours and os.path.lexists(directory / name):
                why = reason(error) if isinstance(error, OSError) else "it is damaged"
                raise _unreadable(directory / name, why) from error
            continue
        asked = StateIdentity(key, package, workspace)
        noted = StateIdentity(unsaved.key, unsaved.package, unsaved.workspace)
        if asked.is_of(noted) if package else is_ours:
            yield unsaved


def _read(path: Path) -> Unsaved:
    """Raises OSError, ValueError."""
    fields: Any = json.loads(read_regular_file(path, at_most=_LARGEST_NOTE))
    if not isinstance(fields, dict) or not all(isinstance(fields.get(name), str) for name in _TEXTS):
        raise ValueError("not a note")
    serial = fields.get("serial")
    if serial is not None and type(serial) is not int:
        raise ValueError("not a serial")
    return Unsaved(serial=serial, **{name: fields[name] for name in _TEXTS})


def _unreadable(path: Path, why: str) -> ErroredState:
    return ErroredState(
        f"`{path}` cannot be read, and may tell of a state that could not be saved: {why}",
        "make it readable, or remove it when no state of this workspace is missing",
    )


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
