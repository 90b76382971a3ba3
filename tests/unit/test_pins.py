"""Version files are found and read as their tools do, and one that cannot be used is told, never guessed."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.constraints import Constraint, parse_constraint
from hereya_tf.engine.demand import Pin, Pins
from hereya_tf.engine.pins import find_pins, parse_tool_versions, parse_version_file
from hereya_tf.errors import BadConfig

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
BOTH = tuple(EngineName)
INSTEAD = "or say what you want: `--engine-version CONSTRAINT`"


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write these files below `root`; returns the deepest directory of a tree that is always there."""
    package = root / "home/user/project/package"
    package.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return package


def pin(engine: EngineName, text: str, place: str) -> Pin:
    return Pin(engine, place, parse_constraint(text, place))


def faults(pins: Pins) -> list[tuple[EngineName | None, str, str, tuple[str, ...]]]:
    return [
        (found.engine, found.place, str(found.fault), found.fault.hints)
        for found in pins.found
        if found.fault
    ]


def version_file(text: str) -> Pin:
    return parse_version_file(text, ".terraform-version", TERRAFORM)


def test_the_packages_own_file_is_named_by_its_name(tmp_path: Path) -> None:
    package = write(tmp_path, {"home/user/project/package/.terraform-version": "1.5.7\n"})

    assert Pins((pin(TERRAFORM, "1.5.7", ".terraform-version:1"),)) == find_pins(package)


def test_the_nearest_directory_wins_and_is_named(tmp_path: Path) -> None:
    files = {"home/.terraform-version": "1.0.0", "home/user/.opentofu-version": "1.8.5"}
    package = write(tmp_path, files)
    above = tmp_path / "home"

    assert Pins((pin(OPENTOFU, "1.8.5", f"{above}/user/.opentofu-version:1"),)) == find_pins(package)
    assert Pins((pin(TERRAFORM, "1.0.0", f"{above}/.terraform-version:1"),)) == find_pins(
        package, {TERRAFORM}
    )
    (tmp_path / "home/user/.opentofu-version").unlink()
    assert Pins((pin(TERRAFORM, "1.0.0", f"{above}/.terraform-version:1"),)) == find_pins(package)


def test_what_lies_above_the_first_hit_is_not_even_read(tmp_path: Path) -> None:
    package = write(
        tmp_path, {"home/user/project/.terraform-version": "1.5.7", "home/.terraform-version": ""}
    )
    (tmp_path / "home/user/.terraform-version").mkdir()

    assert find_pins(package).found == (
        pin(TERRAFORM, "1.5.7", f"{tmp_path}/home/user/project/.terraform-version:1"),
    )


def test_both_files_of_a_directory_are_found(tmp_path: Path) -> None:
    package = write(
        tmp_path, {"home/user/.opentofu-version": "1.8.5", "home/user/.terraform-version": "1.5.7"}
    )
    user = tmp_path / "home/user"

    expected = (
        pin(OPENTOFU, "1.8.5", f"{user}/.opentofu-version:1"),
        pin(TERRAFORM, "1.5.7", f"{user}/.terraform-version:1"),
    )
    assert Pins(expected) == find_pins(package)


def test_an_engines_own_file_comes_before_tool_versions_and_a_nearer_one_before_both(tmp_path: Path) -> None:
    tools = "terraform 1.6.6\nopentofu 1.9.0\n"
    package = write(tmp_path, {"home/.terraform-version": "1.5.7", "home/.tool-versions": tools})

    assert find_pins(package).found == (pin(TERRAFORM, "1.5.7", f"{tmp_path}/home/.terraform-version:1"),)
    assert find_pins(package, {OPENTOFU}).found == (
        pin(OPENTOFU, "1.9.0", f"{tmp_path}/home/.tool-versions:2"),
    )
    (tmp_path / "home/user/.tool-versions").write_text("nodejs 22\nopentofu 1.8.5")
    assert find_pins(package).found == (pin(OPENTOFU, "1.8.5", f"{tmp_path}/home/user/.tool-versions:2"),)


