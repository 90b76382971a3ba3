"""`runs list`, and how runs are shown: in a table that fits the screen, or as JSON."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from hereya_tf.cli.documents import json_option, print_document, print_table
from hereya_tf.cli.groups import HelpfulCommand
from hereya_tf.cli.option_types import Count, GroupedOption, NamedArgument
from hereya_tf.cli.places import find_places
from hereya_tf.runs import history
from hereya_tf.runs.history import RunRecord

_HEAD = ("RUN", "OPERATION", "STATE", "TOOK", "PACKAGE")
# They change nothing, and scripts ask for them all the time.
_QUIET = ("output", "validate")
_STDOUT = 1
# Of a path on a narrow screen this much is left.
_NARROWEST = 12


@click.command(
    "list",
    cls=HelpfulCommand,
    short_help="The newest runs, the newest last.",
    examples=("hereya-tf runs list", "hereya-tf runs list ./network --failed -n 5"),
)
@click.argument("package", cls=NamedArgument, required=False)
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
@click.option("--failed", cls=GroupedOption, is_flag=True, help="Those that have ended without success.")
@click.option(
    "--all",
    "every",
    cls=GroupedOption,
    is_flag=True,
    help="Also those of `output` and `validate` that have succeeded; --json shows them anyway.",
)
@json_option
def list_(package: str | None, limit: int, failed: bool, every: bool, json_output: bool) -> None:
    """The newest runs, the newest last; with PACKAGE (a directory) only those on it.

    A run that has failed has the class of its failure for its state.
    """
    runs = find_places(os.environ).runs
    concerns = (lambda _record: True) if package is None else _same_package(package)
    chosen: list[RunRecord] = []
    left_out = 0
    for record in history.newest_runs(runs):
        if len(chosen) == limit:
            break
        if not concerns(record) or (failed and not _has_failed(record)):
            continue
        if record.operation in _QUIET and record.status == "succeeded" and not every and not json_output:
            left_out += 1
        else:
            chosen.append(record)
    chosen.reverse()
    if json_output:
        print_document({"runs": [run_document(runs, record) for record in chosen]})
        return
    print_runs(runs, chosen)
    if left_out:
        what = f"{left_out} of `output` or `validate` that succeeded"
        click.echo(f"left out: {what} (--all shows {'it' if left_out == 1 else 'them'})", err=True)


def run_document(runs: Path, record: RunRecord) -> dict[str, Any]:
    """A run as JSON."""
    return {
        "run": record.id,
        "operation": record.operation,
        "state": _state(runs, record),
        "package": record.package,
        "workspace": record.workspace,
        "key": record.key,
        "started": record.started,
        "ended": record.ended,
        "seconds": record.seconds,
        "exit_code": record.exit_code,
        "failure": record.failure,
        "reason": record.reason,
        "engine": record.engine,
        "host": record.host,
        "pid": record.process.pid,
        "version": record.version,
    }


def print_runs(runs: Path, records: Sequence[RunRecord]) -> None:
    """A table; at a terminal its paths are as short as they have to be."""
    rows = [
        (record.id, record.operation, _outcome(record) or _state(runs, record), _duration(record))
        for record in records
    ]
    packages = [_package(record, record.package) for record in records]
    if os.isatty(_STDOUT):
        packages = list(_fitting(rows, records))
    print_table(_HEAD, [(*row, package) for row, package in zip(rows, packages, strict=True)])


def _fitting(rows: Sequence[tuple[str, ...]], records: Sequence[RunRecord]) -> Iterable[str]:
    from hereya_tf.ui.cells import cell_width, cut_middle
    from hereya_tf.words import flat

    taken = sum(2 + max(map(cell_width, column)) for column in zip(_HEAD, *rows, strict=False))
    room = max(_NARROWEST, (os.get_terminal_size(_STDOUT).columns or 80) - taken)
    for record in records:
        yield cut_middle(flat(_package(record, shortest_path(record.package))), room)


def _package(record: RunRecord, path: str) -> str:
    """Where a run is at work: the package, and the workspace when it is not the usual one."""
    return path if record.workspace in ("default", "") else f"{path}#{record.workspace}"


def shortest_path(path: str) -> str:
    """A path as somebody in the working directory may write it."""
    try:
        here = os.getcwd()  # noqa: PTH109 - prefixes of texts are all that is looked at
    except OSError:
        return path
    home = os.path.expanduser("~")  # noqa: PTH111
    if path == here:
        return "."
    for prefix, instead in ((here, ""), (home, "~/")):
        if len(prefix) > 1 and path.startswith(f"{prefix}/"):
            return instead + path[len(prefix) + 1 :]
    return path


def _outcome(record: RunRecord) -> str | None:
    """The class of a failure, or what says more: who was killed could not write down how long it had taken."""
    return "killed" if record.failure == "internal" and record.seconds is None else record.failure


def _state(runs: Path, record: RunRecord) -> str:
    state = record.state
    return "waiting" if state == "running" and history.is_waiting(runs / record.id) else state


def _has_failed(record: RunRecord) -> bool:
    return record.state == "died" if record.status is None else record.status != "succeeded"


def _same_package(directory: str) -> Callable[[RunRecord], bool]:
    """Whether a run was on this directory, by whichever name it was called then."""
    wanted = {os.path.abspath(directory), os.path.realpath(directory)}  # noqa: PTH100 - resolve() may raise
    known: dict[str, bool] = {}

    def is_same(record: RunRecord) -> bool:
        path = record.package
        if path not in known:
            known[path] = path in wanted or os.path.realpath(path) in wanted
        return known[path]

    return is_same


def _duration(record: RunRecord) -> str:
    from hereya_tf.words import format_seconds

    return "" if record.seconds is None else format_seconds(record.seconds)
