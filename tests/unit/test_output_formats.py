"""The forms of `output`: what each reader gets back is the value, to the byte, or the output is refused."""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from dotenv import dotenv_values
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from hereya_tf import exact
from hereya_tf.errors import BadInput
from hereya_tf.outputs.formats import OutputFormat, Rendered, Row, render, result_rows
from hereya_tf.outputs.github_file import append_github_output, github_output_file
from hereya_tf.outputs.json_layout import lay_out
from hereya_tf.outputs.variables import shell_names
from hereya_tf.stream.outputs import Output, output_text, read_document, read_output_values

OUTPUTS = {
    "url": Output(False, "string", "https://x.example/?a=1&b=2"),
    "password": Output(True, "string", "hunter2 %"),
    "ports": Output(False, ["list", "number"], [80, 443]),
    "third": Output(False, "number", exact.loads("0." + "3" * 40)),
    "big": Output(False, "number", exact.loads("1" + "0" * 400)),
    "on": Output(False, "bool", True),
    "nothing": Output(False, "string", None),
    "unknown": Output(False, "string"),
    "kept": Output(True, "string"),
}
JSON_HINT = "use `--format json`"
RAW_HINT = "use `--format json`, or name the output and use `--format raw`"
# Everything an engine can put into a value.
VALUES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
HOSTILE = st.text(
    st.sampled_from(list("ab \t\n\r\x01\x7f'\"\\`$(){}[]<>|&;*?~!#=%^-+.,:/@é\u2028\ufeff\U0001f600\x85")),
    max_size=30,
)


def show_rows(rows: Sequence[tuple[str, str | None, str]]) -> str:
    return repr([tuple(row) for row in rows])


def shown(
    chosen: str, outputs: Mapping[str, Output] = OUTPUTS, name: str | None = None, **settings: Any
) -> Rendered:
    numbers = count()
    defaults: dict[str, Any] = {
        "show_sensitive": False,
        "table": show_rows,
        "token": lambda: f"t{next(numbers)}",
    }
    return render(OutputFormat(chosen), outputs, name=name, **{**defaults, **settings})


def strings(values: Mapping[str, str], *, sensitive: bool = False) -> dict[str, Output]:
    return {name: Output(sensitive, "string", value) for name, value in values.items()}


def refusal(
    chosen: str, outputs: Mapping[str, Output], name: str | None = None
) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(BadInput) as caught:
        shown(chosen, outputs, name)
    return str(caught.value), caught.value.hints


# What is shown, and what is not


def test_sensitive_outputs_are_left_out_and_named() -> None:
    outputs = strings({"a": "1"}) | strings({"b": "secret", "c": "secret"}, sensitive=True)

    assert shown("env", outputs) == Rendered("a=1\n", None, ("b", "c"))
    assert shown("shell", outputs) == Rendered("export a='1'\n", None, ("b", "c"))
    assert shown("dotenv", outputs) == Rendered("a=1\n", None, ("b", "c"))
    assert shown("table", outputs) == Rendered(
        show_rows([("a", "1", "1"), ("b", None, ""), ("c", None, "")]), None, ("b", "c")
    )


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv", "table", "json", "raw", "github"])
def test_a_sensitive_output_is_shown_when_it_is_asked_for_by_name(chosen: str) -> None:
    rendered = shown(chosen, OUTPUTS, "password")

    assert rendered.withheld == ()
    assert "hunter2 %" in (rendered.github or rendered.stdout)


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv", "table", "json"])
def test_all_is_shown_on_request(chosen: str) -> None:
    rendered = shown(chosen, show_sensitive=True)

    assert rendered.withheld == ()
    assert "hunter2 %" in rendered.stdout


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv", "table", "json"])
def test_a_value_that_holds_a_credential_is_withheld_like_a_sensitive_one(chosen: str) -> None:
    outputs = strings({"a": "plain", "b": "has a hidden one"})

    rendered = shown(chosen, outputs, is_secret=lambda _name, value: "hidden" in str(value))

    assert rendered.withheld == ("b",)
    assert "hidden" not in rendered.stdout