def test_it_walks_up_from_where_the_package_really_is(tmp_path: Path) -> None:
    package = write(
        tmp_path, {"home/user/.terraform-version": "1.5.7", "elsewhere/.terraform-version": "1.0.0"}
    )
    (tmp_path / "elsewhere/link").symlink_to(package, target_is_directory=True)

    assert find_pins(tmp_path / "elsewhere/link").found == (
        pin(TERRAFORM, "1.5.7", f"{tmp_path}/home/user/.terraform-version:1"),
    )


def test_a_relative_directory_is_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = write(tmp_path, {"home/user/project/package/.tool-versions": "tofu 1.8.5"})
    monkeypatch.chdir(package)

    assert find_pins(Path()).found == (pin(OPENTOFU, "1.8.5", ".tool-versions:1"),)


@pytest.mark.parametrize("name", ["nowhere", "a\0b"])
def test_a_directory_that_is_not_there_pins_nothing(tmp_path: Path, name: str) -> None:
    assert Pins() == find_pins(tmp_path / name)


def test_links_are_followed(tmp_path: Path) -> None:
    package = write(tmp_path, {"versions/terraform": "1.5.7\n"})
    (package / ".terraform-version").symlink_to(tmp_path / "versions/terraform")

    assert find_pins(package).found == (pin(TERRAFORM, "1.5.7", ".terraform-version:1"),)


def test_a_file_that_cannot_be_read_is_a_fault_not_nothing(tmp_path: Path) -> None:
    package = write(tmp_path, {"home/.terraform-version": "1.5.7"})
    file = package / ".terraform-version"
    hints = ("make it readable, or take it away", INSTEAD)

    def fault() -> list[tuple[EngineName | None, str, str, tuple[str, ...]]]:
        return faults(find_pins(package))

    file.symlink_to("nowhere")
    reason = "No such file or directory"
    assert [(TERRAFORM, file.name, f"`{file.name}` cannot be read: {reason}", hints)] == fault()
    file.unlink()
    reason = "it is not a regular file"
    file.mkdir()
    assert [(TERRAFORM, file.name, f"`{file.name}` cannot be read: {reason}", hints)] == fault()
    file.rmdir()
    os.mkfifo(file)
    assert [(TERRAFORM, file.name, f"`{file.name}` cannot be read: {reason}", hints)] == fault()
    file.unlink()
    file.symlink_to(file)
    assert fault()[0][2].startswith("`.terraform-version` cannot be read: Too many levels of symbolic links")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_the_right_to_read_is_a_fault(tmp_path: Path) -> None:
    package = write(tmp_path, {"home/.tool-versions": "nodejs 22"})
    (tmp_path / "home/.tool-versions").chmod(0)

    ((engine, _, sentence, _),) = faults(find_pins(package))
    assert (engine, sentence) == (None, f"`{tmp_path}/home/.tool-versions` cannot be read: Permission denied")


def test_tool_versions_that_cannot_be_read_may_speak_of_either(tmp_path: Path) -> None:
    package = write(tmp_path, {})
    (package / ".tool-versions").mkdir()

    ((engine, place, sentence, _),) = faults(find_pins(package))
    assert (engine, place) == (None, ".tool-versions")
    assert sentence == "`.tool-versions` cannot be read: it is not a regular file"


@pytest.mark.parametrize("name", [".terraform-version", ".tool-versions"])
def test_reading_is_bounded(tmp_path: Path, name: str) -> None:
    package = write(tmp_path, {})
    (package / name).write_bytes(b"# " + b"x" * (1 << 20))

    ((_, place, sentence, hints),) = faults(find_pins(package))
    assert (place, sentence) == (name, f"`{name}` is larger than 1 MiB")
    assert hints == ("is it the right file?", INSTEAD)


