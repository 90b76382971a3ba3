"""What the texts of a `resolve-env` job refer to, and what an operator's commands get of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.errors import BadConfig
from hereya_tf.executor.payloads import Refusal
from hereya_tf.executor.references import (
    FromCommand,
    FromFile,
    FromVariable,
    Literal,
    Reference,
    read_commands,
    read_reference,
)

COMMANDS = {
    "vault": ("vault", "read", "-field={}", "x/{}"),
    "aws": ("aws-secret", "--quiet"),
    "odd": ("{}", "a"),
}


@pytest.mark.behaviour("D9")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Literal("")),
        ("plain", Literal("plain")),
        ("10.0.0.1:80", Literal("10.0.0.1:80")),
        ("/a:b", Literal("/a:b")),
        ("a b:c", Literal("a b:c")),
        ("text:postgres://x", Literal("postgres://x")),
        ("text:", Literal("")),
        ("env:NAME", FromVariable("NAME")),
        ("env:odd name", FromVariable("odd name")),
        ("file:/run/secrets/x", FromFile("/run/secrets/x")),
        ("vault:a/b", FromCommand("vault", ("vault", "read", "-field=a/b", "x/a/b"))),
        ("aws:arn:aws:1; id", FromCommand("aws", ("aws-secret", "--quiet", "arn:aws:1; id"))),
        ("odd:rm", FromCommand("odd", ("{}", "a", "rm"))),
    ],
)
def test_what_a_text_refers_to(text: str, expected: Reference) -> None:
    assert read_reference("A", text, COMMANDS) == expected


KNOWN = "it knows `env:`, `file:`, `text:`, `aws:`, `odd:` and `vault:`"


@pytest.mark.behaviour("D9")
@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        *(
            (
                f"{prefix}:hunter2",
                f"`A` has a prefix that this executor does not know, `{prefix}:` ({KNOWN};"
                " a value that only looks like it is written behind `text:`)",
            )
            for prefix in ("postgres", "ENV", "Vault", "x")
        ),
        ("env:", "`A` has `env:` and no variable behind it"),
        ("file:", "`A` has `file:` and no absolute path behind it"),
        ("file:secrets/hunter2", "`A` has `file:` and no absolute path behind it"),
        ("vault:", "`A` has nothing behind `vault:` that a command could be given"),
        ("vault:hunter2\0", "`A` has nothing behind `vault:` that a command could be given"),
        ("vault:\ud83d", "`A` has nothing behind `vault:` that a command could be given"),
        ("vault:--hunter2", "`A` has `-` behind `vault:`, which a command would take for an option"),
    ],
)
def test_what_cannot_be_resolved_is_said_without_the_text(text: str, sentence: str) -> None:
    assert read_reference("A", text, COMMANDS) == Refusal(sentence)
    assert "hunter2" not in sentence


@given(st.text(st.characters()))
def test_every_text_is_a_reference_or_a_refusal(text: str) -> None:
    assert isinstance(
        read_reference("A", text, COMMANDS), Literal | FromVariable | FromFile | FromCommand | Refusal
    )


@given(st.text(st.characters()))
def test_every_text_can_be_had_as_it_is(text: str) -> None:
    assert read_reference("A", f"text:{text}", COMMANDS) == Literal(text)


@given(st.text(st.characters(), min_size=1))
def test_no_text_chooses_the_command_or_adds_a_word(text: str) -> None:
    reference = read_reference("A", f"vault:{text}", COMMANDS)

    assert isinstance(reference, Refusal) or (reference.argv[0], len(reference.argv)) == ("vault", 4)  # type: ignore[union-attr]


def test_an_operators_commands() -> None:
    table = {"vault": "vault read -field=v '{}'", "x-1+.y": ["a b", "", "-c"]}

    assert read_commands(table, "`config.toml`, line 3") == {
        "vault": ("vault", "read", "-field=v", "{}"),
        "x-1+.y": ("a b", "", "-c"),
    }


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (["vault"], "here is no table of commands"),
        ({"Vault": "x"}, "here: `Vault` cannot be a prefix"),
        ({"": "x"}, "here: `` cannot be a prefix"),
        ({"a:b": "x"}, "here: `a:b` cannot be a prefix"),
        ({"env": "x"}, "here: `env:` is one of our own"),
        ({"text": "x"}, "here: `text:` is one of our own"),
        ({"v": 1}, "here: the command of `v` cannot be used: it is neither a text nor a list of texts"),
        (
            {"v": ["x", 1]},
            "here: the command of `v` cannot be used: it is neither a text nor a list of texts",
        ),
        ({"v": []}, "here: the command of `v` cannot be used: it names no command"),
        ({"v": ["", "x"]}, "here: the command of `v` cannot be used: it names no command"),
        ({"v": ["x", "\0"]}, "here: the command of `v` cannot be used: it names no command"),
        ({"v": " "}, "here: the command of `v` cannot be used: it names no command"),
        ({"v": "'x"}, "here: the command of `v` cannot be used: `'x` is not a command: no closing quotation"),
    ],
)
def test_commands_that_are_none(table: object, sentence: str) -> None:
    with pytest.raises(BadConfig) as caught:
        read_commands(table, "here")

    assert str(caught.value) == sentence
