"""Reads the user's `config.toml`: values for options, below the command line and the environment (I/O)."""

from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.errors import BadConfig
from hereya_tf.inputs.toml_file import TomlFile, read_toml
from hereya_tf.retries import RetryRule

RULES = "retry"
"""The tables of the user's own rules for what is tried again; no option."""


class Form(Enum):
    """What a value has to be in TOML: how that is called, and how it is written."""

    FLAG = "`true` or `false`", "without quotes: `{} = true`"
    TEXT = "a text", 'texts stand in quotes: `{} = "…"`'
    TEXTS = "a list of texts", '`{} = ["…", "…"]`'
    NUMBER = "a whole number", "`{} = 4`"
    DURATION = "a duration", '`{} = "5m"`, or whole seconds: `{} = 300`'
    SIZE = "a size", '`{} = "500MB"`, or whole bytes: `{} = 500000000`'
    LIMIT = "a whole number or a text", '`{} = 200`, or without a limit: `{} = "none"`'

    def fits(self, value: object) -> bool:
        """Whether a value has this form."""
        match self:
            case Form.FLAG:
                return isinstance(value, bool)
            case Form.TEXT:
                return isinstance(value, str)
            case Form.TEXTS:
                return isinstance(value, list) and all(isinstance(item, str) for item in value)
            case Form.NUMBER:
                return type(value) is int
            case Form.DURATION | Form.SIZE | Form.LIMIT:
                return isinstance(value, str) or type(value) is int


class Kind(NamedTuple):
    """An option as a file may set it; `check` raises ValueError for a value that a flag would not take."""

    key: str
    form: Form
    check: Callable[[Any], object]
    # `no-refresh = true` is `refresh = false`.
    inverts: bool = False


class UserConfig(NamedTuple):
    """The values by the keys of their options, as what the file knows these, and rules for retries."""

    source: TomlFile
    values: Mapping[str, Any]
    names: Mapping[str, str]
    rules: tuple[RetryRule, ...] = ()

    def place(self, key: str) -> str:
        """Where a value stands, as `FILE:LINE`."""
        return f"{self.source.shown}:{self.source.line(self.names[key])}"


def read_user_config(file: Path, kinds: Mapping[str, Kind]) -> UserConfig:
    """Read a file whose keys are the names in `kinds`, with `-` or `_`; raises BadConfig."""
    source = read_toml(file, str(file))
    values: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in source.values.items():
        if name == RULES:
            continue
        kind = kinds.get(name.replace("_", "-"))
        if kind is None:
            raise _unknown(source, name, value, kinds)
        if kind.key in names:
            both = f"`{names[kind.key]}` and `{name}`"
            raise BadConfig(f"{source.place(name)}: {both} are the same option", "keep one of the two")
        _check(source, name, value, kind)
        names[kind.key] = name
        values[kind.key] = not value if kind.inverts else value
    return UserConfig(source, values, names, _rules(source))


def _rules(source: TomlFile) -> tuple[RetryRule, ...]:
    if RULES not in source.values:
        return ()
    from hereya_tf.retries.own_rules import read_rules

    return read_rules(source, RULES)


def _unknown(source: TomlFile, name: str, value: object, kinds: Mapping[str, Kind]) -> BadConfig:
    import difflib

    near = difflib.get_close_matches(name.replace("_", "-"), kinds, n=1)
    if near:
        hint = f"did you mean `{near[0]}`?"
    elif isinstance(value, dict):
        hint = "options stand at the top of the file, in no table"
    else:
        hint = "`hereya-tf config show` lists all options"
    return BadConfig(f"{source.place(name)}: there is no option `{name}`", hint)


def _check(source: TomlFile, name: str, value: object, kind: Kind) -> None:
    place = source.place
    called, written = kind.form.value
    if not kind.form.fits(value):
        raise BadConfig(f"{place(name)}: `{name}` must be {called}", written.replace("{}", name))
    for item in value if isinstance(value, list) else (value,):
        if item == "":
            raise BadConfig(f"{place(name)}: `{name}` is empty", "take it out, or give it a value")
        try:
            kind.check(item)
        except ValueError as error:
            raise BadConfig(
                f"{place(name)}: `{name}`: {error}", "`hereya-tf config show` shows all values"
            ) from None
