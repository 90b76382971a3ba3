"""Looks at what a plan is made for, or what one is to be applied to: files, state, engine, variables (I/O)."""

import contextlib
import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hereya_tf import exact
from hereya_tf.bundle.backend_identity import place_settings, place_variables
from hereya_tf.bundle.manifest import Identity, StatePlace, VariableDigests, digest
from hereya_tf.engine import Binary, EngineName
from hereya_tf.engine.evidence import LOCK_FILE
from hereya_tf.inputs.values import GeneratedFile, Values, decode_by_type
from hereya_tf.inputs.variable_files import automatic_files
from hereya_tf.package import Package, Variable, configuration_files
from hereya_tf.package.declarations import read_attribute_texts, read_module_sources
from hereya_tf.package.lock_file import read_lock_selections
from hereya_tf.reading import read_regular_file
from hereya_tf.saved_backend import read_saved_backend
from hereya_tf.workspace import Workspace

LARGEST_LOCK_FILE = 4 << 20
"""Bytes."""
_SALT_BYTES = 32
_SCALARS = ("string", "number", "bool")
_LOCAL_SOURCES = ("./", "../", ".\\", "..\\")


def new_salt() -> bytes:
    """The salt of a new manifest."""
    return os.urandom(_SALT_BYTES)


def identify(
    package: Package,
    workspace: Workspace,
    binary: Binary,
    planned: Values,
    *,
    environment: Mapping[str, str],
    salt: bytes,
) -> Identity:
    """What is here, before init; `environment` is the engine's."""
    lock_file = read_lock_file(package.directory)
    return Identity(
        files=package_files(package.directory, tofu=binary.engine is EngineName.OPENTOFU, salt=salt),
        engine=binary.engine,
        version=str(binary.version),
        embedded=binary.embedded,
        place=_state_place(package, workspace, environment, salt),
        variables=_variable_digests(package, planned, environment, salt),
        providers=None if lock_file is None else read_lock_selections(lock_file),
    )


def read_lock_file(directory: Path) -> bytes | None:
    """The dependency lock file of a package; None without one that can be read."""
    try:
        return read_regular_file(directory / LOCK_FILE, at_most=LARGEST_LOCK_FILE)
    except OSError:
        return None


def backend_settings(package: Path, data_directory: str, salt: bytes) -> Mapping[str, str]:
    """Digests of the settings that init has saved of the backend, as far as they say where the state is."""
    saved = read_saved_backend(package / data_directory) or {}
    config = saved.get("config")
    if not isinstance(config, dict):
        return {}
    settings = place_settings(str(saved.get("type")), config)
    return {name: digest(salt, "setting", name, text) for name, text in settings.items()}


def package_files(directory: Path, *, tofu: bool, salt: bytes) -> Mapping[str, str]:
    """Digests of the configuration files of the package and of all local modules that it reaches.

    By paths relative to the package, as the sources lead there: a link may lead elsewhere in every clone.
    """
    found: dict[str, str] = {}
    pending = [("", os.path.realpath(directory))]
    seen: set[str] = set()
    while pending:
        name, real = pending.pop(0)
        if real in seen:
            continue
        seen.add(real)
        sources: dict[str, str] = {}
        for file, content in _contents(real, tofu=tofu):
            path = posixpath.join(name, file)
            while path in found:  # two directories can have one name when a link lies on the way
                path += "'"
            found[path] = digest(salt, "file", content)
            if b"module" in content:
                sources |= read_module_sources(content, is_json=file.endswith(".json"))
        for source in sorted(set(sources.values())):
            if source.startswith(_LOCAL_SOURCES) or source in (".", ".."):
                step = source.replace("\\", "/") if os.sep == "\\" else source
                path = posixpath.normpath(posixpath.join(name, step))
                with contextlib.suppress(ValueError):  # no file system has such a name
                    real_path = os.path.realpath(os.path.join(real, step))  # noqa: PTH118
                    pending.append(("" if path == "." else path, real_path))
    return found


