"""`job submit|status|wait|logs|cancel`: jobs of a control plane, as those see them who want them done."""

import contextlib
import os
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from hereya_tf.cli.ci import guard_here
from hereya_tf.cli.documents import json_option, print_document, say
from hereya_tf.cli.groups import HelpfulGroup
from hereya_tf.cli.option_types import Duration, GroupedOption, NamedArgument
from hereya_tf.errors import BadInput

if TYPE_CHECKING:
    from hereya_tf.control_plane import ControlPlaneClient, Job
    from hereya_tf.control_plane.following import Limit, Persistence
    from hereya_tf.redaction import Redactor

URL = "HEREYA_CLOUD_URL"
TOKEN = "HEREYA_TOKEN"  # noqa: S105 - a name, no secret
_EXIT_CODES = {"completed": 0, "failed": 1, "cancelled": 130}

job_argument = click.argument("job_id", cls=NamedArgument, metavar="JOB")
workspace_option = click.option(
    "-w",
    "--workspace",
    cls=GroupedOption,
    metavar="NAME",
    required=True,
    help="The control plane's workspace.",
)
reveal_option = click.option(
    "--show-sensitive",
    cls=GroupedOption,
    is_flag=True,
    help="Print the values of outputs: any may be a secret.",
)


@click.group("job", cls=HelpfulGroup)
def job() -> None:
    """Jobs of a control plane: submit, wait, logs, cancel.

    HEREYA_CLOUD_URL is the address of the control plane, HEREYA_TOKEN the token for it.
    """


@job.command(
    "submit",
    short_help="Ask for a job; prints its id.",
    examples=(
        "hereya-tf job submit provision -w prod --payload database.json",
        'echo \'{"package": "./network"}\' | hereya-tf job submit destroy -w prod --payload -',
    ),
)
@click.argument("type_", cls=NamedArgument, metavar="TYPE")
@workspace_option
@click.option(
    "--payload",
    cls=GroupedOption,
    metavar="FILE|-",
    help="A JSON object with what the job needs, from a file or stdin.",
)
@click.option(
    "--idempotency-key",
    cls=GroupedOption,
    metavar="KEY",
    help="Submit once, however often the same key is given.",
)
@json_option
def submit(
    type_: str, workspace: str, payload: str | None, idempotency_key: str | None, json_output: bool
) -> None:
    """Ask for a job of TYPE: provision, destroy, deploy, undeploy, init, app-deploy, app-destroy, resolve-env.

    Prints its id. A payload that names no `workspace` gets that of `-w`.
    """
    # A random one, so that a lost answer can be asked for again.
    key = idempotency_key if idempotency_key is not None else os.urandom(16).hex()
    document = {"workspace": workspace, **_read_payload(payload)} if payload else {"workspace": workspace}
    with _client() as (client, persistence):
        submitted = persistence.ask(lambda: client.submit(workspace, type_, document, idempotency_key=key))
    if json_output:
        print_document({**_document(submitted.job, _redactor(), reveal=False), "new": submitted.is_new})
        return
    say(_plain(submitted.job.id))
    # Of a key of our own, the answer of the first attempt was lost.
    if idempotency_key is not None and not submitted.is_new:
        say("it was submitted before", err=True)


@job.command("status", short_help="How a job is.")
@job_argument
@workspace_option
@reveal_option
@json_option
def status(job_id: str, workspace: str, show_sensitive: bool, json_output: bool) -> None:
    """How a job is, and what it has come to."""
    with _client() as (client, persistence):
        found = persistence.ask(lambda: client.status(workspace, job_id))
    document = _document(found, _redactor(), reveal=show_sensitive)
    if json_output:
        print_document(document)
        return
    result = document.pop("result") or {}
    lines = {**document, "reason": result.get("reason"), "outputs": ", ".join(result.get("outputs", ()))}
    for name, value in lines.items():
        if value not in (None, ""):
            say(f"{name:<8} {_plain(str(value))}")
    if show_sensitive:
        _print_outputs(found)


