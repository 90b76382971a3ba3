"""Reads a delivery of any provider (pure)."""

from dataclasses import dataclass
from typing import assert_never

from hereya_tf.triggers.bitbucket import bitbucket_events
from hereya_tf.triggers.events import Event, Push
from hereya_tf.triggers.generic import generic_events
from hereya_tf.triggers.github import gitea_events, github_events
from hereya_tf.triggers.gitlab import gitlab_events
from hereya_tf.triggers.headers import Headers, find_header
from hereya_tf.triggers.providers import Provider, parse_provider

# The id that stays the same when a delivery is sent again, the best one first. X-Gitlab-Event-UUID is none: all
# events that one webhook leads to share it, and the second of two pushes would never be deployed.
_IDENTITIES = {
    Provider.GITHUB: ("X-GitHub-Delivery",),
    Provider.GITLAB: ("webhook-id", "Idempotency-Key", "X-Gitlab-Webhook-UUID"),
    Provider.GENERIC: ("webhook-id",),
    Provider.GITEA: ("X-Gitea-Delivery", "X-Forgejo-Delivery"),
    Provider.FORGEJO: ("X-Forgejo-Delivery", "X-Gitea-Delivery"),
    Provider.BITBUCKET: ("X-Request-UUID", "X-Request-Id"),
}


@dataclass(frozen=True, kw_only=True)
class WebhookDelivery:
    """What a provider has sent: one event, or one for each ref of a push."""

    provider: Provider
    id: str | None
    events: tuple[Event, ...]


def read_delivery(provider: Provider | str, headers: Headers, body: bytes) -> WebhookDelivery:
    """Read what was verified; raises PipelineError (UNSUPPORTED_PROVIDER, MALFORMED_EVENT)."""
    known = parse_provider(provider)
    return WebhookDelivery(
        provider=known, id=delivery_id(known, headers), events=_events(known, headers, body)
    )


def parse_push(
    provider: Provider | str, headers: Headers, body: bytes, *, branch: str | None = None
) -> Push | None:
    """The push that a delivery tells of; None for another event, a tag, a deletion.

    Of the several branches that Bitbucket may tell of in one delivery it is `branch`, else the first. Raises
    PipelineError (UNSUPPORTED_PROVIDER, MALFORMED_EVENT).
    """
    pushes = [event for event in read_delivery(provider, headers, body).events if isinstance(event, Push)]
    wanted = (push for push in pushes if push.branch == branch)
    return next(wanted, pushes[0] if pushes else None)


def delivery_id(provider: Provider | str, headers: Headers) -> str | None:
    """What tells a delivery that is sent again from a new one, for the receiver to keep; None when it has none.

    Only that of Standard Webhooks is signed.
    """
    for name in _IDENTITIES[parse_provider(provider)]:
        if value := find_header(headers, name):
            return value
    return None


def _events(provider: Provider, headers: Headers, body: bytes) -> tuple[Event, ...]:
    match provider:
        case Provider.GITHUB:
            return github_events(headers, body)
        case Provider.GITEA | Provider.FORGEJO:
            return gitea_events(headers, body)
        case Provider.GITLAB:
            return gitlab_events(headers, body)
        case Provider.BITBUCKET:
            return bitbucket_events(headers, body)
        case Provider.GENERIC:
            return generic_events(body)
        case _:
            assert_never(provider)
