"""`runs list|show|log|report|timeline|cancel|prune`."""

import os
from typing import TYPE_CHECKING

import click

from hereya_tf.cli.ci import guard_here
from hereya_tf.cli.documents import json_option, print_document, say
from hereya_tf.cli.groups import HelpfulGroup
from hereya_tf.cli.option_types import GroupedOption, NamedArgument
from hereya_tf.cli.places import find_places
from hereya_tf.cli.runs_list import list_, run_document
from hereya_tf.cli.runs_prune import prune
from hereya_tf.cli.runs_timeline import timeline
from hereya_tf.places import Places
from hereya_tf.report.formats import Format
from hereya_tf.runs import history
from hereya_tf.runs.retelling import find

if TYPE_CHECKING:
    from hereya_tf.report.document import Report

run_argument = click.argument("run", cls=NamedArgument)


@click.group("runs", cls=HelpfulGroup)
def runs() -> None:
    """The history of runs. RUN is an id, the beginning or end of one, or `last`."""


runs.add_command(list_)


@runs.command("show")
@run_argument
@json_option
def show(run: str, json_output: bool) -> None:
    """What is known of one run: who, what, when, and how it ended."""
    from hereya_tf.words import flat, visible

    places = find_places(os.environ)
    record = find(places.runs, run)
    document = run_document(places.runs, record)
    last = None
    for event in history.log_of(places.runs / record.id):
        last = event if event["type"] == "result" else last
    if json_output:
        print_document({**document, "result": last})
        return
    failed = last if last is not None and last["failure"] is not None else None
    for name, value in document.items():
        # A failure stands below, with its hints.
        if value not in (None, "") and not (name in ("reason", "failure") and failed is not None):
            say(f"{name:<12} {flat(str(value))}")
    if failed is not None:
        from hereya_tf.report.text import outcome_lines

        click.echo()
        for line in outcome_lines(_report(places, record)):
            say(visible(line))


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
    record = find(places.runs, run)
    plain = PlainLines(Detail.VERBOSE if verbose else Detail.NORMAL)
    for event in history.log_of(places.runs / record.id):
        if json_output:
            click.echo(guard_here(os.environ, 1).json(encode(event)))
        else:
            for line in plain.lines(event):
                say(line)


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
    type=click.Choice([form.value for form in Format]),
    default=Format.TEXT.value,
    show_default=True,
    help="Its form.",
)
def report(run: str, form: str) -> None:
    """What a run has come to: what was done, what failed and why, and what to do; in full.

    Of a run that is still at work, what is known so far.
    """
    from hereya_tf.report.formats import render

    places = find_places(os.environ)
    text = render(_report(places, find(places.runs, run)), Format(form))
    match Format(form):
        case Format.TEXT | Format.MARKDOWN:
            say(text, nl=False)
        case Format.JSON:
            click.echo(guard_here(os.environ, 1).json(text), nl=False)
        case Format.JUNIT | Format.HTML:
            click.echo(guard_here(os.environ, 1).markup(text), nl=False)


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


runs.add_command(timeline)
runs.add_command(prune)


def _report(places: Places, record: history.RunRecord) -> "Report":
    from hereya_tf.runs.retelling import report_of

    return report_of(places.runs, record)
