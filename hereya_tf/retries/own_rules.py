"""Rules for retries that a user has written down: tables `[[retry]]` in `config.toml`.

Only loaded when there are some.
"""

import difflib
from collections.abc import Callable, Mapping
from typing import Any

from hereya_tf.errors import BadConfig, FailureClass
from hereya_tf.failure.rules import PRIORITY
from hereya_tf.inputs.toml_file import TomlFile, table_lines
from hereya_tf.retries import RetryRule
from hereya_tf.retries.rules import NEVER

_WRITTEN = 'write it like `[[retry]]`, and below it `class = "provider-error"` and `text = ["…"]`'
_KEYS = ("class", "text")
_CLASSES = tuple(each for each in PRIORITY if each not in NEVER and each is not FailureClass.STATE_LOCKED)


def read_rules(source: TomlFile, name: str) -> tuple[RetryRule, ...]:
    """The rules in the tables `name` of a file, in their order. Raises BadConfig with the line of what is wrong."""
    tables = source.values[name]
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise BadConfig(f"{source.place(name)}: `{name}` is no list of tables", _WRITTEN)
    lines = table_lines(source.text, name)
    return tuple(_rule(source, table, at) for table, at in zip(tables, lines, strict=True))


def _rule(source: TomlFile, table: Mapping[str, Any], lines: Mapping[str, int]) -> RetryRule:
    def wrong(key: str, what: str, hint: str) -> BadConfig:
        return BadConfig(f"`{source.shown}`, line {lines.get(key, lines[''])}: {what}", hint)

    for key in table:
        if key not in _KEYS:
            raise wrong(key, f"`[[retry]]` has no key `{key}`", "it has `class` and `text`")
    if not table:
        raise wrong("", "`[[retry]]` says neither `class` nor `text`", _WRITTEN)
    failure_class = _class(table["class"], wrong) if "class" in table else None
    text = table.get("text", [])
    if not isinstance(text, list) or not all(isinstance(each, str) and each.strip() for each in text):
        raise wrong("text", "`text` is no list of texts", 'write it like `text = ["…", "…"]`')
    if "text" in table and not text:
        raise wrong("text", "`text` is empty", "take it out, or say what the error has to hold")
    return RetryRule(failure_class, tuple(text), f"{source.shown}:{lines['']}")


def _class(name: object, wrong: Callable[[str, str, str], BadConfig]) -> FailureClass:
    text = name if isinstance(name, str) else ""
    if text == FailureClass.STATE_LOCKED:
        raise wrong("class", f"`{text}` needs no rule", "`retry-lock = true` above all tables asks for it")
    if text in NEVER:
        raise wrong(
            "class", f"`{text}` is never tried again", "another try could cost the state: take it out"
        )
    if text in _CLASSES:
        return FailureClass(text)
    near = difflib.get_close_matches(text, _CLASSES, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "a failure's class stands in its report, after `class:`"
    raise wrong("class", f"there is no class `{name}` of failures that can be tried again", hint)
