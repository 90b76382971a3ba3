"""A live run's private directory (I/O).

While a step runs, `STEP.N.stdout` and `.stderr` are the engine's raw output; they go when the log is
complete. A full disk or a directory that cannot be written costs the history, never the run.
"""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from hereya_tf.errors import NoRoom
from hereya_tf.private import (
    free_bytes,
    make_private_directory,
    nameless_file,
    open_private,
    write_all,
    write_private,
)
from hereya_tf.runs import history

SECRETS = "secrets.json"
REPORT = "report.txt"
EMERGENCY_STATE = "emergency.tfstate"
STATE_BEFORE = "state-before.tfstate"
"""The local state as it was before the run wrote it."""
ERRORED_PREFIX = "errored-"
"""What a state that an engine had left in the package is called here, before a number."""
BROKEN_PREFIX = "broken-state-"
"""The same for a local state that was none any more, and was replaced by a copy."""
# Below this much room an engine's output would be cut off without a word.
LEAST_FREE_BYTES = 8 << 20
_BLOCK_BYTES = 4096
_SCRATCH = "scratch-"
_KEPT = (history.RECORD, history.EVENTS, REPORT, EMERGENCY_STATE, STATE_BEFORE)
_FLUSH_BYTES = 1 << 16


class Capture(NamedTuple):
    """The two files that one engine step writes to, open for appending and reading."""

    stdout: BinaryIO
    stderr: BinaryIO
    paths: tuple[Path, ...]

    def is_cut_off(self) -> bool:
        """Whether the disk has no room left for what the engine says."""
        return any(free_bytes(path.parent) < _BLOCK_BYTES for path in self.paths)

    def discard(self) -> None:
        """Close both, and remove what has a name."""
        self.stdout.close()
        self.stderr.close()
        for path in self.paths:
            with contextlib.suppress(OSError):
                path.unlink()


