"""A place to check out packages in, and what is said when that fails."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from hereya_tf.checkouts import Checkout, Checkouts, Limits, PackageSource
from hereya_tf.errors import HereyaError

PATIENT = Limits(seconds=120.0)


class Place:
    """A cache of the test's own; each `checkouts` is another process's view of it, as it were."""

    def __init__(self, directory: Path) -> None:
        self.cache = directory / "package-cache"
        self.said: list[str] = []

    def checkouts(self, environment: Mapping[str, str] = {}, **settings: Any) -> Checkouts:
        settings.setdefault("limits", PATIENT)
        return Checkouts(
            self.cache, environment={**os.environ, **environment}, tell=self.said.append, **settings
        )

    @contextlib.contextmanager
    def checkout(
        self,
        source: PackageSource,
        workspace: str = "w",
        environment: Mapping[str, str] = {},
        **settings: Any,
    ) -> Iterator[Checkout]:
        with self.checkouts(environment, **settings).checkout(source, workspace) as checkout:
            yield checkout

    def failure(self, source: PackageSource, **settings: Any) -> HereyaError:
        """What is raised."""
        try:
            with self.checkout(source, **settings):
                pass
        except HereyaError as error:
            return error
        raise AssertionError("it was checked out")

    def files(self) -> Iterator[Path]:
        """Everything in the cache, also on its way out."""
        for directory, _, names in os.walk(self.cache):
            yield from (Path(directory, name) for name in names)


def contents(root: Path) -> dict[str, str]:
    """The files of a tree, without git's, and where its links lead."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.is_symlink():
            found[path.relative_to(root).as_posix()] = f"-> {path.readlink()}"
        elif path.is_file() and path.name != ".git":
            found[path.relative_to(root).as_posix()] = path.read_text()
    return found