@pytest.mark.parametrize("chosen", [form.value for form in OutputFormat if form is not OutputFormat.RAW])
def test_outputs_without_a_value_do_not_exist(chosen: str) -> None:
    rendered = shown(chosen)
    everything = rendered.stdout + (rendered.github or "")

    assert [
        name for name in ("nothing", "unknown", "kept") if name in everything + str(rendered.withheld)
    ] == []


@pytest.mark.parametrize("chosen", list(OutputFormat))
@pytest.mark.parametrize("name", ["nothing", "unknown", "kept"])
def test_an_output_without_a_value_is_not_found_by_name(chosen: OutputFormat, name: str) -> None:
    assert refusal(chosen, OUTPUTS, name)[0] == f"the package has no output `{name}`"


def test_a_name_that_does_not_exist_is_answered_with_those_that_do() -> None:
    outputs = strings({"bucket_name": "", "bucket_arn": "", "url": ""})

    assert refusal("raw", outputs, "bucket_nmae") == (
        "the package has no output `bucket_nmae`",
        ("did you mean `bucket_name`, `bucket_arn`?", "its outputs are `bucket_name`, `bucket_arn`, `url`"),
    )
    assert refusal("env", outputs, "zzz")[1] == ("its outputs are `bucket_name`, `bucket_arn`, `url`",)


def test_a_long_list_of_names_is_cut() -> None:
    names = [f"n{number}" for number in range(25)]
    listed = ", ".join(f"`{name}`" for name in names[:20])

    assert refusal("env", strings(dict.fromkeys(names, "")), "zzz")[1] == (
        f"its outputs are {listed} and 5 more",
    )


def test_a_package_without_outputs_says_so() -> None:
    assert refusal("env", {}, "a")[1] == ("it has no outputs, or none that were saved by a `provision`",)


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv", "github"])
def test_no_outputs_are_no_text(chosen: str) -> None:
    assert shown(chosen, {}) == Rendered("", "" if chosen == "github" else None, ())


# table


def test_a_table_gets_what_is_not_text_in_one_line_and_in_many() -> None:
    outputs = {"ports": OUTPUTS["ports"], "text": Output(False, "string", "[1]"), "on": OUTPUTS["on"]}

    assert shown("table", outputs).stdout == show_rows(
        [("ports", "[80,443]", "[\n  80,\n  443\n]"), ("text", "[1]", "[1]"), ("on", "true", "true")]
    )


def test_a_results_outputs_make_the_same_rows() -> None:
    env = {"url": "u", "ports": "[80]"}
    outputs = {
        "url": {"type": "string", "sensitive": False, "value": "u"},
        "ports": {"type": ["list", "number"], "sensitive": False, "value": [80]},
        "password": {"type": "string", "sensitive": True},
        "unknown": {"type": "string", "sensitive": False},
    }

    assert result_rows(env, outputs, ("password",)) == [
        Row("url", "u", "u"),
        Row("ports", "[80]", "[\n  80\n]"),
        Row("password", None),
    ]


# json


