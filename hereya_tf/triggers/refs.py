"""Names of repositories and branches, and commits, as git and its hosts allow them (pure)."""

import re

_COMMIT = re.compile(r"[0-9a-fA-F]{40}|[0-9a-fA-F]{64}")
# What `git check-ref-format` refuses: control characters, space, and what means something to git.
_NOT_IN_REFS = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//")
_NOT_IN_REPOSITORIES = re.compile(r"[\x00-\x20\x7f]")
_LONGEST_NAME = 1024  # characters


def is_branch_name(text: str) -> bool:
    """Whether git would take it for the name of a branch or tag (`git check-ref-format refs/heads/NAME`)."""
    return (
        _is_text(text)
        and _NOT_IN_REFS.search(text) is None
        and text != "@"
        and not text.startswith("/")
        and not text.endswith(("/", "."))
        and not any(part.startswith(".") or part.endswith(".lock") for part in text.split("/"))
    )


def is_repository_name(text: str) -> bool:
    """Whether it is `owner/name`; GitLab's groups have groups, so there may be more parts."""
    parts = text.split("/")
    return (
        _is_text(text)
        and len(parts) > 1
        and all(part not in ("", ".", "..") for part in parts)
        and _NOT_IN_REPOSITORIES.search(text) is None
    )


def is_commit(text: str) -> bool:
    """Whether it is the whole SHA of an object: 40 hexadecimal digits, or 64."""
    return _COMMIT.fullmatch(text) is not None


def is_nothing(commit: str) -> bool:
    """Whether a SHA is all zeros, which stands for no commit."""
    return bool(commit) and not commit.strip("0")


def _is_text(text: str) -> bool:
    # Half a surrogate pair, which JSON can spell, is in no file name and cannot be stored or shown.
    return 0 < len(text) <= _LONGEST_NAME and not any("\ud800" <= letter <= "\udfff" for letter in text)
