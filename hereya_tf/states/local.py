"""Where the local state of a run lies, and whether it is whole (I/O)."""

import json
import os
import re
import stat
from collections.abc import Iterator
from enum import Enum, auto
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from hereya_tf.reading import open_regular_file, reason
from hereya_tf.saved_backend import read_saved_backend
from hereya_tf.states.identity import StateIdentity
from hereya_tf.states.scanning import find_flaw
from hereya_tf.workspace import DEFAULT_WORKSPACE, BackendKind, Workspace

LOCAL = "local"
"""The type of the backend that keeps its states in files."""
_STATE = "terraform.tfstate"
_WORKSPACES = "terraform.tfstate.d"
# Larger ones are looked through, and not read into memory.
_PARSED_BYTES = 16 << 20
# Both engines begin a state with what tells it from others; `jq -S` puts some of that to the end.
_HEAD_BYTES = 1 << 16
_NUMBER = rb'"%s"\s*:\s*(\d{1,18})\b'
_VERSION, _SERIAL = (re.compile(_NUMBER % name) for name in (b"version", b"serial"))
_LINEAGE = re.compile(rb'"lineage"\s*:\s*"([^"\\]{0,200})"')
_LONGEST_NUMBER = 18


class Condition(Enum):
    """What a state file is; UNKNOWN is what only the engine can tell."""

    MISSING = auto()
    WHOLE = auto()
    ENCRYPTED = auto()
    EMPTY = auto()
    BROKEN = auto()
    UNKNOWN = auto()


class LocalState(NamedTuple):
    """A state file as it is: `size` in bytes, `modified` in seconds since 1970, `flaw` why it is not whole.

    `serial` is None and `lineage` empty where the file does not say them.
    """

    path: Path
    condition: Condition
    serial: int | None = None
    lineage: str = ""
    size: int = 0
    modified: float = 0.0
    flaw: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether an engine that knows its key can read it."""
        return self.condition in (Condition.WHOLE, Condition.ENCRYPTED)

    @property
    def is_ruined(self) -> bool:
        """Whether it was a state, or was to become one, and is none."""
        return self.condition in (Condition.EMPTY, Condition.BROKEN)


class Whereabouts(NamedTuple):
    """What tells where a run's state is.

    `own_backend` is the type of the backend that the package itself has. `has_settings` says that more settings
    are given to init; `path_setting` is the `path` among them where that is known.
    """

    package: Path
    workspace: Workspace
    own_backend: str | None
    has_settings: bool = False
    path_setting: str | None = None

    @property
    def identity(self) -> StateIdentity:
        """Which state it is."""
        return StateIdentity(self.workspace.key, str(self.package), self.workspace.name)

    @property
    def needs_init(self) -> bool:
        """Whether only an init tells where a local state is."""
        generated = self.workspace.backend
        if generated is None:
            return self.own_backend == LOCAL
        return generated.kind is BackendKind.LOCAL and self.has_settings and self.path_setting is None

    def local_state(self, *, initialised: bool) -> Path | None:
        """The file that holds the state; None when that is somewhere else, or only an init can tell."""
        generated = self.workspace.backend
        if generated is None and self.own_backend is None:
            return self.package / _place({}, self.workspace.name)
        if generated is not None and generated.kind is not BackendKind.LOCAL:
            return None
        if self.needs_init:
            return self.saved_state() if initialised else None
        return self.package / (self.path_setting or generated.path) if generated is not None else None

    def saved_state(self) -> Path | None:
        """The file that holds the state by what the last init has saved; None when that is not a local one."""
        saved = self._saved_backend()
        name = self.workspace.name if self.workspace.backend is None else DEFAULT_WORKSPACE
        return self.package / _place(saved.get("config"), name) if saved.get("type") == LOCAL else None

    def _saved_backend(self) -> dict[str, Any]:
        return read_saved_backend(self.package / self.workspace.data_directory) or {}

    def states_to_migrate(self) -> Iterator[Path]:
        """The local states that an init would take to another backend: those of all workspaces."""
        saved = self._saved_backend() or {"type": LOCAL}
        if saved.get("type") != LOCAL:
            return
        config = saved.get("config")
        yield self.package / _place(config, DEFAULT_WORKSPACE)
        every = self.package / _place(config, "*")
        yield from sorted(every.parent.parent.glob(f"*/{_STATE}"))


def inspect_state(path: Path) -> LocalState:
    """Look at a state file; links are followed. Never waits, and takes little memory for a large file.

    An object with a `version` is a state; `serial` and `lineage` need not be there, for the engines read it
    without. One that OpenTofu has encrypted is whole.
    """
    try:
        file = open_regular_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return LocalState(path, Condition.MISSING)
    except (OSError, ValueError) as error:
        return LocalState(path, _unopened(path), flaw=reason(error))
    with file:
        status = os.fstat(file.fileno())
        found = LocalState(path, Condition.EMPTY, size=status.st_size, modified=status.st_mtime)
        if not found.size:
            return found
        try:
            return _parsed(found, file) if found.size <= _PARSED_BYTES else _scanned(found, file)
        except OSError as error:
            return found._replace(condition=Condition.UNKNOWN, flaw=reason(error))


def is_in_use(path: Path) -> bool:
    """Whether an engine has the state locked at this moment: it may be about to write it."""
    import fcntl

    try:
        with open_regular_file(path) as file:
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return True
    except OSError:
        return False
    return False


def has_same_content(one: Path, other: Path) -> bool:
    """Whether two states are the same but for how they are written; False for what is too large to tell."""
    documents = []
    for path in (one, other):
        try:
            with open_regular_file(path) as file:
                data = file.read(_PARSED_BYTES + 1)
            if len(data) > _PARSED_BYTES:
                return False
            document = _loads(data)
        except (OSError, ValueError, RecursionError):
            return False
        # A push notes the version of the engine that has made it.
        documents.append({**document, "terraform_version": ""} if isinstance(document, dict) else document)
    return bool(documents[0] == documents[1])


def _place(config: Any, workspace: str) -> str:
    """Where a `local` backend with these settings keeps the state of a workspace, as seen from the package."""
    settings = config if isinstance(config, dict) else {}
    if workspace == DEFAULT_WORKSPACE:
        path = settings.get("path")
        return path if isinstance(path, str) and path else _STATE
    directory = settings.get("workspace_dir")
    return f"{directory if isinstance(directory, str) and directory else _WORKSPACES}/{workspace}/{_STATE}"


def _unopened(path: Path) -> Condition:
    """A pipe would make an engine wait for ever; whatever else cannot be opened, it says so itself."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return Condition.UNKNOWN
    return Condition.BROKEN if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else Condition.UNKNOWN


