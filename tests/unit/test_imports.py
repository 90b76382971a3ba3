"""Imports go one way: the command line, then front ends and runs, then what is pure."""

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = "hereya_tf"
# What acts on the world; a module that is marked pure has no use for it.
ACTING = {
    *(
        "asyncio",
        "fcntl",
        "logging",
        "multiprocessing",
        "select",
        "shutil",
        "socket",
        "sqlite3",
        "subprocess",
    ),
    *("tempfile", "threading", "urllib.request"),
}


BELOW_FRONT_ENDS = tuple(f"{PACKAGE}.{name}" for name in ("events", "question", "report", "ui", "words"))


def modules(repository: Path) -> dict[str, Path]:
    """Every module of the package by its name."""
    files = sorted((repository / PACKAGE).rglob("*.py"))
    names = [".".join(file.relative_to(repository).with_suffix("").parts) for file in files]
    return {name.removesuffix(".__init__"): file for name, file in zip(names, files, strict=True)}


def imported(tree: ast.Module, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a module imports anywhere in it; our own by their full names."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    inner = f"{module}.{alias.name}"
                    yield inner if inner in known else module
            case ast.ImportFrom():
                raise AssertionError("a relative import")
            case _:
                pass


@pytest.fixture(scope="module")
def graph(repository: Path) -> dict[str, frozenset[str]]:
    """What each module of ours imports."""
    known = modules(repository)
    return {
        name: frozenset(imported(ast.parse(file.read_text(encoding="utf-8")), known)) - {name}
        for name, file in known.items()
    }


@pytest.fixture(scope="module")
def marks(repository: Path) -> dict[str, str]:
    """The first line of each module's docstring."""
    texts = {
        name: ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
        for name, file in modules(repository).items()
    }
    return {name: (text or "").split("\n")[0] for name, text in texts.items()}


def ours(names: frozenset[str]) -> set[str]:
    return {name for name in names if name.split(".")[0] == PACKAGE}


def below(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_there_is_something_to_look_at(graph: Mapping[str, frozenset[str]]) -> None:
    assert {"hereya_tf.cli", "hereya_tf.run", "hereya_tf.ui.plain", "hereya_tf.__main__"} <= set(graph)
    assert "hereya_tf.events" in graph["hereya_tf.runs.journal"]
    assert "hereya_tf.cli.conduct" in graph["hereya_tf.cli.operations"], "imports in functions count too"


def test_nothing_imports_the_command_line(graph: Mapping[str, frozenset[str]]) -> None:
    outside = {
        name: sorted(target for target in targets if below(target, "hereya_tf.cli"))
        for name, targets in graph.items()
        if not below(name, "hereya_tf.cli", "hereya_tf.__main__")
    }

    assert {name: targets for name, targets in outside.items() if targets} == {}


def test_front_ends_know_events_reports_and_the_question_only(graph: Mapping[str, frozenset[str]]) -> None:
    known = {
        name: sorted(target for target in ours(targets) if not below(target, *BELOW_FRONT_ENDS))
        for name, targets in graph.items()
        if below(name, "hereya_tf.ui")
    }

    assert {name: targets for name, targets in known.items() if targets} == {}


def test_only_the_command_line_and_the_run_know_front_ends(graph: Mapping[str, frozenset[str]]) -> None:
    knowing = {name for name, targets in graph.items() if any(below(t, "hereya_tf.ui") for t in targets)}

    assert {name for name in knowing if not below(name, "hereya_tf.cli", "hereya_tf.ui")} == set()


def test_only_the_command_line_knows_click(graph: Mapping[str, frozenset[str]]) -> None:
    knowing = {name for name, targets in graph.items() if any(below(t, "click") for t in targets)}

    assert {name for name in knowing if not below(name, "hereya_tf.cli")} == set()


def test_the_run_is_known_only_from_above(graph: Mapping[str, frozenset[str]]) -> None:
    knowing = {name for name, targets in graph.items() if "hereya_tf.run" in targets}

    assert {name for name in knowing if not below(name, "hereya_tf.cli")} == set()


def test_there_are_no_cycles(graph: Mapping[str, frozenset[str]]) -> None:
    TopologicalSorter({name: ours(targets) for name, targets in graph.items()}).prepare()


def test_what_is_marked_pure_imports_nothing_that_acts(
    graph: Mapping[str, frozenset[str]], marks: Mapping[str, str]
) -> None:
    pure = [name for name, mark in marks.items() if "(pure)" in mark]
    acting = {
        name: sorted(
            target
            for target in graph[name]
            if not ACTING.isdisjoint((target, target.split(".")[0])) or "(I/O)" in marks.get(target, "")
        )
        for name in pure
    }

    assert len(pure) > 5
    assert {name: targets for name, targets in acting.items() if targets} == {}


@pytest.mark.parametrize("word", ["utils", "helpers", "common", "models", "constants", "misc"])
def test_no_module_has_a_name_that_says_nothing(graph: Mapping[str, frozenset[str]], word: str) -> None:
    assert {name for name in graph if word in name.split(".")} == set()