@job.command(
    "wait",
    short_help="Wait for a job's end; its log on stderr.",
    examples=('hereya-tf job wait -w prod "$ID" --timeout 1h',),
)
@job_argument
@workspace_option
@click.option(
    "--timeout",
    cls=GroupedOption,
    type=Duration(),
    metavar="DURATION",
    help="Wait no longer; the job goes on.",
)
@reveal_option
@json_option
def wait(job_id: str, workspace: str, timeout: float | None, show_sensitive: bool, json_output: bool) -> None:
    """Wait for a job's end; its log on stderr.

    Exit code: 0 completed, 1 failed, 130 cancelled, 124 when --timeout has passed, 6 when the control plane fails.
    """
    shown = shlex.quote(job_id)
    again = f"it goes on; `hereya-tf job wait -w {shlex.quote(workspace)} {shown}` waits on"
    try:
        ended = _followed(
            job_id, workspace, _limit(timeout, f"job `{job_id}` has not ended", again), err=True, to_end=True
        )
    except KeyboardInterrupt:
        _say_quietly(again)
        click.get_current_context().exit(_EXIT_CODES["cancelled"])
    _tell_end(ended, reveal=show_sensitive)
    with _whoever_reads():
        if json_output:
            print_document(_document(ended, _redactor(), reveal=show_sensitive))
        elif show_sensitive:
            _print_outputs(ended)
    click.get_current_context().exit(_EXIT_CODES[ended.status])


@job.command("logs", short_help="The log of a job.")
@job_argument
@workspace_option
@click.option("-f", "--follow", cls=GroupedOption, is_flag=True, help="Wait for more, until the job ends.")
def logs(job_id: str, workspace: str, follow: bool) -> None:
    """The log of a job, on stdout; of its last attempt, if there were several."""
    _followed(job_id, workspace, _limit(None, ""), err=False, to_end=follow)


@job.command("cancel", short_help="Ask for a job's end.")
@job_argument
@workspace_option
@click.option(
    "--force",
    cls=GroupedOption,
    is_flag=True,
    help="Do not wait for its executor: it counts as cancelled at once.",
)
@json_option
def cancel(job_id: str, workspace: str, force: bool, json_output: bool) -> None:
    """Ask for a job's end: what is in flight is finished and the state is saved."""
    with _client() as (client, persistence):
        found = persistence.ask(lambda: client.cancel(workspace, job_id, force=force))
    if json_output:
        print_document(_document(found, _redactor(), reveal=False))
    elif found.status == "cancelled":
        say(f"job {_plain(found.id)} is cancelled")
    elif found.status.is_terminal:
        say(f"job {_plain(found.id)} has ended already: {found.status}")
    else:
        say(f"job {_plain(found.id)} was asked to end; it is {found.status}")


@contextlib.contextmanager
def _client() -> "Iterator[tuple[ControlPlaneClient, Persistence]]":
    from hereya_tf.control_plane import ControlPlaneClient
    from hereya_tf.control_plane.following import Persistence

    url, token = _variable(URL, "the control plane's address"), _variable(TOKEN, "the token for it")
    with ControlPlaneClient(url, token, environment=os.environ) as client:
        yield client, Persistence(_say_quietly, _limit(None, ""))


def _variable(name: str, what: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise BadInput(f"`{name}` is not set", f"let it be {what}")
    return value


def _limit(seconds: float | None, what: str, *hints: str) -> "Limit":
    from hereya_tf.control_plane.following import Limit

    return Limit(seconds, what, *hints)


def _redactor() -> "Redactor":
    from hereya_tf.redaction import Redactor

    return Redactor((_variable(TOKEN, "the token for it"),))


def _read_payload(source: str) -> dict[str, Any]:
    from pathlib import Path

    from hereya_tf.inputs.given import decode_json
    from hereya_tf.reading import decode_text, read_descriptor, read_input_file, reason

    where = "stdin" if source == "-" else source
    try:
        data = read_descriptor(0) if source == "-" else read_input_file(Path(source))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"the payload `{where}` cannot be read: {reason(error)}",
            "`--payload` takes a file, or `-` for stdin",
        ) from error
    document = decode_json(decode_text(data, where), f"the payload `{where}`")
    if not isinstance(document, dict):
        raise BadInput(f"the payload `{where}` must be one JSON object", 'like `{"package": "DIRECTORY"}`')
    return document


