"""Packages as directories: from a repository at an exact commit, or from an archive with its digest (I/O).

`checkouts/` in the cache holds `repositories/`, `archives/` and `trees/`, in each a directory per address, digest,
or workspace and content, which one at a time may use. Each checkout makes its tree what it has to be, whatever
was there: there is nothing half that could be taken for whole.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, assert_never

from hereya_tf.checkouts import slots
from hereya_tf.checkouts.credentials import Credentials
from hereya_tf.checkouts.downloads import Downloads
from hereya_tf.checkouts.errors import CheckoutFailed, CheckoutTimedOut, RefusedPackage
from hereya_tf.checkouts.git import Git
from hereya_tf.checkouts.git_settings import git_environment
from hereya_tf.checkouts.layout import Layout, bare
from hereya_tf.checkouts.limits import Limits
from hereya_tf.checkouts.repository import Repository
from hereya_tf.checkouts.sources import Archive, GitRevision, PackageSource
from hereya_tf.checkouts.unpacking import unpack
from hereya_tf.checkouts.work_tree import WorkTree, sweep
from hereya_tf.durations import format_duration
from hereya_tf.errors import BadInput, no_room
from hereya_tf.private import make_private_directory, write_private


class Checkout(NamedTuple):
    """A package's tree, ours while it is held; a child that inherits `descriptor` goes on holding it."""

    root: Path
    source: PackageSource
    descriptor: int

    def path(self, relative: str) -> Path:
        """A file or directory of the tree by its path in it, links followed; raises RefusedPackage.

        It has to be there, and inside: a link may lead anywhere.
        """
        root = self.root.resolve()
        try:
            found = (root / relative).resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:  # not there, a circle of links, or a NUL
            raise RefusedPackage(
                f"there is no `{relative}` in `{self.source.shown}`", "check the path; it begins at the top"
            ) from error
        inside = found.relative_to(root).parts if found.is_relative_to(root) else None
        if inside is None or ".git" in inside:
            raise RefusedPackage(f"`{relative}` leads out of `{self.source.shown}`", "name what is in it")
        return found

    def directory(self, relative: str = ".") -> Path:
        """A directory of the tree, as `path`."""
        found = self.path(relative)
        if not found.is_dir():
            raise RefusedPackage(f"`{relative}` in `{self.source.shown}` is not a directory")
        return found


