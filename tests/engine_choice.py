"""What tests of choosing an engine need: files that look like engines, and `choose` with few words."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hereya_tf.engine import Binary, EngineName
from hereya_tf.engine.choose import choose
from hereya_tf.engine.constraints import parse_constraint
from hereya_tf.engine.identity import RunVersion, ask_version
from hereya_tf.errors import HereyaError

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


class Chooser:
    """`choose` with a PATH of its own directory and defaults for what a test does not look at."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "bin"
        self.cache = directory / "engine-cache"
        self.memory = self.cache / "engines.json"

    def __call__(
        self,
        wish: str | None = None,
        *,
        run_version: RunVersion = ask_version,
        written_by: frozenset[EngineName] = frozenset(),
        environment: Mapping[str, str] | None = None,
        directory: Path = Path("/"),
        version: str | None = None,
    ) -> Binary:
        return choose(
            wish,
            wish_source="--engine",
            environment={"PATH": str(self.path), **(environment or {})},
            cache_directory=self.cache,
            evidence=written_by,
            wanted=parse_constraint(version, "--engine-version") if version is not None else None,
            directory=directory,
            run_version=run_version,
        )


def refusal(error: pytest.ExceptionInfo[HereyaError]) -> tuple[str, int, tuple[str, ...]]:
    return str(error.value), error.value.failure_class.exit_code, error.value.hints
