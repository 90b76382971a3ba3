"""The command line: a lazy group of commands, and the only place that exits."""

import contextlib
import io
import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from hereya_tf import __version__
from hereya_tf.cli.groups import GENERAL_VARIABLES, HelpfulGroup

USAGE_EXIT_CODE = 64

# name -> (module, attribute, help line); a command's module is imported when the command is used.
COMMANDS: Mapping[str, tuple[str, str, str]] = {
    "provision": ("hereya_tf.cli.operations", "provision", "Create or update what a package describes."),
    "destroy": ("hereya_tf.cli.operations", "destroy", "Destroy what a package has created."),
    "plan": ("hereya_tf.cli.operations", "plan", "Show what would change."),
    "apply": ("hereya_tf.cli.operations", "apply", "Apply a plan that was kept."),
    "drift": ("hereya_tf.cli.operations", "drift", "Compare what was created with what is there."),
    "output": ("hereya_tf.cli.operations", "output", "Print the outputs of a package."),
    "init": ("hereya_tf.cli.operations", "init", "Fetch providers and modules, set up the backend."),
    "validate": ("hereya_tf.cli.operations", "validate", "Check a package without its backend."),
    "tf": ("hereya_tf.cli.tf", "tf", "Any engine command under the same lock and backend."),
    "recover": ("hereya_tf.cli.recover", "recover", "After a crash: what happened, and repairs."),
    "engine": ("hereya_tf.cli.engine", "engine", "Engines that are installed: download, verify, remove."),
    "lock": ("hereya_tf.cli.lock", "lock", "Who holds a lock, and who waits for it."),
    "runs": ("hereya_tf.cli.runs", "runs", "The history of runs; cancel a live one."),
    "job": ("hereya_tf.cli.job", "job", "Jobs of a control plane: submit, wait, logs, cancel."),
    "outbox": ("hereya_tf.cli.outbox", "outbox", "Deliveries that have not arrived: list, retry, purge."),
    "trigger": ("hereya_tf.cli.trigger", "trigger", "What a webhook delivery would start."),
    "config": ("hereya_tf.cli.config", "config", "What is configured, and where."),
    "schema": ("hereya_tf.cli.schema", "schema", "JSON Schema of what `--json` prints."),
}


class LazyGroup(HelpfulGroup):
    """A group that knows its commands by name and loads the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of a life cycle."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module."""
        if cmd_name not in COMMANDS:
            return None
        import importlib

        module, attribute, _ = COMMANDS[cmd_name]
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])
        with formatter.section("Environment"):
            formatter.write_dl(GENERAL_VARIABLES)
            formatter.write_paragraph()
            formatter.write_text(
                "The options of a command have variables too, listed in its own help, and a place in"
                " `config.toml`: `hereya-tf config show` tells what is set, and where."
            )

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[Any]:
        """The commands, without importing any."""
        from click.shell_completion import CompletionItem

        names = [name for name in COMMANDS if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=COMMANDS[name][2]) for name in names]
        # A group's own completion would add the commands once more.
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]


@click.group(
    cls=LazyGroup,
    examples=(
        "hereya-tf provision ./network --yes",
        "hereya-tf provision ./database -p size=small --state db.tfstate --yes --json",
        "hereya-tf plan ./network --out network.plan",
        "hereya-tf destroy ./network",
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="hereya-tf", message="%(prog)s %(version)s")
def group() -> None:
    """Run Terraform and OpenTofu unattended."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit with a code of the contract."""
    _open_standard_descriptors()
    _speak_utf8()
    sys.exit(_run(arguments))


def _run(arguments: list[str] | None) -> int:
    try:
        code = group.main(args=arguments, prog_name="hereya-tf", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        from hereya_tf.cli.complaints import usage_complaint

        return _complain(*usage_complaint(error), code=USAGE_EXIT_CODE)
    except (KeyboardInterrupt, click.Abort):
        return 130
    except (BrokenPipeError, SystemExit):
        # Whoever read our stdout has gone, which to click is `sys.exit(1)`. Python would complain once more
        # when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except Exception as error:  # noqa: BLE001 - the last place where a failure gets its sentence
        return _failure(error)


def _failure(error: Exception) -> int:
    from hereya_tf.errors import HereyaError, own_fault

    if not isinstance(error, HereyaError):
        if os.environ.get("HEREYA_TF_DEBUG"):
            import traceback

            traceback.print_exc()
        error = own_fault(error)
    return _complain(str(error), error.hints, code=error.failure_class.exit_code)


def _complain(sentence: str, hints: tuple[str, ...], *, code: int) -> int:
    # Nobody may be there to be told.
    with contextlib.suppress(OSError, ValueError):
        text = "\n".join((f"error: {sentence}", *(f"hint: {hint}" for hint in hints)))
        if os.environ.get("GITHUB_ACTIONS") == "true":
            # What was given may come from a pull request.
            from hereya_tf.cli.ci import guard_here

            text = guard_here(os.environ, 2).talk(text)
        click.echo(text, err=True)
    return code


def _speak_utf8() -> None:
    """What commands print, as what runs say: whatever the locale, and names that are no text can be shown."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a descriptor that was closed has none
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _open_standard_descriptors() -> None:
    """Open /dev/null on a closed 0, 1 or 2: the next file opened would take its number, and our output."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
