"""One cache of providers for all packages, in the layout that engines give theirs (I/O).

An engine that is given a shared cache writes into entries that others are using: where the lock file has no
entry, or none for this platform, init unpacks the provider over the one that is there, and fails when it runs
("text file busy", Terraform 1.11.4 and 1.15.5), or leaves half of it to whoever starts it meanwhile. So none is
given this one. Init begins with links to the entries that the lock file vouches for, and puts what it fetches
into a directory of its own; from there whole entries are moved into the cache, which no reader ever sees change.
"""

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from hereya_tf.locks import tickets
from hereya_tf.plugins.hashes import Hashes, package_hash
from hereya_tf.plugins.selections import Selection

# Beside the hosts, whose names cannot begin with a dot.
_OWN = ".hereya-tf"
_LOCK_FILE = ".lock"
_BEGUN, _IN_USE = "new-", "run-"
_OCCUPIED = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
# Others may put the same entry there, as fast as we do.
_TRIES = 5


class Staging:
    """The directory that an init fetches providers into, as long as its descriptor is open somewhere."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        # What could not be taken out of it is all that a package has.
        self.is_needed = False

    def holds(self, target: str) -> bool:
        """Whether a link leads into it."""
        return target.startswith(f"{self.path}{os.sep}")

    def close(self) -> None:
        """Remove it with what nobody has taken out of it."""
        if not self.is_needed:
            _remove(self.path)
        with contextlib.suppress(OSError):
            tickets.unlock(self.descriptor)
        os.close(self.descriptor)


class PluginCache:
    """A cache's directory; `warn` hears in a sentence what others may want to know of it."""

    def __init__(self, directory: Path, platform: str, warn: Callable[[str], None]) -> None:
        # The engine's links lead to where a directory really is.
        self.root = root = Path(os.path.realpath(directory))
        self._platform = platform
        self._warn = warn
        self._hashes = Hashes(root, root / _OWN / "hashes")

    @property
    def lock_file(self) -> Path:
        """What those who fill the cache hold, one at a time."""
        return self.root / _OWN / "lock"

    def is_at(self, providers: Path) -> bool:
        """Whether it is the directory of a package's providers itself."""
        return os.path.realpath(providers) == str(self.root)

    def link(self, selections: Sequence[Selection], providers: Path) -> bool:
        """Make links in `providers` to the entries that the lock file vouches for, as the engine would.

        Returns whether there is one of everything that the lock file selects; what is a package's own counts.
        Links to other entries are taken away: an engine might write through them.
        """
        vouched = {place: self._is_vouched_for(place, of) for place, of in self._places(selections)}
        for place, link, target in _links(providers):
            is_right = target == str(self.root / place) and vouched.get(place, False)
            if target.startswith(f"{self.root}{os.sep}") and not is_right:
                with contextlib.suppress(OSError):
                    link.unlink()
        for place, is_vouched_for in vouched.items():
            if is_vouched_for and not os.path.lexists(providers / place):
                with contextlib.suppress(OSError):
                    (providers / place).parent.mkdir(parents=True, exist_ok=True)
                    (providers / place).symlink_to(self.root / place)
        return bool(vouched) and all((providers / place).is_dir() for place in vouched)

    def stage(self, name: str) -> Staging:
        """A staging directory, empty, and an end to those that dead runs have left. Raises OSError."""
        own = self.root / _OWN
        own.mkdir(exist_ok=True)
        name = f"{name}-{os.urandom(4).hex()}"
        begun, in_use = own / f"{_BEGUN}{name}", own / f"{_IN_USE}{name}"
        begun.mkdir(mode=0o700)
        descriptor = os.open(begun / _LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            # Seen by others only now, when it is locked: one without a lock is a dead run's.
            tickets.lock_alone(descriptor)
            begun.rename(in_use)
        except OSError:
            os.close(descriptor)
            raise
        for entry in own.iterdir():
            if entry.name.startswith(_IN_USE) and entry != in_use and _is_abandoned(entry):
                _remove(entry)
        return Staging(in_use, descriptor)

    def offer(self, staging: Staging, selections: Sequence[Selection]) -> None:
        """Put links to all entries into a staging directory, for an engine that may take what no lock file knows.

        Not to those that a lock file knows to be something else.
        """
        known = {place for place, _ in self._places(selections)}
        for place in _entries(self.root, self._platform):
            if place not in known:
                with contextlib.suppress(OSError):
                    (staging.path / place).parent.mkdir(parents=True, exist_ok=True)
                    (staging.path / place).symlink_to(self.root / place)

    def has_fetched(self, staging: Staging, providers: Path) -> bool:
        """Whether an init has put anything into its staging directory that the package has use for."""
        return any(staging.holds(target) for _, _, target in _links(providers))

    def publish(self, staging: Staging, providers: Path) -> None:
        """Move what init has fetched into the cache, and link the package to it there."""
        for place, link, target in _links(providers):
            if not staging.holds(target):
                continue
            try:
                self._settle(Path(target), place, link, staging)
            except OSError as error:
                self._warn(
                    f"`{place}` was not added to the provider cache in `{self.root}`: {error.strerror or error}"
                )
                _keep_apart(Path(target), link, staging)

    def keep_apart(self, staging: Staging, providers: Path) -> None:
        """Move what init has fetched into the package, and leave the cache as it is."""
        for _, link, target in _links(providers):
            if staging.holds(target):
                _keep_apart(Path(target), link, staging)

    def _places(self, selections: Sequence[Selection]) -> Iterator[tuple[str, Selection]]:
        return ((f"{selection.directory}/{self._platform}", selection) for selection in selections)

    def _is_vouched_for(self, place: str, selection: Selection) -> bool:
        contents = self._hashes.look(place) if selection.hashes else None
        if contents is None or contents.hash not in selection.hashes:
            return False
        if not contents.is_trusted:
            self._hashes.trust(place, contents.hash)
        return True

    def _settle(self, staged: Path, place: str, link: Path, staging: Staging) -> None:
        entry = self.root / place
        for _ in range(_TRIES):
            if _is_same(staged, entry):  # it was offered
                break
            contents = self._hashes.look(place)
            if contents is not None:
                if contents.hash == package_hash(staged):
                    self._hashes.trust(place, contents.hash)
                    break
                if contents.is_trusted or entry.is_symlink():
                    # Two sources have something else under one version: who uses the other goes on with it.
                    _keep_apart(staged, link, staging)
                    return
            if self._put(staged, place, staging):
                break
        else:
            _keep_apart(staged, link, staging)
            return
        _relink(link, entry)

    def _put(self, staged: Path, place: str, staging: Staging) -> bool:
        """Make it the entry in one step; whether nobody else was faster."""
        entry, content = self.root / place, package_hash(staged)
        entry.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(entry):
            was_damaged = not entry.is_symlink()
            entry.rename(staging.path / f"replaced-{os.urandom(4).hex()}")
            if was_damaged:
                self._warn(
                    f"`{place}` in the provider cache `{self.root}` was damaged, and has been replaced"
                )
        try:
            staged.rename(entry)
        except OSError as error:
            if error.errno in _OCCUPIED:
                return False
            raise
        self._hashes.trust(place, content)
        return True


def unlink(providers: Path, directory: Path) -> None:
    """Take away a package's links to entries of the cache in this directory: init fetches them anew."""
    root = os.path.realpath(directory)
    for _, link, target in _links(providers):
        if target.startswith(f"{root}{os.sep}"):
            with contextlib.suppress(OSError):
                link.unlink()


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _is_abandoned(staging: Path) -> bool:
    try:
        descriptor = os.open(staging / _LOCK_FILE, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return tickets.lock_alone(descriptor)
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _links(providers: Path) -> Iterator[tuple[str, Path, str]]:
    """The links among the packages in a data directory: their places, they themselves, and where they lead."""
    for place in _entries(providers, None):
        link = providers / place
        with contextlib.suppress(OSError):
            target = link.parent / link.readlink()
            # What it leads to may be a link itself, and counts as what it is.
            yield place, link, os.path.join(os.path.realpath(target.parent), target.name)  # noqa: PTH118


def _entries(root: Path, platform: str | None) -> Iterator[str]:
    """The places below a directory in this layout, of one platform or all."""
    places = [""]
    for _ in range(4):
        places = [f"{place}{name}/" for place in places for name in _names(root / place)]
    for place in places:
        yield from (
            f"{place}{name}" for name in _names(root / place, everything=True) if platform in (None, name)
        )


def _names(directory: Path, *, everything: bool = False) -> list[str]:
    try:
        with os.scandir(directory) as found:
            return sorted(
                entry.name
                for entry in found
                if not entry.name.startswith(".") and (everything or entry.is_dir(follow_symlinks=False))
            )
    except OSError:
        return []


def _keep_apart(staged: Path, link: Path, staging: Staging) -> None:
    """Give a package its own copy of what it has fetched, or its own link to where that is."""
    import shutil

    try:
        if staged.is_symlink():
            _relink(link, staged.readlink())
            return
        copy = link.with_name(f".{link.name}.{os.getpid()}")
        shutil.move(staged, copy)
        link.unlink()
        copy.rename(link)
    except OSError:
        # Better a package that depends on this directory than one that has lost its provider.
        staging.is_needed = True


def _relink(link: Path, target: Path) -> None:
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    fresh.symlink_to(target)
    fresh.replace(link)


def _remove(directory: Path) -> None:
    # Not shutil's: 5 ms to import, for what is mostly empty.
    for parent, directories, names in os.walk(directory, topdown=False):
        for path in map(Path(parent).joinpath, (*names, *directories)):
            with contextlib.suppress(OSError):
                if path.is_dir() and not path.is_symlink():
                    path.rmdir()
                else:
                    path.unlink()
    with contextlib.suppress(OSError):
        directory.rmdir()
