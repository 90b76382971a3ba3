"""JSON in which numbers keep every digit (pure).

An engine prints numbers of any length (1/3 has 155 digits, 1e400 has 401); floats would round them and
Python refuses integers over 4,300 digits. Integers stay `int` where they can, everything else is a Decimal.
"""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal

# int() refuses longer texts (sys.int_info.default_max_str_digits); Decimal has no such limit.
_LONGEST_INT = 4000


def loads(text: str) -> Any:
    """Decode one JSON document; raises ValueError for anything else, NaN and Infinity included."""
    return json.loads(text, parse_float=_decimal, parse_int=_integer, parse_constant=refuse_constant)


def decode_prefix(text: str) -> tuple[Any, int]:
    """Decode the JSON document at the start of `text`; returns it and the index just behind it."""
    decoder = json.JSONDecoder(parse_float=_decimal, parse_int=_integer, parse_constant=refuse_constant)
    return decoder.raw_decode(text)


def dumps(value: Any) -> str:
    """Encode compactly, numbers as they were read; raises TypeError for what JSON cannot hold."""
    return "".join(_pieces(value))


def _pieces(value: Any) -> Iterator[str]:
    # No recursion: since Python 3.12 the decoder takes what is nested deeper than functions may be.
    pending: list[tuple[bool, Any]] = [(False, value)]
    while pending:
        is_text, item = pending.pop()
        if is_text:
            yield item
        elif isinstance(item, dict):
            yield "{"
            pending.append((True, "}"))
            members = [
                ((True, ("," if index else "") + json.dumps(key, ensure_ascii=False) + ":"), (False, member))
                for index, (key, member) in enumerate(item.items())
            ]
            for key, member in reversed(members):
                pending += (member, key)
        elif isinstance(item, list | tuple):
            yield "["
            pending.append((True, "]"))
            for index in range(len(item) - 1, -1, -1):
                pending.append((False, item[index]))
                if index:
                    pending.append((True, ","))
        elif type(item).__name__ == "Decimal":
            yield str(item)
        else:
            yield json.dumps(item, ensure_ascii=False, allow_nan=False)


def _decimal(text: str) -> "Decimal":
    from decimal import Decimal, DecimalException

    try:
        return Decimal(text)
    except DecimalException as error:  # an exponent of 19 digits or more
        raise ValueError("a number's exponent is too large") from error


def _integer(text: str) -> "int | Decimal":
    return int(text) if len(text) < _LONGEST_INT else _decimal(text)


def refuse_constant(text: str) -> Any:
    """Raise ValueError: NaN and Infinity, which Python's decoder would take, are not JSON."""
    raise ValueError(f"{text} is not JSON")
