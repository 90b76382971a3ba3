"""`runs prune`: removes what is too old or too much from the history."""

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hereya_tf.cli.documents import json_option, print_document, say
from hereya_tf.cli.groups import HelpfulCommand
from hereya_tf.cli.option_table import every_option, history_limits, history_options
from hereya_tf.cli.option_types import GroupedOption
from hereya_tf.cli.places import find_places
from hereya_tf.cli.runs_list import print_runs
from hereya_tf.cli.settings import read_settings
from hereya_tf.runs.history import read_record

if TYPE_CHECKING:
    from hereya_tf.runs.pruning import Pruned


class HistoryCommand(HelpfulCommand):
    """A command with the limits of the history, which have a place in the user's `config.toml`."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.params = [*history_options(), *self.params]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the file's values as defaults. Raises BadConfig."""
        if not ctx.resilient_parsing:
            ours = {each.name for each in history_options()}
            settings = read_settings(os.environ, list(every_option()))
            values = settings.values if settings is not None else {}
            ctx.default_map = {key: value for key, value in values.items() if key in ours}
        return super().parse_args(ctx, args)


@click.command(
    "prune",
    cls=HistoryCommand,
    short_help="Remove the oldest runs from the history.",
    examples=("hereya-tf runs prune --dry-run", "hereya-tf runs prune --history-age 30d --history-count 200"),
)
@click.option("--dry-run", cls=GroupedOption, is_flag=True, help="Show what would go, and remove nothing.")
@json_option
def prune(dry_run: bool, json_output: bool, **options: Any) -> None:
    """Remove the oldest runs from the history until the rest is within all limits; `none` is no limit.

    Runs do the same by themselves, about once a day. The newest run always stays. What is at work or holds a
    copy of a state stays as well, and does not count.
    """
    from hereya_tf.runs.pruning import prune as prune_runs
    from hereya_tf.words import flat

    runs = find_places(os.environ).runs
    warnings: list[str] = []
    pruned = prune_runs(runs, history_limits(options), time.time(), warn=warnings.append, dry_run=dry_run)
    if json_output:
        spared = [each._asdict() for each in pruned.spared]
        print_document({"removed": pruned.removed, "spared": spared, "bytes": pruned.bytes})
    else:
        _tell(runs, pruned, dry_run=dry_run)
    for warning in (*warnings, *(f"run `{run}` stays: {because}" for run, because in pruned.spared)):
        say(f"warning: {flat(warning)}", err=True)


def _tell(runs: Path, pruned: "Pruned", *, dry_run: bool) -> None:
    from hereya_tf.sizes import format_size

    count = len(pruned.removed)
    if count == 0:
        click.echo("nothing to remove")
        return
    what = f"{count} {'run' if count == 1 else 'runs'}, {format_size(pruned.bytes)}"
    if not dry_run:
        click.echo(f"removed {what}")
        return
    records = (read_record(runs / run) for run in pruned.removed)
    print_runs(runs, [record for record in records if record is not None])
    click.echo(f"to be removed: {what}")
