"""What a user gave, as given: parameters and environment entries from flags and files (I/O)."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf import exact
from hereya_tf.errors import BadInput
from hereya_tf.reading import read_text

_EMPTY_TEXT = "for an empty text write `NAME=`"
_ENCODED = "pass it in base64, and let the package decode it"


class Source(StrEnum):
    """Where a value comes from; only a flag is somebody's own word for this one run."""

    FLAG = "flag"
    FILE = "file"
    REQUEST = "request"
    ENVIRONMENT = "environment"


class Given(NamedTuple):
    """A parameter as given: `where` names its place for the reader, `is_text` asks for decoding by type."""

    name: str
    value: object
    is_text: bool
    source: Source
    where: str


def is_identifier(name: str) -> bool:
    """Whether a variable can have this name (HCL: letters, digits, `_`, `-`; no digit or `-` in front)."""
    return not name.startswith("-") and name.replace("-", "_").isidentifier()


def parse_parameter(text: str) -> Given:
    """Read `NAME=TEXT` or `NAME:=JSON`, as `-p` takes it; raises BadInput."""
    left, equals, value = text.partition("=")
    name = left.removesuffix(":")
    # What follows is never repeated: it may be a secret.
    if not equals:
        raise BadInput("`-p` takes `NAME=TEXT` or `NAME:=JSON`, and there is no `=`", _EMPTY_TEXT)
    if not is_identifier(name):
        raise BadInput(
            f"`-p` takes `NAME=TEXT` or `NAME:=JSON`, and `{name}` cannot be a variable's name",
            "use letters, digits, `_` and `-`, and begin with a letter or `_`",
        )
    if not left.endswith(":"):
        return Given(name, value, True, Source.FLAG, "-p")
    return Given(name, decode_json(value, f"`-p {name}:=…`"), False, Source.FLAG, "-p")


def decode_json(text: str, what: str) -> Any:
    """A JSON document, numbers exact; raises BadInput naming `what` and the position, never the text."""
    try:
        return exact.loads(text)
    except RecursionError:
        raise BadInput(f"{what} is JSON nested too deeply", "check its brackets") from None
    # Decimal refuses an exponent of 19 digits with an ArithmeticError.
    except (ValueError, ArithmeticError) as error:
        line, column = getattr(error, "lineno", None), getattr(error, "colno", None)
        problem = "it holds a number that JSON does not have"
        if line is not None:
            problem = f"line {line}, column {column}: {getattr(error, 'msg', '')}"
        # The decoder's error carries the whole document, with the secrets in it.
        raise BadInput(
            f"{what} is not JSON ({problem})",
            "JSON has texts and keys in double quotes, and neither comments nor trailing commas",
        ) from None


def read_parameter_file(path: Path) -> tuple[Given, ...]:
    """The parameters in a JSON or YAML file (by its extension); raises BadInput naming file and line.

    YAML is read by the 1.2 core schema. The document is one mapping from names to values.
    """
    match path.suffix.lower():
        case ".json":
            document = decode_json(read_text(path), f"`{path}`")
        case ".yaml" | ".yml":
            document = _load_yaml(path)
        case _:
            raise BadInput(
                f"`{path}` is no parameter file: its name ends in neither `.json` nor `.yaml`",
                "a variable file of the engine's own (`.tfvars`) goes with `--var-file`",
            )
    if not isinstance(document, dict):
        raise BadInput(
            f"`{path}` must hold one mapping from parameters' names to their values",
            "write `NAME: VALUE` for each of them",
        )
    return tuple(
        Given(name, value, isinstance(value, str), Source.FILE, str(path)) for name, value in document.items()
    )


def _load_yaml(path: Path) -> Any:
    text = read_text(path)
    from hereya_tf.inputs import yaml_core

    try:
        document = yaml_core.load(text)
    except yaml_core.UnusableYAMLError as error:
        raise BadInput(
            f"`{path}`, line {error.line}, cannot be used as YAML: {error}",
            "put a text that looks like something else in quotes",
        ) from None
    return {} if document is None else document


def parse_environment_entry(text: str) -> tuple[str, str]:
    """Read `NAME=TEXT`, as `-e` takes it; raises BadInput."""
    name, equals, value = text.partition("=")
    if not equals:
        raise BadInput("`-e` takes `NAME=TEXT`, and there is no `=`", _EMPTY_TEXT)
    check_environment_entry(name, value, "-e")
    return name, value


def check_environment_entry(name: str, value: str, where: str) -> None:
    """Raise BadInput when an environment cannot hold this entry."""
    if not name.isprintable() or not name.strip() or any(character in "= " for character in name):
        raise BadInput(
            f"`{name}` ({where}) cannot be the name of an environment variable",
            "use letters, digits and `_`",
        )
    if "\0" in value:
        raise BadInput(f"`{name}` ({where}) holds a NUL character, which no environment can carry", _ENCODED)
    if not is_encodable(name + value):
        raise BadInput(f"`{name}` ({where}) holds half a character, which no environment can carry", _ENCODED)


def is_encodable(text: str) -> bool:
    """Whether an environment or a path can hold it; bytes of no encoding that came from there can go back."""
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def read_environment_file(path: Path) -> tuple[tuple[str, str], ...]:
    """The entries of a dotenv file, nothing interpolated; raises BadInput naming file and line."""
    text = read_text(path)
    from io import StringIO

    from dotenv.parser import parse_stream

    entries = []
    for binding in parse_stream(StringIO(text)):
        written = binding.original.string
        blank_lines = written[: len(written) - len(written.lstrip())].count("\n")
        where = f"`{path}`, line {binding.original.line + blank_lines}"
        if binding.error:
            raise BadInput(
                f"{where}, is not an entry such as `NAME=text`", "a text of several lines stands in quotes"
            )
        if binding.key is None:
            continue
        if binding.value is None:
            raise BadInput(f"{where}, has a name without a value", "write `NAME=` for an empty text")
        check_environment_entry(binding.key, binding.value, where)
        entries.append((binding.key, binding.value))
    return tuple(entries)
