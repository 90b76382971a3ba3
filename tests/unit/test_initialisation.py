"""Init is skipped only while everything it reads, and everything it left behind, is as it was."""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.initialisation import InitMemory, fingerprint
from hereya_tf.package import GENERATED_OVERRIDE

BINARY = Binary(EngineName.TERRAFORM, Version(1, 11, 4), ("/bin/terraform",), "/bin/terraform", "--engine")
MODULES = {
    "Modules": [
        {"Key": "", "Source": "", "Dir": "."},
        {"Key": "local", "Source": "../module", "Dir": "../module"},
        {"Key": "registry", "Source": "registry.terraform.io/a/b/c", "Dir": ".terraform/modules/registry"},
        {"Key": "gone", "Source": "../gone", "Dir": "../gone"},
    ]
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package after an init: with a backend, a lock file, and modules inside and outside of it."""
    files = {
        "package/main.tf": 'module "local" { source = "../module" }',
        "package/more.tf.json": "{}",
        "package/tofu.tofu": "",
        "package/README.md": "about",
        "package/prod.tfvars": "a = 1",
        "package/.terraform.lock.hcl": "# lock",
        "package/.terraform/terraform.tfstate": '{"backend": {}}',
        "package/.terraform/modules/modules.json": json.dumps(MODULES),
        "package/.terraform/modules/registry/main.tf": "",
        "package/.terraform/environment": "default",
        "package/terraform.tfstate": "{}",
        "package/scripts/main.tf": "not of the root module",
        "module/main.tf": 'variable "a" {}',
        "module/notes.txt": "",
        "elsewhere/main.tf": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "package"


def digest(
    package: Path,
    *,
    data_directory: str = ".terraform",
    binary: Binary = BINARY,
    arguments: Sequence[str] = ("-upgrade",),
    contents: Sequence[str] = ("", 'bucket = "a"\n'),
) -> str:
    return fingerprint(package, data_directory, binary, arguments=arguments, contents=contents)


def written(name: str, text: str) -> Callable[[Path], None]:
    def change(package: Path) -> None:
        path = package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return change


def removed(name: str) -> Callable[[Path], None]:
    return lambda package: (package / name).unlink()


MATTERS = {
    "configuration": written("main.tf", "# other"),
    "JSON configuration": written("more.tf.json", '{"a": 1}'),
    "OpenTofu's configuration": written("tofu.tofu", "# other"),
    "another file": written("new.tf", ""),
    "a file less": removed("more.tf.json"),
    "an override file": written("main_override.tf", ""),
    "a local module outside of the package": written("../module/main.tf", "# other"),
    "another file of that module": written("../module/new.tf", ""),
    "a file less of that module": removed("../module/main.tf"),
    "an installed module": written(".terraform/modules/registry/main.tf", "# other"),
    "a module that is there now": written("../gone/main.tf", ""),
    "lock file": written(".terraform.lock.hcl", "# other"),
    "no lock file": removed(".terraform.lock.hcl"),
    "the backend that init noted": written(".terraform/terraform.tfstate", '{"backend": {"a": 1}}'),
    "no note of the backend": removed(".terraform/terraform.tfstate"),
    "the modules that init noted": written(".terraform/modules/modules.json", "{}"),
    "no modules": removed(".terraform/modules/modules.json"),
    "broken modules": written(".terraform/modules/modules.json", "{"),
}
MATTERS_NOT = {
    "documentation": written("README.md", "other"),
    "the engine's variable file": written("prod.tfvars", "a = 2"),
    "a new file": written("notes.txt", ""),
    "the state": written("terraform.tfstate", '{"serial": 2}'),
    "the selected workspace": written(".terraform/environment", "prod"),
    "a directory that no module is in": written("scripts/main.tf", "# other"),
    "a directory beside the package": written("../elsewhere/main.tf", "# other"),
    "other files of a module": written("../module/notes.txt", "other"),
    "the override of a run": written(GENERATED_OVERRIDE, "# other"),
}


def test_nothing_has_changed(package: Path) -> None:
    assert digest(package) == digest(package)


@pytest.mark.parametrize("change", [pytest.param(change, id=what) for what, change in MATTERS.items()])
def test_a_file_that_init_reads_or_wrote_matters(package: Path, change: Callable[[Path], None]) -> None:
    before = digest(package)

    change(package)

    assert digest(package) != before


@pytest.mark.parametrize("change", [pytest.param(change, id=what) for what, change in MATTERS_NOT.items()])
def test_a_file_that_has_nothing_to_do_with_init_does_not(
    package: Path, change: Callable[[Path], None]
) -> None:
    before = digest(package)

    change(package)

    assert digest(package) == before


@pytest.mark.parametrize(
    "binary",
    [
        pytest.param(BINARY._replace(engine=EngineName.OPENTOFU), id="engine"),
        pytest.param(BINARY._replace(version=Version(1, 11, 5)), id="version"),
        pytest.param(BINARY._replace(path="/opt/terraform"), id="path"),
    ],
)
def test_another_engine_matters(package: Path, binary: Binary) -> None:
    assert digest(package, binary=binary) != digest(package)


def test_how_the_engine_was_chosen_does_not(package: Path) -> None:
    assert digest(package, binary=BINARY._replace(chosen_by="found on PATH")) == digest(package)


@pytest.mark.parametrize(
    "contents",
    [
        pytest.param(("", 'bucket = "b"\n'), id="a backend value"),
        pytest.param(("", 'bucket = "a"\n', ""), id="one more backend file, empty"),
        pytest.param(("",), id="no backend value"),
        pytest.param(('terraform { backend "local" {} }', 'bucket = "a"\n'), id="a generated backend"),
        pytest.param(('bucket = "a"\n', ""), id="another order"),
    ],
)
def test_the_backend_matters(package: Path, contents: Sequence[str]) -> None:
    assert digest(package, contents=contents) != digest(package)


@pytest.mark.parametrize("arguments", [(), ("-upgrade", "-x"), ("-upgrad", "e")])
def test_arguments_of_init_matter(package: Path, arguments: Sequence[str]) -> None:
    assert digest(package, arguments=arguments) != digest(package)


def test_what_moves_from_one_part_to_the_next_matters(package: Path) -> None:
    parts = (
        digest(package, arguments=("a", "b"), contents=("c",)),
        digest(package, arguments=("a",), contents=("b", "c")),
        digest(package, arguments=("a", "bc"), contents=()),
        digest(package, arguments=("a", "contents", "b"), contents=("c",)),
    )

    assert len(set(parts)) == len(parts)


def test_another_data_directory_matters(package: Path) -> None:
    (package / "other").mkdir()

    assert len({digest(package), digest(package, data_directory="other")}) == 2


@pytest.mark.parametrize(
    "modules",
    ["[]", "1", '{"Modules": 1}', '{"Modules": [{}]}', '{"Modules": [{"Dir": 1}]}', "\0", "[" * 100_000],
    ids=["list", "number", "no list", "no directory", "no text", "no JSON", "too deep"],
)
def test_modules_that_make_no_sense_are_compared_as_they_are(package: Path, modules: str) -> None:
    before = digest(package)
    (package / ".terraform/modules/modules.json").write_text(modules)

    assert digest(package) != before
    assert digest(package) == digest(package)


def test_what_cannot_be_read_is_left_to_the_engine(package: Path) -> None:
    (package / "broken.tf").symlink_to("nowhere")
    os.mkfifo(package / "pipe.tf")
    (package / "directory.tf").mkdir()

    assert digest(package) == digest(package)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_module_that_nobody_may_read_is_left_to_the_engine(package: Path) -> None:
    (package / "../module").chmod(0)

    assert digest(package) == digest(package)

    (package / "../module").chmod(0o700)


def test_a_good_init_is_remembered_until_it_is_forgotten(tmp_path: Path) -> None:
    memory = InitMemory(tmp_path / "cache", "package")
    assert not memory.holds("digest")

    memory.keep("digest")

    assert InitMemory(tmp_path / "cache", "package").holds("digest")
    assert not memory.holds("other")
    assert not InitMemory(tmp_path / "cache", "another package").holds("digest")

    memory.forget()
    memory.forget()
    assert not memory.holds("digest")


def test_a_memory_is_nobody_elses_to_read(tmp_path: Path) -> None:
    InitMemory(tmp_path / "cache", "package").keep("digest")

    (file,) = (tmp_path / "cache/inits").iterdir()
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_memory_that_cannot_be_used_only_costs_time(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where the directory should be")
    memory = InitMemory(tmp_path / "cache", "package")

    memory.keep("digest")
    memory.forget()

    assert not memory.holds("digest")


def test_a_memory_of_other_bytes_holds_nothing(tmp_path: Path) -> None:
    memory = InitMemory(tmp_path, "package")
    memory.keep("digest")
    (file,) = (tmp_path / "inits").iterdir()
    file.write_bytes(b"\xff")

    assert not memory.holds("digest")
