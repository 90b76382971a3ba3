"""Which state a run works on: the engine's workspace or a generated backend, and the key of its lock (I/O)."""

import contextlib
import json
import os
import re
from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from hereya_tf.errors import BadInput, BadPackage, WorkspaceUnknown, no_room
from hereya_tf.package import GENERATED_OVERRIDE
from hereya_tf.reading import read_regular_file, reason

# The first line of the file that we write into a package; nothing without it is ever taken for ours.
MARK = "# Written by hereya-tf for the time of a run; removed when the run ends."
# The second one: who is at work with it, for runs that keep their locks in another place.
_OWNER = "# By "
DEFAULT_WORKSPACE = "default"
# No capitals, for file systems that do not tell them apart; no end that looks like one of our digests.
_SAFE_ID = re.compile(r"(?!.*-[0-9a-f]{16}$)[a-z0-9][a-z0-9._-]{0,99}")


class BackendKind(StrEnum):
    """The backends that a run can generate."""

    LOCAL = "local"
    S3 = "s3"


class GeneratedBackend(NamedTuple):
    """A backend that the caller chose: one state for one id."""

    kind: BackendKind
    id: str
    path: str = ""
    bucket: str = ""
    region: str = ""
    lock_table: str = ""

    @property
    def location(self) -> str:
        """What tells this state from every other: a path or a bucket and key."""
        return self.path if self.kind is BackendKind.LOCAL else f"s3://{self.bucket}/{self.state_key}"

    @property
    def needs_lock_file(self) -> bool:
        """Whether the bucket's own lock file is what keeps two writers apart."""
        return self.kind is BackendKind.S3 and not self.lock_table

    @property
    def state_key(self) -> str:
        """The object's key in a bucket."""
        return f"{self.id}/terraform.tfstate"

    @property
    def data_directory(self) -> str:
        """The engine's data directory for this id: relative, so that `path.module` does not change."""
        return f".terraform/hereya/{_directory_name(self.id)}"


class Workspace(NamedTuple):
    """One state: where it is, what the engine calls it, what must be set for the engine to find it."""

    name: str
    key: str
    backend: GeneratedBackend | None
    # TF_WORKSPACE for the engine; None leaves the choice to it.
    selected: str | None
    data_directory: str


def generate_backend(
    *,
    state: Path | None,
    bucket: str | None,
    region: str | None,
    lock_table: str | None,
    identifier: str | None,
) -> GeneratedBackend | None:
    """The backend that the options ask for; a local path wins over a bucket. Raises BadInput for half of one."""
    if identifier is not None:
        _check_id(identifier)
    if state is not None:
        path = _real_path(state)
        if path.is_dir():
            raise BadInput(
                f"`--state {state}` is a directory, and a state is a file",
                f"use `--state {state / 'terraform.tfstate'}`",
            )
        return GeneratedBackend(BackendKind.LOCAL, identifier or _digest(str(path)), path=str(path))
    if bucket is None:
        for option, value in (("--state-region", region), ("--state-lock-table", lock_table)):
            if value is not None:
                raise BadInput(f"`{option}` was given without a bucket", "add `--state-bucket NAME`")
        if identifier is not None:
            raise BadInput(
                "`--id` names a state of a generated backend, and none was asked for",
                "add `--state PATH` or `--state-bucket NAME --state-region REGION`",
            )
        return None
    for option, value in (
        ("--state-bucket", bucket),
        ("--state-region", region),
        ("--state-lock-table", lock_table),
    ):
        _check_unicode(option, value or "")
    if not region:
        raise BadInput("a state bucket needs its region", "add `--state-region REGION`")
    if identifier is None:
        raise BadInput("a state bucket needs an id for the state in it", "add `--id ID`")
    return GeneratedBackend(
        BackendKind.S3, identifier, bucket=bucket, region=region, lock_table=lock_table or ""
    )


def backend_settings(backend: GeneratedBackend) -> dict[str, str | bool]:
    """What the engine's backend block holds for it."""
    if backend.kind is BackendKind.LOCAL:
        return {"path": backend.path}
    settings: dict[str, str | bool] = {
        "bucket": backend.bucket,
        "key": backend.state_key,
        "region": backend.region,
    }
    if backend.lock_table:
        settings["dynamodb_table"] = backend.lock_table
    else:
        settings["use_lockfile"] = True
    return settings


def override_text(backend: GeneratedBackend, more: Mapping[str, str] = {}) -> str:
    """The override file that replaces whatever backend the package has (HCL); `more` wins over its settings."""
    settings = {**backend_settings(backend), **more}
    lines = "".join(f"    {name} = {_hcl(value)}\n" for name, value in settings.items())
    return f'{MARK}\nterraform {{\n  backend "{backend.kind}" {{\n{lines}  }}\n}}\n'


def backend_settings_text(settings: Mapping[str, str]) -> str:
    """`--backend-config K=V` pairs as a file: an argument would show their values to everyone in `ps`."""
    return "".join(f"{name} = {_hcl(value)}\n" for name, value in settings.items())


def identify_workspace(
    package: Path,
    *,
    wish: str | None,
    backend: GeneratedBackend | None,
    lock_key: str | None,
    environment: Mapping[str, str],
) -> Workspace:
    """The workspace of a run, as the engine itself would select it, and the key it is locked under.

    Order of the engine's own selection: TF_WORKSPACE, the file `environment` in the data directory, `default`.
    """
    if backend is not None:
        if wish is not None:
            raise BadInput(
                "`--workspace` and a generated backend exclude each other",
                "name the state by `--id`, or leave the backend to the package",
            )
        key = lock_key or f"{backend.location}#{backend.id}"
        return Workspace(backend.id, key, backend, DEFAULT_WORKSPACE, backend.data_directory)
    data_directory = environment.get("TF_DATA_DIR") or ".terraform"
    name = wish or environment.get("TF_WORKSPACE") or _selected(package / data_directory) or DEFAULT_WORKSPACE
    _check_workspace_name(name)
    selected = name if wish else None
    return Workspace(name, lock_key or f"{os.path.realpath(package)}#{name}", None, selected, data_directory)


