"""Writes the private files that the engine reads: generated values, and settings of the backend (I/O)."""

from collections.abc import Sequence
from pathlib import Path

from hereya_tf.inputs.values import Values, VariableFile, encode
from hereya_tf.reading import read_regular_file
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.workspace import backend_settings_text


def write_variable_files(
    planned: Values, directory: RunDirectory, *, name: str = "values"
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """The variable files, generated ones written under this name, and their contents. Raises NoRoom."""
    paths = []
    contents = []
    for number, file in enumerate(planned.files):
        if isinstance(file, VariableFile):
            paths.append(file.path)
            contents.append(_content(file.path))
        elif file.values:
            contents.append(encode(file))
            paths.append(directory.private_file(f"{name}-{number}.tfvars.json", contents[-1]))
    return tuple(paths), tuple(contents)


def write_backend_files(
    entries: Sequence[str], directory: RunDirectory
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`--backend-config` in its order; values go into private files, for `ps` shows arguments to everyone.

    The contents come second. Raises NoRoom.
    """
    files: list[str] = []
    contents: list[str] = []
    pairs: dict[str, str] = {}

    def close_pairs() -> None:
        if pairs:
            contents.append(backend_settings_text(pairs))
            files.append(str(directory.private_file(f"backend-{len(files)}.tfbackend", contents[-1])))
            pairs.clear()

    for entry in entries:
        name, separator, text = entry.partition("=")
        if separator:
            pairs[name.strip()] = text
        else:
            close_pairs()
            files.append(str(Path(entry).absolute()))
            contents.append(_content(Path(entry)))
    close_pairs()
    return tuple(files), tuple(contents)


def _content(path: Path) -> str:
    try:
        return read_regular_file(path).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
