"""When to ask an engine to end, when to insist, and when to kill it (pure).

A second SIGINT, even 5 ms after the first, makes Terraform drop the resource in flight: it is created but
not in the state. While nothing is being applied nothing can be lost, and an interrupted plan has been seen
to run on for 170 s. So the second one follows soon there, and only after the grace once resources change.
"""

from enum import Enum
from typing import NamedTuple

INSIST_WHILE_READING_SECONDS = 5.0
KILL_AFTER_INSISTING_SECONDS = 10.0


class Move(Enum):
    """What to do to the engine now."""

    NOTHING = "nothing"
    ASK = "ask"
    INSIST = "insist"
    KILL = "kill"


class Asked(NamedTuple):
    """What has been done to the engine so far; times are of one monotonic clock, in seconds."""

    asked_at: float | None = None
    insisted_at: float | None = None
    killed_at: float | None = None


def next_move(
    done: Asked, *, now: float, wanted: bool, user_insists: bool, mutating: bool, grace: float
) -> Move:
    """The next step towards the engine's end; each step is taken once.

    `wanted` is whether the run is to end at all, `mutating` whether a resource may be in flight,
    `grace` the seconds that an engine which is applying gets after it was asked.
    """
    if not wanted or done.killed_at is not None:
        return Move.NOTHING
    if done.asked_at is None:
        return Move.ASK
    if done.insisted_at is None:
        patience = grace if mutating else min(grace, INSIST_WHILE_READING_SECONDS)
        return Move.INSIST if user_insists or now - done.asked_at >= patience else Move.NOTHING
    return Move.KILL if now - done.insisted_at >= KILL_AFTER_INSISTING_SECONDS else Move.NOTHING