def _contents(directory: str, *, tofu: bool) -> Iterator[tuple[str, bytes]]:
    """What cannot be read is left out: an engine refuses it with a better sentence."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except (OSError, ValueError):
        return
    for name in configuration_files(names, tofu=tofu):
        try:
            yield name, read_regular_file(Path(directory, name))
        except OSError:
            continue


def _state_place(
    package: Package, workspace: Workspace, environment: Mapping[str, str], salt: bytes
) -> StatePlace:
    """Which state the engine works on."""
    generated = workspace.backend
    if generated is not None:
        backend = str(generated.kind)
        place = StatePlace(generated.id, backend, generated.location, generated.region, generated.lock_table)
    else:
        backend = package.backend.type if package.backend is not None else "local"
        name = workspace.name
        if package.backend is not None and package.backend.is_remote:
            # Init notes the name that its block maps to; before the first one nothing but this is known.
            name = environment.get("TF_WORKSPACE", "")
        place = StatePlace(name, backend)
    variables = place_variables(backend, environment)
    return place._replace(
        variables={name: digest(salt, "variable", name, text) for name, text in variables.items()}
    )


def _variable_digests(
    package: Package,
    planned: Values,
    environment: Mapping[str, str],
    salt: bytes,
) -> VariableDigests:
    """Digests of everything that was given, ephemeral variables left out: they are given anew each time."""
    named: dict[str, str] = {}
    for name, variable in package.variables.items():
        if (text := environment.get(f"TF_VAR_{name}")) is not None:
            named[name] = _text_form(text, variable)
    # Defaults of names that are not declared are not passed on.
    has_defaults = any(default.name in package.variables or package.broken for default in planned.defaults)
    paths = []
    for file in planned.files[has_defaults:]:
        if isinstance(file, GeneratedFile):
            named |= {
                name: _canonical(value, package.variables.get(name)) for name, value in file.values.items()
            }
        else:
            paths.append(file)
    author = {}
    for default in planned.defaults:
        declared = package.variables.get(default.name)
        author[default.name] = _canonical(decode_by_type(default, declared), declared)
    ephemeral = frozenset(name for name, variable in package.variables.items() if variable.ephemeral)

    def digests(values: Mapping[str, str]) -> dict[str, str]:
        return {
            name: digest(salt, "value", name, text) for name, text in values.items() if name not in ephemeral
        }

    return VariableDigests(
        named=digests(named),
        defaults=digests(author),
        files=_file_digests([(str(file.path), file.path) for file in paths], ephemeral, salt),
        automatic=_file_digests(
            [(file.name, file) for file in automatic_files(package.directory)], ephemeral, salt
        ),
    )


def _text_form(text: str, variable: Variable) -> str:
    """What a TF_VAR_ text stands for; an expression that is not JSON stays as it is written."""
    if not variable.decodes_json:
        return _canonical(text, variable)
    try:
        return _canonical(exact.loads(text), variable)
    except (ValueError, ArithmeticError, RecursionError):
        return f"expression {text}"


def _canonical(value: object, variable: Variable | None) -> str:
    """One text for one value, however it was given: for a number, `5` and the text of it are the same."""
    if variable is not None and variable.type_word in _SCALARS and value is not None:
        return f"text {value if isinstance(value, str) else exact.dumps(value)}"
    return f"json {exact.dumps(_sorted(value))}"


def _sorted(value: object) -> object:
    match value:
        case dict():
            return {key: _sorted(value[key]) for key in sorted(value)}
        case list() | tuple():
            return [_sorted(item) for item in value]
        case _:
            return value


def _file_digests(
    files: Sequence[tuple[str, Path]], ephemeral: frozenset[str], salt: bytes
) -> dict[str, str]:
    found = {}
    for name, path in files:
        try:
            content = read_regular_file(path)
        except OSError:
            content = b""
        kept = _without(ephemeral, content, path) if ephemeral else content
        if kept is not None:
            found[name] = digest(salt, "variable file", kept)
    return found


def _without(ephemeral: frozenset[str], content: bytes, path: Path) -> bytes | str | None:
    """What a variable file sets but ephemeral variables; None when it sets no others."""
    values: Mapping[str, object] | None
    if path.name.endswith(".json"):
        try:
            document = exact.loads(content.decode("utf-8"))
        except (ValueError, ArithmeticError, RecursionError):
            document = None
        values = document if isinstance(document, dict) else None
    else:
        values = read_attribute_texts(content)
    if values is None or ephemeral.isdisjoint(values):
        return content
    kept = {name: value for name, value in values.items() if name not in ephemeral}
    return exact.dumps(kept) if kept else None
