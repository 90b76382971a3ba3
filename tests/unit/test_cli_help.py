"""Help is asked for in many ways, and reads well in all of them."""

import subprocess
import sys
from pathlib import Path

import click
import pytest

from hereya_tf import __version__
from hereya_tf.cli import COMMANDS, group
from hereya_tf.cli.options import GroupedOption, RunCommand
from tests.command_line import CommandLine, Result, environment

EVERY_COMMAND = [
    (),
    ("provision",),
    ("destroy",),
    ("lock",),
    ("lock", "list"),
    ("lock", "status"),
    ("lock", "release"),
    ("runs",),
    ("runs", "list"),
    ("runs", "show"),
    ("runs", "log"),
    ("runs", "cancel"),
    ("schema",),
    ("schema", "events"),
    ("schema", "result"),
]


def command_of(names: tuple[str, ...]) -> click.Command:
    command: click.Command = group
    for name in names:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), name)
        assert found is not None
        command = found
    return command


def all_commands() -> dict[tuple[str, ...], click.Command]:
    found: dict[tuple[str, ...], click.Command] = {(): group}
    pending: list[tuple[str, ...]] = [()]
    while pending:
        names = pending.pop()
        command = found[names]
        if isinstance(command, click.Group):
            for name in command.list_commands(click.Context(command)):
                found[*names, name] = command_of((*names, name))
                pending.append((*names, name))
    return found


def test_every_command_is_looked_at() -> None:
    assert sorted(all_commands()) == sorted(EVERY_COMMAND)


@pytest.mark.parametrize("arguments", [(), ("-h",), ("--help",)])
def test_without_arguments_there_is_help(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    assert cli(*arguments) == Result(
        0,
        """\
Usage: hereya-tf [OPTIONS] COMMAND [ARGS]...

  Run Terraform and OpenTofu unattended.

  hereya-tf provision ./network --yes
  hereya-tf provision ./database -p size=small --state db.tfstate --yes --json
  hereya-tf destroy ./network

Options:
  -V, --version  Show the version and exit.
  -h, --help     Show this message and exit.

Commands:
  provision  Create or update what a package describes.
  destroy    Destroy what a package has created.
  lock       Who holds a lock, and who waits for it.
  runs       The history of runs; cancel a live one.
  schema     JSON Schema of what `--json` prints.
""",
        "",
    )


@pytest.mark.parametrize("arguments", [("lock",), ("lock", "-h")])
def test_a_group_without_a_word_shows_its_help(cli: CommandLine, arguments: tuple[str, ...]) -> None:
    assert cli(*arguments) == Result(
        0,
        """\
Usage: hereya-tf lock [OPTIONS] COMMAND [ARGS]...

  Who holds a lock, and who waits for it.

Options:
  -h, --help  Show this message and exit.

Commands:
  list     All locks that are held or waited for.
  status   The locks of PACKAGE (a directory, default `.`).
  release  Free the locks of PACKAGE.
""",
        "",
    )


def test_options_of_a_run_stand_in_groups(cli: CommandLine) -> None:
    ran = cli("provision", "-h")

    headings = [line for line in ran.stdout.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert headings == ["Asking:", "Input:", "State:", "Engine:", "Limits:", "Choices:", "Output:"]
    assert ran.stdout.startswith("Usage: hereya-tf provision [OPTIONS] [PACKAGE]\n")
    assert "\n  -y, --yes  Do not ask; needed without a terminal.\n" in ran.stdout
    assert ran.stdout.endswith(
        "\n  Every option can be set in the environment: HEREYA_TF_ and its name, such as\n"
        "  HEREYA_TF_VAR_FILE; several values stand on lines of their own.\n"
    )


@pytest.mark.parametrize("names", EVERY_COMMAND, ids=" ".join)
def test_every_help_fits_a_screen_of_eighty_columns(names: tuple[str, ...]) -> None:
    path = " ".join(("hereya-tf", *names))
    context = click.Context(command_of(names), info_name=path, terminal_width=80)
    text = context.get_help()

    # Examples are not wrapped.
    wide = [line for line in text.splitlines() if len(line) > 80 and not line.startswith("  hereya-tf ")]
    assert wide == []
    assert "..." not in text.split("\n", 1)[1], "a line of help is cut off"


@pytest.mark.parametrize("names", EVERY_COMMAND[1:], ids=" ".join)
def test_every_command_and_option_says_what_it_is_for(names: tuple[str, ...]) -> None:
    command = command_of(names)
    options = [parameter for parameter in command.params if isinstance(parameter, click.Option)]

    assert command.help
    assert all(option.help for option in options)
    assert all(option.help.endswith((".", ")")) for option in options if option.help)
    assert all(isinstance(option, GroupedOption) for option in options), "each has its variable"
    assert [option.envvar for option in options] == [
        f"HEREYA_TF_{max(option.opts, key=len)[2:].replace('-', '_').upper()}" for option in options
    ]


def test_the_list_of_commands_says_what_the_commands_say() -> None:
    for name, (_, _, line) in COMMANDS.items():
        command = command_of((name,))

        assert command.name == name
        assert isinstance(command, RunCommand | click.Group)
        assert line.endswith(".")


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_the_version(cli: CommandLine, option: str) -> None:
    assert cli(option) == Result(0, f"hereya-tf {__version__}\n", "")


def test_the_installed_command_is_the_module(repository: Path) -> None:
    code = "import tomllib; print(tomllib.load(open('pyproject.toml', 'rb'))['project']['scripts'])"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, check=True
    )

    assert ran.stdout == "{'hereya-tf': 'hereya_tf.__main__:main'}\n"


def test_a_reader_that_has_seen_enough_is_no_failure() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "hereya_tf", "schema", "events"],
        env=environment({}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()

    with process.stderr:
        said = process.stderr.read()
    assert (process.wait(60), said) == (0, b"")
