"""Commands and groups whose help begins with examples, and errors of the command line's use."""

from collections.abc import Sequence
from typing import Any

import click

# The variables that are no option's, for all commands.
GENERAL_VARIABLES = (
    ("HEREYA_TF_STATE_DIR", "Where locks and the history of runs are kept."),
    ("HEREYA_TF_CACHE_DIR", "Where engines and providers are kept."),
    ("HEREYA_TF_CONFIG_DIR", "Where `config.toml` is looked for."),
    ("HEREYA_TF_DEBUG", "Not empty: a fault of our own shows its traceback."),
)


class Misuse(click.UsageError):
    """A command line that makes no sense, with hints on one that does."""

    def __init__(self, sentence: str, *hints: str) -> None:
        super().__init__(sentence)
        self.hints = hints


class HelpfulCommand(click.Command):
    """A command whose help begins with examples and ends with its variables in the environment."""

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Like click's, but every complaint knows its command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples, usage, options, environment."""
        write_examples(self.examples, formatter)
        super().format_help(ctx, formatter)
        write_variables(self.get_params(ctx), formatter)


class HelpfulGroup(click.Group):
    """A group that answers with its help, and knows what an unknown command was meant to be."""

    command_class = HelpfulCommand

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.examples = examples

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples, usage, commands."""
        write_examples(self.examples, formatter)
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order in which they were written."""
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """No word at all is the question what there is."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's, but an unknown command names the nearest one."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"`{ctx.command_path} --help` lists the commands"
            raise Misuse(f"there is no command `{' '.join((*ctx.command_path.split()[1:], args[0]))}`", hint)
        return super().resolve_command(ctx, args)


def write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    """One a line, never wrapped: they are there to be copied."""
    if not examples:
        return
    with formatter.section("Examples"):
        for example in examples:
            formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
    formatter.write_paragraph()


def write_variables(parameters: Sequence[click.Parameter], formatter: click.HelpFormatter) -> None:
    """The variables that stand for options and arguments, in the order of these."""
    shown = (each for each in parameters if not getattr(each, "hidden", False))
    names = [str(each.envvar) for each in shown if each.envvar]
    if not names:
        return
    with formatter.section("Environment"):
        formatter.write_text(
            "Each of these stands for its option; several values stand on lines of their own."
        )
        formatter.write_paragraph()
        formatter.write_text(" ".join(names))