@pytest.mark.behaviour("T12")
def test_json_is_the_engines_document() -> None:
    # As Terraform 1.11 prints it.
    document = """{
  "l": {
    "sensitive": false,
    "type": [
      "object",
      {
        "a": [
          "tuple",
          [
            "number",
            [
              "object",
              {}
            ]
          ]
        ],
        "b": [
          "tuple",
          []
        ]
      }
    ],
    "value": {
      "a": [
        100000000000000000000000000000000000000000000000001.50,
        {}
      ],
      "b": []
    }
  },
  "s": {
    "sensitive": true,
    "type": "string",
    "value": "é: \\"{[,]}\\" \\\\"
  }
}
"""
    outputs = read_output_values(read_document(document))

    assert shown("json", outputs, show_sensitive=True).stdout == document
    assert shown("json", outputs).withheld == ("s",)
    assert json.loads(shown("json", outputs).stdout)["s"] == {"sensitive": True, "type": "string"}
    assert shown("json", outputs, "l").stdout == (
        '{"a":[100000000000000000000000000000000000000000000000001.50,{}],"b":[]}\n'
    )
    assert shown("json", outputs, "s").stdout == '"é: \\"{[,]}\\" \\\\"\n'
    assert shown("json", {}).stdout == "{}\n"


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | VALUES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(VALUES, inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_laying_json_out_is_what_indenting_it_is(value: Any) -> None:
    assert lay_out(exact.dumps(value)) == json.dumps(value, indent=2, ensure_ascii=False)


def test_deep_json_is_laid_out_in_no_time() -> None:
    deep = lay_out("[" * 50_000 + "]" * 50_000)

    assert len(deep) < 10_000_000
    assert "".join(deep.split()) == "[" * 50_000 + "]" * 50_000


# raw


@pytest.mark.behaviour("T12")
def test_raw_is_the_value_and_not_a_byte_more() -> None:
    assert shown("raw", strings({"a": "x\n"}), "a") == Rendered("x\n", None, ())
    assert shown("raw", strings({"a": ""}), "a").stdout == ""
    assert shown("raw", name="third").stdout == "0." + "3" * 40
    assert shown("raw", name="big").stdout == "1" + "0" * 400
    assert shown("raw", name="on").stdout == "true"


def test_raw_prints_only_text() -> None:
    outputs = {"l": Output(False, None, [1]), "o": Output(False, None, {"a": 1})}

    assert refusal("raw", outputs, "l") == (
        "output `l` is a list, a set or a tuple, and `--format raw` prints text",
        (JSON_HINT,),
    )
    assert refusal("raw", outputs, "o")[0].startswith("output `o` is an object or a map")
    assert refusal("raw", outputs)[0] == "`--format raw` prints one output, and none is named"


# names of variables


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv"])
def test_a_dash_in_a_name_becomes_an_underscore(chosen: str) -> None:
    assert "bucket_name=" in shown(chosen, strings({"bucket-name": "x"})).stdout


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv"])
def test_two_outputs_are_never_one_variable(chosen: str) -> None:
    assert refusal(chosen, strings({"a-b": "1", "a_b": "2"})) == (
        "outputs `a-b` and `a_b` would be the same variable, `a_b`",
        ("use `--format json`, or name one of them",),
    )
    assert shown(chosen, strings({"a-b": "1", "a_b": "2"}), "a-b").stdout in ("a_b=1\n", "export a_b='1'\n")


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv"])
@pytest.mark.parametrize("name", ["größe", "名前", "a b", "a;id", "a=b", "1a", "", "a\n", "a.b", "$x", "٣"])
def test_a_name_no_variable_can_have_is_refused(chosen: str, name: str) -> None:
    sentence, hints = refusal(chosen, strings({name: "x"}))

    assert sentence.startswith(f"output `{name}` cannot be a variable: its name has other characters")
    assert hints == (JSON_HINT,)


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv"])
@pytest.mark.parametrize("value", ["a\0b", "a\ud800"], ids=["NUL", "surrogate"])
def test_a_character_no_variable_can_hold_is_refused(chosen: str, value: str) -> None:
    assert refusal(chosen, strings({"x": value})) == (
        "output `x` has a character that no variable can hold",
        (JSON_HINT,),
    )


@pytest.mark.parametrize("chosen", ["env", "shell", "dotenv"])
def test_what_is_withheld_is_not_refused(chosen: str) -> None:
    outputs = strings({"x": "1"}) | strings({"größe": "a\0\n"}, sensitive=True)

    assert shown(chosen, outputs).withheld == ("größe",)


# env and shell, read by real shells

SHELLS = [
    pytest.param(command, id=" ".join(command))
    for command in (
        ["sh"],
        ["dash"],
        ["bash", "--norc"],
        ["bash", "--posix"],
        ["zsh", "-f"],
        ["zsh", "-f", "-o", "rc_quotes"],
        ["mksh"],
        ["busybox", "sh"],
    )
    if shutil.which(command[0])
]
_TELL = "import os; os.write(1, b'\\0'.join(k + b'=' + v for k, v in os.environb.items()))"
REPEATED = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def exported(
    shell: Sequence[str], text: str, *, script: str = 'set -eu; eval "$(cat)"'
) -> tuple[dict[str, str], str]:
    """The variables that a program started by the shell gets, once it has read `text`; what it said."""
    told = subprocess.run(
        [*shell, "-c", f'{script}\nexec "$PROGRAM" -I -S -c "$TELL"'],
        input=text.encode(),
        capture_output=True,
        timeout=60,
        env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "PROGRAM": sys.executable, "TELL": _TELL},
    )
    assert told.returncode == 0, told.stderr
    pairs = [entry.decode().partition("=") for entry in told.stdout.split(b"\0")]
    return {name: value for name, _, value in pairs}, told.stderr.decode()


