"""The options of runs, each with its variable in the environment; grouped as the help shows them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from hereya_tf.cli.groups import Misuse
from hereya_tf.durations import parse_duration

_EPILOG = (
    "Every option can be set in the environment: HEREYA_TF_ and its name, such as HEREYA_TF_VAR_FILE;"
    " several values stand on lines of their own."
)
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class Duration(click.ParamType[float]):
    """`90s`, `5m`, `1h30m`; seconds as a number."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, int | float):
            return float(value)
        try:
            return parse_duration(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Line(click.ParamType[str]):
    """A text; several in one variable of the environment stand on lines of their own."""

    name = "text"

    def split_envvar_value(self, rv: str) -> list[str]:
        """The lines that are not empty."""
        return [line for line in rv.split("\n") if line]

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The text as it is."""
        return str(value)


class RunCommand(click.Command):
    """A command that remembers the order of its options: the last of several inputs wins."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **{"epilog": _EPILOG, **settings})

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse twice: click keeps the order of occurrences from the first pass only."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        ctx.meta["hereya_tf.order"] = [parameter.name for parameter in order]
        return super().parse_args(ctx, args)

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


class GroupedOption(click.Option):
    """An option that belongs under a heading, and has a variable in the environment."""

    def __init__(self, *arguments: Any, group: str = "Options", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.group = group
        long = max(self.opts, key=len)
        self.envvar = "HEREYA_TF_" + long.lstrip("-").replace("-", "_").upper()

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """An empty text is refused: a variable that was not set would choose another package or state."""
        return _not_empty(f"`{max(self.opts, key=len)}`", *super().consume_value(ctx, opts))


class NamedArgument(click.Argument):
    """An argument that is never an empty text."""

    def consume_value(self, ctx: click.Context, opts: Mapping[str, Any]) -> tuple[Any, ParameterSource]:
        """An empty text is refused, as for an option."""
        return _not_empty(f"`{self.human_readable_name}`", *super().consume_value(ctx, opts))


def _not_empty(name: str, value: Any, source: ParameterSource) -> tuple[Any, ParameterSource]:
    if value == "" and source is ParameterSource.COMMANDLINE:
        raise Misuse(f"{name} is empty", "leave it out, or check the variable that it was to come from")
    return value, source


def ordered_inputs(context: click.Context, names: Sequence[str]) -> list[tuple[str, str]]:
    """Every value given for the options `names`, in the order of the command line; the environment's first."""
    values = {name: list(context.params.get(name) or ()) for name in names}
    order = [name for name in context.meta.get("hereya_tf.order", ()) if name in values]
    given: list[tuple[str, str]] = []
    for name in names:
        surplus = len(values[name]) - order.count(name)
        given += [(name, values[name].pop(0)) for _ in range(surplus)]
    return given + [(name, values[name].pop(0)) for name in order]


def run_options(*, replace: bool) -> Decorator:
    """All options of an operation that changes infrastructure; `replace` where `--replace` makes sense."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(
            [*_asking(), *_input(), *_state(), *_engine(), *_limits(), *_choices(replace), *_output()]
        ):
            function = option(function)
        return function

    return decorate


def _option(group: str, *names: str, **settings: Any) -> Decorator:
    return click.option(*names, cls=GroupedOption, group=group, **settings)


def _asking() -> list[Decorator]:
    return [_option("Asking", "-y", "--yes", is_flag=True, help="Do not ask; needed without a terminal.")]


def _input() -> list[Decorator]:
    group = "Input"
    line = Line()
    return [
        _option(group, "-p", "--param", type=line, multiple=True, metavar="NAME=TEXT|NAME:=JSON",
                help="A parameter: a text, or JSON of any type."),
        _option(group, "--param-file", type=line, multiple=True, metavar="FILE",
                help="Parameters from JSON or YAML."),
        _option(group, "--var-file", type=line, multiple=True, metavar="FILE",
                help="A variables file of the engine's, passed through."),
        _option(group, "-e", "--env", type=line, multiple=True, metavar="NAME=TEXT",
                help="Set in the engine's environment, and a declared variable of that name."),
        _option(group, "--env-file", type=line, multiple=True, metavar="FILE",
                help="The same from a file of NAME=TEXT lines."),
        _option(group, "--request", metavar="FILE|-", help="One JSON object with the whole request."),
    ]  # fmt: skip


def _state() -> list[Decorator]:
    group = "State"
    return [
        _option(group, "-w", "--workspace", metavar="NAME", help="The engine's workspace."),
        _option(group, "--create-workspace", is_flag=True, help="Create the workspace if there is none."),
        _option(group, "--state", metavar="PATH", help="Keep the state in this file (generated backend)."),
        _option(group, "--state-bucket", metavar="NAME", help="Keep the state in this S3 bucket."),
        _option(group, "--state-region", metavar="REGION", help="The bucket's region."),
        _option(group, "--state-lock-table", metavar="NAME",
                help="Lock the state in this DynamoDB table, not by a file in the bucket."),
        _option(group, "--id", "identifier", metavar="ID", help="Names the state in a generated backend."),
        _option(group, "--backend-config", type=Line(), multiple=True, metavar="K=V|FILE",
                help="A setting of the package's own backend, passed through."),
        _option(group, "--lock-key", metavar="KEY", help="Lock this key, not the workspace's own."),
    ]  # fmt: skip


def _engine() -> list[Decorator]:
    group = "Engine"
    return [
        _option(group, "--engine", metavar="auto|tofu|terraform|embedded|PATH", help="Which engine runs."),
        _option(group, "--engine-arg", type=Line(), multiple=True, metavar="STEP=ARG",
                help="One more argument for init, plan, apply or destroy."),
        _option(group, "--engine-log", metavar="FILE", help="The engine's own trace log (holds secrets)."),
        _option(group, "--ignore-cli-args", is_flag=True, help="Run although TF_CLI_ARGS* is set, without it."),
    ]  # fmt: skip


def _limits() -> list[Decorator]:
    group = "Limits"
    duration = Duration()
    return [
        _option(group, "--timeout", type=duration, help="For everything, waiting included."),
        _option(group, "--idle-timeout", type=duration, help="End when the engine says nothing for so long."),
        _option(group, "--wait", type=duration, default="30m", show_default=True,
                help="How long to wait for another run on the same package or workspace."),
        _option(group, "--no-wait", is_flag=True, help="Do not wait for another run."),
        _option(group, "--lock-timeout", type=duration, default="5m", show_default=True,
                help="How long the engine waits for the state's lock."),
        _option(group, "--grace", type=duration, default="60s", show_default=True,
                help="How long an interrupted engine gets to finish what is in flight."),
    ]  # fmt: skip


def _choices(replace: bool) -> list[Decorator]:
    group = "Choices"
    line = Line()
    replacing = _option(group, "--replace", "replaces", type=line, multiple=True, metavar="ADDRESS",
                        help="Replace this resource.")  # fmt: skip
    return [
        _option(group, "--parallelism", type=click.IntRange(min=1), metavar="N", help="Actions at a time."),
        _option(group, "--target", "targets", type=line, multiple=True, metavar="ADDRESS",
                help="Only this resource and what it needs."),
        _option(group, "--exclude", "excludes", type=line, multiple=True, metavar="ADDRESS",
                help="All but this resource (OpenTofu)."),
        *((replacing,) if replace else ()),
        _option(group, "--refresh/--no-refresh", default=True,
                help="Compare the state with reality first, or not."),
        _option(group, "--reinit", is_flag=True, help="Run init even if nothing has changed since the last."),
    ]  # fmt: skip


def _output() -> list[Decorator]:
    group = "Output"
    line = Line()
    return [
        _option(group, "--json", "json_output", is_flag=True,
                help="Events as NDJSON on stdout, the result last."),
        _option(group, "--engine-messages", is_flag=True, help="The engine's own messages among the events."),
        _option(group, "--show-sensitive", is_flag=True, help="Show the values of sensitive outputs."),
        _option(group, "--redact", type=line, multiple=True, metavar="NAME|@FILE",
                help="The value of this parameter, variable or output, or each line of FILE, is masked."),
        _option(group, "--events-file", metavar="FILE", help="All events into a private file."),
        _option(group, "--result-file", metavar="FILE", help="The result with every value, into a private file."),
        _option(group, "--report-file", type=line, multiple=True, metavar="FILE",
                help="The report of a failure (.txt, .json)."),
        _option(group, "-q", "--quiet", is_flag=True, help="Errors only."),
        _option(group, "-v", "--verbose", is_flag=True, help="All that the engine says."),
        _option(group, "--color", type=click.Choice(("auto", "always", "never")), default="auto",
                help="Colours on stderr."),
        _option(group, "--no-progress", is_flag=True, help="No heartbeat lines."),
    ]  # fmt: skip
