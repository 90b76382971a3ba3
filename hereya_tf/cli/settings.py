"""The user's `config.toml` in the hands of click: what its options may be, and where a value is from."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from hereya_tf.cli.option_types import Duration, GroupedOption, Limit, Size
from hereya_tf.cli.places import find_config

# Those of HEREYA_TF_ that are for no option.
OTHER_VARIABLES = frozenset(
    f"HEREYA_TF_{name}"
    for name in ("PACKAGE", "STATE_DIR", "CACHE_DIR", "CONFIG_DIR", "DEBUG", "ENGINE_KEYS")
) | frozenset(f"HEREYA_TF_POLICY_{name}" for name in ("OPERATION", "PACKAGE", "WORKSPACE", "RUN"))
# Of 26 letters so alike that two of them may be wrong.
_CLOSE = 0.92

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
        case Duration() | Limit(of=Duration()):
            return Form.DURATION
        case Limit(of=Size()):
            return Form.SIZE
        case Limit():
            return Form.LIMIT
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


def misspelt_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """A warning for each variable that is most likely meant for an option: without its target a run changes all."""
    given = [name for name in environment if name.startswith("HEREYA_TF_")]
    if not given:
        return ()
    from hereya_tf.cli.option_table import every_option

    known = {option.variable for option in every_option()}
    unknown = [name for name in given if name not in known and name not in OTHER_VARIABLES]
    if not unknown:
        return ()
    from difflib import get_close_matches

    near = {name: get_close_matches(name, known, 1, _CLOSE) for name in sorted(unknown)}
    return tuple(
        f"`{name}` is no variable of an option; did you mean `{found[0]}`?"
        for name, found in near.items()
        if found
    )
