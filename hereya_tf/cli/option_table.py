"""Every option of runs: its names, its values, its help; grouped as the help shows them."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hereya_tf.cli.honours import ENGINE_STEPS, honours
from hereya_tf.cli.option_types import (
    AddressPattern,
    Count,
    Duration,
    GroupedOption,
    Limit,
    Line,
    Number,
    ShellWords,
    Size,
    UnhonouredOption,
)
from hereya_tf.events import Operation
from hereya_tf.words import listed

if TYPE_CHECKING:
    from hereya_tf.runs.retention import Limits


class Row(NamedTuple):
    """An option before it is made for an operation."""

    group: str
    names: tuple[str, ...]
    settings: dict[str, Any]

    @property
    def name(self) -> str:
        """The public name: the first long one, without its dashes."""
        return next(name for name in self.names if name.startswith("--")).split("/")[0][2:]


def _row(group: str, *names: str, **settings: Any) -> Row:
    return Row(group, names, settings)


_LINES: dict[str, Any] = {"type": Line(), "multiple": True}
_FLAG: dict[str, Any] = {"is_flag": True}
_DURATION = Duration()

ROWS = (
    _row("Asking", "-y", "--yes", **_FLAG,
         help="Do not ask; `provision` and `destroy` need it without a terminal."),

    _row("Input", "-p", "--param", **_LINES, metavar="NAME=TEXT|NAME:=JSON",
         help="A parameter: a text, or JSON of any type."),
    _row("Input", "--param-file", **_LINES, metavar="FILE", help="Parameters from JSON or YAML."),
    _row("Input", "--var-file", **_LINES, metavar="FILE",
         help="A variables file of the engine's, passed through."),
    _row("Input", "-e", "--env", **_LINES, metavar="NAME=TEXT",
         help="Set in the engine's environment, and a declared variable of that name."),
    _row("Input", "--env-file", **_LINES, metavar="FILE", help="The same from a file of NAME=TEXT lines."),
    _row("Input", "--request", metavar="FILE|-", help="One JSON object with the whole request."),

    _row("State", "-w", "--workspace", metavar="NAME", help="The engine's workspace."),
    _row("State", "--create-workspace", **_FLAG, help="Create the workspace if there is none."),
    _row("State", "--state", metavar="PATH", help="Keep the state in this file (generated backend)."),
    _row("State", "--state-bucket", metavar="NAME", help="Keep the state in this S3 bucket."),
    _row("State", "--state-region", metavar="REGION", help="The bucket's region."),
    _row("State", "--state-lock-table", metavar="NAME",
         help="Lock the state in this DynamoDB table, not by a file in the bucket."),
    _row("State", "--id", "identifier", metavar="ID", help="Names the state in a generated backend."),
    _row("State", "--backend-config", **_LINES, metavar="K=V|FILE",
         help="A setting of the package's own backend, passed through."),
    _row("State", "--lock-key", metavar="KEY", help="Lock this key, not the workspace's own."),
    _row("State", "--no-state-lock", **_FLAG, help="Plan without the engine's lock on the state."),

    _row("Engine", "--engine", metavar="auto|tofu|terraform|embedded|PATH", help="Which engine runs."),
    _row("Engine", "--engine-version", metavar="CONSTRAINT",
         help="Which versions of it may run, such as `~> 1.9`."),
    _row("Engine", "--from", "mirror", metavar="DIR|URL",
         help="Take an engine that is missing from this mirror, and ask nobody else."),
    _row("Engine", "--engine-arg", **_LINES, metavar="STEP=ARG", help="One more argument for {steps}."),
    _row("Engine", "--engine-log", metavar="FILE", help="The engine's own trace log (holds secrets)."),
    _row("Engine", "--no-plugin-cache", **_FLAG,
         help="Do not keep providers in the cache that all packages share."),
    _row("Engine", "--ignore-cli-args", **_FLAG, help="Run although TF_CLI_ARGS* is set, without it."),

    _row("Limits", "--timeout", type=_DURATION, help="For everything, waiting included."),
    _row("Limits", "--idle-timeout", type=_DURATION, help="End when the engine says nothing for so long."),
    _row("Limits", "--wait", type=_DURATION, default="30m", show_default=True,
         help="How long to wait for another run on the same package or workspace."),
    _row("Limits", "--no-wait", **_FLAG, help="Do not wait for another run."),
    _row("Limits", "--lock-timeout", type=_DURATION, default="5m", show_default=True,
         help="How long the engine waits for the state's lock."),
    _row("Limits", "--grace", type=_DURATION, default="60s", show_default=True,
         help="How long an interrupted engine gets for what is in flight."),

    _row("Choices", "--destroy", "destroy_plan", **_FLAG, help="Plan to destroy everything."),
    _row("Choices", "--parallelism", type=Count(), metavar="N", help="Actions at a time."),
    _row("Choices", "--target", "targets", **_LINES, metavar="ADDRESS",
         help="Only this resource and what it needs."),
    _row("Choices", "--exclude", "excludes", **_LINES, metavar="ADDRESS",
         help="All but this resource (OpenTofu)."),
    _row("Choices", "--replace", "replaces", **_LINES, metavar="ADDRESS", help="Replace this resource."),
    _row("Choices", "--refresh/--no-refresh", default=True,
         help="Compare the state with reality first, or not."),
    _row("Choices", "--reinit", **_FLAG, help="Run init even if nothing has changed since the last init."),
    _row("Choices", "--upgrade", **_FLAG, help="Take the newest providers and modules that are allowed."),
    _row("Choices", "--reconfigure", **_FLAG, help="Take the backend as it is now, and leave the old state."),
    _row("Choices", "--migrate-state", **_FLAG, help="Copy the state to the backend as it is now (with --yes)."),
    _row("Choices", "--lockfile", type=click.Choice(("readonly",)), metavar="readonly",
         help="Fail rather than change the dependency lock file."),

    _row("Guards", "--max-destroy", type=Number(), metavar="N",
         help="Refuse a plan that destroys more than N resources, replaced ones included."),
    _row("Guards", "--protect", type=AddressPattern(), multiple=True, metavar="PATTERN",
         help="Refuse a plan that destroys, replaces or forgets this or what is below it, such as `module.db` or"
              " `*aws_db_instance.*` in every module."),
    _row("Guards", "--expect-no-changes", **_FLAG, help="Refuse a plan that changes anything."),
    _row("Guards", "--policy", type=ShellWords(), metavar="COMMAND",
         help="Refuse a plan unless this command, with the plan's JSON on its stdin, ends with exit code 0."),

    _row("Repairs", "--dry-run", **_FLAG, help="Tell what is broken and what would be done, and do nothing."),
    _row("Repairs", "--record", metavar="FILE",
         help="The --result-file of a run that died with its machine, to prove whose lock it is."),

    _row("Retries", "--retries", type=Number(), metavar="N", default=0, show_default=True,
         help="Try a step again up to N times after a failure that may pass, such as a registry's."),
    _row("Retries", "--retry-lock", **_FLAG, help="With --retries: also when somebody has locked the state."),
    _row("Retries", "--retry-apply", **_FLAG, help="With --retries: also after something was changed."),

    _row("Output", "--out", metavar="BUNDLE", help="Keep the plan in this private file, for `apply`."),
    _row("Output", "--plan-json", metavar="FILE", help="The plan as the engine's JSON, into a private file."),
    _row("Output", "--plan-text", metavar="FILE", help="The plan as the engine shows it, into a private file."),
    _row("Output", "--detailed-exitcode", **_FLAG, help="Exit with 2 when there are changes."),
    _row("Output", "--format", "output_format",
         type=click.Choice(("table", "json", "env", "dotenv", "shell", "github", "raw")),
         help="How outputs are printed; on a terminal a table, else NAME=value lines."),
    _row("Output", "--json", "json_output", **_FLAG, help="Events as NDJSON on stdout, the result last."),
    _row("Output", "--engine-messages", **_FLAG, help="The engine's own messages among the events."),
    _row("Output", "--show-sensitive", **_FLAG, help="Show the values of sensitive outputs."),
    _row("Output", "--redact", **_LINES, metavar="NAME|@FILE",
         help="The value of this parameter, variable or output, or each line of FILE, is masked."),
    _row("Output", "--events-file", metavar="FILE", help="All events into a private file."),
    _row("Output", "--result-file", metavar="FILE", help="The result with every value, into a private file."),
    _row("Output", "--report-file", **_LINES, metavar="FILE",
         help="A report of the run: .txt, .md, .json, .html, or .xml for JUnit."),
    _row("Output", "-q", "--quiet", **_FLAG, help="Errors only."),
    _row("Output", "-v", "--verbose", **_FLAG, help="All that the engine says."),
    _row("Output", "--color", type=click.Choice(("auto", "always", "never")), default="auto",
         help="Colours on stderr."),
    _row("Output", "--ci", type=click.Choice(("auto", "github", "gitlab", "none")), default="auto",
         metavar="SYSTEM", help="Whose log this is: auto, github, gitlab or none."),
    _row("Output", "--no-progress", **_FLAG, help="Plain lines instead of a live view, without heartbeats."),
)  # fmt: skip
# Runs heed them without showing them: they are for what is kept of all runs.
HISTORY_ROWS = (
    _row("History", "--history-age", type=Limit(_DURATION), metavar="DURATION", default="90d",
         show_default=True, help="Keep runs that are no older."),
    _row("History", "--history-count", type=Limit(Count()), metavar="N", default="1000", show_default=True,
         help="Keep no more than N."),
    _row("History", "--history-bytes", type=Limit(Size()), metavar="SIZE", default="1GB", show_default=True,
         help="Keep no more than takes so much room."),
)  # fmt: skip
_JSON_OF_OUTPUT = "The engine's own JSON of all outputs, as by --format json."


def options_for(operation: Operation) -> Iterator[GroupedOption]:
    """All options as the operation takes them; what it does not honour is hidden, and refused when given."""
    steps = listed(ENGINE_STEPS[operation], "or")
    for row in ROWS:
        if not honours(operation, row.name):
            yield UnhonouredOption(row.names, group=row.group, operation=operation, **row.settings)
            continue
        text = row.settings["help"].format(steps=steps)
        if row.name == "json" and operation is Operation.OUTPUT:
            text = _JSON_OF_OUTPUT
        yield GroupedOption(row.names, group=row.group, **{**row.settings, "help": text})
    yield from history_options(hidden=True)


def every_option() -> Iterator[GroupedOption]:
    """All options, for what tells of them and runs nothing."""
    for row in ROWS:
        yield GroupedOption(row.names, group=row.group, **row.settings)
    yield from history_options()


def history_options(*, hidden: bool = False) -> Iterator[GroupedOption]:
    """How much history is kept: `history_age` in seconds, `history_count`, `history_bytes`."""
    for row in HISTORY_ROWS:
        yield GroupedOption(row.names, group=row.group, hidden=hidden, **row.settings)


def history_limits(options: Mapping[str, Any]) -> "Limits":
    """How much history the options of a command let be kept."""
    from hereya_tf.runs.retention import Limits

    return Limits(options["history_age"], options["history_count"], options["history_bytes"])
