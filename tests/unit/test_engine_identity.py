import functools
import json
import os
import signal
import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from hereya_tf.engine import EngineName, Version
from hereya_tf.engine.identity import Identity, ask_version, identify, read_answer
from hereya_tf.errors import EngineUnavailable, EngineUnsupported
from tests.engine_choice import ENGINE_SIZE, Answers, Chooser, refusal, write_engine, write_script
from tests.fake_engine import FakeEngine, wait_for

TERRAFORM, OPENTOFU = EngineName.TERRAFORM, EngineName.OPENTOFU


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"\x7fELF\x02\x01\x01" + b"\0" * 200, "Exec format error", id="another processor"),
        pytest.param(b"", "Exec format error", id="empty"),
        pytest.param(b"#!/no/such/interpreter\n", "No such file or directory", id="no interpreter"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="the texts are Linux's")
def test_what_the_system_cannot_run_is_refused(
    chooser: Chooser, tmp_path: Path, content: bytes, reason: str
) -> None:
    file = tmp_path / "engine"
    file.write_bytes(content)
    file.chmod(0o755)

    with pytest.raises(EngineUnavailable) as error:
        chooser(str(file))

    hints = (
        "check that it is complete, and made for this system and processor",
        "name another engine with `--engine PATH`",
    )
    assert refusal(error) == (f"`{file}` cannot be run: {reason}", 5, hints)


def test_a_binary_that_hangs_is_ended_with_its_children(chooser: Chooser, tmp_path: Path) -> None:
    file = write_script(tmp_path / "engine", f"/bin/sleep 300 & echo $! >{tmp_path}/child; wait")

    with pytest.raises(EngineUnavailable) as error:
        chooser(str(file), run_version=functools.partial(ask_version, limit_seconds=0.5))

    assert str(error.value) == f"`{file} version` gave no answer within 0.5 s"
    child = int((tmp_path / "child").read_text())
    wait_for(lambda: None if is_running(child) else True, 10, "the child's end")


def test_a_binary_that_never_stops_talking_is_ended_before_a_disk_is_full(
    chooser: Chooser, tmp_path: Path
) -> None:
    file = write_script(tmp_path / "engine", "while :; do echo Terraform v1.11.4 and 4000 more of this; done")

    with pytest.raises(EngineUnavailable) as error:
        chooser(str(file), run_version=functools.partial(ask_version, limit_seconds=60))

    assert str(error.value) == f"`{file} version` gave an answer without an end"


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:  # an orphan stays as a zombie where nobody reaps
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_a_daemon_that_a_launcher_leaves_behind_is_not_waited_for(
    chooser: Chooser, fake_engine: FakeEngine
) -> None:
    fake_engine.plays({"version": [{"spawn_daemon": 300, "setsid": True}, {"stdout": "Terraform v1.7.0\n"}]})

    binary = chooser(str(fake_engine.path), environment=dict(os.environ))

    os.kill(fake_engine.records("daemon")[0]["daemon_pid"], signal.SIGKILL)
    assert Version(1, 7, 0) == binary.version


@pytest.mark.parametrize(
    ("answer", "identity"),
    [
        pytest.param(
            "Terraform v1.11.4\non linux_amd64\n", Identity(TERRAFORM, Version(1, 11, 4)), id="terraform"
        ),
        pytest.param("OpenTofu v1.9.0\non linux_amd64\n", Identity(OPENTOFU, Version(1, 9, 0)), id="tofu"),
        pytest.param(
            "There are some problems\n╷\n│ Warning: \n╵\n\nTerraform v1.15.5\r\n",
            Identity(TERRAFORM, Version(1, 15, 5)),
            id="after warnings",
        ),
        pytest.param(
            "Terraform v9\nOpenTofu v1.12.0-rc1\n",
            Identity(OPENTOFU, Version(1, 12, 0, "rc1")),
            id="after a broken line",
        ),
    ],
)
def test_the_answer_names_engine_and_version(answer: str, identity: Identity) -> None:
    assert identity == read_answer(answer, Path("/x"))


@pytest.mark.parametrize(
    ("answer", "hint"),
    [
        pytest.param("", "it said nothing", id="nothing"),
        pytest.param("\n hello\x1b[2J\nTerraform v1", "it said: hello\ufffd[2J", id="something else"),
        pytest.param("Terraform v0.x\n", "it said: Terraform v0.x", id="no version"),
        pytest.param("x" * 999, "it said: " + "x" * 200, id="much"),
    ],
)
def test_an_answer_of_no_engine_is_shown(answer: str, hint: str) -> None:
    with pytest.raises(EngineUnavailable) as error:
        read_answer(answer, Path("/x"))

    expected = ("`/x version` answers neither as Terraform nor as OpenTofu", 5)
    assert refusal(error) == (*expected, (hint, "name the engine's own binary with `--engine PATH`"))


def test_terraform_before_apply_json_is_refused(chooser: Chooser) -> None:
    file = write_script(chooser.path / "terraform", "echo Terraform v0.15.2")

    with pytest.raises(EngineUnsupported) as error:
        chooser()

    assert refusal(error) == (
        f"`{file}` is Terraform 0.15.2, and `apply -json` needs 0.15.3 or newer",
        5,
        ("install a newer Terraform, or name another one with `--engine PATH`",),
    )
    write_script(file, "echo Terraform v0.15.3")
    assert Version(0, 15, 3) == chooser().version