def _parsed(found: LocalState, file: BinaryIO) -> LocalState:
    data = file.read(_PARSED_BYTES)
    try:
        document = _loads(data)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}"
        is_cut = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
        flaw = f"it breaks off in {where}" if is_cut else f"{where} is not JSON"
        return found._replace(condition=Condition.BROKEN, flaw=flaw)
    except ValueError:
        return found._replace(condition=Condition.BROKEN, flaw="it is not text")
    except RecursionError:  # it is nested more deeply than Python reads
        file.seek(0)
        return _scanned(found, file)
    if not isinstance(document, dict):
        return found._replace(condition=Condition.BROKEN, flaw="it is not a JSON object")
    serial, lineage = document.get("serial"), document.get("lineage")
    found = found._replace(
        serial=serial if type(serial) is int else None, lineage=lineage if isinstance(lineage, str) else ""
    )
    if "encrypted_data" in document:
        return found._replace(condition=Condition.ENCRYPTED)
    if type(document.get("version")) is not int:
        return found._replace(condition=Condition.BROKEN, flaw="it has no `version`")
    return found._replace(condition=Condition.WHOLE)


def _loads(data: bytes) -> Any:
    """Numbers may have thousands of digits, which Python refuses, and only the serial's matters."""
    return json.loads(
        data,
        parse_int=lambda digits: int(digits) if len(digits) <= _LONGEST_NUMBER else digits,
        parse_float=str,
    )


def _scanned(found: LocalState, file: BinaryIO) -> LocalState:
    if flaw := find_flaw(file):
        return found._replace(condition=Condition.BROKEN, flaw=flaw)
    file.seek(0)
    ends = file.read(_HEAD_BYTES)
    file.seek(max(0, found.size - _HEAD_BYTES))
    ends += file.read(_HEAD_BYTES)
    serial, lineage = _SERIAL.search(ends), _LINEAGE.search(ends)
    found = found._replace(
        serial=int(serial[1]) if serial else None,
        lineage=lineage[1].decode("utf-8", "replace") if lineage else "",
    )
    if b'"encrypted_data"' in ends:
        return found._replace(condition=Condition.ENCRYPTED)
    return found._replace(condition=Condition.WHOLE if _VERSION.search(ends) else Condition.UNKNOWN)
