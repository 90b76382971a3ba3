"""Reads a root module directory as the engine will: which files count, what they declare (I/O)."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from hereya_tf.errors import BadPackage
from hereya_tf.package.declarations import Declaration, Kind, Reading, read_json, read_native
from hereya_tf.reading import read_regular_file, reason

GENERATED_OVERRIDE = "zz_hereya_tf_override.tf"
"""The backend override file of a run; whatever starts with its name is ours and never the package's."""

_COLLECTIONS = frozenset({"list", "map", "object", "set", "tuple", "any"})
_REMOTE_BACKENDS = ("cloud", "remote")
_LEADING_WORD = re.compile(r"\w+")


class Variable(NamedTuple):
    """A declared input variable; `type` is its type expression's text, None when it has none.

    `line` counts from 1; 0 in a JSON file.
    """

    name: str
    type: str | None
    has_default: bool
    sensitive: bool
    ephemeral: bool
    file: str
    line: int

    @property
    def type_word(self) -> str:
        """The first word of the type (`list` of `list(string)`), or an empty text."""
        word = _LEADING_WORD.match((self.type or "").lstrip('"'))
        return word.group() if word else ""

    @property
    def decodes_json(self) -> bool:
        """Whether a text for it is decoded as JSON; a string, number or bool takes its text as it is."""
        return self.type_word in _COLLECTIONS


class Backend(NamedTuple):
    """Where the package keeps its state: the type of its backend block, or `cloud`."""

    type: str
    file: str
    line: int

    @property
    def is_remote(self) -> bool:
        """Whether it says itself which workspace is meant, and may have plan and apply done there, told as text."""
        return self.type in _REMOTE_BACKENDS


class Package(NamedTuple):
    """A root module: what its files declare, override files merged in.

    `is_for_opentofu`: as OpenTofu reads it, which has files of its own. `provider_hosts` are the hosts written out
    in `required_providers`; `broken` names files that do not parse, whose declarations may be missing here.
    """

    directory: Path
    is_for_opentofu: bool
    variables: Mapping[str, Variable]
    backend: Backend | None
    provider_hosts: frozenset[str]
    files: tuple[str, ...]
    broken: tuple[str, ...]
    outputs: frozenset[str]


def read_package(directory: Path, *, tofu: bool) -> Package:
    """Read the files in `directory` that Terraform (or, with `tofu`, OpenTofu) would load.

    Raises BadPackage when it is no directory, holds no configuration, or a file cannot be read.
    """
    names = _names(directory)
    files = configuration_files(names, tofu=tofu)
    if not files and _is_for_opentofu_alone(names):
        raise BadPackage(
            f"`{directory}` holds configuration for OpenTofu alone (*.tofu), which Terraform does not read",
            "name OpenTofu, which is installed where it is missing: `--engine tofu`",
        )
    if not files:
        raise BadPackage(
            f"`{directory}` holds no configuration (*.tf or *.tf.json)",
            "name the directory that holds the root module",
        )
    return merge(directory, [(name, _read(directory / name)) for name in files], tofu=tofu)


def check_generated_backend(package: Package) -> None:
    """Raise BadPackage where an override file of the package's own would win over that of a run.

    The last one counts, by name (`configs.Parser.dirFiles`): the run would work on another state.
    """
    backend = package.backend
    if backend is None or not is_override(backend.file) or backend.file < GENERATED_OVERRIDE:
        return
    raise BadPackage(
        f"`{package.directory / backend.file}` has a `{backend.type}` backend,"
        f" and is read after the generated one, `{GENERATED_OVERRIDE}`",
        "give that file a name that comes before, such as `backend_override.tf`",
    )


def is_for_opentofu_alone(directory: Path) -> bool:
    """Whether OpenTofu reads a configuration here and Terraform none."""
    try:
        return _is_for_opentofu_alone(_names(directory))
    except BadPackage:
        return False


def _is_for_opentofu_alone(names: Sequence[str]) -> bool:
    return not configuration_files(names, tofu=False) and bool(configuration_files(names, tofu=True))


def configuration_files(names: Iterable[str], *, tofu: bool) -> tuple[str, ...]:
    """Those of a directory's file names that an engine loads, in its order: override files last."""
    present = frozenset(name for name in names if not _is_ignored(name))
    files = (name for name in present if _extension(name, tofu=tofu))
    if tofu:
        files = (name for name in files if _tofu_alternative(name) not in present)
    return tuple(sorted(files, key=lambda name: (is_override(name), name)))


