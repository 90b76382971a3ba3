"""The directories that outlive a run (pure)."""

from pathlib import Path
from typing import NamedTuple


class Places(NamedTuple):
    """Where state (runs, locks) and cache (engines, init memory) are kept."""

    state: Path
    cache: Path

    @property
    def runs(self) -> Path:
        """The directory of all run directories."""
        return self.state / "runs"

    @property
    def locks(self) -> Path:
        """The directory of all lock files."""
        return self.state / "locks"
