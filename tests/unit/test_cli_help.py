"""Help is asked for in many ways, and reads well in all of them.

What each command shows stands in `help/`; WRITE_HELP_SNAPSHOTS=1 writes what it shows now, to be read.
"""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from hereya_tf import __version__
from hereya_tf.cli import COMMANDS, group
from hereya_tf.cli.groups import HelpfulCommand
from hereya_tf.cli.option_types import GroupedOption
from tests.command_line import CommandLine, Result, environment

SNAPSHOTS = Path(__file__).parent / "help"


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


EVERY_COMMAND = sorted(all_commands())


def shown_by_itself(names: tuple[str, ...]) -> str:
    """What a command shows when nobody has asked it before: click keeps how it was asked first."""
    command = command_of(names)
    context = click.Context(
        command,
        info_name=" ".join(("hereya-tf", *names)),
        terminal_width=80,
        help_option_names=["-h", "--help"],
    )
    return command.get_help(context) + "\n"


@functools.cache
def all_help() -> dict[str, str]:
    code = (
        "import json; from tests.unit.test_cli_help import EVERY_COMMAND, shown_by_itself;"
        "print(json.dumps({' '.join(names): shown_by_itself(names) for names in EVERY_COMMAND}))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment({}), capture_output=True, text=True, check=True
    )
    shown: dict[str, str] = json.loads(ran.stdout)
    return shown


def help_of(names: tuple[str, ...]) -> str:
    return all_help()[" ".join(names)]


def snapshot(names: tuple[str, ...]) -> Path:
    return SNAPSHOTS / f"{'-'.join(('hereya-tf', *names))}.txt"


@pytest.mark.parametrize("names", EVERY_COMMAND, ids=" ".join)
def test_what_each_command_shows(names: tuple[str, ...]) -> None:
    if os.environ.get("WRITE_HELP_SNAPSHOTS"):
        snapshot(names).write_text(help_of(names), encoding="utf-8")

    assert help_of(names) == snapshot(names).read_text(encoding="utf-8")


def test_there_is_no_snapshot_of_a_command_that_is_gone() -> None:
    assert set(SNAPSHOTS.iterdir()) == {snapshot(names) for names in EVERY_COMMAND}


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        pytest.param((), (), id="nothing asked"),
        pytest.param(("-h",), (), id="-h"),
        pytest.param(("--help",), (), id="--help"),
        pytest.param(("lock",), ("lock",), id="a group"),
        pytest.param(("lock", "-h"), ("lock",), id="a group, -h"),
        pytest.param(("provision", "--help"), ("provision",), id="a command"),
        pytest.param(("apply", "x.plan", "--help"), ("apply",), id="behind an argument"),
    ],
)
def test_it_is_shown_when_it_is_asked_for(
    cli: CommandLine, arguments: tuple[str, ...], names: tuple[str, ...]
) -> None:
    shown = snapshot(names).read_text(encoding="utf-8")

    assert cli(*arguments, env={"COLUMNS": "82"}) == Result(0, shown, "")


@pytest.mark.parametrize("names", [("provision",), ("plan",), ("tf",)], ids=" ".join)
def test_examples_come_first_and_options_stand_in_groups(names: tuple[str, ...]) -> None:
    lines = help_of(names).splitlines()

    headings = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    changing = [] if names == ("tf",) else ["Guards:", "Retries:"]
    groups = ["Asking:", "Input:", "State:", "Engine:", "Limits:", "Choices:", *changing, "Output:"]
    assert headings == ["Examples:", *groups, "Environment:"]
    assert lines[1].startswith(f"  hereya-tf {names[0]} ")
    assert lines.index("Asking:") > lines.index(next(line for line in lines if line.startswith("Usage: ")))


def test_a_bad_file_is_no_reason_to_give_no_help(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text("= nonsense")

    for name in ("provision", "tf", "config"):
        ran = cli(name, "--help", env={"HEREYA_TF_CONFIG_DIR": str(tmp_path)})

        assert (ran.exit_code, ran.stderr) == (0, "")


def test_every_variable_is_named() -> None:
    texts = {names: help_of(names).split() for names in EVERY_COMMAND}

    for names, command in all_commands().items():
        shown = [
            each for each in command.get_params(click.Context(command)) if not getattr(each, "hidden", 0)
        ]
        assert [
            str(each.envvar) for each in shown if each.envvar and str(each.envvar) not in texts[names]
        ] == []
    general = ("HEREYA_TF_STATE_DIR", "HEREYA_TF_CACHE_DIR", "HEREYA_TF_CONFIG_DIR", "HEREYA_TF_DEBUG")
    assert [name for name in general if name not in texts[()]] == []


def test_every_variable_that_is_read_is_named_somewhere(repository: Path) -> None:
    read = {
        word
        for file in (repository / "hereya_tf").rglob("*.py")
        for word in re.findall(r"\bHEREYA_TF_[A-Z_]*[A-Z]\b", file.read_text(encoding="utf-8"))
    }
    named = {word for names in EVERY_COMMAND for word in help_of(names).split()}

    assert read - named == set()


@pytest.mark.parametrize("names", EVERY_COMMAND, ids=" ".join)
def test_every_help_fits_a_screen_of_eighty_columns(names: tuple[str, ...]) -> None:
    _, _, text = help_of(names).partition("Usage: ")
    usage, _, text = text.partition("\n")

    # Examples, before all that, are not wrapped.
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert len(usage) < 72
    assert "..." not in text, "a line of help is cut off"


@pytest.mark.parametrize("names", EVERY_COMMAND[1:], ids=" ".join)
def test_every_command_and_option_says_what_it_is_for(names: tuple[str, ...]) -> None:
    command = command_of(names)
    parameters = command.get_params(click.Context(command, help_option_names=[]))
    options = [parameter for parameter in parameters if isinstance(parameter, click.Option)]

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
        assert isinstance(command, HelpfulCommand | click.Group)
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
