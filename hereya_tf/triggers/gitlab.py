"""Deliveries of GitLab (pure)."""

from typing import Any

from hereya_tf.triggers.commits import changed_paths, is_new, message_of
from hereya_tf.triggers.errors import malformed
from hereya_tf.triggers.events import Event, OtherEvent, ref_event
from hereya_tf.triggers.headers import Headers, find_header
from hereya_tf.triggers.payload import find, read_object, text_at

_SYSTEM_HOOK = "System Hook"
_KINDS = {"Push Hook": "push", "Tag Push Hook": "tag_push"}
# It lists no more than 20 commits, and says how many there are.
_MOST_COMMITS = 20


def gitlab_events(headers: Headers, body: bytes) -> tuple[Event, ...]:
    """What a delivery of GitLab's tells.

    It has no word for a push that was forced; where path filters matter, the branch has to be protected.
    """
    hook = find_header(headers, "X-Gitlab-Event")
    if hook is None:
        raise malformed("the delivery has no `X-Gitlab-Event` header", "is it a delivery of that provider?")
    if hook not in (*_KINDS, _SYSTEM_HOOK):
        return (OtherEvent(),)
    document = read_object(body)
    kind = find(document, "object_kind") or find(document, "event_name")
    if hook in _KINDS and kind != _KINDS[hook]:
        # The header is not signed, the body may be.
        raise malformed(
            "the header `X-Gitlab-Event` and the `object_kind` of the delivery contradict each other"
        )
    return (_push(document) if kind in _KINDS.values() else OtherEvent(),)


def _push(document: dict[str, Any]) -> Event:
    commits = find(document, "commits")
    is_whole = isinstance(commits, list) and find(document, "total_commits_count") == len(commits)
    return ref_event(
        text_at(document, "project", "path_with_namespace"),
        text_at(document, "ref"),
        text_at(document, "after"),
        message=message_of(document),
        paths=changed_paths(document, fewer_than=_MOST_COMMITS) if is_whole else None,
        is_created=is_new(document),
    )
