"""One sentence for a diagnostic: what, why and where, on one line (pure)."""

from hereya_tf.stream.message_types import Diagnostic

_LONGEST_PART = 400
_LOOKED_AT = 1 << 17


def sentence_of(diagnostic: Diagnostic, *, whole: bool = True) -> str:
    """Summary, the beginning of the detail (or its first sentence, when not `whole`), and where."""
    summary = beginning(diagnostic.summary) or "Error without words"
    detail = beginning(diagnostic.detail)
    if not whole:
        detail = first_sentence(detail)
    return placed(summary + (f": {detail}" if detail else ""), where_of(diagnostic))


def where_of(diagnostic: Diagnostic) -> str:
    """The address of a diagnostic, else file and line; empty when it has neither."""
    place = diagnostic.range
    return diagnostic.address or (f"{place.filename}:{place.start_line}" if place is not None else "")


def placed(sentence: str, where: str) -> str:
    """The sentence, and where that is, if that is known."""
    return f"{sentence} (`{' '.join(where.split())}`)" if where else sentence


def beginning(text: str) -> str:
    """The first paragraph on one line; of an announced list its first item, too."""
    first, *others = text.strip().split("\n\n", 2)
    if first.endswith(":"):
        announced = others[0].removeprefix("- ").partition("\n")[0] if others else ""
        # Of what is announced and does not follow (`Output:` of a silent command) nothing is said.
        first = f"{first} {announced}" if announced else first.rpartition(". ")[0] or first
    return shortened(" ".join(first.split()).rstrip(".:"))


def shortened(text: str) -> str:
    """At most 400 characters, and no half words: half a secret would not be recognised as one."""
    return text if len(text) <= _LONGEST_PART else f"{text[:_LONGEST_PART].rpartition(' ')[0]} …".lstrip()


def first_sentence(text: str) -> str:
    """Up to the first full stop that a capital follows."""
    end = text.find(". ")
    while end >= 0 and not text[end + 2 : end + 3].isupper():
        end = text.find(". ", end + 1)
    return text if end < 0 else text[:end]


def clipped(text: str) -> str:
    """Beginning and end of a text that is too long to be looked at as a whole (an engine sets no limit)."""
    return text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]}\n{text[-_LOOKED_AT:]}"