def test_a_binary_is_asked_with_nothing_of_the_users_that_changes_the_answer(
    chooser: Chooser, fake_engine: FakeEngine, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    hostile = {
        "COMP_LINE": "terraform ver",
        "TF_CLI_ARGS": "-x",
        "TF_CLI_ARGS_version": "-json",
        "TF_LOG": "trace",
        "TF_REATTACH_PROVIDERS": "x",
        "HEREYA_TOKEN": "secret",
    }

    chooser(str(fake_engine.path), environment={**os.environ, **hostile}, directory=package)

    (start,) = fake_engine.records("start")
    assert [str(fake_engine.path), "version"] == start["argv"]
    assert set() == set(hostile) & set(start["env"])
    assert start["env"]["CHECKPOINT_DISABLE"] == "1"
    assert os.devnull == start["fds"]["0"]
    assert {"0", "1", "2"} == set(start["fds"])
    assert start["sid"] == start["pid"]
    assert str(package) == start["cwd"]  # where a launcher finds the version to run


def test_the_second_run_starts_no_process(chooser: Chooser) -> None:
    file = write_engine(chooser.path / "terraform")
    answers = Answers()

    first = chooser(run_version=answers)

    assert first == chooser(run_version=answers)
    assert [((str(file), "version"), Path("/"))] == answers.questions
    assert stat.S_IMODE(chooser.memory.stat().st_mode) == 0o600
    assert stat.S_IMODE(chooser.cache.stat().st_mode) == 0o700
    assert [entry.name for entry in chooser.cache.iterdir()] == ["engines.json"]


def test_a_changed_binary_is_asked_again(chooser: Chooser) -> None:
    file = write_engine(chooser.path / "terraform")
    chooser(run_version=Answers())
    status = file.stat()

    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert Version(1, 12, 0) == chooser(run_version=Answers("Terraform v1.12.0")).version

    write_engine(chooser.path / "other", ENGINE_SIZE).rename(file)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns + 1))
    assert Version(1, 13, 0) == chooser(run_version=Answers("Terraform v1.13.0")).version


def test_a_link_turned_to_another_version_is_asked_again(chooser: Chooser, tmp_path: Path) -> None:
    for version in ("1.1.0", "1.2.0"):
        write_engine(tmp_path / f"terraform-{version}")
    link = chooser.path / "terraform"
    chooser.path.mkdir()

    link.symlink_to(tmp_path / "terraform-1.1.0")
    assert Version(1, 1, 0) == chooser(run_version=Answers("Terraform v1.1.0")).version
    link.unlink()
    link.symlink_to(tmp_path / "terraform-1.2.0")
    assert Version(1, 2, 0) == chooser(run_version=Answers("Terraform v1.2.0")).version


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param("terraform", 5_000_000, id="small"),
        pytest.param("mise", ENGINE_SIZE, id="a link to a tool of another name"),
    ],
)
def test_a_launchers_answer_is_not_kept(chooser: Chooser, tmp_path: Path, name: str, size: int) -> None:
    launcher = write_engine(tmp_path / "launcher" / name, size)
    chooser.path.mkdir()
    (chooser.path / "terraform").symlink_to(launcher)

    assert Version(1, 1, 0) == chooser(run_version=Answers("Terraform v1.1.0")).version
    assert Version(1, 2, 0) == chooser(run_version=Answers("Terraform v1.2.0")).version
    assert not chooser.memory.exists()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\x00{", id="no text"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"v":2,"binaries":{}}', id="a later format"),
        pytest.param(b'{"v":1,"binaries":7}', id="no table"),
    ],
)
def test_a_broken_memory_is_replaced(chooser: Chooser, content: bytes) -> None:
    write_engine(chooser.path / "terraform")
    chooser.cache.mkdir()
    chooser.memory.write_bytes(content)
    answers = Answers()

    assert chooser(run_version=answers) == chooser(run_version=answers)
    assert len(answers.questions) == 1


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param({"engine": "pulumi"}, id="engine"),
        pytest.param({"version": "latest"}, id="version"),
        pytest.param({"version": 1}, id="type"),
        pytest.param({"inode": None}, id="inode"),
    ],
)
def test_a_broken_entry_is_asked_again(chooser: Chooser, damage: Mapping[str, object]) -> None:
    file = write_engine(chooser.path / "terraform")
    chooser(run_version=Answers())
    content = json.loads(chooser.memory.read_bytes())
    content["binaries"][str(file)] |= damage
    chooser.memory.write_text(json.dumps(content))
    answers = Answers()

    assert chooser(run_version=answers) == chooser(run_version=answers)
    assert len(answers.questions) == 1


def test_a_memory_that_cannot_be_written_only_costs_the_question(chooser: Chooser) -> None:
    write_engine(chooser.path / "terraform")
    chooser.cache.write_text("a file where the directory should be")
    answers = Answers()

    assert chooser(run_version=answers) == chooser(run_version=answers)
    assert len(answers.questions) == 2


def test_the_memory_stays_small(chooser: Chooser, tmp_path: Path) -> None:
    for number in range(70):
        chooser(str(write_engine(tmp_path / f"terraform-{number}")), run_version=Answers())

    kept = json.loads(chooser.memory.read_bytes())["binaries"]
    assert [str(tmp_path / f"terraform-{number}") for number in range(6, 70)] == list(kept)


def test_a_binary_that_vanishes_is_refused(chooser: Chooser) -> None:
    file = write_engine(chooser.path / "terraform")

    def vanish(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
        raise FileNotFoundError(2, "No such file or directory")

    with pytest.raises(EngineUnavailable, match=f"`{file}` cannot be run: No such file or directory"):
        chooser(str(file), run_version=vanish)


def test_a_file_that_cannot_be_looked_at_is_asked_and_not_remembered(tmp_path: Path) -> None:
    identity = identify(
        ("engine",),
        tmp_path / "missing",
        environment={},
        cache_directory=tmp_path / "kept",
        directory=tmp_path,
        run_version=Answers(),
    )

    assert identity == Identity(TERRAFORM, Version(1, 11, 4))
    assert not (tmp_path / "kept").exists()
