"""`schema events|result|report`."""

import click

from hereya_tf.cli.documents import print_document
from hereya_tf.cli.groups import HelpfulGroup


@click.group("schema", cls=HelpfulGroup)
def schema() -> None:
    """JSON Schema of what `--json` prints."""


@schema.command("events")
def events() -> None:
    """One line of a run's output."""
    from hereya_tf.schema import events_schema

    print_document(events_schema())


@schema.command("result")
def result() -> None:
    """The last line, and what `--result-file` holds."""
    from hereya_tf.schema import result_schema

    print_document(result_schema())


@schema.command("report")
def report() -> None:
    """What `--report-file FILE.json` holds."""
    from hereya_tf.schema import report_schema

    print_document(report_schema())
