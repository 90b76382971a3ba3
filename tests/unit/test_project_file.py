"""A package's `hereya-tf.toml`: what it may say, what it may not, and what ranks above it."""

import json
import os
from decimal import Decimal
from pathlib import Path

import pytest

from hereya_tf.cli.option_table import every_option
from hereya_tf.errors import BadConfig
from hereya_tf.guards import Guards, Limit, Pattern
from hereya_tf.inputs.deploy_table import DeployPackage, DeployTable
from hereya_tf.inputs.hereyarc import Hereyarc, Rule
from hereya_tf.inputs.project_file import CALLERS, KEYS, ProjectFile, read_project_file
from hereya_tf.inputs.values import VariableFile
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.fake_engine import FakeEngine


@pytest.fixture
def package(tmp_path: Path) -> Path:
    directory = tmp_path / "package"
    directory.mkdir()
    return directory


def read(package: Path, text: str) -> ProjectFile:
    (package / "hereya-tf.toml").write_text(text, encoding="utf-8")
    return read_project_file(package)


def refusal(package: Path, text: str) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(BadConfig) as caught:
        read(package, text)
    return str(caught.value), caught.value.hints


# What it says


def test_a_pattern_that_protects_nothing_is_refused(package: Path) -> None:
    (package / "hereya-tf.toml").write_text("\nprotect = ['module.db[main]']\n")

    with pytest.raises(BadConfig, match=r"line 2: `module.db\[main\]` fits no address") as refused:
        read_project_file(package)

    assert refused.value.hints == ("write it like `protect = ['module.db[\"main\"]']`",)


def test_no_file_says_nothing(package: Path) -> None:
    assert read_project_file(package) == ProjectFile()
    assert read_project_file(package / "missing") == ProjectFile()


def test_everything_that_it_may_say(package: Path) -> None:
    (package / "more").mkdir()
    (package / "a.tfvars").touch()
    (package / "more/b.tfvars").touch()
    text = """\
# how it is run
var-files = [
  "a.tfvars",
  "more/b.tfvars",
]
engine-version = "~> 1.9"
[parameters]
size = "small"
zones = ["a", "b"]
ratio = 0.10
count = 3
on = true
nested = { a = [1, { b = 2.50 }] }
[parameters.table]
x = 1
[deploy]
packages = ["network"]
"""

    project = read(package, text)

    assert project == ProjectFile(
        parameters={
            "size": "small",
            "zones": ["a", "b"],
            "ratio": Decimal("0.10"),
            "count": 3,
            "on": True,
            "nested": {"a": [1, {"b": Decimal("2.50")}]},
            "table": {"x": 1},
        },
        var_files=(VariableFile(package / "a.tfvars"), VariableFile(package / "more/b.tfvars")),
        engine_version="~> 1.9",
        engine_version_line=6,
        deploy=DeployTable((DeployPackage("network", "network"),)),
        source=project.source,
    )
    assert str(project.parameters["ratio"]) == "0.10"


def test_guards_know_their_lines(package: Path) -> None:
    project = read(package, "\nmax_destroy = 0\nprotect = [\n  'module.db',\n  ' *.main '\n]\n")

    assert project.guards == Guards(
        max_destroy=Limit(0, "hereya-tf.toml:2"),
        protect=(Pattern("module.db", "hereya-tf.toml:3"), Pattern("*.main", "hereya-tf.toml:3")),
    )


def test_keys_may_be_written_with_the_other_line(package: Path) -> None:
    (package / "a.tfvars").touch()

    project = read(package, "\nengine_version = '1'\nvar_files = ['a.tfvars']\n")

    assert (project.engine_version, project.engine_version_line) == ("1", 2)
    assert project.var_files == (VariableFile(package / "a.tfvars"),)


# What it may not say