def test_a_megabyte_of_comments_is_read(tmp_path: Path) -> None:
    comments = "# nothing\n" * 100_000
    package = write(tmp_path, {"home/.opentofu-version": f"{comments}1.8.5\n"})

    assert find_pins(package).found[0].place == f"{tmp_path}/home/.opentofu-version:100001"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_told_by_its_name(tmp_path: Path, encoding: str) -> None:
    package = write(tmp_path, {})
    (package / ".terraform-version").write_bytes("\ufeff1.5.7\r\n".encode(encoding))

    ((_, _, sentence, hints),) = faults(find_pins(package))
    assert (sentence, hints[0]) == ("`.terraform-version` is not UTF-8 text, but UTF-16", "save it as UTF-8")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("1.5.7", 1, id="no newline"),
        pytest.param("1.5.7\r\n", 1, id="CRLF"),
        pytest.param("\n\n  1.5.7\t\n\n", 3, id="blank lines"),
        pytest.param("# for the old cluster\r# 1.4.0\r1.5.7\r", 3, id="comments, CR"),
        pytest.param("1.5.7 # not 1.6, see #12", 1, id="comment behind it"),
        pytest.param("# \ufffd \x85 \u2028 \x0b \x1c\n1.5.7", 2, id="only line ends end lines"),
    ],
)
def test_how_a_version_file_is_written_does_not_matter(text: str, line: int) -> None:
    assert version_file(text) == pin(TERRAFORM, "1.5.7", f".terraform-version:{line}")


def test_a_byte_order_mark_and_broken_utf8_in_a_comment_do_not_matter(tmp_path: Path) -> None:
    package = write(tmp_path, {})
    (package / ".terraform-version").write_bytes(b"\xef\xbb\xbf1.5.7 # caf\xe9\n")
    assert find_pins(package).found == (pin(TERRAFORM, "1.5.7", ".terraform-version:1"),)

    (package / ".terraform-version").unlink()
    (package / ".tool-versions").write_bytes(b"\xef\xbb\xbfterraform 1.5.7\n\xff\xfe 1\n")
    assert find_pins(package).found == (pin(TERRAFORM, "1.5.7", ".tool-versions:1"),)


@pytest.mark.parametrize("text", ["", "\n", " \r\n\t", "# 1.5.7\n", "\n  # none"])
def test_a_version_file_without_a_version_is_a_fault(text: str) -> None:
    assert faults(Pins((version_file(text),))) == [
        (
            TERRAFORM,
            ".terraform-version",
            "`.terraform-version` holds no version",
            ("write one in it, such as `1.11.4`, or take it away", INSTEAD),
        )
    ]


def test_a_second_version_is_a_fault() -> None:
    assert faults(Pins((version_file("# a\n1.5.7\n\n1.6.0\n1.7.0\n"),))) == [
        (
            TERRAFORM,
            ".terraform-version:2",
            "`.terraform-version:4` is another version, after `.terraform-version:2`",
            ("keep one of them", INSTEAD),
        )
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("terraform 1.5.7", "terraform 1.5.7"),
        ("1.5.7 1.6.0", "1.5.7 1.6.0"),
        ("lts", "lts"),
        ("system", "system"),
        ("latest-pre", "latest-pre"),
        ("latest:", "latest:"),
        ("latest:^1\\.[89]\\.", "latest:^1\\.[89]\\."),
        ("1.5.\0" + "7", "1.5.\ufffd7"),
        ("\x1b[31m1.5.7", "\ufffd[31m1.5.7"),
        ("\u202e7.5.1", "\ufffd7.5.1"),
        ("1" * 1_000_000, "1" * 60 + "…"),
    ],
)
def test_what_is_no_constraint_is_a_fault_that_says_where(text: str, shown: str) -> None:
    found = version_file(f"\n{text}\n")

    assert isinstance(found.fault, BadConfig)
    assert (found.place, found.constraint) == (".terraform-version:2", None)
    assert str(found.fault) == f"`{shown}` of `.terraform-version:2` is not a version constraint"
    assert found.fault.failure_class.exit_code == 3


def test_a_slip_is_told_what_was_meant() -> None:
    found = version_file("1.5.x")

    assert found.fault is not None
    assert found.fault.hints == ("write `~> 1.5.0`",)


@pytest.mark.parametrize("word", ["latest", "latest-stable", "latest-allowed"])
def test_the_newest_has_several_words(word: str) -> None:
    assert version_file(word) == Pin(
        TERRAFORM, ".terraform-version:1", Constraint(word, ".terraform-version:1", ())
    )


def test_the_lowest_has_one() -> None:
    constraint = Constraint("min-required", ".terraform-version:1", ())

    assert version_file("min-required") == Pin(TERRAFORM, ".terraform-version:1", constraint, is_lowest=True)


