"""`trigger check`: the decision for a saved webhook delivery."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hereya_tf.cli.documents import json_option, print_document, say
from hereya_tf.cli.groups import HelpfulGroup
from hereya_tf.cli.option_types import GroupedOption, Line
from hereya_tf.errors import BadInput
from hereya_tf.reading import decode_text, read_input_file, reason
from hereya_tf.words import flat

if TYPE_CHECKING:
    from hereya_tf.triggers import Decision, DeployTrigger, Headers, WebhookDelivery

_SECRET_VARIABLE = "HEREYA_TF_WEBHOOK_SECRET"  # noqa: S105 - a name, no secret
_PROVIDERS = ("github", "gitlab", "generic", "gitea", "forgejo", "bitbucket")
_SHOWN_FILES = 5


class Moment(click.ParamType[float]):
    """A moment in RFC 3339, or in seconds since 1970."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds since 1970; without an offset it is UTC."""
        from datetime import UTC, datetime

        text = str(value)
        try:
            if text.isascii() and text.isdecimal():
                return datetime.fromtimestamp(int(text), UTC).timestamp()
            moment = datetime.fromisoformat(text)
            return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError, OSError):
            self.fail(f"`{value}` is not a time such as `2026-11-30T09:15:02Z` or `1796030102`", param, ctx)


class _Saved(NamedTuple):
    """A delivery as it lies in two files."""

    provider: str
    headers: "Headers"
    body: bytes


@click.group("trigger", cls=HelpfulGroup)
def trigger() -> None:
    """What a webhook delivery would start."""


@trigger.command(
    "check",
    short_help="The decision for a saved delivery.",
    examples=(
        "hereya-tf trigger check --provider github --headers push.headers --body push.json \\",
        "    --secret-file secret --repository acme/shop --branch main",
    ),
)
@click.option(
    "--provider", cls=GroupedOption, type=click.Choice(_PROVIDERS), required=True, help="Who has sent it."
)
@click.option(
    "--headers",
    cls=GroupedOption,
    metavar="FILE",
    required=True,
    help="Its headers: `Name: value` lines, or a JSON object.",
)
@click.option("--body", cls=GroupedOption, metavar="FILE", required=True, help="Its body, byte for byte.")
@click.option(
    "--secret-file",
    cls=GroupedOption,
    metavar="FILE",
    multiple=True,
    type=Line(),
    help="The webhook's secret; several, of which any will do, on lines of their own.",
)
@click.option("--repository", cls=GroupedOption, metavar="OWNER/NAME", help="The repository to deploy.")
@click.option("--branch", cls=GroupedOption, metavar="NAME", help="The branch to deploy.")
@click.option(
    "--path",
    "paths",
    cls=GroupedOption,
    metavar="GLOB",
    multiple=True,
    type=Line(),
    help="Deploy only when such a file is changed: `modules/network`, `**/*.tf`.",
)
@click.option(
    "--received-at",
    cls=GroupedOption,
    type=Moment(),
    metavar="TIME",
    help="When it has arrived; signatures with a time are good for five minutes. Default: now.",
)
@json_option
def check(
    provider: str,
    headers: str,
    body: str,
    secret_file: Sequence[str],
    repository: str | None,
    branch: str | None,
    paths: tuple[str, ...],
    received_at: float | None,
    json_output: bool,
) -> None:
    """Check the signature of a saved delivery and say what it would start, and why.

    The secret comes from `--secret-file` or from HEREYA_TF_WEBHOOK_SECRET (several on lines of their own).
    Without `--repository` or `--branch`, any is the right one. Exits with 0 whatever the decision, with 3 for a
    bad signature and for what is no delivery.
    """
    from hereya_tf.triggers import decide, parse_saved_headers, read_delivery

    text = decode_text(_read(headers), headers)
    saved = _Saved(provider, parse_saved_headers(text, headers), _read(body))
    _verify(saved, _secrets(secret_file, os.environ), time.time() if received_at is None else received_at)
    delivery = read_delivery(*saved)
    decision = decide(delivery, _trigger(delivery, repository, branch, paths))
    if json_output:
        print_document(_document(delivery, decision))
        return
    for name, value in _lines(delivery, decision):
        say(f"{name:<12} {flat(value)}")


