"""Who says which engine and version a package is run with, and what is refused before any is looked for."""

from collections.abc import Mapping
from typing import Any

import pytest

from hereya_tf.engine import EngineName
from hereya_tf.engine.demand import Demand
from hereya_tf.engine.wish import AUTOMATIC, EngineWish
from hereya_tf.errors import BadConfig, BadInput, EngineMismatch, HereyaError
from hereya_tf.inputs.hereyarc import Hereyarc
from hereya_tf.inputs.project_file import ProjectFile
from hereya_tf.wanted_engine import wanted_engine
from tests.conftest import MakePackage

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
LOCK_FILE = ".terraform.lock.hcl"
USERS = EngineWish(version_source="config.toml:2", version_yields=True)


class Wanting:
    """Asks what is wanted of a package of some files."""

    def __init__(self, make_package: MakePackage) -> None:
        self._make_package = make_package

    def __call__(
        self,
        files: Mapping[str, str] = {},
        *,
        wish: EngineWish = AUTOMATIC,
        project: str | None = None,
        hereyarc: bool = False,
        written_by: Mapping[EngineName, str] = {},
    ) -> Demand:
        return wanted_engine(
            wish,
            self._make_package(files or {"main.tf": ""}),
            project=ProjectFile(engine_version=project, engine_version_line=3),
            hereyarc=Hereyarc("hereyarc.yaml", hereyarc, {}),
            written_by=written_by,
        )


@pytest.fixture
def wanting(make_package: MakePackage) -> Wanting:
    return Wanting(make_package)


def words(demand: Demand) -> list[tuple[str, str]]:
    return [(said.text, said.source) for said in demand.constraints]


def test_where_nobody_says_anything_either_engine_will_do(wanting: Wanting) -> None:
    assert wanting() == Demand((TERRAFORM, OPENTOFU))


@pytest.mark.behaviour("T14")
@pytest.mark.parametrize(
    ("how", "engine", "source"),
    [
        (
            {"wish": EngineWish("tofu", "HEREYA_TF_ENGINE"), "files": {"main.tf": ""}},
            OPENTOFU,
            "HEREYA_TF_ENGINE",
        ),
        ({"hereyarc": True}, OPENTOFU, "hereyarc.yaml"),
        ({"hereyarc": True, "wish": EngineWish("terraform")}, TERRAFORM, "--engine"),
        (
            {"hereyarc": True, "files": {"main.tf": "", ".terraform-version": "1.9.0"}},
            TERRAFORM,
            ".terraform-version:1",
        ),
        ({"files": {"main.tofu": ""}}, OPENTOFU, "*.tofu"),
        ({"written_by": {OPENTOFU: LOCK_FILE}}, OPENTOFU, LOCK_FILE),
    ],
)
def test_who_decides_on_the_engine(
    wanting: Wanting, how: dict[str, Any], engine: EngineName, source: str
) -> None:
    demand = wanting(**how)

    assert (demand.engines, demand.engine_source) == ((engine,), source)


def test_the_callers_version_wins_over_the_packages_which_wins_over_the_users(wanting: Wanting) -> None:
    users = USERS._replace(version=">= 1.10")
    callers = EngineWish(version="~> 1.11", version_source="HEREYA_TF_ENGINE_VERSION")

    assert words(wanting(wish=users)) == [(">= 1.10", "config.toml:2")]
    assert words(wanting(wish=users, project="~> 1.9.0")) == [("~> 1.9.0", "hereya-tf.toml:3")]
    assert words(wanting(wish=callers, project="~> 1.9.0")) == [("~> 1.11", "HEREYA_TF_ENGINE_VERSION")]
    files = {"main.tf": "", ".opentofu-version": "1.9.1"}
    assert words(wanting(files, project="~> 1.9.0")) == [
        ("1.9.1", ".opentofu-version:1"),
        ("~> 1.9.0", "hereya-tf.toml:3"),
    ]


