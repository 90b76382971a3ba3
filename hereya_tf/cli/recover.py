"""`recover`: what the last broken run has left, and the repairs that are safe."""

from typing import Any

import click

from hereya_tf.cli.operations import run_operation
from hereya_tf.cli.option_types import NamedArgument
from hereya_tf.cli.options import RunCommand, run_options
from hereya_tf.events import Operation


@click.command(
    "recover",
    cls=RunCommand,
    examples=(
        "hereya-tf recover ./network",
        "hereya-tf recover ./network --dry-run",
        "hereya-tf recover ./network --record result-of-the-dead-run.json --yes",
    ),
)
@click.argument("package", cls=NamedArgument, required=False, envvar="HEREYA_TF_PACKAGE")
@run_options(Operation.RECOVER)
@click.pass_context
def recover(context: click.Context, /, **options: Any) -> int:
    """Tell what a crash has left of PACKAGE (a directory, default `.`), and repair what can be repaired safely.

    A state that could not be saved is stored, a broken local state gets its last good copy back, and a lock on the
    state is released when it is proven to be a dead run's. Without --yes it asks first, or, without a terminal to
    ask on, only tells.
    """
    return run_operation(context, Operation.RECOVER, options)
