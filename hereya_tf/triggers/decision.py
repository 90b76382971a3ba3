"""Whether a delivery starts a deployment, and why (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from hereya_tf.errors import BadInput
from hereya_tf.triggers.delivery import WebhookDelivery
from hereya_tf.triggers.events import Deletion, Event, OtherEvent, Ping, Push, Tag
from hereya_tf.triggers.paths import matches, why_no_pattern
from hereya_tf.triggers.providers import Provider, parse_provider
from hereya_tf.triggers.refs import is_branch_name, is_repository_name

SKIP_MARKERS = ("[skip ci]", "[ci skip]", "[no ci]", "[skip deploy]", "[deploy skip]")
_NOTHING = "nothing to deploy."


class DecisionWord(StrEnum):
    """The stable word for a decision."""

    DEPLOY = "deploy"
    SKIP_MARKER = "skip-marker"
    NO_RELEVANT_PATH = "no-relevant-path"
    DELETED = "deleted"
    WRONG_BRANCH = "wrong-branch"
    TAG = "tag"
    WRONG_REPOSITORY = "wrong-repository"
    PING = "ping"
    NOT_A_PUSH = "not-a-push"
    DUPLICATE = "duplicate"


# Of a delivery with several refs the one that says most.
_BY_RELEVANCE = tuple(DecisionWord)


@dataclass(frozen=True, kw_only=True)
class DeployTrigger:
    """What is to be deployed: one branch of one repository; if wanted, only when certain files are changed.

    Raises PipelineError for an unknown provider, BadInput for names and patterns that could never be.
    """

    provider: Provider | str
    repository: str
    branch: str
    paths: tuple[str, ...] = ()
    """Patterns, of which one must fit a changed file (see `paths.matches`); none: any change will do."""
    skip_markers: tuple[str, ...] = SKIP_MARKERS
    """Texts in the head commit's message that stop a deployment, whatever their capitals."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "provider", parse_provider(self.provider))
        if not is_repository_name(self.repository):
            raise BadInput(f"`{self.repository}` is not the name of a repository", "write `owner/name`")
        if not is_branch_name(self.branch):
            raise BadInput(
                f"`{self.branch}` is not the name of a branch",
                "write it without `refs/heads/`, such as `main`",
            )
        for pattern in self.paths:
            if (why := why_no_pattern(pattern)) is not None:
                raise BadInput(
                    f"`{pattern}` is no pattern of paths: {why}", "such as `modules/network` or `**/*.tf`"
                )


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A stable word, a sentence for people, and the push that it is about, if there is one."""

    word: DecisionWord
    reason: str
    push: Push | None = None

    @property
    def deploy(self) -> bool:
        """Whether to deploy `push.commit`: that very commit, and what is defined in it."""
        return self.word is DecisionWord.DEPLOY


def should_deploy(push: Push | None, trigger: DeployTrigger) -> Decision:
    """The decision about what `parse_push` has found; never raises."""
    if push is None:
        return Decision(word=DecisionWord.NOT_A_PUSH, reason=f"Not a branch push — {_NOTHING}")
    word, reason = _judge_push(push, trigger)
    return Decision(word=word, reason=reason, push=push)


def decide(delivery: WebhookDelivery, trigger: DeployTrigger, *, is_duplicate: bool = False) -> Decision:
    """The decision about a whole delivery, which has finer words than that about a push; never raises.

    `is_duplicate`: the receiver has seen the delivery's id before; it keeps ids in the transaction that enqueues.
    """
    if is_duplicate:
        return Decision(word=DecisionWord.DUPLICATE, reason=f"This delivery has arrived before — {_NOTHING}")
    if delivery.provider is not trigger.provider:
        return Decision(
            word=DecisionWord.WRONG_REPOSITORY,
            reason=f"A delivery of `{delivery.provider}`, not of `{trigger.provider}` — {_NOTHING}",
        )
    decisions = [_judge(event, trigger) for event in delivery.events]
    return min(
        decisions,
        key=lambda decision: _BY_RELEVANCE.index(decision.word),
        default=should_deploy(None, trigger),
    )


def _judge(event: Event, trigger: DeployTrigger) -> Decision:
    match event:
        case Push():
            return should_deploy(event, trigger)
        case OtherEvent():
            return should_deploy(None, trigger)
        case Ping():
            return Decision(word=DecisionWord.PING, reason=f"A test of the webhook — {_NOTHING}")
        case Tag() | Deletion() if event.repository != trigger.repository:
            return Decision(word=DecisionWord.WRONG_REPOSITORY, reason=_wrong_repository(event, trigger))
        case Tag():
            return Decision(
                word=DecisionWord.TAG, reason=f"`{event.tag}` is a tag, not a branch — {_NOTHING}"
            )
        case Deletion():
            return Decision(
                word=DecisionWord.DELETED, reason=f"Branch `{event.branch}` was deleted — {_NOTHING}"
            )
        case _:
            assert_never(event)


def _judge_push(push: Push, trigger: DeployTrigger) -> tuple[DecisionWord, str]:
    if push.repository != trigger.repository:
        return DecisionWord.WRONG_REPOSITORY, _wrong_repository(push, trigger)
    if push.branch != trigger.branch:
        return (
            DecisionWord.WRONG_BRANCH,
            f"Push to branch `{push.branch}`, not to `{trigger.branch}` — {_NOTHING}",
        )
    if (marker := _marker(push.message, trigger.skip_markers)) is not None:
        return DecisionWord.SKIP_MARKER, f"The commit's message says `{marker}` — {_NOTHING}"
    if trigger.paths and push.paths is not None and not _concerns(push.paths, trigger.paths):
        return (
            DecisionWord.NO_RELEVANT_PATH,
            f"No changed file ({len(push.paths)}) fits {_shown(trigger.paths)} — {_NOTHING}",
        )
    note = (
        ", though which files were changed is not known for sure"
        if trigger.paths and push.paths is None
        else ""
    )
    return DecisionWord.DEPLOY, f"{_what(push)} — deploy commit {push.commit}{note}."


def _wrong_repository(event: Push | Tag | Deletion, trigger: DeployTrigger) -> str:
    what = "Push" if isinstance(event, Push) else "Change"
    return f"{what} to repository `{event.repository}`, not to `{trigger.repository}` — {_NOTHING}"


def _marker(message: str | None, markers: Sequence[str]) -> str | None:
    text = (message or "").lower()
    return next((marker for marker in markers if marker and marker.lower() in text), None)


def _concerns(paths: Sequence[str], patterns: Sequence[str]) -> bool:
    return any(matches(path, pattern) for path in paths for pattern in patterns)


def _shown(patterns: Sequence[str]) -> str:
    return " or ".join(f"`{pattern}`" for pattern in patterns)


def _what(push: Push) -> str:
    if push.is_created:
        kind = "New branch"
    elif push.is_forced:
        kind = "Forced push to branch"
    else:
        kind = "Push to branch"
    return f"{kind} `{push.branch}` of `{push.repository}`"