class RunDirectory:
    """One run's private directory; `warn` hears once, in a sentence, when it cannot be written."""

    def __init__(self, runs: Path, run: str, warn: Callable[[str], None]) -> None:
        self.path = runs / run
        self._warn = warn
        self._warned = False
        self._log: BinaryIO | None = None
        self._pending: list[str] = []
        self._pending_bytes = 0
        self._fallback: Path | None = None
        self.emergency_state: Path | None = None
        self.usable = True
        try:
            make_private_directory(self.path)
            self._log = open_private(self.path / history.EVENTS)
        except OSError as error:
            self.usable = False
            self._say(error)

    @property
    def has_failed(self) -> bool:
        """Whether something could not be written here, as `warn` has heard."""
        return self._warned

    def append(self, line: str) -> None:
        """Add a line to the log; it is on its way to the disk after `flush`."""
        if self._log is not None:
            self._pending.append(line)
            self._pending_bytes += len(line)
            if self._pending_bytes > _FLUSH_BYTES:
                self.flush()

    def flush(self) -> None:
        """Write what has been appended; when that fails the log ends here, and the run goes on."""
        if self._log is None or not self._pending:
            return
        data = ("\n".join(self._pending) + "\n").encode("utf-8", "backslashreplace")
        self._pending.clear()
        self._pending_bytes = 0
        try:
            write_all(self._log.fileno(), data)
        except OSError as error:
            self._log.close()
            self._log = None
            self._say(error)

    def write_record(self, record: history.RunRecord) -> None:
        """Replace `run.json`."""
        if self.usable:
            try:
                history.write_record(self.path, record)
            except OSError as error:
                self._say(error)

    def capture(self, step: str, attempt: int) -> Capture:
        """Files for the output of one engine step; nameless ones where the directory has no room."""
        if self.usable:
            paths = (self.path / f"{step}.{attempt}.stdout", self.path / f"{step}.{attempt}.stderr")
            try:
                _check_room(self.path)
                with contextlib.ExitStack() as opened:
                    files = [opened.enter_context(open_private(path)) for path in paths]
                    opened.pop_all()
                return Capture(files[0], files[1], paths)
            except OSError as error:
                self._say(error)
        return Capture(nameless_file(), nameless_file(), ())

    def private_file(self, name: str, text: str, *, grows: bool = False) -> Path:
        """A 0600 file for the engine to read, or to write when it `grows`.

        Raises NoRoom when there is no place for it at all.
        """
        if self.usable:
            try:
                if grows:
                    _check_room(self.path)
                return write_private(self.path / name, text)
            except OSError as error:
                self._say(error)
        try:
            return write_private(self._fallback_directory() / name, text)
        except OSError as error:
            raise NoRoom(
                f"there is no room for the run's private file `{name}`: {error.strerror}",
                "free some space, or point `HEREYA_TF_STATE_DIR` or `TMPDIR` to a disk that has some",
            ) from error

    @contextlib.contextmanager
    def scratch(self, name: str) -> Iterator[Path]:
        """A private directory for the time of the block. Raises NoRoom when there is no place for it at all."""
        import shutil

        try:
            directory = (self.path if self.usable else self._fallback_directory()) / f"{_SCRATCH}{name}"
            make_private_directory(directory)
        except OSError as error:
            raise NoRoom(
                f"there is no room for the run's private directory `{name}`: {error.strerror}",
                "free some space, or point `HEREYA_TF_STATE_DIR` or `TMPDIR` to a disk that has some",
            ) from error
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def keep_emergency_state(self, text: str) -> None:
        """Keep a state that the engine could only print; `emergency_state` is where."""
        try:
            self.emergency_state = self.private_file(EMERGENCY_STATE, text)
        except NoRoom as error:
            self._warn(str(error))

    def keep_secrets(self, secrets: tuple[str, ...]) -> None:
        """For the run that finds this one dead: what to redact in its raw output."""
        if self.usable:
            try:
                write_private(self.path / SECRETS, json.dumps(secrets))
            except OSError as error:
                self._say(error)

    def cancel_requested(self) -> bool:
        """Whether `runs cancel` has asked this run to end."""
        try:
            return (self.path / history.CANCEL).exists()
        except OSError:  # the disk is gone: no reason to end what is being applied
            return False

    def close(self) -> None:
        """At a normal end: what is left is the record, the log, and what the user may need."""
        self.flush()
        if self._log is not None:
            self._log.close()
            self._log = None
        self.remove_private_files()

    def remove_private_files(self) -> None:
        """No engine needs them any more: values, secrets, raw output."""
        remove_all_but_kept(self.path)
        if self._fallback is not None:
            remove_all_but_kept(self._fallback)
            with contextlib.suppress(OSError):
                self._fallback.rmdir()
                self._fallback = None

    def _fallback_directory(self) -> Path:
        if self._fallback is None:
            import tempfile

            places = [Path("/dev/shm")]  # noqa: S108 - what is made in it is 0700 and has a random name
            with contextlib.suppress(FileNotFoundError):  # no directory for temporary files can be written
                places.insert(0, Path(tempfile.gettempdir()))
            roomy = (place for place in places if free_bytes(place) >= LEAST_FREE_BYTES)
            self._fallback = Path(tempfile.mkdtemp(prefix="hereya-tf-", dir=next(roomy, None)))
        return self._fallback

    def _say(self, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            self._warn(
                f"`{self.path}` cannot be written, so this run leaves no full history: {error.strerror}"
            )


def remove_all_but_kept(directory: Path) -> None:
    """Remove raw output, values and secrets; the record, the log and what the user may need stay."""
    entries: tuple[Path, ...] = ()
    with contextlib.suppress(OSError):
        entries = tuple(directory.iterdir())
    for entry in entries:
        if entry.name in _KEPT or entry.name.startswith((ERRORED_PREFIX, BROKEN_PREFIX)):
            continue
        if entry.name.startswith(_SCRATCH):
            import shutil

            shutil.rmtree(entry, ignore_errors=True)
            continue
        with contextlib.suppress(OSError):
            entry.unlink()


def _check_room(directory: Path) -> None:
    """Raises OSError."""
    if free_bytes(directory) < LEAST_FREE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
