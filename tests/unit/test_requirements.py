"""What a configuration asks of its engine is read as each engine, of each age, reads it."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.demand import Demand, Era, Requirements
from hereya_tf.engine.requirements import parse_requirements, read_requirements
from hereya_tf.package import is_override
from tests.command_line import REPOSITORY

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
READERS = {
    "terraform": (TERRAFORM, Version(1, 15, 5)),
    "tofu 1.7": (OPENTOFU, Version(1, 7, 9)),
    "tofu 1.8": (OPENTOFU, Version(1, 8)),
    "tofu 1.12": (OPENTOFU, Version(1, 12, 0, "beta1")),
}


def requirements(files: Mapping[str, str | bytes]) -> Requirements:
    """As read from these files, override files last."""
    sources = {
        name: content.encode() if isinstance(content, str) else content for name, content in files.items()
    }
    return parse_requirements(
        files, sorted(sources.items(), key=lambda item: (is_override(item[0]), item[0]))
    )


def terraform(constraint: str) -> str:
    return f"terraform {{\n  required_version = {json.dumps(constraint)}\n}}\n"


def language(constraint: str) -> str:
    return f"language {{\n  compatible_with {{\n    opentofu = {json.dumps(constraint)}\n  }}\n}}\n"


def heeded(files: Mapping[str, str | bytes]) -> dict[str, str]:
    """What each of the readers heeds."""
    demand = Demand(requirements=requirements(files).found)
    return {name: demand.reason(*reader) for name, reader in READERS.items()}


def refusing(files: Mapping[str, str | bytes]) -> list[str]:
    """The readers that cannot take any of the files' requirements, whatever they say."""
    found = requirements(files).found
    return [name for name in READERS if any(_era(name) in item.refused_in for item in found)]


def _era(name: str) -> Era:
    return Era.of(*READERS[name])


def places(read: Requirements) -> list[tuple[str, str]]:
    return [(item.constraint.text, item.constraint.source) for item in read.found]


def test_a_required_version_is_read_with_its_place() -> None:
    read = requirements({"versions.tf": "# a\n\n" + terraform(">= 1.5,  < 2")})

    assert (places(read), read.passed_over) == ([(">= 1.5, < 2", "versions.tf:4")], ())
    assert [item.constraint.allows(Version(1, 9)) for item in read.found] == [True]


def test_who_heeds_it_depends_on_the_file() -> None:
    assert heeded({"a.tf": terraform("~> 1.5")}) == {
        "terraform": "`~> 1.5` of a.tf:2",
        "tofu 1.7": "`~> 1.5` of a.tf:2",
        "tofu 1.8": "`~> 1.5` of a.tf:2",
        "tofu 1.12": "",
    }
    assert heeded({"a.tofu": terraform("~> 1.5")}) == {
        "terraform": "",
        "tofu 1.7": "",
        "tofu 1.8": "`~> 1.5` of a.tofu:2",
        "tofu 1.12": "`~> 1.5` of a.tofu:2",
    }


def test_a_tofu_file_hides_the_other_from_opentofu_since_it_reads_such_files() -> None:
    files = {
        "v.tf": terraform("~> 1.5"),
        "v.tofu": terraform(">= 1.9"),
        "w.tf.json": "{}",
        "w.tofu.json": "{}",
    }

    assert heeded(files) == {
        "terraform": "`~> 1.5` of v.tf:2",
        "tofu 1.7": "`~> 1.5` of v.tf:2",
        "tofu 1.8": "`>= 1.9` of v.tofu:2",
        "tofu 1.12": "`>= 1.9` of v.tofu:2",
    }
    assert heeded({"v.tofu": "", "v.tf": terraform("~> 1.5")})["tofu 1.8"] == ""
    assert heeded({"v.tofu.json": "", "v.tf": terraform("~> 1.5")})["tofu 1.8"] == "`~> 1.5` of v.tf:2"


def test_several_add_up() -> None:
    files = {"a.tf": terraform(">= 1.5") + terraform("!= 1.6.0"), "b.tf": terraform("< 2")}

    assert heeded(files)["terraform"] == "`>= 1.5` of a.tf:2, `!= 1.6.0` of a.tf:5 and `< 2` of b.tf:2"


