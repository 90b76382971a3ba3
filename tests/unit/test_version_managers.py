"""The engines behind version managers are found in the layouts that these really have; nothing hostile hurts."""

import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.pins import parse_version_file
from hereya_tf.engine.version_managers import Held, held_behind, preferred

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
ASDF_SHIM = '#!/usr/bin/env bash\n# asdf-plugin: {} 1.9.0\nexec asdf exec "{}" "$@"\n'


class Layout(NamedTuple):
    """What a version manager has put on a disk: `binary` is below a version's directory in `versions`."""

    manager: str
    engine: EngineName
    launcher: Path
    versions: Path
    binary: str
    environment: Mapping[str, str]
    default: Path

    def held(self) -> tuple[Held, ...]:
        return held_behind(self.launcher, self.engine, self.environment)

    def preferred(self) -> tuple[str, str] | None:
        return preferred(self.launcher, self.engine, self.environment)

    def install(self, name: str) -> Path:
        return executable(self.versions / name / self.binary)

    def expected(self, *names: str) -> tuple[Held, ...]:
        return tuple(
            Held(Version.parse(name), self.versions / name / self.binary, self.manager) for name in names
        )


def executable(file: Path, text: str = "\x7fELF") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)
    return file


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def link(file: Path, target: Path | str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(target)
    return file


def tfenv(home: Path, engine: EngineName = TERRAFORM) -> Layout:
    """A clone of the repository, as its README has it; tofuenv is a copy."""
    name = "tfenv" if engine is TERRAFORM else "tofuenv"
    root = home / f".{name}"
    executable(root / "bin" / name, "#!/usr/bin/env bash\n")
    executable(root / "libexec" / f"{name}-exec", "#!/usr/bin/env bash\n")
    launcher = executable(root / "bin" / engine.executable, "#!/usr/bin/env bash\n")
    environment = {"HOME": str(home)}
    return Layout(name, engine, launcher, root / "versions", engine.executable, environment, root / "version")


def tofuenv(home: Path, engine: EngineName = OPENTOFU) -> Layout:
    return tfenv(home, engine)


def asdf(home: Path, engine: EngineName = TERRAFORM) -> Layout:
    data = home / ".asdf"
    launcher = executable(
        data / "shims" / engine.executable, ASDF_SHIM.format(engine.value, engine.executable)
    )
    binary = f"bin/{engine.executable}"
    environment = {"HOME": str(home)}
    return Layout(
        "asdf",
        engine,
        launcher,
        data / "installs" / engine.value,
        binary,
        environment,
        home / ".tool-versions",
    )


def mise(home: Path, engine: EngineName = TERRAFORM) -> Layout:
    data = home / ".local/share/mise"
    program = executable(home / ".local/bin/mise")
    return Layout(
        "mise",
        engine,
        link(data / "shims" / engine.executable, program),
        data / "installs" / engine.value,
        engine.executable,
        {"HOME": str(home)},
        home / ".config/mise/config.toml",
    )


def tenv(home: Path, engine: EngineName = TERRAFORM) -> Layout:
    """What its package installs to `/usr/bin`."""
    programs = home / "usr/bin"
    for name in ("tenv", "terraform", "tofu"):
        executable(programs / name)
    root = home / ".tenv" / engine.title
    return Layout(
        "tenv",
        engine,
        programs / engine.executable,
        root,
        engine.executable,
        {"HOME": str(home)},
        root / "version",
    )


Build = Callable[[Path, EngineName], Layout]
LAYOUTS: tuple[tuple[Build, EngineName], ...] = (
    (tfenv, TERRAFORM),
    (tofuenv, OPENTOFU),
    *((build, engine) for build in (asdf, mise, tenv) for engine in EngineName),
)
every_layout = pytest.mark.parametrize(
    ("build", "engine"),
    [pytest.param(build, engine, id=f"{build.__name__}-{engine}") for build, engine in LAYOUTS],
)


def system(layout: Layout, root: Path) -> Layout:
    """Without what mise may have in the directories of this machine."""
    return layout._replace(environment={**layout.environment, "MISE_SYSTEM_DATA_DIR": str(root / "none")})


@every_layout
def test_what_a_manager_holds_is_found_newest_first(tmp_path: Path, build: Build, engine: EngineName) -> None:
    layout = build(tmp_path, engine)
    for name in ("1.9.0", "1.10.2", "1.10.0-rc2", "1.8.10"):
        layout.install(name)

    assert layout.expected("1.10.2", "1.10.0-rc2", "1.9.0", "1.8.10") == layout.held()


@every_layout
def test_nothing_installed_is_nothing_held(tmp_path: Path, build: Build, engine: EngineName) -> None:
    layout = build(tmp_path, engine)

    assert (layout.held(), layout.preferred()) == ((), None)


@every_layout
def test_each_engine_is_its_own(tmp_path: Path, build: Build, engine: EngineName) -> None:
    layout = build(tmp_path, engine)
    layout.install("1.9.0")
    (other,) = set(EngineName) - {engine}

    assert held_behind(layout.launcher, other, layout.environment) == ()


@every_layout
def test_a_launcher_may_be_linked_from_elsewhere(tmp_path: Path, build: Build, engine: EngineName) -> None:
    layout = build(tmp_path / "opt/Cellar", engine)
    layout.install("1.9.0")
    (tmp_path / "brew").symlink_to("opt")
    linked = link(
        tmp_path / "bin" / engine.executable,
        Path("../brew/Cellar") / layout.launcher.relative_to(tmp_path / "opt/Cellar"),
    )
    again = link(tmp_path / "home/bin" / engine.executable, linked)

    assert layout.expected("1.9.0") == held_behind(again, engine, layout.environment)


def test_a_launcher_may_be_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = tfenv(tmp_path)
    layout.install("1.9.0")
    monkeypatch.chdir(tmp_path / ".tfenv")

    assert layout.expected("1.9.0") == held_behind(Path("bin/terraform"), TERRAFORM, {})


@pytest.mark.parametrize(
    ("build", "engine", "variable", "below"),
    [
        (tfenv, TERRAFORM, "TFENV_CONFIG_DIR", "versions/{}/terraform"),
        (tfenv, TERRAFORM, "TFENV_ROOT", "versions/{}/terraform"),
        (tofuenv, OPENTOFU, "TOFUENV_CONFIG_DIR", "versions/{}/tofu"),
        (tofuenv, OPENTOFU, "TOFUENV_ROOT", "versions/{}/tofu"),
        (asdf, TERRAFORM, "ASDF_DATA_DIR", "installs/terraform/{}/bin/terraform"),
        (asdf, OPENTOFU, "ASDF_DATA_DIR", "installs/opentofu/{}/bin/tofu"),
        (mise, TERRAFORM, "MISE_DATA_DIR", "installs/terraform/{}/terraform"),
        (mise, TERRAFORM, "MISE_INSTALLS_DIR", "terraform/{}/bin/terraform"),
        (mise, OPENTOFU, "MISE_DATA_DIR", "installs/aqua-opentofu-opentofu/{}/tofu"),
        (tenv, TERRAFORM, "TENV_ROOT", "Terraform/{}/terraform"),
        (tenv, OPENTOFU, "TOFUENV_ROOT", "OpenTofu/{}/tofu"),
        (tenv, TERRAFORM, "TFENV_ROOT", "Terraform/{}/terraform"),
    ],
)
def test_a_variable_says_where_versions_are(
    tmp_path: Path, build: Build, engine: EngineName, variable: str, below: str
) -> None:
    layout = system(build(tmp_path, engine), tmp_path)
    layout.install("1.8.0")
    moved = executable(tmp_path / "moved" / below.format("1.9.0"))

    def held(value: str) -> tuple[Held, ...]:
        return held_behind(layout.launcher, engine, {**layout.environment, variable: value})

    assert (Held(Version(1, 9), moved, layout.manager),) == held(str(tmp_path / "moved"))
    assert (Held(Version(1, 9), moved, layout.manager),) == held("~/moved/")
    assert held("") == held("moved") == layout.expected("1.8.0"), "empty or relative is none"


def test_the_stronger_of_tenvs_variables_wins(tmp_path: Path) -> None:
    layout = tenv(tmp_path)
    layout.install("1.8.0")
    own, other = str(tmp_path / ".tenv"), str(tmp_path / "other")
    first = {"TENV_ROOT": own, "TOFUENV_ROOT": other, "TFENV_ROOT": other}
    second = {"TOFUENV_ROOT": own, "TFENV_ROOT": other}

    assert layout.expected("1.8.0") == held_behind(layout.launcher, TERRAFORM, first)
    assert layout.expected("1.8.0") == held_behind(layout.launcher, TERRAFORM, second)


@pytest.mark.parametrize("build", [asdf, tfenv, mise])
def test_without_a_home_the_launcher_still_tells(tmp_path: Path, build: Build) -> None:
    layout = system(build(tmp_path, TERRAFORM)._replace(environment={}), tmp_path)
    layout.install("1.9.0")

    assert layout.expected("1.9.0") == layout.held()


@pytest.mark.parametrize("home", [{}, {"HOME": ""}, {"HOME": "here"}])
def test_without_a_home_there_is_nothing_below_it(tmp_path: Path, home: Mapping[str, str]) -> None:
    layout = tenv(tmp_path)._replace(environment=home)
    layout.install("1.9.0")
    write(layout.default, "1.9.0")

    assert (layout.held(), layout.preferred()) == ((), None)


def test_mises_links_stand_for_a_release_that_is_there_too(tmp_path: Path) -> None:
    layout = system(mise(tmp_path), tmp_path)
    layout.install("1.9.0")
    for name in ("1", "1.9", "latest", "production"):
        link(layout.versions / name, "./1.9.0")

    assert layout.expected("1.9.0") == layout.held()


def test_mise_may_have_a_release_as_a_link(tmp_path: Path) -> None:
    layout = system(mise(tmp_path), tmp_path)
    executable(layout.versions.parent / "terraform-hlencrst/terraform")
    link(layout.versions / "1.9.0", "../terraform-hlencrst")

    assert layout.expected("1.9.0") == layout.held()


def test_mise_has_a_directory_for_each_way_to_name_a_tool(tmp_path: Path) -> None:
    layout = system(mise(tmp_path, OPENTOFU), tmp_path)
    installs = layout.versions.parent
    files = {
        Version(1, 11): executable(installs / "ubi-opentofu-opentofu/1.11.0/tofu"),
        Version(1, 10): executable(installs / "github-opentofu-opentofu/1.10.0/tofu"),
        Version(1, 9): executable(installs / "opentofu/1.9.0/bin/tofu"),
        Version(1, 8): executable(installs / "aqua-opentofu-opentofu/1.8.0/tofu"),
    }
    executable(installs / "aqua-opentofu-opentofu/1.9.0/tofu")

    assert tuple(Held(version, file, "mise") for version, file in files.items()) == layout.held()


def test_mise_of_the_system_comes_after_the_users(tmp_path: Path) -> None:
    layout = mise(tmp_path)._replace(
        environment={"HOME": str(tmp_path), "MISE_SYSTEM_DATA_DIR": str(tmp_path / "system")}
    )
    layout.install("1.9.0")
    executable(tmp_path / "system/installs/terraform/1.9.0/terraform")
    shared = executable(tmp_path / "system/installs/terraform/1.10.0/terraform")

    assert (Held(Version(1, 10), shared, "mise"), *layout.expected("1.9.0")) == layout.held()


@pytest.mark.parametrize("variable", ["HOME", "XDG_DATA_HOME"])
def test_any_link_to_mise_is_its_shim(tmp_path: Path, variable: str) -> None:
    program = executable(tmp_path / "opt/mise-2026.1.0-linux-x64")
    launcher = link(tmp_path / "opt/bin/terraform", program)
    below = {"HOME": ".local/share/mise", "XDG_DATA_HOME": "mise"}[variable]
    file = executable(tmp_path / below / "installs/terraform/1.9.0/terraform")
    environment = {variable: str(tmp_path), "MISE_SYSTEM_DATA_DIR": str(tmp_path / "none")}

    assert (Held(Version(1, 9), file, "mise"),) == held_behind(launcher, TERRAFORM, environment)


@every_layout
def test_a_name_may_begin_with_v_and_only_a_whole_release_counts(
    tmp_path: Path, build: Build, engine: EngineName
) -> None:
    layout = system(build(tmp_path, engine), tmp_path)
    letters = ("1.9.\N{ARABIC-INDIC DIGIT ZERO}", os.fsdecode(b"1.9.\xff"))
    no_releases = [
        *(
            "1",
            "1.9",
            "v1",
            "latest",
            "ref-main",
            "1.9.0.1",
            "1.9.0+meta",
            "1.9.0-",
            "-1.9.0",
            "1.9.x",
            "vv1.9.0",
        ),
        *(
            "1.9.0\n",
            "\n1.9.0",
            "1.9.0 ",
            "..1.9.0",
            ".1.9.0",
            "~",
            *letters,
        ),
        *("9" * 200 + ".0.0", "1.0.0-" + "9" * 200, f"{10**10}.0.0"),
    ]
    for name in ("v1.9.0", "v1.10.1", "1.10.1", *no_releases):
        layout.install(name)

    assert layout.expected("1.10.1", "v1.9.0") == layout.held()


def test_of_two_names_for_a_release_the_plain_one_counts(tmp_path: Path) -> None:
    layout = tfenv(tmp_path)
    for number in range(20):
        first, second = ("", "v") if number % 2 else ("v", "")
        layout.install(f"{first}1.{number}.0")
        layout.install(f"{second}1.{number}.0")

    assert layout.expected(*(f"1.{number}.0" for number in range(19, -1, -1))) == layout.held()


@every_layout
def test_what_is_no_executable_file_is_passed_over(tmp_path: Path, build: Build, engine: EngineName) -> None:
    layout = system(build(tmp_path, engine), tmp_path)
    layout.install("1.9.0")
    layout.install("1.9.1").chmod(0o644)
    (layout.versions / "1.9.2" / layout.binary).mkdir(parents=True)
    layout.install("1.9.3").unlink()
    os.mkfifo(layout.versions / "1.9.3" / layout.binary, 0o755)
    link(layout.versions / "1.9.4" / layout.binary, "gone")
    link(layout.versions / "1.9.5" / layout.binary, Path(layout.binary).name)
    link(layout.versions / "1.9.6", "1.9.6")
    write(layout.versions / "1.9.7", "")
    link(layout.versions / "1.9.8" / layout.binary, layout.launcher)
    (layout.versions / "1.9.9").mkdir()

    assert layout.expected("1.9.0") == layout.held()


@every_layout
@pytest.mark.parametrize("kind", ["file", "dangling", "circle", "pipe"])
def test_versions_that_are_no_directory_are_none(
    tmp_path: Path, build: Build, engine: EngineName, kind: str
) -> None:
    layout = system(build(tmp_path, engine), tmp_path)
    layout.versions.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "file":
            layout.versions.write_text("")
        case "pipe":
            os.mkfifo(layout.versions)
        case "circle":
            layout.versions.symlink_to(layout.versions.name)
        case _:
            layout.versions.symlink_to("gone")

    assert layout.held() == ()


def test_of_very_many_entries_the_newest_thousand_count(tmp_path: Path) -> None:
    layout = tfenv(tmp_path)
    file = layout.install("0.0.0")
    for number in range(1, 1002):
        (layout.versions / f"0.0.{number}").mkdir()
        (layout.versions / f"0.0.{number}/terraform").hardlink_to(file)
    for number in range(10_000):
        (layout.versions / f"2.0.{number}").touch()
        (layout.versions / f"junk {number}").touch()

    assert [Version(0, 0, number) for number in range(1001, 1, -1)] == [
        held.version for held in layout.held()
    ]


@pytest.mark.parametrize(
    ("files", "launcher"),
    [
        ({"usr/bin/terraform": "#!/bin/sh\n"}, "usr/bin/terraform"),
        ({"usr/bin/terraform": "\x7fELF"}, "usr/bin/terraform"),
        ({"usr/bin/terraform": "#!/bin/sh\n", "usr/bin/tenv": "\x7fELF"}, "usr/bin/terraform"),
        ({"usr/bin/terraform": "#!/bin/sh\n", "usr/bin/tfenv": "#!/bin/sh\n"}, "usr/bin/terraform"),
        ({"shims/terraform": "#!/bin/sh\necho '# asdf-plugin: terraform 1.9.0'"}, "shims/terraform"),
        ({"bin/terraform": "#!/bin/sh\n# asdf-plugin: terraform 1.9.0\n"}, "bin/terraform"),
        ({}, "gone/terraform"),
        ({"usr/bin/tenv": "\x7fELF"}, "usr/bin/terraform"),
        ({}, ""),
        ({}, "a\0b/terraform"),
        ({".tfenv/libexec/tfenv-exec": "#!/bin/sh\n"}, ".tfenv/bin/a\0b"),
        ({}, "x" * 5000),
    ],
)
def test_what_belongs_to_no_manager_is_left_alone(
    tmp_path: Path, files: Mapping[str, str], launcher: str
) -> None:
    for name, text in files.items():
        executable(tmp_path / name, text)
    for below in (".tenv/Terraform", "versions", "usr/versions", ".tfenv/versions", "installs/terraform"):
        executable(tmp_path / below / "1.9.0/terraform")
        executable(tmp_path / below / "1.9.0/bin/terraform")
    environment = {"HOME": str(tmp_path), "TFENV_TERRAFORM_VERSION": "1.9.0"}

    assert held_behind(tmp_path / launcher, TERRAFORM, environment) == ()
    assert preferred(tmp_path / launcher, TERRAFORM, environment) is None


def test_links_in_a_circle_belong_to_nobody(tmp_path: Path) -> None:
    link(tmp_path / "terraform", "other")
    link(tmp_path / "other", "./terraform")
    link(tmp_path / "self", "self")

    assert held_behind(tmp_path / "terraform", TERRAFORM, {}) == ()
    assert held_behind(tmp_path / "self/terraform", TERRAFORM, {}) == ()


def test_tools_side_by_side_are_told_apart(tmp_path: Path) -> None:
    """A `tfenv` that is linked to where tenv's programs are does not make them tfenv's."""
    other = tfenv(tmp_path)
    layout = tenv(tmp_path)
    link(layout.launcher.parent / "tfenv", other.launcher.parent / "tfenv")
    layout.install("1.9.0")
    other.install("1.8.0")

    assert layout.expected("1.9.0") == layout.held()


VARIABLES = {
    ("tfenv", TERRAFORM): "TFENV_TERRAFORM_VERSION",
    ("tofuenv", OPENTOFU): "TOFUENV_TOFU_VERSION",
    ("asdf", TERRAFORM): "ASDF_TERRAFORM_VERSION",
    ("asdf", OPENTOFU): "ASDF_OPENTOFU_VERSION",
    ("mise", TERRAFORM): "MISE_TERRAFORM_VERSION",
    ("mise", OPENTOFU): "MISE_OPENTOFU_VERSION",
    ("tenv", TERRAFORM): "TFENV_TERRAFORM_VERSION",
    ("tenv", OPENTOFU): "TOFUENV_TOFU_VERSION",
}


def default_text(layout: Layout, version: str) -> str:
    """What the manager itself writes to the file of its defaults."""
    match layout.manager:
        case "asdf":
            return f"nodejs 22.1.0\n{layout.engine.value} {version}\n"
        case "mise":
            return f'[tools]\nnode = "22"\n{layout.engine.value} = "{version}"\n'
        case _:
            return f"{version}\n"


@every_layout
def test_the_managers_own_default_is_read(tmp_path: Path, build: Build, engine: EngineName) -> None:
    layout = build(tmp_path, engine)
    write(layout.default, default_text(layout, "1.9.0"))

    assert ("1.9.0", str(layout.default)) == layout.preferred()
    assert preferred(layout.launcher, engine, {}) == (
        ("1.9.0", str(layout.default)) if layout.manager in ("tfenv", "tofuenv") else None
    ), "without a home only what lies with the launcher"


@every_layout
def test_a_variable_comes_before_the_default(tmp_path: Path, build: Build, engine: EngineName) -> None:
    layout = build(tmp_path, engine)
    write(layout.default, default_text(layout, "1.9.0"))
    variable = VARIABLES[layout.manager, engine]

    def with_variable(value: str) -> tuple[str, str] | None:
        return layout._replace(environment={**layout.environment, variable: value}).preferred()

    assert with_variable("1.8.5") == ("1.8.5", variable)
    assert with_variable(" v1.8.5\n") == ("v1.8.5", variable)
    assert with_variable("") == with_variable("  ") == ("1.9.0", str(layout.default))
    assert with_variable("no version\x1b[2J") is None, "the manager would fail here, not go on"


@every_layout
@pytest.mark.parametrize("word", ["latest", "latest:^1.9", "min-required", "v1.9.0", "1.9", "1.10.0-rc1"])
def test_words_of_managers_are_versions_too(
    tmp_path: Path, build: Build, engine: EngineName, word: str
) -> None:
    layout = build(tmp_path, engine)
    write(layout.default, default_text(layout, word))

    assert (word, str(layout.default)) == layout.preferred()


@pytest.mark.parametrize(
    ("build", "engine", "name"),
    [
        (tfenv, TERRAFORM, ".terraform-version"),
        (tofuenv, OPENTOFU, ".opentofu-version"),
        (tenv, TERRAFORM, ".terraform-version"),
        (tenv, OPENTOFU, ".opentofu-version"),
    ],
)
def test_the_users_version_file_comes_before_the_managers(
    tmp_path: Path, build: Build, engine: EngineName, name: str
) -> None:
    layout = build(tmp_path, engine)
    write(layout.default, "1.9.0")
    write(tmp_path / name, "# for all I have\r\n1.7.3\r\n")

    assert ("1.7.3", str(tmp_path / name)) == layout.preferred()


@pytest.mark.parametrize(
    ("build", "variable", "below"),
    [
        (tfenv, "TFENV_CONFIG_DIR", "version"),
        (tfenv, "TFENV_ROOT", "version"),
        (tenv, "TENV_ROOT", "Terraform/version"),
        (tenv, "TFENV_ROOT", "Terraform/version"),
        (mise, "MISE_GLOBAL_CONFIG_FILE", ""),
        (mise, "MISE_CONFIG_FILE", ""),
        (mise, "MISE_CONFIG_DIR", "config.toml"),
        (mise, "XDG_CONFIG_HOME", "mise/config.toml"),
    ],
)
def test_a_variable_says_where_the_default_is(
    tmp_path: Path, build: Build, variable: str, below: str
) -> None:
    layout = build(tmp_path, TERRAFORM)
    write(layout.default, default_text(layout, "1.8.0"))
    moved = write(tmp_path / "moved" / below if below else tmp_path / "moved", default_text(layout, "1.9.0"))
    environment = {**layout.environment, variable: str(tmp_path / "moved")}

    assert preferred(layout.launcher, TERRAFORM, environment) == ("1.9.0", str(moved))


def test_tenvs_default_variable_comes_before_its_file(tmp_path: Path) -> None:
    layout = tenv(tmp_path, OPENTOFU)
    write(layout.default, "1.9.0")
    environment = {**layout.environment, "TOFUENV_TOFU_DEFAULT_VERSION": "~> 1.8"}

    assert preferred(layout.launcher, OPENTOFU, environment) == ("~> 1.8", "TOFUENV_TOFU_DEFAULT_VERSION")
    environment["TOFUENV_TOFU_VERSION"] = "1.7.0"
    assert preferred(layout.launcher, OPENTOFU, environment) == ("1.7.0", "TOFUENV_TOFU_VERSION")


@pytest.mark.parametrize("build", [asdf, mise])
def test_of_several_versions_in_a_variable_the_first_release_counts(tmp_path: Path, build: Build) -> None:
    layout = build(tmp_path, TERRAFORM)
    variable = VARIABLES[layout.manager, TERRAFORM]
    write(layout.default, default_text(layout, "1.7.0"))

    def with_variable(value: str) -> tuple[str, str] | None:
        return preferred(layout.launcher, TERRAFORM, {**layout.environment, variable: value})

    assert with_variable("1.9.0 1.8.0") == with_variable("system 1.9.0") == ("1.9.0", variable)
    assert with_variable("system") is with_variable("path:/opt ref:main") is None


@pytest.mark.parametrize(
    ("text", "engine", "expected"),
    [
        ('[tools]\nterraform = "1.9"\n', TERRAFORM, "1.9"),
        ('[tools]\nterraform = "prefix:1.9"\n', TERRAFORM, "1.9"),
        ('[tools]\nterraform = ["1.9.0", "1.8.0"]\n', TERRAFORM, "1.9.0"),
        ('[tools]\nterraform = { version = "1.9.0", os = ["linux"] }\n', TERRAFORM, "1.9.0"),
        ('[tools]\nterraform = [{ version = "1.9.0" }, "1.8.0"]\n', TERRAFORM, "1.9.0"),
        ('[tools.terraform]\nversion = "latest"\n', TERRAFORM, "latest"),
        ('[tools]\n"aqua:hashicorp/terraform" = "1.9.0"\n', TERRAFORM, "1.9.0"),
        ('[tools]\n"ubi:opentofu/opentofu" = "1.9.0"\n', OPENTOFU, "1.9.0"),
        ('[tools]\nopentofu = "1.9.0"\n', TERRAFORM, None),
        ('[tools]\nterraform = "1.9.0\\nopentofu 1.7.0"\n', OPENTOFU, None),
        ('[tools]\nterraform = "lts"\n', TERRAFORM, None),
        ('[tools]\nterraform = "{{ env.V }}"\n', TERRAFORM, None),
        ("[tools]\nterraform = 1.9\n", TERRAFORM, None),
        ("[tools]\nterraform = []\n", TERRAFORM, None),
        ("[tools]\nterraform = { version = 1 }\n", TERRAFORM, None),
        ('tools = "terraform"\n', TERRAFORM, None),
        ('terraform = "1.9.0"\n', TERRAFORM, None),
        ("[tools\n", TERRAFORM, None),
        ('[tools]\nterraform = "1.9.0"\n[x]\ny' + ".y" * 49 + " = 1\n", TERRAFORM, "1.9.0"),
        ('[tools]\nterraform = "1.9.0"\n[x]\ny' + ".y" * 20_000 + " = 1\n", TERRAFORM, None),
        ("x = " + "[" * 20_000, TERRAFORM, None),
        ("x = " + "{a=" * 10_000, TERRAFORM, None),
        ("terraform 1.9.0\n", TERRAFORM, None),
    ],
)
def test_mises_configuration_is_read_in_all_its_forms(
    tmp_path: Path, text: str, engine: EngineName, expected: str | None
) -> None:
    layout = mise(tmp_path, engine)
    write(layout.default, text)

    assert layout.preferred() == (None if expected is None else (expected, str(layout.default)))


@every_layout
@pytest.mark.parametrize("kind", ["pipe", "directory", "large", "noise", "circle", "empty", "two", "wide"])
def test_a_default_that_cannot_be_read_is_none(
    tmp_path: Path, build: Build, engine: EngineName, kind: str
) -> None:
    layout = build(tmp_path, engine)
    layout.default.parent.mkdir(parents=True, exist_ok=True)
    text = default_text(layout, "1.9.0")
    match kind:
        case "pipe":
            os.mkfifo(layout.default)
        case "directory":
            layout.default.mkdir()
        case "large":
            layout.default.write_text(text + "#" * 70_000)
        case "noise":
            layout.default.write_bytes(bytes(range(256)) * 100)
        case "circle":
            layout.default.symlink_to(layout.default.name)
        case "empty":
            layout.default.write_text(" \n")
        case "two":
            layout.default.write_text("1.9.0\n1.8.0\n")
        case _:
            layout.default.write_bytes(text.encode("utf-16"))

    assert layout.preferred() is None


def test_a_byte_order_mark_is_no_part_of_the_version(tmp_path: Path) -> None:
    layout = tfenv(tmp_path)
    write(layout.default, "\ufeff1.9.0\n")

    assert ("1.9.0", str(layout.default)) == layout.preferred()


# Whatever a file system takes as a name.
names = st.binary(min_size=1, max_size=30).filter(
    lambda name: b"/" not in name and b"\0" not in name and name not in (b".", b"..")
)
release_like = st.from_regex(rb"\Av?[0-9]{1,3}\.[0-9]\.[0-9](-[a-z0-9.]{0,5})?\n?\Z")


@given(st.sets(names | release_like, max_size=8))
def test_no_name_of_a_directory_does_harm(found: set[bytes]) -> None:
    with tempfile.TemporaryDirectory() as place:
        layout = tfenv(Path(place))
        installed = {layout.install(os.fsdecode(name)) for name in found}
        held = layout.held()

        assert {each.file for each in held} <= installed
        assert list(held) == sorted(held, key=lambda each: each.version, reverse=True)
        assert len(held) == len({each.version for each in held})
        assert all(Version.parse(each.file.parent.name) == each.version for each in held)


@settings(max_examples=40)
@given(st.binary(max_size=200) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")))
def test_no_text_of_a_default_does_harm(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as place:
        for build, engine in LAYOUTS:
            layout = build(Path(place, build.__name__, engine), engine)
            layout.default.parent.mkdir(parents=True, exist_ok=True)
            layout.default.write_bytes(data)
            said = layout.preferred()

            assert said is None or (
                said[1] == str(layout.default) and parse_version_file(said[0], "", engine).fault is None
            )
