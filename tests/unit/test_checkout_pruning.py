"""Checkouts go when nobody needs them, and never with something that is nowhere else."""

import hashlib
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hereya_tf.checkouts import Archive, GitRevision, Pruned, Spared, prune
from hereya_tf.checkouts.slots import LOCK, hold
from tests.checking_out import Place, contents
from tests.git_host import Author, GitHost

HOUR = 3600.0


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def host(tmp_path: Path) -> Iterator[GitHost]:
    (tmp_path / "served").mkdir()
    with GitHost(tmp_path / "served") as host:
        yield host


@pytest.fixture
def source(tmp_path: Path, host: GitHost) -> GitRevision:
    return GitRevision(url=host.url(), commit=Author(tmp_path / "served").commit({"main.tf": "# 1\n"}))


def checked_out(place: Place, source: GitRevision | Archive, workspace: str, age: float = 0.0) -> Path:
    """The slot of a checkout that was last used `age` hours ago."""
    with place.checkout(source, workspace, allow_local=True) as checkout:
        slot = checkout.root.parent
    aged(slot / "checkout.json", age)
    return slot


def aged(path: Path, age: float) -> None:
    then = 1_000_000_000 - age * HOUR
    os.utime(path, (then, then))


def pruned(place: Place, *, hours: float = 1000, count: int = 1000) -> Pruned:
    return prune(place.cache, max_age=hours * HOUR, max_count=count, now=1_000_000_000)


def test_there_may_be_nothing_to_prune(place: Place) -> None:
    assert pruned(place) == Pruned((), ())


def test_the_oldest_go_first(place: Place, source: GitRevision) -> None:
    slots = {age: checked_out(place, source, f"w{age}", age) for age in (3, 1, 4, 2)}

    assert pruned(place, hours=3.5) == Pruned((slots[4],), ())
    assert pruned(place, count=2) == Pruned((slots[3],), ())
    assert [age for age in slots if slots[age].exists()] == [1, 2]
    with place.checkout(source, "w4") as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}


def test_what_is_in_use_or_holds_a_state_stays(place: Place, source: GitRevision) -> None:
    used, state, errored, empty, data = (checked_out(place, source, name, 5) for name in "abcde")
    (state / "tree/sub").mkdir()
    (state / "tree/sub/terraform.tfstate").write_text("{}")
    (errored / "tree/errored.tfstate").write_text("{}")
    (empty / "tree/terraform.tfstate").write_text("")
    (data / "tree/.terraform").mkdir()
    (data / "tree/.terraform/terraform.tfstate").write_text("{}")

    with hold(used, what="", patience=1, pause=lambda _: None, tell=lambda _: None):
        done = pruned(place, hours=1)

    assert set(done.removed) == {empty, data}
    assert set(done.spared) == {
        Spared(used, "it is in use"),
        Spared(state, "it holds a state"),
        Spared(errored, "it holds a state"),
    }


def test_what_a_killed_checkout_has_left_goes_at_once(place: Place, source: GitRevision) -> None:
    slot = checked_out(place, source, "w")
    (slot / "checkout.json").unlink()
    graveyard = place.cache / "checkouts/removed"
    graveyard.mkdir(exist_ok=True)
    (graveyard / "half").mkdir()
    (graveyard / "half/x").write_text("")

    assert pruned(place) == Pruned((slot,), ())
    assert list(graveyard.iterdir()) == []


def test_a_repository_goes_when_it_is_old_and_no_tree_needs_it(place: Place, source: GitRevision) -> None:
    slot = checked_out(place, source, "w", 5)
    (repository,) = place.cache.glob("checkouts/repositories/*")
    aged(repository / "trace", 5)

    assert pruned(place, hours=6) == Pruned((), ())
    assert pruned(place, hours=1) == Pruned((slot, repository), ())
    assert [path for path in place.files() if path.is_file()] == []


def test_a_repository_that_is_needed_or_was_used_lately_stays(place: Place, source: GitRevision) -> None:
    young = checked_out(place, source, "young", 0)
    old = checked_out(place, source, "old", 5)
    (repository,) = place.cache.glob("checkouts/repositories/*")
    aged(repository / "trace", 5)

    assert pruned(place, hours=1) == Pruned((old,), ())
    assert [path.name for path in (repository / "git/worktrees").iterdir()] == [young.name]
    with hold(repository, what="", patience=1, pause=lambda _: None, tell=lambda _: None):
        aged(young / "checkout.json", 5)
        assert pruned(place, hours=1) == Pruned((young,), ())
    aged(repository / "trace", 0)
    assert pruned(place, hours=1) == Pruned((), ())


def test_a_repository_with_very_many_commits_is_made_anew(place: Place, source: GitRevision) -> None:
    checked_out(place, source, "w")
    (repository,) = place.cache.glob("checkouts/repositories/*")
    for number in range(501):
        (repository / f"git/refs/hereya-tf/{number:040x}").write_text(f"{source.commit}\n")

    assert pruned(place) == Pruned((repository,), ())
    with place.checkout(source) as checkout:
        assert contents(checkout.root) == {"main.tf": "# 1\n"}


def test_an_archive_that_is_old_goes(place: Place, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as opened:
        opened.writestr("main.tf", "# 1\n")
    digest = hashlib.sha256((tmp_path / "p.zip").read_bytes()).hexdigest()
    checked_out(place, Archive(url=f"file://{tmp_path}/p.zip", digest=digest), "w")
    slot = place.cache / "checkouts/archives" / digest
    for age, removed in ((1, ()), (3, (slot,))):
        aged(slot / "archive", age)
        assert pruned(place, hours=2) == Pruned(removed, ())


def test_who_waited_for_what_was_removed_takes_the_new_one(tmp_path: Path) -> None:
    slot = tmp_path / "slot"
    moved: list[Path] = []
    with hold(slot, what="it", patience=60, pause=lambda _: None, tell=lambda _: None):

        def pause(_seconds: float) -> None:
            if not moved:  # its holder removes it meanwhile
                moved.append(slot.rename(tmp_path / "removed"))

        with hold(slot, what="it", patience=60, pause=pause, tell=lambda _: None):
            assert (slot / LOCK).stat().st_ino != (tmp_path / "removed" / LOCK).stat().st_ino
