"""Groups of commands that show their help when nothing is asked of them, and errors of the command line's use."""

import click


class Misuse(click.UsageError):
    """A command line that makes no sense, with hints on one that does."""

    def __init__(self, sentence: str, *hints: str) -> None:
        super().__init__(sentence)
        self.hints = hints


class HelpfulGroup(click.Group):
    """A group that answers with its help, and knows what an unknown command was meant to be."""

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