def _followed(job_id: str, workspace: str, limit: "Limit", *, err: bool, to_end: bool) -> "Job":
    from hereya_tf.control_plane.following import Listener, follow

    stream = _redactor().stream()
    log = _Log(err=err)
    with _client() as (client, _):
        listener = Listener(lambda text: log.write(stream.feed(text)), _say_quietly)
        try:
            return follow(client, workspace, job_id, listener, limit, to_end=to_end)
        finally:
            log.write(stream.flush())
            log.finish()


class _Log:
    """Where the log of a job goes: stdout as a result, stderr as talk."""

    def __init__(self, *, err: bool) -> None:
        self._err = err
        self._is_within_line = False

    def write(self, text: str) -> None:
        """Print a part of it: to a program as it is, on a terminal as what steers nothing."""
        from hereya_tf.words import visible

        if not text:
            return
        self._is_within_line = not text.endswith("\n")
        if self._err:
            _say_quietly(text, nl=False)
            return
        shown = visible(text) if os.isatty(1) else text
        click.echo(guard_here(os.environ, 1).talk(shown), nl=False, color=True)

    def finish(self) -> None:
        """What is said besides stands in lines of its own."""
        if self._err and self._is_within_line:
            _say_quietly("")


def _say_quietly(text: str, *, nl: bool = True) -> None:
    """Talk, which nobody need listen to: how a job ends does not depend on it."""
    from hereya_tf.words import visible

    with contextlib.suppress(OSError, ValueError):
        say(visible(text), nl=nl, err=True)


@contextlib.contextmanager
def _whoever_reads() -> Iterator[None]:
    """Whoever reads stdout may have gone: the exit code stays the job's."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _tell_end(ended: "Job", *, reveal: bool) -> None:
    from hereya_tf.control_plane import Failed, Succeeded

    how = "has failed" if ended.status == "failed" else f"is {ended.status}"
    match ended.result:
        case Failed(reason) if ended.status == "failed":
            _say_quietly(f"error: job `{ended.id}` failed: {_redactor().text(reason)}")
        case Succeeded(env) if env and not reveal:
            _say_quietly(f"job `{ended.id}` {how}; --show-sensitive prints its outputs")
        case _:
            _say_quietly(f"job `{ended.id}` {how}")


def _print_outputs(ended: "Job") -> None:
    from hereya_tf.control_plane import Succeeded
    from hereya_tf.outputs.variables import shell_names

    if isinstance(ended.result, Succeeded):
        names = shell_names(ended.result.env)
        lines = "".join(f"{names[name]}={shlex.quote(text)}\n" for name, text in ended.result.env.items())
        click.echo(guard_here(os.environ, 1).shell(lines), nl=False)


def _document(found: "Job", redactor: "Redactor", *, reveal: bool) -> dict[str, Any]:
    return {
        "job": found.id,
        "type": found.type,
        "status": str(found.status),
        "attempt": found.attempt,
        "result": _result(found, redactor, reveal=reveal),
    }


def _result(found: "Job", redactor: "Redactor", *, reveal: bool) -> dict[str, Any] | None:
    """What it has come to. Which output is a secret nobody has told the control plane."""
    from hereya_tf.control_plane import Failed, Succeeded

    match found.result:
        case Succeeded(env):
            values = {"env": dict(env)} if reveal else {}
            return {"success": True, "outputs": list(env), **values}
        case Failed(reason):
            return {"success": False, "reason": redactor.text(reason)}
    return None


def _plain(text: str) -> str:
    from hereya_tf.words import flat

    return flat(text)
