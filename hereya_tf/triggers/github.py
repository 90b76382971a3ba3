"""Deliveries of GitHub, and of Gitea and Forgejo, which resemble them (pure)."""

from typing import Any

from hereya_tf.triggers.commits import changed_paths, is_new, message_of
from hereya_tf.triggers.errors import malformed
from hereya_tf.triggers.events import Event, OtherEvent, Ping, ref_event
from hereya_tf.triggers.headers import Headers, find_header
from hereya_tf.triggers.payload import find, message_at, read_form_or_object, text_at

# GitHub lists no more commits than this in a push.
_MOST_COMMITS = 2048
_FOREIGN = ("X-Forgejo-Event", "X-Gitea-Event")
_REF_TYPES = {"branch": "refs/heads/", "tag": "refs/tags/"}


def github_events(headers: Headers, body: bytes) -> tuple[Event, ...]:
    """What a delivery of GitHub's tells."""
    # They send GitHub's headers as well, and are signed alike; but their lists of commits are cut elsewhere.
    if any(find_header(headers, name) for name in _FOREIGN):
        raise malformed("the delivery is not of GitHub", "the provider is `gitea` or `forgejo`")
    return (_event(_required(find_header(headers, "X-GitHub-Event"), "X-GitHub-Event"), headers, body),)


def gitea_events(headers: Headers, body: bytes) -> tuple[Event, ...]:
    """What a delivery of Gitea's or Forgejo's tells."""
    name = find_header(headers, "X-Forgejo-Event") or find_header(headers, "X-Gitea-Event")
    return (_event(_required(name, "X-Gitea-Event"), headers, body, is_gitea=True),)


def _required(value: str | None, name: str) -> str:
    if value is None:
        raise malformed(f"the delivery has no `{name}` header", "is it a delivery of that provider?")
    return value


def _event(name: str, headers: Headers, body: bytes, *, is_gitea: bool = False) -> Event:
    match name:
        case "push":
            return _push(read_form_or_object(body, find_header(headers, "Content-Type")), is_gitea=is_gitea)
        case "create" | "delete":
            return _ref(name, read_form_or_object(body, find_header(headers, "Content-Type")))
        case "ping":
            return Ping()
        case _:
            return OtherEvent()


def _push(document: dict[str, Any], *, is_gitea: bool) -> Event:
    return ref_event(
        text_at(document, "repository", "full_name"),
        text_at(document, "ref"),
        None if find(document, "deleted") is True else text_at(document, "after"),
        message=_message(document),
        paths=changed_paths(document, fewer_than=_MOST_COMMITS)
        if not is_gitea or _is_whole(document)
        else None,
        is_created=find(document, "created") is True or is_new(document),
        is_forced=find(document, "forced") is True,
    )


def _is_whole(document: dict[str, Any]) -> bool:
    """Whether Gitea's list of commits is all of them: it has five, or however many its operator wants."""
    commits = find(document, "commits")
    return isinstance(commits, list) and find(document, "total_commits") == len(commits)


def _message(document: dict[str, Any]) -> str | None:
    if isinstance(find(document, "head_commit"), dict):
        return message_at(document, "head_commit", "message")
    return message_of(document)


def _ref(name: str, document: dict[str, Any]) -> Event:
    """A branch or tag that was made or deleted: told with a short name, besides the push or instead of one."""
    prefix = _REF_TYPES.get(str(find(document, "ref_type")))
    if prefix is None or (name == "create" and prefix == _REF_TYPES["branch"]):
        return OtherEvent()
    # Gitea writes the whole name in some of its versions.
    ref = prefix + text_at(document, "ref").removeprefix(prefix)
    return ref_event(text_at(document, "repository", "full_name"), ref, None)
