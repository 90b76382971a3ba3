"""Flags and files are read exactly, and what is wrong with them is said without repeating a value."""

import contextlib
import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from hereya_tf.errors import BadInput
from hereya_tf.inputs import yaml_core
from hereya_tf.inputs.given import (
    Given,
    Source,
    is_identifier,
    parse_environment_entry,
    parse_parameter,
    read_environment_file,
    read_parameter_file,
)
from hereya_tf.inputs.yaml_core import UnusableYAMLError


def write(directory: Path, name: str, content: str | bytes) -> Path:
    path = directory / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("written", "name", "value", "is_text"),
    [
        ("a=b", "a", "b", True),
        ("a=", "a", "", True),
        ("a==", "a", "=", True),
        ("a=:=1", "a", ":=1", True),
        ("a= b\n", "a", " b\n", True),
        ("a=[1]", "a", "[1]", True),
        ("a:=1", "a", 1, False),
        ("a:=9007199254740993", "a", 9007199254740993, False),
        ("a:=1.10", "a", Decimal("1.10"), False),
        ('a-b_c:={"x": [null, true, "=:="]}', "a-b_c", {"x": [None, True, "=:="]}, False),
        ('a:=""', "a", "", False),
        ("été=1", "été", "1", True),
        ("_x=1", "_x", "1", True),
    ],
)
def test_a_parameter(written: str, name: str, value: object, is_text: bool) -> None:
    assert parse_parameter(written) == Given(name, value, is_text, Source.FLAG, "-p")


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("hunter2", "`-p` takes `NAME=TEXT` or `NAME:=JSON`, and there is no `=`"),
        ("", "`-p` takes `NAME=TEXT` or `NAME:=JSON`, and there is no `=`"),
        ("=hunter2", "`-p` takes `NAME=TEXT` or `NAME:=JSON`, and `` cannot be a variable's name"),
        (":=1", "`-p` takes `NAME=TEXT` or `NAME:=JSON`, and `` cannot be a variable's name"),
        ("a b=hunter2", "`-p` takes `NAME=TEXT` or `NAME:=JSON`, and `a b` cannot be a variable's name"),
        ("a:b=hunter2", "`-p` takes `NAME=TEXT` or `NAME:=JSON`, and `a:b` cannot be a variable's name"),
        ("a:=", "`-p a:=…` is not JSON (line 1, column 1: Expecting value)"),
        ("a:=hunter2", "`-p a:=…` is not JSON (line 1, column 1: Expecting value)"),
        ('a:=["hunter2"', "`-p a:=…` is not JSON (line 1, column 11: Expecting ',' delimiter)"),
        ("a:=NaN", "`-p a:=…` is not JSON (it holds a number that JSON does not have)"),
        ("a:=1e9999999999999999999", "`-p a:=…` is not JSON (it holds a number that JSON does not have)"),
        ("a:=" + "[" * 100_000, "`-p a:=…` is JSON nested too deeply"),
    ],
)
def test_a_parameter_that_is_none(written: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_parameter(written)

    assert (str(caught.value), caught.value.__cause__) == (sentence, None)


@pytest.mark.parametrize("name", ["-a", "1a", "a.b", "a b", "", "//", "a=", "a\n", "-"])
def test_what_cannot_be_the_name_of_a_variable(name: str) -> None:
    assert not is_identifier(name)


_YAML = """
# YAML 1.2, core schema
no: no
on: on
time: 12:30:45
date: 2026-01-01
version: 1.10
account: 012345678901
big: 9007199254740993
huge: 1e400
empty:
tilde: ~
truth: [true, False, TRUE, yes, 0x1F, 0o17, +7, -0, .5, 1_000]
anchor: &anchor {a: "${x}"}
alias: *anchor
text: |
  two
  lines
quoted: "1"
tagged: !!str 1
"""


@pytest.mark.behaviour("T12")
def test_yaml_is_read_by_the_core_schema_with_every_digit(tmp_path: Path) -> None:
    path = write(tmp_path, "p.yaml", "\ufeff" + _YAML)

    parameters = read_parameter_file(path)

    assert {parameter.name: parameter.value for parameter in parameters} == {
        "no": "no",
        "on": "on",
        "time": "12:30:45",
        "date": "2026-01-01",
        "version": Decimal("1.10"),
        "account": "012345678901",
        "big": 9007199254740993,
        "huge": Decimal("1e400"),
        "empty": None,
        "tilde": None,
        "truth": [True, False, True, "yes", 31, 15, 7, 0, Decimal("0.5"), "1_000"],
        "anchor": {"a": "${x}"},
        "alias": {"a": "${x}"},
        "text": "two\nlines\n",
        "quoted": "1",
        "tagged": "1",
    }
    assert parameters[0] == Given("no", "no", True, Source.FILE, str(path))
    assert parameters[4] == Given("version", Decimal("1.10"), False, Source.FILE, str(path))


@pytest.mark.behaviour("T12")
def test_json_is_read_with_every_digit(tmp_path: Path) -> None:
    path = write(tmp_path, "p.JSON", '{"a": 9007199254740993, "b": "x", "c": 1e400, "d": [0.10]}')

    assert read_parameter_file(path) == (
        Given("a", 9007199254740993, False, Source.FILE, str(path)),
        Given("b", "x", True, Source.FILE, str(path)),
        Given("c", Decimal("1e400"), False, Source.FILE, str(path)),
        Given("d", [Decimal("0.10")], False, Source.FILE, str(path)),
    )


@pytest.mark.parametrize(("name", "content"), [("p.yml", ""), ("p.yml", "# nothing\n"), ("p.json", "{}")])
def test_a_file_without_parameters(tmp_path: Path, name: str, content: str) -> None:
    assert read_parameter_file(write(tmp_path, name, content)) == ()


_LAUGHS = "a0: &a0 [lol]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 20)
)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a: 1\nb: 2\na: 3", "line 3, cannot be used as YAML: a key that was there before"),
        ("a:\n  b: {c: 1, c: 2}", "line 2, cannot be used as YAML: a key that was there before"),
        ("a: [1\nb: 2", "line 2, cannot be used as YAML: while parsing a flow sequence, expected"),
        ("a: *hunter2", "line 1, cannot be used as YAML: found undefined alias"),
        ("a: !hunter2 1", "line 1, cannot be used as YAML: a tag that is not part of the core schema"),
        ("a: !hunter2 [1]", "line 1, cannot be used as YAML: a tag that is not part of the core schema"),
        ("a: !!timestamp 2026-01-01", "line 1, cannot be used as YAML: a tag that is not part of the core"),
        (
            "a: !!python/name:os.system x",
            "line 1, cannot be used as YAML: a tag that is not part of the core",
        ),
        ("a: !!int hunter2", "line 1, cannot be used as YAML: a value that does not fit its tag"),
        ("\n1: x", "line 2, cannot be used as YAML: a key that is not text (quote it)"),
        ("true: x", "line 1, cannot be used as YAML: a key that is not text (quote it)"),
        ("? [a]\n: x", "line 1, cannot be used as YAML: a key that is not text (quote it)"),
        ("a: &b {}\nc: {<<: *b}", "line 2, cannot be used as YAML: a merge key (`<<`)"),
        ("a: .inf", "line 1, cannot be used as YAML: a number that JSON cannot carry"),
        ("a: -.Inf", "line 1, cannot be used as YAML: a number that JSON cannot carry"),
        ("a: .nan", "line 1, cannot be used as YAML: a number that JSON cannot carry"),
        ("a: 1e9999999999999999999", "line 1, cannot be used as YAML: a number with an exponent beyond"),
        ("a: 1\n---\nb: 1", "line 2, cannot be used as YAML: expected a single document in the stream"),
        ("a: &a [*a]", "line 1, cannot be used as YAML: an alias for something that it is part of"),
        (_LAUGHS, "line 7, cannot be used as YAML: aliases that stand for too much text"),
        ("a: " + "[" * 210 + "]" * 210, "line 1, cannot be used as YAML: nesting of more than 200 levels"),
        ("a: " + "[" * 100_000, "line 1, cannot be used as YAML: nesting of more than 200 levels"),
        (
            'a: 1\nb: "\\UFFFFFFFF"',
            "line 2, cannot be used as YAML: an escape or a version",
        ),
        (
            "%YAML " + "9" * 5000 + ".1\n--- 1",
            "line 1, cannot be used as YAML: an escape or a version",
        ),
        ("a: 1\nb: \0", "line 2, cannot be used as YAML: a control character"),
        ("a: @hunter2", "line 1, cannot be used as YAML: while scanning for the next token, found character"),
    ],
)
def test_yaml_that_cannot_be_used(tmp_path: Path, content: str, problem: str) -> None:
    path = write(tmp_path, "p.yaml", content)

    with pytest.raises(BadInput) as caught:
        read_parameter_file(path)

    assert (str(caught.value).partition(problem)[0], caught.value.__cause__) == (f"`{path}`, ", None)
    assert "hunter2" not in str(caught.value)


