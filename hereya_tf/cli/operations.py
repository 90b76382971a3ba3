"""`provision` and `destroy`."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from hereya_tf.cli.options import RunCommand, ordered_inputs, run_options
from hereya_tf.operation import Operation

ENGINE_STEPS = ("init", "plan", "apply", "destroy")


@click.command("provision", cls=RunCommand)
@click.argument("package", required=False, envvar="HEREYA_TF_PACKAGE")
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
@click.argument("package", required=False, envvar="HEREYA_TF_PACKAGE")
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

    if not options["yes"] and not _stdin_is_terminal(options):
        raise click.UsageError(
            f"without a terminal to ask on, `{operation}` needs --yes\n"
            "hint: add `--yes` when this run may change infrastructure"
        )
    for entry in options["engine_arg"]:
        if entry.partition("=")[0] not in ENGINE_STEPS or "=" not in entry:
            raise click.UsageError(
                f"`--engine-arg {entry}` is not STEP=ARG with one of {', '.join(ENGINE_STEPS)}"
            )
    for file in options["report_file"]:
        if Path(file).suffix not in (".txt", ".json"):
            raise click.UsageError(f"`--report-file {file}` has none of the endings .txt, .json")
    request = build_request(operation, options, ordered_inputs(context, ("param", "param_file", "var_file")))
    return conduct(request, options, os.environ)


def _stdin_is_terminal(options: dict[str, Any]) -> bool:
    if options["request"] == "-":
        return False
    try:
        return sys.stdin is not None and os.isatty(0)
    except OSError:
        return False
