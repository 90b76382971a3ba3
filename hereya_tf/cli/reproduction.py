"""The command line that does the same run again: options from wherever they came, but for those of output."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import click
from click.core import ParameterSource

from hereya_tf.cli.option_types import Amount, GroupedOption
from hereya_tf.cli.options import ordered_inputs
from hereya_tf.engine.wish import is_address
from hereya_tf.events import Operation
from hereya_tf.invocation import Invocation, Word, words_of

# Without `--yes` a person is shown the plan, and asked.
_LEFT_OUT = ("yes",)
# Where results and talk go is not what a run does, nor is what is kept of other runs.
_GROUPS_LEFT_OUT = ("Output", "History")
# `output --json` has settled it as well.
_FORMAT = "output_format"
_OUTPUTS_KEPT = ("destroy_plan", "detailed_exitcode", _FORMAT, "redact", "out")
_HOLD_VALUES = ("param", "env", "backend_config", "engine_arg")
# It is how secrets are handed in, whatever their names are.
_PRIVATE = ("env",)
_ENGINE_VALUES = ("var", "backend-config")
_INPUTS = ("param", "param_file", "var_file")
# In `config.toml` they count less than the package's word, and more as flags.
_YIELDING = ("engine", "engine_version")


def invocation_of(context: click.Context, operation: Operation, options: dict[str, Any]) -> Invocation | None:
    """The command as given, with what the environment and files have added; None without a working directory."""
    try:
        directory = os.getcwd()  # noqa: PTH109 - for a shell
    except OSError:
        return None
    words = [Word("hereya-tf"), Word(operation), *_arguments(options), *_options(context)]
    if operation is Operation.TF:
        words += [Word("--"), *_engine_words(options["arguments"])]
    return Invocation(directory, tuple(words))


def _engine_words(arguments: Sequence[str]) -> Iterator[Word]:
    """Arguments for an engine: some of its options hold values as ours do."""
    last = ""
    for text in arguments:
        option, equals, value = text.partition("=")
        if last in _ENGINE_VALUES:
            yield Word(text, holds_value=True, is_private=True)
        elif equals and option.lstrip("-") in _ENGINE_VALUES:
            yield Word(value, holds_value=True, before=f"{option}=", is_private=True)
        else:
            yield Word(text)
        last = text.lstrip("-")


def _arguments(options: dict[str, Any]) -> Iterator[Word]:
    for name in ("package", "bundle", "output_name"):
        text = options.get(name)
        if text:
            # What begins like an option was given behind a `--`, which has no place here.
            yield Word(f"./{text}" if text.startswith("-") else text)


def _options(context: click.Context) -> Iterator[Word]:
    for parameter in context.command.params:
        if not isinstance(parameter, GroupedOption) or parameter.name in (*_LEFT_OUT, *_INPUTS):
            continue
        if parameter.group in _GROUPS_LEFT_OUT and parameter.name not in _OUTPUTS_KEPT:
            continue
        source = context.get_parameter_source(parameter.name)
        yields = source is ParameterSource.DEFAULT_MAP and parameter.name in _YIELDING
        is_given = source is not ParameterSource.DEFAULT and not yields
        if is_given or parameter.name == _FORMAT:
            yield from _option(parameter, context.params[parameter.name])
    for name, text in ordered_inputs(context, _INPUTS):
        yield from words_of(f"--{name.replace('_', '-')}", (text,), hold_values=name in _HOLD_VALUES)


def _option(option: GroupedOption, value: Any) -> Iterator[Word]:
    shown = f"--{option.public_name}"
    if option.is_flag:
        if value or option.secondary_opts:
            yield Word(shown if value else option.secondary_opts[0])
    elif option.multiple:
        yield from words_of(
            shown, value, hold_values=option.name in _HOLD_VALUES, are_private=option.name in _PRIVATE
        )
    elif value is not None:
        text = option.type.spell(value) if isinstance(option.type, Amount) else value
        yield Word(shown)
        yield Word(str(text), name=option.public_name if _opens_doors(option, str(text)) else "")


def _opens_doors(option: GroupedOption, text: str) -> bool:
    """Whether it is an address with a password, or a query, which may be a signature."""
    return option.name == "mirror" and is_address(text) and not {"@", "?"}.isdisjoint(text)
