"""Which state a run, or a note, is about, and whether two of them mean the same one."""

import os
from typing import NamedTuple

from hereya_tf.runs.history import RunRecord


class StateIdentity(NamedTuple):
    """A state by the key of its workspace, and by its package, a real path, and the workspace's name."""

    key: str
    package: str
    workspace: str

    @property
    def has_own_key(self) -> bool:
        """Whether the key says where the state is; one that the user has chosen says nothing about it."""
        return self.key.endswith(f"#{self.workspace}")

    def is_of(self, other: "StateIdentity") -> bool:
        """Whether both mean one state, as far as can be told."""
        if self.has_own_key and other.has_own_key:
            return self.key == other.key
        return (self.package, self.workspace) == (other.package, other.workspace)


def state_of(record: RunRecord) -> StateIdentity:
    """The state that a run was about, by its record; links in its package's path are followed."""
    return StateIdentity(record.key, os.path.realpath(record.package), record.workspace)
