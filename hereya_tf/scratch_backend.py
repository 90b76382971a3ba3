"""Lets an engine read a generated backend's state without the package, without init and without a lock (I/O).

`output` takes the saved backend for initialised when it equals the one that is configured (Terraform 1.11 and
1.15: `backendConfigNeedsMigration`). It asks for no provider, whatever resources the state has.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from hereya_tf.errors import NoRoom
from hereya_tf.private import make_private_directory, write_private
from hereya_tf.workspace import DEFAULT_WORKSPACE, GeneratedBackend, backend_settings, override_text

_DATA_DIRECTORY = ".terraform"
# What the engine needs to be told when it runs there.
SCRATCH_ENVIRONMENT = {"TF_WORKSPACE": DEFAULT_WORKSPACE, "TF_DATA_DIR": _DATA_DIRECTORY}


def plain_settings(entries: Sequence[str], arguments: Sequence[str]) -> Mapping[str, str] | None:
    """The settings of `--backend-config NAME=VALUE`; None when it takes an init to know them all.

    That is so for a file, and for `-backend-config` among the user's own `arguments` for init.
    """
    names = (argument.lstrip("-").partition("=")[0] for argument in arguments)
    pairs = [entry.partition("=") for entry in entries]
    if "backend-config" in names or not all(separator for _, separator, _ in pairs):
        return None
    return {name.strip(): value for name, _, value in pairs}


def prepare_scratch(
    directory: Path, backend: GeneratedBackend, settings: Mapping[str, str], *, engine_version: str
) -> None:
    """Make the empty, private `directory` one where `output` reads `backend`'s state. Raises NoRoom.

    `settings` win over the backend's own, as in `-backend-config`.
    """
    try:
        write_private(directory / "main.tf", override_text(backend, settings))
        _save_backend(directory / _DATA_DIRECTORY, backend, settings, engine_version)
    except OSError as error:
        raise NoRoom(
            f"the state's backend cannot be noted in `{directory}`: {error.strerror}",
            "free some space, or point `HEREYA_TF_STATE_DIR` or `TMPDIR` to a disk that has some",
        ) from error


def _save_backend(
    data_directory: Path, backend: GeneratedBackend, settings: Mapping[str, str], engine_version: str
) -> None:
    # Texts will do for numbers and booleans, in the configuration as well as here.
    saved = {"type": backend.kind, "config": {**backend_settings(backend), **settings}, "hash": 0}
    document = {"version": 3, "terraform_version": engine_version, "backend": saved}
    make_private_directory(data_directory)
    write_private(data_directory / "terraform.tfstate", json.dumps(document))
