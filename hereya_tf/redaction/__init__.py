"""Takes credentials out of text, JSON values and streams before they leave the process.

Covered is the union of everything that matches: known shapes, private key blocks, and added values in all
their spellings. A mask that is already there is a wall: nothing but a private key block is matched across
it, so redacting twice changes nothing. All matches but key blocks have a bounded length, so that a stream
can give the same result as the whole text.
"""

import re
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from hereya_tf.redaction.credential_shapes import (
    GATED_PROBES,
    PRIVATE_KEY_BEGIN,
    PRIVATE_KEY_END,
    SHAPES,
    is_named_secret,
    searching,
)
from hereya_tf.redaction.lexicon import Lexicon, compiled, pieces_of
from hereya_tf.redaction.secret_spellings import Spelled, is_worth_hiding, number_texts, spelled

MASK = "[redacted]"

_PIECE = 1024 * 1024  # characters of a long text that are looked at together
_CLOSERS = "\"'\\,;)}] \t"
_KEY_BLOCK = len(SHAPES)
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


class Redactor:
    """Knows the secrets of a run and takes them out of what is shown; any thread may use and teach it."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        # Names of outputs whose values are to be added as soon as somebody knows them.
        self.secret_outputs: frozenset[str] = frozenset()
        self._spelled: dict[str, Spelled] = {}  # replaced, never changed
        self._lexicon: Lexicon | None = None
        self._adding = threading.Lock()
        for secret in secrets:
            self.add(secret)

    def add(self, value: object) -> None:
        """Make a text, or every string and number in a JSON value, a secret.

        Texts under 4 characters and true, false, null, none are ignored. Raises TypeError for what JSON
        cannot hold.
        """
        texts: list[str] = []
        pending = [value]
        while pending:
            match pending.pop():
                case str() as text:
                    texts.append(text)
                case bool() | None:
                    pass
                case dict() as members:
                    pending.extend(members.values())
                case list() | tuple() as items:
                    pending.extend(items)
                case number:
                    texts.extend(number_texts(number))
        new = dict.fromkeys(text for text in texts if is_worth_hiding(text) and text not in self._spelled)
        if new:
            with self._adding:
                self._spelled = self._spelled | {text: spelled(text) for text in new}

    def secrets(self) -> tuple[str, ...]:
        """Every added text that is matched, as it was added."""
        return tuple(self._spelled)

    def lexicon(self) -> Lexicon:
        """What is looked for by value, compiled anew when something was added."""
        lexicon, known = self._lexicon, self._spelled
        if lexicon is None or lexicon.known is not known:
            lexicon = self._lexicon = compiled(known, known.values())
        return lexicon

    def touches(self, line: str) -> bool:
        """Whether `line`, plain or serialised as JSON by Python or Go, may hold something to redact.

        Never wrongly false; wrongly true for some lines without a secret. Costs two to five microseconds.
        """
        lexicon = self._lexicon
        if lexicon is None or lexicon.known is not self._spelled:
            lexicon = self.lexicon()
        for search in lexicon.searches:
            if search(line):
                return True
        for gate, pattern in GATED_PROBES:
            if gate in line and searching(pattern)(line):
                return True
        for gate, literals in lexicon.gates:
            if gate in line:
                for literal in literals:
                    if literal in line:
                        return True
        pieces = lexicon.pieces
        if not pieces or pieces.keys().isdisjoint(pieces_of(line)):
            return False
        return any(lexicon.in_pieces(line))

    def text(self, text: str) -> str:
        """The whole of `text` with a mask in place of every credential."""
        if not self.touches(text):
            return text
        stream = self.stream()
        starts = range(0, len(text), _PIECE)
        return "".join(
            [*(stream.feed(text[at : at + _PIECE]) for at in starts[:-1]), stream.flush(text[starts[-1] :])]
        )

    def leaves(self, value: Any, intact: frozenset[str] = frozenset()) -> Any:
        """A copy of a decoded JSON value with its strings redacted.

        Keys, numbers and booleans stay, and so do strings and lists directly under a key in `intact`, but not
        inside of a `value`: what its keys mean is its owner's choice.
        """
        root: list[Any] = [value]
        pending: list[tuple[Any, frozenset[str], object]] = [(root, intact, "")]
        while pending:  # no recursion: the depth is the sender's choice
            container, intact, owner = pending.pop()
            is_object = isinstance(container, dict)
            before: object = ""
            for key, item in list(container.items() if is_object else enumerate(container)):
                if is_object and key in intact and isinstance(item, str | list):
                    continue
                if isinstance(item, str):
                    container[key] = self._leaf((before, owner) if key == "value" else (key,), item)
                elif isinstance(item, dict | list | tuple):
                    container[key] = copy = dict(item) if isinstance(item, dict) else list(item)
                    pending.append((copy, frozenset() if is_object and key == "value" else intact, key))
                before = item
        return root[0]

    def _leaf(self, names: tuple[object, ...], text: str) -> str:
        if any(isinstance(name, str) and is_named_secret(name, text) for name in names):
            return MASK
        return self.text(text)

    def stream(self) -> "StreamRedactor":
        """A redactor for text that arrives in pieces; it also knows what is added later."""
        return StreamRedactor(self)


class StreamRedactor:
    """Redacts text that arrives in pieces of any size; joined, the result is that of the whole text.

    A complete line is shown at once, unless it may be the beginning of a secret of several lines. Held back
    is an unfinished line, at most 64 KiB or twice the longest secret of it.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._reset()

    def _reset(self) -> None:
        self._parts: list[str] = []
        self._held = 0
        # How matches that began in text already shown reach into the held text; offsets in characters.
        self._in_key = False
        self._covered = -1  # end of the last mask, or -1 when text has followed it
        self._later: list[tuple[int, int]] = []
        self._resume: dict[int, int] = {}  # where a shape, or the key block, is looked for, if not everywhere

    def feed(self, text: str) -> str:
        """Take the next piece and return what is safe to show now."""
        self._parts.append(text)
        self._held += len(text)
        lexicon = self._redactor.lexicon()
        if "\n" not in text and self._held <= 2 * lexicon.reach:
            return ""
        held = "".join(self._parts)
        known = len(held) - _begun_mask(held)
        cut = _settled(held, known, lexicon)
        shown = self._show(held, known, cut, lexicon)
        self._parts = [held[cut:]]
        self._held = len(held) - cut
        return shown

    def flush(self, text: str = "") -> str:
        """Take the last piece, if any, and return all that is left; the stream starts afresh."""
        held = "".join([*self._parts, text])
        shown = self._show(held, len(held), len(held), self._redactor.lexicon())
        self._reset()
        return shown

    def _show(self, held: str, known: int, cut: int, lexicon: Lexicon) -> str:
        """The redacted text before `cut`, given that held[:known] cannot mean anything else any more."""
        spans = sorted(self._spans(held, known, cut, lexicon))
        pieces: list[str] = []
        covered = self._covered
        shown = max(covered, 0)
        for start, end in spans:
            if start >= cut:
                break
            if start > covered:
                pieces += (held[shown:start], MASK)
            covered = shown = max(covered, end)
        if shown < cut:
            pieces.append(held[shown:cut])
            covered = -1
        self._covered = covered - cut if covered >= cut else -1
        self._later = [(start - cut, end - cut) for start, end in spans if start >= cut]
        return "".join(pieces)

    def _spans(self, held: str, known: int, cut: int, lexicon: Lexicon) -> list[tuple[int, int]]:
        """What matches that begin before `cut` cover, together with what earlier ones left for later."""
        spans = self._later
        resume = {index: at - cut for index, at in self._resume.items() if at > cut}
        if self._in_key or self._redactor.touches(held[:known] if known < len(held) else held):
            spans = [*spans, *self._key_spans(held, known, cut, resume)]
            present = lexicon.present(held)
            for begin, end in _between_masks(held, known):
                spans += self._shape_spans(held, begin, end, cut, resume)
                for spelling in present:
                    found = _occurrences(held, spelling, begin, end)
                    edges = lexicon.edges.get(spelling)
                    spans += found if edges is None else _widened(held, found, edges, begin, end)
        self._resume = resume
        return spans

    def _shape_spans(
        self, held: str, begin: int, end: int, cut: int, resume: dict[int, int]
    ) -> Iterator[tuple[int, int]]:
        for index, (hints, pattern, is_closed) in enumerate(SHAPES):
            if all(held.find(hint, begin, end) < 0 for hint in hints):
                continue
            for match in re.compile(pattern).finditer(held, max(begin, self._resume.get(index, 0)), end):
                if match.start() >= cut:
                    break
                if match.end() > cut:
                    resume[index] = match.end() - cut
                if is_closed and held.startswith(MASK, end) and not held[match.end() : end].strip(_CLOSERS):
                    continue
                yield match.span(match.lastindex or 0)

    def _key_spans(
        self, held: str, known: int, cut: int, resume: dict[int, int]
    ) -> Iterator[tuple[int, int]]:
        start, at = (0 if self._in_key else -1), self._resume.get(_KEY_BLOCK, 0)
        while True:
            if start < 0:
                begin = re.compile(PRIVATE_KEY_BEGIN).search(held, at, known)
                if begin is None or begin.start() >= cut:
                    self._in_key = False
                    return
                start, at = begin.span()
            end = re.compile(PRIVATE_KEY_END).search(held, at, known)
            if end is None:
                self._in_key = True
                resume[_KEY_BLOCK] = max(0, at - cut)
                yield start, len(held)
                return
            yield start, end.end()
            start, at = -1, end.end()
            resume[_KEY_BLOCK] = max(0, at - cut)


