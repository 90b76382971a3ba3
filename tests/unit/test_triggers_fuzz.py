"""Whatever comes over the wire, it is a delivery or a PipelineError, and never a deployment by accident."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hereya_tf.triggers import (
    DecisionWord,
    DeployTrigger,
    Headers,
    PipelineError,
    PipelineErrorCode,
    Provider,
    Push,
    decide,
    delivery_id,
    parse_push,
    read_delivery,
    should_deploy,
    verify_webhook,
)
from hereya_tf.triggers.refs import is_commit
from tests.webhooks import AFTER, NOTHING, SIGNED_AT, all_saved, digest, saved

SIGNING = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NAMES = [
    *("Content-Type", "X-GitHub-Event", "X-Gitea-Event", "X-Forgejo-Event", "X-Gitlab-Event", "X-Event-Key"),
    *("X-Hub-Signature-256", "X-Hub-Signature", "X-Gitea-Signature", "X-Forgejo-Signature", "X-Gitlab-Token"),
    *("webhook-id", "webhook-timestamp", "webhook-signature", "X-GitHub-Delivery", "Idempotency-Key"),
]
VALUES = [
    *("push", "ping", "create", "delete", "Push Hook", "Tag Push Hook", "System Hook", "repo:push"),
    *("repo:refs_changed", "diagnostics:ping", "application/x-www-form-urlencoded", "v1,x", "sha256=", "1"),
]
TEXTS = [
    "refs/heads/main",
    "refs/tags/v1",
    "main",
    "branch",
    "tag",
    "push",
    "tag_push",
    "acme/shop",
    AFTER,
    NOTHING,
]
KEYS = [
    *(
        "ref",
        "before",
        "after",
        "repository",
        "full_name",
        "project",
        "path_with_namespace",
        "commits",
        "message",
    ),
    *(
        "head_commit",
        "deleted",
        "created",
        "forced",
        "total_commits",
        "object_kind",
        "event_name",
        "ref_type",
    ),
    *(
        "push",
        "changes",
        "new",
        "old",
        "target",
        "hash",
        "name",
        "type",
        "slug",
        "key",
        "toHash",
        "id",
        "data",
    ),
    *("branch", "commit", "paths", "added", "removed", "modified", "total_commits_count", "toCommit"),
]

header_names = st.sampled_from(NAMES) | st.text(max_size=10)
header_values = st.sampled_from(VALUES) | st.text(max_size=30)
headers: st.SearchStrategy[Headers] = st.dictionaries(header_names, header_values) | st.lists(
    st.tuples(header_names, header_values), max_size=8
)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(TEXTS) | st.text(max_size=20)
)
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=20,
)
bodies = st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode())
providers = st.sampled_from(Provider)


def must_be_safe(provider: Provider, sent: Headers, body: bytes) -> None:
    """Read it as a receiver would; nothing but PipelineError may come of it."""
    try:
        delivery = read_delivery(provider, sent, body)
    except PipelineError:
        with pytest.raises(PipelineError) as caught:
            parse_push(provider, sent, body)
        assert caught.value.code is PipelineErrorCode.MALFORMED_EVENT
        return
    trigger = DeployTrigger(provider=provider, repository="acme/shop", branch="main", paths=("**/*.tf",))
    decision = decide(delivery, trigger)
    assert decision.reason.endswith(".")
    assert decision.deploy is (decision.word is DecisionWord.DEPLOY)
    pushes = [event for event in delivery.events if isinstance(event, Push)]
    for push in pushes:
        assert is_commit(push.commit)
        assert push.commit.strip("0")
        f"{push.repository} {push.branch} {push.commit} {push.message}".encode()  # can be stored and shown
    assert decision.deploy is any(should_deploy(push, trigger).deploy for push in pushes)
    assert parse_push(provider, sent, body) == (pushes[0] if pushes else None)
    assert delivery.id == delivery_id(provider, sent)


@pytest.mark.behaviour("P1", "P3", "P6", "P8")
@settings(max_examples=600)
@given(provider=providers, sent=headers, body=bodies)
def test_anything_at_all(provider: Provider, sent: Headers, body: bytes) -> None:
    must_be_safe(provider, sent, body)


@pytest.mark.behaviour("P1", "P6")
@settings(max_examples=600)
@given(name=st.sampled_from(all_saved()), data=st.data())
def test_deliveries_with_a_value_changed(name: str, data: st.DataObject) -> None:
    delivery = saved(name)
    document = json.loads(delivery.body) if delivery.body.startswith(b"{") else {}
    node: Any = document
    while isinstance(node, dict | list) and node:
        key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
        if data.draw(st.booleans()) or not isinstance(node[key], dict | list):
            node[key] = data.draw(values)
            break
        node = node[key]

    must_be_safe(delivery.provider, delivery.headers, json.dumps(document).encode())


@pytest.mark.behaviour("P1", "P6")
@settings(max_examples=600)
@given(name=st.sampled_from(all_saved()), data=st.data())
def test_deliveries_with_bytes_changed(name: str, data: st.DataObject) -> None:
    delivery = saved(name)
    start = data.draw(st.integers(0, len(delivery.body)))
    end = data.draw(st.integers(start, min(len(delivery.body), start + 8)))
    body = delivery.body[:start] + data.draw(st.binary(max_size=8)) + delivery.body[end:]

    must_be_safe(delivery.provider, delivery.headers, body)


@pytest.mark.behaviour("P4", "P5")
@settings(max_examples=600)
@given(
    provider=providers,
    sent=headers,
    body=st.binary(max_size=40),
    secrets=st.lists(st.sampled_from(["", "a secret that nobody guesses", SIGNING, "whsec_%"]), max_size=3),
    now=st.just(float(SIGNED_AT)) | st.floats(),
)
def test_what_is_not_signed_is_never_accepted(
    provider: Provider, sent: Headers, body: bytes, secrets: list[str], now: float
) -> None:
    with pytest.raises(PipelineError) as caught:
        verify_webhook(provider, sent, body, secrets, now=now)
    assert caught.value.code in (PipelineErrorCode.BAD_SIGNATURE, PipelineErrorCode.NO_SECRET)


@pytest.mark.behaviour("P4")
@given(
    body=st.binary(max_size=200),
    secret=st.text(min_size=1).filter(lambda text: text.strip() and text.isprintable()),
)
def test_what_is_signed_is_accepted_whatever_its_bytes(body: bytes, secret: str) -> None:
    signed = digest(secret, body)

    verify_webhook("github", {"X-Hub-Signature-256": f"sha256={signed}"}, body, secret, now=0)
    verify_webhook("forgejo", {"X-Gitea-Signature": signed}, body, ("", secret), now=0)
    if not secret.strip().startswith("whsec_"):
        verify_webhook("gitlab", {"X-Gitlab-Token": secret}, body, secret, now=0)
