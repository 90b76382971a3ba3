"""How a secret may be spelled where it leaks, and what to look for so that no spelling is missed (pure)."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from hereya_tf.redaction.credential_shapes import GATED_PROBES, PROBES, REACH

SHORTEST_VALUE = 4
_SHORTEST_LINE = 8
_SHORTEST_EVIDENCE = 6
# str() refuses longer integers (sys.int_info.default_max_str_digits); 1e400 is written with 401 digits.
_LONGEST_INT = 4000
_MOST_ZEROS = 10_000
# Comparing each literal with each other is worth it for few.
_FEW = 64
_WORDS = frozenset({"true", "false", "null", "none"})
# Characters that are rare in an engine's lines and frequent in secrets.
_RARE = frozenset("QXJKYWVGHUFBNMqjzxw!#$%^*;?~|`+&")
# What no JSON encoder escapes (some escape / and ' too).
_PLAIN_RUN = r"[ !#-%(-.0-;=?-\[\]-~]+"
# Go's encoding/json writes these as \u escapes, like control characters.
_GO_ESCAPED = "<>&\u2028\u2029"


class Lexicon(NamedTuple):
    """Added values, ready to be looked for."""

    known: object  # the collection this was made from, to see that it is out of date
    spellings: tuple[str, ...]
    multiline: tuple[str, ...]
    reach: int  # characters that decide about everything that starts before them
    searches: tuple[Callable[[str], object], ...]
    gates: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]  # (gate, ((literal, regex or ""), …))


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


def spellings(value: str) -> tuple[str, ...]:
    """Every form of `value` that is looked for: itself, its lines, JSON, URL and base64 encodings."""
    core = value.strip()
    forms = {core, *_other_texts(core)}
    lines = {line.strip() for line in core.splitlines()} - forms
    # The markers of a PEM file say nothing, and hide other people's certificates.
    forms |= {line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----")}
    escaped = {once for form in forms for once in json_escapes(form)}
    twice = {again for once in escaped for again in json_escapes(once)}
    encoded = {*_url_encodings(core), *_base64_encodings(value), *_base64_encodings(core)}
    everything = forms | escaped | twice | encoded
    return tuple(sorted((form for form in everything if len(form) >= SHORTEST_VALUE), key=len, reverse=True))


def _other_texts(core: str) -> Iterator[str]:
    if not core.isascii():
        import unicodedata

        yield unicodedata.normalize("NFC", core)  # the engine normalises what it reads
        yield re.sub("[\ud800-\udfff]", "\ufffd", core)
    if "\n" in core and "\r" not in core:
        yield core.replace("\n", "\r\n")


def json_escapes(text: str) -> set[str]:
    """`text` as it stands inside a JSON string, written by Python or Go; empty when no form differs."""
    if re.fullmatch(_PLAIN_RUN, text):
        return set()
    import json

    raw = json.dumps(text, ensure_ascii=False)[1:-1]
    go = raw.translate({ord(character): f"\\u{ord(character):04x}" for character in _GO_ESCAPED})
    # Before Go 1.22 \b and \f had no short form; a backslash of the text itself is always one of two.
    old_go = re.sub(r"\\(?:([bf])|.)", _long_form, go)
    return {raw, json.dumps(text)[1:-1], go, old_go} - {text}


def _long_form(escape: re.Match[str]) -> str:
    return {"b": "\\u0008", "f": "\\u000c"}.get(escape[1], escape[0])


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _url_encodings(text: str) -> tuple[str, ...]:
    if re.fullmatch(r"[A-Za-z0-9_.~-]+", text):
        return ()
    from urllib.parse import quote_from_bytes

    data = _bytes(text)
    strict = quote_from_bytes(data, safe="")
    # The last one is how Go writes user info.
    return quote_from_bytes(data), strict, strict.replace("%20", "+"), quote_from_bytes(data, safe="$&+,;=")


def _base64_encodings(text: str) -> tuple[str, ...]:
    from base64 import b64encode

    standard = b64encode(_bytes(text)).decode("ascii")
    urlsafe = standard.replace("+", "-").replace("/", "_")
    return standard, urlsafe, standard.rstrip("="), urlsafe.rstrip("=")


def compiled(known: object, spelled: Iterable[tuple[str, ...]]) -> Lexicon:
    """A lexicon of the spellings of each secret."""
    spelled = tuple(spelled)
    every = tuple(sorted({form for forms in spelled for form in forms}, key=lambda form: (-len(form), form)))
    literals = {literal for forms in spelled for literal in _evidence(forms)}
    return Lexicon(
        known=known,
        spellings=every,
        multiline=tuple(form for form in every if "\n" in form),
        reach=max(REACH, len(every[0]) + 16) if every else REACH,
        searches=tuple(re.compile(probe).search for probe in PROBES),
        gates=(*((gate, ((gate, pattern),)) for gate, pattern in GATED_PROBES), *_gated(literals)),
    )


def _evidence(forms: tuple[str, ...]) -> set[str]:
    """Few literals, one of which is in every line, escaped or not, that holds one of `forms`."""
    found: set[str] = set()
    for form in forms:
        longest = max(re.findall(_PLAIN_RUN, form), key=len, default="")
        if longest == form or len(longest) >= _SHORTEST_EVIDENCE:
            found.add(longest)
        else:
            found |= {form, *json_escapes(form)}
    if len(found) > _FEW:
        return found
    return {one for one in found if not any(other != one and other in one for other in found)}


def _gated(literals: set[str]) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Literals grouped by a rare character that each of them has, few groups first; the rest by themselves."""
    rare = {literal: _RARE.intersection(literal) for literal in literals}
    counts: dict[str, int] = {}
    for characters in rare.values():
        for character in characters:
            counts[character] = counts.get(character, 0) + 1
    groups: dict[str, list[str]] = {}
    for literal, characters in rare.items():
        gate = max(characters, key=lambda character: (counts[character], character), default=literal)
        groups.setdefault(gate, []).append(literal)
    for gate in sorted(groups):
        yield gate, tuple((literal, "") for literal in sorted(groups[gate]))
