"""How a secret may be spelled where it leaks (pure)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from hereya_tf.redaction.encodings import Core, cores, encodings
from hereya_tf.redaction.quotings import json_escapes, quotings

SHORTEST_VALUE = 4
_SHORTEST_LINE = 8
# A line that no sentence has: letters with digits or signs, and no space.
_TELLING_LINE = r"(?=\S*[A-Za-z])(?=\S*[0-9!@#$%^&*+=~?])\S{6,7}"
# str() refuses longer integers (sys.int_info.default_max_str_digits); 1e400 is written with 401 digits.
_LONGEST_INT = 4000
_MOST_ZEROS = 10_000
_WORDS = frozenset({"true", "false", "null", "none"})
# More breaks than that, and it is prose; the engine folds what it tells people at 78 columns, in a frame or not.
_MOST_SPACES = 8
_FOLDS = ("\n", "\n│ ")


class Spelled(NamedTuple):
    """All that is looked for to find one secret."""

    forms: tuple[str, ...]
    cores: tuple[Core, ...]


def is_worth_hiding(text: str) -> bool:
    """Whether a value is matched at all: four characters or more, and not a word every log is full of."""
    core = text.strip()
    return len(core) >= SHORTEST_VALUE and core.lower() not in _WORDS


def number_texts(number: object) -> tuple[str, ...]:
    """The ways an int, float or Decimal is written; raises TypeError for anything else."""
    if isinstance(number, int) and abs(number) < 10**_LONGEST_INT:
        return (str(number),)
    from decimal import Decimal

    if not isinstance(number, int | float | Decimal):
        raise TypeError(f"a secret is a JSON value, not `{type(number).__name__}`")
    exact = Decimal(repr(number)) if isinstance(number, float) else Decimal(number)
    texts = (str(exact), str(exact).lower())
    return texts if abs(exact.adjusted()) > _MOST_ZEROS else (*texts, f"{exact:f}")


def spelled(value: str) -> Spelled:
    """Every form of `value` that is looked for: itself, its lines, quoted for languages, and encoded."""
    core = value.strip()
    forms = {core, *_other_texts(core)}
    lines = {line.strip() for line in core.splitlines()} - forms
    # The markers of a PEM file say nothing, and hide other people's certificates.
    forms |= {line for line in lines if _is_telling(line) and not line.startswith("-----")}
    quoted = {once for form in forms for once in quotings(form)}
    twice = {again for form in forms for once in json_escapes(form) for again in json_escapes(once)}
    everything = forms | quoted | twice | {*encodings(value, core), *_folded(core)}
    return Spelled(
        tuple(sorted(form for form in everything if len(form) >= SHORTEST_VALUE)),
        tuple(found for found in cores(core) if len(found.text) >= SHORTEST_VALUE),
    )


def _is_telling(line: str) -> bool:
    return len(line) >= _SHORTEST_LINE or re.fullmatch(_TELLING_LINE, line) is not None


def _other_texts(core: str) -> Iterator[str]:
    if not core.isascii():
        import unicodedata

        yield unicodedata.normalize("NFC", core)  # the engine normalises what it reads
        yield re.sub("[\ud800-\udfff]", "\ufffd", core)
    if "\n" in core and "\r" not in core:
        yield core.replace("\n", "\r\n")


def _folded(core: str) -> Iterator[str]:
    """A line of few words, broken at each of its spaces."""
    if "\n" in core or core.count(" ") > _MOST_SPACES:
        return
    for space in re.finditer(" ", core):
        for fold in _FOLDS:
            yield core[: space.start()] + fold + core[space.end() :]
