"""The cached repositories, one per address: bare, and with the commits that were asked for (I/O).

A commit counts when `refs/hereya-tf/COMMIT` names it, which git writes after all of it has arrived: what a
killed fetch has left counts for nothing.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from hereya_tf.checkouts import slots
from hereya_tf.checkouts.errors import RefusedPackage, UnknownCommit, no_room_for_package
from hereya_tf.checkouts.git import Answer, Git
from hereya_tf.checkouts.git_words import explain, refusal
from hereya_tf.checkouts.layout import REFS, bare
from hereya_tf.checkouts.sources import GitRevision
from hereya_tf.private import free_bytes, make_private_directory
from hereya_tf.sizes import format_size

_LITTLE_ROOM = 8 * 1024 * 1024  # bytes
# Made by git, removed by git, and left behind when it is killed.
_LOCKS = ("HEAD.lock", "config.lock", "packed-refs.lock", "shallow.lock", "index.lock")
_SHA256_DIGITS = 64


class Repository(NamedTuple):
    """One of them; whoever calls anything here holds its slot, with the lock's `descriptor`."""

    slot: Path
    graveyard: Path
    git: Git
    descriptor: int

    @property
    def directory(self) -> Path:
        """The bare repository."""
        return bare(self.slot)

    def run(self, *arguments: str, transfer: int | None = None) -> Answer:
        """Run git in it; while more than `transfer` bytes arrive it is ended. Raises as `Git.run` does."""
        watch = (lambda: None) if transfer is None else self._watch(transfer)
        return self.git.run(
            arguments,
            directory=self.directory,
            git_directory=self.directory,
            trace=self.slot / "trace",
            keep=(self.descriptor,),
            watch=watch,
        )

    def provide(self, revision: GitRevision, transfer: int) -> bool:
        """Have the commit here, at most `transfer` bytes of it; true when it had to be fetched.

        Raises CheckoutFailed.
        """
        self._begin(revision)
        if self._has(revision.commit):
            return False
        self._fetch(revision, transfer)
        kind = self.run("cat-file", "-t", revision.commit).output.strip()
        if kind != b"commit":
            raise UnknownCommit(
                f"`{revision.commit}` in `{revision.url}` is no commit, but a {kind.decode('ascii', 'replace')}",
                "name the commit itself",
            )
        self._demand(self.run("update-ref", f"{REFS}/{revision.commit}", revision.commit), revision)
        return True

    def forget(self) -> None:
        """Throw it away; it is made anew when it is needed."""
        slots.remove(self.directory, self.graveyard)

    def clear_dead_locks(self) -> None:
        """Remove locks of git's that killed ones have left; nobody else can be at work here, the slot is ours."""
        for name in _LOCKS:
            with contextlib.suppress(OSError):
                (self.directory / name).unlink()
        for pattern in ("refs/**/*.lock", "objects/pack/tmp_*", "objects/pack/*.lock"):
            for leftover in self.directory.glob(pattern):
                with contextlib.suppress(OSError):
                    leftover.unlink()

    def _begin(self, revision: GitRevision) -> None:
        """Make it, unless it is there; it gets its name when it is complete."""
        if (self.directory / "config").is_file():
            self.clear_dead_locks()
            return
        self.forget()
        fresh = self.slot / "new"
        slots.remove(fresh, self.graveyard)
        make_private_directory(fresh)
        form = "sha256" if len(revision.commit) == _SHA256_DIGITS else "sha1"
        commands = (
            ("init", "--quiet", "--bare", "--template=", f"--object-format={form}", "."),
            # For submodules with relative addresses, for LFS, and for who looks into the checkout.
            ("config", "remote.origin.url", revision.url),
        )
        for command in commands:
            answer = self.git.run(
                command,
                directory=fresh,
                git_directory=fresh,
                trace=self.slot / "trace",
                keep=(self.descriptor,),
            )
            self._demand(answer, revision)
        fresh.rename(self.directory)

    def _has(self, commit: str) -> bool:
        return self.run("rev-parse", "--quiet", "--verify", f"{REFS}/{commit}^{{commit}}").code == 0

    def _fetch(self, revision: GitRevision, transfer: int) -> None:
        """Fetch the commit alone; where that is not given, what may have it."""
        answer = self._fetched(transfer, "--depth=1", "origin", revision.commit)
        if answer.code == 0:
            return
        self._raise_known(answer, revision)
        for wanted in self._refs(revision):
            depth = ("--unshallow",) if self._is_shallow() else ()
            answer = self._fetched(transfer, *depth, *wanted)
            self._raise_known(answer, revision)
            if self.run("cat-file", "-e", revision.commit).code == 0:
                if answer.code:  # it has arrived, and git would not have it
                    break
                return
        if answer.code:
            raise self.git.failure(answer, f"`{revision.url}` cannot be fetched")
        raise UnknownCommit(
            f"`{revision.url}` has no commit `{revision.commit}`",
            "push it first; when it was on a branch that is gone, name one that has it",
        )

    def _refs(self, revision: GitRevision) -> Iterator[tuple[str, ...]]:
        if revision.ref is not None:
            yield ("origin", revision.ref)
        # Pruned as well: `a` may be a branch where `a/b` was one.
        yield ("--prune", "origin", "+refs/heads/*:refs/seen/heads/*", "+refs/tags/*:refs/seen/tags/*")

    def _fetched(self, transfer: int, *arguments: str) -> Answer:
        return self.run(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", *arguments, transfer=transfer
        )

    def _is_shallow(self) -> bool:
        with contextlib.suppress(OSError):
            return (self.directory / "shallow").stat().st_size > 0
        return False

    def _raise_known(self, answer: Answer, revision: GitRevision) -> None:
        if failure := explain(answer.report, revision.url, self.git.hide):
            raise failure
        if failure := refusal(answer.report, f"`{revision.url}`"):
            raise failure
        if answer.code and free_bytes(self.slot) < _LITTLE_ROOM:
            raise no_room_for_package(self.slot)

    def _demand(self, answer: Answer, revision: GitRevision) -> None:
        if answer.code:
            self._raise_known(answer, revision)
            raise self.git.failure(answer, f"`{revision.url}` cannot be kept in `{self.slot}`")

    def _watch(self, transfer: int) -> "_Watch":
        return _Watch(self.directory / "objects/pack", transfer)


class _Watch:
    """Ends a fetch that brings too much."""

    def __init__(self, packs: Path, most: int) -> None:
        self._packs = packs
        self._most = most
        self._before = self._size()

    def __call__(self) -> None:
        if self._size() - self._before > self._most:
            raise RefusedPackage(
                f"the repository sends more than {format_size(self._most)} for the commit",
                "keep large files out of it, or allow more",
            )

    def _size(self) -> int:
        size = 0
        with contextlib.suppress(OSError), os.scandir(self._packs) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    size += entry.stat(follow_symlinks=False).st_size
        return size
