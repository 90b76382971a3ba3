"""`runs list|show|log|cancel`."""

import os
from typing import TYPE_CHECKING, Any

import click

from hereya_tf.cli.documents import json_option, print_document, print_table
from hereya_tf.cli.groups import HelpfulGroup
from hereya_tf.cli.option_types import Count, GroupedOption, NamedArgument
from hereya_tf.cli.places import find_places
from hereya_tf.places import Places
from hereya_tf.runs import history

if TYPE_CHECKING:
    from hereya_tf.report.document import Report

run_argument = click.argument("run", cls=NamedArgument)


@click.group("runs", cls=HelpfulGroup)
def runs() -> None:
    """The history of runs. RUN is an id, the beginning or end of one, or `last`."""


@runs.command("list")
@click.option(
    "-n",
    "--limit",
    cls=GroupedOption,
    type=Count(),
    metavar="N",
    default=20,
    show_default=True,
    help="The newest N.",
)
@json_option
def list_(limit: int, json_output: bool) -> None:
    """The newest runs, the newest last."""
    records = history.list_runs(find_places(os.environ).runs)[-limit:]
    if json_output:
        print_document({"runs": [_document(record) for record in records]})
        return
    rows = [
        (record.id, record.operation, record.state, _duration(record), record.workspace, record.package)
        for record in records
    ]
    print_table(("RUN", "OPERATION", "STATE", "TOOK", "WORKSPACE", "PACKAGE"), rows)


@runs.command("show")
@run_argument
@json_option
def show(run: str, json_output: bool) -> None:
    """What is known of one run: who, what, when, and how it ended."""
    from hereya_tf.words import visible

    places = find_places(os.environ)
    record = _find(places, run)
    document = _document(record)
    last = next(
        (event for event in reversed(history.read_log(places.runs / record.id)) if event["type"] == "result"),
        None,
    )
    if json_output:
        print_document({**document, "result": last})
        return
    failed = last if last is not None and last["failure"] is not None else None
    for name, value in document.items():
        # The reason of a failure stands below, with its hints.
        if value not in (None, "") and not (name == "reason" and failed is not None):
            click.echo(f"{name:<12} {visible(str(value))}")
    if failed is not None:
        from hereya_tf.report.text import outcome_lines

        click.echo()
        for line in outcome_lines(_report(places, record)):
            click.echo(visible(line))


@runs.command("log", short_help="What a run said, as far as it has come.")
@run_argument
@click.option("-v", "--verbose", cls=GroupedOption, is_flag=True, help="All that the engine said.")
@click.option(
    "--json", "json_output", cls=GroupedOption, is_flag=True, help="Its events as NDJSON on stdout."
)
def log(run: str, verbose: bool, json_output: bool) -> None:
    """What a run said, as far as it has come."""
    from hereya_tf.events import encode
    from hereya_tf.ui.plain import Detail, PlainLines

    places = find_places(os.environ)
    record = _find(places, run)
    plain = PlainLines(Detail.VERBOSE if verbose else Detail.NORMAL)
    for event in history.read_log(places.runs / record.id):
        if json_output:
            click.echo(encode(event))
        else:
            for line in plain.lines(event):
                click.echo(line)


@runs.command(
    "report",
    short_help="What a run has come to, in full.",
    examples=("hereya-tf runs report last", "hereya-tf runs report last --format html > report.html"),
)
@run_argument
@click.option(
    "--format",
    "form",
    cls=GroupedOption,
    type=click.Choice(("text", "markdown", "json", "junit", "html")),
    default="text",
    show_default=True,
    help="Its form.",
)
def report(run: str, form: str) -> None:
    """What a run has come to: what was done, what failed and why, and what to do; in full.

    Of a run that is still at work, what is known so far.
    """
    from hereya_tf.report.formats import Format, render

    places = find_places(os.environ)
    click.echo(render(_report(places, _find(places, run)), Format(form)), nl=False)


@runs.command("cancel", short_help="Ask a live run to end.")
@run_argument
@json_option
def cancel(run: str, json_output: bool) -> None:
    """Ask a live run to end: what is in flight is finished, the state is saved, locks are freed."""
    from hereya_tf.errors import BadInput

    places = find_places(os.environ)
    record = history.find_run(places.runs, run)
    if not record.is_alive and not record.is_orphaned:
        raise BadInput(
            f"run `{record.id}` has ended already ({record.state})", "`hereya-tf runs list` shows live ones"
        )
    history.request_cancel(places.runs / record.id, record)
    if json_output:
        print_document({"run": record.id, "asked": True})
    elif record.is_orphaned:
        click.echo(f"the runner of run {record.id} was killed; its engine was asked to end")
    else:
        click.echo(f"run {record.id} was asked to end; `hereya-tf runs log {record.id}` shows how it does")


def _find(places: Places, run: str) -> history.RunRecord:
    """The run; one that was killed is completed from what its engine left, if that has ended as well."""
    record = history.find_run(places.runs, run)
    if record.state == "died":
        from hereya_tf.runs.adoption import adopt

        adopt(places.runs, record.id, lambda _story: None)
        record = history.read_record(places.runs / record.id) or record
    return record


def _report(places: Places, record: history.RunRecord) -> "Report":
    from hereya_tf.report.document import make_report
    from hereya_tf.report.story import Story

    story = Story.of(history.read_log(places.runs / record.id))
    return make_report(story, story.result, reproduce=record.reproduce)


def _document(record: history.RunRecord) -> dict[str, Any]:
    return {
        "run": record.id,
        "operation": record.operation,
        "state": record.state,
        "package": record.package,
        "workspace": record.workspace,
        "key": record.key,
        "started": record.started,
        "ended": record.ended,
        "seconds": record.seconds,
        "exit_code": record.exit_code,
        "reason": record.reason,
        "engine": record.engine,
        "host": record.host,
        "pid": record.process.pid,
        "version": record.version,
    }


def _duration(record: history.RunRecord) -> str:
    from hereya_tf.words import format_seconds

    return "" if record.seconds is None else format_seconds(record.seconds)
