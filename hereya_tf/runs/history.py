"""The history of runs: one directory each, readable after a crash at any point (I/O).

`runs/ID/run.json` says who runs what and how it ended, `events.ndjson` is the redacted log.
"""

import contextlib
import itertools
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf import exact
from hereya_tf.errors import BadInput
from hereya_tf.private import write_private
from hereya_tf.reading import open_regular_file, read_regular_file
from hereya_tf.supervision.process_table import ProcessIdentity, is_alive

RECORD = "run.json"
EVENTS = "events.ndjson"
CANCEL = "cancel"
# Characters of an id that say when: `20261130T015728Z`.
_SECOND = 16
# More than the last events of a run that waits.
_TAIL_BYTES = 1 << 14
# Nothing of ours is larger.
_LARGEST_RECORD = 1 << 24
_LONGEST_LINE = 1 << 26
_LARGEST_NUMBER = 1e15
_TEXTS = ("id", "operation", "package", "workspace", "key", "host", "started", "version")
_LATER_TEXTS = ("engine", "step", "ended", "status", "reason", "reproduce", "failure")
_OF_THE_DEAD = ("user", "last_sign", "held")
_NUMBERS = ("attempt", "exit_code", "seconds")


class RunRecord(NamedTuple):
    """What is known of a run without reading its log."""

    id: str
    operation: str
    package: str
    workspace: str
    key: str
    host: str
    process: ProcessIdentity
    started: str
    version: str
    engine: str | None = None
    engine_process: ProcessIdentity | None = None
    step: str | None = None
    attempt: int = 0
    ended: str | None = None
    status: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    seconds: float | None = None
    # The command to run it again, without its secrets.
    reproduce: str | None = None
    # The class of a failure.
    failure: str | None = None
    # As whom it ran, as an engine would say it.
    user: str | None = None
    # Of a run that was killed: the last sign of life, and the first that its engine had the state's lock.
    last_sign: str | None = None
    held: str | None = None

    @property
    def is_alive(self) -> bool:
        """Whether its runner still runs; one on another host is believed to."""
        return self.status is None and (self.host != host_name() or is_alive(self.process))

    @property
    def is_orphaned(self) -> bool:
        """Whether its runner was killed and its engine is still at work."""
        engine = self.engine_process
        return self.status is None and not self.is_alive and engine is not None and is_alive(engine)

    @property
    def state(self) -> str:
        """`running`, `orphaned`, `died`, or the status it ended with."""
        if self.status is not None:
            return self.status
        return "running" if self.is_alive else "orphaned" if self.is_orphaned else "died"


def host_name() -> str:
    """This host, as records and lock files name it."""
    return os.uname().nodename


def user_name() -> str:
    """Who we are, as an engine writes it into the lock of a state; empty where nobody knows."""
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return os.environ.get("USER", "")


def new_run_id(seconds: float, random: bytes) -> str:
    """An id that sorts by time: `20261130T015728Z-4f3a2b1c`."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(seconds)) + f"-{random.hex()}"


def write_record(directory: Path, record: RunRecord) -> None:
    """Replace the record in one step. Raises OSError."""
    write_private(directory / RECORD, json.dumps(record_json(record)) + "\n")


def record_json(record: RunRecord) -> dict[str, Any]:
    """The record as JSON, process identities as objects."""
    return {
        name: value._asdict() if isinstance(value, ProcessIdentity) else value
        for name, value in zip(record._fields, record, strict=True)
    }


def read_record(directory: Path) -> RunRecord | None:
    """The record of a run directory; None when there is none or it makes no sense."""
    try:
        data = read_regular_file(directory / RECORD, at_most=_LARGEST_RECORD)
        fields = json.loads(data.decode("utf-8"))
        # A newer version may have written more: what is not known is passed over.
        known = {name: fields[name] for name in RunRecord._fields if name in fields}
        texts = (*_LATER_TEXTS, *_OF_THE_DEAD)
        later = all(isinstance(known.get(name), str | None) for name in texts)
        numbers = all(_is_number(known.get(name)) for name in _NUMBERS)
        if not (later and numbers and all(isinstance(known[name], str) for name in _TEXTS)):
            return None
        known["process"] = _identity(known["process"])
        if known.get("engine_process") is not None:
            known["engine_process"] = _identity(known["engine_process"])
        return RunRecord(**known)
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        return None


def _is_number(value: Any) -> bool:
    """Whether it is none at all, or one that is small enough for words."""
    return value is None or (isinstance(value, int | float) and abs(value) < _LARGEST_NUMBER)


def _identity(fields: Any) -> ProcessIdentity:
    pid, started = fields["pid"], fields["started"]
    if type(pid) is not int or not isinstance(started, str):
        raise TypeError("not a process")
    return ProcessIdentity(pid, started)


def owner_line(run: str, process: ProcessIdentity) -> str:
    """One line that says which run something belongs to, wherever its state directory is."""
    return json.dumps({"run": run, "host": host_name(), "process": process._asdict()})


def living_owner(line: str) -> str | None:
    """The run that an `owner_line` names, if it is at work on this host; None for anything else."""
    try:
        fields = json.loads(line)
        lives = fields["host"] == host_name() and is_alive(_identity(fields["process"]))
        return str(fields["run"]) if lives else None
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def list_runs(runs: Path) -> tuple[RunRecord, ...]:
    """All runs with a readable record, oldest first."""
    return tuple(newest_runs(runs))[::-1]


def newest_runs(runs: Path) -> Iterator[RunRecord]:
    """The runs with a readable record, newest first; no more are read than are taken."""
    # Ids tell the second only.
    for _, names in itertools.groupby(reversed(_names(runs)), key=lambda name: name[:_SECOND]):
        records = filter(None, (_read_run(runs, name) for name in names))
        yield from sorted(records, key=lambda record: (record.started, record.id), reverse=True)


def _read_run(runs: Path, name: str) -> RunRecord | None:
    """The record, if it is this run's: by the id in it everything else of the run is found."""
    record = read_record(runs / name)
    return record if record is not None and record.id == name else None