def test_what_the_configuration_requires_is_a_part_of_it(wanting: Wanting) -> None:
    demand = wanting({"main.tf": 'terraform {\n  required_version = "~> 1.9"\n}\n'})

    assert [item.constraint.source for item in demand.requirements] == ["main.tf:2"]


@pytest.mark.parametrize(
    ("how", "error_class", "source"),
    [
        pytest.param({"wish": EngineWish(version="^1.9")}, BadInput, "--engine-version", id="flag"),
        pytest.param({"wish": USERS._replace(version="^1.9")}, BadConfig, "config.toml:2", id="user"),
        pytest.param({"project": "^1.9"}, BadConfig, "hereya-tf.toml:3", id="package"),
    ],
)
def test_what_is_no_version_is_refused_as_what_it_stands_in(
    wanting: Wanting, how: dict[str, Any], error_class: type[HereyaError], source: str
) -> None:
    with pytest.raises(error_class) as error:
        wanting(**how)

    assert str(error.value) == f"`^1.9` of `{source}` is not a version constraint"
    assert (error.value.hints, error.value.failure_class.exit_code) == (("write `>= 1.9, < 2`",), 3)


@pytest.mark.behaviour("T15")
@pytest.mark.parametrize(
    ("how", "source"),
    [
        ({"files": {"main.tf": "", ".terraform-version": "1.9.0"}}, ".terraform-version:1"),
        ({"files": {"main.tf": "", ".tool-versions": "terraform 1.9.0"}}, ".tool-versions:1"),
    ],
)
def test_a_pin_to_the_engine_that_did_not_write_the_files_is_refused(
    wanting: Wanting, how: dict[str, Any], source: str
) -> None:
    with pytest.raises(EngineMismatch) as error:
        wanting(**how, written_by={OPENTOFU: LOCK_FILE})

    assert str(error.value) == f"`{LOCK_FILE}` was written by OpenTofu, and `{source}` asks for Terraform"
    assert error.value.failure_class.exit_code == 3
    assert error.value.hints == (
        "to stay with OpenTofu: `--engine tofu`",
        "to go over to Terraform on purpose: `--engine terraform`",
    )
    wanting(**how, written_by={TERRAFORM: LOCK_FILE})
    wanting(**how, written_by={OPENTOFU: LOCK_FILE}, wish=EngineWish("terraform"))


@pytest.mark.behaviour("T15")
def test_a_package_that_asks_for_opentofu_and_was_terraforms_is_refused(wanting: Wanting) -> None:
    with pytest.raises(EngineMismatch, match=r"by Terraform, and `hereyarc\.yaml` asks for OpenTofu"):
        wanting(hereyarc=True, written_by={TERRAFORM: LOCK_FILE})


@pytest.mark.behaviour("T15")
def test_nobody_is_sent_back_to_an_engine_that_reads_nothing_of_the_package(wanting: Wanting) -> None:
    with pytest.raises(EngineMismatch) as error:
        wanting({"main.tofu": ""}, written_by={TERRAFORM: LOCK_FILE})

    assert str(error.value) == f"`{LOCK_FILE}` was written by Terraform, and `*.tofu` asks for OpenTofu"
    assert error.value.hints == ("to go over to OpenTofu on purpose: `--engine tofu`",)


@pytest.mark.behaviour("T15")
def test_what_the_user_usually_takes_is_no_reason_to_change_over(wanting: Wanting) -> None:
    usual = EngineWish("terraform", "config.toml:1", name_yields=True)

    assert wanting(wish=usual) == Demand((TERRAFORM,), "config.toml:1")
    pinned = wanting({"main.tf": "", ".opentofu-version": "1.9.0\n"}, wish=usual)
    assert (pinned.engines, pinned.engine_source) == ((OPENTOFU,), ".opentofu-version:1")
    assert wanting(wish=usual, written_by={OPENTOFU: LOCK_FILE}).engines == (OPENTOFU,)
    with pytest.raises(EngineMismatch):
        wanting(
            {"main.tf": "", ".terraform-version": "1.9.0\n"}, wish=usual, written_by={OPENTOFU: LOCK_FILE}
        )
