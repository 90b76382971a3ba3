"""The file in which a step of a GitHub workflow leaves its summary (I/O)."""

import os
import stat
from collections.abc import Callable

from hereya_tf.outputs.github_file import append_whole
from hereya_tf.reading import reason

# The runner drops the summary of a step that has more (actions/runner, `FileCommandManager.cs`).
LARGEST_BYTES = 1 << 20
# What others may still write.
_SLACK_BYTES = 4096


def append_summary(path: str, make: Callable[[int], str]) -> str | None:
    """Append what `make` makes of so many bytes that are left; returns a sentence on what went wrong.

    What is in the file stays: other commands of the step have written it.
    """
    try:
        taken = _size(path)
        text = make(LARGEST_BYTES - taken - _SLACK_BYTES)
        if not text:
            return f"the summary of this step, `{path}`, has no room for more"
        append_whole(path, f"\n{text}" if taken else text)
    except (OSError, ValueError) as error:
        return f"the summary of this step, `{path}`, cannot be written: {reason(error)}"
    return None


def _size(path: str) -> int:
    try:
        status = os.stat(path)  # noqa: PTH116 - a name that no file system has is a ValueError here
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
