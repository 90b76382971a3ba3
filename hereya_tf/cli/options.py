"""A command that is a run: it has every option of runs, honours some, and knows where each value is from."""

import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from hereya_tf.cli.combinations import CONFIGURED, Asked, conflicts
from hereya_tf.cli.groups import HelpfulCommand
from hereya_tf.cli.option_table import options_for
from hereya_tf.cli.option_types import REFUSAL, SETTINGS, GroupedOption, place_of
from hereya_tf.cli.settings import read_settings
from hereya_tf.errors import BadConfig, HereyaError
from hereya_tf.events import Operation

# What only one operation's arguments say; to the others it is nothing.
_ARGUMENTS: dict[str, Any] = {"bundle": None, "output_name": None, "arguments": ()}
_MARK = "hereya_tf_operation"
_Function = TypeVar("_Function", bound=Callable[..., Any])


def run_options(operation: Operation) -> Callable[[_Function], _Function]:
    """Gives the function of a RunCommand all options of runs, as the operation takes them."""

    def mark(function: _Function) -> _Function:
        setattr(function, _MARK, operation)
        return function

    return mark


class RunCommand(HelpfulCommand):
    """A command that remembers the order of its options: the last of several inputs wins."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.operation: Operation = getattr(self.callback, _MARK)
        self._is_complete = False

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Its own arguments and all options of runs, which are made for the one command that is used."""
        if not self._is_complete:
            self.params += options_for(self.operation)
            self._is_complete = True
        return super().get_params(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse twice: click keeps the order of occurrences from the first pass only."""
        if not ctx.resilient_parsing:
            self._take_settings(ctx)
        given = list(args)
        rest = super().parse_args(ctx, args)
        _, _, order = self.make_parser(ctx).parse_args(args=given)
        ctx.meta["hereya_tf.order"] = [parameter.name for parameter in order]
        settings = ctx.meta.get(SETTINGS)
        ctx.params = {
            **_ARGUMENTS,
            **ctx.params,
            "retry_rules": settings.rules if settings is not None else (),
        }
        if not ctx.resilient_parsing:
            self._settle(ctx)
        return rest

    def invoke(self, ctx: click.Context) -> Any:
        """Refuse a bad `config.toml` where no run can do it."""
        refusal = ctx.meta.get(REFUSAL)
        if refusal is not None and self.operation is Operation.TF:
            raise refusal
        return super().invoke(ctx)

    def _take_settings(self, ctx: click.Context) -> None:
        try:
            options = self._options(ctx)
            settings = read_settings(os.environ, options)
        except HereyaError as error:
            # For the run to refuse: with --json it is a result.
            ctx.meta[REFUSAL] = error
            return
        if settings is not None:
            ctx.meta[SETTINGS] = settings
            passed_over = {each.name for each in options if getattr(each, "is_passed_over", False)}
            ctx.default_map = {key: value for key, value in settings.values.items() if key not in passed_over}

    def _options(self, ctx: click.Context) -> list[GroupedOption]:
        return [each for each in self.get_params(ctx) if isinstance(each, GroupedOption)]

    def _settle(self, ctx: click.Context) -> None:
        options = {each.name: each for each in self._options(ctx)}
        asked = {key: found for key, option in options.items() if (found := _asked(ctx, option)) is not None}
        try:
            overruled = conflicts(self.operation, asked, ctx.params)
        except BadConfig as error:
            ctx.meta[REFUSAL] = error
            return
        for key in overruled:
            ctx.params[key] = options[key].standard()
            ctx.set_parameter_source(key, ParameterSource.DEFAULT)
        if self.operation is Operation.OUTPUT and ctx.params["json_output"]:
            ctx.params |= {"json_output": False, "output_format": "json"}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Options in groups."""
        grouped: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                # What has no group, `--help`, belongs to the last one.
                grouped.setdefault(getattr(parameter, "group", "Output"), []).append(record)
        for group, records in grouped.items():
            with formatter.section(group):
                formatter.write_dl(records)


def _asked(ctx: click.Context, option: GroupedOption) -> Asked | None:
    """The option as it was asked for; not its default, and no flag that is off."""
    value, source = ctx.params[option.name], ctx.get_parameter_source(option.name)
    if value is None or value is False or value == ():
        return None
    match source:
        case ParameterSource.COMMANDLINE:
            return Asked(option.name, f"--{option.public_name}", 1)
        case ParameterSource.ENVIRONMENT:
            return Asked(option.name, option.variable, 2)
        case ParameterSource.DEFAULT_MAP:
            return Asked(option.name, place_of(ctx, option.name), CONFIGURED)
        case _:
            return None


def ordered_inputs(context: click.Context, names: Sequence[str]) -> list[tuple[str, str]]:
    """Every value given for the options `names`, in the order of the command line; the environment's first."""
    values = {name: list(context.params.get(name) or ()) for name in names}
    order = [name for name in context.meta.get("hereya_tf.order", ()) if name in values]
    given: list[tuple[str, str]] = []
    for name in names:
        surplus = len(values[name]) - order.count(name)
        given += [(name, values[name].pop(0)) for _ in range(surplus)]
    return given + [(name, values[name].pop(0)) for name in order]
