"""A real engine gets the very values that were given."""

import json
import subprocess
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hereya_tf import exact
from hereya_tf.inputs.given import Given, Source, parse_parameter, read_parameter_file
from hereya_tf.inputs.values import GeneratedFile, Values, VariableFile, encode, plan_values
from hereya_tf.package import read_package

pytestmark = pytest.mark.real_engine

_PACKAGE = """
variable "text" {
  type    = string
  default = "default"
}
variable "untyped" { default = "default" }
variable "number" {
  type    = number
  default = 0
}
variable "bool" {
  type    = bool
  default = false
}
variable "list" {
  type    = list(string)
  default = []
}
variable "map" {
  type    = map(string)
  default = {}
}
variable "set" {
  type    = set(number)
  default = []
}
variable "tuple" {
  type    = tuple([string, number])
  default = ["", 0]
}
variable "object" {
  type = object({
    name = string # with a comment
    tags = optional(map(any), {})
  })
  default = null
}
variable "any" {
  type    = any
  default = "default"
}
output "all" {
  value = {
    text    = var.text
    untyped = var.untyped
    number  = var.number
    bool    = var.bool
    list    = var.list
    map     = var.map
    set     = var.set
    tuple   = var.tuple
    object  = var.object
    any     = var.any
  }
}
"""

_DEFAULTS: dict[str, object] = {
    "text": "default",
    "untyped": "default",
    "number": 0,
    "bool": False,
    "list": [],
    "map": {},
    "set": [],
    "tuple": ["", 0],
    "object": None,
    "any": "default",
}

Arrive = Callable[[Values], dict[str, Any]]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("package")
    (directory / "main.tf").write_text(_PACKAGE)
    return directory


@pytest.fixture
def engine_argv(request: pytest.FixtureRequest, real_engine: str) -> Sequence[str]:
    """The words that start the engine; its arguments follow."""
    if real_engine != "embedded":
        return (real_engine,)
    embedded: Sequence[str] = request.getfixturevalue("embedded_engine")
    return embedded


@pytest.fixture
def arrive(directory: Path, engine_argv: Sequence[str], tmp_path: Path) -> Arrive:
    """Apply with planned values; what arrived differently from the defaults."""

    def run(*arguments: str) -> subprocess.CompletedProcess[bytes]:
        argv = (*engine_argv, *arguments)
        return subprocess.run(argv, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True)

    def apply(values: Values) -> dict[str, Any]:
        arguments = []
        for number, file in enumerate(values.files):
            match file:
                case GeneratedFile():
                    path = tmp_path / f"{number}.tfvars.json"
                    path.write_text(encode(file), encoding="utf-8")
                case VariableFile(path):
                    pass
            arguments.append(f"-var-file={path}")
        assert run("init", "-json", "-input=false").returncode == 0
        applied = run("apply", "-json", "-input=false", "-auto-approve", *arguments)
        assert applied.returncode == 0, applied.stdout.decode()
        # A real engine's document is exact JSON; the order of a map's keys is its own.
        outputs = exact.loads(run("output", "-json").stdout.decode())["all"]["value"]
        return {name: value for name, value in outputs.items() if value != _DEFAULTS[name]}

    return apply


def plan(directory: Path, *inputs: Given | VariableFile, **environment: str) -> Values:
    package = read_package(directory, tofu=False)
    return plan_values(package, environment=tuple(environment.items()), inputs=inputs)


_HOSTILE = [
    pytest.param("${path.module} ${", id="interpolation"),
    pytest.param("%{ if true }x%{ endif } %{", id="directive"),
    pytest.param("$${x} %%{y}", id="escaped template"),
    pytest.param("two\nlines\r\n\ttab \v\f\x1b", id="control characters"),
    pytest.param('"\'`\\"\\n', id="quotes and backslashes"),
    pytest.param("a\0b", id="NUL"),
    pytest.param("😀 é \u2028 \U0010ffff \ufeff", id="Unicode"),
    pytest.param("", id="empty"),
    pytest.param(" ", id="blank"),
    pytest.param("null", id="the word null"),
    pytest.param('{"a": [1, "${x}"]}', id="JSON text"),
    pytest.param("007", id="leading zeros"),
    pytest.param("<<EOT\nx\nEOT\n", id="heredoc"),
    pytest.param("x" * 300_000, id="longer than an environment variable"),
]


@pytest.mark.behaviour("T8")
@pytest.mark.parametrize("value", _HOSTILE)
def test_a_text_arrives_byte_for_byte(directory: Path, arrive: Arrive, value: str) -> None:
    planned = plan(
        directory,
        parse_parameter(f"text={value}"),
        parse_parameter(f"untyped={value}"),
        parse_parameter("any:=" + json.dumps(value)),
        parse_parameter("list:=" + json.dumps([value])),
        parse_parameter("map:=" + json.dumps({value: value, "//": value})),
        parse_parameter("object:=" + json.dumps({"name": value, "tags": {value: value}})),
    )

    assert arrive(planned) == {
        "text": value,
        "untyped": value,
        "any": value,
        "list": [value],
        "map": {value: value, "//": value},
        "object": {"name": value, "tags": {value: value}},
    }


