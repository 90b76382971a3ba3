"""Keeps init from taking a package's own state along into a generated backend (I/O).

Init compares the backend with the one it saved in the data directory. Where it has saved none, `-reconfigure`
or not, it wants to copy every state that lies in the package, and asks. So it is given one that it has saved.
"""

import contextlib
import json
import os
from collections.abc import Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Any

from hereya_tf.errors import BadPackage, no_room
from hereya_tf.private import write_private
from hereya_tf.reading import read_regular_file
from hereya_tf.workspace import BackendKind, GeneratedBackend

_OWN_STATES = ("terraform.tfstate", "terraform.tfstate.d")


class Move(Enum):
    """What init is to make of the backend that it saved the last time."""

    # Forget it: nothing lies in the package that could be copied.
    RECONFIGURE = auto()
    # It is the same one, and there is nothing to do.
    KEEP = auto()
    # It has no state, and that is what is copied.
    MIGRATE_NOTHING = auto()


def choose_move(
    package: Path, backend: GeneratedBackend, *, has_settings: bool, arguments: Sequence[str]
) -> Move:
    """How init gets from what it saved to `backend`; `arguments` are the user's own for init."""
    names = {argument.lstrip("-").partition("=")[0] for argument in arguments}
    # The user's word; and the engine takes only one of it and `-migrate-state`.
    if "reconfigure" in names or not any(os.path.lexists(package / name) for name in _OWN_STATES):
        return Move.RECONFIGURE
    if backend.kind is BackendKind.LOCAL and not has_settings and "backend-config" not in names:
        return Move.KEEP
    return Move.MIGRATE_NOTHING


def prepare_move(package: Path, backend: GeneratedBackend, move: Move, *, engine_version: str) -> None:
    """Put the saved backend that `move` begins with into the data directory. Raises BadPackage.

    The engine's own format of that file, version 3, by its source.
    """
    match move:
        case Move.RECONFIGURE:
            return
        case Move.KEEP:
            settings: dict[str, str | None] = {"path": backend.path, "workspace_dir": None}
            if read_saved_backend(package / backend.data_directory) == {"type": "local", "config": settings}:
                return
        case Move.MIGRATE_NOTHING:
            # Names that nothing has ever had: no state can be there.
            nowhere = f"{backend.data_directory}/nothing-{os.urandom(8).hex()}"
            settings = {"path": nowhere, "workspace_dir": f"{nowhere}.d"}
    saved = {"type": "local", "config": settings, "hash": 0}
    path = package / backend.data_directory / "terraform.tfstate"
    text = json.dumps({"version": 3, "terraform_version": engine_version, "backend": saved})
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, text)
    except OSError as error:
        sentence = f"the generated backend cannot be noted in `{path}`: {error.strerror}"
        raise no_room(error, sentence) or BadPackage(
            sentence,
            "a generated backend needs a package directory that can be written to; a copy of it will do",
        ) from error


def read_saved_backend(data_directory: Path) -> dict[str, Any] | None:
    """The backend that the last init in there saved, without the digest of its text."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        document = json.loads(read_regular_file(data_directory / "terraform.tfstate"))
        if isinstance(document, dict) and isinstance(saved := document.get("backend"), dict):
            return {name: value for name, value in saved.items() if name != "hash"}
    return None
