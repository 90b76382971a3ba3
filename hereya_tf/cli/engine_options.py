"""The options of runs that are about the engine: for commands that run nothing, and as a wish."""

import os
from collections.abc import Mapping
from typing import Any

import click
from click.core import ParameterSource

from hereya_tf.cli.groups import HelpfulCommand
from hereya_tf.cli.option_table import every_option
from hereya_tf.cli.option_types import SETTINGS, GroupedOption, place_of
from hereya_tf.cli.settings import read_settings
from hereya_tf.engine.wish import EngineWish


class EngineCommand(HelpfulCommand):
    """A command with some of the options of runs, by their public names, which have a place in `config.toml`."""

    def __init__(self, *arguments: Any, shared: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._shared = {option.name: option for option in _named(shared)}
        self.params = [*self._shared.values(), *self.params]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """With the file's values as defaults. Raises BadConfig."""
        if not ctx.resilient_parsing:
            settings = read_settings(os.environ, list(every_option()))
            if settings is not None:
                ctx.meta[SETTINGS] = settings
                ctx.default_map = {
                    key: value for key, value in settings.values.items() if key in self._shared
                }
        return super().parse_args(ctx, args)


def wish_of(context: click.Context, options: Mapping[str, Any]) -> EngineWish:
    """What the options say of the engine, and who gave them."""
    return EngineWish(
        name=options["engine"],
        source=source_of(context, "engine"),
        name_yields=_is_from_file(context, "engine"),
        version=options["engine_version"],
        version_source=source_of(context, "engine_version"),
        version_yields=_is_from_file(context, "engine_version"),
        mirror=options["mirror"],
    )


def _named(names: tuple[str, ...]) -> list[GroupedOption]:
    options = [option for option in every_option() if option.public_name in names]
    for option in options:
        option.group = "Options"
    return options


def _is_from_file(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP


def source_of(context: click.Context, name: str) -> str:
    """Who gave an option its value, as it is told."""
    match context.get_parameter_source(name):
        case ParameterSource.ENVIRONMENT:
            return f"HEREYA_TF_{name.upper()}"
        case ParameterSource.DEFAULT_MAP:
            return place_of(context, name)
        case _:
            return f"--{name.replace('_', '-')}"
