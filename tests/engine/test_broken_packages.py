"""Packages that a real engine cannot run: each failure has its class, and the words that its reader needs."""

import contextlib
import fcntl
import json
import shutil
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hereya_tf.errors import FailureClass
from tests.command_line import REPOSITORY, Result
from tests.engine import scenes
from tests.engine.driving import Driver
from tests.engine.state_server import StateServer

pytestmark = [pytest.mark.real_engine, pytest.mark.usefixtures("providers")]

BROKEN = REPOSITORY / "fixtures/broken"
NAMES = sorted(entry.name for entry in BROKEN.iterdir() if entry.is_dir())
EXPECTED = "expected.toml"
STATUSES = {1: "failed", 3: "refused", 4: "busy", 5: "failed", 124: "timed_out"}
HOLDER = {
    "ID": "1f6c3c2e-0000-4000-8000-5f3e6b7a9d10",
    "Operation": "OperationTypeApply",
    "Info": "",
    "Who": "maria@laptop",
    "Version": "1.11.4",
    "Created": "2026-11-30T01:57:28.123456789Z",
    "Path": "terraform.tfstate",
}

NEVER_SAID = ("encountered problems during initiali", "runs log last")
FATES = ("done", "failed", "unfinished", "not_started")

Environment = Mapping[str, str]


class Expected(NamedTuple):
    """What `expected.toml` says; fixtures/broken/README.md tells what each key is for."""

    failure_class: FailureClass
    exit_code: int
    words: tuple[str, ...]
    hint: str
    command: tuple[str, ...]
    before: tuple[tuple[str, ...], ...]
    setup: str
    environment: Environment
    files: Mapping[str, str]
    platform: str
    fates: Mapping[str, list[str]]


def read_expected(name: str) -> Expected:
    """The expectation of a package; a key that means nothing is an error."""
    document: dict[str, Any] = tomllib.loads((BROKEN / name / EXPECTED).read_text(encoding="utf-8"))
    expected = Expected(
        failure_class=FailureClass(document.pop("class")),
        exit_code=document.pop("exit_code"),
        words=tuple(document.pop("words")),
        hint=document.pop("hint"),
        command=tuple(document.pop("command", ("provision",))),
        before=tuple(tuple(command) for command in document.pop("before", ())),
        setup=document.pop("setup", "nothing"),
        environment=document.pop("environment", {}),
        files=document.pop("files", {}),
        platform=document.pop("platform", sys.platform),
        fates={fate: sorted(document.pop(fate, ())) for fate in FATES},
    )
    assert document == {}, f"{name}: unknown keys"
    return expected


@contextlib.contextmanager
def nothing(package: Path) -> Iterator[Environment]:
    yield {}


@contextlib.contextmanager
def state_in_use(package: Path) -> Iterator[Environment]:
    """Somebody on this machine is at work on the state, as the engine would lock it."""
    (package / ".terraform.tfstate.lock.info").write_text(json.dumps(HOLDER))
    with (package / "terraform.tfstate").open("w") as state:
        fcntl.lockf(state, fcntl.LOCK_EX)
        yield {}


@contextlib.contextmanager
def package_in_use(package: Path) -> Iterator[Environment]:
    with scenes.package_lock_held(package):
        yield {}


def state_server(
    refuses: Mapping[str, int], lock: Mapping[str, str] | None = None
) -> Callable[[Path], contextlib.AbstractContextManager[Environment]]:
    """A setup: the package's state is on a server."""

    @contextlib.contextmanager
    def setup(package: Path) -> Iterator[Environment]:
        with StateServer(refuses, lock) as server:
            yield server.environment

    return setup


SETUPS: Mapping[str, Callable[[Path], contextlib.AbstractContextManager[Environment]]] = {
    "nothing": nothing,
    "state-in-use": state_in_use,
    "package-in-use": package_in_use,
    "state-server-with-a-password": state_server({"GET": 401, "LOCK": 401}),
    "state-server-that-is-locked": state_server({}, HOLDER),
    "state-server-with-a-limit": state_server({"POST": 413}),
    "state-server-that-keeps-its-lock": state_server({"UNLOCK": 500}),
}


def copy_of(name: str, expected: Expected, directory: Path) -> Path:
    """The package with the files that it cannot have here."""
    package = directory / name
    shutil.copytree(BROKEN / name, package, ignore=shutil.ignore_patterns(EXPECTED))
    for file, text in expected.files.items():
        (package / file).write_text(text, encoding="utf-8")
    return package


def run(hereya: Driver, package: Path, command: tuple[str, ...], environment: Environment) -> Result:
    """As a user in the package's directory."""
    operation, *arguments = command
    always = ("--yes", "--json", "--engine", hereya.wish)
    return hereya.cli(operation, *always, *arguments, cwd=package, env=environment)


def addresses(report: str, fate: str) -> list[str]:
    """The resources that a text report has under a heading such as `not started (2):`."""
    _, _, rest = report.partition("\n" + fate.replace("_", " ") + " (")
    return sorted(line.split()[1] for line in rest.partition("\n\n")[0].splitlines()[1:])


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_package_fails_with_the_words_that_its_user_needs(
    hereya: Driver, tmp_path: Path, name: str
) -> None:
    expected = read_expected(name)
    if sys.platform != expected.platform:
        pytest.skip(f"this can be had on {expected.platform} only")
    package = copy_of(name, expected, tmp_path)
    report = tmp_path / "report.txt"
    for command in expected.before:
        before = run(hereya, package, command, expected.environment)
        assert before.exit_code == 0, before.stdout

    with SETUPS[expected.setup](package) as environment:
        command = (*expected.command, "--report-file", str(report))
        failed = run(hereya, package, command, {**expected.environment, **environment})

    result = failed.result
    failure = result["failure"]
    assert (failure["class"], failed.exit_code, result["status"], result["exit_code"]) == (
        expected.failure_class,
        expected.exit_code,
        STATUSES[expected.exit_code],
        expected.exit_code,
    ), result
    said = "\n".join((result["reason"], failure["hint"] or "", failure["stderr"]))
    written = report.read_text(encoding="utf-8")
    assert [word for word in expected.words if word not in said] == [], said
    assert expected.hint in failure["hint"]
    # What tells of nothing that its reader could look at, or of another run.
    assert [word for word in NEVER_SAID if word in said] == [], said
    assert f"/{result['run']}/" not in result["reason"]
    assert [word for word in (*expected.words, expected.hint) if word not in written] == [], written
    assert {fate: addresses(written, fate) for fate in FATES} == expected.fates, written


def test_there_are_enough_broken_packages_and_each_says_what_is_expected_of_it() -> None:
    expectations = {name: read_expected(name) for name in NAMES}

    assert len(NAMES) >= 25
    assert [name for name, expected in expectations.items() if not (expected.words and expected.hint)] == []
    assert [name for name, expected in expectations.items() if expected.setup not in SETUPS] == []


def test_broken_packages_cover_most_classes() -> None:
    covered = {read_expected(name).failure_class for name in NAMES}

    assert len(covered) >= 18
