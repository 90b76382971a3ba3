"""Reports are there before a run has ended: whoever has asked it to end may not wait for that."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.engine.commands import EngineOptions
from hereya_tf.engine.wish import EngineWish
from hereya_tf.events import Operation
from hereya_tf.places import Places
from hereya_tf.report.document import Report
from hereya_tf.run import Run
from hereya_tf.run_request import RunRequest
from hereya_tf.runs.journal import Sink
from hereya_tf.supervision.interrupt import Interrupt, Reason
from tests.command_line import CommandLine, Running
from tests.conftest import MakePackage
from tests.engine import scenes
from tests.fake_engine import FakeEngine, wait_for

FORMS = ("txt", "md", "json", "xml", "html")


class Scene:
    """An engine that goes on whatever it is told, until it is let go."""

    def __init__(self, cli: CommandLine, engine: FakeEngine, package: Path, directory: Path) -> None:
        self.cli = cli
        self.engine = engine
        self.package = package
        self.directory = directory
        self._go = directory / "go"
        self.reports = [directory / f"report.{form}" for form in FORMS]
        engine.plays(
            {
                "apply": [
                    {"on_sigint": "record"},
                    scenes.message("planned_change", change=self._change("a.done")),
                    scenes.message("planned_change", change=self._change("a.waits")),
                    scenes.applying("a.done"),
                    scenes.applying("a.done", "apply_complete"),
                    scenes.applying("a.flies"),
                    {"wait_for_file": str(self._go)},
                    scenes.applying("a.flies", "apply_complete"),
                    *scenes.applied(2),
                    {"exit": 1},
                ]
            }
        )

    def start(self, *options: str | Path) -> Running:
        running = self.cli.start(
            *("provision", self.package, "--yes", "--json", "--engine", self.engine.path, *options)
        )
        running.wait_for_event("resource", address="a.flies")
        return running

    def let_go(self) -> None:
        self._go.touch()

    def report_options(self) -> Iterator[str | Path]:
        for file in self.reports:
            yield from ("--report-file", file)

    def document(self) -> Any:
        return json.loads((self.directory / "report.json").read_text())

    @staticmethod
    def _change(address: str) -> dict[str, Any]:
        return {"resource": scenes.applying(address)["message"]["hook"]["resource"], "action": "create"}


@pytest.fixture
def scene(
    cli: CommandLine, fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> Iterator[Scene]:
    made = Scene(cli, fake_engine, make_package({"main.tf": ""}), tmp_path)
    yield made
    made.let_go()


def fates(document: Any) -> list[tuple[str, str]]:
    return [(each["address"], each["fate"]) for each in document["resources"]]


def test_reports_are_there_while_the_engine_still_works_and_tell_the_end_when_it_has_ended(
    scene: Scene,
) -> None:
    running = scene.start(*scene.report_options())
    running.send_signal(signal.SIGTERM)
    running.wait_for_event("cancelling")

    # What is told of it comes after what is written.
    kept = scenes.run_directory(running) / "report.txt"
    early = scene.document()
    assert (early["is_interim"], early["status"], early["exit_code"], early["failure"]["class"]) == (
        *(True, "cancelling"),
        *(None, "cancelled"),
    )
    assert fates(early) == [("a.done", "done"), ("a.flies", "unfinished"), ("a.waits", "not_started")]
    texts = {file: file.read_text() for file in (*scene.reports, kept)}
    assert all("a.flies" in text for text in texts.values())
    assert texts[kept] == texts[scene.reports[0]]
    assert running.process.poll() is None

    scene.let_go()
    ended = running.finish()

    assert (ended.exit_code, ended.result["status"], ended.stderr) == (143, "cancelled", "")
    late = scene.document()
    assert (late["is_interim"], late["status"], late["exit_code"]) == (False, "cancelled", 143)
    assert fates(late) == [("a.done", "done"), ("a.flies", "done"), ("a.waits", "not_started")]
    assert all(file.read_text() != text for file, text in texts.items())
    assert (ended.result["report"], kept.read_text()) == (str(kept), scene.reports[0].read_text())


def test_a_runner_that_is_killed_after_that_has_left_its_reports(scene: Scene) -> None:
    running = scene.start(*scene.report_options())
    running.send_signal(signal.SIGTERM)
    running.wait_for_event("cancelling")
    run = str(running.events()[0]["run"])
    running.process.kill()
    running.process.wait()

    document = scene.document()
    text = (scene.directory / "state/runs" / run / "report.txt").read_text()
    assert (document["is_interim"], document["run"]) == (True, run)
    assert text == (scene.directory / "report.txt").read_text()
    assert f"hint: `hereya-tf runs report {run}` tells how it ended\n" in text
    orphaned = scene.cli("runs", "report", run, "--format", "json")
    assert json.loads(orphaned.stdout)["status"] == "orphaned"

    scene.let_go()
    scene.engine.wait_for_record("end")
    told = wait_for(lambda: _adopted(scene.cli, run))
    assert told["is_interim"] is False
    assert told["reason"] == f"run `{run}` was killed in step apply, and its engine went on to its end"
    assert fates(told) == [("a.done", "done"), ("a.flies", "done"), ("a.waits", "not_started")]
    assert told["reproduce"] == document["reproduce"]


def _adopted(cli: CommandLine, run: str) -> Any:
    """What is told once the engine has gone from the table of processes."""
    document = json.loads(cli("runs", "report", run, "--format", "json").stdout)
    return None if document["is_interim"] else document


def test_a_limit_has_its_own_words(scene: Scene) -> None:
    running = scene.start(*scene.report_options(), "--timeout", "2s")
    running.wait_for_event("cancelling")

    document = scene.document()
    assert document["failure"]["class"] == "timed-out"
    assert document["reason"].startswith("the time limit has passed; ")
    scene.let_go()
    assert running.finish().exit_code == 124
    assert scene.document()["status"] == "timed_out"


def test_the_reader_of_a_pipe_gets_the_last_word_only(scene: Scene) -> None:
    pipe = scene.directory / "pipe.json"
    os.mkfifo(pipe)
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_text()), daemon=True)
    reader.start()
    running = scene.start("--report-file", pipe, *scene.report_options())
    running.send_signal(signal.SIGTERM)
    running.wait_for_event("cancelling")
    assert (scene.document()["is_interim"], heard) == (True, [])

    scene.let_go()
    assert running.finish().exit_code == 143
    reader.join(30)

    assert json.loads(heard[0]) == scene.document()
    assert not scene.document()["is_interim"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("where", ["nowhere", "full"])
def test_a_report_that_cannot_be_written_costs_one_warning(scene: Scene, where: str) -> None:
    file = scene.directory / where / "report.txt"
    if where == "full":
        file = scene.directory / "full.txt"
        file.symlink_to("/dev/full")
    running = scene.start("--report-file", file, *scene.report_options())
    running.send_signal(signal.SIGINT)
    running.wait_for_event("cancelling")
    assert scene.document()["is_interim"]
    scene.let_go()

    ended = running.finish()

    assert (ended.exit_code, ended.stderr.count(f"warning: `{file}` ")) == (130, 1)
    assert scene.document()["status"] == "cancelled"


def test_a_report_that_fails_does_not_keep_the_engine_from_its_work(
    fake_engine: FakeEngine, make_package: MakePackage, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    fake_engine.plays(
        {
            "apply": [
                {"on_sigint": "record"},
                scenes.applying("a.b"),
                {"wait_for_file": str(go)},
                scenes.applying("a.b", "apply_complete"),
                *scenes.applied(1),
                {"exit": 1},
            ]
        }
    )
    told: list[Any] = []
    interrupt = Interrupt(timeout=60)

    def hear(record: Any, _line: str) -> None:
        told.append(record)
        if record["type"] == "resource":
            interrupt.ask(Reason.REQUEST)
        if record["type"] == "cancelling":
            go.touch()

    def interim(report: Report) -> None:
        assert report.is_interim
        raise ZeroDivisionError("of the test")

    ended = Run(
        RunRequest(
            operation=Operation.PROVISION,
            package=make_package({"main.tf": ""}),
            approved=True,
            engine=EngineWish(str(fake_engine.path)),
            engine_options=EngineOptions(),
        ),
        environment=dict(os.environ),
        places=Places(tmp_path / "state", tmp_path / "cache"),
        interrupt=interrupt,
        sinks=[Sink(hear, lambda: None)],
        ask=None,
        interim=interim,
    ).execute()

    assert (ended.result.status, ended.result.changes.add, ended.result.reason) == (
        "cancelled",
        1,
        "the run was cancelled on request",
    )
    (said,) = (record["summary"] for record in told if record["type"] == "diagnostic")
    assert said.startswith(
        "there was no report before the end: hereya-tf itself failed at test_interim_report.py:"
    )
    assert said.endswith(": ZeroDivisionError: of the test")
