"""Every leak of the corpus, through every way that text takes; and what must not be touched."""

import base64
import json
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.redaction import MASK, Redactor
from tests.command_line import REPOSITORY

pytestmark = pytest.mark.behaviour("F7")

LEAKS = REPOSITORY / "fixtures" / "leaks"
STREAMS = REPOSITORY / "fixtures" / "streams"
# Left out of what would wake those who look for real credentials in repositories.
BROKEN = "¦"


class Leak(NamedTuple):
    """What is printed, and what may be left of it."""

    secrets: tuple[str, ...]
    text: str
    shown: str

    @property
    def redactor(self) -> Redactor:
        return Redactor(self.secrets)


def leaks() -> Iterator[Any]:
    for file in sorted(LEAKS.glob("*.toml")):
        for entry in tomllib.loads(file.read_text(encoding="utf-8"))["leak"]:
            secrets = tuple(secret.replace(BROKEN, "") for secret in entry.get("secrets", ()))
            leak = Leak(secrets, entry["text"].replace(BROKEN, ""), entry["shown"])
            yield pytest.param(leak, id=f"{file.stem}-{entry['id']}")


every_leak = pytest.mark.parametrize("leak", list(leaks()))
CASES: list[Leak] = [case.values[0] for case in leaks()]


def harmless_lines() -> list[str]:
    return (LEAKS / "harmless.txt").read_text(encoding="utf-8").splitlines()


