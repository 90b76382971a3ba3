"""`--engine-version` on real engines: the same rules as theirs, and the one that is taken is the one that runs."""

import json
from pathlib import Path

import pytest

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.constraints import parse_constraint
from hereya_tf.errors import BadInput
from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.engine.driving import Driver, failure, succeeded, warnings

pytestmark = pytest.mark.real_engine

PACKAGE = 'output "o" { value = "o" }\n'
EXACT = ("{0}.{1}.{2}", "v{0}.{1}.{2}", "= {0}.{1}.{2}", "!= {0}.{1}.{2}", "!={0}.{1}.{2}", "{0}.{1}", "{0}")
ORDER = (
    *("> {0}.{1}.{2}", ">= {0}.{1}.{2}", "< {0}.{1}.{2}", "<={0}.{1}.{2}", ">{0}", "< {0}", "<= {0}.{1}"),
    *(">= {0}.{1}, < {0}.{next}", ">= {0} , < {0}.{1}", " >= {0},<\t{next} "),
)
PESSIMISTIC = ("~> {0}", "~>{0}.{1}", "~> {0}.{1}.{2}", "~> {0}.{1}.0", "~> {0}.{next}", "~> 0", "~> 0.15")
NO_CONSTRAINTS = (
    "^{0}.{1}",
    "{0}.x",
    "==1.9",
    "> = {0}",
    "latest release",
    ">=",
    "{0}.{1},",
    "{0}..{1}",
    "~{0}",
)


@pytest.fixture
def identity(hereya: Driver) -> tuple[EngineName, Version]:
    """Which engine is under test."""
    title, _, number = hereya.plain(Path("/"), "version").splitlines()[0].partition(" v")
    return next(name for name in EngineName if name.title == title), Version.parse(number)


@pytest.mark.parametrize(
    "constraints",
    [
        pytest.param(EXACT, id="exact"),
        pytest.param(ORDER, id="order"),
        pytest.param(PESSIMISTIC, id="pessimistic"),
        pytest.param(NO_CONSTRAINTS, id="none"),
    ],
)
def test_a_constraint_means_what_it_means_to_the_engine(
    hereya: Driver,
    make_package: MakePackage,
    identity: tuple[EngineName, Version],
    constraints: tuple[str, ...],
) -> None:
    engine, version = identity
    texts = [text.format(*version, next=max(version[:2]) + 1) for text in constraints]
    # Newer OpenTofu reads it in its own files alone; all that are there are looked at, and each is told.
    ending = "tofu" if engine is EngineName.OPENTOFU and version >= Version(1, 8) else "tf"
    files = {
        f"c{number}.{ending}": f"terraform {{\n  required_version = {json.dumps(text)}\n}}\n"
        for number, text in enumerate(texts)
    }

    said = json.loads(hereya.plain(make_package(files), "validate", "-json", check=False))

    places = [entry["range"]["filename"] for entry in said["diagnostics"] if entry["severity"] == "error"]
    refused = {texts[int(place.removeprefix("c").partition(".")[0])] for place in places}
    assert refused == {text for text in texts if not allows(text, version)}


def allows(text: str, version: Version) -> bool:
    try:
        return parse_constraint(text, "--engine-version").allows(version)
    except BadInput:
        return False


@pytest.mark.parametrize("constraint", ["{0}.{1}.{2}", "~> {0}.{1}"])
def test_an_engine_of_the_version_runs_and_says_why(
    hereya: Driver,
    make_package: MakePackage,
    identity: tuple[EngineName, Version],
    constraint: str,
) -> None:
    engine, version = identity
    text = constraint.format(*version)

    result = hereya.provision(make_package({"main.tf": PACKAGE}), "--engine-version", text)

    assert succeeded(result)["engine"] == {"name": engine, "version": str(version)}
    (ready,) = (event for event in result.events if event["type"] == "engine_ready")
    assert ready["chosen_by"].endswith(f"satisfies `{text}` of --engine-version")
    assert warnings(result) == []


