"""Deliveries of Bitbucket, in the cloud and in a data centre (pure)."""

from typing import Any

from hereya_tf.triggers.errors import malformed
from hereya_tf.triggers.events import Event, OtherEvent, Ping, ref_event
from hereya_tf.triggers.headers import Headers, find_header
from hereya_tf.triggers.payload import find, list_at, message_at, read_object, text_at

# The cloud's words for branches of git and of Mercurial; a tag has several too.
_BRANCHES = ("branch", "named_branch", "bookmark")


def bitbucket_events(headers: Headers, body: bytes) -> tuple[Event, ...]:
    """What a delivery of Bitbucket's tells: one event for each ref. It never lists the files that were changed."""
    match find_header(headers, "X-Event-Key"):
        case None:
            raise malformed("the delivery has no `X-Event-Key` header", "is it a delivery of that provider?")
        case "repo:push":
            return _cloud(read_object(body))
        case "repo:refs_changed":
            return _data_centre(read_object(body))
        case "diagnostics:ping":
            return (Ping(),)
        case _:
            return (OtherEvent(),)


def _cloud(document: dict[str, Any]) -> tuple[Event, ...]:
    repository = text_at(document, "repository", "full_name")
    return tuple(_cloud_change(repository, change) for change in _some(list_at(document, "push", "changes")))


def _cloud_change(repository: str, change: Any) -> Event:
    new = find(change, "new")
    ref = new if isinstance(new, dict) else find(change, "old")
    prefix = "refs/heads/" if text_at(ref, "type") in _BRANCHES else "refs/tags/"
    return ref_event(
        repository,
        prefix + text_at(ref, "name"),
        text_at(new, "target", "hash") if isinstance(new, dict) else None,
        message=message_at(new, "target", "message"),
        is_created=find(change, "created") is True,
        is_forced=find(change, "forced") is True,
    )


def _data_centre(document: dict[str, Any]) -> tuple[Event, ...]:
    project, slug = text_at(document, "repository", "project", "key"), text_at(document, "repository", "slug")
    changes = _some(list_at(document, "changes"))
    return tuple(
        ref_event(
            f"{project}/{slug}",
            text_at(change, "ref", "id"),
            text_at(change, "toHash"),
            message=_head_message(document, text_at(change, "toHash")),
            is_created=find(change, "type") == "ADD",
        )
        for change in changes
    )


def _head_message(document: dict[str, Any], commit: str) -> str | None:
    is_head = find(document, "toCommit", "id") == commit
    return message_at(document, "toCommit", "message") if is_head else None


def _some(changes: list[Any]) -> list[Any]:
    if not changes:
        raise malformed("the event is a push that changes nothing")
    return changes