def test_an_override_file_replaces_them_where_the_engine_says_so() -> None:
    files = {
        "a.tf": terraform(">= 9"),
        "b.tofu": terraform(">= 1.8"),
        "a_override.tf": terraform(">= 8"),
        "b_override.tf": terraform(">= 1.5"),
    }

    assert heeded(files) == {
        "terraform": "`>= 1.5` of b_override.tf:2",
        "tofu 1.7": "`>= 1.5` of b_override.tf:2",
        "tofu 1.8": "`>= 1.5` of b_override.tf:2",
        "tofu 1.12": "`>= 1.8` of b.tofu:2",
    }
    assert heeded(
        {"a.tf": terraform(">= 9"), "o_override.tf": "terraform {\n  required_version = null\n}\n"}
    ) == dict.fromkeys(READERS, "")


def test_a_language_block_is_for_new_opentofu_alone() -> None:
    files = {"v.tf": language(">= 1.12.1")}

    assert heeded(files) == {
        "terraform": "",
        "tofu 1.7": "",
        "tofu 1.8": "",
        "tofu 1.12": "`>= 1.12.1` of v.tf:3",
    }
    assert refusing(files) == ["terraform", "tofu 1.7", "tofu 1.8"]
    (found,) = requirements(files).found
    assert [found.allows(*reader) for reader in READERS.values()] == [False, False, False, False]
    assert found.allows(OPENTOFU, Version(1, 12, 1, "rc1")), "a pre-release counts as its release"


def test_a_language_block_in_a_tofu_file_is_none_of_terraforms_business() -> None:
    assert refusing({"v.tofu": language(">= 1.12")}) == ["tofu 1.8"]
    assert refusing({"v.tf": language(">= 1.12"), "v.tofu": ""}) == ["terraform", "tofu 1.7"]


def test_a_language_block_speaks_to_opentofu_alone_even_where_its_constraint_is_none() -> None:
    files = {"v.tf": 'language {\n  compatible_with {\n    opentofu = "^1.12"\n    other = local.x\n  }\n}\n'}

    assert places(requirements(files)) == [("language", "v.tf:3")]
    (found,) = requirements(files).found
    assert [found.allows(*reader) for reader in READERS.values()] == [False, False, False, True]


@pytest.mark.parametrize(
    ("document", "found"),
    [
        pytest.param('{"terraform": {"required_version": "~> 1.5"}}', [("~> 1.5", "a.tf.json:1")], id="text"),
        pytest.param('{"terraform": {\n\n"required_version"\n: 1.5}}', [("1.5", "a.tf.json:3")], id="number"),
        pytest.param(
            '{"terraform": {"required_version":\n[">= 1.5", "< 2"]}}',
            [(">= 1.5", "a.tf.json:1"), ("< 2", "a.tf.json:1")],
            id="list",
        ),
        pytest.param(
            '[{"terraform": [{"required_version": ">= 1.5"}, {"required_version": "< 2"}]}]',
            [(">= 1.5", "a.tf.json"), ("< 2", "a.tf.json")],
            id="two blocks, no telling the lines",
        ),
        pytest.param('{"terraform": {"required\\u005fversion": "1.5"}}', [("1.5", "a.tf.json")], id="escapes"),
        pytest.param(
            '{"locals": {"x": "\\"required_version\\": 1"},\n"terraform": {"required_version": "1.5"}}',
            [("1.5", "a.tf.json:2")],
            id="in a text",
        ),
        pytest.param('{"terraform": {"required_version": null}}', [], id="null"),
        pytest.param('{"terraform": {"cloud": {"required_version": "1"}}}', [], id="deeper"),
        pytest.param('{"locals": {"terraform": {"required_version": "1"}}}', [], id="elsewhere"),
        pytest.param('{"required_version": "1"}', [], id="outside"),
        pytest.param('{"terraform": {"required_version": "1.5"}', [], id="broken"),
        pytest.param('"required_version"', [], id="no object"),
        pytest.param(
            '{"language":\n{"compatible_with": [{"opentofu": ">= 1.12", "other": "1"}]}}',
            [(">= 1.12", "a.tf.json:2")],
            id="language",
        ),
        pytest.param('{"language": {"other": {"opentofu": "1"}}, "x": "compatible_with"}', [], id="other software"),
        pytest.param('{"compatible_with": {"opentofu": "1"}}', [], id="no language"),
    ],
)  # fmt: skip
def test_json(document: str, found: list[tuple[str, str]]) -> None:
    assert places(requirements({"a.tf.json": document})) == found


