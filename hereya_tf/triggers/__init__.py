"""Deploy triggers: from a webhook's delivery to the decision whether to deploy (pure).

A receiver takes the raw body, up to a size, calls `verify_webhook`, `read_delivery` and `decide`, keeps the
delivery's id in the transaction that enqueues, and deploys `decision.push.commit`: that very commit, checked out by
its SHA, with the definition that stands in it. No field of a delivery is for a shell.
"""

from hereya_tf.triggers.address import webhook_path
from hereya_tf.triggers.decision import (
    SKIP_MARKERS,
    Decision,
    DecisionWord,
    DeployTrigger,
    decide,
    should_deploy,
)
from hereya_tf.triggers.delivery import WebhookDelivery, delivery_id, parse_push, read_delivery
from hereya_tf.triggers.errors import PipelineError, PipelineErrorCode
from hereya_tf.triggers.events import Deletion, Event, OtherEvent, Ping, Push, Tag
from hereya_tf.triggers.headers import Headers, parse_saved_headers
from hereya_tf.triggers.providers import Provider, parse_provider
from hereya_tf.triggers.signatures import verify_webhook

__all__ = [
    "SKIP_MARKERS",
    "Decision",
    "DecisionWord",
    "Deletion",
    "DeployTrigger",
    "Event",
    "Headers",
    "OtherEvent",
    "Ping",
    "PipelineError",
    "PipelineErrorCode",
    "Provider",
    "Push",
    "Tag",
    "WebhookDelivery",
    "decide",
    "delivery_id",
    "parse_provider",
    "parse_push",
    "parse_saved_headers",
    "read_delivery",
    "should_deploy",
    "verify_webhook",
    "webhook_path",
]
