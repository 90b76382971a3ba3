"""Where the state of a job's package is kept, so that no two targets get to share one (pure)."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

from hereya_tf.executor.payloads import Refusal

LOCAL = "localStatePath"
_STATE_FILE = "terraform.tfstate"


class Found(NamedTuple):
    """A package's directory, and what its files say.

    `variables` is None when a file does not parse. `has_state` tells of a local state next to the files,
    `is_checkout` of a directory that is ours, and goes away one day.
    """

    directory: str
    variables: frozenset[str] | None
    backend: str | None
    has_state: bool
    is_checkout: bool

    def may_declare(self, variable: str) -> bool:
        """Whether a value for it is of use, as far as that can be told."""
        return self.variables is None or variable in self.variables


class Place(NamedTuple):
    """What a request's `infraConfig` says; nothing for the package's own backend."""

    infra: Mapping[str, str]
    notes: tuple[str, ...] = ()


def find_place(
    found: Found, infra: Mapping[str, str] | None, identifier: str, *, states: str | None, shown: str
) -> Place | Refusal:
    """Where the state called `identifier` is.

    That is where the job says, else where the package's own backend says, else below the operator's directory
    `states`: a checkout goes away, with what a backend `local` keeps in it, and a directory may be used by other
    workspaces as well.
    """
    own = found.backend if found.backend != "local" or not found.is_checkout else None
    if infra is not None:
        return Place({**infra, LOCAL: _file(infra[LOCAL], identifier)} if LOCAL in infra else infra)
    if own is not None:
        return Place(
            {},
            (f"{shown} keeps its state where its own backend `{own}` says, whatever the workspace",),
        )
    if found.has_state:
        return Refusal(
            f"{shown} has a state next to its files, and a job would begin another:"
            f" say by `infraConfig.{LOCAL}` which is meant"
        )
    if states is None:
        return Refusal(f"{shown} has no backend to keep its state in: give `infraConfig`")
    return Place({LOCAL: _file(states, identifier)})


def _file(path: str, identifier: str) -> str:
    """The state's own file below a directory; a path that ends in `.tfstate` is that file."""
    if path.endswith(".tfstate"):
        return path
    return str(PurePosixPath(path, identifier, _STATE_FILE))
