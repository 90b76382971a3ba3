"""At a terminal a run shows what is going on, on any screen, and leaves only its story behind."""

import re
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pexpect
import pytest

from tests.command_line import environment
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine, wait_for
from tests.screen import Screen

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")

SERVERS = """
resource "terraform_data" "server" {
  for_each = toset(["eu-west-1a", "東京", "🎉", "a-key-that-is-longer-than-many-a-screen-is-wide-%s"])
  provisioner "local-exec" { command = "touch started; while [ ! -e go ]; do sleep 0.05; done" }
}
output "o" { value = "hello" }
""" % ("x" * 60)
ADDRESSES = ["aws_instance.web", "aws_db_instance.orders"]
PLAY = [
    *(scenes.applying(address) for address in ADDRESSES),
    {"on_sigint": "record"},
    {"touch": "started"},
    {"wait_for_file": "go"},
    *(scenes.applying(address, "apply_complete") for address in ADDRESSES),
    *scenes.applied(add=2),
]


class Watched:
    """A run on a terminal, and somebody who looks at the screen."""

    def __init__(self, child: "pexpect.spawn[str]", width: int, height: int) -> None:
        self.child = child
        self.screen = Screen(width, height)
        self.raw = b""

    def until(self, seen: Callable[[list[str]], object]) -> list[str]:
        """Look until the rows are as wanted; fails after a minute, or when the run ends before."""
        deadline = time.monotonic() + 60
        while not seen(self.screen.rows):
            assert time.monotonic() < deadline, self.screen.rows
            assert self._look(), self.screen.rows
        return self.screen.rows

    def text(self, part: str) -> str:
        """Look until it shows this, in one line or folded; returns all that it shows."""
        joined = ""

        def seen(rows: list[str]) -> bool:
            nonlocal joined
            joined = " ".join(" ".join(rows).split())
            return part in joined

        self.until(seen)
        return joined

    def frames(self, number: int) -> None:
        """Look until so many more frames have been painted."""
        begin = len(self.raw)
        self.until(lambda _rows: self.raw.count(b"\x1b[?2026l", begin) >= number)

    def end(self) -> int | None:
        """The exit code, when everything has been shown."""
        while self._look():
            pass
        self.child.close()
        return self.child.exitstatus

    def resize(self, width: int, height: int) -> None:
        self.child.setwinsize(height, width)
        self.screen.resize(width, height)

    def _look(self) -> bool:
        try:
            piece: object = self.child.read_nonblocking(65536, timeout=30)
        except pexpect.EOF:
            return False
        assert isinstance(piece, bytes)  # without an encoding, whatever its type says
        self.raw += piece
        self.screen.feed(piece)
        return True


Watch = Callable[..., Watched]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """Starts a command on a terminal of a size."""
    started = []

    def start(*command: str | Path, width: int = 80, height: int = 24, **variables: str | None) -> Watched:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = pexpect.spawn(
                sys.executable,
                ["-m", "hereya_tf", *map(str, command)],
                env=environment(
                    {"TERM": "xterm-256color", "NO_COLOR": None, "LC_ALL": "C.UTF-8", **variables}
                ),
                cwd=str(tmp_path),
                dimensions=(height, width),
            )
        started.append(child)
        return Watched(child, width, height)

    yield start
    for child in started:
        child.close(force=True)


@pytest.fixture
def package(fake_engine: FakeEngine, make_package: MakePackage) -> Path:
    """Two resources are created when the file `go` is there."""
    fake_engine.plays({"apply": PLAY})
    return make_package(scenes.NOTHING)


@pytest.fixture
def stopped_package(fake_engine: FakeEngine, make_package: MakePackage) -> Path:
    """Two resources are in flight, and an engine that has been interrupted ends when `go` is there."""
    fake_engine.plays({"apply": [*PLAY[:5], {"exit": 1}]})
    return make_package(scenes.NOTHING)


def is_region(row: str) -> bool:
    return re.search(r"workspace default · applying|\d in flight|\+ creating", row) is not None