def _is_ignored(name: str) -> bool:
    """Hidden files and editors' backups (configs.IsIgnoredFile), and the override file of a run."""
    return (
        name.startswith((".", GENERATED_OVERRIDE))
        or name.endswith("~")
        or (name.startswith("#") and name.endswith("#"))
    )


def _extension(name: str, *, tofu: bool) -> str:
    known = (".tf", ".tf.json", ".tofu", ".tofu.json") if tofu else (".tf", ".tf.json")
    return next((extension for extension in known if name.endswith(extension)), "")


def _tofu_alternative(name: str) -> str | None:
    """The name of the file that hides this one from OpenTofu: x.tofu hides x.tf."""
    for extension in (".tf", ".tf.json"):
        if name.endswith(extension):
            return name.removesuffix(extension) + extension.replace(".tf", ".tofu")
    return None


def is_override(name: str) -> bool:
    """Whether a configuration file's declarations are merged into those of the others."""
    stem = name.removesuffix(_extension(name, tofu=True))
    return stem == "override" or stem.endswith("_override")


def merge(directory: Path, readings: Sequence[tuple[str, Reading]], *, tofu: bool) -> Package:
    """Put together what the files declare; `readings` come with override files last.

    An override file replaces single attributes of a variable or an output, the whole backend, a
    provider's requirement. What an engine refuses (a variable declared
    twice, overriding what does not exist) is taken as it comes: the engine explains it better.
    """
    variables: dict[str, Variable] = {}
    outputs: set[str] = set()
    backend: Backend | None = None
    sources: dict[str, str] = {}
    for file, reading in readings:
        overrides = is_override(file)
        for declaration in reading.declarations:
            name, attributes = declaration.name, declaration.attributes
            match declaration.kind:
                case Kind.VARIABLE:
                    if overrides or name not in variables:
                        variables[name] = _variable(declaration, file, variables.get(name))
                case Kind.OUTPUT:
                    outputs.add(name)
                case Kind.BACKEND:
                    if overrides or backend is None:
                        backend = Backend(name, file, declaration.line)
                case Kind.REQUIRED_PROVIDER:
                    sources[name] = attributes["source"]
    return Package(
        directory=directory,
        is_for_opentofu=tofu,
        variables=MappingProxyType(variables),
        backend=backend,
        provider_hosts=frozenset(host for host in map(_host, sources.values()) if host),
        files=tuple(file for file, _ in readings),
        broken=tuple(file for file, reading in readings if reading.broken),
        outputs=frozenset(outputs),
    )


def _variable(declaration: Declaration, file: str, base: Variable | None) -> Variable:
    attributes = declaration.attributes
    type_text = attributes.get("type", base.type if base else None)
    return Variable(
        name=declaration.name,
        type=type_text,
        has_default="default" in attributes or (base is not None and base.has_default),
        sensitive=_is_set(attributes, "sensitive", inherited=base is not None and base.sensitive),
        ephemeral=_is_set(attributes, "ephemeral", inherited=base is not None and base.ephemeral),
        file=base.file if base else file,
        line=base.line if base else declaration.line,
    )


def _is_set(attributes: Mapping[str, str], name: str, *, inherited: bool = False) -> bool:
    """Whether a flag is on. Only a plain `false` is off: `!false` is valid, and hiding too much is safe."""
    return attributes[name].strip('"') != "false" if name in attributes else inherited


def _host(source: str) -> str:
    """The host of a provider's source address with three parts, else an empty text."""
    parts = source.split("/")
    return parts[0].lower() if len(parts) == 3 else ""


def _names(directory: Path) -> list[str]:
    try:
        with os.scandir(directory) as entries:
            # Like the engines: a directory is passed over, a link is read whatever it points to.
            return [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError as error:
        raise BadPackage(
            f"`{directory}` does not exist", "a relative path begins at the directory you call from"
        ) from error
    except NotADirectoryError as error:
        raise BadPackage(
            f"`{directory}` is not a directory", "name the directory that holds the root module"
        ) from error
    except (OSError, ValueError) as error:
        raise BadPackage(
            f"`{directory}` cannot be read: {reason(error)}", "check the path and its permissions"
        ) from error


def _read(path: Path) -> Reading:
    try:
        source = read_regular_file(path)
    except OSError as error:
        raise BadPackage(
            f"`{path}` cannot be read: {reason(error)}",
            "an engine reads every such file: make it readable, or take it away",
        ) from error
    return read_json(source) if path.name.endswith(".json") else read_native(source)
