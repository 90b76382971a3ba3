"""Where checkouts are in the cache (pure)."""

from pathlib import Path
from typing import NamedTuple

from hereya_tf.checkouts.sources import Archive, GitRevision, PackageSource, identity

REFS = "refs/hereya-tf"
"""What names the commits that are there as a whole."""

_LONGEST_TITLE = 24  # characters
_DIGITS = 24


class Layout(NamedTuple):
    """The directories of one cache."""

    cache: Path

    @property
    def top(self) -> Path:
        """All of it."""
        return self.cache / "checkouts"

    @property
    def trees(self) -> Path:
        """The directory of all trees."""
        return self.top / "trees"

    @property
    def repositories(self) -> Path:
        """The directory of all cached repositories."""
        return self.top / "repositories"

    @property
    def archives(self) -> Path:
        """The directory of all cached archives."""
        return self.top / "archives"

    @property
    def graveyard(self) -> Path:
        """Where things are on their way out."""
        return self.top / "removed"

    def tree(self, source: PackageSource, workspace: str) -> Path:
        """The slot of a tree: one for each workspace and content."""
        return self.trees / _key(source.url, identity(source), workspace)

    def repository(self, revision: GitRevision) -> Path:
        """The slot of a repository: one for each address (and kind of SHA)."""
        return self.repositories / _key(revision.url, f"{len(revision.commit)} {revision.url}")

    def archive(self, archive: Archive) -> Path:
        """The slot of an archive: one for each digest."""
        return self.archives / archive.digest

    def stamp(self, slot: Path) -> Path:
        """The file that says that a tree was complete once, and since when it is used no more."""
        return slot / "checkout.json"


def bare(slot: Path) -> Path:
    """The repository in its slot."""
    return slot / "git"


def work_tree_directory(slot: Path, name: str) -> Path:
    """Where git keeps what it knows of the work tree called `name` (gitrepository-layout(5))."""
    return bare(slot) / "worktrees" / name


def _key(url: str, *texts: str) -> str:
    """A name for a directory: something for people, and a digest, which keeps what differs apart."""
    import hashlib
    import json

    name = url.partition("?")[0].rstrip("/").replace(":", "/").rpartition("/")[2].removesuffix(".git")
    title = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in name.lower())
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()
    return f"{title.strip('-')[:_LONGEST_TITLE].strip('-') or 'package'}-{digest[:_DIGITS]}"