@pytest.mark.parametrize(
    ("word", "means"),
    [
        ("latest:^1.8", "~> 1.8.0"),
        ("latest:1.8", "~> 1.8.0"),
        ("latest:^1\\.8", "~> 1.8.0"),
        ("latest:^1.8.", "~> 1.8.0"),
        ("latest:^1\\.8\\.", "~> 1.8.0"),
        ("latest:^1\\.8\\.[0-9]+$", "~> 1.8.0"),
        ("latest:^1\\.8\\.\\d+$", "~> 1.8.0"),
        ("latest:^1.8.*", "~> 1.8.0"),
        ("latest:^v1", "~> 1.0"),
        ("latest:^1.8.5$", "1.8.5"),
        ("prefix:1.8", "~> 1.8.0"),
    ],
)
def test_a_regular_expression_for_a_beginning_is_that_beginning(word: str, means: str) -> None:
    place = ".terraform-version:1"
    expected = parse_constraint(means, place)._replace(text=word)

    assert version_file(word) == Pin(TERRAFORM, place, expected)


def test_constraints_and_pre_releases_can_be_pinned() -> None:
    for text in ("~> 1.9", ">= 1.5, < 2", "v1.12.0-beta1"):
        assert version_file(f"{text}\n") == pin(TERRAFORM, text, ".terraform-version:1")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("terraform 1.5.7", "terraform 1.5.7 1", id="plain"),
        pytest.param("nodejs 22.1.0\r\n\r\nopentofu\t1.8.5\r\n", "opentofu 1.8.5 3", id="CRLF, tab"),
        pytest.param("  tofu 1.8.5", "opentofu 1.8.5 1", id="as tenv calls it"),
        pytest.param("terraform 1.5.7 1.4.0 system", "terraform 1.5.7 1", id="the first of several"),
        pytest.param("terraform 1.5.7\nterraform 1.4.0", "terraform 1.5.7 1", id="the first line"),
        pytest.param("#terraform 1.4.0\nterraform 1.5.7#old", "terraform 1.5.7 2", id="comments"),
        pytest.param("terraform-docs 0.16\nterraform 1.5.7", "terraform 1.5.7 2", id="a longer name"),
        pytest.param("Terraform 1.5.7\nterragrunt 1\n", "", id="other tools"),
        pytest.param("", "", id="empty"),
        pytest.param("terraform 1.5.7\nopentofu 1.8.5", "terraform 1.5.7 1, opentofu 1.8.5 2", id="both"),
    ],
)  # fmt: skip
def test_lines_of_tool_versions(text: str, found: str) -> None:
    parts = [part.split() for part in found.split(", ") if part]
    expected = tuple(pin(EngineName(engine), word, f".tool-versions:{line}") for engine, word, line in parts)

    assert Pins(expected) == parse_tool_versions(text, ".tool-versions", BOTH)


def test_what_is_no_release_is_passed_over_with_its_reason() -> None:
    text = "terraform ref:main path:/opt/tf system 1.5.7\nopentofu system\ntofu\n"

    assert parse_tool_versions(text, ".tool-versions", BOTH) == Pins(
        (pin(TERRAFORM, "1.5.7", ".tool-versions:1"),),
        (
            "`ref:main` of `.tool-versions:1` is passed over: it is a commit, not a release",
            "`path:/opt/tf` of `.tool-versions:1` is passed over: it is a directory, not a release",
            "`system` of `.tool-versions:1` is passed over: it means whatever is on PATH",
            "`system` of `.tool-versions:2` is passed over: it means whatever is on PATH",
            "`.tool-versions:3` is passed over: no version of OpenTofu follows",
        ),
    )


def test_where_all_is_passed_over_the_walk_goes_on(tmp_path: Path) -> None:
    package = write(
        tmp_path, {"home/.tool-versions": "terraform 1.5.7", "home/user/.tool-versions": "terraform system"}
    )

    assert find_pins(package) == Pins(
        (pin(TERRAFORM, "1.5.7", f"{tmp_path}/home/.tool-versions:1"),),
        (
            f"`system` of `{tmp_path}/home/user/.tool-versions:1` is passed over: it means whatever is on PATH",
        ),
    )


def test_a_line_for_the_other_engine_is_none_of_ours() -> None:
    text = "terraform lts\nopentofu 1.8.5\n"

    assert Pins((pin(OPENTOFU, "1.8.5", ".tool-versions:2"),)) == parse_tool_versions(
        text, ".tool-versions", {OPENTOFU}
    )