def numbered(values: Sequence[str]) -> dict[str, str]:
    return {f"v{number}": value for number, value in enumerate(values)}


@pytest.mark.behaviour("T12")
@pytest.mark.parametrize("shell", SHELLS)
@given(values=st.lists(VALUES | HOSTILE, max_size=30))
@example(
    values=["", "'", "''", "'''", "\n", "a\n\n", "-n", "--", "=ls", "~", "~root", "a:~", "!!", "$(exit 3)"]
)
@example(
    values=["`exit 3`", "${x:?}", "$'\\n'", "\\", "\\'", "*", "[a-z]", "{a,b}", "\x01\x7f\x02", "#", " ", ";"]
)
@REPEATED
def test_a_shell_reads_every_value_to_the_byte(shell: list[str], values: list[str]) -> None:
    variables, said = exported(shell, shown("shell", strings(numbered(values))).stdout)

    assert {name: variables.get(name) for name in numbered(values)} == numbered(values)
    assert said == ""


@pytest.mark.parametrize("shell", SHELLS)
@given(values=st.lists(HOSTILE, max_size=30))
@REPEATED
def test_a_posix_shell_reads_lines_for_the_environment(shell: list[str], values: list[str]) -> None:
    # zsh takes `=ls` at the start of a value that is not quoted for the path of a program.
    assume(shell[0] != "zsh" or not any(value.startswith("=") for value in values))
    variables, said = exported(
        shell, shown("env", strings(numbered(values))).stdout, script='set -eu; set -a; eval "$(cat)"'
    )

    assert {name: variables.get(name) for name in numbered(values)} == numbered(values)
    assert said == ""


def test_lines_for_the_environment_are_quoted_where_they_have_to_be() -> None:
    outputs = strings({"a": "plain/1", "b": "two words", "c": "it's"}) | {"l": OUTPUTS["ports"]}

    assert shown("env", outputs).stdout == "a=plain/1\nb='two words'\nc='it'\"'\"'s'\nl='[80,443]'\n"
    assert shlex.split(shown("env", outputs).stdout) == ["a=plain/1", "b=two words", "c=it's", "l=[80,443]"]


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_the_largest_value_and_still_starts_programs(shell: list[str]) -> None:
    name = "x" * 71
    largest = "é" * 65_499 + "y"
    variables, _ = exported(shell, shown("shell", strings({name: largest})).stdout)

    assert variables[name] == largest
    assert refusal("shell", strings({name: largest + "y"})) == (
        f"output `{name}` cannot be given in this format: "
        "it has more bytes than a program's environment can hold in one variable",
        (RAW_HINT,),
    )