@pytest.fixture
def empty_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Engines are taken from there, and there is none."""
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    monkeypatch.setenv("HEREYA_TF_FROM", str(mirror))
    return mirror


@pytest.mark.usefixtures("empty_mirror", "embedded_engine")
def test_the_newest_is_looked_for_in_the_mirror_and_what_is_at_hand_taken_when_there_is_none(
    cli: CommandLine, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": PACKAGE})

    result = cli(
        "provision", package, "--yes", "--json", "--engine", "terraform", "--engine-version", "latest"
    )

    version = succeeded(result)["engine"]["version"]
    (ready,) = (event for event in result.events if event["type"] == "engine_ready")
    place, _, why = ready["chosen_by"].partition(": ")
    assert why == "--engine asks for Terraform, satisfies `latest` of --engine-version"
    assert warnings(result) == [
        "no release of Terraform satisfies `latest` of --engine-version;"
        f" Terraform {version} is taken, {place}"
    ]


def test_what_is_too_old_is_passed_over_for_the_embedded_engine_when_the_mirror_has_none(
    cli: CommandLine,
    make_package: MakePackage,
    embedded_engine: tuple[str, ...],
    empty_mirror: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = tmp_path / "path/terraform"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho Terraform v1.0.0\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(old.parent))
    package = make_package({"main.tf": PACKAGE, "hereya-tf.toml": 'engine-version = "> 1.0.0"\n'})

    result = cli("provision", package, "--yes", "--json")
    named = cli("provision", package, "--yes", "--json", "--engine", "terraform")
    contrary = cli("provision", package, "--yes", "--json", "--engine-version", "9.0.0")

    asking = "`> 1.0.0` of hereya-tf.toml:1"
    for found, engine, wish in (
        (result, "OpenTofu", ""),
        (named, "Terraform", "--engine asks for Terraform, "),
    ):
        assert succeeded(found)["env"] == {"o": "o"}
        (ready,) = (event for event in found.events if event["type"] == "engine_ready")
        assert (ready["path"], ready["chosen_by"]) == (
            embedded_engine[-1],
            f"embedded: {wish}satisfies {asking}",
        )
        assert warnings(found) == [
            f"no release of {engine} satisfies {asking}; Terraform {ready['version']} is taken, embedded"
        ]
    exit_code, failure_class, reason = failure(contrary)
    assert (exit_code, failure_class) == (5, "engine-unavailable")
    embedded = succeeded(result)["engine"]["version"]
    assert reason == (
        f"`--engine-version` asks for `9.0.0`, but `{old}` is Terraform 1.0.0"
        f" and the embedded engine is Terraform {embedded}"
    )
    file = empty_mirror / "opentofu/opentofu/releases/download/v9.0.0/tofu_9.0.0_SHA256SUMS"
    first, *_ = contrary.result["failure"]["hint"].splitlines()
    assert first == f"none can be downloaded: `{file}` does not exist"


def test_the_environment_and_the_users_file_are_named_as_who_asked(
    hereya: Driver, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": PACKAGE})
    settings = tmp_path / "settings"
    settings.mkdir()
    (settings / "config.toml").write_text('wait = "1m"\nengine-version = "~> 99.2"\n')

    by_environment = hereya.provision(package, env={"HEREYA_TF_ENGINE_VERSION": "99.1.0"})
    by_file = hereya.provision(package, env={"HEREYA_TF_CONFIG_DIR": str(settings)})

    assert failure(by_environment)[2].startswith("`HEREYA_TF_ENGINE_VERSION` asks for `99.1.0`, but ")
    assert "config.toml:2` asks for `~> 99.2`, but " in failure(by_file)[2]
    (package / "hereya-tf.toml").write_text('engine-version = "> 0.1"\n')
    succeeded(hereya.provision(package, env={"HEREYA_TF_CONFIG_DIR": str(settings)}))
    refused = hereya.provision(package, env={"HEREYA_TF_ENGINE_VERSION": "99.1.0"})
    assert failure(refused)[0] == 5
