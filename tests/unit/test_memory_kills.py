"""The kernel's count of processes that it ended for their memory is found and read, in either version."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hereya_tf.engine import Binary, EngineName, Version
from hereya_tf.engine.commands import Step
from hereya_tf.errors import FailureClass
from hereya_tf.redaction import Redactor
from hereya_tf.runs.directory import RunDirectory
from hereya_tf.runs.journal import Journal, Sink
from hereya_tf.steps import Context, StepOutcome, run_step
from hereya_tf.supervision.interrupt import Interrupt, Reason
from hereya_tf.supervision.memory import count_memory_kills
from tests.fake_engine import FakeEngine

VERSION_1 = "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"
VERSION_2 = "low 0\nhigh 0\nmax 12\noom 5\noom_kill 4\noom_group_kill 1\n"
BOTH = "9:name=systemd:/\n4:memory:/job/a:b\n1:cpu,cpuacct:/\n0::/init\n"


@pytest.fixture
def count(tmp_path: Path) -> Callable[[str, Mapping[str, str]], int | None]:
    """The count, from what /proc/self/cgroup says and the files below /sys/fs/cgroup."""

    def counted(groups: str, files: Mapping[str, str]) -> int | None:
        (tmp_path / "membership").write_text(groups)
        for name, text in files.items():
            file = tmp_path / "hierarchies" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return count_memory_kills(tmp_path / "membership", tmp_path / "hierarchies")

    return counted


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        pytest.param("0::/user.slice/a\n", {"user.slice/a/memory.events": VERSION_2}, 4, id="version 2"),
        pytest.param("0::/\n", {"memory.events": VERSION_2}, 4, id="version 2, a namespace of its own"),
        pytest.param("0::/../b\n", {"memory.events": VERSION_2}, 4, id="version 2, outside of the namespace"),
        pytest.param(BOTH, {"memory/job/a:b/memory.oom_control": VERSION_1}, 3, id="version 1"),
        pytest.param(
            BOTH,
            {"memory/memory.oom_control": VERSION_1, "init/memory.events": VERSION_2},
            3,
            id="version 1, in a container: what is mounted is its own group",
        ),
        pytest.param(
            "4:cpu,memory:/a\n",
            {"cpu,memory/a/memory.oom_control": VERSION_1},
            3,
            id="version 1, mounted together",
        ),
        pytest.param(
            "4:memory:/a\n", {"memory/a/memory.oom_control": "under_oom 0\n"}, None, id="an old kernel"
        ),
        pytest.param("0::/\n", {"memory.events": "oom_kill many\n"}, None, id="not a number"),
        pytest.param("0::/\n", {}, None, id="the root group has no count"),
        pytest.param("", {"memory.events": VERSION_2}, None, id="in no group"),
        pytest.param("memory\n0:\n", {"memory.events": VERSION_2}, None, id="other words"),
    ],
)
def test_the_count_is_that_of_our_own_group(
    count: Callable[[str, Mapping[str, str]], int | None],
    groups: str,
    files: Mapping[str, str],
    expected: int | None,
) -> None:
    assert count(groups, files) == expected


def test_where_nothing_is_counted_there_is_no_count(tmp_path: Path) -> None:
    assert count_memory_kills(tmp_path / "missing", tmp_path) is None
    assert count_memory_kills(tmp_path, tmp_path) is None


def test_on_this_machine_nothing_is_in_the_way() -> None:
    found = count_memory_kills()

    assert found is None or found >= 0


@given(groups=st.text(), text=st.text())
def test_whatever_stands_there_it_does_not_raise(
    tmp_path_factory: pytest.TempPathFactory, groups: str, text: str
) -> None:
    directory = tmp_path_factory.mktemp("groups")
    (directory / "membership").write_bytes(groups.encode("utf-8", "surrogatepass"))
    (directory / "memory.events").write_bytes(text.encode("utf-8", "surrogatepass"))

    found = count_memory_kills(directory / "membership", directory)

    assert found is None or f"oom_kill {found}" in text or str(found) in text


# -- one step


Listen = Callable[[Mapping[str, Any]], None]


@pytest.fixture
def play(fake_engine: FakeEngine, tmp_path: Path) -> Iterator[Callable[..., StepOutcome]]:
    """Runs an apply that plays `actions`, while the counts are those of `kills`, one after the other."""
    directory = RunDirectory(tmp_path / "runs", "run-1", lambda _sentence: None)

    def played(
        actions: Sequence[Any],
        kills: Sequence[int | None],
        interrupt: Interrupt | None = None,
        listen: Listen = lambda _record: None,
    ) -> StepOutcome:
        fake_engine.plays({"apply": actions})
        counts = iter(kills)
        argv = (str(fake_engine.path),)
        context = Context(
            binary=Binary(EngineName.TERRAFORM, Version(1, 11, 4), argv, argv[0], "here"),
            package=tmp_path,
            environment={**os.environ, **fake_engine.environment},
            interrupt=interrupt or Interrupt(),
            grace=0,
            journal=Journal("run-1", Redactor(), [Sink(lambda record, _line: listen(record), lambda: None)]),
            directory=directory,
            lock_descriptors=(),
            engine_messages=False,
            on_start=lambda _step, _attempt, _process: None,
            memory_kills=lambda: next(counts),
        )
        return run_step(context, Step.APPLY, ("apply", "-json"))

    yield played
    directory.close()


KILLED = [{"kill_self": "SIGKILL"}]
PROVIDER_GONE = [
    {
        "message": {
            "type": "diagnostic",
            "diagnostic": {"severity": "error", "summary": "Plugin did not respond", "detail": "The plugin"},
        }
    },
    {"exit": 1},
]


@pytest.mark.parametrize(
    ("actions", "kills", "expected"),
    [
        pytest.param(KILLED, (2, 3), FailureClass.OUT_OF_MEMORY, id="the engine, and the system counted it"),
        pytest.param(KILLED, (3, 3), FailureClass.ENGINE_CRASHED, id="the engine, by somebody else"),
        pytest.param(
            KILLED, (None, None), FailureClass.ENGINE_CRASHED, id="the engine, where nothing counts"
        ),
        pytest.param(
            KILLED, (None, 3), FailureClass.ENGINE_CRASHED, id="the engine, with nothing to compare"
        ),
        pytest.param(
            PROVIDER_GONE, (0, 1), FailureClass.OUT_OF_MEMORY, id="a provider, and the system counted it"
        ),
        pytest.param(PROVIDER_GONE, (1, 1), FailureClass.PROVIDER_CRASHED, id="a provider, by itself"),
        pytest.param([{"exit": 1}], (0, 1), FailureClass.ENGINE_ERROR, id="something else"),
    ],
)
def test_what_the_system_ended_for_its_memory_is_out_of_memory(
    play: Callable[..., StepOutcome],
    actions: Sequence[Any],
    kills: Sequence[int | None],
    expected: FailureClass,
) -> None:
    diagnosis = play(actions, kills).diagnosis

    assert diagnosis is not None
    assert diagnosis.failure_class is expected
    assert diagnosis.hints


def test_who_ended_an_engine_is_not_guessed(play: Callable[..., StepOutcome]) -> None:
    diagnosis = play(KILLED, (0, 0)).diagnosis

    assert diagnosis is not None
    assert diagnosis.sentence == "Terraform was ended by SIGKILL"
    assert "memory" in diagnosis.hints[0]


def test_an_engine_that_we_have_made_to_end_was_not_ended_for_its_memory(
    play: Callable[..., StepOutcome], tmp_path: Path
) -> None:
    interrupt = Interrupt()
    cancels: list[str] = []

    def listen(record: Mapping[str, Any]) -> None:
        if record["type"] == "log":
            interrupt.ask(Reason.REQUEST)
        elif record["type"] == "cancelling":
            cancels.append(record["signal"])
            if len(cancels) == 2:
                (tmp_path / "go").touch()

    actions = [
        {"on_sigint": "record"},
        {"stdout": "ready\n"},
        {"wait_for_file": str(tmp_path / "go")},
        *KILLED,
    ]
    ended = play(actions, (2, 3), interrupt, listen)

    assert ended.exit.insisted
    assert ended.diagnosis is not None
    assert ended.diagnosis.failure_class is FailureClass.ENGINE_CRASHED


def test_after_a_success_nothing_is_counted(play: Callable[..., StepOutcome]) -> None:
    summary = {"operation": "apply", "add": 0, "change": 0, "remove": 0}
    assert play([{"message": {"type": "change_summary", "changes": summary}}], (0,)).ok
