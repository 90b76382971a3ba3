"""Sizes as people write them: `500MB`, `1GB`, `1.5GiB` (pure)."""

import re

_TEXT = re.compile(r"([0-9]{1,30})(\.[0-9]{1,30})?(?:([KMGT])(I)?)?B?")
_LETTERS = "KMGT"
# What a file system can count.
_MOST = 2**63 - 1


def parse_size(text: str) -> int:
    """Bytes that `text` names; a number without a unit counts bytes, `K` is 1000 and `Ki` 1024.

    Raises ValueError for anything else, and for more than a file system can hold.
    """
    match = _TEXT.fullmatch(text.strip().upper())
    size = 0
    if match is not None:
        whole, fraction, letter, binary = match.groups()
        unit = (1024 if binary else 1000) ** (_LETTERS.index(letter) + 1 if letter else 0)
        size = int(whole) * unit + int(float(fraction or 0) * unit)
    if match is None or size > _MOST:
        raise ValueError(f"`{text}` is not a size such as `500MB`, `1GB` or `1.5GiB`")
    return size


def spell_size(size: int) -> str:
    """The shortest exact spelling: 500000000 -> `500MB`."""
    for power, letter in reversed(tuple(enumerate(_LETTERS, 1))):
        if size and size % 1000**power == 0:
            return f"{size // 1000**power}{letter}B"
    return f"{size}B"


def format_size(size: int) -> str:
    """About how much it is, for people: `812 B`, `3.4 kB`, `12 MB`, `1.5 GB`."""
    if size < 1000:
        return f"{size} B"
    value = float(size)
    for letter in "kMGT":
        value /= 1000
        if value < 999.5 or letter == "T":
            break
    return f"{value:.1f} {letter}B" if value < 9.95 else f"{value:.0f} {letter}B"
