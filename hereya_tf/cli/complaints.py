"""What is wrong with a command line, in a sentence and hints like any other error's (pure)."""

from collections.abc import Iterator

import click
from click.core import ParameterSource

from hereya_tf.cli.groups import Misuse

_TOO_MUCH = "Got unexpected extra argument"


def usage_complaint(error: click.ClickException) -> tuple[str, tuple[str, ...]]:
    """The sentence for what click, or we, found wrong, and its hints."""
    return _sentence(error), tuple(_hints(error))


def _sentence(error: click.ClickException) -> str:
    match error:
        case Misuse():
            return error.message
        case click.NoSuchOption():
            return f"there is no option `{error.option_name}`"
        case click.MissingParameter() if isinstance(error.param, click.Option):
            return f"`{max(error.param.opts, key=len)}` is missing"
        case click.MissingParameter() if error.param is not None and error.ctx is not None:
            return f"`{error.param.make_metavar(error.ctx)}` is missing"
        case click.BadParameter() if error.param is not None:
            return f"`{_source(error.param, error.ctx)}`: {in_our_style(error.message)}"
    if error.message.startswith(_TOO_MUCH):
        return f"`{error.message[len(_TOO_MUCH) :].partition('(')[2].rstrip(')')}` is more than it takes"
    text = in_our_style(error.format_message())
    return text[:1].lower() + text[1:]


def _hints(error: click.ClickException) -> Iterator[str]:
    if isinstance(error, Misuse):
        yield from error.hints
        return
    if isinstance(error, click.NoSuchOption) and (near := _nearest(error)) is not None:
        yield f"did you mean `{near}`?"
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "hereya-tf"
    yield f"`{path} --help` shows what it takes"


def _nearest(error: click.NoSuchOption) -> str | None:
    """The option that was meant: one that the command honours."""
    hidden: set[str] = set()
    if error.ctx is not None:
        for parameter in error.ctx.command.get_params(error.ctx):
            if getattr(parameter, "hidden", False):
                hidden |= {*parameter.opts, *parameter.secondary_opts}
    return next((option for option in error.possibilities or () if option not in hidden), None)


def _source(parameter: click.Parameter, context: click.Context | None) -> str:
    """The name under which the value was given: the option's, or its variable's in the environment."""
    if context is not None and context.get_parameter_source(parameter.name) is ParameterSource.ENVIRONMENT:
        return str(parameter.envvar)
    return max(parameter.opts, key=len)


def in_our_style(text: str) -> str:
    """Click's words with our punctuation."""
    return text.rstrip(".").replace("'", "`")