def _begun_mask(text: str) -> int:
    """How many characters at the end of `text` may become a mask."""
    if MASK[0] not in text[1 - len(MASK) :]:
        return 0
    return next((size for size in range(len(MASK) - 1, 0, -1) if text.endswith(MASK[:size])), 0)


def _settled(held: str, known: int, lexicon: Lexicon) -> int:
    """Up to where nothing that is still to come can change what matches."""
    cut = held.rfind("\n", 0, known) + 1
    cut = max(cut, known - lexicon.reach)
    for spelling in lexicon.multiline:
        cut = _begun(held, spelling, known, cut)
    mask = held.find(MASK, max(0, cut - len(MASK) + 1), cut + len(MASK) - 1)
    return cut if mask < 0 else mask


def _begun(held: str, spelling: str, known: int, cut: int) -> int:
    """Where before `cut` the text begins to be `spelling`, as far as it is known; else `cut`."""
    first_line = spelling[: spelling.index("\n") + 1]
    at = held.find(first_line, max(0, known - len(spelling) + 1), known)
    while 0 <= at < cut:
        if spelling.startswith(held[at:known]):
            return at
        at = held.find(first_line, at + 1, known)
    return cut


def _between_masks(text: str, size: int) -> Iterator[tuple[int, int]]:
    begin = 0
    while (mask := text.find(MASK, begin, size)) >= 0:
        if begin < mask:
            yield begin, mask
        begin = mask + len(MASK)
    if begin < size:
        yield begin, size


def _occurrences(text: str, spelling: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """Where `spelling` is in text[begin:end]; occurrences that touch or overlap are one."""
    size = len(spelling)
    start = text.find(spelling, begin, end)
    while start >= 0:
        stop = start + size
        while True:
            if text.startswith(spelling, stop, end):
                stop += size
            elif (overlapping := text.find(spelling, stop - size + 1, min(stop + size, end))) >= 0:
                stop = overlapping + size
            else:
                break
        yield start, stop
        start = text.find(spelling, stop, end)


def _widened(
    text: str, found: Iterable[tuple[int, int]], edges: tuple[int, int], begin: int, end: int
) -> Iterator[tuple[int, int]]:
    """The spans with the characters of base64 beside them that have bits of the secret as well."""
    before, after = edges
    for start, stop in found:
        wider = before and start > begin and text[start - 1] in _BASE64
        longer = after and stop < end and text[stop] in _BASE64
        yield start - 1 if wider else start, stop + 1 if longer else stop
