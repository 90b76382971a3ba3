import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hereya_tf.states import local
from hereya_tf.states.local import (
    Condition,
    LocalState,
    Whereabouts,
    has_same_content,
    inspect_state,
    is_in_use,
)
from hereya_tf.workspace import BackendKind, GeneratedBackend, Workspace

STATE = {
    "version": 4,
    "terraform_version": "1.11.4",
    "serial": 7,
    "lineage": "a-b",
    "outputs": {},
    "resources": [],
}
ENCRYPTED = {
    "serial": 3,
    "lineage": "c-d",
    "meta": {"key_provider.x": "e30="},
    "encrypted_data": "AAAA",
    "encryption_version": "v0",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "terraform.tfstate"


@pytest.fixture(params=["in memory", "looked through"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small state is read into memory, a large one looked through."""
    if request.param == "looked through":
        monkeypatch.setattr(local, "_PARSED_BYTES", 1)
    return str(request.param)


def condition(path: Path, data: bytes | str) -> tuple[Condition, str]:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    found = inspect_state(path)
    return found.condition, found.flaw


# Whether it is whole


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("indent", [None, 2])
def test_a_whole_state_says_its_serial_and_lineage(path: Path, indent: int | None) -> None:
    path.write_text(json.dumps(STATE, indent=indent) + "\n")
    status = path.stat()

    found = inspect_state(path)

    assert found == LocalState(path, Condition.WHOLE, 7, "a-b", status.st_size, status.st_mtime)
    assert (found.is_whole, found.is_ruined) == (True, False)


@pytest.mark.usefixtures("way")
def test_an_encrypted_state_is_whole(path: Path) -> None:
    path.write_text(json.dumps(ENCRYPTED))

    found = inspect_state(path)

    assert (found.condition, found.serial, found.lineage) == (Condition.ENCRYPTED, 3, "c-d")
    assert found.is_whole


@pytest.mark.usefixtures("way")
def test_a_state_in_another_order_is_found_whole(path: Path) -> None:
    large = {"check_results": "x" * (1 << 18), **STATE}
    path.write_text(json.dumps(large, sort_keys=True, indent=2))

    found = inspect_state(path)

    assert (found.condition, found.serial) == (Condition.WHOLE, 7)


def test_a_state_without_a_serial_is_one_to_the_engines(path: Path) -> None:
    path.write_text('{"version": 4}')

    assert inspect_state(path)[:4] == (path, Condition.WHOLE, None, "")


def test_no_state_is_no_broken_one(path: Path) -> None:
    assert inspect_state(path) == LocalState(path, Condition.MISSING)
    assert inspect_state(path / "below") == LocalState(path / "below", Condition.MISSING)
    path.symlink_to("nowhere")
    assert inspect_state(path).condition is Condition.MISSING
    path.unlink()
    path.write_text("x")
    assert inspect_state(path / "below").condition is Condition.MISSING


@pytest.mark.usefixtures("way")
def test_an_empty_state_is_ruined(path: Path) -> None:
    assert condition(path, b"") == (Condition.EMPTY, "")
    assert inspect_state(path).is_ruined


@pytest.mark.parametrize(
    ("data", "flaw"),
    [
        pytest.param(json.dumps(STATE, indent=2)[:-30], "it breaks off in line 6", id="cut off"),
        pytest.param(json.dumps(STATE)[:40], "it breaks off in line 1", id="cut off in a text"),
        pytest.param(b'{\n"version": 4,\n' + b"\x00" * 9, "line 3 is not JSON", id="a hole"),
        pytest.param("\n", "it breaks off in line 2", id="blank"),
        pytest.param("<<<<<<< HEAD\n{}", "line 1 is not JSON", id="a conflict"),
        pytest.param(b"\xff\xfe\x00", "it is not text", id="not text"),
        pytest.param("[]", "it is not a JSON object", id="a list"),
        pytest.param("{}", "it has no `version`", id="nothing in it"),
        pytest.param('{"version": "4"}', "it has no `version`", id="a text for a version"),
    ],
)
def test_a_broken_state_says_why(path: Path, data: bytes | str, flaw: str) -> None:
    assert condition(path, data) == (Condition.BROKEN, flaw)


def test_a_large_broken_state_says_why(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_PARSED_BYTES", 10)

    assert condition(path, json.dumps(STATE)[:-1]) == (Condition.BROKEN, "it breaks off")
    # Whether it is a state only the engine can tell.
    assert condition(path, json.dumps({"outputs": "x" * 200_000})) == (Condition.UNKNOWN, "")


def test_numbers_may_have_more_digits_than_python_takes(path: Path) -> None:
    digits = "9" * 5000
    assert (
        condition(path, f'{{"version": 4, "serial": 1, "a": {digits}, "b": {digits}.5}}')[0]
        is Condition.WHOLE
    )
    assert condition(path, f'{{"version": 4, "serial": {digits}}}')[0] is Condition.WHOLE
    assert inspect_state(path).serial is None


def test_a_state_may_be_nested_more_deeply_than_python_reads(path: Path) -> None:
    deep = '{"version": 4, "a": ' + "[" * 100_000 + "]" * 100_000 + "}"

    assert condition(path, deep)[0] is Condition.WHOLE
    assert condition(path, deep[:-2]) == (Condition.BROKEN, "it breaks off")


def test_a_link_is_followed(path: Path, tmp_path: Path) -> None:
    (tmp_path / "real").write_text(json.dumps(STATE))
    path.symlink_to("real")

    assert inspect_state(path).condition is Condition.WHOLE


def test_a_circle_of_links_and_a_name_that_cannot_be_are_left_to_the_engine(path: Path) -> None:
    path.symlink_to(path.name)

    assert inspect_state(path).condition is Condition.UNKNOWN
    assert inspect_state(Path("a\0b")).condition is Condition.UNKNOWN


def test_a_directory_and_a_device_are_left_to_the_engine(path: Path) -> None:
    path.mkdir()

    assert inspect_state(path)[1:] == (Condition.UNKNOWN, None, "", 0, 0.0, "it is not a regular file")
    assert inspect_state(Path(os.devnull)).condition is Condition.UNKNOWN


def test_a_pipe_would_make_an_engine_hang_and_not_us(path: Path) -> None:
    os.mkfifo(path)
    began = time.monotonic()

    found = inspect_state(path)

    assert (found.condition, found.flaw) == (Condition.BROKEN, "it is not a regular file")
    assert not is_in_use(path)
    assert time.monotonic() - began < 10


def test_a_huge_state_takes_little_memory_and_time(path: Path) -> None:
    head = json.dumps(STATE).removesuffix("]}").encode()
    with path.open("wb") as file:
        file.write(head)
        for _ in range(90):
            file.write(b'{"a": "' + b'\\"' * (1 << 19) + b'"},')
        file.write(b"{}]}")
    code = f"""
import resource, sys
from pathlib import Path
from hereya_tf.states.local import inspect_state
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(inspect_state(Path({str(path)!r})).condition.name)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, check=True, timeout=120
    )

    name, kilobytes = done.stdout.split()
    assert name == "WHOLE"
    assert int(kilobytes) / (1 if sys.platform == "linux" else 1024) < 40_000
    os.truncate(path, path.stat().st_size - 3)
    assert inspect_state(path).flaw == "it breaks off"


# Whether somebody is at work on it


def test_a_state_that_an_engine_has_locked_is_in_use(path: Path) -> None:
    path.write_text("")
    assert not is_in_use(path)
    holder = """
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
print("locked", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        (sys.executable, "-c", holder, str(path)), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"locked\n"
        assert is_in_use(path)
        process.communicate()
    assert not is_in_use(path)
    with path.open("r+") as file:  # and we have kept no lock ourselves
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_states_are_the_same_however_they_are_written(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text(json.dumps(STATE, indent=2))
    other.write_text(json.dumps({**STATE, "terraform_version": "1.15.5"}, sort_keys=True))
    assert has_same_content(one, other)
    other.write_text(json.dumps({**STATE, "outputs": {"a": 1}}))
    assert not has_same_content(one, other)
    other.write_text("[]")
    assert not has_same_content(one, other)
    assert not has_same_content(one, tmp_path / "missing")


def test_what_is_too_large_to_compare_is_not_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").write_text(json.dumps(STATE))
    monkeypatch.setattr(local, "_PARSED_BYTES", 10)

    assert not has_same_content(tmp_path / "one", tmp_path / "one")


# Where it lies


def workspace(
    name: str = "default", backend: GeneratedBackend | None = None, data: str = ".terraform"
) -> Workspace:
    return Workspace(name, f"key#{name}", backend, None, data)


def saved(package: Path, kind: str, data: str = ".terraform", **config: Any) -> None:
    directory = package / data
    directory.mkdir(parents=True)
    document = {"version": 3, "backend": {"type": kind, "config": config, "hash": 1}}
    (directory / "terraform.tfstate").write_text(json.dumps(document))


LOCAL_BACKEND = GeneratedBackend(BackendKind.LOCAL, "x", path="/states/x.tfstate")
BUCKET = GeneratedBackend(BackendKind.S3, "x", bucket="b", region="r")


@pytest.mark.parametrize("initialised", [False, True])
@pytest.mark.parametrize(
    ("where", "own", "expected"),
    [
        (workspace(), None, "terraform.tfstate"),
        (workspace("blue"), None, "terraform.tfstate.d/blue/terraform.tfstate"),
        (workspace("x", LOCAL_BACKEND, ".terraform/hereya/x"), "s3", "/states/x.tfstate"),
        (workspace("x", BUCKET), None, None),
        (workspace(), "http", None),
        (workspace(), "cloud", None),
    ],
    ids=["default", "workspace", "generated", "bucket", "http", "cloud"],
)
def test_a_state_is_where_package_and_options_say(
    tmp_path: Path, where: Workspace, own: str | None, expected: str | None, initialised: bool
) -> None:
    whereabouts = Whereabouts(tmp_path, where, own)

    assert whereabouts.local_state(initialised=initialised) == (expected and tmp_path / expected)
    assert not whereabouts.needs_init


@pytest.mark.parametrize(
    ("name", "config", "expected"),
    [
        ("default", {"path": "sub/a.tfstate", "workspace_dir": None}, "sub/a.tfstate"),
        ("default", {"path": None, "workspace_dir": None}, "terraform.tfstate"),
        ("default", {"path": "/elsewhere/a"}, "/elsewhere/a"),
        (
            "blue",
            {"path": "sub/a.tfstate", "workspace_dir": None},
            "terraform.tfstate.d/blue/terraform.tfstate",
        ),
        ("blue", {"path": None, "workspace_dir": "sub"}, "sub/blue/terraform.tfstate"),
        ("default", {"path": 7}, "terraform.tfstate"),
    ],
)
def test_a_backend_of_the_packages_own_is_known_after_init(
    tmp_path: Path, name: str, config: dict[str, Any], expected: str
) -> None:
    saved(tmp_path, "local", "data", **config)
    whereabouts = Whereabouts(tmp_path, workspace(name, data="data"), "local")

    assert whereabouts.needs_init
    assert whereabouts.local_state(initialised=False) is None
    assert whereabouts.local_state(initialised=True) == tmp_path / expected


@pytest.mark.parametrize("kind", [None, "s3"])
def test_what_init_has_not_saved_nobody_knows(tmp_path: Path, kind: str | None) -> None:
    if kind is not None:
        saved(tmp_path, kind, path="a")

    assert Whereabouts(tmp_path, workspace(), "local").local_state(initialised=True) is None


def test_settings_may_put_a_generated_backend_elsewhere(tmp_path: Path) -> None:
    where = workspace("x", LOCAL_BACKEND, "data")
    saved(tmp_path, "local", "data", path="there.tfstate", workspace_dir=None)
    unknown = Whereabouts(tmp_path, where, None, has_settings=True)
    known = unknown._replace(path_setting="here.tfstate")

    assert (unknown.needs_init, unknown.local_state(initialised=False)) == (True, None)
    assert unknown.local_state(initialised=True) == tmp_path / "there.tfstate"
    assert (known.needs_init, known.local_state(initialised=False)) == (False, tmp_path / "here.tfstate")


def test_a_migration_takes_the_states_of_all_workspaces(tmp_path: Path) -> None:
    for name in ("green", "blue"):
        (tmp_path / "terraform.tfstate.d" / name).mkdir(parents=True)
        (tmp_path / "terraform.tfstate.d" / name / "terraform.tfstate").touch()
    whereabouts = Whereabouts(tmp_path, workspace(), "s3")

    states = [str(path.relative_to(tmp_path)) for path in whereabouts.states_to_migrate()]

    assert states == [
        "terraform.tfstate",
        "terraform.tfstate.d/blue/terraform.tfstate",
        "terraform.tfstate.d/green/terraform.tfstate",
    ]
    saved(tmp_path, "s3", bucket="b")
    assert list(whereabouts.states_to_migrate()) == []