@pytest.mark.parametrize("name", ["PATH", "IFS", "UID", "BASH_ENV", "_", "PROMPT_COMMAND", "LD_PRELOAD"])
def test_a_variable_the_shell_itself_uses_is_refused(name: str) -> None:
    assert refusal("shell", strings({name: "x"})) == (
        f"output `{name}` cannot be given in this format: "
        "shells have a use of their own for a variable of that name",
        (RAW_HINT,),
    )
    assert shown("env", strings({name: "x"})).stdout == f"{name}=x\n"


# Nothing is promised for the variables of mksh.
@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shell.id != "mksh"])
def test_no_variable_that_a_shell_knows_is_lost_unsaid(shell: list[str]) -> None:
    listing = "print -l ${(k)parameters}" if shell[0] == "zsh" else "set"
    if shell[0] == "bash":
        listing = "compgen -v"
    told = subprocess.run([*shell, "-c", listing], capture_output=True, text=True, timeout=60).stdout
    known = set(re.findall(r"^([A-Za-z_]\w*)(?==|$)", told, re.MULTILINE))
    texts = []
    for name in sorted(known - {"PROGRAM", "TELL", "LC_ALL"}):
        try:
            texts.append((name, shown("shell", strings({name: "it's $x"})).stdout))
        except BadInput:
            continue
    variables, said = exported(shell, "".join(text for _, text in texts))

    lost = [name for name, _ in texts if variables.get(name) != "it's $x" and f"output {name} is" not in said]
    assert known != set()
    assert lost == []
    assert variables["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_special_in_zsh_only_is_exported_elsewhere(shell: list[str]) -> None:
    text = shown("shell", strings({"path": "/srv/it's", "status": "ok", "url": "u"})).stdout
    variables, said = exported(shell, text)

    if shell[0] == "zsh":
        assert (variables["url"], variables["PATH"]) == ("u", os.environ["PATH"])
        assert said == (
            "hereya-tf: output path is left out, zsh has a use of its own for path\n"
            "hereya-tf: output status is left out, zsh has a use of its own for status\n"
        )
    else:
        assert [variables[name] for name in ("path", "status", "url")] == ["/srv/it's", "ok", "u"]
        assert said == ""


# dotenv, read by python-dotenv itself and by what docker and GitLab do


def read_by_docker(text: str) -> dict[str, str]:
    """`docker run --env-file`: docker/cli, pkg/kvfile/kvfile.go; Go's bufio.ScanLines and MaxScanTokenSize."""
    variables = {}
    for line in text.encode().split(b"\n")[:-1]:
        assert len(line) + 1 <= 64 * 1024, "bufio.Scanner: token too long"
        stripped = line.removesuffix(b"\r").decode().lstrip()
        if not stripped or stripped.startswith("#"):
            continue
        name, separator, value = stripped.partition("=")
        assert separator
        assert re.fullmatch(r"[^ \t]+", name)
        variables[name] = value
    return variables


def read_by_gitlab(text: str, environment: Mapping[str, str]) -> dict[str, str]:
    """A dotenv report: gitlab, app/services/ci/parse_dotenv_artifact_service.rb, `raw: false`.

    Hence the runner expands it: gitlab-runner, JobVariables.Expand, which is Go's os.Expand.
    """
    variables = {}
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        found = re.findall(r"^([^\n]*?)=([^\n]*)$", line.removesuffix("\n"))
        assert found, "Invalid Format"
        blanks = "\0\t\n\v\f\r "
        name, value = (part.strip(blanks) for part in found[-1])
        assert re.fullmatch(r"[a-zA-Z0-9_]{1,255}", name)
        variables[name] = value

    def put_in(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        return "$" if name == "$" else environment.get(name, "")

    return {
        name: re.sub(r"\$(?:\{([^}]*)\}?|([*#$@!?\-0-9]|[A-Za-z_][A-Za-z0-9_]*))", put_in, value)
        for name, value in variables.items()
    }


def read_by_all(text: str) -> list[dict[str, str | None]]:
    readings: list[dict[str, str | None]] = [dotenv_values(stream=StringIO(text, newline=None))]
    readings.append({**read_by_docker(text)})
    readings.append({**read_by_gitlab(text, {"HOME": "/root", "x": "X"})})
    return readings


@pytest.mark.behaviour("T12")
@given(VALUES | HOSTILE)
@example("")
@example("#ff0000")
@example("a#b")
@example("$")
@example("a$ b$.")
@example("a=b=c")
@example("a'b\"c`d`")
@example("\\n \\t \\")
@example('{"a":"b c"}')
@example("a b\tc")
@example("\ufeffx")
@example("a\x85b\u2028c\x0bd\x1ce")
@example("export x")
@example("%PATH% !x! ~")
@settings(max_examples=400)
def test_three_readers_of_dotenv_read_the_value_or_it_is_refused(value: str) -> None:
    outputs = strings({"a": "1", "value": value, "z": "2"})
    expected = {"a": "1", "value": value, "z": "2"}
    try:
        text = shown("dotenv", outputs).stdout
    except BadInput:
        raw = f"a=1\nvalue={value}\nz=2\n"
        assert wrong_for_one(raw, expected), "refused for nothing"
        return

    assert text == f"a=1\nvalue={value}\nz=2\n"
    assert read_by_all(text) == [expected] * 3


def wrong_for_one(raw: str, expected: Mapping[str, str]) -> bool:
    try:
        return any(reading != expected for reading in read_by_all(raw))
    except AssertionError:
        return True


@pytest.mark.parametrize(
    ("value", "why"),
    [
        pytest.param("a\nb", "it has a line break, and such a file has one line for each", id="line break"),
        pytest.param("a\r", "it has a line break, and such a file has one line for each", id="CR"),
        pytest.param(" a", "it begins or ends with a blank, which readers drop", id="blank before"),
        pytest.param("a\u3000", "it begins or ends with a blank, which readers drop", id="blank behind"),
        pytest.param("'a'", "it begins with a quote, which readers take for quoting", id="quoted"),
        pytest.param('"', "it begins with a quote, which readers take for quoting", id="quote"),
        pytest.param("a #b", "it has a `#` behind a blank, where readers see a comment", id="comment"),
        pytest.param("a${x}", "it has `${`, where readers put in a variable", id="${x}"),
        pytest.param("pa$sword", "it has `$s`, where readers put in a variable", id="$s"),
        pytest.param("pa$$word", "it has `$$`, where readers put in a variable", id="$$"),
        pytest.param(
            "é" * 32_767, "it has more bytes than `docker run --env-file` reads in one line", id="long"
        ),
    ],
)
def test_a_value_that_dotenv_cannot_hold_is_refused_with_the_reason(value: str, why: str) -> None:
    assert refusal("dotenv", strings({"x": value})) == (
        f"output `x` cannot be given in this format: {why}",
        (RAW_HINT,),
    )


def test_the_longest_line_of_dotenv_is_read() -> None:
    value = "é" * 32_766 + "y"

    assert read_by_all(shown("dotenv", strings({"x": value})).stdout) == [{"x": value}] * 3


# github, read by what the runner does


def read_by_runner(text: str) -> dict[str, str]:
    """actions/runner, src/Runner.Worker/FileCommandManager.cs (Linux and macOS)."""
    variables = {}
    index = 0

    def read_line() -> tuple[str | None, str]:
        nonlocal index
        if index >= len(text):
            return None, ""
        start = index
        end = text.find("\n", index)
        if end < 0:
            index = len(text)
            return text[start:], ""
        index = end + 1
        return text[start:end], "\n"

    while (line := read_line()[0]) is not None:
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, _, value = line.partition("=")
        else:
            assert heredoc >= 0, "Invalid format"
            name, _, delimiter = line.partition("<<")
            assert name
            assert delimiter
            start = end = index
            part, newline = read_line()
            while part != delimiter:
                assert part is not None, "Matching delimiter not found"
                end = index - len(newline)
                part, newline = read_line()
            value = text[start:end] if end > start else ""
        variables[name] = value
    return variables


def read_masks(stdout: str) -> list[str]:
    """actions/runner, src/Runner.Common/ActionCommand.cs: TryParseV2 and UnescapeData."""
    masks = []
    for line in stdout.split("\n")[:-1]:
        assert line.startswith("::add-mask::")
        data = line.removeprefix("::add-mask::")
        masks.append(data.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%"))
    return masks


LOOKALIKES = st.lists(
    st.sampled_from(
        ["ghadelimiter_t0", "ghadelimiter_", "x<<ghadelimiter_t1", "a=b", "", "\n", "\r\n", "é", "::"]
    )
).map("".join)


@given(st.lists(VALUES | HOSTILE | LOOKALIKES, max_size=10))
@example(["ghadelimiter_t0", "a\nghadelimiter_t1\n", "", "\n", "\n\n", "a\r\n", "\r", "x=y\nz<<w"])
def test_the_runner_reads_every_value_to_the_byte(values: list[str]) -> None:
    block = shown("github", strings(numbered(values))).github

    assert block is not None
    assert read_by_runner(block) == numbered(values)


@given(st.text(st.sampled_from("a %0DA25\r\n:"), max_size=30), st.booleans())
def test_the_runner_masks_a_sensitive_value_and_each_of_its_lines(value: str, is_sensitive: bool) -> None:
    masks = read_masks(shown("github", strings({"x": value}, sensitive=is_sensitive)).stdout)
    lines = [line.strip() for line in value.replace("\r", "\n").split("\n")]

    wanted = {text for text in (value, *lines) if text.strip()}
    assert set(masks) == (wanted if is_sensitive else set())
    assert len(masks) == len(set(masks))


def test_github_gets_all_outputs_and_masks_for_the_sensitive_ones() -> None:
    outputs = {
        "größe-x": OUTPUTS["ports"],
        "key": Output(True, "string", "-----BEGIN\n  50%\n\nEND\n"),
        "empty": Output(True, "string", ""),
        "login": Output(
            True, None, {"password": "hun\nter22", "port": 54321, "n": 1, "on": True, "no": None}
        ),
    }

    assert shown("github", outputs) == Rendered(
        "::add-mask::-----BEGIN%0A  50%25%0A%0AEND%0A\n::add-mask::-----BEGIN\n::add-mask::50%25\n::add-mask::END\n"
        '::add-mask::{"password":"hun\\nter22","port":54321,"n":1,"on":true,"no":null}\n'
        "::add-mask::54321\n::add-mask::hun\n::add-mask::ter22\n",
        "größe-x<<ghadelimiter_t0\n[80,443]\nghadelimiter_t0\n"
        "key<<ghadelimiter_t0\n-----BEGIN\n  50%\n\nEND\n\nghadelimiter_t0\n"
        "empty<<ghadelimiter_t0\n\nghadelimiter_t0\n"
        'login<<ghadelimiter_t0\n{"password":"hun\\nter22","port":54321,"n":1,"on":true,"no":null}\n'
        "ghadelimiter_t0\n",
        (),
    )


def test_members_of_lists_and_short_ones() -> None:
    outputs = {"l": Output(True, None, [["long enough"], "abc", "true"])}

    assert read_masks(shown("github", outputs).stdout) == ['[["long enough"],"abc","true"]', "long enough"]


def test_a_value_that_holds_a_credential_is_masked_too() -> None:
    rendered = shown(
        "github",
        strings({"a": "plain", "b": "hidden"}),
        is_secret=lambda _name, value: "hidden" in str(value),
    )

    assert rendered.stdout == "::add-mask::hidden\n"


@pytest.mark.parametrize("name", ["a=b", "a<<b", "a\nb", "", "a b"])
def test_a_name_that_the_file_cannot_hold_is_refused(name: str) -> None:
    assert refusal("github", strings({name: "x"})) == (
        f"output `{name}` has a name that `$GITHUB_OUTPUT` cannot hold",
        (JSON_HINT,),
    )


# the file


def test_without_the_variable_there_is_no_file() -> None:
    for environment in ({}, {"GITHUB_OUTPUT": ""}):
        with pytest.raises(BadInput) as caught:
            github_output_file(environment)
        assert str(caught.value) == "`GITHUB_OUTPUT` is not set, so `--format github` has no file to write to"
        assert len(caught.value.hints) == 1
    assert github_output_file({"GITHUB_OUTPUT": "/tmp/x"}) == Path("/tmp/x")


@pytest.mark.parametrize("before", ["", "a=b\n", "a=b", "a<<E\nb\nE"])
def test_a_block_is_appended_and_the_mode_is_kept(tmp_path: Path, before: str) -> None:
    file = tmp_path / "output"
    file.write_text(before)
    file.chmod(0o640)

    append_github_output(file, "x<<D\né\r\nD\n")

    first = {"a": "b"} if before else {}
    assert read_by_runner(file.read_bytes().decode()) == {**first, "x": "é\r"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert "\n\n" not in file.read_bytes().decode()


def test_a_new_file_is_the_users_alone(tmp_path: Path) -> None:
    append_github_output(tmp_path / "output", "x<<D\n1\nD\n")

    assert (tmp_path / "output").read_text() == "x<<D\n1\nD\n"
    assert stat.S_IMODE((tmp_path / "output").stat().st_mode) == 0o600


@pytest.mark.parametrize("kind", ["directory", "missing", "pipe", "nul"])
def test_a_file_that_cannot_be_written_is_bad_input(tmp_path: Path, kind: str) -> None:
    path = {"directory": tmp_path, "missing": tmp_path / "no" / "file", "nul": Path("a\0b")}.get(
        kind, tmp_path / "pipe"
    )
    if kind == "pipe":
        os.mkfifo(path)

    with pytest.raises(BadInput) as caught:
        append_github_output(path, "x<<D\n1\nD\n")

    assert str(caught.value).startswith(f"`{path}`, which `GITHUB_OUTPUT` names, cannot be written: ")
    assert caught.value.hints == ("check the path and the disk",)


def test_a_pipe_with_a_reader_gets_the_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)

    append_github_output(tmp_path / "pipe", "x<<D\n1\nD\n")

    assert os.read(reader, 100) == b"x<<D\n1\nD\n"
    os.close(reader)


def test_on_a_full_disk_the_file_stays_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "output"
    file.write_text("a=b")
    program = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from hereya_tf.outputs.github_file import append_github_output\n"
        "from hereya_tf.errors import BadInput\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))\n"
        "try:\n    append_github_output(Path(sys.argv[1]), 'x' * 50_000)\n"
        "except BadInput as error:\n    print(error)\n"
        # What the coverage of a test writes at its end has to have room.
        "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n"
    )
    told = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, timeout=60)

    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == f"`{file}`, which `GITHUB_OUTPUT` names, cannot be written: File too large\n"
    assert file.read_text() == "a=b"


def test_every_value_is_printed_whole_somewhere() -> None:
    everything = shown("json", show_sensitive=True).stdout

    assert {name: output_text(entry["value"]) for name, entry in exact.loads(everything).items()} == {
        name: output_text(output.value)
        for name, output in OUTPUTS.items()
        if name not in ("nothing", "unknown", "kept")
    }


def test_names_after_a_run_are_a_shell_s_as_far_as_they_go() -> None:
    assert shell_names(["vpc-id", "a-b", "a_b", "größe", "plain"]) == {
        "vpc-id": "vpc_id",
        "a-b": "a-b",
        "a_b": "a_b",
        "größe": "größe",
        "plain": "plain",
    }