WRONG = [
    pytest.param(
        "[guards]\nmax-destroy = 1", 1, "there is no table `guards`",
        "`max-destroy` and `protect` stand at the top of the file, in no table", id="a guard is never ignored",
    ),
    pytest.param(
        "\nyes = true", 2, "a package may not set `yes`: whoever runs it decides that, not who writes it",
        "give it as `--yes`, in the environment, or in your own `config.toml`", id="the question",
    ),
    pytest.param(
        "[parameters]\nyes = true\n[engine]\nx = 1", 3,
        "a package may not set `engine`: whoever runs it decides that, not who writes it",
        "give it as `--engine`, in the environment, or in your own `config.toml`", id="the engine",
    ),
    pytest.param(
        "ignore_cli_args = true", 1,
        "a package may not set `ignore_cli_args`: whoever runs it decides that, not who writes it",
        "give it as `--ignore-cli-args`, in the environment, or in your own `config.toml`", id="with a low line",
    ),
    pytest.param(
        "\ndeploy = 3", 2, "`deploy` is no table",
        'write it like `packages = ["network", { path = "web", app = "till" }]` below `[deploy]`',
        id="a deploy table",
    ),
    pytest.param("var-file = ['a']", 1, "there is no key `var-file`", "did you mean `var-files`?", id="one file"),
    pytest.param("[parameter]", 1, "there is no key `parameter`", "did you mean `parameters`?", id="one parameter"),
    pytest.param(
        "frobnicate = 1", 1, "there is no key `frobnicate`",
        "it holds `[parameters]`, `var-files`, `engine-version`, `max-destroy`, `protect` and `[deploy]`",
        id="unknown",
    ),
    pytest.param(
        "var-files = []\nvar_files = []", 2, "`var-files` and `var_files` are the same", "keep one of the two",
        id="twice",
    ),
    pytest.param(
        "parameters = ['a=1']", 1, "`parameters` is no table",
        "a default is a line `NAME = VALUE` below `[parameters]`", id="no table",
    ),
    pytest.param(
        "[parameters]\na = 1\nb = 2020-01-01", 3,
        "the default of `b` is a date or a time, which an engine does not know", "put it in quotes", id="a date",
    ),
    pytest.param(
        "[parameters]\na = [\n {b = 10:00:00}\n]", 2,
        "the default of `a` is a date or a time, which an engine does not know", "put it in quotes", id="a time",
    ),
    pytest.param(
        "parameters.a = nan", 1, "the default of `a` is not a number that an engine knows",
        "there are neither `nan` nor `inf`", id="no number",
    ),
    pytest.param(
        "parameters.a = [-inf]", 1, "the default of `a` is not a number that an engine knows",
        "there are neither `nan` nor `inf`", id="endless",
    ),
    pytest.param(
        f"[parameters]\na = {'[' * 70}{']' * 70}", 2, "the default of `a` is nested too deeply",
        "give it in a file: `var-files`", id="a tower",
    ),
    pytest.param(
        "var-files = 'a.tfvars'", 1, "`var-files` is no list of files",
        'write it like `var-files = ["a.tfvars"]`', id="a text",
    ),
    pytest.param(
        "var-files = [1]", 1, "`var-files` is no list of files", 'write it like `var-files = ["a.tfvars"]`',
        id="no texts",
    ),
    pytest.param(
        "var-files = ['']", 1, "`var-files` is no list of files", 'write it like `var-files = ["a.tfvars"]`',
        id="no name",
    ),
    pytest.param(
        "var-files = ['/etc/passwd']", 1, "`/etc/passwd` is absolute",
        "files are named relative to the package", id="absolute",
    ),
    pytest.param(
        "\nvar-files = ['missing.tfvars']", 2, "`missing.tfvars` is not a file",
        "it is looked for from the package", id="missing",
    ),
    pytest.param(
        "var-files = ['.']", 1, "`.` is not a file", "it is looked for from the package", id="a directory",
    ),
    pytest.param(
        'var-files = ["a\\u0000"]', 1, "`a\0` is not a file", "it is looked for from the package", id="a null",
    ),
    pytest.param(
        "engine-version = 1.9", 1, "`engine-version` is no text", 'write it like `engine-version = "~> 1.9"`',
        id="a number",
    ),
    pytest.param(
        "engine-version = ' '", 1, "`engine-version` is no text", 'write it like `engine-version = "~> 1.9"`',
        id="nothing",
    ),
    *(
        pytest.param(
            f"max-destroy = {wrong}", 1, "`max-destroy` is not a whole number from 0 on",
            "write it like `max-destroy = 0`", id=f"max-destroy of {wrong}",
        )
        for wrong in ("-1", "true", "1.0", "'1'", "[]")
    ),
    *(
        pytest.param(
            f"protect = {wrong}", 1, "`protect` is no list of patterns",
            'write it like `protect = ["module.db"]`', id=f"protect of {wrong}",
        )
        for wrong in ("'module.db'", "[1]", "[' ']", "true")
    ),
    pytest.param(
        "expect-no-changes = true", 1,
        "a package may not set `expect-no-changes`: whoever runs it decides that, not who writes it",
        "give it as `--expect-no-changes`, in the environment, or in your own `config.toml`", id="no changes",
    ),
    pytest.param(
        "policy = 'true'", 1, "a package may not set `policy`: whoever runs it decides that, not who writes it",
        "give it as `--policy`, in the environment, or in your own `config.toml`", id="a policy",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "sentence", "hint"), WRONG)
