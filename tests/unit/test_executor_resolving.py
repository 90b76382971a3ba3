"""A `resolve-env` job is answered with every value, or with what is missing and why; and always in time."""

import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from hereya_tf.control_plane.results import Failed, Result, Succeeded
from hereya_tf.executor.payloads import ResolveEnvJob
from hereya_tf.executor.resolving import LARGEST_VALUE, Resolver, resolve_env
from tests.fake_engine import wait_for

PATIENCE = 60.0


def command(script: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", script, "sh")


def resolve(
    env: Mapping[str, str],
    *,
    environment: Mapping[str, str] = os.environ,
    directories: tuple[Path, ...] | None = None,
    limit: float = PATIENCE,
    **scripts: str,
) -> Result:
    commands = {prefix: command(script) for prefix, script in scripts.items()}
    return resolve_env(ResolveEnvJob(env), Resolver(environment, commands, directories, limit))


def reason(result: Result) -> str:
    assert isinstance(result, Failed), result
    return result.reason


@pytest.mark.behaviour("D9")
def test_every_value_is_found(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file\n\n")
    env = {
        "LITERAL": "x",
        "VARIABLE": "env:OUTSIDE",
        "FILE": f"file:{tmp_path}/secret",
        "COMMAND": "vault:a b$(id)",
    }

    result = resolve(env, environment={"OUTSIDE": "ü\n"}, vault='printf "%s|%s\\n" "$#" "$1"; echo no >&2')

    assert result == Succeeded(
        {"LITERAL": "x", "VARIABLE": "ü\n", "FILE": "from a file\n", "COMMAND": "1|a b$(id)"}
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [("", ""), ("\n", ""), ("a\r\n", "a"), ("a\r", "a\r"), ("a\n\r\n", "a\n"), (" a ", " a ")],
)
def test_only_the_last_line_end_is_taken_off(tmp_path: Path, text: str, value: str) -> None:
    (tmp_path / "x").write_bytes(text.encode())

    assert resolve({"A": f"file:{tmp_path}/x", "B": f"cat:{tmp_path}/x"}, cat='cat "$1"') == Succeeded(
        {"A": value, "B": value}
    )


def test_nothing_is_asked_for_while_something_is_not_understood(tmp_path: Path) -> None:
    result = resolve({"A": "touch:x", "B": "nobody:x", "C": "env:"}, touch=f"touch {tmp_path}/asked")

    assert reason(result).startswith("`B` has a prefix that this executor does not know, `nobody:` (")
    assert reason(result).endswith("; `C` has `env:` and no variable behind it")
    assert not (tmp_path / "asked").exists()


@pytest.mark.behaviour("D11", "E7")
@pytest.mark.parametrize("name", ["HEREYA_TOKEN", "HEREYA_TF_POLICY", "MISSING"])
def test_the_executors_own_variables_are_not_there(name: str) -> None:
    environment = {"HEREYA_TOKEN": "hunter2", "HEREYA_TF_POLICY": "hunter2", "PATH": os.environ["PATH"]}

    result = resolve({"A": f"env:{name}"}, environment=environment)

    assert result == Failed(f"`A` has no value: the executor's jobs have no variable `{name}`")
    assert resolve({"A": "sh:x"}, environment=environment, sh="env") == resolve(
        {"A": "sh:x"}, environment={"PATH": os.environ["PATH"]}, sh="env"
    )


@pytest.mark.behaviour("D11", "E7")
@pytest.mark.parametrize("path", ["/proc/self/environ", "/dev/stdin", "/dev/null"])
def test_what_the_system_tells_of_processes_is_no_file(tmp_path: Path, path: str) -> None:
    if not Path(path).exists():
        pytest.skip("this system has no such file")  # macOS
    (tmp_path / "link").symlink_to(path)
    names = {"A": f"file:{path}", "B": f"file:{tmp_path}/link"}

    result = resolve(names)

    assert result == Failed(
        "; ".join(
            f"`{name}` has no value: its file lies where the operator does not let jobs read"
            for name in names
        )
    )


def test_an_operator_says_where_files_may_be(tmp_path: Path) -> None:
    for name in ("in", "out"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    (tmp_path / "in/link").symlink_to("../out/x")
    (tmp_path / "way").symlink_to("in")
    allowed = (tmp_path / "way",)

    assert resolve({"A": f"file:{tmp_path}/in/x"}, directories=allowed) == Succeeded({"A": "in"})
    for path in ("out/x", "in/link", "in/../out/x"):
        assert resolve({"A": f"file:{tmp_path}/{path}"}, directories=allowed) == Failed(
            "`A` has no value: its file lies where the operator does not let jobs read"
        )


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("missing", "its file cannot be read: No such file or directory"),
        ("directory", "its file cannot be read: it is not a regular file"),
        ("pipe", "its file cannot be read: it is not a regular file"),
        ("null", "its file cannot be read: embedded null byte"),
        ("large", "its file has more than 1 MiB"),
        ("bytes", "its file is not UTF-8 text"),
    ],
)
def test_a_file_that_has_no_value(tmp_path: Path, kind: str, why: str) -> None:
    path = tmp_path / "x"
    match kind:
        case "directory":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "large":
            path.write_bytes(b"x" * (LARGEST_VALUE + 1))
        case "bytes":
            path.write_bytes(b"hunter2\xff")
        case _:
            pass
    result = resolve({"A": f"file:{path}\0" if kind == "null" else f"file:{path}"})

    assert result == Failed(f"`A` has no value: {why}")


def test_the_largest_value_is_given_whole(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * LARGEST_VALUE)

    result = resolve({"A": f"file:{tmp_path}/x", "B": f"cat:{tmp_path}/x"}, cat='cat "$1"')

    assert result == Succeeded({"A": "x" * LARGEST_VALUE, "B": "x" * LARGEST_VALUE})


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo hunter2; echo hunter2 >&2; exit 3", "failed with exit code 3"),
        ("kill -TERM $$", "was ended by signal 15"),
        ("exec yes hunter2", "has more than 1 MiB"),
        ("printf 'hunter2\\377'", "is not UTF-8 text"),
    ],
    ids=["exit code", "signal", "endless", "bytes"],
)
def test_a_command_that_has_no_value(script: str, why: str) -> None:
    result = resolve({"A": "v:x", "B": "v:y", "C": "text:c"}, v=script)

    assert result == Failed("; ".join(f"`{name}` has no value: the command of `v:` {why}" for name in "AB"))


