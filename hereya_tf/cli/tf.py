"""`tf`: any engine command in a package, between our options and the engine's own stands `--`."""

from typing import Any

import click

from hereya_tf.cli.groups import Misuse
from hereya_tf.cli.operations import run_operation
from hereya_tf.cli.option_types import NamedArgument
from hereya_tf.cli.options import RunCommand, run_options
from hereya_tf.events import Operation

_EXAMPLE = "write it like `hereya-tf tf ./network -- state list`"


class HandOverCommand(RunCommand):
    """A command of which everything after the first `--` is the engine's, whatever it looks like."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split before click sees it: click takes out every `--`, and knows options on both sides."""
        ours, theirs = list(args), []
        if "--" in args:
            at = args.index("--")
            ours, theirs = args[:at], args[at + 1 :]
        wants_help = any(word in ctx.help_option_names for word in ours)
        if not ctx.resilient_parsing and not wants_help:
            refuse_arguments(tuple(theirs))
        rest = super().parse_args(ctx, ours)
        ctx.params["arguments"] = tuple(theirs)
        return rest

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """With what click does not know of."""
        return [*super().collect_usage_pieces(ctx), "-- ARGS..."]


def refuse_arguments(arguments: tuple[str, ...]) -> None:
    """Raise Misuse for no arguments, and for those that would leave the package."""
    if not arguments:
        raise Misuse("the engine's command is missing: it stands after `--`", _EXAMPLE)
    for argument in arguments:
        if not argument.startswith("-"):
            break
        if argument.partition("=")[0] == "-chdir":
            raise Misuse(
                "`-chdir` would take the engine out of the package whose lock is held",
                "name the directory before `--`: `hereya-tf tf DIRECTORY -- COMMAND`",
            )


@click.command(
    "tf",
    cls=HandOverCommand,
    examples=(
        "hereya-tf tf ./network -- state list",
        "hereya-tf tf ./network -- plan -detailed-exitcode",
        "hereya-tf tf -- console",
    ),
)
@click.argument("package", cls=NamedArgument, required=False, envvar="HEREYA_TF_PACKAGE")
@run_options(Operation.TF)
@click.pass_context
def tf(context: click.Context, /, **options: Any) -> int:
    """Run any engine command in PACKAGE (a directory, default `.`): same lock, environment and backend.

    Stdin, stdout and stderr are the engine's, nothing in them is changed or masked, and so is the exit code.
    """
    return run_operation(context, Operation.TF, options)
