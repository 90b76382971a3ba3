"""What a delivery tells: a push of a branch, or what is none (pure)."""

from dataclasses import dataclass

from hereya_tf.triggers.errors import malformed
from hereya_tf.triggers.refs import is_branch_name, is_commit, is_nothing, is_repository_name

_BRANCHES = "refs/heads/"
_TAGS = "refs/tags/"


@dataclass(frozen=True, kw_only=True)
class Push:
    """A branch that has a new head. What is deployed is `commit`, never what the branch may be at by then."""

    repository: str
    branch: str
    commit: str
    message: str | None = None
    paths: tuple[str, ...] | None = None
    """The files that were changed; None when the sender did not list all of them, for sure."""
    is_created: bool = False
    is_forced: bool = False


@dataclass(frozen=True, kw_only=True)
class Tag:
    """A tag that was set or deleted."""

    repository: str
    tag: str


@dataclass(frozen=True, kw_only=True)
class Deletion:
    """A branch that is gone."""

    repository: str
    branch: str


@dataclass(frozen=True, kw_only=True)
class Ping:
    """The sender has tried whether the webhook works."""


@dataclass(frozen=True, kw_only=True)
class OtherEvent:
    """Anything else that happened there."""


Event = Push | Tag | Deletion | Ping | OtherEvent


def ref_event(
    repository: str,
    ref: str,
    commit: str | None,
    *,
    message: str | None = None,
    paths: tuple[str, ...] | None = None,
    is_created: bool = False,
    is_forced: bool = False,
) -> Event:
    """What it means that `ref` (with `refs/heads/`) is at `commit` now: None, or all zeros, when it is gone.

    Raises PipelineError (MALFORMED_EVENT) for names that git or its hosts do not allow.
    """
    if not is_repository_name(repository):
        raise malformed("the event is of a repository whose name is not `owner/name`")
    if not ref.startswith("refs/"):
        raise malformed("the event is of a ref that does not begin with `refs/`")
    if not ref.startswith((_BRANCHES, _TAGS)):
        return OtherEvent()
    name = ref.removeprefix(_BRANCHES).removeprefix(_TAGS)
    if not is_branch_name(name):
        raise malformed("the event is of a branch or tag whose name git does not allow")
    if ref.startswith(_TAGS):
        return Tag(repository=repository, tag=name)
    if commit is None:
        return Deletion(repository=repository, branch=name)
    if not is_commit(commit):
        raise malformed("the event names a commit by what is not its whole SHA")
    if is_nothing(commit):
        return Deletion(repository=repository, branch=name)
    return Push(
        repository=repository,
        branch=name,
        commit=commit.lower(),
        message=message,
        paths=None if is_created or is_forced else paths,
        is_created=is_created,
        is_forced=is_forced,
    )
