"""The command line that does the same run again: options from wherever they came, but for those of output."""

import os
from collections.abc import Iterator
from typing import Any

import click
from click.core import ParameterSource

from hereya_tf.cli.option_types import Duration, GroupedOption
from hereya_tf.cli.options import ordered_inputs
from hereya_tf.durations import format_duration
from hereya_tf.events import Operation
from hereya_tf.invocation import Invocation, Word, words_of

# Without `--yes` a person is shown the plan, and asked.
_LEFT_OUT = ("yes",)
# Where results and talk go is not what a run does.
_GROUP_LEFT_OUT = "Output"
_OUTPUTS_KEPT = ("destroy_plan", "detailed_exitcode", "output_format", "redact", "out")
_HOLD_VALUES = ("param", "env", "backend_config", "engine_arg")
_INPUTS = ("param", "param_file", "var_file")


def invocation_of(context: click.Context, operation: Operation, options: dict[str, Any]) -> Invocation | None:
    """The command as given, with what the environment and files have added; None without a working directory."""
    try:
        directory = os.getcwd()  # noqa: PTH109 - for a shell
    except OSError:
        return None
    words = [Word("hereya-tf"), Word(operation), *_arguments(options), *_options(context)]
    if operation is Operation.TF:
        words += [Word("--"), *(Word(text) for text in options["arguments"])]
    return Invocation(directory, tuple(words))


def _arguments(options: dict[str, Any]) -> Iterator[Word]:
    for name in ("package", "bundle", "output_name"):
        if options.get(name):
            yield Word(options[name])


def _options(context: click.Context) -> Iterator[Word]:
    for parameter in context.command.params:
        if not isinstance(parameter, GroupedOption) or parameter.name in (*_LEFT_OUT, *_INPUTS):
            continue
        if parameter.group == _GROUP_LEFT_OUT and parameter.name not in _OUTPUTS_KEPT:
            continue
        if context.get_parameter_source(parameter.name) is not ParameterSource.DEFAULT:
            yield from _option(parameter, context.params[parameter.name])
    for name, text in ordered_inputs(context, _INPUTS):
        yield from words_of(f"--{name.replace('_', '-')}", (text,), hold_values=name in _HOLD_VALUES)


def _option(option: GroupedOption, value: Any) -> Iterator[Word]:
    shown = f"--{option.public_name}"
    if option.is_flag:
        if value or option.secondary_opts:
            yield Word(shown if value else option.secondary_opts[0])
    elif option.multiple:
        yield from words_of(shown, value, hold_values=option.name in _HOLD_VALUES)
    elif value is not None:
        text = format_duration(value) if isinstance(option.type, Duration) else str(value)
        yield from words_of(shown, (text,))