def test_json_for_opentofu_alone_is_heeded_by_it_alone() -> None:
    document = '{"terraform": {"required_version": "~> 1.8"}}'

    assert heeded({"a.tofu.json": document, "a.tf.json": document}) == {
        "terraform": "`~> 1.8` of a.tf.json:1",
        "tofu 1.7": "`~> 1.8` of a.tf.json:1",
        "tofu 1.8": "`~> 1.8` of a.tofu.json:1",
        "tofu 1.12": "`~> 1.8` of a.tofu.json:1",
    }


@pytest.mark.parametrize(
    "source",
    [
        pytest.param('# terraform { required_version = "9" }', id="hash"),
        pytest.param('// terraform { required_version = "9" }', id="slashes"),
        pytest.param('/* terraform {\nrequired_version = "9"\n} */', id="block comment"),
        pytest.param('terraform {\n  # required_version = "9"\n}', id="commented out inside"),
        pytest.param('locals {\n  x = "terraform { required_version = 9 }"\n}', id="string"),
        pytest.param('locals {\n  x = <<EOT\nterraform {\n  required_version = "9"\n}\nEOT\n}', id="heredoc"),
        pytest.param('locals {\n  x = <<-EOT\n  terraform { required_version = "9" }\n  EOT\n}', id="indented"),
        pytest.param('module "m" {\n  terraform {\n    required_version = "9"\n  }\n}', id="in another block"),
        pytest.param('terraform "x" {\n  required_version = "9"\n}', id="with a label"),
        pytest.param('terraform {\n  required_providers {\n    required_version = "9"\n  }\n}', id="deeper"),
        pytest.param('required_version = "9"\nlocals {\n  required_version = "9"\n}', id="no terraform block"),
        pytest.param("terraform {\n  required_version = null\n}", id="null"),
        pytest.param('compatible_with {\n  opentofu = "9"\n}', id="no language block"),
        pytest.param('terraform {\n  compatible_with {\n    opentofu = "9"\n  }\n}', id="the wrong block"),
        pytest.param('language {\n  opentofu = "9"\n}', id="nothing around it"),
        pytest.param('language x {\n  compatible_with {\n    opentofu = "9"\n  }\n}', id="a label"),
        pytest.param('language {\n  compatible_with {\n    other = "9"\n  }\n}', id="for other software"),
        pytest.param('language {\n  compatible_with x {\n    opentofu = "9"\n  }\n}', id="a label inside"),
        pytest.param("", id="empty"),
        pytest.param(b"\0required_version" * 1000, id="NUL"),
        pytest.param(b"required_version" + b" " * (16 << 20), id="too large"),
    ],
)  # fmt: skip
def test_what_is_no_requirement_is_not_taken_for_one(source: str | bytes) -> None:
    assert requirements({"a.tf": source}) == Requirements()


@pytest.mark.parametrize(
    "source",
    [
        pytest.param('terraform { required_version = "~> 1.5" }', id="one line"),
        pytest.param(
            b'\xef\xbb\xbfterraform { required_version = "~> 1.5" }\r\n', id="byte order mark, CRLF"
        ),
        pytest.param('terraform { /* x */ required_version = /* y */ "~> 1.5" # z\n}', id="comments"),
        pytest.param('terraform { required_version = "\\u007e> 1.5" }', id="escape"),
        pytest.param(
            'terraform { required_version = "~> 1.5" }\nlocals { x = = 1 }', id="an error elsewhere"
        ),
        pytest.param(b'terraform { required_version = "~> 1.5" } # \xff', id="other bytes"),
    ],
)
def test_how_it_is_written_does_not_matter(source: str | bytes) -> None:
    assert places(requirements({"a.tf": source})) == [("~> 1.5", "a.tf:1")]


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ('"^1.5"', "`^1.5` of `a.tf:2` is not a version constraint"),
        ('""', "`a.tf:2` is empty"),
        ("local.version", "`local.version` of `a.tf:2` is not a version constraint"),
        ('"latest"', "`latest` of `a.tf:2` is no constraint that an engine takes there"),
        ('">= 1.9.0-rc1"', "`>= 1.9.0-rc1` of `a.tf:2` is no constraint that an engine takes there"),
    ],
)
def test_what_an_engine_refuses_is_left_for_it_to_refuse(written: str, sentence: str) -> None:
    source = f"terraform {{\n  required_version = {written}\n}}\n" + terraform("~> 1.5")

    read = requirements({"a.tf": source})

    assert (places(read), read.passed_over) == ([("~> 1.5", "a.tf:5")], (sentence,))


