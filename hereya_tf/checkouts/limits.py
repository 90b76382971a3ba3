"""How much of a package is taken, and how long that may take (pure)."""

from typing import NamedTuple


class Limits(NamedTuple):
    """Of one package: files in its tree, bytes in it, bytes that are transferred; seconds of one git command.

    `patience` is how many seconds another checkout of the same is waited for.
    """

    files: int = 100_000
    tree_bytes: int = 2 * 1024**3
    transfer_bytes: int = 1024**3
    seconds: float = 600.0
    patience: float = 900.0