@pytest.mark.real_engine
@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (40, 12)])
def test_a_run_never_shows_more_than_the_screen_holds_and_leaves_its_story(
    watch: Watch, real_engine: str, make_package: MakePackage, width: int, height: int
) -> None:
    package = make_package({"main.tf": SERVERS})
    run = watch("provision", package, "--yes", "--engine", real_engine, width=width, height=height)
    rows = run.until(lambda rows: any("4 in flight" in row for row in rows))
    assert sum("+ " in row and row.endswith('"]') for row in rows) == 4
    (package / "go").touch()

    assert run.end() == 0
    # Nothing of the region has scrolled away or stayed, and every address stands there whole.
    assert [row for row in run.screen.everything if is_region(row)] == []
    told = "".join("".join(run.screen.everything).split())
    for key in ("eu-west-1a", "東京", "🎉", "x" * 60 + '"]'):
        assert key in told
    assert "".join(f"✓ provision of {package.name} succeeded: 4 added".split()) in told
    assert run.screen.rows[-1].split() == ["o", "hello"]
    assert not run.screen.is_cursor_hidden
    assert b"\x1b[?25l" not in run.raw


def test_a_terminal_that_is_resized_shows_no_garbage(
    watch: Watch, fake_engine: FakeEngine, package: Path
) -> None:
    run = watch("provision", package, "--yes", "--engine", fake_engine.path)
    run.until(lambda rows: any("2 in flight" in row for row in rows))
    for width, height in ((30, 24), (100, 30), (100, 8), (80, 24)):
        run.resize(width, height)
        run.frames(2)
    (package / "go").touch()

    assert run.end() == 0
    assert [row for row in run.screen.everything if is_region(row)] == []


def test_ctrl_c_says_what_happens_and_what_a_second_one_costs(
    watch: Watch, fake_engine: FakeEngine, stopped_package: Path
) -> None:
    run = watch("provision", stopped_package, "--yes", "--engine", fake_engine.path)
    run.until(lambda rows: any("2 in flight" in row for row in rows))
    run.child.sendintr()
    shown = run.text("a second Ctrl-C ends it at once: the 2 resources in flight would not be in the state")
    assert "! interrupted: the engine is asked to stop" in shown
    assert "for what is in flight" in shown
    fake_engine.wait_for_record("signal", signal="SIGINT")

    # Time passes, and with it the grace; a second Ctrl-C at once would be the same keypress.
    run.until(lambda rows: re.search(r"up to 5[0-8]s more", "".join(rows)))
    run.child.sendintr()
    run.text("told to end at once: the 2 resources in flight may exist and not be in the state")
    (stopped_package / "go").touch()
    assert run.end() == 130
    assert [found["signal"] for found in fake_engine.records("signal")] == ["SIGINT", "SIGINT"]


