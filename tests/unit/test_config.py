"""The user's `config.toml`: what it may say, where what is wrong stands, and what wins over what."""

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.cli.option_table import every_option
from hereya_tf.cli.settings import misspelt_variables, read_settings
from hereya_tf.config import UserConfig
from hereya_tf.errors import BadConfig
from hereya_tf.inputs.toml_file import key_lines
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine
from tests.option_samples import SAMPLES


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "config"
    directory.mkdir()
    monkeypatch.setenv("HEREYA_TF_CONFIG_DIR", str(directory))
    return directory / "config.toml"


def read() -> UserConfig:
    settings = read_settings(os.environ, list(every_option()))
    assert settings is not None
    return settings


def refusal() -> tuple[str, tuple[str, ...]]:
    with pytest.raises(BadConfig) as caught:
        read()
    return str(caught.value), caught.value.hints


# Where keys stand


def by_growing_prefixes(text: str) -> dict[tuple[str, ...], int]:
    """The lines of keys, found in another way: a prefix that is TOML has a key that a shorter one has not."""
    lines: dict[tuple[str, ...], int] = {}
    complete = 0
    rows = text.split("\n")
    for count in range(1, len(rows) + 1):
        try:
            values = tomllib.loads("\n".join(rows[:count]) + "\n")
        except tomllib.TOMLDecodeError:
            continue
        for path in paths(values):
            lines.setdefault(path, complete + 1)
        complete = count
    return lines


def paths(value: object) -> list[tuple[str, ...]]:
    if not isinstance(value, dict):
        return []
    return [
        path
        for name, member in value.items()
        for path in ((name,), *((name, *rest) for rest in paths(member)))
    ]


def test_keys_stand_on_the_lines_where_they_begin() -> None:
    text = """\
# a comment = "no key"

first = 1
list = [
  "a", # ] of a comment
  "]",
  ['x"', \"""y
\"\"\"\"], # four
]
text = \"""
fake = 1
[fake]
\"""\"" # five quotes
raw = '''
fake = 2
'''
"quoted # key" = { inner = 1, "other]" = '[' }
a.b . c = 3\r

[table] # with a comment
x = "\\"[" # "
  [ table . "deep" ]
y = 2
[[array]]
z = 1
[[array]]
z = 2
"""

    assert key_lines(text) == {
        ("first",): 3,
        ("list",): 4,
        ("text",): 10,
        ("raw",): 14,
        ("quoted # key",): 17,
        ("quoted # key", "inner"): 17,
        ("quoted # key", "other]"): 17,
        ("a",): 18,
        ("a", "b"): 18,
        ("a", "b", "c"): 18,
        ("table",): 20,
        ("table", "x"): 21,
        ("table", "deep"): 22,
        ("table", "deep", "y"): 23,
        ("array",): 24,
        ("array", "z"): 25,
    }


FRAGMENTS = st.sampled_from(
    [
        *(
            "a = 1",
            "b.c = 'x'",
            '"q]" = "[#"',
            "l = [",
            "1,",
            "]",
            "[",
            '"""',
            "'''",
            '"',
            "'",
            "#",
            "# [",
            "{",
        ),
        *(
            "}",
            "t = {a = 1}",
            "[t]",
            "[t.u]",
            "[[v]]",
            "",
            " ",
            "=",
            "\\",
            '\\"',
            '""',
            "x",
            "\t",
            "\r",
            "k =",
        ),
        *('m = """', "n = '''", '""""', "''''", "d = 2020-01-01", "é = 'ü'", '"\\n" = 1'),
    ]
)


@given(st.lists(st.lists(FRAGMENTS, max_size=4).map("".join), max_size=12).map("\n".join))
def test_lines_are_those_of_another_way_to_find_them(text: str) -> None:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return

    found = by_growing_prefixes(text)
    # Of tables in a list only the list itself has a path in the values.
    assert {path: line for path, line in key_lines(text).items() if path in found} == found


