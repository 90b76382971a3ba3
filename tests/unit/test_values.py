"""Values travel by type, in the order of precedence, and nothing is dropped or altered in silence."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from hereya_tf import exact
from hereya_tf.errors import BadInput
from hereya_tf.inputs.given import Given, Source, parse_parameter
from hereya_tf.inputs.values import GeneratedFile, Values, VariableFile, encode, plan_values
from hereya_tf.package import Package, Variable

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


def package(*sensitive: str, broken: tuple[str, ...] = (), **types: str | None) -> Package:
    """A package that declares these variables; None for one without a type."""
    variables = {
        name: Variable(name, type_text, False, name in sensitive, False, "main.tf", 1)
        for name, type_text in types.items()
    }
    return Package(Path(), False, variables, None, frozenset(), ("main.tf",), broken, frozenset())


def text(name: str, value: str, source: Source = Source.FLAG, where: str = "-p") -> Given:
    return Given(name, value, True, source, where)


def typed(name: str, value: object) -> Given:
    return Given(name, value, False, Source.FLAG, "-p")


def refusal(declared: Package, *inputs: Given) -> tuple[str, tuple[str, ...]]:
    with pytest.raises(BadInput) as caught:
        plan_values(declared, environment=(), inputs=inputs)
    return str(caught.value), caught.value.hints


@pytest.mark.behaviour("T8")
def test_files_come_in_the_order_of_precedence() -> None:
    declared = package(a=None, b=None, c=None)

    planned = plan_values(
        declared,
        environment=[("a", "env"), ("OTHER", "env"), ("b", "first"), ("b", "last")],
        inputs=[
            text("a", "1"),
            text("b", "2"),
            text("a", "3"),
            VariableFile(Path("one.tfvars")),
            VariableFile(Path("two.tfvars")),
            typed("c", None),
        ],
    )

    assert planned == Values(
        files=(
            GeneratedFile({"a": "env", "b": "last"}),
            GeneratedFile({"a": "3", "b": "2"}),
            VariableFile(Path("one.tfvars")),
            VariableFile(Path("two.tfvars")),
            GeneratedFile({"c": None}),
        ),
        warnings=(),
        secrets=(),
    )


def test_nothing_given_is_no_file() -> None:
    assert plan_values(package(a=None), environment=[("PATH", "/bin")], inputs=()) == Values((), (), ())


@pytest.mark.behaviour("T8")
@pytest.mark.parametrize(
    "type_text", ["list(string)", "map(any)", "object({ a = any })", "set(string)", "any"]
)
@pytest.mark.parametrize(
    ("written", "decoded"),
    [
        ("[1, 2.50]", [1, Decimal("2.50")]),
        ('{"a": "${x}"}', {"a": "${x}"}),
        (" null ", None),
        ('"text"', "text"),
        ("9007199254740993", 9007199254740993),
    ],
)
def test_a_text_for_a_collection_is_decoded(type_text: str, written: str, decoded: object) -> None:
    planned = plan_values(package(a=type_text), environment=[("a", written)], inputs=[text("a", written)])

    assert planned.files == (GeneratedFile({"a": decoded}), GeneratedFile({"a": decoded}))


@pytest.mark.behaviour("T8")
@pytest.mark.parametrize("type_text", ["string", "number", "bool", None])
@for_all(written=_TEXTS | st.sampled_from(["[1]", "null", "007", "${x}"]))
def test_a_text_for_anything_else_stays_as_it_is(type_text: str | None, written: str) -> None:
    planned = plan_values(package(a=type_text), environment=(), inputs=[text("a", written)])

    assert planned.files == (GeneratedFile({"a": written}),)


@pytest.mark.parametrize(
    "written", ["", "abc", "NaN", "Infinity", "{a=1}", "[1", "1e99999999999999999999", "[" * 9999]
)
def test_a_text_that_is_not_json_stays_text_for_any_and_is_refused_for_a_list(written: str) -> None:
    planned = plan_values(package(a="any"), environment=(), inputs=[text("a", written)])

    assert planned.files == (GeneratedFile({"a": written}),)
    assert refusal(package(a="list(string)"), text("a", written)) == (
        "`a` (-p) is declared as `list(string)`, and its text is not JSON",
        ("write its value as JSON: `a:=JSON` with `-p`",),
    )


def test_a_refused_environment_entry_is_named() -> None:
    with pytest.raises(
        BadInput, match=r"^`a` \(--env\) is declared as `map\(any\)`, and its text is not JSON$"
    ):
        plan_values(package(a="map(any)"), environment=[("a", "x")], inputs=())


@pytest.mark.parametrize("type_text", ["string", "list(string)", "any", None])
def test_a_typed_value_is_never_decoded(type_text: str | None) -> None:
    planned = plan_values(package(a=type_text), environment=(), inputs=[parse_parameter('a:="[1]"')])

    assert planned.files == (GeneratedFile({"a": "[1]"}),)


@pytest.mark.parametrize(
    ("declared", "hint"),
    [
        pytest.param(package(region=None, size=None), "did you mean `region`?", id="nearest"),
        pytest.param(package(b=None, a=None), "it declares `a`, `b`", id="all"),
        pytest.param(
            package(a=None, b=None, c=None, d=None, e=None, f=None, g=None, h=None, i=None, j=None),
            "it declares `a`, `b`, `c`, `d`, `e`, `f`, `g`, `h` and 2 more",
            id="many",
        ),
        pytest.param(package(), "it declares no variable at all", id="none"),
    ],
)
def test_an_undeclared_flag_is_refused(declared: Package, hint: str) -> None:
    assert refusal(declared, text("regoin", "secret")) == (
        "the package declares no variable `regoin` (-p)",
        (hint,),
    )


@pytest.mark.parametrize("source", [Source.FILE, Source.REQUEST, Source.ENVIRONMENT])
def test_an_undeclared_name_from_elsewhere_is_left_out_with_one_warning(source: Source) -> None:
    stray = text("b", "1", source, "p.yaml")

    planned = plan_values(package(a=None), environment=(), inputs=[stray, text("a", "1"), stray])

    assert planned == Values(
        (GeneratedFile({"a": "1"}),),
        ("`b` (p.yaml) is left out: the package declares no such variable",),
        (),
    )


def test_when_a_file_does_not_parse_a_name_that_was_not_found_is_passed_and_kept_secret() -> None:
    inputs = [text("b", "[1]"), text("//", "x", Source.FILE, "p.json")]

    planned = plan_values(package(a=None, broken=("x.tf", "y.tf")), environment=(), inputs=inputs)

    assert planned == Values(
        (GeneratedFile({"b": "[1]"}),),
        (
            "`b` (-p) was not found in the package, but `x.tf`, `y.tf` does not parse",
            "`//` (p.json) was not found in the package, but `x.tf`, `y.tf` does not parse",
        ),
        ("[1]",),
    )


@pytest.mark.behaviour("F7")
def test_every_value_of_a_sensitive_variable_is_a_secret_as_given_and_as_decoded() -> None:
    planned = plan_values(
        package("a", "b", a="any", b="string", c="string"),
        environment=[("a", '{"k": "env"}')],
        inputs=[text("b", "one"), text("b", "two"), text("c", "open"), typed("a", ["x"])],
    )

    assert planned.secrets == ({"k": "env"}, '{"k": "env"}', "one", "two", ["x"])


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        pytest.param("a\ud800", "holds half a character (a lone surrogate)", id="surrogate"),
        pytest.param({"k": ["\udcff"]}, "holds half a character (a lone surrogate)", id="surrogate inside"),
        pytest.param({"\udcff": 1}, "holds half a character (a lone surrogate)", id="surrogate in a key"),
        pytest.param([float("nan")], "holds a number that is infinite, or none", id="NaN"),
        pytest.param(float("inf"), "holds a number that is infinite, or none", id="infinite"),
        pytest.param(Decimal("NaN"), "holds a number that is infinite, or none", id="decimal NaN"),
        pytest.param({1: 2}, "holds a key that is not text", id="number as key"),
        pytest.param({"a": {True: 2}}, "holds a key that is not text", id="truth as key"),
        pytest.param([b"x"], "holds a `bytes`", id="bytes"),
        pytest.param({"a": {1}}, "holds a `set`", id="set"),
    ],
)
def test_what_a_variable_file_cannot_carry_is_refused(value: object, problem: str) -> None:
    assert refusal(package(a=None), typed("a", value)) == (
        f"`a` (-p) {problem}, which a variable file cannot carry",
        ("pass it as a text that the package decodes",),
    )


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


def test_nesting_has_a_limit_and_below_it_can_be_written() -> None:
    planned = plan_values(package(a=None), environment=(), inputs=[typed("a", nested(200))])

    assert [encode(file) for file in planned.files if isinstance(file, GeneratedFile)] == [
        '{"a":' + "[" * 200 + "1" + "]" * 200 + "}"
    ]
    assert refusal(package(a=None), typed("a", nested(201)))[0] == (
        "`a` (-p) is nested more than 200 levels deep, which a variable file cannot carry"
    )
    assert refusal(package(a=None), typed("a", nested(100_000)))


_COMPOSED = "holds decomposed Unicode characters, which the engine composes (NFC)"
_ROUNDED = "holds a number of more than 155 digits, which the engine rounds"


@pytest.mark.parametrize(
    ("value", "doubts"),
    [
        pytest.param("\u0065\u0301", [_COMPOSED], id="NFD"),
        pytest.param({"\u0065\u0301": 1}, [_COMPOSED], id="NFD in a key"),
        pytest.param("\u00e9", [], id="NFC"),
        pytest.param(int("1" * 156), [_ROUNDED], id="whole"),
        pytest.param([Decimal("0." + "3" * 156)], [_ROUNDED], id="part"),
        pytest.param(Decimal("0." + "3" * 155), [], id="a third, as an engine writes it"),
        pytest.param(10**400, [], id="zeros do not count"),
        pytest.param(Decimal("1e400"), [], id="an exponent does not count"),
        pytest.param([True, None, 1.5, -(2**53) - 1], [], id="others"),
    ],
)
def test_what_the_engine_will_alter_is_a_warning(value: object, doubts: list[str]) -> None:
    planned = plan_values(package(a=None), environment=(), inputs=[typed("a", value)])

    assert planned.warnings == tuple(f"`a` (-p) {doubt}" for doubt in doubts)


_NUMBERS = st.integers() | st.decimals(allow_nan=False, allow_infinity=False)
_JSON = st.recursive(
    st.none() | st.booleans() | _NUMBERS | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.behaviour("T8")
@for_all(value=_JSON)
def test_whatever_json_holds_is_written_exactly(value: Any) -> None:
    planned = plan_values(package(a="any"), environment=(), inputs=[typed("a", value)])

    written = [encode(file) for file in planned.files if isinstance(file, GeneratedFile)]

    assert [exact.loads(text_written) for text_written in written] == [{"a": value}]


@for_all(value=_JSON)
def test_json_text_for_any_and_the_value_itself_are_the_same(value: Any) -> None:
    inputs: list[Given | VariableFile] = [
        text("a", exact.dumps(value)),
        VariableFile(Path("x")),
        typed("a", value),
    ]

    planned = plan_values(package(a="any"), environment=(), inputs=inputs)

    assert planned.files[0] == planned.files[2]


def test_no_sentence_repeats_a_value() -> None:
    secret = "hunter2\ud800"
    sentences = [
        refusal(package(a="list(string)"), text("a", secret)),
        refusal(package(a="string"), text("a", secret)),
        refusal(package(), text("a", secret)),
        refusal(package(a=None), typed("a", {"x": [secret]})),
    ]

    assert "hunter2" not in json.dumps(sentences)
