"""Canaries in every place a secret comes from, looked for in every place text leaves through.

Where values belong they are allowed: the engine's own state, `--result-file`, and a plan's bundle.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import pytest

from hereya_tf.redaction import MASK
from hereya_tf.report.formats import SUFFIXES, Format
from tests.command_line import CommandLine, Result
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.engine.canaries import (
    BACKEND,
    ENVIRONMENT,
    EVERYTHING,
    NAMED,
    SENSITIVE,
    given,
    leaks,
    printed,
    write_package,
)
from tests.engine.driving import Driver
from tests.engine.terminals import ended, terminals
from tests.fake_engine import wait_for

pytestmark = [
    pytest.mark.real_engine,
    pytest.mark.behaviour("F7"),
    pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals"),
]


class Front(StrEnum):
    """Who is told what happens."""

    JSON = "json"
    VERBOSE = "verbose"
    PLAIN = "plain"
    TERMINAL = "terminal"
    GITHUB = "github"
    GITLAB = "gitlab"


class Told(NamedTuple):
    """Everything that a run has left for others, by the door it left through."""

    exit_code: int | None
    doors: Mapping[str, str]
    modes: Mapping[str, str]


class Theatre:
    """Plays each run once, and remembers what was told."""

    def __init__(self, directory: Path, engine: str) -> None:
        self._directory = directory
        self._engine = engine
        self._told: dict[tuple[Front, int], Told] = {}

    def told(self, front: Front, exit_code: int) -> Told:
        if (front, exit_code) not in self._told:
            self._told[front, exit_code] = self._play(front, exit_code)
        return self._told[front, exit_code]

    def _play(self, front: Front, exit_code: int) -> Told:
        stage = self._directory / f"{front}-{exit_code}"
        package, files = stage / "package", stage / "files"
        write_package(package)
        files.mkdir()
        state = stage / "state"
        environment = {
            **ENVIRONMENT,
            "HEREYA_TF_STATE_DIR": str(state),
            "HEREYA_TF_CACHE_DIR": str(stage / "cache"),
            **FRONTS[front].environment(files),
        }
        words = (
            *("provision", str(package), "--yes", "--engine", self._engine),
            *FRONTS[front].options,
            *given(stage, exit_code),
            *(f"--report-file={files / f'report{suffix}'}" for suffix in SUFFIXES),
            *("--events-file", str(files / "events"), "--result-file", str(files / "result.json")),
        )
        cli = CommandLine(stage)
        doors: dict[str, str] = {}
        if front is Front.TERMINAL:
            (package / "go").touch()
            with terminals(stage, **environment) as start:
                code, doors["terminal"] = ended(start(sys.executable, ["-m", "hereya_tf", *words]))
        else:
            result = self._watched(cli, words, environment, package, doors)
            code, doors["stdout"], doors["stderr"] = result
        doors |= {f"file {file.name}": text(file) for file in files.iterdir() if file.name != "result.json"}
        modes = dict(modes_below(state)) | {file.name: mode(file) for file in files.iterdir()}
        for name, asked in history_doors().items():
            told = cli(*asked, env=environment)
            assert told.exit_code == 0, (asked, told)
            doors[name] = told.stdout + told.stderr
        doors["state directory"] = scenes.everything_in(state)
        doors["names of files"] = "\n".join(str(path) for path in stage.rglob("*"))
        return Told(code, doors, modes)

    @staticmethod
    def _watched(
        cli: CommandLine,
        words: Sequence[str],
        environment: Mapping[str, str],
        package: Path,
        doors: dict[str, str],
    ) -> Result:
        running = cli.start(*words, env=environment)
        try:
            started = package / "started"
            wait_for(lambda: started.exists() or running.process.poll() is not None or None)
            # `ps` shows arguments to everyone. Ours are those that somebody chose to give.
            doors["process table"] = "\n".join(process_table(running.pid))
        finally:
            (package / "go").touch()
        return running.finish()


class Manner(NamedTuple):
    """How a front end is asked for."""

    options: tuple[str, ...]
    environment: Callable[[Path], Mapping[str, str]] = lambda _files: {}


FRONTS = {
    Front.JSON: Manner(("--json", "--engine-messages")),
    Front.VERBOSE: Manner(("-v",)),
    Front.PLAIN: Manner(()),
    Front.TERMINAL: Manner(()),
    Front.GITHUB: Manner(
        (), lambda files: {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(files / "summary.md")}
    ),
    Front.GITLAB: Manner((), lambda files: {"GITLAB_CI": "true", "CI": "true"}),
}


def history_doors() -> dict[str, tuple[str, ...]]:
    """The commands that tell of a run when it is over."""
    return {
        "runs list": ("runs", "list", "--json"),
        "runs show": ("runs", "show", "last", "--json"),
        "runs log": ("runs", "log", "last"),
        "runs log --json": ("runs", "log", "last", "--json"),
        "runs timeline": ("runs", "timeline", "last"),
        **{f"runs report {form}": ("runs", "report", "last", "--format", form) for form in Format},
        "lock list": ("lock", "list"),
    }


def text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


def modes_below(directory: Path) -> Iterator[tuple[str, str]]:
    yield f"{directory.name}/", mode(directory)
    for path in directory.rglob("*"):
        yield f"{path.relative_to(directory)}{'/' if path.is_dir() else ''}", mode(path)


def process_table(below: int) -> Iterator[str]:
    """Titles and arguments of all that a process has started; none where there is no /proc."""
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parent = next(line for line in status.read_text().splitlines() if line.startswith("PPid:"))
            if int(parent.split()[1]) == below:
                yield (status.parent / "comm").read_text(errors="replace")
                yield (status.parent / "cmdline").read_text(errors="replace")
                yield from process_table(int(status.parent.name))
        except OSError:
            continue


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory, real_engine: str) -> Theatre:
    return Theatre(tmp_path_factory.mktemp("doors"), real_engine)


# What a door says of a run whose provisioner has printed everything; a door that is shut proves nothing.
STREAMS = ("stdout", "stderr", "process table")
FILES = ("file events", *(f"file report{suffix}" for suffix in SUFFIXES))
AFTERWARDS = (*history_doors(), "state directory", "names of files")
DOORS = [
    (front, door)
    for front in Front
    for door in (
        *(("terminal",) if front is Front.TERMINAL else STREAMS),
        *(("file summary.md",) if front is Front.GITHUB else ()),
        *((*FILES, *AFTERWARDS) if front in (Front.JSON, Front.VERBOSE) else ("state directory",)),
    )
]
"""Files and the history are the same whatever the front end; the two most talkative stand for all."""


@pytest.mark.parametrize("exit_code", [0, 1], ids=["success", "failure"])
@pytest.mark.parametrize(("front", "door"), DOORS, ids=lambda part: str(part).replace(" ", "-"))
def test_no_canary_leaves_through(theatre: Theatre, front: Front, door: str, exit_code: int) -> None:
    told = theatre.told(front, exit_code)

    assert told.exit_code == exit_code, told.doors
    shown = told.doors[door]
    if front is Front.GITHUB and door in STREAMS:
        # How the runner is told what to hide; whoever reads its log sees none of these lines.
        shown = "\n".join(line for line in shown.splitlines() if not line.startswith("::add-mask::"))
    assert leaks(shown) == []


@pytest.mark.parametrize("exit_code", [0, 1], ids=["success", "failure"])
@pytest.mark.parametrize("front", list(Front))
def test_files_are_private(theatre: Theatre, front: Front, exit_code: int) -> None:
    modes = dict(theatre.told(front, exit_code).modes)
    modes.pop("summary.md", None)  # the runner's own

    assert {
        name: mode for name, mode in modes.items() if mode != ("0o700" if name.endswith("/") else "0o600")
    } == {}
    assert {"state/", "runs/", "locks/", "events", "result.json", "report.html"} < set(modes)


@pytest.mark.parametrize("exit_code", [0, 1], ids=["success", "failure"])
def test_the_doors_were_open(theatre: Theatre, exit_code: int) -> None:
    doors = theatre.told(Front.JSON, exit_code).doors
    masked = {door for door, shown in doors.items() if MASK in shown}

    lines = [line for line in doors["stdout"].splitlines() if '"stream":"provisioner"' in line]
    assert any("by_environment: [redacted]" in line for line in lines)
    assert any("nothing to hide here" in line for line in lines)
    assert {"stdout", "file events", "runs log", "runs log --json", "state directory"} <= masked
    if exit_code:
        reports = {f"file report{suffix}" for suffix in SUFFIXES} | {f"runs report {form}" for form in Format}
        assert reports <= masked
    assert "apply" in doors["process table"] or not Path("/proc/self/status").exists()
    # A canary that the search does not find proves nothing either.
    raw = printed()
    assert {name for name, _ in leaks(raw)} == set(EVERYTHING) - {"computed", "endpoint"}


@pytest.mark.parametrize("exit_code", [0, 1], ids=["success", "failure"])
def test_what_is_masked_before_it_is_escaped_leaves_no_markup(theatre: Theatre, exit_code: int) -> None:
    doors = theatre.told(Front.JSON, exit_code).doors

    for suffix in (".html", ".xml", ".md"):
        assert "Sparrow" not in doors[f"file report{suffix}"]
    assert "Sparrow" in SENSITIVE["by_param"]


def test_a_plan_shows_no_canary(hereya: Driver, tmp_path: Path) -> None:
    package = tmp_path / "package"
    write_package(package)
    words: tuple[str | Path, ...] = ("plan", package, "--engine", hereya.wish, *given(tmp_path, 0))
    plain = hereya.cli(*words, "-v", "--plan-text", tmp_path / "plan.txt", env=ENVIRONMENT)
    as_json = hereya.cli(*words, "--json", "--engine-messages", env=ENVIRONMENT)

    assert (plain.exit_code, as_json.exit_code) == (0, 0), plain
    assert "endpoint" in plain.stdout
    assert [leaks(told.stdout + told.stderr) for told in (plain, as_json)] == [[], []]
    assert leaks(text(tmp_path / "plan.txt")) == []
    assert leaks(scenes.everything_in(scenes.state_directory())) == []


def test_a_question_shows_no_canary(hereya: Driver, tmp_path: Path) -> None:
    package = tmp_path / "package"
    write_package(package)
    words = ("provision", str(package), "--engine", hereya.wish, *given(tmp_path, 0))
    with terminals(tmp_path, **ENVIRONMENT) as start:
        child = start(sys.executable, ["-m", "hereya_tf", *words])
        child.expect("endpoint")
        shown = str(child.before) + str(child.after)
        child.expect("yes")
        shown += str(child.before)
        child.sendline("no")
        code, rest = ended(child)

    assert code != 0
    assert leaks(shown + rest) == []


@pytest.mark.parametrize("way", list(BACKEND))
def test_credentials_of_a_backend_leave_through_no_door(
    hereya: Driver, make_package: MakePackage, tmp_path: Path, way: str
) -> None:
    secret = BACKEND[way]
    package = make_package(
        {
            "main.tf": 'terraform {\n  backend "http" {\n    address = "http://127.0.0.1:9/state"\n'
            '    retry_max = 0\n  }\n}\nresource "terraform_data" "a" {}\n'
        }
    )
    settings = tmp_path / "backend.hcl"
    settings.write_text(f'username = "app"\npassword = "{secret}"\nheaders = {{ X = "{secret}" }}\n')
    options = ("--backend-config", settings) if way == "file" else ("--backend-config", f"password={secret}")
    report, log = tmp_path / "report.html", tmp_path / "events"
    told = hereya.provision(package, *options, "--report-file", report, "--events-file", log)

    assert told.exit_code == 1, told
    places = (
        told.stdout,
        told.stderr,
        text(report),
        text(log),
        scenes.everything_in(scenes.state_directory()),
    )
    assert [leaks(place, {"backend": secret}) for place in places] == [[]] * len(places)


def test_the_log_of_a_killed_run_is_completed_without_canaries(hereya: Driver, tmp_path: Path) -> None:
    package = tmp_path / "package"
    write_package(package)
    options = given(tmp_path, 0)
    running = hereya.start("provision", package, *options, env=ENVIRONMENT)
    scenes.wait_for_file(package / "started")
    run = scenes.kill(running)
    (package / "go").touch()
    following = hereya.provision(package, *options, env=ENVIRONMENT)

    assert following.exit_code == 0, following
    completed = hereya.cli("runs", "log", run)
    assert "by_param_file: [redacted]" in completed.stdout
    assert "nothing to hide here" in completed.stdout
    assert leaks(completed.stdout + scenes.everything_in(scenes.state_directory())) == []


def test_an_address_keeps_its_key(hereya: Driver, make_package: MakePackage) -> None:
    # By F7: an address with a mask in it names nothing any more, and whoever makes keys of secrets shows them.
    package = make_package(
        {
            "main.tf": 'variable "key" {\n  type = string\n}\n'
            'resource "terraform_data" "a" {\n  for_each = toset([var.key])\n}\n'
        }
    )
    told = hereya.provision(package, "-p", f"key={NAMED}", "--redact", "key")

    events = [event for event in told.events if event["type"] == "resource"]
    assert {event["address"] for event in events} == {f'terraform_data.a["{NAMED}"]'}