KEYS = st.sampled_from(["a", "b-c", '"d e"', "'f#'", "g.h", '"\\u00e9"'])
VALUES = st.sampled_from(
    [
        *("1", "true", "'x # y'", '"]"', "[\n  1, # ]\n  2\n]", '"""\n[x]\ny = 1\n"""', "'''\n# '\n'''"),
        *(
            "[[1, 2],\n[ '''\n]''' ]]",
            '""""quoted\n"""""',
            "{ i = '}', j = [1,\n2] }",
            '"\\""',
            "2020-01-01T00:00:00",
        ),
    ]
)
NOISE = st.sampled_from(["", "# key = 1", "   ", "# '''", '# """ [', "\t# x"])


@given(st.lists(st.tuples(NOISE, KEYS, VALUES), unique_by=lambda entry: entry[1]), st.data())
def test_lines_of_what_is_written(entries: list[tuple[str, str, str]], data: st.DataObject) -> None:
    text = ""
    expected: dict[tuple[str, ...], int] = {}
    tables = 0
    prefix: tuple[str, ...] = ()
    for noise, key, value in entries:
        if data.draw(st.booleans()):
            tables += 1
            prefix = (f"table{tables}",)
            expected[prefix] = text.count("\n") + 1
            text += f"[table{tables}]\n"
        text += f"{noise}\n"
        path = paths(tomllib.loads(f"{key} = 1"))[-1]
        expected[*prefix, *path] = text.count("\n") + 1
        text += f"  {key} = {value} # end\n"

    lines = key_lines(text)

    assert {path: lines[path] for path in expected} == expected


def test_a_large_file_is_looked_through_in_no_time() -> None:
    long = "l = [\n" + "[1, '[', # ]\n 2],\n" * 10_000 + "]\nlast = 1\n"

    assert key_lines(long)["last",] == 20_003


# What it may say


@pytest.mark.parametrize("name", SAMPLES)
def test_every_option_has_a_place(name: str, file: Path) -> None:
    sample = SAMPLES[name]
    file.write_text(f"\n{name.replace('-', '_')} = {sample.toml}")

    settings = read()

    given = (
        json.loads(sample.toml.replace("'", '"'))
        if "\\" not in sample.toml and '"x' not in sample.toml
        else None
    )
    expected: Any = False if name == "no-refresh" else given
    assert set(settings.values) == {sample.key}
    assert settings.values[sample.key] == (list(sample.value) if given is None else expected)
    assert settings.place(sample.key) == f"{file}:2"


def test_no_file_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEREYA_TF_CONFIG_DIR", str(tmp_path / "missing"))

    assert read_settings(os.environ, []) is None


