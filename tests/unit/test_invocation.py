"""The command line of a run, as it is shown to be used again: without its secrets."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.invocation import Invocation, Word, reproduce, words_of
from hereya_tf.redaction import Redactor

PRINTABLE = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x2FFF)).filter(str.isprintable)


def shown(*words: Word, redactor: Redactor | None = None, sensitive: tuple[str, ...] = ()) -> str:
    command = reproduce(Invocation("/here", (Word("hereya-tf"), *words)), redactor, sensitive)
    assert command.startswith("cd /here && hereya-tf ")
    return command.removeprefix("cd /here && hereya-tf ")


def test_it_is_a_command_for_a_shell() -> None:
    invocation = Invocation("/a b", (Word("hereya-tf"), Word("plan"), Word("it's"), Word("$HOME")))

    assert reproduce(invocation, Redactor(), ()) == "cd '/a b' && hereya-tf plan 'it'\"'\"'s' '$HOME'"


@given(st.lists(PRINTABLE.filter(lambda text: "://" not in text), max_size=5))
def test_a_shell_reads_the_words_that_were_given(texts: list[str]) -> None:
    words = tuple(Word(text) for text in texts)
    command = reproduce(Invocation("/here", words), Redactor(()), ())

    assert shlex.split(command) == ["cd", "/here", "&&", *texts]


def test_an_option_is_given_with_each_of_its_values() -> None:
    assert tuple(words_of("--param", ("a=1", "b=2"), hold_values=True)) == (
        Word("--param"),
        Word("a=1", holds_value=True),
        Word("--param"),
        Word("b=2", holds_value=True),
    )


def value(text: str) -> Word:
    return Word(text, holds_value=True)


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize(
    ("word", "text"),
    [
        pytest.param(value("size=3"), "size=3", id="what is no secret"),
        pytest.param(value("size:=[3]"), "'size:=[3]'", id="JSON"),
        pytest.param(value("flavour=sweet"), 'flavour="${flavour:?}"', id="a sensitive variable"),
        pytest.param(value("flavour:=1"), 'flavour:="${flavour:?}"', id="JSON of a sensitive variable"),
        pytest.param(value("flavours=sweet"), "flavours=sweet", id="another variable"),
        pytest.param(value("DB_PASSWORD=x"), 'DB_PASSWORD="${DB_PASSWORD:?}"', id="a credential's name"),
        pytest.param(value("api_token:=1"), 'api_token:="${api_token:?}"', id="a credential's name and JSON"),
        pytest.param(Word("https://me:x@y", name="from"), '"${from:?}"', id="what is private as a whole"),
        pytest.param(value("size=a-hunter22-b"), 'size="${size:?}"', id="a value with a secret"),
        pytest.param(value(f"size=ghp_{'a' * 36}"), 'size="${size:?}"', id="what looks like a credential"),
        pytest.param(value("size=a\nb"), 'size="${size:?}"', id="lines"),
        pytest.param(value("settings.hcl"), "settings.hcl", id="a file"),
        pytest.param(Word("=x"), "'=x'", id="what zsh would take for a program"),
        pytest.param(Word("hunter22"), '"${VALUE:?}"', id="a secret that is no value"),
        pytest.param(Word("https://u:geheim1@host/x"), '"${VALUE:?}"', id="user info"),
        pytest.param(Word("a\nb"), '"${VALUE:?}"', id="a word of several lines"),
        pytest.param(
            Word("flavour=sweet", holds_value=True, before="-var="),
            '-var=flavour="${flavour:?}"',
            id="an engine's option",
        ),
    ],
)
def test_secrets_are_left_out(word: Word, text: str) -> None:
    assert shown(word, redactor=Redactor(("hunter22",)), sensitive=("flavour",)) == text


@pytest.mark.behaviour("F7")
@pytest.mark.parametrize(
    ("word", "text"),
    [
        (value("size=3"), 'size="${size:?}"'),
        (value("size:=3"), 'size:="${size:?}"'),
        (value("hunter22"), '"${VALUE:?}"'),
        (Word("prod"), "prod"),
        (Word(f"ghp_{'a' * 36}"), '"${VALUE:?}"'),
    ],
)
def test_of_what_nothing_is_known_no_value_is_shown(word: Word, text: str) -> None:
    assert shown(word) == text


@given(st.text(), st.text(min_size=1, max_size=20), st.booleans(), st.booleans())
def test_it_is_one_line_without_the_values_of_what_is_sensitive(
    secret: str, name: str, is_json: bool, known: bool
) -> None:
    secret = f"hunter22{secret}"
    word = value(f"{name.replace('=', '')}{':' if is_json else ''}={secret}")
    redactor = Redactor() if known else None
    command = reproduce(Invocation(f"/{name}", (word,)), redactor, (name.replace("=", ""),))

    assert "hunter22" not in command
    assert command.isprintable()
