"""What is wrong with a command line, in a sentence and hints like any other error's (pure)."""

from collections.abc import Iterator

import click
from click.core import ParameterSource

from hereya_tf.cli.groups import Misuse


def usage_complaint(error: click.ClickException) -> tuple[str, tuple[str, ...]]:
    """The sentence for what click, or we, found wrong, and its hints."""
    return _sentence(error), tuple(_hints(error))


def _sentence(error: click.ClickException) -> str:
    match error:
        case Misuse():
            return error.message
        case click.NoSuchOption():
            return f"there is no option `{error.option_name}`"
        case click.MissingParameter() if error.param is not None and error.ctx is not None:
            return f"`{error.param.make_metavar(error.ctx)}` is missing"
        case click.BadParameter() if error.param is not None:
            return f"`{_source(error.param, error.ctx)}`: {_in_our_style(error.message)}"
    text = _in_our_style(error.format_message())
    return text[:1].lower() + text[1:]


def _hints(error: click.ClickException) -> Iterator[str]:
    if isinstance(error, Misuse):
        yield from error.hints
        return
    for option in (error.possibilities or ())[:1] if isinstance(error, click.NoSuchOption) else ():
        yield f"did you mean `{option}`?"
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "hereya-tf"
    yield f"`{path} --help` shows what it takes"


def _source(parameter: click.Parameter, context: click.Context | None) -> str:
    """The name under which the value was given: the option's, or its variable's in the environment."""
    if context is not None and context.get_parameter_source(parameter.name) is ParameterSource.ENVIRONMENT:
        return str(parameter.envvar)
    return max(parameter.opts, key=len)


def _in_our_style(text: str) -> str:
    return text.rstrip(".").replace("'", "`")