def test_a_version_that_is_none_in_tool_versions_is_a_fault() -> None:
    ((engine, place, sentence, _),) = faults(
        parse_tool_versions("\nterraform lts\n", "/t/.tool-versions", BOTH)
    )

    assert (engine, place) == (TERRAFORM, "/t/.tool-versions:2")
    assert sentence == "`lts` of `/t/.tool-versions:2` is not a version constraint"


NAMES = st.sampled_from([".terraform-version", ".opentofu-version", ".tool-versions"])
VERSIONS = st.builds(
    Version, st.integers(0, 20), st.integers(0, 20), st.integers(0, 20), st.sampled_from(["", "rc1", "beta2"])
)
LINE_ENDS = st.sampled_from(["\n", "\r\n", "\r"])
COMMENTS = st.lists(st.sampled_from(["", "  ", "# 1.0.0", "\t# terraform 1.0.0"]), max_size=4)


@given(VERSIONS, LINE_ENDS, COMMENTS, COMMENTS, st.booleans(), st.sampled_from(["", "v", "= "]))
def test_a_written_version_file_is_read_back(
    version: Version, end: str, before: list[str], after: list[str], mark: bool, prefix: str
) -> None:
    text = end.join([*before, f" {prefix}{version} # why", *after])

    found = parse_version_file(text, "f", OPENTOFU)

    assert (found.engine, found.place, found.fault) == (OPENTOFU, f"f:{len(before) + 1}", None)
    assert found.constraint is not None
    assert found.constraint.exact == version


@given(st.dictionaries(st.sampled_from(["terraform", "opentofu", "nodejs"]), VERSIONS), LINE_ENDS, COMMENTS)
def test_written_tool_versions_are_read_back(tools: dict[str, Version], end: str, before: list[str]) -> None:
    text = end.join([*before, *(f"{tool}  {version} 0.1.0 # why" for tool, version in tools.items())])

    pins = parse_tool_versions(text, "f", BOTH)

    assert {found.engine: found.constraint and found.constraint.exact for found in pins.found} == {
        EngineName(tool): version for tool, version in tools.items() if tool != "nodejs"
    }
    assert pins.passed_over == ()


@given(st.lists(st.tuples(st.integers(0, 4), NAMES), max_size=6, unique=True))
def test_the_walk_takes_the_nearest(
    tmp_path_factory: pytest.TempPathFactory, present: list[tuple[int, str]]
) -> None:
    root = tmp_path_factory.mktemp("walk")
    levels = [root, *(root.joinpath(*"abcd"[: depth + 1]) for depth in range(4))]
    levels[-1].mkdir(parents=True)
    for depth, name in present:
        (levels[depth] / name).write_text("terraform 1.0.0" if name == ".tool-versions" else f"1.0.{depth}")

    pins = find_pins(levels[-1])

    deepest = max((depth for depth, _ in present), default=None)
    there = sorted(name for depth, name in present if depth == deepest)
    expected = [name for name in there if name != ".tool-versions"] or there
    assert [Path(found.place.rpartition(":")[0]).name for found in pins.found] == expected
    if deepest is not None and deepest < 4:
        assert {Path(found.place).parent for found in pins.found} == {levels[deepest]}


@given(st.text(alphabet="01.^:latest-#\\ \n\r\0\x1b~>=v", max_size=60), st.sampled_from(["", "terraform "]))
def test_any_text_is_a_pin_or_a_fault_of_printable_words(text: str, start: str) -> None:
    for found in (
        parse_version_file(text, "f", TERRAFORM),
        *parse_tool_versions(start + text, "f", BOTH).found,
    ):
        assert (found.constraint is None) is (found.fault is not None)
        if found.fault is not None:
            assert str(found.fault).isprintable()


def test_where_there_are_none_no_constraints_are_loaded(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; before = set(sys.modules);"
        " from hereya_tf.engine.pins import find_pins; find_pins(pathlib.Path(sys.argv[1]));"
        " print([name for name in set(sys.modules) - before if name.endswith(('constraints', 'dataclasses'))])"
    )

    ran = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("[]\n", "")