@pytest.mark.parametrize("argv", [("/missing/command",), ("/",)], ids=["missing", "a directory"])
def test_a_command_that_cannot_be_started(argv: tuple[str, ...]) -> None:
    result = resolve_env(ResolveEnvJob({"A": "v:x"}), Resolver(os.environ, {"v": argv}))

    assert reason(result).startswith("`A` has no value: the command of `v:` cannot be started: ")


def test_a_value_that_is_no_text_is_not_made_up(tmp_path: Path) -> None:
    result = resolve({"A": "env:BYTES"}, environment={"BYTES": os.fsdecode(b"\xff")})

    assert result == Failed("`A` has no value: the variable `BYTES` is not UTF-8 text")


@pytest.mark.parametrize(
    "script",
    ["exec sleep 600", "trap '' TERM INT; sleep 600 & wait; sleep 600", "exec >&-; exec sleep 600"],
    ids=["silent", "stubborn", "closes its output"],
)
def test_time_is_up_for_all_of_a_job_and_nothing_is_left_running(tmp_path: Path, script: str) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    # The pipe has a reader's end as soon as no process of the command holds it open any more.
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    began = time.monotonic()

    result = resolve({"A": "v:x", "B": "v:y"}, limit=0.5, v=f"exec 9>{alive}; {script}")

    late = "the command of `v:` did not answer within the 0.5 seconds that a job has"
    assert result == Failed(f"`A` has no value: {late}; `B` has no value: {late}")
    assert time.monotonic() - began < PATIENCE
    wait_for(lambda: has_no_writer(reader), what="the end of all commands")
    os.close(reader)


def has_no_writer(reader: int) -> bool | None:
    try:
        return os.read(reader, 1) == b"" or None
    except BlockingIOError:
        return None


def test_what_a_command_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    result = resolve({"A": "v:x"}, v="sleep 600 & echo value")

    assert result == Succeeded({"A": "value"})


def test_a_cancelled_job_is_over_at_once(tmp_path: Path) -> None:
    cancelled = threading.Event()
    started = tmp_path / "started"
    resolver = Resolver(os.environ, {"v": command(f"touch {started}; exec sleep 600")}, limit_seconds=600.0)
    results: list[Result] = []
    thread = threading.Thread(
        target=lambda: results.append(
            resolve_env(ResolveEnvJob({"A": "v:x"}), resolver, is_cancelled=cancelled.is_set)
        )
    )
    thread.start()
    try:
        wait_for(lambda: True if started.exists() else None, what="the command")
    finally:
        cancelled.set()
        thread.join(PATIENCE)

    assert results == [
        Failed("`A` has no value: the job was cancelled before the command of `v:` has answered")
    ]


def test_a_command_has_no_input() -> None:
    script = "import sys; print(repr(sys.stdin.read()))"
    resolver = Resolver(os.environ, {"v": (sys.executable, "-c", script)})

    assert resolve_env(ResolveEnvJob({"A": "v:x"}), resolver) == Succeeded({"A": "''"})
