"""Parts of events that are larger than a few fields (pure)."""

from typing import NamedTuple


class RangeInfo(NamedTuple):
    """A place in a configuration file; lines and columns count from 1."""

    filename: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


class SnippetInfo(NamedTuple):
    """The source a diagnostic points at, which characters of it, and what its expressions were worth."""

    context: str | None
    code: str
    start_line: int
    values: tuple[tuple[str, str], ...]
    highlight_start: int = 0
    highlight_end: int = 0


class ProcessInfo(NamedTuple):
    """A process id together with its start, as the host of the process knows it."""

    pid: int
    started: str


class StepTrace(NamedTuple):
    """When an engine command was at work that locks the state; moments are RFC 3339.

    `command` is the engine's own (`apply`, `state push`), `held` the first sign that it had the lock or waited
    for it. `released` is null where nobody knows, such as after a kill, and false where it could not be released.
    """

    command: str
    began: str
    held: str | None
    ended: str | None
    released: bool | None


class Trace(NamedTuple):
    """Who was at work, where and when: what proves later whose lock it is that was left on a state."""

    run: str
    host: str
    user: str | None
    process: ProcessInfo
    engine_process: ProcessInfo | None
    began: str
    # The last sign of life, and the end of the run: null before it has come.
    last: str
    ended: str | None
    steps: tuple[StepTrace, ...]


class Finding(NamedTuple):
    """Something that is broken."""

    class_: str
    sentence: str


class Repair(NamedTuple):
    """What mends it, and why that is safe; `done` is null while it is only offered."""

    repair: str
    sentence: str
    because: str
    done: bool | None


class Remainder(NamedTuple):
    """What is not repaired here, why not, and what can be done by hand."""

    class_: str
    sentence: str
    by_hand: tuple[str, ...]


class Recovery(NamedTuple):
    """What `recover` has found and done; `again` is the command that does the broken run again."""

    story: tuple[str, ...]
    findings: tuple[Finding, ...]
    repairs: tuple[Repair, ...]
    left: tuple[Remainder, ...]
    again: str | None
