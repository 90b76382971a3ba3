"""How long the parts of a run take (I/O)."""

import contextlib
import time
from collections.abc import Iterator


class Timer:
    """Seconds since it was made, and seconds per part."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self.parts: dict[str, float] = {}

    @property
    def elapsed(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._began

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Take the time of the block."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.parts[name] = time.monotonic() - began
