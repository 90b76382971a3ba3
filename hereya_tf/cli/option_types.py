"""What options and arguments are made of: their types, headings and variables in the environment."""

import math
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from hereya_tf.cli.groups import Misuse
from hereya_tf.cli.honours import SHAPING, who_does, why_not
from hereya_tf.durations import parse_duration, spell_duration
from hereya_tf.events import Operation
from hereya_tf.sizes import parse_size, spell_size

# Under these names a context keeps what the user's `config.toml` says, or why it cannot be used.
SETTINGS = "hereya_tf.settings"
REFUSAL = "hereya_tf.refusal"
_DIGITS = 9


class Amount(click.ParamType[float]):
    """A number that people write with its unit."""

    def spell(self, value: float) -> str | float:
        """The number as people write it."""
        return value


class Duration(Amount):
    """`90s`, `5m`, `1h30m`, `90d`; seconds as a number."""

    name = "duration"

    def spell(self, value: float) -> str:
        """With its units."""
        return spell_duration(value)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, int | float):
            return float(value)
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Count(click.types.IntParamType):
    """A whole number from 1 on."""

    name = "number"
    lowest = 1

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        text = str(value)
        is_whole = text.isascii() and text.isdecimal()
        # Python refuses to read numbers of thousands of digits.
        if is_whole and len(text) > _DIGITS:
            self.fail(f"`{value}` is too large: {'9' * _DIGITS} is the most", param, ctx)
        if not is_whole or int(text) < self.lowest:
            self.fail(f"`{value}` is not a whole number from {self.lowest} on", param, ctx)
        return int(text)


class Number(Count):
    """A whole number from 0 on."""

    lowest = 0


class Size(Amount):
    """`500MB`, `1GB`; bytes as a number."""

    name = "size"

    def spell(self, value: float) -> str:
        """With its unit."""
        return spell_size(int(value))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Bytes."""
        try:
            return parse_size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Limit(Amount):
    """An amount of another type, or `none` for no limit, which is `math.inf`."""

    def __init__(self, of: click.ParamType[Any]) -> None:
        self.of = of
        self.name = of.name

    def spell(self, value: float) -> str | float:
        """As the other type does."""
        if math.isinf(value):
            return "none"
        return self.of.spell(value) if isinstance(self.of, Amount) else value

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The amount. Nothing at all is refused: to some it is no limit, to others no room."""
        if value == math.inf or str(value).strip().lower() == "none":
            return math.inf
        amount = self.of.convert(value, param, ctx)
        if amount == 0:
            self.fail(f"`{value}` is nothing at all; `none` is no limit", param, ctx)
        return float(amount) if isinstance(amount, float) else int(amount)


class Line(click.ParamType[str]):
    """A text; several in one variable of the environment stand on lines of their own."""

    name = "text"

    def split_envvar_value(self, rv: str) -> list[str]:
        """The lines that are not empty."""
        return [line for line in rv.split("\n") if line]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        return str(value)


class AddressPattern(Line):
    """A pattern of addresses; no address begins or ends with a space."""

    name = "pattern"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The pattern. One that is empty or fits no address is refused: it would protect nothing."""
        text = str(value).strip()
        if not text:
            self.fail("the pattern is empty", param, ctx)
        from hereya_tf.guards.addresses import why_hopeless

        if (why := why_hopeless(text)) is not None:
            self.fail(why, param, ctx)
        return text


class ShellWords(click.ParamType[str]):
    """A command as one text, which has to be one that a shell could split."""

    name = "command"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        from hereya_tf.guards.command import split_command

        try:
            split_command(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
        return str(value)


class GroupedOption(click.Option):
    """An option that belongs under a heading, and has a variable in the environment."""

    def __init__(self, *arguments: Any, group: str = "Options", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group
        long = max(self.opts, key=len)
        self.public_name = long.lstrip("-")
        self.variable = "HEREYA_TF_" + self.public_name.replace("-", "_").upper()
        self.envvar = self.variable

    def standard(self) -> Any:
        """The value when nobody has said anything, nor any file."""
        context = click.Context(click.Command(None))
        value = self.process_value(context, self.get_default(context))
        # Click has a value of its own for nothing.
        return value if isinstance(value, str | float | tuple | bool) else None

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """An empty text is refused: a variable that was not set would choose another package or state."""
        return _not_empty(f"`{max(self.opts, key=len)}`", *super().consume_value(ctx, opts))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Files where a file is wanted, else what the type knows."""
        if any(word in (self.metavar or "") for word in ("FILE", "PATH", "BUNDLE")):
            return _paths("file", incomplete)
        return super().shell_complete(ctx, incomplete)


class UnhonouredOption(GroupedOption):
    """An option of other operations: refused when it is given, passed over when it is only set somewhere."""

    def __init__(self, *arguments: Any, operation: Operation, **settings: Any) -> None:
        super().__init__(*arguments, **settings, hidden=True)
        self.operation = operation

    @property
    def is_passed_over(self) -> bool:
        """Whether it does not matter that it is set for all commands: nothing but the option is lost."""
        return self.operation is not Operation.APPLY or self.public_name not in SHAPING

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """The default. Raises Misuse for what is given, or what must not be passed over."""
        if not ctx.resilient_parsing:
            self._refuse(ctx, opts)
        return self.get_default(ctx), ParameterSource.DEFAULT

    def _refuse(self, ctx: click.Context, opts: Mapping[str, Any]) -> None:
        shown = self._given(ctx, opts)
        if shown is not None:
            raise Misuse(
                why_not(self.operation, self.public_name, shown), who_does(self.operation, self.public_name)
            )

    def _given(self, ctx: click.Context, opts: Mapping[str, Any]) -> str | None:
        """How it was given, if it was to be heeded."""
        if self.name in opts:
            off = self.secondary_opts and opts[self.name] is False
            return max(self.secondary_opts if off else self.opts, key=len)
        if self.is_passed_over:
            return None
        value, source = super().consume_value(ctx, opts)
        if self.process_value(ctx, value) == self.standard():
            return None
        return self.variable if source is ParameterSource.ENVIRONMENT else place_of(ctx, self.name)


class NamedArgument(click.Argument):
    """An argument that is never an empty text; a directory where it is a package, else a file."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """An empty text is refused, as for an option."""
        value, source = super().consume_value(ctx, opts)
        for text in value if isinstance(value, tuple | list) else (value,):
            _not_empty(f"`{self.human_readable_name}`", text, source)
        return value, source

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """Paths, as the shell itself finds them."""
        wanted = self.make_metavar(ctx)
        kind = "file" if "BUNDLE" in wanted else "dir" if "PACKAGE" in wanted else None
        return _paths(kind, incomplete) if kind else super().shell_complete(ctx, incomplete)


class Words(NamedArgument):
    """Several arguments as one; the variable in the environment stands for the first of them, not for all."""

    def value_from_envvar(self, ctx: click.Context) -> None:
        """Nothing: who tells the words apart asks for the variable."""


def place_of(context: click.Context, key: str) -> str:
    """Where the user's `config.toml` sets an option, as `FILE:LINE`."""
    return str(context.meta[SETTINGS].place(key))


def _paths(kind: str, incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type=kind)]


def _not_empty(name: str, value: Any, source: ParameterSource) -> tuple[Any, ParameterSource]:
    if value == "" and source is ParameterSource.COMMANDLINE:
        raise Misuse(f"{name} is empty", "leave it out, or check the variable that it was to come from")
    return value, source
