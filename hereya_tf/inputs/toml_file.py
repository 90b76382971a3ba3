"""Reads TOML files, and finds the line on which each of their keys stands (I/O)."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hereya_tf.errors import BadConfig
from hereya_tf.reading import read_settings_file

if TYPE_CHECKING:
    from decimal import Decimal

# Tables within tables whose keys are found; a dotted key can nest thousands of them.
_DEEPEST = 8
# What can hold a line end or a bracket that means nothing; a closing `"""` may follow two quotes of the text.
# What is not closed ends with the line or the text: else looking for its end would be done again and again.
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"{3,5}|\Z)'
    r"|'''.*?(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+"
    r"|[\[\]{}\n]",
    re.DOTALL,
)
# A key of more than 64 parts: the parser's time and memory grow with the square of these.
_TOWER = re.compile(r"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){64}")


class TomlFile(NamedTuple):
    """A file's values (numbers with a point are Decimals), and its text."""

    shown: str
    values: Mapping[str, Any]
    text: str

    def line(self, *path: str) -> int:
        """The line on which a key stands for the first time; 1 is the first."""
        return key_lines(self.text)[path]

    def place(self, *path: str) -> str:
        """The file and the line of a key, as an error begins."""
        return f"`{self.shown}`, line {self.line(*path)}"


def read_toml(file: Path, shown: str) -> TomlFile:
    """Read a file, `shown` as its reader knows it; raises BadConfig."""
    text = read_settings_file(file, shown, BadConfig)
    # Texts and comments may hold dots.
    bare = _TOKEN.sub(lambda token: "x" + "\n" * token[0].count("\n") if token[0][1:] else token[0], text)
    if (tower := _TOWER.search(bare)) is not None:
        line = bare.count("\n", 0, tower.start()) + 1
        raise BadConfig(f"`{shown}`, line {line}: the key is nested too deeply", "is it the right file?")
    # Here, because it costs 6 ms and few have such a file.
    import tomllib

    try:
        return TomlFile(shown, tomllib.loads(text + "\n", parse_float=_decimal), text)
    except RecursionError:
        raise BadConfig(f"`{shown}` is nested too deeply", "is it the right file?") from None
    except ValueError as error:
        said = str(error)
        raise BadConfig(
            f"`{shown}` is not TOML: {said[:1].lower()}{said[1:]}", 'texts stand in quotes: `key = "text"`'
        ) from None


def key_lines(text: str) -> dict[tuple[str, ...], int]:
    """The line of the first statement for each key and table of a valid TOML text, by its full path."""
    import tomllib

    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, statement in _statements(text):
        # Each stands for itself: a key after a header is a key of that table.
        paths = list(_paths(tomllib.loads(statement)))
        if statement.lstrip(" \t").startswith("["):
            table = paths[-1]
            paths = [table[: length + 1] for length in range(len(table))]
        else:
            paths = [(*table, *path) for path in paths]
        for path in paths:
            lines.setdefault(path, number)
    return lines


def table_lines(text: str, name: str) -> list[dict[str, int]]:
    """For each table of the list `name` in a valid TOML text the line of each of its keys, and as "" its own."""
    import tomllib

    tables: list[dict[str, int]] = []
    is_inside = False
    for number, statement in _statements(text):
        parsed = tomllib.loads(statement)
        value = parsed.get(name)
        if statement.lstrip(" \t").startswith("["):
            is_inside = isinstance(value, list)
            if is_inside:
                tables.append({"": number})
            elif isinstance(value, dict):  # a table in the last one
                tables[-1].setdefault(next(iter(value)), number)
        elif is_inside:
            for key in parsed:
                tables[-1].setdefault(key, number)
        elif isinstance(value, list):
            tables += [{"": number} for _ in value]
    return tables


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each key with its value and each header of a table, with the line on which it begins."""
    text = text.replace("\r\n", "\n") + "\n"
    start, depth = 0, 0
    number = 1
    for token in _TOKEN.finditer(text):
        match token[0]:
            case "[" | "{":
                depth += 1
            case "]" | "}":
                depth -= 1
            case "\n" if depth == 0:
                statement = text[start : token.start()]
                if statement.strip(" \t") and not statement.lstrip(" \t").startswith("#"):
                    yield number, statement
                number += statement.count("\n") + 1
                start = token.end()
            case _:
                pass


def _paths(value: object, depth: int = 1) -> Iterator[tuple[str, ...]]:
    """The path of every key in nested tables, outer ones first."""
    if isinstance(value, dict) and depth <= _DEEPEST:
        for name, member in value.items():
            yield (name,)
            for path in _paths(member, depth + 1):
                yield (name, *path)


def _decimal(text: str) -> "Decimal":
    from decimal import Decimal, DecimalException

    try:
        return Decimal(text)
    except DecimalException as error:  # an exponent of 19 digits or more
        raise ValueError("a number's exponent is too large") from error
