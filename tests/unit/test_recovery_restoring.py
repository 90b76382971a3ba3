"""A copy takes the place of a broken state whole, or not at all; nothing of the old one is lost."""

import os
from pathlib import Path

import pytest

from hereya_tf.errors import StateCorrupt
from hereya_tf.recovery.restoring import restore


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    made = tmp_path / "copy"
    made.write_text('{"version": 4}')
    made.chmod(0o600)
    return made


def names(directory: Path) -> list[str]:
    return [entry.name for entry in directory.iterdir()]


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "run"
    made.mkdir()
    return made


@pytest.fixture
def state(tmp_path: Path) -> Path:
    made = tmp_path / "package/terraform.tfstate"
    made.parent.mkdir()
    made.write_text("{")
    made.chmod(0o664)
    return made


def test_the_copy_takes_the_place_and_the_mode_and_the_broken_one_is_kept(
    state: Path, copy: Path, directory: Path
) -> None:
    kept = restore(state, copy, directory)

    assert kept is not None
    assert (state.read_text(), mode(state), copy.exists()) == ('{"version": 4}', "0o664", True)
    assert (kept, kept.read_text(), mode(kept)) == (directory / "broken-state-1", "{", "0o600")
    assert names(state.parent) == ["terraform.tfstate"]


def test_nothing_that_was_kept_before_is_written_over(state: Path, copy: Path, directory: Path) -> None:
    (directory / "broken-state-1").write_text("older")

    kept = restore(state, copy, directory)

    assert kept is not None
    assert (kept.name, (directory / "broken-state-1").read_text()) == ("broken-state-2", "older")


def test_a_state_that_is_gone_comes_back_for_its_owner_alone(
    state: Path, copy: Path, directory: Path
) -> None:
    state.unlink()

    kept = restore(state, copy, directory)

    assert (kept, state.read_text(), mode(state)) == (None, '{"version": 4}', "0o600")


def test_what_a_killed_recovery_left_beside_the_state_goes(state: Path, copy: Path, directory: Path) -> None:
    (state.parent / ".terraform.tfstate.restored-4711").write_text("half")

    restore(state, copy, directory)

    assert names(state.parent) == ["terraform.tfstate"]


def test_a_link_is_followed_and_stays(state: Path, copy: Path, directory: Path) -> None:
    link = state.parent / "link.tfstate"
    link.symlink_to(state)

    restore(link, copy, directory)

    assert (link.is_symlink(), state.read_text()) == (True, '{"version": 4}')


def test_without_the_copy_everything_stays_as_it_was(state: Path, copy: Path, directory: Path) -> None:
    copy.unlink()

    with pytest.raises(StateCorrupt, match="No such file or directory"):
        restore(state, copy, directory)

    assert (state.read_text(), names(state.parent)) == ("{", ["terraform.tfstate"])


def test_what_is_no_file_is_not_replaced(state: Path, copy: Path, directory: Path) -> None:
    state.unlink()
    os.mkfifo(state)

    with pytest.raises(StateCorrupt, match="it is not a regular file"):
        restore(state, copy, directory)

    assert state.is_fifo()