def _read(path: str) -> bytes:
    try:
        return read_input_file(Path(path))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"`{path}` cannot be read: {reason(error)}", "check the path and its permissions"
        ) from error


def _secrets(files: Sequence[str], environment: Mapping[str, str]) -> tuple[str, ...]:
    texts = [environment.get(_SECRET_VARIABLE, ""), *(decode_text(_read(file), file) for file in files)]
    lines = [line.rstrip("\r") for text in texts for line in text.split("\n")]
    return tuple(line for line in lines if line.strip())


def _verify(saved: _Saved, secrets: tuple[str, ...], now: float) -> None:
    from hereya_tf.triggers import PipelineError, PipelineErrorCode, verify_webhook

    try:
        verify_webhook(*saved, secrets, now=now)
    except PipelineError as error:
        match error.code:
            case PipelineErrorCode.NO_SECRET:
                advice = f"give it in `{_SECRET_VARIABLE}` or by `--secret-file FILE`"
            case _:
                advice = _what_would_fit(saved, secrets, now)
        raise PipelineError(error.code, str(error), *filter(None, (advice,)), *error.hints) from error


def _what_would_fit(saved: _Saved, secrets: tuple[str, ...], now: float) -> str:
    """What saving has done to a delivery that was good when it came, in a hint; nothing when it was not."""
    from hereya_tf.triggers.headers import find_header

    if saved.body.endswith(b"\n") and _fits(saved._replace(body=saved.body.rstrip(b"\r\n")), secrets, now):
        return "without the newline at its end the body fits: save it as it came"
    signed_at = find_header(saved.headers, "webhook-timestamp") or ""
    if signed_at.isascii() and signed_at.isdecimal() and _fits(saved, secrets, float(signed_at)):
        return f"`--received-at {signed_at}` judges a saved delivery by the clock of its arrival"
    return ""


def _fits(saved: _Saved, secrets: tuple[str, ...], now: float) -> bool:
    from hereya_tf.triggers import PipelineError, verify_webhook

    try:
        verify_webhook(*saved, secrets, now=now)
    except PipelineError:
        return False
    return True


def _trigger(
    delivery: "WebhookDelivery", repository: str | None, branch: str | None, paths: tuple[str, ...]
) -> "DeployTrigger":
    """What is to be deployed; what was not said is what the delivery is about."""
    from hereya_tf.triggers import Deletion, DeployTrigger, Push, Tag

    about = [event for event in delivery.events if isinstance(event, Push | Tag | Deletion)]
    pushed = [event.branch for event in about if isinstance(event, Push)]
    return DeployTrigger(
        provider=delivery.provider,
        repository=repository or (about[0].repository if about else "any/any"),
        branch=branch or (pushed[0] if pushed else "any"),
        paths=paths,
    )


def _document(delivery: "WebhookDelivery", decision: "Decision") -> dict[str, Any]:
    push = decision.push
    return {
        "decision": decision.word,
        "deploy": decision.deploy,
        "reason": decision.reason,
        "provider": delivery.provider,
        "delivery": delivery.id,
        "push": None
        if push is None
        else {
            "repository": push.repository,
            "branch": push.branch,
            "commit": push.commit,
            "message": push.message,
            "paths": push.paths,
            "created": push.is_created,
            "forced": push.is_forced,
        },
    }


def _lines(delivery: "WebhookDelivery", decision: "Decision") -> list[tuple[str, str]]:
    lines = [("decision", str(decision.word)), ("reason", decision.reason), ("delivery", delivery.id or "")]
    if (push := decision.push) is not None:
        lines += [("repository", push.repository), ("branch", push.branch), ("commit", push.commit)]
        lines += [("message", (push.message or "").partition("\n")[0])]
        lines += [("files", _files(push.paths))]
    return [(name, value) for name, value in lines if value]


def _files(paths: tuple[str, ...] | None) -> str:
    if paths is None:
        return "not known for sure"
    more = f" and {len(paths) - _SHOWN_FILES} more" if len(paths) > _SHOWN_FILES else ""
    return ", ".join(paths[:_SHOWN_FILES]) + more
