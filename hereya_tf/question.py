"""What a person is asked before anything is changed (pure)."""

from pathlib import Path
from typing import NamedTuple

from hereya_tf.events import ChangeCounts, ChangeEvent, Operation


class Question(NamedTuple):
    """The plan that is to be approved."""

    operation: Operation
    package: Path
    planned: ChangeCounts
    # The first of them, as many as are kept; `planned` counts them all.
    changes: tuple[ChangeEvent, ...] = ()
    # The engine's own words on it, for people.
    difference: str = ""
    # What is to be done, where that is no plan of the engine's.
    lines: tuple[str, ...] = ()
