"""`provision` and `destroy`."""

import os
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from hereya_tf.cli.groups import Misuse
from hereya_tf.cli.options import NamedArgument, RunCommand, ordered_inputs, run_options
from hereya_tf.engine.commands import TAKES_ARGUMENTS
from hereya_tf.events import Operation


@click.command("provision", cls=RunCommand)
@click.argument("package", cls=NamedArgument, required=False, envvar="HEREYA_TF_PACKAGE")
@run_options(replace=True)
@click.pass_context
def provision(context: click.Context, /, **options: Any) -> int:
    """Create or update what PACKAGE (a directory, default `.`) describes, and print its outputs.

    \b
    hereya-tf provision ./network --yes
    hereya-tf provision ./database -p size=small -p 'zones:=["a","b"]' --yes
    hereya-tf provision ./app --request job.json --yes --json
    """
    return run_operation(context, Operation.PROVISION, options)


@click.command("destroy", cls=RunCommand)
@click.argument("package", cls=NamedArgument, required=False, envvar="HEREYA_TF_PACKAGE")
@run_options(replace=False)
@click.pass_context
def destroy(context: click.Context, /, **options: Any) -> int:
    """Destroy what PACKAGE (a directory, default `.`) has created, and print the outputs it had.

    \b
    hereya-tf destroy ./network
    hereya-tf destroy ./database --state-bucket states --state-region eu-west-1 --id prod --yes
    """
    return run_operation(context, Operation.DESTROY, options)


def run_operation(context: click.Context, operation: Operation, options: dict[str, Any]) -> int:
    """Run it and tell it; returns the exit code."""
    from hereya_tf.cli.conduct import conduct
    from hereya_tf.cli.requests import build_request
    from hereya_tf.errors import BadInput

    if not options["yes"] and not _stdin_is_terminal(options):
        raise Misuse(
            f"without a terminal to ask on, `{operation}` needs --yes",
            "add `--yes` when this run may change infrastructure",
        )
    for entry in options["engine_arg"]:
        # What follows is not repeated: it may be a secret.
        word, equals, _ = entry.partition("=")
        if not equals or word not in TAKES_ARGUMENTS:
            raise Misuse(
                f"`--engine-arg {word}{equals and '=…'}` is not STEP=ARG"
                f" with one of {', '.join(TAKES_ARGUMENTS)} as its step",
                "write it like `--engine-arg apply=-compact-warnings`",
            )
    for file in options["report_file"]:
        if Path(file).suffix not in (".txt", ".json"):
            raise Misuse(
                f"`--report-file {file}` has none of the endings .txt and .json",
                "the ending says what the report is to be",
            )
    source = context.get_parameter_source("engine")
    options["engine_source"] = "HEREYA_TF_ENGINE" if source is ParameterSource.ENVIRONMENT else "--engine"
    inputs = ordered_inputs(context, ("param", "param_file", "var_file"))
    try:
        request = build_request(operation, options, inputs)
    except FileNotFoundError as error:  # a relative path, and nothing that it is relative to
        raise BadInput(
            "the working directory does not exist any more", "change to one that does, or use absolute paths"
        ) from error
    return conduct(request, options, os.environ)


def _stdin_is_terminal(options: dict[str, Any]) -> bool:
    if options["request"] == "-":
        return False
    try:
        return sys.stdin is not None and os.isatty(0)
    except OSError:
        return False
