"""The embedded engine is a process like the real binary: these tests run it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hereya_tf.engine import EngineName, embedded
from hereya_tf.engine.candidates import embedded_library
from hereya_tf.engine.identity import ask_version
from tests.command_line import environment
from tests.conftest import MakePackage
from tests.engine_choice import Chooser
from tests.fake_engine import wait_for

pytestmark = pytest.mark.real_engine

NOTHING = 'output "o" { value = 1 }'
# What a provisioner, like a provider, is given.
SHOW = """
resource "terraform_data" "show" {
  provisioner "local-exec" { command = "%s" }
}
"""

Embedded = tuple[str, ...]


def run(
    *argv: str,
    cwd: Path,
    env: Mapping[str, str | None] | None = None,
    pass_fds: tuple[int, ...] = (),
) -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        argv,
        cwd=cwd,
        env=environment(env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        pass_fds=pass_fds,
        timeout=120,
        check=False,
    )


def test_its_version_and_kind_are_known_and_kept(embedded_engine: Embedded, chooser: Chooser) -> None:
    def unasked(*_: object) -> str:
        raise AssertionError("asked again")

    binary = chooser("embedded", run_version=ask_version)

    assert chooser.memory.exists()
    assert binary == chooser("embedded", run_version=unasked)
    assert (binary.engine, binary.embedded) == (EngineName.TERRAFORM, True)


@pytest.mark.parametrize(
    ("arguments", "exit_code", "stdout", "stderr"),
    [
        pytest.param(("version",), 0, b"Terraform v", b"", id="good"),
        pytest.param(("plan", "-frob"), 1, b"", b"flag provided but not defined: -frob", id="bad"),
        pytest.param(("fmt", "-check", "-list=true"), 3, b"main.tf\n", b"", id="another code"),
        pytest.param((), 127, b"", b"Usage: terraform [global options]", id="no command"),
        pytest.param(("-chdir=caf\u00e9 \udcff", "version"), 1, b"", b"caf\xc3\xa9 \xff", id="any bytes"),
    ],
)
def test_arguments_exit_code_and_streams_are_those_of_the_binary(
    embedded_engine: Embedded,
    make_package: MakePackage,
    arguments: tuple[str, ...],
    exit_code: int,
    stdout: bytes,
    stderr: bytes,
) -> None:
    package = make_package({"main.tf": 'output   "o" { value = 1 }\n'})

    ended = run(*embedded_engine, *arguments, cwd=package)

    assert ended.returncode == exit_code
    assert stdout in ended.stdout
    assert stderr in ended.stdout + ended.stderr
    assert b"Traceback" not in ended.stderr


def test_it_applies_like_the_binary(embedded_engine: Embedded, make_package: MakePackage) -> None:
    package = make_package({"main.tf": NOTHING})

    assert run(*embedded_engine, "init", "-input=false", cwd=package).returncode == 0
    assert run(*embedded_engine, "apply", "-auto-approve", cwd=package).returncode == 0
    assert run(*embedded_engine, "output", "-raw", "o", cwd=package).stdout == b"1"


@pytest.mark.parametrize(
    ("library", "sentence"),
    [
        pytest.param((), b"the embedded engine needs the path of its library\n", id="not named"),
        pytest.param(("/no/lib.so",), b"cannot load the embedded engine: /no/lib.so:", id="missing"),
        pytest.param((__file__, "version"), b"cannot load the embedded engine: ", id="no library"),
    ],
)
def test_without_its_library_it_says_so_like_a_shell(
    embedded_engine: Embedded, tmp_path: Path, library: tuple[str, ...], sentence: bytes
) -> None:
    ended = run(*embedded_engine[:-1], *library, cwd=tmp_path)

    assert (ended.returncode, ended.stdout) == (127, b"")
    assert ended.stderr.startswith(sentence)
    assert ended.stderr.count(b"\n") == 1


def test_a_library_of_something_else_is_refused(tmp_path: Path, embedded_engine: Embedded) -> None:
    import _ctypes

    ended = run(*embedded_engine[:-1], _ctypes.__file__, "version", cwd=tmp_path)

    assert ended.returncode == 127
    assert ended.stderr.startswith(b"cannot load the embedded engine: ")


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"LC_ALL": None, "LANG": None, "LC_CTYPE": None}, id="C locale"),
        pytest.param({"LC_ALL": None, "LANG": "C", "LC_CTYPE": "C.UTF-8"}, id="own LC_CTYPE"),
        pytest.param({"LC_ALL": "C", "PYTHONPATH": "/x", "PYTHONUTF8": "0"}, id="PYTHON variables"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_it_starts_gets_the_environment_unchanged(
    embedded_engine: Embedded, make_package: MakePackage, given: Mapping[str, str | None]
) -> None:
    package = make_package({"main.tf": SHOW % "tr '\\\\0' '\\\\n' </proc/self/environ >environment"})
    assert run(*embedded_engine, "init", cwd=package).returncode == 0

    ended = run(*embedded_engine, "apply", "-auto-approve", cwd=package, env=given)

    assert ended.returncode == 0, ended
    names = ("LC_ALL", "LC_CTYPE", "LANG", "PYTHONPATH", "PYTHONUTF8")
    lines = (package / "environment").read_text().splitlines()
    got = dict(line.split("=", 1) for line in lines if line.startswith(names))
    asked = environment(given)
    assert {name: asked[name] for name in names if name in asked} == got


@pytest.mark.parametrize(
    "hostile",
    [
        pytest.param({"PYTHONHOME": "/nowhere"}, id="home"),
        pytest.param({"PYTHONPATH": "hostile"}, id="path"),
        pytest.param({"PYTHONVERBOSE": "1", "PYTHONDEVMODE": "1", "PYTHONPROFILEIMPORTTIME": "1"}, id="talk"),
    ],
)
def test_the_users_python_settings_do_not_matter(
    embedded_engine: Embedded, make_package: MakePackage, hostile: Mapping[str, str]
) -> None:
    trap = "raise SystemExit('trapped')"
    package = make_package({f"{directory}{name}.py": trap for directory in ("", "hostile/") for name in
                            ("ctypes", "os", "signal", "sitecustomize", "usercustomize")})  # fmt: skip

    ended = run(*embedded_engine, "version", cwd=package, env=hostile)

    assert (ended.returncode, ended.stderr) == (0, b"")
    assert not list(package.rglob("__pycache__"))


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)], ids=str)
def test_a_closed_descriptor_is_the_null_device(
    embedded_engine: Embedded, make_package: MakePackage, closed: tuple[int, ...]
) -> None:
    package = make_package({"main.tf": 'variable "v" {}\noutput "o" { value = var.v }\n'})
    assert run(*embedded_engine, "init", cwd=package).returncode == 0

    # The value is asked for on stdin, and must come neither from a file with that number nor ever.
    redirections = " ".join(f"{descriptor}>&-" for descriptor in closed)
    command = ("/bin/sh", "-c", f'"$@" {redirections}', "sh")
    ended = run(*command, *embedded_engine, "plan", "-no-color", cwd=package)

    assert ended.returncode == 1
    shown = ended.stderr if 2 not in closed else b"Error: No value for required variable"
    assert b"Error: No value for required variable" in shown
    assert b"Error" not in ended.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_inherited_descriptors_reach_what_it_starts(
    embedded_engine: Embedded, make_package: MakePackage, tmp_path: Path
) -> None:
    package = make_package({"main.tf": SHOW % "ls -l /proc/$PPID/fd >own; ls -l /proc/self/fd >started"})
    assert run(*embedded_engine, "init", cwd=package).returncode == 0
    lock = tmp_path / "the.lock"

    with lock.open("w") as held:
        ended = run(*embedded_engine, "apply", "-auto-approve", cwd=package, pass_fds=(held.fileno(),))

    assert ended.returncode == 0, ended
    assert str(lock) in (package / "own").read_text()
    assert str(lock) in (package / "started").read_text()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_it_starts_has_the_systems_signal_handling(
    embedded_engine: Embedded, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": SHOW % "grep SigIgn /proc/self/status >signals"})
    assert run(*embedded_engine, "init", cwd=package).returncode == 0

    assert run(*embedded_engine, "apply", "-auto-approve", cwd=package).returncode == 0

    assert int((package / "signals").read_text().split()[1], 16) == 0


SLOW = SHOW % "touch started; exec sleep 300"


def start(engine: Embedded, package: Path, *, ignored: str = "") -> "subprocess.Popen[bytes]":
    """A running apply whose provisioner waits; the caller ignores the signal `ignored`."""
    assert run(*engine, "init", cwd=package).returncode == 0
    trap = f"trap '' {ignored};" if ignored else ""
    with (package / "out").open("wb") as out, (package / "err").open("wb") as err:
        process = subprocess.Popen(
            ("/bin/sh", "-c", f'{trap} exec "$@"', "sh", *engine, "apply", "-auto-approve", "-no-color"),
            cwd=package,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    wait_for(lambda: (package / "started").exists() or None, 60, "the provisioner")
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_an_interrupt_ends_it_gracefully(
    embedded_engine: Embedded, make_package: MakePackage, number: signal.Signals
) -> None:
    package = make_package({"main.tf": SLOW})
    process = start(embedded_engine, package)

    process.send_signal(number)

    assert process.wait(60) == 1
    assert b"Interrupt received." in (package / "out").read_bytes()
    assert b"Error: execution halted" in (package / "err").read_bytes()
    assert b"tainted" in (package / "terraform.tfstate").read_bytes()


def test_an_interrupt_is_heard_where_the_caller_ignores_it(
    embedded_engine: Embedded, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": SLOW})
    process = start(embedded_engine, package, ignored="INT")

    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 1
    assert b"Interrupt received." in (package / "out").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGKILL], ids=lambda number: number.name)
def test_a_hangup_kills_it_at_once(
    embedded_engine: Embedded, make_package: MakePackage, number: signal.Signals
) -> None:
    package = make_package({"main.tf": SLOW})
    process = start(embedded_engine, package)

    process.send_signal(number)

    assert process.wait(60) == -number
    os.killpg(process.pid, signal.SIGKILL)  # the provisioner's sleep
    assert (package / "err").read_bytes() == b""


def test_a_hangup_that_the_caller_ignores_stays_ignored(
    embedded_engine: Embedded, make_package: MakePackage
) -> None:
    package = make_package({"main.tf": SLOW})
    process = start(embedded_engine, package, ignored="HUP")

    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGINT)

    assert process.wait(60) == 1


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_pipe_kills_it_as_it_does_the_binary(
    embedded_engine: Embedded, tmp_path: Path, stream: str
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    arguments = ("version",) if stream == "stdout" else ("-chdir=/nowhere", "version")

    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: writer}
    process = subprocess.Popen((*embedded_engine, *arguments), cwd=tmp_path, **streams)  # type: ignore[call-overload]
    os.close(writer)

    assert process.wait(60) == -signal.SIGPIPE


def test_it_can_be_called_as_a_function(tmp_path: Path) -> None:
    code = "import sys; from hereya_tf.engine import embedded; sys.exit(embedded.run(sys.argv[1:]))"

    good = run(sys.executable, "-c", code, str(embedded_library()), "version", cwd=tmp_path)
    bad = run(sys.executable, "-c", code, str(embedded_library()), "-chdir=/nowhere", "version", cwd=tmp_path)
    none = run(sys.executable, "-c", code, cwd=tmp_path)
    missing = run(sys.executable, "-c", code, "/no/lib.so", cwd=tmp_path)

    assert good.stdout.startswith(b"Terraform v")
    assert [ended.returncode for ended in (good, bad, none, missing)] == [0, 1, 127, 127]


def test_closed_descriptors_are_adopted_in_order() -> None:
    kept = [os.dup(number) for number in (0, 1, 2)]
    try:
        os.close(0)
        os.close(2)
        embedded.adopt_closed_descriptors()
        targets = [os.fstat(number).st_rdev for number in (0, 2)]
        inheritable = [os.get_inheritable(number) for number in (0, 2)]
    finally:
        for number, copy in enumerate(kept):
            os.dup2(copy, number)
            os.close(copy)

    assert targets == [Path(os.devnull).stat().st_rdev] * 2
    assert inheritable == [True, True]