def test_what_is_wrong_is_named_with_its_line(
    package: Path, text: str, line: int, sentence: str, hint: str
) -> None:
    assert refusal(package, text) == (f"`hereya-tf.toml`, line {line}: {sentence}", (hint,))


def test_every_option_is_the_callers_but_what_a_package_may_set() -> None:
    names = {name for option in every_option() for name in (option.public_name, *option.secondary_opts)}

    # Those have a name of their own here.
    assert {name.lstrip("-") for name in names} - CALLERS == {
        "var-file",
        "param",
        "param-file",
        "engine-version",
        "max-destroy",
        "protect",
    }
    assert CALLERS.isdisjoint(KEYS)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"= 1", "is not TOML: invalid statement (at line 1, column 1)"),
        (b"a = 1\n\xff", "is not UTF-8 text: line 2 holds other bytes"),
        (b" " * ((1 << 20) + 1), "is larger than 1 MiB"),
    ],
    ids=["no TOML", "other bytes", "too large"],
)
def test_what_is_no_such_file(package: Path, content: bytes, sentence: str) -> None:
    (package / "hereya-tf.toml").write_bytes(content)

    with pytest.raises(BadConfig) as caught:
        read_project_file(package)

    assert str(caught.value) == f"`hereya-tf.toml` {sentence}"


@pytest.mark.parametrize("kind", ["directory", "pipe", "link to nothing", "link to itself"])
def test_something_else_in_its_place(package: Path, kind: str) -> None:
    path = package / "hereya-tf.toml"
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "link to nothing":
            path.symlink_to("nothing")
        case _:
            path.symlink_to("hereya-tf.toml")

    with pytest.raises(BadConfig, match=r"^`hereya-tf\.toml` cannot be read: "):
        read_project_file(package)


# What ranks above it


def test_its_defaults_stand_before_those_of_hereyarc(package: Path) -> None:
    hereyarc = Hereyarc(
        "hereyarc.yaml", True, {"a": Rule(True, "old"), "b": Rule(True, None), "c": Rule(False, 1)}
    )

    merged = read(package, "[parameters]\na = 'new'\nb = 2\nd = [3]\n").over(hereyarc)

    assert merged == Hereyarc(
        "hereyarc.yaml",
        True,
        {
            "a": Rule(True, "new", "hereya-tf.toml"),
            "b": Rule(True, 2, "hereya-tf.toml"),
            "c": Rule(False, 1),
            "d": Rule(False, [3], "hereya-tf.toml"),
        },
    )