def test_an_empty_file_says_nothing(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf# only this\r\n")

    assert read().values == {}


def test_a_flag_may_be_turned_off(file: Path) -> None:
    file.write_text("refresh = false\nquiet = false\nlock-timeout = 90\n")

    assert read().values == {"refresh": False, "quiet": False, "lock_timeout": 90}


WRONG = [
    pytest.param(
        "grace = '1s'\nlock-timout = '5m'", 2, "there is no option `lock-timout`", "did you mean `lock-timeout`?",
        id="misspelt",
    ),
    pytest.param(
        "frobnicate = 1", 1, "there is no option `frobnicate`", "`hereya-tf config show` lists all options",
        id="unknown",
    ),
    pytest.param(
        "[xyz]\nyes = true", 1, "there is no option `xyz`", "options stand at the top of the file, in no table",
        id="a table",
    ),
    pytest.param(
        "param = [\n]\n\n[provision]", 4, "there is no option `provision`",
        "options stand at the top of the file, in no table", id="a table behind",
    ),
    pytest.param(
        "lock_timeout = 1\nlock-timeout = 1", 2, "`lock_timeout` and `lock-timeout` are the same option",
        "keep one of the two", id="twice",
    ),
    pytest.param(
        "refresh = true\nno-refresh = true", 2, "`refresh` and `no-refresh` are the same option",
        "keep one of the two", id="and its opposite",
    ),
    pytest.param(
        "yes = 'true'", 1, "`yes` must be `true` or `false`", "without quotes: `yes = true`", id="no flag",
    ),
    pytest.param("yes = 1", 1, "`yes` must be `true` or `false`", "without quotes: `yes = true`", id="a number"),
    pytest.param(
        "param = 'a=1'", 1, "`param` must be a list of texts", '`param = ["…", "…"]`', id="one of many",
    ),
    pytest.param(
        "param = ['a=1', 2]", 1, "`param` must be a list of texts", '`param = ["…", "…"]`', id="not all texts",
    ),
    pytest.param(
        "engine = 1.9", 1, "`engine` must be a text", 'texts stand in quotes: `engine = "…"`', id="no text",
    ),
    pytest.param(
        "parallelism = '4'", 1, "`parallelism` must be a whole number", "`parallelism = 4`", id="no number",
    ),
    pytest.param(
        "parallelism = true", 1, "`parallelism` must be a whole number", "`parallelism = 4`", id="truth",
    ),
    pytest.param(
        "grace = 1.5", 1, "`grace` must be a duration", '`grace = "5m"`, or whole seconds: `grace = 300`',
        id="no duration",
    ),
    pytest.param(
        "\n\ngrace = 'soon'", 3, "`grace`: `soon` is not a duration such as `90s`, `5m` or `1h30m`",
        "`hereya-tf config show` shows all values", id="what a flag would refuse",
    ),
    pytest.param(
        "color = 'red'", 1, "`color`: `red` is not one of `auto`, `always`, `never`",
        "`hereya-tf config show` shows all values", id="a choice",
    ),
    pytest.param(
        "parallelism = 0", 1, "`parallelism`: `0` is not a whole number from 1 on",
        "`hereya-tf config show` shows all values", id="too small",
    ),
    pytest.param(
        "workspace = ''", 1, "`workspace` is empty", "take it out, or give it a value", id="empty",
    ),
    pytest.param(
        "var-file = ['a', '']", 1, "`var-file` is empty", "take it out, or give it a value", id="one is empty",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "sentence", "hint"), WRONG)
def test_what_is_wrong_is_named_with_its_line(
    file: Path, text: str, line: int, sentence: str, hint: str
) -> None:
    file.write_text(text)

    assert refusal() == (f"`{file}`, line {line}: {sentence}", (hint,))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("= 1", "is not TOML: invalid statement (at line 1, column 1)", id="no key"),
        pytest.param(
            "a = 1\na = 2", "is not TOML: cannot overwrite a value (at line 2, column 6)", id="twice"
        ),
        pytest.param("a = 'x", 'is not TOML: expected "\'" (at end of document)', id="cut off"),
        pytest.param("a = yes", "is not TOML: invalid value (at line 1, column 5)", id="no value"),
        pytest.param(f"a = {'[' * 5000}", "is nested too deeply", id="a tower"),
        pytest.param("a = " + "9" * 5000, "is not TOML: exceeds the limit (4300 digits)", id="a long number"),
        pytest.param(
            "a = 1e99999999999999999999", "is not TOML: a number's exponent is too large", id="huge"
        ),
    ],
)
def test_what_is_no_toml(file: Path, text: str, said: str) -> None:
    file.write_text(text)

    assert refusal()[0].startswith(f"`{file}` {said}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("{} = 1", "the key is nested too deeply", id="a key"),
        pytest.param("[ {} ]", "the key is nested too deeply", id="a table"),
        pytest.param("a = { {} = 1 }", "the key is nested too deeply", id="in a value"),
        pytest.param("a.{{}", "the key is nested too deeply", id="in nonsense"),
        pytest.param("a = '{}' # {}", "there is no option `a`", id="a text and a comment"),
    ],
)
def test_a_tower_of_dots_costs_no_time(file: Path, text: str, sentence: str) -> None:
    file.write_text("\n" + text.replace("{}", ".".join(["a"] * 150_000)))

    assert refusal()[0] == f"`{file}`, line 2: {sentence}"


