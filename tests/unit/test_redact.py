import base64
import json
import threading
from decimal import Decimal
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from hereya_tf.redaction import MASK, Redactor

pytestmark = pytest.mark.behaviour("F7")

# Put together here, so that scanners of repositories do not take them for real ones.
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYEXAMPLEKEY"
SESSION_TOKEN = "IQoJb3JpZ2luX2VjEA" + "Aa/b+c=" * 20
KEY_BEGIN, KEY_END = (f"-----{word} RSA PRIVATE KEY-----" for word in ("BEGIN", "END"))
KEY = f"{KEY_BEGIN}\nMIIEpAIBAAKCAQEA\nabc==\n{KEY_END}"


def go_json(value: object) -> str:
    """What Go's encoding/json writes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"})


def old_go_json(value: object) -> str:
    """What it wrote before Go 1.22, for values without a backslash before b or f."""
    return go_json(value).replace("\\b", "\\u0008").replace("\\f", "\\u000c")


@pytest.mark.parametrize(
    "spell",
    [
        pytest.param(str, id="itself"),
        pytest.param(lambda value: json.dumps(value)[1:-1], id="json"),
        pytest.param(lambda value: json.dumps(value, ensure_ascii=False)[1:-1], id="json-utf8"),
        pytest.param(lambda value: go_json(value)[1:-1], id="json-go"),
        pytest.param(lambda value: old_go_json(value)[1:-1], id="json-old-go"),
        pytest.param(lambda value: json.dumps(go_json(value))[3:-3], id="json-in-json"),
        pytest.param(quote, id="quote"),
        pytest.param(lambda value: quote(value, safe=""), id="quote-all"),
        pytest.param(quote_plus, id="quote-plus"),
        pytest.param(lambda value: base64.b64encode(value.encode()).decode(), id="base64"),
        pytest.param(lambda value: base64.urlsafe_b64encode(value.encode()).decode(), id="base64-urlsafe"),
        pytest.param(
            lambda value: base64.b64encode(value.encode()).decode().rstrip("="), id="base64-unpadded"
        ),
        pytest.param(
            lambda value: base64.b64encode(f"{value}\n".encode()).decode(), id="base64-with-newline"
        ),
    ],
)
@pytest.mark.parametrize(
    "value",
    ["hunter22", 'pä"s\\s <&>/+?~ \u2028z', "a\nb\bc\fd<", "salt&pepper&oil", "\xff\xfe\xfb\xef>>>???"],
)
def test_a_value_is_redacted_in_every_spelling(value: str, spell: Any) -> None:
    redactor = Redactor([f"{value}\n"])

    assert redactor.text(f"x{spell(value)}y") == f"x{MASK}y"
    assert redactor.touches(spell(value))


def test_a_value_as_the_engine_normalises_it_is_redacted() -> None:
    assert Redactor(["cafe\u0301-secret"]).text("is caf\u00e9-secret.") == "is [redacted]."


def test_bytes_that_are_not_utf8_are_redacted_in_both_forms() -> None:
    redactor = Redactor(["pass\udcffword", "lone\ud800half"])

    shown = redactor.text("pass\udcffword pass\ufffdword pass%FFword cGFzc/93b3Jk lone\ufffdhalf")

    assert shown == f"{MASK} {MASK} {MASK} {MASK} {MASK}"


@pytest.mark.parametrize(
    "value", ["", "abc", " abc\n", "    ", "true", "FALSE", "null", "None", None, True, 12, 1.5]
)
def test_short_values_and_common_words_are_not_matched(value: object) -> None:
    redactor = Redactor()
    redactor.add(value)

    assert redactor.secrets() == ()
    assert redactor.text("abc true FALSE null None 12 1.5     .") == "abc true FALSE null None 12 1.5     ."


def test_every_string_and_number_of_a_json_value_becomes_a_secret() -> None:
    redactor = Redactor()
    redactor.add(
        {"key-name": ["alpha", {"x": ("beta", 12345)}, None, True], "n": Decimal("1.5e3"), "f": 0.125}
    )

    assert redactor.text("key-name alpha beta 12345 1.5E+3 1.5e+3 1500 0.125") == "key-name" + f" {MASK}" * 7
    assert sorted(redactor.secrets()) == ["0.125", "1.5E+3", "1.5e+3", "12345", "1500", "alpha", "beta"]


def test_numbers_of_any_length_can_be_secrets() -> None:
    redactor = Redactor()
    redactor.add([10**5000, Decimal("1e400"), Decimal("1e999999999"), Decimal("NaN")])

    assert redactor.text("1" + "0" * 5000) == MASK
    assert redactor.text("1" + "0" * 400) == MASK
    assert redactor.text("1E+999999999") == MASK


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match="a secret is a JSON value, not `bytes`"):
        Redactor().add([b"hunter22"])


def test_a_secret_that_begins_like_another_leaves_no_remainder() -> None:
    assert Redactor(["hunter", "hunter22extra"]).text("hunter hunter22extra") == "[redacted] [redacted]"


def test_secrets_that_overlap_leave_no_remainder() -> None:
    assert Redactor(["abcdef", "defghi"]).text("-abcdefghi-") == "-[redacted]-"
    assert Redactor(["ababa"]).text("ababababac") == f"{MASK}c"
    assert Redactor(["to/ken with spaces"]).text("Bearer to/ken with spaces!") == "Bearer [redacted]!"
    assert Redactor(["p@ss/word"]).text("https://user:p@ss/word@host") == "https://[redacted]@host"


def test_a_value_of_many_lines_is_also_redacted_line_by_line() -> None:
    redactor = Redactor(["first-line\n  second-line  \nshort\n-----BEGIN CERTIFICATE-----\n"])

    assert redactor.text("+ first-line\n+ second-line\n+ short") == "+ [redacted]\n+ [redacted]\n+ short"
    assert (
        redactor.text("first-line\r\n  second-line  \r\nshort\r\n-----BEGIN CERTIFICATE-----|") == f"{MASK}|"
    )
    assert redactor.text("-----BEGIN CERTIFICATE-----") == "-----BEGIN CERTIFICATE-----"


def test_a_long_file_can_be_a_secret() -> None:
    lines = [f"line-{number:04}-{number * 7919 % 10007:05}" for number in range(500)]
    redactor = Redactor(["\n".join(lines)])

    assert redactor.touches(f"x {lines[250]}")
    assert redactor.text("\n".join(["a", *lines, "b"])) == "a\n[redacted]\nb"


def test_a_mask_is_never_redacted_again() -> None:
    redactor = Redactor(["redacted", MASK, "acted] x", "x [red", "[redacted]abcd"])

    assert redactor.text(f"x {MASK} x redacted") == f"x {MASK} x {MASK}"
    assert redactor.text(f"{MASK}abcd") == f"{MASK}abcd"


def test_what_was_added_is_given_back_for_a_later_run() -> None:
    assert Redactor(["hunter22", "abc", "hunter22", "two\nlines\n"]).secrets() == ("hunter22", "two\nlines\n")


def test_a_value_is_matched_from_the_moment_it_is_added() -> None:
    redactor = Redactor()
    stream = redactor.stream()
    before = (redactor.touches("hunter22"), stream.feed("hunter22\n"))
    redactor.add("hunter22")

    assert before == (False, "hunter22\n")
    assert (redactor.touches("hunter22"), stream.feed("hunter22\n")) == (True, "[redacted]\n")


def test_threads_can_add_and_ask_at_once() -> None:
    redactor = Redactor()

    def work(number: int) -> None:
        for index in range(20):
            redactor.add(f"secret-{number}-{index}-x")
            assert redactor.touches(f"secret-{number}-{index}-x")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(redactor.secrets()) == 160


def test_only_the_strings_of_a_json_value_are_redacted() -> None:
    redactor = Redactor(["hunter22", "12345"])
    value = {
        "hunter22": ["say hunter22", 12345, Decimal("12345.0"), True, None, ("hunter22",)],
        "addr": 'thing.x["hunter22"]',
        "deep": {"addr": ["hunter22"], "text": KEY},
    }

    assert redactor.leaves(value, frozenset({"addr"})) == {
        "hunter22": [f"say {MASK}", 12345, Decimal("12345.0"), True, None, [MASK]],
        "addr": 'thing.x["hunter22"]',
        "deep": {"addr": ["hunter22"], "text": MASK},
    }
    assert value["addr"] == 'thing.x["hunter22"]'
    assert redactor.leaves("x hunter22") == f"x {MASK}"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        pytest.param({"SecretAccessKey": AWS_SECRET}, {"SecretAccessKey": MASK}, id="secret"),
        pytest.param({"aws_session_token": SESSION_TOKEN}, {"aws_session_token": MASK}, id="session"),
        pytest.param({"other": AWS_SECRET}, {"other": AWS_SECRET}, id="other-name"),
        pytest.param({"secret_key": "too-short"}, {"secret_key": "too-short"}, id="other-form"),
        pytest.param(
            [{"name": "AWS_SECRET_ACCESS_KEY", "value": AWS_SECRET}],
            [{"name": "AWS_SECRET_ACCESS_KEY", "value": MASK}],
            id="name-and-value",
        ),
    ],
)
def test_a_key_of_a_json_object_can_name_the_secret(value: Any, shown: Any) -> None:
    redactor = Redactor()

    assert redactor.leaves(value) == shown
    assert all(redactor.touches(encode(value)) for encode in (json.dumps, go_json)) or value == shown


def test_a_line_that_holds_json_in_json_in_json_is_not_passed_over() -> None:
    redactor = Redactor(['a"b"c'])
    inner = json.dumps(go_json('a"b"c'))

    assert redactor.leaves({"body": inner}) == {"body": f'"\\"{MASK}\\""'}
    assert redactor.touches(json.dumps({"body": inner}))
    assert redactor.touches(go_json({"body": inner}))


def test_json_of_any_depth_is_redacted() -> None:
    value: Any = "hunter22"
    for _ in range(20_000):
        value = [value]
    value = Redactor(["hunter22"]).leaves(value)
    while isinstance(value, list):
        (value,) = value

    assert value == MASK


def test_keys_inside_of_a_value_keep_nothing_intact() -> None:
    message = {"outputs": {"a": {"type": ["object"], "value": {"key": "hunter22", "name": ["hunter22"]}}}}

    assert Redactor(["hunter22"]).leaves(message, frozenset({"key", "name", "type"})) == {
        "outputs": {"a": {"type": ["object"], "value": {"key": MASK, "name": [MASK]}}}
    }


def test_the_name_of_an_output_can_name_the_secret() -> None:
    message = {"outputs": {"secret_access_key": {"sensitive": False, "value": AWS_SECRET}}}

    assert Redactor().leaves(message)["outputs"]["secret_access_key"]["value"] == MASK