def test_a_directory_is_read_without_what_is_not_its_own(tmp_path: Path) -> None:
    for name in (
        "a.tf",
        "m/a.tf",
        ".terraform/modules/m/a.tf",
        "a.tf~",
        ".a.tf",
        "b.tofu",
        "x_override.tf.json/a",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(terraform(f"!= 1.0.{len(name)}"))
    (tmp_path / "c.tf").symlink_to(tmp_path / "m/a.tf")
    (tmp_path / "a.tofu").mkdir()

    read = read_requirements(tmp_path)

    assert [source for _, source in places(read)] == ["a.tf:2", "b.tofu:2", "c.tf:2"]
    assert Era.OWN_FILES in read.found[0].heeded_in, "a directory hides nothing"


def test_what_cannot_be_read_is_left_to_those_who_must_read_it(tmp_path: Path) -> None:
    assert read_requirements(tmp_path / "nowhere") == read_requirements(Path("a\0b")) == Requirements()

    (tmp_path / "a.tf").symlink_to("nowhere")
    os.mkfifo(tmp_path / "b.tf")
    (tmp_path / "c.tf").write_text(terraform("~> 1.5"))
    assert places(read_requirements(tmp_path)) == [("~> 1.5", "c.tf:2")]


def test_packages_of_this_repository_are_read() -> None:
    package = REPOSITORY / "fixtures/broken/engine-too-old"

    assert places(read_requirements(package)) == [(">= 99.0", "main.tf:2")]


CONSTRAINTS = st.sampled_from(["~> 1.5", ">= 1.8.0, < 2", "!= 1.9.0", "1.12.3"])
NAMES = st.sampled_from(["a", "b", "b_override", "override"]).flatmap(
    lambda stem: st.sampled_from([f"{stem}.tf", f"{stem}.tofu"])
)


@given(st.dictionaries(NAMES, CONSTRAINTS))
def test_terraform_and_old_opentofu_agree_and_new_opentofu_reads_its_own(files: dict[str, str]) -> None:
    said = heeded({name: terraform(constraint) for name, constraint in files.items()})

    assert said["terraform"] == said["tofu 1.7"]
    own = sorted((is_override(name), name) for name in files if name.endswith(".tofu"))
    assert said["tofu 1.12"].count(" of ") == len(own)
    assert ".tofu" not in said["terraform"]
    assert ".tf:" not in said["tofu 1.12"]


@given(st.text(alphabet='terraform required_version{}=<EOT-\n$%# \\/*"[],1.>~', max_size=200), st.booleans())
def test_no_text_makes_the_reader_fail(text: str, is_json: bool) -> None:
    read = requirements({"a.tf.json" if is_json else "a.tf": f"required_version {text}"})

    assert {item.constraint.source.partition(":")[0] for item in read.found} <= {"a.tf", "a.tf.json"}
    assert all(" of `a.tf" in sentence or sentence.endswith("is empty") for sentence in read.passed_over)


@given(CONSTRAINTS, st.sampled_from(["\n", "\r\n"]), st.integers(0, 5), st.sampled_from(["#", "//", "/**/"]))
def test_a_written_requirement_is_read_back_with_its_line(
    constraint: str, end: str, lines: int, comment: str
) -> None:
    source = end * lines + terraform(constraint).replace("\n", f" {comment}{end}")

    assert places(requirements({"a.tf": source})) == [(constraint, f"a.tf:{lines + 2}")]
