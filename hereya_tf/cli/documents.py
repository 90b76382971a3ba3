"""How query commands print: a table for people, or one JSON document."""

import json
import os
from collections.abc import Sequence
from typing import Any

import click

from hereya_tf import exact
from hereya_tf.cli.ci import guard_here
from hereya_tf.cli.option_types import GroupedOption
from hereya_tf.words import flat

json_option = click.option(
    "--json", "json_output", cls=GroupedOption, is_flag=True, help="One JSON document on stdout."
)


def print_document(document: Any) -> None:
    """One JSON document, numbers exact; indented (and long numbers rounded) for a person at a terminal."""
    click.echo(
        json.dumps(document, ensure_ascii=False, indent=2, default=float)
        if os.isatty(1)
        else guard_here(os.environ, 1).json(exact.dumps(document))
    )


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns as wide as they need to be, a line for each row."""
    shown = [tuple(flat(cell) for cell in row) for row in (head, *rows)]
    widths = [max(len(row[column]) for row in shown) for column in range(len(head))]
    for row in shown:
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        say("  ".join(cells).rstrip())


def say(text: str, *, nl: bool = True, err: bool = False) -> None:
    """Text for people, which the log of a CI system takes for no command."""
    click.echo(guard_here(os.environ, 2 if err else 1).talk(text), nl=nl, err=err)
