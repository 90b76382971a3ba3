"""What to look for so that no spelling of a secret is missed, and how to look for little of it (pure)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from hereya_tf.redaction.credential_shapes import PROBES, REACH
from hereya_tf.redaction.quotings import PLAIN_RUN, json_escapes
from hereya_tf.redaction.secret_spellings import Spelled

_SHORTEST_EVIDENCE = 6
# Comparing each literal with each other is worth it for so many.
_MOST_COMPARED = 128
# Characters that are rare in an engine's lines and frequent in secrets.
_RARE = frozenset("QXJKYWVGHUFBNMqjzxw!#$%^*;?~|`+&")
# Literals without a rare character: so few are looked for one by one. More, and others of which there are many,
# are looked up by their pieces: in a line that holds the literal, one of them stands at a multiple of the step.
_FEW = 3
_MANY = 256
_STEP = 12  # characters
_SHORTEST_IN_PIECES = 16
_Piece = tuple[str, ...]


class Lexicon(NamedTuple):
    """Added values, ready to be looked for."""

    known: object  # the collection this was made from, to see that it is out of date
    spellings: tuple[str, ...]
    multiline: tuple[str, ...]
    # Of spellings that are the core of an encoded text: the characters beside it that belong to it.
    edges: Mapping[str, tuple[int, int]]
    reach: int  # characters that decide about everything that starts before them
    searches: tuple[Callable[[str], object], ...]
    gates: tuple[tuple[str, tuple[str, ...]], ...]  # a character, and the literals that have it
    pieces: Mapping[_Piece, Sequence[str]]  # the other literals, by each of their pieces
    spelled: Mapping[str, tuple[str, ...]]  # for each literal: the spellings it is evidence of

    def present(self, text: str) -> list[str]:
        """Every spelling that occurs in `text`."""
        literals = {
            literal for gate, gated in self.gates if gate in text for literal in gated if literal in text
        }
        literals.update(self.in_pieces(text))
        candidates = {form for literal in literals for form in self.spelled[literal]}
        return [form for form in candidates if form in text]

    def in_pieces(self, text: str) -> Iterator[str]:
        """The literals without a rare character that occur in `text`."""
        for piece in self.pieces.keys() & pieces_of(text):
            for literal in self.pieces[piece]:
                if literal in text:
                    yield literal


def pieces_of(text: str) -> Iterator[_Piece]:
    """Five characters of every twelve."""
    return zip(text[::_STEP], text[1::_STEP], text[2::_STEP], text[3::_STEP], text[4::_STEP], strict=False)


def compiled(known: object, secrets: Iterable[Spelled]) -> Lexicon:
    """A lexicon of the spellings of each secret."""
    secrets = tuple(secrets)
    edges = {core.text: (core.before, core.after) for one in secrets for core in one.cores}
    every = {form for one in secrets for form in one.forms}.union(edges)
    spellings = tuple(sorted(every, key=lambda form: (-len(form), form)))
    evidence: dict[str, set[str]] = {}
    for one in secrets:
        for literal, forms in _evidence({*one.forms, *(core.text for core in one.cores)}).items():
            evidence.setdefault(literal, set()).update(forms)
    gates, pieces = _gated(evidence)
    return Lexicon(
        known=known,
        spellings=spellings,
        multiline=tuple(form for form in spellings if "\n" in form),
        edges=edges,
        reach=max(REACH, len(spellings[0]) + 16) if spellings else REACH,
        searches=tuple(re.compile(probe).search for probe in PROBES),
        gates=gates,
        pieces=pieces,
        spelled={literal: tuple(forms) for literal, forms in evidence.items()},
    )


def _evidence(forms: Iterable[str]) -> dict[str, set[str]]:
    """Few literals, one of which is in every line that holds one of the forms, escaped or not; and those forms."""
    found: dict[str, set[str]] = {}
    for form in forms:
        longest = max(re.findall(PLAIN_RUN, form), key=len, default="")
        if longest == form or len(longest) >= _SHORTEST_EVIDENCE:
            found.setdefault(longest, set()).add(form)
        else:
            found.setdefault(form, set()).add(form)
            for escaped in json_escapes(form):
                found.setdefault(escaped, set())
    if len(found) > _MOST_COMPARED:
        return found
    few: dict[str, set[str]] = {}
    for literal in sorted(found, key=len):
        part = next((other for other in few if other in literal), literal)
        few.setdefault(part, set()).update(found[literal])
    return few


def _gated(
    literals: Iterable[str],
) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], Mapping[_Piece, Sequence[str]]]:
    """Literals grouped by a rare character that each of them has, few groups first; the others in pieces."""
    rare = {literal: _RARE.intersection(literal) for literal in sorted(literals)}
    counts: dict[str, int] = {}
    for characters in rare.values():
        for character in characters:
            counts[character] = counts.get(character, 0) + 1
    groups: dict[str, list[str]] = {}
    in_pieces = [literal for literal in rare if len(literal) >= _SHORTEST_IN_PIECES]
    if sum(not rare[literal] for literal in in_pieces) <= _FEW and len(in_pieces) < _MANY:
        in_pieces = []
    pieces: dict[_Piece, list[str]] = {}
    for literal in in_pieces:
        del rare[literal]
        for at in range(_STEP):
            pieces.setdefault(tuple(literal[at : at + 5]), []).append(literal)
    for literal, characters in rare.items():
        gate = max(characters, key=lambda character: (counts[character], character), default=literal)
        groups.setdefault(gate, []).append(literal)
    gates = tuple((gate, tuple(groups[gate])) for gate in sorted(groups))
    return gates, pieces
