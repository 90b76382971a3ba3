"""The files of a commit in a directory, as the commit has them, whatever was there before (I/O).

The directory is a linked work tree of the cached repository, so that `git` works in it as anywhere. What runs
have left there stays (states, what an engine has installed), but for files that would change what is run.
"""

import contextlib
import os
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from hereya_tf.checkouts import slots
from hereya_tf.checkouts.errors import CheckoutFailed, as_part, no_room_for_package
from hereya_tf.checkouts.git import Answer
from hereya_tf.checkouts.git_words import explain, refusal
from hereya_tf.checkouts.layout import work_tree_directory
from hereya_tf.checkouts.limits import Limits
from hereya_tf.checkouts.listing import decides, read_listing
from hereya_tf.checkouts.repository import Repository
from hereya_tf.checkouts.sources import GitRevision
from hereya_tf.private import free_bytes, make_private_directory, write_private

_DEAD_LOCKS = ("index.lock", "HEAD.lock", "ORIG_HEAD.lock", "config.lock")
_ENGINE_DATA = ".terraform"


class WorkTree(NamedTuple):
    """One of them; whoever calls anything here holds its slot, with the lock's `descriptor`."""

    slot: Path
    descriptor: int
    repository: Repository

    @property
    def root(self) -> Path:
        """The directory with the files."""
        return self.slot / "tree"

    @property
    def git_directory(self) -> Path:
        """What git knows of it."""
        return work_tree_directory(self.repository.slot, self.slot.name)

    def link(self, commit: str) -> None:
        """Make the directory, and tell git of it; the repository's slot is held as well. Raises OSError."""
        make_private_directory(self.root)
        make_private_directory(self.git_directory)
        for name in _DEAD_LOCKS:
            with contextlib.suppress(OSError):
                (self.git_directory / name).unlink()
        write_private(self.git_directory / "HEAD", f"{commit}\n")
        write_private(self.git_directory / "commondir", "../..\n")
        write_private(self.git_directory / "gitdir", f"{self.root / '.git'}\n")
        if (self.root / ".git").is_dir():
            slots.remove(self.root / ".git", self.repository.graveyard)
        write_private(self.root / ".git", f"gitdir: {self.git_directory}\n")

    def restore(self, revision: GitRevision, limits: Limits) -> None:
        """Make all files those of the commit. Raises CheckoutFailed, OSError."""
        listed = self._demanded(revision, "ls-tree", "-r", "-l", "-z", "--full-tree", revision.commit)
        listing = read_listing(listed.output, limits)
        self._demanded(revision, "reset", "--quiet", "--hard", revision.commit, room=listing.size)
        if revision.with_submodules and listing.submodules:
            self._submodules(revision)
        sweep(self.root, listing.files, listing.submodules)

    def _submodules(self, revision: GitRevision) -> None:
        answer = self._run("submodule", "--quiet", "update", "--init", "--recursive", "--force")
        if answer.code:
            hide = self.repository.git.hide
            failure = explain(answer.report, "the repository of a submodule", hide)
            said = as_part(hide(answer.report.words.strip())) or answer.report.last_words
            kind = CheckoutFailed if failure is None else type(failure)
            raise kind(
                f"{_failed(revision)}: a submodule cannot be had: git says: {said}",
                *(failure.hints if failure else ()),
            )

    def _run(self, *arguments: str) -> Answer:
        return self.repository.git.run(
            arguments,
            directory=self.root,
            git_directory=self.git_directory,
            work_tree=self.root,
            trace=self.slot / "trace",
            keep=(self.descriptor,),
        )

    def _demanded(self, revision: GitRevision, *arguments: str, room: int = 0) -> Answer:
        answer = self._run(*arguments)
        if answer.code:
            if failure := refusal(answer.report, f"`{revision.shown}`"):
                raise failure
            # Git takes away what it could not write to its end.
            if free_bytes(self.slot) < room:
                raise no_room_for_package(self.slot)
            raise self.repository.git.failure(answer, _failed(revision))
        return answer


def _failed(revision: GitRevision) -> str:
    return f"`{revision.shown}` cannot be checked out"


def sweep(root: Path, tracked: Collection[str], submodules: Collection[str] = ()) -> None:
    """Remove files that would change what is run and that the package does not have. Raises OSError.

    `tracked` are paths in the package; submodules and data of engines are left alone.
    """
    for directory, below, files in os.walk(root):
        place = Path(directory)
        prefix = "" if place == root else f"{place.relative_to(root).as_posix()}/"
        # A link that looks like a file counts as one, wherever it leads.
        links = [name for name in below if (place / name).is_symlink()]
        for name in (*files, *links):
            if decides(name) and prefix + name not in tracked:
                (place / name).unlink()
        below[:] = [
            name for name in below if name not in (_ENGINE_DATA, ".git") and prefix + name not in submodules
        ]
