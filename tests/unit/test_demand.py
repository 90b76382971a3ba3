"""All that was said about the engine is one demand: who wins, what must hold, and what contradicts itself."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.constraints import Constraint, parse_constraint
from hereya_tf.engine.demand import Demand, Era, Pin, Pins, Requirements, demand_for
from hereya_tf.engine.pins import parse_tool_versions, parse_version_file
from hereya_tf.engine.requirements import parse_requirements
from hereya_tf.errors import BadConfig, BadInput, BadPackage, HereyaError

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
BOTH = tuple(EngineName)
CHOOSE = "or say which for this run: `--engine-version CONSTRAINT`"
ALONE = "OpenTofu 1.12 or newer leaves `required_version` in `*.tf` alone"
FLAG, VARIABLE, PROJECT, USER = (
    "--engine-version",
    "HEREYA_TF_ENGINE_VERSION",
    "hereya-tf.toml:1",
    "config.toml:3",
)
LOCK_FILE = ".terraform.lock.hcl"
NO_PINS, NOTHING = Pins(), Requirements()


def said(text: str | None, source: str) -> Constraint | None:
    return None if text is None else parse_constraint(text, source)


def terraform_version(text: str) -> Pins:
    return Pins((parse_version_file(text, ".terraform-version", TERRAFORM),))


def opentofu_version(text: str) -> Pins:
    return Pins((parse_version_file(text, ".opentofu-version", OPENTOFU),))


def both_versions(terraform: str = "1.5.7", opentofu: str = "1.8.5") -> Pins:
    return Pins((*opentofu_version(opentofu).found, *terraform_version(terraform).found))


def configuration(**files: str) -> Requirements:
    """A package with these constraints; `a_tf="~> 1.5"` stands in a.tf, `a_language` in a language block there."""
    sources: dict[str, bytes] = {}
    for name, constraint in files.items():
        stem, _, kind = name.rpartition("_")
        text = f"terraform {{\n  required_version = {json.dumps(constraint)}\n}}\n"
        if kind == "language":
            text = f"language {{\n  compatible_with {{\n    opentofu = {json.dumps(constraint)}\n  }}\n}}\n"
        sources[f"{stem}.{'tofu' if kind == 'tofu' else 'tf'}"] = text.encode()
    return parse_requirements(sources, sources.items())


def demand(
    *,
    wish: str | None = None,
    caller: str | None = None,
    pins: Pins = NO_PINS,
    project: str | None = None,
    requirements: Requirements = NOTHING,
    default: str | None = None,
    hereyarc: bool = False,
    evidence: Mapping[EngineName, str] = {},
    is_for_opentofu_alone: bool = False,
) -> Demand:
    return demand_for(
        wish=wish,
        wish_source="--engine",
        caller=said(caller, FLAG),
        find_pins=lambda engines: pins._replace(
            found=tuple(pin for pin in pins.found if pin.engine is None or pin.engine in engines)
        ),
        project=said(project, PROJECT),
        requirements=requirements,
        default=said(default, USER),
        hereyarc="hereyarc.yaml" if hereyarc else None,
        evidence=evidence,
        is_for_opentofu_alone=is_for_opentofu_alone,
    )


def refused(**words: Any) -> tuple[type[HereyaError], str, tuple[str, ...]]:
    with pytest.raises(HereyaError) as caught:
        demand(**words)
    return type(caught.value), str(caught.value), caught.value.hints


def versions(text: str) -> list[Version]:
    return [Version.parse(word) for word in text.split()]


def best(asked: Demand, engine: EngineName, text: str) -> str:
    return str(asked.best(engine, versions(text)))


def test_who_says_nothing_asks_for_nothing() -> None:
    assert demand() == demand(wish="auto") == Demand(BOTH, "", (), (), ())
    assert (demand().exact, demand().wants_newest, demand().reason(TERRAFORM)) == (None, False, "")
    assert all(
        demand().allows(engine, version) for engine in BOTH for version in versions("0.15.3 1.12.0-beta1")
    )
    assert best(demand(), OPENTOFU, "1.11.4 1.12.0-beta1 1.9.0") == "1.11.4"
    assert demand().best(OPENTOFU, ()) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param({"caller": "1.5.1"}, f"`1.5.1` of {FLAG}", id="the caller"),
        pytest.param({"pins": terraform_version("1.5.2")}, "`1.5.2` of .terraform-version:1", id="a version file"),
        pytest.param({"project": "1.5.3"}, f"`1.5.3` of {PROJECT}", id="the project"),
        pytest.param({"requirements": configuration(a_tf="1.5.4")}, "`1.5.4` of a.tf:2", id="the configuration"),
        pytest.param({"default": "1.5.5"}, f"`1.5.5` of {USER}", id="the user's default"),
    ],
)  # fmt: skip
def test_everyone_can_ask_for_a_version(words: dict[str, Any], expected: str) -> None:
    asked = demand(**words)

    wanted = Version.parse(expected.strip("`")[:5])
    assert asked.reason(TERRAFORM) == expected
    assert [asked.allows(TERRAFORM, version) for version in (wanted, Version(1, 5, 9))] == [True, False]


def test_the_callers_word_leaves_version_files_nothing_but_the_engine() -> None:
    asked = demand(caller="~> 1.9", pins=opentofu_version("1.8.5"), project="1.7.0", default="1.6.0")

    assert asked == Demand((OPENTOFU,), ".opentofu-version:1", (parse_constraint("~> 1.9", FLAG),))


def test_the_callers_word_makes_broken_version_files_harmless() -> None:
    unreadable = Pins((Pin(None, ".tool-versions", fault=BadConfig("unreadable")),))

    assert demand(caller="1.9.0", pins=unreadable).engines == BOTH
    assert demand(caller="1.9.0", pins=terraform_version("")).engines == (TERRAFORM,)
    assert refused(pins=unreadable) == (BadConfig, "unreadable", ())
    assert demand(pins=both_versions(terraform=""), hereyarc=True).exact == Version(1, 8, 5), (
        "the other engine's"
    )
    assert refused(pins=both_versions(terraform=""))[1].endswith(
        "nothing in the package says which it is to be"
    )
    assert refused(pins=terraform_version(""))[1] == "`.terraform-version` holds no version"


def test_a_version_file_beats_the_users_default_and_what_a_range_would_come_to() -> None:
    asked = demand(
        pins=terraform_version("1.9.5"),
        project="~> 1.9",
        requirements=configuration(a_tf=">= 1.5"),
        default="1.9.6",
    )

    assert (
        asked.reason(TERRAFORM)
        == f"`1.9.5` of .terraform-version:1, `~> 1.9` of {PROJECT} and `>= 1.5` of a.tf:2"
    )
    assert (asked.exact, best(asked, TERRAFORM, "1.9.4 1.9.5 1.9.8")) == (Version(1, 9, 5), "1.9.5")


@pytest.mark.parametrize("word", ["latest", "latest-stable", "latest-allowed"])
def test_the_newest_is_the_newest_that_the_package_allows(word: str) -> None:
    asked = demand(pins=terraform_version(word), requirements=configuration(a_tf="< 1.9"))

    assert (asked.wants_newest, asked.exact) == (True, None)
    assert best(asked, TERRAFORM, "1.5.7 1.8.5 1.9.8 1.8.9-rc1") == "1.8.5"
    assert asked.reason(TERRAFORM) == f"`{word}` of .terraform-version:1 and `< 1.9` of a.tf:2"


def test_a_beginning_is_a_range() -> None:
    asked = demand(pins=terraform_version("latest:^1.8"))

    assert best(asked, TERRAFORM, "1.7.9 1.8.0 1.8.5 1.8.6-rc1 1.9.0") == "1.8.5"
    assert asked.reason(TERRAFORM) == "`latest:^1.8` of .terraform-version:1"


@pytest.mark.parametrize(
    ("requirements", "lowest"),
    [
        (configuration(a_tf=">= 1.5"), "1.5.0"),
        (configuration(a_tf="~> 1.5.3", b_tf="!= 1.5.3"), "1.5.4"),
        (configuration(a_tf="> 1.5.7, < 2"), "1.5.8"),
        (configuration(a_tf=">= 1.2", b_tf=">= 1.3"), "1.3.0"),
    ],
)
def test_the_lowest_is_the_lowest_that_the_package_allows(requirements: Requirements, lowest: str) -> None:
    asked = demand(pins=terraform_version("min-required"), requirements=requirements)

    assert asked.exact == Version.parse(lowest)
    assert asked.reason(TERRAFORM).startswith("`min-required` of .terraform-version:1")


@pytest.mark.parametrize(
    "requirements", [Requirements(), configuration(a_tf="< 2"), configuration(a_tofu=">= 1.8")]
)
def test_a_lowest_that_nobody_names_is_refused(requirements: Requirements) -> None:
    assert refused(pins=terraform_version("min-required"), requirements=requirements) == (
        BadConfig,
        "`min-required` of `.terraform-version:1` asks for the lowest version that the package allows,"
        " and it names none",
        ("give it a `required_version` such as `>= 1.9`, or write a version in place of the word",),
    )


def test_pre_releases_are_for_those_who_name_them_and_satisfy_what_their_release_does() -> None:
    candidates = "1.11.4 1.12.0-alpha1 1.12.0-beta1"
    configured = configuration(a_tf=">= 1.12", b_tf="!= 1.13.0")

    assert best(demand(requirements=configured), TERRAFORM, candidates) == "None"
    assert demand(requirements=configured).allows(TERRAFORM, Version(1, 12, 0, "beta1"))
    assert not demand(requirements=configured).allows(TERRAFORM, Version(1, 13, 0, "rc1"))
    pinned = demand(pins=terraform_version("1.12.0-beta1"), requirements=configured)
    assert (pinned.exact, best(pinned, TERRAFORM, candidates)) == (Version(1, 12, 0, "beta1"), "1.12.0-beta1")
    assert best(demand(caller=">= 1.12.0-alpha1"), TERRAFORM, candidates) == "1.12.0-beta1"
    assert demand(caller="> 1.12.0-beta1, < 1.12.0-beta3").constraints != (), "beta2 may be there"


# Which engine

TERRAFORM_PIN, TOFU_PIN, BOTH_PINS = terraform_version("1.5.7"), opentofu_version("1.8.5"), both_versions()
WRITTEN, WRITTEN_BY_TOFU = {TERRAFORM: LOCK_FILE}, {OPENTOFU: LOCK_FILE}


@pytest.mark.parametrize(
    ("words", "engine", "source"),
    [
        pytest.param({"wish": "terraform", "pins": TOFU_PIN}, TERRAFORM, "--engine", id="terraform"),
        pytest.param({"wish": "tofu", "pins": TERRAFORM_PIN}, OPENTOFU, "--engine", id="tofu"),
        pytest.param({"wish": "opentofu"}, OPENTOFU, "--engine", id="opentofu"),
        pytest.param(
            {"pins": TERRAFORM_PIN, "hereyarc": True, "evidence": WRITTEN_BY_TOFU},
            TERRAFORM,
            ".terraform-version:1",
            id="version files win",
        ),
        pytest.param({"pins": BOTH_PINS, "hereyarc": True}, OPENTOFU, "hereyarc.yaml", id="both, hereyarc"),
        pytest.param({"pins": BOTH_PINS, "evidence": WRITTEN}, TERRAFORM, LOCK_FILE, id="both, lock file"),
        pytest.param({"pins": BOTH_PINS, "is_for_opentofu_alone": True}, OPENTOFU, "*.tofu", id="both, files"),
        pytest.param({"hereyarc": True, "evidence": WRITTEN}, OPENTOFU, "hereyarc.yaml", id="hereyarc"),
        pytest.param({"evidence": WRITTEN_BY_TOFU}, OPENTOFU, LOCK_FILE, id="lock file"),
        pytest.param({"is_for_opentofu_alone": True, "evidence": WRITTEN}, OPENTOFU, "*.tofu", id="its files"),
        pytest.param({"requirements": configuration(a_language=">= 1.12")}, OPENTOFU, "a.tf:3", id="language"),
    ],
)  # fmt: skip
@pytest.mark.behaviour("T14")
def test_who_names_the_engine(words: dict[str, Any], engine: EngineName, source: str) -> None:
    asked = demand(**words)

    assert (asked.engines, asked.engine_source) == ((engine,), source)
    (other,) = (name for name in EngineName if name is not engine)
    assert not asked.allows(other, Version(1, 9))


def test_a_pin_of_the_engine_that_was_decided_on_is_the_one_that_counts() -> None:
    for evidence, version in (({TERRAFORM: LOCK_FILE}, "1.5.7"), ({OPENTOFU: LOCK_FILE}, "1.8.5")):
        assert demand(pins=both_versions(), evidence=evidence).exact == Version.parse(version)


@pytest.mark.parametrize("evidence", [{}, {TERRAFORM: LOCK_FILE, OPENTOFU: "terraform.tfstate"}])
@pytest.mark.parametrize("caller", [None, "1.9.0"])
def test_two_version_files_and_nobody_to_decide_are_a_contradiction(
    evidence: Mapping[EngineName, str], caller: str | None
) -> None:
    expected = (
        BadConfig,
        "`.opentofu-version:1` asks for OpenTofu and `.terraform-version:1` asks for Terraform,"
        " and nothing in the package says which it is to be",
        ("take one of the two away, or name the engine: `--engine terraform`, `--engine tofu`",),
    )

    assert refused(pins=both_versions(), evidence=evidence, caller=caller) == expected
    assert demand(pins=both_versions(), wish="tofu").exact == Version(1, 8, 5)


def test_tool_versions_can_contradict_itself_too() -> None:
    pins = parse_tool_versions("terraform 1.5.7\nopentofu 1.8.5\n", "/t/.tool-versions", BOTH)

    assert refused(pins=pins)[1].startswith(
        "`/t/.tool-versions:1` asks for Terraform and `/t/.tool-versions:2` asks for OpenTofu, and nothing"
    )


@pytest.mark.parametrize("wish", ["embedded", "./bin/terraform", "/usr/bin/tofu"])
def test_a_binary_that_was_named_is_held_to_constraints_alone(wish: str) -> None:
    def find_pins(_: frozenset[EngineName]) -> Pins:
        raise AssertionError("nothing to look for")

    def asked(**constraints: Constraint | None) -> Demand:
        said: dict[str, Constraint | None] = {"caller": None, "project": None, "default": None, **constraints}
        return demand_for(
            wish=wish,
            wish_source="--engine",
            find_pins=find_pins,
            requirements=configuration(a_tf="> 99", b_tf="< 1"),
            hereyarc="hereyarc.yaml",
            evidence={TERRAFORM: LOCK_FILE},
            is_for_opentofu_alone=True,
            **said,
        )

    flag, project, default = (parse_constraint("~> 1.9", source) for source in (FLAG, PROJECT, USER))
    assert asked() == Demand(BOTH, "--engine")
    assert asked(caller=flag, project=project, default=default).constraints == (flag,)
    assert asked(project=project, default=default).constraints == (project,)
    assert asked(default=default).constraints == (default,)


@pytest.mark.parametrize("wish", [None, "auto", "terraform", "tofu"])
def test_version_files_are_looked_for_once_and_for_the_engines_that_may_be(wish: str | None) -> None:
    asked: list[frozenset[EngineName]] = []

    def find_pins(engines: frozenset[EngineName]) -> Pins:
        asked.append(engines)
        return Pins((), ("something was passed over",))

    result = demand_for(
        wish=wish,
        wish_source="--engine",
        caller=None,
        find_pins=find_pins,
        project=None,
        requirements=Requirements((), ("so was this",)),
        default=None,
        hereyarc=None,
        evidence={},
        is_for_opentofu_alone=False,
    )

    assert asked == [
        frozenset({None: BOTH, "auto": BOTH, "terraform": [TERRAFORM], "tofu": [OPENTOFU]}[wish])
    ]
    assert result.passed_over == ("something was passed over", "so was this")


# What each engine heeds


def test_what_only_the_other_engine_heeds_is_told_as_overlooked() -> None:
    asked = demand(requirements=configuration(a_tf="~> 1.5.0"))

    assert asked.engines == BOTH
    candidates = "1.5.7 1.6.2 1.9.8 1.12.1"
    assert (best(asked, TERRAFORM, candidates), best(asked, OPENTOFU, "1.9.8 1.12.1")) == ("1.5.7", "1.12.1")
    (overlooked,) = asked.overlooked(OPENTOFU, Version(1, 12, 1))
    assert (overlooked.text, overlooked.source) == ("~> 1.5.0", "a.tf:2")
    assert asked.overlooked(TERRAFORM, Version(1, 5, 7)) == ()
    assert demand(requirements=configuration(a_tf=">= 1.5")).overlooked(OPENTOFU, Version(1, 12, 1)) == ()
    assert (asked.reason(OPENTOFU, Version(1, 12)), asked.reason(OPENTOFU)) == ("", "`~> 1.5.0` of a.tf:2")


def test_own_files_bind_opentofu_alone() -> None:
    asked = demand(requirements=configuration(a_tf="~> 1.5", a_tofu="~> 1.9.0"))

    assert best(asked, OPENTOFU, "1.7.9 1.8.5 1.9.8 1.10.1 1.12.0") == "1.9.8"
    assert best(asked, TERRAFORM, "1.5.7 1.15.5 2.0.0") == "1.15.5"


def test_the_eras_begin_where_the_engines_changed() -> None:
    found = [Era.of(OPENTOFU, version) for version in versions("1.7.9 1.8.0-rc1 1.11.9 1.12.0-beta1 2.0.0")]

    assert found == [Era.LIKE_TERRAFORM, *[Era.OWN_FILES] * 2, *[Era.LANGUAGE_BLOCK] * 2]
    assert {Era.of(TERRAFORM, version) for version in versions("0.15.3 1.12.0 9.0.0")} == {Era.TERRAFORM}


# The user's default


def test_the_users_default_counts_within_what_the_package_allows() -> None:
    asked = demand(requirements=configuration(a_tf=">= 1.5"), default="1.9.8")

    assert (asked.exact, asked.passed_over) == (Version(1, 9, 8), ())
    assert asked.reason(TERRAFORM) == f"`1.9.8` of {USER} and `>= 1.5` of a.tf:2"


@pytest.mark.parametrize("default", ["1.4.0", "1.12.1"])
def test_a_default_that_the_package_excludes_is_passed_over_and_changes_no_engine(default: str) -> None:
    asked = demand(requirements=configuration(a_tf="~> 1.5.0"), default=default)

    assert (asked.engines, asked.constraints) == (BOTH, ())
    assert asked.passed_over == (
        f"`{default}` of `{USER}` is passed over: the package asks for `~> 1.5.0` of a.tf:2",
    )


def test_a_default_that_nothing_can_be_is_refused() -> None:
    assert refused(default="> 2, < 1") == (
        BadConfig,
        f"no version can be `> 2, < 1` of `{USER}`",
        ("leave one of its parts out",),
    )


# Contradictions


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        pytest.param(
            {"pins": terraform_version("# old\n1.5.7"), "requirements": configuration(a_tf=">= 1.9", b_tf="< 2")},
            (
                BadConfig,
                "`>= 1.9` of `a.tf:2` excludes `1.5.7` of `.terraform-version:2`",
                ("change one of the two", CHOOSE, ALONE),
            ),
            id="a pin",
        ),
        pytest.param(
            {"pins": opentofu_version("1.9.0"), "requirements": configuration(a_tf="> 1.12")},
            (
                BadConfig,
                "`> 1.12` of `a.tf:2` excludes `1.9.0` of `.opentofu-version:1`",
                ("change one of the two", CHOOSE, ALONE),
            ),
            id="a pin of OpenTofu",
        ),
        pytest.param(
            {"pins": opentofu_version("1.12.0"), "requirements": configuration(a_tofu="~> 1.9.0")},
            (
                BadConfig,
                "`~> 1.9.0` of `a.tofu:2` excludes `1.12.0` of `.opentofu-version:1`",
                ("change one of the two", CHOOSE),
            ),
            id="in OpenTofu's own file",
        ),
        pytest.param(
            {"pins": opentofu_version("1.9.0"), "requirements": configuration(a_language=">= 1.5")},
            (
                BadConfig,
                "the `language` block of `a.tf:3` (OpenTofu 1.12 or newer, `>= 1.5`)"
                " excludes `1.9.0` of `.opentofu-version:1`",
                ("change one of the two", CHOOSE),
            ),
            id="a language block",
        ),
        pytest.param(
            {"caller": "1.5.7", "requirements": configuration(a_tf=">= 1.9")},
            (
                BadInput,
                f"`>= 1.9` of `a.tf:2` excludes `1.5.7` of `{FLAG}`",
                ("change one of the two", ALONE),
            ),
            id="the caller",
        ),
        pytest.param(
            {"caller": "1.12.1", "requirements": configuration(a_tf="~> 1.5.0")},
            (
                BadInput,
                f"`~> 1.5.0` of `a.tf:2` excludes `1.12.1` of `{FLAG}`",
                ("change one of the two", ALONE),
            ),
            id="no change of engine unasked",
        ),
        pytest.param(
            {"project": "1.12.1", "requirements": configuration(a_tf="~> 1.5.0")},
            (
                BadConfig,
                f"`~> 1.5.0` of `a.tf:2` excludes `1.12.1` of `{PROJECT}`",
                ("change one of the two", CHOOSE, ALONE),
            ),
            id="the project",
        ),
        pytest.param(
            {"pins": terraform_version("1.5.7"), "is_for_opentofu_alone": True},
            (
                BadConfig,
                "`.terraform-version:1` asks for Terraform, and the package is for OpenTofu alone (`*.tofu`)",
                ("write an `.opentofu-version` in the package, or name it: `--engine tofu`",),
            ),
            id="a pin and the files",
        ),
        pytest.param(
            {"pins": terraform_version("1.5.7"), "project": "~> 1.9"},
            (
                BadConfig,
                f"`1.5.7` of `.terraform-version:1` and `~> 1.9` of `{PROJECT}` exclude one another",
                ("change one of them", CHOOSE),
            ),
            id="a pin and the project",
        ),
        pytest.param(
            {"pins": terraform_version("latest"), "requirements": configuration(a_tf=">= 1.9", b_tf="< 1.5")},
            (
                BadPackage,
                "no version of Terraform can be `>= 1.9` of `a.tf:2` and `< 1.5` of `b.tf:2`",
                ("change one of them", ALONE),
            ),
            id="the configuration itself",
        ),
        pytest.param(
            {"requirements": configuration(a_tf="> 2, < 1", b_tf=">= 1")},
            (
                BadPackage,
                "no version of Terraform can be `> 2, < 1` of `a.tf:2`",
                ("change it", ALONE),
            ),
            id="one constraint itself",
        ),
        pytest.param(
            {"caller": "~> 1.9.0", "requirements": configuration(a_tf="> 1.9.0", b_tf="!= 1.9.1", c_tf="< 1.9.2")},
            (
                BadInput,
                f"`~> 1.9.0` of `{FLAG}`, `> 1.9.0` of `a.tf:2`, `!= 1.9.1` of `b.tf:2` and `< 1.9.2` of `c.tf:2`"
                " exclude one another",
                ("change one of them", CHOOSE, ALONE),
            ),
            id="only all of them",
        ),
        pytest.param(
            {"wish": "terraform", "requirements": configuration(a_language=">= 1.12")},
            (
                BadPackage,
                "the `language` block of `a.tf:3` (OpenTofu 1.12 or newer, `>= 1.12`) is for OpenTofu alone,"
                " and `--engine` asks for Terraform",
                ("name OpenTofu: `--engine tofu`",),
            ),
            id="Terraform for a language block",
        ),
        pytest.param(
            {"pins": terraform_version("min-required"), "requirements": configuration(a_tf=">= 2", b_tf="< 1")},
            (
                BadPackage,
                "no version of Terraform can be `>= 2` of `a.tf:2` and `< 1` of `b.tf:2`",
                ("change one of them", ALONE),
            ),
            id="the lowest of nothing",
        ),
    ],
)  # fmt: skip
def test_a_contradiction_names_both_sides(
    words: dict[str, Any], expected: tuple[type[HereyaError], str, tuple[str, ...]]
) -> None:
    assert refused(**words) == expected


@pytest.mark.parametrize("refusal", [BadInput, BadConfig, BadPackage])
def test_contradictions_are_refused_before_an_engine_acts(refusal: type[HereyaError]) -> None:
    assert refusal.failure_class.exit_code == 3


def test_opentofu_can_be_named_for_what_only_it_can_be() -> None:
    asked = demand(wish="tofu", caller="1.12.1", requirements=configuration(a_tf="~> 1.5.0"))

    assert (asked.engines, asked.exact) == ((OPENTOFU,), Version(1, 12, 1))


def test_what_excludes_opentofu_alone_leaves_terraform() -> None:
    asked = demand(caller="1.8.0", requirements=configuration(a_tf=">= 1.5", b_tofu=">= 1.9"))

    assert asked.engines == (TERRAFORM,)
    assert asked.engine_source == f"`1.8.0` of {FLAG}, `>= 1.5` of a.tf:2 and `>= 1.9` of b.tofu:2"


# Properties

MINORS = (0, 7, 8, 11, 12, 13)
RELEASES = st.builds(Version, st.integers(0, 1), st.sampled_from(MINORS), st.integers(0, 1), st.just(""))
# Any set made of comparisons of these has its lowest element among them.
EVERY = [Version(major, minor, patch) for major in (0, 1) for minor in MINORS for patch in (0, 1, 2)]
TERMS = st.tuples(st.sampled_from(["=", "!=", ">", ">=", "<", "<=", "~>"]), RELEASES).map(
    lambda t: f"{t[0]} {t[1]}"
)
TEXTS = st.lists(TERMS, min_size=1, max_size=3).map(", ".join)
FILES = st.dictionaries(
    st.sampled_from(["a_tf", "b_tf", "b_tofu", "c_tofu", "d_language", "override_tf"]), TEXTS
)


@given(TEXTS, FILES, st.sampled_from(["terraform", "tofu"]), st.lists(RELEASES, max_size=30))
def test_only_what_no_version_can_be_is_a_contradiction(
    caller: str, files: dict[str, str], wish: str, candidates: list[Version]
) -> None:
    requirements = configuration(**files)
    engine = TERRAFORM if wish == "terraform" else OPENTOFU
    free = Demand((engine,), "--engine", (parse_constraint(caller, FLAG),), requirements.found)
    possible = [version for version in EVERY if free.allows(engine, version)]

    if not possible:
        kind, sentence, _ = refused(wish=wish, caller=caller, requirements=requirements)
        assert kind in (BadInput, BadPackage)
        assert sentence.isprintable()
        return
    asked = demand(wish=wish, caller=caller, requirements=requirements)
    assert asked == free
    fitting = [version for version in candidates if asked.allows(engine, version)]
    assert asked.best(engine, candidates) == max(fitting, default=None)


@given(FILES)
def test_the_lowest_is_below_everything_that_will_do(files: dict[str, str]) -> None:
    requirements = configuration(**files)
    possible = [v for v in EVERY if all(item.allows(OPENTOFU, v) for item in requirements.found)]

    try:
        asked = demand(pins=opentofu_version("min-required"), requirements=requirements)
    except (BadConfig, BadPackage):
        assert not possible or possible[0] == Version(0, 0)
    else:
        assert asked.exact == possible[0]