def test_other_bytes(file: Path) -> None:
    file.write_bytes(b"a = 1\nb = '\xff'\n")

    assert refusal() == (f"`{file}` is not UTF-8 text: line 2 holds other bytes", ("save it as UTF-8",))


def test_a_directory_in_its_place(file: Path) -> None:
    file.mkdir()

    assert refusal()[0] == f"`{file}` cannot be read: it is not a regular file"


def test_a_pipe_in_its_place_holds_nobody(file: Path) -> None:
    os.mkfifo(file)

    assert refusal()[0] == f"`{file}` cannot be read: it is not a regular file"


def test_a_link_to_nothing(file: Path) -> None:
    file.symlink_to("nothing")

    assert refusal() == (
        f"`{file}` cannot be read: No such file or directory",
        ("make it readable, or take it away",),
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_cannot_be_read(file: Path) -> None:
    file.write_text("")
    file.chmod(0)

    assert refusal()[0] == f"`{file}` cannot be read: Permission denied"


def test_a_file_that_is_too_large(file: Path) -> None:
    with file.open("wb") as handle:
        handle.truncate(100 << 20)

    assert refusal() == (f"`{file}` is larger than 1 MiB", ("is it the right file?",))


def test_a_file_where_its_directory_should_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "config.toml"
    path.write_text("")
    monkeypatch.setenv("HEREYA_TF_CONFIG_DIR", str(path))

    assert refusal() == (
        f"`HEREYA_TF_CONFIG_DIR` is `{path}`, and cannot be looked into: Not a directory",
        ("point it to the directory that holds `config.toml`",),
    )


# Where it is


def test_its_place_is_the_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    for name, directory in (("XDG_CONFIG_HOME", tmp_path / "xdg"), ("", home / ".config")):
        (directory / "hereya-tf").mkdir(parents=True)
        (directory / "hereya-tf/config.toml").write_text(f"workspace = '{directory.name}'\n")
        if name:
            monkeypatch.setenv(name, str(directory))
        else:
            monkeypatch.delenv("XDG_CONFIG_HOME")

        assert read().values == {"workspace": directory.name}


@pytest.mark.parametrize("home", ["", "relative"])
def test_without_a_home_the_users_own_counts(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "not/absolute")
    monkeypatch.setenv("HOME", home)

    assert read_settings(os.environ, []) is None


# What wins


def lock_timeouts(fake_engine: FakeEngine) -> list[str]:
    argv = [record["argv"] for record in fake_engine.records("start") if record["command"] == "apply"]
    return [word for words in argv for word in words if word.startswith("-lock-timeout")]


@pytest.fixture
def package(make_package: MakePackage, fake_engine: FakeEngine) -> Path:
    changes = {"add": 0, "change": 0, "remove": 0, "operation": "apply"}
    fake_engine.plays({"apply": [{"message": {"type": "change_summary", "changes": changes}}]})
    return make_package({"main.tf": ""})


@pytest.mark.parametrize(
    ("arguments", "environment", "text", "expected"),
    [
        pytest.param((), {}, "", "5m", id="default"),
        pytest.param((), {}, "lock-timeout = '1m'\n", "1m", id="file"),
        pytest.param((), {"HEREYA_TF_LOCK_TIMEOUT": "2m"}, "lock-timeout = '1m'\n", "2m", id="environment"),
        pytest.param(
            ("--lock-timeout", "3m"),
            {"HEREYA_TF_LOCK_TIMEOUT": "2m"},
            "lock-timeout = '1m'\n",
            "3m",
            id="command line",
        ),
        pytest.param((), {"HEREYA_TF_LOCK_TIMEOUT": ""}, "lock-timeout = 60\n", "1m", id="an empty variable"),
    ],
)
def test_the_nearest_word_to_the_caller_counts(
    cli: CommandLine,
    fake_engine: FakeEngine,
    package: Path,
    file: Path,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    text: str,
    expected: str,
) -> None:
    file.write_text(f"{text}yes = true\nengine = '{fake_engine.path}'\n")

    ran = cli("provision", package, *arguments, env=environment)

    assert ran.exit_code == 0, ran
    assert set(lock_timeouts(fake_engine)) == {f"-lock-timeout={expected}"}


def test_a_list_is_replaced_as_a_whole(
    cli: CommandLine, fake_engine: FakeEngine, package: Path, file: Path
) -> None:
    file.write_text("target = ['a.b', 'a.c']\n")

    for arguments in ((), ("--target", "a.d")):
        assert cli("provision", package, "--yes", "--engine", fake_engine.path, *arguments).exit_code == 0

    argv = [record["argv"] for record in fake_engine.records("start") if record["command"] == "apply"]
    assert [[word for word in words if word.startswith("-target")] for words in argv] == [
        ["-target=a.b", "-target=a.c"],
        ["-target=a.d"],
    ]


def test_an_engine_of_the_file_is_said_to_be_from_there(cli: CommandLine, package: Path, file: Path) -> None:
    file.write_text("yes = true\nengine = '/nowhere/tofu'\n")

    failure = cli("provision", package, "--json").result["failure"]

    assert failure["class"] == "engine-unavailable"
    assert cli("provision", package).stderr.count(f"`/nowhere/tofu` of `{file}:2` does not exist") == 1


# What comes of a bad one


def test_a_run_ends_as_refused(cli: CommandLine, fake_engine: FakeEngine, package: Path, file: Path) -> None:
    file.write_text("\ngrase = '1s'\n")

    ran = cli("provision", package, "--json", "--engine", fake_engine.path)

    result = ran.result
    assert (ran.exit_code, ran.stderr) == (3, "")
    assert (result["status"], result["exit_code"], result["failure"]["class"]) == ("refused", 3, "bad-config")
    assert result["reason"] == f"`{file}`, line 2: there is no option `grase`"
    assert result["failure"]["hint"] == "did you mean `grace`?"
    assert fake_engine.records() == []


@pytest.mark.parametrize(
    "arguments", ["destroy", "plan", "apply x.plan", "drift", "output", "init", "validate"]
)
def test_so_does_every_operation(cli: CommandLine, package: Path, file: Path, arguments: str) -> None:
    file.write_text("\ngrase = '1s'\n")

    ran = cli(*arguments.split(), cwd=package)

    assert (ran.exit_code, ran.stdout) == (3, "")
    assert f"error: `{file}`, line 2: there is no option `grase`\n" in ran.stderr


@pytest.mark.parametrize("arguments", ["tf -- version", "config show"])
def test_what_is_no_run_says_it_on_stderr(
    cli: CommandLine, package: Path, file: Path, arguments: str
) -> None:
    file.write_text("\ngrase = '1s'\n")

    assert cli(*arguments.split(), cwd=package) == Result(
        3, "", f"error: `{file}`, line 2: there is no option `grase`\nhint: did you mean `grace`?\n"
    )


def test_commands_that_are_no_runs_have_no_use_for_it(cli: CommandLine, file: Path) -> None:
    file.write_text("= nonsense")

    assert cli("runs", "list").exit_code == 0
    assert cli("--version").exit_code == 0


# What is shown


def test_what_is_set_comes_last_with_its_place(cli: CommandLine, package: Path, file: Path) -> None:
    file.write_text(
        "# mine\nlock_timeout = '1m'\nenv = [\n  'A=secret',\n]\ngrace = 7\nengine-version = '1.9'\n"
    )
    (package / "main.tf").write_text(
        'variable "size" {}\nvariable "open" {}\nvariable "hidden" { sensitive = true }\nvariable "api_token" {}\n'
    )
    (package / "a.tfvars").write_text("")
    (package / "hereyarc.yaml").write_text(
        "parameters:\n  open:\n    default: [1, 2.50]\n  size:\n    default: a\n"
    )
    (package / "hereya-tf.toml").write_text(
        'engine-version = "~> 1.10"\nvar-files = ["a.tfvars"]\n[parameters]\n\nsize = "small"\nhidden = "secret"\n'
        'api_token = "secret"\nundeclared = "secret"\n'
    )
    environment = {
        "HEREYA_TF_PARALLELISM": "3",
        "HEREYA_TF_PARAM": "a=secret\nb:=[1]",
        "HEREYA_TF_BACKEND_CONFIG": "secret_key=secret\nx.tfbackend",
        "HEREYA_TF_ENGINE_ARG": "apply=-var=a=secret",
    }

    ran = cli("config", "show", package, env=environment)

    table = [tuple(line.split(maxsplit=2)) for line in ran.stdout.splitlines()]
    lines = ran.stdout.splitlines()
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert "secret" not in ran.stdout.replace("secret_key=…", "")
    assert lines[0].split() == ["OPTION", "VALUE", "FROM"]
    assert [" ".join(line.split()) for line in lines[-14:]] == [
        "param a=… b:=… HEREYA_TF_PARAM",
        "var-file a.tfvars hereya-tf.toml:2",
        f"env A=… {file}:3",
        "backend-config secret_key=… x.tfbackend HEREYA_TF_BACKEND_CONFIG",
        "engine-version ~> 1.10 hereya-tf.toml:1",
        "engine-arg apply=… HEREYA_TF_ENGINE_ARG",
        f"lock-timeout 1m {file}:2",
        f"grace 7s {file}:6",
        "parallelism 3 HEREYA_TF_PARALLELISM",
        "parameter open [1,2.50] hereyarc.yaml",
        "parameter size small hereya-tf.toml:5",
        "parameter hidden … hereya-tf.toml:6",
        "parameter api_token … hereya-tf.toml:7",
        "parameter undeclared … hereya-tf.toml:8",
    ]
    assert {row[-1] for row in table[1:-14]} == {"default"}
    assert ("wait", "30m", "default") in table
    assert ("engine", "auto", "default") in table


def test_the_engine_that_a_package_asks_for(cli: CommandLine, package: Path) -> None:
    (package / "hereyarc.yaml").write_text("iac: opentofu\n")

    ran = cli("config", "show", package)
    named = cli("config", "show", package, env={"HEREYA_TF_ENGINE": "terraform"})

    assert ["engine", "tofu", "hereyarc.yaml"] in [line.split() for line in ran.stdout.splitlines()]
    assert named.stdout.splitlines()[-1].split() == ["engine", "terraform", "HEREYA_TF_ENGINE"]


def test_the_table_fits_a_terminal_when_little_is_set(cli: CommandLine, package: Path) -> None:
    ran = cli("config", "show", package, env={"HEREYA_TF_STATE_LOCK_TABLE": "a-table-of-locks"})

    assert max(map(len, ran.stdout.splitlines())) <= 80
    assert len(ran.stdout.splitlines()) == len(list(every_option())) + 1


def test_the_document_has_the_same(cli: CommandLine, package: Path, file: Path) -> None:
    file.write_text("refresh = false\n")
    (package / "hereya-tf.toml").write_text("var-files = ['a.tfvars']\nparameters.x = 1\n")
    (package / "a.tfvars").write_text("")

    ran = cli("config", "show", package, "--json", env={"HEREYA_TF_VAR_FILE": "b.tfvars"})

    document = json.loads(ran.stdout)
    options = document["options"]
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert [option for option in options if option["source"] != "default"] == [
        {"name": "var-file", "value": ["a.tfvars"], "source": "hereya-tf.toml:1"},
        {"name": "var-file", "value": ["b.tfvars"], "source": "HEREYA_TF_VAR_FILE"},
        {"name": "refresh", "value": False, "source": f"{file}:1"},
    ]
    assert {"name": "wait", "value": "30m", "source": "default"} in options
    assert document["parameters"] == [{"name": "x", "value": "…", "source": "hereya-tf.toml:2"}]


@pytest.mark.parametrize(
    ("mirror", "shown"),
    [
        ("https://me:s3cret@host/x?key=s3cret", "https://[redacted]@host/x?…"),
        ("me:s3cret@host/x", "…@host/x"),
    ],
    ids=["an address", "an address that has lost its scheme"],
)
def test_a_mirror_is_shown_without_its_password(
    cli: CommandLine, package: Path, mirror: str, shown: str
) -> None:
    ran = cli("config", "show", package, env={"HEREYA_TF_FROM": mirror})

    assert [line.split()[1] for line in ran.stdout.splitlines() if line.startswith("from ")] == [shown]
    assert "s3cret" not in ran.stdout + ran.stderr


def test_what_the_caller_says_wins_over_the_packages_version(cli: CommandLine, package: Path) -> None:
    (package / "hereya-tf.toml").write_text("engine-version = '~> 1.10'\n")

    ran = cli("config", "show", cwd=package, env={"HEREYA_TF_ENGINE_VERSION": "~> 1.11"})

    assert ran.stdout.splitlines()[-1].split() == ["engine-version", "~>", "1.11", "HEREYA_TF_ENGINE_VERSION"]
    assert "1.10" not in ran.stdout


@pytest.mark.parametrize(
    ("environment", "shown"),
    [
        pytest.param(
            {}, ["max-destroy 2 hereya-tf.toml:1", "protect module.db hereya-tf.toml:2"], id="of the package"
        ),
        pytest.param(
            {"HEREYA_TF_MAX_DESTROY": "3", "HEREYA_TF_PROTECT": "a.*"},
            [
                "max-destroy 2 hereya-tf.toml:1",
                "protect module.db hereya-tf.toml:2",
                "protect a.* HEREYA_TF_PROTECT",
            ],
            id="what is stricter",
        ),
        pytest.param(
            {"HEREYA_TF_MAX_DESTROY": "0"},
            ["max-destroy 0 HEREYA_TF_MAX_DESTROY", "protect module.db hereya-tf.toml:2"],
            id="of the caller",
        ),
    ],
)
def test_guards_are_told_as_they_hold(
    cli: CommandLine, package: Path, environment: dict[str, str], shown: list[str]
) -> None:
    (package / "hereya-tf.toml").write_text("max-destroy = 2\nprotect = ['module.db']\n")

    ran = cli("config", "show", package, env=environment)

    lines = [" ".join(line.split()) for line in ran.stdout.splitlines()]
    assert [line for line in lines if line.startswith(("max-destroy", "protect"))] == shown


def test_a_package_that_is_none(cli: CommandLine) -> None:
    assert cli("config", "show", "missing") == Result(
        3, "", "error: `missing` is not a directory\nhint: name the directory of a package\n"
    )


def test_a_variable_that_holds_nonsense(cli: CommandLine, package: Path) -> None:
    assert cli("config", "show", package, env={"HEREYA_TF_GRACE": "soon"}) == Result(
        64,
        "",
        "error: `HEREYA_TF_GRACE`: `soon` is not a duration such as `90s`, `5m` or `1h30m`\n"
        "hint: `hereya-tf config show --help` shows what it takes\n",
    )


def test_a_misspelt_variable_is_told() -> None:
    environment = {
        "HEREYA_TF_TARGT": "a.b",
        "HEREYA_TF_TARGET": "a.b",
        "HEREYA_TF_LOCKTIMEOUT": "1m",
        "HEREYA_TF_STATE_DIR": "/s",
        "HEREYA_TF_SOMETHING_LATER": "1",
        "TARGT": "",
    }

    assert misspelt_variables(environment) == (
        "`HEREYA_TF_LOCKTIMEOUT` is no variable of an option; did you mean `HEREYA_TF_LOCK_TIMEOUT`?",
        "`HEREYA_TF_TARGT` is no variable of an option; did you mean `HEREYA_TF_TARGET`?",
    )
    assert misspelt_variables({"HEREYA_TF_SOMETHING_LATER": "1"}) == ()
    assert misspelt_variables({}) == ()