@pytest.mark.behaviour("T8", "T12")
def test_texts_arrive_by_declared_type(directory: Path, arrive: Arrive) -> None:
    planned = plan(
        directory,
        parse_parameter("text=[1]"),
        parse_parameter("number=9007199254740993"),
        parse_parameter("bool=true"),
        parse_parameter('list=["a", "${b}"]'),
        parse_parameter('map={"a": "%{b}"}'),
        parse_parameter("set=[2, 1]"),
        parse_parameter('tuple=["a", 9007199254740993]'),
        parse_parameter('object={"name": "n", "tags": {"a": "b"}}'),
        parse_parameter('any=[1, {"a": null}, "${c}", 0.10]'),
    )

    assert arrive(planned) == {
        "text": "[1]",
        "number": 9007199254740993,
        "bool": True,
        "list": ["a", "${b}"],
        "map": {"a": "%{b}"},
        "set": [1, 2],
        "tuple": ["a", 9007199254740993],
        "object": {"name": "n", "tags": {"a": "b"}},
        "any": [1, {"a": None}, "${c}", Decimal("0.1")],
    }


@pytest.mark.behaviour("T12")
@pytest.mark.parametrize(
    "number",
    [
        pytest.param("9007199254740993", id="2^53 + 1"),
        pytest.param("-18446744073709551617", id="-(2^64 + 1)"),
        pytest.param("1e400", id="1e400"),
        pytest.param("0." + "123456789" * 16, id="144 decimals"),
        pytest.param("1" + "0" * 152 + "1", id="154 digits"),
        pytest.param("-0.000001", id="small"),
    ],
)
def test_a_number_keeps_every_digit(directory: Path, arrive: Arrive, number: str) -> None:
    planned = plan(directory, parse_parameter(f"number:={number}"), parse_parameter(f"any:=[{number}]"))

    assert planned.warnings == ()
    assert arrive(planned) == {"number": Decimal(number), "any": [Decimal(number)]}


@pytest.mark.behaviour("T12")
def test_a_number_as_text_keeps_every_digit(directory: Path, arrive: Arrive) -> None:
    text = "1" + "0" * 152 + "1"

    assert arrive(plan(directory, parse_parameter(f"number={text}"))) == {"number": int(text)}


def test_a_number_that_we_warn_about_is_rounded_indeed(directory: Path, arrive: Arrive) -> None:
    number = int("1" + "0" * 154 + "1")
    planned = plan(directory, parse_parameter(f"number:={number}"))

    assert planned.warnings
    assert arrive(planned) == {"number": 10**155}


def test_null_arrives_as_null(directory: Path, arrive: Arrive) -> None:
    planned = plan(directory, parse_parameter("text:=null"), parse_parameter("any=null"))

    assert arrive(planned) == {"text": None, "any": None}


@pytest.mark.behaviour("T8")
def test_the_last_one_wins_in_the_order_of_the_contract(
    directory: Path, arrive: Arrive, tmp_path: Path
) -> None:
    variable_file = tmp_path / "user.tfvars"
    variable_file.write_text('text = "file"\nuntyped = "file"\nany = { a = "file" }\n')
    parameters = tmp_path / "p.yaml"
    parameters.write_text("number: 012\nuntyped: parameter file\nbool: true\nstray: 1\n")

    planned = plan(
        directory,
        parse_parameter("text=before"),
        VariableFile(variable_file),
        *read_parameter_file(parameters),
        parse_parameter('any=["after"]'),
        text="environment",
        number="7",
        list='["environment"]',
        PATH="untouched",
    )

    assert planned.warnings == (f"`stray` ({parameters}) is left out: the package declares no such variable",)
    assert arrive(planned) == {
        "text": "file",
        "untyped": "parameter file",
        "number": 12,
        "bool": True,
        "list": ["environment"],
        "any": ["after"],
    }


def test_a_package_that_our_parser_cannot_read_whole_still_gets_its_values(
    engine_argv: Sequence[str], tmp_path: Path
) -> None:
    directory = tmp_path / "package"
    directory.mkdir()
    (directory / "main.tf").write_text(
        'locals { small = 1.5E-3 }\nvariable "a" { default = "default" }\noutput "a" { value = var.a }\n'
    )
    planned = plan(directory, Given("a", "given", True, Source.FLAG, "-p"))
    (directory / "v.auto.tfvars.json").write_text(
        "".join(encode(file) for file in planned.files if isinstance(file, GeneratedFile))
    )
    for arguments in (["init"], ["apply", "-auto-approve"]):
        argv = (*engine_argv, *arguments, "-input=false")
        subprocess.run(argv, cwd=directory, check=True, stdin=subprocess.DEVNULL, capture_output=True)

    argv = (*engine_argv, "output", "-json", "a")
    assert subprocess.run(argv, cwd=directory, capture_output=True, text=True).stdout.strip() == '"given"'
