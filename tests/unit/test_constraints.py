"""Which versions a constraint allows, and what is said about one that is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import Version
from hereya_tf.engine.constraints import Constraint, Operator, Term, parse_constraint
from hereya_tf.errors import BadInput

EXAMPLES = "use a version (`1.11.4`), a constraint (`~> 1.9`), several (`>= 1.5, < 2`), or `latest`"


def parse(text: str) -> Constraint:
    return parse_constraint(text, "--engine-version")


def refused(text: str) -> tuple[str, int, tuple[str, ...]]:
    with pytest.raises(BadInput) as error:
        parse(text)
    return str(error.value), error.value.failure_class.exit_code, error.value.hints


def test_a_constraint_knows_its_terms_and_who_wants_it() -> None:
    constraint = parse_constraint(" >=1.5 ,\t< 2 ", "hereya-tf.toml:5")

    at_least = Term(Operator.AT_LEAST, Version(1, 5), 2)
    below = Term(Operator.BELOW, Version(2, 0), 1)
    assert Constraint(">=1.5 , < 2", "hereya-tf.toml:5", (at_least, below)) == constraint
    assert (constraint.exact, constraint.is_latest) == (None, False)


@pytest.mark.parametrize("text", ["1.11.4", "= 1.11.4", "=1.11.4", " v1.11.4 ", "= v1.11.4+build.7"])
def test_a_bare_version_is_that_version_alone(text: str) -> None:
    constraint = parse(text)

    assert Version(1, 11, 4) == constraint.exact
    assert constraint.allows(Version(1, 11, 4))
    assert not constraint.allows(Version(1, 11, 5))
    assert not constraint.allows(Version(1, 11, 4, "rc1"))


@pytest.mark.parametrize("text", ["latest", " latest\n"])
def test_the_latest_can_be_any(text: str) -> None:
    constraint = parse(text)

    assert Constraint("latest", "--engine-version", ()) == constraint
    assert (constraint.is_latest, constraint.exact, constraint.allows(Version(0, 15))) == (True, None, True)


@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [
        pytest.param("1.9", "1.9.0", "1.9.1 1.8.9 2.9.0", id="what is left out is zero"),
        pytest.param("1", "1.0.0", "1.0.1", id="even the minor"),
        pytest.param("!= 1.9.0", "1.9.1 0.15.3 2.0.0", "1.9.0", id="all but one"),
        pytest.param("> 1.9", "1.9.1 1.10.0", "1.9.0 1.8.5", id="above"),
        pytest.param(">= 1.9.2", "1.9.2 1.10.0 2.0.0", "1.9.1", id="at least"),
        pytest.param("< 1.10", "1.9.9 0.15.3", "1.10.0 1.11.0", id="below"),
        pytest.param("<= 1.10", "1.10.0 1.2.0", "1.10.1", id="at most"),
        pytest.param("~> 1", "1.0.0 1.11.4 2.0.0 7.1.2", "0.15.9", id="pessimistic with one number"),
        pytest.param("~> 1.9", "1.9.0 1.9.8 1.11.4", "1.8.9 2.0.0 2.9.0", id="pessimistic with two"),
        pytest.param("~> 1.9.3", "1.9.3 1.9.12", "1.9.2 1.10.0 2.9.3", id="pessimistic with three"),
        pytest.param("~>v1.9.0", "1.9.0", "1.10.0", id="no space is needed"),
        pytest.param(">= 1.5, < 2, != 1.9.0", "1.5.0 1.9.1", "1.4.9 1.9.0 2.0.0", id="all of several"),
        pytest.param("> 2, < 1", "", "0.15.3 1.5.0 3.0.0", id="nothing can be both"),
    ],
)
def test_what_a_constraint_allows(text: str, allowed: str, refused: str) -> None:
    constraint = parse(text)

    versions = (*allowed.split(), *refused.split())
    assert allowed.split() == [text for text in versions if constraint.allows(Version.parse(text))]


@pytest.mark.parametrize(
    ("text", "allowed", "refused"),
    [
        pytest.param(">= 1.9", "", "1.9.0-rc1 1.12.0-beta1", id="at least"),
        pytest.param("< 2", "", "1.12.0-beta1", id="below"),
        pytest.param("~> 1.9", "", "1.12.0-beta1", id="pessimistic"),
        pytest.param("!= 1.9.0", "", "1.9.0-rc1 1.12.0-alpha20250213", id="who excludes a release wants no alpha"),
        pytest.param("1.12.0-beta1", "1.12.0-beta1", "1.12.0-beta2 1.12.0", id="one pre-release"),
        pytest.param("1.12.0beta1", "1.12.0-beta1", "1.12.0", id="without its hyphen"),
        pytest.param(">= 1.12.0-beta2", "1.12.0-beta2 1.12.0 1.13.0", "1.12.0-beta1 1.13.0-rc1", id="from it on"),
        pytest.param("!= 1.12.0-beta1", "1.12.0-beta2 1.12.0 1.9.0", "1.12.0-beta1 1.11.0-beta1", id="all but one"),
        pytest.param("<= 1.12.0-rc1", "1.12.0-rc1 1.11.4", "1.12.0 1.12.0-rc2", id="up to one"),
        pytest.param("~> 1.12.0-beta1", "1.12.0-beta1 1.12.0-rc1", "1.12.0 1.12.1 1.13.0-rc1", id="pessimistic"),
        pytest.param(">= 1.12.0-beta1, < 2", "1.12.0", "1.12.0-beta1", id="every term must name it"),
    ],
)  # fmt: skip
def test_pre_releases_are_for_those_who_name_them(text: str, allowed: str, refused: str) -> None:
    constraint = parse(text)

    versions = (*allowed.split(), *refused.split())
    assert allowed.split() == [text for text in versions if constraint.allows(Version.parse(text))]


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("^1.9", ">= 1.9, < 2"),
        ("^ v1.9.3", ">= 1.9.3, < 2"),
        ("~=1.9.3", "~> 1.9.3"),
        ("==1.9.8", "= 1.9.8"),
        ("=== 1.9.8", "= 1.9.8"),
        ("=>1.5", ">= 1.5"),
        ("=<1.5", "<= 1.5"),
        ("> = 1.5", ">= 1.5"),
        ("~ > 1.5", "~> 1.5"),
        (">= 1.5 < 2", ">= 1.5, < 2"),
        (">=1.5.0 !=1.9.0 <2", ">= 1.5.0, != 1.9.0, < 2"),
        ("1.9.x", "~> 1.9.0"),
        ("= v1.*", "~> 1.0"),
        (">= 1.5, 1.X", ">= 1.5, ~> 1.0"),
        ('"~> 1.9"', "~> 1.9"),
        ("~> 1.9,", "~> 1.9"),
        ("Latest", "latest"),
    ],
)
def test_a_near_miss_is_told_what_means_the_same(text: str, better: str) -> None:
    shown = " ".join(text.split())
    assert (f"`{shown}` of `--engine-version` is not a version constraint", 3, (f"write `{better}`",)) == (
        refused(text)
    )
    parse(better)


@pytest.mark.parametrize(
    "text", ["newest", "~1.9", ">= 1.x", "1.9 || 1.10", "1.2.3.4", "1..2", "\u0661", "9999999999", ">"]
)  # fmt: skip
def test_what_is_no_constraint_is_told_what_one_is(text: str) -> None:
    assert (f"`{text}` of `--engine-version` is not a version constraint", 3, (EXAMPLES,)) == refused(text)


def test_an_empty_constraint_is_called_empty() -> None:
    for text in ("", " \n", "\t"):
        assert refused(text) == ("`--engine-version` is empty", 3, (EXAMPLES,))


def test_a_long_text_is_shown_by_its_beginning() -> None:
    text = "1, " * 1_000_000

    expected = f"`{text[:60]}…` of `--engine-version` is not a version constraint"
    assert (expected, 3, (EXAMPLES,)) == refused(text)


NUMBERS = st.integers(0, 20)
RELEASES = st.builds(Version, NUMBERS, NUMBERS, NUMBERS, st.just(""))


@given(RELEASES, RELEASES)
def test_pessimistic_is_a_range(lowest: Version, version: Version) -> None:
    major, minor = lowest[:2]

    for text, same in (
        (f"~> {major}", f">= {major}"),
        (f"~> {major}.{minor}", f">= {major}.{minor}, < {major + 1}"),
        (f"~> {lowest}", f">= {lowest}, < {major}.{minor + 1}"),
    ):
        assert parse(same).allows(version) == parse(text).allows(version)


@given(st.builds(Version, NUMBERS, NUMBERS, NUMBERS, st.sampled_from(["", "rc1", "rc10", "alpha20250213"])))
def test_every_version_is_what_it_asks_for(version: Version) -> None:
    assert version == parse(str(version)).exact
    for operator in ("=", ">=", "<=", "~>"):
        assert parse(f"{operator} {version}").allows(version)
    for operator in ("!=", ">", "<"):
        assert not parse(f"{operator} {version}").allows(version)


@given(st.text(alphabet='019.,=!<>~^vxX* -+rclatest"|\n', max_size=30))
def test_any_text_is_a_constraint_or_refused_with_one_that_is(text: str) -> None:
    try:
        assert parse(text).text == " ".join(text.split())
    except BadInput as error:
        (hint,) = error.hints
        if hint != EXAMPLES:
            parse(hint.removeprefix("write `").removesuffix("`"))