class Checkouts:
    """Makes checkouts below a cache.

    `environment` is the operator's: proxies, certificates, git's own settings. `pause(seconds)` waits, is called
    all the time, and may raise to end what is going on; `tell` hears why something takes long. `allow_local`
    lets sources be on this machine.
    """

    def __init__(
        self,
        cache: Path,
        *,
        environment: Mapping[str, str],
        credentials: Credentials | None = None,
        limits: Limits | None = None,
        pause: Callable[[float], None] = time.sleep,
        tell: Callable[[str], None] = lambda _sentence: None,
        allow_local: bool = False,
        clock: Callable[[], float] = time.monotonic,
        git: str = "git",
    ) -> None:
        self._layout = Layout(cache)
        self._environment = environment
        self._credentials = Credentials() if credentials is None else credentials
        self._limits = Limits() if limits is None else limits
        self._pause = pause
        self._tell = tell
        self._allow_local = allow_local
        self._clock = clock
        self._git = Git(
            git_environment(environment, self._credentials, allow_local=allow_local),
            seconds=self._limits.seconds,
            pause=pause,
            hide=_hiding(self._credentials),
            clock=clock,
            program=git,
        )

    @contextlib.contextmanager
    def checkout(self, source: PackageSource, workspace: str) -> Iterator[Checkout]:
        """The tree of `source` for `workspace`, held as long as the block lasts.

        Every file of the package is as it was published. What earlier runs of this workspace have left beside
        them stays (states, what an engine has installed), but what would change what is run. Raises
        CheckoutFailed, Busy, NoRoom, BadInput for a source on this machine where that is not allowed, and what
        `pause` raises.
        """
        if source.is_local and not self._allow_local:
            raise BadInput(
                f"`{source.shown}` is on this machine, and packages are not fetched from there",
                "take a directory as it is, or let the operator allow it",
            )
        slot = self._layout.tree(source, workspace)
        with contextlib.ExitStack() as held:
            with _disk_errors(slot):
                descriptor = held.enter_context(self._hold(slot, f"the checkout of `{source.shown}`"))
                is_known = self._layout.stamp(slot).is_file()
                match source:
                    case GitRevision():
                        root = self._from_git(source, slot, descriptor, is_known=is_known)
                    case Archive():
                        root = self._from_archive(source, slot, is_known=is_known)
                    case _:
                        assert_never(source)
                told = {"v": 1, "source": source.shown, "workspace": workspace}
                # From now on others may have put there what must not get lost.
                write_private(self._layout.stamp(slot), json.dumps(told) + "\n", durable=not is_known)
            yield Checkout(root, source, descriptor)

    def _hold(self, slot: Path, what: str) -> contextlib.AbstractContextManager[int]:
        return slots.hold(
            slot,
            what=what,
            patience=self._limits.patience,
            pause=self._pause,
            tell=self._tell,
            clock=self._clock,
        )

    def _from_git(self, revision: GitRevision, slot: Path, descriptor: int, *, is_known: bool) -> Path:
        was_cached = bare(self._layout.repository(revision)).is_dir()
        try:
            return self._attempt(revision, slot, descriptor, is_known=is_known, anew=False)
        except CheckoutFailed as error:
            # What has a name of its own is no fault of the cache's.
            if type(error) is not CheckoutFailed or not was_cached:
                raise
            self._tell(f"{error}: the cached repository is made anew")
        return self._attempt(revision, slot, descriptor, is_known=is_known, anew=True)

    def _attempt(
        self, revision: GitRevision, slot: Path, descriptor: int, *, is_known: bool, anew: bool
    ) -> Path:
        graveyard = self._layout.graveyard
        place = self._layout.repository(revision)
        with self._hold(place, f"the cached repository `{revision.url}`") as lock:
            repository = Repository(place, graveyard, self._git, lock)
            tree = WorkTree(slot, descriptor, repository)
            if anew:
                repository.forget()
            if not is_known:  # at most a killed checkout has been there
                slots.remove(tree.root, graveyard)
                slots.remove(tree.git_directory, graveyard)
            repository.provide(revision, self._limits.transfer_bytes)
            tree.link(revision.commit)
        tree.restore(revision, self._limits)
        return tree.root

    def _from_archive(self, archive: Archive, slot: Path, *, is_known: bool) -> Path:
        root = slot / "tree"
        if not is_known:
            slots.remove(root, self._layout.graveyard)
        make_private_directory(root)
        place = self._layout.archive(archive)
        pause = self._limited(f"`{archive.shown}`")
        downloads = Downloads(
            self._environment, self._credentials, self._limits.transfer_bytes, pause, self._tell
        )
        with (
            self._hold(place, f"the cached archive `{archive.shown}`"),
            downloads.open(archive, place, self._layout.graveyard) as file,
        ):
            files = unpack(file, root, self._limits, pause)
        sweep(root, files)
        return root

    def _limited(self, what: str) -> Callable[[float], None]:
        """`pause`, which ends what takes longer than it may."""
        began = self._clock()

        def pause(seconds: float) -> None:
            if self._clock() - began >= self._limits.seconds:
                raise CheckoutTimedOut(
                    f"{what} was not here within {format_duration(self._limits.seconds)}",
                    "try again, or allow it more time",
                )
            self._pause(seconds)

        return pause


@contextlib.contextmanager
def _disk_errors(slot: Path) -> Iterator[None]:
    """What the system says of the cache, as an error for its reader."""
    try:
        yield
    except OSError as error:
        if full := no_room(error, f"there is no room for the package in `{slot}`"):
            raise full from error
        reason = error.strerror or str(error)
        raise CheckoutFailed(
            f"the package cannot be put into `{slot}`: {reason}",
            "point `HEREYA_TF_CACHE_DIR` to a directory that you can write to",
        ) from error


def _hiding(credentials: Credentials) -> Callable[[str], str]:
    """Takes what is secret out of others' words."""

    def hide(words: str) -> str:
        from hereya_tf.redaction import Redactor

        return Redactor(credentials.secrets()).text(words)

    return hide