def _names(runs: Path) -> list[str]:
    try:
        # Hidden is what is kept beside the runs, and what is being removed.
        return sorted(name for name in os.listdir(runs) if not name.startswith("."))  # noqa: PTH208 - names
    except OSError:
        return []


def find_run(runs: Path, wanted: str) -> RunRecord:
    """The run with this id, the one whose id starts or ends like this, or the `last`. Raises BadInput."""
    newest = next(newest_runs(runs), None)
    if newest is None:
        raise BadInput(f"there is no run in `{runs}`", "`HEREYA_TF_STATE_DIR` tells where runs are kept")
    if wanted == "last":
        return newest
    names = _names(runs)
    for likely in (
        [name for name in names if name == wanted],
        [name for name in names if name.startswith(wanted) or name.endswith(wanted)],
    ):
        matches = [record for name in likely if (record := _read_run(runs, name)) is not None]
        if len(matches) == 1:
            return matches[0]
        if matches:
            some = ", ".join(f"`{record.id}`" for record in matches[-3:])
            raise BadInput(
                f"`{wanted}` could be {len(matches)} runs, {some} among them", "give more of the id"
            )
    raise BadInput(f"there is no run `{wanted}`", "`hereya-tf runs list` shows their ids")


def request_cancel(directory: Path, record: RunRecord) -> None:
    """Leave the request to end where the run looks for it, and wake the run up. Raises OSError.

    Of a run whose runner was killed the engine is interrupted, once.
    """
    import signal

    write_private(directory / CANCEL, "")
    with contextlib.suppress(ProcessLookupError):  # it has just ended
        if record.is_alive and record.host == host_name():
            # Its handler finds the request; for a run that ignores the signal there is the heartbeat's look.
            os.kill(record.process.pid, signal.SIGTERM)
        elif record.is_orphaned and record.engine_process is not None:
            os.kill(record.engine_process.pid, signal.SIGINT)


def read_log(directory: Path) -> tuple[Mapping[str, Any], ...]:
    """The events of a run as far as they were written; what a crash or the disk has damaged is left out."""
    return tuple(log_of(directory))


def log_of(directory: Path) -> Iterator[Mapping[str, Any]]:
    """What `read_log` returns, one after the other: a log may be larger than memory."""
    from hereya_tf.runs.log_events import event_of

    for line in _lines(directory / EVENTS):
        try:
            event = exact.loads(line.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            continue
        if (read := event_of(event)) is not None:
            yield read


def _lines(path: Path) -> Iterator[bytes]:
    """The lines of a file, but for those that nothing of ours has written; none when it cannot be read."""
    is_rest = False
    with contextlib.suppress(OSError), open_regular_file(path) as file:
        while line := file.readline(_LONGEST_LINE):
            is_whole = line.endswith(b"\n") or len(line) < _LONGEST_LINE
            if is_whole and not is_rest:
                yield line
            is_rest = not is_whole


def is_waiting(directory: Path) -> bool:
    """Whether the last that a run has told is that it waits for a lock."""
    try:
        with open_regular_file(directory / EVENTS) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            lines = file.read().split(b"\n")
    except OSError:
        return False
    for line in reversed(lines):
        try:
            event = json.loads(line)
            told = event["type"], event.get("step")
        except (ValueError, TypeError, LookupError, RecursionError):
            continue
        if told[0] not in ("log", "diagnostic"):  # a warning between two looks at the lock
            return told in (("lock_waiting", None), ("heartbeat", "wait"))
    return False
