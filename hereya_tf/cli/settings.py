"""The user's `config.toml` in the hands of click: what its options may be, and where a value is from."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hereya_tf.cli.option_types import Duration, GroupedOption
from hereya_tf.cli.places import find_config

if TYPE_CHECKING:
    from hereya_tf.config import Form, Kind, UserConfig


def read_settings(environment: Mapping[str, str], options: Sequence[GroupedOption]) -> "UserConfig | None":
    """What the file says about `options`, if there is one; raises BadConfig."""
    file = find_config(environment)
    if file is None:
        return None
    from hereya_tf.config import read_user_config

    return read_user_config(file, dict(_kinds(options)))


def _kinds(options: Sequence[GroupedOption]) -> "list[tuple[str, Kind]]":
    from hereya_tf.config import Kind

    kinds = []
    for option in options:
        kind = Kind(option.name, _form(option), _check(option))
        kinds.append((option.public_name, kind))
        kinds += [(name.lstrip("-"), kind._replace(inverts=True)) for name in option.secondary_opts]
    return kinds


def _form(option: GroupedOption) -> "Form":
    from hereya_tf.config import Form

    if option.is_flag:
        return Form.FLAG
    if option.multiple:
        return Form.TEXTS
    match option.type:
        case Duration():
            return Form.DURATION
        case click.types.IntParamType():
            return Form.NUMBER
        case _:
            return Form.TEXT


def _check(option: GroupedOption) -> Callable[[Any], object]:
    def check(value: Any) -> object:
        try:
            return option.type.convert(value, option, None)
        except click.BadParameter as error:
            from hereya_tf.cli.complaints import in_our_style

            raise ValueError(in_our_style(error.message)) from None

    return check
