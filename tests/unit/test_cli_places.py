"""Where runs, locks and engines are kept; and what is said when nothing else has said it."""

import subprocess
import sys
from pathlib import Path

import platformdirs
import pytest

from hereya_tf.cli.places import find_places
from hereya_tf.places import Places
from tests.command_line import CommandLine, Result, environment


def test_the_environment_says_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    places = find_places({"HEREYA_TF_STATE_DIR": "state", "HEREYA_TF_CACHE_DIR": "/var/cache/tf"})

    assert places == Places(tmp_path / "state", Path("/var/cache/tf"))
    assert (places.runs, places.locks) == (tmp_path / "state/runs", tmp_path / "state/locks")


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({}, id="nothing set"),
        pytest.param({"XDG_STATE_HOME": "/xdg/state", "XDG_CACHE_HOME": "/xdg/cache"}, id="XDG"),
        pytest.param({"XDG_STATE_HOME": "relative", "XDG_CACHE_HOME": " "}, id="XDG that does not count"),
        pytest.param({"HEREYA_TF_STATE_DIR": "", "HEREYA_TF_CACHE_DIR": ""}, id="empty"),
    ],
)
def test_else_it_is_where_the_system_keeps_such_files(
    environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert find_places(environment) == Places(
        platformdirs.user_state_path("hereya-tf", appauthor=False),
        platformdirs.user_cache_path("hereya-tf", appauthor=False),
    )


def test_a_user_without_a_home_has_a_place_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME")

    assert find_places({}).state.is_absolute()


def test_places_are_made_for_the_user_alone(cli: CommandLine, tmp_path: Path) -> None:
    cli("provision", tmp_path / "nowhere", "--yes")

    made = [path for path in (tmp_path / "state").rglob("*") if path.is_dir()]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "state", *made)} == {0o700}
    files = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="only Linux lets a working directory go")
def test_a_working_directory_that_is_gone_is_refused(cli: CommandLine, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()

    ran = cli.start("provision", "--yes", cwd=gone, preexec_fn=gone.rmdir).finish()

    assert ran == Result(
        3,
        "",
        "error: the working directory does not exist any more\n"
        "hint: change to one that does, or use absolute paths\n",
    )


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_of_ours_is_told_with_a_way_to_look_into_it(debug: bool) -> None:
    code = "import hereya_tf.cli as c; c.COMMANDS['broken'] = ('no_such_module', '', ''); c.main(['broken'])"

    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=environment({"HEREYA_TF_DEBUG": "1" if debug else None}),
        capture_output=True,
        text=True,
    )

    assert (ran.returncode, ran.stdout) == (70, "")
    traceback, _, said = ran.stderr.rpartition("error: ")
    assert said == (
        "hereya-tf itself failed: ModuleNotFoundError: No module named 'no_such_module'\n"
        "hint: set `HEREYA_TF_DEBUG=1` for the traceback, and report it\n"
    )
    assert traceback.startswith("Traceback (most recent call last):\n") is debug


def test_locks_that_cannot_be_read_are_none(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the directory should be")

    assert cli("lock", "list") == Result(0, "no lock is held\n", "")
