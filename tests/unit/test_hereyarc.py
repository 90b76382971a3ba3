"""What a package's `hereyarc.yaml` says, and what outranks its defaults."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.errors import BadInput, BadPackage, FailureClass, HereyaError
from hereya_tf.inputs.given import Given, Source
from hereya_tf.inputs.hereyarc import Defaults, Hereyarc, Rule, parse_hereyarc, plan_defaults, read_hereyarc
from hereya_tf.inputs.values import VariableFile
from hereya_tf.package import read_package
from tests.conftest import MakePackage

pytestmark = pytest.mark.behaviour("T14")

FILE = "hereyarc.yaml"
CONFIGURATION = 'variable "a" {}\nvariable "b" {}\nvariable "c" {\n  default = null\n}\n'


def refusal(error: pytest.ExceptionInfo[HereyaError]) -> tuple[str, tuple[str, ...]]:
    return str(error.value), error.value.hints


def test_all_that_it_can_say() -> None:
    rules = "{a: {mandatory: true, type: x}, b: {default: [1, no]}, c: }"
    text = f"iac: opentofu\ninfra: aws\nparameters: {rules}\n"

    assert parse_hereyarc(text, FILE) == Hereyarc(
        FILE,
        asks_for_opentofu=True,
        rules={"a": Rule(True, None), "b": Rule(False, [1, "no"]), "c": Rule(False, None)},
    )


@pytest.mark.parametrize("text", ["", "infra: aws\n", "iac:\nparameters:\n", "iac: terraform\n"])
def test_it_need_not_say_anything(text: str) -> None:
    assert parse_hereyarc(text, FILE) == Hereyarc(FILE, asks_for_opentofu=False, rules={})


@pytest.mark.parametrize("word", ["opentf", "opentofu", "tofu"])
def test_opentofu_has_three_names(word: str) -> None:
    assert parse_hereyarc(f"iac: {word}", FILE).asks_for_opentofu is True


@pytest.mark.parametrize(
    ("word", "shown"),
    [
        ("cdk", "`cdk`"),
        ("OpenTofu", "`OpenTofu`"),
        ("[tofu]", "no text"),
        ("{}", "no text"),
        ("1", "no text"),
    ],
)
def test_anything_else_is_refused(word: str, shown: str) -> None:
    with pytest.raises(BadPackage) as caught:
        parse_hereyarc(f"iac: {word}", FILE)

    assert refusal(caught) == (
        f"`iac` in `hereyarc.yaml` is {shown}, which is neither Terraform nor OpenTofu",
        ("it takes `terraform` (either engine), or one of `opentofu`, `opentf`, `tofu` (OpenTofu)",),
    )
    assert caught.value.failure_class.exit_code == 3


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[secret]", "`hereyarc.yaml` must be a mapping"),
        ("parameters: [secret]", "`parameters` in `hereyarc.yaml` must be a mapping"),
        ("parameters: {a: secret}", "`parameters.a` in `hereyarc.yaml` must be a mapping"),
        (
            "parameters: {a: {mandatory: yes}}",
            "`parameters.a.mandatory` in `hereyarc.yaml` must be `true` or `false`",
        ),
        ("iac: tofu\na: *secret", "`hereyarc.yaml`, line 2, cannot be used as YAML: found undefined alias"),
    ],
)
def test_what_it_cannot_say(text: str, sentence: str) -> None:
    with pytest.raises(BadPackage) as caught:
        parse_hereyarc(text, FILE)

    assert str(caught.value) == sentence
    assert caught.value.failure_class is FailureClass.BAD_PACKAGE


@pytest.mark.parametrize("name", ["hereyarc.yaml", "hereyarc.yml"])
def test_it_has_two_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\xef\xbb\xbfiac: tofu\n")

    assert read_hereyarc(tmp_path) == Hereyarc(name, asks_for_opentofu=True, rules={})


@pytest.mark.parametrize("directory", ["", "missing", "file", "a\0b"])
def test_where_there_is_none_nothing_is_said(tmp_path: Path, directory: str) -> None:
    (tmp_path / "file").touch()

    assert read_hereyarc(tmp_path / directory) == Hereyarc(FILE, asks_for_opentofu=False, rules={})


def test_both_names_are_one_too_many(tmp_path: Path) -> None:
    (tmp_path / "hereyarc.yaml").touch()
    (tmp_path / "hereyarc.yml").touch()

    with pytest.raises(BadPackage) as caught:
        read_hereyarc(tmp_path)

    assert refusal(caught) == (
        f"`{tmp_path}` holds both `hereyarc.yaml` and `hereyarc.yml`",
        ("keep one of the two",),
    )


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("directory", "cannot be read: it is not a regular file"),
        ("link to nothing", "cannot be read: No such file or directory"),
        ("other bytes", "is not UTF-8 text: line 2 holds other bytes"),
        ("large", "is larger than 1 MiB"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, kind: str, problem: str) -> None:
    file = tmp_path / FILE
    match kind:
        case "directory":
            file.mkdir()
        case "link to nothing":
            file.symlink_to(tmp_path / "gone")
        case "other bytes":
            file.write_bytes(b"a: 1\nb: \xff\n")
        case _:
            file.write_bytes(b"#" * (1 << 20) + b"\n")

    with pytest.raises(BadPackage) as caught:
        read_hereyarc(tmp_path)

    assert str(caught.value) == f"`{file}` {problem}"


class Bench:
    """Plans the defaults of a package with `a` and `b` (no default) and `c` (default null)."""

    def __init__(self, make_package: MakePackage) -> None:
        self._make_package = make_package

    def __call__(
        self, rules: str, files: Mapping[str, str] | None = None, *, main: str = CONFIGURATION, **given: Any
    ) -> Defaults:
        package = self._make_package({"main.tf": main, **(files or {})})
        return plan_defaults(
            parse_hereyarc(f"parameters: {rules}", FILE),
            read_package(package, tofu=False),
            **{"environment": {}, "additions": (), "inputs": (), **given},
        )


@pytest.fixture
def bench(make_package: MakePackage) -> Bench:
    return Bench(make_package)


def default(name: str, value: object) -> Given:
    return Given(name, value, isinstance(value, str), Source.FILE, FILE)


def test_defaults_are_values_of_a_file(bench: Bench) -> None:
    assert bench("{a: {default: '[1]'}, b: {default: [1]}, c: {default: false}}") == Defaults(
        (default("a", "[1]"), default("b", [1]), default("c", False)), ()
    )


def test_a_parameter_that_is_not_declared_is_a_warning(bench: Bench) -> None:
    assert bench("{x: {default: 1}, y: {mandatory: true}}") == Defaults(
        (),
        (
            "`x` (hereyarc.yaml) is left out: the package declares no such variable",
            "`y` (hereyarc.yaml) is left out: the package declares no such variable",
        ),
    )


SOURCES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("TF_VAR_", {"environment": {"TF_VAR_a": ""}}),
    ("terraform.tfvars", {"files": {"terraform.tfvars": "# b = 1\na = 1\n"}}),
    ("terraform.tfvars.json", {"files": {"terraform.tfvars.json": '{"a": "b"}'}}),
    ("*.auto.tfvars", {"files": {".x.auto.tfvars": "a = { b = 1 }\n"}}),
    ("*.auto.tfvars.json", {"files": {"x.auto.tfvars.json": '{"a": {"b": 1}}'}}),
    ("*.auto.tfvars that does not parse", {"files": {"x.auto.tfvars": "a = = 1\n"}}),
    ("*.auto.tfvars.json that does not parse", {"files": {"x.auto.tfvars.json": '{"a"'}}),
)


@pytest.mark.parametrize("source", [source for _, source in SOURCES], ids=[name for name, _ in SOURCES])
def test_what_the_engine_finds_by_itself_outranks_a_default(bench: Bench, source: dict[str, Any]) -> None:
    planned = bench("{a: {default: 1}, b: {default: 2}}", **source)

    assert planned == Defaults((default("b", 2),), ())


def test_files_that_the_engine_does_not_load_outrank_nothing(bench: Bench) -> None:
    files = {"other.tfvars": "a = 1\n", "auto.tfvars": "a = 1\n", "sub/terraform.tfvars": "a = 1\n"}

    assert bench("{a: {default: 1}}", files) == Defaults((default("a", 1),), ())


def test_mandatory_parameters_without_a_value_are_refused_by_name(bench: Bench) -> None:
    rules = "{b: {mandatory: true}, a: {mandatory: true}, c: {mandatory: true}}"

    with pytest.raises(BadInput) as caught:
        bench(rules)
    assert refusal(caught) == (
        "`a`, `b` have no value, and `hereyarc.yaml` has the parameters as mandatory",
        ("give a value: `-p a=TEXT`",),
    )

    with pytest.raises(BadInput) as caught:
        bench(rules, inputs=(Given("a", None, False, Source.FLAG, "-p"),))
    assert refusal(caught) == (
        "`b` has no value, and `hereyarc.yaml` has the parameter as mandatory",
        ("give a value: `-p b=TEXT`",),
    )


@pytest.mark.parametrize(
    "source",
    [
        *(pytest.param(source, id=name) for name, source in SOURCES),
        pytest.param({"inputs": (Given("a", "", True, Source.REQUEST, "x"),)}, id="parameter"),
        pytest.param({"additions": (("a", ""),)}, id="--env"),
        pytest.param({"main": 'variable "a" {\n  default = null\n}\n'}, id="declaration"),
        pytest.param(
            {"main": CONFIGURATION + 'terraform {\n  backend "remote" {}\n}\n'}, id="remote workspace"
        ),
        pytest.param({"main": CONFIGURATION + "x = = 1\n"}, id="a package that does not parse"),
    ],
)
def test_a_value_from_anywhere_is_enough(bench: Bench, source: dict[str, Any]) -> None:
    assert bench("{a: {mandatory: true}}", **source).values == ()


def test_a_default_of_its_own_is_enough(bench: Bench) -> None:
    assert bench("{a: {mandatory: true, default: 1}}") == Defaults((default("a", 1),), ())


@pytest.mark.parametrize(
    ("name", "text", "enough"),
    [
        ("x.tfvars", "a = 1\n", True),
        ("x.tfvars", "b = 1\n", False),
        ("x.tfvars", "b = = 1\n", True),
        ("x.json", '{"a": 1}', True),
        ("x.json", '{"b": {"a": 1}}', False),
        ("x.json", '["b"]', True),
        ("missing.tfvars", None, True),
    ],
)
def test_a_variable_file_is_looked_into_and_believed_where_it_cannot_be(
    bench: Bench, tmp_path: Path, name: str, text: str | None, enough: bool
) -> None:
    file = tmp_path / name
    if text is not None:
        file.write_text(text)

    if enough:
        assert bench("{a: {mandatory: true}}", inputs=(VariableFile(file),)) == Defaults((), ())
    else:
        with pytest.raises(BadInput):
            bench("{a: {mandatory: true}}", inputs=(VariableFile(file),))
