import contextlib
import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hereya_tf.states.aftermath import Owner, copy_aside, note, set_aside, stamp_of, take_over
from hereya_tf.states.unsaved import unsaved_of

STATE = json.dumps({"version": 4, "serial": 7, "lineage": "a-b"})


@pytest.fixture
def package(tmp_path: Path) -> Path:
    made = tmp_path / "package"
    made.mkdir()
    return made


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "state" / "runs" / "run-1"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def errored(package: Path) -> Path:
    path = package / "errored.tfstate"
    path.write_text(STATE)
    path.chmod(0o644)
    return path


@pytest.fixture
def owner(package: Path) -> Owner:
    return Owner("run-1", str(package), "default", "key")


@pytest.fixture(params=["link", "copy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """On one file system a state gets a second name, on another it is copied."""
    if request.param == "copy":
        no_links(monkeypatch)
    return str(request.param)


def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_source: Path, _target: Path) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    monkeypatch.setattr(os, "link", refuse)


def names(directory: Path) -> list[str]:
    return sorted(entry.name for entry in directory.iterdir())


def noted(directory: Path) -> list[str]:
    return [Path(unsaved.file).name for unsaved in unsaved_of(directory.parent.parent, "key")]


@pytest.mark.usefixtures("way")
def test_a_state_is_set_aside_whole_private_and_announced_before_its_old_name_goes(
    errored: Path, directory: Path
) -> None:
    seen: list[tuple[Path, bytes, bool]] = []

    kept = set_aside(
        errored, directory, lambda kept: seen.append((kept, kept.read_bytes(), errored.exists()))
    )

    assert kept == directory / "errored-1.tfstate"
    assert seen == [(kept, STATE.encode(), True)]
    assert (kept.read_text(), kept.stat().st_mode & 0o777, errored.exists()) == (STATE, 0o600, False)
    assert names(directory) == ["errored-1.tfstate"]


@pytest.mark.usefixtures("way")
def test_nothing_is_ever_written_over(errored: Path, directory: Path) -> None:
    (directory / "errored-1.tfstate").write_text("another")
    (directory / "errored-2.tfstate").symlink_to("nowhere")

    kept = set_aside(errored, directory, lambda _kept: None)

    assert kept.name == "errored-3.tfstate"
    assert (directory / "errored-1.tfstate").read_text() == "another"
    assert (directory / "errored-2.tfstate").is_symlink()


@pytest.mark.usefixtures("way")
def test_a_state_that_cannot_be_announced_stays_where_it_is(errored: Path, directory: Path) -> None:
    def fail(_kept: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    with pytest.raises(OSError, match="full"):
        set_aside(errored, directory, fail)

    assert (errored.read_text(), names(directory)) == (STATE, [])


def test_what_a_killed_run_had_done_of_it_is_gone_on_with(errored: Path, directory: Path) -> None:
    (directory / "errored-1.tfstate").hardlink_to(errored)

    kept = set_aside(errored, directory, lambda _kept: None)

    assert (kept.name, names(directory), errored.exists()) == (
        "errored-1.tfstate",
        ["errored-1.tfstate"],
        False,
    )


def test_a_link_gives_what_it_leads_to_and_goes(errored: Path, directory: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    errored.rename(elsewhere)
    errored.symlink_to(elsewhere)

    kept = set_aside(errored, directory, lambda _kept: None)

    assert (kept.read_text(), kept.is_symlink(), kept.stat().st_mode & 0o777) == (STATE, False, 0o600)
    assert (os.path.lexists(errored), elsewhere.read_text()) == (False, STATE)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "pipe"])
def test_what_is_no_file_stays_and_nothing_hangs(
    errored: Path, directory: Path, make: Callable[[Path], None]
) -> None:
    errored.unlink()
    make(errored)

    with pytest.raises(OSError, match="it is not a regular file"):
        set_aside(errored, directory, lambda _kept: None)

    assert (errored.exists(), names(directory)) == (True, [])


def test_a_state_that_is_being_written_stays(
    errored: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def write_meanwhile(source: Path, target: Path) -> None:
        link(source, target)
        errored.unlink()
        errored.write_text("something newer")

    monkeypatch.setattr(os, "link", write_meanwhile)

    with pytest.raises(OSError, match="it was changed meanwhile"):
        set_aside(errored, directory, lambda _kept: None)

    assert (errored.read_text(), names(directory)) == ("something newer", [])


def test_a_copy_that_is_not_what_was_copied_is_none(
    errored: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def damage(descriptor: int) -> None:
        with contextlib.suppress(OSError):  # of a directory
            os.write(descriptor, b"x")
        real(descriptor)

    monkeypatch.setattr(os, "fsync", damage)

    with pytest.raises(OSError, match="the copy is not what was copied"):
        copy_aside(errored, directory)

    assert (errored.read_text(), names(directory)) == (STATE, [])


def test_a_second_name_that_cannot_be_made_private_is_none(
    errored: Path, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fchmod
    refused: list[int] = []

    def refuse_once(descriptor: int, mode: int) -> None:
        if not refused:
            refused.append(descriptor)
            raise PermissionError("not yours")
        real(descriptor, mode)

    monkeypatch.setattr(os, "fchmod", refuse_once)

    kept = set_aside(errored, directory, lambda _kept: None)

    assert (kept.read_text(), names(directory), refused != []) == (STATE, ["errored-1.tfstate"], True)


def test_a_second_copy_leaves_the_first_alone(errored: Path, directory: Path) -> None:
    before = stamp_of(errored)

    copies = [copy_aside(errored, directory) for _ in range(2)]

    assert [copy.name for copy in copies] == ["errored-1.tfstate", "errored-2.tfstate"]
    assert stamp_of(errored) == before
    assert stamp_of(errored.with_name("missing")) is None


# For a run that was killed


def test_nothing_left_is_nothing_noted(directory: Path, owner: Owner, package: Path) -> None:
    assert take_over(directory, owner, 1.0) is None
    assert take_over(directory, owner._replace(package=str(package / "gone")), 1.0) is None
    assert noted(directory) == []


@pytest.mark.parametrize(("began", "taken"), [(100.0, True), (100.05, True), (101.0, False), (None, False)])
def test_only_what_was_written_since_the_run_began_to_write_is_its_own(
    errored: Path, directory: Path, owner: Owner, began: float | None, taken: bool
) -> None:
    os.utime(errored, (100.0, 100.0))

    kept = take_over(directory, owner, began)

    assert kept == (directory / "errored-1.tfstate" if taken else None)
    assert (errored.exists(), noted(directory)) == (not taken, ["errored-1.tfstate"] if taken else [])


def test_it_can_be_done_again_and_again(errored: Path, directory: Path, owner: Owner) -> None:
    first = take_over(directory, owner, 0.0)

    assert [take_over(directory, owner, 0.0) for _ in range(3)] == [first] * 3
    assert (noted(directory), errored.exists()) == (["errored-1.tfstate"], False)


def test_what_the_engine_has_printed_is_the_truth_and_an_empty_file_is_not(
    errored: Path, directory: Path, owner: Owner
) -> None:
    os.truncate(errored, 0)
    (directory / "emergency.tfstate").write_text(STATE)

    assert take_over(directory, owner, 0.0) == directory / "emergency.tfstate"
    assert (noted(directory), errored.exists()) == (["emergency.tfstate"], False)


def test_half_a_file_beside_what_was_printed_is_kept_as_well(
    errored: Path, directory: Path, owner: Owner
) -> None:
    errored.write_text(STATE[:20])
    (directory / "emergency.tfstate").write_text(STATE)

    assert take_over(directory, owner, 0.0) == directory / "emergency.tfstate"
    assert sorted(noted(directory)) == ["emergency.tfstate", "errored-1.tfstate"]


def test_what_cannot_be_moved_is_noted_where_it_is(errored: Path, directory: Path, owner: Owner) -> None:
    errored.unlink()
    errored.mkdir()

    assert take_over(directory, owner, 0.0) == errored
    assert (noted(directory), errored.is_dir()) == (["errored.tfstate"], True)


def test_a_note_says_what_the_file_does(errored: Path, directory: Path, owner: Owner) -> None:
    os.utime(errored, (1_796_000_000.0, 1_796_000_000.0))
    note(directory.parent, owner, errored)

    (unsaved,) = unsaved_of(directory.parent.parent, "key")

    assert unsaved[:5] == ("run-1", str(errored.parent), "default", "key", str(errored))
    assert unsaved[5:] == (7, "a-b", "2026-11-30T00:53:20.000Z")
