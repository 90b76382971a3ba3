"""Which records of a log are events: one of an older version is completed, a damaged one is none (pure)."""

import functools
import types
import typing
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from hereya_tf.events import EVENT_TYPES, field_names

_Reader = Callable[[Any], Any]
_SIMPLE = (str, bool, type(None))
_LARGEST = 1e15


class _Damaged(Exception):
    """The value is not what it should be."""


def event_of(record: Any) -> Mapping[str, Any] | None:
    """The record with every field that its type has, or None when that cannot be made of it.

    What an older version did not tell gets its default; of a type that is not known only the envelope counts.
    """
    try:
        for name in ("type", "ts", "run"):
            _simple(str, record[name])
        if datetime.fromisoformat(record["ts"]).tzinfo is None:
            return None
        reader = _readers().get(record["type"])
        read: Mapping[str, Any] = record if reader is None else reader(record)
    except (_Damaged, LookupError, TypeError, ValueError):
        return None
    return read


@functools.lru_cache(maxsize=1)
def _readers() -> Mapping[str, _Reader]:
    return {name: _object(type_) for type_, name in EVENT_TYPES.items()}


def _reader(hint: Any) -> _Reader:
    if hint is Any:
        return _anything
    if hint in _SIMPLE:
        return functools.partial(_simple, hint)
    if hint in (int, float):
        return functools.partial(_number, hint)
    if hasattr(hint, "_fields"):
        return _object(hint)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return functools.partial(_either, [_reader(argument) for argument in arguments])
    if origin is tuple and arguments[-1] is not Ellipsis:
        return functools.partial(_sequence, [_reader(argument) for argument in arguments])
    if origin is tuple:
        return functools.partial(_list, _reader(arguments[0]))
    # The only other types of events are mappings with texts as keys.
    return functools.partial(_mapping, _reader(arguments[1]))


def _object(type_: Any) -> _Reader:
    hints = typing.get_type_hints(type_)
    fields = [
        (key, _reader(hints[name]), type_._field_defaults.get(name, _Damaged))
        for name, key in zip(type_._fields, field_names(type_), strict=True)
    ]

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _Damaged
        found = dict(value)
        for key, reader, default in fields:
            if key in value:
                found[key] = reader(value[key])
            elif default is _Damaged:
                raise _Damaged
            else:
                found[key] = default
        return found

    return read


def _anything(value: Any) -> Any:
    return value


def _simple(type_: type, value: Any) -> Any:
    if not isinstance(value, type_):
        raise _Damaged
    return value


def _number(type_: type, value: Any) -> Any:
    """A whole number, or seconds; none that is too large for words."""
    if isinstance(value, bool) or not abs(value) < _LARGEST:
        raise _Damaged
    return float(value) if type_ is float else _simple(int, value)


def _either(readers: list[_Reader], value: Any) -> Any:
    for reader in readers:
        try:
            return reader(value)
        except (_Damaged, TypeError):
            continue
    raise _Damaged


def _list(reader: _Reader, value: Any) -> Any:
    if not isinstance(value, list):
        raise _Damaged
    return [reader(item) for item in value]


def _sequence(readers: list[_Reader], value: Any) -> Any:
    if not isinstance(value, list) or len(value) != len(readers):
        raise _Damaged
    return [reader(item) for reader, item in zip(readers, value, strict=True)]


def _mapping(reader: _Reader, value: Any) -> Any:
    if not isinstance(value, dict):
        raise _Damaged
    return {key: reader(item) for key, item in value.items()}