def test_who_waits_for_a_lock_sees_who_has_it_and_for_how_long(
    watch: Watch, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    fake_engine.plays({"apply": scenes.applied()})
    package = make_package(scenes.NOTHING)
    with scenes.package_lock_held(package) as holder:
        run = watch("provision", package, "--yes", "--engine", fake_engine.path)
        shown = run.text("waiting for the package lock held for")
        assert (
            f"by provision of run the-test pid {holder.process.pid} on {holder.host}; next in line" in shown
        )
        # Nothing happens, but time passes.
        run.text("3s provision")

    assert run.end() == 0
    assert any("✓ locks      taken" in row for row in run.screen.everything)


def test_a_terminal_that_was_stopped_shows_the_results_below_the_story(
    watch: Watch, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    outputs = {"o": {"sensitive": False, "type": "string", "value": "hello"}}
    fake_engine.plays({"apply": [*PLAY[:-2], *scenes.applied(add=2, outputs=outputs)]})
    package = make_package({"main.tf": 'output "o" { value = "hello" }\n'})
    run = watch("provision", package, "--yes", "--engine", fake_engine.path)
    run.until(lambda rows: any("2 in flight" in row for row in rows))
    run.child.send("\x13")  # Ctrl-S
    (package / "go").touch()
    (directory,) = (scenes.state_directory() / "runs").iterdir()
    wait_for(lambda: scenes.record(directory.name).status, what="the end of the run")
    run.child.send("\x11")  # Ctrl-Q

    assert run.end() == 0
    assert [row for row in run.screen.everything if is_region(row)] == []
    assert run.screen.rows[-3:] == [run.screen.rows[-3], "", "o  hello"]
    assert "succeeded: 2 added" in run.screen.rows[-3]


def test_sigterm_leaves_the_terminal_as_it_was(
    watch: Watch, fake_engine: FakeEngine, stopped_package: Path
) -> None:
    run = watch("provision", stopped_package, "--yes", "--engine", fake_engine.path)
    run.until(lambda rows: any("2 in flight" in row for row in rows))
    run.child.kill(signal.SIGTERM)
    run.text("the engine is asked to stop")
    (stopped_package / "go").touch()

    assert run.end() == 143
    assert [row for row in run.screen.everything if is_region(row)] == []
    assert run.raw.rfind(b"\x1b[?7l") < run.raw.rfind(b"\x1b[?7h")
    assert run.screen.cursor[1] == 0


def test_the_question_has_the_terminal_to_itself(
    watch: Watch, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    change = {"action": "create", "resource": scenes.applying("a.b")["message"]["hook"]["resource"]}
    fake_engine.plays(
        {"plan": [{"sleep": 0.5}, scenes.message("planned_change", change=change), *scenes.planned(add=1)]}
    )
    run = watch("provision", make_package(scenes.NOTHING), "--engine", fake_engine.path)
    rows = run.until(lambda rows: any("Type `yes`" in row for row in rows))
    assert rows[-1] == "Type `yes` to do it:"
    assert rows[-2].endswith("1 to add, 0 to change, 0 to destroy")
    assert "    + create   a.b" in rows
    assert [row for row in run.screen.everything if "planning" in row] == []
    run.child.sendintr()

    assert run.end() == 130
    # What is said then begins on a line of its own.
    (answered,) = (row for row in run.screen.everything if "Type `yes`" in row)
    assert answered in ("Type `yes` to do it: ^C", "Type `yes` to do it:")


@pytest.mark.parametrize(
    ("arguments", "variables", "escapes"),
    [
        pytest.param((), {"NO_COLOR": "1"}, True, id="no-color"),
        pytest.param(("--color", "never"), {}, True, id="color-never"),
        pytest.param((), {"TERM": "dumb"}, False, id="dumb"),
        pytest.param((), {"TERM": None}, False, id="no-term"),
        pytest.param(("--no-progress",), {"NO_COLOR": "1"}, False, id="no-progress"),
        pytest.param(("--quiet",), {}, False, id="quiet"),
        pytest.param(("--verbose",), {"NO_COLOR": "1"}, False, id="verbose"),
        pytest.param(("--json",), {}, False, id="json"),
    ],
)
def test_who_wants_no_colours_or_cannot_show_them(
    watch: Watch,
    fake_engine: FakeEngine,
    package: Path,
    arguments: tuple[str, ...],
    variables: dict[str, str | None],
    escapes: bool,
) -> None:
    run = watch("provision", package, "--yes", "--engine", fake_engine.path, *arguments, **variables)
    scenes.wait_for_file(package / "started")
    if escapes:
        run.until(lambda rows: any("2 in flight" in row for row in rows))
    (package / "go").touch()

    assert run.end() == 0
    assert re.findall(rb"\x1b\[[0-9;]*m", run.raw) == []
    assert (b"\x1b" in run.raw) == escapes


@pytest.mark.parametrize("variables", [{"LC_ALL": "C"}, {"LC_ALL": "de_DE.ISO-8859-1"}, {"TERM": "linux"}])
def test_a_terminal_without_our_symbols_is_shown_others(
    watch: Watch, fake_engine: FakeEngine, package: Path, variables: dict[str, str]
) -> None:
    run = watch("provision", package, "--yes", "--engine", fake_engine.path, **variables)
    run.until(lambda rows: any("......  0 of 2 done - 2 in flight" in row for row in rows))
    (package / "go").touch()

    assert run.end() == 0
    assert run.raw.isascii()


def test_stderr_in_a_file_gets_plain_lines_though_stdout_is_a_terminal(
    watch: Watch, fake_engine: FakeEngine, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "go").touch()
    command = f"{sys.executable} -m hereya_tf provision {package} --yes --engine {fake_engine.path} 2>errors"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = pexpect.spawn("sh", ["-c", command], env=environment({"TERM": "xterm"}), cwd=str(tmp_path))
    run = Watched(child, 80, 24)

    assert run.end() == 0
    errors = (tmp_path / "errors").read_text()
    assert "\x1b" not in errors
    assert "aws_instance.web: created" in errors
    assert b"\x1b" not in run.raw