def local_workspaces(package: Path) -> frozenset[str]:
    """The workspaces that the engine's own local state has, the one of a package without a backend."""
    try:
        found = [entry.name for entry in (package / "terraform.tfstate.d").iterdir() if entry.is_dir()]
    except OSError:
        found = []
    return frozenset((DEFAULT_WORKSPACE, *found))


def unknown_workspace(name: str, names: Collection[str]) -> WorkspaceUnknown:
    """The refusal of a workspace that is not among `names`."""
    listed = ", ".join(f"`{known}`" for known in sorted(names) if known) or "none"
    return WorkspaceUnknown(
        f"there is no workspace `{name}`", f"add `--create-workspace` to create it; known are {listed}"
    )


def write_override(package: Path, backend: GeneratedBackend, *, owner: str = "") -> Path:
    """Put the generated backend into the package. Raises BadPackage where that cannot be done.

    `owner` is one line that says whose it is.
    """
    path = package / GENERATED_OVERRIDE
    remove_override(package)
    text = override_text(backend)
    if owner:
        text = text.replace("\n", f"\n{_OWNER}{owner}\n", 1)
    try:
        with path.open("x", encoding="utf-8") as file:
            try:
                file.write(text)
                file.flush()
            except OSError:
                path.unlink()  # half a file would break the package for everybody
                raise
    except FileExistsError as error:
        raise BadPackage(
            f"`{path}` is not a file of ours, and a generated backend needs its name", "rename that file"
        ) from error
    except OSError as error:
        sentence = f"the generated backend cannot be written to `{path}`: {error.strerror}"
        raise no_room(error, sentence) or BadPackage(
            sentence,
            "a generated backend needs a package directory that can be written to; a copy of it will do",
        ) from error
    return path


def remove_override(package: Path) -> bool:
    """Remove an override file of ours, this run's or one that a killed run left behind."""
    path = package / GENERATED_OVERRIDE
    try:
        if path.is_symlink() or not path.is_file():  # to open a named pipe would be to wait for ever
            return False
        with path.open(encoding="utf-8", errors="replace") as file:
            # An empty one is of a run that was killed before it could write.
            ours = file.readline() in ("", f"{MARK}\n")
        if ours:
            path.unlink()
    except FileNotFoundError:
        return False
    except OSError:
        return False
    return ours


def override_owner(package: Path) -> str:
    """The line that says whose the override file in the package is; empty when there is none."""
    second = _override(package).partition("\n")[2].partition("\n")[0]
    return second.removeprefix(_OWNER) if second.startswith(_OWNER) else ""


def is_backend_in_place(package: Path, backend: GeneratedBackend | None) -> bool:
    """Whether the package has the override file of `backend`, or none of ours where that is None."""
    first, line_break, rest = _override(package).partition("\n")
    if rest.startswith(_OWNER):
        rest = rest.partition("\n")[2]
    return first + line_break + rest == ("" if backend is None else override_text(backend))


def _override(package: Path) -> str:
    """The text of an override file of ours."""
    try:
        text = read_regular_file(package / GENERATED_OVERRIDE).decode("utf-8", "replace")
    except OSError:
        return ""
    return text if text.startswith(f"{MARK}\n") else ""


def _selected(data_directory: Path) -> str | None:
    try:
        return read_regular_file(data_directory / "environment").decode("utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _check_workspace_name(name: str) -> None:
    if not name.isprintable() or any(character in name for character in "/\\ \"'"):
        raise BadInput(f"`{name}` cannot be the name of a workspace", "use letters, digits, `-`, `_` and `.`")


def _check_id(identifier: str) -> None:
    parts = identifier.split("/")
    if (
        not identifier.isprintable()
        or not all(parts)
        or ".." in parts
        or "." in parts
        or len(identifier) > 500
    ):
        raise BadInput(
            f"`--id {identifier}` cannot name a state",
            "use letters, digits, `-`, `_`, `.` and single `/` between them",
        )


def _real_path(state: Path) -> Path:
    """One path for one file, however it is spelled: two would be two ids and two locks for one state."""
    _check_unicode("--state", str(state))
    try:
        path = os.path.realpath(state)
        with contextlib.suppress(FileNotFoundError, NotADirectoryError, PermissionError):
            os.stat(path)  # noqa: PTH116 - realpath leaves a circle of links as it is
    except (OSError, ValueError) as error:
        raise BadInput(
            f"`--state {state}` cannot be the path of a file: {reason(error)}",
            "check the links on its way and its name",
        ) from error
    _check_unicode("--state", path)
    return Path(path)


def _check_unicode(option: str, text: str) -> None:
    """A backend's settings are a file in UTF-8; a path of the system may be anything."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            f"`{option} {text}` is not UTF-8 text, as the engine's files are", "use a name that is"
        ) from error


def _directory_name(identifier: str) -> str:
    if _SAFE_ID.fullmatch(identifier):
        return identifier
    readable = re.sub(r"[^A-Za-z0-9._-]", "-", identifier).strip(".-")[:60]
    return f"{readable}-{_digest(identifier)}"


def _digest(text: str) -> str:
    import hashlib

    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _hcl(value: str | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    # HCL's quoted strings take JSON's escapes, and read `${` and `%{` as templates unless doubled.
    return json.dumps(value, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