@pytest.mark.parametrize(
    ("arguments", "environment", "files", "expected"),
    [
        pytest.param((), {}, {"hereya-tf.toml": "parameters.v = 'project'"}, ["project"], id="its own"),
        pytest.param(
            (), {},
            {"hereya-tf.toml": "parameters.v = 'project'", "hereyarc.yaml": "parameters: {v: {default: rc}}"},
            ["project"], id="over hereyarc.yaml",
        ),
        pytest.param(
            (), {"TF_VAR_v": "environment"}, {"hereya-tf.toml": "parameters.v = 'project'"}, [],
            id="under the environment",
        ),
        pytest.param(
            (), {}, {"hereya-tf.toml": "parameters.v = 'project'", "terraform.tfvars": "v = 1"}, [],
            id="under the engine's own files",
        ),
        pytest.param(
            ("-p", "v=flag"), {}, {"hereya-tf.toml": "parameters.v = 'project'"}, ["project", "flag"],
            id="under a flag",
        ),
        pytest.param(
            ("-p", "v=flag"), {},
            {"hereya-tf.toml": "var-files = ['x.tfvars']\nparameters.v = 'project'", "x.tfvars": "v = 2"},
            ["project", "x.tfvars", "flag"], id="files between",
        ),
        pytest.param(
            ("--env", "v=env"), {"TF_VAR_v": "environment"},
            {"hereya-tf.toml": "var-files = ['x.tfvars']", "x.tfvars": "v = 2"},
            ["env", "x.tfvars"], id="files over --env",
        ),
    ],
)  # fmt: skip
def test_what_the_engine_is_given(
    cli: CommandLine,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    tmp_path: Path,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    files: dict[str, str],
    expected: list[str],
) -> None:
    package = make_package({"main.tf": 'variable "v" {}', **files})
    copies = tmp_path / "copies"
    copies.mkdir()
    # The engine's variable files are gone with the run.
    fake_engine.plays({"apply": [{"wait_for_file": str(copies / "seen")}, {"exit": 1}]})
    running = cli.start(
        "provision", package, "--yes", "--engine", fake_engine.path, *arguments, env=environment
    )
    try:
        start = fake_engine.wait_for_record("start", command="apply")
        given = [word.removeprefix("-var-file=") for word in start["argv"] if word.startswith("-var-file=")]
        inside = Path(f"/proc/{start['pid']}/fd")
        texts = [_text(package, path, inside) for path in given]
    finally:
        (copies / "seen").touch()
        running.finish()

    assert texts == expected


def _text(package: Path, path: str, inside: Path) -> str:
    """The value of `v` in a generated file, or the name of one of the package's own."""
    if Path(path).is_relative_to(package):
        return Path(path).name
    readable = inside / Path(path).name if "/fd/" in path else Path(path)
    return str(json.loads(readable.read_text())["v"])


def test_an_undeclared_parameter_is_a_warning(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": "", "hereya-tf.toml": "parameters.nobody = 1\n"})

    ran = cli("provision", package, "--yes", "--engine", fake_engine.path)

    assert "`nobody` (hereya-tf.toml) is left out: the package declares no such variable" in ran.stderr


def test_a_mandatory_parameter_may_have_its_value_here(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package(
        {"main.tf": 'variable "v" {}', "hereyarc.yaml": "parameters: {v: {mandatory: true}}"}
    )
    refused = cli("provision", package, "--yes", "--engine", fake_engine.path)
    (package / "hereya-tf.toml").write_text("parameters.v = 1\n")
    accepted = cli("provision", package, "--yes", "--engine", fake_engine.path)

    assert refused.exit_code == 3
    assert accepted.exit_code == 1, "the engine was started, and played nothing"
    assert "apply" in fake_engine.commands()


def test_a_bad_one_ends_a_run_as_refused(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": "", "hereya-tf.toml": "yes = true\n"})

    ran = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path)

    assert (ran.exit_code, ran.result["status"], ran.result["failure"]["class"]) == (
        3,
        "refused",
        "bad-config",
    )
    assert ran.result["reason"].startswith("`hereya-tf.toml`, line 1: a package may not set `yes`")
    assert fake_engine.commands() == []


def test_a_secret_in_a_file_of_its_own_is_masked(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    package = make_package(
        {
            "main.tf": 'variable "v" { sensitive = true }',
            "hereya-tf.toml": "var-files = ['x.tfvars']\n",
            "x.tfvars": 'v = "hunter2hunter2"\n',
        }
    )
    fake_engine.plays({"apply": [{"stderr": "it was hunter2hunter2\n"}, {"exit": 1}]})

    ran = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path)

    assert ran.exit_code == 1
    assert "hunter2hunter2" not in ran.stdout
    assert "it was " in ran.stdout
