"""What the commits of a push have changed, when their list is known to be complete (pure)."""

from typing import Any

from hereya_tf.triggers.payload import find, message_at
from hereya_tf.triggers.refs import is_commit, is_nothing

# "A maximum of 3000 changed files will be reported per commit" (GitHub, on `added`, `removed`, `modified`).
_MOST_FILES = 3000
_KINDS = ("added", "removed", "modified")


def changed_paths(document: Any, *, fewer_than: int) -> tuple[str, ...] | None:
    """The files that the commits of a push (`before` to `after`) name, each once; None when these may not be all.

    Complete is a list that begins at a commit, is shorter than what the sender cuts it to (`fewer_than`), has the
    new head in it, and in which each commit lists its files, fewer than anybody cuts.
    """
    commits, before, after = (find(document, name) for name in ("commits", "before", "after"))
    if not isinstance(commits, list) or len(commits) >= fewer_than:
        return None
    if (
        not isinstance(before, str)
        or not is_commit(before)
        or all(find(commit, "id") != after for commit in commits)
    ):
        return None
    found: dict[str, None] = {}
    for commit in commits:
        lists = [find(commit, kind) for kind in _KINDS]
        if not all(isinstance(each, list) for each in lists):
            return None
        files = [file for each in lists for file in each]
        if len(files) >= _MOST_FILES or not all(isinstance(file, str) for file in files):
            return None
        found |= dict.fromkeys(files)
    return tuple(found)


def is_new(document: Any) -> bool:
    """Whether a push begins at nothing: its branch was not there before."""
    before = find(document, "before")
    return isinstance(before, str) and is_nothing(before)


def message_of(document: Any) -> str | None:
    """The new head's message, when it stands in the list of commits and is a text."""
    commits, after = find(document, "commits"), find(document, "after")
    if not isinstance(commits, list):
        return None
    return next((message_at(each, "message") for each in commits if find(each, "id") == after), None)
