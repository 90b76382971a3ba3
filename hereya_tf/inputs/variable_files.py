"""What the engine's own variable files set: names for precedence, values to be redacted (I/O)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hereya_tf import exact
from hereya_tf.package import Package
from hereya_tf.package.declarations import read_attribute_names, read_literals
from hereya_tf.reading import read_regular_file

_LARGEST_FILE = 16 << 20  # bytes


class SetNames(NamedTuple):
    """Which names files set; `doubtful` when one of them could not be read, or has a part that does not parse."""

    names: frozenset[str]
    doubtful: bool


def names_set(files: Iterable[Path], wanted: frozenset[str]) -> SetNames:
    """Which of the `wanted` names the files set. Where one does not parse, each name that occurs in it counts."""
    found: set[str] = set()
    doubtful = False
    for file in files:
        try:
            source = read_regular_file(file, at_most=_LARGEST_FILE + 1)
        except (OSError, ValueError):
            doubtful = True
            continue
        names = _json_names(source) if file.name.endswith(".json") else read_attribute_names(source)
        if names is None:
            doubtful = True
            names = frozenset(re.findall(r"[\w-]+", source.decode("utf-8", "replace")))
        found |= names & wanted
    return SetNames(frozenset(found), doubtful)


def sensitive_values(package: Package, files: Sequence[Path]) -> Iterator[object]:
    """What `variable_values` finds of variables that are declared as sensitive."""
    names = frozenset(name for name, variable in package.variables.items() if variable.sensitive)
    return variable_values(package, files, names)


def variable_values(package: Package, files: Sequence[Path], names: frozenset[str]) -> Iterator[object]:
    """The values of these declared variables in `files`, in those that the engine loads by itself, and as defaults.

    A file that cannot be read or makes no sense has none; the engine will say what is wrong with it.
    """
    if not names:
        return
    declaring = {package.directory / package.variables[name].file for name in names}
    for file in (*files, *automatic_files(package.directory), *sorted(declaring)):
        try:
            source = read_regular_file(file, at_most=_LARGEST_FILE)
        except OSError:
            continue
        if file.name.endswith(".json"):
            yield from _json_values(source, names)
        else:
            yield from read_literals(source, names)


def text_values(name: str, text: str) -> Iterator[object]:
    """The values in a TF_VAR_ text for a collection or an object, which the engine reads as an expression."""
    try:
        yield exact.loads(text)
    except (ValueError, RecursionError):
        yield from read_literals(f"{name} = {text}\n".encode("utf-8", "surrogateescape"), frozenset((name,)))


def automatic_files(directory: Path) -> Iterator[Path]:
    """The variable files of a package that the engine loads by itself."""
    try:
        entries = sorted(directory.iterdir())
    except OSError:
        return
    for entry in entries:
        name = entry.name.removesuffix(".json")
        if name == "terraform.tfvars" or name.endswith(".auto.tfvars"):
            yield entry


def _json_names(source: bytes) -> frozenset[str] | None:
    try:
        document = exact.loads(source.decode("utf-8"))
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return frozenset(document) if isinstance(document, dict) else None


def _json_values(source: bytes, names: frozenset[str]) -> Iterator[object]:
    """Of a `*.tfvars.json`, or of the defaults in a `*.tf.json`."""
    try:
        document = exact.loads(source.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return
    if not isinstance(document, dict):
        return
    variables = document.get("variable")
    for name in names:
        yield document.get(name)
        declared = variables.get(name) if isinstance(variables, dict) else None
        yield declared.get("default") if isinstance(declared, dict) else None
