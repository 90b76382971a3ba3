"""Who holds a lock or waits for it: as values, as a file, as an error (I/O: `write`, `remove`, `read`)."""

import contextlib
import json
import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from hereya_tf.durations import format_duration
from hereya_tf.errors import Busy
from hereya_tf.supervision.process_table import ProcessIdentity

_SLUG_LENGTH = 40


class LockKind(StrEnum):
    """What a lock protects; a run takes them in this order."""

    PACKAGE = "package"
    WORKSPACE = "workspace"


class LockKey(NamedTuple):
    """Names one lock: a package by its real path, a workspace by its key."""

    kind: LockKind
    name: str

    @property
    def stem(self) -> str:
        """The start of the lock's file names: safe in any directory, and no two names share one."""
        import hashlib

        slug = re.sub(r"[^A-Za-z0-9_.]+", "-", self.name)[-_SLUG_LENGTH:].strip("-.")
        # surrogatepass: a path that is not UTF-8 holds lone surrogates.
        digest = hashlib.sha256(self.name.encode("utf-8", "surrogatepass")).hexdigest()
        return "-".join(part for part in (self.kind.value, slug, digest[:16]) if part)


class EngineProcess(NamedTuple):
    """An engine at work under a lock: its process, and the process group it leads."""

    process: ProcessIdentity
    group: int


class Holder(NamedTuple):
    """A run that holds a lock or waits for it. `since` is RFC 3339 UTC, `key` the lock's name."""

    run: str
    process: ProcessIdentity
    host: str
    operation: str
    since: str
    key: str
    engine: EngineProcess | None = None


class Waiting(NamedTuple):
    """A place in line, 1 is next, and who holds the lock as far as that is on record."""

    position: int
    holder: Holder | None


class Record(NamedTuple):
    """What the holder of a lock wrote down: itself and the number of its ticket (0 is none)."""

    holder: Holder
    ticket: int = 0


def encode(record: Record) -> bytes:
    """The record as one JSON object."""
    holder = record.holder
    engine = holder.engine
    return json.dumps(
        {
            **holder._asdict(),
            "process": holder.process._asdict(),
            "engine": engine and {"process": engine.process._asdict(), "group": engine.group},
            "ticket": record.ticket,
        }
    ).encode()


def decode(content: bytes) -> Record | None:
    """The record in these bytes, None for anything that is not one (cut short by a full disk, say)."""
    try:
        fields = json.loads(content)
        engine = fields["engine"]
        if engine is not None:
            engine = EngineProcess(_identity(engine["process"]), _process_id(engine["group"]))
        return Record(
            holder=Holder(
                run=_text(fields["run"]),
                process=_identity(fields["process"]),
                host=_text(fields["host"]),
                operation=_text(fields["operation"]),
                since=_text(fields["since"]),
                key=_text(fields["key"]),
                engine=engine,
            ),
            ticket=_whole(fields["ticket"]),
        )
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def write(path: Path, record: Record) -> None:
    """Replace the record in one step. When it cannot be written, none is left: an outdated one would lie."""
    fresh = path.with_name(path.name + ".new")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        try:
            content = encode(record)
            complete = os.write(descriptor, content) == len(content)
        finally:
            os.close(descriptor)
        if complete:
            fresh.replace(path)
            return
    except OSError:
        pass
    remove(fresh)
    remove(path)


def remove(path: Path) -> None:
    """Take the record away, if it is there and can be removed."""
    with contextlib.suppress(OSError):
        path.unlink()


def read(path: Path) -> Record | None:
    """The record in this file now, None when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        return decode(os.read(descriptor, 65536))
    finally:
        os.close(descriptor)


def busy(key: LockKey, waiting: Waiting, *, runner_died: bool, now: float) -> Busy:
    """The error for a lock that was not to be had; `now` is Unix time in seconds."""
    import shlex

    holder = waiting.holder
    lock = f"the {key.kind.value} lock of `{key.name}`"
    place = f"position {waiting.position} in line"
    command = f"lock status {shlex.quote(key.name)}" if key.kind is LockKind.PACKAGE else "lock list"
    hints = [
        f"`hereya-tf {command}` shows who holds it and who waits",
        "`--wait DURATION` waits longer for it",
    ]
    if holder is None:
        return Busy(f"{lock} is held by a process that left no record, {place}", *hints)
    age = _seconds_since(holder.since, now)
    since = f" since {holder.since}" if age is None else f" for {format_duration(age)}"
    if runner_died:
        hints.insert(0, _after_death(holder))
    return Busy(
        f"{lock} is held by run `{holder.run}` (`{holder.operation}`, process {holder.process.pid}"
        f" on `{holder.host}`){since}, {place}",
        *hints,
    )


def _after_death(holder: Holder) -> str:
    if holder.engine is None:
        return f"run `{holder.run}` has died; something that it started still holds the lock"
    engine = holder.engine.process.pid
    return f"run `{holder.run}` has died; its engine (process {engine}) or what that started holds the lock"


def _seconds_since(since: str, now: float) -> int | None:
    from datetime import datetime

    try:
        return max(0, round(now - datetime.fromisoformat(since).timestamp()))
    except ValueError:
        return None


def _identity(fields: Any) -> ProcessIdentity:
    return ProcessIdentity(_process_id(fields["pid"]), _text(fields["started"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _process_id(value: Any) -> int:
    if not 0 < _whole(value) < 2**31:
        raise ValueError
    return int(value)
