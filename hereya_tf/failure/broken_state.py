"""Which file on this machine holds a state that cannot be read (I/O)."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from hereya_tf.reading import read_regular_file
from hereya_tf.saved_backend import read_saved_backend
from hereya_tf.states.local import Condition, inspect_state

_STATE = "terraform.tfstate"
_LOCAL = "local"


def find_broken_state(package: Path, environment: Mapping[str, str]) -> str | None:
    """The path of the broken state, as seen from the package; None where it is not a file here.

    `environment` is the engine's: it names the data directory and the workspace.
    """
    for path in _candidates(package / environment.get("TF_DATA_DIR", ".terraform"), environment):
        if inspect_state(package / path).condition is Condition.BROKEN:
            return path
    return None


def _candidates(data_directory: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """Where the engine looks for a local state: of its workspace, and of the default one."""
    saved = read_saved_backend(data_directory) or {"type": _LOCAL}
    if saved.get("type") != _LOCAL:
        return
    settings = saved.get("config")
    named: Mapping[str, object] = settings if isinstance(settings, dict) else {}
    workspace = environment.get("TF_WORKSPACE") or _selected(data_directory)
    if workspace:
        yield f"{named.get('workspace_dir') or f'{_STATE}.d'}/{workspace}/{_STATE}"
    yield str(named.get("path") or _STATE)


def _selected(data_directory: Path) -> str:
    with contextlib.suppress(OSError, ValueError):
        return read_regular_file(data_directory / "environment").decode().strip()
    return ""
