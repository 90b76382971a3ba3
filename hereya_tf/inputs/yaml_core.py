"""YAML as its version 1.2 core schema reads it, with numbers that keep every digit (pure).

PyYAML speaks YAML 1.1, in which `no` is false, 12:30:45 is 45045 and 2026-01-01 is a date. Importing this
module imports PyYAML (15 ms): do it where a YAML file is read.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from yaml.composer import Composer
from yaml.constructor import BaseConstructor
from yaml.error import MarkedYAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

from hereya_tf import exact

# A document of a few hundred bytes can stand for terabytes, each alias doubling the one before.
_LARGEST_DOCUMENT = 16 * 1024 * 1024  # characters, aliases written out
_NODE_WEIGHT = 8  # characters
_DEEPEST = 200
_LONGEST_INT = 12_000  # bits; Python refuses to write out an int of more than 4,300 digits

_PREFIX = "tag:yaml.org,2002:"
_NULL, _BOOL, _INT, _FLOAT, _STR, _SEQ, _MAP = (
    _PREFIX + name for name in ("null", "bool", "int", "float", "str", "seq", "map")
)
# https://yaml.org/spec/1.2.2/#1032-tag-resolution, but for whole numbers with leading zeros: they are
# account numbers and postcodes, so they stay text (a number variable takes such a text just as well).
_SCALARS = (
    (_NULL, re.compile(r"null|Null|NULL|~|", re.ASCII)),
    (_BOOL, re.compile(r"true|True|TRUE|false|False|FALSE", re.ASCII)),
    (_INT, re.compile(r"[-+]?(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)),
    (
        _FLOAT,
        re.compile(
            r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*([eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+))"
            r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
            re.ASCII,
        ),
    ),
)


class UnusableYAMLError(ValueError):
    """A document that cannot be used; `line` counts from 1, the sentence never quotes a value."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def load(text: str) -> Any:
    """The one document in `text` (None when it is empty); raises UnusableYAMLError."""
    try:
        loader = _Loader(text)
    except ReaderError as error:
        raise UnusableYAMLError("a control character", text.count("\n", 0, int(error.position)) + 1) from None
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _weigh(node, {}, 0)
        return loader.value(node)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(filter(None, map(_unquoted, (error.context, error.problem)))) or "a syntax error"
        raise UnusableYAMLError(problem, mark.line + 1 if mark else 1) from None
    except RecursionError:
        raise UnusableYAMLError(f"nesting of more than {_DEEPEST} levels", 1) from None
    except UnusableYAMLError:
        raise
    # PyYAML lets chr() and int() fail at "\\UFFFFFFFF" and at a version of 5,000 digits.
    except (ValueError, OverflowError):
        raise UnusableYAMLError("an escape or a version beyond all bounds", loader.line + 1) from None


def _unquoted(words: str | None) -> str:
    """A parser's words up to what they quote: an unquoted password may look like an alias or a tag."""
    return re.split(r"""['"]""", words or "", maxsplit=1)[0].strip()


class _Loader(Reader, Scanner, Parser, Composer, BaseConstructor, BaseResolver):
    """Text to nodes by PyYAML, nodes to values by us."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        BaseConstructor.__init__(self)
        BaseResolver.__init__(self)
        self._built: dict[int, Any] = {}

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """The tag of a node that has none."""
        if kind is ScalarNode and implicit[0]:
            return next((tag for tag, pattern in _SCALARS if pattern.fullmatch(value)), _STR)
        return {ScalarNode: _STR, SequenceNode: _SEQ}.get(kind, _MAP)

    def value(self, node: Node) -> Any:
        """A node's value; an anchored node is built once and shared."""
        if id(node) not in self._built:
            self._built[id(node)] = self._build(node)
        return self._built[id(node)]

    def _build(self, node: Node) -> Any:
        if isinstance(node, ScalarNode):
            return _scalar(node)
        if isinstance(node, SequenceNode) and node.tag == _SEQ:
            return [self.value(item) for item in node.value]
        if isinstance(node, MappingNode) and node.tag == _MAP:
            return self._mapping(node)
        raise _error(node, "a tag that is not part of the core schema")

    def _mapping(self, node: MappingNode) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if key_node.tag != _STR or not isinstance(key_node, ScalarNode):
                raise _error(key_node, "a key that is not text (quote it)")
            key = _joined(key_node.value)
            if key == "<<" and key_node.style is None:
                raise _error(key_node, "a merge key (`<<`), which YAML 1.2 does not have")
            if key in mapping:
                raise _error(key_node, "a key that was there before")
            mapping[key] = self.value(value_node)
        return mapping


def _scalar(node: ScalarNode) -> Any:
    text = node.value
    if node.tag == _STR:
        return _joined(text)
    patterns = [pattern for tag, pattern in _SCALARS if tag == node.tag or (tag, node.tag) == (_INT, _FLOAT)]
    if not patterns:
        raise _error(node, "a tag that is not part of the core schema")
    if not any(pattern.fullmatch(text) for pattern in patterns):
        raise _error(node, "a value that does not fit its tag")
    if node.tag == _NULL:
        return None
    if node.tag == _BOOL:
        return text.lower() == "true"
    return _number(node, text)


def _joined(text: str) -> str:
    """Text in which escaped surrogate pairs are characters: JSON writes U+1F600 so, and JSON is YAML."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _number(node: ScalarNode, text: str) -> Any:
    if text.startswith(("0o", "0x")):
        whole = int(text[2:], 8 if text[1] == "o" else 16)
        return whole if whole.bit_length() < _LONGEST_INT else Decimal(whole)
    if text[-1].isalpha():
        raise _error(node, "a number that JSON cannot carry (infinite, or none)")
    if node.tag == _INT:
        return exact.loads(text.removeprefix("+"))
    try:
        return Decimal(text)
    except ArithmeticError:
        raise _error(node, "a number with an exponent beyond all bounds") from None


def _weigh(node: Node, weights: dict[int, int], depth: int) -> int:
    """How many characters a node stands for, aliases written out; raises UnusableYAMLError when too many."""
    if depth > _DEEPEST:
        raise _error(node, f"nesting of more than {_DEEPEST} levels")
    known = weights.get(id(node))
    if known == 0:
        raise _error(node, "an alias for something that it is part of")
    if known is not None:
        return known
    weights[id(node)] = 0
    if isinstance(node, ScalarNode):
        weight = len(node.value)
    elif isinstance(node, MappingNode):
        weight = sum(_weigh(part, weights, depth + 1) for pair in node.value for part in pair)
    else:
        weight = sum(_weigh(part, weights, depth + 1) for part in node.value)
    weights[id(node)] = weight = weight + _NODE_WEIGHT
    if weight > _LARGEST_DOCUMENT:
        raise _error(node, "aliases that stand for too much text")
    return weight


def _error(node: Node, problem: str) -> UnusableYAMLError:
    return UnusableYAMLError(problem, node.start_mark.line + 1)
