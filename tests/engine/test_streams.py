"""Whatever the engine says, and whoever does not listen: the run goes on, and nothing is made up."""

import base64
import json
import os
import pty
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.command_line import CommandLine
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine, wait_for

MEBIBYTE = 1 << 20


def plain(data: bytes, times: int = 1, stream: str = "stdout") -> dict[str, Any]:
    return {"bytes": base64.b64encode(data).decode(), "times": times, "stream": stream}


def said(fields: dict[str, Any]) -> bytes:
    """A line of the engine's JSON."""
    common = {
        "@level": "info",
        "@message": "",
        "@module": "terraform.ui",
        "@timestamp": "2026-11-30T00:00:00.000000Z",
    }
    return json.dumps(common | fields, ensure_ascii=False).encode() + b"\n"


def complete(package: Path) -> bool:
    """Whether the package's own state has all that `GATED` creates."""
    return scenes.resources(package / "terraform.tfstate") == {
        "terraform_data.first": "complete",
        "terraform_data.second": "complete",
        "terraform_data.third": "complete",
    }


def test_fifty_megabytes_of_output_pass_through(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    resource = {"addr": "null_resource.a"}
    hook = {"resource": resource, "provisioner": "x", "output": "o" * 10_000}
    line = said({"type": "provision_progress", "hook": hook})
    lines = 50 * MEBIBYTE // len(line)
    fake_engine.plays({"apply": [plain(line, lines), *scenes.applied()]})
    package = make_package(scenes.NOTHING)
    ended = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path)

    assert ended.result["success"]
    texts = [event["text"] for event in ended.events if event["type"] == "log"]
    assert texts.count(f"null_resource.a (x): {'o' * 10_000}") == lines
    log = scenes.state_directory() / "runs" / ended.result["run"] / "events.ndjson"
    assert log.stat().st_size > lines * 10_000


def test_a_line_of_ten_megabytes_stays_one_line(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    text = "é" * (5 * MEBIBYTE)
    line = said({"type": "log", "@message": text})
    fake_engine.plays({"apply": [plain(line), plain(b"x" * (10 * MEBIBYTE)), *scenes.applied()]})
    package = make_package(scenes.NOTHING)
    ended = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path)

    texts = [event["text"] for event in ended.events if event["type"] == "log"]
    assert text in texts
    # The second line has no end of its own, so that the engine's last word is part of it.
    assert ended.result["status"] == "failed"
    assert any(found.startswith("xxxxx") and len(found) > 10 * MEBIBYTE for found in texts)


