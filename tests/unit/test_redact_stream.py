import json
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hereya_tf.redaction import MASK, Redactor

pytestmark = pytest.mark.behaviour("F7")

# Put together here, so that scanners of repositories do not take them for real ones.
GITHUB_TAIL = "16C7e42F292c6912E7710c838347Ae178B4a"
AWS_ID = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
KEY_BEGIN, KEY_END = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
KEY = f"{KEY_BEGIN}\nMIIEpAIBAAKCAQEA\nabc==\n{KEY_END}"


def go_json(value: object) -> str:
    """What Go's encoding/json writes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def streamed(redactor: Redactor, pieces: list[str]) -> str:
    stream = redactor.stream()
    return "".join([*(stream.feed(piece) for piece in pieces), stream.flush()])


def cut_up(text: str, sizes: list[int]) -> list[str]:
    pieces = []
    for size in sizes:
        pieces.append(text[:size])
        text = text[size:]
    return [*pieces, text]


PIECES = st.sampled_from(
    [
        *(
            "https://",
            "u:p",
            "a/b",
            "@",
            "Bearer ",
            "token",
            "Authorization: ",
            "Basic ",
            "ghp_",
            "AKIA",
            "secret_key",
        ),
        *(
            "=",
            ' = "',
            AWS_SECRET,
            "SessionToken",
            AWS_ID[4:],
            GITHUB_TAIL,
            KEY_BEGIN,
            KEY_END,
            KEY_BEGIN[:9],
            " -> ",
        ),
        *(
            MASK,
            MASK[:5],
            MASK[5:],
            "redacted",
            "\n",
            "\n",
            "\r\n",
            " ",
            "<&>",
            '"',
            "\\n",
            "é",
            "\u2028",
            "x",
            "]",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=12).map("".join)
SECRETS = st.lists(st.lists(PIECES | st.text(max_size=6), min_size=1, max_size=4).map("".join), max_size=4)


@st.composite
def secrets_and_text(draw: st.DrawFn) -> tuple[list[str], str]:
    secrets = draw(SECRETS)
    spelled = [spelling for spelling in Redactor(secrets).lexicon().spellings if secrets]
    leak = st.sampled_from([*secrets, *spelled]) if spelled else TEXTS
    parts = st.lists(TEXTS | leak | leak.map(lambda text: text[: len(text) // 2]), max_size=6)
    return secrets, "".join(draw(parts))


@given(secrets_and_text())
def test_no_secret_is_left(case: tuple[list[str], str]) -> None:
    secrets, text = case
    redactor = Redactor(secrets)

    between = redactor.text(text).split(MASK)

    matched = [secret.strip() for secret in redactor.secrets()]
    assert [secret for secret in matched for part in between if secret in part] == []


@given(secrets_and_text())
def test_redacting_twice_changes_nothing(case: tuple[list[str], str]) -> None:
    secrets, text = case
    redactor = Redactor(secrets)
    once = redactor.text(text)

    assert redactor.text(once) == once


@given(secrets_and_text(), st.lists(st.integers(0, 40), max_size=30))
def test_a_stream_gives_what_the_whole_text_gives(case: tuple[list[str], str], sizes: list[int]) -> None:
    secrets, text = case
    redactor = Redactor(secrets)

    assert streamed(redactor, cut_up(text, sizes)) == redactor.text(text)
    assert streamed(redactor, list(text)) == redactor.text(text)


@given(secrets_and_text())
def test_a_line_of_json_that_holds_something_is_never_passed_over(case: tuple[list[str], str]) -> None:
    secrets, text = case
    redactor = Redactor(secrets)
    for value in (text, {"a": [text]}, {"secret_key": text}, {"name": text, "value": AWS_SECRET}):
        if redactor.leaves(value) != value:
            for encode in (json.dumps, go_json, lambda value: json.dumps(value, ensure_ascii=False)):
                assert redactor.touches(encode(value))


def test_a_usual_line_is_not_taken_for_a_secret() -> None:
    line = (
        '{"@level":"info","@message":"aws_instance.web[0]: Creation complete after 12s [id=i-0abc123def4567890]",'
        '"@module":"terraform.ui","@timestamp":"2024-05-01T12:34:56.789012Z","hook":{"resource":{"addr":'
        '"aws_instance.web[0]","module":"","resource_type":"aws_kms_key","resource_key":0}},"type":"apply_complete"}'
    )

    assert not Redactor(["xK9fQ2mZ7pLw3vRt8bYc", "correct-horse", AWS_SECRET]).touches(line)


def test_a_complete_line_is_shown_at_once() -> None:
    stream = Redactor(["hunter22", "one\ntwo"]).stream()

    assert [stream.feed(piece) for piece in ("plain\n", "hun", "ter22\nhun", "ger\n")] == [
        "plain\n",
        "",
        f"{MASK}\n",
        "hunger\n",
    ]


def test_only_what_may_become_a_secret_of_many_lines_is_held() -> None:
    stream = Redactor(["one\ntwo\nthree"]).stream()

    assert [stream.feed(piece) for piece in ("zero one\n", "two\n", "2\none\n", "two\nthree", " x\n")] == [
        "zero ",
        "",
        "one\ntwo\n2\n",
        MASK,
        " x\n",
    ]


def test_a_stream_can_be_used_again_after_its_end() -> None:
    stream = Redactor().stream()

    assert stream.feed(KEY_BEGIN) + stream.flush() == MASK
    assert stream.feed("a\n") + stream.flush() == "a\n"


def test_a_private_key_block_is_swallowed_until_its_end() -> None:
    stream = Redactor().stream()
    shown = [stream.feed(f"x {KEY_BEGIN}\n"), *(stream.feed("A" * 64 + "\n") for _ in range(5000))]

    assert "".join(shown) == f"x {MASK}"
    assert stream.feed("A" * 500_000) == ""
    assert stream.feed(KEY_END[:20]) + stream.feed(f"{KEY_END[20:]}\ny\n") == "\ny\n"


def test_an_endless_line_is_shown_but_for_its_last_part() -> None:
    stream = Redactor(["hunter22"]).stream()
    shown = "".join(stream.feed("a" * 1000) for _ in range(2000))

    assert len(shown) > 2_000_000 - 66_000
    assert len(shown + stream.flush()) == 2_000_000


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([1_000, 4_096, 33_000, 70_000]))
def test_secrets_in_endless_lines_are_found_wherever_the_pieces_end(seed: int, size: int) -> None:
    chance = random.Random(seed)
    parts = [
        "hunter22",
        "abab" * 3,
        MASK,
        f"https://u:p{'x' * 300}@h",
        f"secret_key='{AWS_SECRET}' -> '{AWS_SECRET}'",
    ]
    parts += [f"Bearer {'t' * 16_000}", KEY, KEY_BEGIN, KEY_END, "one\ntwo", "one\n", "[red"]
    text = "".join(
        chance.choice(parts) if chance.random() < 0.3 else "-" * chance.randrange(9_000) for _ in range(60)
    )
    redactor = Redactor(["hunter22", "abab", "one\ntwo", "x--y", "-----" + "h" * 40_000])

    assert streamed(redactor, cut_up(text, [chance.randrange(1, size) for _ in range(400)])) == redactor.text(
        text
    )


def test_a_secret_of_any_length_is_found_in_an_endless_line() -> None:
    secret = "".join(chr(33 + number * 7919 % 10007 % 90) for number in range(150_000))
    text = "-" * 50_000 + secret + "-" * 400_000

    assert streamed(Redactor([secret]), cut_up(text, [10_000] * 60)) == "-" * 50_000 + MASK + "-" * 400_000


@pytest.mark.parametrize(
    ("secret", "pieces", "shown"),
    [
        pytest.param("r x\nfoo", ["Bearer x\n", "bar\n"], "Bearer [redacted]\nbar\n", id="before-the-token"),
        pytest.param(
            "one\ntwo and three",
            ["one\nabc one\n", "two and three\n"],
            f"one\nabc {MASK}\n",
            id="at-the-second",
        ),
        pytest.param("acted] x\nfoo", ["[redacted] x\n", "foo\n"], "[redacted] x\nfoo\n", id="in-a-mask"),
        pytest.param(
            "one\ntwo [red", ["one\ntwo [red", "acted]\n"], "one\ntwo [redacted]\n", id="before-a-mask"
        ),
        pytest.param(
            "KEY-----END RSA PRIVATE KEY-----\nfoo",
            [f"{KEY_BEGIN}END RSA PRIVATE KEY-----\n", "bar\n"],
            MASK,
            id="in-a-key-begin",
        ),
        pytest.param(
            "KEY-----BEGIN RSA PRIVATE KEY-----\nfoo",
            [f"{KEY}BEGIN RSA PRIVATE KEY-----\n", "bar\n"],
            f"{MASK}\nbar\n",
            id="in-a-key-end",
        ),
        pytest.param(
            "two\nthree",
            [f"one two\n{KEY_BEGIN}\nx\n{KEY_END} two\n", "x"],
            f"one two\n{MASK} two\nx",
            id="after-a-key",
        ),
    ],
)
def test_a_secret_of_many_lines_may_begin_anywhere(secret: str, pieces: list[str], shown: str) -> None:
    redactor = Redactor([secret])

    assert streamed(redactor, pieces) == shown
    assert redactor.text("".join(pieces)) == shown


def test_a_token_is_the_same_when_a_piece_ends_in_it() -> None:
    token = (
        "ghp_" + "a" * 2040 + "ghp_" + "b" * 100
    )  # longer than the shape: its end is not taken for another
    text = f"{'-' * 36_000} {token} {'-' * 40_000}"
    redactor = Redactor()

    assert streamed(redactor, [text[:70_000], text[70_000:]]) == redactor.text(text)


@pytest.mark.parametrize(
    ("unit", "secret", "shown"),
    [
        pytest.param("a", "hunter22", None, id="a"),
        pytest.param("a", "aaaa", MASK, id="secret"),
        pytest.param("https://", "hunter22", None, id="url"),
        pytest.param("://a:b/", "hunter22", None, id="url-with-slash"),
        pytest.param("Bearer ", "hunter22", None, id="bearer"),
        pytest.param("Authorization:", "hunter22", None, id="authorization"),
        pytest.param("secret_key" + " " * 39, "hunter22", None, id="name"),
        pytest.param(KEY_BEGIN[:11], "hunter22", None, id="key-begin"),
        pytest.param(KEY_BEGIN, "hunter22", MASK, id="keys"),
        pytest.param("[", "hunter22", None, id="mask-begin"),
        pytest.param("one\n", "one\none\none\ntwo", None, id="lines"),
    ],
)
def test_hostile_text_takes_linear_time(unit: str, secret: str, shown: str | None) -> None:
    # 4 MB; anything worse than linear would run into the time limit of the tests.
    text = unit * (4_000_000 // len(unit))
    redactor = Redactor([secret])

    whole = redactor.text(text)
    pieces = streamed(redactor, re.findall(r"(?s).{1,65536}", text))

    # Not compared in the assertion: pytest would work on a difference of this size for minutes.
    is_right = whole == pieces == (text if shown is None else shown)
    assert is_right
