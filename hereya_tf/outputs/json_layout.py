"""JSON text over several lines, laid out as the engines do (pure)."""

import re
from collections.abc import Iterator

# A string, a sign, or a number or word. `*+` never goes back: to be able to would take 1 GB for 50 MB of text.
_TOKENS = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\],:]|[^\s{}\[\],:"]++', re.DOTALL)
_EMPTY = {"{": "}", "[": "]"}
# What is nested deeper is not indented further: the blanks would be more than the text.
_DEEPEST = 40


def lay_out(text: str) -> str:
    """The JSON document `text` with a line for each member, two blanks deeper at each level.

    Works on the text, so that numbers keep their digits; `text` has to be JSON.
    """
    return "".join(_pieces(text))


def _pieces(text: str) -> Iterator[str]:
    depth = 0
    tokens = [found.group() for found in _TOKENS.finditer(text)]
    previous = ""
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        match token:
            case "{" | "[":
                depth += 1
                yield token if following == _EMPTY[token] else token + _line_start(depth)
            case "}" | "]":
                depth -= 1
                yield token if _EMPTY.get(previous) == token else _line_start(depth) + token
            case ",":
                yield token + _line_start(depth)
            case ":":
                yield ": "
            case _:
                yield token
        previous = token


def _line_start(depth: int) -> str:
    return "\n" + "  " * min(depth, _DEEPEST)