def go_json(value: object) -> str:
    """What Go's encoding/json writes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def texts_in(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from texts_in(item)
        case list():
            for item in value:
                yield from texts_in(item)


@every_leak
def test_a_text_is_shown_as_the_corpus_has_it(leak: Leak) -> None:
    redactor = leak.redactor

    assert redactor.text(leak.text) == leak.shown
    assert redactor.text(leak.shown) == leak.shown


@every_leak
def test_the_leaves_of_an_event_are_shown_as_the_corpus_has_them(leak: Leak) -> None:
    redactor = leak.redactor
    event = {"type": "diagnostic", "detail": leak.text, "snippet": {"values": [["var.x", leak.text]]}}

    assert redactor.leaves(event, frozenset({"type"})) == {
        "type": "diagnostic",
        "detail": leak.shown,
        "snippet": {"values": [["var.x", leak.shown]]},
    }
    if leak.text != leak.shown:
        # What is not asked about is not redacted, so this must never be wrong.
        assert [redactor.touches(encode(event)) for encode in (json.dumps, go_json)] == [True, True]


@every_leak
def test_a_stream_shows_the_same_wherever_it_is_cut(leak: Leak) -> None:
    redactor = leak.redactor
    shown = set()
    for cut in range(len(leak.text) + 1):
        stream = redactor.stream()
        shown.add(stream.feed(leak.text[:cut]) + stream.feed(leak.text[cut:]) + stream.flush())
    single = redactor.stream()
    shown.add("".join([*map(single.feed, leak.text), single.flush()]))

    assert shown == {leak.shown}


@every_leak
def test_what_stands_around_a_leak_stays(leak: Leak) -> None:
    before, after = "Plan: 3 to add, 0 to change.\n", "\nApply complete! Resources: 3 added.\n"
    redactor = leak.redactor

    assert redactor.text(before + leak.text + after) == before + leak.shown + after


def test_the_corpus_has_leaks_and_what_is_none() -> None:
    assert len([leak for leak in CASES if MASK in leak.shown]) > 80
    assert len(harmless_lines()) > 90


@pytest.mark.parametrize("line", harmless_lines())
def test_what_is_harmless_stays_byte_for_byte(line: str) -> None:
    redactor = Redactor(["xK9fQ2mZ7pLw3vRt8bYc", "correct horse battery staple", "two\nlines of it"])

    assert redactor.text(line) == line
    assert redactor.leaves({"text": line, "quoted": json.dumps(line)}) == {
        "text": line,
        "quoted": json.dumps(line),
    }


def test_harmless_lines_stay_together_as_well() -> None:
    text = (LEAKS / "harmless.txt").read_text(encoding="utf-8")

    assert Redactor().text(text) == text


@pytest.mark.parametrize("file", sorted(STREAMS.glob("*.ndjson")), ids=lambda file: file.stem)
def test_nothing_is_taken_for_a_secret_in_what_engines_have_said(file: Path) -> None:
    redactor = Redactor()
    lines = file.read_text(encoding="utf-8").splitlines()

    assert [text for line in lines for text in said(line) if redactor.text(text) != text] == []


def said(line: str) -> Iterator[str]:
    try:
        yield from texts_in(json.loads(line))
    except ValueError:
        yield line


@st.composite
def mixtures(draw: st.DrawFn) -> tuple[Leak, list[str]]:
    """Parts of a few entries and of harmless lines, in pieces as they might arrive, with the secrets of some."""
    known = draw(st.lists(st.sampled_from(CASES), min_size=1, max_size=3))
    texts = st.sampled_from([leak.text for leak in (*known, *CASES)]) | st.sampled_from(harmless_lines())
    parts = []
    for text in draw(st.lists(texts, min_size=1, max_size=5)):
        begin = draw(st.integers(0, len(text)))
        parts += [draw(st.sampled_from([text, text[begin:], text[:begin]]))]
        parts += [draw(st.sampled_from(["", "\n", " ", "=", '"', "\\n", "\t", MASK]))]
    secrets = tuple(secret for leak in known for secret in leak.secrets)
    return Leak(secrets, "".join(parts), ""), parts


@given(mixtures())
def test_whatever_leaks_stand_together_every_way_shows_the_same(case: tuple[Leak, list[str]]) -> None:
    leak, parts = case
    redactor = leak.redactor
    stream = redactor.stream()
    shown = redactor.text(leak.text)

    assert "".join([*map(stream.feed, parts), stream.flush()]) == shown
    assert redactor.text(shown) == shown
    assert redactor.leaves({"text": leak.text}) == {"text": shown}
    if shown != leak.text:
        assert [redactor.touches(encode({"text": leak.text})) for encode in (json.dumps, go_json)] == [
            True,
            True,
        ]
    between = shown.split(MASK)
    assert [secret for secret in redactor.secrets() for part in between if secret.strip() in part] == []


@given(st.text(min_size=5, max_size=40), st.binary(max_size=8), st.binary(max_size=8))
def test_a_secret_is_found_in_the_base64_of_anything(secret: str, before: bytes, after: bytes) -> None:
    redactor = Redactor([secret])
    if not redactor.secrets():
        return
    encoded = base64.b64encode(before + secret.strip().encode() + after).decode()
    spaced = base64.urlsafe_b64encode(before + secret.strip().encode() + after).decode()

    assert [MASK in redactor.text(f"data: {text};") for text in (encoded, spaced)] == [True, True]


@pytest.mark.parametrize("count", [1, 5, 40, 300])
def test_of_many_secrets_none_is_passed_over(count: int) -> None:
    known = [f"secret-value-{number:04d}" for number in range(count // 2 + 1)]
    known += [f'{number * 7919:05d}Kq9Zv"T3{number:04x}' for number in range(count // 2 + 1)]
    redactor = Redactor(known)

    # Those that are looked up by pieces stand at any distance from a piece.
    for secret in known[:: max(1, len(known) // 8)]:
        for form in Redactor([secret]).lexicon().spellings:
            for offset in range(12):
                line = json.dumps({"text": f"{'.' * offset}{form}."})
                assert redactor.touches(line), (secret, form)
                assert redactor.leaves(json.loads(line)) == {"text": f"{'.' * offset}{MASK}."}, (secret, form)


HOSTILE = (
    *(
        'password="',
        "password=",
        "password: a1",
        'secret" : "',
        "token: Aa1Aa1Aa1Aa1Aa1Aa1(",
        "--password a1",
    ),
    *("password>", "password=a,b", "password=)", "password=\\\\", "password:a1)", '"auth":"Aa1', "@h:1"),
    *("eyJaaaaaaaaa.", "eyJaaaaaaaaa.eyJ", "npm_aaaaaaaaaaaaaaaaaaa.", "SG.aaaaaaaaaaaaaaaaaaaaaaaa."),
    *("://a:@h:1", "a:b@tcp(", "a:b@", "s.aaaaaaaaaaaaaaaaaaaaaaaA", "a1Q~", "LS0tLS1CRUdJTiBQUklWQVRFIEtF"),
    *("sk-proj-", "a.atlasv1.", "AGE-SECRET-KEY-1", "?sig=", "one two", "[redacted]password="),
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_costs_no_more_per_character_the_longer_it_is(unit: str) -> None:
    redactor = Redactor(["hunter22", "one two three"])

    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        began = time.process_time()
        redactor.text(text)
        return time.process_time() - began

    few = min(seconds(20_000) for _ in range(3))

    assert seconds(400_000) < 20 * max(few, 0.002) * 4
