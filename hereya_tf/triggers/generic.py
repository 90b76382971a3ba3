"""Deliveries of any sender that follows Standard Webhooks (pure).

`{"type": "push", "data": {"repository": "owner/name", "branch": "main", "commit": SHA}}`, or the inner object
alone, with `message` and `paths` (all that was changed) if the sender knows them. `ref` with `refs/heads/` may
stand for `branch`; GitHub's names are understood too.
"""

from typing import Any

from hereya_tf.triggers.errors import malformed
from hereya_tf.triggers.events import Event, OtherEvent, Ping, ref_event
from hereya_tf.triggers.payload import find, message_at, read_object, text_at


def generic_events(body: bytes) -> tuple[Event, ...]:
    """What a delivery in our own form tells."""
    document = read_object(body)
    kind = document.get("type", "push")
    if kind == "push":
        data = find(document, "data")
        return (_push(data if isinstance(data, dict) else document),)
    if not isinstance(kind, str):
        raise malformed("`type` of the event is not a text")
    return (Ping() if kind == "ping" else OtherEvent(),)


def _push(data: dict[str, Any]) -> Event:
    is_like_github = isinstance(find(data, "repository"), dict)
    message = "message" if "message" in data else "head_commit.message"
    return ref_event(
        text_at(data, "repository", "full_name") if is_like_github else text_at(data, "repository"),
        text_at(data, "ref") if "ref" in data else "refs/heads/" + text_at(data, "branch"),
        None if find(data, "deleted") is True else text_at(data, "commit" if "commit" in data else "after"),
        message=message_at(data, *message.split(".")),
        paths=_paths(find(data, "paths")),
        is_created=find(data, "created") is True,
        is_forced=find(data, "forced") is True,
    )


def _paths(value: Any) -> tuple[str, ...] | None:
    """The sender's word for all that was changed; an empty list is no such word."""
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        return None
    return tuple(value)