@for_all(st.text("ab:-?[]{},#&*!|>'\"%@`\\ \n\t0159.exoU~<=/\u0085\u00e9\U0001f600\ufeff\ud800", max_size=40))
def test_no_yaml_makes_the_reader_fail_in_another_way(text: str) -> None:
    with contextlib.suppress(UnusableYAMLError):
        yaml_core.load(text)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("p.json", b"{", "is not JSON (line 1, column 2: Expecting property name enclosed in double quotes)"),
        ("p.json", b"[1]", "must hold one mapping from parameters' names to their values"),
        ("p.yaml", b"- a", "must hold one mapping from parameters' names to their values"),
        ("p.yaml", b"text", "must hold one mapping from parameters' names to their values"),
        ("p.json", b'{"a":\n"\xff"}', "is not UTF-8 text: line 2 holds other bytes"),
        ("p.tfvars", b"a=1", "is no parameter file: its name ends in neither `.json` nor `.yaml`"),
    ],
)
def test_a_parameter_file_that_is_none(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    path = write(tmp_path, name, content)

    with pytest.raises(BadInput) as caught:
        read_parameter_file(path)

    assert str(caught.value) == f"`{path}` {problem}"


def test_a_parameter_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        read_parameter_file(tmp_path / "p.json")
    assert str(caught.value) == f"`{tmp_path}/p.json` cannot be read: No such file or directory"
    with pytest.raises(BadInput) as caught:
        read_parameter_file(Path("\0.json"))
    assert str(caught.value) == "`\0.json` cannot be read: embedded null byte"


def test_long_numbers_in_yaml_keep_their_digits(tmp_path: Path) -> None:
    digits = "1" + "2" * 5000
    path = write(tmp_path, "p.yaml", f"a: {digits}\nb: 0x{'f' * 5000}\nc: !!float 1\n")

    assert [parameter.value for parameter in read_parameter_file(path)] == [
        Decimal(digits),
        Decimal(16**5000 - 1),
        Decimal(1),
    ]


_TEXT = st.text(st.characters(exclude_categories=["Cs"]))


# YAML allows a key on one line 1,024 characters.
_KEY = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@for_all(st.dictionaries(_KEY, st.none() | st.booleans() | st.integers() | st.lists(_TEXT) | _TEXT))
def test_json_is_yaml(tmp_path_factory: pytest.TempPathFactory, document: dict[str, object]) -> None:
    directory = tmp_path_factory.mktemp("same")
    text = json.dumps(document)
    paths = (write(directory, "p.json", text), write(directory, "p.yaml", text))

    as_json, as_yaml = ([parameter[:3] for parameter in read_parameter_file(path)] for path in paths)

    assert as_json == as_yaml


@pytest.mark.parametrize(
    ("written", "entry"),
    [
        ("A=b", ("A", "b")),
        ("A=", ("A", "")),
        ("a-b.c==\n", ("a-b.c", "=\n")),
        ("A=" + os.fsdecode(b"\xff"), ("A", os.fsdecode(b"\xff"))),
    ],
)
def test_an_environment_entry(written: str, entry: tuple[str, str]) -> None:
    assert parse_environment_entry(written) == entry


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("hunter2", "`-e` takes `NAME=TEXT`, and there is no `=`"),
        ("=hunter2", "`` (-e) cannot be the name of an environment variable"),
        ("A B=hunter2", "`A B` (-e) cannot be the name of an environment variable"),
        ("A\tB=hunter2", "`A\tB` (-e) cannot be the name of an environment variable"),
        ("A=hunter2\0", "`A` (-e) holds a NUL character, which no environment can carry"),
        ("A=hunter2\ud800", "`A` (-e) holds half a character, which no environment can carry"),
    ],
)
def test_an_environment_entry_that_is_none(written: str, sentence: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_environment_entry(written)

    assert str(caught.value) == sentence


def test_a_dotenv_file_is_read_without_interpolation(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        ".env",
        "\ufeff# comment\nA=1\nexport B=two words # comment\r\n"
        'C=\'${A} "x"\'\n\nD="line\\nline"\nE=$A\nF=\nA=2\n',
    )

    assert read_environment_file(path) == (
        ("A", "1"),
        ("B", "two words"),
        ("C", '${A} "x"'),
        ("D", "line\nline"),
        ("E", "$A"),
        ("F", ""),
        ("A", "2"),
    )


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"A=1\n\n\nhunter 2\n", ", line 4, is not an entry such as `NAME=text`"),
        (b'A=1\nB="hunter2\n', ", line 2, is not an entry such as `NAME=text`"),
        (b"A=1\nHUNTER2\n", ", line 2, has a name without a value"),
        (b"A=1\n\n'B C'=hunter2\n", None),
        (b"A=1\nB=hunter2\0\n", None),
        (b"A=1\nB=\xff\n", " is not UTF-8 text: line 2 holds other bytes"),
    ],
)
def test_a_dotenv_file_that_is_none(tmp_path: Path, content: bytes, problem: str | None) -> None:
    path = write(tmp_path, ".env", content)

    with pytest.raises(BadInput) as caught:
        read_environment_file(path)

    if problem is not None:
        assert str(caught.value) == f"`{path}`{problem}"
    assert "hunter" not in str(caught.value)


def test_a_dotenv_file_may_be_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"A=1\n")
    os.close(writing)

    try:
        assert read_environment_file(Path(f"/dev/fd/{reading}")) == (("A", "1"),)
    finally:
        os.close(reading)


def test_reading_flags_imports_neither_yaml_nor_dotenv_nor_decimal() -> None:
    code = (
        # What a measurement of coverage has loaded before does not count.
        "import sys; before = {*sys.modules}; "
        "import hereya_tf.inputs.request, hereya_tf.inputs.values, hereya_tf.inputs.given as given; "
        "given.parse_parameter('a:=[1]'); "
        "print({'yaml', 'dotenv', 'decimal', 'difflib', 'tempfile', 'dataclasses'} & {*sys.modules} - before)"
    )

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
