"""Puts a copy in the place of a broken local state (I/O)."""

import contextlib
import itertools
import os
import stat
from pathlib import Path
from typing import BinaryIO

from hereya_tf.errors import HereyaError, StateCorrupt, no_room
from hereya_tf.private import sync_directory
from hereya_tf.reading import open_regular_file, reason
from hereya_tf.runs.directory import BROKEN_PREFIX
from hereya_tf.states.durable import copy_durably

_NEW = ".restored-"


def restore(state: Path, copy: Path, directory: Path) -> Path | None:
    """Let `copy` take the place of the broken `state`, which is kept in the run's `directory`; returns where.

    None where there is no file any more. At every moment there is the old file or the new one, whole and on the
    disk; it keeps the mode, and where possible the owner, that it had. Raises StateCorrupt or NoRoom.
    """
    # A link stays a link.
    target = Path(os.path.realpath(state))
    try:
        status, kept = None, None
        with contextlib.suppress(FileNotFoundError), open_regular_file(target) as broken:
            status = os.fstat(broken.fileno())
            kept = _keep(broken, directory)
        _replace(target, copy, status)
    except OSError as error:
        sentence = f"`{state}` cannot be replaced by `{copy}`: {reason(error)}"
        refusal: HereyaError = no_room(error, sentence) or StateCorrupt(
            sentence, "make the state and its directory writable, and try again: `hereya-tf recover`"
        )
        raise refusal from error
    return kept


def _keep(broken: BinaryIO, directory: Path) -> Path:
    for number in itertools.count(1):
        kept = directory / f"{BROKEN_PREFIX}{number}"
        with contextlib.suppress(FileExistsError):
            copy_durably(broken, kept)
            return kept
    raise AssertionError("there is always another name")


def _replace(target: Path, copy: Path, status: os.stat_result | None) -> None:
    for left in target.parent.glob(f".{target.name}{_NEW}*"):
        # Of a recovery that was killed here: nobody but us is at work on this state.
        with contextlib.suppress(OSError):
            left.unlink()
    new = target.with_name(f".{target.name}{_NEW}{os.getpid()}")
    try:
        with open_regular_file(copy) as source:
            copy_durably(source, new)
        if status is not None:
            with contextlib.suppress(OSError):
                os.chown(new, status.st_uid, status.st_gid)
            new.chmod(stat.S_IMODE(status.st_mode))
        new.replace(target)
    except OSError:
        with contextlib.suppress(OSError):
            new.unlink()
        raise
    sync_directory(target.parent)