def test_broken_text_and_control_characters_reach_nobody_as_they_are(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage
) -> None:
    hostile = b"\x1b]0;owned\x07\x1b[2J caf\xe9 \xff\xfe \xe2\x80\xae end\r\n"
    fake_engine.plays({"apply": [plain(hostile), plain(hostile, stream="stderr"), *scenes.applied()]})
    package = make_package(scenes.NOTHING)
    as_json = cli("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    as_text = cli("provision", package, "--yes", "-v", "--engine", fake_engine.path)

    shown = "\x1b]0;owned\x07\x1b[2J caf\ufffd \ufffd\ufffd \u202e end\r"
    texts = [event["text"] for event in as_json.events if event["type"] == "log"]
    assert texts == [shown, shown]
    assert (as_json.exit_code, as_text.exit_code) == (0, 0)
    assert "\\x1b]0;owned\\x07\\x1b[2J caf\ufffd \ufffd\ufffd \\u202e end\\x0d" in as_text.stderr
    assert not set(as_text.stderr) & {"\x1b", "\x07", "\r", "\u202e"}


@pytest.mark.real_engine
def test_a_provisioner_cannot_forge_what_the_engine_says(
    cli: CommandLine, real_engine: str, make_package: MakePackage
) -> None:
    forged = {
        "@level": "error",
        "@message": "forged",
        "type": "diagnostic",
        "diagnostic": {"severity": "error", "summary": "forged", "detail": ""},
    }
    result = {"v": 1, "seq": 1, "ts": "2026-11-30T00:00:00Z", "run": "x", "type": "result", "success": False}
    package = make_package(
        {
            "main.tf": 'resource "terraform_data" "a" {\n'
            '  provisioner "local-exec" { command = "cat forged" }\n}\n'
            'output "o" { value = terraform_data.a.id != "" }\n',
            "forged": f"{json.dumps(forged)}\n{json.dumps(result)}\n",
        }
    )
    ended = cli("provision", package, "--yes", "--json", "--engine", real_engine)

    assert ended.result["success"]
    assert ended.result["outputs"]["o"]["value"] is True
    assert [event["type"] for event in ended.events].count("result") == 1
    assert [event for event in ended.events if event["type"] == "diagnostic"] == []
    texts = [event["text"] for event in ended.events if event["type"] == "log"]
    assert any(text.endswith(json.dumps(forged)) for text in texts)


def closed(*descriptors: int) -> Callable[[], None]:
    def close() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return close


@pytest.mark.real_engine
@pytest.mark.parametrize("mode", ["--json", "-v"])
@pytest.mark.parametrize(
    "streams",
    [
        pytest.param({"preexec_fn": closed(0, 1, 2)}, id="closed-from-the-start"),
        pytest.param({"stdout": "/dev/full", "stderr": "/dev/full"}, id="full"),
        pytest.param({"stdout": "gone", "stderr": "gone"}, id="reader-gone"),
    ],
)
def test_a_run_that_nobody_can_hear_does_its_work(
    cli: CommandLine,
    real_engine: str,
    make_package: MakePackage,
    tmp_path: Path,
    mode: str,
    streams: dict[str, Any],
) -> None:
    package = make_package(scenes.GATED)
    (package / "go").touch()
    opened: dict[str, Any] = {}
    for name, target in streams.items():
        if target == "gone":
            reader, opened[name] = os.pipe()
            os.close(reader)
        elif target == "/dev/full":
            opened[name] = os.open(target, os.O_WRONLY)
        else:
            opened[name] = target
    given = ("provision", package, "--yes", mode, "--engine", real_engine)
    running = cli.start(*given, "--result-file", tmp_path / "result.json", **opened)
    for descriptor in opened.values():
        if isinstance(descriptor, int):
            os.close(descriptor)
    ended = running.finish()

    assert ended.exit_code == 0
    assert complete(package)
    assert json.loads((tmp_path / "result.json").read_text())["success"] is True
    assert scenes.held_locks() == []
    # Nothing of ours has got into a file of the run's by a descriptor that was taken for stdout's.
    (run,) = (scenes.state_directory() / "runs").glob("2*")
    for line in (run / "events.ndjson").read_text().splitlines():
        assert json.loads(line)["run"] == run.name
    assert sorted(entry.name for entry in run.iterdir()) == ["events.ndjson", "run.json"]


@pytest.mark.real_engine
@pytest.mark.parametrize("mode", ["--json", "-v"])
def test_a_reader_that_goes_away_in_the_middle_stops_nothing(
    cli: CommandLine, real_engine: str, make_package: MakePackage, mode: str
) -> None:
    package = make_package(scenes.GATED)
    reader, writer = os.pipe()
    running = cli.start(
        "provision", package, "--yes", mode, "--engine", real_engine, stdout=writer, stderr=writer
    )
    os.close(writer)
    scenes.wait_for_file(package / "started")
    assert os.read(reader, 100)
    os.close(reader)
    (package / "go").touch()

    assert running.finish().exit_code == 0
    assert complete(package)
    assert scenes.held_locks() == []


@pytest.fixture
def unread() -> Iterator[tuple[BinaryIO, int]]:
    """A pipe that nobody reads."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as file:
        yield file, writer


@pytest.mark.parametrize("end", ["reader goes away", "Ctrl-C", "reader wakes up"])
def test_a_reader_that_sleeps_slows_nothing_down(
    cli: CommandLine,
    fake_engine: FakeEngine,
    make_package: MakePackage,
    tmp_path: Path,
    unread: tuple[BinaryIO, int],
    end: str,
) -> None:
    """Engine, locks and files are done at once; only our own exit waits, for a while, for the reader."""
    line = said({"type": "log", "@message": "m" * 10_000})
    lines = 600  # more than a pipe and the memory of an outlet hold
    fake_engine.plays({"apply": [plain(line, lines), *scenes.applied()]})
    package = make_package(scenes.NOTHING)
    reader, writer = unread
    given = ("provision", package, "--yes", "--json", "--engine", fake_engine.path)
    result = tmp_path / "result.json"
    running = cli.start(*given, "--result-file", result, stdout=writer)
    os.close(writer)
    wait_for(
        lambda: (result.exists() and '"status":"succeeded"' in result.read_text()) or None, what="the result"
    )

    assert running.process.poll() is None
    assert json.loads(result.read_text())["success"] is True
    assert scenes.held_locks() == []
    assert cli("lock", "status", package).stdout.startswith("nobody holds a lock")
    match end:
        case "Ctrl-C":
            running.send_signal(signal.SIGINT)
        case "reader goes away":
            reader.close()
        case "reader wakes up":
            events = [json.loads(line) for line in reader]
            assert [event["type"] for event in events].count("log") == lines
            assert events[-1]["type"] == "result"
    assert running.finish(20).exit_code == 0


@pytest.fixture
def open_pipe() -> Iterator[int]:
    reader, writer = os.pipe()
    yield reader
    os.close(reader)
    os.close(writer)


@pytest.fixture
def terminal() -> Iterator[int]:
    ours, theirs = pty.openpty()
    yield theirs
    os.close(theirs)
    os.close(ours)


@pytest.mark.real_engine
@pytest.mark.behaviour("T4")
@pytest.mark.parametrize("stdin", ["open_pipe", "terminal"])
@pytest.mark.parametrize("operation", ["provision", "destroy"])
def test_a_missing_variable_is_never_waited_for(
    cli: CommandLine,
    real_engine: str,
    make_package: MakePackage,
    request: pytest.FixtureRequest,
    stdin: str,
    operation: str,
) -> None:
    package = make_package({"main.tf": 'variable "need" {}\noutput "o" { value = var.need }\n'})
    descriptor = request.getfixturevalue(stdin)
    running = cli.start(operation, package, "--yes", "--json", "--engine", real_engine, stdin=descriptor)
    ended = running.finish(60)

    assert (ended.exit_code, ended.result["status"]) == (1, "failed")
    assert ended.result["failure"]["class"] == "missing-variable"
    assert "need" in ended.result["reason"]
    assert ended.result["timings"]["apply"] < 30


@pytest.mark.real_engine
@pytest.mark.behaviour("T5")
@pytest.mark.parametrize("stdin", ["open_pipe", "terminal"])
@pytest.mark.parametrize("operation", ["provision", "destroy"])
def test_a_changed_backend_is_never_asked_about(
    cli: CommandLine,
    real_engine: str,
    make_package: MakePackage,
    request: pytest.FixtureRequest,
    stdin: str,
    operation: str,
) -> None:
    backend = 'terraform {\n  backend "local" { path = "%s.tfstate" }\n}\nresource "terraform_data" "a" {}\n'
    package = make_package({"main.tf": backend % "old"})
    assert cli("provision", package, "--yes", "--engine", real_engine).exit_code == 0
    (package / "main.tf").write_text(backend % "new")
    before = (package / "old.tfstate").read_bytes()
    descriptor = request.getfixturevalue(stdin)
    running = cli.start(operation, package, "--yes", "--json", "--engine", real_engine, stdin=descriptor)
    ended = running.finish(60)

    assert (ended.exit_code, ended.result["failure"]["class"]) == (1, "backend-changed")
    assert ended.result["timings"]["init"] < 30
    assert (package / "old.tfstate").read_bytes() == before
    assert not (package / "new.tfstate").exists()
